//! Costs of parts of blocks: the rounds of every block are cut into consecutive parts, and each part's cost
//! is estimated like that of a block. Differences of parts within a block do not come from its start;
//! differences of blocks beyond these do.

use weighbridge_model::estimate::{ContrastKind, Quantity};

use super::{Estimand, block_estimate, pooling};
use crate::question::{Load, Question, Scope};
use crate::records::{CellPair, Records, WindowSelection};
use crate::stats::components::{Components, one_way};
use crate::stats::fisher;
use crate::stats::interval::Mean;
use crate::stats::sample::{ascending, mean, standard_deviation};
use crate::stats::steady::drift;
use crate::thresholds::{
    BLOCKS_FOR_INTERVAL, LEVEL, LEVEL_LEFT, LEVEL_LEFT_MORE, LEVEL_P, LEVEL_STARTS, VARIANCE_PARTS,
};

/// From this number of starts on, the share that two levels may leave no longer rises.
const LEVEL_STARTS_MANY: usize = 18;

#[derive(Debug, Clone, PartialEq)]
pub struct CostParts {
    /// The headline, or the mean response time if the headline needs histograms or is a share.
    pub quantity: Quantity,
    /// Log-ratios, block by block.
    pub costs: Vec<Vec<f64>>,
    /// Mean of the logarithms of variant and baseline, block by block: what the two have in common.
    pub levels: Vec<Vec<f64>>,
    /// Rounds of a block, on average.
    pub rounds: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Variances {
    /// Of the cost: within blocks and between them.
    pub cost: Components,
    /// Variance of the cost from start to start; negative estimates become 0.
    pub start: f64,
    /// Variance of the cost of one round, as far as it survives averaging over a part.
    pub round: f64,
    /// Variance from block to block of what variant and baseline have in common; negative estimates become 0.
    pub block: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartLevels {
    pub low: f64,
    pub high: f64,
    pub upper: usize,
    pub count: usize,
}

impl CostParts {
    /// Cuts every block's rounds into at most 10 consecutive parts of near equal length, with an even number
    /// of rounds so that each holds both orders. `None` if no block has two parts.
    pub fn new(question: &Question, records: &Records<'_>, estimand: Estimand) -> Option<Self> {
        let load = pooling(question, records, estimand.point);
        let pairs = records.pairs(estimand.point, estimand.variant, WindowSelection::Measured);
        let parts = |quantity| Self::for_quantity(&pairs, estimand.scope, load, quantity);
        // A level of shares has no logarithm.
        let headline = Some(question.headline).filter(|headline| headline.contrast() == ContrastKind::Log);
        headline.and_then(parts).or_else(|| parts(Quantity::ResponseMean))
    }

    pub(crate) fn for_quantity(
        pairs: &[CellPair<'_>],
        scope: Scope,
        load: Load,
        quantity: Quantity,
    ) -> Option<Self> {
        let mut parts = Self { quantity, costs: Vec::new(), levels: Vec::new(), rounds: 0.0 };
        for CellPair { variant, baseline } in pairs {
            let last = variant.windows.iter().chain(&baseline.windows).map(|window| window.round).max()?;
            let cuts = cuts(last + 1);
            let each = cuts.windows(2).filter_map(|ends| {
                let [variant, baseline] =
                    [variant, baseline].map(|cell| cell.part(ends[0]..ends[1]).with_totals(scope));
                let cost = block_estimate(&variant, &baseline, scope, load, quantity)?;
                let level = baseline.log_figure(scope, load, quantity)?;
                Some((cost.compared, level + 0.5 * cost.compared))
            });
            let (costs, levels): (Vec<f64>, Vec<f64>) = each.unzip();
            parts.costs.push(costs);
            parts.levels.push(levels);
            parts.rounds += f64::from(last + 1) / pairs.len() as f64;
        }
        parts.costs.iter().any(|costs| costs.len() > 1).then_some(parts)
    }

    /// The variances, by the method of moments; `None` below two blocks.
    ///
    /// With cost z = S + e, level m = B + S' + e' and independent starts: Var S' = Var S / 4 if variant and
    /// baseline vary alike, so σ²_block = σ²_between(m) − σ²_between(z)/4.
    pub fn variances(&self) -> Option<Variances> {
        let (cost, level) = (one_way(&self.costs)?, one_way(&self.levels)?);
        let rounds_per_part = self.rounds / cost.size;
        Some(Variances {
            cost,
            start: cost.between.max(0.0),
            round: cost.within * rounds_per_part,
            block: (level.between - 0.25 * cost.between).max(0.0),
        })
    }

    /// Whether the starts lie on two levels; `None` below 6 starts. The variance between blocks must be
    /// certain. Two values, each of at least two starts, must explain all of it (the rest is no more than
    /// parts within a block differ, F test at 5 %) or nearly all (the rest is less than the best cut leaves
    /// of starts that vary smoothly). No single start may lie apart by as much as the levels do.
    ///
    /// This is a rule for a flag, not a test of a distribution: starts that vary smoothly leave a spread
    /// within each level.
    pub fn start_levels(&self) -> Option<StartLevels> {
        let cost = one_way(&self.costs)?;
        let starts: Vec<f64> = self.costs.iter().filter_map(|parts| mean(parts)).collect();
        if starts.len() < LEVEL_STARTS || cost.share_between(LEVEL)?.lower < 0.5 {
            return None;
        }
        let sorted = ascending(&starts);
        let squares =
            |side: &[f64]| standard_deviation(side).map_or(0.0, |s| s * s * (side.len() - 1) as f64);
        let left = |cut: usize| squares(&sorted[..cut]) + squares(&sorted[cut..]);
        let cut = (2..=sorted.len() - 2).min_by(|&a, &b| left(a).total_cmp(&left(b)))?;
        let (degrees, noise) = (sorted.len() as f64 - 2.0, cost.within / cost.size);
        let unexplained = left(cut) / degrees / noise;
        // Starts vary a little within each level, too, by more than parts do if blocks are long.
        let allowed =
            LEVEL_LEFT + LEVEL_LEFT_MORE * (sorted.len().min(LEVEL_STARTS_MANY) - LEVEL_STARTS) as f64;
        let nearly = left(cut) < allowed * squares(&sorted);
        let explained = nearly || fisher::upper_tail(unexplained, degrees, cost.under) > LEVEL_P;
        let (low, high) = (mean(&sorted[..cut])?, mean(&sorted[cut..])?);
        explained.then_some(StartLevels { low, high, upper: sorted.len() - cut, count: sorted.len() })
    }

    /// The change of the cost from a block's first part to its last, over blocks, on the log scale.
    pub(crate) fn drift(&self) -> Option<Mean> {
        let changes: Vec<f64> =
            self.costs.iter().filter_map(|parts| drift(parts)).map(|found| found.change).collect();
        (changes.len() >= BLOCKS_FOR_INTERVAL).then(|| Mean::new(&changes)).flatten()
    }
}

/// The ends of the parts: even numbers of rounds, near equal lengths, at most ten.
fn cuts(rounds: u32) -> Vec<u32> {
    let pairs = rounds / 2;
    let parts = pairs.min(VARIANCE_PARTS as u32).max(1);
    (0..=parts).map(|part| if part == parts { rounds } else { 2 * (part * pairs / parts) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_cut_in_pairs_into_at_most_ten_parts() {
        assert_eq!(cuts(10), [0, 2, 4, 6, 8, 10]);
        assert_eq!(cuts(11), [0, 2, 4, 6, 8, 11]);
        assert_eq!(cuts(25), [0, 2, 4, 6, 8, 12, 14, 16, 18, 20, 25].to_vec());
        assert_eq!(cuts(400), (0..=10).map(|part| 40 * part).collect::<Vec<_>>());
        assert_eq!(cuts(1), [0, 1]);
    }

    fn parts(costs: Vec<Vec<f64>>) -> CostParts {
        CostParts { quantity: Quantity::ResponseP50, levels: costs.clone(), costs, rounds: 50.0 }
    }

    /// Five parts around each of these starts, with ±1 % of noise.
    fn starts(levels: &[f64]) -> CostParts {
        parts(
            levels
                .iter()
                .map(|start| [-0.01, -0.005, 0.0, 0.005, 0.01].map(|e| start + e).to_vec())
                .collect(),
        )
    }

    #[test]
    fn starts_on_two_levels_are_distinguished_from_starts_that_vary() {
        let found = starts(&[0.0, 0.201, 0.001, 0.2, -0.001, 0.0, 0.199]).start_levels().unwrap();
        assert_eq!((found.upper, found.count), (3, 7));
        assert!(found.low.abs() < 1e-3 && (found.high - 0.2).abs() < 1e-3, "{found:?}");
        assert_eq!(starts(&[0.0, 0.05, 0.09, 0.13, 0.16, 0.2, 0.1]).start_levels(), None, "they vary");
        assert_eq!(starts(&[0.0, 0.001, 0.002, 0.0, -0.001, 0.001]).start_levels(), None, "they agree");
        assert_eq!(starts(&[0.0, 0.2, 0.0, 0.0, 0.001, 0.0]).start_levels(), None, "one start is no level");
        assert_eq!(starts(&[0.0, 0.2, 0.0, 0.2, 0.0]).start_levels(), None, "five starts are too few");
    }

    #[test]
    fn the_drift_of_a_cost_is_estimated_over_blocks() {
        let rising = |noise: f64| (0..10).map(|part| 0.001 * f64::from(part) + noise).collect::<Vec<_>>();
        let found = parts([0.0, 0.01, -0.01, 0.02].map(rising).to_vec()).drift().unwrap();
        assert!((found.point - 0.009).abs() < 1e-12 && found.degrees == 3.0);
        assert_eq!(parts([0.0, 0.1, 0.2].map(rising).to_vec()).drift(), None);
    }
}
