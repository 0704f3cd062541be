//! Steadiness of a series: does it drift, does it have two levels, does the order of two treatments matter?
//!
//! These are alarms, not corrections: nothing here removes or shifts a value.

use super::interval::{Interval, Mean};
use super::multiple::p_against_zero;
use super::sample::{ascending, median};
use super::special::normal_upper_tail;

/// The longest series that is tested value by value. Longer ones are cut into this many consecutive groups,
/// each replaced by its median. That keeps the pairwise tests fast and removes most of the correlation of
/// neighbours, which Mann–Kendall's test assumes absent.
const LONGEST_SERIES: usize = 200;

/// A level must hold at least this share of the values.
const SMALLEST_LEVEL: f64 = 0.10;

/// Ashman's D from which two levels count as separate. The best cut of a normal sample has D = 2.65, of a
/// uniform one 3.46: neither reaches it.
const APART: f64 = 4.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Change from the first to the last value along the Theil–Sen line, in the unit of the values.
    pub change: f64,
    /// Two-sided p of "no trend" by Mann–Kendall.
    pub p: f64,
    /// Lower bound of the change's 95 % interval (Sen 1968).
    pub lower: f64,
    pub upper: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Median after the step less the median before it, in the unit of the values.
    pub change: f64,
    /// The share of the series before the step.
    pub at: f64,
    /// Approximate two-sided p of "no step".
    pub p: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoLevels {
    pub low: f64,
    pub high: f64,
    pub high_share: f64,
    pub separation: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CarryOver {
    /// AB minus BA over blocks, 95 %.
    pub difference: Interval,
    /// Two-sided p of "the order does not matter".
    pub p: f64,
    pub blocks: usize,
}

/// The drift over a series in time order; `None` below eight values, where the normal approximation fails.
///
/// Significance: Mann–Kendall, S = Σ_{i<j} sign(x_j−x_i), z = (|S|−1)/√Var S with Var S = (n(n−1)(2n+5) − Σ
/// t(t−1)(2t+5))/18 over groups of t ties (Mann 1945, Kendall 1975). Size: the median of all pairwise slopes
/// (Theil 1950, Sen 1968) times n−1. Both ignore the shape of the noise and single outliers.
pub fn drift(series: &[f64]) -> Option<Drift> {
    let series = shorten(series);
    let n = series.len();
    if n < 8 {
        return None;
    }
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    let mut score = 0_i64;
    for (i, early) in series.iter().enumerate() {
        for (distance, late) in series[i + 1..].iter().enumerate() {
            let step = late - early;
            score += i64::from(step > 0.0) - i64::from(step < 0.0);
            slopes.push(step / (distance + 1) as f64);
        }
    }
    let deviation = kendall_variance(&series).sqrt();
    let z = (score.unsigned_abs() as f64 - 1.0).max(0.0) / deviation;
    let p = if score == 0 { 1.0 } else { (2.0 * normal_upper_tail(z)).min(1.0) };
    slopes.sort_by(f64::total_cmp);
    let whole = |slope: f64| slope * (n - 1) as f64;
    // This many of the ordered slopes lie between the bounds.
    let between = 1.959_964 * deviation;
    let below = ((slopes.len() as f64 - between) / 2.0).max(0.0) as usize;
    Some(Drift {
        change: whole(median(&slopes)?),
        p,
        lower: whole(slopes[below]),
        upper: whole(slopes[slopes.len() - 1 - below]),
    })
}

/// The most likely step in a series in time order; `None` below eight values, or if the series is constant.
///
/// Pettitt (1979): with ranks r (ties share the middle one), U_k = 2·Σ_{i≤k} r_i − k(n+1), K = max |U_k|, and
/// p ≈ 2·exp(−6K²/(n³+n²)), which exceeds the true p if it is small. The line of [`drift`] misses a step near
/// an end, since most pairs of values lie on one side of it; this test does not.
pub fn shift(series: &[f64]) -> Option<Shift> {
    let series = shorten(series);
    let n = series.len();
    if n < 8 {
        return None;
    }
    let mut sum = 0.0;
    let sums = ranks(&series).into_iter().enumerate().map(|(at, rank)| {
        sum += 2.0 * rank;
        (at + 1, sum - ((at + 1) * (n + 1)) as f64)
    });
    let (cut, largest) = sums.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    if largest == 0.0 {
        return None;
    }
    let cube = (n * n * (n + 1)) as f64;
    let p = (2.0 * (-6.0 * largest * largest / cube).exp()).min(1.0);
    Some(Shift { change: median(&series[cut..])? - median(&series[..cut])?, at: cut as f64 / n as f64, p })
}

/// Ranks from 1; ties share the middle one.
fn ranks(series: &[f64]) -> Vec<f64> {
    let sorted = ascending(series);
    let below = |x: f64| sorted.partition_point(|y| *y < x);
    let up_to = |x: f64| sorted.partition_point(|y| *y <= x);
    series.iter().map(|&x| 0.5 * (below(x) + 1 + up_to(x)) as f64).collect()
}

fn kendall_variance(series: &[f64]) -> f64 {
    let weight = |t: usize| (t * (t - 1) * (2 * t + 5)) as f64;
    let sorted = ascending(series);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|group| weight(group.len())).sum();
    (weight(series.len()) - ties) / 18.0
}

