//! The variance components of each headline cost, and what would narrow its interval, as a table.

use weighbridge_model::quantity::Ratio;
use weighbridge_model::summary::{Source, Spread, Summary};

use super::escape::{attributes, escape, figure};
use super::tables::number;
use crate::words;

pub(crate) fn table(summary: &Summary) -> String {
    if summary.spread.is_empty() {
        return String::new();
    }
    format!(
        "<details><summary>Where the spread comes from</summary>\n<div class=\"scroll\"><table class=\"sortable\"><caption>\
         Standard deviations of each headline cost, and what more blocks or rounds would do</caption><thead><tr>\
         <th scope=\"col\">variant</th><th scope=\"col\">of</th><th scope=\"col\" class=\"n\">from start to start</th>\
         <th scope=\"col\" class=\"n\">from round to round</th><th scope=\"col\">most comes from</th><th scope=\"col\">advice</th>\
         </tr></thead><tbody>\n{}</tbody></table></div></details>\n",
        summary.spread.iter().map(row).collect::<String>()
    )
}

fn row(spread: &Spread) -> String {
    let source = match spread.dominates {
        Source::Starts => "starts: more blocks help",
        Source::Rounds => "rounds: more rounds help",
        Source::Neither => "neither for certain",
    };
    let advice = spread.advice.map_or_else(
        || "–".to_owned(),
        |advice| {
            format!(
                "{} blocks of {} rounds: ±{} instead of ±{} in the same time",
                advice.blocks, advice.rounds, advice.then, advice.now
            )
        },
    );
    let deviation = |ratio: Ratio| {
        format!("<td class=\"n\"{}>{}</td>", number(Some(ratio.get())), figure(&ratio.to_string()))
    };
    format!(
        "<tr{}><th scope=\"row\">{}</th><td>{}</td>{}{}<td>{source}</td><td>{}</td></tr>\n",
        attributes(&[("variant", &spread.variant), ("point", &words::point(&spread.point))]),
        escape(&words::subject(&spread.variant, &spread.point)),
        super::label(spread.quantity),
        deviation(spread.start),
        deviation(spread.round),
        escape(&advice)
    )
}
