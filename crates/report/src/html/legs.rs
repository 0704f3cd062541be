//! Where the service time went, as a table of every variant's legs.

use weighbridge_model::summary::Summary;

use super::escape::{attributes, escape, figure};
use super::quiet;
use crate::{legs, words};

/// The section; empty where no variant was asked for stamps.
pub(crate) fn section(summary: &Summary) -> String {
    let mut text = String::new();
    for variant in &summary.variants {
        let Some(stamps) = &variant.kernel_timestamps else { continue };
        let of = words::point(&variant.point);
        let filter = attributes(&[("variant", &variant.name), ("point", &of)]);
        let of = if of.is_empty() { of } else { format!(", {}", escape(&of)) };
        let basis = escape(&legs::basis(stamps));
        let rows = legs::rows(stamps);
        if rows.is_empty() {
            text.push_str(&format!("<p{filter}>{}{of}: {basis}</p>\n", escape(&variant.name)));
            continue;
        }
        let heads = legs::STATISTICS.map(|(name, _)| format!("<th scope=\"col\">{name}</th>")).concat();
        let rows: String = rows
            .into_iter()
            .map(|(words, _, times)| {
                let cells = legs::STATISTICS.map(|(_, statistic)| {
                    format!("<td class=\"n\">{}</td>", figure(&legs::shown(statistic(&times))))
                });
                format!("<tr><th scope=\"row\">{}</th>{}</tr>\n", escape(words.trim()), cells.concat())
            })
            .collect();
        text.push_str(&format!(
            "<div class=\"scroll\"{filter}><table><caption>{}{of}</caption><thead><tr><th scope=\"col\">leg</th>{heads}\
             </tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{}",
            escape(&variant.name),
            quiet(&basis),
        ));
    }
    text
}
