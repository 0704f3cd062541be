//! Whether a stage's cost depends on a factor: one of the points, as size, connections and rate, or a setting in which two
//! chains differ, as cores.
//!
//! Costs in one block share what the block was; so the interaction is their difference within a block, with
//! an interval over blocks. Where the factor is the size, a line through the costs of a block says how much of them is per
//! operation and how much per byte.

use std::collections::{BTreeMap, BTreeSet};

use weighbridge_model::layering::{Additivity, Interaction, Slope};
use weighbridge_model::record::PointId;
use weighbridge_model::summary::{PointLabel, Quantity};

use super::Row;
use super::blocks::Level;
use super::lineup::{self, Line};
use super::sum::conclude;
use crate::estimate::{estimate, mean_with_error};
use crate::question::{AskedSizes, Question};
use crate::stats::multiple::p_against_zero;

/// The name of the whole chain among stages.
pub(super) const WHOLE: &str = "whole";

/// What the blocks say of the stages of one chain at one point in one quantity.
#[derive(Debug, Clone)]
pub(super) struct Measured {
    /// The chain's number.
    pub line: usize,
    /// The point.
    pub point: PointId,
    /// The quantity.
    pub quantity: Quantity,
    /// The figure of the first stage: the scale of what is relevant, and of the noise.
    pub scale: f64,
    /// The blocks' numbers.
    pub blocks: Vec<u32>,
    /// Every stage but the first, then the whole; by block. `None` where it has no figure.
    pub stages: Vec<Option<Vec<Level>>>,
    /// Blocks of the first stage of Stein's rule.
    pub first_stage: usize,
}

/// Points that differ in one factor alone, in the order of the experiment.
struct Group {
    factor: String,
    others: PointLabel,
    points: Vec<PointId>,
}

/// Interactions of every chain's stages with every factor, and lines over size.
pub(super) fn over(
    question: &Question,
    lines: &[Line],
    measured: &[Measured],
) -> (Vec<Interaction>, Vec<Slope>) {
    let groups = groups(question);
    let (mut interactions, mut slopes) = (Vec::new(), Vec::new());
    for (at, line) in lines.iter().enumerate() {
        for group in &groups {
            for quantity in looked_at(question) {
                let of: Vec<&Measured> = group
                    .points
                    .iter()
                    .filter_map(|&point| {
                        measured.iter().find(|m| (m.line, m.point, m.quantity) == (at, point, quantity))
                    })
                    .collect();
                let places = 0..line.stages.len();
                interactions
                    .extend(places.clone().flat_map(|place| differences(question, line, group, &of, place)));
                slopes.extend(places.filter_map(|place| slope(question, line, group, &of, place)));
            }
        }
    }
    interactions
        .extend(lines.iter().enumerate().flat_map(|(at, _)| of_settings(question, lines, measured, at)));
    (interactions, slopes)
}

/// What a chain's stages cost against those of the first chain that has one setting otherwise, setting by setting.
fn of_settings(question: &Question, lines: &[Line], measured: &[Measured], at: usize) -> Vec<Interaction> {
    let line = &lines[at];
    let mut seen = BTreeSet::new();
    let references = lines[..at].iter().enumerate().filter_map(|(earlier, other)| {
        let changed = lineup::changed_setting(question, other, line)?;
        seen.insert(changed.key.clone()).then_some((earlier, changed))
    });
    let mut found = Vec::new();
    for (earlier, changed) in references {
        for quantity in looked_at(question) {
            for (id, point) in question.points() {
                let find = |of| measured.iter().find(|m| (m.line, m.point, m.quantity) == (of, id, quantity));
                let (Some(from), Some(to)) = (find(earlier), find(at)) else { continue };
                let label = |value: &String| {
                    let mut label = point.label.clone();
                    label.insert(changed.key.clone(), value.clone());
                    label
                };
                let compared = Compared {
                    factor: &changed.key,
                    from: (from, label(&changed.from)),
                    to: (to, label(&changed.to)),
                };
                found.extend((0..line.stages.len()).filter_map(|place| compared.at(question, line, place)));
            }
        }
    }
    found
}

/// Those that a factor is likely to change, the headline first.
fn looked_at(question: &Question) -> Vec<Quantity> {
    let mut quantities = vec![question.headline];
    let more = [
        Quantity::ResponseP50,
        Quantity::CpuPerOperation,
        Quantity::WireBytesPerOperation,
        Quantity::SegmentsPerOperation,
    ];
    quantities.extend(more.into_iter().filter(|quantity| *quantity != question.headline));
    quantities
}

fn groups(question: &Question) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (id, point) in question.points() {
        for factor in point.label.keys() {
            let mut others = point.label.clone();
            others.remove(factor);
            match groups.iter_mut().find(|group| group.factor == *factor && group.others == others) {
                Some(group) => group.points.push(id),
                None => groups.push(Group { factor: factor.clone(), others, points: vec![id] }),
            }
        }
    }
    groups.retain(|group| group.points.len() > 1);
    groups
}

/// A stage's name and variant by its place behind the first; the place after the last is the whole.
fn stage_at(question: &Question, line: &Line, place: usize) -> (String, String) {
    let last = line.stages.len() - 1;
    let (id, name) = &line.stages[(place + 1).min(last)];
    let name = if place == last { WHOLE.to_owned() } else { name.clone() };
    (name, question.variants[id.index()].name.clone())
}

