//! `weigh summary`: runs with one row per variant, imported and measured ones together, chosen by tags.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::bail;
use weighbridge_conductor::compare::overview::overview;
use weighbridge_judge::overview::imported;
use weighbridge_model::experiment::suggestion;
use weighbridge_model::overview::{Origin, Overview, OverviewRow};
use weighbridge_model::ppbench::{Naming, Tagged};
use weighbridge_report::{Format, overview as shown};
use weighbridge_store::RunFolder;

use super::import;
use super::support::{Destination, open_run, summary_of};
use crate::args::Summary;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(arguments: &Summary, printer: &Printer) -> anyhow::Result<Exit> {
    let naming = import::naming(arguments.naming.as_ref())?;
    let open = |run: Option<&PathBuf>| open_run(run.map(PathBuf::as_path), arguments.verification, printer);
    let folders = match &arguments.runs[..] {
        [] => vec![open(None)?],
        runs => runs.iter().map(|run| open(Some(run))).collect::<Result<_, _>>()?,
    };
    let mut all = Overview::default();
    for folder in &folders {
        all.rows.extend(rows_of(folder)?);
    }
    choose(&mut all.rows, arguments)?;
    name(&mut all.rows, &naming);
    if arguments.naming_template {
        return template(&all.rows, naming, arguments, printer);
    }
    let (format, output) = (arguments.output.format, Destination::open(&arguments.output)?);
    let text = match format {
        Format::Text => shown::text(&all, printer.style(), printer.columns()),
        Format::Json => shown::json(&all),
        Format::Csv => shown::csv(&all),
        Format::Markdown => shown::markdown(&all),
        Format::Html => {
            bail!("`html` is not available for a summary; use `text`, `json`, `csv` or `markdown`")
        }
    };
    output.write(&text, printer)?;
    Ok(Exit::Fine)
}

/// Names rows by their tags.
fn name(rows: &mut [OverviewRow], naming: &Naming) {
    fn tags(row: &OverviewRow) -> Tagged<'_> {
        let variant = (row.origin == Origin::Measured).then_some(row.variant.as_str());
        Tagged { machine: row.machine.as_deref(), experiment: &row.experiment, variant }
    }
    let names = naming.names(&rows.iter().map(tags).collect::<Vec<_>>());
    for (row, name) in rows.iter_mut().zip(names) {
        row.name = name;
    }
}

/// Writes a naming file for the shown variants; existing names are kept.
fn template(
    rows: &[OverviewRow],
    mut naming: Naming,
    arguments: &Summary,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    for row in rows {
        naming.add(row.machine.as_deref(), &row.experiment);
    }
    Destination::at(arguments.output.output.as_deref())?.write(&naming.text(), printer)?;
    Ok(Exit::Fine)
}

fn rows_of(folder: &RunFolder) -> anyhow::Result<Vec<OverviewRow>> {
    let summary = summary_of(folder)?;
    if folder.environment()?.imported.is_none() {
        return Ok(overview(folder)?);
    }
    let rows = import::rows_of(folder)?.rows;
    Ok(imported(&import::series_of(&rows, &summary), &summary.run))
}

/// Keeps the rows that match every filter.
fn choose(rows: &mut Vec<OverviewRow>, arguments: &Summary) -> anyhow::Result<()> {
    let machine = |row: &OverviewRow| row.machine.clone();
    let experiment = |row: &OverviewRow| Some(row.experiment.clone());
    known("--machine", &arguments.machines, rows, &machine)?;
    known("--experiment", &arguments.experiments, rows, &experiment)?;
    for (name, value) in &arguments.tags {
        known(&format!("--tag {name}"), std::slice::from_ref(value), rows, &|row| {
            row.tags.get(name).cloned()
        })?;
    }
    let among = |wanted: &[String], tag: Option<String>| {
        wanted.is_empty() || tag.is_some_and(|tag| wanted.contains(&tag))
    };
    rows.retain(|row| {
        among(&arguments.machines, machine(row))
            && among(&arguments.experiments, experiment(row))
            && arguments.tags.iter().all(|(name, value)| row.tags.get(name) == Some(value))
    });
    if rows.is_empty() {
        bail!("no row has all of these tags; give fewer filters");
    }
    Ok(())
}

/// Refuses a tag that no row has.
fn known(
    flag: &str,
    wanted: &[String],
    rows: &[OverviewRow],
    tag: &dyn Fn(&OverviewRow) -> Option<String>,
) -> anyhow::Result<()> {
    let there: BTreeSet<String> = rows.iter().filter_map(tag).collect();
    let Some(word) = wanted.iter().find(|word| !there.contains(*word)) else { return Ok(()) };
    if there.is_empty() {
        bail!("`{flag} {word}`: none of these runs has such a tag; give it with `weigh run --tag`");
    }
    let names: Vec<&str> = there.iter().map(String::as_str).collect();
    bail!("`{flag} {word}`: nothing has this tag{}", suggestion(word, &names));
}
