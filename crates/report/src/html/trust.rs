//! Why to believe the result: self-check, precision, noise of the host, withheld costs; then each variant,
//! and all findings.

use weighbridge_model::estimate::Validity;
use weighbridge_model::finding::{BEST_BY_SIZE, CLIFF, ONE_INSTANCE, title};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::summary::{Cost, Finding, Severity, Summary, VariantSummary};

use super::escape::{attributes, escape, figure};
use super::{capital, quiet};
use crate::text::{counted, grouped};
use crate::{reliability, view, words};

/// A reason to believe or to doubt the result.
struct Fact {
    name: &'static str,
    value: String,
    says: String,
    mark: Mark,
}

/// Which way a fact speaks.
#[derive(Clone, Copy)]
enum Mark {
    Fine,
    Doubt,
    /// Neither: it is for the reader to know.
    Neutral,
}

impl Mark {
    const fn doubt_if(doubt: bool) -> Self {
        if doubt { Self::Doubt } else { Self::Fine }
    }
}

pub(crate) fn section(summary: &Summary) -> String {
    let facts: String = facts(summary).iter().map(fact).collect();
    format!(
        "<ul class=\"facts\">\n{facts}</ul>\n{}<details><summary>What was measured of each variant</summary>\n{}</details>\n",
        withheld(summary),
        variants(summary)
    )
}

fn fact(fact: &Fact) -> String {
    format!(
        "<li class=\"{}\"><h3>{}</h3><p class=\"value\">{}</p><p>{}</p></li>\n",
        match fact.mark {
            Mark::Fine => "fine",
            Mark::Doubt => "doubt",
            Mark::Neutral => "neutral",
        },
        fact.name,
        figure(&fact.value),
        escape(&fact.says)
    )
}

fn facts(summary: &Summary) -> Vec<Fact> {
    let mut facts = vec![self_check(summary), precision(summary), requests(summary), starts(summary)];
    facts.extend(comparison(summary));
    facts.push(Fact {
        name: "Rule of verdicts",
        value: format!("±{}", summary.margin),
        says: format!(
            "Differences within ±{} of the baseline are called not relevant. The headline is {}, decided on its own \
             interval; other verdicts are corrected for their number (Holm, 5 % over the table).",
            summary.margin,
            words::label(summary.headline)
        ),
        mark: Mark::Neutral,
    });
    if let Some(quote) = &summary.calibration {
        let value = quote
            .detectable
            .as_ref()
            .map_or_else(|| "calibrated".to_owned(), |found| format!("finds +{}", found.change));
        let says = format!("{}.", capital(&reliability::quote(quote)));
        facts.push(Fact { name: "This host", value, says, mark: Mark::doubt_if(!quote.changed.is_empty()) });
    }
    facts
}

/// How variants were paired; once if it was the same at every point.
fn comparison(summary: &Summary) -> Option<Fact> {
    let ways = view::distinct(summary.pairings.iter().map(|point| point.pairing));
    let says = match ways[..] {
        [] => return None,
        [way] => format!("Variants were put side by side {}.", way.words()),
        _ => {
            let each = summary.pairings.iter().map(|point| {
                format!(
                    "Variants were put side by side at {} {}.",
                    words::point(&point.point),
                    point.pairing.words()
                )
            });
            each.collect::<Vec<_>>().join(" ")
        }
    };
    let doubt = ways.contains(&Pairing::Sequential);
    let value = if doubt { "in sequence" } else { "side by side" }.to_owned();
    Some(Fact { name: "Comparison", value, says, mark: Mark::doubt_if(doubt) })
}

