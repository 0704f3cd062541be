//! Which variants are best for which sizes: ranges of sizes with the same best variants; ties are reported.
//!
//! Sizes are cut into at most ten classes of about as many requests each. In each block a variant's level in
//! a class is the mean of its median curve over the class, plus the median distance of the block's requests
//! from that curve. So a slow variant, which has fewer requests, is not judged by other sizes than a fast
//! one. Variants of different batches are first divided by the baseline of their own batch. The variant with
//! the lowest level leads. Another is behind it if the ratio of their levels, a mean of logarithms over
//! blocks, is above 1 (Student, Holm at 5 % over all comparisons of the advice) and not within the margin;
//! otherwise it is not distinguished. So the advice as a whole errs in at most one of twenty experiments.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use weighbridge_model::sizes::{SizeAdvice, SizeRange, SizeTime};

use super::{BatchId, Curves, MEDIAN, OperationRequests, Request, good, observation};
use crate::question::Question;
use crate::stats::interval::Mean;
use crate::stats::multiple::{holm, p_against_zero};
use crate::stats::sample::{mean, median};
use crate::stats::scatter::{Observation, Scatter};
use crate::thresholds::{BLOCKS_FOR_INTERVAL, LEVEL};

const CLASSES: usize = 10;
/// Classes are made larger until a variant has this many requests in a class and block.
const REQUESTS: usize = 10;

/// ln(time) of a variant in a class, by the batch in which it lived.
type BlockLevels = BTreeMap<BatchId, f64>;

#[derive(Debug)]
struct Class {
    levels: Vec<BlockLevels>,
    /// The baseline's in every batch; empty where all variants lived together.
    base: BlockLevels,
}

#[derive(Debug, Clone, PartialEq)]
struct Best {
    /// The leader, then those that cannot be distinguished from it; lowest first.
    first: Vec<usize>,
    /// Those of `first` that have too few blocks in common with the leader.
    few: BTreeSet<usize>,
    /// By how much the next variant is behind, at least.
    lead: Option<f64>,
}

/// The advice for one operation; `None` for a single variant, and where no size has an interval.
pub(super) fn advice(
    question: &Question,
    operation: &OperationRequests<'_>,
    curves: &Curves,
) -> Option<SizeAdvice> {
    let Curves { places, scatters, .. } = curves;
    let asked: Vec<&Scatter> = scatters.iter().filter(|scatter| !scatter.is_empty()).collect();
    if asked.len() < 2 {
        return None;
    }
    let classes = classes(&asked, places.len());
    let bound = |at: usize| {
        if at == 0 || at == places.len() { places[at.min(places.len() - 1)] } else { between(places, at) }
    };
    let in_class = |class: &Range<usize>| {
        let part = CurvePart {
            places: class.clone(),
            from: bound(class.start),
            to: bound(class.end),
            is_last: class.end == places.len(),
        };
        let variant_levels = |(variant, requests): (usize, &Vec<Request<'_>>)| {
            levels(requests, curves.median(variant).curve(), places, &part)
        };
        let base =
            curves.base.as_ref().map(|base| levels(&operation.base, &base.curves[MEDIAN], places, &part));
        Class {
            levels: operation.by_variant.iter().enumerate().map(variant_levels).collect(),
            base: base.unwrap_or_default(),
        }
    };
    let class_levels: Vec<Class> = classes.iter().map(in_class).collect();
    let best = best(&class_levels, question.margin.get())?;
    let name = |variant: &usize| question.variants[*variant].name.clone();
    let range = |(class_range, best): (Range<usize>, Best)| SizeRange {
        from_bytes: bound(classes[class_range.start].start) as u64,
        to_bytes: bound(classes[class_range.end - 1].end) as u64,
        best: best.first.iter().map(name).collect(),
        few_blocks: best.first.iter().filter(|variant| best.few.contains(variant)).map(name).collect(),
        lead: best.lead,
    };
    Some(SizeAdvice {
        point: operation.point.label.clone(),
        operation: operation.name.clone(),
        ranges: ranges(best).into_iter().map(range).collect(),
    })
}

fn between(places: &[f64], at: usize) -> f64 {
    0.5 * (places[at - 1] + places[at])
}

