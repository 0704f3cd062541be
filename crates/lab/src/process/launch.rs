//! Starting a role: pinned to cores, in a session and control group of its own, tracked for clean-up before
//! it executes, and awaited until it is ready.
//!
//! A start returns a role that accepts connections, or an error with the step that failed and the program's
//! last output. A failed start leaves no process behind. What the program is and how it is configured is up
//! to the caller.

mod error;
mod ready;

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use sha2::{Digest, Sha256};
use weighbridge_model::hex;
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::record::CpuQuota;

use crate::cleanup::guardian::Guardian;
use crate::cleanup::owned_resource::{OwnedResource, PREFIX};
use crate::cleanup::registry::Registry;
use crate::cleanup::tracker::{CleanupTracker, CleanupTrackerError};
use crate::host::cores::{CoreId, core_list};
use crate::host::ports::{self, Listener};
use crate::host::procfs::{Pid, ProcessIdentity};
use crate::host::sys::{self, Gate, SetupStep};
use crate::process::cgroup::{Cgroup, Hierarchy};
use crate::process::freeze::{FreezeMethod, Unit};
use crate::process::keeper::{FirstProcess, Keeper, KeeperLine};
use crate::process::logs::{LINES_QUOTED, last_lines};
use crate::process::memory;
use crate::process::quota::{Controller, Limited, Version};
use crate::process::talk::READY_DIRECT;
use crate::process::{Exit, Running};

use ready::Watch;

pub use crate::process::Wrapping;
pub use error::LaunchError;
pub use ready::{Asking, LinePattern, Ready};

/// Exit code by which a service says that its configuration is bad.
const BAD_CONFIGURATION: i32 = 2;
/// Exit code by which a service says that its port is in use.
const PORT_IN_USE: i32 = 3;
/// Bytes of an unexpected line that an error shows.
const SHOWN: usize = 200;
/// The bit of a file's mode by which it runs as its owner.
const SETUID: u32 = 0o4000;
/// Pause between two looks whether a program was executed.
const SPAWN_PAUSE: Duration = Duration::from_micros(200);
/// Bytes of a log that are reserved before the start.
const LOG_ROOM: u64 = 4096;

/// What to start, and how. In the command and the environment, `{port}` stands for the port, unless the role
/// chooses it, and `{host}` for the address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The role's name for messages.
    pub name: String,
    /// Program and arguments; no shell is involved.
    pub command: Vec<String>,
    /// Added to our own environment; also replaces `PORT`.
    pub environment: Vec<(String, String)>,
    /// Working directory; by default our own.
    pub folder: Option<PathBuf>,
    /// The address to listen on. Only [`Ready::Port`] and [`Ready::AnyPort`] look for the port there; a
    /// caller whose role listens elsewhere also sets `HOST`.
    pub host: IpAddr,
    /// The cores it may use, ascending; by default those that we may use.
    pub cores: Option<Vec<CoreId>>,
    /// File for its standard output, truncated first. May be the same as `stderr`.
    pub stdout: PathBuf,
    /// File for its standard error, truncated first.
    pub stderr: PathBuf,
    /// How it signals that it is ready.
    pub ready: Ready,
    /// How long it may take to get ready.
    pub ready_timeout: Nanoseconds,
    /// How the started process relates to the intended program.
    pub wrapping: Wrapping,
}

/// The control groups that a role enters.
struct Groups {
    own: Option<Cgroup>,
    limits: Vec<Limited>,
}

impl Groups {
    fn entries(&self) -> Vec<BorrowedFd<'_>> {
        let own = self.own.as_ref().map(Cgroup::procs);
        own.into_iter().chain(self.limits.iter().map(Limited::procs)).collect()
    }
}

/// What a forked child says of itself before it executes.
struct Reported {
    pid: Pid,
    keeper: Option<Pid>,
}

/// The child and its keeper, both tracked.
type Admitted = (ProcessIdentity, Option<Keeper>);

/// A role's processes when its program has begun.
struct Spawned {
    /// What we forked: the keeper where there is one, else the role's first process.
    child: Child,
    /// The role's first process.
    identity: ProcessIdentity,
    keeper: Option<Keeper>,
}

