//! Verdicts as sentences and as tables, with the absolute figures beside each difference.

use weighbridge_model::summary::{Cost, Estimate, Summary, Unit, VariantSummary, Verdict};

use super::escape::{escape, figure};
use super::{label, tone_class};
use crate::view::{self, Pair, Point};
use crate::words;

/// One card per headline: the change in large type, then the sentence.
pub(crate) fn headlines(summary: &Summary) -> String {
    let cards: String = words::headlines(summary).map(|cost| card(summary, cost)).collect();
    let unavailable = summary.unavailable.iter().map(|(name, reason)| {
        format!(
            "<li class=\"card problem\"><p class=\"big\">—</p><div><p class=\"who\">{}</p><p>unavailable: {}</p>\
             </div></li>\n",
            escape(name),
            escape(reason)
        )
    });
    let all = format!("{cards}{}", unavailable.collect::<String>());
    if all.is_empty() {
        super::quiet("Nothing was compared: the run has one variant.")
    } else {
        format!("<ul class=\"cards\">\n{all}</ul>\n")
    }
}

fn card(summary: &Summary, cost: &Cost) -> String {
    let words::Sentence { who, what, joint, verdict } = words::sentence_parts(summary, cost);
    let change = cost.ratio.as_ref().filter(|_| words::has_figures(cost)).map(words::change);
    let big = change.map_or_else(|| "—".to_owned(), |change| change.point);
    format!(
        "<li class=\"card {}\"><p class=\"big\">{}</p><div><p class=\"who\">{}</p><p>{}{joint}<strong \
         class=\"says\">{} {}</strong></p></div></li>\n",
        tone_class(words::tone(cost)),
        figure(&big),
        escape(&who),
        figure(&what),
        glyph(cost),
        escape(&verdict),
    )
}

/// A sign beside the words, for those who skim.
const fn glyph(cost: &Cost) -> &'static str {
    match cost.verdict {
        Verdict::Higher => "▲",
        Verdict::Lower => "▼",
        Verdict::NoRelevantDifference => "≈",
        Verdict::Undecided => "?",
        Verdict::Invalid => "✕",
        Verdict::Withheld => "–",
    }
}

/// The verdict tables: one per point and variant.
pub(crate) fn verdicts(summary: &Summary) -> String {
    let mut text = String::new();
    for point in view::points(summary) {
        if let Some(condition) = point.condition {
            let heading = words::point_heading(point.label, Some(condition));
            text.push_str(&format!("<p class=\"condition\">{}</p>\n", escape(&heading)));
        }
        for pair in &point.pairs {
            text.push_str(&table(summary, &point, pair));
        }
    }
    text
}

fn table(summary: &Summary, point: &Point<'_>, pair: &Pair<'_>) -> String {
    let several = words::several_operations(summary);
    let of = words::point(point.label);
    let of = if of.is_empty() { of } else { format!(", {}", escape(&of)) };
    let (variant, baseline) = (escape(pair.variant), escape(pair.baseline));
    let mut text = format!(
        "<div class=\"scroll\"><table class=\"verdicts\"><caption>{variant} against {baseline} \
         (baseline){of}</caption><thead><tr><th scope=\"col\">quantity</th><th scope=\"col\">{baseline}</th>\
         <th scope=\"col\">{variant}</th><th scope=\"col\">difference</th><th scope=\"col\">change</th>\
         <th scope=\"col\">verdict</th></tr></thead>\n"
    );
    let base = point.variants.iter().find(|v| v.baseline).copied();
    let own = point.variants.iter().find(|v| v.name == pair.variant).copied();
    for operation in pair.operations() {
        text.push_str("<tbody>\n");
        if several {
            text.push_str(&format!(
                "<tr><th class=\"operation\" colspan=\"6\" scope=\"rowgroup\">{}</th></tr>\n",
                escape(operation)
            ));
        }
        for cost in pair.costs.iter().filter(|cost| cost.operation == operation) {
            text.push_str(&row(cost, base, own));
        }
        text.push_str("</tbody>\n");
    }
    text.push_str("</table></div>\n");
    text
}

fn row(cost: &Cost, base: Option<&VariantSummary>, own: Option<&VariantSummary>) -> String {
    let absolute = |variant: Option<&VariantSummary>| {
        let found = variant.and_then(|v| view::figure(v, &cost.operation, cost.quantity));
        let shown = found.and_then(|f| f.estimate.as_ref()).map(|e| cost.unit.display(e.point));
        let shown = shown.unwrap_or_else(|| "–".into());
        let class = if words::has_figures(cost) { "n" } else { "n quiet" };
        format!("<td class=\"{class}\">{}</td>", figure(&shown))
    };
    let headline = if cost.headline { " class=\"headline\"" } else { "" };
    let reason = cost
        .reason
        .as_deref()
        .map_or_else(String::new, |reason| format!("<span class=\"reason\">{}</span>", escape(reason)));
    let (tone, verdict) = (tone_class(words::tone(cost)), words::verdict(cost));
    let costs = if words::has_figures(cost) {
        let difference = cost.difference.as_ref().map(|e| words::difference(cost.unit, e));
        let change = cost.ratio.as_ref().map(words::change);
        let cells = format!("{}{}", shown_cell(difference), shown_cell(change));
        format!("{cells}<td class=\"says {tone}\">{} {verdict}{reason}</td>", glyph(cost))
    } else {
        format!("<td colspan=\"3\" class=\"says {tone}\">{} {verdict}{reason}</td>", glyph(cost))
    };
    format!(
        "<tr{headline}><th scope=\"row\">{}</th>{}{}{costs}</tr>\n",
        label(cost.quantity),
        absolute(base),
        absolute(own),
    )
}

fn shown_cell(shown: Option<words::Shown>) -> String {
    let Some(shown) = shown else { return "<td class=\"n\">–</td>".into() };
    let interval = shown.interval.map(|text| format!(" <span class=\"interval\">{}</span>", figure(&text)));
    format!("<td class=\"n\">{}{}</td>", figure(&shown.point), interval.unwrap_or_default())
}

/// An absolute figure with its interval.
pub(crate) fn estimate_cell(unit: Unit, estimate: Option<&Estimate>) -> String {
    shown_cell(estimate.map(|estimate| words::absolute(unit, estimate)))
}
