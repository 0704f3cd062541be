//! All connections of one variant: opening and reopening, timeouts, and which slot sends the next request.
//!
//! It sends what the window allows and reports which requests are over; it keeps no histograms and never waits.

mod handshake;
mod later;
mod opening;
mod repeated;
mod stamping;
mod thinking;

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::AsFd;

use weighbridge_model::id::VariantId;
use weighbridge_model::legs::Stamps;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{ErrorKind, Handshakes, Traffic};

pub(crate) use self::later::FollowUps;
use crate::connection::{
    Connection, Finished, LaneState, Link, Parked, Received, ReplyContext, Until, Writing,
};
use crate::dial::{AfterFailure, Dial};
use crate::failures::Failures;
use crate::framer::Cancel;
use crate::recorder::MessageTime;
use crate::session::{Seen, Sessions};
use crate::stack::Stack;
use crate::stamps::StampBook;
use crate::sys::{self, Epoll, Readiness};
use crate::think::ThinkSchedule;
use crate::tls::TlsFailure;
use crate::window::{Load, Slots, Window};

/// Shortest wait before a failed connection is opened again, so that a refusing server does not spin the loop.
const BACKOFF_FIRST: Nanoseconds = Nanoseconds::from_millis(1);

/// Longest such wait; it limits how late a server that comes back is noticed.
const BACKOFF_LAST: Nanoseconds = Nanoseconds::from_millis(10);

/// Shortest time between two scans for timeouts.
const SCAN: Nanoseconds = Nanoseconds::from_millis(1);

/// If the peer closes a connection sooner than this, before a request was written, it refused the connection; later it
/// merely closed an idle one. A refusal is counted as a failed request, because otherwise a window against a server
/// that only refuses would never end.
const EARLY_CLOSE: Nanoseconds = Nanoseconds::from_secs(1);

/// Size of the read buffer that all connections share.
const READ_BUFFER: usize = 256 * 1024;

/// How many requests a connection serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeepAlive {
    /// Any number, until the server closes it.
    #[default]
    Reuse,
    /// This many; once they are all answered, the client closes the connection and opens another. Requests become due
    /// meanwhile, so the connect counts in their response time but not in their service time.
    Every(NonZeroU32),
}

impl KeepAlive {
    /// One request per connection.
    pub const ONE_PER_REQUEST: Self = Self::Every(NonZeroU32::MIN);
}

/// How one variant's connections are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Connections, at least 1.
    pub connections: u32,
    /// Requests outstanding per connection, at least 1 (and no more than a connection serves).
    pub in_flight: u32,
    /// A request that takes longer has failed.
    pub timeout: Nanoseconds,
    /// A connect that takes longer has failed.
    pub connect_timeout: Nanoseconds,
    /// How many requests a connection serves.
    pub keep_alive: KeepAlive,
    /// How long a window that only replies can end may go without any reply before it is aborted.
    pub patience: Nanoseconds,
    /// Whether the kernel stamps packets sent and received; requires one request in flight.
    pub stamps: Stamps,
    /// For calibration only: after each read the loop busy-waits this long before it takes *done*, as if the server
    /// were that much slower. `None` costs nothing.
    pub hold_back: Option<Nanoseconds>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: 16,
            in_flight: 1,
            timeout: Nanoseconds::from_secs(10),
            connect_timeout: Nanoseconds::from_secs(5),
            keep_alive: KeepAlive::Reuse,
            patience: Nanoseconds::from_secs(5),
            stamps: Stamps::Off,
            hold_back: None,
        }
    }
}

/// What the pools of all variants share.
pub(crate) struct Io {
    pub epoll: Epoll,
    pub dial: Box<dyn Dial>,
    pub buffer: Box<[u8]>,
}

impl Io {
    pub fn new(dial: Box<dyn Dial>) -> io::Result<Self> {
        let buffer = vec![0; READ_BUFFER].into_boxed_slice();
        Ok(Self { epoll: Epoll::new()?, dial, buffer })
    }
}

/// Identifies a connection in the kernel's events. The generation tells an event of a closed socket from one of its
/// successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token {
    pub variant: u16,
    pub generation: u16,
    pub connection: u32,
}

impl Token {
    pub fn pack(self) -> u64 {
        u64::from(self.variant) << 48 | u64::from(self.generation) << 32 | u64::from(self.connection)
    }

