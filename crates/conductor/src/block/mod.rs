//! One block: every variant is started, verified, warmed, and measured in rounds of short windows.
//!
//! Only the variant whose turn it is runs and the others are frozen, unless requests go to variants in turn
//! or variants run at the same time. The judge decides how long, how often, and whether a variant is warm.
//! This module carries that out and records what happened. It estimates nothing.

pub(crate) mod answers;
pub(crate) mod batch;
pub(crate) mod client;
pub(crate) mod common_start;
mod core_latency;
mod duet;
mod end_state;
mod history;
mod interleaved;
mod notes;
mod pairing;
pub(crate) mod passages;
mod samples;
mod steps;
pub(crate) mod times;
mod turn;
mod turns;
mod warm;

use std::collections::BTreeMap;
use std::sync::Arc;

use weighbridge_judge::steer::{Arrangement, BlockHistory, BlockRule, FewRequests, Pace, WindowRule};
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
use weighbridge_model::record::{RequestRecord, Tallies, TrialRecord, Void};
use weighbridge_workload::reflection::ReflectionError;
use weighbridge_workload::{Given, Workload, WorkloadError};

use crate::block::answers::{AnswerError, AskedVariant, QuestionLimits, VariantAnswers};
use crate::block::client::{Clients, settings};
use crate::block::times::BlockTimes;
use crate::control::{Control, ControlRequest};
use crate::descriptors::{DescribedServer, described};
use crate::hooks::{self, CancelOn, HookContext, HookError};
use crate::prepare::idle::IdleCores;
use crate::prepare::launch_spec::LaunchSpec;
use crate::prepare::shapes::Shape;
use crate::variant::VariantError;
use crate::variant::cpu_usage::CpuUsageSpan;
use crate::variant::direct::{DirectError, Work};
use crate::variant::launcher::{VariantLauncher, VariantStart};
use crate::variant::running::RunningVariant;
use crate::with_variant::{WithVariant, with_variant};
use core_latency::CoreLatency;
use samples::KeptSamples;
pub(crate) use steps::PriorSteps;
use steps::StepPlan;

