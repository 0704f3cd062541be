//! Bootstrap intervals of a mean over block estimates: studentised (bootstrap-t), and bias-corrected and
//! accelerated (BCa).
//!
//! Only whole blocks are resampled. The draws are pseudo-random from a constant seed, so the same estimates
//! give the same interval on every machine. Neither interval allows for a stopping rule: if the data decided
//! the number of blocks, only Stein's interval ([`super::interval::Mean::with_first_stage`]) is exact, so
//! these decide nothing.

use super::interval::Interval;
use super::sample::{mean, standard_deviation};
use super::special::normal_upper_tail;
use super::student::quantile;

/// Resamples of each interval. With B = 4,999 the ranks α·(B + 1) of a 95 % interval are the whole numbers
/// 125 and 4,875 (Davison & Hinkley 1997, §5.2.1), and the Monte Carlo error of a bound is about 3 % of the
/// half-width.
pub const RESAMPLES: usize = 4_999;

/// The first state of the draws; any constant would do.
const SEED: u64 = 0x5eed_b10c_5eed_b10c;

/// The bootstrap-t interval of the mean (Efron 1979; Efron & Tibshirani 1993, §12.5), at `level` (0 to 1):
///
///   [x̄ − t*(1−α/2)·s/√n,  x̄ − t*(α/2)·s/√n]
///
/// with the quantiles of t* = (x̄* − x̄)/(s*/√n) over resamples in place of Student's. Second-order correct
/// where estimates are skewed. `None` below two estimates, without spread, and where a bound is infinite
/// because too many resamples have no spread (few distinct values).
pub fn studentised(estimates: &[f64], level: f64) -> Option<Interval> {
    let (centre, error) = mean_and_error(estimates)?;
    let mut ratios = Vec::with_capacity(RESAMPLES);
    resample(estimates, |sample| {
        let Some((middle, error)) = mean_and_error(sample) else { return };
        let distance = middle - centre;
        // Without spread the ratio is infinite, or 0 if the mean did not move.
        ratios.push(if distance == 0.0 { 0.0 } else { distance / error });
    });
    ratios.sort_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - level);
    let interval = Interval {
        point: centre,
        lower: centre - at_share(&ratios, 1.0 - tail)? * error,
        upper: centre - at_share(&ratios, tail)? * error,
    };
    (error > 0.0 && interval.lower.is_finite() && interval.upper.is_finite()).then_some(interval)
}

/// The BCa interval of the mean (Efron 1987; Efron & Tibshirani 1993, §14.3), at `level` (0 to 1): quantiles
/// of the resampled means at
///
///   Φ(z₀ + (z₀ + z_α)/(1 − a(z₀ + z_α)))
///
/// with the bias correction z₀ = Φ⁻¹(share of resampled means below x̄, equal ones half) and the jackknife's
/// acceleration a = Σ(x̄ − x₍ᵢ₎)³ / 6(Σ(x̄ − x₍ᵢ₎)²)^{3/2}, x₍ᵢ₎ the mean without estimate i. `None` below
/// two estimates and without spread.
pub fn bca(estimates: &[f64], level: f64) -> Option<Interval> {
    let (centre, error) = mean_and_error(estimates)?;
    if error == 0.0 {
        return None;
    }
    let mut means = Vec::with_capacity(RESAMPLES);
    resample(estimates, |sample| means.extend(mean(sample)));
    means.sort_by(f64::total_cmp);
    // Resamples with equal sums differ in the last bit by the order of their values.
    let rounding = 1e-9 * error;
    let below = means.partition_point(|x| *x < centre - rounding);
    let equal = means.partition_point(|x| *x <= centre + rounding) - below;
    let bias = quantile((below as f64 + 0.5 * equal as f64) / means.len() as f64, f64::INFINITY);
    let acceleration = acceleration(estimates, centre);
    let tail = 0.5 * (1.0 - level);
    let bound = |share: f64| {
        let z = bias + quantile(share, f64::INFINITY);
        at_share(&means, 1.0 - normal_upper_tail(bias + z / (1.0 - acceleration * z)))
    };
    Some(Interval { point: centre, lower: bound(tail)?, upper: bound(1.0 - tail)? })
}

/// The jackknife's acceleration of a mean: leaving out xᵢ moves the mean by (xᵢ − x̄)/(n − 1), and the factor
/// cancels.
fn acceleration(estimates: &[f64], centre: f64) -> f64 {
    let power = |k: i32| estimates.iter().map(|x| (x - centre).powi(k)).sum::<f64>();
    power(3) / (6.0 * power(2).powf(1.5))
}

fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    Some((mean(values)?, standard_deviation(values)? / (values.len() as f64).sqrt()))
}

/// The value at rank share·(B + 1), interpolated between ranks; the first or last beyond the ends.
fn at_share(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = share * (sorted.len() + 1) as f64;
    let last = sorted.len().checked_sub(1)?;
    // 0.975·5000 must be rank 4875, not 4874.999…
    let whole = (rank + 1e-9).floor();
    let at = |rank: f64| sorted[(rank.max(1.0) as usize - 1).min(last)];
    let part = (rank - whole).max(0.0);
    Some(if part < 1e-9 { at(whole) } else { at(whole) + part * (at(whole + 1.0) - at(whole)) })
}

