//! `weigh history`: the runs in a folder, newest first.

use std::fmt::Write;

use anyhow::bail;
use serde_json::json;
use weighbridge_report::{Format, headline_sentences};
use weighbridge_store::RunFolder;

use crate::args::History;
use crate::exit::Exit;
use crate::printer::Printer;

/// Lists them.
pub fn run(arguments: &History, printer: &Printer) -> anyhow::Result<Exit> {
    let runs = RunFolder::list(&arguments.folder)?;
    let rows: Vec<_> = runs.iter().map(|run| (run, run.summary().ok())).collect();
    let text = match arguments.format {
        Format::Json => {
            let row = |(run, summary): &(&RunFolder, Option<weighbridge_model::summary::Summary>)| {
                json!({
                    "run": run.path(),
                    "started": run.started().rfc3339(),
                    "title": summary.as_ref().map(|s| &s.title),
                    "ended": summary.is_some(),
                    "validity": summary.as_ref().map(|s| s.validity.name()),
                    "headlines": summary.as_ref().map(headline_sentences),
                })
            };
            serde_json::to_string_pretty(&rows.iter().map(row).collect::<Vec<_>>())?
        }
        Format::Text => {
            let mut text = String::new();
            for (run, summary) in &rows {
                let path = run.path().display();
                match summary {
                    None => {
                        let _ = writeln!(text, "{path}\n  not ended; go on with `weigh run --resume {path}`");
                    }
                    Some(summary) => {
                        let _ = writeln!(text, "{path}  {}", summary.title);
                        for sentence in headline_sentences(summary) {
                            let _ = writeln!(text, "  {sentence}");
                        }
                    }
                }
            }
            if rows.is_empty() {
                printer.note(format_args!("no run in `{}`", arguments.folder.display()));
                return Ok(Exit::Fine);
            }
            text
        }
        other => bail!("`{other}` is not available for a list of runs; use `text` or `json`"),
    };
    printer.data(&text)?;
    Ok(Exit::Fine)
}
