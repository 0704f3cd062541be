//! The probe itself: one thread, one epoll instance, one request at a time in the order they became readable; several
//! at once in [`queued`].
//!
//! Connections are watched edge-triggered, so the kernel's list of ready ones is in the order of arrival: a
//! first-come-first-served queue with one server. (Requests pipelined on one connection that arrive in one read are
//! served together.) Under the null law without recording, replies of one read are sent in one write and no clock is
//! read; otherwise each reply is written when its service ends. No request allocates. It listens on loopback only and
//! prints nothing: the port is passed to a callback.

mod queued;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};

use crate::canned::Canned;
use crate::connection::{Asked, Buffers, Connection, Flushed, ParsedInput, ParsedRequest, Place, Received};
use crate::law::Law;
use crate::options::{KeepAlive, LoopbackHost, Options, Recording};
use crate::record::{Recorder, Served, Totals, to_csv};
use crate::reply::{self, OK_BODY, Route, Start};
use crate::request::Persistence;
use crate::runner::{Runner, Work};
use crate::stop::Stop;
use crate::sys::{self, End, Epoll, Event, Events, Trigger, Wait};

use self::queued::Queue;

/// Most connections at once; further ones wait to be accepted. A little more than the local ports of one client address
/// by Linux's default. Each reserves about 50 KiB, of which the kernel allocates what is used.
pub const CONNECTION_LIMIT: usize = 32_768;
/// Buffers kept for later connections.
const SPARE_LIMIT: usize = 256;
/// How long connections may take to finish after a stop was requested, within the 5 s that a service has.
const GRACE: Nanoseconds = Nanoseconds::from_secs(3);

const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;
const TIMER: u64 = u64::MAX - 2;

/// Why a probe could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another process listens there. Remedy: another port, or 0 for a free one.
    #[error("port {port} is in use; choose another, or 0 for a free one")]
    PortInUse {
        /// As given.
        port: u16,
    },
    /// The address cannot be listened on, for instance a port below 1024 without the right to.
    #[error("cannot listen on `{address}`; choose another port")]
    Listen {
        /// As given.
        address: SocketAddr,
        /// The kernel's reason.
        source: io::Error,
    },
    #[error("the probe's event loop broke; see the kernel's reason")]
    EventLoop(#[source] io::Error),
    #[error("cannot write the record to `{}`; choose a folder that can be written", path.display())]
    Record {
        /// The file or folder.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// The results of a probe.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The single requests kept, in the order of their replies.
    pub records: Vec<Served>,
    /// Sums over all requests; only `requests` under the null law without recording.
    pub totals: Totals,
    /// The record file, if one was requested.
    pub record_file: Option<PathBuf>,
}

/// Serves until `stop`, then finishes outstanding requests, writes the record file and returns the results. `ready`
/// gets the port once connections are accepted.
///
/// Peers have 3 s to read their replies. The law applies to the end: a stall in progress, and the delays of requests
/// that were read before the stop, are not shortened. Requests that still wait for a server after the 3 s are cut off.
pub fn serve(options: Options, stop: &Stop, ready: impl FnOnce(u16)) -> Result<Finished, ServeError> {
    let listener = listen(options.host, options.port)?;
    let port = listener.local_addr().map_err(ServeError::EventLoop)?.port();
    let record_folder = options.record_folder.clone();
    if let Some(folder) = &record_folder {
        std::fs::create_dir_all(folder)
            .map_err(|source| ServeError::Record { path: folder.clone(), source })?;
    }
    let mut server = Server::new(&options, listener, stop).map_err(ServeError::EventLoop)?;
    ready(port);
    server.run().map_err(ServeError::EventLoop)?;
    let untimed = server.untimed;
    let (records, mut totals) = server.recorder.finish();
    totals.requests += untimed;
    let record_file = record_folder.map(|folder| write_record(&folder, &records)).transpose()?;
    Ok(Finished { records, totals, record_file })
}

fn listen(host: LoopbackHost, port: u16) -> Result<TcpListener, ServeError> {
    let address = SocketAddr::new(host.address(), port);
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        sys::widen_backlog(&listener)?;
        Ok(listener)
    });
    bound.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::PortInUse { port },
        _ => ServeError::Listen { address, source },
    })
}

