//! The main loop of a run: measures block after block until the judge says stop, and records them.
//!
//! It makes no decision about figures, or about the length or number of measurements.

use std::collections::BTreeSet;
use std::path::PathBuf;

use weighbridge_judge as judge;
use weighbridge_judge::steer::{BlockHistory, BlockRule, BlockStep, Budget, Stop};
use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::host::cores::Pinned;
use weighbridge_lab::process::launch::Lab;
use weighbridge_model::environment::Environment;
use weighbridge_model::event::{Event, Interim, TimedEvent};
use weighbridge_model::experiment::{Experiment, Variant};
use weighbridge_model::id::VariantId;
use weighbridge_model::pairing::Pairing;
use weighbridge_model::plan::Batches;
use weighbridge_model::plan::{Division, PlanFile};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{Tallies, TrialRecord};
use weighbridge_model::summary::{Detail, Summary};
use weighbridge_store::scrub::Secrets;
use weighbridge_store::{Participant, RunFolder, RunWriter, UtcTime};

use crate::block::batch::{Batch, BatchRunner};
use crate::block::times::BlockTimes;
use crate::block::{BlockError, BlockResult, PriorDecisions, PriorSteps};
use crate::control::Control;
use crate::hooks::{self, CancelOn, HookContext};
use crate::options::Options;
use crate::prepare::Prepared;
use crate::prepare::cores::client_core;
use crate::prepare::forecast::over_budget;
use crate::prepare::plan::first_block;
use crate::prepare::registry::other_runs;
use crate::run::question::{guides, question};
use crate::run::quote::quoted;
use crate::run::resources::RunResources;
use crate::run::{Finished, RunError};
use crate::variant::VariantError;
use crate::variant::memory_watch::MemoryWatch;

/// Most distinct warnings of a run.
const WARNINGS_MOST: usize = 100;

/// How far beyond the budget the expected time is worth a warning.
const OVER_BUDGET: f64 = 1.25;

pub(crate) struct RunFiles<'a> {
    pub writer: &'a mut RunWriter,
    pub started: UtcTime,
    pub facts: Environment,
}

pub(crate) fn measure(
    prepared: &Prepared,
    options: &Options,
    files: RunFiles<'_>,
    done: Vec<TrialRecord>,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    prepared.raise_limits()?;
    // Services are pinned when they start; our own threads must stay off their cores.
    let _pinned = Pinned::current_thread(prepared.placement.own())?;
    let RunFiles { writer, started, facts } = files;
    let mut run_loop = RunLoop {
        prepared,
        options,
        batches: prepared.batches.clone(),
        question: question_for(prepared, &folder_name(writer.folder()), started, options.quick, &facts),
        warned: BTreeSet::new(),
        void_before: judge::records::Records::new(&done).void.len() as u32,
        times: done.chunk_by(|a, b| a.block == b.block).map(BlockTimes::from_trials).collect(),
        trials: done,
        began: monotonic_now(),
        writer,
        sink,
    };
    run_loop.announce();
    let outcome = run_loop.carry_out();
    run_loop.clean_up();
    match outcome {
        Err(RunError::Block(BlockError::Interrupted)) => Err(run_loop.interrupted()),
        Err(error) => Err(run_loop.failed(error)),
        Ok(()) => {
            let (summary, detail) = run_loop.conclude(&facts)?;
            let folder = RunFolder::open(run_loop.writer.folder().path())?;
            Ok(Finished { summary, detail, environment: facts, folder })
        }
    }
}

fn question_for(
    prepared: &Prepared,
    name: &str,
    started: UtcTime,
    quick: bool,
    facts: &Environment,
) -> judge::Question {
    let experiment = &prepared.experiment;
    let usual = prepared.placement.usual();
    let run = judge::Run {
        title: experiment.title.clone(),
        name: name.to_owned(),
        started: started.rfc3339(),
        quick,
        unavailable: prepared.unavailable.iter().map(|one| (one.name.clone(), one.reason.clone())).collect(),
        ..judge::Run::default()
    };
    let mut question = judge::Question {
        absent: prepared.unavailable.clone(),
        idle: Some(prepared.idle.wait().clone()),
        guides: guides(facts),
        ..question(experiment, Some(usual), run)
    };
    if client_core(usual, &prepared.foreign_addresses()).is_none() {
        question.cores.placement = judge::Placement::Shared;
    }
    question
}

