//! One cost as a sentence for a reader who decides: what takes longer, by how much, and how sure it is.
//!
//! It says no more than the verdict allows: undecided costs are called so, and invalid ones have no figure.

use weighbridge_model::estimate::{Phrase, Quantity, Statistic, Verdict};
use weighbridge_model::summary::{Cost, Summary};

use crate::text::clean;
use crate::{capacity, words};

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

/// `A typical request takes 20.9 % longer with go than with rust: +3.21 µs, 95 % interval [+20.2, +21.6] %.`
pub(crate) fn sentence(summary: &Summary, cost: &Cost) -> Vec<Piece> {
    let parts = SentenceParts {
        phrase: cost.quantity.phrase(),
        variant: Piece::Name(clean(&cost.variant)),
        baseline: Piece::Name(clean(words::baseline(summary, &cost.point))),
        place: place(summary, cost),
    };
    let (Some(difference), true) = (&cost.difference, words::has_figures(cost)) else {
        return limits(summary, cost).unwrap_or_else(|| unknown(parts, cost));
    };
    let shown = words::difference(cost.unit, difference);
    let (change, difference, margin) = match &cost.ratio {
        Some(ratio) => (words::change(ratio), Some(shown.point), summary.margin),
        // The difference of two shares is the change.
        None => (shown, None, summary.share_margin.unwrap_or(summary.margin)),
    };
    let margin = words::plus_minus(cost.quantity, margin);
    match cost.verdict {
        Verdict::Higher | Verdict::Lower => differs(parts, cost.verdict, &change, difference.as_deref()),
        Verdict::NoRelevantDifference => {
            let difference = difference.map_or_else(String::new, |difference| format!(", {difference}"));
            let figures = format!("{}{}{difference}, within {margin}", change.point, interval(&change));
            between(parts, "no relevant difference", &figures)
        }
        _ => undecided(parts, &change, &margin_or_reason(cost, &margin)),
    }
}

/// `, 95 % interval [+20.2, +21.6] %`; a factor's ends need no unit.
fn interval(change: &words::Shown) -> String {
    let unit = [" %", " pp"].into_iter().find(|unit| change.point.ends_with(unit)).unwrap_or_default();
    let ends = change.interval.as_ref();
    ends.map_or_else(String::new, |ends| format!(", 95 % interval {ends}{unit}"))
}

/// The sentence without emphasis.
pub(crate) fn spoken(summary: &Summary, cost: &Cost) -> String {
    let pieces = sentence(summary, cost);
    pieces.iter().map(|(Piece::Words(text) | Piece::Name(text) | Piece::Strong(text))| &**text).collect()
}

/// One line where other statistics of the same times change otherwise than the headline: by more than the margin beyond its
/// interval, or with the opposite verdict. `None` where they agree, and where the headline is no time.
pub(crate) fn other_statistics(summary: &Summary, cost: &Cost) -> Option<String> {
    let headline = cost.quantity;
    if headline.statistic() == Statistic::Other || !words::has_figures(cost) {
        return None;
    }
    let (lower, upper) = cost.ratio?.interval()?;
    let margin = 1.0 + summary.margin.get();
    let moves_otherwise = |other: &&Cost| {
        let is_beside = (&other.point, &other.variant, &other.operation)
            == (&cost.point, &cost.variant, &cost.operation)
            && other.quantity.is_response() == headline.is_response();
        let is_time = other.quantity.statistic() != Statistic::Other;
        let apart = |(low, high): (f64, f64)| low > upper * margin || high * margin < lower;
        let interval = other.ratio.and_then(|ratio| ratio.interval());
        let verdicts = [cost.verdict, other.verdict];
        let is_opposite = verdicts.contains(&Verdict::Higher) && verdicts.contains(&Verdict::Lower);
        is_beside && is_time && words::has_figures(other) && (is_opposite || interval.is_some_and(apart))
    };
    let changes = summary.costs.iter().filter(moves_otherwise).map(|other| {
        let name = words::label(other.quantity).replace("response ", "").replace("service ", "");
        let words::Shown { point, interval } = other.ratio.as_ref().map(words::change)?;
        Some(format!("{name} {point}{}", interval.map(|both| format!(" {both}")).unwrap_or_default()))
    });
    let changes: Vec<String> = changes.flatten().collect();
    (!changes.is_empty()).then(|| format!("Other statistics change differently: {}.", changes.join(", ")))
}

fn text(text: impl Into<String>) -> Piece {
    Piece::Words(text.into())
}