/// Writes `<pid>.csv` completely or not at all.
fn write_record(folder: &Path, records: &[Served]) -> Result<PathBuf, ServeError> {
    let path = folder.join(format!("{}.csv", std::process::id()));
    let unfinished = path.with_extension("csv.part");
    let written =
        std::fs::write(&unfinished, to_csv(records)).and_then(|()| std::fs::rename(&unfinished, &path));
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(ServeError::Record { path, source }),
    }
}

/// Whether a connection stays open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    /// It does, and there may be more to read at once.
    Unread,
    Over,
}

/// Whether all requests read so far were served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// All were; more must be read.
    Served,
    /// The socket takes no more for now, or requests must be replied to first; the buffer may still contain requests.
    Blocked,
    /// The last reply is written, so the connection must be closed.
    Over,
}

/// Whether requests are timed one by one, or answered in batches without a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Timing {
    EachRequest,
    None,
}

/// The probe's phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Serving,
    /// Stopping; connections that are not done by the deadline are cut.
    Draining(Timestamp),
}

/// Whether new connections are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepting {
    Yes,
    /// At the limit of connections or descriptors; it opens when a connection closes.
    Paused,
}

struct Server {
    epoll: Epoll,
    stop: Vec<RawFd>,
    listener: Option<TcpListener>,
    accepting: Accepting,
    phase: Phase,
    connections: Vec<Option<Box<Connection>>>,
    free: Vec<usize>,
    spare: Vec<Buffers>,
    timing: Timing,
    keep_alive: KeepAlive,
    canned: Arc<Canned>,
    /// When idle connections are checked next.
    next_look: Timestamp,
    runner: Runner,
    /// Where requests wait, if not in their sockets.
    queue: Option<Queue>,
    recorder: Recorder,
    law: String,
    servers: Option<NonZeroUsize>,
    /// Connections accepted so far.
    accepted: u64,
    /// Requests under the law that were answered without a clock.
    untimed: u64,
    /// When the probe became free for the current request: it woke, or finished the request before.
    turned: Timestamp,
}

impl Server {
    fn new(options: &Options, listener: TcpListener, stop: &Stop) -> io::Result<Self> {
        let epoll = Epoll::new()?;
        epoll.add(listener.as_raw_fd(), Trigger::ReadableLevel, LISTENER)?;
        let stop: Vec<RawFd> = stop.descriptors().collect();
        for descriptor in &stop {
            epoll.add(*descriptor, Trigger::ReadableLevel, STOP)?;
        }
        let queue = Queue::new(options, &epoll)?;
        let (timing, capacity) = match options.recording {
            Recording::Keep(count) => (Timing::EachRequest, Some(count)),
            // Idle connections are found by the time of their last request.
            Recording::Off
                if options.law == Law::Null && options.keep_alive.idle.is_none() && queue.is_none() =>
            {
                (Timing::None, None)
            }
            Recording::Off => (Timing::EachRequest, None),
        };
        Ok(Self {
            epoll,
            stop,
            listener: Some(listener),
            accepting: Accepting::Yes,
            phase: Phase::Serving,
            connections: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            timing,
            keep_alive: options.keep_alive,
            canned: Arc::clone(&options.canned),
            next_look: sys::now(),
            runner: Runner::new(&options.law),
            queue,
            recorder: Recorder::new(capacity),
            law: options.law.to_string(),
            servers: options.servers,
            accepted: 0,
            untimed: 0,
            turned: sys::now(),
        })
    }

