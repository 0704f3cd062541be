//! Cliffs of a curve over size: places at which its level steps or its slope changes, each with intervals of place and
//! height over blocks.
//!
//! The course of the median time over size is
//!
//! ```text
//! f(s) = a + b·s + c·√s + d·ln s + Σ hᵢ·[s > τᵢ] + Σ kⱼ·(s − τⱼ)₊ + gentle bends
//! ```
//!
//! fitted by weighted least squares to medians of bins of size. Terms are added one after another where they gain most
//! (forward selection of truncated powers, as MARS: Friedman 1991), places are moved until nothing is gained, and terms
//! that no longer pay are taken out. Sizes must have been asked for in random order: only then is everything else that
//! happens meanwhile noise over size and no cliff. Three things are asked of a cliff before it is told, since every curve
//! is curved somewhere:
//!
//! - it gains more than 2 ln n + 12 squared standard errors over n bins (the most that chance gains over n places is
//!   about 2 ln n);
//! - it is *sharp*: the same change spread over some width (a step over ±10 %, a corner over a factor of 2 either way)
//!   fits worse by 9. What bends gently stays in the fit and is not told;
//! - all blocks together hold it: its height over its standard error, blocks resampled, has a p below 1 % by Student's t.
//!
//! Only the median is looked at, and each block's own level is taken out before.

mod bins;
mod fit;
mod suspect;

pub use suspect::{Suspect, suspects};

use self::bins::{Bins, Single};
use self::fit::{Data, Fit, Shape, Term};
use super::sample::standard_deviation;
use super::scatter::{Multiplicity, Scatter, half_width, resamples, standard_error};
use super::student::two_sided_p;

/// Squared standard errors that a term must gain, beside 2 ln n of n bins.
const GAIN: f64 = 12.0;
/// Squared standard errors by which a sharp term must fit better than a soft one.
const SHARPER: f64 = 9.0;
/// A step that is spread from place/f to place·f is none.
const RAMP: f64 = 1.1;
/// A change of slope that is spread from place/f to place·f is none.
const BEND: f64 = 2.0;
/// How wide a bend is that goes into the fit as it is.
const GENTLE: f64 = 3.0;
/// Most terms of a course.
const TERMS: usize = 10;
/// Bins on either side of a term, at least: of one observation nothing is a step.
const MARGIN: usize = 3;
/// The p over blocks from which a cliff is told.
const BLOCK_P: f64 = 0.01;
/// The p over blocks that had no part in choosing sizes, from which a cliff is confirmed.
const CONFIRM_P: f64 = 0.05;
/// Confidence level of the intervals.
const LEVEL: f64 = 0.95;
/// Bins on either side in which a place is sought anew in a resample.
const NEARBY: usize = 12;
/// Parts of a gap between bins to which the place of a corner is found.
const PARTS: u32 = 8;

/// What happens at a cliff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The time steps up or down.
    Level,
    /// The time per further byte changes.
    Slope,
}

/// A value and its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    /// The value.
    pub point: f64,
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
}

/// One cliff.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cliff {
    /// What happens.
    pub change: Change,
    /// Where: of a level the largest size below it, of a slope the corner.
    pub place: Bounded,
    /// Of a level by how much the time is higher above; of a slope by how much more each further unit of size takes.
    pub height: Bounded,
    /// Of a level the time just below; of a slope the time per unit of size just below.
    pub before: f64,
}

/// The cliffs of a scatter of at least four blocks, by place. Steps of less than `margin` of the level, and kinks that
/// change the time at the far end by less, are not told. Empty where there are too few blocks or sizes.
pub fn cliffs(scatter: &Scatter, margin: f64) -> Vec<Cliff> {
    confirmed(scatter, margin, 0)
}

