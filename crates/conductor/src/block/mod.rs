//! One block: every variant started afresh, verified, warmed, and measured in rounds of short windows.
//!
//! Only the variant whose turn it is runs; the others are frozen, unless variants are sent to in turn, request by request,
//! or at the same time.
//! Decisions (how long, how many, warm or not) are the judge's; this module carries them out and writes down what
//! happened. It estimates nothing.

pub(crate) mod answers;
pub(crate) mod batch;
pub(crate) mod client;
mod core_latency;
mod duet;
mod interleaved;
mod notes;
mod pairing;
mod samples;
pub(crate) mod start;
pub(crate) mod times;
mod turn;
mod turns;
mod warm;

use std::collections::BTreeMap;

use weighbridge_judge::steer::{BlockHistory, BlockRule, FewRequests, Pace, WindowRule};
use weighbridge_lab::host::clock::{ClockWatch, monotonic_now};
use weighbridge_lab::host::cputime::{CpuTimes, steal_share};
use weighbridge_lab::host::lanes::Lane;
use weighbridge_load::dial::Endpoint;
use weighbridge_load::failures::Failures;
use weighbridge_load::generator::{self, ConnectError};
use weighbridge_load::{Settings, Stack};
use weighbridge_model::event::{Event, Phase};
use weighbridge_model::experiment::{Experiment, Point};
use weighbridge_model::id::PointLabel;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::idle::Idle;
use weighbridge_model::pairing::{Pairing, Preparation};
use weighbridge_model::plan::{BlockPlan, Plan};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{Tallies, TrialRecord, Void};
use weighbridge_workload::reflection::ReflectionError;
use weighbridge_workload::{Given, Workload, WorkloadError};

use crate::block::answers::{AnswerError, Asked, Patience, VariantAnswers};
use crate::block::client::{Clients, settings};
use crate::block::times::BlockTimes;
use crate::control::{Control, ControlRequest};
use crate::descriptors::{DescribedServer, described};
use crate::hooks::{self, CallOff, HookContext, HookError};
use crate::of_variant::{OfVariant, of_variant};
use crate::prepare::idle::IdleCores;
use crate::prepare::launch_spec::LaunchSpec;
use crate::prepare::shapes::Shape;
use crate::variant::VariantError;
use crate::variant::cpu_usage::CpuUsageSpan;
use crate::variant::direct::DirectError;
use crate::variant::launcher::{Start, VariantLauncher};
use crate::variant::running::RunningVariant;
use core_latency::CoreLatency;
use samples::Keeping;

