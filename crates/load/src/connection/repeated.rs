//! Requests to be sent again: those that the peer refused by an announced end wait in their lanes for the next connection,
//! those whose reply asked for another attempt go out on this one.

use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::{ErrorKind, Outcome};

use super::{Connection, Finished, Lane, LaneState, ReplyContext};
use crate::recorder::MessageTime;

/// How often a request may be refused and sent again, at least. Where more requests are in flight on a connection, it is
/// as often as there are: a server that answers one on each connection then reaches the last of them, and one that
/// answers none gets no request without end.
const MOST_REFUSALS: u32 = 3;

/// How often a request may be refused on a connection of so many lanes.
pub(super) fn most_refusals(lanes: usize) -> u32 {
    MOST_REFUSALS.max(lanes as u32)
}

impl Lane {
    /// The peer refuses the lane's request. Returns whether it is to be sent again: at most `most` times.
    pub(super) fn refused(&mut self, most: u32) -> bool {
        self.refusals += 1;
        let is_repeated = self.refusals <= most;
        if is_repeated {
            self.state = LaneState::Repeated;
        }
        is_repeated
    }

    /// The reply asks for the lane's request once more. Returns the time of the attempt.
    pub(super) fn ask_again(&mut self, operation: OperationId, now: Timestamp) -> MessageTime {
        (self.state, self.freed, self.is_asked_again) = (LaneState::Repeated, now, true);
        MessageTime { operation, time: now.since(self.sent), outcome: Outcome::Ok }
    }
}

impl Connection {
    /// Whether requests wait to be sent again, on this connection or on the next.
    pub fn has_repeated(&self) -> bool {
        !self.repeated.is_empty()
    }

    /// Sends them again, the one that has been due for longest first, as far as the connection takes them.
    /// Call [`write`](Self::write) afterwards.
    pub fn send_repeated(&mut self, now: Timestamp, context: &mut ReplyContext<'_>) {
        let mut repeated = std::mem::take(&mut self.repeated);
        let lanes = &self.lanes;
        repeated.sort_unstable_by_key(|lane| (lanes[*lane as usize].due, *lane));
        let mut sent = 0;
        for &lane in &repeated {
            if !self.takes_more() {
                break;
            }
            self.send(lane, now, context);
            sent += 1;
        }
        repeated.drain(..sent);
        self.repeated = repeated;
    }

    /// Fails the requests that wait to be sent again.
    pub fn fail_repeated(&mut self, kind: ErrorKind, now: Timestamp, finished: &mut Vec<Finished>) {
        for lane in self.repeated.drain(..) {
            finished.push(self.lanes[lane as usize].finish(Outcome::Error(kind), now));
        }
    }

    /// How often requests were sent again since the window began.
    pub fn resent(&self) -> u64 {
        self.resent
    }
}
