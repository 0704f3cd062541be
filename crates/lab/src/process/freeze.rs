//! Freezes and thaws a unit (all processes of one role), and lists its processes.
//!
//! The caller makes sure that nothing is outstanding before a freeze; this module makes sure that no thread
//! runs when the call returns. Freezing stops the process, not time. (A thread counts as frozen just before
//! it leaves its core, so a CPU clock that is read at once may lack that last step: 0.7 µs were seen.)
//!
//! **Which method, and why.** Measured by `examples/freeze_cost.rs` on a two-core virtual machine (Linux
//! 6.18), the unit on one core, the caller on the other, from the call to its return, in µs as median / 90th
//! percentile of 200:
//!
//! | unit's threads | `cgroup.freeze` | thaw | SIGSTOP | SIGCONT |
//! | --- | --- | --- | --- | --- |
//! | 1 waiting | 15 / 24 | 3 / 5 | 56 / 110 | 21 / 49 |
//! | 1 busy, 1 waiting | 16 / 22 | 6 / 9 | 61 / 3232 | 22 / 25 |
//! | 8 waiting | 23 / 35 | 7 / 10 | 100 / 142 | 19 / 46 |
//! | 1 busy, 8 waiting | 45 / 58 | 9 / 14 | 139 / 3165 | 20 / 48 |
//! | 40 waiting | 50 / 119 | 17 / 60 | 348 / 405 | 23 / 56 |
//!
//! So the cgroup is the default: it is always faster, its confirmation is one read for any number of threads,
//! and a parent's `waitpid` does not notice it. The confirmation
//! is *read* in a loop instead of awaited by `poll`, because the kernel delays notifications of
//! `cgroup.events` by about 10 ms (8.9 ms measured). Both methods may end a blocked `epoll_wait` with EINTR,
//! as signal(7) says of stop signals; that affects the lead-in after a thaw, but no window.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::MemoryFacts;

use crate::host::procfs::{self, Pid, ProcessIdentity, ProcessStat};
use crate::host::sys::{self, Signal, SignalTarget};
use crate::process::cgroup::{Cgroup, FreezerState, Hierarchy};
use crate::process::keeper::Keeper;
use crate::process::memory;
use crate::process::quota::Limited;

/// A unit that is not frozen by then never will be: some thread is in an uninterruptible system call.
const PATIENCE: Nanoseconds = Nanoseconds::from_secs(2);

/// So often it is looked at before. Where the host stopped this process too, the unit had less time than the clock says.
const LOOKS_LEAST: u32 = 1_000;

/// Strays of a unit that are written down: a server may make new ones with every request.
const STRAYS_MOST: usize = 32;

/// Time for which the confirmation is polled without pause; afterwards sleeps leave the unit its core.
const SPIN: Nanoseconds = Nanoseconds::from_millis(1);

/// How a unit is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FreezeMethod {
    /// `cgroup.freeze` of a version 2 control group.
    Cgroup,
    /// SIGSTOP to the session and to all that left it, until every thread has stopped.
    Stop,
}

impl FreezeMethod {
    /// The best method that this host offers; see the table above.
    pub fn detect() -> Self {
        if Hierarchy::detect().is_some_and(|found| found.is_usable()) { Self::Cgroup } else { Self::Stop }
    }
}

impl fmt::Display for FreezeMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cgroup => "cgroup.freeze",
            Self::Stop => "SIGSTOP",
        })
    }
}

