//! The parts of the time of relayed requests: a table per relay, and one per range of sizes.

use weighbridge_model::parts::RelayParts;
use weighbridge_model::summary::Summary;

use super::escape::{attributes, escape, figure, suffix};
use super::{quiet, tone_class};
use crate::parts::{self, PartRow};
use crate::words;

pub(crate) fn section(summary: &Summary) -> String {
    summary.relays.iter().map(relay).collect()
}

fn relay(relay: &RelayParts) -> String {
    let point = words::point(&relay.point);
    let filter = attributes(&[("variant", &relay.variant), ("point", &point)]);
    let caption = format!("{}{}", escape(&relay.variant), suffix(&point));
    let mut text = format!(
        "<div{filter}>\n{}{}",
        table(&caption, &parts::rows(relay)),
        quiet(&escape(&parts::basis(relay)))
    );
    let sized = parts::sized(relay);
    if !sized.is_empty() {
        let tables: String =
            sized.iter().map(|(size, rows)| table(&format!("{caption}: {}", escape(size)), rows)).collect();
        text.push_str(&format!("<details><summary>By size</summary>\n{tables}</details>\n"));
    }
    text.push_str("</div>\n");
    text
}

fn table(caption: &str, rows: &[PartRow]) -> String {
    let heads = parts::HEADS.map(|name| format!("<th scope=\"col\">{name}</th>")).concat();
    let row = |row: &PartRow| {
        let [mean, interval, p50, against, verdict] = &row.cells;
        let numbers =
            [mean, interval, p50, against].map(|cell| format!("<td class=\"n\">{}</td>", figure(cell)));
        format!(
            "<tr><th scope=\"row\">{}</th>{}<td class=\"{}\">{}</td></tr>\n",
            escape(row.part.trim()),
            numbers.concat(),
            tone_class(row.tone),
            escape(verdict)
        )
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"scroll\"><table><caption>{caption}</caption><thead><tr><th scope=\"col\">part</th>{heads}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n"
    )
}
