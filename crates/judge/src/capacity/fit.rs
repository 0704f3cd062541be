//! The rate at which a statistic reaches its limit.

use std::ops::RangeInclusive;

use weighbridge_model::objective::Objectives;

use crate::thresholds::{LINE_REACH, STEEP_ELASTICITY};

use super::pool::{RatePool, Which, places};

/// Statistics beyond these multiples of the limit say little of where it is reached …
pub(super) const NEAR: RangeInclusive<f64> = 0.3..=2.0;
/// Those of a line where the grid turned out to lie to one side.
const NEAREST: RangeInclusive<f64> = 0.2..=5.0;
/// … and these are as far as ratios are told apart.
const TOLD_APART: [f64; 2] = [0.05, 20.0];
/// A line is followed this far beyond the rates measured.
const BEYOND: f64 = 1.1;

/// A rate and the statistic there as a multiple of its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct RatePoint {
    pub rate: f64,
    pub ratio: f64,
    /// How much it counts.
    pub weight: f64,
}

/// y = `level` + `slope`·(rate − `centre`), of y = limit/statistic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct InverseLine {
    centre: f64,
    level: f64,
    slope: f64,
    /// Variances of the level and of the slope, from what the points leave over; `None` with two points.
    variances: Option<Variances>,
}

/// Of the two parts of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Variances {
    level: f64,
    slope: f64,
}

impl InverseLine {
    /// Least squares; `None` below two rates.
    pub fn new(points: &[RatePoint]) -> Option<Self> {
        let weight: f64 = points.iter().map(|point| point.weight).sum();
        let mean = |of: &dyn Fn(&RatePoint) -> f64| {
            points.iter().map(|point| point.weight * of(point)).sum::<f64>() / weight
        };
        let centre = mean(&|point| point.rate);
        let level = mean(&|point| 1.0 / point.ratio);
        let across = mean(&|point| (point.rate - centre) * (1.0 / point.ratio - level));
        let square = mean(&|point| (point.rate - centre) * (point.rate - centre));
        let slope = across / square;
        let rest = mean(&|point| (1.0 / point.ratio - level - slope * (point.rate - centre)).powi(2));
        let variances = (points.len() > 2).then(|| {
            let level = rest / (points.len() - 2) as f64;
            Variances { level, slope: level / square }
        });
        (square > 0.0).then_some(Self { centre, level, slope, variances })
    }

    /// The line through the same middle whose slope is at least that of the chord to another point, and at most a
    /// multiple of it.
    pub fn no_flatter_than_chord(self, to: RatePoint, most: f64) -> Self {
        let chord = (self.level - 1.0 / to.ratio) / (self.centre - to.rate);
        let falls = chord < 0.0 && to.rate < self.centre;
        Self { slope: if falls { self.slope.clamp(most * chord, chord) } else { self.slope }, ..self }
    }

    /// Where the statistic is this multiple of its limit; `None` where it does not rise with the rate.
    pub fn reaches(&self, ratio: f64) -> Option<f64> {
        (self.slope < 0.0).then(|| self.centre + (1.0 / ratio - self.level) / self.slope)
    }

    /// The standard error of the rate at which the limit is reached.
    pub fn error_at_limit(&self) -> Option<f64> {
        let (variances, away) = (self.variances?, self.reaches(1.0)? - self.centre);
        Some((variances.level + away * away * variances.slope).sqrt() / -self.slope)
    }

    /// d ln(statistic) / d ln(rate) at the limit.
    pub fn elasticity(&self) -> Option<f64> {
        self.reaches(1.0).map(|rate| -self.slope * rate)
    }
}

/// The ratios made monotone: neighbours that fall are pooled (Ayer et al. 1955).
pub(super) fn isotonic(points: &[RatePoint]) -> Vec<RatePoint> {
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    for point in points {
        let mut last = (point.ratio.min(TOLD_APART[1]), point.weight, 1);
        while let Some(before) = pools.pop_if(|before| before.0 > last.0) {
            let weight = before.1 + last.1;
            last = ((before.0 * before.1 + last.0 * last.1) / weight, weight, before.2 + last.2);
        }
        pools.push(last);
    }
    let ratios = pools.into_iter().flat_map(|(ratio, _, count)| std::iter::repeat_n(ratio, count));
    points.iter().zip(ratios).map(|(point, ratio)| RatePoint { ratio, ..*point }).collect()
}

/// Two rates between which the limit is reached.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Enclosed {
    pub kept: RatePoint,
    pub exceeded: RatePoint,
}

impl Enclosed {
    /// The last point within the limit and the first beyond it, of monotone points.
    pub fn new(points: &[RatePoint]) -> Option<Self> {
        let pair = points.windows(2).find(|pair| pair[0].ratio <= 1.0 && pair[1].ratio > 1.0)?;
        Some(Self { kept: pair[0], exceeded: pair[1] })
    }

