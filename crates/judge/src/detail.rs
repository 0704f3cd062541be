//! What charts draw: percentile curves and windows over time, so that `report` computes no statistic.
//!
//! Curves are of all blocks that count, merged; no interval is given, since a curve is looked at and not decided by.

use weighbridge_model::quantity::PerSecond;
use weighbridge_model::record::{TimeHistogram, TrialRecord, time_histogram};
use weighbridge_model::summary::{Curve, Detail, WindowPoint};

use crate::estimate::beyond;
use crate::gather::{Gathered, Lens, add};
use crate::question::{Question, Scope};
use crate::thresholds::BEYOND_PER_BLOCK;

/// Points of a curve per factor of ten in 1 − q.
const POINTS_PER_DECADE: i32 = 20;

/// Everything that charts draw of a run.
pub fn detail(question: &Question, trials: &[TrialRecord]) -> Detail {
    Detail { curves: curves(question, &Gathered::new(trials)), windows: windows(question, trials) }
}

fn curves(question: &Question, gathered: &Gathered<'_>) -> Vec<Curve> {
    let mut curves = Vec::new();
    for (point, facts) in question.points() {
        for (variant, of) in question.variants() {
            let (mut response, mut service) = (time_histogram(), time_histogram());
            for cell in gathered.cells(point, variant, Lens::Measured) {
                let times = cell.times(Scope::All);
                add(&mut response, &times.response);
                add(&mut service, &times.service);
            }
            for (time, histogram) in [("response", response), ("service", service)] {
                curves.push(Curve {
                    variant: of.name.clone(),
                    point: facts.label.clone(),
                    time: time.to_owned(),
                    points: curve(&histogram),
                });
            }
        }
    }
    curves
}

/// Quantiles at equal steps of log(1 − q), from the least time to where fewer than 20 requests lie beyond.
fn curve(histogram: &TimeHistogram) -> Vec<(f64, u64)> {
    (0..)
        .map(|step| 1.0 - 10_f64.powf(-f64::from(step) / f64::from(POINTS_PER_DECADE)))
        .take_while(|&q| beyond(histogram.len(), q) >= BEYOND_PER_BLOCK)
        .map(|q| (q, histogram.value_at_quantile(q)))
        .collect()
}

fn windows(question: &Question, trials: &[TrialRecord]) -> Vec<WindowPoint> {
    let all = || trials.iter().flat_map(|trial| &trial.windows);
    let Some(start) = all().map(|window| window.figures.started).min() else { return Vec::new() };
    let mut points: Vec<_> = all()
        .filter_map(|window| {
            let figures = window.figures.all.as_ref()?;
            let time = window.figures.ended.since(window.figures.started);
            Some(WindowPoint {
                variant: question.variants.get(window.variant.index())?.name.clone(),
                point: question.points.get(window.point.index())?.label.clone(),
                block: window.block,
                kind: window.kind,
                at: window.figures.started.since(start),
                response_p50: figures.response_p50,
                throughput: PerSecond::from_count(figures.ok, time).get(),
            })
        })
        .collect();
    points.sort_by_key(|point| point.at);
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_and_ends_where_twenty_requests_lie_beyond() {
        let mut histogram = time_histogram();
        for nanos in 1..=2000_u64 {
            histogram.saturating_record(1000 * nanos);
        }
        let curve = curve(&histogram);
        assert_eq!(curve[0].0, 0.0);
        let (last, time) = curve[curve.len() - 1];
        assert!((last - 0.99).abs() < 1e-9, "2000 requests carry the quantile 0.99: {last}");
        assert!((time as f64 / 1_980_000.0 - 1.0).abs() < 2e-3, "{time}");
        assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    }

    #[test]
    fn a_curve_of_few_requests_is_empty() {
        let mut histogram = time_histogram();
        histogram.saturating_record_n(5, 19);
        assert!(curve(&histogram).is_empty());
    }
}
