//! The legs of each variant's service time as a table.

use weighbridge_model::summary::Summary;

use super::escape::{attributes, escape, figure, suffix};
use super::quiet;
use crate::{legs, words};

pub(crate) fn section(summary: &Summary) -> String {
    let mut text = String::new();
    for variant in &summary.variants {
        let Some(stamps) = &variant.kernel_timestamps else { continue };
        let point = words::point(&variant.point);
        let filter = attributes(&[("variant", &variant.name), ("point", &point)]);
        let name = format!("{}{}", escape(&variant.name), suffix(&point));
        let basis = escape(&legs::basis(stamps));
        let rows = legs::rows(stamps);
        if rows.is_empty() {
            text.push_str(&format!("<p{filter}>{name}: {basis}</p>\n"));
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
            "<div class=\"scroll\"{filter}><table><caption>{name}</caption><thead><tr><th scope=\"col\">leg</th>{heads}\
             </tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n{}",
            quiet(&basis),
        ));
    }
    text
}