    fn run(&mut self) -> io::Result<()> {
        let mut events = Events::new();
        loop {
            if let Phase::Draining(deadline) = self.phase
                && (self.free.len() == self.connections.len() || sys::now() >= deadline)
            {
                return Ok(());
            }
            let count = self.wait(&mut events)?;
            self.close_idle();
            for index in 0..count {
                let event = events.get(index);
                match event.token {
                    LISTENER => self.accept()?,
                    STOP => self.begin_draining()?,
                    TIMER => {}
                    _ => self.advance(event),
                }
                self.finish_services();
            }
            self.finish_services();
            if let Some(queue) = &mut self.queue {
                queue.arm()?;
            }
        }
    }

    /// Waits for events. A timed probe first polls without waiting: if something is ready, the probe has not been idle,
    /// and the time since the last request belongs to the next.
    fn wait(&mut self, events: &mut Events) -> io::Result<usize> {
        let wait = match self.phase {
            Phase::Serving => self.keep_alive.idle.map_or(Wait::Forever, Wait::AtMost),
            Phase::Draining(deadline) => Wait::AtMost(deadline.since(sys::now())),
        };
        if self.timing == Timing::None {
            return self.epoll.wait(events, wait);
        }
        let ready = self.epoll.wait(events, Wait::Poll)?;
        if ready > 0 || self.queue.as_ref().is_some_and(Queue::is_busy) {
            return Ok(ready);
        }
        let count = self.epoll.wait(events, wait)?;
        self.turned = sys::now();
        Ok(count)
    }

    /// Closes connections on which nothing has come for too long, even if something has just arrived: after a freeze,
    /// timers expire before anything is read.
    fn close_idle(&mut self) {
        let Some(idle) = self.keep_alive.idle else { return };
        let now = sys::now();
        if now < self.next_look {
            return;
        }
        self.next_look = now + idle / 2;
        for slot in 0..self.connections.len() {
            let over = |connection: &Connection| connection.is_idle() && now.since(connection.read_at) > idle;
            if self.connections[slot].as_deref().is_some_and(over)
                && let Some(connection) = self.connections[slot].take()
            {
                self.dismiss(slot, *connection);
            }
        }
    }

    /// Closes a connection and frees its slot.
    fn dismiss(&mut self, slot: usize, connection: Connection) {
        let buffers = connection.close();
        if self.spare.len() < SPARE_LIMIT {
            self.spare.push(buffers);
        }
        self.free.push(slot);
        self.resume_accepting();
    }

