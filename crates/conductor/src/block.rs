//! One block: every variant started afresh, verified, warmed, and measured in rounds of short windows.
//!
//! Only the variant whose turn it is runs; the others are frozen. Decisions (how long, how many, warm or not) are the
//! judge's; this module carries them out and writes down what happened. It estimates nothing.

use weighbridge_judge::steer::{
    BlockHistory, BlockRule, CheckRule, Extent, Pace, Pairing, Periods, RoundHistory, RoundRule, RoundStep,
    WarmRule, WarmStep, WarmWindow, WindowRule,
};
use weighbridge_judge::thresholds::WARM_UP_LEAST;
use weighbridge_lab::clock::{ClockReading, ClockWatch, monotonic_now};
use weighbridge_lab::cputime::{CpuTimes, steal_share};
use weighbridge_load::generator::{self, ConnectError, Trouble, WindowSpec};
use weighbridge_load::window::{Load, OpenEnd, Stop};
use weighbridge_load::{KeepAlive, Recording, Settings, Stack};
use weighbridge_model::event::Event;
use weighbridge_model::experiment::{Experiment, LoadSpec, Point};
use weighbridge_model::plan::Plan;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Ratio};
use weighbridge_model::record::{
    ErrorCounts, PointId, RoleCpu, RoleMemory, Tallies, TrialRecord, VariantId, Void, WindowEnd,
    WindowFigures, WindowKind, WindowRecord,
};
use weighbridge_workload::reflection::ReflectionError;
use weighbridge_workload::{Workload, WorkloadError};

use crate::actor::{Actor, ActorError, Recipe, Stage};
use crate::answers::{self, AnswerError, Asked};
use crate::client::Client;
use crate::control::{Ask, Control};
use crate::described::described;
use crate::hook::{self, CallOff, HookError};
use crate::shape::{Shape, Slice};
use crate::times::BlockTimes;

/// Shortest lead-in after a switch, as time at the variant's own pace.
const LEAD_IN: Nanoseconds = Nanoseconds::from_millis(1);
/// Fewest requests of a lead-in on each slot.
const LEAD_IN_REQUESTS: u64 = 2;
/// Longest warm-up, as a multiple of the asked one.
const WARM_UP_MOST: u64 = 10;
/// A window of fewer requests can go unanswered by chance.
const MUTE_REQUESTS: u64 = 10;
/// Rounds are reported at most this often.
const REPORT_EVERY: Nanoseconds = Nanoseconds::from_millis(250);
/// The role of the processes under test.
const SERVICE_ROLE: &str = "service";