/// Why a block could not be measured. Everything started for it has been stopped.
#[derive(Debug, thiserror::Error)]
pub enum BlockError {
    #[error(transparent)]
    RunningVariant(#[from] VariantError),
    #[error(transparent)]
    Workload(#[from] WithVariant<WorkloadError>),
    #[error(transparent)]
    Descriptors(#[from] WithVariant<Box<ReflectionError>>),
    #[error(transparent)]
    Answers(Box<AnswerError>),
    #[error(transparent)]
    Connect(#[from] WithVariant<ConnectError>),
    #[error("variant `{variant}`: {trouble}")]
    Silent { variant: String, trouble: String },
    #[error(transparent)]
    Direct(#[from] WithVariant<DirectError>),
    #[error("the generator failed: {0}")]
    Generator(generator::RunError),
    #[error("{how}; it must serve until it is told to stop")]
    Died { how: String },
    #[error(transparent)]
    Windows(#[from] FewRequests),
    #[error(transparent)]
    Hook(#[from] HookError),
    #[error("interrupted")]
    Interrupted,
}

#[derive(Debug)]
pub(crate) struct BlockResult {
    pub trials: Vec<TrialRecord>,
    pub times: BlockTimes,
    /// Why the block is void.
    pub disturbed: Option<Void>,
}

/// What all blocks of a run share.
pub(crate) struct BlockContext<'a> {
    pub experiment: &'a Experiment,
    pub shapes: &'a [Shape],
    pub plan: Plan,
    pub launch_specs: &'a [LaunchSpec],
    pub launcher: VariantLauncher<'a>,
    pub clients: &'a Clients,
    pub control: &'a Control,
    pub idle: &'a IdleCores,
    pub rule: BlockRule,
    /// The variant whose replies the generator holds back, and for how long.
    pub hold_back: Option<(VariantId, Nanoseconds)>,
}

struct Block<'a, 'b> {
    context: &'a BlockContext<'a>,
    number: u32,
    variants: Vec<RunningVariant>,
    trials: Vec<TrialRecord>,
    emit: &'b mut dyn FnMut(Event),
    times: BlockTimes,
    clocks: ClockWatch,
    reported: weighbridge_model::quantity::Timestamp,
    /// How many windows of each trial have been reported.
    reported_windows: Vec<usize>,
    /// Time during which this process was stopped.
    suspended: Nanoseconds,
    /// Time spent comparing turns or searching for rates, which only the first block does, so no later block needs to
    /// reserve it.
    choosing: Nanoseconds,
    /// By variant.
    failures: BTreeMap<usize, Failures>,
    kept_samples: KeptSamples,
    /// The requests of the window, if it is a passage that is played outside a run.
    passage_requests: Option<Vec<RequestRecord>>,
    core_latency: CoreLatency,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct PriorDecisions<'a> {
    /// The pairing of each point; empty in the first block.
    pub pairings: &'a [Pairing],
    /// The nominal window length of each point that the first block chose; `None` where it chose none.
    pub windows: &'a [Option<Nanoseconds>],
    /// The requests of the windows by which the first block warmed variants that remember, at each point; empty where none
    /// did.
    pub warm_ups: &'a [Vec<u64>],
    /// The steps of earlier blocks, where a capacity is searched for.
    pub steps: &'a PriorSteps<'a>,
}

/// How a point is measured.
enum Manner<'w> {
    Windows(Arrangement),
    Steps(StepPlan<'w>),
}

struct BoundWorkload {
    workload: Workload,
    pace: Pace,
}

impl BlockContext<'_> {
    /// Measures block `number`. `history` is the run without this block, `prior` what earlier blocks decided.
    ///
    /// A disturbed block (suspended, clock jump, a service that died) is returned with void trials, or with
    /// none where it was disturbed before they began.
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
        self.idle.set(Idle::Host);
        let roles = cpu_usage.and_then(|cpu_usage| cpu_usage.end(&mut block.variants));
        let outcome = measured.map_err(|abort| block.classify_abort(abort));
        let steal = match (machine, CpuTimes::read()) {
            (Some(before), Some(after)) => steal_share(&before, &after).get(),
            _ => 0.0,
        };
        let (BlockTimes { measured, round, .. }, suspended) = (block.times, block.suspended);
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
        let overhead = monotonic_now().since(began).saturating_sub(measured + suspended);
        Ok(BlockResult { trials, times: BlockTimes { overhead, measured, round }, disturbed })
    }
}

impl BlockContext<'_> {
    /// Starts every variant, compares their answers, and stops them. Returns how many requests were compared.
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
            let outcome = block.answers().map_err(|abort| block.classify_abort(abort));
            block.end();
            match outcome {
                Ok(()) => return Ok(requests),
                Err(Abort::Error(error)) => return Err(error),
                // The process was suspended meanwhile: verify again from the start.
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

enum Abort {
    /// The block is void; the run continues.
    Void(Void),
    /// The run cannot continue.
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
            reported_windows: Vec::new(),
            suspended: Nanoseconds::ZERO,
            choosing: Nanoseconds::ZERO,
            failures: BTreeMap::new(),
            kept_samples: KeptSamples::default(),
            passage_requests: None,
            core_latency: CoreLatency::new(context),
        }
    }

    /// Closes every connection and stops every process as the contract of services says: all variants at
    /// once, so that slow ones cost one grace period and not the sum.
    fn end(mut self) -> Vec<TrialRecord> {
        let variants = std::mem::take(&mut self.variants);
        for running in &variants {
            let variant = running.variant;
            self.context.clients.get(variant).call(move |generator| generator.detach(variant));
            // Sockets made in advance would keep the variant's network alive.
            self.context.clients.get(variant).direct(variant, Vec::<Endpoint>::new());
        }
        std::thread::scope(|scope| {
            for running in variants {
                scope.spawn(|| running.stop());
            }
        });
        std::mem::take(&mut self.trials)
    }

    /// Finds the real cause of an abort. A request of the user and the death of a service both cancel
    /// whatever is waited for, which then fails with an error of its own.
    fn classify_abort(&mut self, abort: Abort) -> Abort {
        match self.context.control.request() {
            ControlRequest::Interrupt => BlockError::Interrupted.into(),
            ControlRequest::Suspend => {
                if let Some(error) = self.variants.iter_mut().find_map(|running| running.thaw().err()) {
                    return error.into();
                }
                // Idle cores may sleep while this process is stopped.
                self.context.idle.set(Idle::Host);
                let since = monotonic_now();
                self.context.control.suspend();
                self.suspended += monotonic_now().since(since);
                Abort::Void(Void::Stopped)
            }
            ControlRequest::GoOn => match abort {
                Abort::Error(
                    BlockError::Connect(_)
                    | BlockError::Answers(_)
                    | BlockError::Silent { .. }
                    | BlockError::Direct(_),
                ) => match RunningVariant::first_death(&mut self.variants) {
                    Some(death) => BlockError::Died { how: death.detail().to_owned() }.into(),
                    None => abort,
                },
                abort => abort,
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
            let start = VariantStart { block: self.number, lane, id, variant, workload };
            let mut running = self.context.launcher.start(start, launch_spec)?;
            running.freeze()?;
            (self.emit)(Event::Started { variant: running.name.clone(), took: running.facts.start });
            self.context.clients.get(id).direct(id, running.addresses.clone());
            if let Some(connector) = running.connector() {
                self.context.clients.get(id).connect_by(id, connector);
            }
            self.trials.push(TrialRecord {
                block: self.number,
                variant: id,
                service: running.facts.clone(),
                tallies: vec![Tallies::default(); experiment.points.len()],
                steps: match experiment.capacity {
                    Some(_) => vec![Vec::new(); experiment.points.len()],
                    None => Vec::new(),
                },
                pairings: vec![Pairing::default(); experiment.points.len()],
                preparations: vec![Preparation::default(); experiment.points.len()],
                ..Default::default()
            });
            self.variants.push(running);
        }
        self.trials.sort_by_key(|trial| trial.variant);
        self.variants.sort_by_key(|running| running.variant);
        if let Some(command) = &experiment.hooks.reset {
            let cancel_on = CancelOn::Request(self.context.control);
            let launcher = &self.context.launcher;
            let context = HookContext {
                logs: launcher.logs,
                secrets: launcher.secrets,
                tracker: Some(launcher.lab.tracker()),
            };
            hooks::run("reset", command, context, cancel_on)?;
        }
        Ok(())
    }

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
            let (warming, looked) = (monotonic_now(), self.choosing);
            let mut bound = self.bind(point, &order.connects)?;
            if done > 0 {
                self.empty_ours(point, &bound)?;
            }
            self.verify(point, &order.connects, &bound)?;
            let fixed = prior.warm_ups.get(point.index()).map_or(&[][..], Vec::as_slice);
            self.warm(point, &mut bound, fixed)?;
            let manner = self.manner(point, &bound, prior)?;
            // Later points will take about as long as this one to warm and to choose.
            let (look, to_come) = (self.choosing.saturating_sub(looked), points - 1 - done);
            let ahead = monotonic_now().since(warming).saturating_sub(look) * to_come;
            let overhead = monotonic_now().since(began).saturating_sub(self.times.measured) + ahead;
            let measured = self.context.rule.measured_time(&BlockHistory {
                overhead: history.overhead + overhead,
                measured: history.measured + self.choosing + look * to_come,
                begun: history.begun + 1,
                ..*history
            });
            self.phase(Phase::Measuring, None, Some(&self.context.experiment.points[point.index()].label));
            self.kept_samples = KeptSamples::default();
            let link_counters = self.link_counters();
            match manner {
                Manner::Windows(arrangement) => {
                    self.measure_point(point, &bound, arrangement, measured / points)?;
                }
                Manner::Steps(plan) => self.measure_steps(plan, prior.steps, measured / points)?,
            }
            self.record_traffic(point, &link_counters);
            self.record_memory(point);
            self.warn_samples(point);
            self.record_processes()?;
            self.warn_failures(point);
            for &variant in order.connects.iter().rev() {
                self.context.clients.get(variant).call(move |generator| generator.detach(variant));
            }
        }
        Ok(())
    }

    /// How a point is measured, as the experiment asks and earlier blocks decided.
    fn manner<'w>(
        &mut self,
        point: PointId,
        bound: &'w [BoundWorkload],
        prior: PriorDecisions<'_>,
    ) -> Result<Manner<'w>, Abort> {
        match &self.context.experiment.capacity {
            None => self.arrange(point, bound, prior).map(Manner::Windows),
            Some(spec) => self.choose_rates(point, spec, bound, prior.steps).map(Manner::Steps),
        }
    }

