//! `weigh run`: an experiment, or a folder of them, from plan to verdict.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use weighbridge_conductor::run::{self, Finished, RunError};
use weighbridge_conductor::{Checked, Options};
use weighbridge_model::event::TimedEvent;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::gate::Gate;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_report::{Format, TextOptions, render, render_suite};
use weighbridge_store::RunFolder;

use super::heaps::sized;
use super::report::PAGE;
use super::revisions;
use super::support::{
    Destination, Stored, exit_of, folder_of, gates, keep_quick, locate, options, quicken, read_experiment,
};
use crate::args::{Output, Revisions, Run};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::progress::Progress;

pub fn run(arguments: &Run, printer: &Printer) -> anyhow::Result<Exit> {
    let extra = gates(&arguments.fail_if, &arguments.require)?;
    if let Some(folder) = &arguments.resume {
        let printed = Printed::new(&arguments.output, arguments.details)?;
        return resume(folder, extra, printed, printer);
    }
    let base = Options {
        quick: arguments.quick,
        allow_remote: arguments.allow_remote,
        ..options(arguments.out.clone())?
    };
    let mut read = Vec::new();
    // All files are read before anything is measured, so that an error in the last does not waste the first's
    // time.
    for (file, mut experiment) in chosen(arguments)? {
        select(&mut experiment, &arguments.only)?;
        if arguments.quick {
            // Counted before revisions replace variants.
            let all = experiment.variants.len();
            keep_quick(&mut experiment);
            let kept = experiment.variants.len();
            if kept < all {
                printer.progress(format_args!(
                    "quick: {kept} of {all} variants; the others with `--only`, or without `--quick`"
                ));
            }
        }
        revisions::expand(&mut experiment, &arguments.revisions, printer)?;
        if let Some(budget) = arguments.budget {
            if budget == Nanoseconds::ZERO {
                bail!("`--budget {budget}` must be above zero");
            }
            experiment.plan.budget = budget;
        }
        if arguments.quick {
            quicken(&mut experiment);
        }
        experiment.add_gates(&extra).map_err(anyhow::Error::msg)?;
        experiment.tags.run.extend(arguments.tags.iter().cloned());
        let options = Options { experiment_folder: folder_of(&file), ..base.clone() };
        let checked = Checked::new(experiment, &options)
            .with_context(|| format!("experiment `{}` cannot be run", file.display()))?;
        checked.shortened().into_iter().for_each(|text| printer.progress(text));
        read.push((checked, options));
    }
    let printed = Printed::new(&arguments.output, arguments.details)?;
    let sizing = |(checked, options)| Ok((sized(checked, &options, printer)?, options));
    let read = read.into_iter().map(sizing).collect::<anyhow::Result<Vec<_>>>()?;
    match <[_; 1]>::try_from(read) {
        Ok([(checked, options)]) => carry_out(checked, &options, printed, printer),
        Err(read) => suite(read, printed, printer),
    }
}

/// How a result is printed.
pub struct Printed {
    destination: Destination,
    format: Format,
    details: bool,
}

impl Printed {
    /// Opens the destination, so that what cannot be written is known before anything is measured.
    pub fn new(output: &Output, details: bool) -> anyhow::Result<Self> {
        Ok(Self { destination: Destination::open(output)?, format: output.format, details })
    }

    fn options<'a>(&self, place: Option<&'a str>, printer: &Printer) -> TextOptions<'a> {
        TextOptions { style: printer.style(), columns: printer.columns(), place, details: self.details }
    }
}

/// The requested experiments, with their files.
fn chosen(arguments: &Run) -> anyhow::Result<Vec<(PathBuf, Experiment)>> {
    if !arguments.revisions.commands.is_empty() {
        let Revisions { commands, url_path, .. } = &arguments.revisions;
        let experiment = revisions::experiment_of(commands, url_path.as_deref())?;
        return Ok(vec![(PathBuf::from("--command"), experiment)]);
    }
    // Without `--revisions`, a missing experiment was refused earlier.
    let path = arguments.experiment.as_deref().context(
        "`--revisions` wants a program: name it with `--command './server --port {port}'`, or an experiment file that has one",
    )?;
    let read = |file: PathBuf| read_experiment(&file).map(|experiment| (file, experiment));
    experiments(&locate(path)?)?.into_iter().map(read).collect()
}