/// Classes of about as many places each; fewer classes where a variant has few requests in a block.
fn classes(scatters: &[&Scatter], places: usize) -> Vec<Range<usize>> {
    let fewest = scatters.iter().map(|scatter| scatter.len() / scatter.blocks().len().max(1)).min();
    let count = (fewest.unwrap_or(0) / REQUESTS).clamp(1, CLASSES).min(places.max(1));
    (0..count).map(|class| class * places / count..(class + 1) * places / count).collect()
}

struct CurvePart {
    places: Range<usize>,
    from: f64,
    to: f64,
    /// The last class includes its upper end.
    is_last: bool,
}

impl CurvePart {
    fn holds(&self, size: f64) -> bool {
        size >= self.from && (size < self.to || (size == self.to && self.is_last))
    }
}

fn levels(requests: &[Request<'_>], curve: &[Option<f64>], places: &[f64], part: &CurvePart) -> BlockLevels {
    let known: Vec<f64> = curve[part.places.clone()].iter().copied().flatten().collect();
    let Some(level) = mean(&known) else { return BlockLevels::new() };
    let mut distances: BTreeMap<BatchId, Vec<f64>> = BTreeMap::new();
    for timed in good(requests, SizeTime::Service) {
        let Observation { size, time, .. } = observation(timed);
        if !part.holds(size) || time <= 0.0 {
            continue;
        }
        if let Some(there) = on(curve, places, size) {
            distances.entry(timed.request.batch).or_default().push(time.ln() - there);
        }
    }
    distances.into_iter().filter_map(|(batch, all)| Some((batch, level + median(&all)?))).collect()
}

/// A curve at a size between its places, linear in ln(size).
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

/// `None` where no two variants have enough blocks in common.
fn best(classes: &[Class], margin: f64) -> Option<Vec<Best>> {
    let ordered: Vec<Vec<usize>> = classes.iter().map(Class::ordered).collect();
    let comparisons = |(class, order): (usize, &Vec<usize>)| {
        let others = order.iter().skip(1).copied();
        others.map(|other| (class, other, classes[class].behind(other, order[0]))).collect::<Vec<_>>()
    };
    let all: Vec<(usize, usize, Option<Mean>)> = ordered.iter().enumerate().flat_map(comparisons).collect();
    let ratios: Vec<Mean> = all.iter().filter_map(|(.., ratio)| *ratio).collect();
    if ratios.is_empty() {
        return None;
    }
    let p: Vec<f64> = ratios.iter().map(|ratio| p_against_zero(*ratio)).collect();
    let mut corrected = holm(&p).into_iter();
    // Reported distances have simultaneous intervals.
    let level = 1.0 - (1.0 - LEVEL) / ratios.len() as f64;
    let first = |order: &Vec<usize>| Best {
        first: order.first().copied().into_iter().collect(),
        few: BTreeSet::new(),
        lead: None,
    };
    let mut best: Vec<Best> = ordered.iter().map(first).collect();
    for (class, other, ratio) in all {
        let best = &mut best[class];
        let Some(ratio) = ratio else {
            best.first.push(other);
            best.few.insert(other);
            continue;
        };
        let alone = ratio.interval(LEVEL);
        let equal = alone.lower.exp_m1() >= -margin && alone.upper.exp_m1() <= margin;
        if corrected.next().is_some_and(|p| p <= 1.0 - LEVEL) && !equal {
            let by = ratio.interval(level).lower.exp_m1().max(0.0);
            best.lead = Some(best.lead.map_or(by, |lead| lead.min(by)));
        } else {
            best.first.push(other);
        }
    }
    Some(best)
}

impl Class {
    /// The variants measured in this class, lowest first.
    fn ordered(&self) -> Vec<usize> {
        let base = &self.base;
        // The difference between two batches of the baseline is the host's, not the variants'.
        let among = |levels: &BlockLevels| {
            let beside: Vec<f64> = levels.keys().filter_map(|batch| base.get(batch).copied()).collect();
            let usual: Vec<f64> = base.values().copied().collect();
            mean(&usual).zip(mean(&beside)).map_or(0.0, |(usual, beside)| usual - beside)
        };
        let height =
            |levels: &BlockLevels| Some(mean(&levels.values().copied().collect::<Vec<_>>())? + among(levels));
        let each = self.levels.iter().enumerate();
        let mut there: Vec<(usize, f64)> =
            each.filter_map(|(variant, levels)| Some((variant, height(levels)?))).collect();
        there.sort_by(|a, b| a.1.total_cmp(&b.1));
        there.into_iter().map(|(variant, _)| variant).collect()
    }

    /// ln(level / leader's level) over the blocks in which both were measured, directly if they lived in one
    /// batch and through the baseline otherwise; `None` below four blocks.
    fn behind(&self, variant: usize, leader: usize) -> Option<Mean> {
        let (mine, theirs, base) = (&self.levels[variant], &self.levels[leader], &self.base);
        let ratio = |(batch, level): (&BatchId, &f64)| {
            if let Some(beside) = theirs.get(batch) {
                return Some(level - beside);
            }
            let same_block = BatchId { batch: 0, ..*batch }..=BatchId { batch: u32::MAX, ..*batch };
            let (other, theirs) = theirs.range(same_block).next()?;
            Some((level - base.get(batch)?) - (theirs - base.get(other)?))
        };
        let mut ratios: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (batch, level) in mine {
            if let Some(ratio) = ratio((batch, level)) {
                ratios.entry(batch.block).or_default().push(ratio);
            }
        }
        // The baseline lives in every batch, so a block may have several ratios.
        let ratios: Vec<f64> = ratios.values().filter_map(|all| mean(all)).collect();
        if ratios.len() < BLOCKS_FOR_INTERVAL { None } else { Mean::new(&ratios) }
    }
}

/// Joins neighbouring classes with the same best variants; a range claims only what all its classes support.
fn ranges(best: Vec<Best>) -> Vec<(Range<usize>, Best)> {
    let set = |best: &Best| best.first.iter().copied().collect::<BTreeSet<_>>();
    let mut ranges: Vec<(Range<usize>, Best)> = Vec::new();
    for (class, best) in best.into_iter().enumerate() {
        match ranges.last_mut().filter(|(_, before)| set(before) == set(&best)) {
            Some((classes, before)) => {
                classes.end = class + 1;
                before.few.extend(best.few);
                before.lead = before.lead.zip(best.lead).map(|(a, b)| a.min(b));
            }
            None => ranges.push((class..class + 1, best)),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use weighbridge_model::id::{OperationId, PointId};
    use weighbridge_model::quantity::{Bytes, Nanoseconds};
    use weighbridge_model::record::Outcome;
    use weighbridge_model::record::samples::Sample;

    use super::*;

    fn levels_of_blocks(levels: &[f64]) -> BlockLevels {
        in_batch(0, levels)
    }

    fn in_batch(batch: u32, levels: &[f64]) -> BlockLevels {
        (0..).zip(levels).map(|(block, level)| (BatchId { block, batch }, *level)).collect()
    }

    fn sample(size: u64, time: f64) -> Sample {
        Sample {
            kind: weighbridge_model::record::WindowKind::Measured,
            point: PointId(0),
            round: 0,
            operation: OperationId(0),
            size: Bytes::new(size),
            due: Nanoseconds::from_nanos(0),
            sent: Nanoseconds::from_nanos(0),
            done: Nanoseconds::from_nanos(time as u64),
            outcome: Outcome::Ok,
            status: Some(200),
            length: Bytes::new(size),
            relayed: None,
        }
    }

    fn class(levels: Vec<BlockLevels>) -> Class {
        Class { levels, base: BlockLevels::new() }
    }

    #[test]
    fn another_is_behind_if_its_ratio_is_certain_and_beyond_the_margin() {
        let fast = levels_of_blocks(&[0.0, 0.01, 0.02, 0.01]);
        let far = levels_of_blocks(&[0.50, 0.52, 0.51, 0.52]);
        let near = levels_of_blocks(&[0.005, 0.016, 0.025, 0.015]);
        let noisy = levels_of_blocks(&[0.9, -0.5, 0.7, 0.4]);
        let found = best(&[class(vec![far, fast, near, noisy])], 0.02).unwrap();
        assert_eq!(found[0].first, [1, 2, 3], "{found:?}");
        // The ratio's logarithms are 0.50, 0.51, 0.49, 0.51: mean 0.5025, s/√n = 0.009574/2. By the closed
        // form of t with 3 degrees of freedom, the quantile at 1 − 0.05/6 is 4.8567.
        let lead = found[0].lead.unwrap();
        assert!((lead - ((0.5025 - 4.8567 * 0.004_787_f64).exp() - 1.0)).abs() < 1e-3, "{lead}");
    }

    #[test]
    fn what_three_blocks_say_is_no_advice() {
        let three = levels_of_blocks(&[0.0, 0.1, 0.2]);
        assert_eq!(best(&[class(vec![three.clone(), three])], 0.02), None);
    }

    #[test]
    fn a_variant_with_few_blocks_does_not_hide_advice_on_the_others() {
        let fast = levels_of_blocks(&[0.0, 0.01, 0.02, 0.01]);
        let far = levels_of_blocks(&[0.50, 0.52, 0.51, 0.52]);
        let few = levels_of_blocks(&[0.30, 0.31, 0.30]);
        let found =
            best(&[class(vec![far.clone(), fast.clone(), few]), class(vec![far, fast])], 0.02).unwrap();
        assert_eq!((&found[0].first[..], &found[0].few), (&[1, 2][..], &BTreeSet::from([2])));
        assert!(found[1].first == [1] && found.iter().all(|best| best.lead.is_some()), "{found:?}");
    }

    /// The host is 30 % slower during the second batch; `c` lives there and is faster.
    #[test]
    fn variants_of_different_batches_are_distinguished_through_the_baseline() {
        let noise = [0.0, 0.01, -0.01, 0.005];
        let lived = |batch: u32, host: f64, own: f64, shift: usize| {
            in_batch(batch, &[0, 1, 2, 3].map(|at| host + own + noise[(at + shift) % 4]))
        };
        let base: BlockLevels = lived(0, 0.0, 0.0, 0).into_iter().chain(lived(1, 0.3, 0.0, 1)).collect();
        let (b, c) = (lived(0, 0.0, -0.1, 2), lived(1, 0.3, -0.2, 3));
        let found = best(&[Class { levels: vec![base.clone(), b, c], base }], 0.02).unwrap();
        assert_eq!(found[0].first, [2], "{found:?}");
        assert!((0.03..0.1).contains(&found[0].lead.unwrap()), "{found:?}");
    }

    #[test]
    fn classes_alike_are_one_range_with_what_holds_in_all() {
        let best = |first: &[usize], lead| Best { first: first.to_vec(), few: BTreeSet::new(), lead };
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

    /// A slow variant answered few requests, which happen to be large: the fast one's curve at those sizes is
    /// compared with it.
    #[test]
    fn a_level_comes_from_the_curve_not_from_the_sizes_that_were_answered() {
        let time = |size: u64, factor: f64| factor * (1000.0 + size as f64);
        let sizes = [100, 200, 400, 800];
        let all = |sizes: &[u64], factor: f64| -> Vec<(u32, Sample)> {
            (0..4)
                .flat_map(|block| sizes.iter().map(move |size| (block, sample(*size, time(*size, factor)))))
                .collect()
        };
        let curve = |factor: f64| sizes.map(|size| Some(time(size, factor).ln())).to_vec();
        let places = sizes.map(|size| size as f64);
        let levels_of_samples = |samples: &[(u32, Sample)], factor: f64| {
            let batch = |one: &(u32, Sample)| BatchId { block: one.0, batch: 0 };
            let requests: Vec<Request<'_>> =
                samples.iter().map(|one| Request { batch: batch(one), sample: &one.1 }).collect();
            let part = CurvePart { places: 0..4, from: 100.0, to: 800.0, is_last: true };
            levels(&requests, &curve(factor), &places, &part)
        };
        let (fast, slow) =
            (levels_of_samples(&all(&sizes, 100.0), 100.0), levels_of_samples(&all(&[800], 110.0), 110.0));
        let ratio = class(vec![fast, slow]).behind(1, 0).unwrap();
        assert!((ratio.point.exp() - 1.1).abs() < 1e-9, "{ratio:?}");
    }
}
