//! Does a cost depend on which of two variants ran first?

use std::collections::BTreeMap;

use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::Ratio;

use super::{Alarm, CheckContext, Impact};
use crate::question::Scope;
use crate::records::{CellPair, Records, WindowSelection, response_p50, scope_figures};
use crate::stats::sample::median;
use crate::stats::steady::{CarryOver, carry_over};
use crate::thresholds::{CARRY_OVER_LEAST, CARRY_OVER_P};

/// A block's orders are compared only if each has this many rounds.
const ROUNDS_PER_ORDER: usize = 3;

/// Whether a variant's cost depends on whether it ran before or after the baseline in a round; in a duet, on
/// its cores.
pub(super) fn carried_over(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { question, records, point, variant, .. } = context;
    if context.is_baseline() {
        return None;
    }
    let least = CARRY_OVER_LEAST * question.margin.get();
    let matters = |found: &CarryOver| found.p < CARRY_OVER_P && found.difference.point.abs() >= least;
    let found = order_effect(records, point, variant).filter(matters)?;
    if context.pairing() == Pairing::Duet {
        return Some(Alarm {
            impact: Impact::Note,
            name: "cores differ",
            evidence: format!(
                "response p50 against the baseline differs by {} between the two sets of cores",
                Ratio::new(found.difference.point.exp_m1())
            ),
            remedy: "none is needed: every two rounds swap them, so that the cost holds nothing of it",
        });
    }
    Some(Alarm {
        impact: Impact::Suspect,
        name: "carry-over",
        evidence: format!(
            "response p50 against the baseline differs by {} between the orders AB and BA",
            Ratio::new(found.difference.point.exp_m1())
        ),
        remedy: "lengthen the window or the lead-in: a window is changed by the one before it",
    })
}

/// The difference of a variant's cost between rounds in which it ran after and before the baseline, over
/// blocks; in a duet, between those on the second set of cores and on the first.
pub(crate) fn order_effect(records: &Records<'_>, point: PointId, variant: VariantId) -> Option<CarryOver> {
    let pairs = records.pairs(point, variant, WindowSelection::Measured);
    let orders: Vec<_> = pairs.iter().filter_map(by_order).collect();
    let (after, before): (Vec<f64>, Vec<f64>) = orders.into_iter().unzip();
    carry_over(&after, &before)
}

/// Median log-ratios of a block's rounds in which the variant ran after the baseline, and before it. Rounds
/// in which it ran between two windows of the baseline do not count.
fn by_order(pair: &CellPair<'_>) -> Option<(f64, f64)> {
    let mut rounds: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
    for window in &pair.baseline.windows {
        if let Some(figures) = scope_figures(window, Scope::All) {
            let p50 = response_p50(figures);
            rounds.entry(window.round).or_default().push((window.position, p50));
        }
    }
    let (mut after, mut before) = (Vec::new(), Vec::new());
    for window in &pair.variant.windows {
        let Some((figures, baseline)) = scope_figures(window, Scope::All).zip(rounds.get(&window.round))
        else {
            continue;
        };
        let p50s: Vec<f64> = baseline.iter().map(|(_, p50)| *p50).collect();
        let log_ratio = (response_p50(figures) / median(&p50s)?).ln();
        if !log_ratio.is_finite() {
            continue;
        }
        if baseline.iter().all(|(position, _)| *position < window.position) {
            after.push(log_ratio);
        } else if baseline.iter().all(|(position, _)| *position > window.position) {
            before.push(log_ratio);
        }
    }
    let enough = after.len() >= ROUNDS_PER_ORDER && before.len() >= ROUNDS_PER_ORDER;
    enough.then_some(())?;
    Some((median(&after)?, median(&before)?))
}
