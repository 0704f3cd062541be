//! The search for a course's terms: each is added where it gains most, and moved until nothing is gained.
//!
//! A term may be wherever two bins can show its sides. So a change near an end is fitted where it is, and not
//! by some other term elsewhere. `evidence` decides whether it is reported.

use super::GAIN;
use super::bins::{Bins, Single};
use super::fit::{Data, Fit, Shape, Term};
use crate::stats::scatter::{Multiplicity, Scatter};

/// A change of slope that is spread from place/f to place·f is not a corner.
pub(super) const BEND: f64 = 2.0;
/// A step that is spread over this share of its place either way is not a step …
const RAMP: f64 = 0.1;
/// … nor is one that is spread over this many bins either way, if bins are wider.
const RAMP_BINS: usize = 2;
/// The width of the wider bend that may be part of a fit.
const GENTLE: f64 = 3.0;
pub(super) const TERMS: usize = 10;
const CORNER_BINS: usize = 2;
/// Bins on either side among which a resample searches for a place again.
const NEARBY: usize = 12;
/// Parts of a gap between bins to which a corner's place is resolved.
const PARTS: u32 = 8;
/// Fewest and most stairs over the whole range. Fewer are single steps, or may be part of a bend.
const STAIRS: (f64, f64) = (5.0, 40.0);
/// Squared standard errors that stairs must gain in addition to other terms: some thousand are tried, and
/// many curves resemble some stairs a little.
const STAIRS_GAIN: f64 = 16.0;
/// Parts of a period at which the first step is tried; initially the last step is located as precisely.
const PHASES: u32 = 8;
/// How often the step widths for moving stairs are halved.
const HALVINGS: u32 = 6;
const MOVES: u32 = 16;

#[derive(Debug)]
pub(super) struct Course {
    pub bins: Bins,
    pub fit: Fit,
    /// Whether there are more terms than allowed.
    pub is_cut_off: bool,
}

impl Course {
    /// After each step that is found, bins are cut there: the median of a bin with both sides in it would
    /// look like another step.
    pub fn new(scatter: &Scatter) -> Option<Self> {
        let (mut cuts, mut terms) = (Vec::new(), Vec::new());
        loop {
            let bins = Bins::new(scatter, &cuts)?;
            let search = Search::new(&bins, GAIN);
            let fit = search.settle(std::mem::take(&mut terms));
            let next = search.next(&fit);
            let Some(term) = next.filter(|_| fit.terms.len() < TERMS) else {
                let fit = search.pruned(fit);
                return Some(Self { bins, fit, is_cut_off: next.is_some() });
            };
            terms = fit.terms;
            terms.push(term);
            if term.shape == Shape::Step {
                let at = terms.len() - 1;
                let fit = search.settle(terms);
                let place = search.split(&fit, at, &scatter.once());
                terms = fit.terms;
                terms[at].place = place;
                cuts.push(place);
            }
        }
    }
}

pub(super) struct Search<'a> {
    pub bins: &'a Bins,
    /// Places where a step may be: between two bins.
    pub gaps: Vec<f64>,
    gain: f64,
}

impl<'a> Search<'a> {
    /// `gain` is in addition to 2 ln n.
    pub fn new(bins: &'a Bins, gain: f64) -> Self {
        let gaps = bins.range.windows(2).map(|pair| 0.5 * (pair[0].1 + pair[1].0)).collect();
        Self { bins, gaps, gain: 2.0 * (bins.len() as f64).ln() + gain }
    }

    pub fn data<'b>(&'b self, time: &'b [f64]) -> Data<'b> {
        Data { size: &self.bins.size, range: &self.bins.range, time, error: &self.bins.error }
    }

    fn fit(&self, time: &[f64], terms: Vec<Term>) -> Fit {
        Fit::new(&self.data(time), terms)
    }

    pub fn without(&self, fit: &Fit, term: usize) -> Fit {
        let mut others = fit.terms.clone();
        others.remove(term);
        self.fit(&self.bins.time, others)
    }

    pub fn gap(&self, place: f64) -> usize {
        self.gaps.partition_point(|gap| *gap < place)
    }

    fn places(&self, shape: Shape) -> std::ops::Range<usize> {
        let margin = match shape {
            Shape::Step | Shape::Ramp(_) | Shape::Stairs(_) => 1,
            Shape::Kink | Shape::Bend(_) => CORNER_BINS,
        };
        margin - 1..(self.bins.len() - margin).max(margin)
    }

