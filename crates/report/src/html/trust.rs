//! Why to believe it: blocks, precision, the state of each variant, what was withheld; and warnings in full.

use weighbridge_model::summary::{Cost, Finding, Severity, Summary, VariantSummary};

use super::escape::escape;
use super::quiet;
use crate::text::{counted, grouped};
use crate::{reliability, view, words};

/// Facts in a list, then a row per variant, then what was withheld.
pub(crate) fn section(summary: &Summary) -> String {
    let facts: String = facts(summary).iter().map(|fact| format!("<li>{}</li>\n", escape(fact))).collect();
    format!("<ul class=\"facts\">\n{facts}</ul>\n{}{}", variants(summary), withheld(summary))
}

fn facts(summary: &Summary) -> Vec<String> {
    let blocks = summary.blocks;
    let void = if blocks.void > 0 {
        format!("; {} more measured and thrown away", blocks.void)
    } else {
        String::new()
    };
    let mut facts = vec![
        format!(
            "{} of fresh starts, of {} to {} planned{void}. Intervals are 95 % and rest on blocks alone.",
            counted(u64::from(blocks.used), "block"),
            blocks.min,
            blocks.max
        ),
        format!(
            "The headline is {}, decided on its own interval; other verdicts are corrected for their number (Holm, \
             5 % over the table).",
            summary.headline
        ),
        format!("Differences within ±{} of the baseline are called not relevant.", summary.margin),
    ];
    facts.extend(summary.pairings.iter().map(|point| {
        let place = words::point(&point.point);
        let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
        format!("Variants were put side by side{place} {}.", point.pairing.words())
    }));
    facts.extend(words::goal(summary).map(|goal| format!("{}.", super::capital(&goal))));
    let quote = summary.calibration.as_ref().map(|quote| super::capital(&reliability::quote(quote)));
    facts.extend(quote.map(|quote| format!("{quote}.")));
    let severe = |severity| summary.findings.iter().filter(|f| f.severity == severity).count() as u64;
    facts.push(match (severe(Severity::Problem), severe(Severity::Warning)) {
        (0, 0) => "Self-check: nothing was found that speaks against these figures.".to_owned(),
        (problems, warnings) => format!(
            "Self-check: {}, {}: {}; see Warnings.",
            counted(problems, "problem"),
            counted(warnings, "warning"),
            view::distinct(summary.findings.iter().map(|finding| finding.name.as_str())).join(", ")
        ),
    });
    facts
}

fn variants(summary: &Summary) -> String {
    let mut text = String::from(
        "<div class=\"scroll\"><table><caption>What was measured of each variant</caption><thead><tr>\
         <th scope=\"col\">variant</th><th scope=\"col\">figures are</th><th scope=\"col\">requests</th>\
         <th scope=\"col\">errors</th><th scope=\"col\">not sent</th><th scope=\"col\">windows</th>\
         <th scope=\"col\">blocks</th><th scope=\"col\">version</th></tr></thead><tbody>\n",
    );
    text.push_str(&summary.variants.iter().map(variant).collect::<String>());
    text.push_str("</tbody></table></div>\n");
    text
}

fn variant(variant: &VariantSummary) -> String {
    let reasons: String =
        variant.reasons.iter().map(|r| format!("<span class=\"reason\">{}</span>", escape(r))).collect();
    let errors = words::failures(variant.requests, variant.errors_by_kind);
    let kinds = errors.as_deref().and_then(|text| text.split_once(": ")).map(|(_, kinds)| kinds);
    let kinds = kinds.map(|kinds| format!("<span class=\"reason\">{}</span>", escape(kinds)));
    let count = |n: u64| format!("<td class=\"n\">{}</td>", grouped(n));
    let baseline = if variant.baseline { " <span class=\"quiet\">(baseline)</span>" } else { "" };
    format!(
        "<tr><th scope=\"row\">{}{baseline}</th><td class=\"{1}\">{1}{reasons}</td>{2}\
         <td class=\"n\">{3}{4}</td>{5}{6}{7}<td>{8}</td></tr>\n",
        escape(&words::subject(&variant.name, &variant.point)),
        variant.validity.name(),
        count(variant.requests),
        grouped(variant.errors),
        kinds.unwrap_or_default(),
        count(variant.not_sent),
        count(variant.windows),
        count(u64::from(variant.blocks)),
        variant.version.as_deref().map_or_else(|| "unknown".to_owned(), escape),
    )
}

/// Costs without a verdict on figures, each reason once.
fn withheld(summary: &Summary) -> String {
    let without: Vec<&Cost> = summary.costs.iter().filter(|cost| !words::has_figures(cost)).collect();
    if without.is_empty() {
        return String::new();
    }
    let key = |cost: &Cost| {
        let who = words::subject(&cost.variant, &cost.point);
        (who, cost.verdict.name(), cost.reason.clone().unwrap_or_default())
    };
    let items = view::distinct(without.iter().map(|cost| key(cost))).into_iter().map(|group| {
        let own: Vec<&Cost> = without.iter().copied().filter(|cost| key(cost) == group).collect();
        let quantities = words::quantities(&own);
        let (who, verdict, reason) = group;
        format!("<li><b>{}</b>: {quantities} {verdict}: {}</li>\n", escape(&who), escape(&reason))
    });
    format!("<h3>Not shown</h3>\n<ul>\n{}</ul>\n", items.collect::<String>())
}

/// Findings in full.
pub(crate) fn warnings(summary: &Summary) -> String {
    if summary.findings.is_empty() {
        return quiet("None.");
    }
    let items: String = summary.findings.iter().map(finding).collect();
    format!("<ul class=\"cards\">\n{items}</ul>\n")
}

fn finding(finding: &Finding) -> String {
    let (word, class) = match finding.severity {
        Severity::Note => ("note", "plain"),
        Severity::Warning => ("warning", "undecided"),
        Severity::Problem => ("problem", "problem"),
    };
    let subject = match finding.subject.as_str() {
        "" => String::new(),
        subject => format!(" <span class=\"quiet\">{}</span>", escape(subject)),
    };
    let remedy = match finding.remedy.as_str() {
        "" => String::new(),
        remedy => format!("<p class=\"remedy\">→ {}</p>", escape(remedy)),
    };
    format!(
        "<li class=\"card {class}\"><p class=\"kind\">{word}</p><div><p class=\"who\">{}{subject}</p><p>{}</p>{remedy}\
         </div></li>\n",
        escape(&finding.name),
        escape(&finding.evidence)
    )
}
