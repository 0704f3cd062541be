//! Verdicts as tables, with the absolute figures beside each difference, and every absolute figure with its
//! interval.
//!
//! A cell with a figure also has the plain number (`data-n`), by which the page's script sorts.

use weighbridge_model::estimate::{Estimate, Unit};
use weighbridge_model::summary::{Cost, Figure, Summary, VariantSummary};

use super::escape::{attributes, escape, figure, suffix};
use super::gauge::{Gauge, GaugeKind};
use super::verdict::{filter_attributes, glyph};
use super::{label, tone_class};
use crate::view::{self, Pair, Point};
use crate::words;

/// From this many tables on, each is folded under a line with its headline.
const FOLDED_FROM: usize = 4;

/// One table per point and variant.
pub(crate) fn verdicts(summary: &Summary) -> String {
    let mut text = String::new();
    let points = view::points(summary);
    let is_folded = points.iter().map(|point| point.pairs.len()).sum::<usize>() >= FOLDED_FROM;
    for point in points {
        if let Some(condition) = point.condition {
            let heading = words::point_heading(point.label, Some(condition));
            let filter = attributes(&[("point", &words::point(point.label))]);
            text.push_str(&format!("<p class=\"condition\"{filter}>{}</p>\n", escape(&heading)));
        }
        for pair in &point.pairs {
            let table = table(summary, &point, pair);
            text.push_str(&if is_folded { folded(&point, pair, &table) } else { table });
        }
    }
    text
}

/// A table in a `<details>` whose summary is the headline.
fn folded(point: &Point<'_>, pair: &Pair<'_>, table: &str) -> String {
    let name = words::point(point.label);
    let filter = attributes(&[("variant", pair.variant), ("point", &name)]);
    let headline = pair.costs.iter().find(|cost| cost.headline).map_or_else(String::new, |cost| {
        let change = cost.ratio.as_ref().filter(|_| words::has_figures(cost));
        let change = change.map(|ratio| format!(": {}", words::joined(&words::change(ratio))));
        format!(
            " <span class=\"says {}\">{} {}{}</span>",
            tone_class(words::tone(cost)),
            glyph(cost),
            words::verdict(cost),
            figure(&change.unwrap_or_default())
        )
    });
    format!(
        "<details{filter}><summary>{} against {}{}{headline}</summary>\n{table}</details>\n",
        escape(pair.variant),
        escape(pair.baseline),
        suffix(&name)
    )
}

fn table(summary: &Summary, point: &Point<'_>, pair: &Pair<'_>) -> String {
    let several = words::several_operations(summary);
    let name = words::point(point.label);
    let filter = attributes(&[("variant", pair.variant), ("point", &name)]);
    let suffix = suffix(&name);
    let (variant, baseline) = (escape(pair.variant), escape(pair.baseline));
    let gauge = |kind: GaugeKind| {
        let alike = pair.costs.iter().copied().filter(|cost| GaugeKind::of(cost.quantity) == kind);
        Gauge::fitting(alike, summary.margin.get())
    };
    let first = if several { "<th scope=\"col\">operation</th>" } else { "" };
    let mut text = format!(
        "<div class=\"scroll\"{filter}><table class=\"verdicts sortable\"><caption>{variant} against {baseline} \
         (baseline){suffix}</caption><thead><tr>{first}<th scope=\"col\">quantity</th><th scope=\"col\" class=\"n absolute\">{baseline}</th>\
         <th scope=\"col\" class=\"n absolute\">{variant}</th><th scope=\"col\" class=\"n\">difference</th><th scope=\"col\" class=\"n\">\
         change</th><td class=\"gauge\" aria-hidden=\"true\"></td><th scope=\"col\">verdict\
         </th></tr></thead>\n<tbody>\n"
    );
    let base = point.variants.iter().find(|v| v.baseline).copied();
    let own = point.variants.iter().find(|v| v.name == pair.variant).copied();
    for operation in pair.operations() {
        for cost in pair.costs.iter().filter(|cost| cost.operation == operation) {
            text.push_str(&row(cost, base, own, several, gauge(GaugeKind::of(cost.quantity))));
        }
    }
    text.push_str("</tbody></table></div>\n");
    text
}