/// Why a unit could not be frozen or thawed. It was thawed again as far as possible.
#[derive(Debug, thiserror::Error)]
pub enum FreezeError {
    #[error(
        "process {pid} did not stand still within {patience} of {method}; declare `freeze = \"unsafe\"` for its service"
    )]
    StillRunning {
        /// The first process that still runs (the unit's leader if the kernel does not say which).
        pid: Pid,
        /// How long we waited.
        patience: Nanoseconds,
        /// The method that failed.
        method: FreezeMethod,
    },
    #[error(
        "could not use the control group `{path}`; nobody else may touch groups named `wb-…` during a run"
    )]
    Cgroup {
        /// The group.
        path: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// All processes of one role: those in its control group, or below its keeper where it has none.
#[derive(Debug)]
pub(crate) struct Unit {
    leader: Pid,
    /// If present, it lists the members and freezes them.
    cgroup: Option<Cgroup>,
    /// If present, what runs below it is the members.
    keeper: Option<Keeper>,
    /// Members seen outside of the leader's session, known even if the keeper is killed.
    strays: Vec<ProcessIdentity>,
    /// Its other groups, if groups of version 1 limit it.
    limits: Vec<Limited>,
    /// The members without a control group, and the last id that the kernel had assigned when they were listed.
    listed: Option<(Pid, Vec<ProcessStat>)>,
}

impl Unit {
    /// The unit that `leader` leads. The leader must not be reaped while the unit is used, so that its id is
    /// not reused and no other process is frozen or killed in its place.
    pub(crate) const fn new(leader: Pid, cgroup: Option<Cgroup>) -> Self {
        Self { leader, cgroup, keeper: None, strays: Vec::new(), limits: Vec::new(), listed: None }
    }

    /// The same unit, below a keeper.
    pub(crate) fn kept_by(self, keeper: Option<Keeper>) -> Self {
        Self { keeper, ..self }
    }

    pub(crate) const fn keeper(&mut self) -> Option<&mut Keeper> {
        self.keeper.as_mut()
    }

    /// The same unit, limited by further groups.
    pub(crate) fn limited_by(self, limits: Vec<Limited>) -> Self {
        Self { limits, ..self }
    }

    pub(crate) const fn method(&self) -> FreezeMethod {
        if self.cgroup.is_some() { FreezeMethod::Cgroup } else { FreezeMethod::Stop }
    }

    /// The unit's processes. Without a control group all of `/proc` must be searched, so the search is
    /// repeated only if a process or thread has started since.
    pub(crate) fn members(&mut self) -> Vec<Pid> {
        if let Some(members) = self.cgroup.as_ref().and_then(|group| group.members().ok()) {
            return members;
        }
        self.list().iter().map(|stat| stat.pid).collect()
    }

    /// Members that have left the leader's session and were not returned before. Without the keeper they could
    /// not be found.
    pub(crate) fn new_strays(&mut self) -> Vec<ProcessIdentity> {
        if self.keeper.is_none() || self.strays.len() >= STRAYS_MOST {
            return Vec::new();
        }
        let leader = self.leader;
        let left = self.list().iter().filter(|stat| stat.session != leader).map(ProcessStat::identity);
        let mut strays: Vec<ProcessIdentity> = left.take(STRAYS_MOST).collect();
        strays.retain(|stray| !self.strays.contains(stray));
        self.strays.extend(&strays);
        strays
    }

    /// The members where no control group lists them.
    fn list(&mut self) -> &[ProcessStat] {
        // Read before the search, so that the next call finds processes that start during it.
        let last = procfs::last_pid();
        let is_listed = last.is_some() && self.listed.as_ref().is_some_and(|(then, _)| last == Some(*then));
        if is_listed {
            self.listed.iter_mut().for_each(|(_, members)| members.retain_mut(is_running));
        } else {
            // Without a number the list is not used again.
            self.listed = Some((last.unwrap_or(Pid::new(0)), self.search()));
        }
        self.listed.as_ref().map(|(_, members)| members.as_slice()).unwrap_or_default()
    }

    fn search(&self) -> Vec<ProcessStat> {
        let keeper = self.keeper.as_ref().map(Keeper::identity).filter(|keeper| keeper.is_alive());
        if let Some(keeper) = keeper {
            return procfs::descendants(keeper);
        }
        let mut found = procfs::session_members(self.leader);
        for stray in self.strays.iter().filter(|stray| stray.is_alive()) {
            found.extend(ProcessStat::read(stray.pid));
            found.extend(procfs::descendants(*stray));
        }
        found
    }

    /// Freezes all members and returns when no thread runs.
    pub(crate) fn freeze(&mut self) -> Result<(), FreezeError> {
        let result = match &self.cgroup {
            Some(group) => freeze_cgroup(group, self.leader),
            None => self.stop_all(),
        };
        if result.is_err() {
            // Half a unit must not stay frozen. An error of the thaw has the same cause as the one returned.
            let _ = self.thaw();
        }
        result
    }

    /// Thaws all members.
    pub(crate) fn thaw(&mut self) -> Result<(), FreezeError> {
        if let Some(group) = &self.cgroup {
            return group.request(FreezerState::Running).map_err(|source| cgroup_error(group, source));
        }
        self.signal_all(Signal::CONT);
        Ok(())
    }

    fn stop_all(&mut self) -> Result<(), FreezeError> {
        self.signal_all(Signal::STOP);
        let mut running = None;
        let stopped = wait_until(|| {
            let members = self.members();
            running = members.iter().copied().find(|pid| !procfs::stands_still(*pid, &members));
            if let Some(pid) = running {
                // A child that was forked while the signals were sent has received none.
                let _ = sys::signal(SignalTarget::Process(pid), Signal::STOP);
                return Ok(false);
            }
            // A member that stopped late may have forked after the listing; a stopped one cannot.
            Ok(self.members() == members)
        });
        match (stopped, running) {
            (Ok(true), _) => Ok(()),
            (_, pid) => Err(still_running(pid.unwrap_or(self.leader), FreezeMethod::Stop)),
        }
    }

    /// Sends a signal to the leader's group at once, then to every member that has left that group. Errors
    /// mean that the process has ended meanwhile, or is another user's.
    pub(crate) fn signal_all(&mut self, signal: Signal) {
        // Only while nobody has reaped the leader is its id certain not to be another's.
        let is_reserved = self.keeper.as_ref().is_none_or(Keeper::reserves);
        if is_reserved {
            let _ = sys::signal(SignalTarget::Group(self.leader), signal);
        }
        for stat in self.members().into_iter().filter_map(ProcessStat::read) {
            if !is_reserved || stat.group != self.leader {
                let _ = stat.identity().signal(signal);
            }
        }
    }

    /// Kills every member, frozen or not, including children that are forked meanwhile.
    pub(crate) fn kill(&mut self) {
        if let Some(group) = &self.cgroup {
            // If this fails, the signals below still work.
            let _ = group.kill();
        }
        self.signal_all(Signal::KILL);
    }

    /// Whether all that is left is another user's, so that no signal of ours reaches it.
    pub(crate) fn is_out_of_reach(&mut self) -> bool {
        let members = self.members();
        let refuses = |pid: &Pid| {
            let again = ProcessIdentity::read(*pid).map(|process| process.signal(Signal::KILL));
            again.is_some_and(|sent| sent.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied))
        };
        self.cgroup.is_none() && !members.is_empty() && members.iter().all(refuses)
    }

    /// Whether the group at `path` is one of its own.
    pub(crate) fn is_limited_by(&self, path: &Path) -> bool {
        let own = self.cgroup.as_ref().is_some_and(|group| group.path() == path);
        own || self.limits.iter().any(|limit| limit.path() == path)
    }

    /// The limit of memory that one of its groups has, and how often it was hit.
    pub(crate) fn memory(&self) -> Option<MemoryFacts> {
        let own = self.cgroup.as_ref().map(Cgroup::path);
        own.into_iter().chain(self.limits.iter().map(Limited::path)).find_map(memory::facts)
    }

    /// Returns the control groups for removal.
    pub(crate) fn into_groups(self) -> (Option<Cgroup>, Vec<Limited>) {
        (self.cgroup, self.limits)
    }
}