    fn accept(&mut self) -> io::Result<()> {
        while let Some(listener) = &self.listener {
            if self.connections.len() - self.free.len() >= CONNECTION_LIMIT {
                return self.pause_accepting();
            }
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if sys::is_of_one_connection(&error) => continue,
                // No descriptor or memory is left.
                Err(_) => return self.pause_accepting(),
            };
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_ok() {
                self.admit(stream);
            }
        }
        Ok(())
    }

    fn admit(&mut self, stream: std::net::TcpStream) {
        let buffers = self.spare.pop().unwrap_or_else(Buffers::new);
        let mut connection = Box::new(Connection::new(stream, buffers, Arc::clone(&self.canned)));
        connection.read_at = sys::now();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        self.accepted += 1;
        connection.place = Place { slot, number: self.accepted };
        if self.epoll.add(connection.descriptor(), Trigger::AnyEdge, slot as u64).is_ok() {
            self.connections[slot] = Some(connection);
        } else {
            self.free.push(slot);
        }
    }

    /// Stops watching the listener, which would otherwise be reported forever.
    fn pause_accepting(&mut self) -> io::Result<()> {
        if let (Some(listener), Accepting::Yes) = (&self.listener, self.accepting) {
            self.epoll.remove(listener.as_raw_fd())?;
            self.accepting = Accepting::Paused;
        }
        Ok(())
    }

    fn resume_accepting(&mut self) {
        if let (Some(listener), Accepting::Paused) = (&self.listener, self.accepting)
            && self.epoll.add(listener.as_raw_fd(), Trigger::ReadableLevel, LISTENER).is_ok()
        {
            self.accepting = Accepting::Yes;
        }
    }

    /// Accepts no more connections, and closes idle ones.
    fn begin_draining(&mut self) -> io::Result<()> {
        if self.phase != Phase::Serving {
            return Ok(());
        }
        self.phase = Phase::Draining(sys::now() + GRACE);
        // They stay readable, and would end every wait.
        for descriptor in std::mem::take(&mut self.stop) {
            self.epoll.remove(descriptor)?;
        }
        // Connections that wait to be accepted have outstanding requests too.
        self.accept()?;
        self.listener = None;
        for slot in 0..self.connections.len() {
            self.advance(Event { token: slot as u64, end: End::NotSeen });
        }
        Ok(())
    }

    /// Continues with a connection that may be readable or writable.
    fn advance(&mut self, event: Event) {
        let slot = event.token as usize;
        // An earlier event of the same wait may have closed it.
        let Some(mut connection) = self.connections.get_mut(slot).and_then(Option::take) else { return };
        let mut standing = self.exchange(&mut connection, event).unwrap_or(Standing::Over);
        if self.phase != Phase::Serving && standing == Standing::Open && connection.is_idle() {
            standing = Standing::Over;
        }
        match standing {
            Standing::Open | Standing::Unread => self.connections[slot] = Some(connection),
            Standing::Over => self.dismiss(slot, *connection),
        }
    }

    /// Writes the rest of the output, serves the buffered requests, then reads and serves more.
    fn exchange(&mut self, connection: &mut Connection, event: Event) -> io::Result<Standing> {
        if event.end == End::Seen {
            connection.peer_end = End::Seen;
        }
        let left_over = match settle(connection)? {
            Progress::Served => self.serve_buffered(connection)?,
            unsettled => unsettled,
        };
        match left_over {
            Progress::Served => {}
            Progress::Blocked => return Ok(Standing::Open),
            Progress::Over => return Ok(Standing::Over),
        }
        let received = connection.receive()?;
        match received {
            Received::Nothing => return Ok(Standing::Open),
            // What it has asked for is still replied to.
            Received::End if connection.under_way > 0 => return Ok(Standing::Open),
            Received::End => return Ok(Standing::Over),
            Received::All | Received::Full => {}
        }
        if self.timing == Timing::EachRequest {
            connection.read_at = sys::now();
        }
        if self.serve_buffered(connection)? == Progress::Over {
            return Ok(Standing::Over);
        }
        if received == Received::All && connection.peer_end == End::NotSeen {
            return Ok(Standing::Open);
        }
        // Edge-triggered: data or an end that is still in the socket would not be reported again. Others come first.
        self.epoll.rearm(connection.descriptor(), Trigger::AnyEdge, event.token)?;
        Ok(Standing::Unread)
    }

    /// Serves every whole request in the connection's buffer.
    fn serve_buffered(&mut self, connection: &mut Connection) -> io::Result<Progress> {
        loop {
            if connection.is_occupied() {
                settle(connection)?;
                return Ok(Progress::Blocked);
            }
            match connection.next_request() {
                Ok(ParsedInput::Request(request)) => {
                    let request = self.with_last_reply_marked(connection, request);
                    if self.serve(connection, request)? == Flushed::Blocked {
                        return Ok(Progress::Blocked);
                    }
                }
                // What is said to it is never much more than what was read.
                Ok(ParsedInput::Other) => {}
                Ok(ParsedInput::Nothing) => return settle(connection),
                Err(refusal) => {
                    connection.push_refusal(refusal);
                    return settle(connection);
                }
            }
        }
    }

    /// While draining, or after a connection's last request, marks the reply as the last one.
    fn with_last_reply_marked(&self, connection: &Connection, request: ParsedRequest) -> ParsedRequest {
        let spent = self.keep_alive.requests.is_some_and(|most| connection.requests + 1 >= most.get());
        if spent || self.phase != Phase::Serving && connection.has_read_everything() {
            ParsedRequest { persistence: Persistence::Close, ..request }
        } else {
            request
        }
    }

    fn serve(&mut self, connection: &mut Connection, request: ParsedRequest) -> io::Result<Flushed> {
        let Some(size) = request.route.size_under_law(&self.canned) else {
            self.push_own_reply(connection, request);
            let flushed = connection.flush();
            self.turned = sys::now();
            return flushed;
        };
        if connection.asked == Asked::Nothing {
            connection.asked = Asked::Something;
            self.recorder.connection();
        }
        connection.requests += 1;
        if self.queue.is_some() {
            self.enqueue(connection, request, size);
            return Ok(Flushed::Done);
        }
        push_reply_under_law(connection, request);
        if self.timing == Timing::EachRequest {
            return self.serve_timed(connection, size);
        }
        self.untimed += 1;
        if connection.is_batch_full() { connection.flush() } else { Ok(Flushed::Done) }
    }

    /// Performs the law's work between the rendering and the writing of a reply, and records the times.
    fn serve_timed(&mut self, connection: &mut Connection, size: Bytes) -> io::Result<Flushed> {
        let begin = connection.read_at.max(self.turned);
        let work = self.runner.next(begin, size);
        let end = perform(work, begin);
        if let Work::Sleep(_) = work {
            self.runner.resumed(end);
        }
        let flushed = connection.flush();
        let written = sys::now();
        self.recorder.add(Served {
            turned: self.turned,
            read: connection.read_at,
            begin,
            end,
            written,
            drawn: work.time(),
            size,
        });
        self.turned = written;
        flushed
    }

    /// Replies on the probe's own paths, and to pongs of invalid size: rare, so they may allocate.
    fn push_own_reply(&self, connection: &mut Connection, request: ParsedRequest) {
        let untimed = (self.timing == Timing::None).then_some(self.untimed);
        let servers = self.servers.map_or(String::new(), |servers| format!(" servers={servers}"));
        let (start, content) = match request.route {
            Route::Version => {
                (Start::TEXT, format!("probe {}{servers} {}\n", self.law, env!("CARGO_PKG_VERSION")))
            }
            Route::Summary => (Start::JSON, self.recorder.summary(&self.law, untimed)),
            Route::Record => (Start::CSV, self.recorder.csv()),
            Route::WrongPong | Route::Pong(_) | Route::Canned(_) | Route::Ok => {
                (Start::BAD_REQUEST, reply::error_json(&reply::wrong_pong_message()))
            }
        };
        connection.push_reply(start, content.as_bytes(), request.body, request.persistence);
    }
}