fn row(
    cost: &Cost,
    base: Option<&VariantSummary>,
    own: Option<&VariantSummary>,
    several: bool,
    gauge: Gauge,
) -> String {
    let absolute = |variant: Option<&VariantSummary>| {
        let found = variant.and_then(|v| view::figure(v, &cost.operation, cost.quantity));
        let point = found.and_then(|f| f.estimate.as_ref()).map(|e| e.point);
        let shown = point.map_or_else(|| "–".to_owned(), |point| cost.unit.display(point));
        let class = if words::has_figures(cost) { "n absolute" } else { "n absolute quiet" };
        format!("<td class=\"{class}\"{}>{}</td>", number(point), figure(&shown))
    };
    let headline = if cost.headline { " class=\"headline\"" } else { "" };
    // Why there are no figures is told once for all rows, in the list of what is not shown.
    let reason = cost.reason.as_deref().filter(|_| words::has_figures(cost));
    let reason =
        reason.map_or_else(String::new, |reason| format!("<span class=\"reason\">{}</span>", escape(reason)));
    let (tone, verdict) = (tone_class(words::tone(cost)), words::verdict(cost));
    let says = format!("{} {verdict}{reason}", glyph(cost));
    let costs = if words::has_figures(cost) {
        // Beside a verdict stands the interval on which it rests, that of the change.
        let difference = cost.difference.as_ref().map(|e| {
            let shown = words::Shown { interval: None, ..words::difference(cost.unit, e) };
            (e, shown)
        });
        let change = cost.ratio.as_ref().map(|ratio| (ratio, words::change(ratio)));
        format!(
            "{}{}{}<td class=\"says {tone}\">{says}</td>",
            shown_cell(difference),
            shown_cell(change),
            gauge.cell(cost)
        )
    } else {
        // All rows need the same columns for the table to be sortable.
        format!(
            "<td class=\"n quiet\">–</td><td class=\"n quiet\">–</td><td class=\"gauge\" aria-hidden=\"true\"></td>\
             <td class=\"says {tone}\">{says}</td>"
        )
    };
    let operation = if several { format!("<td>{}</td>", escape(&cost.operation)) } else { String::new() };
    format!(
        "<tr{headline}{}>{operation}<th scope=\"row\">{}</th>{}{}{costs}</tr>\n",
        filter_attributes(cost),
        label(cost.quantity),
        absolute(base),
        absolute(own),
    )
}

/// The attribute with the plain number of a cell, if it has one.
pub(crate) fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!(" data-n=\"{value}\""))
}

fn shown_cell(shown: Option<(&Estimate, words::Shown)>) -> String {
    let Some((estimate, shown)) = shown else { return "<td class=\"n\">–</td>".into() };
    let interval = shown.interval.map(|text| format!(" <span class=\"interval\">{}</span>", figure(&text)));
    format!(
        "<td class=\"n\"{}>{}{}</td>",
        number(Some(estimate.point)),
        figure(&shown.point),
        interval.unwrap_or_default()
    )
}

pub(crate) fn estimate_cell(unit: Unit, estimate: Option<&Estimate>) -> String {
    shown_cell(estimate.map(|estimate| (estimate, words::absolute(unit, estimate))))
}

/// Every absolute figure of every variant, one per row.
pub(crate) fn figures(summary: &Summary) -> String {
    let rows: String = summary
        .variants
        .iter()
        .flat_map(|variant| variant.figures.iter().map(move |figure| absolute_row(variant, figure)))
        .collect();
    if rows.is_empty() {
        return super::quiet("No figures were stored with this run.");
    }
    format!(
        "<div class=\"scroll\"><table class=\"sortable\"><caption>Absolute figures with 95 % intervals over blocks</caption>\
         <thead><tr><th scope=\"col\">variant</th><th scope=\"col\">point</th><th scope=\"col\">operation</th>\
         <th scope=\"col\">quantity</th><th scope=\"col\" class=\"n\">figure</th></tr></thead>\n<tbody>\n{rows}</tbody></table>\
         </div>\n"
    )
}

fn absolute_row(variant: &VariantSummary, figure: &Figure) -> String {
    let point = words::point(&variant.point);
    let filter = [("variant", &*variant.name), ("operation", &*figure.operation), ("point", &*point)];
    let cell = match (&figure.estimate, &figure.reason) {
        (None, Some(reason)) => format!("<td class=\"quiet\">withheld: {}</td>", escape(reason)),
        (estimate, _) => estimate_cell(figure.unit, estimate.as_ref()),
    };
    format!(
        "<tr{}><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td>{cell}</tr>\n",
        attributes(&filter),
        escape(&variant.name),
        escape(&point),
        escape(&figure.operation),
        label(figure.quantity),
    )
}