    pub fn unpack(packed: u64) -> Self {
        Self { variant: (packed >> 48) as u16, generation: (packed >> 32) as u16, connection: packed as u32 }
    }
}

/// Whether a window is running on this pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    /// No: lost connections stay closed.
    Idle,
    /// Yes, and it still issues requests: lost connections are reopened.
    Running,
}

pub(crate) struct Pool {
    pub variant: VariantId,
    pub settings: Settings,
    pub demand: Demand,
    /// Requests that ended since the caller last emptied this list.
    pub finished: Vec<Finished>,
    /// Times of reply messages since the caller last emptied this list.
    pub messages: Vec<MessageTime>,
    /// When [`housekeeping`](Self::housekeeping) is due.
    pub housekeeping_at: Timestamp,
    /// When housekeeping last scanned the connections.
    scanned: Timestamp,
    /// Connections opened since the pool was made, whether or not a TLS handshake followed.
    connects: u64,
    /// Those among them that had been opened when the window began.
    connects_before: u64,
    /// The last failure to connect that the caller has not taken yet.
    pub connect_failure: Option<io::Error>,
    /// TLS handshakes since the window or the wait for connections began.
    pub handshakes: Handshakes,
    /// Think times and sessions of the slots.
    pub think: ThinkSchedule,
    /// Sessions that ended since the caller last took this count.
    pub ended_sessions: u64,
    /// Requests to which replies have led.
    pub follow_ups: FollowUps,
    /// The kernel's time stamps, if the settings ask for them.
    stamps: Option<Box<StampBook>>,
    pub sessions: Box<dyn Sessions>,
    connections: Vec<Connection>,
    /// How many connections are open or being opened.
    count: opening::Count,
    /// Slots that can take a request, the one free for longest first.
    ready: VecDeque<u32>,
    /// Connections with output to write, in the order in which they got some.
    dirty: VecDeque<u32>,
    /// Connections that may have more to read.
    unread: VecDeque<u32>,
    /// Connections with an error that no request has failed with yet.
    with_pending_error: VecDeque<u32>,
    closed_traffic: Traffic,
    /// Start of the window's preparation.
    begun: Timestamp,
}

/// How a connection was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// It ended or failed; outstanding requests fail as this kind.
    Failed(ErrorKind),
    /// The oldest requests on it timed out: those sent at or before this time.
    TimedOut(Timestamp),
    /// Nothing was wrong: the peer announced that it closes, or the connection served all its requests.
    Spent,
}

impl Pool {
    pub fn new(
        variant: VariantId,
        settings: Settings,
        stack: &Stack,
        mut sessions: Box<dyn Sessions>,
    ) -> Self {
        let (in_flight, limit) = match settings.keep_alive {
            KeepAlive::Reuse => (settings.in_flight.max(1), u64::MAX),
            KeepAlive::Every(requests) => {
                (settings.in_flight.clamp(1, requests.get()), u64::from(requests.get()))
            }
        };
        let settings = Settings { connections: settings.connections.max(1), in_flight, ..settings };
        let slots = settings.connections * settings.in_flight;
        sessions.prepare(slots);
        let framing = &stack.framing;
        let tls = stack.tls.as_ref().map(|tls| tls.for_pool(framing, settings.connections));
        let stack = &Stack { framing: *framing, tls };
        let book = (settings.stamps == Stamps::Kernel).then(|| Box::new(StampBook::new(in_flight)));
        let connection = |index: u32| {
            let slot = index * settings.in_flight;
            let mut connection = Connection::new(stack, settings.in_flight, slot);
            connection.limit = limit;
            connection.hold_back = settings.hold_back;
            connection.stamps = book.as_ref().and_then(|book| book.for_connection());
            connection
        };
        let connections = (0..settings.connections).map(connection).collect();
        Self {
            variant,
            settings,
            demand: Demand::Idle,
            finished: Vec::with_capacity(slots as usize + 1),
            messages: Vec::new(),
            housekeeping_at: Timestamp::default(),
            scanned: Timestamp::default(),
            connects: 0,
            connects_before: 0,
            connect_failure: None,
            handshakes: Handshakes::default(),
            think: ThinkSchedule::new(),
            ended_sessions: 0,
            follow_ups: FollowUps::default(),
            stamps: book,
            sessions,
            connections,
            count: opening::Count::default(),
            ready: VecDeque::with_capacity(slots as usize),
            dirty: VecDeque::with_capacity(settings.connections as usize),
            unread: VecDeque::with_capacity(settings.connections as usize),
            with_pending_error: VecDeque::with_capacity(settings.connections as usize),
            closed_traffic: Traffic::default(),
            begun: Timestamp::default(),
        }
    }