/// Why a block could not be measured. Nothing that was started for it runs any more.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    #[error(transparent)]
    RunningVariant(#[from] VariantError),
    #[error(transparent)]
    Workload(#[from] OfVariant<WorkloadError>),
    #[error(transparent)]
    Descriptors(#[from] OfVariant<Box<ReflectionError>>),
    #[error(transparent)]
    Answers(Box<AnswerError>),
    #[error(transparent)]
    Connect(#[from] OfVariant<ConnectError>),
    #[error("variant `{variant}`: {trouble}")]
    Silent {
        variant: String,
        /// What the generator saw.
        trouble: String,
    },
    #[error(transparent)]
    Direct(#[from] OfVariant<DirectError>),
    #[error("the generator failed: {0}")]
    Generator(generator::RunError),
    #[error("{how}; it must serve until it is told to stop")]
    Died {
        /// Which, and how it ended.
        how: String,
    },
    #[error(transparent)]
    Windows(#[from] FewRequests),
    #[error(transparent)]
    Hook(#[from] HookError),
    #[error("interrupted")]
    Interrupted,
}

/// What one block took and gave.
#[derive(Debug)]
pub(crate) struct BlockResult {
    pub trials: Vec<TrialRecord>,
    pub times: BlockTimes,
    /// Why it counts for nothing.
    pub disturbed: Option<Void>,
}

/// Everything that blocks of a run have in common.
pub(crate) struct BlockContext<'a> {
    pub experiment: &'a Experiment,
    /// The load of each point.
    pub shapes: &'a [Shape],
    pub plan: Plan,
    pub launch_specs: &'a [LaunchSpec],
    pub launcher: VariantLauncher<'a>,
    pub clients: &'a Clients,
    pub control: &'a Control,
    pub idle: &'a IdleCores,
    pub rule: BlockRule,
    /// The variant whose replies are held back, and by how much.
    pub hold_back: Option<(VariantId, Nanoseconds)>,
}

/// One block under way.
struct Block<'a, 'b> {
    context: &'a BlockContext<'a>,
    number: u32,
    variants: Vec<RunningVariant>,
    trials: Vec<TrialRecord>,
    emit: &'b mut dyn FnMut(Event),
    times: BlockTimes,
    clocks: ClockWatch,
    reported: weighbridge_model::quantity::Timestamp,
    /// Windows of each trial that were told of.
    told: Vec<usize>,
    /// Time in which this process was stopped.
    stood: Nanoseconds,
    /// Time of looking at turns, which only the first block does: no later one needs it set aside.
    looked: Nanoseconds,
    /// What variants said of failed requests, by their numbers.
    failures: BTreeMap<usize, Failures>,
    /// Which requests of the point under way are kept one by one.
    keeping: Keeping,
    cores: CoreLatency,
}

/// What earlier blocks decided for a block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PriorDecisions<'a> {
    /// How the variants are put side by side, point by point; nothing in the first block.
    pub pairings: &'a [Pairing],
    /// The nominal length of windows that the first block chose, point by point; nothing where it chose none.
    pub windows: &'a [Option<Nanoseconds>],
}

/// One variant, bound to a point.
struct BoundWorkload {
    workload: Workload,
    pace: Pace,
}

impl BlockContext<'_> {
    /// Measures block `number`. `history` is the run without this block, `prior` what earlier blocks decided.
    ///
    /// A block that was disturbed (suspended, clock jump, a service that died) is returned with void trials, or
    /// without any where it had not yet begun.
    pub fn block(
        &self,
        number: u32,
        history: &BlockHistory<'_>,
        prior: PriorDecisions<'_>,
        emit: &mut dyn FnMut(Event),
    ) -> Result<BlockResult, BlockError> {
        let _engaged = self.control.engage();
        let began = monotonic_now();
        let machine = CpuTimes::read();
        let order = self.plan.block(number);
        let mut block = Block::new(self, number, emit);
        let mut cpu_usage = None;
        let measured = block.start(&order.starts).and_then(|()| {
            cpu_usage = CpuUsageSpan::begin(&mut block.variants);
            block.points(&order, history, prior, began)
        });
        // Nothing is measured until the next block's warm-up.
        self.idle.ask(Idle::Host);
        let roles = cpu_usage.and_then(|cpu_usage| cpu_usage.end(&mut block.variants));
        let outcome = measured.map_err(|cut| block.classify_abort(cut));
        let steal = match (machine, CpuTimes::read()) {
            (Some(before), Some(after)) => steal_share(&before, &after).get(),
            _ => 0.0,
        };
        let (BlockTimes { measured, round, .. }, stood) = (block.times, block.stood);
        let mut trials = block.end();
        let disturbed = match outcome {
            Ok(()) => None,
            Err(Abort::Void(void)) => Some(void),
            Err(Abort::Error(error)) => return Err(error),
        };
        for trial in &mut trials {
            (trial.steal, trial.machine) = (steal, roles);
            trial.void.clone_from(&disturbed);
        }
        let overhead = monotonic_now().since(began).saturating_sub(measured + stood);
        Ok(BlockResult { trials, times: BlockTimes { overhead, measured, round }, disturbed })
    }
}

impl BlockContext<'_> {
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
            let outcome = block.answers().map_err(|cut| block.classify_abort(cut));
            block.end();
            match outcome {
                Ok(()) => return Ok(requests),
                Err(Abort::Error(error)) => return Err(error),
                // It stood still in the middle: asked again, from the start.
                Err(Abort::Void(_)) => {}
            }
        }
    }
}

impl From<AnswerError> for BlockError {
    fn from(error: AnswerError) -> Self {
        Self::Answers(Box::new(error))
    }
}

