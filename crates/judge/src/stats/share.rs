//! Intervals of shares: what counts of independent tries leave open where blocks hardly differ.
//!
//! Student's interval over blocks holds all that varies, but a share of 0 or 1 in every block has no spread. Wilson's score
//! interval of a share p in N tries (Wilson 1927) lies about p + c, with c = z²(½ − p)/(N + z²), and where p is near 0 or 1
//! its half-width is √(z²·p(1−p)/N + c²). Newcombe's interval of a difference (Newcombe 1998, Statistics in Medicine
//! 17:873, method 10) combines two of them; for equal shares its half-width is √(z²·Σ pᵢ(1−pᵢ)/Nᵢ + 2c₁² + 2c₂²).
//!
//! Here Student's t·s/√n, of blocks in place of independent tries, stands for the first term under the root of one share.
//! Of a difference, whose blocks are nearly symmetric, Student's interval covers by itself down to about ten events a side,
//! and the sum of both would cover too much; so the second term is its least half-width. Without an event both are Wilson's
//! bound, z²/(N + z²).

use super::interval::{Interval, Mean};
use super::student::two_sided_quantile;

/// A share and how many tries it is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tried {
    /// 0 to 1.
    pub share: f64,
    pub tries: u64,
}

impl Tried {
    /// From the share to the middle of its score interval.
    fn shift(self, level: f64) -> f64 {
        let z = two_sided_quantile(level, f64::INFINITY);
        z * z * (0.5 - self.share) / (self.tries as f64 + z * z)
    }

    /// What counts leave open in the difference of two shares, as [`Mean::least`].
    pub fn least(self, other: Self, level: f64) -> f64 {
        std::f64::consts::SQRT_2 * self.shift(level).hypot(other.shift(level))
    }
}

/// The interval of one share from its mean over blocks, within 0 and 1.
pub fn interval(mean: Mean, tries: u64, level: f64) -> Interval {
    let shift = Tried { share: mean.point, tries }.shift(level);
    let half = mean.interval(level).half_width().hypot(shift);
    let within = |bound: f64| bound.clamp(0.0, 1.0);
    let middle = mean.point + shift;
    Interval { point: mean.point, lower: within(middle - half), upper: within(middle + half) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Mean = Mean { point: 0.0, error: 0.0, degrees: 5.0, allowance: 0.0, least: 0.0 };

    /// As if tries were independent: the normal quantile, and the binomial's error.
    fn binomial(part: u64, tries: u64) -> Mean {
        let share = part as f64 / tries as f64;
        let error = (share * (1.0 - share) / tries as f64).sqrt();
        Mean { point: share, error, degrees: f64::INFINITY, ..NONE }
    }

    #[test]
    fn without_an_event_the_bound_is_wilsons() {
        // Newcombe (Statistics in Medicine 17, 1998), table I, method 3: 0/20 has [0, 0.1611].
        let none = interval(binomial(0, 20), 20, 0.95);
        assert!(none.lower == 0.0 && (none.upper - 0.1611).abs() < 5e-5, "{none:?}");
        let all = interval(binomial(20, 20), 20, 0.95);
        assert!(all.upper == 1.0 && (all.lower - (1.0 - 0.1611)).abs() < 5e-5, "{all:?}");
        // A rare event in many tries: Wilson's interval of 3 in 10,000 is [0.000102, 0.000882].
        let rare = interval(binomial(3, 10_000), 10_000, 0.95);
        assert!((rare.lower - 0.000_102).abs() < 1e-6 && (rare.upper - 0.000_882).abs() < 1e-6, "{rare:?}");
    }

    #[test]
    fn of_no_event_on_either_side_the_difference_is_newcombes() {
        // Newcombe (Statistics in Medicine 17, 1998, 873), table II, method 10: 0/10 against 0/10 has ±0.2775, 0/10
        // against 0/20 [−0.1611, 0.2775]; the half-width here is the symmetric one of both.
        let tried = |tries| Tried { share: 0.0, tries };
        assert!((tried(10).least(tried(10), 0.95) - 0.2775).abs() < 5e-5);
        let uneven = tried(10).least(tried(20), 0.95);
        assert!(uneven > 0.1611 && uneven < 0.2775, "{uneven}");
    }

    #[test]
    fn counts_leave_little_open_where_events_are_many() {
        let (mean, tried) = (binomial(3_000, 12_000), Tried { share: 0.25, tries: 12_000 });
        let half = mean.interval(0.95).half_width();
        assert!(tried.least(tried, 0.95) < 0.03 * half);
        assert!((interval(mean, 12_000, 0.95).half_width() / half - 1.0).abs() < 0.001);
    }
}
