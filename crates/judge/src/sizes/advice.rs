//! Which variant to take for which sizes: ranges over which the same variants are best, ties said.
//!
//! The sizes are cut into at most ten classes of about as many requests. In each block a variant's level in a class is the
//! mean of its median curve over the class plus the median distance of the block's requests from that curve; so few requests of a
//! slow variant do not meet other sizes than the many of a fast one. The variant with the lowest level leads; another is behind it
//! where the ratio of their levels, a mean of logarithms over blocks, is above 1 (Student, Holm at 5 % over all comparisons
//! of the advice) and does not lie within the margin; else it is not told apart. So the whole advice errs in at most one
//! of twenty experiments.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use weighbridge_model::sizes::{SizeAdvice, SizeRange};

use super::{Curves, Family};
use crate::question::Question;
use crate::stats::interval::Mean;
use crate::stats::multiple::{holm, p_against_zero};
use crate::stats::sample::{mean, median};
use crate::stats::scatter::Scatter;
use crate::thresholds::{BLOCKS_FOR_INTERVAL, LEVEL};

/// Most classes of sizes.
const CLASSES: usize = 10;
/// Requests of a variant in a class and block below which classes are made larger.
const REQUESTS: usize = 10;

/// Where a variant stands in a class: ln(time) by block.
type Levels = BTreeMap<u32, f64>;

/// What is best in one class of sizes.
#[derive(Debug, Clone, PartialEq)]
struct Best {
    /// The first leads, the others cannot be told from it; the lowest first.
    first: Vec<usize>,
    /// By how much the next is behind at least.
    lead: Option<f64>,
}

/// The advice of a family; `None` for a single variant, and where no size has an interval.
pub(super) fn advice(question: &Question, family: &Family<'_>, curves: &Curves) -> Option<SizeAdvice> {
    let Curves { places, scatters, .. } = curves;
    let asked: Vec<&Scatter> = scatters.iter().filter(|scatter| !scatter.is_empty()).collect();
    if asked.len() < 2 {
        return None;
    }
    let classes = classes(&asked, places.len());
    let bound = |at: usize| {
        if at == 0 || at == places.len() { places[at.min(places.len() - 1)] } else { between(places, at) }
    };
    let in_class = |class: &Range<usize>| -> Vec<Levels> {
        let sizes = (bound(class.start), bound(class.end));
        let last = class.end == places.len();
        let of = |variant: usize| {
            levels(&scatters[variant], curves.median(variant).curve(), places, (class, sizes, last))
        };
        (0..scatters.len()).map(of).collect()
    };
    let levels: Vec<Vec<Levels>> = classes.iter().map(in_class).collect();
    let best = best(&levels, question.margin.get())?;
    let name = |variant: &usize| question.variants[*variant].name.clone();
    let range = |(classes_of, best): (Range<usize>, Best)| SizeRange {
        from_bytes: bound(classes[classes_of.start].start) as u64,
        to_bytes: bound(classes[classes_of.end - 1].end) as u64,
        best: best.first.iter().map(name).collect(),
        lead: best.lead,
    };
    Some(SizeAdvice {
        point: family.point.label.clone(),
        operation: family.operation.clone(),
        ranges: ranges(best).into_iter().map(range).collect(),
    })
}

/// Half way between a place and the one before.
fn between(places: &[f64], at: usize) -> f64 {
    0.5 * (places[at - 1] + places[at])
}

/// Classes of about as many places; fewer where a variant has few requests in a block.
fn classes(scatters: &[&Scatter], places: usize) -> Vec<Range<usize>> {
    let fewest = scatters.iter().map(|scatter| scatter.len() / scatter.blocks().len().max(1)).min();
    let count = (fewest.unwrap_or(0) / REQUESTS).clamp(1, CLASSES).min(places.max(1));
    (0..count).map(|class| class * places / count..(class + 1) * places / count).collect()
}

/// Where a variant stands in a class, block by block.
fn levels(
    scatter: &Scatter,
    curve: &[Option<f64>],
    places: &[f64],
    (class, (from, to), last): (&Range<usize>, (f64, f64), bool),
) -> Levels {
    let known: Vec<f64> = curve[class.clone()].iter().copied().flatten().collect();
    let Some(level) = mean(&known) else { return Levels::new() };
    let mut distances: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let start = scatter.size.partition_point(|size| *size < from);
    for at in start..scatter.len() {
        let size = scatter.size[at];
        if size > to || (size == to && !last) {
            break;
        }
        if let Some(there) = on(curve, places, size) {
            let block = scatter.blocks()[scatter.block[at] as usize];
            distances.entry(block).or_default().push(scatter.log_time[at] - there);
        }
    }
    distances.into_iter().filter_map(|(block, all)| Some((block, level + median(&all)?))).collect()
}

/// A curve at a size between its places, straight over ln(size).
fn on(curve: &[Option<f64>], places: &[f64], size: f64) -> Option<f64> {
    let after = places.partition_point(|place| *place < size).min(places.len() - 1);
    let before = after.saturating_sub(1);
    let (Some(low), Some(high)) = (curve[before], curve[after]) else {
        return curve[after].or(curve[before]);
    };
    let width = places[after].ln() - places[before].ln();
    let share = if width > 0.0 { (size.ln() - places[before].ln()) / width } else { 0.0 };
    Some(low + share.clamp(0.0, 1.0) * (high - low))
}

