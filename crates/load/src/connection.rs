//! One connection: its socket, its framer, its buffers and its lanes, the places for requests in flight.
//!
//! It moves bytes between socket and framer and reports which requests ended. The pool and the window decide when to
//! send, when to open and when to give up.

mod repeated;
mod traffic;

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{ErrorKind, HELD_UP, HandshakeKind, Outcome, RequestRecord, Traffic};

use crate::framer::request::{Rendered, SessionPlace};
use crate::framer::{AnyFramer, Cancel, Event, Framer, In, Out, Sink};
use crate::recorder::MessageTime;
use crate::session::{LongerTime, Reply, RequestId, Sessions, Step};
use crate::stack::Stack;
use crate::stamps::{self, SocketStamps};
use crate::sys;
use crate::tls::{TlsFailure, TlsSession};

/// Most reads in a row before other connections get their turn.
const READS: usize = 4;

/// With this many bytes waiting to be written, no further request is added to a batch, so that the time stamp taken
/// before a write is true for every request in it.
const BATCH_BYTES: usize = 64 * 1024;

/// A request that is over.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished {
    pub record: RequestRecord,
    /// The generator's own lateness; `None` where the request was never sent.
    pub lag: Option<Nanoseconds>,
    /// The slot it was in.
    pub slot: u32,
    pub request: RequestId,
    /// Whether a good reply paused between two of its parts for as long as a delayed acknowledgement takes.
    pub is_held_up: bool,
    /// The time of the session that it ended, if that has one.
    pub session: Option<MessageTime>,
    pub reason: Reason,
}

/// Why a request is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    /// The load has it.
    Load,
    /// A reply led to it; its time is recorded under this operation.
    FollowUp(OperationId),
    /// The same, but it was not due yet when the window ended: its time is not recorded.
    Remainder,
}

/// What a lane is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneState {
    /// Idle, and not in the pool's list of ready slots.
    Free,
    /// Idle, and in that list.
    Listed,
    /// Idle for its think time.
    Thinking,
    /// Its request waits in the output buffer.
    Started,
    /// Its request is sent and not yet answered.
    Sent,
    /// Its request is to be sent again: the peer has refused it, so that it waits for another connection, or has answered that
    /// the request should be made once more.
    Repeated,
}

/// One place for a request in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lane {
    pub state: LaneState,
    /// Its number among all slots of the variant.
    slot: u32,
    /// When it last became free.
    pub freed: Timestamp,
    /// How the session's last request ended; `None` where the next request opens a session.
    pub reply: Option<Reply>,
    /// When its next request is due, once its think time has been drawn.
    pub planned: Option<Timestamp>,
    /// The next request of its session, if the workload has already been asked for it.
    pub prefetched: Option<RequestId>,
    /// Why its request is sent.
    pub reason: Reason,
    request: RequestId,
    operation: OperationId,
    due: Timestamp,
    sent: Timestamp,
    /// When the request could have been sent at the earliest: due, the lane free and the connection open.
    sendable: Timestamp,
    /// Whether the request has been sent, on this connection or on an earlier one.
    was_sent: bool,
    /// How often peers have refused the request.
    refusals: u32,
    /// Whether its last attempt was answered, and that with the wish for another.
    is_asked_again: bool,
    /// The operation under which the time of each message of the reply is recorded, if any.
    message_operation: Option<OperationId>,
    /// Its place in a session with a time of its own.
    session: Option<SessionPlace>,
    /// When the first request of that session was due.
    session_due: Timestamp,
    /// When the last message of the reply came; before the first, when the request was sent.
    last_message: Timestamp,
    /// When the last part of the reply came, if one has.
    last_part: Option<Timestamp>,
    /// Whether the reply paused between two parts.
    is_held_up: bool,
}