/// Why a block could not be measured. Nothing that was started for it runs any more.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    /// A variant did not come up, or could not be frozen.
    #[error(transparent)]
    Actor(#[from] ActorError),
    /// A request cannot be rendered.
    #[error("variant `{variant}`: {source}")]
    Workload {
        /// The variant.
        variant: String,
        /// What went wrong.
        source: WorkloadError,
    },
    /// The server does not describe what the calls need.
    #[error("variant `{variant}`: {source}")]
    Descriptors {
        /// The variant.
        variant: String,
        /// What went wrong.
        source: Box<ReflectionError>,
    },
    /// Answers are wrong or differ.
    #[error(transparent)]
    Answers(#[from] AnswerError),
    /// The generator got no connection.
    #[error("variant `{variant}`: {source}")]
    Connect {
        /// The variant.
        variant: String,
        /// What went wrong.
        source: ConnectError,
    },
    /// A server that is not ours stopped answering.
    #[error("variant `{variant}`: {trouble}")]
    Silent {
        /// The variant.
        variant: String,
        /// What the generator saw.
        trouble: String,
    },
    /// A system call of the loop failed.
    #[error("the generator failed: {0}")]
    Generator(generator::RunError),
    /// A service of ours ended where it should have answered.
    #[error("{how}; it must serve until it is told to stop")]
    Died {
        /// Which, and how it ended.
        how: String,
    },
    /// A hook failed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// What one block took and gave.
#[derive(Debug)]
pub(crate) struct BlockResult {
    pub trials: Vec<TrialRecord>,
    pub times: BlockTimes,
}

/// Everything that blocks of a run have in common.
pub(crate) struct Bench<'a> {
    pub experiment: &'a Experiment,
    /// The load of each point.
    pub shapes: &'a [Shape],
    pub plan: Plan,
    pub recipes: &'a [Recipe],
    pub stage: Stage<'a>,
    pub client: &'a Client,
    pub control: &'a Control,
    pub rule: BlockRule,
    /// The variant whose replies are held back, and by how much.
    pub hold_back: Option<(VariantId, Nanoseconds)>,
}

/// One block under way.
struct Block<'a, 'b> {
    bench: &'a Bench<'a>,
    number: u32,
    actors: Vec<Actor>,
    trials: Vec<TrialRecord>,
    emit: &'b mut dyn FnMut(Event),
    times: BlockTimes,
    clocks: ClockWatch,
    reported: weighbridge_model::quantity::Timestamp,
    /// Time in which this process was stopped.
    stood: Nanoseconds,
}

/// One variant, bound to a point.
struct Bound {
    workload: Workload,
    pace: Pace,
}

impl Bench<'_> {
    /// Measures block `number`. `history` is the run without this block.
    ///
    /// A block that was disturbed (suspended, clock jump, a service that died) is returned with void trials, or
    /// without any where it had not yet begun.
    pub fn block(
        &self,
        number: u32,
        history: &BlockHistory<'_>,
        emit: &mut dyn FnMut(Event),
    ) -> Result<BlockResult, BlockError> {
        let _engaged = self.control.engage();
        let began = monotonic_now();
        let machine = CpuTimes::read();
        let order = self.plan.block(number);
        let mut block = Block::new(self, number, emit);
        let measured = block.start(&order.starts).and_then(|()| block.points(&order.points, history, began));
        let outcome = measured.map_err(|cut| block.sort_out(cut));
        let steal = match (machine, CpuTimes::read()) {
            (Some(before), Some(after)) => steal_share(&before, &after).get(),
            _ => 0.0,
        };
        let (BlockTimes { measured, round, .. }, stood) = (block.times, block.stood);
        let mut trials = block.end();
        let disturbed = match outcome {
            Ok(()) => None,
            Err(Cut::Void(void)) => Some(void),
            Err(Cut::Error(error)) => return Err(error),
        };
        for trial in &mut trials {
            trial.steal = steal;
            trial.void.clone_from(&disturbed);
        }
        let overhead = monotonic_now().since(began).saturating_sub(measured + stood);
        Ok(BlockResult { trials, times: BlockTimes { overhead, measured, round } })
    }
}

impl Bench<'_> {
    /// Starts every variant, compares their answers at every point, and stops them. Returns the requests compared.
    pub fn verify(&self) -> Result<usize, BlockError> {
        let _engaged = self.control.engage();
        loop {
            let mut requests = 0;
            let mut count = |event: Event| {
                if let Event::Verified { requests: compared } = event {
                    requests += compared;
                }
            };
            let mut block = Block::new(self, 0, &mut count);
            let outcome = block.answers().map_err(|cut| block.sort_out(cut));
            block.end();
            match outcome {
                Ok(()) => return Ok(requests),
                Err(Cut::Error(error)) => return Err(error),
                // It stood still in the middle: asked again, from the start.
                Err(Cut::Void(_)) => {}
            }
        }
    }
}

/// Why a block ends early.
enum Cut {
    /// It counts for nothing; the run goes on.
    Void(Void),
    /// The run cannot go on.
    Error(BlockError),
}

impl<E: Into<BlockError>> From<E> for Cut {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl<'a, 'b> Block<'a, 'b> {
    fn new(bench: &'a Bench<'a>, number: u32, emit: &'b mut dyn FnMut(Event)) -> Self {
        Self {
            bench,
            number,
            actors: Vec::new(),
            trials: Vec::new(),
            emit,
            times: BlockTimes::default(),
            clocks: ClockWatch::start(ClockReading::take()),
            reported: monotonic_now(),
            stood: Nanoseconds::ZERO,
        }
    }