/// Why a block ends early.
enum Abort {
    /// It counts for nothing; the run goes on.
    Void(Void),
    /// The run cannot go on.
    Error(BlockError),
}

impl<E: Into<BlockError>> From<E> for Abort {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

impl<'a, 'b> Block<'a, 'b> {
    fn new(context: &'a BlockContext<'a>, number: u32, emit: &'b mut dyn FnMut(Event)) -> Self {
        Self {
            context,
            number,
            variants: Vec::new(),
            trials: Vec::new(),
            emit,
            times: BlockTimes::default(),
            clocks: ClockWatch::start(context.control.clocks()),
            reported: monotonic_now(),
            told: Vec::new(),
            stood: Nanoseconds::ZERO,
            looked: Nanoseconds::ZERO,
            failures: BTreeMap::new(),
            keeping: Keeping::default(),
            cores: CoreLatency::of(context),
        }
    }

    /// Closes every connection and stops what was started, as the contract says; all at once, so that one that does
    /// not want to end costs its grace and not the sum of all.
    fn end(mut self) -> Vec<TrialRecord> {
        let variants = std::mem::take(&mut self.variants);
        for running in &variants {
            let variant = running.variant;
            self.context.clients.of(variant).call(move |generator| generator.detach(variant));
            // Sockets made ahead would hold its network.
            self.context.clients.of(variant).direct(variant, Vec::<Endpoint>::new());
        }
        std::thread::scope(|scope| {
            for running in variants {
                scope.spawn(|| running.stop());
            }
        });
        std::mem::take(&mut self.trials)
    }

    /// What a cut really was: a wish of the user's ends whatever is waited for with an error of its own, and so does
    /// the death of a service.
    fn classify_abort(&mut self, cut: Abort) -> Abort {
        match self.context.control.ask() {
            ControlRequest::Interrupt => BlockError::Interrupted.into(),
            ControlRequest::Suspend => {
                if let Some(error) = self.variants.iter_mut().find_map(|running| running.thaw().err()) {
                    return error.into();
                }
                // Cores may sleep as long as we do.
                self.context.idle.ask(Idle::Host);
                let since = monotonic_now();
                self.context.control.stand_still();
                self.stood += monotonic_now().since(since);
                Abort::Void(Void::Stopped)
            }
            ControlRequest::GoOn => match cut {
                Abort::Error(
                    BlockError::Connect(_)
                    | BlockError::Answers(_)
                    | BlockError::Silent { .. }
                    | BlockError::Direct(_),
                ) => match self.variants.iter_mut().find_map(RunningVariant::death_soon) {
                    Some(death) => BlockError::Died { how: death.detail().to_owned() }.into(),
                    None => cut,
                },
                cut => cut,
            },
        }
    }

    /// Starts every variant, each frozen once it is ready, and runs the reset hook.
    fn start(&mut self, order: &[VariantId]) -> Result<(), Abort> {
        let experiment = self.context.experiment;
        let workload = &experiment.points[0].workload;
        for (&id, lane) in order.iter().zip(Lane::BOTH.into_iter().cycle()) {
            self.check_control()?;
            let (variant, launch_spec) =
                (&experiment.variants[id.index()], &self.context.launch_specs[id.index()]);
            self.phase(Phase::Starting, Some(&variant.name), None);
            let start = Start { block: self.number, lane, id, variant };
            let mut running = self.context.launcher.start(start, launch_spec, workload)?;
            running.freeze()?;
            (self.emit)(Event::Started { variant: running.name.clone(), took: running.facts.start });
            self.context.clients.of(id).direct(id, running.addresses.clone());
            if let Some(connector) = running.connector() {
                self.context.clients.of(id).connect_by(id, connector);
            }
            self.trials.push(TrialRecord {
                block: self.number,
                batch: 0,
                variant: id,
                service: running.facts.clone(),
                windows: Vec::new(),
                tallies: vec![Tallies::default(); experiment.points.len()],
                samples: Vec::new(),
                pairings: vec![Pairing::default(); experiment.points.len()],
                preparations: vec![Preparation::default(); experiment.points.len()],
                memory: Vec::new(),
                steal: 0.0,
                machine: None,
                void: None,
            });
            self.variants.push(running);
        }
        self.trials.sort_by_key(|trial| trial.variant);
        self.variants.sort_by_key(|running| running.variant);
        if let Some(command) = &experiment.hooks.reset {
            let call_off = CallOff::On(self.context.control);
            let launcher = &self.context.launcher;
            let context = HookContext {
                logs: launcher.logs,
                secrets: launcher.secrets,
                tracker: Some(launcher.lab.tracker()),
            };
            hooks::run("reset", command, context, call_off)?;
        }
        Ok(())
    }

