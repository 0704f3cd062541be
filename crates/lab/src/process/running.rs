//! A running role: whether it is alive, what it uses; freeze, thaw and stop it.
//!
//! A role is one unit: each operation applies to all processes of its control group, or below its keeper. Dropping a
//! running role kills it, so nothing that we started outlives its handle.

use std::fmt;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::record::{MemoryFacts, QuotaFacts, QuotaOrigin};

use crate::cleanup::owned_resource::OwnedResource;
use crate::cleanup::tracker::CleanupTracker;
use crate::host::cores::{CoreError, CoreId, pin_process};
use crate::host::procfs::{self, Pid, ProcessIdentity};
use crate::host::sys::{self, Ended, Signal};
use crate::process::account::{CpuAccount, CpuReading};
use crate::process::freeze::{FreezeError, FreezeMethod, Unit};
use crate::process::jvm::{JvmUse, Machines};
use crate::process::keeper::{FirstProcess, Keeper};
use crate::process::quota::{self, CgroupLocation, ControllerKind};
use crate::process::talk::Talk;

/// The time that the contract of services allows to finish outstanding requests and exit.
pub const GRACE: Nanoseconds = Nanoseconds::from_secs(5);

/// A killed process ends at once, unless it is in an uninterruptible system call.
const KILL_PATIENCE: Nanoseconds = Nanoseconds::from_secs(5);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
    /// The system does not tell, because something else collected its status.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(number) => write!(f, "signal {number}"),
            Self::Unknown => f.write_str("an unknown status"),
        }
    }
}

/// What it took to stop a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Departure {
    /// It had ended before it was asked to.
    EndedBefore,
    /// It and all its children ended within the grace.
    InTime,
    /// It, or a child, had to be killed.
    Killed,
}

/// How a role ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExitReport {
    /// How its first process ended.
    pub exit: Exit,
    /// From the request to the end of its last process.
    pub took: Nanoseconds,
    /// What it took.
    pub departure: Departure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Running,
    Frozen,
    Ended,
}

/// A role that was started and is ready.
#[derive(Debug)]
pub struct Running {
    /// What we forked: its keeper where it has one, else its first process.
    child: Child,
    /// Its first process.
    identity: ProcessIdentity,
    /// `None` only after it has ended.
    unit: Option<Unit>,
    state: State,
    /// Whether it keeps running while the rest of its variant is frozen.
    is_awake: bool,
    exit: Option<Exit>,
    started: Timestamp,
    ready_after: Nanoseconds,
    port: u16,
    account: CpuAccount,
    tracker: Arc<CleanupTracker>,
    /// What is tracked beside its first process and its keeper.
    strays: Vec<ProcessIdentity>,
    /// The other ends of its pipes, if it has any.
    talk: Option<Talk>,
    wrapping: Wrapping,
    /// Processes that only started the others, known once it is ready.
    wrappers: Vec<Pid>,
    /// What `wrappers` used.
    wrapper: CpuAccount,
    jvm: Machines,
}

/// What a role's first process is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wrapping {
    /// The intended program, or its parent.
    #[default]
    None,
    /// It started the program and waits for its end, as a container's runtime does. What it uses is not
    /// counted as the program's.
    Leader,
    /// Like `Leader`, for all processes outside the container's namespace of process ids, such as a container
    /// engine and its monitor.
    Outside,
}

impl Running {
    pub(crate) fn new(
        mut child: Child,
        identity: ProcessIdentity,
        unit: Unit,
        started: Timestamp,
        tracker: Arc<CleanupTracker>,
    ) -> Self {
        let pipes = child.stdin.take().zip(child.stdout.take());
        Self {
            child,
            talk: pipes.map(|(input, output)| Talk::new(input, output)),
            identity,
            unit: Some(unit),
            state: State::Running,
            is_awake: false,
            exit: None,
            started,
            ready_after: Nanoseconds::ZERO,
            port: 0,
            account: CpuAccount::default(),
            tracker,
            strays: Vec::new(),
            wrapping: Wrapping::None,
            wrappers: Vec::new(),
            wrapper: CpuAccount::default(),
            jvm: Machines::default(),
        }
    }

