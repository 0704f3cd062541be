//! One cost as a sentence for a reader who decides: what takes longer, by how much, and how sure it is.
//!
//! It says no more than the verdict allows: undecided costs are called so, and invalid ones have no figure.

use weighbridge_model::estimate::{Phrase, Verdict};
use weighbridge_model::summary::{Cost, Summary};

use crate::text::clean;
use crate::words;

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Fixed words, and figures.
    Words(String),
    /// A foreign name without control characters; not escaped for any format.
    Name(String),
    /// The change or verdict, to be emphasised.
    Strong(String),
}

struct SentenceParts {
    phrase: Phrase,
    variant: Piece,
    baseline: Piece,
    /// ` of getPerson at 64 B`, see [`place`].
    place: String,
}

/// `A typical request takes 20.9 % longer with go than with rust: +3.21 µs, 95 % interval [+3.09, +3.32].`
pub(crate) fn sentence(summary: &Summary, cost: &Cost) -> Vec<Piece> {
    let parts = SentenceParts {
        phrase: cost.quantity.phrase(),
        variant: Piece::Name(clean(&cost.variant)),
        baseline: Piece::Name(clean(words::baseline(summary, &cost.point))),
        place: place(summary, cost),
    };
    let (Some(difference), Some(ratio), true) = (&cost.difference, &cost.ratio, words::has_figures(cost))
    else {
        return unknown(parts, cost);
    };
    let shown = words::difference(cost.unit, difference);
    let figures = format!("{}{}", shown.point, interval(shown.interval));
    let change = words::change(ratio);
    let margin = summary.margin;
    match cost.verdict {
        Verdict::Higher | Verdict::Lower => differs(parts, cost.verdict, &change.point, &figures),
        Verdict::NoRelevantDifference => between(
            parts,
            "no relevant difference",
            &format!("{}, {figures}, within ±{margin}", change.point),
        ),
        _ => undecided(parts, &change, &format!("margin ±{margin}")),
    }
}

fn interval(ends: Option<String>) -> String {
    ends.map_or_else(String::new, |ends| format!(", 95 % interval {ends}"))
}

fn text(text: impl Into<String>) -> Piece {
    Piece::Words(text.into())
}

fn differs(parts: SentenceParts, verdict: Verdict, change: &str, figures: &str) -> Vec<Piece> {
    let Phrase { subject, verb, more, less, .. } = parts.phrase;
    let comparative = if verdict == Verdict::Higher { more } else { less };
    let size = change.trim_start_matches(['+', '-']);
    vec![
        text(format!("{subject} {verb} ")),
        Piece::Strong(format!("{size} {comparative}")),
        text(" with "),
        parts.variant,
        text(" than with "),
        parts.baseline,
        text(format!("{}: {figures}.", parts.place)),
    ]
}

fn between(parts: SentenceParts, verdict: &str, figures: &str) -> Vec<Piece> {
    vec![
        text("Between "),
        parts.variant,
        text(" and "),
        parts.baseline,
        text(" there is "),
        Piece::Strong(verdict.to_owned()),
        text(format!(" in {}{}: {figures}.", parts.phrase.thing, parts.place)),
    ]
}

fn undecided(parts: SentenceParts, change: &words::Shown, margin: &str) -> Vec<Piece> {
    let ends = change.interval.as_ref().map(|ends| format!("{ends} %"));
    vec![
        text(format!("Whether {}{} differs between ", parts.phrase.thing, parts.place)),
        parts.variant,
        text(" and "),
        parts.baseline,
        text(" is "),
        Piece::Strong("not decided".to_owned()),
        text(format!(": {}{}, {margin}.", change.point, interval(ends))),
    ]
}

fn unknown(parts: SentenceParts, cost: &Cost) -> Vec<Piece> {
    let reason = cost.reason.as_deref().map_or_else(|| cost.verdict.name().to_owned(), clean);
    vec![
        text(format!("Nothing can be said of {}{}, ", parts.phrase.thing, parts.place)),
        parts.variant,
        text(" against "),
        parts.baseline,
        text(format!(": {reason}.")),
    ]
}