    /// Starts every variant and compares their answers at every point.
    fn answers(&mut self) -> Result<(), Abort> {
        let order = self.context.plan.block(self.number);
        self.start(&order.starts)?;
        for &point in &order.points {
            let bound = self.bind(point, &order.connects)?;
            self.verify(point, &order.connects, &bound)?;
        }
        Ok(())
    }

    fn points(
        &mut self,
        order: &BlockPlan,
        history: &BlockHistory<'_>,
        prior: PriorDecisions<'_>,
        began: weighbridge_model::quantity::Timestamp,
    ) -> Result<(), Abort> {
        let points = order.points.len() as u64;
        for (done, &point) in (0..).zip(&order.points) {
            let (warming, looked) = (monotonic_now(), self.looked);
            let mut bound = self.bind(point, &order.connects)?;
            self.verify(point, &order.connects, &bound)?;
            self.warm(point, &mut bound)?;
            let arrangement = self.arrange(point, &bound, prior)?;
            // Points still to come will need about as long to warm as this one did, and to look at turns.
            let (look, to_come) = (self.looked.saturating_sub(looked), points - 1 - done);
            let ahead = monotonic_now().since(warming).saturating_sub(look) * to_come;
            let overhead = monotonic_now().since(began).saturating_sub(self.times.measured) + ahead;
            let measured = self.context.rule.measured_time(&BlockHistory {
                overhead: history.overhead + overhead,
                measured: history.measured + self.looked + look * to_come,
                begun: history.begun + 1,
                ..*history
            });
            self.phase(Phase::Measuring, None, Some(&self.context.experiment.points[point.index()].label));
            self.keeping = Keeping::default();
            let crossing = self.crossing();
            self.side_by_side(point, &bound, arrangement, measured / points)?;
            self.note_crossing(point, &crossing);
            self.note_memory(point);
            self.tell_samples(point);
            self.note_processes()?;
            self.tell_failures();
            for &variant in order.connects.iter().rev() {
                self.context.clients.of(variant).call(move |generator| generator.detach(variant));
            }
        }
        Ok(())
    }

    /// Binds every variant to the point's workload and load, and opens its connections, in this order. What comes back is
    /// in the order of variants.
    fn bind(&mut self, id: PointId, order: &[VariantId]) -> Result<Vec<BoundWorkload>, Abort> {
        let mut bound = BTreeMap::new();
        for &variant in order {
            bound.insert(variant, self.bind_one(id, variant)?);
        }
        Ok(bound.into_values().collect())
    }

