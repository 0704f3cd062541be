//! What became of the frames that a packet relay was given, and how well it kept its times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Bytes, Nanoseconds};

/// What a relay did since it began.
///
/// Of each direction: `came` = `lost` + `full` + `refused` + `cut` + `sent` + `waiting`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relayed {
    /// The two interfaces.
    pub between: [String; 2],
    /// The seed of losses and jitter.
    pub seed: u64,
    /// From the first interface to the second.
    pub forth: RelayedWay,
    /// From the second interface to the first.
    pub back: RelayedWay,
    /// For how long it has carried frames, in nanoseconds.
    pub time_ns: Nanoseconds,
    /// CPU time that it used for that, in nanoseconds.
    pub cpu_ns: Nanoseconds,
}

/// What became of the frames of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelayedWay {
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
    pub delay: RelayedTimes,
    /// From a frame's due time to the call that sent it: the relay's own doing.
    pub lateness: RelayedTimes,
}

/// A distribution of times, in nanoseconds to three digits; all zero where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelayedTimes {
    /// The mean, to the nearest nanosecond.
    pub mean_ns: u64,
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
