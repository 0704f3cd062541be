//! Cliffs of a curve over size: places at which its level steps or its slope changes, each with intervals of
//! place and height over blocks.
//!
//! The course of the median time over size is
//!
//! ```text
//! f(s) = a + b·s + c·√s + d·ln s + Σ hᵢ·[s > τᵢ] + Σ kⱼ·(s − τⱼ)₊ + gentle bends
//! ```
//!
//! fitted by weighted least squares to medians of bins of size. Terms are added one after another where they
//! gain most (forward selection of truncated powers, as MARS: Friedman 1991), places are moved until nothing
//! is gained, and terms that no longer pay are taken out. Sizes must have been asked for in random order:
//! only then is everything else that happens meanwhile noise over size and no cliff. Three things are asked
//! of a cliff before it is reported, since every curve is curved somewhere:
//!
//! - it gains more than 2 ln n + 12 squared standard errors over n bins (the most that chance gains over n places is
//!   about 2 ln n);
//! - it is *sharp*: the same change spread over some width (a step over ±10 %, a corner over a factor of 2 either way)
//!   fits worse by 9. What bends gently stays in the fit and is not told;
//! - all blocks together hold it: its height over its standard error, blocks resampled, has a p below 1 % by Student's t.
//!
//! Only the median is examined, and each block's own level is taken out before.

mod bins;
mod evidence;
mod fit;
mod search;

use self::evidence::{Evidence, judged};
use self::fit::{Fit, Shape, Term};
use self::search::{Course, Search};
use super::sample::standard_deviation;
use super::scatter::{Scatter, half_width, standard_error};
use super::student::two_sided_p;

/// Squared standard errors that a term must gain, beside 2 ln n of n bins.
const GAIN: f64 = 12.0;
/// The p over blocks from which a cliff is reported.
const BLOCK_P: f64 = 0.01;
/// Confidence level of the intervals.
const LEVEL: f64 = 0.95;
/// The share of resamples that may put a cliff where none can be reported, before it is reported no longer.
const OUTSIDE: f64 = 0.05;

/// What happens at a cliff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The time steps up or down.
    Level,
    /// The time per further byte changes.
    Slope,
    /// The time steps up or down by the same again and again, at equal distances.
    Stairs,
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

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cliff {
    /// What happens.
    pub change: Change,
    /// Where: of a level the largest size below it, of a slope the corner, of stairs the first of them.
    pub place: Bounded,
    /// How far one of the stairs is from the next.
    pub period: Option<Bounded>,
    /// Of a level and of each stair by how much the time is higher above; of a slope by how much more each
    /// further unit of size takes.
    pub height: Bounded,
    /// Of a level, and of the first stair, the time just below; of a slope the time per unit of size just
    /// below.
    pub before: f64,
}

impl Cliff {
    /// The places at which the level steps, up to a size.
    pub fn steps(&self, most: f64) -> Vec<f64> {
        let first = self.place.point;
        match (self.change, self.period) {
            (Change::Level, _) => vec![first],
            (Change::Slope, _) | (Change::Stairs, None) => Vec::new(),
            (Change::Stairs, Some(period)) => {
                let count = ((most - first) / period.point).max(0.0) as u32;
                (0..=count).map(|at| first + f64::from(at) * period.point).collect()
            }
        }
    }
}

/// What is found in a scatter.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// Cliffs, by place.
    pub cliffs: Vec<Cliff>,
    /// Between which sizes a step, and a corner, would have been told; `None` where nothing can be.
    pub judged: Option<Judged>,
    /// Whether the curve changes at more places than are looked for: then corners are not told, since each
    /// may be what the rest leaves.
    pub is_cut_off: bool,
}

/// Between which sizes cliffs are reported: nearer to an end too few requests lie on one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    pub steps: (f64, f64),
    /// Changes of slope.
    pub corners: (f64, f64),
}

/// The cliffs of a scatter of at least four blocks, by place. Steps of less than `margin` of the level, and
/// kinks that change the time at the far end by less, are not told. Empty where there are too few blocks or
/// sizes.
pub fn find(scatter: &Scatter, margin: f64) -> Found {
    let blocks = scatter.blocks().len();
    let Some(course) = (blocks >= 4).then(|| Course::new(scatter)).flatten() else {
        return Found::default();
    };
    let search = Search::new(&course.bins, GAIN);
    let is_told = |shape| !(course.is_cut_off && shape == Shape::Kink);
    let evidence = Evidence::new(&search, &course.fit);
    let those = (0..course.fit.terms.len()).filter(|term| is_told(course.fit.terms[*term].shape));
    let told: Vec<usize> = those.filter(|term| evidence.holds(*term, margin)).collect();
    let ends = |shape| {
        let judged = judged(&search, shape);
        (*judged.start(), *judged.end())
    };
    let (steps, corners) = (ends(Shape::Step), ends(Shape::Kink));
    let found = Found {
        cliffs: Vec::new(),
        judged: (steps.0 <= steps.1 && corners.0 <= corners.1).then_some(Judged { steps, corners }),
        is_cut_off: course.is_cut_off,
    };
    if told.is_empty() {
        return found;
    }
    let fit = search.refined(&course.bins.time, course.fit.clone(), &scatter.once());
    let teller = Teller {
        resampled: scatter.resamples().iter().map(|times| search.again(&fit, times)).collect(),
        // Levels were taken out before; that they differ is in the interval of every height all the same.
        level: standard_deviation(&scatter.levels()).unwrap_or(0.0) / (blocks as f64).sqrt(),
        blocks,
        search: &search,
        fit: &fit,
    };
    let mut cliffs: Vec<Cliff> = told.iter().filter_map(|term| teller.tell(*term)).collect();
    cliffs.sort_by(|a, b| a.place.point.total_cmp(&b.place.point));
    Found { cliffs, ..found }
}

