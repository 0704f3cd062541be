//! `weigh capacity`: the highest rate that keeps an objective, of one URL or more, or as an experiment file has it.

use std::path::Path;

use anyhow::{Context, bail};
use weighbridge_conductor::{Checked, Options, check_remote};
use weighbridge_model::estimate::Quantity;
use weighbridge_model::experiment::{AskedRates, CapacitySpec, Experiment, WorkloadSpec};
use weighbridge_model::gate::Gate;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};

use super::load::{experiment, parse_address, target};
use super::run::{Printed, carry_out};
use super::support::{folder_of, gates, options, quicken, read_experiment};
use crate::args::{Capacity, Load};
use crate::exit::Exit;
use crate::printer::Printer;

/// Fewest and most blocks; the most only with a goal.
const BLOCKS_MIN: u32 = 6;
const BLOCKS_MAX: u32 = 30;
/// Time in all.
const BUDGET: Nanoseconds = Nanoseconds::from_secs(300);

pub fn run(arguments: &Capacity, printer: &Printer) -> anyhow::Result<Exit> {
    let gates = gates(&arguments.load.fail_if, &arguments.load.require)?;
    match &arguments.load.urls[..] {
        [one] if one.ends_with(".toml") || Path::new(one).is_file() => {
            of_file(arguments, Path::new(one), gates, printer)
        }
        _ => of_urls(arguments, gates, printer),
    }
}

fn of_file(arguments: &Capacity, file: &Path, gates: Vec<Gate>, printer: &Printer) -> anyhow::Result<Exit> {
    let mut experiment = read_experiment(file)?;
    if experiment.capacity.is_none() {
        bail!("`{}` has no table `[capacity]`; add one with `objective = \"p99 < 10 ms\"`", file.display());
    }
    let is_given = !arguments.objectives.is_empty()
        || arguments.asked() != AskedRates::default()
        || arguments.until.is_some();
    if is_given {
        bail!(
            "objectives, rates and goals of `{}` stand in its tables `[capacity]` and `[plan]`; leave the flags out",
            file.display()
        );
    }
    if let Some(budget) = arguments.budget {
        experiment.plan.budget = budget;
    }
    if arguments.quick {
        quicken(&mut experiment);
    }
    experiment.gates.extend(gates);
    let options = Options {
        quick: arguments.quick,
        allow_remote: arguments.load.allow_remote,
        experiment_folder: folder_of(file),
        ..options(arguments.load.out.clone())?
    };
    let checked = Checked::new(experiment, &options)
        .with_context(|| format!("experiment `{}` cannot be run", file.display()))?;
    checked.shortened().into_iter().for_each(|text| printer.progress(text));
    let printed = Printed::new(&arguments.load.output, arguments.load.details)?;
    carry_out(checked, &options, printed, printer)
}

fn of_urls(arguments: &Capacity, gates: Vec<Gate>, printer: &Printer) -> anyhow::Result<Exit> {
    refuse_useless(&arguments.load)?;
    let asked = target::Target::read(&arguments.load)?;
    let connect_to = arguments.load.connect_to.as_deref().map(parse_address).transpose()?;
    if arguments.load.unix.is_none() {
        check_remote(&asked.urls, connect_to.as_ref(), None, arguments.load.allow_remote)?;
    }
    let workload = asked.workload(&arguments.load, connect_to.as_ref(), arguments.load.timeout)?;
    let experiment = experiment_of(arguments, &asked, workload, gates)?;
    let options = Options {
        quick: arguments.quick,
        allow_remote: arguments.load.allow_remote,
        connect_to,
        ..options(arguments.load.out.clone())?
    };
    let checked = Checked::new(experiment, &options)?;
    let printed = Printed::new(&arguments.load.output, arguments.load.details)?;
    carry_out(checked, &options, printed, printer)
}

/// Refuses flags of `weigh load` that say what is searched for, or how long.
fn refuse_useless(load: &Load) -> anyhow::Result<()> {
    let given = [
        ("--rate", load.rate.is_some(), "the rate is what is searched for; bound it by `--from` and `--to`"),
        ("--sessions", load.sessions.is_some(), "their rate is searched for; say `--length` alone"),
        ("--duration", load.duration.is_some(), "say `--budget` for the time in all"),
        ("--requests", load.requests.is_some(), "say `--budget` for the time in all"),
        ("--threads", load.threads > 1, "the generator has one core here; leave it out"),
        ("--wait", load.wait.is_some(), "the generator always waits awake here; leave it out"),
    ];
    match given.iter().find(|(_, given, _)| *given) {
        Some((flag, _, why)) => bail!("`{flag}` has no use in a search for capacity: {why}"),
        None => Ok(()),
    }
}

fn experiment_of(
    arguments: &Capacity,
    asked: &target::Target,
    workload: WorkloadSpec,
    gates: Vec<Gate>,
) -> anyhow::Result<Experiment> {
    let spec = CapacitySpec::new(&arguments.objectives, arguments.asked()).map_err(anyhow::Error::msg)?;
    let mut load = arguments.load.clone();
    // One arrival per second, so that a factor on the load is a rate.
    if load.profile.is_none() && load.trace.is_none() {
        match load.length {
            Some(_) => load.sessions = Some(PerSecond::ONE),
            None => load.rate = Some(PerSecond::ONE),
        }
    }
    let mut experiment = experiment(&load, asked, workload, gates)?;
    experiment.title = experiment.title.replacen("load", "capacity of", 1);
    let plan = &mut experiment.plan;
    plan.headline = Quantity::Capacity;
    plan.blocks_min = BLOCKS_MIN;
    plan.blocks_max = if arguments.until.is_some() { BLOCKS_MAX } else { BLOCKS_MIN };
    plan.until = arguments.until;
    plan.budget = arguments.budget.unwrap_or(BUDGET);
    if arguments.quick {
        quicken(&mut experiment);
    }
    spec.check(&experiment.points, &experiment.plan).map_err(anyhow::Error::msg)?;
    experiment.capacity = Some(spec);
    Ok(experiment)
}

impl Capacity {
    fn asked(&self) -> AskedRates {
        AskedRates { from: self.from, to: self.to, curve: self.curve, rates: self.rates.clone() }
    }
}