/// The socket's state.
#[derive(Debug)]
pub(crate) enum Link {
    /// No socket; it must not be opened before this time.
    Closed { retry_at: Timestamp },
    /// The connect is in progress and has until `deadline`.
    Connecting { socket: OwnedFd, begun: Timestamp, deadline: Timestamp },
    /// The socket is connected; the TLS handshake is in progress and has until `deadline`.
    Handshaking { socket: OwnedFd, begun: Timestamp, deadline: Timestamp },
    /// Established.
    Open { socket: OwnedFd },
}

/// Whether the socket takes bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    Free,
    Blocked,
}

/// Whether the peer will answer more requests on this connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Persistent,
    Draining,
}

/// Whether free lanes are missing from the ready list because the connection took no more requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parked {
    None,
    Some,
}

/// How far to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// To the first read that does not fill the buffer: then nothing more is there.
    Short,
    /// To the end or until nothing is there, because the socket reported its end.
    End,
}

/// The result of reading.
#[derive(Debug)]
pub(crate) enum Received {
    /// The connection is alive and everything was read.
    All,
    /// The connection is alive; there may be more to read after others had their turn.
    More,
    /// It ended, in mid-reply or not.
    Ended,
    /// It failed: an error of the socket, or bytes that break the protocol.
    Broken(ErrorKind),
}

/// What framer events need besides the connection.
pub(crate) struct ReplyContext<'a> {
    pub sessions: &'a mut dyn Sessions,
    /// The slot of the connection's lane 0.
    pub slot: u32,
    pub finished: &'a mut Vec<Finished>,
    pub messages: &'a mut Vec<MessageTime>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub link: Link,
    pub generation: u16,
    pub lanes: Box<[Lane]>,
    /// Lanes with a request that is not over.
    pub busy: u32,
    pub writing: Writing,
    pub parked: Parked,
    /// Losses in a row without a whole reply in between.
    pub failures: u32,
    /// An error between requests; the next request fails with it.
    pub pending_error: Option<ErrorKind>,
    /// When it was opened.
    pub opened: Timestamp,
    /// Requests started on it since then.
    pub started: u64,
    /// Most requests that it may serve.
    pub limit: u64,
    /// How long each read is held back before its time is taken.
    pub hold_back: Option<Nanoseconds>,
    /// Lanes whose request is in `out` and has no send time yet.
    fresh: Vec<u32>,
    /// Lanes whose request is to be sent again.
    repeated: Vec<u32>,
    /// How often requests were sent again since the window began.
    resent: u64,
    life: Life,
    framer: AnyFramer,
    /// What the framer wrote; over TLS, not yet encrypted.
    out: Out,
    /// The TLS session, if the connection has one.
    tls: Option<Box<TlsSession>>,
    /// Received bytes the framer has not consumed.
    rest: Vec<u8>,
    /// The socket's counts when the window began.
    baseline: Traffic,
    /// Bytes written to and read from the socket since it was opened.
    moved: Moved,
    /// Kernel time stamps of packets sent and received, if asked for.
    pub stamps: Option<Box<SocketStamps>>,
}

/// Bytes that went through a socket, counted here because the kernel does not count them for every kind of socket.
#[derive(Debug, Clone, Copy, Default)]
struct Moved {
    written: u64,
    read: u64,
    /// Bytes of bodies of requests and of replies.
    payload: PayloadBytes,
}

#[derive(Debug, Clone, Copy, Default)]
struct PayloadBytes {
    sent: u64,
    received: u64,
}

impl Lane {
    fn new(slot: u32) -> Self {
        let start = Timestamp::default();
        Self {
            state: LaneState::Free,
            slot,
            freed: start,
            reply: None,
            planned: None,
            prefetched: None,
            reason: Reason::Load,
            request: RequestId(0),
            operation: OperationId(0),
            due: start,
            sent: start,
            sendable: start,
            was_sent: false,
            refusals: 0,
            is_asked_again: false,
            message_operation: None,
            session: None,
            session_due: start,
            last_message: start,
            last_part: None,
            is_held_up: false,
        }
    }

