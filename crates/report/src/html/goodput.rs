//! Goodput by variant and size, CPU and memory by role, pauses and overhead of collectors, and scaling, as tables of each
//! point.

use weighbridge_model::summary::Summary;

use super::escape::{attributes, escape, figure, suffix};
use crate::goodput::{
    COLLECTORS, GOODPUT, PAUSES, ROLES, SCALING, UsageRow, collectors, goodput, pauses, roles, scaling,
};
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
        text.push_str(&table(
            "Pauses of Java virtual machines",
            "",
            &name,
            &PAUSES,
            &pauses(summary, point.label),
        ));
        text.push_str(&table(
            "Lower bound overhead of collectors: CPU time and time of a request beyond the least without collecting",
            "",
            &name,
            &COLLECTORS,
            &collectors(summary, point.label),
        ));
        text.push_str(&table(
            "Parallel efficiency: throughput for each connection, over that with the fewest. Utilisation: how long \
             connections wait for replies",
            "",
            &name,
            &SCALING,
            &scaling(summary, point.label),
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
