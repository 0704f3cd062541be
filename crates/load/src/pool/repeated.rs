//! Requests that are sent again: those that a peer refused by an announced end on the connection that takes the place of
//! theirs, those whose reply asked for another attempt on the same.

use super::{Pool, reply_context};
use crate::connection::{Connection, Parked};
use crate::sys;

impl Pool {
    /// Sends the requests of an open connection that wait for it again. Returns whether it took all of them.
    pub(super) fn send_repeated(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        if !connection.has_output() {
            self.dirty.push_back(index as u32);
        }
        let mut context =
            reply_context(&mut *self.sessions, self.settings, index, &mut self.finished, &mut self.messages);
        connection.send_repeated(sys::clock(), &mut context);
        if connection.has_repeated() {
            connection.parked = Parked::Some;
        }
        !connection.has_repeated()
    }

    /// How often requests of the window were sent again since they had been refused.
    pub fn resent(&self) -> u64 {
        self.connections.iter().map(Connection::resent).sum()
    }
}
