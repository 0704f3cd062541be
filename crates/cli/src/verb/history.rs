//! `weigh history`: the runs in a folder, newest first.

use std::path::PathBuf;

use anyhow::bail;
use serde_json::json;
use weighbridge_model::estimate::Validity;
use weighbridge_model::summary::Summary;
use weighbridge_report::text::{clean, hanging, hanging_whole};
use weighbridge_report::{Format, Style, Tone, headline_sentences};
use weighbridge_store::{ListedRun, ReadError, RunFolder, UtcTime};

use crate::args::History;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(arguments: &History, printer: &Printer) -> anyhow::Result<Exit> {
    let runs = RunFolder::list_all(arguments.folder.path())?;
    let rows: Vec<HistoryRow> = runs.into_iter().map(HistoryRow::read).collect();
    let text = match arguments.format {
        Format::Json => {
            let row = |HistoryRow { path, started, ended }: &HistoryRow| {
                let summary = ended.as_ref().and_then(|ended| ended.as_ref().ok());
                let damage = ended.as_ref().and_then(|ended| ended.as_ref().err());
                json!({
                    "run": path,
                    "started": started.map(UtcTime::rfc3339),
                    "title": summary.map(|s| &s.title),
                    "ended": ended.is_some(),
                    "damage": damage.map(ToString::to_string),
                    "validity": summary.map(|s| s.validity.name()),
                    "headlines": summary.map(headline_sentences),
                })
            };
            serde_json::to_string_pretty(&rows.iter().map(row).collect::<Vec<_>>())?
        }
        Format::Text => {
            let text: Vec<_> =
                rows.iter().map(|row| entry(row, printer.style(), printer.columns())).collect();
            if rows.is_empty() {
                printer.note(format_args!("no run in `{}`", arguments.folder.path().display()));
                return Ok(Exit::Fine);
            }
            text.concat()
        }
        other => bail!("`{other}` is not available for a list of runs; use `text` or `json`"),
    };
    printer.data(&text)?;
    Ok(Exit::Fine)
}

struct HistoryRow {
    path: PathBuf,
    /// `None` if the run cannot be opened.
    started: Option<UtcTime>,
    /// Its summary, if it has ended, or what is wrong with it.
    ended: Option<Result<Summary, ReadError>>,
}

impl HistoryRow {
    fn read(ListedRun { path, run }: ListedRun) -> Self {
        match run {
            Ok(run) => {
                let ended = run.has_ended().then(|| run.summary());
                Self { path, started: Some(run.started()), ended }
            }
            Err(error) => Self { path, started: None, ended: Some(Err(error)) },
        }
    }
}

/// A run with its headlines, how to resume it, or what is wrong with it.
fn entry(row: &HistoryRow, style: Style, columns: usize) -> String {
    let path = clean(&row.path.display().to_string());
    let said = |tone: Tone, text: &str| {
        format!("{path}\n{}\n", paint_lines(style, tone, &hanging_whole("  ", text, columns)))
    };
    let summary = match &row.ended {
        None => {
            let how = format!("not ended; go on with `weigh run --resume {path}`");
            return said(Tone::Undecided, &how);
        }
        Some(Err(error)) => return said(Tone::Problem, &clean(&error.to_string())),
        Some(Ok(summary)) => summary,
    };
    let tone = match summary.validity {
        Validity::Invalid => Tone::Problem,
        Validity::Suspect => Tone::Undecided,
        Validity::Valid => Tone::Strong,
    };
    let doubt = match summary.validity {
        Validity::Valid => String::new(),
        doubted => format!(" ({})", doubted.name()),
    };
    let title = hanging_whole("", &format!("{path}  {}{doubt}", clean(&summary.title)), columns);
    let mut text = format!("{}\n", paint_lines(style, tone, &title));
    for sentence in headline_sentences(summary) {
        text.push_str(&format!("{}\n", hanging("  ", &sentence, columns)));
    }
    text
}

/// Paints each line separately, so that no colour continues in the next.
fn paint_lines(style: Style, tone: Tone, text: &str) -> String {
    text.lines().map(|line| style.paint(tone, line)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::assert_golden;
    use weighbridge_store::RunWriter;

    #[test]
    fn a_list_of_runs_is_printed_as_the_golden_file_has_it() {
        let home = tempfile::tempdir().expect("a folder");
        // Whole hours after the first second of 2026.
        let started = |hour: u64| UtcTime::from_unix_ns((1_767_225_600 + hour * 3_600) * 1_000_000_000);
        let stored = [
            Some(include_str!("../../../report/testdata/valid.json")),
            Some(include_str!("../../../report/testdata/troubled.json")),
            None,
        ];
        for (hour, summary) in (0..).zip(stored) {
            let run = RunWriter::create(home.path(), "languages", started(hour)).expect("there is room");
            if let Some(text) = summary {
                run.write_summary(&serde_json::from_str(text).expect("a summary")).expect("there is room");
            }
        }
        let runs = || RunFolder::list_all(home.path()).expect("they are there").into_iter();
        let printed = |style, columns: usize| {
            let name = home.path().display().to_string();
            let entries = runs().map(|run| entry(&HistoryRow::read(run), style, columns));
            entries.collect::<String>().replace(&name, "runs")
        };
        let wide = printed(Style::Plain, 1_000);
        assert!(wide.starts_with("runs/20260101-020000"), "the newest first: {wide}");
        assert_golden("history.txt", &wide);
        assert_golden("history-colour.txt", &printed(Style::Ansi, 1_000));
    }
}
