//! Requests that the peer refused by an announced end: they wait in their lanes for the next connection.

use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::{ErrorKind, Outcome};

use super::{Connection, Finished, ReplyContext};

impl Connection {
    /// Whether requests that were refused wait for the connection to be opened again.
    pub fn has_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Sends refused requests again, the one that has been due for longest first, as far as the connection takes them.
    /// Call [`write`](Self::write) afterwards.
    pub fn send_refused(&mut self, now: Timestamp, context: &mut ReplyContext<'_>) {
        let mut refused = std::mem::take(&mut self.refused);
        let lanes = &self.lanes;
        refused.sort_unstable_by_key(|lane| (lanes[*lane as usize].due, *lane));
        let mut sent = 0;
        for &lane in &refused {
            if !self.takes_more() {
                break;
            }
            self.send(lane, now, context);
            sent += 1;
        }
        refused.drain(..sent);
        self.refused = refused;
    }

    /// Fails the requests that wait to be sent again.
    pub fn fail_refused(&mut self, kind: ErrorKind, now: Timestamp, finished: &mut Vec<Finished>) {
        for lane in self.refused.drain(..) {
            finished.push(self.lanes[lane as usize].finish(Outcome::Error(kind), now));
        }
    }

    /// How often requests were sent again since the window began.
    pub fn resent(&self) -> u64 {
        self.resent
    }
}
