//! Runs as one self-contained page: the verdict first, then why to believe it, then charts, tables and facts.
//!
//! The markup alone says everything, in tables; the script, built from `web/` and embedded here, adds charts,
//! filters, sorting and links to a view. The page makes no network request: its content security policy
//! forbids them, and allows no other script. All text from outside this crate is escaped. The page is
//! designed for light and dark screens, paper and telephones.

mod capacity;
mod curves;
mod data;
mod environment;
pub(crate) mod escape;
mod factorial;
mod gauge;
mod goodput;
mod layering;
mod legs;
mod medians;
mod parts;
mod resources;
mod result_tables;
mod side_by_side;
mod sizes;
mod spread;
mod suite;
mod tables;
mod trust;
mod verdict;

use weighbridge_model::summary::Summary;

use crate::style::Tone;
use crate::text::counted;
use crate::words::label;
use crate::{Report, view, words};
pub(crate) use data::PageData;
use escape::{escape, escape_exactly, escape_lines};
pub use side_by_side::Comparison;
pub(crate) use trust::warnings;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HowToRepeat {
    pub command: String,
    /// The run folder, from which every figure can be recomputed.
    pub folder: String,
    pub seed: u64,
    /// The resolved experiment.
    pub experiment_toml: String,
}

pub(crate) const STYLE: &str = include_str!("../../../../web/dist/page.css");
const SCRIPT: &str = include_str!("../../../../web/dist/page.js");
/// `sha256-…` of the script, for the policy.
const SCRIPT_DIGEST: &str = include_str!("../../../../web/dist/page.js.digest");

