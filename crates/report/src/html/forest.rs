//! The forest plot: every cost as a ratio to the baseline with its interval, and the margin of relevance as a band.

use weighbridge_model::summary::{Cost, Estimate, Summary};

use super::axis::{Frame, Scale, Spread, range};
use super::svg::{Anchor, Canvas};
use super::{figure_element, tone_class};
use crate::view::{self, Point};
use crate::words;

const WIDTH: f64 = 920.0;
const PLOT: (f64, f64) = (170.0, 560.0);
const ROW: f64 = 24.0;
const TOP: f64 = 30.0;

/// One plot per point, all on one scale.
pub(crate) fn plots(summary: &Summary) -> String {
    let Some(scale) = scale(summary) else {
        return "<p class=\"quiet\">No cost has an interval to draw.</p>\n".into();
    };
    view::points(summary).iter().map(|point| plot(summary, point, &scale)).collect()
}

fn drawable(cost: &Cost) -> Option<&Estimate> {
    cost.ratio.as_ref().filter(|ratio| words::has_figures(cost) && ratio.point > 0.0)
}

/// Covers every interval and the margin; logarithmic, so that twice and half lie equally far from 1.
fn scale(summary: &Summary) -> Option<Scale> {
    let ratios = summary.costs.iter().filter_map(drawable);
    let bounds = ratios.flat_map(|ratio| {
        let (lower, upper) = ratio.interval().unwrap_or((ratio.point, ratio.point));
        [lower.max(ratio.point / 100.0), upper]
    });
    let (low, high) = range(bounds)?;
    let margin = summary.margin.get();
    let (low, high) = (low.min(1.0 / (1.0 + 2.0 * margin)).ln(), high.max(1.0 + 2.0 * margin).ln());
    let room = (high - low) * 0.05;
    Some(Scale::new(Spread::Log, ((low - room).exp(), (high + room).exp()), PLOT))
}

fn plot(summary: &Summary, point: &Point<'_>, scale: &Scale) -> String {
    let rows: Vec<Row<'_>> = rows(summary, point);
    if rows.iter().all(|row| matches!(row, Row::Heading(_))) {
        return String::new();
    }
    let frame = Frame { left: PLOT.0, right: PLOT.1, top: TOP, bottom: TOP + ROW * rows.len() as f64 + 6.0 };
    let mut canvas = Canvas::new(WIDTH, frame.bottom + 48.0);
    backdrop(&mut canvas, summary, scale, &frame);
    for (at, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (at as f64 + 0.5) + 3.0;
        match row {
            Row::Heading(text) => canvas.text((0.0, y + 4.0), Anchor::Start, "strong", text),
            Row::Cost(cost, ratio) => draw(&mut canvas, cost, ratio, scale, y),
        }
    }
    let label = words::point(point.label);
    let at = if label.is_empty() { String::new() } else { format!(", {label}") };
    let title = format!("Costs relative to {} (the baseline){at}", words::baseline(summary, point.label));
    figure_element(&title, &canvas.finish(&title), "")
}

enum Row<'a> {
    Heading(String),
    Cost(&'a Cost, &'a Estimate),
}

fn rows<'a>(summary: &Summary, point: &Point<'a>) -> Vec<Row<'a>> {
    let several = words::several_operations(summary);
    let mut rows = Vec::new();
    for pair in &point.pairs {
        for operation in pair.operations() {
            let own = || pair.costs.iter().copied().filter(|cost| cost.operation == operation);
            let drawn: Vec<Row<'a>> =
                own().filter_map(|cost| Some(Row::Cost(cost, drawable(cost)?))).collect();
            if drawn.is_empty() {
                continue;
            }
            let operation = if several { format!(", {operation}") } else { String::new() };
            rows.push(Row::Heading(format!("{}{operation}", pair.variant)));
            rows.extend(drawn);
        }
    }
    rows
}

