//! The conditions that a term must meet before it is reported: it is sharp and large enough, more than the
//! median changes there, and there are enough sizes on either side.

use std::ops::RangeInclusive;

use super::bins::Bins;
use super::fit::{Fit, Shape, Term};
use super::search::{BEND, Search};
use crate::stats::sample::quantile_nearest_rank;

/// Squared standard errors by which a sharp term must fit better than a soft one, or than stairs.
const SHARPER: f64 = 9.0;
/// Fewest bins on either side of a step.
const STEP_BINS: usize = 3;
/// Fewest bins on either side of a corner …
const CORNER_BINS: usize = 6;
/// … and the share of all observations.
const CORNER_SHARE: f64 = 0.02;
/// Bins on either side of a step whose quartiles are examined …
const BESIDE: usize = 20;
/// … and the fewest between it and another step.
const APART: usize = 6;
/// Squared standard errors that a term of a quartile's course must gain, in addition to 2 ln n.
const QUARTILE_GAIN: f64 = 8.0;
/// Bowley's skewness from which requests count as two kinds; an exponential distribution has 0.26.
const TWO_KINDS: f64 = 0.35;
/// A step of up to this many interquartile ranges may be a change from one kind to the other.
const WITHIN: f64 = 1.1;
/// A quartile must change by this share of the median's change.
const OF_MEDIAN: f64 = 0.5;

pub(super) struct Evidence<'a> {
    search: &'a Search<'a>,
    fit: &'a Fit,
    quartiles: [Bins; 2],
}

impl<'a> Evidence<'a> {
    pub fn new(search: &'a Search<'a>, fit: &'a Fit) -> Self {
        Self { search, fit, quartiles: [0.25, 0.75].map(|quantile| search.bins.quartile(quantile)) }
    }

    /// Whether a term may be reported if the blocks support it. A step must change the time at its place by
    /// the margin, a corner the time at the largest size.
    pub fn holds(&self, term: usize, margin: f64) -> bool {
        let Term { shape, place } = self.fit.terms[term];
        let is_reported = matches!(shape, Shape::Step | Shape::Kink | Shape::Stairs(_));
        is_reported
            && judged(self.search, shape).contains(&place)
            && self.is_worth(term, margin)
            && self.is_sharp(term)
            && self.is_seen_in_quartiles(term)
            && self.is_in_both_halves(term)
    }

    fn is_worth(&self, term: usize, margin: f64) -> bool {
        let (place, height) = (self.fit.terms[term].place, self.fit.height(term));
        let last = self.search.bins.size[self.search.bins.len() - 1];
        match self.fit.terms[term].shape {
            Shape::Step | Shape::Ramp(_) | Shape::Stairs(_) => {
                height.abs() >= margin * self.fit.at(place).abs()
            }
            Shape::Kink | Shape::Bend(_) => height.abs() * (last - place) >= margin * self.fit.at(last).abs(),
        }
    }

    /// Whether rival terms, each where it fits best and with bends added, fit worse.
    fn is_sharp(&self, term: usize) -> bool {
        let (rivals, bends): (&[Shape], usize) = match self.fit.terms[term].shape {
            Shape::Step => (&[Shape::Ramp(0.0), Shape::Kink, Shape::Stairs(0.0)], 1),
            // Two bends together fit as well as a corner.
            Shape::Kink => (&[Shape::Bend(BEND), Shape::Step, Shape::Stairs(0.0)], 0),
            Shape::Stairs(_) => (&[Shape::Step, Shape::Kink, Shape::Bend(BEND)], 2),
            Shape::Ramp(_) | Shape::Bend(_) => return false,
        };
        let without = self.search.without(self.fit, term);
        let loses = |rival: &Shape| {
            let mut fit = match self.search.most(&without, *rival) {
                Some((term, _)) => self.search.beside(&without, term),
                None => without.clone(),
            };
            for _ in 0..bends {
                fit = self.search.bent(fit);
            }
            fit.left() - self.fit.left() > SHARPER
        };
        rivals.iter().all(loses)
    }

    /// Whether quartiles change there too, by at least half as much: one of them at a step, both at a corner.
    ///
    /// If a share of the requests is slower and grows with the size, the median moves from the fast to the
    /// slow ones where that share passes a half, within an arbitrarily narrow range, and turns up before
    /// that. No other quantile changes there, and nothing in the system does.
    fn is_seen_in_quartiles(&self, term: usize) -> bool {
        let height = self.fit.height(term);
        let follows = |change: f64| change / height >= OF_MEDIAN;
        match self.fit.terms[term].shape {
            Shape::Step => self.is_step_in_quartiles(term),
            Shape::Kink => self.quartiles.iter().all(|quartile| follows(self.slope_change(quartile, term))),
            Shape::Stairs(_) | Shape::Ramp(_) | Shape::Bend(_) => true,
        }
    }

