//! Goodput by variant and size, and CPU and memory by role, as tables of each point.

use weighbridge_model::summary::Summary;

use super::escape::{attributes, escape, figure, suffix};
use crate::goodput::{GOODPUT, ROLES, UsageRow, goodput, roles};
use crate::{view, words};

pub(crate) fn section(summary: &Summary) -> String {
    let mut text = String::new();
    for point in view::points(summary) {
        let name = words::point(point.label);
        let caption =
            "Bytes carried per second of the windows’ time; shares of sizes add up to the variant’s";
        text.push_str(&table(caption, "sizes", &name, &GOODPUT, &goodput(summary, point.label, usize::MAX)));
        text.push_str(&table(
            "CPU/op and memory by role",
            "role",
            &name,
            &ROLES,
            &roles(summary, point.label),
        ));
    }
    text
}

fn table(caption: &str, part: &str, point: &str, heads: &[&str], rows: &[UsageRow]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let heads: String =
        heads.iter().map(|head| format!("<th scope=\"col\" class=\"n\">{head}</th>")).collect();
    let row = |row: &UsageRow| {
        let filter = attributes(&[("variant", &row.variant), ("point", point)]);
        let cells: String =
            row.cells.iter().map(|cell| format!("<td class=\"n\">{}</td>", figure(cell))).collect();
        let (variant, part) = (escape(&row.variant), escape(&row.part));
        format!("<tr{filter}><th scope=\"row\">{variant}</th><td>{part}</td>{cells}</tr>\n")
    };
    format!(
        "<div class=\"scroll\"{}><table><caption>{caption}{}</caption><thead><tr><th scope=\"col\">variant</th>\
         <th scope=\"col\">{part}</th>{heads}</tr></thead><tbody>\n{}</tbody></table></div>\n",
        attributes(&[("point", point)]),
        suffix(point),
        rows.iter().map(row).collect::<String>()
    )
}