/// At most [`LONGEST_SERIES`] values in time order: medians of consecutive groups of near equal size.
fn shorten(series: &[f64]) -> Vec<f64> {
    let n = series.len();
    if n <= LONGEST_SERIES {
        return series.to_vec();
    }
    (0..LONGEST_SERIES)
        .filter_map(|g| median(&series[g * n / LONGEST_SERIES..(g + 1) * n / LONGEST_SERIES]))
        .collect()
}

/// Two clearly separate levels in a sample, such as a server's two states; `None` if one level describes it,
/// or below 20 values.
///
/// The sorted values are cut where the sum of squares within the two sides is least (Fisher 1958, exact in
/// one dimension), with at least a tenth on each side. Levels are reported if Ashman's D = |µ₁−µ₂| /
/// √((σ₁²+σ₂²)/2) (Ashman, Bird & Zepf 1994) is above 4. The rule misses close levels; it is a flag, not a
/// test.
pub fn two_levels(sample: &[f64]) -> Option<TwoLevels> {
    if sample.len() < 20 {
        return None;
    }
    let sorted = ascending(sample);
    let n = sorted.len();
    let least = (SMALLEST_LEVEL * n as f64).ceil() as usize;
    // Sums of squares are taken about the middle value: about zero they would cancel to noise.
    let centre = sorted[n / 2];
    let mut sums = vec![(0.0, 0.0)];
    for x in &sorted {
        let (d, (sum, square)) = (x - centre, sums[sums.len() - 1]);
        sums.push((sum + d, square + d * d));
    }
    let side = |from: usize, to: usize| {
        let count = (to - from) as f64;
        let (sum, square) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (sum / count, (square - sum * sum / count).max(0.0))
    };
    let within = |cut: usize| side(0, cut).1 + side(cut, n).1;
    let cut = (least..=n - least).min_by(|&a, &b| within(a).total_cmp(&within(b)))?;
    let ((low, low_squares), (high, high_squares)) = (side(0, cut), side(cut, n));
    let deviation = (0.5 * (low_squares / cut as f64 + high_squares / (n - cut) as f64)).sqrt();
    let separation = (high - low) / deviation;
    (high > low && separation > APART).then(|| TwoLevels {
        low: low + centre,
        high: high + centre,
        high_share: (n - cut) as f64 / n as f64,
        separation,
    })
}

