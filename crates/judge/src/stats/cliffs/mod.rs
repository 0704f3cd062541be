//! Cliffs of a curve over size: places at which its level steps or its slope changes, with intervals of place
//! and height over blocks.
//!
//! The course of the median time over size is
//!
//! ```text
//! f(s) = a + b·s + c·√s + d·ln s + Σ hᵢ·[s > τᵢ] + Σ kⱼ·(s − τⱼ)₊ + gentle bends
//! ```
//!
//! fitted by weighted least squares to medians of bins of size. Terms are added one after another where they
//! gain most (forward selection of truncated powers, as MARS: Friedman 1991), places are moved until nothing
//! is gained, and terms that no longer gain enough are removed. Sizes must have been requested in random order:
//! only then is everything else that happens meanwhile noise and no cliff. Every curve is curved somewhere, so a
//! cliff is reported only if
//!
//! - it gains more than 2 ln n + 12 squared standard errors over n bins (the most that chance gains over n
//!   places is about 2 ln n);
//! - it is *sharp*: the same change spread over some width (a step over ±10 %, a corner over a factor of 2
//!   either way) fits worse by 9. Gentle bends stay in the fit and are not reported;
//! - all blocks together support it: its height over its standard error, blocks resampled, has a p below 1 %
//!   by Student's t.
//!
//! Only the median is examined, after each block's own level is removed.

mod bins;
mod evidence;
mod fit;
mod search;

use self::evidence::{Evidence, judged};
use self::fit::{Fit, Shape, Term};
use self::search::{Course, Search};
use super::interval::Interval;
use super::sample::standard_deviation;
use super::scatter::{Scatter, half_width, standard_error};
use super::student::two_sided_p;

/// Squared standard errors that a term must gain, in addition to 2 ln n for n bins.
const GAIN: f64 = 12.0;
/// The p over blocks below which a cliff is reported.
const BLOCK_P: f64 = 0.01;
const LEVEL: f64 = 0.95;
/// A cliff is dropped if more than this share of resamples puts it where none can be reported.
const OUTSIDE: f64 = 0.05;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Level,
    /// The time per further byte changes.
    Slope,
    /// The time steps by the same height again and again, at equal distances.
    Stairs,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cliff {
    pub change: Change,
    /// For a level, the largest size below it; for a slope, the corner; for stairs, the first step.
    pub place: Interval,
    /// The distance between two steps of stairs.
    pub period: Option<Interval>,
    /// For a level and for each step of stairs, by how much the time is higher above; for a slope, by how
    /// much more each further unit of size takes.
    pub height: Interval,
    /// The time just below the level or the first step of stairs; for a slope, the time per unit of size just
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

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// By place.
    pub cliffs: Vec<Cliff>,
    /// The sizes between which a step or a corner can be found; `None` if nothing can be.
    pub judged: Option<Judged>,
    /// Whether the curve changes at more places than the search allows. Then corners are not reported, since
    /// each may be a residue of the rest.
    pub is_cut_off: bool,
}

/// The sizes between which cliffs are reported: nearer to an end, too few requests lie on one side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    pub steps: (f64, f64),
    pub corners: (f64, f64),
}

/// Finds the cliffs of a scatter of at least four blocks. Steps of less than `margin` of the level, and kinks
/// that change the time at the far end by less, are not reported. The result is empty if there are too few
/// blocks or sizes.
pub fn find(scatter: &Scatter, margin: f64) -> Found {
    let blocks = scatter.blocks().len();
    let Some(course) = (blocks >= 4).then(|| Course::new(scatter)).flatten() else {
        return Found::default();
    };
    let search = Search::new(&course.bins, GAIN);
    let may_be_reported = |shape| !(course.is_cut_off && shape == Shape::Kink);
    let evidence = Evidence::new(&search, &course.fit);
    let those = (0..course.fit.terms.len()).filter(|term| may_be_reported(course.fit.terms[*term].shape));
    let reported: Vec<usize> = those.filter(|term| evidence.holds(*term, margin)).collect();
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
    if reported.is_empty() {
        return found;
    }
    let fit = search.refined(&course.bins.time, course.fit.clone(), &scatter.once());
    let builder = CliffBuilder {
        resampled: scatter.resamples().iter().map(|times| search.again(&fit, times)).collect(),
        // Levels were removed before; the interval of every height must still include their differences.
        level: standard_deviation(&scatter.levels()).unwrap_or(0.0) / (blocks as f64).sqrt(),
        blocks,
        search: &search,
        fit: &fit,
    };
    let mut cliffs: Vec<Cliff> = reported.iter().filter_map(|term| builder.cliff(*term)).collect();
    cliffs.sort_by(|a, b| a.place.point.total_cmp(&b.place.point));
    Found { cliffs, ..found }
}