/// How to limit a role's use of one resource.
struct Limiter<'a, W, C> {
    /// The version of control groups that can limit it.
    version: Version,
    /// The group below which to make further ones.
    base: &'a Path,
    /// Writes the limit into the role's own group.
    write: W,
    /// Makes a limited group.
    create: C,
}

/// The most that a role may use; `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Allowed {
    pub quota: Option<CpuQuota>,
    pub memory: Option<Bytes>,
}

impl From<Option<CpuQuota>> for Allowed {
    fn from(quota: Option<CpuQuota>) -> Self {
        Self { quota, memory: None }
    }
}

/// Starts the roles of one run.
#[derive(Debug)]
pub struct Lab {
    tracker: Arc<CleanupTracker>,
    /// Where control groups are made; `None` means that roles are frozen by signals.
    hierarchy: Option<Hierarchy>,
    prefix: String,
    units: AtomicU32,
    cancelled: Arc<AtomicBool>,
    /// Our own executable, for work that needs its own process.
    program: Option<PathBuf>,
}

impl Lab {
    /// A lab whose resources are listed in `registry` and watched by `guardian`. `run` names the run; control
    /// groups are called `wb-<8 hex of the run>-<n>`. Roles are frozen in the best way that the host offers.
    pub fn new(run: &str, guardian: Option<Guardian>, registry: Option<Registry>) -> Self {
        Self::with_method(run, guardian, registry, FreezeMethod::Cgroup)
    }

    /// Like [`Self::new`], with a preferred way of freezing. [`FreezeMethod::Stop`] needs no control groups.
    /// It is also the fallback where none can be made; roles then run below keepers.
    pub fn with_method(
        run: &str,
        guardian: Option<Guardian>,
        registry: Option<Registry>,
        method: FreezeMethod,
    ) -> Self {
        let hierarchy = match method {
            FreezeMethod::Cgroup => Hierarchy::detect().filter(Hierarchy::is_usable),
            FreezeMethod::Stop => None,
        };
        let digest = Sha256::digest(run.as_bytes());
        let digits = hex::encode(&digest[..4]);
        Self {
            tracker: Arc::new(CleanupTracker::new(guardian, registry)),
            hierarchy,
            prefix: format!("{PREFIX}{digits}"),
            units: AtomicU32::new(0),
            cancelled: Arc::default(),
            program: None,
        }
    }

    /// Makes starts end early with [`LaunchError::Cancelled`] while `flag` is set.
    #[must_use]
    pub fn cancelled_by(self, flag: Arc<AtomicBool>) -> Self {
        Self { cancelled: flag, ..self }
    }

    /// Whether waits should be given up.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Sets our own executable, which layers start for work that needs its own process.
    #[must_use]
    pub fn with_program(self, program: &Path) -> Self {
        Self { program: Some(program.to_owned()), ..self }
    }