    /// The place at which one more term of a shape gains most, and the gain.
    fn best(&self, fit: &Fit, shape: Shape, among: std::ops::Range<usize>) -> Option<(Term, f64)> {
        let allowed = self.places(shape);
        let among = among.start.max(allowed.start)..among.end.min(allowed.end);
        let data = self.data(&self.bins.time);
        let gain = |gap: usize| {
            let shape = if matches!(shape, Shape::Ramp(_)) { self.ramp(gap) } else { shape };
            let term = Term { shape, place: self.gaps[gap] };
            (term, fit.gain(&data, term))
        };
        among.map(gain).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn ramp(&self, gap: usize) -> Shape {
        let (below, above) = (gap.saturating_sub(RAMP_BINS), (gap + RAMP_BINS).min(self.gaps.len() - 1));
        let bins = (self.gaps[gap] - self.gaps[below]).max(self.gaps[above] - self.gaps[gap]);
        Shape::Ramp(bins.max(RAMP * self.gaps[gap]))
    }

    /// The largest gain of one more term of a shape anywhere: of stairs with any period, of ramps with the
    /// required width.
    pub fn most(&self, fit: &Fit, shape: Shape) -> Option<(Term, f64)> {
        match shape {
            Shape::Stairs(_) => self.stairs(fit),
            _ => self.best(fit, shape, 0..self.gaps.len()),
        }
    }

    /// The stairs that gain most. Periods are tried so densely that the last step is never off by more than a
    /// part of one period.
    fn stairs(&self, fit: &Fit) -> Option<(Term, f64)> {
        // A second flight would only find residues of the first.
        if fit.terms.iter().any(|term| matches!(term.shape, Shape::Stairs(_))) {
            return None;
        }
        let last = self.bins.size[self.bins.len() - 1];
        let (mut period, mut best) = (last / STAIRS.1, None::<(Term, f64)>);
        let data = self.data(&self.bins.time);
        while period <= last / STAIRS.0 {
            for part in 0..PHASES {
                let place = period * (1.0 - f64::from(part) / f64::from(PHASES));
                let term = Term { shape: Shape::Stairs(period), place };
                let gain = if self.are_enough(term) { fit.gain(&data, term) } else { 0.0 };
                best = best.filter(|best| best.1 >= gain).or(Some((term, gain)));
            }
            period *= 1.0 + 2.0 * period / (f64::from(PHASES) * last);
        }
        best.map(|(term, _)| self.tuned(fit, term))
    }

    /// Whether the range holds the fewest stairs allowed.
    fn are_enough(&self, term: Term) -> bool {
        let Shape::Stairs(period) = term.shape else { return true };
        term.place + (STAIRS.0 - 1.0) * period < self.gaps[self.gaps.len() - CORNER_BINS]
    }

    /// Moves stairs, in period and place, to the largest gain nearby, by ever smaller steps.
    fn tuned(&self, fit: &Fit, term: Term) -> (Term, f64) {
        let data = self.data(&self.bins.time);
        let last = self.bins.size[self.bins.len() - 1];
        let mut best = (term, fit.gain(&data, term));
        let mut part = 0.5 / f64::from(PHASES);
        for _ in 0..HALVINGS {
            for _ in 0..MOVES {
                let (before, Shape::Stairs(period)) = (best.1, best.0.shape) else { return best };
                let place = best.0.place;
                for (longer, later) in [(1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)] {
                    let moved = period * (1.0 + f64::from(longer) * part * period / last);
                    let place = (place + f64::from(later) * part * period).clamp(0.0, moved);
                    let term = Term { shape: Shape::Stairs(moved), place };
                    let gain = if self.are_enough(term) { fit.gain(&data, term) } else { 0.0 };
                    if gain > best.1 {
                        best = (term, gain);
                    }
                }
                if best.1 <= before * (1.0 + 1e-9) {
                    break;
                }
            }
            part *= 0.5;
        }
        best
    }

    /// A course over the bins as they are.
    pub fn grown(&self) -> Fit {
        let mut fit = self.fit(&self.bins.time, Vec::new());
        while let Some(term) = self.next(&fit).filter(|_| fit.terms.len() < TERMS) {
            let mut terms = fit.terms;
            terms.push(term);
            fit = self.settle(terms);
        }
        fit
    }

    pub fn with(&self, terms: Vec<Term>) -> Fit {
        self.fit(&self.bins.time, terms)
    }

    pub fn beside(&self, fit: &Fit, term: Term) -> Fit {
        let mut terms = fit.terms.clone();
        terms.push(term);
        self.with(terms)
    }

    pub fn bent(&self, fit: Fit) -> Fit {
        let tried = [Shape::Bend(BEND), Shape::Bend(GENTLE)].map(|shape| self.most(&fit, shape));
        let best = tried.into_iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1));
        best.map(|(term, _)| self.beside(&fit, term)).unwrap_or(fit)
    }

    fn next(&self, fit: &Fit) -> Option<Term> {
        let each = [Shape::Step, Shape::Kink, Shape::Bend(BEND), Shape::Bend(GENTLE), Shape::Stairs(0.0)];
        let tried = each.iter().filter_map(|shape| self.most(fit, *shape));
        let over = tried.map(|(term, gain)| (term, gain - self.asked(term)));
        let (term, over) = over.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (over >= 0.0).then_some(term)
    }

    fn asked(&self, term: Term) -> f64 {
        self.gain + if matches!(term.shape, Shape::Stairs(_)) { STAIRS_GAIN } else { 0.0 }
    }

    /// Removes, one by one, terms that no longer gain enough.
    fn pruned(&self, mut fit: Fit) -> Fit {
        while let Some(worst) = self.worst(&fit) {
            fit.terms.remove(worst);
            fit = self.settle(fit.terms);
        }
        fit
    }

    /// Moves each term in turn to its largest gain, the others fixed, until none moves.
    fn settle(&self, mut terms: Vec<Term>) -> Fit {
        for _ in 0..3 {
            let before = terms.clone();
            for at in 0..terms.len() {
                let mut others = terms.clone();
                let term = others.remove(at);
                let fit = self.fit(&self.bins.time, others);
                let moved = match term.shape {
                    Shape::Stairs(_) => Some(self.tuned(&fit, term)),
                    shape => self.best(&fit, shape, 0..self.gaps.len()),
                };
                terms[at] = moved.map_or(term, |(term, _)| term);
            }
            if terms == before {
                break;
            }
        }
        self.fit(&self.bins.time, terms)
    }

    /// The term whose removal costs least, if that is too little to keep it.
    fn worst(&self, fit: &Fit) -> Option<usize> {
        let over = |at: usize| (at, self.without(fit, at).left() - fit.left() - self.asked(fit.terms[at]));
        let least = (0..fit.terms.len()).map(over).min_by(|a, b| a.1.total_cmp(&b.1))?;
        (least.1 < 0.0).then_some(least.0)
    }

    /// Fits the same terms to a resample of blocks, each located again near its place.
    pub fn again(&self, fit: &Fit, times: &Multiplicity) -> Fit {
        let time = self.bins.medians(times);
        let mut terms = fit.terms.clone();
        for at in 0..terms.len() {
            let mut others = terms.clone();
            let term = others.remove(at);
            let without = self.fit(&time, others);
            let gap = self.gap(term.place);
            let near = gap.saturating_sub(NEARBY)..(gap + NEARBY + 1).min(self.gaps.len());
            let moved = match term.shape {
                Shape::Stairs(_) => Some(self.tuned(&without, term)),
                shape => self.best(&without, shape, near),
            };
            terms[at] = moved.map_or(term, |(term, _)| term);
        }
        let fit = self.fit(&time, terms);
        self.refined(&time, fit, times)
    }

    /// Resolves places within bins: a step's to two single sizes, a corner's to an eighth of a gap.
    pub fn refined(&self, time: &[f64], mut fit: Fit, times: &Multiplicity) -> Fit {
        for at in 0..fit.terms.len() {
            let mut terms = fit.terms.clone();
            terms[at].place = match terms[at].shape {
                Shape::Step => self.split(&fit, at, times),
                Shape::Kink => self.corner(time, &fit, at),
                Shape::Ramp(_) | Shape::Bend(_) | Shape::Stairs(_) => continue,
            };
            fit = self.fit(time, terms);
        }
        fit
    }

    /// The place between two sizes that splits a step so that the absolute distances of single times from the
    /// course are least. Searches the two bins on either side.
    fn split(&self, fit: &Fit, step: usize, times: &Multiplicity) -> f64 {
        let (place, height) = (fit.terms[step].place, fit.height(step));
        let gap = self.gap(place);
        let singles = self.bins.singles(gap.saturating_sub(1)..gap + 3);
        let base = |single: &Single| fit.at(single.size) - if single.size > place { height } else { 0.0 };
        // At first the place is after the last size, so all sizes are below; each move puts one above.
        let (mut sum, mut best) = (0.0, (0.0, place));
        for pair in singles.windows(2).rev() {
            let (below, above) = (&pair[0], &pair[1]);
            let level = base(above);
            let (under, over) = ((above.time - level).abs(), (above.time - level - height).abs());
            sum += f64::from(times[above.block as usize]) * (over - under) / above.time;
            if sum < best.0 && below.size < above.size {
                best = (sum, 0.5 * (below.size + above.size));
            }
        }
        best.1
    }

    fn corner(&self, time: &[f64], fit: &Fit, kink: usize) -> f64 {
        let mut others = fit.terms.clone();
        let Term { shape, place } = others.remove(kink);
        let without = self.fit(time, others);
        let gap = self.gap(place);
        let (from, to) = (gap.saturating_sub(1), (gap + 1).min(self.gaps.len() - 1));
        let parts = 2 * PARTS;
        let along = |part: u32| {
            let share = f64::from(part) / f64::from(parts);
            self.gaps[from] + share * (self.gaps[to] - self.gaps[from])
        };
        let data = self.data(time);
        let gain = |place: &f64| without.gain(&data, Term { shape, place: *place });
        let places = (0..=parts).map(along);
        places.max_by(|a, b| gain(a).total_cmp(&gain(b))).unwrap_or(place)
    }
}