/// A stage's cost by block.
fn costs(measured: &Measured, place: usize) -> Option<BTreeMap<u32, f64>> {
    let levels = measured.stages.get(place)?.as_ref()?;
    Some(measured.blocks.iter().copied().zip(levels.iter().map(|level| level.difference)).collect())
}

/// A stage at every point of a group against the first.
fn differences(
    question: &Question,
    line: &Line,
    group: &Group,
    of: &[&Measured],
    place: usize,
) -> Vec<Interaction> {
    let Some((first, rest)) = of.split_first() else { return Vec::new() };
    let label = |measured: &Measured| question.points[measured.point.index()].label.clone();
    let against = |to: &&Measured| {
        let compared = Compared { factor: &group.factor, from: (first, label(first)), to: (to, label(to)) };
        compared.at(question, line, place)
    };
    rest.iter().filter_map(against).collect()
}

/// Two measurements of one chain that differ in a factor, each with the words for where it was taken.
struct Compared<'m> {
    factor: &'m str,
    from: (&'m Measured, PointLabel),
    to: (&'m Measured, PointLabel),
}

impl Compared<'_> {
    /// What the stage at this place costs more in the second.
    fn at(&self, question: &Question, line: &Line, place: usize) -> Option<Interaction> {
        let ((from, from_label), (to, to_label)) = (&self.from, &self.to);
        let (here, there) = (costs(from, place)?, costs(to, place)?);
        let values: Vec<f64> =
            there.iter().filter_map(|(block, cost)| Some(cost - here.get(block)?)).collect();
        (!values.is_empty()).then_some(())?;
        let difference = estimate(&values, to.first_stage);
        let least = from.scale.max(to.scale) * question.margin.get();
        let (verdict, reason) = conclude(&difference, least);
        let (stage, variant) = stage_at(question, line, place);
        Some(Interaction {
            of: line.of.clone(),
            stage,
            variant,
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

/// The line through a stage's costs over the sizes of a group.
fn slope(question: &Question, line: &Line, group: &Group, of: &[&Measured], place: usize) -> Option<Slope> {
    let size = |measured: &&Measured| match question.asked(measured.point) {
        AskedSizes::One(size) => Some(size.get()),
        _ => None,
    };
    let sizes: Vec<u64> = of.iter().map(size).collect::<Option<_>>()?;
    let mut distinct = sizes.clone();
    distinct.sort_unstable();
    distinct.dedup();
    (distinct.len() > 1 && distinct.len() == sizes.len()).then_some(())?;
    let by_point: Vec<BTreeMap<u32, f64>> =
        of.iter().map(|measured| costs(measured, place)).collect::<Option<_>>()?;
    let weights: Vec<f64> = of.iter().map(|measured| 1.0 / (measured.scale * measured.scale)).collect();
    let lines = by_point[0].keys().filter_map(|block| {
        let costs: Vec<f64> =
            by_point.iter().map(|costs| costs.get(block).copied()).collect::<Option<_>>()?;
        let points: Vec<(f64, f64, f64)> = sizes
            .iter()
            .zip(&costs)
            .zip(&weights)
            .map(|((size, cost), weight)| (*size as f64, *cost, *weight))
            .collect();
        weighted_line(&points)
    });
    let (at_zero, per_byte): (Vec<f64>, Vec<f64>) = lines.unzip();
    (!at_zero.is_empty()).then_some(())?;
    let (stage, variant) = stage_at(question, line, place);
    let (quantity, first_stage) = (of[0].quantity, of[0].first_stage);
    Some(Slope {
        of: line.of.clone(),
        stage,
        variant,
        point: group.others.clone(),
        sizes: distinct,
        quantity,
        unit: quantity.unit(),
        per_operation: estimate(&at_zero, first_stage),
        per_byte: estimate(&per_byte, first_stage),
    })
}

/// The line a + b·x of least squares through (x, y, weight): a and b. `None` where all x are one.
fn weighted_line(points: &[(f64, f64, f64)]) -> Option<(f64, f64)> {
    let sum = |of: fn(&(f64, f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let weight = sum(|(_, _, w)| *w);
    let (x, y) = (sum(|(x, _, w)| w * x) / weight, sum(|(_, y, w)| w * y) / weight);
    let spread: f64 = points.iter().map(|(at, _, w)| w * (at - x) * (at - x)).sum();
    let slope = points.iter().map(|(at, value, w)| w * (at - x) * (value - y)).sum::<f64>() / spread;
    slope.is_finite().then_some((y - slope * x, slope))
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
        let on_it = [(0.0, 3.0, 1.0), (10.0, 8.0, 0.2), (100.0, 53.0, 7.0)];
        let (a, b) = weighted_line(&on_it).expect("a line");
        assert!((a - 3.0).abs() < 1e-9 && (b - 0.5).abs() < 1e-12, "{a} {b}");
        assert_eq!(weighted_line(&[(1.0, 2.0, 1.0), (1.0, 3.0, 1.0)]), None);
        // By hand: weights 1, 1, 2 at x 0, 1, 2 with y 0, 1, 0: mean x 1.25, y 0.25; b = −0.25/2.75, a = 0.25 − 1.25 b.
        let (a, b) = weighted_line(&[(0.0, 0.0, 1.0), (1.0, 1.0, 1.0), (2.0, 0.0, 2.0)]).expect("a line");
        let slope = -0.25 / 2.75;
        assert!((b - slope).abs() < 1e-12 && (a - (0.25 - 1.25 * slope)).abs() < 1e-12, "{a} {b}");
    }
}
