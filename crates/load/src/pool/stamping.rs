//! The kernel's stamps over a window of all connections of a variant: where the pool begins and ends its book of them.

use std::os::fd::AsFd;

use weighbridge_model::legs::KernelStamps;
use weighbridge_model::record::Tallies;

use super::Pool;
use crate::connection::Link;

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
