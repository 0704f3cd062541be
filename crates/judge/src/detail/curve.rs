//! Percentile curves: quantiles of each block at equal steps of log(1 − q), and their estimates over blocks.
//!
//! A curve is estimated like the summary's p90 and p99, so it passes through them. It passes through the p50
//! too if that is a total; a typical p50 differs, and then the summary's is the figure.

use weighbridge_model::detail::{Curve, TimeKind};
use weighbridge_model::histogram::TimeHistogram;

use crate::estimate::{beyond, estimate};
use crate::question::Question;
use crate::records::{Records, Times, WindowSelection};
use crate::thresholds::BEYOND_PER_BLOCK;

/// Points of a curve per factor of ten in 1 − q.
const POINTS_PER_DECADE: i32 = 20;

pub fn curves(question: &Question, records: &Records<'_>) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (point, facts) in question.points() {
        for scope in facts.scopes() {
            for (variant, variant_facts) in question.variants() {
                let cells = records.cells(point, variant, WindowSelection::Measured);
                let blocks: Vec<Times> = cells.iter().map(|cell| cell.times(scope)).collect();
                for time in TimeKind::ALL {
                    let histograms: Vec<&TimeHistogram> =
                        blocks.iter().map(|times| times.kind(time)).collect();
                    let (points, band) = curve(&histograms, question.blocks.min as usize);
                    if !points.is_empty() {
                        let (variant, point) = (variant_facts.name.clone(), facts.label.clone());
                        let operation = facts.name(scope).to_owned();
                        curves.push(Curve { variant, point, operation, time, points, band });
                    }
                }
            }
        }
    }
    curves
}

/// Points, and their bounds if there are 4 blocks.
type Line = (Vec<(f64, f64)>, Vec<(f64, f64)>);

/// From the smallest time to the quantile with fewer than 20 requests beyond it in some block.
fn curve(blocks: &[&TimeHistogram], first_stage: usize) -> Line {
    let fewest = blocks.iter().map(|histogram| histogram.len()).min().unwrap_or(0);
    let levels: Vec<f64> = (0..)
        .map(|step| 1.0 - 10_f64.powf(-f64::from(step) / f64::from(POINTS_PER_DECADE)))
        .take_while(|&q| beyond(fewest, q) >= BEYOND_PER_BLOCK)
        .collect();
    let times: Vec<Vec<f64>> = blocks.iter().map(|histogram| quantiles(histogram, &levels)).collect();
    let (mut points, mut band) = (Vec::new(), Vec::new());
    for (at, level) in levels.into_iter().enumerate() {
        let values: Vec<f64> = times.iter().map(|block| block[at]).collect();
        let estimate = estimate(&values, first_stage);
        points.push((level, estimate.point));
        band.extend(estimate.interval());
    }
    (points, band)
}

/// Ascending quantiles in one pass. `value_at_quantile` gives the same, but passes over the histogram for
/// each.
fn quantiles(histogram: &TimeHistogram, levels: &[f64]) -> Vec<f64> {
    let mut recorded = histogram.iter_recorded();
    let (mut value, mut seen) = (histogram.min(), 0);
    let each = levels.iter().map(|level| {
        let rank = ((level * histogram.len() as f64).ceil() as u64).max(1);
        while seen < rank {
            let Some(next) = recorded.next() else { break };
            (value, seen) = (next.value_iterated_to(), seen + next.count_since_last_iteration());
        }
        if *level == 0.0 { histogram.lowest_equivalent(value) as f64 } else { value as f64 }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use weighbridge_model::histogram::time_histogram;

    use super::*;

    fn filled(times: impl Iterator<Item = u64>) -> TimeHistogram {
        let mut histogram = time_histogram();
        times.for_each(|time| histogram.saturating_record(time));
        histogram
    }

    #[test]
    fn a_curve_rises_and_ends_where_twenty_requests_lie_beyond() {
        let histogram = filled((1..=2000).map(|n| 1000 * n));
        let (curve, band) = curve(&[&histogram], 4);
        assert_eq!(curve[0].0, 0.0);
        let (last, time) = curve[curve.len() - 1];
        assert!((last - 0.99).abs() < 1e-9, "2000 requests carry the quantile 0.99: {last}");
        assert!((time / 1_980_000.0 - 1.0).abs() < 2e-3, "{time}");
        assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        assert!(band.is_empty(), "one block gives no interval");
    }

    #[test]
    fn the_smallest_block_decides_where_a_curve_ends_and_four_give_it_a_band() {
        let (large, small) = (filled(1..=20_000), filled(1..=200));
        let (points, band) = curve(&[&large, &large, &large, &small], 4);
        let (last, _) = points[points.len() - 1];
        assert!((last - 0.9).abs() < 1e-9, "200 requests carry the quantile 0.9: {last}");
        assert_eq!(band.len(), points.len());
        assert!(
            band.iter().zip(&points).all(|((lower, upper), (_, point))| lower <= point && point <= upper)
        );
    }

    #[test]
    fn a_curve_of_few_requests_is_empty() {
        assert!(curve(&[&filled(1..=19)], 4).0.is_empty());
        assert!(curve(&[], 4).0.is_empty());
    }

    #[test]
    fn quantiles_in_one_pass_are_those_of_the_histogram() {
        let mut state = 7_u64;
        let histogram = filled((0..5000).map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) + 100
        }));
        let levels: Vec<f64> = (0..1000).map(|n| f64::from(n) / 1000.0).collect();
        let expected: Vec<f64> = levels.iter().map(|&q| histogram.value_at_quantile(q) as f64).collect();
        assert_eq!(quantiles(&histogram, &levels), expected);
    }
}
