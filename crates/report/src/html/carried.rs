//! True throughput by variant and size, and what each role of a variant used: tables for each point.

use weighbridge_model::summary::Summary;

use super::escape::{attributes, escape, figure};
use crate::carried::{CARRIED, CarriedRow, ROLES, carried, roles};
use crate::{view, words};

/// The tables; empty where nothing is known of either.
pub(crate) fn section(summary: &Summary) -> String {
    let mut text = String::new();
    for point in view::points(summary) {
        let of = words::point(point.label);
        let said = "Bytes carried per second of the windows’ time; shares of sizes add up to the variant’s";
        text.push_str(&table(said, "sizes", &of, &CARRIED, &carried(summary, point.label, usize::MAX)));
        text.push_str(&table(
            "CPU per request and memory by role",
            "role",
            &of,
            &ROLES,
            &roles(summary, point.label),
        ));
    }
    text
}

fn table(caption: &str, part: &str, point: &str, heads: &[&str], rows: &[CarriedRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let of = if point.is_empty() { String::new() } else { format!(", {}", escape(point)) };
    let heads: String =
        heads.iter().map(|head| format!("<th scope=\"col\" class=\"n\">{head}</th>")).collect();
    let row = |row: &CarriedRow| {
        let filter = attributes(&[("variant", &row.variant), ("point", point)]);
        let cells: String =
            row.cells.iter().map(|cell| format!("<td class=\"n\">{}</td>", figure(cell))).collect();
        let (variant, part) = (escape(&row.variant), escape(&row.part));
        format!("<tr{filter}><th scope=\"row\">{variant}</th><td>{part}</td>{cells}</tr>\n")
    };
    format!(
        "<div class=\"scroll\"{}><table><caption>{caption}{of}</caption><thead><tr><th scope=\"col\">variant</th>\
         <th scope=\"col\">{part}</th>{heads}</tr></thead><tbody>\n{}</tbody></table></div>\n",
        attributes(&[("point", point)]),
        rows.iter().map(row).collect::<String>()
    )
}
