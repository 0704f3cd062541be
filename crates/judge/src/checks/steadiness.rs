//! Do the windows agree with each other: drift within trials and through the run, two levels of windows and of starts,
//! carry-over between neighbours, and the window check.
//!
//! Each answers with an alarm or nothing; none of them moves an estimate.

use std::collections::BTreeMap;

use weighbridge_model::estimate::{Quantity, Validity};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::{Ratio, display_nanos};
use weighbridge_model::record::OperationFigures;

use crate::checks::Alarm;
use crate::estimate::parts::{Parts, StartLevels};
use crate::estimate::{Contrast, contrast};
use crate::question::{Question, Scope};
use crate::records::{Cell, Gathered, Lens, Longer, figures_of, means_of_swapped};
use crate::stats::interval::Mean;
use crate::stats::multiple::p_against_zero;
use crate::stats::sample::{self, median};
use crate::stats::steady::{CarryOver, carry_over, drift, shift, two_levels};
use crate::thresholds::{
    CARRY_OVER_P, CHECKED_BLOCKS, DRIFT_CHANGE, DRIFT_P, LEVEL, RUN_DRIFT_BLOCKS, WINDOW_CHECK_P,
};

/// The name of the alarm that flags a cost which changes with the window's length.
pub const DEPENDS_ON_WINDOW: &str = "depends on window";

/// Fewest rounds of each order in a block that are compared for carry-over.
const ROUNDS_PER_ORDER: usize = 3;

/// Checks of a cost: two lengths, of the headline and of the mean.
const CHECKS: f64 = 4.0;

/// The logarithms of a figure of a cell's measured windows, in the order they ran.
fn logs_of(cell: &Cell<'_>, figure: impl Fn(&OperationFigures) -> f64) -> Vec<f64> {
    let figures = cell.windows.iter().filter_map(|window| window.figures.all.as_ref());
    figures.map(|figures| figure(figures).max(1.0).ln()).collect()
}

fn p50(figures: &OperationFigures) -> f64 {
    figures.response_p50.as_nanos() as f64
}

fn mean(figures: &OperationFigures) -> f64 {
    figures.response_sum.as_nanos() as f64 / figures.ok.max(1) as f64
}

/// The logarithms of the p50 of a cell's measured windows, in the order they ran.
fn log_medians(cell: &Cell<'_>) -> Vec<f64> {
    logs_of(cell, p50)
}

/// Changes within trials, of which more than half are significant in the direction of their median, which is above 5 %:
/// the median, and how many.
fn consistent(changes: &[(f64, f64)]) -> Option<(f64, usize)> {
    let change = median(&changes.iter().map(|(change, _)| *change).collect::<Vec<_>>())?;
    let agrees = |(one, p): &&(f64, f64)| *p < DRIFT_P && one.signum() == change.signum();
    let significant = changes.iter().filter(agrees).count();
    (2 * significant > changes.len() && change.abs() > DRIFT_CHANGE).then_some((change, significant))
}

