//! `weigh doctor`: what spoils measurements on this host, and what dead runs left behind.

use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::json;
use weighbridge_conductor::quoted::{Kept, kept};
use weighbridge_lab::doctor::{Finding, Level, Observation, Subject, diagnose};
use weighbridge_lab::registry::{self, Action, CleanMode, CleanOutcome};
use weighbridge_report::text::hanging;
use weighbridge_report::{Format, Tone};

use super::support::calibrations;
use crate::args::Doctor;
use crate::exit::Exit;
use crate::printer::Printer;

/// How long the host is watched: the kernel counts in ticks of 10 ms.
const WATCH: Duration = Duration::from_millis(500);

/// Looks, or cleans.
pub fn run(arguments: &Doctor, printer: &Printer) -> anyhow::Result<Exit> {
    if arguments.clean { clean(arguments, printer) } else { look(arguments, printer) }
}

fn look(arguments: &Doctor, printer: &Printer) -> anyhow::Result<Exit> {
    let base = registry::default_base();
    let mut findings = diagnose(&Observation::take(WATCH, base.as_deref()));
    findings.push(calibration(kept(calibrations().as_deref())));
    let text = match arguments.format {
        Format::Json => serde_json::to_string_pretty(&findings)?,
        Format::Text => findings.iter().map(|finding| line(finding, printer)).collect::<Vec<_>>().join("\n"),
        other => bail!("`{other}` is not available for `doctor`; use `text` or `json`"),
    };
    printer.data(&text)?;
    let worst = findings.iter().map(|finding| finding.level).max();
    Ok(if worst == Some(Level::Problem) { Exit::Invalid } else { Exit::Fine })
}

/// A finding in lines of the terminal's width, what to do about it under what was seen.
fn line(finding: &Finding, printer: &Printer) -> String {
    let (word, tone) = match finding.level {
        Level::Fine => ("fine", Tone::Secondary),
        Level::Note => ("note", Tone::Plain),
        Level::Warning => ("warning", Tone::Undecided),
        Level::Problem => ("problem", Tone::Problem),
    };
    let lead = format!("{word:<8} {:<19} ", finding.subject);
    let said = hanging(&lead, &finding.evidence, printer.columns());
    let mut lines = format!("{}{}", printer.style().paint(tone, word), &said[word.len()..]);
    if let Some(remedy) = &finding.remedy {
        let blank = " ".repeat(lead.chars().count());
        lines.push('\n');
        lines.push_str(&hanging(&blank, remedy, printer.columns()));
    }
    lines
}

/// Whether there is a calibration of this host for reports to quote.
fn calibration(kept: Kept) -> Finding {
    let (level, evidence, remedy) = match kept {
        Kept::Nothing => (Level::Note, "none of this host".to_owned(), Some("run `weigh calibrate`")),
        Kept::Newest { experiment, started, changed } if changed.is_empty() => {
            (Level::Fine, format!("of {started}, with {experiment}"), None)
        }
        Kept::Newest { experiment, started, changed } => {
            let evidence = format!("of {started}, with {experiment}; since then: {}", changed.join(", "));
            (Level::Note, evidence, Some("run `weigh calibrate` again where that matters"))
        }
        Kept::Before { started, changed } => {
            let evidence = format!("none of this host as it is; of {started}: {}", changed.join(", "));
            (Level::Note, evidence, Some("run `weigh calibrate` again"))
        }
    };
    Finding { level, subject: Subject::Calibration, evidence, remedy: remedy.map(str::to_owned) }
}

fn clean(arguments: &Doctor, printer: &Printer) -> anyhow::Result<Exit> {
    let base = registry::default_base().context("there is no home folder; set XDG_STATE_HOME")?;
    let mode = if arguments.dry_run { CleanMode::DryRun } else { CleanMode::Remove };
    let actions = registry::clean(&base, mode)?;
    let text = match arguments.format {
        Format::Json => {
            let row = |a: &Action| json!({ "run": a.run, "what": a.what, "outcome": outcome(&a.outcome) });
            serde_json::to_string_pretty(&actions.iter().map(row).collect::<Vec<_>>())?
        }
        Format::Text if actions.is_empty() => "nothing is left behind by a dead run".to_owned(),
        Format::Text => {
            let line = |a: &Action| format!("{}: {}: {}", a.run, a.what, outcome(&a.outcome));
            actions.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        other => bail!("`{other}` is not available for `doctor`; use `text` or `json`"),
    };
    printer.data(&text)?;
    let failed = actions.iter().any(|action| matches!(action.outcome, CleanOutcome::Failed(_)));
    Ok(if failed { Exit::CouldNot } else { Exit::Fine })
}

fn outcome(outcome: &CleanOutcome) -> String {
    match outcome {
        CleanOutcome::WouldRemove => "would be removed".to_owned(),
        CleanOutcome::Removed => "removed".to_owned(),
        CleanOutcome::AlreadyGone => "already gone".to_owned(),
        CleanOutcome::Kept(why) => format!("kept: {why}"),
        CleanOutcome::Failed(why) => format!("failed: {why}"),
    }
}