fn push_reply_under_law(connection: &mut Connection, request: ParsedRequest) {
    let ParsedRequest { route, body, persistence, .. } = request;
    match route {
        Route::Canned(place) => connection.push_canned(place, request),
        Route::Pong(size) => connection.push_pong(size, body, persistence),
        _ => connection.push_reply(Start::TEXT, OK_BODY, body, persistence),
    }
}

/// Writes the output and returns what that means for the connection.
fn settle(connection: &mut Connection) -> io::Result<Progress> {
    Ok(match connection.flush()? {
        Flushed::Blocked => Progress::Blocked,
        Flushed::Done if connection.is_over() => Progress::Over,
        Flushed::Done => Progress::Served,
    })
}

/// Performs the work and returns the clock after it: never before `begin` plus the work's time.
fn perform(work: Work, begin: Timestamp) -> Timestamp {
    match work {
        Work::Nothing => begin,
        Work::Spin(time) => spin_until(begin + time),
        Work::Sleep(time) => {
            std::thread::sleep(time.as_duration());
            sys::now()
        }
    }
}

/// Reads the clock until `deadline`. A pause between readings would cost more precision than it saves power.
fn spin_until(deadline: Timestamp) -> Timestamp {
    loop {
        let now = sys::now();
        if now >= deadline {
            return now;
        }
    }
}