    /// Sets what its first process is.
    pub(crate) const fn set_wrapping(&mut self, wrapping: Wrapping) {
        self.wrapping = wrapping;
    }

    pub(crate) fn set_ready(&mut self, port: u16, after: Nanoseconds) {
        self.port = port;
        self.ready_after = after;
        self.wrappers = match self.wrapping {
            Wrapping::None => Vec::new(),
            Wrapping::Leader => vec![self.identity.pid],
            Wrapping::Outside => {
                let own = procfs::numbering(Pid::own());
                self.members().into_iter().filter(|pid| procfs::numbering(*pid) == own).collect()
            }
        };
    }

    /// Its standard input and output, if it was started with pipes and nobody has taken them.
    pub const fn talk(&mut self) -> Option<&mut Talk> {
        self.talk.as_mut()
    }

    /// Like [`Self::talk`], but the caller keeps the pipes. Dropping them closes the role's input.
    pub const fn take_talk(&mut self) -> Option<Talk> {
        self.talk.take()
    }

    /// The port it listens on; 0 if it does not listen.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its first process, which leads its session and process group.
    pub const fn pid(&self) -> Pid {
        self.identity.pid
    }

    /// When it was started.
    pub const fn started(&self) -> Timestamp {
        self.started
    }

    /// Time from start to ready, to about a millisecond.
    pub const fn ready_after(&self) -> Nanoseconds {
        self.ready_after
    }

    /// How it is frozen.
    pub fn freeze_method(&self) -> FreezeMethod {
        self.unit.as_ref().map_or(FreezeMethod::Stop, Unit::method)
    }

    /// Whether its first process runs (frozen counts as running).
    pub fn is_alive(&mut self) -> bool {
        self.exit().is_none()
    }

    /// How its first process ended; `None` while it runs.
    pub fn exit(&mut self) -> Option<Exit> {
        if self.exit.is_none() {
            let by = |ended| match ended {
                Ended::Code(code) => Exit::Code(code),
                Ended::Signal(number) => Exit::Signal(number),
            };
            // Reaped only after all of its children have ended; see `Unit::new`.
            self.exit = match self.unit.as_mut().and_then(Unit::keeper).map(Keeper::first) {
                Some(FirstProcess::Running) => None,
                Some(FirstProcess::Ended(ended)) => Some(by(ended)),
                Some(FirstProcess::Untold) => (!self.identity.is_alive()).then_some(Exit::Unknown),
                None => sys::peek_exit(self.identity.pid).map_or(Some(Exit::Unknown), |ended| ended.map(by)),
            };
        }
        self.exit
    }

    /// Its running processes, children included. Those that have left its session are tracked when first seen.
    pub fn members(&mut self) -> Vec<Pid> {
        let Some(unit) = &mut self.unit else { return Vec::new() };
        for stray in unit.new_strays() {
            // The keeper is tracked; this is for whoever cleans up after that is killed too.
            let _ = self.tracker.track(OwnedResource::Process(stray));
            self.strays.push(stray);
        }
        unit.members()
    }

    /// Its running processes without wrappers.
    fn workers(&mut self) -> Vec<Pid> {
        let mut members = self.members();
        members.retain(|pid| !self.wrappers.contains(pid));
        members
    }

    /// CPU time and peak of resident memory of wrappers; `None` if there are none.
    pub fn wrapper_use(&mut self) -> Option<(Nanoseconds, Bytes)> {
        (self.wrapping != Wrapping::None).then(|| {
            let clock = |pid: &Pid| sys::process_cpu_clock(*pid).ok().map(|time| (*pid, time));
            let clocks: Vec<(Pid, Nanoseconds)> = self.wrappers.iter().filter_map(clock).collect();
            let peak = self.wrappers.iter().copied().filter_map(procfs::peak_memory).sum();
            (self.wrapper.observe(&clocks).time, peak)
        })
    }

    /// CPU time of all its processes without wrappers, by their own clocks. Never decreases. After a freeze
    /// it does not grow, except by less than a microsecond per thread directly afterwards.
    pub fn cpu_time(&mut self) -> CpuReading {
        let members = self.workers();
        let clock = |pid: Pid| sys::process_cpu_clock(pid).ok().map(|time| (pid, time));
        let clocks: Vec<(Pid, Nanoseconds)> = members.into_iter().filter_map(clock).collect();
        self.account.observe(&clocks)
    }

