//! Which variant to take for which sizes: ranges over which the same variants are best, ties said.
//!
//! At each place of the curves the variant with the lowest median leads. Another is behind it where the verdict on their
//! ratio would be `higher`: its whole interval above 1, not all of it within the margin; else the two are tied. The
//! interval is widened (Bonferroni) to all comparisons of the advice: K − 1 variants at as many places as do not share a
//! request, so the whole advice errs in at most one of twenty experiments.

use std::collections::BTreeSet;

use weighbridge_model::sizes::{SizeAdvice, SizeRange};
use weighbridge_model::summary::Verdict;

use super::{Curves, Family, LogRatio, Median};
use crate::question::Question;
use crate::stats::scatter::half_width;
use crate::stats::smooth::independent;
use crate::thresholds::LEVEL;
use crate::verdict::of_interval;

/// A range of fewer places than this joins a neighbour: curves that cross flicker.
const PLACES_LEAST: usize = 3;

/// What is best at one place.
#[derive(Debug, Clone, PartialEq)]
struct Best {
    leader: usize,
    /// The leader and those tied with it.
    tied: BTreeSet<usize>,
    /// By how much the next is behind at least.
    lead: Option<f64>,
}

/// The advice of a family; `None` for a single variant, and where no size has an interval.
pub(super) fn advice(question: &Question, family: &Family<'_>, curves: &Curves) -> Option<SizeAdvice> {
    let Curves { places, scatters, .. } = curves;
    if scatters.iter().filter(|scatter| !scatter.is_empty()).count() < 2 {
        return None;
    }
    let medians: Vec<Median<'_>> = (0..scatters.len()).map(|variant| curves.median(variant)).collect();
    let comparisons = (scatters.len() - 1) * scatters.iter().map(independent).max().unwrap_or(1);
    let level = 1.0 - (1.0 - LEVEL) / comparisons.max(1) as f64;
    let best: Vec<Best> = (0..places.len())
        .map(|place| best(&medians, place, (question.margin.get(), level)))
        .collect::<Option<_>>()?;
    let mut ranges = ranges(&best);
    join_short(&mut ranges);
    let name = |variant: &usize| question.variants[*variant].name.clone();
    let range = |range: &Range| {
        let others = range.tied.iter().filter(|variant| **variant != range.leader);
        SizeRange {
            from_bytes: if range.from == 0 { places[0] } else { between(places, range.from) } as u64,
            to_bytes: if range.to == places.len() { places[range.to - 1] } else { between(places, range.to) }
                as u64,
            best: std::iter::once(&range.leader).chain(others).map(name).collect(),
            lead: range.lead,
        }
    };
    Some(SizeAdvice {
        point: family.point.label.clone(),
        operation: family.operation.clone(),
        ranges: ranges.iter().map(range).collect(),
    })
}

/// Half way between a place and the one before.
fn between(places: &[f64], at: usize) -> f64 {
    0.5 * (places[at - 1] + places[at])
}

fn best(medians: &[Median<'_>], place: usize, (margin, level): (f64, f64)) -> Option<Best> {
    let there = medians.iter().enumerate().filter_map(|(variant, m)| Some((variant, m.value(place)?)));
    let there: Vec<(usize, f64)> = there.collect();
    let (leader, _) = there.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut best = Best { leader, tied: BTreeSet::from([leader]), lead: None };
    for (variant, _) in there.into_iter().filter(|(variant, _)| *variant != leader) {
        let ratio = medians[variant].log_ratio(&medians[leader], place)?;
        match behind(ratio, margin, level)? {
            Some(by) => best.lead = Some(best.lead.map_or(by, |lead| lead.min(by))),
            None => {
                best.tied.insert(variant);
            }
        }
    }
    Some(best)
}

/// By how much one is behind at least; `Some(None)` where it is tied, `None` without an interval.
#[allow(clippy::option_option)] // no interval, a tie and a distance are three things
fn behind(ratio: LogRatio, margin: f64, level: f64) -> Option<Option<f64>> {
    let half = half_width(ratio.error?, ratio.blocks, level);
    let (lower, upper) = ((ratio.point - half).exp_m1(), (ratio.point + half).exp_m1());
    Some((of_interval(lower, upper, margin) == Verdict::Higher).then_some(lower))
}

/// Places from `from` to before `to`.
#[derive(Debug, Clone, PartialEq)]
struct Range {
    from: usize,
    to: usize,
    leader: usize,
    tied: BTreeSet<usize>,
    lead: Option<f64>,
}

fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.zip(b).map(|(a, b)| a.min(b))
}

