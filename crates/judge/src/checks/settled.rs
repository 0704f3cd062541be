//! Was a service in its settled state while it was measured: warm, and the same in short turns as when it runs without
//! a break?
//!
//! Warm-up windows follow one another without a freeze, so they show a variant as it runs undisturbed; measured windows
//! begin after one. Both are in the records, and comparing them costs no time. Nothing here moves an estimate.

use weighbridge_model::estimate::Validity;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::{Pairing, WarmEnd, WarmUp};
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::{OperationFigures, TrialRecord, WindowKind, WindowRecord};

use crate::checks::Alarm;
use crate::question::{Load, Question};
use crate::records::{Cell, Gathered, Lens};
use crate::stats::interval::Mean;
use crate::stats::multiple::p_against_zero;
use crate::stats::sample::median;
use crate::steer::{TurnRule, WarmWindow, is_warm};
use crate::thresholds::{BLOCKS_FOR_INTERVAL, CORE_LATENCY_LEVELS, TURN_CHANGE, TURN_P, TURN_REQUESTS};

/// The name of the alarm that flags a cost which is another one where variants run without a break.
pub const DEPENDS_ON_TURNS: &str = "depends on turns";

/// The name of the alarm that flags a cost which is another one where only one of the two runs.
pub const DEPENDS_ON_COMPANY: &str = "depends on company";

/// The name of the alarm of a warm-up that ended with its time; where it is suspect, it withholds verdicts.
pub const NOT_WARM: &str = "not warm";

/// Fewest windows of a warm-up's later half, and of a block, that are compared.
const WINDOWS: usize = 5;

/// The warm-up windows of a cell, in the order they ran.
fn warm_up<'a>(cell: &Cell<'a>, point: PointId) -> Vec<&'a WindowRecord> {
    let of_trial = |trial: &&'a TrialRecord| {
        let windows = trial.windows.iter();
        let windows =
            windows.filter(move |window| window.kind == WindowKind::WarmUp && window.point == point);
        // Behind them come those in which the first block looked at turns, some behind a freeze.
        let warm_up = trial.preparations.get(point.index()).and_then(|prepared| prepared.warm_up);
        windows.take(warm_up.map_or(usize::MAX, |warm_up| warm_up.windows as usize))
    };
    cell.trials.iter().flat_map(of_trial).collect()
}

/// Whether warm-up ended with its time in most trials, the p50 still changing. What goes on in the measured windows is told
/// by `drift`.
pub fn not_warm(gathered: &Gathered<'_>, point: PointId, variant: VariantId) -> Option<Alarm> {
    let cells = gathered.lives(point, variant, Lens::Measured);
    if let Some(told) = cold(&cells, point).or_else(|| busy(&cells, point)) {
        return Some(told);
    }
    let unsettled = |cell: &&Cell<'_>| {
        let window = |window: &&WindowRecord| WarmWindow {
            requests: window.figures.requests,
            time: window.figures.ended.since(window.figures.started),
            p50: window.figures.all.as_ref().map(|all| all.response_p50),
        };
        let history: Vec<_> = warm_up(cell, point).iter().map(window).collect();
        !history.is_empty() && !is_warm(&history)
    };
    let count = cells.iter().filter(unsettled).count();
    (2 * count > cells.len()).then(|| Alarm {
        validity: Validity::Valid,
        name: NOT_WARM,
        evidence: format!(
            "response p50 still changed when the longest warm-up was over, in {count} of {} trials",
            cells.len()
        ),
        remedy: "allow a longer `warmup`, or take the cost for that of a service which has just been started",
    })
}