    /// Closes every connection and stops what was started, as the contract says; all at once, so that one that does
    /// not want to end costs its grace and not the sum of all.
    fn end(mut self) -> Vec<TrialRecord> {
        let actors = std::mem::take(&mut self.actors);
        for actor in &actors {
            let variant = actor.variant;
            self.bench.client.call(move |generator| generator.detach(variant));
        }
        std::thread::scope(|scope| {
            for actor in actors {
                scope.spawn(|| actor.stop());
            }
        });
        std::mem::take(&mut self.trials)
    }

    /// What a cut really was: a wish of the user's ends whatever is waited for with an error of its own, and so does
    /// the death of a service.
    fn sort_out(&mut self, cut: Cut) -> Cut {
        match self.bench.control.ask() {
            Ask::Interrupt => BlockError::Interrupted.into(),
            Ask::Suspend => {
                if let Some(error) = self.actors.iter_mut().find_map(|actor| actor.thaw().err()) {
                    return error.into();
                }
                let since = monotonic_now();
                self.bench.control.stand_still();
                self.stood += monotonic_now().since(since);
                Cut::Void(Void::Stopped)
            }
            Ask::GoOn => match cut {
                Cut::Error(
                    BlockError::Connect { .. } | BlockError::Answers(_) | BlockError::Silent { .. },
                ) => match self.actors.iter_mut().find_map(Actor::death_soon) {
                    Some(how) => BlockError::Died { how }.into(),
                    None => cut,
                },
                cut => cut,
            },
        }
    }

    /// Starts every variant, each frozen once it is ready, and runs the reset hook.
    fn start(&mut self, order: &[VariantId]) -> Result<(), Cut> {
        let experiment = self.bench.experiment;
        let workload = &experiment.points[0].workload;
        for &id in order {
            self.obey()?;
            let (variant, recipe) = (&experiment.variants[id.index()], &self.bench.recipes[id.index()]);
            let mut actor = self.bench.stage.start(self.number, id, variant, recipe, workload)?;
            actor.freeze()?;
            (self.emit)(Event::Started { variant: actor.name.clone(), took: actor.facts.start });
            self.bench.client.direct(id, actor.addresses.clone());
            self.trials.push(TrialRecord {
                block: self.number,
                variant: id,
                service: actor.facts.clone(),
                windows: Vec::new(),
                tallies: vec![Tallies::default(); experiment.points.len()],
                memory: Vec::new(),
                steal: 0.0,
                void: None,
            });
            self.actors.push(actor);
        }
        self.trials.sort_by_key(|trial| trial.variant);
        self.actors.sort_by_key(|actor| actor.variant);
        if let Some(command) = &experiment.hooks.reset {
            hook::run("reset", command, self.bench.stage.logs, CallOff::On(self.bench.control))?;
        }
        Ok(())
    }

    /// Starts every variant and compares their answers at every point.
    fn answers(&mut self) -> Result<(), Cut> {
        let order = self.bench.plan.block(self.number);
        self.start(&order.starts)?;
        for point in order.points {
            let bound = self.bind(point)?;
            self.verify(point, &bound)?;
        }
        Ok(())
    }

    fn points(
        &mut self,
        order: &[PointId],
        history: &BlockHistory<'_>,
        began: weighbridge_model::quantity::Timestamp,
    ) -> Result<(), Cut> {
        let points = order.len() as u64;
        for (done, &point) in (0..).zip(order) {
            let warming = monotonic_now();
            let mut bound = self.bind(point)?;
            self.verify(point, &bound)?;
            self.warm(point, &mut bound)?;
            let extent = self.extent(point, &bound);
            // Points still to come will need about as long to warm as this one did.
            let ahead = monotonic_now().since(warming) * (points - 1 - done);
            let overhead = monotonic_now().since(began).saturating_sub(self.times.measured) + ahead;
            let measured = self.bench.rule.measured_time(&BlockHistory {
                overhead: history.overhead + overhead,
                begun: history.begun + 1,
                ..*history
            });
            let rounds = self.rounds(point, &bound, extent, measured / points)?;
            self.check_windows(point, &bound, extent, rounds)?;
            self.note_memory(point);
            for actor in &self.actors {
                let variant = actor.variant;
                self.bench.client.call(move |generator| generator.detach(variant));
            }
        }
        Ok(())
    }

