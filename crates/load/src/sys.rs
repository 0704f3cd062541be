//! The system calls of the loop, each behind a safe function; this crate has no other unsafe code but
//! [`crate::stamps`]'s.
//!
//! Linux only. No policy: the loop decides what to call when.

use std::io;
use std::mem::size_of;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libc::c_int;
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::record::Traffic;

/// Readiness of a descriptor.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Readiness {
    /// The number under which it was registered.
    pub token: u64,
    flags: u32,
}

impl Readiness {
    /// There is something to read, or an end or error to report.
    pub fn readable(self) -> bool {
        self.flags & (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }
    /// There is space to write, or a connect ended.
    pub fn writable(self) -> bool {
        self.flags & (libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }
    /// There is an error, of the connection or only in its error queue.
    pub fn erroneous(self) -> bool {
        self.flags & libc::EPOLLERR as u32 != 0
    }
    /// The same without the error, which was not the connection's.
    pub fn without_error(self) -> Self {
        Self { flags: self.flags & !(libc::EPOLLERR as u32), ..self }
    }
    /// The peer closed or the connection failed: read to the very end.
    pub fn ended(self) -> bool {
        self.flags & (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32 != 0
    }
}

/// How long to wait for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Do not wait.
    Not,
    /// At most this long.
    AtMost(Nanoseconds),
    /// Until this time or a little before, if no time is critical. Sets no kernel timer if the one already set goes off
    /// first.
    About {
        /// The current time.
        now: Timestamp,
        /// When to return.
        until: Timestamp,
    },
}

/// Whether the kernel has `epoll_pwait2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Precise {
    Pwait2,
    Timer,
}

/// An epoll instance with waits of nanosecond resolution.
#[derive(Debug)]
pub(crate) struct Epoll {
    epoll: OwnedFd,
    /// Wakes the loop when no precise time is needed, and when `epoll_pwait2` is missing (before Linux 5.11, or refused
    /// by a filter).
    timer: OwnedFd,
    /// When the timer goes off; `None` or past if it is not set.
    alarm: Option<Timestamp>,
    precise: Precise,
    events: Box<[libc::epoll_event]>,
}

/// The token of the timer; no connection has it.
const TIMER: u64 = u64::MAX;

/// Most events taken from the kernel at once.
const BATCH: usize = 512;

fn checked(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A count that a system call returned. Hot system calls bypass the C library: its wrappers first make the thread
/// cancellable, which costs more than the rest of the wrapper.
fn counted(result: libc::c_long) -> io::Result<usize> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as usize) }
}

