//! Between connect and open: the TLS handshake, and the handling of one that fails.

use std::io;
use std::os::fd::OwnedFd;

use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::ErrorKind;

use super::{Io, Pool};
use crate::connection::{Link, Received};
use crate::sys;
use crate::tls::TlsFailure;

impl Pool {
    /// Begins the handshake after the connect; it has what is left of the time for both.
    pub(super) fn begin_handshake(
        &mut self,
        io: &mut Io,
        index: usize,
        socket: OwnedFd,
        deadline: Timestamp,
    ) {
        let begun = sys::clock();
        match self.connections[index].begin_handshake(socket, begun, deadline) {
            Ok(()) => self.dirty.push_back(index as u32),
            Err(failure) => self.handshake_failed(io, index, failure),
        }
    }

    /// Handles a read during the handshake. Returns whether the connection is open now, so that the read must be
    /// processed further.
    pub(super) fn continue_handshake(&mut self, io: &mut Io, index: usize, received: &Received) -> bool {
        let now = sys::clock();
        let connection = &mut self.connections[index];
        if let Some((kind, time)) = connection.complete_handshake(now) {
            self.count.opened();
            self.handshakes.record(kind, time);
            // The output is the handshake's own end, which must be sent even if no request follows.
            self.dirty.push_back(index as u32);
            self.list_all(index);
            return true;
        }
        match received {
            Received::All => {}
            Received::More => self.unread.push_back(index as u32),
            Received::Ended | Received::Broken(_) => {
                let failure = connection.take_tls_failure().unwrap_or(TlsFailure::Closed);
                self.handshake_failed(io, index, failure);
                return false;
            }
        }
        if connection.has_output() {
            self.dirty.push_back(index as u32);
        }
        false
    }

    /// Closes after a failed handshake. Another address of the server would fail too, so none is tried.
    pub(super) fn handshake_failed(&mut self, io: &mut Io, index: usize, failure: TlsFailure) {
        let now = sys::clock();
        // The alert tells the server why; if it cannot be sent at once, only the close does.
        let _ = self.connections[index].write();
        self.close(index, now);
        self.give_up_connect(index, io::Error::other(failure), ErrorKind::Tls, now);
        if let Link::Closed { .. } = self.connections[index].link {
            self.reopen(io, index, now);
        }
    }
}
