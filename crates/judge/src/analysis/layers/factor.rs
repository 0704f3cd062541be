//! Whether a stage's cost depends on a factor: a factor of the points, such as size, connections or rate, or
//! a setting in which two pairs differ, such as cores.
//!
//! Costs of one block share its conditions. So the interaction is their difference within a block, with an
//! interval over blocks. If the factor is the size, a line through a block's costs says how much of them is
//! per operation and how much per byte. Chains share their first stages; each pair is examined once.

use std::collections::{BTreeMap, BTreeSet};

use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::PointLabel;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::layering::{Additivity, Interaction, Slope};

use super::Row;
use super::lineup::{self, Step};
use super::sum::{adds_up, conclude};
use crate::estimate::{estimate, mean_with_error};
use crate::question::{AskedSizes, Question};
use crate::stats::multiple::p_against_zero;

pub(super) const WHOLE: &str = "whole";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VariantPair {
    pub family: String,
    /// What the upper variant adds; [`WHOLE`] for a whole chain.
    pub stage: String,
    pub lower: VariantId,
    pub upper: VariantId,
    /// The cost of a whole chain is the sum of others.
    pub is_whole: bool,
}

#[derive(Debug, Clone)]
pub(super) struct PairCosts {
    pub pair: VariantPair,
    pub point: PointId,
    pub quantity: Quantity,
    /// The figure of the lower variant: the scale for relevance and noise.
    pub scale: f64,
    pub costs: BTreeMap<u32, f64>,
    /// Blocks of the first stage of Stein's rule.
    pub first_stage: usize,
}

impl VariantPair {
    fn step(&self) -> Step {
        Step { lower: self.lower, upper: self.upper }
    }
}

impl PairCosts {
    /// Identifies the cost: pairs that chains share have the same key.
    fn key(&self) -> (VariantId, VariantId, PointId, Quantity) {
        (self.pair.lower, self.pair.upper, self.point, self.quantity)
    }
}

/// Points that differ in one factor only, in the order of the experiment.
struct PointGroup {
    factor: String,
    others: PointLabel,
    points: Vec<PointId>,
}

/// The interactions of every pair with every factor, and lines over size.
pub(super) fn over(question: &Question, mut measured: Vec<PairCosts>) -> (Vec<Interaction>, Vec<Slope>) {
    // A pair that is a stage of one chain and the whole of another counts as the stage.
    measured.sort_by_key(|one| one.pair.is_whole);
    let mut seen = BTreeSet::new();
    measured.retain(|one| seen.insert(one.key()));
    let groups = groups(question);
    let pairs = pairs(&measured);
    let (mut interactions, mut slopes) = (Vec::new(), Vec::new());
    for pair in &pairs {
        for group in &groups {
            for quantity in looked_at(question) {
                let find = |&point: &PointId| find(&measured, pair, point, quantity);
                let costs: Vec<&PairCosts> = group.points.iter().filter_map(find).collect();
                interactions.extend(differences(question, group, &costs));
                slopes.extend(slope(question, group, &costs));
            }
        }
    }
    interactions
        .extend((0..pairs.len()).flat_map(|at| setting_interactions(question, &pairs, &measured, at)));
    (interactions, slopes)
}

/// Every pair once, stages first.
fn pairs(measured: &[PairCosts]) -> Vec<&VariantPair> {
    let mut pairs: Vec<&VariantPair> = Vec::new();
    for PairCosts { pair, .. } in measured {
        if !pairs.iter().any(|known| (known.lower, known.upper) == (pair.lower, pair.upper)) {
            pairs.push(pair);
        }
    }
    pairs
}

fn find<'m>(
    measured: &'m [PairCosts],
    pair: &VariantPair,
    point: PointId,
    quantity: Quantity,
) -> Option<&'m PairCosts> {
    measured.iter().find(|one| one.key() == (pair.lower, pair.upper, point, quantity))
}