/// Takes ownership of a descriptor a system call has just returned.
fn owned(result: c_int) -> io::Result<OwnedFd> {
    let descriptor = checked(result)?;
    // SAFETY: the call that returned this descriptor created it for us; nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

impl Epoll {
    /// A new instance.
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed.
        let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: no pointers are passed.
        let timer = owned(unsafe {
            libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK)
        })?;
        let none = libc::epoll_event { events: 0, u64: 0 };
        let events = vec![none; BATCH].into_boxed_slice();
        let made = Self { epoll, timer, alarm: None, precise: Precise::Pwait2, events };
        // Edge-triggered: each expiry is reported once, and nothing need be read.
        made.register(made.timer.as_raw_fd(), TIMER, (libc::EPOLLIN | libc::EPOLLET) as u32)?;
        Ok(made)
    }

    /// Watches a socket, edge-triggered, for all events until it is closed. Called once per connection.
    pub fn add(&self, socket: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let wanted = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        self.register(socket.as_raw_fd(), token, wanted as u32)
    }

    fn register(&self, descriptor: RawFd, token: u64, events: u32) -> io::Result<()> {
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: `event` lives through the call, which only reads it.
        let result = unsafe {
            libc::epoll_ctl(self.epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &raw mut event)
        };
        checked(result).map(drop)
    }

    /// Waits and returns the number of events; see [`event`](Self::event). An interrupted wait has none.
    pub fn wait(&mut self, wait: Wait) -> io::Result<usize> {
        let found = match wait {
            Wait::Not => self.plain_wait(0),
            Wait::AtMost(time) if self.precise == Precise::Pwait2 => self.precise_wait(time),
            Wait::AtMost(time) => self.timer_wait(time),
            Wait::About { now, until } => self.alarm_wait(now, until),
        };
        match found {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            other => other,
        }
    }

    /// One of the events of the last wait. The caller recognises the timer's event by its token.
    pub fn event(&self, index: usize) -> Readiness {
        let event = self.events[index];
        Readiness { token: event.u64, flags: event.events }
    }

    fn plain_wait(&mut self, milliseconds: c_int) -> io::Result<usize> {
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: `events` points to `BATCH` events that live through the call; a null signal mask changes nothing.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as c_int,
                milliseconds,
                no_mask,
                0usize,
            )
        };
        counted(result)
    }

    /// Waits with the timer as it is, and sets the timer only if it would expire too late or not at all. With many
    /// short waits the timer is then set rarely, not at every wait.
    fn alarm_wait(&mut self, now: Timestamp, until: Timestamp) -> io::Result<usize> {
        if self.alarm.is_none_or(|alarm| alarm <= now || alarm > until) {
            self.set_timer(until.since(now))?;
            self.alarm = Some(until);
        }
        self.plain_wait(-1)
    }

    fn set_timer(&mut self, time: Nanoseconds) -> io::Result<()> {
        let setting = libc::itimerspec {
            it_interval: timespec(Nanoseconds::ZERO),
            it_value: timespec(time.max(Nanoseconds::from_nanos(1))),
        };
        // SAFETY: `setting` lives through the call; a null old value is allowed.
        checked(unsafe {
            libc::timerfd_settime(self.timer.as_raw_fd(), 0, &raw const setting, std::ptr::null_mut())
        })
        .map(drop)
    }

    fn precise_wait(&mut self, time: Nanoseconds) -> io::Result<usize> {
        let limit = timespec(time);
        let no_mask = std::ptr::null::<libc::sigset_t>();
        // SAFETY: `events` points to `BATCH` events and `limit` to a timespec, both alive through the call; a null
        // signal mask changes nothing.
        let result = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as c_int,
                &raw const limit,
                no_mask,
                0usize,
            )
        };
        let refused = |error: &io::Error| matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM));
        match counted(result) {
            Err(error) if refused(&error) => {
                self.precise = Precise::Timer;
                self.timer_wait(time)
            }
            other => other,
        }
    }

    fn timer_wait(&mut self, time: Nanoseconds) -> io::Result<usize> {
        self.alarm = None;
        self.set_timer(time)?;
        self.plain_wait(-1)
    }

    /// Uses the timer even where `epoll_pwait2` exists.
    #[cfg(test)]
    fn without_pwait2(mut self) -> Self {
        self.precise = Precise::Timer;
        self
    }
}

fn timespec(time: Nanoseconds) -> libc::timespec {
    let nanos = time.as_nanos();
    libc::timespec {
        tv_sec: (nanos / 1_000_000_000) as libc::time_t,
        tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
    }
}

