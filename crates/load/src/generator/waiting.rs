//! How the loop waits, and what it records about its waits.
//!
//! It sleeps or spins as the options say; the window decides what is due.

use std::io;

use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use super::{LoopOptions, NAP, Waiting};
use crate::pool::Io;
use crate::sys::{self, Wait};

/// A wait up to this long is spent awake if the one before was no longer: about the time that falling asleep and waking
/// up take.
const BRIEF: Nanoseconds = Nanoseconds::from_micros(20);

/// Whether replies come so fast that the loop waits for them awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Brisk {
    Yes,
    No,
}

/// What ends a wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Until {
    /// When there is something to send, or the window may end.
    pub due: Option<Timestamp>,
    /// When a connection needs attention.
    pub housekeeping: Timestamp,
    /// Whether a connection already has more to read.
    pub unread: bool,
}

/// The waits of one window.
#[derive(Debug)]
pub(super) struct Waits {
    /// Time in epoll and in spinning.
    pub waited: Nanoseconds,
    /// When the last wait was over.
    pub returned: Timestamp,
    brisk: Brisk,
    /// Counts waits with events, to choose which of a wait's events is timed.
    count: usize,
}

impl Waits {
    pub fn new(start: Timestamp) -> Self {
        Self { waited: Nanoseconds::ZERO, returned: start, brisk: Brisk::No, count: 0 }
    }

    /// Waits for events from `now` on, at most until something is due.
    pub fn wait(
        &mut self,
        io: &mut Io,
        options: &LoopOptions,
        now: Timestamp,
        until: Until,
    ) -> io::Result<usize> {
        let Until { due, housekeeping, unread } = until;
        let others = housekeeping.min(now + NAP);
        let until = due.map_or(others, |due| due.min(others));
        let time = until.since(now);
        let found = if unread || time == Nanoseconds::ZERO {
            io.epoll.wait(Wait::Not)?
        } else if options.waiting == Waiting::Awake {
            spin(io, until)?
        } else if due != Some(until) {
            self.wait_for_reply(io, options.waiting, now, until)?
        } else if time > options.spin {
            io.epoll.wait(Wait::AtMost(time.saturating_sub(options.spin)))?
        } else {
            spin(io, until)?
        };
        self.returned = sys::clock();
        self.waited += self.returned.since(now);
        Ok(found)
    }

    /// Waits for replies. If the last wait was brief the next will be too, and may be spent awake: falling asleep and
    /// waking up would cost this core and the server's more than the wait itself.
    fn wait_for_reply(
        &mut self,
        io: &mut Io,
        waiting: Waiting,
        now: Timestamp,
        until: Timestamp,
    ) -> io::Result<usize> {
        if waiting == Waiting::Asleep {
            return io.epoll.wait(Wait::About { now, until });
        }
        if self.brisk == Brisk::Yes {
            let found = spin(io, until.min(now + BRIEF))?;
            if found > 0 {
                return Ok(found);
            }
        }
        let found = io.epoll.wait(Wait::About { now, until })?;
        self.brisk = if sys::clock().since(now) <= BRIEF { Brisk::Yes } else { Brisk::No };
        Ok(found)
    }

    /// Which of a wait's `found` events is timed for the loop's delay: each in turn, so that the clock is read once
    /// more per wait and not per event.
    pub fn timed(&mut self, found: usize) -> usize {
        self.count = self.count.wrapping_add(1);
        self.count % found.max(1)
    }

    /// How long event `at` of the last wait has waited to be handled.
    pub fn delay(&self, at: usize) -> Nanoseconds {
        if at == 0 { Nanoseconds::ZERO } else { sys::clock().since(self.returned) }
    }
}

/// Polls for events without sleeping until there are some or the time is `until`.
fn spin(io: &mut Io, until: Timestamp) -> io::Result<usize> {
    loop {
        let found = io.epoll.wait(Wait::Not)?;
        if found > 0 || sys::clock() >= until {
            return Ok(found);
        }
    }
}