/// ` of getPerson at 64 B`: the operation and the point, if there are several.
fn place(summary: &Summary, cost: &Cost) -> String {
    let mut place = String::new();
    if words::several_operations(summary) {
        let all = cost.operation == "all";
        place.push_str(&if all {
            " over all operations".to_owned()
        } else {
            format!(" of {}", clean(&cost.operation))
        });
    }
    let point = words::point(&cost.point);
    if !point.is_empty() {
        place.push_str(&format!(" at {point}"));
    }
    place
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_model::estimate::{Effect, Estimate, Quantity, Unit};

    fn flat(pieces: &[Piece]) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Words(text) | Piece::Name(text) | Piece::Strong(text) => text.clone(),
        };
        pieces.iter().map(text).collect()
    }

    fn estimate(point: f64, half: f64) -> Option<Estimate> {
        let (lower, upper) = (Some(point - half), Some(point + half));
        Some(Estimate { point, lower, upper, level: 0.95, blocks: 6, bootstrap: None })
    }

    fn cost(quantity: Quantity, verdict: Verdict) -> Cost {
        Cost {
            point: Default::default(),
            variant: "go\u{202e}".into(),
            operation: "pong".into(),
            quantity,
            unit: quantity.unit(),
            difference: estimate(3_200.0, 200.0),
            ratio: estimate(1.21, 0.01),
            verdict,
            effect: Some(Effect::Worse),
            reason: None,
            p: None,
            headline: true,
        }
    }

    fn summary(cost: &Cost) -> Summary {
        let text = r#"{"schema":1,"title":"","run":"","started":"","took_ns":0,"quick":false,"validity":"valid",
            "headline":"response_p50","margin":0.02,"blocks":{"used":6,"void":0,"min":6,"max":6},"goal":null,
            "conditions":[],"costs":[],"variants":[],"findings":[],"unavailable":[]}"#;
        let mut summary: Summary = serde_json::from_str(text).unwrap();
        summary.costs = vec![cost.clone()];
        summary
    }

    #[test]
    fn each_verdict_has_its_sentence() {
        for (verdict, sentence_of_it) in [
            (
                Verdict::Higher,
                "A typical request takes 21.0 % longer with go\\u{202e} than with baseline: +3.2 µs, 95 % interval \
                 [+3.0, +3.4].",
            ),
            (
                Verdict::NoRelevantDifference,
                "Between go\\u{202e} and baseline there is no relevant difference in the time of a typical request \
                 (p50): +21.0 %, +3.2 µs, 95 % interval [+3.0, +3.4], within ±2 %.",
            ),
            (
                Verdict::Undecided,
                "Whether the time of a typical request (p50) differs between go\\u{202e} and baseline is not decided: \
                 +21.0 %, 95 % interval [+20.0, +22.0] %, margin ±2 %.",
            ),
        ] {
            let cost = cost(Quantity::ResponseP50, verdict);
            assert_eq!(flat(&sentence(&summary(&cost), &cost)), sentence_of_it);
        }
    }

    #[test]
    fn what_cannot_be_used_has_no_figure() {
        let mut cost = cost(Quantity::Throughput, Verdict::Invalid);
        cost.reason = Some("the generator was the limit".into());
        assert_eq!(
            flat(&sentence(&summary(&cost), &cost)),
            "Nothing can be said of throughput, go\\u{202e} against baseline: the generator was the limit."
        );
        assert_eq!(cost.unit, Unit::PerSecond);
    }

    #[test]
    fn every_quantity_is_spoken_of() {
        for quantity in Quantity::ALL {
            let cost = cost(quantity, Verdict::Lower);
            let text = flat(&sentence(&summary(&cost), &cost));
            assert!(text.contains("21.0 % ") && text.ends_with('.'), "{text}");
        }
    }
}
