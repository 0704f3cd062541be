//! Opening many connections: how many are open or under way, and how many are begun at once before a window.
//!
//! Within a window nothing is held back: there a connect is in the time of the request that waits for it.

use weighbridge_model::quantity::Timestamp;

use super::{Io, Pool};
use crate::connection::Link;

/// Connects under way at once while all connections are being opened: half of the shortest queue of connections that
/// servers ask for as a rule (128). What a full queue turns away is answered a second later, and where many come at once
/// the kernel may even forget some that the client takes for established. Fewer would make distant servers slow to reach.
const AT_ONCE: u32 = 64;

/// Connections by what their sockets do, kept as they change so that nobody has to look at ten thousand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Established, TLS included.
    pub open: u32,
    /// Connecting or shaking hands.
    pub under_way: u32,
    /// Where the search for closed ones goes on.
    next: usize,
}

impl Count {
    /// A connection was begun.
    pub fn begun(&mut self) {
        self.under_way += 1;
    }

    /// One that was under way is open.
    pub fn opened(&mut self) {
        self.under_way -= 1;
        self.open += 1;
    }

    /// One with this link is about to be closed.
    pub fn closing(&mut self, link: &Link) {
        match link {
            Link::Open { .. } => self.open -= 1,
            Link::Connecting { .. } | Link::Handshaking { .. } => self.under_way -= 1,
            Link::Closed { .. } => {}
        }
    }
}

impl Pool {
    /// Connections that are open.
    pub fn open_count(&self) -> u32 {
        self.count.open
    }

    /// Begins to open closed connections, so many at once; call it again as they open. It goes on where it stopped and
    /// waits until half of those under way are done, so that the time for all of them grows as they do.
    pub fn open_missing(&mut self, io: &mut Io, now: Timestamp) {
        if self.count.under_way > AT_ONCE / 2 {
            return;
        }
        let total = self.connections.len();
        for _ in 0..total {
            // Where one could not even be begun, the others will not fare better.
            if self.count.under_way >= AT_ONCE || self.connect_failure.is_some() {
                return;
            }
            let index = self.count.next % total;
            self.count.next = index + 1;
            if matches!(self.connections[index].link, Link::Closed { .. }) {
                self.begin_connect(io, index, now);
            }
        }
    }
}
