//! Shared by several verbs: reading an experiment, finding a run, writing output, gates on a result.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;
use weighbridge_conductor::Options;
use weighbridge_conductor::run::Finished;
use weighbridge_judge::gate::judge;
use weighbridge_model::capacity::{CapacityFound, CapacityOutcome};
use weighbridge_model::estimate::Validity;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::gate::{Gate, GateKind, GateResult};
use weighbridge_model::summary::{Detail, Summary};
use weighbridge_report::{HowToRepeat, Report};
use weighbridge_store::RunFolder;

use crate::args::{Output, Verification};
use crate::exit::Exit;
use crate::printer::Printer;
use crate::{signals, sources};

/// Blocks of a quick run: the fewest that give an interval.
const QUICK_BLOCKS: u32 = 4;
/// The longest time of a quick run.
const QUICK_BUDGET: weighbridge_model::quantity::Nanoseconds =
    weighbridge_model::quantity::Nanoseconds::from_secs(60);

/// A file's text and name; `-` is stdin. `remedy` says what to give instead of an unreadable file.
pub fn read_text(path: &Path, remedy: &str) -> anyhow::Result<(String, String)> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("could not read stdin")?;
        return Ok(("stdin".to_owned(), text));
    }
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).with_context(|| format!("could not read `{name}`; {remedy}"))?;
    Ok((name, text))
}

/// A file's bytes and name; `-` is stdin. `remedy` says what to give instead of an unreadable file.
pub fn read_bytes(path: &Path, remedy: &str) -> anyhow::Result<(String, Vec<u8>)> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("could not read stdin")?;
        return Ok(("stdin".to_owned(), bytes));
    }
    let name = path.display().to_string();
    let bytes = std::fs::read(path).with_context(|| format!("could not read `{name}`; {remedy}"))?;
    Ok((name, bytes))
}

/// The folder of an experiment file, where services are searched first; `None` for stdin.
pub fn folder_of(file: &Path) -> Option<PathBuf> {
    let file = file.canonicalize().ok()?;
    file.parent().map(Path::to_owned)
}

/// The file or folder of that name, or else of the suites that come with the program.
pub fn locate(path: &Path) -> anyhow::Result<PathBuf> {
    if path == Path::new("-") || path.exists() {
        return Ok(path.to_owned());
    }
    let shipped = path.to_str().map(sources::suite).transpose()?.flatten();
    Ok(shipped.unwrap_or_else(|| path.to_owned()))
}

/// Reads an experiment, with the `.proto` files that it names.
pub fn read_experiment(path: &Path) -> anyhow::Result<Experiment> {
    let (name, text) = read_text(
        path,
        "give an experiment file (`weigh init` writes one) or a name that `weigh suites` lists",
    )?;
    let mut experiment = Experiment::parse(&name, &text)?;
    let folder = folder_of(path).unwrap_or_default();
    weighbridge_workload::proto::embed(&mut experiment, &folder).with_context(|| name)?;
    Ok(experiment)
}

/// Keeps only the variants that the experiment names for `--quick`, or all if it names none.
pub fn keep_quick(experiment: &mut Experiment) {
    let kept = std::mem::take(&mut experiment.plan.quick);
    if !kept.is_empty() {
        experiment.variants.retain(|variant| kept.contains(&variant.name));
    }
}

/// Changes the experiment for `--quick`: 4 blocks, a shorter warm-up, no goal, at most a minute, and only the
/// variants meant for it.
pub fn quicken(experiment: &mut Experiment) {
    keep_quick(experiment);
    let plan = &mut experiment.plan;
    (plan.blocks_min, plan.blocks_max, plan.until) = (QUICK_BLOCKS, QUICK_BLOCKS, None);
    plan.budget = plan.budget.min(QUICK_BUDGET);
    for point in &mut experiment.points {
        point.load.warmup = point.load.warmup / 2;
    }
}

/// The folder of host calibrations; `None` without a home folder.
pub fn calibrations() -> Option<PathBuf> {
    weighbridge_lab::cleanup::registry::state_folder().map(|folder| folder.join("calibration"))
}

/// Options of a run. Installs the signal handlers.
pub fn options(out: PathBuf) -> anyhow::Result<Options> {
    Ok(Options {
        out,
        quick: false,
        measured_budget: false,
        allow_remote: false,
        guardian: (
            std::env::current_exe().context("could not find this program's own file")?,
            "guardian".to_owned(),
        ),
        experiment_folder: None,
        connect_to: None,
        hold_back: None,
        lanes: None,
        calibrations: calibrations(),
        control: signals::install().control(),
    })
}

/// Where output goes, opened before anything is measured.
pub enum Destination {
    /// Standard output.
    Stdout,
    File(File, PathBuf),
}

impl Destination {
    /// Opens the requested destination.
    pub fn open(output: &Output) -> anyhow::Result<Self> {
        Self::at(output.output.as_deref())
    }

    /// Opens a file; standard output if there is none or it is `-`.
    pub fn at(output: Option<&Path>) -> anyhow::Result<Self> {
        match output {
            None => Ok(Self::Stdout),
            Some(path) if path == Path::new("-") => Ok(Self::Stdout),
            Some(path) => {
                let file =
                    File::create(path).with_context(|| format!("could not write `{}`", path.display()))?;
                Ok(Self::File(file, path.to_owned()))
            }
        }
    }