    /// Prepares for a window of `load` that starts at `now` and reads `substream`.
    pub fn begin_window(&mut self, io: &mut Io, load: &Load, substream: u64, now: Timestamp) {
        self.sessions.rewind(substream);
        self.sessions.set_time(now);
        self.think.begin(load, self.settings.connections * self.settings.in_flight, substream);
        self.ended_sessions = 0;
        self.follow_ups.begin(load);
        self.demand = Demand::Running;
        self.begun = now;
        self.housekeeping_at = now;
        self.connects_before = self.connects;
        self.closed_traffic = Traffic::default();
        self.connect_failure = None;
        self.handshakes.clear();
        self.begin_stamps();
        self.ready.clear();
        self.with_pending_error.clear();
        for index in 0..self.connections.len() {
            let connection = &mut self.connections[index];
            connection.begin_window(now);
            connection.failures = 0;
            // A refused connection concerned an earlier window; unexpected bytes between windows must not go unnoticed.
            connection.pending_error = connection.pending_error.filter(|kind| *kind == ErrorKind::Protocol);
            if connection.pending_error.is_some() {
                self.with_pending_error.push_back(index as u32);
            }
            self.list_all(index);
            self.reopen(io, index, now);
        }
    }

    /// Moves the window's start to `now`, and with it the time at which every lane became free.
    pub fn free_all(&mut self, now: Timestamp) {
        for lane in self.connections.iter_mut().flat_map(|connection| connection.lanes.iter_mut()) {
            lane.planned = lane.planned.map(|due| due + now.since(lane.freed));
            lane.freed = now;
        }
        self.think.shift(now.since(self.begun));
    }

    /// Ends the window and returns the traffic of all sockets since it began.
    pub fn end_window(&mut self) -> Traffic {
        self.demand = Demand::Idle;
        let mut traffic = self.closed_traffic;
        for connection in &self.connections {
            traffic.add(connection.traffic());
        }
        traffic
    }

    /// Connections opened since the window began.
    pub fn window_connects(&self) -> u64 {
        self.connects - self.connects_before
    }

    /// Connections opened since the pool was made. A connect that has succeeded counts even if the loop was not told.
    pub fn all_connects(&self) -> u64 {
        let is_open = |link: &Link| matches!(link, Link::Connecting { socket, .. } if sys::is_connected(socket.as_fd()));
        let untold = self.connections.iter().filter(|connection| is_open(&connection.link)).count();
        self.connects + untold as u64
    }

    /// What was seen of single requests of the window, where they were kept.
    pub fn take_seen(&mut self) -> Vec<Seen> {
        self.sessions.take_seen()
    }

    /// What peers said about failed replies in the window.
    pub fn take_failures(&mut self) -> Failures {
        self.sessions.take_failures()
    }

    /// Closes every connection with outstanding requests; these fail as `kind`, with those that wait to be sent again.
    pub fn abandon(&mut self, kind: ErrorKind, now: Timestamp) {
        self.demand = Demand::Idle;
        for index in 0..self.connections.len() {
            let connection = &mut self.connections[index];
            if connection.busy > 0 || connection.has_repeated() {
                connection.fail(None, kind, now, &mut self.finished);
                connection.fail_repeated(kind, now, &mut self.finished);
                self.close(index, now);
            }
        }
    }

    /// Whether a slot is free to send.
    pub fn slots(&self) -> Slots {
        if self.ready.is_empty() && self.with_pending_error.is_empty() {
            Slots::NoneFree
        } else {
            Slots::SomeFree
        }
    }

    /// Whether a connection may have more to read without a new event.
    pub fn has_unread(&self) -> bool {
        !self.unread.is_empty()
    }

