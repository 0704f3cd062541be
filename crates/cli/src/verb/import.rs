//! `weigh import`: turns another program's measurements into a run that can be shown. It has no verdicts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, bail};
use weighbridge_conductor::utc_now;
use weighbridge_judge::Run;
use weighbridge_judge::imported::imported;
use weighbridge_judge::records::Records;
use weighbridge_model::environment::{Environment, ImportSource};
use weighbridge_model::experiment::{Experiment, LoadSpec, PingpongOperation, Point, Variant};
use weighbridge_model::id::PointLabel;
use weighbridge_model::plan::PlanFile;
use weighbridge_model::ppbench::{self, Faults, Naming, Row, Series, Table};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::record::samples::Sample;
use weighbridge_model::summary::Summary;
use weighbridge_model::tags::Tags;
use weighbridge_store::{RunFolder, RunWriter, UtcTime};

use super::support::{read_bytes, read_text};
use crate::args::{Import, ImportFormat};
use crate::exit::Exit;
use crate::printer::Printer;

/// The file with the imported rows, in the run's folder.
const ROWS: &str = "imported.csv";

/// Reads all files before it writes anything.
pub fn run(arguments: &Import, printer: &Printer) -> anyhow::Result<Exit> {
    let ImportFormat::Ppbench = arguments.format;
    let Logs { rows, condition } = logs(&arguments.files)?;
    let series = ppbench::series(&rows, &naming(arguments.naming.as_ref())?);
    let started = utc_now();
    let writer = RunWriter::create(&arguments.out, "imported", started)?;
    let folder = writer.folder().path().to_owned();
    // An incomplete run would be the newest one that other verbs find.
    write(writer, arguments, &rows, &series, condition, started)
        .inspect_err(|_| drop(std::fs::remove_dir_all(&folder)))?;
    printer.note(format_args!("{}; `weigh report {}` shows them", counts(&series), folder.display()));
    printer.data(&format!("{}\n", folder.display()))?;
    Ok(Exit::Fine)
}

