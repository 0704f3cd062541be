//! Do windows, or starts, lie on two levels, so that a figure is one of two states or the mean of both?

use weighbridge_model::estimate::Quantity;
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::{Ratio, display_nanos};
use weighbridge_model::record::WindowRecord;

use super::{Alarm, CheckContext, Impact};
use crate::estimate::parts::{CostParts, StartLevels};
use crate::question::Scope;
use crate::records::{Cell, CellPair, RoundValue, means_of_swapped, response_p50, window_logs};
use crate::stats::sample::mean;
use crate::stats::steady::{TwoLevels, two_levels};

pub(super) fn window_levels(context: &CheckContext<'_>) -> Option<Alarm> {
    let cells = context.trial_cells();
    let round_log = |window: &&WindowRecord| {
        let value = response_p50(window.figures.all.as_ref()?).max(1.0).ln();
        Some(RoundValue { round: window.round, value })
    };
    let logs = |cell: &Cell<'_>| match cell.pairing() {
        // In a duet the two sets of cores make two levels; the mean over a pair of rounds contains both.
        Pairing::Duet => means_of_swapped(&cell.windows.iter().filter_map(round_log).collect::<Vec<_>>()),
        _ => window_logs(cell, response_p50),
    };
    let is_own = |levels: &TwoLevels| levels.high - levels.low > context.explained_by_places;
    let found: Vec<_> = cells.iter().filter_map(|cell| two_levels(&logs(cell)).filter(is_own)).collect();
    let first = found.first().filter(|_| 2 * found.len() > cells.len())?;
    let times = |log: f64| display_nanos(log.exp());
    Some(Alarm {
        impact: Impact::Note,
        name: "two levels",
        evidence: format!(
            "windows lie near {} and near {} ({} of them), in {} of {} blocks",
            times(first.low),
            times(first.high),
            Ratio::new((100.0 * first.high_share).round() / 100.0),
            found.len(),
            cells.len()
        ),
        remedy: "the p50 is one of two states; read the windows over time beside it",
    })
}

/// Whether a variant's starts lie on two levels: each start draws one of two costs.
pub(super) fn start_levels(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { question, records, scope, .. } = context;
    if context.is_baseline() {
        return None;
    }
    let parts = CostParts::new(question, records, context.estimand())?;
    // Levels nearer to each other than what is relevant are not worth looking for.
    let least = context.explained_by_places.max(question.margin.get());
    let found = parts.start_levels().filter(|found| found.high - found.low > least)?;
    let pairs = context.pairs();
    Some(Alarm {
        impact: Impact::Note,
        name: "two levels of starts",
        evidence: levels_in_words(&found, &pairs, scope, &parts.costs),
        remedy: "the cost is the mean of two states; look for what a start decides (memory layout, a hash seed, a core)",
    })
}

/// Describes two levels of starts, with the mean response of variant and baseline on either.
fn levels_in_words(found: &StartLevels, pairs: &[CellPair<'_>], scope: Scope, costs: &[Vec<f64>]) -> String {
    let middle = 0.5 * (found.low + found.high);
    let mean_responses = |upper: bool| {
        let chosen = pairs.iter().zip(costs);
        let chosen = chosen.filter(|(_, costs)| mean(costs).is_some_and(|cost| (cost > middle) == upper));
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for (CellPair { variant, baseline }, _) in chosen {
            mine.extend(variant.totals(scope).get(Quantity::ResponseMean));
            theirs.extend(baseline.totals(scope).get(Quantity::ResponseMean));
        }
        let shown = |means: &[f64]| mean(means).map_or_else(|| "unknown".to_owned(), display_nanos);
        format!("mean response {}, baseline {}", shown(&mine), shown(&theirs))
    };
    format!(
        "the cost is near {} in {} starts ({}) and near {} in {} ({})",
        Ratio::new(found.low.exp_m1()),
        found.count - found.upper,
        mean_responses(false),
        Ratio::new(found.high.exp_m1()),
        found.upper,
        mean_responses(true),
    )
}