    /// Handles one event of the kernel.
    pub fn event(&mut self, io: &mut Io, token: Token, readiness: Readiness) {
        let index = token.connection as usize;
        let Some(connection) = self.connections.get_mut(index) else { return };
        if connection.generation != token.generation {
            return;
        }
        if matches!(connection.link, Link::Connecting { .. }) {
            if !readiness.writable() {
                return;
            }
            self.finish_connect(io, index);
        }
        let connection = &mut self.connections[index];
        let readiness = stamping::without_stamps(connection, readiness);
        if connection.writing == Writing::Blocked && readiness.writable() {
            connection.writing = Writing::Free;
            self.dirty.push_back(index as u32);
            self.unpark(index);
        }
        if readiness.readable() {
            let until = if readiness.ended() { Until::End } else { Until::Short };
            self.read(io, index, until);
        }
    }

    /// Continues reading where the last read left something.
    pub fn read_again(&mut self, io: &mut Io) {
        for _ in 0..self.unread.len() {
            let Some(index) = self.unread.pop_front() else { return };
            if let Link::Open { .. } | Link::Handshaking { .. } = self.connections[index as usize].link {
                self.read(io, index as usize, Until::End);
            }
        }
    }

    fn read(&mut self, io: &mut Io, index: usize, until: Until) {
        let before = self.finished.len();
        let connection = &mut self.connections[index];
        let mut context =
            reply_context(&mut *self.sessions, self.settings, index, &mut self.finished, &mut self.messages);
        let received = connection.receive(&mut io.buffer, until, &mut context);
        if let Some(book) = &mut self.stamps {
            stamping::attribute(book, connection, &self.finished[before..]);
        }
        if matches!(self.connections[index].link, Link::Handshaking { .. })
            && !self.continue_handshake(io, index, &received)
        {
            return;
        }
        let connection = &mut self.connections[index];
        // A peer that announces the end to a client that has asked nothing refuses the connection.
        let is_spent = connection.drained() && connection.started > 0;
        match received {
            Received::Ended | Received::Broken(ErrorKind::Reset) if is_spent => {
                self.lose(io, index, Loss::Spent);
            }
            Received::Ended => self.lose(io, index, Loss::Failed(ErrorKind::Reset)),
            Received::Broken(kind) => self.lose(io, index, Loss::Failed(kind)),
            received => {
                if connection.drained() {
                    let loss = if is_spent { Loss::Spent } else { Loss::Failed(ErrorKind::Reset) };
                    return self.lose(io, index, loss);
                }
                if connection.has_output() {
                    self.dirty.push_back(index as u32);
                }
                if matches!(received, Received::More) {
                    self.unread.push_back(index as u32);
                }
                if self.finished.len() > before || self.connections[index].has_repeated() {
                    self.list_all(index);
                } else {
                    self.unpark(index);
                }
            }
        }
    }

    /// Puts the connection's lanes back into the ready list once it takes requests unread.
    fn unpark(&mut self, index: usize) {
        if self.connections[index].parked == Parked::Some && self.connections[index].takes_more() {
            self.connections[index].parked = Parked::None;
            self.list_all(index);
        }
    }

    /// Puts every free lane of an open connection into the ready list.
    fn list_all(&mut self, index: usize) {
        if !matches!(self.connections[index].link, Link::Open { .. }) {
            return;
        }
        if self.connections[index].has_repeated() && !self.send_repeated(index) {
            return;
        }
        if self.think.is_needed() {
            return self.list_thinking_lanes(index);
        }
        if self.sessions.has_follow_ups() {
            self.take_follow_ups(index);
        }
        let connection = &mut self.connections[index];
        let first = index as u32 * self.settings.in_flight;
        for (lane, slot) in connection.lanes.iter_mut().zip(first..) {
            if lane.state == LaneState::Free {
                lane.state = LaneState::Listed;
                self.ready.push_back(slot);
            }
        }
    }

    /// Starts every request that is due and has a slot. Call [`flush`](Self::flush) afterwards.
    pub fn fill(&mut self, window: &mut Window, now: Timestamp) {
        self.sessions.set_time(now);
        if !self.with_pending_error.is_empty() {
            self.attribute_errors(window, now);
        }
        if self.think.is_needed() {
            self.end_think_times(window, now);
        }
        if !self.follow_ups.is_empty() {
            self.send_follow_ups(window, now);
        }
        let in_flight = self.settings.in_flight;
        while let Some(slot) = self.session_slot() {
            let connection = &self.connections[(slot / in_flight) as usize];
            let freed = connection.lanes[(slot % in_flight) as usize].freed;
            let Some(due) = self.take(slot, window, now, freed) else { return };
            self.ready.pop_front();
            self.start(slot, due, now);
        }
    }

