//! The few system calls that the standard library lacks, each behind a safe function: signals, affinity, CPU
//! clocks, sessions, and what a child does between fork and exec.
//!
//! The only module with `unsafe`. It decides nothing: no policy, no retries, no state.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use crate::host::id::{CoreId, Pid};

/// The signals this crate sends or ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Signal {
    Continue,
    HangUp,
    Interrupt,
    Kill,
    Quit,
    Stop,
    Terminate,
    TerminalStop,
}

/// Whom a signal goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignalTarget {
    Process(Pid),
    Group(Pid),
}

/// A child's preparations, in their order; the step that failed is told to the parent as a negative number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SetupStep {
    Session = 1,
    Cgroup = 2,
    Cores = 3,
}

impl SetupStep {
    /// What the step does, to follow `could not`.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Session => "make a session of its own",
            Self::Cgroup => "enter its cgroup",
            Self::Cores => "pin itself to its cores",
        }
    }

    /// The step that a child's negative report names.
    pub(crate) const fn from_report(report: i32) -> Option<Self> {
        match report {
            -1 => Some(Self::Session),
            -2 => Some(Self::Cgroup),
            -3 => Some(Self::Cores),
            _ => None,
        }
    }
}

/// What spawning says of a child that was not let through its gate.
pub(crate) const ENDED_AT_GATE: i32 = libc::ECANCELED;

/// Descriptors by which a forked child waits until its parent has written down that it exists.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gate<'a> {
    /// The child reads one byte here; end of file means that the parent is gone or has changed its mind.
    pub(crate) wait: BorrowedFd<'a>,
    /// The parent's end. The child closes its copy, or it would never see end of file.
    pub(crate) release: BorrowedFd<'a>,
    /// The child writes its process id, or the negative number of the step that failed, as four native bytes.
    pub(crate) report: BorrowedFd<'a>,
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

const fn number(signal: Signal) -> libc::c_int {
    match signal {
        Signal::Continue => libc::SIGCONT,
        Signal::HangUp => libc::SIGHUP,
        Signal::Interrupt => libc::SIGINT,
        Signal::Kill => libc::SIGKILL,
        Signal::Quit => libc::SIGQUIT,
        Signal::Stop => libc::SIGSTOP,
        Signal::Terminate => libc::SIGTERM,
        Signal::TerminalStop => libc::SIGTSTP,
    }
}

/// Sends a signal. Ids below 2 (init, "every process", "my own group") are refused: no caller can mean them.
pub(crate) fn signal(target: SignalTarget, signal: Signal) -> io::Result<()> {
    let (SignalTarget::Process(pid) | SignalTarget::Group(pid)) = target;
    if pid.get() < 2 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let address = if matches!(target, SignalTarget::Group(_)) { -pid.get() } else { pid.get() };
    // SAFETY: kill takes plain numbers and touches no memory of ours.
    check(unsafe { libc::kill(address, number(signal)) })
}

/// How a child ended, as code or signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(i32),
    Signal(i32),
}

/// How a child of ours ended, `None` while it runs. It is not reaped: its number stays its own.
pub(crate) fn peek_exit(child: Pid) -> io::Result<Option<Ended>> {
    // SAFETY: siginfo_t is plain data, for which all zeros is what waitid leaves where nobody has ended.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let id = u32::try_from(child.get()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: the pointer is valid for one siginfo_t.
    check(unsafe {
        libc::waitid(libc::P_PID, id, &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT)
    })?;
    // SAFETY: waitid succeeded, so these fields are those of a child's end, or zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    Ok((pid != 0).then_some(match info.si_code {
        libc::CLD_EXITED => Ended::Code(status),
        _ => Ended::Signal(status),
    }))
}

/// Ignores a signal for the rest of this process's life.
pub(crate) fn ignore(signal: Signal) {
    // SAFETY: SIG_IGN installs no handler, so no code of ours can run in signal context.
    unsafe { libc::signal(number(signal), libc::SIG_IGN) };
}

