//! `weigh report`: the page of a stored run, of several runs, or of a suite.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::bail;
use weighbridge_conductor::compare::across::compare_runs;
use weighbridge_model::estimate::Verdict;
use weighbridge_model::summary::Summary;
use weighbridge_report::{Comparison, Format, TextOptions, page, render_suite};
use weighbridge_store::RunFolder;

use super::support::{Destination, Stored, calibrations, open_run};
use crate::args::{Output, Report};
use crate::exit::Exit;
use crate::printer::Printer;

/// The page: of a run, in its folder; of several, in the current folder, since it belongs to no single run.
pub const PAGE: &str = "report.html";

pub fn run(arguments: &Report, printer: &Printer) -> anyhow::Result<Exit> {
    let folders = folders(arguments, printer)?;
    let stored = folders.iter().map(Stored::read).collect::<anyhow::Result<Vec<_>>>()?;
    let reports: Vec<_> = stored.iter().map(Stored::report).collect();
    let comparisons = comparisons(&folders);
    let page = if is_suite(&stored, &comparisons) {
        render_suite(Format::Html, &reports, &TextOptions::default())
    } else {
        page(&reports, &comparisons)
    };
    let path = match (&arguments.output, &folders[..]) {
        (Some(path), _) => write(path, &page, printer)?,
        (None, [folder]) => folder.write_derived(PAGE, page.as_bytes())?,
        (None, _) => write(Path::new(PAGE), &page, printer)?,
    };
    if path != Path::new("-") {
        printer.note(format_args!("wrote `{}`", path.display()));
    }
    Ok(Exit::Fine)
}

fn write(path: &Path, page: &str, printer: &Printer) -> anyhow::Result<PathBuf> {
    let output = Output { format: Format::Html, output: Some(path.to_owned()) };
    Destination::open(&output)?.write(page, printer)?;
    Ok(path.to_owned())
}

/// The runs, each once; the newest if none is named.
fn folders(arguments: &Report, printer: &Printer) -> anyhow::Result<Vec<RunFolder>> {
    let (paths, verification) = (&arguments.runs, arguments.verification);
    if paths.is_empty() {
        return Ok(vec![open_run(None, verification, printer)?]);
    }
    let mut seen = Vec::new();
    for path in paths {
        let whole = std::fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        if seen.contains(&whole) {
            bail!("run `{}` is named twice; name each run once", path.display());
        }
        seen.push(whole);
    }
    paths.iter().map(|path| open_run(Some(path), verification, printer)).collect()
}

/// Whether runs are of different experiments that cannot be compared, so that each is shown separately.
fn is_suite(stored: &[Stored], comparisons: &[Comparison]) -> bool {
    let titles: BTreeSet<&str> = stored.iter().map(|stored| &*stored.summary().title).collect();
    let apart = comparisons.iter().all(|said| matches!(said, Comparison::Refused(_)));
    stored.len() > 1 && titles.len() == stored.len() && apart
}

/// The comparison of each later run with the first.
fn comparisons(folders: &[RunFolder]) -> Vec<Comparison> {
    let Some((first, later)) = folders.split_first() else { return Vec::new() };
    let calibrations = if later.is_empty() { None } else { calibrations() };
    let compared = later.iter().map(|run| compare_runs(first, run, &[], calibrations.as_deref()));
    let said = compared.map(|compared| match compared {
        Ok(summary) => match refusal(&summary) {
            Some(reason) => Comparison::Refused(reason),
            None => Comparison::Allowed(Box::new(summary)),
        },
        Err(error) => Comparison::Refused(error.to_string()),
    });
    said.collect()
}

/// Why no cost of a comparison may be used, if none may.
fn refusal(summary: &Summary) -> Option<String> {
    let mut usable = summary.costs.iter().filter(|cost| cost.verdict != Verdict::Invalid);
    if usable.next().is_some() {
        return None;
    }
    let reason = summary.costs.iter().find_map(|cost| cost.reason.clone());
    Some(reason.unwrap_or_else(|| "they hold nothing that can be compared".to_owned()))
}