/// A warm-up that ended with its longest time in most trials, while the variant still became faster or compiled: its figures are
/// those of a service that has just been started, and no verdict rests on them.
fn cold(cells: &[Cell<'_>], point: PointId) -> Option<Alarm> {
    let (cold, longest) = most_ended(cells, point, WarmEnd::is_cold)?;
    let working = cold.iter().filter(|warm_up| warm_up.end == WarmEnd::Working).count();
    let what = match 2 * working > cold.len() {
        true => "it still worked when it was asked nothing, as a compiler does",
        false => "response p50 still became shorter",
    };
    Some(Alarm {
        validity: Validity::Suspect,
        name: NOT_WARM,
        evidence: format!("{what} after {longest} of warm-up, in {} of {} trials", cold.len(), cells.len()),
        remedy: "set `warmup` to a tenth of the time that it needs: ten times as long is always allowed",
    })
}

/// A warm-up that ended with its longest time in most trials, the variant working in its rests and its p50 steady.
fn busy(cells: &[Cell<'_>], point: PointId) -> Option<Alarm> {
    let (busy, longest) = most_ended(cells, point, |end| end == WarmEnd::Busy)?;
    Some(Alarm {
        validity: Validity::Valid,
        name: NOT_WARM,
        evidence: format!(
            "it still worked when it was asked nothing after {longest} of warm-up, in {} of {} trials, while response p50 was steady",
            busy.len(),
            cells.len()
        ),
        remedy: "none is needed for a service that polls for work; where something compiles, allow a longer `warmup`",
    })
}

/// The warm-ups that ended so and the longest time of one, where most trials' did.
fn most_ended(
    cells: &[Cell<'_>],
    point: PointId,
    so: impl Fn(WarmEnd) -> bool,
) -> Option<(Vec<WarmUp>, Nanoseconds)> {
    let warm_up = |cell: &Cell<'_>| cell.trials.first()?.preparations.get(point.index())?.warm_up;
    let ended: Vec<_> = cells.iter().filter_map(warm_up).filter(|warm_up| so(warm_up.end)).collect();
    let longest = ended.iter().map(|warm_up| warm_up.time).max()?;
    (2 * ended.len() > cells.len()).then_some((ended, longest))
}

/// Why windows are longer than usual, or why there are none: this variant answered otherwise behind a freeze when the first
/// block looked.
pub fn needs_longer_turns(
    question: &Question,
    gathered: &Gathered<'_>,
    point: PointId,
    variant: VariantId,
) -> Option<Alarm> {
    let mut trials = gathered.used.iter().flat_map(|block| &block.trials);
    let prepared = trials.find_map(|trial| {
        let prepared = trial.preparations.get(point.index())?;
        (trial.variant == variant && prepared.turns.len() > 1).then_some(prepared)
    })?;
    // The first is a glance, of which the host may have been the cause.
    let nominal = prepared.turns[1];
    let rule = TurnRule { nominal: nominal.window, longest: nominal.window, margin: question.margin };
    if rule.is_within(&nominal) {
        return None;
    }
    let what = match gathered.window(point) {
        Some(window) => format!("windows are {window} long"),
        None => "no window that fits into a block does better, so variants run one after another".to_owned(),
    };
    Some(Alarm {
        validity: Validity::Valid,
        name: "longer turns",
        evidence: format!(
            "after standing still response p50 was {:+.1} % from that without a break, in windows of {}: {what}",
            100.0 * nominal.change.exp_m1(),
            nominal.window
        ),
        remedy: "none is needed; a larger `budget` holds longer windows, and `window` sets their length",
    })
}

/// Whether a variant's cost is another one in measured windows, each of which follows a freeze, than in the later half of the
/// warm-up, which has none (in a duet: in windows beside the other than in the warm-up, alone): over blocks, the p50 or the
/// mean moves by more than 5 %, p below 1 %.
///
/// `None` in open load, whose warm-up is another load, and where variants share windows request by request: nothing is frozen, and a
/// request stands beside other variants' instead of behind its own.
pub fn depends_on_turns(
    question: &Question,
    gathered: &Gathered<'_>,
    point: PointId,
    variant: VariantId,
) -> Option<Alarm> {
    let slots = question.points.get(point.index()).filter(|point| point.load == Load::Closed)?.slots;
    // Nothing is frozen in the one, and only once in the other.
    if matches!(gathered.pairing(point), Pairing::Requests | Pairing::Sequential) {
        return None;
    }
    let pairs = gathered.pairs(point, variant, Lens::Measured);
    let found = |figure: Figure| {
        let moved = |(mine, theirs): &(Cell<'_>, Cell<'_>)| {
            Some(broken(mine, (point, slots), figure)? - broken(theirs, (point, slots), figure)?)
        };
        let moves: Vec<f64> = pairs.iter().filter_map(moved).collect();
        let mean = Mean::of(&moves).filter(|_| moves.len() >= BLOCKS_FOR_INTERVAL)?;
        (mean.point.abs() > TURN_CHANGE && p_against_zero(mean) < TURN_P).then_some(mean.point)
    };
    let kinds: [(&str, Figure); 2] = [("response p50", p50), ("response mean", mean)];
    let (name, change) = kinds.into_iter().find_map(|(name, figure)| Some((name, found(figure)?)))?;
    if gathered.pairing(point) == Pairing::Duet {
        return Some(Alarm {
            validity: Validity::Suspect,
            name: DEPENDS_ON_COMPANY,
            evidence: format!(
                "{name} against the baseline is {} from what it is where only one of them runs, in the warm-up",
                Ratio::new(change.exp_m1())
            ),
            remedy: "set `pairing = \"windows\"`: at the same time they contend for what they share (caches, memory, the kernel)",
        });
    }
    Some(Alarm {
        validity: Validity::Suspect,
        name: DEPENDS_ON_TURNS,
        evidence: format!(
            "{name} against the baseline is {} from what it is without a break, in the warm-up",
            Ratio::new(change.exp_m1())
        ),
        remedy: "set `window` to a longer time, or `freeze = false`: a service is slower or faster after standing still",
    })
}

/// A time of a window's good replies, in nanoseconds.
type Figure = fn(&OperationFigures) -> f64;

fn p50(figures: &OperationFigures) -> f64 {
    figures.response_p50.as_nanos() as f64
}

fn mean(figures: &OperationFigures) -> f64 {
    figures.response_sum.as_nanos() as f64 / figures.ok.max(1) as f64
}

/// ln of the figure in the median measured window over that in the median window of the warm-up's later half.
///
/// The last requests of a window have ever fewer beside them: of n requests in s slots they are (s − 1) ÷ 2n faster on
/// average. Windows of a warm-up in which that is more than 2.5 % are not compared with the longer ones that are measured.
/// Nor are windows in which the cores were in another place than through most of the warm-up's later half.
fn broken(cell: &Cell<'_>, (point, slots): (PointId, u64), figure: Figure) -> Option<f64> {
    let mut warm = warm_up(cell, point);
    warm.retain(|window| window.figures.requests >= TURN_REQUESTS * slots.saturating_sub(1));
    let middle = |windows: &[&WindowRecord]| {
        let logs = windows.iter().filter_map(|window| window.figures.all.as_ref());
        let logs: Vec<f64> = logs.map(|all| figure(all).max(1.0).ln()).collect();
        (logs.len() >= WINDOWS).then(|| median(&logs)).flatten()
    };
    let later = &warm[warm.len() / 2..];
    let place = median(&later.iter().filter_map(|window| log_latency(window)).collect::<Vec<_>>());
    Some(middle(&in_place(&cell.windows, place))? - middle(&in_place(later, place))?)
}

fn log_latency(window: &WindowRecord) -> Option<f64> {
    window.core_latency.map(|latency| (latency.as_nanos() as f64).max(1.0).ln())
}

/// The windows in which the cores were about so far apart, and those of which that is not known.
fn in_place<'a>(windows: &[&'a WindowRecord], place: Option<f64>) -> Vec<&'a WindowRecord> {
    let is_near = |(place, at): (f64, f64)| (at - place).abs() < CORE_LATENCY_LEVELS.ln();
    let stays = |window: &&WindowRecord| place.zip(log_latency(window)).is_none_or(is_near);
    windows.iter().copied().filter(stays).collect()
}
