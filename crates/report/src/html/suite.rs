//! The list of a suite's experiments: what each found, with a link to its report. Figures of different
//! experiments are not put side by side: they were not measured together, and answer different questions.

use super::escape::escape;
use super::tone_class;
use super::verdict::with_minus_signs;
use crate::{Report, words};
use weighbridge_model::summary::Summary;

pub(super) fn section(reports: &[Report<'_>]) -> String {
    let experiments: String =
        reports.iter().enumerate().map(|(at, report)| experiment(at, report.summary)).collect();
    format!(
        "<section id=\"runs\" class=\"beside\">\n<h2>Experiments of the suite</h2>\n<ol class=\"runs\">\n{experiments}</ol>\n\
         </section>\n"
    )
}

fn experiment(at: usize, summary: &Summary) -> String {
    let doubt = words::validity(summary.validity)
        .map_or_else(String::new, |words| format!(" <b class=\"{}\">{words}</b>", summary.validity.name()));
    let found: String = words::headlines(summary)
        .map(|cost| {
            format!(
                "<br>\n<span class=\"says {}\">{}</span>",
                tone_class(words::tone(cost)),
                with_minus_signs(&words::sentence(summary, cost))
            )
        })
        .collect();
    let found = if found.is_empty() {
        "<br>\n<span class=\"quiet\">it compared nothing</span>".to_owned()
    } else {
        found
    };
    format!(
        "<li><a href=\"#run-{}\">{}</a> <span class=\"quiet\">{} · {} · {} blocks</span>{doubt}{found}</li>\n",
        at + 1,
        escape(&summary.title),
        escape(&summary.started),
        escape(&summary.run),
        summary.blocks.used
    )
}