fn read_clock(which: libc::clockid_t) -> u64 {
    let mut time = timespec(Nanoseconds::ZERO);
    // SAFETY: `time` lives through the call, which fills it; both clocks used here always exist.
    unsafe { libc::clock_gettime(which, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The host's monotonic clock, from which every time stamp comes.
pub fn clock() -> Timestamp {
    Timestamp::from_nanos(read_clock(libc::CLOCK_MONOTONIC))
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Nanoseconds {
    Nanoseconds::from_nanos(read_clock(libc::CLOCK_THREAD_CPUTIME_ID))
}

/// Makes the kernel end this thread's timed waits on time instead of up to 50 µs late.
pub(crate) fn sharpen_timers() {
    // A refusal costs accuracy, which the recorded lag shows; it is no error.
    // SAFETY: no pointers are passed.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}

/// Begins to connect to `address` on a new non-blocking TCP socket without Nagle's delay.
pub(crate) fn begin_connect(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed.
    let socket = owned(unsafe { libc::socket(family, kind, libc::IPPROTO_TCP) })?;
    set_no_delay(&socket)?;
    begin_connect_on(socket, address)
}

/// Begins to connect a non-blocking TCP socket that was created elsewhere.
pub(crate) fn begin_connect_on(socket: OwnedFd, address: SocketAddr) -> io::Result<OwnedFd> {
    let result = match address {
        SocketAddr::V4(address) => {
            let name = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
                sin_zero: [0; 8],
            };
            connect(&socket, &name)
        }
        SocketAddr::V6(address) => {
            let name = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                sin6_scope_id: address.scope_id(),
            };
            connect(&socket, &name)
        }
    };
    match result {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket),
    }
}

/// Connects a new non-blocking Unix stream socket. Unlike TCP it connects immediately or fails; a server with a full
/// queue refuses with `WouldBlock`.
pub(crate) fn connect_unix(path: &Path) -> io::Result<OwnedFd> {
    // Leaves room for the zero byte after the path.
    let mut name = libc::sockaddr_un { sun_family: libc::AF_UNIX as libc::sa_family_t, sun_path: [0; 108] };
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() || bytes.len() >= name.sun_path.len() || bytes.contains(&0) {
        let message = "a Unix socket's path has 1 to 107 bytes and no zero byte";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    for (to, from) in name.sun_path.iter_mut().zip(bytes) {
        *to = *from as libc::c_char;
    }
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: no pointers are passed.
    let socket = owned(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    connect(&socket, &name)?;
    Ok(socket)
}

fn connect<Name>(socket: &OwnedFd, name: &Name) -> io::Result<()> {
    let length = size_of::<Name>() as libc::socklen_t;
    // SAFETY: `name` is a socket address of `length` bytes that lives through the call.
    checked(unsafe { libc::connect(socket.as_raw_fd(), std::ptr::from_ref(name).cast(), length) }).map(drop)
}

fn set_no_delay(socket: &OwnedFd) -> io::Result<()> {
    let on: c_int = 1;
    let length = size_of::<c_int>() as libc::socklen_t;
    // SAFETY: `on` is an int of `length` bytes that lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NODELAY,
            (&raw const on).cast(),
            length,
        )
    };
    checked(result).map(drop)
}

/// Reads an option into `value`; returns how many bytes the kernel filled.
fn option(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: `value` has `length` bytes and both live through the call.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length)
    };
    checked(result).map(|_| length as usize)
}