    /// The slot that has been free for longest among those whose connections take more; it stays in the list.
    fn ready_slot(&mut self) -> Option<u32> {
        while let Some(&slot) = self.ready.front() {
            let connection = &mut self.connections[(slot / self.settings.in_flight) as usize];
            if connection.takes_more() {
                return Some(slot);
            }
            self.ready.pop_front();
            connection.lanes[(slot % self.settings.in_flight) as usize].state = LaneState::Free;
            connection.parked = Parked::Some;
        }
        None
    }

    /// Starts the slot's next request.
    fn start(&mut self, slot: u32, due: Timestamp, now: Timestamp) {
        let (index, lane) = ((slot / self.settings.in_flight) as usize, slot % self.settings.in_flight);
        let connection = &mut self.connections[index];
        if !connection.has_output() {
            self.dirty.push_back(index as u32);
        }
        let mut context =
            reply_context(&mut *self.sessions, self.settings, index, &mut self.finished, &mut self.messages);
        connection.start(lane, due, now, &mut context);
    }

    /// Fails the next request of each connection that failed between requests.
    fn attribute_errors(&mut self, window: &mut Window, now: Timestamp) {
        while let Some(&index) = self.with_pending_error.front() {
            let connection = &mut self.connections[index as usize];
            let Some(kind) = connection.pending_error else {
                self.with_pending_error.pop_front();
                continue;
            };
            let freed = connection.lanes[0].freed;
            let Some(due) = self.due_of_failed(index, window, now, freed) else { return };
            self.with_pending_error.pop_front();
            let connection = &mut self.connections[index as usize];
            connection.pending_error = None;
            let mut context = reply_context(
                &mut *self.sessions,
                self.settings,
                index as usize,
                &mut self.finished,
                &mut self.messages,
            );
            connection.fail_next(kind, due, now, &mut context);
            // The next scan after `retry_at` opens it unread.
            if let Link::Closed { retry_at } = self.connections[index as usize].link {
                self.expect(retry_at);
            }
        }
    }

    /// Writes the requests that were started.
    pub fn flush(&mut self, io: &mut Io) {
        while let Some(index) = self.dirty.pop_front() {
            let index = index as usize;
            if self.connections[index].write().is_err() {
                // What the peer sent before it closed may still be unread: a refusal with a reason, for instance.
                self.read(io, index, Until::End);
                match self.connections[index].link {
                    Link::Open { .. } => self.lose(io, index, Loss::Failed(ErrorKind::Reset)),
                    Link::Handshaking { .. } => self.handshake_failed(io, index, TlsFailure::Closed),
                    Link::Closed { .. } | Link::Connecting { .. } => {}
                }
            } else {
                self.unpark(index);
            }
        }
    }

    /// Ends timed-out requests and connects, calls the framers' timers and reopens connections whose time has come.
    pub fn housekeeping(&mut self, io: &mut Io, now: Timestamp) {
        if now < self.housekeeping_at {
            return;
        }
        // A request sent after this scan cannot time out before `now + timeout`.
        self.housekeeping_at = now + self.settings.timeout.max(SCAN);
        self.scanned = now;
        for index in 0..self.connections.len() {
            match &self.connections[index].link {
                Link::Closed { .. } => self.reopen(io, index, now),
                Link::Connecting { deadline, .. } => {
                    let deadline = *deadline;
                    if now >= deadline {
                        let error = io::Error::new(io::ErrorKind::TimedOut, "the connect timed out");
                        self.connect_failed(io, index, error, now);
                    } else {
                        self.expect(deadline);
                    }
                }
                Link::Handshaking { deadline, .. } => {
                    let deadline = *deadline;
                    if now >= deadline {
                        self.handshake_failed(io, index, TlsFailure::TimedOut);
                    } else {
                        self.expect(deadline);
                    }
                }
                Link::Open { .. } => self.check_open(io, index, now),
            }
        }
    }