/// What is best in each class; `None` where one of them has no interval.
fn best(classes: &[Vec<Levels>], margin: f64) -> Option<Vec<Best>> {
    let ordered: Vec<Vec<usize>> = classes.iter().map(|levels| ordered(levels)).collect();
    let mut comparisons = Vec::new();
    for (class, order) in ordered.iter().enumerate() {
        for other in &order[1..] {
            comparisons.push((class, *other, behind(&classes[class][*other], &classes[class][order[0]])?));
        }
    }
    let p: Vec<f64> = comparisons.iter().map(|(_, _, ratio)| p_against_zero(*ratio)).collect();
    // The interval of a distance that is told holds for all of them at once.
    let level = 1.0 - (1.0 - LEVEL) / comparisons.len().max(1) as f64;
    let mut best: Vec<Best> =
        ordered.iter().map(|order| Best { first: order[..1].to_vec(), lead: None }).collect();
    for ((class, other, ratio), p) in comparisons.iter().zip(holm(&p)) {
        let alone = ratio.interval(LEVEL);
        let equal = alone.lower.exp_m1() >= -margin && alone.upper.exp_m1() <= margin;
        if p <= 1.0 - LEVEL && !equal {
            let by = ratio.interval(level).lower.exp_m1().max(0.0);
            best[*class].lead = Some(best[*class].lead.map_or(by, |lead| lead.min(by)));
        } else {
            best[*class].first.push(*other);
        }
    }
    Some(best)
}

/// The variants that were measured there, the lowest first.
fn ordered(levels: &[Levels]) -> Vec<usize> {
    let height = |levels: &Levels| mean(&levels.values().copied().collect::<Vec<_>>());
    let mut there: Vec<(usize, f64)> =
        levels.iter().enumerate().filter_map(|(variant, levels)| Some((variant, height(levels)?))).collect();
    there.sort_by(|a, b| a.1.total_cmp(&b.1));
    there.into_iter().map(|(variant, _)| variant).collect()
}

/// ln(level / leader's level) over the blocks that both were measured in; `None` below four.
fn behind(variant: &Levels, leader: &Levels) -> Option<Mean> {
    let ratios: Vec<f64> =
        variant.iter().filter_map(|(block, level)| Some(level - leader.get(block)?)).collect();
    if ratios.len() < BLOCKS_FOR_INTERVAL { None } else { Mean::of(&ratios) }
}

/// Classes that follow each other with the same variants, each with what holds in all of them.
fn ranges(best: Vec<Best>) -> Vec<(Range<usize>, Best)> {
    let set = |best: &Best| best.first.iter().copied().collect::<BTreeSet<_>>();
    let mut ranges: Vec<(Range<usize>, Best)> = Vec::new();
    for (class, best) in best.into_iter().enumerate() {
        match ranges.last_mut().filter(|(_, before)| set(before) == set(&best)) {
            Some((classes, before)) => {
                classes.end = class + 1;
                before.lead = before.lead.zip(best.lead).map(|(a, b)| a.min(b));
            }
            None => ranges.push((class..class + 1, best)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(levels: &[f64]) -> Levels {
        levels.iter().enumerate().map(|(block, level)| (block as u32, *level)).collect()
    }

    #[test]
    fn another_is_behind_where_its_ratio_is_told_and_beyond_the_margin() {
        let fast = of(&[0.0, 0.01, 0.02, 0.01]);
        let far = of(&[0.50, 0.52, 0.51, 0.52]);
        let near = of(&[0.005, 0.016, 0.025, 0.015]);
        let noisy = of(&[0.9, -0.5, 0.7, 0.4]);
        let found = best(&[vec![far, fast, near, noisy]], 0.02).unwrap();
        assert_eq!(found[0].first, [1, 2, 3], "{found:?}");
        // The ratio's logarithms are 0.50, 0.51, 0.49, 0.51: mean 0.5025, s/√n = 0.009574/2; the closed form of t with
        // 3 degrees of freedom has its quantile at 1 − 0.05/6 at 4.8567.
        let lead = found[0].lead.unwrap();
        assert!((lead - ((0.5025 - 4.8567 * 0.004_787_f64).exp() - 1.0)).abs() < 1e-3, "{lead}");
    }

    #[test]
    fn what_three_blocks_say_is_no_advice() {
        let three = of(&[0.0, 0.1, 0.2]);
        assert_eq!(best(&[vec![three.clone(), three]], 0.02), None);
    }

    #[test]
    fn classes_alike_are_one_range_with_what_holds_in_all() {
        let best = |first: &[usize], lead| Best { first: first.to_vec(), lead };
        let all = vec![
            best(&[0], Some(0.2)),
            best(&[0], Some(0.1)),
            best(&[0, 1], None),
            best(&[1, 0], Some(0.3)),
            best(&[1], Some(0.3)),
        ];
        let found = ranges(all);
        assert_eq!(
            found,
            [(0..2, best(&[0], Some(0.1))), (2..4, best(&[0, 1], None)), (4..5, best(&[1], Some(0.3)))]
        );
    }

    /// A slow variant answered few requests, and by chance large ones: it is held against the fast one's curve there.
    #[test]
    fn a_level_is_told_from_the_curve_not_from_the_sizes_that_happened() {
        use crate::stats::scatter::Observation;
        let time = |size: f64| 1000.0 + size;
        let sizes = [100.0, 200.0, 400.0, 800.0];
        let every = (0..4).flat_map(|block| sizes.map(|size| Observation { block, size, time: time(size) }));
        let large = (0..4).map(|block| Observation { block, size: 800.0, time: 1.1 * time(800.0) });
        let curve = |factor: f64| sizes.map(|size| Some((factor * time(size)).ln())).to_vec();
        let class = (&(0..4), (100.0, 800.0), true);
        let fast = levels(&Scatter::new(every), &curve(1.0), &sizes, class);
        let slow = levels(&Scatter::new(large), &curve(1.1), &sizes, class);
        let ratio = behind(&slow, &fast).unwrap();
        assert!((ratio.point.exp() - 1.1).abs() < 1e-9, "{ratio:?}");
    }
}
