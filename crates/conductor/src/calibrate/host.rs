//! `weigh calibrate`: runs a variant beside copies of itself, as any experiment is run.
//!
//! It decides what is run (which variant, which copy, how much slower, until when) and passes the records to
//! the judge. It keeps nothing of an interrupted calibration, and estimates nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use weighbridge_judge as judge;
use weighbridge_judge::Absent;
use weighbridge_judge::reliability::{CalibrationRun, Runs, SlowerRun, reliability};
use weighbridge_lab::doctor::noise::{NoiseWatch, Quiet, sources};
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::host::cores::{CoreError, CoreLayout, Pinned};
use weighbridge_load::generator::Generator;
use weighbridge_model::environment::Environment;
use weighbridge_model::estimate::{Quantity, Statistic};
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::experiment::{
    Experiment, LoadModel, LoadSpec, Program, Protocol, Readiness, Target, Variant,
};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::reliability::{HostCalibration, Planting, RELIABILITY_VERSION};
use weighbridge_probe::record::{CsvError, from_csv};
use weighbridge_store::{ReadError, RunWriter};

use crate::clock::utc_now;
use crate::options::Options;
use crate::prepare::checked::Checked;
use crate::prepare::environment::identity_of;
use crate::prepare::error::PrepareError;
use crate::prepare::idle::IdleCores;
use crate::prepare::launch_spec::{LaunchSpec, LaunchSpecError, Services};
use crate::prepare::plan::batches;
use crate::prepare::shapes::Shape;
use crate::prepare::sources::{ProgramSource, ProgramSources};
use crate::prepare::{Prepared, prepare};
use crate::run::question::question;
use crate::run::run_loop::{RunFiles, measure};
use crate::run::{Finished, RunError};
use crate::words::{conditions, factors};

/// How long the idle host is observed before anything is measured.
const QUIET: Duration = Duration::from_secs(1);

/// The number of runs into which the budget is divided; each has its fewest blocks and rounds in any case.
const RUNS: u64 = 40;

/// One run in this many has a slower copy; the others have two equal variants.
const SLOWER_ONE_IN: usize = 3;

/// The default slowdown is this fraction of the variant's median …
const DELTA_PART: u64 = 50;

/// … but at least a few readings of the clock.
const DELTA_LEAST: Nanoseconds = Nanoseconds::from_nanos(300);

/// This many disturbed runs in a row end the calibration.
const LOST_IN_A_ROW: u32 = 3;

pub const BUILT_IN: &str = "built-in probe";

#[derive(Debug, Clone)]
pub enum CalibrationSubject {
    /// A probe of ours, under closed load on one connection: program and first arguments. The law's follow.
    Probe(Vec<String>),
    /// Variants of an experiment, at one of its points.
    Experiment(Box<Experiment>),
}

#[derive(Debug)]
pub struct CalibrationJob<'a> {
    pub subject: CalibrationSubject,
    pub point: PointId,
    /// Time for the whole calibration. At least one run of each kind is made, however long that takes.
    pub budget: Nanoseconds,
    /// How much slower the slower copy is; `None` for 2 % of the variant's median response.
    pub delta: Option<Nanoseconds>,
    /// As for any run; `out` is not used.
    pub options: &'a Options,
}