    fn bind_one(&mut self, id: PointId, variant: VariantId) -> Result<BoundWorkload, Abort> {
        let point = &self.context.experiment.points[id.index()];
        let running = &mut self.variants[variant.index()];
        let of = &self.context.experiment.variants[variant.index()];
        let asked = point.workload.for_variant(of);
        let environment = |name: &str| std::env::var(name).ok();
        running.thaw()?;
        let server = DescribedServer {
            authority: &running.address.authority,
            addresses: &running.addresses,
            tls: running.secured.client.as_ref(),
        };
        let (timeout, stop) = (point.load.timeout, &*self.context.control.window);
        let spec = running.as_client(|| described(&asked, server, timeout, stop))?;
        let spec = spec.map_err(Box::new).map_err(of_variant(&running.name))?;
        let given = Given { environment: &environment, rows: self.context.shapes[id.index()].rows() };
        let workload = Workload::with_rows(&spec, &point.load, of.protocol, &running.address, given)
            .map_err(of_variant(&running.name))?;
        running.forget_memory_peak();
        let pace = Pace { requests: 0, time: Nanoseconds::ZERO, busy: None };
        if running.direct.is_some() {
            // Nothing to connect to.
            running.freeze()?;
            return Ok(BoundWorkload { workload, pace });
        }
        let hold_back = self.context.hold_back.filter(|(held, _)| *held == variant).map(|(_, by)| by);
        let settings = Settings { hold_back, ..settings(&point.load) };
        let stack = Stack { framing: workload.framing(), tls: running.secured.client.clone() };
        let sessions = workload.sessions();
        let connected = self.context.clients.of(variant).call(move |generator| {
            generator.attach(variant, settings, stack, sessions);
            generator.connect(variant)
        });
        running.freeze()?;
        let connected = connected.map_err(of_variant(&running.name))?;
        if let Some(trial) = self.trials.iter_mut().find(|trial| trial.variant == variant) {
            trial.tallies[id.index()].handshakes.merge(&connected.handshakes);
        }
        Ok(BoundWorkload { workload, pace })
    }

    /// Asks every variant everything once, in this order, and compares the answers with the baseline's.
    fn verify(&mut self, id: PointId, order: &[VariantId], bound: &[BoundWorkload]) -> Result<(), Abort> {
        let point = &self.context.experiment.points[id.index()];
        let (timeout, control) = (point.load.timeout, self.context.control);
        self.phase(Phase::Verifying, None, Some(&point.label));
        let mut answers = BTreeMap::new();
        for &variant in order {
            let (running, bound) = (&mut self.variants[variant.index()], &bound[variant.index()]);
            running.thaw()?;
            let given = match &mut running.direct {
                Some(direct) => {
                    answers::direct_answers(direct, &running.name, &bound.workload, &point.workload, control)
                }
                None => {
                    let asked = Asked {
                        name: &running.name,
                        addresses: &running.addresses,
                        tls: running.secured.client.as_ref(),
                        workload: &bound.workload,
                        secrets: self.context.launcher.secrets,
                    };
                    running
                        .as_client(|| answers::answers(&asked, Patience { timeout, stop: &control.window }))?
                }
            };
            running.freeze()?;
            answers.insert(variant, given?);
        }
        let requests = answers.values().map(Vec::len).sum();
        let mut each = answers
            .iter()
            .map(|(variant, answers)| VariantAnswers { name: &self.variants[variant.index()].name, answers });
        if let Some(baseline) = each.next() {
            for other in each {
                answers::compare(self.context.launcher.secrets, &baseline, &other)?;
            }
        }
        (self.emit)(Event::Verified { requests });
        Ok(())
    }

    /// Says what begins now; nothing runs meanwhile.
    fn phase(&mut self, phase: Phase, variant: Option<&str>, point: Option<&PointLabel>) {
        let (variant, point) = (variant.map(str::to_owned), point.cloned());
        (self.emit)(Event::Phase { block: self.number, phase, variant, point });
    }

    /// Has idle cores wait as a variant is measured with.
    fn wait_idle(&self, variant: VariantId) {
        self.context.idle.wait_for(&self.context.experiment.variants[variant.index()]);
    }

    fn window_rule(&self, point: &Point) -> WindowRule {
        WindowRule {
            nominal: self.context.experiment.plan.window,
            period: self.period(),
            slots: point.load.slots(),
            headline: self.context.experiment.plan.headline,
        }
    }

    /// Ends the block where the user's flags or the clock say so; what is then done, [`Block::classify_abort`] does.
    fn check_control(&mut self) -> Result<(), Abort> {
        match self.context.control.ask() {
            ControlRequest::GoOn => {}
            ControlRequest::Interrupt => return Err(BlockError::Interrupted.into()),
            ControlRequest::Suspend => return Err(Abort::Void(Void::Stopped)),
        }
        match self.clocks.check(self.context.control.clocks()) {
            Some(_) => Err(Abort::Void(Void::ClockJump)),
            None => Ok(()),
        }
    }
}