/// Moves this process into a session of its own; an error where it leads a group already.
pub(crate) fn new_session() -> io::Result<()> {
    // SAFETY: setsid takes nothing and touches no memory.
    if unsafe { libc::setsid() } < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn read_clock(clock: libc::clockid_t) -> io::Result<Nanoseconds> {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is valid for one timespec.
    check(unsafe { libc::clock_gettime(clock, time.as_mut_ptr()) })?;
    // SAFETY: clock_gettime succeeded and so filled it.
    let time = unsafe { time.assume_init() };
    Ok(Nanoseconds::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64))
}

/// `CLOCK_MONOTONIC` now.
pub(crate) fn monotonic() -> Timestamp {
    // CLOCK_MONOTONIC exists on every Linux; should reading it fail, zero makes elapsed times zero, never
    // huge.
    Timestamp::from_nanos(read_clock(libc::CLOCK_MONOTONIC).unwrap_or_default().as_nanos())
}

/// `CLOCK_REALTIME` now, since 1970.
pub(crate) fn realtime() -> Nanoseconds {
    read_clock(libc::CLOCK_REALTIME).unwrap_or_default()
}

/// CPU time that a process has used, all its threads together, as its own CPU clock has it.
pub(crate) fn process_cpu_clock(pid: Pid) -> io::Result<Nanoseconds> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is valid for one clockid_t.
    match unsafe { libc::clock_getcpuclockid(pid.get(), &mut clock) } {
        0 => read_clock(clock),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Length of one tick of `/proc/stat` and `/proc/<pid>/stat`.
pub(crate) fn tick() -> Nanoseconds {
    // SAFETY: sysconf takes a plain number.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    // 100 is what every Linux tells user space; sysconf cannot fail on this name there.
    Nanoseconds::from_secs(1) / u64::try_from(per_second).ok().filter(|n| *n > 0).unwrap_or(100)
}

/// Makes sure that so many bytes can be written to a file, without changing its length. File systems that
/// cannot tell are taken at their silence.
pub(crate) fn reserve(file: &File, bytes: i64) -> io::Result<()> {
    // SAFETY: the descriptor is open for the call's length, and the rest are plain numbers.
    let reserved = check(unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, bytes) });
    match reserved {
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(error),
        _ => Ok(()),
    }
}

/// Soft and hard limit of open files; `None` where the kernel will not say.
pub(crate) fn open_file_limit() -> Option<(u64, u64)> {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: the pointer is valid for one rlimit.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()) }).ok()?;
    // SAFETY: getrlimit succeeded and so filled it.
    let limit = unsafe { limit.assume_init() };
    Some((limit.rlim_cur, limit.rlim_max))
}

/// Sets the soft limit of open files, of this process and of what it starts from here on. The hard limit
/// stays.
pub(crate) fn set_open_file_limit(soft: u64, hard: u64) -> io::Result<()> {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: the pointer is to one rlimit that lives through the call, which only reads it.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })
}

/// What can be gone on with: something can be read from the one, or written to the other. So it is where the
/// other side is gone.
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
    let wanted = |fd, events| libc::pollfd { fd, events, revents: 0 };
    // A negative descriptor is passed over.
    let to = to.map_or(-1, |to| to.as_raw_fd());
    let mut both = [wanted(from.as_raw_fd(), libc::POLLIN), wanted(to, libc::POLLOUT)];
    // Rounded up, so that a wait of less than a millisecond is not none.
    let millis = patience.as_nanos().div_ceil(1_000_000).min(i32::MAX as u128) as libc::c_int;
    // SAFETY: the pointer is valid for two pollfd.
    if unsafe { libc::poll(both.as_mut_ptr(), 2, millis) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        both.iter_mut().for_each(|one| one.revents = 0);
    }
    let [readable, writable] = both.map(|one| one.revents != 0);
    Ok(Open { readable, writable })
}

fn core_set(cores: &[CoreId]) -> io::Result<libc::cpu_set_t> {
    // SAFETY: cpu_set_t is a plain array of bits, for which all zeros is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for core in cores {
        let index = core.get() as usize;
        if index >= libc::CPU_SETSIZE as usize {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the index was checked against the size of the set.
        unsafe { libc::CPU_SET(index, &mut set) };
    }
    Ok(set)
}