    /// Notes that a part of the reply came.
    fn part(&mut self, now: Timestamp) {
        self.is_held_up |= self.last_part.is_some_and(|before| HELD_UP.contains(&now.since(before)));
        self.last_part = Some(now);
    }

    /// Notes `count` messages of the reply that one read brought: the first took the time since the one before, the
    /// others none.
    fn message(&mut self, count: u32, now: Timestamp, messages: &mut Vec<MessageTime>) {
        let Some(operation) = self.message_operation else { return };
        for _ in 0..count {
            let time = now.since(self.last_message);
            messages.push(MessageTime { operation, time, outcome: Outcome::Ok });
            self.last_message = now;
        }
    }

    /// Takes up a request that is due at `due`.
    fn take_up(&mut self, rendered: &Rendered, due: Timestamp) {
        self.operation = rendered.operation();
        self.message_operation = rendered.message_operation();
        self.session = rendered.session();
        if self.session.is_some_and(|place| place.is_first) {
            self.session_due = due;
        }
        self.due = due;
        (self.was_sent, self.refusals, self.is_asked_again) = (false, 0, false);
    }

    /// Ends the lane's request.
    fn finish(&mut self, outcome: Outcome, done: Timestamp) -> Finished {
        let was_sent = self.was_sent;
        let sent = if was_sent { self.sent } else { self.due };
        self.state = LaneState::Free;
        self.freed = done;
        self.planned = None;
        self.reply = Some(Reply { request: self.request, outcome });
        let record = RequestRecord { due: self.due, sent, done, operation: self.operation, outcome };
        let lag = was_sent.then(|| self.sent.since(self.sendable));
        // A pause between messages is the server's own timing.
        let is_held_up = self.is_held_up && outcome == Outcome::Ok && self.message_operation.is_none();
        let is_over = |place: &SessionPlace| place.is_last || outcome != Outcome::Ok;
        let session = self.session.filter(is_over).map(|place| MessageTime {
            operation: place.operation,
            time: done.since(self.session_due),
            outcome,
        });
        let reason = std::mem::replace(&mut self.reason, Reason::Load);
        Finished { record, lag, slot: self.slot, request: self.request, is_held_up, session, reason }
    }
}

/// Continues the lane's session, or opens the next one of the stream.
fn next_request(sessions: &mut dyn Sessions, slot: u32, lane: &mut Lane) -> RequestId {
    let reply = lane.reply.take();
    if let Some(prefetched) = lane.prefetched.take() {
        return prefetched;
    }
    match reply.map(|reply| sessions.next(slot, &reply)) {
        Some(Step::Send(request)) => request,
        // Where sessions lead to later requests, the pool has asked for the next step already.
        Some(Step::End | Step::Later(_)) | None => sessions.open(slot),
    }
}

/// Busy-waits for `time`, then returns the clock.
#[cold]
pub(crate) fn after(time: Nanoseconds) -> Timestamp {
    let until = sys::clock() + time;
    loop {
        let now = sys::clock();
        if now >= until {
            return now;
        }
    }
}

impl Connection {
    /// A closed connection with this many lanes; `slot` is the number of its first lane among all slots of the variant.
    pub fn new(stack: &Stack, in_flight: u32, slot: u32) -> Self {
        Self {
            link: Link::Closed { retry_at: Timestamp::default() },
            generation: 0,
            lanes: (slot..slot + in_flight).map(Lane::new).collect(),
            busy: 0,
            writing: Writing::Free,
            parked: Parked::None,
            failures: 0,
            pending_error: None,
            opened: Timestamp::default(),
            started: 0,
            limit: u64::MAX,
            hold_back: None,
            fresh: Vec::with_capacity(in_flight as usize),
            repeated: Vec::new(),
            resent: 0,
            life: Life::Persistent,
            framer: stack.framing.framer(),
            out: Out::default(),
            tls: stack.tls.clone().map(|client| Box::new(TlsSession::new(client))),
            rest: Vec::new(),
            baseline: Traffic::default(),
            moved: Moved::default(),
            stamps: None,
        }
    }

