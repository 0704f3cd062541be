//! Does a service answer in short turns, each after a freeze, as it does when it runs without a break?
//!
//! Warm-up windows follow each other without a freeze, so they show a variant undisturbed; measured windows
//! begin after a freeze. The records hold both, so the comparison costs no time. It changes no estimate.

use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::Ratio;
use weighbridge_model::record::WindowRecord;

use super::{Alarm, CheckContext, Impact};
use crate::question::{Load, Point};
use crate::records::{Cell, CellPair, Figure, response_mean, response_p50};
use crate::stats::interval::Mean;
use crate::stats::multiple::p_against_zero;
use crate::stats::sample::median;
use crate::steer::TurnRule;
use crate::thresholds::{BLOCKS_FOR_INTERVAL, CORE_LATENCY_LEVELS, TURN_CHANGE, TURN_P, TURN_REQUESTS};

/// Windows of a warm-up's later half, and of a block, are compared from this many on.
const WINDOWS: usize = 5;

/// Why windows are longer than usual, or why there are none: in the first block, this variant answered
/// differently after a freeze.
pub(super) fn needs_longer_turns(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { question, records, point, variant, .. } = context;
    let mut trials = records.used.iter().flat_map(|block| &block.trials);
    let prepared = trials.find_map(|trial| {
        let prepared = trial.preparations.get(point.index())?;
        (trial.variant == variant && prepared.turns.len() > 1).then_some(prepared)
    })?;
    // The first comparison is a quick look, and the host may have caused its result.
    let nominal = prepared.turns[1];
    let rule = TurnRule { nominal: nominal.window, longest: nominal.window, margin: question.margin };
    if rule.is_within(&nominal) {
        return None;
    }
    let what = match records.window(point) {
        Some(window) => format!("windows are {window} long"),
        None => "no window that fits into a block does better, so variants run one after another".to_owned(),
    };
    Some(Alarm {
        impact: Impact::Note,
        name: "longer turns",
        evidence: format!(
            "after idling response p50 was {:+.1} % from that without a break, in windows of {}: {what}",
            100.0 * nominal.change.exp_m1(),
            nominal.window
        ),
        remedy: "none is needed; a larger `budget` holds longer windows, and `window` sets their length",
    })
}

/// Whether a variant's cost in measured windows, each of which follows a freeze, differs from that in the
/// later half of the warm-up, which has none (in a duet: in windows beside the other variant, from that in
/// the warm-up, alone). Over blocks, the p50 or the mean differs by more than 5 %, p below 1 %.
///
/// `None` in open load, where the warm-up is another load, and where variants share windows request by
/// request: nothing is frozen there, and a request follows other variants' requests, not its own variant's.
pub(super) fn depends_on_turns(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { question, records, point, .. } = context;
    if context.is_baseline() {
        return None;
    }
    let asked = question.points.get(point.index()).filter(|point| point.load == Load::Closed)?;
    // Shared windows have no freeze, and sequential ones a single one.
    if matches!(context.pairing(), Pairing::Requests | Pairing::Sequential) {
        return None;
    }
    let pairs = context.pairs();
    let found = |figure: Figure| {
        let moved = |pair: &CellPair<'_>| {
            Some(turn_effect(&pair.variant, asked, figure)? - turn_effect(&pair.baseline, asked, figure)?)
        };
        let moves: Vec<f64> = pairs.iter().filter_map(moved).collect();
        let mean = Mean::new(&moves).filter(|_| moves.len() >= BLOCKS_FOR_INTERVAL)?;
        (mean.point.abs() > TURN_CHANGE && p_against_zero(mean) < TURN_P).then_some(mean.point)
    };
    let kinds: [(&str, Figure); 2] = [("response p50", response_p50), ("response mean", response_mean)];
    let (name, change) = kinds.into_iter().find_map(|(name, figure)| Some((name, found(figure)?)))?;
    if context.pairing() == Pairing::Duet {
        return Some(Alarm {
            impact: Impact::HeadlineSuspect,
            name: "depends on company",
            evidence: format!(
                "{name} against the baseline is {} from what it is where only one of them runs, in the warm-up",
                Ratio::new(change.exp_m1())
            ),
            remedy: "set `pairing = \"windows\"`: at the same time they contend for what they share (caches, memory, the kernel)",
        });
    }
    Some(Alarm {
        impact: match records.window(point) {
            Some(_) => Impact::CostsWithheld,
            None => Impact::HeadlineSuspect,
        },
        name: "depends on turns",
        evidence: format!(
            "{name} against the baseline is {} {} after idling than without a break, in the warm-up",
            Ratio::new(change.exp_m1().abs()),
            if change > 0.0 { "slower" } else { "faster" }
        ),
        remedy: "make windows longer (`window`; where they are whole passages, a larger `size`), or set `freeze = false`: \
                 variants idle while others are measured",
    })
}

/// ln of the figure in the measured windows over that in the windows of the warm-up's later half, each the mean of logs
/// without the outer tenths. Not their medians: of a variant that is slow in about half of its windows, those behind a
/// freeze, the median jumps from block to block, and the change is then not certain.
///
/// The last requests of a window run with fewer and fewer in parallel: n requests in s slots are (s − 1) ÷ 2n
/// faster on average, and n sessions where each is carried out whole. Warm-up windows in which that is more than 2.5 % are not
/// compared with the longer measured ones. Nor are windows in which the cores were in another place than through most of the warm-up's
/// later half.
fn turn_effect(cell: &Cell<'_>, asked: &Point, figure: Figure) -> Option<f64> {
    let mut warm = cell.warm_up();
    let least = TURN_REQUESTS * asked.slots.saturating_sub(1) * asked.session_length;
    warm.retain(|window| window.figures.requests >= least);
    let middle = |windows: &[&WindowRecord]| {
        let logs = windows.iter().filter_map(|window| window.figures.all.as_ref());
        let logs: Vec<f64> = logs.map(|all| figure(all).max(1.0).ln()).collect();
        (logs.len() >= WINDOWS).then(|| mean_without_outer_tenths(logs))
    };
    let later = &warm[warm.len() / 2..];
    let place = median(&later.iter().filter_map(|window| log_latency(window)).collect::<Vec<_>>());
    Some(middle(&in_place(&cell.windows, place))? - middle(&in_place(later, place))?)
}

fn mean_without_outer_tenths(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let left_out = values.len() / 10;
    let kept = &values[left_out..values.len() - left_out];
    kept.iter().sum::<f64>() / kept.len() as f64
}

fn log_latency(window: &WindowRecord) -> Option<f64> {
    window.core_latency.map(|latency| (latency.as_nanos() as f64).max(1.0).ln())
}

/// The windows with about this core latency, and those whose core latency is unknown.
fn in_place<'a>(windows: &[&'a WindowRecord], place: Option<f64>) -> Vec<&'a WindowRecord> {
    let is_near = |(place, at): (f64, f64)| (at - place).abs() < CORE_LATENCY_LEVELS.ln();
    let stays = |window: &&WindowRecord| place.zip(log_latency(window)).is_none_or(is_near);
    windows.iter().copied().filter(stays).collect()
}