/// Lets a thread run on `cores` only; `None` is the calling thread. Cores from 1024 on are refused.
pub(crate) fn set_affinity(thread: Option<Pid>, cores: &[CoreId]) -> io::Result<()> {
    let set = core_set(cores)?;
    let thread = thread.map_or(0, Pid::get);
    // SAFETY: the set lives through the call and the size is its own.
    check(unsafe { libc::sched_setaffinity(thread, size_of_val(&set), &set) })
}

/// Adds to `command` that its child gets SIGTERM when the thread that starts it ends, even by SIGKILL.
pub(crate) fn terminate_with_us(command: &mut Command) {
    // SAFETY: prctl with these arguments takes plain numbers and touches no memory.
    let child = || check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) });
    // SAFETY: between fork and exec the closure makes one async-signal-safe system call and never allocates
    // (its error is made from a plain number).
    unsafe { command.pre_exec(child) };
}

/// The cores a thread may run on, ascending; `None` is the calling thread.
pub(crate) fn affinity(thread: Option<Pid>) -> io::Result<Vec<CoreId>> {
    let mut set = core_set(&[])?;
    let thread = thread.map_or(0, Pid::get);
    // SAFETY: the set is writable for its own size.
    check(unsafe { libc::sched_getaffinity(thread, size_of_val(&set), &mut set) })?;
    // SAFETY: every index is below the size of the set.
    let allowed = |index: &u32| unsafe { libc::CPU_ISSET(*index as usize, &set) };
    Ok((0..libc::CPU_SETSIZE as u32).filter(allowed).map(CoreId::new).collect())
}

/// What the kernel gives a process for whom nobody has asked for anything else (`PR_SET_TIMERSLACK` of
/// `prctl(2)`).
const USUAL_TIMER_SLACK: Nanoseconds = Nanoseconds::from_micros(50);

/// Lets timers of the calling thread, and of what it starts, end so much later than they are due.
pub(crate) fn set_timer_slack(time: Nanoseconds) {
    // SAFETY: prctl with these arguments takes plain numbers. It cannot fail: above zero every slack is
    // allowed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, time.as_nanos() as libc::c_ulong, 0, 0, 0) };
}

