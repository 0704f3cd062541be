//! Single requests, kept one by one where each has a size of its own: what a curve over size is made of.
//!
//! Facts as they came, good and failed alike; whoever leaves one out counts it. Nothing here is estimated.

use serde::{Deserialize, Serialize};

use crate::id::{OperationId, PointId};
use crate::quantity::{Bytes, Nanoseconds};
use crate::record::{Outcome, WindowKind};

/// One request of a measured window, and the reply to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// What its window was for: only those of measured windows are of the mix of sizes that other figures are of.
    pub kind: WindowKind,
    /// The point it was measured at.
    pub point: PointId,
    /// Round within the block and point, from 0: in a round every variant is asked for the same sizes.
    pub round: u32,
    pub operation: OperationId,
    /// The size asked for.
    pub size: Bytes,
    /// When the load model wanted it sent, since the start of the trial's first window (as are the other two).
    pub due: Nanoseconds,
    /// The clock before the write that carried its first byte (equal to `due` where it was never sent).
    pub sent: Nanoseconds,
    /// The clock after the read that completed it.
    pub done: Nanoseconds,
    /// How it ended.
    pub outcome: Outcome,
    /// The reply's status; `None` where no head of a reply came.
    pub status: Option<u16>,
    /// Bytes of the reply's body that came.
    pub length: Bytes,
    /// What a relay said of its own request; `None` where none was asked, and of replies that do not say it.
    pub relayed: Option<Relayed>,
}

/// What `ping` measured around its own client's call (`/mping/{n}`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relayed {
    /// From just before the call to just after the body's last byte, repetitions included, by its monotonic clock.
    pub duration: Nanoseconds,
    /// The status of the peer's reply.
    pub status: u16,
    /// Bytes of the peer's body.
    pub length: Bytes,
    /// How often it repeated the request.
    pub retries: u32,
}

impl Sample {
    /// done − due.
    pub const fn response(&self) -> Nanoseconds {
        self.done.saturating_sub(self.due)
    }

    /// done − sent.
    pub const fn service(&self) -> Nanoseconds {
        self.done.saturating_sub(self.sent)
    }

    /// The service time that the relay's own request does not account for: its server, its relaying, the way to it.
    /// `None` where no relay told.
    pub fn relay_cost(&self) -> Option<Nanoseconds> {
        self.relayed.map(|relayed| self.service().saturating_sub(relayed.duration))
    }

    /// Whether it is of a measured window of a point.
    pub fn is_measured(&self, point: PointId) -> bool {
        self.point == point && self.kind == WindowKind::Measured
    }

    /// Whether it is in figures of times: a reply that passed its checks.
    pub const fn is_good(&self) -> bool {
        matches!(self.outcome, Outcome::Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_a_relayed_request_are_parts_of_each_other() {
        let nanos = Nanoseconds::from_nanos;
        let sample = Sample {
            kind: WindowKind::Measured,
            point: PointId(0),
            round: 3,
            operation: OperationId(0),
            size: Bytes::new(1_000),
            due: nanos(100),
            sent: nanos(150),
            done: nanos(1_150),
            outcome: Outcome::Ok,
            status: Some(200),
            length: Bytes::new(70),
            relayed: Some(Relayed {
                duration: nanos(700),
                status: 200,
                length: Bytes::new(1_000),
                retries: 0,
            }),
        };
        assert_eq!((sample.response(), sample.service()), (nanos(1_050), nanos(1_000)));
        assert_eq!(sample.relay_cost(), Some(nanos(300)));
        assert_eq!(Sample { relayed: None, ..sample }.relay_cost(), None);
        assert!(sample.is_measured(PointId(0)) && !sample.is_measured(PointId(1)));
        assert!(!Sample { kind: WindowKind::Check, ..sample }.is_measured(PointId(0)));
    }
}
