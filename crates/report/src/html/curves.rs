//! Percentile curves: how long the fastest share of requests took, tail to the right, response and service time.

use weighbridge_model::detail::{Curve, Detail, TimeKind};
use weighbridge_model::summary::{Summary, Unit};

use super::axis::{Frame, Scale, Spread, range, suited};
use super::svg::Canvas;
use super::{figure_element, legend, quiet, series};
use crate::view;
use crate::words;

const WIDTH: f64 = 920.0;
const FRAME: Frame = Frame { left: 76.0, right: 908.0, top: 32.0, bottom: 320.0 };
/// A curve of more points than this is thinned: finer steps than a pixel are not seen.
const MOST_POINTS: usize = 400;

/// One chart per point that has curves.
pub(crate) fn charts(summary: &Summary, detail: &Detail) -> String {
    let points = view::points(summary);
    let charts: String = points
        .iter()
        .map(|point| {
            let own: Vec<&Curve> = detail.curves.iter().filter(|curve| curve.point == *point.label).collect();
            chart(summary, &words::point(point.label), &own)
        })
        .collect();
    if charts.is_empty() { quiet("No percentile curves were stored with this run.") } else { charts }
}

fn chart(summary: &Summary, point: &str, curves: &[&Curve]) -> String {
    let times = curves.iter().flat_map(|curve| &curve.points).map(|(_, nanos)| *nanos);
    let depths = curves.iter().flat_map(|curve| &curve.points).map(|(quantile, _)| depth(*quantile));
    let (Some(times), Some(depths)) = (range(times), range(depths)) else { return String::new() };
    let spread = suited(times);
    let low = if spread == Spread::Log { times.0 } else { 0.0 };
    let x = Scale::new(Spread::Linear, (0.0, depths.1.max(1.0)), (FRAME.left, FRAME.right));
    let y = Scale::new(spread, (low, times.1 * 1.04), (FRAME.bottom, FRAME.top));
    let mut canvas = Canvas::new(WIDTH, FRAME.bottom + 48.0);
    let ticks: Vec<(f64, String)> =
        y.labelled(Unit::Ns, 8).into_iter().map(|(time, text)| (y.at(time), text)).collect();
    let axis = if spread == Spread::Log { "time (logarithmic)" } else { "time" };
    FRAME.y_axis(&mut canvas, &ticks, axis);
    let title = "percentile; each step to the right leaves a tenth of the requests";
    FRAME.x_axis(&mut canvas, &quantile_ticks(&x, depths.1.max(1.0)), title);
    for curve in curves {
        let at = curve.points.iter().filter(|(quantile, _)| *quantile < 1.0);
        let all: Vec<(f64, f64)> = at.map(|(q, nanos)| (x.at(depth(*q)), y.at(*nanos))).collect();
        let dashes = if curve.time == TimeKind::Service { " service" } else { "" };
        canvas.polyline(&thinned(&all), &format!("curve {}{dashes}", series(summary, &curve.variant)));
    }
    let title = if point.is_empty() {
        "Percentiles of time".to_owned()
    } else {
        format!("Percentiles of time, {point}")
    };
    let names = view::distinct(curves.iter().map(|curve| curve.variant.as_str()));
    let note = format!(
        "{}<p class=\"quiet\">Solid: response time (done − due). Dashed: service time (done − sent). A curve ends where \
         fewer than 20 requests lie beyond.</p>\n",
        legend(summary, &names)
    );
    figure_element(&title, &canvas.finish(&title), &note)
}

/// The axis of percentiles: log10 of 1/(1 − q), so that p90, p99, p99.9 lie equally far apart.
fn depth(quantile: f64) -> f64 {
    if (0.0..1.0).contains(&quantile) { -(1.0 - quantile).log10() } else { f64::NAN }
}

fn quantile_ticks(x: &Scale, deepest: f64) -> Vec<(f64, String)> {
    let percentiles = [0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999];
    let inside = percentiles.into_iter().filter(|p| depth(p / 100.0) <= deepest + 1e-6);
    inside.map(|p| (x.at(depth(p / 100.0)), format!("p{p}"))).collect()
}

/// Evenly fewer points, the first and the last among them.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= MOST_POINTS {
        return points.to_vec();
    }
    (0..MOST_POINTS).map(|n| points[n * (points.len() - 1) / (MOST_POINTS - 1)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_nines() {
        for (quantile, expected) in [(0.0, 0.0), (0.9, 1.0), (0.99, 2.0), (0.999, 3.0)] {
            assert!((depth(quantile) - expected).abs() < 1e-9);
        }
        assert!(depth(1.0).is_nan());
    }

    #[test]
    fn thinning_keeps_both_ends() {
        let points: Vec<(f64, f64)> = (0..5000).map(|n| (f64::from(n), 0.0)).collect();
        let few = thinned(&points);
        assert_eq!((few.len(), few[0], few[MOST_POINTS - 1]), (MOST_POINTS, points[0], points[4999]));
    }
}
