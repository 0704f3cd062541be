//! The kernel's stamps over a window of all connections of a variant: where the pool begins and ends its book of them.

use std::os::fd::AsFd;

use weighbridge_model::legs::KernelStamps;
use weighbridge_model::record::{Outcome, Tallies};

use super::Pool;
use crate::connection::{Connection, Finished, Link};
use crate::stamps::StampBook;
use crate::sys::Readiness;

impl Pool {
    /// Begins a window's stamps, where they are asked for.
    pub(super) fn begin_stamps(&mut self) {
        if let Some(book) = &mut self.stamps {
            book.begin();
        }
    }

    /// Ends the window's stamps: adds its legs to `tallies`. `None` where stamps are not asked for.
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

/// What is left of an event when stamps that waited in the error queue have been taken: they make the socket look as if
/// it had failed. An error that is none of theirs stays one.
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

/// Cuts the request that a read of this connection ended, if it did.
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