    /// Whether another request may be started now.
    pub fn takes_more(&self) -> bool {
        matches!(self.link, Link::Open { .. })
            && self.life == Life::Persistent
            && self.started < self.limit
            && self.writing == Writing::Free
            && self.out.pending().len() < BATCH_BYTES
            && self.framer.room() > 0
    }

    /// Whether there are bytes to write and the socket may take them.
    pub fn has_output(&self) -> bool {
        let sealed = self.tls.as_ref().is_some_and(|tls| !tls.wire.is_empty());
        (sealed || !self.out.is_empty()) && self.writing == Writing::Free
    }

    /// Whether nothing more will be sent on it and nothing is outstanding: the peer announced that it closes, or the
    /// connection served its limit.
    pub fn drained(&self) -> bool {
        (self.life == Life::Draining || self.started >= self.limit) && self.busy == 0
    }

    /// Starts the lane's next request, due at `due`. Call [`write`](Self::write) afterwards. A request that the framer
    /// refuses ends at once.
    pub fn start(&mut self, lane_index: u32, due: Timestamp, now: Timestamp, context: &mut ReplyContext<'_>) {
        let lane = &mut self.lanes[lane_index as usize];
        let slot = context.slot + lane_index;
        lane.request = next_request(context.sessions, slot, lane);
        lane.take_up(context.sessions.request(lane.request), due);
        self.send(lane_index, now, context);
    }

    /// Sends the lane's request.
    fn send(&mut self, lane_index: u32, now: Timestamp, context: &mut ReplyContext<'_>) {
        let lane = &mut self.lanes[lane_index as usize];
        let rendered = context.sessions.request(lane.request);
        let due = lane.due;
        lane.sendable = due.max(lane.freed).max(self.opened);
        (lane.last_part, lane.is_held_up) = (None, false);
        lane.state = LaneState::Started;
        if self.framer.start(u64::from(lane_index), rendered, &mut self.out).is_err() {
            context.finished.push(lane.finish(Outcome::Error(ErrorKind::Protocol), now));
            return;
        }
        self.moved.payload.sent += rendered.payload();
        self.busy += 1;
        self.started += 1;
        self.fresh.push(lane_index);
    }

    /// Fails lane 0's next request, due at `due`, because the connection failed before it could be sent.
    pub fn fail_next(
        &mut self,
        kind: ErrorKind,
        due: Timestamp,
        now: Timestamp,
        context: &mut ReplyContext<'_>,
    ) {
        let lane = &mut self.lanes[0];
        let listed = lane.state;
        lane.request = next_request(context.sessions, context.slot, lane);
        lane.take_up(context.sessions.request(lane.request), due);
        context.finished.push(lane.finish(Outcome::Error(kind), now.max(due)));
        lane.state = listed;
    }

