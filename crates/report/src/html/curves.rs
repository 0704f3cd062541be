//! The percentile curves as a table, at common percentiles.

use weighbridge_model::detail::{Curve, Detail, TimeKind};
use weighbridge_model::estimate::Unit;

use super::escape::{attributes, escape, figure};
use super::quiet;
use super::tables::number;
use crate::words;

const COLUMNS: [(&str, f64); 6] =
    [("min", 0.0), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("p99.999", 0.99999)];
/// Quantiles are computed with powers of ten, so they are equal only up to rounding.
const SAME: f64 = 1e-9;

/// One row per curve; a percentile with too few requests beyond it is a dash.
pub(crate) fn table(detail: &Detail) -> String {
    if detail.curves.iter().all(|curve| curve.points.is_empty()) {
        return quiet("No percentile curves were stored with this run.");
    }
    let heads: String =
        COLUMNS.map(|(name, _)| format!("<th scope=\"col\" class=\"n\">{name}</th>")).concat();
    format!(
        "<div class=\"scroll\"><table class=\"sortable\"><caption>Percentiles over blocks; a dash where fewer than 20 requests \
         lie beyond</caption><thead><tr><th scope=\"col\">variant</th><th scope=\"col\">point</th><th scope=\"col\">operation\
         </th><th scope=\"col\">time</th>{heads}</tr></thead><tbody>\n{}</tbody></table></div>\n",
        detail.curves.iter().map(row).collect::<String>()
    )
}

fn row(curve: &Curve) -> String {
    let point = words::point(&curve.point);
    let time = match curve.time {
        TimeKind::Response => "response",
        TimeKind::Service => "service",
    };
    let cells = COLUMNS.map(|(_, share)| {
        let time =
            curve.points.iter().find(|(quantile, _)| (quantile - share).abs() < SAME).map(|(_, time)| *time);
        let shown = time.map_or_else(|| "–".to_owned(), |time| Unit::Ns.display(time));
        format!("<td class=\"n\"{}>{}</td>", number(time), figure(&shown))
    });
    format!(
        "<tr{}><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{time}</td>{}</tr>\n",
        attributes(&[("variant", &*curve.variant), ("operation", &*curve.operation), ("point", &*point)]),
        escape(&curve.variant),
        escape(&point),
        escape(&curve.operation),
        cells.concat()
    )
}
