//! Was a service warm when its measurement began?

use weighbridge_model::id::PointId;
use weighbridge_model::pairing::{WarmEnd, WarmUp};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::WindowRecord;

use super::{Alarm, CheckContext, Impact};
use crate::records::Cell;
use crate::steer::{WarmWindow, is_warm};

/// The warm-up ended at its time limit.
const NOT_WARM: &str = "not warm";

/// Whether most trials' warm-ups reached their time limit with a p50 still changing. Changes within the
/// measured windows are the business of `drift`.
pub(super) fn not_warm(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { point, .. } = context;
    let cells = context.trial_cells();
    if let Some(alarm) = cold(&cells, point).or_else(|| busy(&cells, point)) {
        return Some(alarm);
    }
    let unsettled = |cell: &&Cell<'_>| {
        let window = |window: &&WindowRecord| WarmWindow {
            requests: window.figures.begun(),
            time: window.figures.ended.since(window.figures.started),
            p50: window.figures.all.as_ref().map(|all| all.response_p50),
        };
        let history: Vec<_> = cell.warm_up().iter().map(window).collect();
        !history.is_empty() && !is_warm(&history)
    };
    let count = cells.iter().filter(unsettled).count();
    (2 * count > cells.len()).then(|| Alarm {
        impact: Impact::Note,
        name: NOT_WARM,
        evidence: format!(
            "response p50 still changed when the longest warm-up was over, in {count} of {} trials",
            cells.len()
        ),
        remedy: "allow a longer `warmup`, or take the cost for that of a service which has just been started",
    })
}

/// Most trials' warm-ups reached the longest time while the variant still became faster or compiled. Its
/// figures are those of a service that has just started, so no verdict rests on them.
fn cold(cells: &[Cell<'_>], point: PointId) -> Option<Alarm> {
    let (cold, longest) = most_ended(cells, point, WarmEnd::is_cold)?;
    let working = cold.iter().filter(|warm_up| warm_up.end == WarmEnd::Working).count();
    let what = match 2 * working > cold.len() {
        true => "it still worked when it was asked nothing, as a compiler does",
        false => "response p50 still became shorter",
    };
    Some(Alarm {
        impact: Impact::VerdictsWithheld,
        name: NOT_WARM,
        evidence: format!("{what} after {longest} of warm-up, in {} of {} trials", cold.len(), cells.len()),
        remedy: "set `warmup` to a tenth of the time that it needs: ten times as long is always allowed",
    })
}

/// Most trials' warm-ups reached the longest time because the variant worked in its rests, its p50 steady.
fn busy(cells: &[Cell<'_>], point: PointId) -> Option<Alarm> {
    let (busy, longest) = most_ended(cells, point, |end| end == WarmEnd::Busy)?;
    Some(Alarm {
        impact: Impact::Note,
        name: NOT_WARM,
        evidence: format!(
            "it still worked when it was asked nothing after {longest} of warm-up, in {} of {} trials, while response p50 was steady",
            busy.len(),
            cells.len()
        ),
        remedy: "none is needed for a service that polls for work; where something compiles, allow a longer `warmup`",
    })
}

/// The warm-ups with this end, and the longest of them, if these are most trials'.
fn most_ended(
    cells: &[Cell<'_>],
    point: PointId,
    has_end: impl Fn(WarmEnd) -> bool,
) -> Option<(Vec<WarmUp>, Nanoseconds)> {
    let warm_up = |cell: &Cell<'_>| cell.trials.first()?.preparations.get(point.index())?.warm_up;
    let ended: Vec<_> = cells.iter().filter_map(warm_up).filter(|warm_up| has_end(warm_up.end)).collect();
    let longest = ended.iter().map(|warm_up| warm_up.time).max()?;
    (2 * ended.len() > cells.len()).then_some((ended, longest))
}
