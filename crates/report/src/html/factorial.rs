//! What framing and codec cost: a heat map of all cells with the main effects at its margins, and where the two do not
//! add up.

use weighbridge_model::factorial::{Factorial, FactorialTable, MainEffect};
use weighbridge_model::summary::Summary;

use super::escape::{attributes, escape, figure, suffix};
use super::{quiet, tone_class};
use crate::{factorial, words};

const READING: &str = "Each cell is a variant’s own figure, shaded from the lowest to the highest. The margins are what a framing \
                       costs more than the first on average over codecs, and a codec on average over framings, with 95 % \
                       intervals over blocks.";

pub(crate) fn section(summary: &Summary) -> String {
    if summary.factorials.is_empty() {
        return String::new();
    }
    let maps = summary.factorials.iter().map(|one| maps(summary, one));
    format!("{}{}", quiet(READING), maps.collect::<String>())
}

fn maps(summary: &Summary, one: &Factorial) -> String {
    let tables = factorial::tables(summary, one);
    let maps: String = tables.into_iter().map(|table| map(one, table)).collect();
    let reason = one.reason.as_ref().map(|reason| quiet(&escape(&format!("{}: {reason}", one.of))));
    format!("{maps}{}", reason.unwrap_or_default())
}

fn map(one: &Factorial, table: &FactorialTable) -> String {
    let point = words::point(&one.point);
    let filter = attributes(&[("point", &point)]);
    let heads: String = one.codecs.iter().map(|codec| head("col", codec)).collect();
    let margin = |effects: &[MainEffect], at: usize| match at.checked_sub(1).and_then(|at| effects.get(at)) {
        Some(effect) => margin(table, effect),
        None => "<td></td>".to_owned(),
    };
    let (heat, shown) = (Heat::of(table), factorial::figures(table));
    let row = |(at, framing): (usize, &String)| {
        let figures = table.figures[at].iter().zip(&shown[at]);
        let cells: String = figures
            .map(|(value, shown)| {
                let heat = heat.share(value.point);
                format!("<td class=\"heat n\" style=\"--heat:{heat:.0}%\">{}</td>", figure(&shown.point))
            })
            .collect();
        format!("<tr>{}{cells}{}</tr>\n", head("row", framing), margin(&table.framings, at))
    };
    let rows: String = one.framings.iter().enumerate().map(row).collect();
    let last: String = (0..one.codecs.len()).map(|at| margin(&table.codecs, at)).collect();
    let said = std::iter::once(factorial::additivity(table)).chain(factorial::parts(one, table));
    format!(
        "<div class=\"scroll\"{filter}><table class=\"factorial\"><caption>{}{}</caption><thead><tr><td></td>{heads}\
         <th scope=\"col\">the framing adds</th></tr></thead><tbody>\n{rows}<tr><th scope=\"row\">the codec adds</th>{last}\
         <td></td></tr></tbody></table></div>\n{}",
        escape(&factorial::title(one, table)),
        suffix(&point),
        said.map(|text| quiet(&escape(&text))).collect::<String>(),
    )
}

fn head(scope: &str, name: &str) -> String {
    format!("<th scope=\"{scope}\">{}</th>", escape(name))
}

/// What a framing or a codec costs more than the first.
fn margin(table: &FactorialTable, effect: &MainEffect) -> String {
    let [difference, change, verdict] = factorial::effect_cells(table, effect);
    let interval = change.interval.map(|text| format!(" <span class=\"interval\">{}</span>", figure(&text)));
    format!(
        "<td class=\"says {}\" title=\"{}, {}\">{}{}<br>{}</td>",
        tone_class(words::tone_of(effect.verdict, effect.effect)),
        escape(&factorial::effect_name(effect)),
        escape(&difference.point),
        figure(&change.point),
        interval.unwrap_or_default(),
        escape(&verdict.point)
    )
}

/// The range of a table's figures.
struct Heat {
    lowest: f64,
    highest: f64,
}

impl Heat {
    fn of(table: &FactorialTable) -> Self {
        let points = || table.figures.iter().flatten().map(|figure| figure.point);
        let (lowest, highest) =
            (points().fold(f64::INFINITY, f64::min), points().fold(f64::NEG_INFINITY, f64::max));
        Self { lowest, highest }
    }

    /// Where a figure lies in the range, in percent.
    fn share(&self, value: f64) -> f64 {
        let range = self.highest - self.lowest;
        if range > 0.0 { 100.0 * (value - self.lowest) / range } else { 0.0 }
    }
}