/// How the connect on `socket` ended.
pub(crate) fn connect_result(socket: BorrowedFd<'_>) -> io::Result<()> {
    let mut value = [0; size_of::<c_int>()];
    option(socket, libc::SOL_SOCKET, libc::SO_ERROR, &mut value)?;
    match c_int::from_ne_bytes(value) {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}

/// Whether a peer has accepted the connect on `socket`, told or not.
pub(crate) fn is_connected(socket: BorrowedFd<'_>) -> bool {
    // Large enough for the name of any peer.
    let mut name = [0u8; size_of::<libc::sockaddr_storage>()];
    let mut length = name.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `name`, which is as long.
    unsafe { libc::getpeername(socket.as_raw_fd(), name.as_mut_ptr().cast(), &mut length) == 0 }
}

/// The kernel's counts since the socket was created, of whose bytes `read` were read; `None` if it keeps none, as for
/// Unix sockets.
pub(crate) fn traffic(socket: BorrowedFd<'_>, read: Bytes) -> Option<Traffic> {
    // Offsets in `struct tcp_info` of linux/tcp.h, which only ever grows at its end. Older kernels fill less of it; the
    // rest stays zero.
    const STATE: usize = 0;
    const RETRANSMITS: usize = 100;
    const BYTES_ACKED: usize = 120;
    const BYTES_RECEIVED: usize = 128;
    const SEGMENTS_OUT: usize = 136;
    const SEGMENTS_IN: usize = 140;
    // States of linux/tcp_states.h.
    const TIME_WAIT: u8 = 6;
    const CLOSE: u8 = 7;
    const CLOSE_WAIT: u8 = 8;
    const LAST_ACK: u8 = 9;
    const CLOSING: u8 = 11;
    let info = || {
        let mut info = [0u8; 144];
        option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info).ok().map(|_| info)
    };
    let mut last = info()?;
    let info = loop {
        // The kernel reads the state before it locks the socket for the counts: if the peer's end comes in between, they
        // are of two moments. Where all that came was read there was no end.
        let next = if last[BYTES_RECEIVED..][..8] == read.get().to_ne_bytes() { last } else { info()? };
        if next[STATE] == last[STATE] {
            break last;
        }
        last = next;
    };
    let word =
        |at: usize| u64::from(u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]));
    let long = |at: usize| {
        let halves = [word(at), word(at + 4)];
        if cfg!(target_endian = "little") { halves[0] | halves[1] << 32 } else { halves[1] | halves[0] << 32 }
    };
    // The kernel counts the peer's end as one byte received. Once the connection is gone it no longer says whether that
    // came; then nothing more can be read either.
    let received = match info[STATE] {
        TIME_WAIT | CLOSE_WAIT | LAST_ACK | CLOSING => Bytes::new(long(BYTES_RECEIVED).saturating_sub(1)),
        CLOSE => read,
        _ => Bytes::new(long(BYTES_RECEIVED)),
    };
    Some(Traffic {
        // The kernel counts the connect itself as one byte acknowledged.
        sent: Bytes::new(long(BYTES_ACKED).saturating_sub(1)),
        received,
        segments_out: word(SEGMENTS_OUT),
        segments_in: word(SEGMENTS_IN),
        retransmits: word(RETRANSMITS),
        ..Traffic::default()
    })
}

/// Reads what has arrived; 0 is the end.
pub(crate) fn receive(socket: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    let (flags, nobody) = (0usize, 0usize);
    // SAFETY: `into` has that many bytes and lives through the call; no address is asked for.
    let result = unsafe {
        libc::syscall(
            libc::SYS_recvfrom,
            socket.as_raw_fd(),
            into.as_mut_ptr(),
            into.len(),
            flags,
            nobody,
            nobody,
        )
    };
    counted(result)
}

/// Writes as much as the socket takes; a closed peer is an error, never a signal.
pub(crate) fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let nobody = 0usize;
    // SAFETY: `bytes` has that many bytes and lives through the call; no address is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL as usize,
            nobody,
            nobody,
        )
    };
    counted(result)
}

/// Which table of open files a thread uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTable {
    /// Its own: the limit of open files applies to this thread alone.
    Own,
    /// The process's.
    Shared,
}

/// Gives the calling thread its own table of open files, which keeps only the standard streams: other threads cannot
/// see what it opens afterwards. The kernel then looks up descriptors without counting references, which in a process
/// with several threads saves a twentieth of a request's cost.
///
/// Call it first on a thread created for the generator, before it opens anything; a refusal costs only speed.
pub fn own_files() -> FileTable {
    const FIRST_KEPT_OUT: libc::c_uint = 3;
    // SAFETY: the thread has opened nothing yet, so none of its objects refers to a descriptor that is closed here;
    // descriptors of other threads stay open in their own table.
    let result = unsafe {
        libc::syscall(libc::SYS_close_range, FIRST_KEPT_OUT, libc::c_uint::MAX, libc::CLOSE_RANGE_UNSHARE)
    };
    if result == 0 { FileTable::Own } else { FileTable::Shared }
}

/// What to wait for on one socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Something to read.
    Read,
    /// Space to write, or the end of a connect.
    Write,
}