fn differs(
    parts: SentenceParts,
    verdict: Verdict,
    change: &words::Shown,
    difference: Option<&str>,
) -> Vec<Piece> {
    let Phrase { subject, verb, more, less, .. } = parts.phrase;
    let comparative = if verdict == Verdict::Higher { more } else { less };
    let size = change.point.trim_start_matches(['+', '-']);
    let strong = match size.starts_with('×') {
        // "× 3.02 longer" could be read as four times as long.
        true => comparative.to_owned(),
        false => format!("{size} {comparative}"),
    };
    let figures = match difference {
        Some(difference) if size.starts_with('×') => format!("{size}{}, {difference}", interval(change)),
        Some(difference) => format!("{difference}{}", interval(change)),
        None => format!("{}{}", change.point, interval(change)),
    };
    vec![
        text(format!("{subject} {verb} ")),
        Piece::Strong(strong),
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

/// Without an interval, the reason is why there is none.
fn margin_or_reason(cost: &Cost, margin: &str) -> String {
    let has_interval = cost.ratio.or(cost.difference).is_some_and(|change| change.interval().is_some());
    match cost.reason.as_deref().filter(|_| !has_interval) {
        Some(reason) => clean(reason),
        None => format!("margin {margin}"),
    }
}

fn undecided(parts: SentenceParts, change: &words::Shown, margin: &str) -> Vec<Piece> {
    vec![
        text(format!("Whether {}{} differs between ", parts.phrase.thing, parts.place)),
        parts.variant,
        text(" and "),
        parts.baseline,
        text(" is "),
        Piece::Strong("undecided".to_owned()),
        text(format!(": {}{}, {margin}.", change.point, interval(change))),
    ]
}

/// Where there is only a limit of a capacity, the limit is the answer.
fn limits(summary: &Summary, cost: &Cost) -> Option<Vec<Piece>> {
    if cost.quantity != Quantity::Capacity || cost.verdict != Verdict::Withheld {
        return None;
    }
    let names = [&cost.variant[..], words::baseline(summary, &cost.point)];
    let limits = capacity::limits(summary, &cost.point, names)?;
    let point = words::point(&cost.point);
    let point = if point.is_empty() { point } else { format!(", at {point}") };
    Some(vec![Piece::Strong(limits), text(format!("{point}."))])
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
    use weighbridge_model::estimate::{Effect, Estimate, Unit};
    use weighbridge_model::quantity::Ratio;

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
                 [+20.0, +22.0] %.",
            ),
            (
                Verdict::NoRelevantDifference,
                "Between go\\u{202e} and baseline there is no relevant difference in the time of a typical request \
                 (p50): +21.0 %, 95 % interval [+20.0, +22.0] %, +3.2 µs, within ±2 %.",
            ),
            (
                Verdict::Undecided,
                "Whether the time of a typical request (p50) differs between go\\u{202e} and baseline is undecided: \
                 +21.0 %, 95 % interval [+20.0, +22.0] %, margin ±2 %.",
            ),
        ] {
            let cost = cost(Quantity::ResponseP50, verdict);
            assert_eq!(spoken(&summary(&cost), &cost), sentence_of_it);
        }
    }

    #[test]
    fn statistics_that_change_otherwise_are_told_beside_the_headline() {
        let of = |quantity, point| Cost {
            ratio: estimate(point, 0.01),
            headline: quantity == Quantity::ResponseMean,
            ..cost(quantity, Verdict::Higher)
        };
        let headline = of(Quantity::ResponseMean, 1.58);
        let mut summary = summary(&headline);
        let alike = of(Quantity::ResponseP90, 1.60);
        summary.costs = vec![headline.clone(), alike];
        assert_eq!(other_statistics(&summary, &headline), None, "within 2 % of the interval");
        let elsewhere = Cost { operation: "ping".to_owned(), ..of(Quantity::ResponseP99, 0.09) };
        let sent_later = of(Quantity::ServiceP50, 9.0);
        summary.costs.extend([elsewhere, sent_later]);
        assert_eq!(other_statistics(&summary, &headline), None);
        summary.costs.extend([of(Quantity::ResponseP50, 2.26), of(Quantity::ResponseP99, 0.09)]);
        assert_eq!(
            other_statistics(&summary, &headline).as_deref(),
            Some(
                "Other statistics change differently: p50 +126.0 % [+125.0, +127.0], p99 -91.0 % [-92.0, -90.0]."
            )
        );
        let slightly = of(Quantity::ResponseMean, 1.012);
        let the_other_way = Cost { verdict: Verdict::Lower, ..of(Quantity::ResponseP95, 0.988) };
        summary.costs = vec![slightly.clone(), the_other_way];
        let said = other_statistics(&summary, &slightly).expect("2.4 % apart, with opposite verdicts");
        assert!(said.starts_with("Other statistics change differently: p95 -1.2 %"), "{said}");
        let throughput = of(Quantity::Throughput, 0.5);
        assert_eq!(other_statistics(&summary, &throughput), None);
    }

    #[test]
    fn what_cannot_be_used_has_no_figure() {
        let mut cost = cost(Quantity::Throughput, Verdict::Invalid);
        cost.reason = Some("the generator was the limit".into());
        assert_eq!(
            spoken(&summary(&cost), &cost),
            "Nothing can be said of throughput, go\\u{202e} against baseline: the generator was the limit."
        );
        assert_eq!(cost.unit, Unit::PerSecond);
    }

    #[test]
    fn of_shares_the_difference_is_told_in_percentage_points() {
        let (difference, unit) = (estimate(0.0123, 0.0021), Unit::Share);
        for (verdict, sentence_of_it) in [
            (
                Verdict::Higher,
                "A lookup hits 1.2 pp more often with go\\u{202e} than with baseline: +1.2 pp, 95 % interval [+1.0, +1.4] pp.",
            ),
            (
                Verdict::NoRelevantDifference,
                "Between go\\u{202e} and baseline there is no relevant difference in the hit rate: +1.2 pp, 95 % \
                 interval [+1.0, +1.4] pp, within ±1 pp.",
            ),
            (
                Verdict::Undecided,
                "Whether the hit rate differs between go\\u{202e} and baseline is undecided: +1.2 pp, 95 % interval \
                 [+1.0, +1.4] pp, margin ±1 pp.",
            ),
        ] {
            let cost = Cost { difference, unit, ratio: None, ..cost(Quantity::HitRate, verdict) };
            let summary = Summary { share_margin: Some(Ratio::new(0.01)), ..summary(&cost) };
            assert_eq!(spoken(&summary, &cost), sentence_of_it);
        }
    }

    #[test]
    fn every_quantity_is_spoken_of() {
        for quantity in Quantity::ALL {
            let cost = cost(quantity, Verdict::Lower);
            let text = spoken(&summary(&cost), &cost);
            assert!(text.contains("21.0 % ") && text.ends_with('.'), "{text}");
        }
    }
}
