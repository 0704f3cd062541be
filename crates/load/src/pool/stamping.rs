//! The kernel's stamps of one variant's connections: where the pool begins and ends them for a window.

use std::os::fd::AsFd;

use weighbridge_model::legs::KernelStamps;
use weighbridge_model::record::{Outcome, Tallies};

use super::Pool;
use crate::connection::{Connection, Finished, Link};
use crate::stamps::StampBook;
use crate::sys::Readiness;

impl Pool {
    /// Begins a window's stamps, if they are on.
    pub(super) fn begin_stamps(&mut self) {
        if let Some(book) = &mut self.stamps {
            book.begin();
        }
    }

    /// Ends the window's stamps and adds its legs to `tallies`. `None` if stamps are off.
    pub fn end_stamps(&mut self, tallies: &mut Tallies) -> Option<KernelStamps> {
        let book = self.stamps.as_mut()?;
        for connection in &self.connections {
            if let Link::Open { socket } = &connection.link {
                book.note_round_trip(socket.as_fd());
            }
        }
        Some(book.finish(tallies))
    }
}

/// The rest of an event after stamps were taken off the error queue: their presence looks like an error of the socket.
/// Real errors remain.
pub(super) fn without_stamps(connection: &mut Connection, readiness: Readiness) -> Readiness {
    let Some(stamps) = &mut connection.stamps else { return readiness };
    let (Link::Open { socket } | Link::Handshaking { socket, .. }) = &connection.link else {
        return readiness;
    };
    if !readiness.erroneous() || stamps.collect(socket.as_fd()) == 0 {
        return readiness;
    }
    readiness.without_error()
}

/// Divides the request that a read of this connection ended, if it did.
pub(super) fn attribute(book: &mut StampBook, connection: &mut Connection, finished: &[Finished]) {
    let (Some(stamps), [.., last]) = (&mut connection.stamps, finished) else { return };
    if last.record.outcome != Outcome::Ok {
        return;
    }
    let socket = match &connection.link {
        Link::Open { socket } => Some(socket.as_fd()),
        _ => None,
    };
    book.attribute(stamps, socket, &last.record);
}