    /// Binds every variant to the point's workload and load, and opens its connections.
    fn bind(&mut self, id: PointId) -> Result<Vec<Bound>, Cut> {
        let point = &self.bench.experiment.points[id.index()];
        let mut bound = Vec::new();
        for actor in &mut self.actors {
            let protocol = self.bench.experiment.variants[actor.variant.index()].protocol;
            let environment = |name: &str| std::env::var(name).ok();
            actor.thaw()?;
            let server = (&*actor.address.authority, &*actor.addresses, actor.secured.client.as_ref());
            let patience = (point.load.timeout, &*self.bench.control.window);
            let spec = described(&point.workload, server, patience).map_err(|source| {
                BlockError::Descriptors { variant: actor.name.clone(), source: Box::new(source) }
            })?;
            let workload = Workload::new(&spec, &point.load, protocol, &actor.address, &environment)
                .map_err(|source| BlockError::Workload { variant: actor.name.clone(), source })?;
            actor.forget_memory_peak();
            let variant = actor.variant;
            let hold_back = self.bench.hold_back.filter(|(held, _)| *held == variant).map(|(_, by)| by);
            let settings = Settings { hold_back, ..settings(&point.load) };
            let stack = Stack { framing: workload.framing(), tls: actor.secured.client.clone() };
            let sessions = workload.sessions();
            let connected = self.bench.client.call(move |generator| {
                generator.attach(variant, settings, stack, sessions);
                generator.connect(variant)
            });
            actor.freeze()?;
            let connected =
                connected.map_err(|source| BlockError::Connect { variant: actor.name.clone(), source })?;
            if let Some(trial) = self.trials.iter_mut().find(|trial| trial.variant == variant) {
                trial.tallies[id.index()].handshakes.merge(&connected.handshakes);
            }
            let pace = Pace { requests: 0, time: Nanoseconds::ZERO, busy: None };
            bound.push(Bound { workload, pace });
        }
        Ok(bound)
    }

    /// Asks every variant everything once and compares the answers.
    fn verify(&mut self, id: PointId, bound: &[Bound]) -> Result<(), Cut> {
        let timeout = self.bench.experiment.points[id.index()].load.timeout;
        let mut first: Option<(String, Vec<_>)> = None;
        let mut requests = 0;
        for (actor, bound) in self.actors.iter_mut().zip(bound) {
            actor.thaw()?;
            let asked = Asked {
                name: &actor.name,
                addresses: &actor.addresses,
                tls: actor.secured.client.as_ref(),
                workload: &bound.workload,
            };
            let given = answers::answers(&asked, (timeout, &self.bench.control.window));
            actor.freeze()?;
            let given = given?;
            requests += given.len();
            match &first {
                None => first = Some((actor.name.clone(), given)),
                Some((name, ones)) => {
                    answers::compare(&bound.workload, (name, ones), (&actor.name, &given))?;
                }
            }
        }
        (self.emit)(Event::Verified { requests });
        Ok(())
    }

    /// Warms every variant at the point and notes its pace.
    fn warm(&mut self, id: PointId, bound: &mut [Bound]) -> Result<(), Cut> {
        let point = &self.bench.experiment.points[id.index()];
        let slots = slots(&point.load);
        let least = point.load.warmup.max(WARM_UP_LEAST);
        let rule =
            WarmRule { least, most: least * WARM_UP_MOST, nominal: self.window_rule(point).nominal(), slots };
        for (index, bound) in bound.iter_mut().enumerate() {
            self.actors[index].thaw()?;
            let cpu = self.actors[index].cpu();
            let mut history = Vec::new();
            let (pace, windows) = loop {
                match rule.next(&history) {
                    WarmStep::Window(requests) => {
                        let place = Place {
                            kind: WindowKind::WarmUp,
                            point: id,
                            round: history.len() as u32,
                            position: 0,
                        };
                        let load = self.bench.shapes[id.index()].closed(Stop::Count(requests));
                        let figures = self.window(index, place, load, None, Vec::new())?;
                        history.push(WarmWindow {
                            requests: figures.requests,
                            time: figures.ended.since(figures.started),
                            p50: figures.all.map(|all| all.response_p50),
                        });
                    }
                    WarmStep::Warm(pace) | WarmStep::TimeUp(pace) => break (pace, history.len() as u32),
                }
            };
            let used = self.actors[index].cpu().zip(cpu).map(|(after, before)| after.saturating_sub(before));
            let spent: Nanoseconds = history.iter().map(|window| window.time).sum();
            let cores = self.bench.stage.cores.service().len() as f64;
            let busy = used.map(|used| Ratio::new(used.share_of(spent).get() / cores));
            bound.pace = Pace { busy, ..pace };
            self.actors[index].freeze()?;
            let variant = self.actors[index].name.clone();
            (self.emit)(Event::Warm { variant, point: point.label.clone(), windows });
        }
        Ok(())
    }