/// Compares a contrast (such as a log-ratio) between rounds in which the variant ran after the baseline (AB)
/// and before it (BA): a t test on the per-block differences, both slices in the order of blocks.
///
/// Assumes random order within a block. `None` below three blocks.
pub fn carry_over(baseline_first: &[f64], variant_first: &[f64]) -> Option<CarryOver> {
    let differences: Vec<f64> = baseline_first.iter().zip(variant_first).map(|(ab, ba)| ab - ba).collect();
    if differences.len() < 3 {
        return None;
    }
    let mean = Mean::new(&differences)?;
    Some(CarryOver { difference: mean.interval(0.95), p: p_against_zero(mean), blocks: differences.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// A standard normal value as the sum of twelve uniform ones: exact in mean and variance, good enough in
    /// the tails here.
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    #[test]
    fn mann_kendall_matches_a_hand_count() {
        // 1…10 without ties: S = 45, Var S = 10·9·25/18 = 125, z = 44/√125 = 3.9355, p = 8.3e-5.
        let drift = drift(&(1..=10).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert!((drift.change - 9.0).abs() < 1e-12);
        assert!((drift.p - 2.0 * normal_upper_tail(44.0 / 125.0_f64.sqrt())).abs() < 1e-15);
        assert!((drift.p - 8.3e-5).abs() < 1e-6);
    }

    #[test]
    fn ties_lower_the_variance_of_mann_kendall() {
        // Two groups of 3 and one of 2 in eight: (8·7·21 − 3·2·11 − 3·2·11 − 2·1·9)/18 = 57.
        assert_eq!(kendall_variance(&[1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0]), 57.0);
        let flat = drift(&[5.0; 30]).unwrap();
        assert_eq!((flat.change, flat.p), (0.0, 1.0));
    }

    #[test]
    fn steady_noise_is_called_drifting_one_time_in_twenty() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let alarms = (0..1000)
            .filter(|_| drift(&(0..40).map(|_| normal(&mut random)).collect::<Vec<_>>()).unwrap().p < 0.05)
            .count();
        // Binomial(1000, 0.05): 50 ± 4.4 standard deviations of 6.9.
        assert!((20..=80).contains(&alarms), "{alarms}");
    }

    #[test]
    fn the_interval_of_a_change_covers_95_percent_and_one_without_noise_is_a_point() {
        let exact = drift(&(0..20).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert_eq!((exact.lower, exact.upper), (19.0, 19.0));
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let covered = (0..1000)
            .filter(|_| {
                let noisy = |i| 2.0 * f64::from(i) / 39.0 + normal(&mut random);
                let found = drift(&(0..40).map(noisy).collect::<Vec<_>>()).unwrap();
                found.lower <= 2.0 && 2.0 <= found.upper
            })
            .count();
        // Binomial(1000, 0.95): 950 ± 4.4 standard deviations of 6.9.
        assert!((920..=980).contains(&covered), "{covered}");
    }

    /// Method defect 7: a system was measured while its servers were warming up, with up to 78 % drift in the
    /// sample.
    #[test]
    fn defect_7_a_sample_taken_while_warming_up_is_found_to_drift() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let series: Vec<f64> = (0..1000)
            .map(|i| (1.78 - 0.78 * f64::from(i) / 1000.0).ln() + 0.05 * normal(&mut random))
            .collect();
        let found = drift(&series).unwrap();
        assert!(found.p < 1e-6);
        assert!((found.change - (1.0_f64 / 1.78).ln()).abs() < 0.05, "{found:?}");
    }

    #[test]
    fn two_levels_are_seen_and_one_level_is_not() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let one: Vec<f64> = (0..400).map(|_| 10.0 + normal(&mut random)).collect();
        assert_eq!(two_levels(&one), None);
        let flat: Vec<f64> = (0..400).map(|_| random.random()).collect();
        assert_eq!(two_levels(&flat), None);
        assert_eq!(two_levels(&[1.0; 100]), None);
        let mut two = one;
        for value in two.iter_mut().step_by(4) {
            *value += 10.0;
        }
        let found = two_levels(&two).unwrap();
        assert!((found.low - 10.0).abs() < 0.3 && (found.high - 20.0).abs() < 0.3, "{found:?}");
        assert!((found.high_share - 0.25).abs() < 0.02);
    }

    #[test]
    fn a_long_tail_is_not_a_second_level() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let tail: Vec<f64> = (0..2000).map(|_| -random.random::<f64>().ln()).collect();
        assert_eq!(two_levels(&tail), None);
    }

    #[test]
    fn orders_that_agree_pass_and_orders_that_differ_are_reported() {
        let first = [0.01, 0.012, 0.009, 0.011, 0.010, 0.008];
        let same = [0.011, 0.010, 0.010, 0.012, 0.009, 0.008];
        assert!(carry_over(&first, &same).unwrap().p > 0.3);
        let other: Vec<f64> = same.iter().map(|x| x - 0.02).collect();
        let found = carry_over(&first, &other).unwrap();
        assert!(found.p < 0.001 && found.difference.contains(0.02), "{found:?}");
        assert_eq!(carry_over(&first[..2], &same[..2]), None);
    }
}