fn self_check(summary: &Summary) -> Fact {
    let of = |severity| summary.findings.iter().filter(move |finding| finding.severity == severity);
    let count = |severity, word| counted(of(severity).count() as u64, word);
    let names = |severity| view::distinct(of(severity).map(|finding| title(&finding.name))).join(", ");
    let all = [(Severity::Problem, "problem"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let found = all.into_iter().filter(|(severity, _)| of(*severity).next().is_some());
    let told: Vec<String> =
        found.map(|(severity, word)| format!("{}: {}", count(severity, word), names(severity))).collect();
    let says = match told.is_empty() {
        true => "Nothing was found that speaks against these figures.".to_owned(),
        false => format!("{}; see Warnings.", told.join("; ")),
    };
    let severe = (of(Severity::Problem).count() + of(Severity::Warning).count()) as u64;
    let value = match (summary.validity, severe) {
        (Validity::Valid, 0) if told.is_empty() => "passed".to_owned(),
        (Validity::Valid, 0) => "no warning".to_owned(),
        (Validity::Valid, _) => counted(severe, "remark"),
        (validity, _) => validity.name().to_owned(),
    };
    Fact {
        name: "Self-check",
        value,
        says,
        mark: match severe > 0 || summary.validity != Validity::Valid {
            true => Mark::Doubt,
            false if told.is_empty() => Mark::Fine,
            false => Mark::Neutral,
        },
    }
}

fn precision(summary: &Summary) -> Fact {
    if words::is_imported(summary) {
        return Fact {
            name: "Precision",
            value: "unknown".to_owned(),
            says: "Nothing was repeated, so there is no interval.".to_owned(),
            mark: Mark::Doubt,
        };
    }
    let blocks_rule = "Intervals are 95 % and rest on blocks alone.";
    match (&summary.goal, words::goal(summary)) {
        (Some(goal), Some(words)) => Fact {
            name: "Precision",
            value: goal.half_width.map_or_else(|| "unknown".to_owned(), |half| format!("±{half}")),
            says: format!("{}. {blocks_rule}", capital(&words)),
            mark: Mark::doubt_if(!goal.reached),
        },
        _ => Fact {
            name: "Precision",
            value: "no goal".to_owned(),
            says: format!("No precision was asked for (`until`), so none was checked. {blocks_rule}"),
            mark: Mark::Neutral,
        },
    }
}

fn requests(summary: &Summary) -> Fact {
    let total: u64 = summary.variants.iter().map(|variant| variant.requests).sum();
    let failed: u64 = summary.variants.iter().map(|variant| variant.errors).sum();
    let unsent: u64 = summary.variants.iter().map(|variant| variant.not_sent).sum();
    let says = match (failed, unsent) {
        (0, 0) => "All were sent, and every reply passed its check.".to_owned(),
        (0, _) => format!("{} were never sent.", grouped(unsent)),
        (_, 0) => format!("{} failed.", grouped(failed)),
        _ => format!("{} failed; {} were never sent.", grouped(failed), grouped(unsent)),
    };
    Fact { name: "Requests", value: grouped(total), says, mark: Mark::doubt_if(failed + unsent > 0) }
}

fn starts(summary: &Summary) -> Fact {
    let blocks = summary.blocks;
    if words::is_imported(summary) {
        return Fact {
            name: "Repetition",
            value: "none".to_owned(),
            says: "Another program measured each series once, one after another: what changed between them is in every \
                   comparison."
                .to_owned(),
            mark: Mark::Doubt,
        };
    }
    let void = if blocks.void > 0 {
        format!("; {} more measured and thrown away", blocks.void)
    } else {
        String::new()
    };
    let ran_already = |name: &str| {
        summary.findings.iter().any(|finding| finding.name == ONE_INSTANCE && finding.subject == name)
    };
    let (not_restarted, restarted): (Vec<&str>, Vec<&str>) =
        summary.variants.iter().map(|variant| variant.name.as_str()).partition(|name| ran_already(name));
    let starts = match (not_restarted.is_empty(), restarted.is_empty()) {
        (true, _) => "In each block every variant was started afresh",
        (false, false) => "In each block every variant was started afresh that did not run already",
        (false, true) => "The variants ran already: how much restarts differ is in no interval",
    };
    Fact {
        name: "Repetition",
        value: counted(u64::from(blocks.used), "block"),
        says: format!(
            "{starts}; {} planned{void}.{}",
            planned(blocks.min, blocks.max),
            if summary.quick { " A quick run: few blocks, short warm-up." } else { "" }
        ),
        mark: match summary.quick || blocks.used < 4 {
            false if !not_restarted.is_empty() => Mark::Neutral,
            doubt => Mark::doubt_if(doubt),
        },
    }
}

/// `6 blocks were`, `6 to 30 blocks were`
fn planned(min: u32, max: u32) -> String {
    let blocks = if min == max { counted(u64::from(max), "block") } else { format!("{min} to {max} blocks") };
    format!("{blocks} {}", if max == 1 { "was" } else { "were" })
}

fn variants(summary: &Summary) -> String {
    let mut text = String::from(
        "<div class=\"scroll\"><table class=\"sortable\"><caption>What was measured of each variant</caption><thead><tr>\
         <th scope=\"col\">variant</th><th scope=\"col\">figures are</th><th scope=\"col\" class=\"n\">requests</th>\
         <th scope=\"col\" class=\"n\">errors</th><th scope=\"col\" class=\"n\">not sent</th><th scope=\"col\" class=\"n\">windows\
         </th><th scope=\"col\" class=\"n\">blocks</th><th scope=\"col\">version</th></tr></thead><tbody>\n",
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
    let count = |n: u64, more: &str| format!("<td class=\"n\" data-n=\"{n}\">{}{more}</td>", grouped(n));
    let facts = words::slots(variant).into_iter().chain(words::runtime(variant));
    let facts: String =
        facts.map(|text| format!("<span class=\"reason\">{}</span>", escape(&text))).collect();
    let baseline = if variant.baseline { " <span class=\"quiet\">(baseline)</span>" } else { "" };
    let filter = attributes(&[("variant", &variant.name), ("point", &words::point(&variant.point))]);
    format!(
        "<tr{filter}><th scope=\"row\">{}{baseline}</th><td class=\"{1}\">{1}{reasons}</td>{2}{3}{4}{5}{6}<td>{7}{8}</td></tr>\n",
        escape(&words::subject(&variant.name, &variant.point)),
        variant.validity.name(),
        count(variant.requests, ""),
        count(variant.errors, &kinds.unwrap_or_default()),
        count(variant.not_sent, ""),
        count(variant.windows, ""),
        count(u64::from(variant.blocks), ""),
        variant.version.as_deref().map_or_else(|| "unknown".to_owned(), escape),
        facts,
    )
}

/// What one subject lacks for one reason.
struct NotShown<'s> {
    first: &'s Cost,
    says: String,
}

fn subject(cost: &Cost) -> String {
    words::subject(&cost.variant, &cost.point)
}

/// Costs without figures, grouped by reason.
fn withheld(summary: &Summary) -> String {
    let without: Vec<&Cost> = summary.costs.iter().filter(|cost| !words::has_figures(cost)).collect();
    if without.is_empty() {
        return String::new();
    }
    let why = |cost: &Cost| (cost.verdict.name(), cost.reason.clone().unwrap_or_default());
    // Each with its own reason first; then subjects that share all of it, as one line.
    let subjects = view::distinct(without.iter().map(|cost| subject(cost)));
    let lines = subjects.iter().flat_map(|who| {
        let own: Vec<&Cost> = without.iter().copied().filter(|cost| subject(cost) == *who).collect();
        let reasons = view::distinct(own.iter().map(|cost| why(cost)));
        let line = |group: (&'static str, String)| {
            let of: Vec<&Cost> = own.iter().copied().filter(|cost| why(cost) == group).collect();
            NotShown {
                first: of[0],
                says: format!("{} {}: {}", words::quantities(&of), group.0, escape(&group.1)),
            }
        };
        reasons.into_iter().map(line).collect::<Vec<_>>()
    });
    let lines: Vec<NotShown<'_>> = lines.collect();
    let items = view::distinct(lines.iter().map(|line| line.says.clone())).into_iter().map(|says| {
        let own: Vec<&Cost> = lines.iter().filter(|line| line.says == says).map(|line| line.first).collect();
        let who = own.iter().map(|cost| subject(cost)).collect::<Vec<_>>().join("; ");
        // A line for several subjects stays whichever of them is chosen.
        let filter = match own[..] {
            [only] => attributes(&[("variant", &only.variant), ("point", &words::point(&only.point))]),
            _ => String::new(),
        };
        format!("<li{filter}><b>{}</b>: {says}</li>\n", escape(&who))
    });
    format!("<div class=\"withheld\"><h3>Not shown</h3>\n<ul>\n{}</ul></div>\n", items.collect::<String>())
}

pub(crate) fn warnings(summary: &Summary) -> String {
    listed(summary.findings.iter())
}

/// Findings, except those that the section on message sizes states in more detail.
pub(crate) fn other_warnings(summary: &Summary) -> String {
    let is_about_sizes = |finding: &&Finding| [CLIFF, BEST_BY_SIZE].contains(&finding.name.as_str());
    listed(summary.findings.iter().filter(|finding| !is_about_sizes(finding)))
}

fn listed<'a>(findings: impl Iterator<Item = &'a Finding>) -> String {
    let items: String = findings.map(finding).collect();
    if items.is_empty() {
        return quiet("None.");
    }
    format!("<ul class=\"findings\">\n{items}</ul>\n")
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
        "<li class=\"{class}\"><p class=\"kind\">{word}</p><div><p class=\"who\">{}{subject}</p><p>{}</p>{remedy}\
         </div></li>\n",
        escape(title(&finding.name)),
        escape(&finding.evidence)
    )
}
