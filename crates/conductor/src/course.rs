//! A run under way: the lab and the generator open, blocks one after another until the judge says stop, and what is
//! written down of them.
//!
//! It decides nothing about figures, and never how long or how often: those are the judge's steps.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weighbridge_judge as judge;
use weighbridge_judge::steer::{
    BlockHistory, BlockRule, BlockStep, Budget, SizeHistory, SizeRule, SizeStep, Stop,
};
use weighbridge_lab::clock::monotonic_now;
use weighbridge_lab::cores::Pinned;
use weighbridge_lab::custody::CustodyError;
use weighbridge_lab::guardian::Guardian;
use weighbridge_lab::launch::Lab;
use weighbridge_lab::procfs::{Pid, ProcessIdentity};
use weighbridge_lab::registry::{self, Listed, Registry, RegistryError};
use weighbridge_model::event::{Event, Interim, TimedEvent};
use weighbridge_model::experiment::{Experiment, Variant, WorkloadSpec};
use weighbridge_model::id::VariantId;
use weighbridge_model::pairing::{Pairing, PairingChoice};
use weighbridge_model::plan::{Batches, Plan};
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Detail, Summary};
use weighbridge_store::scrub::Secrets;
use weighbridge_store::{Participant, RunFolder, RunWriter, UtcTime};

use crate::actor::{ActorError, Recipe, Stage};
use crate::batch::{Crew, Party, Watch, rule_of_batch, whole_plan};
use crate::block::{Bench, BlockError, BlockResult, Settled};
use crate::client::Clients;
use crate::control::Control;
use crate::division::Division;
use crate::hook::{self, CallOff, Scene};
use crate::idle::IdleCores;
use crate::prepared::Prepared;
use crate::question::{guides, question};
use crate::quoted::quoted;
use crate::room;
use crate::run::{Finished, Options, RunError, first_block};
use crate::seating::Seating;
use crate::shape::Shape;
use crate::single::client_core;
use crate::times::{BlockTimes, foreseen};

/// Most different warnings of a run.
const WARNINGS_MOST: usize = 100;

type Place<'a> = (&'a mut RunWriter, UtcTime, Value);

/// Blocks until the judge says stop, then the judgement.
pub(crate) fn measure(
    prepared: &Prepared,
    options: &Options,
    (writer, started, facts): Place<'_>,
    done: Vec<TrialRecord>,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    let began = monotonic_now();
    let experiment = &prepared.experiment;
    room::make(experiment)?;
    let seating = Seating::detect(experiment, options)?;
    // Services are pinned when they start; everything of ours stays off their cores.
    let _pinned = Pinned::current_thread(seating.own())?;
    let run = judge::Run {
        title: experiment.title.clone(),
        name: folder_name(writer.folder()),
        started: started.rfc3339(),
        quick: options.quick,
        unavailable: prepared.unavailable.iter().map(|one| (one.name.clone(), one.reason.clone())).collect(),
        ..judge::Run::default()
    };
    let mut course = Course {
        experiment,
        shapes: &prepared.shapes,
        secrets: &prepared.secrets,
        batches: prepared.batches.clone(),
        question: judge::Question {
            absent: prepared.unavailable.clone(),
            idle: Some(prepared.idle.wait().clone()),
            ..question(experiment, Some(seating.usual()), run)
        },
        division: prepared.division.clone(),
        idle: &prepared.idle,
        warned: BTreeSet::new(),
        void_before: judge::records::Records::new(&done).void.len() as u32,
        times: done.chunk_by(|a, b| a.block == b.block).map(BlockTimes::of).collect(),
        trials: done,
        began,
        writer,
        sink,
    };
    let theirs: Vec<_> = prepared.recipes.iter().flat_map(Recipe::addresses).cloned().collect();
    if client_core(seating.usual(), &theirs).is_none() {
        course.question.cores.placement = judge::Placement::Shared;
    }
    course.question.guides = guides(&facts);
    course.announce();
    if let Some(text) = prepared.idle.refused() {
        // A folder that cannot be written shows with the first block, before anything is lost.
        let _ = course.say(Event::Warning { text });
    }
    course.tell_foreseen(&prepared.recipes);
    let outcome = course.carry_out(&prepared.recipes, options, &seating);
    course.clean_up();
    match outcome {
        Err(RunError::Block(BlockError::Interrupted)) => Err(course.interrupted()),
        Err(error) => Err(course.failed(error)),
        Ok(()) => {
            let (summary, detail) = course.conclude(options.calibrations.as_deref(), &facts)?;
            let folder = RunFolder::open(course.writer.folder().path())?;
            Ok(Finished { summary, detail, environment: facts, folder })
        }
    }
}

