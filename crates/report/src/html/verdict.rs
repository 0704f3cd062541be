//! The verdict as sentences, at the top of the page.

use weighbridge_model::estimate::Verdict;
use weighbridge_model::gate::GateResult;
use weighbridge_model::summary::{Cost, Summary};

use super::escape::{attributes, escape, figure};
use super::gauge::Gauge;
use super::{quiet, sizes, tone_class};
use crate::plain::{self, Piece};
use crate::style::Tone;
use crate::{view, words};

/// Up to this many sentences are shown large.
const FEW: usize = 2;
/// From this many on, they have two columns if there is room.
const MANY: usize = 5;

/// One card per headline, and one line per unavailable variant.
pub(crate) fn section(summary: &Summary) -> String {
    let headlines: Vec<&Cost> = words::headlines(summary).collect();
    let gauge = Gauge::fitting(headlines.iter().copied(), summary.margin.get());
    let cards: String = headlines.iter().map(|cost| card(summary, cost, gauge)).collect();
    let unavailable = summary.unavailable.iter().map(|(name, reason)| {
        format!(
            "<p class=\"unavailable\"{}><b>{}</b> is unavailable: {}</p>\n",
            attributes(&[("variant", name)]),
            escape(name),
            escape(reason)
        )
    });
    let unavailable: String = unavailable.collect();
    if cards.is_empty() {
        return format!("{}{unavailable}", quiet("Nothing was compared: the run has one variant."));
    }
    let size = match headlines.len() {
        count if count <= FEW => "cards few",
        count if count < MANY => "cards",
        _ => "cards many",
    };
    format!("{}<ul class=\"{size}\">\n{cards}</ul>\n{unavailable}", sizes::advice_lines(summary))
}

/// Each gate with its figure and a mark.
pub(crate) fn gates(gates: &[GateResult]) -> String {
    let line = |gate: &GateResult| {
        let tone = tone_class(if gate.passed { Tone::Better } else { Tone::Problem });
        format!("<li class=\"{tone}\">{} {}</li>\n", gate.mark(), with_minus_signs(&gate.figure))
    };
    let lines: String = gates.iter().map(line).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("<ul class=\"gates\" aria-label=\"gates\">\n{lines}</ul>\n")
    }
}

fn card(summary: &Summary, cost: &Cost, gauge: Gauge) -> String {
    let change = cost.ratio.as_ref().filter(|_| words::has_figures(cost)).map(words::change);
    let (big, interval) =
        change.map_or_else(|| ("—".to_owned(), None), |change| (change.point, change.interval));
    let unit = if big.ends_with('%') { " %" } else { "" };
    let interval = interval.map(|ends| format!("{ends}{unit}"));
    let interval = interval.map(|ends| format!("<span class=\"interval\">{}</span>", figure(&ends)));
    let [least, most] = gauge.edges();
    let bar = gauge.bar(cost).map_or_else(String::new, |bar| {
        format!(
            "<div class=\"gauge\" aria-hidden=\"true\"><span>{least}</span>{bar}<span>{most}</span></div>"
        )
    });
    let reason = match (&cost.reason, words::has_figures(cost)) {
        (Some(reason), true) => format!(" <span class=\"reason\">{}</span>", escape(reason)),
        _ => String::new(),
    };
    format!(
        "<li class=\"card {}\"{}><p class=\"big\">{}{}</p><div><p class=\"plain\">{}</p>{bar}<p class=\"says\">{} {} \
         <span class=\"quiet\">{}</span>{reason}</p></div></li>\n",
        tone_class(words::tone(cost)),
        filter_attributes(cost),
        figure(&big),
        interval.unwrap_or_default(),
        sentence(summary, cost),
        glyph(cost),
        words::verdict(cost),
        super::label(cost.quantity),
    )
}

/// Attributes by which the page's script filters a cost.
pub(crate) fn filter_attributes(cost: &Cost) -> String {
    attributes(&[
        ("variant", &cost.variant),
        ("operation", &cost.operation),
        ("point", &words::point(&cost.point)),
    ])
}

fn sentence(summary: &Summary, cost: &Cost) -> String {
    let pieces = plain::sentence(summary, cost);
    let text = |piece: &Piece| match piece {
        Piece::Words(text) => with_minus_signs(text),
        Piece::Name(text) => format!("<b>{}</b>", escape(text)),
        Piece::Strong(text) => format!("<strong>{}</strong>", escape(text)),
    };
    pieces.iter().map(text).collect()
}

/// Escapes words with figures; a hyphen before a digit becomes a minus sign, others stay.
pub(crate) fn with_minus_signs(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let is_minus =
            c == '-' && out.ends_with([' ', '[']) && characters.peek().is_some_and(char::is_ascii_digit);
        out.push(if is_minus { '−' } else { c });
    }
    escape(&out)
}

/// A symbol beside the words, for quick reading.
pub(crate) const fn glyph(cost: &Cost) -> &'static str {
    match cost.verdict {
        Verdict::Higher => "▲",
        Verdict::Lower => "▼",
        Verdict::NoRelevantDifference => "≈",
        Verdict::Undecided => "?",
        Verdict::Invalid => "✕",
        Verdict::Withheld => "–",
    }
}

/// The title of the browser's tab: the run's, or that of the first of several.
pub(crate) fn page_title(summaries: &[&Summary]) -> String {
    match summaries {
        [] => "No run".to_owned(),
        [one] => one.title.clone(),
        [first, rest @ ..] => {
            let titles = view::distinct(summaries.iter().map(|summary| summary.title.as_str()));
            let others = if titles.len() == 1 { String::new() } else { " and others".to_owned() };
            format!("{}{others}: {} runs", first.title, rest.len() + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_minus_becomes_a_minus() {
        assert_eq!(
            with_minus_signs("in-process: -3.0 µs, [-4.0, -2.0]"),
            "in-process: −3.0\u{a0}µs, [−4.0, −2.0]"
        );
    }
}
