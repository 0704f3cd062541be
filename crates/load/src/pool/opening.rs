//! Opening many connections: how many are open or connecting, and how many are begun at once before a window.
//!
//! Within a window there is no limit: there a connect is part of the time of the request that waits for it.

use weighbridge_model::quantity::Timestamp;

use super::{Io, Pool};
use crate::connection::Link;

/// Most simultaneous connects while all connections are being opened: half of the shortest listen queue in common use
/// (128). A connection that finds the queue full is answered a second later, and if many come at once the kernel may
/// even drop some that the client considers established. A smaller limit would make distant servers slow to reach.
const AT_ONCE: u32 = 64;

/// Connections by the state of their sockets, counted as they change so that ten thousand need not be scanned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Count {
    /// Established, TLS included.
    pub open: u32,
    /// Connecting or shaking hands.
    pub under_way: u32,
    /// Where the search for closed ones continues.
    next: usize,
}

impl Count {
    /// A connection was begun.
    pub fn begun(&mut self) {
        self.under_way += 1;
    }

    /// A connecting one is open.
    pub fn opened(&mut self) {
        self.under_way -= 1;
        self.open += 1;
    }

    /// A connection with this link is about to be closed.
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

    /// Begins to open closed connections, a limited number at once; call it again as they open. It continues where it
    /// stopped and waits until half of the connects in progress are done, so that the time for all of them grows as
    /// they do.
    pub fn open_missing(&mut self, io: &mut Io, now: Timestamp) {
        if self.count.under_way > AT_ONCE / 2 {
            return;
        }
        let total = self.connections.len();
        for _ in 0..total {
            // If one connect could not even begin, the others will not either.
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