/// The page of one or several runs. `comparisons` compare each later run with the first, in order.
pub fn page(reports: &[Report<'_>], comparisons: &[Comparison]) -> String {
    let overview =
        if reports.len() > 1 { side_by_side::section(reports, comparisons) } else { String::new() };
    document(reports, &overview)
}

/// The page of a suite: a list of its experiments and their findings, then the report of each.
pub fn suite_page(reports: &[Report<'_>]) -> String {
    document(reports, &suite::section(reports))
}

/// A page whose runs come after `overview`, the section about all of them.
fn document(reports: &[Report<'_>], overview: &str) -> String {
    let summaries: Vec<&Summary> = reports.iter().map(|report| report.summary).collect();
    let title = escape(&verdict::page_title(&summaries));
    let runs: String =
        reports.iter().enumerate().map(|(at, report)| run(at, reports.len(), report)).collect();
    let names = summaries.iter().map(|summary| escape(&summary.run)).collect::<Vec<_>>().join(", ");
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{}'; \
         style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n<div id=\"controls\"></div>\n\
         <main id=\"main\" tabindex=\"-1\">\n{overview}{runs}</main>\n<footer>Weighbridge · {names}</footer>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n<script>{SCRIPT}</script>\n</body>\n</html>\n",
        SCRIPT_DIGEST.trim(),
        data::embedded(reports),
    )
}

struct Section {
    id: &'static str,
    name: &'static str,
    content: String,
}

fn run(at: usize, runs: usize, report: &Report<'_>) -> String {
    // The first run's names have no suffix, so that `#trust` works in every page.
    let suffix = if at == 0 { String::new() } else { format!("-{}", at + 1) };
    let sections = sections(report);
    let links: String = sections
        .iter()
        .map(|section| format!("<a href=\"#{}{suffix}\">{}</a>\n", section.id, section.name))
        .collect();
    let body: String = sections
        .iter()
        .map(|Section { id, name, content }| {
            let hidden = if *id == "verdict" { " class=\"first\"" } else { "" };
            format!("<section id=\"{id}{suffix}\" data-part=\"{id}\"{hidden}>\n<h2>{name}</h2>\n{content}</section>\n")
        })
        .collect();
    let which =
        if runs > 1 { format!("<p class=\"which\">{}</p>\n", side_by_side::name(at)) } else { String::new() };
    format!(
        "<article class=\"run\" id=\"run-{0}\" data-run=\"{at}\">\n{which}{1}<nav aria-label=\"parts of run {0}\">{links}</nav>\n\
         {body}</article>\n",
        at + 1,
        header(report.summary),
    )
}

fn sections(report: &Report<'_>) -> Vec<Section> {
    let summary = report.summary;
    let details =
        |title: &str, content: String| format!("<details><summary>{title}</summary>\n{content}</details>\n");
    let costs = format!("{}{}", tables::verdicts(summary), spread::table(summary));
    let all = [
        ("verdict", "Verdict", format!("{}{}", verdict::section(summary), verdict::gates(report.gates))),
        ("trust", "Why to believe it", trust::section(summary)),
        ("capacity", "Capacity", capacity::section(summary)),
        ("costs", "Costs", format!("<div class=\"charts\"></div>\n{costs}")),
        ("layers", "What each layer adds", layering::section(summary)),
        ("factorial", "Framing and codec", factorial::section(summary)),
        (
            "latency",
            "Latency",
            format!(
                "<div class=\"charts\"></div>\n{}",
                details("Percentiles as a table", curves::table(report.detail))
            ),
        ),
        ("sizes", "Message sizes", sizes::section(summary, report.detail)),
        ("legs", "Where the time went", format!("{}{}", parts::section(summary), legs::section(summary))),
        (
            "resources",
            "Resources",
            format!(
                "<div class=\"charts\"></div>\n{}",
                details(
                    "Resources as a table",
                    format!("{}{}", resources::section(summary), goodput::section(summary))
                )
            ),
        ),
        ("tables", "Further results", result_tables::section(summary)),
        ("warnings", "Warnings", trust::other_warnings(summary)),
        (
            "figures",
            "All figures",
            details("Absolute figures with their intervals", tables::figures(summary)),
        ),
        (
            "environment",
            "Environment",
            details("Host, kernel, tools and services", environment::table(report.environment)),
        ),
        ("repeat", "How to repeat", repeat(summary, report.how)),
    ];
    // These sections are left out if they are empty; where rates are tried, times are of one rate only where all keep one.
    let is_some = |id: &str, content: &str| match id {
        "capacity" | "layers" | "factorial" | "sizes" | "legs" | "tables" => !content.is_empty(),
        "latency" => summary.capacities.is_empty() || !summary.common_rates.is_empty(),
        _ => true,
    };
    let shown = all.into_iter().filter(|(id, _, content)| is_some(id, content));
    shown.map(|(id, name, content)| Section { id, name, content }).collect()
}

/// Alarms in elements of this ARIA role.
pub(crate) fn alarms(summary: &Summary, role: &str) -> String {
    let alarm = |alarm: &words::Alarm| {
        let details: String = alarm.details.iter().map(|text| format!("<li>{}</li>", escape(text))).collect();
        let details = if details.is_empty() { details } else { format!("<ul>{details}</ul>") };
        format!("<div class=\"alarm\" role=\"{role}\"><p>{}</p>{details}</div>\n", escape(&alarm.line))
    };
    words::alarms(summary).iter().map(alarm).collect()
}

fn header(summary: &Summary) -> String {
    let quick = if summary.quick { " · <b>quick run: few blocks, short warm-up</b>" } else { "" };
    let facts = if words::is_imported(summary) {
        format!("imported {} · measured by another program, each series once", moment(&summary.started))
    } else {
        format!(
            "{} · took {} · {} · margin ±{}{quick}",
            moment(&summary.started),
            summary.took,
            counted(u64::from(summary.blocks.used), "block"),
            summary.margin
        )
    };
    // With one text per point, each is shown with its point's tables.
    let conditions: String =
        if view::points(summary).len() > 1 && view::points(summary).len() == summary.conditions.len() {
            String::new()
        } else {
            summary
                .conditions
                .iter()
                .map(|text| format!("<p class=\"condition\">{}</p>\n", escape(text)))
                .collect()
        };
    format!(
        "<header>\n{}<h1>{}</h1>\n{conditions}<p class=\"quiet\">{facts}</p>\n</header>\n",
        alarms(summary, "note"),
        escape(&summary.title)
    )
}

/// A time in UTC, which the page's script shows in the reader's time zone.
pub(crate) fn moment(rfc3339: &str) -> String {
    format!("<time datetime=\"{}\">{}</time>", escape_exactly(rfc3339), escape(rfc3339))
}

fn repeat(summary: &Summary, how: &HowToRepeat) -> String {
    if words::is_imported(summary) {
        return format!(
            "<p>Another program measured this, and what it was told is not known here: it cannot be repeated from this record. \
             For intervals and verdicts measure the alternatives in one experiment; <code>weigh init</code> writes one.</p>\n\
             <dl><dt>run folder</dt><dd><code>{}</code></dd></dl>\n",
            escape(&how.folder)
        );
    }
    format!(
        "<pre><code>{}</code></pre>\n<dl><dt>run folder</dt><dd><code>{}</code></dd><dt>seed</dt><dd>{}</dd></dl>\n\
         <details><summary>The experiment as resolved</summary>\n<pre><code>{}</code></pre></details>\n",
        escape_lines(&how.command),
        escape(&how.folder),
        how.seed,
        escape_lines(&how.experiment_toml)
    )
}

/// A paragraph in a lighter colour; `text` must be escaped.
fn quiet(text: &str) -> String {
    format!("<p class=\"quiet\">{text}</p>\n")
}

/// The CSS class of a tone.
pub(crate) const fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain | Tone::Secondary | Tone::Strong => "same",
        Tone::Better => "better",
        Tone::Worse => "worse",
        Tone::Undecided => "undecided",
        Tone::Problem => "problem",
    }
}

/// Capitalises the first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", characters.as_str())
}
