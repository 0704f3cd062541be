//! Clopper and Pearson's exact interval of a probability, from a count.
//!
//! It assumes independent trials with one probability; the caller must make sure of that.

use super::interval::Interval;
use super::special::incomplete_beta;

/// The exact two-sided interval of a probability after `hits` in `tries` trials (Clopper & Pearson 1934). At
/// the lower bound, this many hits or more have probability (1 − level)/2; at the upper bound, this many or
/// fewer have. The binomial tail is I_p(k, n − k + 1), so the bounds are quantiles of beta distributions.
///
/// The interval holds the truth at least as often as `level` says, for every p. `None` without trials, or
/// with more hits than trials.
pub fn clopper_pearson(hits: u32, tries: u32, level: f64) -> Option<Interval> {
    if tries == 0 || hits > tries {
        return None;
    }
    let (k, n, tail) = (f64::from(hits), f64::from(tries), 0.5 * (1.0 - level));
    let lower = if hits == 0 { 0.0 } else { root(|p| incomplete_beta(k, n - k + 1.0, p) > tail) };
    let upper = if hits == tries { 1.0 } else { root(|p| incomplete_beta(k + 1.0, n - k, p) > 1.0 - tail) };
    Some(Interval { point: k / n, lower, upper })
}

/// The threshold in [0, 1] from which a condition holds, by bisection to the last bit.
fn root(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if holds(middle) { high = middle } else { low = middle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(hits: u32, tries: u32, level: f64, lower: f64, upper: f64) {
        let found = clopper_pearson(hits, tries, level).unwrap();
        assert!((found.lower - lower).abs() < 5e-5, "{hits}/{tries}: {found:?}, published {lower}");
        assert!((found.upper - upper).abs() < 5e-5, "{hits}/{tries}: {found:?}, published {upper}");
    }

    #[test]
    fn intervals_are_the_published_ones() {
        // Newcombe (Statistics in Medicine 17, 1998), table I, method 5: 81/263, 15/148, 0/20, 1/29 at 95 %.
        check(81, 263, 0.95, 0.2527, 0.3676);
        check(15, 148, 0.95, 0.0578, 0.1617);
        check(0, 20, 0.95, 0.0, 0.1684);
        check(1, 29, 0.95, 0.0009, 0.1776);
    }

    #[test]
    fn the_ends_have_closed_forms() {
        // No hit: 1 − (α/2)^(1/n); all hits: (α/2)^(1/n).
        for tries in [1_u32, 5, 40, 1_000] {
            let edge = 0.025_f64.powf(1.0 / f64::from(tries));
            let (none, all) =
                (clopper_pearson(0, tries, 0.95).unwrap(), clopper_pearson(tries, tries, 0.95).unwrap());
            assert!(none.lower == 0.0 && (none.upper - (1.0 - edge)).abs() < 1e-12, "{none:?}");
            assert!(all.upper == 1.0 && (all.lower - edge).abs() < 1e-12, "{all:?}");
        }
    }

    #[test]
    fn each_bound_gives_the_tail_that_defines_it() {
        // The binomial tails summed term by term, for 3 of 17.
        let term = |p: f64, k: i32| {
            let choose = (0..k).fold(1.0, |c, i| c * f64::from(17 - i) / f64::from(i + 1));
            choose * p.powi(k) * (1.0 - p).powi(17 - k)
        };
        let found = clopper_pearson(3, 17, 0.9).unwrap();
        let or_more: f64 = (3..=17).map(|k| term(found.lower, k)).sum();
        let or_fewer: f64 = (0..=3).map(|k| term(found.upper, k)).sum();
        assert!((or_more - 0.05).abs() < 1e-10 && (or_fewer - 0.05).abs() < 1e-10, "{or_more} {or_fewer}");
    }

    #[test]
    fn no_trial_has_no_interval() {
        assert_eq!(clopper_pearson(0, 0, 0.95), None);
        assert_eq!(clopper_pearson(3, 2, 0.95), None);
    }
}