    fn window_rule(&self, point: &Point) -> WindowRule {
        WindowRule {
            nominal: self.bench.experiment.plan.window,
            period: self.bench.recipes.iter().filter_map(Recipe::period).max(),
            slots: slots(&point.load),
        }
    }

    /// How far the measured windows of this block and point go.
    fn extent(&mut self, id: PointId, bound: &[Bound]) -> Extent {
        let point = &self.bench.experiment.points[id.index()];
        let rule = self.window_rule(point);
        let paces: Vec<Pace> = bound.iter().map(|bound| bound.pace).collect();
        let shape = &self.bench.shapes[id.index()];
        let rate = shape.request_rate();
        let pairing = match rate {
            None => rule.closed(&paces),
            Some(rate) => rule.open(rate, &paces),
        };
        let few = "a window holds fewer than 200 requests: raise the rate or the connections, or read costs with care";
        let (extent, warning) = match pairing {
            Pairing::Windows { extent, periods: Periods::Whole } => (extent, None),
            Pairing::Windows { extent, periods: Periods::Cut } => (
                extent,
                Some(
                    "windows hold fewer than 20 of the longest declared period: the slowest variant would take too long",
                ),
            ),
            Pairing::Sequential { extent } => (extent, Some(few)),
            // Request-by-request interleaving is not carried out yet; the longest window allowed is.
            Pairing::Requests => {
                let extent = match rate {
                    None => Extent::Requests(slots(&point.load)),
                    Some(_) => Extent::Time(rule.longest()),
                };
                (extent, Some(few))
            }
        };
        if let Some(text) = warning.filter(|_| self.number == 0) {
            (self.emit)(Event::Warning { text: text.to_owned() });
        }
        match extent {
            Extent::Time(time) => Extent::Time(shape.fitted(time)),
            requests @ Extent::Requests(_) => requests,
        }
    }

    /// Rounds until the time is filled; returns the time that they took.
    fn rounds(
        &mut self,
        point: PointId,
        bound: &[Bound],
        extent: Extent,
        time: Nanoseconds,
    ) -> Result<RoundHistory, Cut> {
        let passage = match extent {
            Extent::Time(window) => self.bench.shapes[point.index()].slices(window),
            Extent::Requests(_) => 1,
        };
        let rule = RoundRule { time, variants: self.actors.len(), passage };
        let mut history = RoundHistory::default();
        while let RoundStep::Round { of } = rule.next(history) {
            let began = monotonic_now();
            self.round(WindowKind::Measured, point, bound, extent, history.rounds)?;
            let took = monotonic_now().since(began);
            history = RoundHistory { rounds: history.rounds + 1, spent: history.spent + took };
            self.times.measured += took;
            if monotonic_now().since(self.reported) >= REPORT_EVERY {
                self.reported = monotonic_now();
                let label = self.bench.experiment.points[point.index()].label.clone();
                (self.emit)(Event::Round { block: self.number, point: label, round: history.rounds - 1, of });
            }
        }
        self.times.round += history.spent / u64::from(history.rounds.max(1));
        Ok(history)
    }

    /// One window of every variant in the plan's order.
    fn round(
        &mut self,
        kind: WindowKind,
        point: PointId,
        bound: &[Bound],
        extent: Extent,
        round: u32,
    ) -> Result<(), Cut> {
        for (position, variant) in (0..).zip(self.bench.plan.round(self.number, point, round)) {
            self.turn(Place { kind, point, round, position }, variant, bound, extent)?;
        }
        Ok(())
    }