    pub fn write(self, text: &str, printer: &Printer) -> anyhow::Result<()> {
        self.write_bytes(text.as_bytes(), printer)
    }

    /// Writes a result that need not be text.
    pub fn write_bytes(self, bytes: &[u8], printer: &Printer) -> anyhow::Result<()> {
        match self {
            Self::Stdout => match std::str::from_utf8(bytes) {
                Ok(text) => printer.data(text),
                Err(_) => printer.bytes(bytes),
            },
            Self::File(mut file, path) => {
                file.write_all(bytes).with_context(|| format!("could not write `{}`", path.display()))
            }
        }
    }
}

/// Parses gates from flags.
pub fn gates(fail_if: &[String], require: &[String]) -> anyhow::Result<Vec<Gate>> {
    let parse = |kind: GateKind| move |text: &String| Gate::parse(kind, text);
    let fail = fail_if.iter().map(parse(GateKind::FailIf));
    Ok(fail.chain(require.iter().map(parse(GateKind::Require))).collect::<Result<_, _>>()?)
}

/// Reports gates that failed.
pub fn pass_gates(gates: &[GateResult], printer: &Printer) -> Exit {
    let mut exit = Exit::Fine;
    for gate in gates.iter().filter(|gate| !gate.passed) {
        printer.note(format_args!("gate failed: `{}`: {}", gate.gate, gate.figure));
        exit = Exit::GateFailed;
    }
    exit
}

/// Reports gates that failed. An invalid result takes precedence over them.
pub fn exit_of(summary: &Summary, gates: &[GateResult], printer: &Printer) -> Exit {
    let exit = pass_gates(gates, printer);
    let at_ceiling = |one: &CapacityFound| matches!(one.outcome, CapacityOutcome::AtCeiling { .. });
    match summary.validity == Validity::Invalid || summary.capacities.iter().any(at_ceiling) {
        true => Exit::Invalid,
        false => exit,
    }
}

/// The run folder at a path, or the newest in `runs`.
pub fn open_run(
    path: Option<&Path>,
    verification: Verification,
    printer: &Printer,
) -> anyhow::Result<RunFolder> {
    let run = match path {
        Some(path) => RunFolder::open(path)?,
        None => RunFolder::latest("runs")?
            .context("there is no run in `runs`; name a run folder, or make one with `weigh run`")?,
    };
    if !verification.unverified {
        return Ok(run);
    }
    printer.warning(format_args!(
        "`{}` is not verified: what follows may not be what was measured",
        run.path().display()
    ));
    Ok(run.unverified())
}

/// The summary of a run that has ended.
pub fn summary_of(folder: &RunFolder) -> anyhow::Result<Summary> {
    let path = folder.path().display();
    if !folder.has_ended() {
        bail!("run `{path}` has no summary: it did not end; go on with `weigh run --resume {path}`");
    }
    Ok(folder.summary()?)
}

/// Everything that reports show of a stored run.
pub struct Stored {
    summary: Summary,
    gates: Vec<GateResult>,
    detail: Detail,
    environment: Value,
    how: HowToRepeat,
}

impl Stored {
    /// Reads a finished run.
    pub fn read(folder: &RunFolder) -> anyhow::Result<Self> {
        let summary = summary_of(folder)?;
        Self::new(folder, summary, folder.detail()?, serde_json::to_value(folder.environment()?)?)
    }

    /// The stored content of a run that has just ended.
    pub fn just_ended(finished: &Finished) -> anyhow::Result<Self> {
        let (summary, detail) = (finished.summary.clone(), finished.detail.clone());
        Self::new(&finished.folder, summary, detail, serde_json::to_value(&finished.environment)?)
    }

    fn new(folder: &RunFolder, summary: Summary, detail: Detail, environment: Value) -> anyhow::Result<Self> {
        let text = folder.experiment()?;
        // What was imported has no experiment of ours.
        let experiment = Experiment::parse("experiment.toml", &text).ok();
        let own = experiment.as_ref().map_or_else(Vec::new, |experiment| experiment.gates.clone());
        let seed = experiment.map(|experiment| experiment.plan.seed).unwrap_or_default();
        let gates = own.iter().map(|gate| judge(gate, &summary)).collect();
        let how = how_to_repeat(folder, text, seed, summary.quick);
        Ok(Self { summary, gates, detail, environment, how })
    }

    /// With the gates of flags beside those of the experiment.
    pub fn with_gates(mut self, extra: &[Gate]) -> Self {
        let results = extra.iter().map(|gate| judge(gate, &self.summary));
        self.gates.extend(results);
        self
    }

    pub fn gates(&self) -> &[GateResult] {
        &self.gates
    }

    /// The verdicts.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The input of a renderer.
    pub fn report(&self) -> Report<'_> {
        Report {
            summary: &self.summary,
            detail: &self.detail,
            environment: &self.environment,
            how: &self.how,
            gates: &self.gates,
        }
    }
}

fn how_to_repeat(folder: &RunFolder, text: String, seed: u64, is_quick: bool) -> HowToRepeat {
    let path = folder.path().display().to_string();
    // The stored experiment already includes the effect of `--quick`; the flag only labels the result.
    let quick = if is_quick { " --quick" } else { "" };
    HowToRepeat {
        command: format!("weigh run {path}/experiment.toml{quick}"),
        folder: path,
        seed,
        experiment_toml: text,
    }
}