/// The same where the first `scouts` blocks decided which sizes the others asked for besides: the others alone must hold a
/// cliff too.
pub fn confirmed(scatter: &Scatter, margin: f64, scouts: usize) -> Vec<Cliff> {
    let blocks = scatter.blocks().len();
    let Some((bins, fit)) = (blocks >= 4).then(|| course(scatter, GAIN)).flatten() else {
        return Vec::new();
    };
    let search = Search::new(&bins);
    let sharp: Vec<usize> = (0..fit.terms.len()).filter(|term| search.is_sharp(&fit, *term)).collect();
    let worth = |term: &usize| search.is_worth(&fit, *term, margin);
    let told: Vec<usize> = sharp.into_iter().filter(worth).collect();
    if told.is_empty() {
        return Vec::new();
    }
    let fit = search.refined(&bins.time, fit, &scatter.once());
    let resampled: Vec<Fit> = scatter.resamples().iter().map(|times| search.again(&fit, times)).collect();
    let blocks = Blocks {
        count: blocks,
        // Levels were taken out before; that they differ is in the error of every height all the same.
        level: standard_deviation(&scatter.levels()).unwrap_or(0.0) / (blocks as f64).sqrt(),
    };
    let is_confirmed = search.confirmation(&fit, scatter, scouts);
    let told = told.iter().filter(|term| is_confirmed[**term]);
    let mut cliffs: Vec<Cliff> =
        told.filter_map(|term| search.tell(&fit, *term, &resampled, blocks)).collect();
    cliffs.sort_by(|a, b| a.place.point.total_cmp(&b.place.point));
    cliffs
}

/// The course and the bins that it is fitted to. Whenever a step is found, bins are cut anew there: the median of a bin
/// with both sides in it would look like a step of its own.
fn course(scatter: &Scatter, gain: f64) -> Option<(Bins, Fit)> {
    let (mut cuts, mut terms) = (Vec::new(), Vec::new());
    loop {
        let bins = Bins::new(scatter, &cuts)?;
        let search = Search::with_gain(&bins, gain);
        let fit = search.settle(&bins.time, std::mem::take(&mut terms));
        let Some(term) = search.next(&fit) else {
            let fit = search.pruned(fit);
            return Some((bins, fit));
        };
        terms = fit.terms;
        terms.push(term);
        if term.shape == Shape::Step {
            let at = terms.len() - 1;
            let fit = search.settle(&bins.time, terms);
            let place = search.split(&fit, at, &scatter.once());
            terms = fit.terms;
            terms[at].place = place;
            cuts.push(place);
        }
    }
}

/// The blocks of a scatter.
#[derive(Debug, Clone, Copy)]
struct Blocks {
    count: usize,
    /// Standard error of their mean level, on the log scale.
    level: f64,
}

/// Looks for terms over one set of bins.
struct Search<'a> {
    bins: &'a Bins,
    /// Where a step may lie: between two bins.
    gaps: Vec<f64>,
    /// What a term must gain.
    gain: f64,
}

impl<'a> Search<'a> {
    fn new(bins: &'a Bins) -> Self {
        Self::with_gain(bins, GAIN)
    }

    /// Terms must gain so much beside 2 ln n.
    fn with_gain(bins: &'a Bins, gain: f64) -> Self {
        let gaps = bins.range.windows(2).map(|pair| 0.5 * (pair[0].1 + pair[1].0)).collect();
        Self { bins, gaps, gain: 2.0 * (bins.len() as f64).ln() + gain }
    }

    fn fit(&self, time: &[f64], terms: Vec<Term>) -> Fit {
        Fit::new(&Data { size: &self.bins.size, time, error: &self.bins.error }, terms)
    }

    /// The places of a shape, by number of the gap; those near the ends are left out.
    fn places(&self, shape: Shape) -> std::ops::Range<usize> {
        let margin = match shape {
            Shape::Step | Shape::Ramp(_) => MARGIN,
            Shape::Kink => (2 * MARGIN).max(self.bins.len() / 20),
            Shape::Bend(_) => 2 * MARGIN,
        };
        margin - 1..(self.bins.len() - margin).max(margin)
    }