    /// Whether the lower and the upper half of the stairs are each at least half as high as all together. A
    /// bend that looks like stairs, or one high step among them, is in one half only.
    fn is_in_both_halves(&self, term: usize) -> bool {
        let stairs = self.fit.terms[term];
        if !matches!(stairs.shape, Shape::Stairs(_)) {
            return true;
        }
        let data = self.search.data(&self.search.bins.time);
        let all = data.column(stairs, 1.0);
        let middle = 0.5 * all.last().copied().unwrap_or_default();
        let lower = all.iter().map(|stairs| stairs.min(middle)).collect();
        let upper = all.iter().map(|stairs| (stairs - middle).max(0.0)).collect();
        let mut others = self.fit.terms.clone();
        others.remove(term);
        let halves = data.beside(&others, [lower, upper]);
        halves.iter().all(|half| half / self.fit.height(term) >= OF_MEDIAN)
    }

    /// Whether a quartile steps where the median does, among the single requests nearby, less the course
    /// without the step. If another step is so near that few requests remain, it does not: where two kinds of
    /// requests are about equally frequent, the median of a handful jumps by itself. In that case a step is
    /// at most the distance between the kinds.
    fn is_step_in_quartiles(&self, term: usize) -> bool {
        let Some(near) = self.near(term) else { return false };
        let (place, height) = (self.fit.terms[term].place, self.fit.height(term));
        let (mut below, mut above) = (Vec::new(), Vec::new());
        for single in self.search.bins.singles(near) {
            let (side, step) = if single.size > place { (&mut above, height) } else { (&mut below, 0.0) };
            side.push(single.time - (self.fit.at(single.size) - step));
        }
        let (Some(below), Some(above)) = (Quartiles::new(&below), Quartiles::new(&above)) else {
            return false;
        };
        let follows = |change: f64| change / height >= OF_MEDIAN;
        (follows(above.lower - below.lower) || follows(above.upper - below.upper))
            && ![below, above].iter().any(|side| side.are_two_kinds(height.abs()))
    }

    /// The change of a quartile's slope at the median's corner, in a course of its own, from which nearby
    /// bends and corners are removed.
    fn slope_change(&self, quartile: &Bins, term: usize) -> f64 {
        let corner = self.fit.terms[term];
        let search = Search::new(quartile, QUARTILE_GAIN);
        let is_there = |other: &Term| {
            matches!(other.shape, Shape::Kink | Shape::Bend(_))
                && (other.place / corner.place).ln().abs() <= BEND.ln()
        };
        let mut terms = search.grown().terms;
        terms.retain(|other| !is_there(other));
        terms.push(corner);
        let last = terms.len() - 1;
        search.with(terms).height(last)
    }

    /// The bins around a step up to the next one; `None` if that is too near.
    fn near(&self, term: usize) -> Option<std::ops::Range<usize>> {
        let above = self.search.gap(self.fit.terms[term].place) + 1;
        let (mut from, mut to) = (above.saturating_sub(BESIDE), (above + BESIDE).min(self.search.bins.len()));
        for (at, other) in self.fit.terms.iter().enumerate() {
            if at == term || other.shape != Shape::Step {
                continue;
            }
            let there = self.search.gap(other.place) + 1;
            if there.abs_diff(above) < APART {
                return None;
            }
            if there < above {
                from = from.max(there);
            } else {
                to = to.min(there);
            }
        }
        Some(from..to)
    }
}

#[derive(Debug, Clone, Copy)]
struct Quartiles {
    lower: f64,
    middle: f64,
    upper: f64,
}

impl Quartiles {
    fn new(values: &[f64]) -> Option<Self> {
        let [lower, middle, upper] = [0.25, 0.5, 0.75].map(|q| quantile_nearest_rank(values, q));
        Some(Self { lower: lower?, middle: middle?, upper: upper? })
    }

    /// Whether the median is near one quartile and far from the other (Bowley's skewness), as for two about
    /// equally frequent kinds of requests, and the step is no higher than the distance of the quartiles.
    fn are_two_kinds(self, height: f64) -> bool {
        let width = self.upper - self.lower;
        let skewness = (self.upper + self.lower - 2.0 * self.middle) / width.max(f64::MIN_POSITIVE);
        skewness.abs() >= TWO_KINDS && height <= WITHIN * width
    }
}

/// The places at which a term of a shape may be reported.
pub(super) fn judged(search: &Search<'_>, shape: Shape) -> RangeInclusive<f64> {
    let (bins, gaps) = (search.bins, &search.gaps);
    let (count, share) = match shape {
        Shape::Step | Shape::Ramp(_) | Shape::Stairs(_) => (STEP_BINS, 0.0),
        Shape::Kink | Shape::Bend(_) => (CORNER_BINS, CORNER_SHARE),
    };
    let all = bins.observations();
    let least = (share * all as f64) as usize;
    let is_inside = |gap: &usize| {
        let (below, above) = (gap + 1, bins.len() - gap - 1);
        below.min(above) >= count && bins.below(*gap).min(all - bins.below(*gap)) >= least
    };
    let inside: Vec<usize> = (0..gaps.len()).filter(is_inside).collect();
    match (inside.first(), inside.last()) {
        // Terms for changes beyond the range end up at the outermost places.
        (Some(first), Some(last)) if last - first >= 2 => gaps[first + 1]..=gaps[last - 1],
        _ => f64::INFINITY..=f64::NEG_INFINITY,
    }
}
