//! What became of the frames that a packet relay was given, and how well it kept its times: one line of JSON, which the lab
//! puts into the record of a trial.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use weighbridge_model::quantity::{Bytes, Nanoseconds};

/// What a relay did since it began.
///
/// Of each direction: `came` = `lost` + `full` + `refused` + `cut` + `sent` + `waiting`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The two interfaces.
    pub between: [String; 2],
    /// The seed of losses and jitter.
    pub seed: u64,
    /// From the first interface to the second.
    pub forth: DirectionReport,
    /// From the second interface to the first.
    pub back: DirectionReport,
    /// For how long it has carried frames, in nanoseconds.
    pub time_ns: Nanoseconds,
    /// CPU time that it used for that, in nanoseconds.
    pub cpu_ns: Nanoseconds,
}

/// What became of the frames of one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// What was to be done to them.
    pub way: String,
    /// Frames that came.
    pub came: u64,
    /// Frames that went on.
    pub sent: u64,
    /// Bytes of those that went on, with their Ethernet headers.
    pub sent_bytes: Bytes,
    /// Frames among those that came that stood for several packets, which a network card would have cut. Loss, jitter and
    /// the bound of the queue take each of them as one.
    pub whole: u64,
    /// Frames lost on purpose.
    pub lost: u64,
    /// Frames dropped because as many waited as may.
    pub full: u64,
    /// Frames that the kernel dropped since it had no room for them before the relay could take them; not among those that
    /// came.
    pub overflowed: u64,
    /// Frames that could not be sent, such as those above the other interface's MTU.
    pub refused: u64,
    /// Frames beyond every length that the relay takes (above 64 KiB), or of a kind that the kernel cannot describe.
    pub cut: u64,
    /// Frames that wait now.
    pub waiting: u64,
    /// The most that waited at a time.
    pub waiting_max: u64,
    /// From a frame's coming to its due time, as drawn and, where the order is kept, put off behind the one before.
    pub delay: Times,
    /// From a frame's due time to the call that sent it: the relay's own doing.
    pub lateness: Times,
}

/// A distribution of times, in nanoseconds to three digits; all zero where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// The mean.
    pub mean_ns: f64,
    /// The least.
    pub min_ns: u64,
    /// Half are at most this.
    pub p50_ns: u64,
    /// Nine in ten are at most this.
    pub p90_ns: u64,
    /// Ninety-nine in a hundred are at most this.
    pub p99_ns: u64,
    /// The greatest.
    pub max_ns: u64,
}

/// Counts times; 1 ns to beyond the longest delay, three digits.
#[derive(Debug)]
pub(super) struct Distribution(Histogram<u64>);

impl Distribution {
    pub fn new() -> Self {
        const MINUTES: u64 = 600_000_000_000;
        // The bounds are constants that the library takes.
        Self(Histogram::new_with_bounds(1, MINUTES, 3).expect("constant bounds"))
    }

    pub fn add(&mut self, time: Nanoseconds) {
        // What is beyond is counted as the longest.
        self.0.saturating_record(time.as_nanos());
    }

    pub fn times(&self) -> Times {
        if self.0.is_empty() {
            return Times::default();
        }
        Times {
            mean_ns: self.0.mean(),
            min_ns: self.0.min(),
            p50_ns: self.0.value_at_quantile(0.5),
            p90_ns: self.0.value_at_quantile(0.9),
            p99_ns: self.0.value_at_quantile(0.99),
            max_ns: self.0.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_were_added() {
        let mut distribution = Distribution::new();
        assert_eq!(distribution.times(), Times::default());
        for nanos in 1..=1000 {
            distribution.add(Nanoseconds::from_nanos(nanos));
        }
        let times = distribution.times();
        assert_eq!(
            (times.min_ns, times.p50_ns, times.p90_ns, times.p99_ns, times.max_ns),
            (1, 500, 900, 990, 1000)
        );
        assert!((times.mean_ns - 500.5).abs() < 1e-9);
    }
}