    fn check_open(&mut self, io: &mut Io, index: usize, now: Timestamp) {
        let timeout = self.settings.timeout;
        if let Some(oldest) = self.connections[index].oldest() {
            let late = now.since(oldest) >= timeout;
            if late {
                let sent_by = Timestamp::from_nanos(now.as_nanos() - timeout.as_nanos());
                let cancelled = self.connections[index].cancel(sent_by, now, &mut self.finished);
                if cancelled == Cancel::Connection {
                    return self.lose(io, index, Loss::TimedOut(sent_by));
                }
                if self.connections[index].drained() {
                    return self.lose(io, index, Loss::Spent);
                }
                self.list_all(index);
            }
            if let Some(oldest) = self.connections[index].oldest() {
                self.expect(oldest + timeout);
            }
        }
        let connection = &mut self.connections[index];
        let mut context =
            reply_context(&mut *self.sessions, self.settings, index, &mut self.finished, &mut self.messages);
        let (next, broken) = connection.tick(now, &mut context);
        if connection.has_output() {
            self.dirty.push_back(index as u32);
        }
        if let Some(kind) = broken {
            self.lose(io, index, Loss::Failed(kind));
        } else if let Some(next) = next {
            self.expect(next);
        }
    }

    /// Schedules housekeeping for `moment`, or for the earliest time after it that a scan may follow the last one.
    /// However many connections ask, each scan covers all of them.
    fn expect(&mut self, moment: Timestamp) {
        self.housekeeping_at = self.housekeeping_at.min(moment.max(self.scanned + SCAN));
    }

    /// Ends the outstanding requests of a connection, closes it and, while a window issues requests, opens it unread.
    fn lose(&mut self, io: &mut Io, index: usize, loss: Loss) {
        let now = sys::clock();
        let connection = &mut self.connections[index];
        let idle = connection.busy == 0;
        let closed_early = connection.started == 0 && now.since(connection.opened) < EARLY_CLOSE;
        match loss {
            Loss::Failed(kind) => connection.fail(None, kind, now, &mut self.finished),
            Loss::TimedOut(sent_by) => {
                connection.fail(Some(sent_by), ErrorKind::Reset, now, &mut self.finished);
            }
            Loss::Spent => {}
        }
        match loss {
            Loss::Failed(ErrorKind::Protocol) if idle => self.set_pending_error(index, ErrorKind::Protocol),
            Loss::Failed(kind) if closed_early => self.set_pending_error(index, kind),
            Loss::Failed(_) | Loss::TimedOut(_) | Loss::Spent => {}
        }
        if let Some(failure) = self.connections[index].take_tls_failure() {
            self.connect_failure = Some(io::Error::other(failure));
        }
        if loss == Loss::Spent {
            self.connections[index].send_close_alert();
        }
        let failures = self.connections[index].failures;
        self.close(index, now + backoff(failures));
        if loss != Loss::Spent {
            self.connections[index].failures = failures.saturating_add(1);
        }
        self.reopen(io, index, now);
    }

    /// Notes an error that the next request will fail with.
    fn set_pending_error(&mut self, index: usize, kind: ErrorKind) {
        if self.connections[index].pending_error.is_none() && self.demand == Demand::Running {
            self.with_pending_error.push_back(index as u32);
        }
        self.connections[index].pending_error.get_or_insert(kind);
    }

    fn close(&mut self, index: usize, retry_at: Timestamp) {
        // The lists of ready slots and of unread connections keep their entries for it: their reader checks whether the
        // connection is open. Removing the entries here would take a search through all others each time.
        let connection = &mut self.connections[index];
        if let Link::Connecting { socket, .. } = &connection.link {
            self.connects += u64::from(sys::is_connected(socket.as_fd()));
        }
        self.count.closing(&connection.link);
        self.closed_traffic.add(connection.close(retry_at));
    }

    /// Opens a closed connection if a window needs it and its time has come.
    fn reopen(&mut self, io: &mut Io, index: usize, now: Timestamp) {
        let connection = &self.connections[index];
        let Link::Closed { retry_at } = connection.link else { return };
        let is_needed = self.demand == Demand::Running || connection.has_repeated();
        if !is_needed || connection.pending_error.is_some() {
            return;
        }
        if now >= retry_at {
            self.begin_connect(io, index, now);
        } else {
            self.expect(retry_at);
        }
    }

