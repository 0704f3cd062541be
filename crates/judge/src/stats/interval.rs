//! Student's t interval over block estimates, and Stein's two-stage rule for the number of blocks.
//!
//! Blocks are the only units: single windows or requests would give an interval that is far too narrow. After
//! the number of blocks is fixed, the rule does not look at the data again.

use super::sample::{mean, standard_deviation};
use super::student::two_sided_quantile;

/// A mean with its standard error and the degrees of freedom of that error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mean {
    pub point: f64,
    /// s/√n.
    pub error: f64,
    pub degrees: f64,
    /// What the point may be off, either way, without showing in the spread of estimates; mostly 0.
    pub allowance: f64,
    /// The least half-width: what counts of tries leave open however little estimates differ. 0 for all but shares (see
    /// [`super::share`]).
    pub least: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub point: f64,
    pub lower: f64,
    pub upper: f64,
}

/// Stein's rule: the spread of a first stage of blocks fixes the number of blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stein {
    /// Blocks of the first stage, at least 2.
    pub first: usize,
    pub most: usize,
    /// Wanted half-width of the interval, in the unit of the estimates.
    pub goal: f64,
    /// Confidence level, for example 0.95.
    pub level: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    pub run: usize,
    /// How many blocks the goal would take, without the limit.
    pub needed: usize,
}

impl Mean {
    /// The mean with s of all `estimates` and n−1 degrees of freedom. `None` below two estimates.
    ///
    /// Assumes independent and near normal estimates, as block averages and their log-ratios are.
    pub fn new(estimates: &[f64]) -> Option<Self> {
        Self::with_first_stage(estimates, estimates.len())
    }

    /// The mean of all `estimates`, with s of the first `first` only and first−1 degrees of freedom. `None`
    /// below two estimates in the first stage.
    ///
    /// This is Stein's second stage (Stein 1945): n depended on the first stage's s, of which x̄ is
    /// independent, so (x̄−µ)√n/s has exactly Student's t with first−1 degrees of freedom. With the s of all
    /// n it would not; stopping early at a small s by chance would make the interval too narrow.
    pub fn with_first_stage(estimates: &[f64], first: usize) -> Option<Self> {
        let first_stage = &estimates[..first.min(estimates.len())];
        let deviation = standard_deviation(first_stage)?;
        Some(Self {
            point: mean(estimates)?,
            error: deviation / (estimates.len() as f64).sqrt(),
            degrees: (first_stage.len() - 1) as f64,
            allowance: 0.0,
            least: 0.0,
        })
    }

    pub fn with_allowance(self, allowance: f64) -> Self {
        Self { allowance, ..self }
    }

    pub fn with_least(self, least: f64) -> Self {
        Self { least, ..self }
    }

    /// This mean minus an independent one: variances add, with Welch's and Satterthwaite's degrees of freedom
    /// v²/Σ(vᵢ²/νᵢ) for the sum v of variances vᵢ (Satterthwaite 1946, Welch 1947). The coverage is
    /// approximate; it is exact only if one part dominates or the parts are alike.
    pub fn minus(self, other: Self) -> Self {
        let allowance = self.allowance + other.allowance;
        let minus = self.widened(other.error, other.degrees).shifted(-other.point);
        minus.with_allowance(allowance).with_least(self.least.hypot(other.least))
    }

    /// The mean with another, independent source of error: its standard error and the degrees of freedom of
    /// that. An error of zero adds nothing.
    pub fn widened(self, error: f64, degrees: f64) -> Self {
        let (mine, more) = (self.error * self.error, error * error);
        let sum = mine + more;
        let weight = mine * mine / self.degrees + more * more / degrees;
        let degrees = if weight > 0.0 { sum * sum / weight } else { self.degrees.min(degrees) };
        Self { error: sum.sqrt(), degrees, ..self }
    }

    fn shifted(self, by: f64) -> Self {
        Self { point: self.point + by, ..self }
    }

    /// mean ± (max(t(ν)·s/√n, least) + allowance).
    pub fn interval(self, level: f64) -> Interval {
        let spread = two_sided_quantile(level, self.degrees) * self.error;
        let half = spread.max(self.least) + self.allowance;
        Interval { point: self.point, lower: self.point - half, upper: self.point + half }
    }
}

impl Interval {
    /// The interval of a ratio from the interval of its logarithm.
    pub fn exp(self) -> Self {
        Self { point: self.point.exp(), lower: self.lower.exp(), upper: self.upper.exp() }
    }

    /// The interval of ratio − 1 from that of the ratio.
    pub fn minus_one(self) -> Self {
        Self { point: self.point - 1.0, lower: self.lower - 1.0, upper: self.upper - 1.0 }
    }

    pub fn half_width(self) -> f64 {
        0.5 * (self.upper - self.lower)
    }