/// An error that came of the user's wish to stop is that wish.
fn interrupted_or(control: &Control, error: RunError) -> RunError {
    if control.is_interrupted() { RunError::Block(BlockError::Interrupted) } else { error }
}

fn folder_name(folder: &RunFolder) -> String {
    folder.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The lab and the generators, open for business.
pub(crate) struct Shop<'a> {
    lab: Lab,
    clients: Clients,
    seating: &'a Seating,
    logs: &'a Path,
    secrets: &'a Secrets,
    idle: &'a IdleCores,
}

impl<'a> Shop<'a> {
    pub fn open(
        name: &str,
        recipes: &[Recipe],
        options: &Options,
        seating: &'a Seating,
        (logs, secrets): (&'a Path, &'a Secrets),
        idle: &'a IdleCores,
    ) -> Result<Self, RunError> {
        let (program, verb) = &options.guardian;
        let ours = recipes.iter().any(Recipe::is_ours);
        let guardian = if ours { Some(Guardian::start(program, verb)?) } else { None };
        // Runs in different folders may have the same name; processes that live at the same time have not.
        let name = format!("{name}-{}", std::process::id());
        let registry = match registry::default_base().filter(|_| ours) {
            Some(base) => Some(own_registry(&base, &name, guardian.as_ref().and_then(Guardian::identity))?),
            None => None,
        };
        let lab = Lab::new(&name, guardian, registry)
            .called_off_by(options.control.window.clone())
            .with_program(program);
        let cut = options.control.window.clone();
        let clients = match seating {
            Seating::Duet(lanes) => Clients::in_lanes(lanes, &cut)?,
            Seating::One(cores) => {
                // A server of somebody else's may be bound to the core that would be ours.
                let theirs: Vec<_> = recipes.iter().flat_map(Recipe::addresses).cloned().collect();
                let core = if theirs.is_empty() { Some(cores.client()) } else { client_core(cores, &theirs) };
                Clients::one(core, cores, cut)?
            }
        };
        std::fs::create_dir_all(logs).map_err(|source| RunError::Logs { path: logs.to_owned(), source })?;
        Ok(Self { lab, clients, seating, logs, secrets, idle })
    }

    pub fn bench<'b>(
        &'b self,
        (experiment, shapes): (&'b Experiment, &'b [Shape]),
        recipes: &'b [Recipe],
        options: &'b Options,
        rule: BlockRule,
    ) -> Bench<'b> {
        let plan = &experiment.plan;
        Bench {
            experiment,
            shapes,
            plan: Plan::new(plan.seed, experiment.variants.len(), experiment.points.len()),
            recipes,
            stage: Stage {
                lab: &self.lab,
                seating: self.seating,
                logs: self.logs,
                secrets: self.secrets,
                freeze: plan.freeze && plan.pairing != PairingChoice::Duet,
                connections: experiment.points.iter().map(|point| point.load.connections).max().unwrap_or(1),
                party: None,
                watch: None,
            },
            clients: &self.clients,
            control: &options.control,
            idle: self.idle,
            rule,
            hold_back: options.hold_back,
        }
    }

    /// The benches of all batches; `watch` says who watches memory in the first block of a batch of so many.
    pub fn crew<'b>(
        &'b self,
        (experiment, shapes): (&'b Experiment, &'b [Shape]),
        parties: &'b [Party],
        (options, rule): (&'b Options, BlockRule),
        watch: impl Fn(usize) -> Option<Watch>,
    ) -> Crew<'b> {
        let of_batch = rule_of_batch(rule, parties.len() as u32);
        let bench = |party: &'b Party| {
            let bench = self.bench((&party.experiment, shapes), &party.recipes, options, of_batch);
            let stage = Stage {
                party: (parties.len() > 1).then_some(party),
                watch: watch(party.members.len()),
                ..bench.stage
            };
            Bench { plan: party.plan, stage, ..bench }
        };
        Crew { parties, benches: parties.iter().map(bench).collect(), plan: whole_plan(experiment), rule }
    }

    pub fn close(self) -> Result<(), CustodyError> {
        drop(self.clients);
        self.lab.close().map(drop)
    }
}