    fn begin_connect(&mut self, io: &mut Io, index: usize, now: Timestamp) {
        let generation = self.connections[index].generation;
        let token = Token { variant: self.variant.0, generation, connection: index as u32 };
        let begun = io.dial.dial(self.variant).and_then(|socket| {
            io.epoll.add(socket.as_fd(), token.pack())?;
            Ok(socket)
        });
        match begun {
            Ok(socket) => {
                let deadline = now + self.settings.connect_timeout;
                self.connections[index].link = Link::Connecting { socket, begun: now, deadline };
                self.count.begun();
                self.expect(deadline);
            }
            Err(error) => self.give_up_connect(index, error, ErrorKind::Connect, now),
        }
    }

    fn finish_connect(&mut self, io: &mut Io, index: usize) {
        let connection = &mut self.connections[index];
        let retry_at = connection.opened;
        match std::mem::replace(&mut connection.link, Link::Closed { retry_at }) {
            Link::Connecting { socket, begun, deadline } => match sys::connect_result(socket.as_fd()) {
                Ok(()) => {
                    io.dial.succeeded(self.variant, socket.as_fd());
                    self.connects += 1;
                    if let Some(book) = &mut self.stamps {
                        book.turn_on(&mut connection.stamps, socket.as_fd());
                    }
                    if connection.is_secured() {
                        return self.begin_handshake(io, index, socket, deadline);
                    }
                    connection.open(socket, sys::clock());
                    self.count.opened();
                    self.list_all(index);
                }
                Err(error) => {
                    connection.link = Link::Connecting { socket, begun, deadline };
                    self.connect_failed(io, index, error, sys::clock());
                }
            },
            other => connection.link = other,
        }
    }

    /// The connect in progress failed: try the next address at once, if there is one.
    fn connect_failed(&mut self, io: &mut Io, index: usize, error: io::Error, now: Timestamp) {
        let after = match &self.connections[index].link {
            Link::Connecting { socket, .. } => io.dial.failed(self.variant, socket.as_fd()),
            Link::Closed { .. } | Link::Handshaking { .. } | Link::Open { .. } => AfterFailure::Exhausted,
        };
        self.close(index, now);
        match after {
            AfterFailure::TryNext => self.begin_connect(io, index, now),
            AfterFailure::Exhausted => self.give_up_connect(index, error, ErrorKind::Connect, now),
        }
    }

    fn give_up_connect(&mut self, index: usize, error: io::Error, kind: ErrorKind, now: Timestamp) {
        self.connect_failure = Some(error);
        let failures = self.connections[index].failures.saturating_add(1);
        let retry_at = now + backoff(failures);
        self.connections[index].failures = failures;
        self.connections[index].link = Link::Closed { retry_at };
        if self.connections[index].has_repeated() {
            // The connection was for these.
            self.connections[index].fail_repeated(kind, now, &mut self.finished);
            if self.demand == Demand::Running {
                self.expect(retry_at);
            }
        } else if self.demand == Demand::Running {
            self.set_pending_error(index, kind);
        }
    }
}

/// How long to wait after this many losses in a row: nothing after the first loss of a connection that had served.
fn backoff(failures: u32) -> Nanoseconds {
    match failures {
        0 => Nanoseconds::ZERO,
        n => (BACKOFF_FIRST * (1 << (n - 1).min(10))).min(BACKOFF_LAST),
    }
}

fn reply_context<'a>(
    sessions: &'a mut dyn Sessions,
    settings: Settings,
    index: usize,
    finished: &'a mut Vec<Finished>,
    messages: &'a mut Vec<MessageTime>,
) -> ReplyContext<'a> {
    ReplyContext { sessions, slot: index as u32 * settings.in_flight, finished, messages }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backoff_grows_from_nothing_to_its_bound() {
        let waits: Vec<u64> = (0..7).map(|n| backoff(n).as_nanos() / 1_000_000).collect();
        assert_eq!(waits, [0, 1, 2, 4, 8, 10, 10]);
        assert_eq!(backoff(u32::MAX), BACKOFF_LAST);
    }

    #[test]
    fn tokens_survive_the_kernel() {
        let token = Token { variant: 0xfffe, generation: 0xabcd, connection: 59_999 };
        assert_eq!(Token::unpack(token.pack()), token);
    }
}
