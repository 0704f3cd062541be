//! What each layer adds, as tables below its chart: chains, sum checks, interactions with factors, slopes
//! over size.

use std::collections::BTreeSet;

use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::PointLabel;
use weighbridge_model::layering::{Additivity, Chain, SumCheck, SumRow};
use weighbridge_model::summary::Summary;

use super::escape::{attributes, escape, figure, suffix};
use super::{capital, quiet};
use crate::words::{self, Shown};
use crate::{layering, view};

const READING: &str = "Tables are with 95 % intervals over blocks. A table’s first line is what its variant takes, its last one \
                       the last variant against the first.";

pub(crate) fn section(summary: &Summary) -> String {
    if summary.layering.is_empty() {
        return String::new();
    }
    let quantities = layering::quantities(summary);
    let mut text = String::from("<div class=\"charts\"></div>\n");
    if !summary.layering.chains.is_empty() {
        text.push_str(&quiet(READING));
    }
    for point in view::points(summary) {
        // Chains share their first stages, so a note may come again.
        let mut shown = BTreeSet::new();
        for chain in layering::at(summary, point.label) {
            text.push_str(&chain_table(chain, &quantities));
            let reasons = layering::reasons(chain, &quantities).into_iter();
            let new: Vec<String> = reasons.filter(|reason| shown.insert(reason.clone())).collect();
            if !new.is_empty() {
                text.push_str(&quiet(&escape(&new.join("; "))));
            }
        }
        for check in layering::sums_at(summary, point.label) {
            text.push_str(&sum_table(check));
        }
    }
    text.push_str(&factors(summary));
    text.push_str(&slopes(summary));
    text
}

/// The attribute by which the page's script filters, and the suffix of a caption.
fn filter_and_suffix(point: &PointLabel) -> (String, String) {
    let point = words::point(point);
    (attributes(&[("point", &point)]), suffix(&point))
}

fn chain_table(chain: &Chain, quantities: &[Quantity]) -> String {
    let (filter, suffix) = filter_and_suffix(&chain.point);
    let heads: String =
        quantities.iter().map(|quantity| column(&capital(&layering::head(*quantity)))).collect();
    let rows: String = layering::rows(chain, quantities)
        .iter()
        .map(|row| {
            let cells: String = row.cells.iter().map(cell).collect();
            let variant = format!(" title=\"{}\"", escape(&row.variant));
            let strong = if row.name.starts_with('=') { " class=\"headline\"" } else { "" };
            format!(
                "<tr{strong}><th scope=\"row\"{variant}>{}</th>{cells}</tr>\n",
                escape(&row.name.replacen(' ', "\u{a0}", 1))
            )
        })
        .collect();
    format!(
        "<div class=\"scroll\"{filter}><table class=\"layers\"><caption>{}{suffix}</caption><thead><tr><th scope=\"col\">layer</th>\
         {heads}</tr></thead><tbody>\n{rows}</tbody></table></div>\n",
        escape(&layering::title(chain))
    )
}

fn column(name: &str) -> String {
    format!("<th scope=\"col\" class=\"n\">{}</th>", escape(name))
}

fn cell(shown: &Shown) -> String {
    let interval = shown.interval.as_ref();
    let interval = interval.map(|text| format!(" <span class=\"interval\">{}</span>", figure(text)));
    format!("<td class=\"n\">{}{}</td>", figure(&shown.point), interval.unwrap_or_default())
}

fn sum_table(check: &SumCheck) -> String {
    let (filter, suffix) = filter_and_suffix(&check.point);
    let heads = layering::sum_heads(check);
    let (verdict, figures) =
        heads.split_last().map_or(("", &heads[..]), |(last, rest)| (last.as_str(), rest));
    let heads: String = figures.iter().map(|name| column(name)).collect();
    let row = |row: &SumRow| {
        let cells = layering::sum_cells(row);
        let (verdict, figures) = cells.split_last().expect("the last cell is the verdict");
        format!(
            "<tr><th scope=\"row\">{}</th>{}<td class=\"says {}\">{}</td></tr>\n",
            super::label(row.quantity),
            figures.iter().map(cell).collect::<String>(),
            tone(row.verdict),
            escape(&verdict.point)
        )
    };
    let rows: String = check.rows.iter().map(row).collect();
    let table = format!(
        "<div class=\"scroll\"><table class=\"sums\"><caption>The interaction is what all cost together less what they cost one \
         by one; where its interval lies within the margin the two agree.</caption><thead><tr><th scope=\"col\">quantity</th>\
         {heads}<th scope=\"col\">{verdict}</th></tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    );
    let unchecked = layering::unchecked(check);
    format!(
        "<details{filter}><summary>Do single layers add up? {}{suffix}</summary>\n{}{}</details>\n",
        escape(&layering::sum_title(check)),
        if rows.is_empty() { "" } else { &table },
        if unchecked.is_empty() { String::new() } else { quiet(&escape(&unchecked.join("; "))) }
    )
}

const fn tone(verdict: Additivity) -> &'static str {
    match verdict {
        Additivity::Agrees => "same",
        Additivity::Interaction => "worse",
        Additivity::Undecided => "undecided",
    }
}

fn factors(summary: &Summary) -> String {
    let rows: String = summary
        .layering
        .interactions
        .iter()
        .map(|one| {
            let (name, [words @ .., difference, verdict]) = layering::factor_cells(one);
            format!(
                "<tr><th scope=\"row\">{}</th>{}{}<td class=\"says {}\">{}</td></tr>\n",
                escape(&name),
                texts(&words),
                cell(&difference),
                tone(one.verdict),
                escape(&verdict.point)
            )
        })
        .collect();
    let heads: String =
        layering::FACTORS.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    folded("Does a layer’s cost depend on a factor?", "layer", &heads, &rows)
}

fn slopes(summary: &Summary) -> String {
    let rows: String = summary
        .layering
        .slopes
        .iter()
        .map(|slope| {
            let (name, [words @ .., per_operation, per_byte]) = layering::slope_cells(slope);
            format!(
                "<tr><th scope=\"row\">{}</th>{}{}{}</tr>\n",
                escape(&name),
                texts(&words),
                cell(&per_operation),
                cell(&per_byte)
            )
        })
        .collect();
    let heads: String =
        layering::SLOPES.iter().map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    folded("What a layer costs per operation and per byte", "layer", &heads, &rows)
}

fn texts(words: &[Shown]) -> String {
    words.iter().map(|word| format!("<td>{}</td>", escape(&word.point))).collect()
}

fn folded(name: &str, first: &str, heads: &str, rows: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<details><summary>{name}</summary>\n<div class=\"scroll\"><table class=\"factors\"><thead><tr><th scope=\"col\">\
         {first}</th>{heads}</tr></thead><tbody>\n{rows}</tbody></table></div></details>\n"
    )
}