/// The event with secrets hidden in what others say in it. Names are the user's own and stay.
fn without_secrets(mut event: Event, secrets: &Secrets) -> Event {
    match &mut event {
        Event::Warning { text: said }
        | Event::BlockVoid { reason: said, .. }
        | Event::Unavailable { reason: said, .. } => *said = secrets.hide(said).into_owned(),
        _ => {}
    }
    event
}

/// A registry of this name, with a number behind it where a dead run left one: in containers every process may have
/// the same number.
pub(crate) fn own_registry(
    base: &Path,
    name: &str,
    guardian: Option<ProcessIdentity>,
) -> Result<Registry, RegistryError> {
    let mut made = Registry::create_guarded(base, name, guardian);
    for number in 2..100 {
        match &made {
            Err(RegistryError::Write { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
                made = Registry::create_guarded(base, &format!("{name}-{number}"), guardian);
            }
            _ => break,
        }
    }
    made
}

/// Other runs on this host that are under way.
fn others() -> Vec<String> {
    // A list that cannot be read warns of nothing; making the own registry will tell what is wrong.
    let listed = registry::default_base().and_then(|base| registry::list(&base).ok()).unwrap_or_default();
    // Revisions that this run has checked out are listed too.
    let own = |listed: &Listed| listed.owner.as_ref().is_some_and(|owner| owner.process.pid == Pid::own());
    listed.into_iter().filter(|listed| !listed.is_stale() && !own(listed)).map(|listed| listed.run).collect()
}

/// A run under way.
struct Course<'a> {
    experiment: &'a Experiment,
    shapes: &'a [Shape],
    secrets: &'a Secrets,
    batches: Batches,
    question: judge::Question,
    /// Blocks that an earlier run advises.
    division: Option<Division>,
    idle: &'a IdleCores,
    trials: Vec<TrialRecord>,
    /// Warnings that were told.
    warned: BTreeSet<String>,
    /// Void blocks of before this process.
    void_before: u32,
    times: Vec<BlockTimes>,
    began: Timestamp,
    writer: &'a mut RunWriter,
    sink: &'a mut dyn FnMut(&TimedEvent),
}