/// Fills the run's folder.
fn write(
    writer: RunWriter,
    arguments: &Import,
    rows: &[Row],
    series: &[Series<'_>],
    condition: String,
    started: UtcTime,
) -> anyhow::Result<()> {
    let name = writer.folder().path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let about = Run {
        title: "imported from ppbench".to_owned(),
        name,
        started: started.rfc3339(),
        conditions: vec![condition],
        tags: tags(series),
        ..Run::default()
    };
    let (summary, detail) = imported(series, about);
    let files: Vec<String> = arguments.files.iter().map(|file| file.display().to_string()).collect();
    writer.write_experiment("# Imported: there is no experiment that could be run again.\n")?;
    let source = ImportSource { format: "ppbench".to_owned(), files };
    writer.write_environment(&Environment { imported: Some(source), ..Environment::default() })?;
    writer.write_plan(&PlanFile::IMPORTED)?;
    writer.folder().write_derived(ROWS, ppbench::write(rows).as_bytes())?;
    writer.write_detail(&detail)?;
    writer.write_summary(&summary)?;
    Ok(())
}

/// The number of rows, and of those in no figure by reason, as text.
fn counts(series: &[Series<'_>]) -> String {
    let rows: u64 = series.iter().map(Series::count).sum();
    let noun = if rows == 1 { "row" } else { "rows" };
    let mut words = vec![format!("imported {rows} {noun} in {} series", series.len())];
    let faults: Faults = series.iter().map(Series::faults).sum();
    if faults.total() > 0 {
        words.push(format!("in no figure: {faults}"));
    }
    let retried: u64 = series.iter().filter_map(Series::retried).sum();
    if retried > 0 {
        words.push(format!("repeated before they were answered: {retried}"));
    }
    words.join("; ")
}

/// The tags of each series, from the log.
fn tags(series: &[Series<'_>]) -> Tags {
    let variants = series.iter().map(|series| (series.name.clone(), series.tags().tags()));
    Tags { variants: variants.collect(), ..Tags::default() }
}

/// The series of an imported run's rows, by their names in the run.
pub fn series_of<'a>(rows: &'a [Row], summary: &Summary) -> Vec<Series<'a>> {
    let mut all = ppbench::series(rows, &Naming::default());
    for series in &mut all {
        let tags = series.tags().tags();
        let own = summary.tags.variants.iter().find(|(_, known)| **known == tags);
        series.name = own.map_or_else(|| series.name.clone(), |(name, _)| name.clone());
    }
    all
}

/// The content of the files.
struct Logs {
    rows: Vec<Row>,
    /// Which program measured what, and how.
    condition: String,
}

fn logs(files: &[PathBuf]) -> anyhow::Result<Logs> {
    let mut rows = Vec::new();
    let (mut conditions, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for file in files {
        // This also finds the same file under another path. A missing file is reported below.
        if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
            bail!("`{}` is given twice: its rows would count twice; name each file once", file.display());
        }
        let (name, bytes) = read_bytes(file, "give a log that `ppbench run` wrote")?;
        let table = ppbench::decode(&bytes).and_then(ppbench::read);
        let table = table.with_context(|| format!("`{name}` is no CSV of ppbench"))?;
        conditions.insert(condition(&table));
        rows.extend(table.rows);
    }
    if rows.is_empty() {
        bail!("the files hold no row; give a log that `ppbench run` wrote");
    }
    let conditions: Vec<String> = conditions.into_iter().flatten().collect();
    Ok(Logs { rows, condition: format!("pingpong, {}", conditions.join("; ")) })
}

/// Which program measured a file's rows, and how; `None` for a file without rows.
fn condition(table: &Table) -> Option<String> {
    let first = table.rows.first()?;
    Some(match table.requests {
        None if first.is_relayed() => "as ppbench measured it: times at ping".to_owned(),
        None => "as written for ppbench: times at the client".to_owned(),
        Some((fewest, most)) => {
            let count = if fewest == most { fewest.to_string() } else { format!("{fewest} to {most}") };
            format!(
                "as ApacheBench measured it at the client: a row is a run of {count} requests, its time their mean; statuses \
                 and retries are not known"
            )
        }
    })
}

/// ppbench's naming file, if one is given.
pub fn naming(file: Option<&PathBuf>) -> anyhow::Result<Naming> {
    let Some(file) = file else { return Ok(Naming::default()) };
    let (name, text) = read_text(file, "write one with `weigh summary --naming-template`")?;
    Naming::parse(&text).map_err(|problem| anyhow::anyhow!("`{name}`: {problem}"))
}

/// An experiment's tag followed by the point, so that each curve is of one point: ppbench has no other column
/// for it.
fn tag_at(experiment: &str, label: &PointLabel) -> String {
    let factors = label.iter().map(|(factor, value)| format!(", {factor}={value}"));
    std::iter::once(experiment.to_owned()).chain(factors).collect()
}

/// The rows of a run, and which requests are not among them.
#[derive(Debug, Default)]
pub struct Rows {
    /// The rows in the order of the record.
    pub rows: Vec<Row>,
    /// What is missing, one sentence each.
    pub left_out: Vec<String>,
}

/// The rows of a run: those that were imported, or its samples as ppbench would have written them. A row cannot say that it
/// is void: such requests are counted instead.
pub fn rows_of(folder: &RunFolder) -> anyhow::Result<Rows> {
    if let Some(text) = folder.imported_rows()? {
        let name = folder.path().join(ROWS);
        let table = ppbench::read(&text);
        let rows = table.with_context(|| format!("`{}` is damaged; import it again", name.display()))?.rows;
        return Ok(Rows { rows, left_out: Vec::new() });
    }
    let (summary, experiment) =
        (folder.summary()?, Experiment::parse("experiment.toml", &folder.experiment()?)?);
    let trials: Vec<TrialRecord> = folder.load_blocks()?.into_iter().flatten().collect();
    let records = Records::new(&trials);
    let counting: Vec<&TrialRecord> = records.used.iter().flat_map(|block| &block.trials).copied().collect();
    let mut rows = Vec::new();
    for trial in &counting {
        let variant = &experiment.variants[trial.variant.index()];
        let experiment_tag = summary.tags.experiment(&variant.name);
        let machine = summary.tags.machine(&variant.name).unwrap_or(&summary.run);
        for (id, point) in experiment.point_ids().zip(&experiment.points) {
            let tag = tag_at(&experiment_tag, &point.label);
            let path = path_of(point, variant);
            let measured = trial.samples.iter().filter(|sample| sample.is_measured(id));
            rows.extend(measured.map(|sample| row(machine, &tag, path, &point.load, sample)));
        }
    }
    let kept = |trials: &[&TrialRecord]| trials.iter().map(|trial| trial.samples.len()).sum::<usize>();
    let all = kept(&trials.iter().collect::<Vec<_>>());
    if all == 0 {
        bail!(
            "run `{}` kept no single requests; `ppbench-csv` is for workloads whose sizes vary",
            folder.path().display()
        );
    }
    let void = all - kept(&counting);
    let unkept: u64 = counting.iter().map(|trial| trial.all_samples_left_out()).sum();
    let said = [(void as u64, "of void blocks"), (unkept, "that the record does not keep one by one")];
    let said = said.into_iter().filter(|(count, _)| *count > 0);
    let left_out = said.map(|(count, which)| format!("without {count} requests {which}")).collect();
    Ok(Rows { rows, left_out })
}

/// The path that ppbench would have requested, without the size.
fn path_of(point: &Point, variant: &Variant) -> &'static str {
    let asked = point.workload.for_variant(variant);
    asked.as_pingpong().map_or(PingpongOperation::Pong, |spec| spec.operation).path()
}

fn row(machine: &str, experiment: &str, path: &str, load: &LoadSpec, sample: &Sample) -> Row {
    let (relayed, size) = (sample.relayed, sample.size.get());
    Row::from_request(&ppbench::Measured {
        machine,
        experiment,
        path: format!("/{path}/{size}"),
        size,
        failed: u64::from(!sample.is_good()),
        // ppbench would need this many threads for as many outstanding requests.
        concurrency: u64::from(load.connections) * u64::from(load.in_flight),
        length: relayed.map_or(sample.length, |relayed| relayed.length).get(),
        time_ns: relayed.map_or(sample.service(), |relayed| relayed.duration).as_nanos(),
        retries: relayed.map_or(0, |relayed| relayed.retries),
        status: relayed.map(|relayed| relayed.status).or(sample.status).unwrap_or_default(),
    })
}
