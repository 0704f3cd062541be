//! Several runs beside each other. Each column is a run's own result; what one run says against another is said only
//! where a comparison of the two allows it, and otherwise that it may not be.

use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::PointLabel;
use weighbridge_model::summary::{Cost, Summary};

use super::escape::{attributes, escape, figure};
use super::verdict::{glyph, signs};
use super::{label, tone_class};
use crate::{Report, view, words};

/// What a comparison of a later run with the first one found.
#[derive(Debug, Clone)]
pub enum Comparison {
    /// They may be compared; the costs are those of the comparison.
    Allowed(Box<Summary>),
    /// They may not, and why.
    Refused(String),
}

/// A line of the table: one cost, wherever it was measured.
#[derive(Debug, Clone, PartialEq)]
struct ComparisonRow<'a> {
    variant: &'a str,
    baseline: &'a str,
    point: &'a PointLabel,
    operation: &'a str,
    quantity: Quantity,
}

/// The section above the runs.
pub(super) fn section(reports: &[Report<'_>], comparisons: &[Comparison]) -> String {
    let runs: String = reports.iter().enumerate().map(|(at, report)| run(at, report.summary)).collect();
    let said: String = (1..reports.len()).map(|at| said(at, comparisons.get(at - 1))).collect();
    format!(
        "<section id=\"runs\" class=\"beside\">\n<h2>Runs side by side</h2>\n<ol class=\"runs\">\n{runs}</ol>\n\
         <div class=\"apart\">{said}</div>\n{}</section>\n",
        table(reports)
    )
}

/// The heading of a run among several.
pub(super) fn name(at: usize) -> String {
    format!("Run {}", at + 1)
}

fn run(at: usize, summary: &Summary) -> String {
    let doubt = words::validity(summary.validity)
        .map_or_else(String::new, |words| format!(" <b class=\"{}\">{words}</b>", summary.validity.name()));
    format!(
        "<li><a href=\"#run-{}\">{}</a> <span class=\"quiet\">{} · {} · {} blocks</span>{doubt}</li>\n",
        at + 1,
        escape(&summary.title),
        escape(&summary.started),
        escape(&summary.run),
        summary.blocks.used
    )
}

/// What is said of a later run against the first.
fn said(at: usize, comparison: Option<&Comparison>) -> String {
    let who = format!("{} and {}", name(0), name(at).to_lowercase());
    match comparison {
        Some(Comparison::Allowed(summary)) => {
            let sentences: String = words::headlines(summary)
                .map(|cost| format!("<li>{}</li>", signs(&words::sentence(summary, cost))))
                .collect();
            format!("<p>{who} may be compared, as <code>weigh compare</code> does:</p><ul>{sentences}</ul>\n")
        }
        other => {
            let reason = match other {
                Some(Comparison::Refused(reason)) => format!(": {}", escape(reason)),
                _ => String::new(),
            };
            format!(
                "<p class=\"warn\"><b>Not measured together.</b> {who} are two measurements at two times; what differs \
                 between their columns may be the host’s doing{reason}.</p>\n"
            )
        }
    }
}

fn table(reports: &[Report<'_>]) -> String {
    let lines = view::distinct(reports.iter().flat_map(|report| lines(report.summary)));
    if lines.is_empty() {
        return super::quiet("None of the runs compared anything.");
    }
    let heads: String =
        reports.iter().enumerate().map(|(at, _)| format!("<th scope=\"col\">{}</th>", name(at))).collect();
    let rows: String = lines.iter().map(|line| row(line, reports)).collect();
    format!(
        "<div class=\"scroll\"><table class=\"sortable besides\"><caption>Costs of each run: the variant against the baseline of \
         the same run</caption><thead><tr><th scope=\"col\">variant</th><th scope=\"col\">point</th><th scope=\"col\">operation\
         </th><th scope=\"col\">quantity</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn lines(summary: &Summary) -> impl Iterator<Item = ComparisonRow<'_>> {
    summary.costs.iter().map(|cost| line(summary, cost))
}

fn line<'a>(summary: &'a Summary, cost: &'a Cost) -> ComparisonRow<'a> {
    ComparisonRow {
        variant: &cost.variant,
        baseline: words::baseline(summary, &cost.point),
        point: &cost.point,
        operation: &cost.operation,
        quantity: cost.quantity,
    }
}

fn row(of: &ComparisonRow<'_>, reports: &[Report<'_>]) -> String {
    let point = words::point(of.point);
    let place = [("variant", of.variant), ("operation", of.operation), ("point", &*point)];
    let cells: String = reports
        .iter()
        .map(|report| {
            let found = report.summary.costs.iter().find(|cost| line(report.summary, cost) == *of);
            found.map_or_else(|| "<td class=\"quiet\">–</td>".to_owned(), cell)
        })
        .collect();
    format!(
        "<tr{}><th scope=\"row\">{} <span class=\"quiet\">against {}</span></th><td>{}</td><td>{}</td><td>{}</td>{cells}</tr>\n",
        attributes(&place),
        escape(of.variant),
        escape(of.baseline),
        escape(&point),
        escape(of.operation),
        label(of.quantity)
    )
}

fn cell(cost: &Cost) -> String {
    let says = format!(
        "<span class=\"says {}\">{} {}</span>",
        tone_class(words::tone(cost)),
        glyph(cost),
        words::verdict(cost)
    );
    match cost.ratio.as_ref().filter(|_| words::has_figures(cost)) {
        Some(ratio) => {
            let shown = words::change(ratio);
            let interval = shown.interval.map_or_else(String::new, |ends| {
                format!(" <span class=\"interval\">{}</span>", figure(&ends))
            });
            format!(
                "<td{}>{}{interval} {says}</td>",
                super::tables::number(Some(ratio.point)),
                figure(&shown.point)
            )
        }
        None => format!("<td>{says}</td>"),
    }
}