    /// The place at which one more term of a shape gains most, and what.
    fn best(&self, fit: &Fit, shape: Shape, among: std::ops::Range<usize>) -> Option<(Term, f64)> {
        let allowed = self.places(shape);
        let among = among.start.max(allowed.start)..among.end.min(allowed.end);
        let gain = |gap: usize| {
            let term = Term { shape, place: self.gaps[gap] };
            (term, fit.gain(&self.bins.size, term))
        };
        among.map(gain).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// The term that gains most, where that is enough.
    fn next(&self, fit: &Fit) -> Option<Term> {
        let each = [Shape::Step, Shape::Kink, Shape::Bend(BEND), Shape::Bend(GENTLE)];
        let tried = each.iter().filter_map(|shape| self.best(fit, *shape, 0..self.gaps.len()));
        let (term, gain) = tried.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (gain >= self.gain && fit.terms.len() < TERMS).then_some(term)
    }

    /// Takes out, one by one, terms that no longer pay.
    fn pruned(&self, mut fit: Fit) -> Fit {
        while let Some(worst) = self.worst(&fit) {
            fit.terms.remove(worst);
            fit = self.settle(&self.bins.time, fit.terms);
        }
        fit
    }

    /// Moves each term in turn to where it gains most, the others held, until none moves.
    fn settle(&self, time: &[f64], mut terms: Vec<Term>) -> Fit {
        for _ in 0..3 {
            let before = terms.clone();
            for at in 0..terms.len() {
                let mut others = terms.clone();
                let shape = others.remove(at).shape;
                let fit = self.fit(time, others);
                if let Some((term, _)) = self.best(&fit, shape, 0..self.gaps.len()) {
                    terms[at] = term;
                }
            }
            if terms == before {
                break;
            }
        }
        self.fit(time, terms)
    }

    /// The term without which least is lost, where that is too little.
    fn worst(&self, fit: &Fit) -> Option<usize> {
        let lost = |at: usize| {
            let mut others = fit.terms.clone();
            others.remove(at);
            (at, self.fit(&self.bins.time, others).left() - fit.left())
        };
        let least = (0..fit.terms.len()).map(lost).min_by(|a, b| a.1.total_cmp(&b.1))?;
        (least.1 < self.gain).then_some(least.0)
    }

    /// Whether a soft term in its place, wherever it fits best nearby, fits worse.
    fn is_sharp(&self, fit: &Fit, term: usize) -> bool {
        let soft = match fit.terms[term].shape {
            Shape::Step => Shape::Ramp(RAMP),
            Shape::Kink => Shape::Bend(BEND),
            Shape::Ramp(_) | Shape::Bend(_) => return false,
        };
        let mut others = fit.terms.clone();
        others.remove(term);
        let without = self.fit(&self.bins.time, others);
        let sharp = without.left() - fit.left();
        self.best(&without, soft, 0..self.gaps.len()).is_none_or(|(_, gain)| sharp - gain > SHARPER)
    }

    /// Whether it changes the time by the margin: of a step at its place, of a kink at the largest size.
    fn is_worth(&self, fit: &Fit, term: usize, margin: f64) -> bool {
        let (place, height) = (fit.terms[term].place, fit.height(term));
        let last = self.bins.size[self.bins.len() - 1];
        match fit.terms[term].shape {
            Shape::Step | Shape::Ramp(_) => height.abs() >= margin * fit.at(place).abs(),
            Shape::Kink | Shape::Bend(_) => height.abs() * (last - place) >= margin * fit.at(last).abs(),
        }
    }

    /// The same terms in a resample of blocks, each sought anew near its place.
    fn again(&self, fit: &Fit, times: &Multiplicity) -> Fit {
        let time = self.bins.medians(times);
        let mut terms = fit.terms.clone();
        for at in 0..terms.len() {
            let mut others = terms.clone();
            let Term { shape, place } = others.remove(at);
            let gap = self.gaps.partition_point(|gap| *gap < place);
            let near = gap.saturating_sub(NEARBY)..(gap + NEARBY + 1).min(self.gaps.len());
            if let Some((term, _)) = self.best(&self.fit(&time, others), shape, near) {
                terms[at] = term;
            }
        }
        let fit = self.fit(&time, terms);
        self.refined(&time, fit, times)
    }

    /// Places to within a bin: of a step between two single sizes, of a corner to an eighth of a gap.
    fn refined(&self, time: &[f64], mut fit: Fit, times: &Multiplicity) -> Fit {
        for at in 0..fit.terms.len() {
            let mut terms = fit.terms.clone();
            terms[at].place = match terms[at].shape {
                Shape::Step => self.split(&fit, at, times),
                Shape::Kink => self.corner(time, &fit, at),
                Shape::Ramp(_) | Shape::Bend(_) => continue,
            };
            fit = self.fit(time, terms);
        }
        fit
    }

    /// Between which two sizes a step lies, so that the distances of single times from the course, each over its own
    /// level, sum up to the least. Sizes of the two bins on either side are looked at.
    fn split(&self, fit: &Fit, step: usize, times: &Multiplicity) -> f64 {
        let (place, height) = (fit.terms[step].place, fit.height(step));
        let gap = self.gaps.partition_point(|gap| *gap < place);
        let singles = self.bins.singles(gap.saturating_sub(1)..gap + 3);
        let base = |single: &Single| fit.at(single.size) - if single.size > place { height } else { 0.0 };
        // With the place after the last, all lie below; each move to before one puts it above.
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

    /// The place of a corner between its neighbouring gaps.
    fn corner(&self, time: &[f64], fit: &Fit, kink: usize) -> f64 {
        let mut others = fit.terms.clone();
        let Term { shape, place } = others.remove(kink);
        let without = self.fit(time, others);
        let gap = self.gaps.partition_point(|gap| *gap < place);
        let (from, to) = (gap.saturating_sub(1), (gap + 1).min(self.gaps.len() - 1));
        let parts = 2 * PARTS;
        let along = |part: u32| {
            let share = f64::from(part) / f64::from(parts);
            self.gaps[from] + share * (self.gaps[to] - self.gaps[from])
        };
        let gain = |place: &f64| without.gain(&self.bins.size, Term { shape, place: *place });
        let places = (0..=parts).map(along);
        places.max_by(|a, b| gain(a).total_cmp(&gain(b))).unwrap_or(place)
    }

    /// Of each term, whether the blocks after the first `scouts` hold it by themselves, in the same direction.
    fn confirmation(&self, fit: &Fit, scatter: &Scatter, scouts: usize) -> Vec<bool> {
        let others = scatter.blocks().len().saturating_sub(scouts);
        if scouts == 0 {
            return vec![true; fit.terms.len()];
        }
        let alone = |mut times: Multiplicity| {
            times.splice(..0, std::iter::repeat_n(0, scouts));
            self.again(fit, &times)
        };
        let whole = alone(vec![1; others]);
        let resampled: Vec<Fit> = resamples(others).into_iter().map(alone).collect();
        let holds = |term: usize| {
            let heights: Vec<f64> = resampled.iter().map(|fit| fit.height(term)).collect();
            let (height, error) = (whole.height(term), standard_error(&heights, others));
            let p =
                error.map(|error| two_sided_p(height / error.max(f64::MIN_POSITIVE), others as f64 - 1.0));
            height * fit.height(term) > 0.0 && p.is_some_and(|p| p < CONFIRM_P)
        };
        (0..fit.terms.len()).map(holds).collect()
    }

    /// A cliff with its intervals; `None` where the blocks do not hold it.
    fn tell(&self, fit: &Fit, term: usize, resampled: &[Fit], blocks: Blocks) -> Option<Cliff> {
        let Term { shape, place } = fit.terms[term];
        let height = fit.height(term);
        let heights: Vec<f64> = resampled.iter().map(|fit| fit.height(term)).collect();
        let error = standard_error(&heights, blocks.count)?.hypot(blocks.level * height);
        if error > 0.0 && two_sided_p(height / error, blocks.count as f64 - 1.0) >= BLOCK_P {
            return None;
        }
        let places: Vec<f64> = resampled.iter().map(|fit| fit.terms[term].place.ln()).collect();
        let spread = half_width(standard_error(&places, blocks.count)?, blocks.count, LEVEL).exp();
        // A place is between two sizes that were asked for; no interval is narrower than that.
        let (below, above) = self.neighbours(place);
        let half = half_width(error, blocks.count, LEVEL);
        let (change, before) = match shape {
            Shape::Step | Shape::Ramp(_) => (Change::Level, fit.at(place)),
            Shape::Kink | Shape::Bend(_) => (Change::Slope, self.slope_below(fit, place)),
        };
        let (first, last) = (self.bins.range[0].0, self.bins.range[self.bins.len() - 1].1);
        Some(Cliff {
            change,
            place: Bounded {
                point: place,
                lower: (place / spread).min(below).max(first),
                upper: (place * spread).max(above).min(last),
            },
            height: Bounded { point: height, lower: height - half, upper: height + half },
            before,
        })
    }

    /// The sizes on either side of a place.
    fn neighbours(&self, place: f64) -> (f64, f64) {
        let singles = self.bins.singles(0..self.bins.len());
        let above = singles.partition_point(|single| single.size <= place).clamp(1, singles.len() - 1);
        (singles[above - 1].size, singles[above].size)
    }

    /// The slope just below a kink, where none of its own has begun.
    fn slope_below(&self, fit: &Fit, place: f64) -> f64 {
        let step = 1e-4 * place;
        (fit.at(place - step) - fit.at(place - 2.0 * step)) / step
    }
}
