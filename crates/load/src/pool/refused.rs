//! Requests that a peer refused by an announced end: sent again on the connection that takes the place of theirs.

use super::{Pool, reply_context};
use crate::connection::{Connection, Parked};
use crate::sys;

impl Pool {
    /// Sends the refused requests of an open connection again. Returns whether it took all of them.
    pub(super) fn send_refused(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        if !connection.has_output() {
            self.dirty.push_back(index as u32);
        }
        let mut context =
            reply_context(&mut *self.sessions, self.settings, index, &mut self.finished, &mut self.messages);
        connection.send_refused(sys::clock(), &mut context);
        if connection.has_refused() {
            connection.parked = Parked::Some;
        }
        !connection.has_refused()
    }

    /// How often requests of the window were sent again.
    pub fn resent(&self) -> u64 {
        self.connections.iter().map(Connection::resent).sum()
    }
}