    /// Our own executable, if known.
    pub(crate) fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }

    /// How this lab freezes.
    pub const fn freeze_method(&self) -> FreezeMethod {
        if self.hierarchy.is_some() { FreezeMethod::Cgroup } else { FreezeMethod::Stop }
    }

    /// Why processes of `program` could be neither frozen nor ended; `None` if they can be.
    pub fn out_of_reach(&self, program: &str, folder: Option<&Path>) -> Option<String> {
        // A control group freezes and ends whatever is in it.
        if self.hierarchy.is_some() || sys::may_end_others() {
            return None;
        }
        let (path, user) = foreign_user(program, folder)?;
        Some(format!(
            "`{}` is setuid: what becomes user {user} wholly, as below `sudo`, can be neither frozen nor ended from here without a control group; run `weigh` as that user",
            path.display()
        ))
    }

    /// The list of what must be cleaned up.
    pub fn tracker(&self) -> &CleanupTracker {
        &self.tracker
    }

    /// The tracker, for a value that outlives the call.
    pub(crate) fn tracker_handle(&self) -> Arc<CleanupTracker> {
        Arc::clone(&self.tracker)
    }

    /// Prefix of the names of this run's control groups and namespaces: `wb-<8 hex of the run>`.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Ends the lab. If everything is stopped, the guardian ends and the registry is removed. Otherwise the
    /// remaining resources are returned, the guardian ends them, and the registry stays.
    pub fn close(self) -> Result<Vec<OwnedResource>, CleanupTrackerError> {
        self.tracker.close()
    }

    /// Starts a role and waits until it is ready.
    ///
    /// Errors: see [`LaunchError`]; nothing of the role is left running then.
    pub fn launch(&self, launch: &Launch) -> Result<Running, LaunchError> {
        self.launch_within(launch, Allowed::default())
    }

    /// Like [`Self::launch`], with CPU time and memory limited from the program's first instruction on.
    pub fn launch_within(
        &self,
        launch: &Launch,
        allowed: impl Into<Allowed>,
    ) -> Result<Running, LaunchError> {
        let name = || launch.name.clone();
        let (program, _) =
            launch.command.split_first().ok_or_else(|| LaunchError::NoCommand { name: name() })?;
        if let Some(folder) = launch.folder.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(LaunchError::NoFolder { name: name(), folder: folder.clone() });
        }
        let port = choose_port(launch)?;
        let mut command = prepare(launch, port)?;
        let groups = self.make_groups(launch, allowed.into())?;
        let started = sys::monotonic();
        let spawned = self.spawn(launch, program, &mut command, &groups);
        let Spawned { child, identity, keeper } = match spawned {
            Ok(spawned) => spawned,
            Err(error) => {
                self.discard_groups(groups);
                return Err(error);
            }
        };
        let unit = Unit::new(identity.pid, groups.own).kept_by(keeper).limited_by(groups.limits);
        let mut running = Running::new(child, identity, unit, started, Arc::clone(&self.tracker));
        running.set_wrapping(launch.wrapping);
        // On an error `running` is dropped, which kills and untracks the role.
        let (port, ready) = await_ready(&mut running, launch, port, started, &self.cancelled)?;
        running.set_ready(port, ready);
        if let (Some(cores), true) = (&launch.cores, launch.wrapping != Wrapping::None) {
            // Some container runtimes reset the affinity of what they start to all cores of its control
            // group.
            running.confine(cores);
        }
        Ok(running)
    }

    fn make_group(&self, launch: &Launch) -> Result<Option<Cgroup>, LaunchError> {
        let Some(hierarchy) = &self.hierarchy else { return Ok(None) };
        let path = self.free_path(hierarchy.base());
        self.tracker.track(OwnedResource::Cgroup { path: path.clone() })?;
        Cgroup::create(&path).map(Some).map_err(|source| {
            // The first error is the one to report; the guardian finds nothing at this path.
            let _ = self.tracker.release(OwnedResource::Cgroup { path: path.clone() });
            let step = format!("make the control group `{}`", path.display());
            LaunchError::Setup { name: launch.name.clone(), step, source }
        })
    }

    /// An unused name for a group. Groups of an earlier process with the same run name (a resumed run) may
    /// still exist.
    fn free_path(&self, base: &Path) -> PathBuf {
        loop {
            let unit = self.units.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("{}-{unit}", self.prefix));
            if !path.exists() {
                return path;
            }
        }
    }

    /// The role's group, and what limits it.
    fn make_groups(&self, launch: &Launch, allowed: Allowed) -> Result<Groups, LaunchError> {
        let mut groups = Groups { own: self.make_group(launch)?, limits: Vec::new() };
        let limited = self.limit_time(launch, &mut groups, allowed.quota);
        match limited.and_then(|()| self.limit_memory(launch, &mut groups, allowed.memory)) {
            Ok(()) => Ok(groups),
            Err(error) => {
                self.discard_groups(groups);
                Err(error)
            }
        }
    }

    fn limit_time(
        &self,
        launch: &Launch,
        groups: &mut Groups,
        quota: Option<CpuQuota>,
    ) -> Result<(), LaunchError> {
        let Some(quota) = quota else { return Ok(()) };
        let controller = Controller::detect()
            .map_err(|source| LaunchError::NoQuota { name: launch.name.clone(), source })?;
        let limiter = Limiter {
            version: controller.version(),
            base: controller.base(),
            write: |path: &Path| controller.write(path, quota),
            create: |path: &Path| controller.create(path, quota),
        };
        self.limit(launch, groups, limiter)
    }

    fn limit_memory(
        &self,
        launch: &Launch,
        groups: &mut Groups,
        limit: Option<Bytes>,
    ) -> Result<(), LaunchError> {
        let Some(limit) = limit else { return Ok(()) };
        let controller = memory::Controller::detect()
            .map_err(|source| LaunchError::NoLimit { name: launch.name.clone(), source })?;
        let limiter = Limiter {
            version: controller.version(),
            base: controller.base(),
            write: |path: &Path| controller.write(path, limit),
            create: |path: &Path| controller.create(path, limit),
        };
        self.limit(launch, groups, limiter)
    }

    /// Limits the role by its own group, or by a group of version 1 beside it.
    fn limit<W, C>(
        &self,
        launch: &Launch,
        groups: &mut Groups,
        limiter: Limiter<'_, W, C>,
    ) -> Result<(), LaunchError>
    where
        W: Fn(&Path) -> io::Result<()>,
        C: Fn(&Path) -> io::Result<Limited>,
    {
        let Limiter { version, base, write, create } = limiter;
        let failed = |step: String| {
            let name = launch.name.clone();
            move |source| LaunchError::Setup { name, step, source }
        };
        if let (Version::Second, Some(own)) = (version, &groups.own) {
            let step = format!("limit the control group `{}`", own.path().display());
            return write(own.path()).map_err(failed(step));
        }
        let path = self.free_path(base);
        self.tracker.track(OwnedResource::Cgroup { path: path.clone() })?;
        let made = create(&path).map_err(|source| {
            // As in `make_group`: nothing is left for the guardian.
            let _ = self.tracker.release(OwnedResource::Cgroup { path: path.clone() });
            failed(format!("make the control group `{}`", path.display()))(source)
        })?;
        groups.limits.push(made);
        Ok(())
    }

    fn discard_groups(&self, groups: Groups) {
        let Groups { own, limits } = groups;
        let patience = Duration::from_secs(10);
        let own = own.map(|group| (group.path().to_owned(), group.remove(patience)));
        let limits = limits.into_iter().map(|group| (group.path().to_owned(), group.remove(patience)));
        for (path, removed) in own.into_iter().chain(limits) {
            // A group that cannot be removed stays tracked, and the guardian tries again.
            if removed.is_ok() {
                let _ = self.tracker.release(OwnedResource::Cgroup { path });
            }
        }
    }

    /// Forks, tracks the child while it waits at a gate, and then lets it execute; where no control group holds
    /// it, below a keeper.
    fn spawn(
        &self,
        launch: &Launch,
        program: &str,
        command: &mut Command,
        groups: &Groups,
    ) -> Result<Spawned, LaunchError> {
        let setup = |step: String| {
            let name = launch.name.clone();
            move |source| LaunchError::Setup { name, step, source }
        };
        let pipe = || io::pipe().map_err(setup("make a pipe".to_owned()));
        let ((gate_read, gate_write), (mut report_read, report_write)) = (pipe()?, pipe()?);
        let line = groups
            .own
            .is_none()
            .then(KeeperLine::new)
            .transpose()
            .map_err(setup("make a pipe".to_owned()))?;
        let (wait, release, report) = (gate_read.as_fd(), gate_write.as_fd(), report_write.as_fd());
        let gate = Gate { wait, release, report, keeper: line.as_ref().map(KeeperLine::theirs) };
        let cores = launch.cores.as_deref();
        sys::prepare_child(command, &groups.entries(), cores, gate)
            .map_err(setup(format!("be pinned to cores {}", core_list(cores.unwrap_or_default()))))?;
        std::thread::scope(|scope| {
            // Spawning returns only after exec, so another thread spawns while this one opens the gate.
            let spawning = scope.spawn(move || {
                let spawned = command.spawn();
                // If no child exists, the report ends here and the reader below notices.
                drop(report_write);
                spawned
            });
            // Where the child did not get so far, its keeper ends once the line is dropped.
            let mut taken = read_report(&mut report_read).map(|reported| self.admit(reported, line));
            if let Ok(Ok((_, keeper))) = &mut taken {
                // If the child is gone, the result of spawning shows it.
                let _ = (&gate_write).write_all(b"!");
                // Spawning a program that cannot be executed returns only once the keeper has ended.
                while let Some(keeper) = keeper.as_mut().filter(|_| !spawning.is_finished()) {
                    if keeper.first() != FirstProcess::Running {
                        keeper.let_go();
                        break;
                    }
                    std::thread::sleep(SPAWN_PAUSE);
                }
            }
            drop(gate_write);
            let spawned = spawning.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            match (taken, spawned) {
                (Ok(Ok((identity, keeper))), Ok(child)) => Ok(Spawned { child, identity, keeper }),
                (Ok(Ok((identity, keeper))), Err(source)) => {
                    // As in `make_group`: nothing is left for the guardian.
                    let _ = self.tracker.release(OwnedResource::Process(identity));
                    if let Some(keeper) = keeper {
                        let _ = self.tracker.release(OwnedResource::Keeper(keeper.identity()));
                    }
                    Err(not_executable(launch, program, source))
                }
                (Ok(Err(error)), _) => Err(error.into()),
                (Err(Some(step)), Err(source)) => Err(setup(step.describe().to_owned())(source)),
                (Err(_), Err(source)) => Err(not_executable(launch, program, source)),
                (Err(_), Ok(mut child)) => {
                    // This cannot happen: the child ran without reporting. It is killed, since nothing tracks
                    // it.
                    let _ = child.kill().and_then(|()| child.wait());
                    Err(setup("report its process id".to_owned())(io::ErrorKind::Other.into()))
                }
            }
        })
    }

    /// Tracks what has reported itself: first its keeper, below which it is found whatever it does.
    fn admit(&self, reported: Reported, line: Option<KeeperLine>) -> Result<Admitted, CleanupTrackerError> {
        let unseen = || crate::cleanup::registry::RegistryError::NoOwner;
        let identity = ProcessIdentity::read(reported.pid).ok_or_else(unseen)?;
        let keeper = match (line, reported.keeper) {
            (Some(line), Some(pid)) => Some(line.into_keeper(pid).ok_or_else(unseen)?),
            _ => None,
        };
        if let Some(keeper) = &keeper {
            self.tracker.track(OwnedResource::Keeper(keeper.identity()))?;
        }
        self.tracker.track(OwnedResource::Process(identity))?;
        Ok((identity, keeper))
    }
}