    /// One variant's turn: thaw, lead-in, window, freeze.
    fn turn(&mut self, place: Place, variant: VariantId, bound: &[Bound], extent: Extent) -> Result<(), Cut> {
        let index = variant.index();
        let load = self.bench.experiment.points[place.point.index()].load.clone();
        self.actors[index].thaw()?;
        let before = self.actors[index].cpu();
        let pace = bound[index].pace;
        let lead_in =
            (pace.requests as f64 / pace.time.as_secs_f64().max(1e-9) * LEAD_IN.as_secs_f64()) as u64;
        let lead_in = lead_in.max(LEAD_IN_REQUESTS * slots(&load));
        let lead_place = Place { kind: WindowKind::LeadIn, ..place };
        let lead = self.window(index, lead_place, Load::Closed(Stop::Count(lead_in)), None, Vec::new())?;
        let tallies = (place.kind == WindowKind::Measured).then(|| self.take_tallies(index, place.point));
        let window = measured_load(&self.bench.shapes[place.point.index()], extent, place);
        let figures = self.window(index, place, window, tallies, Vec::new())?;
        let after = self.actors[index].cpu();
        self.actors[index].freeze()?;
        if let Some(cpu) = after.zip(before).map(|(after, before)| after.saturating_sub(before)) {
            let requests = lead.requests + figures.requests;
            let record = self.trials[index].windows.last_mut().expect("the window was just recorded");
            record.cpu.push(RoleCpu { role: SERVICE_ROLE.to_owned(), cpu, requests });
        }
        Ok(())
    }

    fn take_tallies(&mut self, index: usize, point: PointId) -> Tallies {
        std::mem::take(&mut self.trials[index].tallies[point.index()])
    }

    /// Has the generator run one window and records it. Given tallies come back into the trial.
    fn window(
        &mut self,
        index: usize,
        place: Place,
        load: Load,
        tallies: Option<Tallies>,
        cpu: Vec<RoleCpu>,
    ) -> Result<WindowFigures, Cut> {
        self.obey()?;
        let variant = self.actors[index].variant;
        let substream = self.substream(place);
        let keep = tallies.is_some();
        let (report, tallies) = self.bench.client.call(move |generator| {
            let mut tallies = tallies.unwrap_or_default();
            let spec = WindowSpec { substream, load, recording: Recording::Exact };
            (generator.run(variant, &spec, &mut tallies, None, None), tallies)
        });
        let generator::WindowReport { figures, trouble, .. } = report.map_err(BlockError::Generator)?;
        if keep {
            self.trials[index].tallies[place.point.index()] = tallies;
        }
        self.trials[index].windows.push(WindowRecord {
            kind: place.kind,
            block: self.number,
            point: place.point,
            round: place.round,
            position: place.position,
            variant,
            figures: figures.clone(),
            cpu,
        });
        self.obey()?;
        self.see_life(index, place.kind, &figures, trouble)?;
        Ok(figures)
    }

    /// Ends the block where the window shows that the variant has gone: its process has ended, the generator gave up,
    /// or not one of its requests got any reply.
    fn see_life(
        &mut self,
        index: usize,
        kind: WindowKind,
        figures: &WindowFigures,
        trouble: Option<Trouble>,
    ) -> Result<(), Cut> {
        let ErrorCounts { connect, reset, timeout, protocol, .. } = figures.errors;
        let unanswered = connect + reset + timeout + protocol;
        let timed = matches!(kind, WindowKind::Measured | WindowKind::Check);
        let mute = timed && figures.requests >= MUTE_REQUESTS && unanswered == figures.requests;
        let aborted = figures.end == WindowEnd::Aborted;
        if (unanswered > 0 || aborted)
            && let Some(how) = self.actors[index].death()
        {
            return Err(Cut::Void(Void::ServiceDied(how)));
        }
        let trouble = match trouble {
            Some(trouble) => trouble.to_string(),
            None if aborted => "a window was cut".to_owned(),
            None if mute => {
                format!("all {unanswered} requests of a window went unanswered; check that it is still up")
            }
            None => return Ok(()),
        };
        Err(BlockError::Silent { variant: self.actors[index].name.clone(), trouble }.into())
    }

