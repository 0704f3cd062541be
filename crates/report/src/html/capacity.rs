//! Capacities: the highest rate that keeps each objective, what limits it and how sure it is.

use weighbridge_model::capacity::CapacityFound;
use weighbridge_model::summary::Summary;

use super::escape::{attributes, escape, figure, suffix};
use super::quiet;
use crate::{capacity, view, words};

const READING: &str = "The highest rate of open load at which the objective holds, with its 95 % interval over blocks; every \
                       block starts the service afresh.";

pub(crate) fn section(summary: &Summary) -> String {
    if summary.capacities.is_empty() {
        return String::new();
    }
    let points = view::points(summary);
    let of_point = |point: &view::Point<'_>| {
        let others = capacity::common_rate(summary, point.label);
        let others = others.map(|text| quiet(&escape(text.trim_end_matches(':')))).unwrap_or_default();
        format!("{}{others}", table(&capacity::at(summary, point.label), point.label))
    };
    let tables: String = points.iter().map(of_point).collect();
    format!("<div class=\"charts\"></div>\n{}{tables}", quiet(READING))
}

fn table(found: &[&CapacityFound], label: &weighbridge_model::id::PointLabel) -> String {
    let point = words::point(label);
    let row = |one: &&CapacityFound| {
        let shown = capacity::rate(one);
        format!(
            "<tr{}><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n",
            attributes(&[("variant", &one.variant)]),
            escape(&one.variant),
            escape(&one.objective),
            figure(&shown.point),
            escape(&shown.interval.unwrap_or_default()),
            escape(&capacity::remark(one)),
        )
    };
    let rows: String = found.iter().map(row).collect();
    format!(
        "<div class=\"scroll\"{}><table><caption>Highest rate{}</caption><thead><tr><th scope=\"col\">variant</th>\
         <th scope=\"col\">keeps</th><th scope=\"col\">up to</th><th scope=\"col\">95 % interval</th><th scope=\"col\">\
         remark</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n",
        attributes(&[("point", &point)]),
        suffix(&point),
    )
}