struct CliffBuilder<'a> {
    search: &'a Search<'a>,
    fit: &'a Fit,
    resampled: Vec<Fit>,
    blocks: usize,
    /// Standard error of the blocks' mean level, on the log scale.
    level: f64,
}

impl CliffBuilder<'_> {
    /// The cliff of a term with its intervals; `None` unless the blocks support both its height and its place.
    fn cliff(&self, term: usize) -> Option<Cliff> {
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
        let factor = self.interval_factor(|fit| fit.terms[term].place)?;
        // A place lies between two requested sizes, and that of stairs between two bins; no interval is
        // narrower.
        let (below, above) = match shape {
            Shape::Stairs(_) => (place - 0.5 * self.width(place), place + 0.5 * self.width(place)),
            _ => self.neighbours(place),
        };
        let (first, last) =
            (self.search.bins.range[0].0, self.search.bins.range[self.search.bins.len() - 1].1);
        Some(Cliff {
            change,
            place: Interval {
                point: place,
                lower: (place / factor).min(below).max(first),
                upper: (place * factor).max(above).min(last),
            },
            period,
            height,
            before,
        })
    }

    /// The height, if the blocks support it. That is tested without the blocks' levels; but the height scales
    /// with the level, so its interval includes the level's error.
    fn height(&self, term: usize) -> Option<Interval> {
        let height = self.fit.height(term);
        let heights: Vec<f64> = self.resampled.iter().map(|fit| fit.height(term)).collect();
        let error = standard_error(&heights, self.blocks)?;
        if error > 0.0 && two_sided_p(height / error, self.blocks as f64 - 1.0) >= BLOCK_P {
            return None;
        }
        let half = half_width(error, self.blocks, LEVEL);
        let factor = half_width(self.level, self.blocks, LEVEL).exp_m1();
        // The two errors are independent, so their half-widths add up as errors do; each side has its own
        // factor.
        let (up, down) = (height.abs() * factor, height.abs() * factor / (1.0 + factor));
        let (lower, upper) = if height > 0.0 { (down, up) } else { (up, down) };
        Some(Interval { point: height, lower: height - half.hypot(lower), upper: height + half.hypot(upper) })
    }

    /// The distance of stairs. Each step is located to within two bins, and the n-th is n periods from the
    /// start.
    fn period(&self, term: usize, period: f64) -> Option<Interval> {
        let factor = self.interval_factor(|fit| match fit.terms[term].shape {
            Shape::Stairs(period) => period,
            _ => f64::NAN,
        })?;
        let (first, last) = (self.fit.terms[term].place, self.search.gaps[self.search.gaps.len() - 1]);
        let count = ((last - first) / period) as u32;
        let within = |n: u32| self.width(first + f64::from(n) * period) / f64::from(n + 1);
        let least = 0.5 * (0..=count).map(within).fold(f64::INFINITY, f64::min);
        let (lower, upper) = ((period / factor).min(period - least), (period * factor).max(period + least));
        Some(Interval { point: period, lower, upper })
    }

    fn width(&self, place: f64) -> f64 {
        let (gaps, above) = (&self.search.gaps, self.search.gap(place).clamp(1, self.search.gaps.len() - 1));
        gaps[above] - gaps[above - 1]
    }

    /// The factor from a positive value to either bound of its interval.
    fn interval_factor(&self, value: impl Fn(&Fit) -> f64) -> Option<f64> {
        let logarithms: Vec<f64> = self.resampled.iter().map(|fit| value(fit).max(1.0).ln()).collect();
        Some(half_width(standard_error(&logarithms, self.blocks)?, self.blocks, LEVEL).exp())
    }

    fn neighbours(&self, place: f64) -> (f64, f64) {
        let singles = self.search.bins.singles(0..self.search.bins.len());
        let above = singles.partition_point(|single| single.size <= place).clamp(1, singles.len() - 1);
        (singles[above - 1].size, singles[above].size)
    }

    /// The slope just below a kink, before any of its own.
    fn slope_below(&self, place: f64) -> f64 {
        let step = 1e-4 * place;
        (self.fit.at(place - step) - self.fit.at(place - 2.0 * step)) / step
    }
}