/// Calls `see` with each resample: as many values, drawn with replacement.
fn resample(values: &[f64], mut see: impl FnMut(&[f64])) {
    let mut state = SEED;
    let mut sample = vec![0.0; values.len()];
    for _ in 0..RESAMPLES {
        for place in &mut sample {
            *place = values[draw_index(&mut state, values.len())];
        }
        see(&sample);
    }
}

/// A random index below `count`: the high half of a product with a random number, which is uniform except for
/// a bias of 2⁻⁶⁴ (Lemire 2019).
pub(crate) fn draw_index(state: &mut u64, count: usize) -> usize {
    ((u128::from(draw(state)) * count as u128) >> 64) as usize
}

/// SplitMix64 (Steele, Lea & Flood 2014).
fn draw(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::interval::Mean;

    /// From `peers/trust/oracle.py`. Of the samples of ten the bootstrap distribution was enumerated, all
    /// 92,378 resamples with their weights; SciPy's BCa agrees with the enumeration to 0.01. Of the thirty
    /// (quantiles of a lognormal law) bootstrap-t is NumPy's and BCa SciPy's, a million resamples each.
    const EVEN: [f64; 10] = [-1.5, -1.0, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1.0, 1.5];
    const SKEWED: [f64; 10] = [0.11, 0.23, 0.31, 0.38, 0.52, 0.71, 0.90, 1.34, 2.05, 4.10];
    const OUTLIER: [f64; 10] = [9.8, 10.1, 9.9, 10.0, 10.2, 10.05, 9.95, 10.15, 9.85, 13.0];
    const THIRTY: [f64; 30] = [
        0.119, 0.193, 0.251, 0.304, 0.355, 0.405, 0.457, 0.509, 0.564, 0.621, 0.68, 0.743, 0.81, 0.882,
        0.959, 1.043, 1.134, 1.234, 1.345, 1.47, 1.611, 1.774, 1.963, 2.189, 2.466, 2.819, 3.293, 3.987,
        5.18, 8.398,
    ];
    /// Sample, bootstrap-t, BCa.
    const ORACLE: [(&[f64], [f64; 2], [f64; 2]); 4] = [
        (&EVEN, [-0.679_34, 0.679_34], [-0.55, 0.55]),
        (&SKEWED, [0.453_65, 3.321_58], [0.561, 2.185]),
        (&OUTLIER, [9.879_70, 13.485_24], [9.97, 11.465]),
        (&THIRTY, [1.080_98, 2.685_17], [1.127_77, 2.468_25]),
    ];

    #[test]
    fn both_intervals_are_those_of_the_enumerated_bootstrap() {
        for (sample, by_t, by_bca) in ORACLE {
            for (found, wanted) in [(studentised(sample, 0.95), by_t), (bca(sample, 0.95), by_bca)] {
                let found = found.unwrap();
                // The Monte Carlo error of 4,999 resamples is some percent of the width on the long side.
                let within = 0.05 * (wanted[1] - wanted[0]);
                let close =
                    (found.lower - wanted[0]).abs() < within && (found.upper - wanted[1]).abs() < within;
                assert!(close, "{found:?}, wanted {wanted:?}");
            }
        }
    }

    #[test]
    fn a_skewed_sample_has_a_longer_side_and_an_even_one_has_students_width() {
        let skewed = studentised(&SKEWED, 0.95).unwrap();
        assert!(skewed.upper - skewed.point > 2.0 * (skewed.point - skewed.lower), "{skewed:?}");
        let (even, student) = (studentised(&EVEN, 0.95).unwrap(), Mean::new(&EVEN).unwrap().interval(0.95));
        assert!((even.half_width() / student.half_width() - 1.0).abs() < 0.1, "{even:?} {student:?}");
    }

    #[test]
    fn intervals_move_and_grow_with_the_sample_and_repeat() {
        let moved: Vec<f64> = SKEWED.iter().map(|x| 100.0 + 3.0 * x).collect();
        for interval in [studentised, bca] {
            let (plain, moved) = (interval(&SKEWED, 0.95).unwrap(), interval(&moved, 0.95).unwrap());
            assert!((moved.lower - (100.0 + 3.0 * plain.lower)).abs() < 1e-6, "{plain:?} {moved:?}");
            assert!((moved.upper - (100.0 + 3.0 * plain.upper)).abs() < 1e-6);
            assert_eq!(interval(&SKEWED, 0.95), interval(&SKEWED, 0.95));
            let wider = interval(&SKEWED, 0.99).unwrap();
            assert!(wider.lower < plain.lower && plain.upper < wider.upper);
        }
    }

    #[test]
    fn without_spread_or_with_too_few_values_there_is_none() {
        for interval in [studentised, bca] {
            assert_eq!(interval(&[1.0], 0.95), None);
            assert_eq!(interval(&[2.0; 12], 0.95), None);
        }
        let one_apart = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0];
        assert_eq!(studentised(&one_apart, 0.95), None, "a third of its resamples has no spread");
    }
}
