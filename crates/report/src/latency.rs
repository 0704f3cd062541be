//! The distribution of response times: percentiles and a histogram.

use weighbridge_model::distribution::{Percentile, TimeBucket, TimeDistribution};

use crate::style::{Style, Tone};
use crate::table::{Align, Cell, Table};
use crate::text::grouped;

/// Columns of the longest bar.
const BAR: usize = 40;

/// Both as lines.
pub(crate) fn lines(latency: &TimeDistribution, style: Style, columns: usize) -> Vec<String> {
    let mut percentiles = Table::new([Align::Left, Align::Right], 2);
    for Percentile { quantile, time } in &latency.percentiles {
        percentiles.push(vec![Cell::new(format!("  {} %", quantile * 100.0)), Cell::new(time.to_string())]);
    }
    let most = latency.histogram.iter().map(|bucket| bucket.count).max().unwrap_or(1).max(1);
    let mut histogram = Table::new([Align::Right, Align::Right, Align::Left], 2);
    for TimeBucket { to, count, .. } in &latency.histogram {
        // Whatever occurred is seen.
        let length = (*count as f64 / most as f64 * BAR as f64).round() as usize;
        let bar = "■".repeat(length.max(usize::from(*count > 0)));
        histogram.push(vec![Cell::new(format!("  ≤ {to}")), Cell::new(grouped(*count)), Cell::new(bar)]);
    }
    let head = |text: &str| style.paint(Tone::Secondary, text);
    let mut lines = vec![head("response time within which so many requests were answered")];
    lines.extend(percentiles.lines(style, columns));
    lines.extend([String::new(), head("requests by response time")]);
    lines.extend(histogram.lines(style, columns));
    lines
}
