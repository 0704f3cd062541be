//! Scales and ticks: where a value lies in a drawing and which values are worth a mark.

use weighbridge_model::summary::Unit;

use super::svg::{Anchor, Canvas};
use crate::words;

/// How values are spread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    Linear,
    Log,
}

/// Maps values from `low` to `high` onto positions from `start` to `end`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale {
    spread: Spread,
    low: f64,
    high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    /// A scale; an empty range is widened, a logarithmic one starts above zero.
    pub(crate) fn new(spread: Spread, range: (f64, f64), positions: (f64, f64)) -> Self {
        let low = if spread == Spread::Log { range.0.max(f64::MIN_POSITIVE) } else { range.0 };
        let high = if range.1 > low { range.1 } else { low + low.abs().max(1.0) };
        Self { spread, low, high, start: positions.0, end: positions.1 }
    }

    fn transform(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => value,
            Spread::Log => value.max(f64::MIN_POSITIVE).ln(),
        }
    }

    /// The position of a value; values outside lie at the nearer end.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let (low, high) = (self.transform(self.low), self.transform(self.high));
        let share = ((self.transform(value) - low) / (high - low)).clamp(0.0, 1.0);
        self.start + share * (self.end - self.start)
    }

    /// About `count` round values within the range.
    pub(crate) fn ticks(&self, count: usize) -> Vec<f64> {
        match self.spread {
            Spread::Linear => linear_ticks(self.low, self.high, count),
            Spread::Log => log_ticks(self.low, self.high, count),
        }
    }

    /// The ticks with their texts in a unit.
    pub(crate) fn labelled(&self, unit: Unit, count: usize) -> Vec<(f64, String)> {
        let ticks = self.ticks(count);
        let step = match (self.spread, ticks.as_slice()) {
            (Spread::Linear, [first, second, ..]) => second - first,
            _ => 0.0,
        };
        let largest = ticks.iter().copied().fold(0.0, f64::max);
        let text = |tick: f64| {
            // On a linear axis one scale for all ticks; on a logarithmic one each has its own.
            let magnitude = if step > 0.0 { largest } else { tick };
            let scale = words::scale(unit, magnitude);
            let fine = if step > 0.0 { step / scale.divisor } else { tick / scale.divisor };
            format!("{}{}", trimmed(tick / scale.divisor, fine), scale.suffix)
        };
        ticks.iter().map(|tick| (*tick, text(*tick))).collect()
    }
}

/// The range of values, without those that are not numbers; `None` where there are none.
pub(crate) fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// Logarithmic where values differ by more than a factor of eight: below, a linear axis shows all of them.
pub(crate) fn suited(range: (f64, f64)) -> Spread {
    if range.0 > 0.0 && range.1 / range.0 > 8.0 { Spread::Log } else { Spread::Linear }
}

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`.
fn linear_ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough * 0.999);
    let step = step.unwrap_or(power * 10.0);
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|n| n as f64 * step).collect()
}

/// 1, 2 and 5 times powers of ten, or fewer of them where they are more than `count`.
fn log_ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let decades = (low.log10().floor() as i32)..=(high.log10().ceil() as i32);
    let of = |multiples: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|d| multiples.iter().map(move |m| m * 10f64.powi(d)));
        all.filter(|tick| *tick >= low * 0.999 && *tick <= high * 1.001).collect()
    };
    let fine = of(&[1.0, 2.0, 5.0]);
    if fine.len() <= count { fine } else { of(&[1.0]) }
}

/// `value` with the decimals that tell apart values `step` from each other, trailing zeros dropped.
fn trimmed(value: f64, step: f64) -> String {
    let decimals = (-step.abs().max(1e-9).log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The rectangle in which values are drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Frame {
    /// Grid lines and texts along the bottom, and what the axis shows.
    pub(crate) fn x_axis(&self, canvas: &mut Canvas, ticks: &[(f64, String)], title: &str) {
        for (x, text) in ticks {
            canvas.line((*x, self.top), (*x, self.bottom), "grid");
            canvas.figures((*x, self.bottom + 18.0), Anchor::Middle, "tick", text);
        }
        canvas.line((self.left, self.bottom), (self.right, self.bottom), "axis");
        canvas.text(((self.left + self.right) / 2.0, self.bottom + 38.0), Anchor::Middle, "title", title);
    }

    /// Grid lines and texts along the left, and what the axis shows, at the top of the drawing.
    pub(crate) fn y_axis(&self, canvas: &mut Canvas, ticks: &[(f64, String)], title: &str) {
        for (y, text) in ticks {
            canvas.line((self.left, *y), (self.right, *y), "grid");
            canvas.figures((self.left - 8.0, y + 4.0), Anchor::End, "tick", text);
        }
        canvas.text((0.0, 14.0), Anchor::Start, "title", title);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_ticks_are_round_and_inside() {
        assert_eq!(linear_ticks(0.0, 10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(linear_ticks(-3.0, 7.0, 4), [0.0, 5.0]);
    }

    #[test]
    fn log_ticks_thin_out() {
        let near = |a: &[f64], b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a / b - 1.0).abs() < 1e-9)
        };
        assert!(near(&log_ticks(1.0, 100.0, 9), &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]));
        assert!(near(&log_ticks(1.0, 1e6, 8), &[1.0, 10.0, 1e2, 1e3, 1e4, 1e5, 1e6]));
    }

    #[test]
    fn positions_run_from_start_to_end() {
        let linear = Scale::new(Spread::Linear, (0.0, 10.0), (100.0, 200.0));
        assert_eq!([0.0, 5.0, 10.0, 99.0].map(|v| linear.at(v)), [100.0, 150.0, 200.0, 200.0]);
        let log = Scale::new(Spread::Log, (1.0, 100.0), (0.0, 2.0));
        assert!((log.at(10.0) - 1.0).abs() < 1e-12);
        let empty = Scale::new(Spread::Linear, (5.0, 5.0), (0.0, 1.0));
        assert!(empty.at(5.0).is_finite());
    }

    #[test]
    fn labels_share_a_scale_and_tell_ticks_apart() {
        let scale = Scale::new(Spread::Linear, (15_000.0, 15_600.0), (0.0, 1.0));
        let texts: Vec<String> = scale.labelled(Unit::Ns, 4).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["15 µs", "15.2 µs", "15.4 µs", "15.6 µs"]);
    }
}
