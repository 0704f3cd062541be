//! The few system calls that the standard library lacks: the clock, epoll, event and signal descriptors.
//!
//! The only module with `unsafe`; each function is one call with safe types around it and decides nothing.

use std::io::{self, IoSlice};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};

/// The monotonic clock, the same that every process of this host reads.
pub fn now() -> Timestamp {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Timestamp::from_nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Turns the kernel's −1 into `errno`.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes ownership of a descriptor that the kernel has just created.
fn owned(result: libc::c_int) -> io::Result<OwnedFd> {
    let fd = checked(result)?;
    // SAFETY: the kernel returned `fd` as a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// When an epoll instance reports a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// As long as it is readable.
    ReadableLevel,
    /// Once each time it becomes readable, writable or half-closed.
    AnyEdge,
}

impl Trigger {
    fn flags(self) -> u32 {
        let flags = match self {
            Self::ReadableLevel => libc::EPOLLIN,
            Self::AnyEdge => libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET,
        };
        flags as u32
    }
}

/// How long to wait for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Poll,
    /// Until one comes.
    Forever,
    /// At most this long, rounded up to a millisecond.
    AtMost(Nanoseconds),
}

/// An epoll instance.
#[derive(Debug)]
pub struct Epoll(OwnedFd);

/// Room for the events of one wait.
pub struct Events {
    room: [libc::epoll_event; 256],
}

#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The token its descriptor was added with.
    pub token: u64,
    /// Whether the peer has ended its side, or the connection broke.
    pub end: End,
}

/// Whether the peer has ended its side of the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It has not.
    NotSeen,
    /// It has, perhaps after unread bytes.
    Seen,
}

impl Events {
    /// An empty buffer.
    pub fn new() -> Self {
        Self { room: [libc::epoll_event { events: 0, u64: 0 }; 256] }
    }
    /// The event at `index`, which a wait has filled.
    pub fn get(&self, index: usize) -> Event {
        let event = self.room[index];
        let ends = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        let end = if event.events & ends == 0 { End::NotSeen } else { End::Seen };
        Event { token: event.u64, end }
    }
}

impl Epoll {
    /// A new instance.
    pub fn new() -> io::Result<Self> {
        // SAFETY: takes a constant and touches no memory of ours.
        owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }).map(Self)
    }

    /// Watches a descriptor.
    pub fn add(&self, fd: RawFd, trigger: Trigger, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, trigger, token)
    }

    /// Reports a watched descriptor again, after those that are ready now, if it is still ready.
    pub fn rearm(&self, fd: RawFd, trigger: Trigger, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, trigger, token)
    }

    /// Stops watching a descriptor.
    pub fn remove(&self, fd: RawFd) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, Trigger::ReadableLevel, 0)
    }

    fn control(&self, action: libc::c_int, fd: RawFd, trigger: Trigger, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: trigger.flags(), u64: token };
        // SAFETY: `event` is valid for the call, which copies it; a bad descriptor is an error, not undefined
        // behaviour.
        checked(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), action, fd, &mut event) }).map(drop)
    }

    /// Waits for events and returns how many came; none if a signal interrupted the wait.
    pub fn wait(&self, events: &mut Events, wait: Wait) -> io::Result<usize> {
        let timeout = match wait {
            Wait::Poll => 0,
            Wait::Forever => -1,
            Wait::AtMost(time) => time.as_nanos().div_ceil(1_000_000).min(i32::MAX as u64) as libc::c_int,
        };
        let room = &mut events.room;
        // SAFETY: the pointer and the length are those of `room`, which outlives the call.
        let count = unsafe {
            libc::epoll_wait(self.0.as_raw_fd(), room.as_mut_ptr(), room.len() as libc::c_int, timeout)
        };
        match checked(count) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }
}

/// A descriptor that becomes readable at a moment, to the microsecond: unlike the timeouts of waits it has no slack.
#[derive(Debug)]
pub struct Timer(OwnedFd);

impl Timer {
    /// One that is not set.
    pub fn new() -> io::Result<Self> {
        Ok(Self(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?))
    }

    /// Makes it readable from `end` on, or never. It is not readable until then, though it may have been before.
    pub fn set(&self, end: Option<Timestamp>) -> io::Result<()> {
        let nanos = end.map_or(0, Timestamp::as_nanos);
        let it_value =
            Timespec { tv_sec: (nanos / 1_000_000_000) as _, tv_nsec: (nanos % 1_000_000_000) as _ };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        timerfd_settime(&self.0, TimerfdTimerFlags::ABSTIME, &once)?;
        Ok(())
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A descriptor that becomes readable by [`raise`] and stays readable.
pub fn event_descriptor() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// Makes an event descriptor readable. Async-signal-safe.
pub fn raise(event: &OwnedFd) {
    // A full counter is readable already, so failure does not matter.
    let _ = rustix::io::write(event, &1_u64.to_ne_bytes());
}

/// A descriptor that becomes readable when SIGTERM or SIGINT comes. The signals no longer kill the process: both are
/// blocked in the calling thread and those that it starts.
pub fn termination_descriptor() -> io::Result<OwnedFd> {
    let mut signals = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigemptyset initialises the set before it is read; all pointers are to that one live value, and a
    // null old set is allowed.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGTERM);
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGINT);
        let error = libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), std::ptr::null_mut());
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        owned(libc::signalfd(-1, signals.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))
    }
}

/// Raises the backlog to the host's limit; the standard library asks for little. Listening again on a listening socket
/// only changes its backlog.
pub fn widen_backlog(listener: &TcpListener) -> io::Result<()> {
    Ok(rustix::net::listen(listener, 4096)?)
}

/// Whether an error of `accept` concerns the connection that failed and not the next one (accept(2)).
pub fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::ConnectionAborted)
        || error.raw_os_error() == Some(libc::EPROTO)
}

/// Writes several buffers at once, without SIGPIPE if the peer has left.
pub fn send(fd: RawFd, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    // SAFETY: all-zero is a valid msghdr: null pointers with zero lengths.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = slices.as_ptr().cast::<libc::iovec>().cast_mut();
    message.msg_iovlen = slices.len() as _;
    // SAFETY: IoSlice has the layout of iovec by its documentation; `slices` and the bytes it borrows outlive the
    // call, which only reads them.
    let sent = unsafe { libc::sendmsg(fd, &message, libc::MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// Makes closing the socket a reset: the peer sees it at once, and data that it has not received yet is dropped.
pub fn reset_on_close(socket: &TcpStream) -> io::Result<()> {
    Ok(set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// Sleeps until the peer has ended its side or the connection is broken or shut down, whatever data is unread.
pub fn wait_for_hangup(socket: &TcpStream) -> io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(socket, PollFlags::RDHUP)], None) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