/// Compares each pair with the first pair that differs from it in one setting only, setting by setting.
fn setting_interactions(
    question: &Question,
    pairs: &[&VariantPair],
    measured: &[PairCosts],
    at: usize,
) -> Vec<Interaction> {
    let pair = pairs[at];
    let mut seen = BTreeSet::new();
    let references = pairs[..at].iter().filter_map(|other| {
        let changed = lineup::changed_setting(question, other.step(), pair.step())?;
        seen.insert(changed.key.clone()).then_some((*other, changed))
    });
    let mut found = Vec::new();
    for (earlier, changed) in references {
        for quantity in looked_at(question) {
            for (id, point) in question.points() {
                let find = |pair| find(measured, pair, id, quantity);
                let (Some(from), Some(to)) = (find(earlier), find(pair)) else { continue };
                let label = |value: &String| {
                    let mut label = point.label.clone();
                    label.insert(changed.key.clone(), value.clone());
                    label
                };
                let compared = FactorComparison {
                    factor: &changed.key,
                    from: (from, label(&changed.from)),
                    to: (to, label(&changed.to)),
                };
                found.extend(compared.interaction(question));
            }
        }
    }
    found
}

/// The quantities that a factor is likely to change and whose differences are comparable, the headline first.
/// A rate is the inverse of a time, so its loss to a layer depends on its level; and the tail of a sum is not
/// the sum of tails.
fn looked_at(question: &Question) -> Vec<Quantity> {
    let mut quantities = vec![question.headline];
    let more = [
        Quantity::ResponseP50,
        Quantity::CpuPerOperation,
        Quantity::WireBytesPerOperation,
        Quantity::SegmentsPerOperation,
    ];
    quantities.extend(more.into_iter().filter(|quantity| *quantity != question.headline));
    quantities.retain(|quantity| adds_up(*quantity));
    quantities
}

fn groups(question: &Question) -> Vec<PointGroup> {
    let mut groups: Vec<PointGroup> = Vec::new();
    for (id, point) in question.points() {
        for factor in point.label.keys() {
            let mut others = point.label.clone();
            others.remove(factor);
            match groups.iter_mut().find(|group| group.factor == *factor && group.others == others) {
                Some(group) => group.points.push(id),
                None => groups.push(PointGroup { factor: factor.clone(), others, points: vec![id] }),
            }
        }
    }
    groups.retain(|group| group.points.len() > 1);
    groups
}

fn differences(question: &Question, group: &PointGroup, costs: &[&PairCosts]) -> Vec<Interaction> {
    let Some((first, rest)) = costs.split_first() else { return Vec::new() };
    let label = |measured: &PairCosts| question.points[measured.point.index()].label.clone();
    let against = |to: &&PairCosts| {
        let compared =
            FactorComparison { factor: &group.factor, from: (first, label(first)), to: (to, label(to)) };
        compared.interaction(question)
    };
    rest.iter().filter_map(against).collect()
}

/// Two measurements of one pair that differ in a factor, each with the label of where it was taken.
struct FactorComparison<'m> {
    factor: &'m str,
    from: (&'m PairCosts, PointLabel),
    to: (&'m PairCosts, PointLabel),
}

impl FactorComparison<'_> {
    /// The second cost less the first. It is relevant if it would be on the smaller of the two lower figures:
    /// a few µs more matter to a short request, though little to a long one, and the question is about the
    /// cost.
    fn interaction(&self, question: &Question) -> Option<Interaction> {
        let ((from, from_label), (to, to_label)) = (&self.from, &self.to);
        let values: Vec<f64> =
            to.costs.iter().filter_map(|(block, cost)| Some(cost - from.costs.get(block)?)).collect();
        (!values.is_empty()).then_some(())?;
        let difference = estimate(&values, to.first_stage);
        let least = from.scale.min(to.scale) * question.margin.get();
        let (verdict, reason) = conclude(&difference, least);
        let name = |id: VariantId| question.variants[id.index()].name.clone();
        Some(Interaction {
            of: to.pair.family.clone(),
            stage: to.pair.stage.clone(),
            variant: name(to.pair.upper),
            above: name(to.pair.lower),
            factor: self.factor.to_owned(),
            from: from_label.clone(),
            to: to_label.clone(),
            quantity: to.quantity,
            unit: to.quantity.unit(),
            difference,
            p: mean_with_error(&values, to.first_stage).map(p_against_zero),
            verdict,
            reason,
        })
    }
}

