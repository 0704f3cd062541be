//! Mean, standard deviation, median and quantiles by nearest rank of a sample.
//!
//! Slices may be in any order; the result is `None` if the sample is too small. Nothing here estimates an
//! error or removes a value.

/// `None` for an empty sample.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample standard deviation √(Σ(x−x̄)²/(n−1)), in two passes (one pass loses all digits if the mean is
/// large compared with the spread); `None` below two values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|x| (x - centre) * (x - centre)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// The middle value, or the mean of the middle two; `None` for an empty sample.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = ascending(values);
    let (half, n) = (sorted.len() / 2, sorted.len());
    match n {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some(0.5 * (sorted[half - 1] + sorted[half])),
    }
}

/// The `q` quantile by nearest rank: the ⌈q·n⌉-th smallest value (the smallest for q = 0), always a value of
/// the sample; `None` for an empty sample or a `q` outside 0 to 1.
///
/// This is what HdrHistogram's `value_at_quantile` and the windows' figures use (Hyndman & Fan 1996, type 1).
pub fn quantile_nearest_rank(values: &[f64], q: f64) -> Option<f64> {
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let sorted = ascending(values);
    // q·n is rounded up; the product of 0.95 and 20 must not become 19.000000000000004.
    let rank = (q * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

pub(crate) fn ascending(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_match_the_nist_certified_values() {
        // NIST StRD, data set NumAcc3: 1001 values, certified mean 1000000.2 and deviation 0.1.
        let mut values = vec![1_000_000.2];
        for _ in 0..500 {
            values.push(1_000_000.1);
            values.push(1_000_000.3);
        }
        assert!((mean(&values).unwrap() - 1_000_000.2).abs() < 1e-8);
        assert!((standard_deviation(&values).unwrap() - 0.1).abs() < 1e-8);
        // A worked example: 2 4 4 4 5 5 7 9 has mean 5 and Σ(x−x̄)² = 32.
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), Some(5.0));
        assert!((standard_deviation(&values).unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn too_small_a_sample_has_no_figure() {
        assert_eq!(mean(&[]), None);
        assert_eq!(median(&[]), None);
        assert_eq!(standard_deviation(&[1.0]), None);
        assert_eq!(quantile_nearest_rank(&[], 0.5), None);
        assert_eq!(quantile_nearest_rank(&[1.0], 1.5), None);
    }

    #[test]
    fn the_median_is_the_middle_or_between_the_middle_two() {
        assert_eq!(median(&[9.0, 1.0, 4.0]), Some(4.0));
        assert_eq!(median(&[9.0, 1.0, 4.0, 100.0]), Some(6.5));
    }

    /// Method defect 17: a system sorted its latencies descending, then took the value at 0.95 n and called
    /// the 5th percentile the 95th. On asymmetric data (1² … 100²) the two differ 361 times, whatever the
    /// input's order.
    #[test]
    fn defect_17_a_percentile_of_asymmetric_data_is_taken_from_the_slow_end() {
        let up: Vec<f64> = (1..=100).map(|n| f64::from(n * n)).collect();
        let down: Vec<f64> = up.iter().rev().copied().collect();
        for values in [&up, &down] {
            for (q, wanted) in
                [(0.0, 1.0), (0.05, 25.0), (0.5, 2500.0), (0.9, 8100.0), (0.95, 9025.0), (1.0, 10_000.0)]
            {
                assert_eq!(quantile_nearest_rank(values, q), Some(wanted), "quantile {q}");
            }
        }
    }

    #[test]
    fn the_nearest_rank_is_the_published_one() {
        // The worked example of the nearest-rank method: 15 20 35 40 50.
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        for (q, wanted) in [(0.05, 15.0), (0.30, 20.0), (0.40, 20.0), (0.50, 35.0), (1.0, 50.0)] {
            assert_eq!(quantile_nearest_rank(&values, q), Some(wanted));
        }
    }
}
