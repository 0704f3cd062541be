//! All time limits of a verification. A service that hangs costs no more than these.
//!
//! A limit is part of the contract only if its comment says so.

use std::time::{Duration, Instant};

/// From start to `ready`, and from start to the end of a process that must not keep running. The contract
/// sets no limit; a virtual machine on a busy host needs seconds.
pub(super) const START: Duration = Duration::from_secs(20);

/// From SIGTERM to the end of the process (the contract's).
pub(super) const STOP: Duration = Duration::from_secs(5);

/// From SIGTERM to the end of an idle connection (the contract's row S2).
pub(super) const IDLE_END: Duration = Duration::from_secs(1);

/// From a reply, or from a request that is not HTTP, to the end of the stream (the contract's row H15).
pub(super) const STREAM_END: Duration = Duration::from_secs(2);

/// For a reply to begin and end, in addition to the time for its length.
const REPLY: Duration = Duration::from_secs(10);

/// The slowest accepted body, in bytes per second: the largest one takes 50 s.
const SLOWEST: u32 = 2_000_000;

/// How long a connection is watched for unrequested bytes or for its end. A longer time finds more errors; a
/// shorter one never fails a correct service.
pub(super) const WATCH: Duration = Duration::from_millis(2);

/// For a process to end after its connections broke in a row that failed.
pub(super) const DEATH: Duration = Duration::from_millis(500);

/// For one row.
const ROW: Duration = Duration::from_secs(90);

/// The end of a row; every wait in it ends then at the latest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    end: Instant,
}

impl Limits {
    /// The limits of a row that begins now.
    pub(super) fn for_row() -> Self {
        Self { end: Instant::now() + ROW }
    }

    /// The time `wait` from now, or the end of the row.
    pub(super) fn within(self, wait: Duration) -> Instant {
        self.end.min(Instant::now() + wait)
    }

    /// The time by which a reply with a body of `length` bytes must be complete.
    pub(super) fn for_reply(self, length: usize) -> Instant {
        let seconds = length as f64 / f64::from(SLOWEST);
        self.within(REPLY + Duration::from_secs_f64(seconds))
    }
}

/// Time left until `deadline`; at least a millisecond, since for sockets zero means no limit.
pub(super) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}