    /// Where the limit is reached: by inverse interpolation, or half way where the ratios jump.
    pub fn crossing(&self) -> f64 {
        let jumps = self.kept.ratio < *NEAR.start() || self.exceeded.ratio > *NEAR.end();
        let [before, after] = [self.kept.ratio, self.exceeded.ratio].map(|ratio| 1.0 / ratio);
        let part = if jumps { 0.5 } else { (before - 1.0) / (before - after) };
        self.kept.rate + part * (self.exceeded.rate - self.kept.rate)
    }

    /// Half the gap, on the log scale.
    pub fn half_gap(&self) -> f64 {
        0.5 * (self.exceeded.rate / self.kept.rate).ln()
    }

    /// Δ ln(statistic) / Δ ln(rate).
    fn elasticity(&self) -> f64 {
        let [kept, exceeded] =
            [self.kept, self.exceeded].map(|point| point.ratio.clamp(TOLD_APART[0], TOLD_APART[1]));
        (exceeded / kept).ln() / (self.exceeded.rate / self.kept.rate).ln()
    }
}

/// The points of an objective, of each rate the condition that is nearest to its limit, or beyond it.
pub(super) fn largest_points(
    objectives: &Objectives,
    objective: usize,
    pools: &[RatePool],
    which: Which,
) -> Vec<RatePoint> {
    pools
        .iter()
        .filter_map(|pool| {
            let largest = pool.largest(objectives, objective, which)?.ratio;
            // What was cut is exceeded, whatever was seen before.
            let ratio = if pool.is_cut(which) { largest.max(TOLD_APART[1]) } else { largest };
            Some(RatePoint { rate: pool.rate, ratio, weight: 1.0 })
        })
        .collect()
}

/// Whether the statistic changes so fast with the rate that starts are not alike at the same rates, or so that rates
/// contradict each other.
pub(super) fn is_steep(points: &[RatePoint]) -> bool {
    let near: Vec<RatePoint> = points.iter().copied().filter(|point| NEAR.contains(&point.ratio)).collect();
    let by_line = (near.len() >= 3).then(|| InverseLine::new(&near)?.elasticity()).flatten();
    let elasticity = by_line.or_else(|| Some(Enclosed::new(&isotonic(points))?.elasticity()));
    let has = |kept: bool| points.iter().any(|point| (point.ratio <= 1.0) == kept);
    elasticity.map_or(has(true) && has(false), |elasticity| elasticity >= STEEP_ELASTICITY)
}

/// How much a rate counts whose statistic is this multiple of the limit.
pub(super) fn line_weight(ratio: f64) -> f64 {
    (-0.5 * (ratio.ln() / LINE_REACH).powi(2)).exp()
}

/// How one condition's statistics are joined over the rates.
#[derive(Debug)]
pub(super) struct Curve<'a> {
    objectives: &'a Objectives,
    condition: usize,
    pools: &'a [RatePool],
    /// The rates of the line with their weights.
    near: Vec<(&'a RatePool, f64)>,
    pub is_line: bool,
}

impl<'a> Curve<'a> {
    /// Times are joined by a line where there are rates enough near the limit; shares never, nor what jumps.
    pub fn new(objectives: &'a Objectives, pools: &'a [RatePool], condition: usize) -> Self {
        let is_time = objectives.conditions().get(condition).is_some_and(|c| c.measure.statistic().is_some());
        let within = |range: RangeInclusive<f64>| -> Vec<_> {
            let weighted = |pool: &'a RatePool| {
                let ratio = pool.ratio(objectives, condition, Which::All)?;
                let steps = f64::from(pool.steps.iter().sum::<u32>());
                let weight = steps * line_weight(ratio);
                (range.contains(&ratio) && !pool.is_cut(Which::All)).then_some((pool, weight))
            };
            pools.iter().filter_map(weighted).collect()
        };
        let mut near = within(NEAR);
        if near.len() < 3 {
            near = within(NEAREST);
        }
        let is_line = is_time && near.len() >= 2;
        let curve = Self { objectives, condition, pools, near, is_line };
        let jumps = curve.enclosed(Which::All).is_some_and(|found| found.kept.ratio < *NEAR.start());
        Self { is_line: is_line && !jumps, ..curve }
    }

    fn line_points(&self, which: Which) -> Vec<RatePoint> {
        let point = |(pool, weight): &(&RatePool, f64)| {
            let ratio = pool.ratio(self.objectives, self.condition, which)?;
            Some(RatePoint { rate: pool.rate, ratio, weight: *weight })
        };
        self.near.iter().filter_map(point).collect()
    }

    /// The rate at which the limit is reached; `None` where it is not, at or near the rates measured.
    pub fn crossing(&self, which: Which) -> Option<f64> {
        if !self.is_line {
            return Some(self.enclosed(which)?.crossing());
        }
        let points = self.line_points(which);
        let (lowest, highest) = (points.first()?.rate, points.last()?.rate);
        InverseLine::new(&points)?
            .reaches(1.0)
            .filter(|rate| (lowest / BEYOND..=highest * BEYOND).contains(rate))
    }

    pub fn enclosed(&self, which: Which) -> Option<Enclosed> {
        let point = |pool: &RatePool| {
            let ratio = pool.ratio(self.objectives, self.condition, which)?;
            // A time of a step that was cut is a lower limit; a share is what it is.
            let condition = self.objectives.conditions().get(self.condition);
            let is_time = condition.is_some_and(|one| one.measure.statistic().is_some());
            let ratio = if is_time && pool.is_cut(which) { ratio.max(TOLD_APART[1]) } else { ratio };
            Some(RatePoint { rate: pool.rate, ratio, weight: 1.0 })
        };
        Enclosed::new(&isotonic(&self.pools.iter().filter_map(point).collect::<Vec<_>>()))
    }

    /// How far the curve bends from its line: the contrast of y = limit/statistic with the part of rate² that is
    /// orthogonal to a line.
    pub fn bend(&self, which: Which) -> Option<f64> {
        let points = self.line_points(which);
        let squares: Vec<RatePoint> = points
            .iter()
            .map(|point| RatePoint { ratio: 1.0 / (point.rate * point.rate), ..*point })
            .collect();
        let line = InverseLine::new(&squares)?;
        let rest = squares
            .iter()
            .map(|point| 1.0 / point.ratio - (line.level + line.slope * (point.rate - line.centre)));
        let bends = rest.zip(&points).map(|(rest, p)| (rest * rest * p.weight, rest * p.weight / p.ratio));
        let (norm, product) =
            bends.fold((0.0, 0.0), |(norm, product), (rest, bend)| (norm + rest, product + bend));
        (norm > 0.0).then(|| product / norm)
    }
}