/// The program that would be executed and the user as whom it runs, where that is not us.
fn foreign_user(program: &str, folder: Option<&Path>) -> Option<(PathBuf, u32)> {
    let path = match program.contains('/') {
        true => folder.unwrap_or(Path::new("")).join(program),
        false => std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|folder| folder.join(program))
            .find(|path| path.is_file())?,
    };
    let file = path.metadata().ok()?;
    let is_foreign = file.mode() & SETUID != 0 && file.uid() != sys::own_user();
    is_foreign.then(|| (path, file.uid()))
}

fn not_executable(launch: &Launch, program: &str, source: io::Error) -> LaunchError {
    LaunchError::NotExecutable { name: launch.name.clone(), program: program.to_owned(), source }
}

/// The ids that a child reports at the gate, or the step in which it failed (`None` if it never existed).
fn read_report(report: &mut io::PipeReader) -> Result<Reported, Option<SetupStep>> {
    let mut bytes = [0; sys::REPORT];
    report.read_exact(&mut bytes).map_err(|_| None)?;
    let (pid, keeper) = bytes.split_at(sys::REPORT / 2);
    let number = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().unwrap_or_default());
    match number(pid) {
        pid if pid > 0 => Ok(Reported {
            pid: Pid::new(pid),
            keeper: Some(number(keeper)).filter(|id| *id > 0).map(Pid::new),
        }),
        step => Err(SetupStep::from_report(step)),
    }
}

