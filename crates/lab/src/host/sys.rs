//! System calls with this crate's types, most of them by rustix: signals, affinity, CPU clocks, sessions,
//! namespaces, and what a child does between fork and exec.
//!
//! Apart from the keeper's and the packet relay's, the only module with `unsafe`. It holds no policy, retries or
//! state.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FallocateFlags, fallocate, statfs};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with, sockopt};
use rustix::process::{PidfdFlags, Resource, Rlimit, WaitId, WaitIdOptions, getrlimit, setrlimit, waitid};
use rustix::thread::{CpuSet, LinkNameSpaceType, UnshareFlags, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, Timespec, clock_gettime};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use crate::host::id::{CoreId, Pid};
use crate::host::keeper;
use weighbridge_model::environment::Limit;

pub(crate) use rustix::process::Signal;

/// Receiver of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalTarget {
    Process(Pid),
    Group(Pid),
}

/// Steps of a child before exec, in their order. The child reports a failed step to its parent as a negative
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetupStep {
    Session = 1,
    Cgroup = 2,
    Cores = 3,
    Keeper = 4,
}

impl SetupStep {
    /// What the step does, to follow `could not`.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Session => "make a session of its own",
            Self::Cgroup => "enter its cgroup",
            Self::Cores => "pin itself to its cores",
            Self::Keeper => "start its keeper",
        }
    }

    /// The step that a child's negative report names.
    pub(crate) const fn from_report(report: i32) -> Option<Self> {
        match report {
            -1 => Some(Self::Session),
            -2 => Some(Self::Cgroup),
            -3 => Some(Self::Cores),
            -4 => Some(Self::Keeper),
            _ => None,
        }
    }
}

/// The error of spawning a child that was not let through its gate.
pub(crate) const ENDED_AT_GATE: i32 = libc::ECANCELED;

/// Descriptors by which a forked child waits until its parent has recorded it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gate<'a> {
    /// The child reads one byte here; end of file means that the parent has ended or gave up.
    pub(crate) wait: BorrowedFd<'a>,
    /// The parent's end. The child closes its copy, or it would never see end of file.
    pub(crate) release: BorrowedFd<'a>,
    /// The child writes its process id, or the negative number of the step that failed, then its keeper's id or
    /// zero, each as four native bytes.
    pub(crate) report: BorrowedFd<'a>,
    /// The keeper's end of its line, if the child is to run below a keeper.
    pub(crate) keeper: Option<BorrowedFd<'a>>,
}

/// Bytes of a child's report.
pub(crate) const REPORT: usize = 8;

/// Sends a signal. Ids below 2 (init, "every process", "my own group") are refused, since no caller can
/// intend them.
pub(crate) fn signal(target: SignalTarget, signal: Signal) -> io::Result<()> {
    let (SignalTarget::Process(pid) | SignalTarget::Group(pid)) = target;
    if pid.get() < 2 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let id = known(pid)?;
    Ok(match target {
        SignalTarget::Process(_) => rustix::process::kill_process(id, signal),
        SignalTarget::Group(_) => rustix::process::kill_process_group(id, signal),
    }?)
}

/// Sends a signal to the process with this id if `is_meant` holds of it. By a descriptor of the process, so that
/// it cannot be a later one of the same id; by the id where the kernel has none of these (before 5.3).
pub(crate) fn signal_if(pid: Pid, signal: Signal, is_meant: impl FnOnce() -> bool) -> io::Result<()> {
    if pid.get() < 2 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let process = rustix::process::pidfd_open(known(pid)?, PidfdFlags::empty());
    match process {
        Err(rustix::io::Errno::SRCH) => return Err(rustix::io::Errno::SRCH.into()),
        _ if !is_meant() => return Err(rustix::io::Errno::SRCH.into()),
        Ok(process) => rustix::process::pidfd_send_signal(process, signal)?,
        Err(_) => rustix::process::kill_process(known(pid)?, signal)?,
    }
    Ok(())
}