    /// The stream of requests that a window reads: shared by all windows of a round, apart for each kind.
    fn substream(&self, place: Place) -> u64 {
        let round = match place.kind {
            WindowKind::Measured => place.round,
            WindowKind::LeadIn => place.round | 1 << 31,
            WindowKind::WarmUp => place.round | 1 << 30,
            WindowKind::Check => place.round | 1 << 29,
        };
        self.bench.plan.substream(self.number, place.point, round)
    }

    /// Ends the block where the user's flags or the clock say so; what is then done, [`Block::sort_out`] does.
    fn obey(&mut self) -> Result<(), Cut> {
        match self.bench.control.ask() {
            Ask::GoOn => {}
            Ask::Interrupt => return Err(BlockError::Interrupted.into()),
            Ask::Suspend => return Err(Cut::Void(Void::Stopped)),
        }
        match self.clocks.check(ClockReading::take()) {
            Some(_) => Err(Cut::Void(Void::ClockJump)),
            None => Ok(()),
        }
    }

    /// Some windows ten and a hundred times as long, as far as a tenth of the measured time allows.
    fn check_windows(
        &mut self,
        point: PointId,
        bound: &[Bound],
        extent: Extent,
        rounds: RoundHistory,
    ) -> Result<(), Cut> {
        let rule = CheckRule {
            round: rounds.spent / u64::from(rounds.rounds.max(1)),
            windows: self.bench.plan.round(self.number, point, 0).len() as u64,
            measured: rounds.spent,
            block: self.number,
        };
        for (at, factor) in (0..).zip(rule.factors()) {
            let began = monotonic_now();
            self.round(WindowKind::Check, point, bound, longer(extent, factor), at)?;
            self.times.measured += monotonic_now().since(began);
        }
        Ok(())
    }

    fn note_memory(&mut self, point: PointId) {
        for (actor, trial) in self.actors.iter_mut().zip(&mut self.trials) {
            if let Some(peak) = actor.memory_peak() {
                trial.memory.push(RoleMemory { role: SERVICE_ROLE.to_owned(), point, peak });
            }
        }
    }
}

/// Where a window stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    kind: WindowKind,
    point: PointId,
    round: u32,
    position: u32,
}

/// Requests that can be outstanding at once.
fn slots(load: &LoadSpec) -> u64 {
    u64::from(load.connections) * u64::from(load.in_flight)
}

/// What the generator needs to know of a load.
pub(crate) fn settings(load: &LoadSpec) -> Settings {
    Settings {
        connections: load.connections,
        in_flight: load.in_flight,
        timeout: load.timeout,
        keep_alive: load.churn.map_or(KeepAlive::Reuse, KeepAlive::Every),
        stamps: load.stamps,
        ..Settings::default()
    }
}

/// The load of one turn. Windows of a profile follow one another through it, round by round, the same for all variants;
/// a check window begins at its beginning.
fn measured_load(shape: &Shape, extent: Extent, place: Place) -> Load {
    match extent {
        Extent::Time(nominal) => {
            let slice = match place.kind {
                WindowKind::Measured => place.round % shape.slices(nominal),
                WindowKind::WarmUp | WindowKind::LeadIn | WindowKind::Check => 0,
            };
            let slice = Slice::from(nominal * u64::from(slice));
            shape.window(Stop::Time(nominal), OpenEnd::BusyCycles(nominal), slice)
        }
        Extent::Requests(count) => {
            let gap = shape.request_rate().and_then(PerSecond::gap).unwrap_or_default();
            let end = OpenEnd::BusyCycles(gap * count);
            shape.window(Stop::Count(count), end, Slice::from(Nanoseconds::ZERO))
        }
    }
}

/// The extent of a check window.
fn longer(extent: Extent, factor: u64) -> Extent {
    match extent {
        Extent::Requests(count) => Extent::Requests(count * factor),
        Extent::Time(time) => Extent::Time(time * factor),
    }
}