/// Makes cliffs of terms.
struct Teller<'a> {
    search: &'a Search<'a>,
    fit: &'a Fit,
    /// The fit anew in each resample of blocks.
    resampled: Vec<Fit>,
    blocks: usize,
    /// Standard error of the blocks' mean level, on the log scale.
    level: f64,
}

impl Teller<'_> {
    /// A cliff with its intervals; `None` where the blocks do not hold it, in its height or in its place.
    fn tell(&self, term: usize) -> Option<Cliff> {
        let Term { shape, place } = self.fit.terms[term];
        let height = self.height(term)?;
        let judged = judged(self.search, shape);
        let outside = self.resampled.iter().filter(|fit| !judged.contains(&fit.terms[term].place)).count();
        if outside as f64 > OUTSIDE * self.resampled.len() as f64 {
            return None;
        }
        let (change, before, period) = match shape {
            Shape::Step | Shape::Ramp(_) => (Change::Level, self.fit.at(place), None),
            Shape::Kink | Shape::Bend(_) => (Change::Slope, self.slope_below(place), None),
            Shape::Stairs(period) => (Change::Stairs, self.fit.at(place), Some(self.period(term, period)?)),
        };
        let spread = self.spread(|fit| fit.terms[term].place)?;
        // A place is between two sizes that were asked for, and that of stairs between two bins; no interval
        // is narrower.
        let (below, above) = match shape {
            Shape::Stairs(_) => (place - 0.5 * self.width(place), place + 0.5 * self.width(place)),
            _ => self.neighbours(place),
        };
        let (first, last) =
            (self.search.bins.range[0].0, self.search.bins.range[self.search.bins.len() - 1].1);
        Some(Cliff {
            change,
            place: Bounded {
                point: place,
                lower: (place / spread).min(below).max(first),
                upper: (place * spread).max(above).min(last),
            },
            period,
            height,
            before,
        })
    }

    /// The height, where blocks hold it. Whether they do is asked with their levels taken out; how high it is
    /// is known no better than the level, by whose factor it is higher or lower.
    fn height(&self, term: usize) -> Option<Bounded> {
        let height = self.fit.height(term);
        let heights: Vec<f64> = self.resampled.iter().map(|fit| fit.height(term)).collect();
        let error = standard_error(&heights, self.blocks)?;
        if error > 0.0 && two_sided_p(height / error, self.blocks as f64 - 1.0) >= BLOCK_P {
            return None;
        }
        let half = half_width(error, self.blocks, LEVEL);
        let factor = half_width(self.level, self.blocks, LEVEL).exp_m1();
        // The two are independent of each other: their halves add up as errors do, on either side by its own
        // factor.
        let (up, down) = (height.abs() * factor, height.abs() * factor / (1.0 + factor));
        let (lower, upper) = if height > 0.0 { (down, up) } else { (up, down) };
        Some(Bounded { point: height, lower: height - half.hypot(lower), upper: height + half.hypot(upper) })
    }

    /// How far stairs are apart. Each is found between two bins, and the n-th is n periods from where they
    /// begin.
    fn period(&self, term: usize, period: f64) -> Option<Bounded> {
        let spread = self.spread(|fit| match fit.terms[term].shape {
            Shape::Stairs(period) => period,
            _ => f64::NAN,
        })?;
        let (first, last) = (self.fit.terms[term].place, self.search.gaps[self.search.gaps.len() - 1]);
        let count = ((last - first) / period) as u32;
        let within = |n: u32| self.width(first + f64::from(n) * period) / f64::from(n + 1);
        let least = 0.5 * (0..=count).map(within).fold(f64::INFINITY, f64::min);
        let (lower, upper) = ((period / spread).min(period - least), (period * spread).max(period + least));
        Some(Bounded { point: period, lower, upper })
    }

    /// How far the bins at a place are from each other.
    fn width(&self, place: f64) -> f64 {
        let (gaps, above) = (&self.search.gaps, self.search.gap(place).clamp(1, self.search.gaps.len() - 1));
        gaps[above] - gaps[above - 1]
    }

    /// The factor by which something above 0 is uncertain either way.
    fn spread(&self, value: impl Fn(&Fit) -> f64) -> Option<f64> {
        let logarithms: Vec<f64> = self.resampled.iter().map(|fit| value(fit).max(1.0).ln()).collect();
        Some(half_width(standard_error(&logarithms, self.blocks)?, self.blocks, LEVEL).exp())
    }

    /// The sizes on either side of a place.
    fn neighbours(&self, place: f64) -> (f64, f64) {
        let singles = self.search.bins.singles(0..self.search.bins.len());
        let above = singles.partition_point(|single| single.size <= place).clamp(1, singles.len() - 1);
        (singles[above - 1].size, singles[above].size)
    }

    /// The slope just below a kink, where none of its own has begun.
    fn slope_below(&self, place: f64) -> f64 {
        let step = 1e-4 * place;
        (self.fit.at(place - step) - self.fit.at(place - 2.0 * step)) / step
    }
}