fn backdrop(canvas: &mut Canvas, summary: &Summary, scale: &Scale, frame: &Frame) {
    let margin = summary.margin.get();
    let (left, right) = (scale.at(1.0 - margin), scale.at(1.0 + margin));
    canvas.rectangle((left, frame.top), (right - left, frame.bottom - frame.top), "margin");
    let ticks = ticks(scale).into_iter().map(|(ratio, text)| (scale.at(ratio), text)).collect::<Vec<_>>();
    frame.x_axis(canvas, &ticks, "change against the baseline, with its 95 % interval (logarithmic)");
    canvas.line((scale.at(1.0), frame.top), (scale.at(1.0), frame.bottom), "one");
    canvas.text(
        (scale.at(1.0), frame.top - 8.0),
        Anchor::Middle,
        "tick",
        &format!("margin ±{}", summary.margin),
    );
}

fn draw(canvas: &mut Canvas, cost: &Cost, ratio: &Estimate, scale: &Scale, y: f64) {
    let class = tone_class(words::tone(cost));
    let label_class = if cost.headline { "label strong" } else { "label" };
    canvas.text((16.0, y + 4.0), Anchor::Start, label_class, &super::label(cost.quantity));
    let change = words::change(ratio);
    let interval = change.interval.clone().unwrap_or_else(|| "no interval".into());
    if let Some((lower, upper)) = ratio.interval() {
        let (from, to) = (scale.at(lower), scale.at(upper));
        canvas.line((from, y), (to, y), &format!("whisker {class}"));
        for end in [from, to] {
            canvas.line((end, y - 4.0), (end, y + 4.0), &format!("whisker {class}"));
        }
    }
    let title = format!("{} {}: {} {interval}", cost.variant, cost.quantity, change.point);
    canvas.dot(
        (scale.at(ratio.point), y),
        if cost.headline { 5.0 } else { 4.0 },
        &format!("dot {class}"),
        &title,
    );
    canvas.figures((634.0, y + 4.0), Anchor::End, label_class, &change.point);
    canvas.figures((642.0, y + 4.0), Anchor::Start, "quiet", &interval);
    canvas.text((WIDTH, y + 4.0), Anchor::End, &format!("says {class}"), &words::verdict(cost));
}

/// Round changes that lie on the scale at least 52 apart, the most useful first: none, twice, half, then finer.
fn ticks(scale: &Scale) -> Vec<(f64, String)> {
    const PERCENT: [f64; 33] = [
        0.0, 100.0, -50.0, 900.0, -90.0, 9900.0, -99.0, 400.0, -75.0, 50.0, 200.0, 1900.0, 4900.0, 20.0,
        -20.0, -95.0, -10.0, 10.0, 30.0, -30.0, 5.0, -5.0, 15.0, -15.0, 2.0, -2.0, 3.0, -3.0, 1.0, -1.0, 4.0,
        -4.0, 7.0,
    ];
    let mut placed: Vec<(f64, f64)> = Vec::new();
    for percent in PERCENT {
        let ratio = 1.0 + percent / 100.0;
        let x = scale.at(ratio);
        let inside = x > PLOT.0 + 4.0 && x < PLOT.1 - 4.0;
        if inside && placed.iter().all(|(other, _)| (scale.at(1.0 + other / 100.0) - x).abs() >= 52.0) {
            placed.push((percent, x));
        }
    }
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let text = |percent: f64| if percent == 0.0 { "0 %".to_owned() } else { format!("{percent:+.0} %") };
    placed.into_iter().map(|(percent, _)| (1.0 + percent / 100.0, text(percent))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_include_none_and_keep_apart() {
        for range in [(0.97, 1.03), (0.5, 2.5), (0.9, 40.0)] {
            let scale = Scale::new(Spread::Log, range, PLOT);
            let ticks = ticks(&scale);
            assert!(ticks.iter().any(|(_, text)| text == "0 %"), "{ticks:?}");
            assert!(ticks.len() >= 3, "{ticks:?}");
            for pair in ticks.windows(2) {
                assert!(scale.at(pair[1].0) - scale.at(pair[0].0) >= 51.9, "{ticks:?}");
            }
        }
    }
}
