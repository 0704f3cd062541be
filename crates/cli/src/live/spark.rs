//! A row of small bars that shows the recent course of a figure.

use weighbridge_model::quantity::Nanoseconds;

/// The bars, from lowest to highest.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The least span that a row shows, as a share of its middle, so that noise looks small.
const SPAN_LEAST: f64 = 0.2;

/// The last `columns` of `times` as bars between the shortest and the longest of them, blank if there are
/// none yet.
pub fn row(times: &[Nanoseconds], columns: usize) -> String {
    let shown = &times[times.len().saturating_sub(columns)..];
    let seconds: Vec<f64> = shown.iter().map(|time| time.as_secs_f64()).collect();
    let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let most = seconds.iter().copied().fold(0.0, f64::max);
    let middle = (least + most) / 2.0;
    let span = (most - least).max(middle * SPAN_LEAST).max(f64::MIN_POSITIVE);
    let floor = middle - span / 2.0;
    let bar = |value: &f64| {
        let height = ((value - floor) / span * BARS.len() as f64) as usize;
        BARS[height.min(BARS.len() - 1)]
    };
    let bars: String = seconds.iter().map(bar).collect();
    format!("{}{bars}", " ".repeat(columns - shown.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(micros: &[u64], columns: usize) -> String {
        row(&micros.iter().map(|n| Nanoseconds::from_micros(*n)).collect::<Vec<_>>(), columns)
    }

    #[test]
    fn the_last_times_are_at_the_right() {
        assert_eq!(drawn(&[], 3), "   ");
        assert_eq!(drawn(&[10, 20], 4), "  ▁█");
        assert_eq!(drawn(&[900, 10, 20, 16], 3), "▁█▅");
    }

    #[test]
    fn noise_of_a_few_percent_looks_flat() {
        for micros in [[1000, 1001, 999], [0, 0, 0]] {
            let bars = drawn(&micros, 3);
            assert!(bars.chars().all(|bar| "▄▅".contains(bar)), "{bars}");
        }
    }
}