/// Whether a variant was still changing while it was measured: in more than half of its trials its p50 or its mean drifts,
/// or the p50 steps against the baseline's, and the median change over a trial is above 5 %.
///
/// A step is looked for in the cost and not in the variant's own times: what the host does steps both alike.
pub fn drifting(gathered: &Gathered<'_>, point: PointId, variant: VariantId) -> Option<Alarm> {
    let cells = gathered.lives(point, variant, Lens::Measured);
    let trends = |logs: fn(&Cell<'_>) -> Vec<f64>| -> Vec<(f64, f64)> {
        cells.iter().filter_map(|cell| drift(&logs(cell))).map(|found| (found.change, found.p)).collect()
    };
    let pairs = gathered.pairs(point, variant, Lens::Measured);
    let steps = || -> Vec<(f64, f64)> {
        let found = pairs.iter().filter_map(|(mine, theirs)| shift(&log_ratios(mine, theirs)));
        found.map(|found| (found.change, found.p)).collect()
    };
    let told = |found: Vec<(f64, f64)>, what: &str| {
        let (change, significant) = consistent(&found)?;
        let changed = format!("{what} by {} within a trial", Ratio::new(change.exp_m1()));
        Some((change, format!("{changed}, in {significant} of {} trials", found.len())))
    };
    let (change, evidence) = told(trends(log_medians), "response p50 changed")
        .or_else(|| told(trends(|cell| logs_of(cell, mean)), "response mean changed"))
        .or_else(|| {
            told(steps(), "response p50 against the baseline stepped").filter(|_| variant != VariantId(0))
        })?;
    Some(Alarm {
        validity: Validity::Suspect,
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

/// Log-ratios of the p50 of a block's rounds, in the order they ran.
fn log_ratios(mine: &Cell<'_>, theirs: &Cell<'_>) -> Vec<f64> {
    let by_round = |cell: &Cell<'_>| {
        let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for window in &cell.windows {
            if let Some(figures) = figures_of(window, Scope::All) {
                rounds.entry(window.round).or_default().push(p50(figures).max(1.0).ln());
            }
        }
        rounds
    };
    let baseline = by_round(theirs);
    let ratio = |(round, logs): (u32, Vec<f64>)| Some(median(&logs)? - median(baseline.get(&round)?)?);
    by_round(mine).into_iter().filter_map(ratio).collect()
}

/// Whether a variant's windows lie on two levels, block by block.
pub fn on_two_levels(gathered: &Gathered<'_>, point: PointId, variant: VariantId) -> Option<Alarm> {
    let cells = gathered.lives(point, variant, Lens::Measured);
    let logs = |cell: &Cell<'_>| match cell.pairing() {
        // Two sets of cores make two levels; the mean of every two rounds has both in it.
        Pairing::Duet => means_of_swapped(
            cell.windows
                .iter()
                .filter_map(|window| Some((window.round, p50(window.figures.all.as_ref()?).max(1.0).ln()))),
        ),
        _ => log_medians(cell),
    };
    let found: Vec<_> = cells.iter().filter_map(|cell| two_levels(&logs(cell))).collect();
    let first = found.first().filter(|_| 2 * found.len() > cells.len())?;
    let times = |log: f64| display_nanos(log.exp());
    Some(Alarm {
        validity: Validity::Valid,
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

/// How a variant's cost differs between rounds in which it ran after the baseline and before it, over blocks; in a duet
/// between those in which it had the second set of cores and the first.
pub fn order_effect(gathered: &Gathered<'_>, point: PointId, variant: VariantId) -> Option<CarryOver> {
    let pairs = gathered.pairs(point, variant, Lens::Measured);
    let orders: Vec<_> = pairs.iter().filter_map(|(mine, theirs)| by_order(mine, theirs)).collect();
    let (after, before): (Vec<f64>, Vec<f64>) = orders.into_iter().unzip();
    carry_over(&after, &before)
}

/// Whether a variant's cost depends on whether it ran before or after the baseline in a round; in a duet, on its cores.
pub fn carried_over(gathered: &Gathered<'_>, point: PointId, variant: VariantId) -> Option<Alarm> {
    let found = order_effect(gathered, point, variant).filter(|found| found.p < CARRY_OVER_P)?;
    if gathered.pairing(point) == Pairing::Duet {
        return Some(Alarm {
            validity: Validity::Valid,
            name: "cores differ",
            evidence: format!(
                "response p50 against the baseline differs by {} between the two sets of cores",
                Ratio::new(found.difference.point.exp_m1())
            ),
            remedy: "none is needed: every two rounds swap them, so that the cost holds nothing of it",
        });
    }
    Some(Alarm {
        validity: Validity::Suspect,
        name: "carry-over",
        evidence: format!(
            "response p50 against the baseline differs by {} between the orders AB and BA",
            Ratio::new(found.difference.point.exp_m1())
        ),
        remedy: "lengthen the window or the lead-in: a window is changed by the one before it",
    })
}

/// Whether a variant's cost drifts through the run, from block to block: block estimates are then not alike, and their
/// interval is of no one cost.
pub fn run_drifting(
    question: &Question,
    gathered: &Gathered<'_>,
    (point, variant): (PointId, VariantId),
    scope: Scope,
) -> Option<Alarm> {
    let of = (point, variant);
    let logs =
        contrast(question, gathered, of, (scope, Lens::Measured), question.headline).ok()?.log_ratios();
    let found = drift(&logs).filter(|found| logs.len() >= RUN_DRIFT_BLOCKS && found.p < DRIFT_P)?;
    Some(Alarm {
        validity: Validity::Suspect,
        name: "drift through the run",
        evidence: format!(
            "the cost changes by {} from the first of {} blocks to the last",
            Ratio::new(found.change.exp_m1()),
            logs.len()
        ),
        remedy: "look for something that outlives a restart: a growing file, a filling disk, a warming host",
    })
}

/// Whether a variant's starts lie on two levels: a cost that is one of two, drawn at each start.
pub fn on_two_starts(
    question: &Question,
    gathered: &Gathered<'_>,
    (point, variant): (PointId, VariantId),
    scope: Scope,
) -> Option<Alarm> {
    let parts = Parts::new(question, gathered, (point, variant), scope)?;
    let found = parts.start_levels()?;
    let pairs = gathered.pairs(point, variant, Lens::Measured);
    Some(Alarm {
        validity: Validity::Valid,
        name: "two levels of starts",
        evidence: levels_in_words(&found, &pairs, (scope, &parts.costs)),
        remedy: "the cost is the mean of two states; look for what a start decides (memory layout, a hash seed, a core)",
    })
}

/// Starts on two levels, in words, with the mean response of variant and baseline on the lower and on the upper ones.
fn levels_in_words(
    found: &StartLevels,
    pairs: &[(Cell<'_>, Cell<'_>)],
    (scope, costs): (Scope, &[Vec<f64>]),
) -> String {
    let middle = 0.5 * (found.low + found.high);
    let of_level = |upper: bool| {
        let chosen = pairs.iter().zip(costs);
        let chosen =
            chosen.filter(|(_, costs)| sample::mean(costs).is_some_and(|cost| (cost > middle) == upper));
        let (mut mine, mut theirs) = (Vec::new(), Vec::new());
        for ((variant, baseline), _) in chosen {
            mine.extend(variant.totals(scope).get(Quantity::ResponseMean));
            theirs.extend(baseline.totals(scope).get(Quantity::ResponseMean));
        }
        let shown = |means: &[f64]| sample::mean(means).map_or_else(|| "unknown".to_owned(), display_nanos);
        format!("mean response {}, baseline {}", shown(&mine), shown(&theirs))
    };
    format!(
        "the cost is near {} in {} starts ({}) and near {} in {} ({})",
        Ratio::new(found.low.exp_m1()),
        found.of - found.upper,
        of_level(false),
        Ratio::new(found.high.exp_m1()),
        found.upper,
        of_level(true),
    )
}

/// Median log-ratio of a block's rounds in which the variant ran after the baseline, and before it. Rounds in which it ran
/// between two windows of the baseline say nothing of order.
fn by_order(mine: &Cell<'_>, theirs: &Cell<'_>) -> Option<(f64, f64)> {
    let mut rounds: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
    for window in &theirs.windows {
        if let Some(figures) = figures_of(window, Scope::All) {
            let p50 = figures.response_p50.as_nanos() as f64;
            rounds.entry(window.round).or_default().push((window.position, p50));
        }
    }
    let (mut after, mut before) = (Vec::new(), Vec::new());
    for window in &mine.windows {
        let Some((figures, baseline)) = figures_of(window, Scope::All).zip(rounds.get(&window.round)) else {
            continue;
        };
        let p50s: Vec<f64> = baseline.iter().map(|(_, p50)| *p50).collect();
        let log_ratio = (figures.response_p50.as_nanos() as f64 / median(&p50s)?).ln();
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

/// Whether a variant's headline cost, or that of the mean response time, moves beyond its interval in windows ten or a
/// hundred times as long.
///
/// Where the headline cannot be had from single windows (it needs a trial's histograms), the mean alone is looked at. It is
/// looked at beside a p50 too: what slows the first requests of a window moves it, and need not move the p50.
/// The blocks' own differences must also be significant, with Bonferroni's share for each of the four checks: the check has fewer
/// windows and more noise than the cost. Below three blocks with a check nothing is said: one window of a second
/// can fall into whatever the host does.
pub fn depends_on_window(
    question: &Question,
    gathered: &Gathered<'_>,
    point: PointId,
    variant: VariantId,
    scope: Scope,
) -> Option<Alarm> {
    let contrast =
        |lens, quantity| contrast(question, gathered, (point, variant), (scope, lens), quantity).ok();
    let check = |(longer, quantity): (Longer, Quantity)| {
        let check = contrast(Lens::Check(longer), quantity)?;
        moved(&contrast(Lens::Measured, quantity)?, &check, WINDOW_CHECK_P / CHECKS)
            .map(|change| (longer, quantity, change))
    };
    let lengths = [Longer::Tenfold, Longer::Hundredfold];
    let both = [question.headline, Quantity::ResponseMean].into_iter().flat_map(|q| lengths.map(|l| (l, q)));
    let (longer, quantity, change) = both.into_iter().find_map(check)?;
    let times = if longer == Longer::Tenfold { "ten" } else { "a hundred" };
    Some(Alarm {
        validity: Validity::Suspect,
        name: DEPENDS_ON_WINDOW,
        evidence: format!(
            "{quantity} against the baseline changes by {} in windows {times} times as long",
            Ratio::new(change.exp_m1())
        ),
        remedy: "set `window` to a longer time: something in the service is slower than a window",
    })
}

/// By how much the log-ratio moved, where that is beyond the interval and beyond the check's own noise (p below `level`). Each block's check is
/// held against the same block: blocks differ by their starts, and a check may have run in some of them only.
pub(crate) fn moved(measured: &Contrast, check: &Contrast, level: f64) -> Option<f64> {
    let interval = measured.log_mean()?.interval(LEVEL);
    let of_block = |block: u32| measured.blocks().iter().find(|b| b.block == block);
    let differences: Vec<f64> =
        check.blocks().iter().filter_map(|b| Some(b.log_ratio - of_block(b.block)?.log_ratio)).collect();
    let change = sample::mean(&differences)?;
    let differences = Mean::of(&differences).filter(|_| differences.len() >= CHECKED_BLOCKS)?;
    let beyond_noise = p_against_zero(differences) < level;
    (!interval.contains(interval.point + change) && beyond_noise).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::BlockEstimate;

    fn moved(measured: &Contrast, check: &Contrast) -> Option<f64> {
        super::moved(measured, check, WINDOW_CHECK_P / CHECKS)
    }

    fn contrast(logs: &[f64]) -> Contrast {
        let block = |(block, log): (u32, &f64)| BlockEstimate { block, log_ratio: *log, difference: 0.0 };
        Contrast::new((0..).zip(logs).map(block).collect(), 6)
    }

    #[test]
    fn a_shift_beyond_interval_and_noise_has_moved() {
        let measured = contrast(&[0.100, 0.101, 0.099, 0.100, 0.101, 0.099]);
        let check = contrast(&[0.150, 0.148, 0.152, 0.151, 0.149, 0.150]);
        assert!((moved(&measured, &check).unwrap() - 0.05).abs() < 1e-12);
    }

    #[test]
    fn a_noisy_check_beyond_a_narrow_interval_has_not_moved() {
        let measured = contrast(&[0.100, 0.101, 0.099, 0.100, 0.101, 0.099]);
        let check = contrast(&[0.160, 0.050, 0.165, 0.045, 0.158, 0.052]);
        assert_eq!(moved(&measured, &check), None);
    }

    #[test]
    fn a_steady_shift_within_a_wide_interval_has_not_moved() {
        let measured = contrast(&[0.05, 0.15, 0.05, 0.15, 0.05, 0.15]);
        let check = contrast(&[0.061, 0.160, 0.060, 0.159, 0.060, 0.160]);
        assert_eq!(moved(&measured, &check), None);
    }

    #[test]
    fn a_check_of_some_blocks_is_held_against_the_same_blocks() {
        // Starts on two levels: the checks ran in two of the lower ones, and cost there what was measured there.
        let measured = contrast(&[0.0, 0.001, 0.4, 0.401, 0.4, 0.0]);
        assert_eq!(moved(&measured, &contrast(&[0.001, 0.002])), None);
    }

    #[test]
    fn checks_in_two_blocks_decide_nothing() {
        let measured = contrast(&[0.100, 0.101, 0.099, 0.100, 0.101, 0.099]);
        assert_eq!(moved(&measured, &contrast(&[0.225, 0.226])), None);
        assert!(moved(&measured, &contrast(&[0.225, 0.226, 0.224])).is_some());
    }
}