    pub fn contains(self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

impl Stein {
    /// n = ⌈(t(first−1)·s/goal)²⌉ clipped to [first, most], with s from the first stage of `estimates`;
    /// `None` while the first stage is incomplete.
    pub fn blocks(&self, estimates: &[f64]) -> Option<Blocks> {
        if estimates.len() < self.first {
            return None;
        }
        let stage = Mean::with_first_stage(&estimates[..self.first], self.first)?;
        let deviation = stage.error * (self.first as f64).sqrt();
        let root = two_sided_quantile(self.level, stage.degrees) * deviation / self.goal;
        // A goal of zero asks for more blocks than there are; `as` saturates, and not-a-number (0/0) becomes
        // 0.
        let needed = (root * root).ceil() as usize;
        Some(Blocks { run: needed.clamp(self.first, self.most.max(self.first)), needed })
    }
}

impl Blocks {
    /// Whether the limit allows fewer blocks than the goal takes.
    pub fn cut(self) -> bool {
        self.run < self.needed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_textbook_sample() {
        // NIST/SEMATECH e-Handbook §1.3.5.2: N = 195, mean 9.261460, s = 0.022789, 95 % limits 9.258242 and
        // 9.264679.
        let (n, s, middle) = (195_u32, 0.022_789, 9.261_460);
        let mean = Mean {
            point: middle,
            error: s / f64::from(n).sqrt(),
            degrees: f64::from(n - 1),
            allowance: 0.0,
            least: 0.0,
        }
        .interval(0.95);
        assert!((mean.lower - 9.258_242).abs() < 2e-6 && (mean.upper - 9.264_679).abs() < 2e-6, "{mean:?}");
    }

    #[test]
    fn six_blocks_use_five_degrees_of_freedom() {
        // mean 3.5, s = √3.5, half-width 2.5706·√(3.5/6).
        let interval = Mean::new(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap().interval(0.95);
        assert!((interval.half_width() - 2.570_581_835_6 * (3.5_f64 / 6.0).sqrt()).abs() < 1e-9);
        assert_eq!(Mean::new(&[1.0]), None);
    }

    #[test]
    fn two_means_are_subtracted_as_welch_has_it() {
        // By hand: variances of the means 0.04 with 5 and 0.01 with 9 degrees: 0.05²/(0.04²/5 + 0.01²/9) =
        // 7.5503.
        let (a, b) = (
            Mean { point: 1.0, error: 0.2, degrees: 5.0, allowance: 0.0, least: 0.0 },
            Mean { point: 0.4, error: 0.1, degrees: 9.0, allowance: 0.0, least: 0.0 },
        );
        let found = a.minus(b);
        assert!((found.point - 0.6).abs() < 1e-15 && (found.error - 0.05_f64.sqrt()).abs() < 1e-15);
        assert!((found.degrees - 7.550_336).abs() < 1e-6, "{found:?}");
        // Two equal means have the degrees of both; a part without error changes nothing.
        assert!((a.minus(a).degrees - 10.0).abs() < 1e-12);
        assert_eq!(a.widened(0.0, 3.0), a);
        let none = Mean { error: 0.0, ..a };
        assert_eq!(none.minus(Mean { error: 0.0, ..b }).degrees, 5.0);
    }

    #[test]
    fn stein_asks_for_the_blocks_that_the_first_stage_says() {
        let first = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        // (2.5706·1.8708/goal)²: 23.13 at goal 1, so 24; 5.78 at goal 2, so clipped up to 6; 92.5 at 0.5,
        // clipped to 30.
        let rule = |goal| Stein { first: 6, most: 30, goal, level: 0.95 };
        assert_eq!(rule(1.0).blocks(&first), Some(Blocks { run: 24, needed: 24 }));
        assert_eq!(rule(2.0).blocks(&first).unwrap().run, 6);
        let cut = rule(0.5).blocks(&first).unwrap();
        assert!(cut.cut() && cut == Blocks { run: 30, needed: 93 });
        assert_eq!(rule(1.0).blocks(&first[..5]), None);
    }

    #[test]
    fn stein_does_not_look_again_after_the_first_stage() {
        let rule = Stein { first: 6, most: 30, goal: 1.0, level: 0.95 };
        let mut estimates = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let planned = rule.blocks(&estimates);
        estimates.extend([1e6, -1e6, 1e6]);
        assert_eq!(rule.blocks(&estimates), planned);
    }

    #[test]
    fn the_final_interval_keeps_the_deviation_of_the_first_stage() {
        let estimates = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 3.5, 3.5, 3.5, 3.5];
        let mean = Mean::with_first_stage(&estimates, 6).unwrap();
        assert_eq!(mean.degrees, 5.0);
        assert!((mean.error - (3.5_f64 / 10.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_first_stage_without_spread_needs_no_more_blocks() {
        let rule = Stein { first: 4, most: 30, goal: 0.0, level: 0.95 };
        assert_eq!(rule.blocks(&[2.0; 4]).unwrap().run, 4);
        assert_eq!(rule.blocks(&[1.0, 2.0, 1.0, 2.0]).unwrap().run, 30);
    }
}
