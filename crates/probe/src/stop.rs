//! How a running probe is stopped: by another thread, or by SIGTERM and SIGINT.
//!
//! It is a descriptor that becomes readable, so a probe asleep in epoll wakes at once; no flag is polled.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use crate::sys;

/// A stop request, shared with everyone who may make it. A probe finishes outstanding requests and returns.
#[derive(Debug, Clone)]
pub struct Stop(Arc<StopSource>);

#[derive(Debug)]
enum StopSource {
    /// Raised by [`Stop::request`].
    Event(OwnedFd),
    /// Raised by a signal, or by [`Stop::request`] through the second descriptor.
    Signals { signals: OwnedFd, event: OwnedFd },
}

impl Stop {
    /// One that [`Stop::request`] raises; errors are the kernel's (no descriptor left).
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(StopSource::Event(sys::event_descriptor()?))))
    }

    /// One that SIGTERM, SIGINT and [`Stop::request`] raise. Both signals are blocked in the calling thread and in
    /// those it starts afterwards, so call it in `main` before any other thread exists. Errors are the kernel's.
    pub fn on_termination() -> io::Result<Self> {
        let event = sys::event_descriptor()?;
        Ok(Self(Arc::new(StopSource::Signals { signals: sys::termination_descriptor()?, event })))
    }

    /// Asks the probe to stop. Can be called repeatedly, from any thread, and from a signal handler.
    pub fn request(&self) {
        match &*self.0 {
            StopSource::Event(event) | StopSource::Signals { event, .. } => sys::raise(event),
        }
    }

    /// The descriptors to watch.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        let (first, second) = match &*self.0 {
            StopSource::Event(event) => (event, None),
            StopSource::Signals { signals, event } => (event, Some(signals)),
        };
        std::iter::once(first).chain(second).map(AsRawFd::as_raw_fd)
    }
}
