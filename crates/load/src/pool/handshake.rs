//! The part of a connection's life between connect and open: the TLS handshake, and what becomes of one that fails.

use std::io;
use std::os::fd::OwnedFd;

use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::ErrorKind;

use super::{Io, Pool};
use crate::connection::{Link, Received};
use crate::sys;
use crate::tls::TlsFailure;

impl Pool {
    /// The connect is complete: the handshake begins and has what is left of the time for both.
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

    /// Something was read in the middle of the handshake. Answers whether the connection is open now, so that what
    /// was read must be looked at further.
    pub(super) fn shake_hands(&mut self, io: &mut Io, index: usize, received: &Received) -> bool {
        let now = sys::clock();
        let connection = &mut self.connections[index];
        if let Some((kind, time)) = connection.complete_handshake(now) {
            self.count.opened();
            self.handshakes.record(kind, time);
            self.connects += 1;
            // What was written last is the handshake's own end, and goes out even where no request follows.
            self.dirty.push_back(index as u32);
            self.list_all(index);
            return true;
        }
        match received {
            Received::All => {}
            Received::More => self.again.push_back(index as u32),
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

    /// The handshake failed. Another address of the server would not do better, so none is tried.
    pub(super) fn handshake_failed(&mut self, io: &mut Io, index: usize, failure: TlsFailure) {
        let now = sys::clock();
        // The alert tells the server why; where it does not go out at once, the close must do.
        let _ = self.connections[index].write();
        self.close(index, now);
        self.give_up_connect(index, io::Error::other(failure), ErrorKind::Tls, now);
        if let Link::Closed { .. } = self.connections[index].link {
            self.reopen(io, index, now);
        }
    }
}