    /// What Java virtual machines among its processes took themselves; CPU time is part of [`cpu_time`](Self::cpu_time).
    /// `None` where there are none.
    pub fn jvm_use(&mut self) -> Option<JvmUse> {
        let members = self.workers();
        self.jvm.observe(&members)
    }

    /// Threads of all its processes without wrappers.
    pub fn threads(&mut self) -> u32 {
        self.workers().into_iter().map(|pid| procfs::threads(pid).len() as u32).sum()
    }

    /// The cores that its processes without wrappers may use, ascending; `None` if all have ended.
    pub fn cores(&mut self) -> Option<Vec<CoreId>> {
        let mut cores: Vec<CoreId> =
            self.workers().into_iter().filter_map(|pid| sys::affinity(Some(pid)).ok()).flatten().collect();
        cores.sort_unstable();
        cores.dedup();
        (!cores.is_empty()).then_some(cores)
    }

    /// Pins all its processes to `cores`; later children inherit that.
    pub fn pin(&mut self, cores: &[CoreId]) -> Result<(), CoreError> {
        self.members().into_iter().try_for_each(|pid| pin_process(pid, cores))
    }

    /// Pins processes that others started to `cores`, unless they are confined to them already. Processes
    /// that end meanwhile are skipped.
    pub(crate) fn confine(&mut self, cores: &[CoreId]) {
        for pid in self.workers() {
            let allowed = sys::affinity(Some(pid)).unwrap_or_default();
            if !allowed.iter().all(|core| cores.contains(core)) {
                let _ = pin_process(pid, cores);
            }
        }
    }

    /// The tightest quota of CPU time on any of its processes without wrappers, whoever set it, and how often
    /// it throttled so far.
    pub fn quota(&mut self) -> Option<QuotaFacts> {
        let places =
            self.workers().into_iter().flat_map(|pid| CgroupLocation::find(ControllerKind::Cpu, pid));
        let quotas = places.filter_map(|place| place.quota());
        let (quota, group) = quotas.min_by(|(a, _), (b, _)| a.cores().get().total_cmp(&b.cores().get()))?;
        let ours = self.unit.as_ref().is_some_and(|unit| unit.is_limited_by(&group));
        let origin = if ours { QuotaOrigin::Experiment } else { QuotaOrigin::Host };
        Some(QuotaFacts { quota, origin, throttling: quota::throttling(&group) })
    }

    /// Its limit of memory, and how often it was hit so far; `None` without a limit.
    pub fn memory_limit(&self) -> Option<MemoryFacts> {
        self.unit.as_ref()?.memory()
    }

    /// The peaks of resident memory (`VmHWM`) of its running processes, summed. Pages shared by several count
    /// for each; ended processes do not count.
    pub fn memory_peak(&mut self) -> Bytes {
        self.workers().into_iter().filter_map(procfs::peak_memory).sum()
    }

    /// Makes later calls of [`Running::freeze`] leave it running.
    pub(crate) const fn leave_awake(&mut self) {
        self.is_awake = true;
    }

    /// Freezes all its processes; when this returns, no thread runs. Does nothing if it is frozen already, or
    /// if packets pass through the program: acknowledgements still pass after the last reply.
    ///
    /// Errors: [`FreezeError`]; it keeps running then.
    pub fn freeze(&mut self) -> Result<(), FreezeError> {
        if let (State::Running, Some(unit), false) = (self.state, &mut self.unit, self.is_awake) {
            unit.freeze()?;
            self.state = State::Frozen;
        }
        Ok(())
    }

    /// Thaws all its processes. Does nothing if it is not frozen.
    ///
    /// Errors: [`FreezeError`]; then it can only be stopped.
    pub fn thaw(&mut self) -> Result<(), FreezeError> {
        if let (State::Frozen, Some(unit)) = (self.state, &mut self.unit) {
            unit.thaw()?;
            self.state = State::Running;
        }
        Ok(())
    }

