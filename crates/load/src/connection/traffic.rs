//! What went through a connection's socket.

use std::os::fd::AsFd;

use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::Traffic;

use super::{Connection, Link, Moved};
use crate::sys;

impl Connection {
    /// The kernel's counts since the socket was opened, and the payload; where it keeps none, the bytes counted here and no
    /// segments.
    pub(super) fn counts(&self) -> Option<Traffic> {
        let Link::Open { socket } = &self.link else { return None };
        let Moved { written, read, payload } = self.moved;
        let own = || Traffic { sent: Bytes::new(written), received: Bytes::new(read), ..Traffic::default() };
        Some(Traffic {
            payload_sent: Bytes::new(payload.sent),
            payload_received: Bytes::new(payload.received),
            ..sys::traffic(socket.as_fd(), Bytes::new(read)).unwrap_or_else(own)
        })
    }

    /// The counts since the window began.
    pub fn traffic(&self) -> Traffic {
        let Some(now) = self.counts() else { return Traffic::default() };
        let before = self.baseline;
        let bytes = |now: Bytes, before: Bytes| Bytes::new(now.get().saturating_sub(before.get()));
        Traffic {
            sent: bytes(now.sent, before.sent),
            received: bytes(now.received, before.received),
            segments_out: now.segments_out.saturating_sub(before.segments_out),
            segments_in: now.segments_in.saturating_sub(before.segments_in),
            retransmits: now.retransmits.saturating_sub(before.retransmits),
            payload_sent: bytes(now.payload_sent, before.payload_sent),
            payload_received: bytes(now.payload_received, before.payload_received),
        }
    }
}