/// Resumes an interrupted run. For a run that had ended, only prints the verdicts.
fn resume(folder: &Path, extra: Vec<Gate>, printed: Printed, printer: &Printer) -> anyhow::Result<Exit> {
    let options = options(PathBuf::from("runs"))?;
    let run = RunFolder::open(folder)?;
    if let Ok(stored) = Stored::read(&run) {
        printer.note(format_args!("run `{}` had ended already; its verdicts again", folder.display()));
        return show(&stored.with_gates(&extra), &run, printed, printer);
    }
    let mut progress = Progress::new(printer);
    let finished = run::resume(folder, &options, &mut |event| progress.event(event))?;
    drop(progress);
    finish(&finished, &extra, printed, printer)
}

/// Runs one experiment and prints its verdicts.
pub fn carry_out(
    checked: Checked,
    options: &Options,
    printed: Printed,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let finished = measure(checked, options, printer)?;
    finish(&finished, &[], printed, printer)
}

fn measure(checked: Checked, options: &Options, printer: &Printer) -> Result<Finished, RunError> {
    let mut progress = Progress::new(printer);
    run::run(checked, options, &mut |event: &TimedEvent| progress.event(event))
}

fn finish(finished: &Finished, extra: &[Gate], printed: Printed, printer: &Printer) -> anyhow::Result<Exit> {
    show(&Stored::just_ended(finished)?.with_gates(extra), &finished.folder, printed, printer)
}

fn show(stored: &Stored, folder: &RunFolder, printed: Printed, printer: &Printer) -> anyhow::Result<Exit> {
    write_report(folder, stored)?;
    let place = format!("{} ({PAGE})", folder.path().display());
    let text = render(printed.format, &stored.report(), &printed.options(Some(&place), printer));
    printed.destination.write(&text, printer)?;
    Ok(exit_of(stored.summary(), stored.gates(), printer))
}

/// Writes the HTML page into the run folder.
fn write_report(folder: &RunFolder, stored: &Stored) -> anyhow::Result<()> {
    let page = render(Format::Html, &stored.report(), &TextOptions::default());
    folder.write_derived(PAGE, page.as_bytes())?;
    Ok(())
}

/// Runs several experiments one after another; the worst outcome is the exit code.
fn suite(experiments: Vec<(Checked, Options)>, printed: Printed, printer: &Printer) -> anyhow::Result<Exit> {
    let (mut ended, mut exit, mut interrupted) = (Vec::new(), Exit::Fine, None);
    for (checked, options) in experiments {
        let title = checked.experiment().title.clone();
        match measure(checked, &options, printer) {
            Ok(finished) => {
                let stored = Stored::just_ended(&finished)?;
                write_report(&finished.folder, &stored)?;
                exit = exit.max(exit_of(stored.summary(), stored.gates(), printer));
                ended.push((stored, finished.folder));
            }
            Err(error @ (RunError::Interrupted { .. } | RunError::InterruptedEarly)) => {
                interrupted = Some(anyhow::Error::new(error).context(format!("experiment `{title}`")));
                break;
            }
            Err(error) => {
                printer.error(&anyhow::Error::new(error).context(format!("experiment `{title}`")));
                exit = exit.max(Exit::CouldNot);
            }
        }
    }
    let text = printed.options(None, printer);
    let all: Vec<_> = ended.iter().map(|(stored, _)| stored.report()).collect();
    // What was measured before an interruption is still shown.
    printed.destination.write(&render_suite(printed.format, &all, &text), printer)?;
    // A page of several runs belongs to no single run folder, so the first one gets it.
    if let Some((_, first)) = ended.first() {
        let page = first.write_derived("suite.html", render_suite(Format::Html, &all, &text).as_bytes())?;
        printer.progress(format_args!("wrote `{}`", page.display()));
    }
    interrupted.map_or(Ok(exit), Err)
}

/// The file itself, or a folder's experiments in order of name.
fn experiments(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("could not read `{}`", path.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    if files.is_empty() {
        bail!("`{}` holds no experiment; a suite is a folder of `.toml` files", path.display());
    }
    Ok(files)
}

/// Keeps the named variants, in the given order.
pub(super) fn select(experiment: &mut Experiment, only: &[String]) -> anyhow::Result<()> {
    if only.is_empty() {
        return Ok(());
    }
    let mut kept = Vec::new();
    for name in only {
        let found = experiment.variants.iter().find(|variant| variant.name == *name);
        match found {
            Some(variant) if !kept.contains(variant) => kept.push(variant.clone()),
            Some(_) => bail!("`--only` names `{name}` twice"),
            None => {
                let names: Vec<_> = experiment.variants.iter().map(|v| format!("`{}`", v.name)).collect();
                bail!("`--only {name}`: no such variant; allowed: {}", names.join(", "));
            }
        }
    }
    experiment.variants = kept;
    // Named variants take precedence over those for `--quick`.
    experiment.plan.quick.clear();
    Ok(())
}