/// The steps of the blocks that count; empty without a capacity.
fn prior_steps<'a>(experiment: &Experiment, trials: &'a [TrialRecord]) -> PriorSteps<'a> {
    let mut steps = PriorSteps::default();
    if experiment.capacity.is_some() {
        for trial in judge::records::Records::new(trials).used.iter().flat_map(|block| &block.trials) {
            steps.add(&experiment.variants[trial.variant.index()].name, trial);
        }
    }
    steps
}

/// After a request to stop, errors are taken for its consequence.
fn interrupted_or(control: &Control, error: RunError) -> RunError {
    if control.is_interrupted() { RunError::Block(BlockError::Interrupted) } else { error }
}

fn folder_name(folder: &RunFolder) -> String {
    folder.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The event with secrets hidden in texts from outside. Names are the user's own and stay.
fn without_secrets(mut event: Event, secrets: &Secrets) -> Event {
    match &mut event {
        Event::Warning { text: said }
        | Event::BlockVoid { reason: said, .. }
        | Event::Unavailable { reason: said, .. } => *said = secrets.hide(said).into_owned(),
        _ => {}
    }
    event
}

/// A trial whose record is written: it is kept until the run ends.
fn folded(mut trial: TrialRecord) -> TrialRecord {
    trial.tallies.iter_mut().for_each(Tallies::fold);
    trial
}

struct RunLoop<'a> {
    prepared: &'a Prepared,
    options: &'a Options,
    batches: Batches,
    question: judge::Question,
    trials: Vec<TrialRecord>,
    warned: BTreeSet<String>,
    /// Void blocks from before this process resumed the run.
    void_before: u32,
    times: Vec<BlockTimes>,
    began: Timestamp,
    writer: &'a mut RunWriter,
    sink: &'a mut dyn FnMut(&TimedEvent),
}

