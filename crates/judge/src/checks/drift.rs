//! Did times or costs change while they were measured: within trials, and from block to block?

use std::collections::BTreeMap;

use weighbridge_model::quantity::Ratio;

use super::window_length::is_log;
use super::{Alarm, CheckContext, Impact};
use crate::estimate::contrast;
use crate::question::Scope;
use crate::records::{
    Cell, CellPair, Figure, WindowSelection, response_mean, response_p50, scope_figures, window_logs,
};
use crate::stats::sample::median;
use crate::stats::steady::{drift, shift};
use crate::thresholds::{DRIFT_CHANGE, DRIFT_P, RUN_DRIFT_BLOCKS};

/// Whether a variant was still changing while it was measured: in more than half of its trials its p50 or
/// mean drifts, or its p50 steps against the baseline's, and the median change over a trial is above 5 %.
///
/// Steps are looked for in the cost, not in the variant's own times: the host makes both step alike.
pub(super) fn within_trials(context: &CheckContext<'_>) -> Option<Alarm> {
    let cells = context.trial_cells();
    let trends = |figure: Figure| -> Vec<Change> {
        let found = cells.iter().filter_map(|cell| drift(&window_logs(cell, figure)));
        found.map(|found| Change { size: found.change, p: found.p }).collect()
    };
    let pairs = context.pairs();
    let steps = || -> Vec<Change> {
        let found = pairs.iter().filter_map(|pair| shift(&log_ratios(pair)));
        found.map(|found| Change { size: found.change, p: found.p }).collect()
    };
    let described = |found: Vec<Change>, what: &str| {
        let (change, significant) = consistent(&found)?;
        let changed = format!("{what} by {} within a trial", Ratio::new(change.exp_m1()));
        Some((change, format!("{changed}, in {significant} of {} trials", found.len())))
    };
    let (change, evidence) = described(trends(response_p50), "response p50 changed")
        .or_else(|| described(trends(response_mean), "response mean changed"))
        .or_else(|| {
            described(steps(), "response p50 against the baseline stepped").filter(|_| !context.is_baseline())
        })?;
    Some(Alarm {
        impact: Impact::Suspect,
        name: "drift",
        evidence,
        remedy: match change < 0.0 {
            true => "allow a longer `warmup`: it still became faster",
            false => {
                "look for what grows while it lives (a leak, a log, a queue): its cost is that of its first seconds"
            }
        },
    })
}

struct Change {
    size: f64,
    p: f64,
}

/// The median change and the count of significant ones, if the median is above 5 % and more than half of the
/// changes are significant in its direction.
fn consistent(changes: &[Change]) -> Option<(f64, usize)> {
    let change = median(&changes.iter().map(|change| change.size).collect::<Vec<_>>())?;
    let agrees = |one: &&Change| one.p < DRIFT_P && one.size.signum() == change.signum();
    let significant = changes.iter().filter(agrees).count();
    (2 * significant > changes.len() && change.abs() > DRIFT_CHANGE).then_some((change, significant))
}

/// Log-ratios of the p50 of a block's rounds, in the order they ran.
fn log_ratios(pair: &CellPair<'_>) -> Vec<f64> {
    let by_round = |cell: &Cell<'_>| {
        let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for window in &cell.windows {
            if let Some(figures) = scope_figures(window, Scope::All) {
                rounds.entry(window.round).or_default().push(response_p50(figures).max(1.0).ln());
            }
        }
        rounds
    };
    let baseline = by_round(&pair.baseline);
    let ratio = |(round, logs): (u32, Vec<f64>)| Some(median(&logs)? - median(baseline.get(&round)?)?);
    by_round(&pair.variant).into_iter().filter_map(ratio).collect()
}

/// Whether a variant's cost drifts from block to block: then block estimates are not of one cost, and neither
/// is their interval.
pub(super) fn through_the_run(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { question, records, .. } = context;
    if context.is_baseline() || !is_log(question.headline) {
        return None;
    }
    let logs = contrast(question, records, context.estimand(), WindowSelection::Measured, question.headline)
        .ok()?
        .compared();
    let found = drift(&logs).filter(|found| logs.len() >= RUN_DRIFT_BLOCKS && found.p < DRIFT_P)?;
    Some(Alarm {
        impact: Impact::Suspect,
        name: "drift through the run",
        evidence: format!(
            "the cost changes by {} from the first of {} blocks to the last",
            Ratio::new(found.change.exp_m1()),
            logs.len()
        ),
        remedy: "look for something that outlives a restart: a growing file, a filling disk, a warming host",
    })
}