/// The port for a role to listen on; `None` if the role chooses it.
fn choose_port(launch: &Launch) -> Result<Option<u16>, LaunchError> {
    let name = || launch.name.clone();
    match launch.ready {
        _ if launch.ready.is_chosen_by_role() => Ok(None),
        Ready::Port(port) => match ports::listener_of(port) {
            Listener::Nobody => Ok(Some(port)),
            listener => Err(LaunchError::PortInUse {
                name: name(),
                port: Some(port),
                holder: listener.pid(),
                output: Vec::new(),
            }),
        },
        _ => ports::free_port().map(Some).map_err(|source| LaunchError::Setup {
            name: name(),
            step: "find a free port".to_owned(),
            source,
        }),
    }
}

fn prepare(launch: &Launch, port: Option<u16>) -> Result<Command, LaunchError> {
    let fill = |text: &String| {
        let text = text.replace("{host}", &launch.host.to_string());
        match port {
            Some(port) => text.replace("{port}", &port.to_string()),
            None => text,
        }
    };
    let log = |path: &Path| {
        let opened =
            File::create(path).and_then(|_| OpenOptions::new().append(true).open(path)).and_then(|file| {
                // On a full disk its `ready` line would be lost, and we would wait for it in vain.
                sys::reserve(&file, LOG_ROOM)?;
                Ok(file)
            });
        let failed = |source| LaunchError::Log { name: launch.name.clone(), path: path.to_owned(), source };
        opened.map_err(failed)
    };
    let words: Vec<String> = launch.command.iter().map(fill).collect();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command.env("PORT", port.unwrap_or(0).to_string());
    command.envs(launch.environment.iter().map(|(key, value)| (key, fill(value))));
    command.stdin(Stdio::null()).stdout(log(&launch.stdout)?).stderr(log(&launch.stderr)?);
    if launch.ready == Ready::Direct {
        // Answers go to us instead of the log, whose empty file stays.
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
    }
    if let Some(folder) = &launch.folder {
        command.current_dir(folder);
    }
    Ok(command)
}