impl Course<'_> {
    fn say(&mut self, event: Event) -> Result<(), RunError> {
        let event = without_secrets(event, self.secrets);
        if let Event::Warning { text } = &event {
            // Told once; a server that thinks of another reason each time is not listened to for ever.
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
        let plan = &self.experiment.plan;
        let event = Event::RunStarted {
            title: self.experiment.title.clone(),
            folder: self.writer.folder().path().display().to_string(),
            variants: self.experiment.variants.iter().map(|variant| variant.name.clone()).collect(),
            points: self.experiment.points.len(),
            blocks: (plan.blocks_min, plan.blocks_max),
            budget: plan.budget,
            headline: Some(plan.headline),
        };
        // A folder that cannot be written shows with the first block, before anything is lost.
        let _ = self.say(event);
        if self.batches.count() > 1 {
            let reason = match self.batches.largest() {
                largest if largest <= plan.together as usize => {
                    format!("`together = {}` of {} variants", plan.together, self.experiment.variants.len())
                }
                _ => "as the run was planned".to_owned(),
            };
            let _ = self.say_batches(reason);
        }
    }

    /// A budget that cannot be kept is told before anyone waits for its end.
    fn tell_foreseen(&mut self, recipes: &[Recipe]) {
        let place =
            |variant: &Variant| self.experiment.variants.iter().position(|own| own.name == variant.name);
        let period = |variant: &Variant| recipes.get(place(variant)?)?.period_of(variant);
        if let Some(text) = foreseen(self.experiment, &self.batches, period) {
            let _ = self.say(Event::Warning { text });
        }
    }

    fn say_batches(&mut self, reason: String) -> Result<(), RunError> {
        let name = |id: &VariantId| self.experiment.variants[id.index()].name.clone();
        let batches = self.batches.iter().map(|members| members.iter().map(name).collect()).collect();
        self.say(Event::Batches { batches, reason })
    }

    /// Fewer at once, from the first block on.
    fn make_batches(&mut self, together: usize, reason: String) -> Result<(), RunError> {
        self.batches = Batches::even(self.experiment.variants.len(), together);
        let mut plan = self.writer.folder().plan()?;
        plan["batches"] = json!(self.batches);
        plan["first_block"] = json!(first_block(self.experiment, &self.batches));
        self.writer.write_plan(&plan)?;
        self.say_batches(reason)
    }

    fn carry_out(
        &mut self,
        recipes: &[Recipe],
        options: &Options,
        seating: &Seating,
    ) -> Result<(), RunError> {
        for other in others() {
            let text = format!("run `{other}` is under way too: each disturbs the other's figures");
            self.say(Event::Warning { text })?;
        }
        let name = folder_name(self.writer.folder());
        let logs = self.logs();
        let shop = Shop::open(&name, recipes, options, seating, (&logs, self.secrets), self.idle)?;
        let plan = &self.experiment.plan;
        if let Some(command) = &self.experiment.hooks.prepare {
            let scene = Scene { logs: &logs, secrets: self.secrets, custody: Some(shop.lab.custody()) };
            hook::run("prepare", command, scene, CallOff::On(&options.control))
                .map_err(|error| interrupted_or(&options.control, error.into()))?;
        }
        let budget =
            if options.measured_budget { Budget::Measured(plan.budget) } else { Budget::Whole(plan.budget) };
        let mut blocks = self.question.blocks;
        if let Some(Division { blocks: advised, run }) = self.division.clone() {
            blocks.min = advised;
            self.say(Event::Divided { blocks: advised, run })?;
        }
        let rule = BlockRule { blocks, until: plan.until, budget };
        let outcome = self.in_batches(&shop, recipes, options, rule);
        match (outcome, shop.close()) {
            (Ok(()), Err(error)) => self.say(Event::Warning { text: error.to_string() }),
            (outcome, _) => outcome,
        }
    }

    /// All blocks; where the first shows that memory holds fewer variants at once, it is begun again in smaller batches.
    fn in_batches(
        &mut self,
        shop: &Shop<'_>,
        recipes: &[Recipe],
        options: &Options,
        rule: BlockRule,
    ) -> Result<(), RunError> {
        let of = (self.experiment, self.shapes);
        loop {
            let parties = Party::all(of.0, recipes, &self.batches);
            let fresh = self.trials.is_empty();
            let crew = shop.crew(of, &parties, (options, rule), |size| fresh.then(|| Watch::new(size)));
            match self.blocks(&crew, &options.control) {
                Err(RunError::Block(BlockError::Actor(crowded @ ActorError::Crowded { together, .. }))) => {
                    self.make_batches(together, crowded.to_string())?;
                }
                outcome => return outcome,
            }
        }
    }

    fn blocks(&mut self, crew: &Crew<'_>, control: &Control) -> Result<(), RunError> {
        loop {
            let logs = self.log_ratios();
            let (used, void, reason) = self.counts();
            // What disturbed the run before it was gone on with may be over: blocks of then do not end it now.
            let void = void - self.void_before;
            let history = self.history(used, void, &logs);
            let of = match crew.rule.next(&history) {
                BlockStep::Run { of } => of,
                BlockStep::Stop(Stop::Void) => return Err(RunError::Disturbed { void, used, reason }),
                BlockStep::Stop(_) => return Ok(()),
            };
            if control.is_interrupted() {
                return Err(RunError::Block(BlockError::Interrupted));
            }
            let number = self.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
            self.say(Event::BlockStarted { block: number, of })?;
            let mut trouble = None;
            let (pairings, windows) = self.settled();
            let extra = self.further_sizes(number, &pairings)?;
            let settled = Settled { pairings: &pairings, windows: &windows, extra: &extra };
            let result = crew.block(number, (&history, settled), &mut |event| {
                trouble = self.say(event).err().or(trouble.take());
            });
            let result = result.map_err(RunError::Block)?;
            if let Some(error) = trouble {
                return Err(error);
            }
            self.keep(number, of, result)?;
        }
    }

    /// Stores a block and says what became of it.
    fn keep(&mut self, number: u32, of: u32, result: BlockResult) -> Result<(), RunError> {
        self.times.push(result.times);
        if result.trials.is_empty() {
            // Stopped before it had begun: there is nothing to keep, and its number is free.
            let reason = "the run was stopped in the middle of it".to_owned();
            return self.say(Event::BlockVoid { block: number, reason });
        }
        self.writer.write_block(&self.participants(), &result.trials)?;
        let void = self.counts().1;
        self.trials.extend(result.trials);
        match self.counts() {
            (_, now, reason) if now > void => self.say(Event::BlockVoid { block: number, reason }),
            _ => {
                let interim = self.interim();
                self.say(Event::BlockEnded { block: number, interim, of })
            }
        }
    }

    fn participants(&self) -> Vec<Participant> {
        let participant =
            |(variant, id): (&Variant, VariantId)| Participant { variant: id, name: variant.name.clone() };
        self.experiment.variants.iter().zip(self.experiment.variant_ids()).map(participant).collect()
    }

    /// Blocks that count, blocks that do not, and why the last of these does not.
    fn counts(&self) -> (u32, u32, String) {
        let gathered = judge::records::Records::new(&self.trials);
        let reason = gathered.void.last().map(|(_, reason)| reason.clone()).unwrap_or_default();
        (gathered.used.len() as u32, gathered.void.len() as u32, reason)
    }

    fn history<'h>(&self, used: u32, void: u32, log_ratios: &'h [Vec<f64>]) -> BlockHistory<'h> {
        BlockHistory {
            used,
            void,
            log_ratios,
            overhead: self.times.iter().map(|times| times.overhead).sum(),
            begun: self.times.len() as u32,
            measured: self.times.iter().map(|times| times.measured).sum(),
            round: self.times.last().map(|times| times.round),
        }
    }

    /// How the blocks that count put the variants side by side, point by point, and the length of windows that the first
    /// of them chose; nothing where there are none.
    fn settled(&self) -> (Vec<Pairing>, Vec<Option<Nanoseconds>>) {
        let gathered = judge::records::Records::new(&self.trials);
        match gathered.used.is_empty() {
            true => (Vec::new(), Vec::new()),
            false => {
                let points = || self.experiment.point_ids();
                let pairings = points().map(|point| gathered.pairing(point)).collect();
                (pairings, points().map(|point| gathered.window(point)).collect())
            }
        }
    }

    /// Sizes that a block asks for besides those of a range, point by point; they are told, so that the record has them. None
    /// where variants share windows or run at the same time: a window of one variant's own has no place there.
    fn further_sizes(&mut self, block: u32, pairings: &[Pairing]) -> Result<Vec<Vec<Bytes>>, RunError> {
        let mut extra = Vec::new();
        for point in self.experiment.point_ids() {
            let spread = match &self.experiment.points[point.index()].workload {
                WorkloadSpec::Pingpong(spec) => spec.spread(),
                _ => None,
            };
            let in_turns = pairings.get(point.index()).is_none_or(|pairing| pairing.has_turns());
            let spread = spread.filter(|_| in_turns);
            let history = SizeHistory { point, block, trials: &self.trials };
            let step = spread.map(|spread| SizeRule { spread: *spread }.next(&history));
            let sizes = match step {
                Some(SizeStep::Extra(sizes)) => sizes,
                Some(SizeStep::Range) | None => Vec::new(),
            };
            if !sizes.is_empty() {
                let label = self.experiment.points[point.index()].label.clone();
                self.say(Event::FurtherSizes { block, point: label, sizes: sizes.clone() })?;
            }
            extra.push(sizes);
        }
        Ok(extra)
    }

    fn log_ratios(&self) -> Vec<Vec<f64>> {
        let gathered = judge::records::Records::new(&self.trials);
        let headlines = judge::estimate::headlines(&self.question, &gathered);
        headlines.iter().filter_map(|h| h.contrast.as_ref().ok().map(|c| c.log_ratios())).collect()
    }

    fn interim(&self) -> Vec<Interim> {
        let gathered = judge::records::Records::new(&self.trials);
        let headlines = judge::estimate::headlines(&self.question, &gathered);
        let interim = |headline: &judge::estimate::Headline| {
            let contrast = headline.contrast.as_ref().ok()?;
            let ratio = contrast.ratio();
            Some(Interim {
                variant: self.experiment.variants[headline.variant.index()].name.clone(),
                point: self.experiment.points[headline.point.index()].label.clone(),
                change: ratio.point - 1.0,
                half_width: contrast.half_width(),
                lower: ratio.lower.map(|bound| bound - 1.0),
                upper: ratio.upper.map(|bound| bound - 1.0),
            })
        };
        headlines.iter().filter_map(interim).collect()
    }

    fn logs(&self) -> PathBuf {
        self.writer.folder().path().join("logs")
    }

    /// Runs the hook that puts in order what the others left, however the run ended.
    fn clean_up(&mut self) {
        let Some(command) = &self.experiment.hooks.cleanup else { return };
        let scene = Scene { logs: &self.logs(), secrets: self.secrets, custody: None };
        if let Err(error) = hook::run("cleanup", command, scene, CallOff::Never) {
            // Should the folder not be writable, the terminal still shows it.
            let _ = self.say(Event::Warning { text: error.to_string() });
        }
    }

    /// The error as the user meets it: with the blocks that are kept and how to go on. The log of events keeps it too;
    /// the terminal shows it as the command's own error.
    fn failed(&mut self, error: RunError) -> RunError {
        let event = Event::Warning { text: self.secrets.hide(&error.to_string()).into_owned() };
        let _ = self.writer.append_event(&TimedEvent { at: monotonic_now().since(self.began), event });
        let blocks = self.counts().0 as usize;
        if blocks == 0 || matches!(error, RunError::Write(_)) {
            // A failed write says by itself how to go on.
            return error;
        }
        RunError::Cut { cause: error.into(), folder: self.writer.folder().path().to_owned(), blocks }
    }

    fn interrupted(&mut self) -> RunError {
        let blocks = self.counts().0 as usize;
        let folder = self.writer.folder().path().to_owned();
        let event = Event::Interrupted { folder: folder.display().to_string(), blocks: blocks as u32 };
        // The error says the same, should the folder not be writable.
        let _ = self.say(event);
        RunError::Interrupted { folder, blocks }
    }

    fn conclude(
        &mut self,
        calibrations: Option<&Path>,
        facts: &Value,
    ) -> Result<(Summary, Detail), RunError> {
        self.question.run.took = monotonic_now().since(self.began);
        let (mut summary, detail) = judge::whole(&self.question, &self.trials);
        let asked = (&*self.experiment.title, self.question.headline);
        summary.calibration = quoted(calibrations, asked, &self.trials, facts);
        self.writer.write_summary(&summary)?;
        self.writer.write_detail(&detail)?;
        let folder = self.writer.folder().path().display().to_string();
        self.say(Event::RunEnded { folder })?;
        Ok((summary, detail))
    }
}