/// Waits for one socket, at most `time`; returns whether it became ready.
pub(crate) fn wait_for(socket: BorrowedFd<'_>, interest: Interest, time: Nanoseconds) -> io::Result<bool> {
    let events = match interest {
        Interest::Read => libc::POLLIN,
        Interest::Write => libc::POLLOUT,
    };
    let mut polled = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    let limit = timespec(time);
    // SAFETY: `polled` is one entry and `limit` a timespec, both alive through the call; a null mask changes nothing.
    let result = unsafe { libc::ppoll(&raw mut polled, 1, &raw const limit, std::ptr::null()) };
    match checked(result) {
        Ok(ready) => Ok(ready > 0),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};
    use std::os::fd::AsFd;

    #[test]
    fn waits_last_as_long_as_asked_with_and_without_the_precise_call() {
        for mut epoll in [Epoll::new().expect("epoll"), Epoll::new().expect("epoll").without_pwait2()] {
            for micros in [0, 1, 300, 2_500] {
                let time = Nanoseconds::from_micros(micros);
                let start = clock();
                while clock().since(start) < time {
                    let left = time.saturating_sub(clock().since(start));
                    epoll.wait(Wait::AtMost(left)).expect("waits");
                }
                assert!(clock().since(start) >= time);
            }
            assert_eq!(epoll.wait(Wait::Not).expect("looks"), 0, "the timer leaves nothing behind");
        }
    }

    #[test]
    fn a_unix_socket_connects_at_once_and_is_not_counted() {
        let path = std::env::temp_dir().join(format!("weighbridge-load-{}.sock", std::process::id()));
        assert_eq!(connect_unix(&path).expect_err("nobody listens").kind(), io::ErrorKind::NotFound);
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("binds");
        let socket = connect_unix(&path).expect("connects");
        connect_result(socket.as_fd()).expect("connected");
        let (mut peer, _) = listener.accept().expect("accepted");
        assert_eq!(send(socket.as_fd(), b"hello").expect("sent"), 5);
        let mut buffer = [0; 5];
        io::Read::read_exact(&mut peer, &mut buffer).expect("received");
        assert_eq!((&buffer, traffic(socket.as_fd(), Bytes::new(5))), (b"hello", None));
        std::fs::remove_file(&path).expect("removed");
        for wrong in [String::new(), "x".repeat(108), "a\0b".to_owned()] {
            let error = connect_unix(Path::new(&wrong)).expect_err("no path of a socket");
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_socket_connects_sends_receives_and_is_counted() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let socket = begin_connect(listener.local_addr().expect("bound")).expect("begins");
        let second = Nanoseconds::from_secs(10);
        assert!(wait_for(socket.as_fd(), Interest::Write, second).expect("waits"));
        connect_result(socket.as_fd()).expect("connected");
        let (mut peer, _) = listener.accept().expect("accepted");
        assert_eq!(send(socket.as_fd(), b"hello").expect("sent"), 5);
        let mut buffer = [0; 5];
        io::Read::read_exact(&mut peer, &mut buffer).expect("received");
        io::Write::write_all(&mut peer, b"worlds").expect("answered");
        assert!(wait_for(socket.as_fd(), Interest::Read, second).expect("waits"));
        let mut buffer = [0; 100];
        assert_eq!(receive(socket.as_fd(), &mut buffer).expect("received"), 6);
        let counts = traffic(socket.as_fd(), Bytes::new(6)).expect("a TCP socket");
        assert_eq!((counts.sent.get(), counts.received.get(), counts.retransmits), (5, 6, 0));
        assert!(counts.segments_out >= 3 && counts.segments_in >= 2, "{counts:?}");
        drop(peer);
        assert!(wait_for(socket.as_fd(), Interest::Read, second).expect("waits"));
        let counts = traffic(socket.as_fd(), Bytes::new(6)).expect("a TCP socket");
        assert_eq!(counts.received.get(), 6, "the peer's end is no byte");
    }
}