    /// Binds every variant and opens its connections, in this order. The result is in the order of variants.
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
        let variant_spec = &self.context.experiment.variants[variant.index()];
        let asked = point.workload.for_variant(variant_spec);
        let environment = |name: &str| std::env::var(name).ok();
        running.thaw()?;
        let server = DescribedServer {
            authority: &running.address.authority,
            addresses: &running.addresses,
            tls: running.secured.client.as_ref(),
        };
        let (timeout, stop) = (point.load.timeout, &*self.context.control.window);
        let spec = running.as_client(|| described(&asked, server, timeout, stop))?;
        let spec = spec.map_err(Box::new).map_err(with_variant(&running.name))?;
        let shape = &self.context.shapes[id.index()];
        let given = Given {
            environment: &environment,
            rows: shape.rows(),
            replay: shape.replay(),
            script: shape.script(),
        };
        let workload =
            Workload::with_rows(&spec, &point.load, variant_spec.protocol, &running.address, given)
                .map_err(with_variant(&running.name))?;
        running.forget_memory_peak();
        let pace = Pace { requests: 0, time: Nanoseconds::ZERO, busy: None };
        if let Some(direct) = &mut running.direct {
            direct.set_work(match workload.script_in_process() {
                None => Work::Pongs(point.workload.listed_sizes().to_vec()),
                Some(script) => {
                    let threads = variant_spec.load(&point.load).connections;
                    Work::Sessions { script: Arc::clone(script), threads }
                }
            });
            running.freeze()?;
            return Ok(BoundWorkload { workload, pace });
        }
        let hold_back = self.context.hold_back.filter(|(held, _)| *held == variant).map(|(_, by)| by);
        let settings = Settings { hold_back, ..settings(&variant_spec.load(&point.load)) };
        let stack = Stack { framing: workload.framing(), tls: running.secured.client.clone() };
        let sessions = workload.sessions();
        let connected = self.context.clients.get(variant).call(move |generator| {
            generator.attach(variant, settings, stack, sessions);
            generator.connect(variant)
        });
        running.freeze()?;
        let connected = connected.map_err(with_variant(&running.name))?;
        if let Some(trial) = self.trials.iter_mut().find(|trial| trial.variant == variant) {
            trial.tallies[id.index()].handshakes.merge(&connected.handshakes);
        }
        Ok(BoundWorkload { workload, pace })
    }

    /// Sends every variant each kind of request once, in this order; compares the answers with the
    /// baseline's.
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
                    let asked = AskedVariant {
                        name: &running.name,
                        addresses: &running.addresses,
                        tls: running.secured.client.as_ref(),
                        workload: &bound.workload,
                        secrets: self.context.launcher.secrets,
                    };
                    running.as_client(|| {
                        answers::answers(&asked, QuestionLimits { timeout, stop: &control.window })
                    })?
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

    /// Emits the phase that begins. Nothing runs meanwhile.
    fn phase(&mut self, phase: Phase, variant: Option<&str>, point: Option<&PointLabel>) {
        let (variant, point) = (variant.map(str::to_owned), point.cloned());
        (self.emit)(Event::Phase { block: self.number, phase, variant, point });
    }

    /// Makes idle cores wait in the way with which the variant is measured.
    fn set_idle(&self, variant: VariantId) {
        self.context.idle.set_for(&self.context.experiment.variants[variant.index()]);
    }

    fn window_rule(&self, point: &Point) -> WindowRule {
        WindowRule {
            nominal: self.context.experiment.plan.window,
            period: self.period(),
            slots: point.load.slots(),
            headline: self.context.experiment.plan.headline,
        }
    }

    /// Aborts the block on a request of the user or a clock jump.
    fn check_control(&mut self) -> Result<(), Abort> {
        match self.context.control.request() {
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
