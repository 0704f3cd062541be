//! `weigh compare`: two variants of one run with full verdicts, or two runs as far as they are comparable.

use std::path::Path;

use anyhow::bail;
use weighbridge_conductor::compare::across::compare_runs;
use weighbridge_conductor::compare::compare_variants;
use weighbridge_judge::gate::judge;
use weighbridge_model::gate::GateResult;
use weighbridge_model::summary::Summary;
use weighbridge_report::{Format, TextOptions, csv, json, markdown, terminal};

use super::support::{Destination, calibrations, exit_of, gates, open_run, summary_of};
use crate::args::Compare;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(arguments: &Compare, printer: &Printer) -> anyhow::Result<Exit> {
    let gates = gates(&arguments.fail_if, &arguments.require)?;
    let is_run = |text: &String| Path::new(text).is_dir();
    let open = |run: &String| open_run(Some(Path::new(run)), arguments.verification, printer);
    let summary = match &arguments.subjects[..] {
        [run] => summary_of(&open(run)?)?,
        [first, second, named @ ..] if is_run(first) && is_run(second) => {
            let (first, second) = (open(first)?, open(second)?);
            compare_runs(&first, &second, named, calibrations().as_deref())?
        }
        [run, baseline, variant] if is_run(run) => compare_variants(&open(run)?, baseline, variant)?,
        [run, variant] if is_run(run) => {
            let folder = open(run)?;
            let baseline = baseline_of(&folder.summary()?)?;
            compare_variants(&folder, &baseline, variant)?
        }
        [first, ..] if !is_run(first) => {
            bail!(
                "`{first}` is not a run folder; write `weigh compare RUN BASELINE VARIANT`, or two run folders"
            )
        }
        _ => bail!(
            "name a run and two of its variants, `weigh compare RUN BASELINE VARIANT`, or two runs and the variants meant, \
             `weigh compare RUN RUN [VARIANT [VARIANT]]`"
        ),
    };
    let gates: Vec<GateResult> = gates.iter().map(|gate| judge(gate, &summary)).collect();
    let options =
        TextOptions { style: printer.style(), columns: printer.columns(), place: None, details: true };
    let text = match arguments.output.format {
        Format::Text => terminal::verdicts(&summary, &gates, &options),
        Format::Json => json::run(&summary),
        Format::Csv => csv::costs(&[&summary]),
        Format::Markdown => markdown::verdicts(&summary, &gates),
        Format::Html => bail!("`html` is not available for a comparison; use text, json, csv or markdown"),
    };
    Destination::open(&arguments.output)?.write(&text, printer)?;
    Ok(exit_of(&summary, &gates, printer))
}

fn baseline_of(summary: &Summary) -> anyhow::Result<String> {
    match summary.variants.iter().find(|variant| variant.baseline) {
        Some(variant) => Ok(variant.name.clone()),
        None => bail!("run `{}` has no baseline", summary.run),
    }
}