#[derive(Debug, thiserror::Error)]
pub enum ReliabilityError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Cores(#[from] CoreError),
    #[error(transparent)]
    LaunchSpec(#[from] LaunchSpecError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the probe's record cannot be read: {0}; run it again")]
    Record(#[from] CsvError),
    #[error("no folder could be made for the calibration's runs: {0}; free space or set `TMPDIR`")]
    Folder(#[source] std::io::Error),
    #[error("this host does not tell what it is (no `/proc`?), so a calibration could not be found again")]
    NoHost,
    #[error(
        "`{0}` has no protocol, so its replies cannot be held back and no slower copy can be made; calibrate another variant with `--only`"
    )]
    Direct(String),
    #[error("interrupted; a calibration keeps nothing of its parts")]
    Interrupted,
}

/// Calibrates this host. `progress` receives what is being done. After an error nothing runs or is kept.
pub fn calibrate(
    job: &CalibrationJob<'_>,
    progress: &mut dyn FnMut(&str),
) -> Result<HostCalibration, ReliabilityError> {
    let (began, started) = (monotonic_now(), utc_now());
    let cores = CoreLayout::detect()?;
    let folder = TempDir::with_prefix("weigh-calibrate-").map_err(ReliabilityError::Folder)?;
    let options = Options {
        out: folder.path().join("runs"),
        quick: false,
        measured_budget: false,
        calibrations: None,
        ..job.options.clone()
    };
    let (experiment, place) = at_point(experiment_of(&job.subject), job.point);
    if let Some(place) = &place {
        progress(&format!("{place}; `--point` takes another"));
    }
    let experiment = one_run_experiment(experiment, job.budget);
    if let Some(variant) = experiment.variants.iter().find(|variant| variant.protocol == Protocol::DIRECT) {
        return Err(ReliabilityError::Direct(variant.name.clone()));
    }
    let mut warn = Warnings::default();
    let checked = Checked::new(experiment, &options).map_err(prepare_error)?;
    let prepared =
        prepare(checked, &options, &mut |event| warn.see(event, progress)).map_err(prepare_error)?;
    for Absent { name, reason, .. } in &prepared.unavailable {
        progress(&format!("`{name}` is left out: {reason}"));
    }
    let facts = prepared.facts(&options);
    let host = identity_of(&facts).ok_or(ReliabilityError::NoHost)?;
    progress("watching the host while nothing is measured");
    let quiet = Quiet::watch(&cores, QUIET);
    let runs = CalibrationRuns {
        job,
        options,
        cores: &cores,
        folder: folder.path(),
        prepared: &prepared,
        facts,
        began,
    };
    let mut subjects: Vec<VariantRuns> =
        (0..prepared.launch_specs.len()).map(|_| VariantRuns::default()).collect();
    let mut noise = NoiseWatch::start();
    runs.all_runs(&mut subjects, &mut noise, &mut warn, progress)?;
    let variants =
        subjects.iter().enumerate().map(|(at, variant_runs)| runs.sum_up(at, variant_runs)).collect();
    Ok(HostCalibration {
        schema: RELIABILITY_VERSION,
        experiment: prepared.experiment.title.clone(),
        conditions: [conditions(&prepared.experiment).into_iter().next(), place]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; "),
        headline: prepared.experiment.plan.headline,
        started: started.rfc3339(),
        started_unix_s: started.unix_ns() / 1_000_000_000,
        took: monotonic_now().since(began),
        host,
        variants,
        noise: sources(&noise.seen(quiet)),
    })
}

/// Reports a request to stop as this module's own error.
fn run_error(error: RunError) -> ReliabilityError {
    match error {
        RunError::Interrupted { .. } | RunError::InterruptedEarly => ReliabilityError::Interrupted,
        error => ReliabilityError::Run(error),
    }
}

/// [`run_error`] for an error before a run begins.
fn prepare_error(error: PrepareError) -> ReliabilityError {
    run_error(error.into())
}

fn is_disturbed(error: &RunError) -> bool {
    match error {
        RunError::Cut { cause, .. } => is_disturbed(cause),
        error => matches!(error, RunError::Disturbed { .. }),
    }
}

fn experiment_of(subject: &CalibrationSubject) -> Experiment {
    match subject {
        CalibrationSubject::Experiment(experiment) => (**experiment).clone(),
        CalibrationSubject::Probe(program) => {
            let text = format!(
                "title = '{BUILT_IN}'\n[workload]\nname = 'pingpong'\nsize = '64 B'\n[load]\nconnections = 1\n\
                 [plan]\nblocks = {{ min = 6, max = 6 }}\n[[variant]]\nname = 'probe'\nservice = 'probe'\n"
            );
            let mut experiment = Experiment::parse(BUILT_IN, &text).expect("an experiment of our own");
            experiment.variants[0].target = probe(program, Nanoseconds::ZERO, None);
            experiment
        }
    }
}

/// A probe that holds each request for `time`, and writes the actual times into `record`.
fn probe(program: &[String], time: Nanoseconds, record: Option<&Path>) -> Target {
    let law = format!("constant:time={}ns", time.as_nanos());
    let words = ["delay".to_owned(), law].into_iter();
    let record = record.map(|folder| ["--record".to_owned(), folder.display().to_string()]);
    let argv = program.iter().cloned().chain(words).chain(record.into_iter().flatten()).collect();
    Target::Command(Program::new(argv, Readiness::Line))
}

/// The experiment at one of its points, with that point in words where there are several. The title names the
/// point too unless it is the first: that one has the headline of the experiment's runs, which find
/// calibrations by title.
fn at_point(mut experiment: Experiment, point: PointId) -> (Experiment, Option<String>) {
    let of = experiment.points.len();
    let chosen = experiment.points.swap_remove(point.index());
    experiment.points = vec![chosen];
    if of == 1 {
        return (experiment, None);
    }
    let factors = factors(&experiment.points[0].label);
    if point.index() > 0 {
        experiment.title = format!("{} at {factors}", experiment.title);
    }
    (experiment, Some(format!("point {} of {of}: {factors}", point.index() + 1)))
}

/// The experiment for one run: the fewest blocks, no goal, and a share of the budget.
fn one_run_experiment(mut experiment: Experiment, budget: Nanoseconds) -> Experiment {
    let plan = &mut experiment.plan;
    plan.blocks_min = plan.blocks_min.max(judge::thresholds::BLOCKS_FOR_INTERVAL as u32);
    (plan.blocks_max, plan.until) = (plan.blocks_min, None);
    plan.budget = budget / RUNS;
    experiment
}

/// Each is shown once.
#[derive(Debug, Default)]
struct Warnings(Vec<String>);

impl Warnings {
    fn see(&mut self, event: &TimedEvent, progress: &mut dyn FnMut(&str)) {
        let text = match &event.event {
            Event::Warning { text } => text.clone(),
            Event::Building { service } => format!("building `{service}`"),
            _ => return,
        };
        if !self.0.contains(&text) {
            progress(&text);
            self.0.push(text);
        }
    }
}

#[derive(Debug, Default)]
struct VariantRuns {
    copies: Vec<CalibrationRun>,
    slower: Vec<SlowerRun>,
    lost: u32,
    delta: Option<Nanoseconds>,
}

struct CalibrationRuns<'a> {
    job: &'a CalibrationJob<'a>,
    options: Options,
    cores: &'a CoreLayout,
    folder: &'a Path,
    prepared: &'a Prepared,
    facts: Environment,
    began: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SecondVariant {
    Copy,
    Slower(Nanoseconds),
}

impl CalibrationRuns<'_> {
    /// Runs every variant in turn until the budget is spent: equal, slower, equal, equal, slower, equal …
    fn all_runs(
        &self,
        subjects: &mut [VariantRuns],
        noise: &mut NoiseWatch,
        warn: &mut Warnings,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), ReliabilityError> {
        let (mut longest, mut lost, mut number) = (Nanoseconds::ZERO, 0, 0_u64);
        for turn in 0.. {
            for (at, variant_runs) in subjects.iter_mut().enumerate() {
                let spent = monotonic_now().since(self.began);
                let enough = variant_runs.lost > 0
                    || (!variant_runs.copies.is_empty()
                        && (!variant_runs.slower.is_empty() || variant_runs.copies.len() > 1));
                if enough && spent + longest > self.job.budget {
                    return Ok(());
                }
                if self.options.control.is_interrupted() {
                    return Err(ReliabilityError::Interrupted);
                }
                let other = match variant_runs.delta.or_else(|| self.delta(variant_runs)) {
                    Some(delta) if turn % SLOWER_ONE_IN == 1 => SecondVariant::Slower(delta),
                    _ => SecondVariant::Copy,
                };
                number += 1;
                let left = self.job.budget.saturating_sub(spent);
                let name = &self.prepared.experiment.variants[at].name;
                progress(&match other {
                    SecondVariant::Copy => format!("run {number}: `{name}` beside a copy; about {left} left"),
                    SecondVariant::Slower(by) => {
                        format!("run {number}: `{name}` beside one slower by {by}; about {left} left")
                    }
                });
                noise.sample(self.cores);
                let since = monotonic_now();
                match self.one_run(number, at, other, &mut |event| warn.see(event, progress)) {
                    Ok((look, truth)) => {
                        variant_runs.take(other, look, truth);
                        lost = 0;
                    }
                    Err(ReliabilityError::Run(error)) if is_disturbed(&error) && lost + 1 < LOST_IN_A_ROW => {
                        lost += 1;
                        variant_runs.lost += 1;
                    }
                    Err(error) => return Err(error),
                }
                longest = longest.max(monotonic_now().since(since));
            }
        }
        Ok(())
    }

    fn delta(&self, variant_runs: &VariantRuns) -> Option<Nanoseconds> {
        let median = variant_runs.copies.first()?.figure(Quantity::ResponseP50)?;
        let part = Nanoseconds::from_nanos(median as u64) / DELTA_PART;
        Some(self.job.delta.unwrap_or(part.max(DELTA_LEAST)))
    }

    /// One run of a variant and its copy, and the actual slowdown; the run's folder is removed.
    fn one_run(
        &self,
        number: u64,
        at: usize,
        other: SecondVariant,
        sink: &mut dyn FnMut(&TimedEvent),
    ) -> Result<(CalibrationRun, Option<f64>), ReliabilityError> {
        let record = self.folder.join("record");
        let prepared = self.pair(number, at, other, &record)?;
        let experiment = prepared.experiment.clone();
        let held = match (other, &self.job.subject) {
            (SecondVariant::Slower(by), CalibrationSubject::Experiment(_)) => Some((VariantId(1), by)),
            _ => None,
        };
        let options = Options { hold_back: held, ..self.options.clone() };
        let started = utc_now();
        let mut writer =
            RunWriter::create(&options.out, &experiment.title, started).map_err(RunError::Write)?;
        let files = RunFiles { writer: &mut writer, started, facts: self.facts.clone() };
        let measured = measure(&prepared, &options, files, Vec::new(), sink);
        let Finished { summary, folder, .. } = measured.map_err(run_error)?;
        let trials: Vec<TrialRecord> = folder.load_blocks()?.into_iter().flatten().collect();
        let question = question(&experiment, Some(self.cores), judge::Run::default());
        let look = CalibrationRun::new(&question, &trials, summary.validity);
        let truth = match other {
            SecondVariant::Copy => None,
            SecondVariant::Slower(by) => self.truth(by, &record)?,
        };
        drop(writer);
        let _ = std::fs::remove_dir_all(folder.path());
        let _ = std::fs::remove_dir_all(&record);
        Ok((look, truth))
    }

    fn pair(
        &self,
        number: u64,
        at: usize,
        other: SecondVariant,
        record: &Path,
    ) -> Result<Prepared, ReliabilityError> {
        let mut experiment = self.prepared.experiment.clone();
        let variant = experiment.variants[at].clone();
        let launch_spec = self.prepared.launch_specs[at].clone();
        let (suffix, copy) = match (other, &self.job.subject) {
            (SecondVariant::Copy, _) => ("copy", launch_spec.clone()),
            (SecondVariant::Slower(_), CalibrationSubject::Experiment(_)) => ("slower", launch_spec.clone()),
            (SecondVariant::Slower(by), CalibrationSubject::Probe(program)) => {
                let target = probe(program, by, Some(record));
                (
                    "slower",
                    LaunchSpec::new(
                        &Variant { target, ..variant.clone() },
                        Services::default(),
                        ProgramSource::default(),
                    )?,
                )
            }
        };
        let name = format!("{} ({suffix})", variant.name);
        experiment.variants = vec![variant.clone(), Variant { name, ..variant }];
        // Each run has another order of windows and other requests.
        experiment.plan.seed = experiment.plan.seed.wrapping_add(number);
        let shapes: Vec<Shape> = self.prepared.shapes.clone();
        Ok(Prepared {
            batches: batches(&experiment),
            idle: IdleCores::open(&experiment),
            experiment,
            shapes,
            placement: self.prepared.placement.clone(),
            launch_specs: vec![launch_spec, copy],
            postgres: self.prepared.postgres.clone(),
            secrets: self.prepared.secrets.clone(),
            unavailable: Vec::new(),
            division: None,
            sources: ProgramSources::default(),
        })
    }

    /// The actual slowdown as the headline shows it; known only where no request waits for another.
    fn truth(&self, by: Nanoseconds, record: &Path) -> Result<Option<f64>, ReliabilityError> {
        let headline = self.prepared.experiment.plan.headline;
        let alone = waits_for_itself_alone(&self.prepared.experiment.points[0].load);
        if !alone || !(headline.is_response() || headline.is_service()) {
            return Ok(None);
        }
        if matches!(self.job.subject, CalibrationSubject::Experiment(_)) {
            let core = self.cores.client();
            let held = std::thread::spawn(move || {
                // Even on another core the median is the same within nanoseconds.
                let _pinned = Pinned::current_thread(core).ok();
                Generator::really_held(by)
            });
            return Ok(held.join().ok().map(|held| held.as_nanos() as f64));
        }
        let mut spent = recorded(record)?;
        spent.sort_unstable();
        Ok(match headline.statistic() {
            Statistic::Mean if !spent.is_empty() => {
                Some(spent.iter().map(|spent| *spent as f64).sum::<f64>() / spent.len() as f64)
            }
            _ => spent.get(spent.len() / 2).map(|median| *median as f64),
        })
    }

    fn sum_up(
        &self,
        at: usize,
        variant_runs: &VariantRuns,
    ) -> weighbridge_model::reliability::VariantReliability {
        let question = question(&self.prepared.experiment, Some(self.cores), judge::Run::default());
        let planting = match self.job.subject {
            CalibrationSubject::Probe(_) => Planting::Probe,
            CalibrationSubject::Experiment(_) => Planting::HoldBack,
        };
        reliability(
            &question,
            &Runs {
                variant: &self.prepared.experiment.variants[at].name,
                copies: &variant_runs.copies,
                slower: &variant_runs.slower,
                planting: (planting, variant_runs.delta.unwrap_or_default()),
                lost: variant_runs.lost,
            },
        )
    }
}

impl VariantRuns {
    fn take(&mut self, other: SecondVariant, look: CalibrationRun, truth: Option<f64>) {
        match other {
            SecondVariant::Copy => self.copies.push(look),
            SecondVariant::Slower(by) => {
                self.delta = Some(by);
                self.slower.push(SlowerRun { run: look, truth });
            }
        }
    }
}

/// Whether no request ever waits for another of the same generator.
fn waits_for_itself_alone(load: &LoadSpec) -> bool {
    load.model == LoadModel::Closed && load.connections == 1 && load.in_flight == 1
}

/// How long a probe held each request in all trials, in nanoseconds.
fn recorded(folder: &Path) -> Result<Vec<u64>, ReliabilityError> {
    let files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    let mut spent = Vec::new();
    for file in files {
        let text =
            std::fs::read_to_string(&file).map_err(|source| ReadError::Io { path: file.clone(), source })?;
        spent.extend(from_csv(&text)?.iter().map(|served| served.spent().as_nanos()));
    }
    Ok(spent)
}