/// Waits for readiness; returns the port, and the time from start to ready.
fn await_ready(
    running: &mut Running,
    launch: &Launch,
    port: Option<u16>,
    started: Timestamp,
    cancelled: &AtomicBool,
) -> Result<(u16, Nanoseconds), LaunchError> {
    let mut watch = Watch::new(launch, port);
    loop {
        let found = match launch.ready {
            Ready::Direct => look_direct(running, &launch.name)?,
            _ => watch.look()?,
        };
        let waited = sys::monotonic().since(started);
        // A role that has ended is not ready, whatever it printed before.
        if let Some(exit) = running.exit() {
            return Err(match running.memory_limit().filter(|facts| facts.killed > 0) {
                Some(facts) => {
                    let (name, output) = (launch.name.clone(), last_words(launch));
                    LaunchError::OutOfMemory { name, facts, output }
                }
                None => explain(launch, port, exit),
            });
        }
        if let Some(port) = found {
            return Ok((port, waited));
        }
        if cancelled.load(Ordering::SeqCst) {
            return Err(LaunchError::Cancelled { name: launch.name.clone() });
        }
        if waited > launch.ready_timeout {
            let output = last_words(launch);
            return Err(LaunchError::NeverReady {
                name: launch.name.clone(),
                waited: launch.ready_timeout,
                wanted: watch.wanted(!output.is_empty()),
                output,
            });
        }
        std::thread::sleep(watch.pause());
    }
}

/// Port 0 once a directly called role has said that it is ready.
fn look_direct(running: &mut Running, name: &str) -> Result<Option<u16>, LaunchError> {
    let said = running.talk().map(|talk| talk.line(Nanoseconds::ZERO));
    // After end of file nothing more comes. The caller checks whether the role has ended.
    let Some(Ok(Some(mut line))) = said else { return Ok(None) };
    if line == READY_DIRECT.as_bytes() {
        return Ok(Some(0));
    }
    line.truncate(SHOWN);
    Err(LaunchError::NotDirect { name: name.to_owned(), line: String::from_utf8_lossy(&line).into_owned() })
}

fn explain(launch: &Launch, port: Option<u16>, exit: Exit) -> LaunchError {
    let (name, output) = (launch.name.clone(), last_words(launch));
    // The contract of services defines the codes, and services choose their port. A plain command gets its
    // port and may use the codes otherwise; there a port in use shows the cause.
    match (port, exit) {
        (None, Exit::Code(PORT_IN_USE)) => LaunchError::PortInUse { name, port, holder: None, output },
        (None, Exit::Code(BAD_CONFIGURATION)) => LaunchError::BadConfiguration { name, output },
        (Some(number), _) if ports::listener_of(number) != Listener::Nobody => {
            LaunchError::PortInUse { name, port, holder: ports::listener_of(number).pid(), output }
        }
        _ => LaunchError::Exited { name, exit, output },
    }
}

/// The role's last lines of standard error, or of standard output if standard error is empty.
fn last_words(launch: &Launch) -> Vec<String> {
    let complaint = last_lines(&launch.stderr, LINES_QUOTED);
    if complaint.is_empty() { last_lines(&launch.stdout, LINES_QUOTED) } else { complaint }
}