/// Adds to `command` what its child does before exec: a session of its own, its cgroups (by their
/// `cgroup.procs`), its cores, the usual timer slack whatever we were started with, then the gate.
///
/// The descriptors must stay open until `command` has been spawned; an error where a core number is
/// impossible.
pub(crate) fn prepare_child(
    command: &mut Command,
    cgroups: &[BorrowedFd<'_>],
    cores: Option<&[CoreId]>,
    gate: Gate<'_>,
) -> io::Result<()> {
    let cores = cores.map(core_set).transpose()?;
    // Made before the fork; the child only reads it.
    let cgroups: Vec<RawFd> = cgroups.iter().map(AsRawFd::as_raw_fd).collect();
    let (wait, release, report) = (gate.wait.as_raw_fd(), gate.release.as_raw_fd(), gate.report.as_raw_fd());
    let child = move || {
        if let Err((step, error)) = set_up(&cgroups, cores.as_ref()) {
            send(report, -(step as i32));
            return Err(error);
        }
        // SAFETY: plain system calls without memory; the release end is our copy and used nowhere else.
        let own = unsafe {
            libc::close(release);
            libc::getpid()
        };
        send(report, own);
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

fn set_up(cgroups: &[RawFd], cores: Option<&libc::cpu_set_t>) -> Result<(), (SetupStep, io::Error)> {
    new_session().map_err(|error| (SetupStep::Session, error))?;
    for procs in cgroups {
        // SAFETY: the pointer is valid for one byte; writing `0` to cgroup.procs moves the writer itself.
        if unsafe { libc::write(*procs, c"0".as_ptr().cast(), 1) } != 1 {
            return Err((SetupStep::Cgroup, io::Error::last_os_error()));
        }
    }
    if let Some(set) = cores {
        // SAFETY: the set lives in the closure and the size is its own.
        check(unsafe { libc::sched_setaffinity(0, size_of_val(set), set) })
            .map_err(|error| (SetupStep::Cores, error))?;
    }
    set_timer_slack(USUAL_TIMER_SLACK);
    Ok(())
}

fn send(report: RawFd, value: i32) {
    let bytes = value.to_ne_bytes();
    // A parent that cannot be told sees end of file instead, and reports that.
    // SAFETY: the pointer is valid for four bytes.
    unsafe { libc::write(report, bytes.as_ptr().cast(), bytes.len()) };
}

/// Puts the calling thread into a network namespace of its own that nobody has a name for; it goes with what
/// is in it.
pub(crate) fn leave_network() -> io::Result<()> {
    // SAFETY: unshare takes a plain number and touches no memory.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })
}

/// Puts the calling thread into the network namespace that `namespace` is open on.
pub(crate) fn enter_network(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: setns takes a descriptor, open for the call's length, and a plain number.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) })
}

/// Gives the network namespace of the calling thread a name: the file `path`, which must exist.
pub(crate) fn name_own_network(path: &CStr) -> io::Result<()> {
    let (own, none) = (c"/proc/thread-self/ns/net", std::ptr::null());
    // SAFETY: both paths end in a zero byte and live through the call; a bind mount reads neither type nor
    // data.
    check(unsafe { libc::mount(own.as_ptr(), path.as_ptr(), none, libc::MS_BIND, none.cast()) })
}

/// Gives the calling thread mounts of its own, in which the folder `path` is an empty one in memory. What it
/// starts has the same; nobody else sees a difference.
pub(crate) fn hide_folder(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let none = std::ptr::null();
    // SAFETY: unshare takes a plain number and touches no memory.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    // What is mounted here is not to be passed on.
    let private = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: the path ends in a zero byte and lives through the call; a change of propagation reads nothing
    // else.
    check(unsafe { libc::mount(none, c"/".as_ptr(), none, private, none.cast()) })?;
    let (kind, flags) = (c"tmpfs".as_ptr(), libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC);
    // SAFETY: both names and the options end in a zero byte and live through the call.
    check(unsafe { libc::mount(kind, path.as_ptr(), kind, flags, c"mode=0700,size=1m".as_ptr().cast()) })
}

/// Takes away what is mounted on `path` itself, in use or not.
pub(crate) fn unmount(path: &CStr) -> io::Result<()> {
    // SAFETY: the path ends in a zero byte and lives through the call.
    check(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) })
}

/// Whether `path` is a namespace, and not a plain file.
pub(crate) fn is_namespace(path: &CStr) -> bool {
    let mut facts = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the path ends in a zero byte and the pointer is valid for one statfs.
    if check(unsafe { libc::statfs(path.as_ptr(), facts.as_mut_ptr()) }).is_err() {
        return false;
    }
    // SAFETY: statfs succeeded and so filled it.
    unsafe { facts.assume_init() }.f_type == libc::NSFS_MAGIC
}

/// A socket of TCP over IPv4 in the network namespace of the calling thread: non-blocking, without Nagle's
/// algorithm.
pub(crate) fn tcp_socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: socket takes plain numbers.
    let made = unsafe { libc::socket(libc::AF_INET, kind, 0) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let socket = unsafe { OwnedFd::from_raw_fd(made) };
    let on: libc::c_int = 1;
    let (level, name) = (libc::IPPROTO_TCP, libc::TCP_NODELAY);
    // SAFETY: the pointer is valid for the size that is given.
    check(unsafe {
        libc::setsockopt(made, level, name, (&raw const on).cast(), size_of_val(&on) as libc::socklen_t)
    })?;
    Ok(socket)
}

/// Takes away the mount that a path of `/proc/self/fd` is open on, if it is still there.
pub(crate) fn unmount_open(path: &CStr) -> io::Result<()> {
    // SAFETY: the path ends in a zero byte and lives through the call.
    check(unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) })
}

/// The largest packet that the kernel sends to where the socket is connected.
pub(crate) fn path_mtu(socket: &impl AsRawFd) -> io::Result<u32> {
    let mut mtu: libc::c_int = 0;
    let mut length = size_of_val(&mtu) as libc::socklen_t;
    // SAFETY: `mtu` and `length` outlive the call and say their sizes.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_MTU,
            (&raw mut mtu).cast(),
            &raw mut length,
        )
    })?;
    u32::try_from(mtu).map_err(|_| io::ErrorKind::InvalidData.into())
}