impl RunLoop<'_> {
    fn emit(&mut self, event: Event) -> Result<(), RunError> {
        let event = without_secrets(event, &self.prepared.secrets);
        if let Event::Warning { text } = &event {
            // Each warning is emitted once; the limit bounds a server that returns a new text each time.
            if self.warned.contains(text) || self.warned.len() == WARNINGS_MOST {
                return Ok(());
            }
            self.warned.insert(text.clone());
        }
        let timed = TimedEvent { at: monotonic_now().since(self.began), event };
        (self.sink)(&timed);
        Ok(self.writer.append_event(&timed)?)
    }

    fn announce(&mut self) {
        let plan = &self.prepared.experiment.plan;
        let event = Event::RunStarted {
            title: self.prepared.experiment.title.clone(),
            folder: self.writer.folder().path().display().to_string(),
            variants: self.prepared.experiment.variants.iter().map(|variant| variant.name.clone()).collect(),
            points: self.prepared.experiment.points.len(),
            blocks: (plan.blocks_min, plan.blocks_max),
            budget: plan.budget,
            headline: Some(plan.headline),
        };
        // An unwritable folder will fail the first block, before anything is lost.
        let _ = self.emit(event);
        if self.batches.count() > 1 {
            let reason = match self.batches.largest() {
                largest if largest <= plan.together as usize => {
                    format!(
                        "`together = {}` of {} variants",
                        plan.together,
                        self.prepared.experiment.variants.len()
                    )
                }
                _ => "as the run was planned".to_owned(),
            };
            let _ = self.emit_batches(reason);
        }
        let noted = self.prepared.shapes.iter().filter_map(|shape| shape.replay()?.noted());
        for noted in noted.collect::<Vec<_>>() {
            let _ = self.emit(Event::Warning { text: format!("of the trace: {noted}") });
        }
        if let Some(text) = self.prepared.idle.warning() {
            let _ = self.emit(Event::Warning { text });
        }
        self.warn_over_budget();
    }

    fn warn_over_budget(&mut self) {
        let Prepared { experiment, launch_specs, .. } = self.prepared;
        let place = |variant: &Variant| experiment.variants.iter().position(|own| own.name == variant.name);
        let period = |variant: &Variant| launch_specs.get(place(variant)?)?.period_of(variant);
        if let Some(text) = over_budget(experiment, &self.batches, period) {
            let _ = self.emit(Event::Warning { text });
        }
    }

    fn emit_batches(&mut self, reason: String) -> Result<(), RunError> {
        let name = |id: &VariantId| self.prepared.experiment.variants[id.index()].name.clone();
        let batches = self.batches.iter().map(|members| members.iter().map(name).collect()).collect();
        self.emit(Event::Batches { batches, reason })
    }

    fn make_batches(&mut self, together: usize, reason: String) -> Result<(), RunError> {
        self.batches = Batches::even(self.prepared.experiment.variants.len(), together);
        let mut plan = self.writer.folder().plan()?;
        if let PlanFile::Measured(plan) = &mut plan {
            plan.batches = Some(self.batches.clone());
            plan.first_block = first_block(&self.prepared.experiment, &self.batches);
        }
        self.writer.write_plan(&plan)?;
        self.emit_batches(reason)
    }

    fn carry_out(&mut self) -> Result<(), RunError> {
        for other in other_runs() {
            let text = format!("run `{other}` is under way too: each disturbs the other's figures");
            self.emit(Event::Warning { text })?;
        }
        let (prepared, control) = (self.prepared, &self.options.control);
        let resources =
            RunResources::open(&folder_name(self.writer.folder()), prepared, self.options, &self.logs())?;
        self.warn_out_of_reach(&resources.lab)?;
        let Experiment { plan, hooks, .. } = &prepared.experiment;
        if let Some(command) = &hooks.prepare {
            let tracker = Some(resources.lab.tracker());
            let context = HookContext { logs: &resources.logs, secrets: &prepared.secrets, tracker };
            hooks::run("prepare", command, context, CancelOn::Request(control))
                .map_err(|error| interrupted_or(control, error.into()))?;
        }
        let mut blocks = self.question.blocks;
        if let Some(Division { blocks: advised, run }) = prepared.division.clone() {
            blocks.min = advised;
            self.emit(Event::Divided { blocks: advised, run })?;
        }
        let measured = self.options.measured_budget;
        let budget = if measured { Budget::Measured(plan.budget) } else { Budget::Whole(plan.budget) };
        let outcome = self.measure_blocks(
            &resources,
            BlockRule { blocks, until: plan.until, contrast: plan.headline.contrast(), budget },
        );
        let left = resources.close().unwrap_or_else(|error| Some(error.to_string()));
        let told = left.map_or(Ok(()), |text| self.emit(Event::Warning { text }));
        outcome.and(told)
    }

    /// Names the programs that the lab will not be able to end.
    fn warn_out_of_reach(&mut self, lab: &Lab) -> Result<(), RunError> {
        let Prepared { experiment, launch_specs, .. } = self.prepared;
        for (variant, spec) in experiment.variants.iter().zip(launch_specs) {
            let Some((program, folder)) = spec.program() else { continue };
            if let Some(why) = lab.out_of_reach(program, folder) {
                self.emit(Event::Warning { text: format!("`{}`: {why}", variant.name) })?;
            }
        }
        Ok(())
    }

    /// Where the first block shows that memory holds fewer variants at once, it starts again in smaller
    /// batches.
    fn measure_blocks(&mut self, resources: &RunResources, rule: BlockRule) -> Result<(), RunError> {
        let (prepared, options) = (self.prepared, self.options);
        loop {
            let batches = Batch::all(&prepared.experiment, &prepared.launch_specs, &self.batches);
            let fresh = self.trials.is_empty();
            let runner = resources.batch_runner(prepared, &batches, options, rule, |size| {
                fresh.then(|| MemoryWatch::new(size))
            });
            match self.run_blocks(&runner) {
                Err(RunError::Block(BlockError::RunningVariant(
                    crowded @ VariantError::Crowded { together, .. },
                ))) => {
                    self.make_batches(together, crowded.to_string())?;
                }
                outcome => return outcome,
            }
        }
    }

    fn run_blocks(&mut self, runner: &BatchRunner<'_>) -> Result<(), RunError> {
        loop {
            let compared = self.compared();
            let (used, void, reason) = self.counts();
            // The disturbance may be over: void blocks from before the run was resumed do not end it.
            let void = void - self.void_before;
            let history = self.history(used, void, &compared);
            let of = match runner.rule.next(&history) {
                BlockStep::Run { of } => of,
                BlockStep::Stop(Stop::Void) => return Err(RunError::Disturbed { void, used, reason }),
                BlockStep::Stop(_) => return Ok(()),
            };
            if self.options.control.is_interrupted() {
                return Err(RunError::Block(BlockError::Interrupted));
            }
            self.warn_of_long_blocks(&runner.rule)?;
            let number = self.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
            self.emit(Event::BlockStarted { block: number, of })?;
            let mut trouble = None;
            let (pairings, windows, warm_ups) = self.prior();
            // Taken, since what the block emits needs the rest of the loop meanwhile.
            let trials = std::mem::take(&mut self.trials);
            let steps = prior_steps(&self.prepared.experiment, &trials);
            let prior =
                PriorDecisions { pairings: &pairings, windows: &windows, warm_ups: &warm_ups, steps: &steps };
            let result = runner.block(number, &history, prior, &mut |event| {
                trouble = self.emit(event).err().or(trouble.take());
            });
            self.trials = trials;
            let result = result.map_err(RunError::Block)?;
            if let Some(error) = trouble {
                return Err(error);
            }
            self.keep(number, of, result)?;
        }
    }

    /// Starts and warm-ups, or a search, may take so long that the fewest blocks exceed the budget. The second block tells
    /// it: the first one does what no other has to.
    fn warn_of_long_blocks(&mut self, rule: &BlockRule) -> Result<(), RunError> {
        let ([first, second], Budget::Whole(budget)) = (&self.times[..], rule.budget) else { return Ok(()) };
        let whole = |times: &BlockTimes| times.overhead + times.measured;
        let expected = whole(first) + whole(second) * u64::from(rule.blocks.min.saturating_sub(1));
        if expected.as_secs_f64() <= budget.as_secs_f64() * OVER_BUDGET {
            return Ok(());
        }
        let text = format!(
            "it will take about {expected}, not {budget}: at least {} blocks of {}",
            rule.blocks.min,
            whole(second)
        );
        self.emit(Event::Warning { text })
    }

    fn keep(&mut self, number: u32, of: u32, result: BlockResult) -> Result<(), RunError> {
        self.times.push(result.times);
        if result.trials.is_empty() {
            // It was stopped before it began: there is nothing to store, and its number is free.
            let reason = "the run was stopped in the middle of it".to_owned();
            return self.emit(Event::BlockVoid { block: number, reason });
        }
        self.writer.write_block(&self.participants(), &result.trials)?;
        let void = self.counts().1;
        self.trials.extend(result.trials.into_iter().map(folded));
        match self.counts() {
            (_, now, reason) if now > void => self.emit(Event::BlockVoid { block: number, reason }),
            _ => {
                let interim = self.interim();
                self.emit(Event::BlockEnded { block: number, interim, of })
            }
        }
    }

    fn participants(&self) -> Vec<Participant> {
        let participant =
            |(variant, id): (&Variant, VariantId)| Participant { variant: id, name: variant.name.clone() };
        self.prepared
            .experiment
            .variants
            .iter()
            .zip(self.prepared.experiment.variant_ids())
            .map(participant)
            .collect()
    }

    /// How many blocks count, how many are void, and why the last of these is.
    fn counts(&self) -> (u32, u32, String) {
        let gathered = judge::records::Records::new(&self.trials);
        let reason = gathered.void.last().map(|(_, reason)| reason.clone()).unwrap_or_default();
        (gathered.used.len() as u32, gathered.void.len() as u32, reason)
    }

    fn history<'h>(&self, used: u32, void: u32, compared: &'h [Vec<f64>]) -> BlockHistory<'h> {
        BlockHistory {
            used,
            void,
            compared,
            overhead: self.times.iter().map(|times| times.overhead).sum(),
            begun: self.times.len() as u32,
            measured: self.times.iter().map(|times| times.measured).sum(),
            round: self.times.last().map(|times| times.round),
        }
    }

    /// Pairing, window length and warm-up of each point in the blocks that count; empty where there are none.
    fn prior(&self) -> (Vec<Pairing>, Vec<Option<Nanoseconds>>, Vec<Vec<u64>>) {
        let gathered = judge::records::Records::new(&self.trials);
        match gathered.used.is_empty() {
            true => (Vec::new(), Vec::new(), Vec::new()),
            false => {
                let points = || self.prepared.experiment.point_ids();
                let pairings = points().map(|point| gathered.pairing(point)).collect();
                let windows = points().map(|point| gathered.window(point)).collect();
                (pairings, windows, points().map(|point| gathered.warm_up(point)).collect())
            }
        }
    }

    fn compared(&self) -> Vec<Vec<f64>> {
        let gathered = judge::records::Records::new(&self.trials);
        let headlines = judge::estimate::headlines(&self.question, &gathered);
        let contrasts = headlines.iter().filter_map(|h| h.contrast.as_ref().ok().map(|c| c.compared()));
        contrasts.chain(judge::estimate::lone_log_capacities(&self.question, &gathered)).collect()
    }

    fn interim(&self) -> Vec<Interim> {
        let gathered = judge::records::Records::new(&self.trials);
        let headlines = judge::estimate::headlines(&self.question, &gathered);
        let interim = |headline: &judge::estimate::Headline| {
            let contrast = headline.contrast.as_ref().ok()?;
            // Of shares, which have no ratio, the difference.
            let (change, one) = contrast.ratio().map_or((contrast.difference(), 0.0), |ratio| (ratio, 1.0));
            Some(Interim {
                variant: self.prepared.experiment.variants[headline.variant.index()].name.clone(),
                point: self.prepared.experiment.points[headline.point.index()].label.clone(),
                change: change.point - one,
                contrast: self.question.headline.contrast(),
                half_width: contrast.half_width(),
                lower: change.lower.map(|bound| bound - one),
                upper: change.upper.map(|bound| bound - one),
            })
        };
        headlines.iter().filter_map(interim).collect()
    }

    fn logs(&self) -> PathBuf {
        self.writer.folder().path().join("logs")
    }

    /// Runs the cleanup hook, however the run ended.
    fn clean_up(&mut self) {
        let Some(command) = &self.prepared.experiment.hooks.cleanup else { return };
        let context = HookContext { logs: &self.logs(), secrets: &self.prepared.secrets, tracker: None };
        if let Err(error) = hooks::run("cleanup", command, context, CancelOn::Never) {
            // If the folder is not writable, the terminal still shows the warning.
            let _ = self.emit(Event::Warning { text: error.to_string() });
        }
    }

    /// The error with the number of stored blocks and how to resume. The terminal shows it as the command's
    /// error.
    fn failed(&mut self, error: RunError) -> RunError {
        let event = Event::Warning { text: self.prepared.secrets.hide(&error.to_string()).into_owned() };
        let _ = self.writer.append_event(&TimedEvent { at: monotonic_now().since(self.began), event });
        let blocks = self.counts().0 as usize;
        if blocks == 0 || matches!(error, RunError::Write(_)) {
            // The error of a failed write already says how to resume.
            return error;
        }
        RunError::Cut { cause: error.into(), folder: self.writer.folder().path().to_owned(), blocks }
    }

    fn interrupted(&mut self) -> RunError {
        let blocks = self.counts().0 as usize;
        let folder = self.writer.folder().path().to_owned();
        let event = Event::Interrupted { folder: folder.display().to_string(), blocks: blocks as u32 };
        // If the folder is not writable, the error says the same.
        let _ = self.emit(event);
        RunError::Interrupted { folder, blocks }
    }

    fn conclude(&mut self, facts: &Environment) -> Result<(Summary, Detail), RunError> {
        self.question.run.took = monotonic_now().since(self.began);
        let (mut summary, detail) = judge::whole(&self.question, &self.trials);
        summary.calibration = quoted(
            self.options.calibrations.as_deref(),
            &self.prepared.experiment.title,
            self.question.headline,
            &self.trials,
            facts,
        );
        // The summary last: by it a run has ended.
        self.writer.write_detail(&detail)?;
        self.writer.write_summary(&summary)?;
        let folder = self.writer.folder().path().display().to_string();
        self.emit(Event::RunEnded { folder })?;
        Ok((summary, detail))
    }
}