/// The curves of an objective's conditions.
pub(super) fn curves<'a>(
    objectives: &'a Objectives,
    objective: usize,
    pools: &'a [RatePool],
) -> Vec<Curve<'a>> {
    places(objectives, objective).map(|condition| Curve::new(objectives, pools, condition)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(ratios: &[f64]) -> Vec<RatePoint> {
        let point =
            |(at, ratio): (usize, &f64)| RatePoint { rate: 1.0 + at as f64, ratio: *ratio, weight: 1.0 };
        ratios.iter().enumerate().map(point).collect()
    }

    #[test]
    fn a_line_in_the_inverse_is_exact_for_an_exponential_server() {
        // 1/(μ − λ) with μ = 10 and a limit of 1/4: at λ = 6.
        let exact = |rate: f64| RatePoint { rate, ratio: 4.0 / (10.0 - rate), weight: rate };
        let line = InverseLine::new(&[5.0, 5.5, 7.0, 8.0].map(exact)).unwrap();
        assert!((line.reaches(1.0).unwrap() - 6.0).abs() < 1e-12);
        // λ/(μ − λ) at λ = 6.
        assert!((line.elasticity().unwrap() - 1.5).abs() < 1e-12);
        assert_eq!(InverseLine::new(&[exact(5.0)]), None);
    }

    #[test]
    fn the_error_at_the_limit_is_that_of_least_squares() {
        // y = 1 − 0.1·(rate − 3), and what is left over: 14 · 0.01² in all, for 5 points.
        let leaves = [0.02, -0.01, -0.02, -0.01, 0.02];
        let points: Vec<RatePoint> = (1..=5)
            .zip(leaves)
            .map(|(at, leaves)| {
                let rate = f64::from(at);
                RatePoint { rate, ratio: 1.0 / (1.0 - 0.1 * (rate - 3.0) + leaves), weight: 2.0 }
            })
            .collect();
        let error = InverseLine::new(&points).unwrap().error_at_limit().unwrap();
        assert!((error - (14e-4_f64 / 3.0 / 5.0).sqrt() / 0.1).abs() < 1e-9, "{error}");
        assert_eq!(
            InverseLine::new(&points[..2]).unwrap().error_at_limit(),
            None,
            "two points leave nothing over"
        );
    }

    #[test]
    fn neighbours_that_fall_are_pooled() {
        let found: Vec<f64> =
            isotonic(&points(&[0.5, 1.4, 0.8, 3.0, 2.0, 4.0])).iter().map(|p| p.ratio).collect();
        let wanted = [0.5, 1.1, 1.1, 2.5, 2.5, 4.0];
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn rates_that_contradict_each_other_are_looked_at_block_by_block() {
        assert!(is_steep(&points(&[20.0, 0.5, 20.0])), "the lowest of three is beyond the limit");
        assert!(!is_steep(&points(&[0.2, 0.25])) && !is_steep(&points(&[20.0, 30.0])), "one side only");
    }

    #[test]
    fn a_jump_is_taken_to_be_half_way() {
        let jump = Enclosed::new(&points(&[0.0, 0.0, 50.0])).unwrap();
        assert_eq!(jump.crossing(), 2.5);
        let smooth = Enclosed::new(&points(&[0.5, 0.8, 1.6])).unwrap();
        // y = 1.25 and 0.625: 1 is at 0.4 of the way.
        assert!((smooth.crossing() - 2.4).abs() < 1e-12);
        assert_eq!(Enclosed::new(&points(&[2.0, 3.0])), None);
    }
}