fn slope(question: &Question, group: &PointGroup, costs: &[&PairCosts]) -> Option<Slope> {
    let size = |measured: &&PairCosts| match question.asked(measured.point) {
        AskedSizes::One(size) => Some(size.get()),
        _ => None,
    };
    let sizes: Vec<u64> = costs.iter().map(size).collect::<Option<_>>()?;
    let mut distinct = sizes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() > 1 && distinct.len() == sizes.len()).then_some(())?;
    let weights: Vec<f64> = costs.iter().map(|measured| 1.0 / (measured.scale * measured.scale)).collect();
    let lines = costs[0].costs.keys().filter_map(|block| {
        let costs: Vec<f64> =
            costs.iter().map(|measured| measured.costs.get(block).copied()).collect::<Option<_>>()?;
        let points: Vec<WeightedPoint> = sizes
            .iter()
            .zip(&costs)
            .zip(&weights)
            .map(|((size, cost), weight)| WeightedPoint { x: *size as f64, y: *cost, weight: *weight })
            .collect();
        weighted_line(&points)
    });
    let (at_zero, per_byte): (Vec<f64>, Vec<f64>) = lines.unzip();
    (!at_zero.is_empty()).then_some(())?;
    let PairCosts { pair, quantity, first_stage, .. } = costs[0];
    let name = |id: VariantId| question.variants[id.index()].name.clone();
    Some(Slope {
        of: pair.family.clone(),
        stage: pair.stage.clone(),
        variant: name(pair.upper),
        above: name(pair.lower),
        point: group.others.clone(),
        sizes: distinct,
        quantity: *quantity,
        unit: quantity.unit(),
        per_operation: estimate(&at_zero, *first_stage),
        per_byte: estimate(&per_byte, *first_stage),
    })
}

#[derive(Debug, Clone, Copy)]
struct WeightedPoint {
    x: f64,
    y: f64,
    weight: f64,
}

/// The least-squares line a + b·x through weighted points: a and b. `None` if all x are equal.
fn weighted_line(points: &[WeightedPoint]) -> Option<(f64, f64)> {
    let sum = |term: fn(&WeightedPoint) -> f64| points.iter().map(term).sum::<f64>();
    let weight = sum(|point| point.weight);
    let mean_x = sum(|point| point.weight * point.x) / weight;
    let mean_y = sum(|point| point.weight * point.y) / weight;
    let squares: f64 =
        points.iter().map(|point| point.weight * (point.x - mean_x) * (point.x - mean_x)).sum();
    let products = points.iter().map(|point| point.weight * (point.x - mean_x) * (point.y - mean_y));
    let slope = products.sum::<f64>() / squares;
    slope.is_finite().then_some((mean_y - slope * mean_x, slope))
}

impl Row for Interaction {
    fn parts(&mut self) -> (Option<f64>, &mut Additivity, &mut Option<String>) {
        (self.p, &mut self.verdict, &mut self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_through_points_on_it_and_heavy_ones_draw_it() {
        let line = |points: [[f64; 3]; 3]| {
            weighted_line(&points.map(|[x, y, weight]| WeightedPoint { x, y, weight }))
        };
        let (a, b) = line([[0.0, 3.0, 1.0], [10.0, 8.0, 0.2], [100.0, 53.0, 7.0]]).expect("a line");
        assert!((a - 3.0).abs() < 1e-9 && (b - 0.5).abs() < 1e-12, "{a} {b}");
        assert_eq!(line([[1.0, 2.0, 1.0], [1.0, 3.0, 1.0], [1.0, 3.0, 0.0]]), None);
        // By hand: weights 1, 1, 2 at x 0, 1, 2 with y 0, 1, 0: mean x 1.25, y 0.25; b = −0.25/2.75, a = 0.25
        // − 1.25 b.
        let (a, b) = line([[0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [2.0, 0.0, 2.0]]).expect("a line");
        let slope = -0.25 / 2.75;
        assert!((b - slope).abs() < 1e-12 && (a - (0.25 - 1.25 * slope)).abs() < 1e-12, "{a} {b}");
    }
}