/// Places that follow each other with the same tied variants.
fn ranges(best: &[Best]) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::new();
    for (at, best) in best.iter().enumerate() {
        match ranges.last_mut().filter(|range| range.tied == best.tied) {
            Some(range) => {
                range.to = at + 1;
                range.lead = least(range.lead, best.lead);
            }
            None => ranges.push(Range {
                from: at,
                to: at + 1,
                leader: best.leader,
                tied: best.tied.clone(),
                lead: best.lead,
            }),
        }
    }
    ranges
}

/// Lets a short range join the neighbour with which it has most variants in common; together they are tied in all that
/// either is. So joining never claims more than was seen.
fn join_short(ranges: &mut Vec<Range>) {
    while let Some(at) = ranges.iter().position(|range| range.to - range.from < PLACES_LEAST) {
        if ranges.len() == 1 {
            return;
        }
        let common = |other: usize| {
            let theirs = &ranges[other].tied;
            (ranges[at].tied.intersection(theirs).count(), theirs.len())
        };
        let sides = [at.checked_sub(1), (at + 1 < ranges.len()).then_some(at + 1)];
        let Some(other) = sides.into_iter().flatten().max_by_key(|other| common(*other)) else { return };
        let (first, second) = (at.min(other), at.max(other));
        let taken = ranges.remove(second);
        let kept = &mut ranges[first];
        let longer = if taken.to - taken.from > kept.to - kept.from { taken.leader } else { kept.leader };
        *kept = Range {
            from: kept.from,
            to: taken.to,
            leader: longer,
            tied: kept.tied.union(&taken.tied).copied().collect(),
            lead: least(kept.lead, taken.lead),
        };
        merge_alike(ranges);
    }
}

/// Neighbours that have become alike are one range.
fn merge_alike(ranges: &mut Vec<Range>) {
    ranges.dedup_by(|second, first| {
        let alike = first.tied == second.tied;
        if alike {
            first.to = second.to;
            first.lead = least(first.lead, second.lead);
        }
        alike
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(leader: usize, tied: &[usize]) -> Best {
        Best { leader, tied: tied.iter().copied().collect(), lead: Some(0.1) }
    }

    #[test]
    fn places_alike_become_ranges_and_short_ones_join_without_claiming_more() {
        let [a, b, both] = [best(0, &[0]), best(1, &[1]), best(0, &[0, 1])];
        let mut all = vec![a.clone(); 10];
        all.extend([both.clone(), b.clone(), both.clone()]);
        all.extend(vec![b.clone(); 10]);
        let mut found = ranges(&all);
        join_short(&mut found);
        let told: Vec<_> =
            found.iter().map(|r| (r.from, r.to, r.tied.iter().copied().collect::<Vec<_>>())).collect();
        assert_eq!(told, [(0, 10, vec![0]), (10, 13, vec![0, 1]), (13, 23, vec![1])]);
        assert_eq!(found.iter().map(|range| range.leader).collect::<Vec<_>>(), [0, 0, 1]);
    }

    #[test]
    fn another_is_behind_where_the_verdict_would_be_higher() {
        let ratio = |point: f64, error| LogRatio { point, error: Some(error), blocks: 6 };
        assert_eq!(behind(ratio(0.0, 0.001), 0.02, 0.95), Some(None), "no difference");
        assert_eq!(behind(ratio(0.01, 0.001), 0.02, 0.95), Some(None), "measurable and within the margin");
        assert_eq!(behind(ratio(0.10, 0.100), 0.02, 0.95), Some(None), "undecided");
        let by = behind(ratio(0.10, 0.010), 0.02, 0.95).flatten().unwrap();
        assert!((by - ((0.10_f64 - 2.570_58 * 0.010).exp() - 1.0)).abs() < 1e-5, "{by}");
        assert_eq!(behind(LogRatio { error: None, ..ratio(0.1, 0.0) }, 0.02, 0.95), None);
    }
}
