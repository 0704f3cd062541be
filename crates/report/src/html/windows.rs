//! Windows over time: the median of each window where it ran, blocks as bands. Shows drift, stalls and blocks that
//! differ; long runs are thinned to their extremes, and the caption says so.

use weighbridge_model::record::WindowKind;
use weighbridge_model::summary::{Detail, Summary, Unit, WindowPoint};

use super::axis::{Frame, Scale, Spread, range, suited};
use super::svg::{Anchor, Canvas};
use super::{figure_element, legend, quiet, series};
use crate::text::grouped;
use crate::{view, words};

const WIDTH: f64 = 920.0;
const FRAME: Frame = Frame { left: 76.0, right: 908.0, top: 50.0, bottom: 304.0 };
/// Dots of one chart; beyond, only the lowest and highest of each slice of time are drawn.
const MOST_DOTS: usize = 2000;

/// One chart per point that has windows.
pub(crate) fn charts(summary: &Summary, detail: &Detail) -> String {
    let points = view::points(summary);
    let charts: String = points
        .iter()
        .map(|point| {
            let shown = |w: &&WindowPoint| {
                w.point == *point.label && matches!(w.kind, WindowKind::Measured | WindowKind::Check)
            };
            chart(
                summary,
                &words::point(point.label),
                &detail.windows.iter().filter(shown).collect::<Vec<_>>(),
            )
        })
        .collect();
    if charts.is_empty() { quiet("No windows were stored with this run.") } else { charts }
}

fn seconds(window: &WindowPoint) -> f64 {
    window.at.as_nanos() as f64
}

fn median(window: &WindowPoint) -> f64 {
    window.response_p50.as_nanos() as f64
}

fn chart(summary: &Summary, point: &str, windows: &[&WindowPoint]) -> String {
    let times = range(windows.iter().map(|w| seconds(w)));
    let medians = range(windows.iter().map(|w| median(w)).filter(|median| *median > 0.0));
    let (Some(times), Some(medians)) = (times, medians) else { return String::new() };
    let spread = suited(medians);
    let room = (medians.1 - medians.0).max(medians.1 * 0.02) * 0.08;
    let (low, high) = if spread == Spread::Log {
        (medians.0 / 1.1, medians.1 * 1.1)
    } else {
        (medians.0 - room, medians.1 + room)
    };
    let x = Scale::new(Spread::Linear, times, (FRAME.left + 6.0, FRAME.right - 6.0));
    let y = Scale::new(spread, (low.max(0.0), high), (FRAME.bottom, FRAME.top));
    let mut canvas = Canvas::new(WIDTH, FRAME.bottom + 48.0);
    bands(&mut canvas, windows, &x);
    let ticks = |scale: &Scale, count| -> Vec<(f64, String)> {
        let labelled = scale.labelled(Unit::Ns, count);
        labelled.into_iter().map(|(value, text)| (scale.at(value), text)).collect()
    };
    let logarithmic = if spread == Spread::Log { " (logarithmic)" } else { "" };
    FRAME.y_axis(&mut canvas, &ticks(&y, 6), &format!("response p50 of a window{logarithmic}"));
    FRAME.x_axis(&mut canvas, &ticks(&x, 8), "time since the first window");
    let names = view::distinct(windows.iter().map(|w| w.variant.as_str()));
    let thinned = windows.len() > MOST_DOTS;
    for name in &names {
        for (kind, class) in [(WindowKind::Measured, "dots"), (WindowKind::Check, "dots check")] {
            let own: Vec<&WindowPoint> =
                windows.iter().copied().filter(|w| w.variant == *name && w.kind == kind).collect();
            let own = if thinned { extremes(&own, times, MOST_DOTS / 2 / names.len()) } else { own };
            let at: Vec<(f64, f64)> = own.iter().map(|w| (x.at(seconds(w)), y.at(median(w)))).collect();
            canvas.dots(&at, &format!("{class} {}", series(summary, name)));
        }
    }
    let of = if point.is_empty() { String::new() } else { format!(", {point}") };
    let title = format!("Median response time of each window over the run{of}");
    let note = format!("{}{}", legend(summary, &names), caption(windows, thinned));
    figure_element(&title, &canvas.finish(&title), &note)
}

