//! The interval of a quantile from ranks alone, without assumptions about the distribution.
//!
//! It assumes independent values. Requests of one run share its start, its host and its hour, so over
//! requests the interval only says how well this run knows its own quantile.

use super::special::incomplete_beta;

/// Two-sided interval of quantile `q` (0 to 1) of the distribution of `ascending`, at least at `level`;
/// `None` if there are too few values.
///
/// The number B of values below the quantile is binomial (n, q). The bounds are the closest ranks l and u
/// with P(B < l) and P(B ≥ u) both at most (1 − level)/2 (David & Nagaraja, Order Statistics, §7.1).
pub fn quantile_interval(ascending: &[f64], q: f64, level: f64) -> Option<(f64, f64)> {
    let (n, tail) = (ascending.len(), 0.5 * (1.0 - level));
    // The largest l with P(B ≤ l − 1) ≤ tail, and the smallest u with P(B ≤ u − 1) ≥ 1 − tail.
    let lower = (1..=n).collect::<Vec<_>>().partition_point(|rank| below(*rank - 1, n, q) <= tail);
    let upper = 1 + (1..=n).collect::<Vec<_>>().partition_point(|rank| below(*rank - 1, n, q) < 1.0 - tail);
    (lower >= 1 && upper <= n).then(|| (ascending[lower - 1], ascending[upper - 1]))
}

/// P(B ≤ k) of the binomial distribution (n, q), as 1 − I_q(k + 1, n − k).
fn below(k: usize, n: usize, q: f64) -> f64 {
    if k >= n { 1.0 } else { 1.0 - incomplete_beta(k as f64 + 1.0, (n - k) as f64, q) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(n: u32, q: f64) -> Option<(f64, f64)> {
        quantile_interval(&(1..=n).map(f64::from).collect::<Vec<_>>(), q, 0.95)
    }

    #[test]
    fn ranks_of_the_median_are_the_published_ones() {
        // For the sign test at 5 % (Conover, Practical Nonparametric Statistics, table A3 and others).
        assert_eq!(ranks(5, 0.5), None);
        for (n, lower, upper) in
            [(6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (15, 4, 12), (20, 6, 15), (25, 8, 18)]
        {
            assert_eq!(ranks(n, 0.5), Some((f64::from(lower), f64::from(upper))), "{n}");
        }
    }

    #[test]
    fn the_tails_of_each_interval_are_what_the_level_says_and_no_narrower_one_would_do() {
        // The binomial tails summed term by term, in logarithms.
        let tail = |n: u32, q: f64, to: u32| -> f64 {
            let ln_choose =
                |k: u32| -> f64 { (0..k).map(|i| (f64::from(n - i) / f64::from(i + 1)).ln()).sum() };
            let term = |k: u32| ln_choose(k) + f64::from(k) * q.ln() + f64::from(n - k) * (1.0 - q).ln();
            (0..=to).map(|k| term(k).exp()).sum()
        };
        for (n, q) in [(50, 0.5), (50, 0.9), (300, 0.9), (300, 0.25)] {
            let (lower, upper) = ranks(n, q).map(|(l, u)| (l as u32, u as u32)).expect("enough values");
            assert!(tail(n, q, lower - 1) <= 0.025 && tail(n, q, lower) > 0.025, "{n} {q} {lower}");
            assert!(
                1.0 - tail(n, q, upper - 1) <= 0.025 && 1.0 - tail(n, q, upper - 2) > 0.025,
                "{n} {q} {upper}"
            );
        }
        assert_eq!(ranks(20, 0.9), None, "nothing bounds it above");
        assert_eq!(quantile_interval(&[], 0.5, 0.95), None);
    }
}
