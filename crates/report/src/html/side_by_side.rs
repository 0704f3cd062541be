//! Several runs side by side. A column holds a run's own result; two runs are compared only if a comparison
//! allows it, and otherwise the page says that they may not be.

use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::PointLabel;
use weighbridge_model::summary::{Cost, Summary};

use super::escape::{attributes, escape, figure};
use super::verdict::{glyph, with_minus_signs};
use super::{label, tone_class};
use crate::{Report, view, words};

/// The result of comparing a later run with the first.
#[derive(Debug, Clone)]
pub enum Comparison {
    /// They may be compared; the costs are later run against first.
    Allowed(Box<Summary>),
    /// They may not be compared, for this reason.
    Refused(String),
}

/// Identifies a row of the table: one cost, in whichever runs it was measured.
#[derive(Debug, Clone, PartialEq)]
struct ComparisonRow<'a> {
    variant: &'a str,
    baseline: &'a str,
    point: &'a PointLabel,
    operation: &'a str,
    quantity: Quantity,
}

pub(super) fn section(reports: &[Report<'_>], comparisons: &[Comparison]) -> String {
    let runs: String = reports.iter().enumerate().map(|(at, report)| run(at, report.summary)).collect();
    let compared: String =
        (1..reports.len()).map(|at| comparison_words(at, comparisons.get(at - 1))).collect();
    format!(
        "<section id=\"runs\" class=\"beside\">\n<h2>Runs side by side</h2>\n<ol class=\"runs\">\n{runs}</ol>\n\
         <div class=\"apart\">{compared}</div>\n{}</section>\n",
        table(reports)
    )
}

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

/// The comparison of a later run with the first, in words.
fn comparison_words(at: usize, comparison: Option<&Comparison>) -> String {
    let who = format!("{} and {}", name(0), name(at).to_lowercase());
    match comparison {
        Some(Comparison::Allowed(summary)) => {
            let sentences: String = words::headlines(summary)
                .map(|cost| format!("<li>{}</li>", with_minus_signs(&words::sentence(summary, cost))))
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

fn row(wanted: &ComparisonRow<'_>, reports: &[Report<'_>]) -> String {
    let point = words::point(wanted.point);
    let filter = [("variant", wanted.variant), ("operation", wanted.operation), ("point", &*point)];
    let cells: String = reports
        .iter()
        .map(|report| {
            let found = report.summary.costs.iter().find(|cost| line(report.summary, cost) == *wanted);
            found.map_or_else(|| "<td class=\"quiet\">–</td>".to_owned(), cell)
        })
        .collect();
    format!(
        "<tr{}><th scope=\"row\">{} <span class=\"quiet\">against {}</span></th><td>{}</td><td>{}</td><td>{}</td>{cells}</tr>\n",
        attributes(&filter),
        escape(wanted.variant),
        escape(wanted.baseline),
        escape(&point),
        escape(wanted.operation),
        label(wanted.quantity)
    )
}

fn cell(cost: &Cost) -> String {
    let says = format!(
        "<span class=\"says {}\">{} {}</span>",
        tone_class(words::tone(cost)),
        glyph(cost),
        words::verdict(cost)
    );
    let shown = match (&cost.ratio, &cost.difference) {
        (Some(ratio), _) => Some((ratio.point, words::change(ratio))),
        // Two shares have no ratio.
        (None, difference) => difference.as_ref().map(|one| (one.point, words::difference(cost.unit, one))),
    };
    match shown.filter(|_| words::has_figures(cost)) {
        Some((point, shown)) => {
            let interval = shown.interval.map_or_else(String::new, |ends| {
                format!(" <span class=\"interval\">{}</span>", figure(&ends))
            });
            format!(
                "<td{}>{}{interval} {says}</td>",
                super::tables::number(Some(point)),
                figure(&shown.point)
            )
        }
        None => format!("<td>{says}</td>"),
    }
}