    /// Writes the output and stamps the requests in it with the time before the write.
    pub fn write(&mut self) -> io::Result<()> {
        let (Link::Open { socket } | Link::Handshaking { socket, .. }) = &self.link else { return Ok(()) };
        let wire = match &mut self.tls {
            None => &mut self.out,
            Some(tls) => {
                if !self.out.is_empty() && tls.established().is_some() {
                    tls.seal(self.out.pending()).map_err(io::Error::other)?;
                    self.out.clear();
                }
                &mut tls.wire
            }
        };
        if !self.fresh.is_empty() {
            if let Some(stamps) = &mut self.stamps {
                stamps.begin(wire.pending().len());
            }
            let now = sys::clock();
            for lane in self.fresh.drain(..) {
                let lane = &mut self.lanes[lane as usize];
                // It may have been refused, or have failed, before it could be written.
                if lane.state == LaneState::Started {
                    self.resent += u64::from(lane.was_sent && !lane.is_asked_again);
                    (lane.sent, lane.last_message, lane.was_sent) = (now, now, true);
                    lane.is_asked_again = false;
                    lane.state = LaneState::Sent;
                }
            }
        }
        while !wire.is_empty() {
            match sys::send(socket.as_fd(), wire.pending()) {
                Ok(count) => {
                    wire.wrote(count);
                    self.moved.written += count as u64;
                    if let Some(stamps) = &mut self.stamps {
                        stamps.wrote(count);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.writing = Writing::Blocked;
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.writing = Writing::Free;
        Ok(())
    }

    /// Reads and passes the bytes to the framer. The clock is read once per read: all replies completed by it share
    /// that time.
    pub fn receive(&mut self, buffer: &mut [u8], until: Until, context: &mut ReplyContext<'_>) -> Received {
        for _ in 0..READS {
            let (Link::Open { socket } | Link::Handshaking { socket, .. }) = &self.link else {
                return Received::All;
            };
            let held = self.tls.as_ref().map_or(0, |tls| tls.held());
            match stamps::receive(&mut self.stamps, socket.as_fd(), &mut buffer[held..]) {
                // Without TLS's close alert the data was cut off, so no reply may count as whole.
                Ok(0) if self.tls.is_some() => return Received::Ended,
                Ok(0) => {
                    let now = sys::clock();
                    self.with_framer(now, context, |framer, _, sink| framer.eof(sink));
                    return Received::Ended;
                }
                Ok(count) => {
                    self.moved.read += count as u64;
                    let now = match self.hold_back {
                        None => sys::clock(),
                        Some(time) => after(time),
                    };
                    if let Some(end) = self.take(&mut buffer[..held + count], now, context) {
                        return end;
                    }
                    if until == Until::Short && held + count < buffer.len() {
                        return Received::All;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::All,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Received::Broken(ErrorKind::Reset),
            }
        }
        Received::More
    }

    /// Takes the bytes that were read at `now`; returns how the connection ended, if it did.
    fn take(&mut self, bytes: &mut [u8], now: Timestamp, context: &mut ReplyContext<'_>) -> Option<Received> {
        let Some(mut tls) = self.tls.take() else {
            return self.absorb(bytes, now, context).map(Received::Broken);
        };
        let mut broken = None;
        let taken = tls.receive(bytes, &mut |plain| {
            if broken.is_none() {
                broken = self.absorb(plain, now, context);
            }
        });
        let over = tls.is_closed_by_peer();
        self.tls = Some(tls);
        match (broken, taken) {
            (Some(kind), _) => Some(Received::Broken(kind)),
            (None, Err(_)) => Some(Received::Broken(ErrorKind::Tls)),
            (None, Ok(())) if over => {
                self.with_framer(now, context, |framer, _, sink| framer.eof(sink));
                Some(Received::Ended)
            }
            (None, Ok(())) => None,
        }
    }

    /// Passes received bytes to the framer, after those it left over before; keeps what it leaves now.
    fn absorb(&mut self, bytes: &[u8], now: Timestamp, context: &mut ReplyContext<'_>) -> Option<ErrorKind> {
        if self.rest.is_empty() {
            let mut input = In::new(bytes);
            let broken =
                self.with_framer(now, context, |framer, out, sink| framer.receive(&mut input, out, sink));
            self.rest.extend_from_slice(input.rest());
            return broken;
        }
        let mut rest = std::mem::take(&mut self.rest);
        rest.extend_from_slice(bytes);
        let mut input = In::new(&rest);
        let broken =
            self.with_framer(now, context, |framer, out, sink| framer.receive(&mut input, out, sink));
        let consumed = input.consumed();
        rest.drain(..consumed);
        self.rest = rest;
        broken
    }

    /// Calls the framer's timer.
    pub fn tick(
        &mut self,
        now: Timestamp,
        context: &mut ReplyContext<'_>,
    ) -> (Option<Timestamp>, Option<ErrorKind>) {
        let mut next = None;
        let broken = self.with_framer(now, context, |framer, out, sink| next = framer.tick(now, out, sink));
        (next, broken)
    }

    /// Calls the framer and handles its events. Returns how the connection broke, if it did.
    fn with_framer(
        &mut self,
        now: Timestamp,
        context: &mut ReplyContext<'_>,
        act: impl FnOnce(&mut AnyFramer, &mut Out, &mut Sink<'_>),
    ) -> Option<ErrorKind> {
        let Self { framer, out, lanes, busy, life, failures, moved, repeated, .. } = self;
        let most = repeated::most_refusals(lanes.len());
        let ReplyContext { sessions, slot, finished, messages } = context;
        let mut broken = None;
        let slot_of = |id: u64| *slot + id as u32;
        act(framer, out, &mut |event| match event {
            Event::Head(id, head) => {
                lanes[id as usize].part(now);
                sessions.check(slot_of(id)).head(&head);
            }
            Event::Data(id, bytes) => {
                lanes[id as usize].part(now);
                moved.payload.received += bytes.len() as u64;
                sessions.check(slot_of(id)).data(bytes);
            }
            Event::Message(id, count) => {
                lanes[id as usize].message(count, now, messages);
                sessions.check(slot_of(id)).messages(count);
            }
            Event::Value(id, index) => sessions.check(slot_of(id)).value(index),
            Event::Trailers(id, fields) => sessions.check(slot_of(id)).trailers(&fields),
            Event::Done(id, outcome) => {
                let mut judged = outcome;
                let mut times = [None, None];
                if outcome == Outcome::Ok {
                    *failures = 0;
                    let check = sessions.check(slot_of(id));
                    judged = check.done();
                    let kind = check.recorded_as();
                    times = [
                        kind.map(|operation| LongerTime { operation, by: Nanoseconds::ZERO }),
                        check.longer_time(),
                    ];
                }
                *busy -= 1;
                if judged != Outcome::Ok
                    && outcome == Outcome::Ok
                    && let Some(operation) = sessions.check(slot_of(id)).asks_again()
                {
                    messages.push(lanes[id as usize].ask_again(operation, now));
                    repeated.push(id as u32);
                    return;
                }
                let ended = lanes[id as usize].finish(judged, now);
                for time in times.into_iter().flatten().filter(|_| judged == Outcome::Ok) {
                    let LongerTime { operation, by } = time;
                    let time = now.since(ended.record.due) + by;
                    messages.push(MessageTime { operation, time, outcome: judged });
                }
                finished.push(ended);
            }
            Event::Refused(id) => {
                *busy -= 1;
                let lane = &mut lanes[id as usize];
                match lane.refused(most) {
                    true => repeated.push(id as u32),
                    false => finished.push(lane.finish(Outcome::Error(ErrorKind::Reset), now)),
                }
            }
            Event::Drain => *life = Life::Draining,
            Event::Broken(kind) => broken = Some(kind),
        });
        broken
    }

    /// When the longest outstanding request was sent.
    pub fn oldest(&self) -> Option<Timestamp> {
        let outstanding = self.lanes.iter().filter(|lane| lane.state == LaneState::Sent);
        outstanding.map(|lane| lane.sent).min()
    }

    /// Cancels every request sent at or before `sent_by` as timed out, one by one, if the protocol can; otherwise
    /// changes nothing, and the connection must be closed.
    pub fn cancel(&mut self, sent_by: Timestamp, now: Timestamp, finished: &mut Vec<Finished>) -> Cancel {
        for at in 0..self.lanes.len() {
            let lane = &mut self.lanes[at];
            if lane.state != LaneState::Sent || lane.sent > sent_by {
                continue;
            }
            if self.framer.cancel(at as u64, &mut self.out) == Cancel::Connection {
                return Cancel::Connection;
            }
            self.busy -= 1;
            finished.push(lane.finish(Outcome::Error(ErrorKind::Timeout), now));
        }
        Cancel::Request
    }

    /// Ends every request sent at or before `sent_by` as timed out and the other outstanding ones as `others`.
    pub fn fail(
        &mut self,
        sent_by: Option<Timestamp>,
        others: ErrorKind,
        now: Timestamp,
        finished: &mut Vec<Finished>,
    ) {
        for lane in self.lanes.iter_mut() {
            let late = sent_by.is_some_and(|limit| lane.sent <= limit);
            match lane.state {
                LaneState::Sent if late => {
                    finished.push(lane.finish(Outcome::Error(ErrorKind::Timeout), now));
                }
                LaneState::Sent | LaneState::Started => {
                    finished.push(lane.finish(Outcome::Error(others), now));
                }
                LaneState::Free | LaneState::Listed | LaneState::Thinking | LaneState::Repeated => {}
            }
        }
        self.busy = 0;
    }

    /// Whether there is TLS between socket and framer.
    pub fn is_secured(&self) -> bool {
        self.tls.is_some()
    }

    /// Begins the TLS handshake on a connected socket.
    pub fn begin_handshake(
        &mut self,
        socket: OwnedFd,
        begun: Timestamp,
        deadline: Timestamp,
    ) -> Result<(), TlsFailure> {
        self.link = Link::Handshaking { socket, begun, deadline };
        self.tls.as_mut().map_or(Ok(()), |tls| tls.begin())
    }

    /// Becomes open if the handshake is complete; returns its kind and duration.
    pub fn complete_handshake(&mut self, now: Timestamp) -> Option<(HandshakeKind, Nanoseconds)> {
        let kind = self.tls.as_ref()?.established()?;
        match std::mem::replace(&mut self.link, Link::Closed { retry_at: now }) {
            Link::Handshaking { socket, begun, .. } => {
                self.open(socket, now);
                Some((kind, now.since(begun)))
            }
            other => {
                self.link = other;
                None
            }
        }
    }

    /// Why TLS failed, if it did. Returns the reason once.
    pub fn take_tls_failure(&mut self) -> Option<TlsFailure> {
        self.tls.as_mut().and_then(|tls| tls.take_failure())
    }

    /// Sends TLS's close alert before a close that no failure caused.
    pub fn send_close_alert(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.close();
            // As much as the socket takes at once.
            let _ = self.write();
        }
    }

    /// Becomes open.
    pub fn open(&mut self, socket: OwnedFd, now: Timestamp) {
        self.baseline = Traffic::default();
        self.moved = Moved::default();
        self.link = Link::Open { socket };
        self.opened = now;
        self.started = 0;
    }

    /// Drops the socket and all state that belongs to it; it must not be opened again before `retry_at`. Requests must
    /// have been ended before. Returns the traffic since the window began.
    pub fn close(&mut self, retry_at: Timestamp) -> Traffic {
        let traffic = self.traffic();
        self.link = Link::Closed { retry_at };
        self.generation = self.generation.wrapping_add(1);
        self.framer.reset();
        self.out.clear();
        if let Some(tls) = &mut self.tls {
            tls.reset();
        }
        // A hostile peer may have made it large; ordinary peers never fill it.
        self.rest = Vec::new();
        self.fresh.clear();
        self.life = Life::Persistent;
        self.writing = Writing::Free;
        self.parked = Parked::None;
        self.busy = 0;
        traffic
    }

    /// Begins a window at `now`: no session is open and every lane is free.
    pub fn begin_window(&mut self, now: Timestamp) {
        for lane in self.lanes.iter_mut() {
            lane.state = LaneState::Free;
            lane.freed = now;
            lane.reply = None;
            lane.planned = None;
            lane.prefetched = None;
            lane.reason = Reason::Load;
        }
        self.repeated.clear();
        self.resent = 0;
        if let Some(counts) = self.counts() {
            self.baseline = counts;
        }
    }
}