fn freeze_cgroup(group: &Cgroup, leader: Pid) -> Result<(), FreezeError> {
    group.request(FreezerState::Frozen).map_err(|source| cgroup_error(group, source))?;
    let frozen = wait_until(|| group.is_frozen()).map_err(|source| cgroup_error(group, source))?;
    if frozen { Ok(()) } else { Err(still_running(leader, FreezeMethod::Cgroup)) }
}

fn still_running(pid: Pid, method: FreezeMethod) -> FreezeError {
    FreezeError::StillRunning { pid, patience: PATIENCE, method }
}

fn cgroup_error(group: &Cgroup, source: io::Error) -> FreezeError {
    FreezeError::Cgroup { path: group.path().display().to_string(), source }
}

/// Whether a listed process still runs; brings what is known of it up to date.
fn is_running(listed: &mut ProcessStat) -> bool {
    let now = ProcessStat::read(listed.pid);
    let Some(now) = now.filter(|now| now.identity() == listed.identity() && !now.is_gone()) else {
        return false;
    };
    *listed = now;
    true
}

/// Polls until `reached` returns true, for at most [`PATIENCE`] and [`LOOKS_LEAST`] looks: first yields, then sleeps once that took
/// longer than usual.
fn wait_until(mut reached: impl FnMut() -> io::Result<bool>) -> io::Result<bool> {
    let (start, mut looks) = (sys::monotonic(), 0);
    loop {
        if reached()? {
            return Ok(true);
        }
        looks += 1;
        match sys::monotonic().since(start) {
            waited if waited > PATIENCE && looks > LOOKS_LEAST => return Ok(false),
            waited if waited > SPIN => std::thread::sleep(Duration::from_micros(50)),
            // The caller may share its core with the unit, which must run in order to stop.
            _ => std::thread::yield_now(),
        }
    }
}
