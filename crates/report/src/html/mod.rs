//! One run as one self-contained page: verdicts first, then why to believe them, then the charts and the tables.
//!
//! The page holds no script and asks nothing of any network; its content security policy forbids both. All text that
//! is not written in this crate is escaped. It is meant to be read in light, in dark, on paper and on a telephone.

mod axis;
mod curves;
mod environment;
pub(crate) mod escape;
mod forest;
mod legs;
mod resources;
mod svg;
mod tables;
mod trust;
mod windows;

use serde_json::Value;
use weighbridge_model::summary::{Detail, Quantity, Summary};

use crate::style::Tone;
use crate::text::counted;
use crate::{view, words};
use escape::{escape, escape_lines};

/// What a reader needs to do the run again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HowToRepeat {
    /// The exact command.
    pub command: String,
    /// The run folder, where every figure can be recomputed from.
    pub folder: String,
    /// The seed of all randomness.
    pub seed: u64,
    /// The experiment as resolved.
    pub experiment_toml: String,
}

pub(crate) const STYLE: &str = include_str!("style.css");
/// Colours of variants; later ones begin again.
const SERIES: usize = 7;

/// The whole page.
pub fn html(summary: &Summary, detail: &Detail, environment: &Value, how: &HowToRepeat) -> String {
    let title = escape(&summary.title);
    let sections = [
        ("verdicts", "Verdicts", format!("{}{}", tables::headlines(summary), tables::verdicts(summary))),
        ("costs", "Costs", format!("{}{}", forest_lead(), forest::plots(summary))),
        ("trust", "Why to believe it", trust::section(summary)),
        ("percentiles", "Percentiles", curves::charts(summary, detail)),
        ("legs", "Where the time went", legs::section(summary)),
        ("windows", "Windows over time", windows::charts(summary, detail)),
        ("resources", "Resources", resources::section(summary)),
        ("environment", "Environment", environment::table(environment)),
        ("warnings", "Warnings", trust::warnings(summary)),
        ("repeat", "How to repeat", repeat(how)),
    ];
    // Only some runs ask the kernel for time stamps.
    let sections = sections.into_iter().filter(|(id, _, content)| *id != "legs" || !content.is_empty());
    let sections: Vec<_> = sections.collect();
    let links = sections.iter().map(|(id, name, _)| format!("<a href=\"#{id}\">{name}</a>"));
    let body = sections
        .iter()
        .map(|(id, name, content)| format!("<section id=\"{id}\">\n<h2>{name}</h2>\n{content}</section>\n"));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n\
         </head>\n<body>\n{}<nav aria-label=\"sections\">{}</nav>\n<main>\n{}</main>\n\
         <footer>Weighbridge · run {}</footer>\n</body>\n</html>\n",
        header(summary),
        links.collect::<Vec<_>>().join("\n"),
        body.collect::<String>(),
        escape(&summary.run),
    )
}

fn header(summary: &Summary) -> String {
    let alarms: String = words::alarms(summary)
        .iter()
        .map(|alarm| {
            let of: String = alarm.of.iter().map(|text| format!("<li>{}</li>", escape(text))).collect();
            let of = if of.is_empty() { of } else { format!("<ul>{of}</ul>") };
            format!("<div class=\"alarm\" role=\"alert\"><p>{}</p>{of}</div>\n", escape(&alarm.line))
        })
        .collect();
    let quick = if summary.quick { " · <b>quick run: few blocks, short warm-up</b>" } else { "" };
    let facts = format!(
        "{} · took {} · {} · margin ±{}{quick}",
        escape(&summary.started),
        summary.took,
        counted(u64::from(summary.blocks.used), "block"),
        summary.margin
    );
    // Where there is one text per point, it stands above that point's tables.
    let conditions: String = if view::points(summary).len() == summary.conditions.len() {
        String::new()
    } else {
        summary
            .conditions
            .iter()
            .map(|text| format!("<p class=\"condition\">{}</p>\n", escape(text)))
            .collect()
    };
    format!(
        "<header>\n{alarms}<h1>{}</h1>\n<p class=\"quiet\">{facts}</p>\n{conditions}</header>\n",
        escape(&summary.title)
    )
}

const fn forest_lead() -> &'static str {
    "<p class=\"quiet\">Dots are estimates, whiskers their 95 % intervals; the shaded band is the margin of relevance. \
     Larger dots are the headline.</p>\n"
}

fn repeat(how: &HowToRepeat) -> String {
    format!(
        "<pre><code>{}</code></pre>\n<dl><dt>run folder</dt><dd><code>{}</code></dd><dt>seed</dt><dd>{}</dd></dl>\n\
         <h3>The experiment as resolved</h3>\n<pre><code>{}</code></pre>\n",
        escape_lines(&how.command),
        escape(&how.folder),
        how.seed,
        escape_lines(&how.experiment_toml)
    )
}

/// A drawing with its heading and what stands below it.
fn figure_element(title: &str, drawing: &str, below: &str) -> String {
    format!(
        "<figure><figcaption>{}</figcaption><div class=\"scroll\">{drawing}</div>{below}</figure>\n",
        escape(title)
    )
}

/// A line of less weight; `text` is written in this crate.
fn quiet(text: &str) -> String {
    format!("<p class=\"quiet\">{text}</p>\n")
}

/// The class of a variant's colour: the same in every chart.
fn series(summary: &Summary, variant: &str) -> String {
    let at = view::variant_names(summary).iter().position(|name| *name == variant).unwrap_or(0);
    format!("s{}", at % SERIES)
}

/// Names of variants beside their colours.
fn legend(summary: &Summary, names: &[&str]) -> String {
    let items: String = names
        .iter()
        .map(|name| format!("<li class=\"{}\">{}</li>", series(summary, name), escape(name)))
        .collect();
    format!("<ul class=\"legend\">{items}</ul>\n")
}

/// The class that colours a meaning.
pub(crate) const fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain | Tone::Strong => "same",
        Tone::Better => "better",
        Tone::Worse => "worse",
        Tone::Undecided => "undecided",
        Tone::Problem => "problem",
    }
}

/// A quantity's name in running text.
fn label(quantity: Quantity) -> String {
    quantity.label().replace("cpu", "CPU")
}

/// `text` with its first letter large, for the head of a sentence or a chart.
pub(crate) fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", characters.as_str())
}
