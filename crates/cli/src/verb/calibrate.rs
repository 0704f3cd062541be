//! `weigh calibrate`: the quality of measurements on this host.

use anyhow::{Context, bail};
use weighbridge_conductor::Options;
use weighbridge_conductor::calibrate::generator::{self, Calibration};
use weighbridge_conductor::calibrate::host::{self, CalibrationJob, CalibrationSubject};
use weighbridge_conductor::factors;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::id::PointId;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_report::{Format, TextOptions, calibration, reliability as report};
use weighbridge_store::Calibrations;

use super::run::select;
use super::support::{Destination, folder_of, options, read_experiment};
use crate::args::Calibrate;
use crate::exit::Exit;
use crate::printer::Printer;

/// Calibrates the host, or the generator.
pub fn run(arguments: &Calibrate, printer: &Printer) -> anyhow::Result<Exit> {
    let format = arguments.output.format;
    if !matches!(format, Format::Text | Format::Json) {
        bail!("`{format}` is not available for `calibrate`; use `text` or `json`");
    }
    if arguments.generator { generator(arguments, printer) } else { host(arguments, printer) }
}

fn host(arguments: &Calibrate, printer: &Printer) -> anyhow::Result<Exit> {
    for (flag, time) in [("budget", Some(arguments.budget)), ("delta", arguments.delta)] {
        if time == Some(Nanoseconds::ZERO) {
            bail!("`--{flag}` must be above zero");
        }
    }
    let options = Options { allow_remote: arguments.allow_remote, ..options("runs".into())? };
    let mut point = PointId(0);
    let (subject, options) = match &arguments.experiment {
        Some(file) => {
            let experiment = chosen(read_experiment(file)?, &arguments.only)?;
            point = chosen_point(&experiment, arguments.point)?;
            let options = Options { experiment_folder: folder_of(file), ..options };
            (CalibrationSubject::Experiment(experiment.into()), options)
        }
        None => (CalibrationSubject::Probe(own_program("probe")?), options),
    };
    let kept = match (&options.calibrations, arguments.no_keep) {
        (_, true) => None,
        (Some(folder), false) => Some(Calibrations::at(folder)),
        (None, false) => {
            bail!(
                "there is no home folder to keep the calibration in; set XDG_STATE_HOME, or add `--no-keep`"
            )
        }
    };
    let destination = Destination::open(&arguments.output)?;
    let job = CalibrationJob {
        subject,
        point,
        budget: arguments.budget,
        delta: arguments.delta,
        options: &options,
    };
    let found = host::calibrate(&job, &mut |part| printer.note(part))?;
    let text = report::render(arguments.output.format, &found, &layout(printer))?;
    destination.write(&text, printer)?;
    if let Some(kept) = kept {
        let path = kept.keep(&found)?;
        printer.note(format_args!("kept as `{}`; later reports of this host quote it", path.display()));
    }
    Ok(Exit::Fine)
}

/// The experiment with the variants to calibrate: the named ones, else the baseline.
fn chosen(mut experiment: Experiment, only: &[String]) -> anyhow::Result<Experiment> {
    select(&mut experiment, only)?;
    if only.is_empty() {
        experiment.variants.truncate(1);
    }
    Ok(experiment)
}

/// The point with that number, from 1.
fn chosen_point(experiment: &Experiment, number: usize) -> anyhow::Result<PointId> {
    let mut points = (0..).map(PointId).zip(&experiment.points);
    if let Some((point, _)) = number.checked_sub(1).and_then(|before| points.nth(before)) {
        return Ok(point);
    }
    let points = (1..).zip(&experiment.points).map(|(number, point)| match &*factors(&point.label) {
        "" => format!("{number}"),
        factors => format!("{number} ({factors})"),
    });
    let points: Vec<_> = points.collect();
    bail!("`--point {number}` is no point of the experiment; there is {}", points.join(", "))
}

fn layout(printer: &Printer) -> TextOptions<'static> {
    TextOptions { style: printer.style(), columns: printer.columns(), place: None, details: true }
}

/// This program with the hidden verb that makes it one of its own helpers.
fn own_program(word: &str) -> anyhow::Result<Vec<String>> {
    let program = std::env::current_exe().context("could not find this program's own file")?;
    Ok(vec![program.display().to_string(), word.to_owned()])
}

fn generator(arguments: &Calibrate, printer: &Printer) -> anyhow::Result<Exit> {
    let destination = Destination::open(&arguments.output)?;
    let options = options("runs".into())?;
    let probe = own_program("probe")?;
    let logs = std::env::temp_dir().join(format!("weigh-calibrate-{}", std::process::id()));
    std::fs::create_dir_all(&logs).with_context(|| format!("could not make `{}`", logs.display()))?;
    let ordered = Calibration {
        probe: &probe,
        guardian: &options.guardian,
        logs: &logs,
        requests: arguments.requests,
        duration: arguments.duration,
        control: options.control.clone(),
    };
    let found = generator::generator(&ordered, &mut |part| printer.note(part));
    let _ = std::fs::remove_dir_all(&logs);
    let text = calibration::render(arguments.output.format, &found?, &layout(printer))?;
    destination.write(&text, printer)?;
    Ok(Exit::Fine)
}