    /// Stops it: thaws it if frozen, sends SIGTERM to all its processes, and SIGKILL to those that remain
    /// after `grace` ([`GRACE`] by contract).
    pub fn stop(mut self, grace: Nanoseconds) -> ExitReport {
        self.end(Some(grace))
    }

    /// Like [`Self::stop`], but sends SIGINT to its first process alone, which ends the others: what PostgreSQL
    /// calls a fast shutdown.
    pub fn interrupt(mut self, grace: Nanoseconds) -> ExitReport {
        // A frozen process would get the signal only when it is thawed. If that fails, it is killed below.
        let _ = self.thaw();
        let start = sys::monotonic();
        // It fails only if the process has just ended.
        let _ = self.identity.signal(Signal::INT);
        self.wait_for_end(start, grace);
        self.end(Some(Nanoseconds::ZERO))
    }

    /// Ends it, with SIGTERM first if a grace is given. Further calls only report.
    fn end(&mut self, grace: Option<Nanoseconds>) -> ExitReport {
        let start = sys::monotonic();
        let ended_before = !self.is_alive() && self.members().is_empty();
        let mut departure = if ended_before { Departure::EndedBefore } else { Departure::InTime };
        // A unit that cannot be thawed can still be killed.
        let _ = self.thaw();
        if let (Some(grace), Some(unit), false) = (grace, &mut self.unit, ended_before) {
            unit.signal_all(Signal::TERM);
            self.wait_for_end(start, grace);
        }
        if !self.has_ended() {
            departure = Departure::Killed;
            self.kill();
        }
        let took = sys::monotonic().since(start);
        self.state = State::Ended;
        self.release();
        ExitReport { exit: self.exit.unwrap_or(Exit::Unknown), took, departure }
    }

    fn has_ended(&mut self) -> bool {
        !self.is_alive() && self.members().is_empty()
    }

    fn wait_for_end(&mut self, start: Timestamp, patience: Nanoseconds) {
        while !self.has_ended() && sys::monotonic().since(start) < patience {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Lets its keeper go and waits until it has, which it does once nothing is left below it, seen or unseen.
    fn is_collected(&mut self) -> bool {
        let Some(unit) = &mut self.unit else { return true };
        let Some(keeper) = unit.keeper() else { return true };
        keeper.let_go();
        let start = sys::monotonic();
        while matches!(self.child.try_wait(), Ok(None)) {
            if sys::monotonic().since(start) > KILL_PATIENCE {
                return false;
            }
            // Something may have been forked after the last listing.
            unit.kill();
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    }

    fn kill(&mut self) {
        let start = sys::monotonic();
        while !self.has_ended() && sys::monotonic().since(start) < KILL_PATIENCE {
            // Repeated, since a process may fork between the listing of members and their signals.
            if let Some(unit) = &mut self.unit {
                unit.kill();
                if unit.is_out_of_reach() {
                    return;
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Stops tracking the role and removes its control group. Whatever could not be ended or removed stays
    /// tracked, and the guardian tries again.
    fn release(&mut self) {
        let gone = self.has_ended() && self.is_collected();
        let Some(mut unit) = self.unit.take() else { return };
        if gone {
            // It has ended, so this returns at once; an error means that it was reaped elsewhere.
            let ended = self.child.wait();
            let keeper = unit.keeper().map(|keeper| keeper.identity());
            // A keeper that was killed has let go of what left the session, which nobody can find any more.
            let keeper = keeper.filter(|_| ended.is_ok_and(|status| status.success()));
            let processes = self.strays.iter().chain([&self.identity]).copied().map(OwnedResource::Process);
            // Writing fails only if the guardian has ended or the disk is full, which the next start reports.
            for resource in processes.chain(keeper.map(OwnedResource::Keeper)) {
                let _ = self.tracker.release(resource);
            }
        }
        let (group, limits) = unit.into_groups();
        let patience = Duration::from_secs(10);
        let group = group.map(|group| (group.path().to_owned(), group.remove(patience)));
        let limits = limits.into_iter().map(|limit| (limit.path().to_owned(), limit.remove(patience)));
        for (path, removed) in group.into_iter().chain(limits) {
            if removed.is_ok() {
                let _ = self.tracker.release(OwnedResource::Cgroup { path });
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.state != State::Ended {
            self.end(None);
        }
    }
}