fn known(pid: Pid) -> io::Result<rustix::process::Pid> {
    rustix::process::Pid::from_raw(pid.get()).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// How a child ended, as code or signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(i32),
    Signal(i32),
}

/// How our child ended; `None` while it runs. It is not reaped, so its id is not reused.
pub(crate) fn peek_exit(child: Pid) -> io::Result<Option<Ended>> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = waitid(WaitId::Pid(known(child)?), options)?;
    Ok(status.and_then(|status| {
        status.exit_status().map(Ended::Code).or(status.terminating_signal().map(Ended::Signal))
    }))
}

/// Whether this process acts as root. In a container root may lack CAP_KILL, which nobody takes away alone.
pub(crate) fn may_end_others() -> bool {
    rustix::process::geteuid().is_root()
}

/// The user that this process acts as.
pub(crate) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Removes the System V segment of shared memory `id` if it has this key and no process uses it.
pub(crate) fn remove_unused_segment(key: i32, id: i32) {
    // SAFETY: no pointer is passed. Asked in this way, since C libraries name the field of the key differently.
    if unsafe { libc::shmget(key, 0, 0) } != id {
        return;
    }
    let mut found = std::mem::MaybeUninit::<libc::shmid_ds>::zeroed();
    // SAFETY: the pointer is valid for one shmid_ds, and all zeros is one.
    let found = unsafe {
        match libc::shmctl(id, libc::IPC_STAT, found.as_mut_ptr()) {
            0 => found.assume_init(),
            _ => return,
        }
    };
    if found.shm_nattch == 0 {
        // SAFETY: removal takes no pointer, and nobody has mapped the segment. If it fails, the segment is gone or
        // another user's.
        unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// Makes this process ignore a signal from now on.
pub(crate) fn ignore(signal: Signal) {
    // SAFETY: SIG_IGN installs no handler, so no code of ours can run in signal context.
    unsafe { libc::signal(signal.as_raw(), libc::SIG_IGN) };
}

/// Makes this process a session leader; fails if it leads a process group already.
pub(crate) fn new_session() -> io::Result<()> {
    rustix::process::setsid()?;
    Ok(())
}

fn nanoseconds(time: Timespec) -> Nanoseconds {
    Nanoseconds::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// `CLOCK_MONOTONIC` now.
pub(crate) fn monotonic() -> Timestamp {
    Timestamp::from_nanos(nanoseconds(clock_gettime(ClockId::Monotonic)).as_nanos())
}

/// `CLOCK_REALTIME` now, since 1970.
pub(crate) fn realtime() -> Nanoseconds {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

/// CPU time of all threads of a process, by its CPU clock.
pub(crate) fn process_cpu_clock(pid: Pid) -> io::Result<Nanoseconds> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is valid for one clockid_t.
    match unsafe { libc::clock_getcpuclockid(pid.get(), &mut clock) } {
        0 => {}
        code => return Err(io::Error::from_raw_os_error(code)),
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for one timespec.
    match unsafe { libc::clock_gettime(clock, &raw mut time) } {
        0 => Ok(nanoseconds(Timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_nsec })),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Length of one tick of `/proc/stat` and `/proc/<pid>/stat`.
pub(crate) fn tick() -> Nanoseconds {
    Nanoseconds::from_secs(1) / rustix::param::clock_ticks_per_second().max(1)
}

/// Reserves space for writing this many bytes to a file, without changing its length. Does nothing on file
/// systems that cannot reserve space.
pub(crate) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, bytes).map_err(io::Error::from) {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn open_file_limit() -> Limit {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    Limit { soft: current.unwrap_or(u64::MAX), hard: maximum.unwrap_or(u64::MAX) }
}

/// Sets the limit of open files of this process and of what it starts from now on.
pub(crate) fn set_open_file_limit(limit: Limit) -> io::Result<()> {
    let bound = |files: u64| (files != u64::MAX).then_some(files);
    Ok(setrlimit(Resource::Nofile, Rlimit { current: bound(limit.soft), maximum: bound(limit.hard) })?)
}

/// Which of the two descriptors is ready. One whose other side is closed also counts as ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Open {
    pub readable: bool,
    pub writable: bool,
}

/// Waits until something can be read from `from`, or written to `to`, at most for `patience`.
pub(crate) fn wait_for(
    from: BorrowedFd<'_>,
    to: Option<BorrowedFd<'_>>,
    patience: Duration,
) -> io::Result<Open> {
    let mut both = vec![PollFd::from_borrowed_fd(from, PollFlags::IN)];
    both.extend(to.map(|to| PollFd::from_borrowed_fd(to, PollFlags::OUT)));
    let patience = Timespec::try_from(patience).map_err(|_| io::ErrorKind::InvalidInput)?;
    if let Err(error) = poll(&mut both, Some(&patience)) {
        return match error {
            rustix::io::Errno::INTR => Ok(Open { readable: false, writable: false }),
            other => Err(other.into()),
        };
    }
    let is_ready = |at: usize| both.get(at).is_some_and(|one| !one.revents().is_empty());
    Ok(Open { readable: is_ready(0), writable: is_ready(1) })
}

fn core_set(cores: &[CoreId]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for core in cores {
        let index = core.get() as usize;
        if index >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(index);
    }
    Ok(set)
}

/// Pins a thread to `cores`; `None` is the calling thread. Cores from 1024 on are refused.
pub(crate) fn set_affinity(thread: Option<Pid>, cores: &[CoreId]) -> io::Result<()> {
    Ok(sched_setaffinity(thread.map(known).transpose()?, &core_set(cores)?)?)
}

/// Makes the child of `command` get SIGTERM when the thread that starts it ends, even by SIGKILL.
pub(crate) fn terminate_with_us(command: &mut Command) {
    let child = || Ok(rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?);
    // SAFETY: between fork and exec the closure makes one async-signal-safe system call and never allocates
    // (its error is made from a plain number).
    unsafe { command.pre_exec(child) };
}

/// The cores a thread may run on, ascending; `None` is the calling thread.
pub(crate) fn affinity(thread: Option<Pid>) -> io::Result<Vec<CoreId>> {
    let set = sched_getaffinity(thread.map(known).transpose()?)?;
    let allowed = |index: &u32| set.is_set(*index as usize);
    Ok((0..CpuSet::MAX_CPU as u32).filter(allowed).map(CoreId::new).collect())
}

/// The kernel's default for processes that set no timer slack (`PR_SET_TIMERSLACK` of `prctl(2)`).
const USUAL_TIMER_SLACK: Nanoseconds = Nanoseconds::from_micros(50);

/// Sets the timer slack of the calling thread and of what it starts.
pub(crate) fn set_timer_slack(time: Nanoseconds) {
    // It cannot fail: every slack above zero is allowed.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(time.as_nanos()));
}

/// Sets up what the child of `command` does before exec: where asked it becomes a keeper, and its own child goes
/// on; that starts a session, enters its cgroups (by their `cgroup.procs`), pins itself to its cores, resets the
/// timer slack to the default, then waits at the gate.
///
/// The descriptors must stay open until `command` has been spawned. Fails for an impossible core number.
pub(crate) fn prepare_child(
    command: &mut Command,
    cgroups: &[BorrowedFd<'_>],
    cores: Option<&[CoreId]>,
    gate: Gate<'_>,
) -> io::Result<()> {
    let cores = cores.map(core_set).transpose()?;
    // Allocated before the fork; the child only reads it.
    let cgroups: Vec<RawFd> = cgroups.iter().map(AsRawFd::as_raw_fd).collect();
    let (wait, release, report) = (gate.wait.as_raw_fd(), gate.release.as_raw_fd(), gate.report.as_raw_fd());
    let line = gate.keeper.map(|line| line.as_raw_fd());
    let child = move || {
        let below = line.map_or(Ok(0), keeper::fork_below).map_err(|error| (SetupStep::Keeper, error));
        let ready = below.and_then(|keeper| set_up(&cgroups, cores.as_ref()).map(|()| keeper));
        let keeper = match ready {
            Ok(keeper) => keeper,
            Err((step, error)) => {
                send(report, [-(step as i32), 0]);
                return Err(error);
            }
        };
        // SAFETY: plain system calls without memory; the release end is our copy and used nowhere else.
        let own = unsafe {
            libc::close(release);
            libc::getpid()
        };
        send(report, [own, keeper]);
        let mut go = 0_u8;
        loop {
            // SAFETY: the pointer is valid for one byte.
            match unsafe { libc::read(wait, (&raw mut go).cast(), 1) } {
                1 => return Ok(()),
                0 => return Err(io::Error::from_raw_os_error(ENDED_AT_GATE)),
                _ if io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
                _ => return Err(io::Error::last_os_error()),
            }
        }
    };
    // SAFETY: between fork and exec the closure makes only async-signal-safe system calls and never allocates
    // (errors are made from plain numbers).
    unsafe { command.pre_exec(child) };
    Ok(())
}

fn set_up(cgroups: &[RawFd], cores: Option<&CpuSet>) -> Result<(), (SetupStep, io::Error)> {
    new_session().map_err(|error| (SetupStep::Session, error))?;
    for procs in cgroups {
        // SAFETY: the pointer is valid for one byte; writing `0` to cgroup.procs moves the writer itself.
        if unsafe { libc::write(*procs, c"0".as_ptr().cast(), 1) } != 1 {
            return Err((SetupStep::Cgroup, io::Error::last_os_error()));
        }
    }
    if let Some(set) = cores {
        sched_setaffinity(None, set).map_err(|error| (SetupStep::Cores, error.into()))?;
    }
    set_timer_slack(USUAL_TIMER_SLACK);
    Ok(())
}

fn send(report: RawFd, values: [i32; 2]) {
    // If the report fails, the parent sees end of file and reports that.
    // SAFETY: the pointer is valid for the report's bytes; so few are written at once.
    unsafe { libc::write(report, values.as_ptr().cast(), REPORT) };
}

/// Moves the calling thread into a new, unnamed network namespace, which ends with its last user.
pub(crate) fn leave_network() -> io::Result<()> {
    // SAFETY: a new namespace does not affect descriptors.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// Moves the calling thread into the network namespace that `namespace` refers to.
pub(crate) fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    Ok(rustix::thread::move_into_link_name_space(namespace, Some(LinkNameSpaceType::Network))?)
}

/// Names the network namespace of the calling thread: mounts it on the file `path`, which must exist.
pub(crate) fn name_own_network(path: &CStr) -> io::Result<()> {
    Ok(mount_bind(c"/proc/thread-self/ns/net", path)?)
}

/// Gives the calling thread a mount namespace in which the folder `path` is an empty one in memory. Its
/// children share the namespace; other processes see no difference.
pub(crate) fn hide_folder(path: &Path) -> io::Result<()> {
    // SAFETY: a new namespace does not affect descriptors.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    // Mounts made here must not propagate to the host.
    mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount(c"tmpfs", path, c"tmpfs", flags, c"mode=0700,size=1m")?)
}

/// Unmounts what is mounted on `path` itself, even if in use.
pub(crate) fn unmount(path: &CStr) -> io::Result<()> {
    Ok(rustix::mount::unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)?)
}

/// Whether `path` is a namespace rather than a plain file.
pub(crate) fn is_namespace(path: &CStr) -> bool {
    statfs(path).is_ok_and(|facts| facts.f_type == libc::NSFS_MAGIC)
}

/// A TCP socket over IPv4 in the network namespace of the calling thread: non-blocking, without Nagle's
/// algorithm.
pub(crate) fn tcp_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    Ok(socket)
}

/// Unmounts the mount that a path of `/proc/self/fd` is open on, if it still exists.
pub(crate) fn unmount_open(path: &CStr) -> io::Result<()> {
    Ok(rustix::mount::unmount(path, UnmountFlags::DETACH)?)
}

/// The largest packet that the kernel sends to the socket's peer.
pub(crate) fn path_mtu(socket: &impl AsFd) -> io::Result<u32> {
    Ok(sockopt::ip_mtu(socket)?)
}