/// Alternating bands from a block's first window to the next block's.
fn bands(canvas: &mut Canvas, windows: &[&WindowPoint], x: &Scale) {
    let blocks = view::distinct(windows.iter().map(|w| w.block));
    let start = |block: u32| {
        let own = windows.iter().filter(|w| w.block == block).map(|w| seconds(w));
        range(own).map_or(0.0, |(first, _)| first)
    };
    let every = blocks.len().div_ceil(12).max(1);
    for (at, block) in blocks.iter().enumerate() {
        let from = if at == 0 { FRAME.left } else { x.at(start(*block)) - 3.0 };
        let to = blocks.get(at + 1).map_or(FRAME.right, |next| x.at(start(*next)) - 3.0);
        let class = if at % 2 == 0 { "band" } else { "band other" };
        canvas.rectangle((from, FRAME.top), (to - from, FRAME.bottom - FRAME.top), class);
        if at % every == 0 {
            let text =
                if blocks.len() <= 8 { format!("block {}", block + 1) } else { (block + 1).to_string() };
            canvas.text(((from + to) / 2.0, FRAME.top - 6.0), Anchor::Middle, "tick", &text);
        }
    }
}

/// The lowest and the highest median of each of `slices` slices of time.
fn extremes<'a>(windows: &[&'a WindowPoint], times: (f64, f64), slices: usize) -> Vec<&'a WindowPoint> {
    let slices = slices.max(1);
    let mut kept: Vec<Option<(&WindowPoint, &WindowPoint)>> = vec![None; slices];
    let length = (times.1 - times.0).max(1.0);
    for window in windows {
        let share = (seconds(window) - times.0) / length;
        let slot = &mut kept[((share * slices as f64) as usize).min(slices - 1)];
        let (low, high) = slot.unwrap_or((window, window));
        *slot = Some((
            if median(window) < median(low) { window } else { low },
            if median(window) > median(high) { window } else { high },
        ));
    }
    let pairs = kept.into_iter().flatten();
    pairs.flat_map(|(low, high)| if std::ptr::eq(low, high) { vec![low] } else { vec![low, high] }).collect()
}

fn caption(windows: &[&WindowPoint], thinned: bool) -> String {
    let checks = windows.iter().any(|w| w.kind == WindowKind::Check);
    let mut text = format!("{} windows; bands are blocks", grouped(windows.len() as u64));
    if checks {
        text.push_str("; paler dots are longer check windows");
    }
    if thinned {
        text.push_str("; for size only the lowest and the highest of each short slice of time are drawn");
    }
    quiet(&format!("{text}."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::quantity::Nanoseconds;
    use weighbridge_model::summary::PointLabel;

    #[test]
    fn thinning_keeps_the_lowest_and_the_highest() {
        let window = |n: u64| WindowPoint {
            variant: "a".into(),
            point: PointLabel::new(),
            block: 0,
            kind: WindowKind::Measured,
            at: Nanoseconds::from_millis(n),
            response_p50: Nanoseconds::from_nanos(1_000 + (n * 7_919) % 997),
            throughput: 1.0,
        };
        let windows: Vec<WindowPoint> = (0..10_000).map(window).collect();
        let all: Vec<&WindowPoint> = windows.iter().collect();
        let times = (0.0, 9_999e6);
        let few = extremes(&all, times, 100);
        assert!(few.len() <= 200);
        let of = |windows: &[&WindowPoint]| range(windows.iter().map(|w| median(w)));
        assert_eq!(of(&few), of(&all));
    }
}
