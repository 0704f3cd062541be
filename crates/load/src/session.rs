//! What load asks of a workload: sessions that choose the next request, and checks of each reply.
//!
//! The workload crate implements these traits, one object per variant; the loop calls them on its hot path, so they
//! must not allocate in the steady state, block or read a clock. Bodies are passed on in pieces as they arrive: a check
//! compares or digests them and keeps no copy unless the next request depends on it.

use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::record::Outcome;
use weighbridge_model::record::counts::Counts;
use weighbridge_model::record::samples::Relayed;

use crate::failures::Failures;
use crate::framer::Head;
use crate::framer::request::Rendered;

/// Identifies a rendered request of a [`Sessions`] object, which defines the number: an index of a table of requests
/// rendered beforehand, or a slot's own request that is patched before each use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// What a slot does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Send(RequestId),
    /// The session is over; the loop opens the next one of the stream on this slot.
    End,
    /// The session is over too, and leads to a request that no schedule has.
    Later(Later),
}

/// Identifies a request that a reply leads to; the [`Sessions`] object defines the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FollowUp(pub u64);

/// A request that falls due some time after a reply, whatever slot is free then. In closed load that of the reply waits
/// for it, as the program that it stands for would. It is no offered load: its time is recorded as that of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Later {
    pub follow_up: FollowUp,
    pub delay: Nanoseconds,
    /// The operation under which its response time is recorded.
    pub operation: OperationId,
}

/// A further time of a good reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongerTime {
    /// The operation under which it is recorded.
    pub operation: OperationId,
    /// By how much it is longer than the response time.
    pub by: Nanoseconds,
}

/// How a slot's last request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    pub request: RequestId,
    /// Its outcome. If it is not [`Outcome::Ok`], the check may not have seen a head or all of the body.
    pub outcome: Outcome,
}

/// What is kept of a single request in addition to its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// The requested size.
    pub size: Bytes,
    /// The reply's status; `None` if no head came.
    pub status: Option<u16>,
    /// Bytes of the reply's body that came.
    pub length: Bytes,
    /// What a relay reported about its own request.
    pub relayed: Option<Relayed>,
}

/// Whether a request that ended was ever sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was sent.
    Sent,
    /// The connection failed before it could be sent.
    NeverSent,
}

/// The sessions of one variant: a seeded stream of sessions, each issuing requests on one slot.
///
/// A **slot** is one place for a request in flight: connection × in-flight place, numbered from 0. At most one request
/// is outstanding per slot. Calls for one slot come in the order `next`, `request`, then `check` for each piece of the
/// reply, then `next` again; calls for different slots interleave freely.
pub trait Sessions: Send {
    /// Prepares for slots `0..slots`. Called once, before anything else.
    fn prepare(&mut self, slots: u32);

    /// Starts the seeded request stream `substream` from its beginning and drops every open session. Two objects of one
    /// workload rewound to the same substream issue the same sessions in the same order of `open` calls.
    fn rewind(&mut self, substream: u64);

    /// The time, given before each round of sending and at a window's start: sessions read no clock.
    fn set_time(&mut self, now: Timestamp) {
        let _ = now;
    }

    /// Opens the next session of the stream on `slot` and returns its first request. A session still open there is
    /// dropped. Resets the slot's check for that request.
    fn open(&mut self, slot: u32) -> RequestId;

    /// The same if the schedule names the operation of the session's first request. Sessions with one kind of request
    /// can ignore it.
    fn open_with(&mut self, slot: u32, operation: OperationId) -> RequestId {
        let _ = operation;
        self.open(slot)
    }

    /// Continues the slot's session after `reply`. Resets the slot's check for the request that it returns.
    fn next(&mut self, slot: u32, reply: &Reply) -> Step;

    /// Whether a reply may lead to [`Step::Later`], or sessions may run out. Then `next` is called as soon as the request has
    /// ended.
    fn has_follow_ups(&self) -> bool {
        false
    }

    /// Whether no session of this window is left to open: a slot whose session is over then stays idle, and the window ends
    /// with the last of them. Where this may become true, [`has_follow_ups`](Self::has_follow_ups) must be: otherwise
    /// nobody knows yet whether a session goes on.
    fn has_ended(&self) -> bool {
        false
    }

    /// Opens the session of one request to which an earlier reply has led, on any slot. Called only where there are such.
    fn open_follow_up(&mut self, slot: u32, follow_up: FollowUp) -> RequestId {
        let _ = follow_up;
        self.open(slot)
    }

    /// The rendered request that the last `open` or `next` returned. It stays the same until one of them is called for
    /// that slot again.
    fn request(&self, id: RequestId) -> &Rendered;

    /// The check of the request outstanding on `slot`. Called once for each piece of a reply, so it must be an index,
    /// not a search.
    fn check(&mut self, slot: u32) -> &mut dyn Check;

    /// The request outstanding on `slot` ended, whatever its outcome; unless it was never sent, no other was begun
    /// there since. Called only while single requests are kept.
    fn over(&mut self, slot: u32, request: RequestId, fate: Fate) {
        let _ = (slot, request, fate);
    }

    /// What was seen of each request reported to [`over`](Self::over) since the last `rewind`, in that order.
    fn take_seen(&mut self) -> Vec<Seen> {
        Vec::new()
    }

    /// What peers said about failed replies since the last `rewind`, taken when a window is over. Checks note it when
    /// they find a reply wrong, so that good ones cost nothing; a workload may keep none.
    fn take_failures(&mut self) -> Failures {
        Failures::default()
    }

    /// What was counted since the last `rewind`, taken when a window is over; `None` if the workload counts nothing.
    fn take_counts(&mut self) -> Option<Counts> {
        None
    }
}

/// Checks one reply, piece by piece.
pub trait Check {
    /// The reply's head; called at most once, before any data.
    fn head(&mut self, head: &Head<'_>);

    /// The next piece of the body, transfer coding removed. Pieces have any length; their boundaries mean nothing.
    fn data(&mut self, bytes: &[u8]);

    /// The pieces of the body that follow are the value of the key at this index of the request's (requests for several
    /// keys only). Indices rise.
    fn value(&mut self, index: u16) {
        let _ = index;
    }

    /// `count` whole messages arrived (streaming protocols only).
    fn messages(&mut self, count: u32) {
        let _ = count;
    }

    /// The fields after the body, if there are any; called at most once, after all data.
    fn trailers(&mut self, fields: &Head<'_>) {
        let _ = fields;
    }

    /// The reply is whole: is it what the workload expects? A status outside 200 to 299 is `Error(Status)` unless the
    /// workload expects that status; wrong content is `Error(Check)`. Not called for a reply that was cut short, timed
    /// out or broke the protocol.
    fn done(&mut self) -> Outcome;

    /// Where the reply just found bad asks for the same request once more: the operation under which the time of that attempt
    /// is recorded, as that of a message is. Then the check is ready for the next attempt's reply, and the request is not over:
    /// it stays due when it was. Must not be so without end.
    fn asks_again(&mut self) -> Option<OperationId> {
        None
    }

    /// The operation under which the response time of the reply just found right is recorded too, as that of a message
    /// is: what kind of reply it was. Most workloads have none.
    fn recorded_as(&self) -> Option<OperationId> {
        None
    }

    /// A time that is the response time of the reply just found right and something more that is not waited for here.
    fn longer_time(&self) -> Option<LongerTime> {
        None
    }
}
