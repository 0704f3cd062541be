//! What a packet relay did with the frames that it received, and how punctual it was.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Bytes, Nanoseconds};

/// Counts of a packet relay since its start.
///
/// For each direction: `came` = `lost` + `full` + `refused` + `cut` + `sent` + `waiting`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Relayed {
    pub between: [String; 2],
    /// Seed of losses and jitter.
    pub seed: u64,
    /// From the first interface to the second.
    pub forth: RelayedWay,
    /// From the second interface to the first.
    pub back: RelayedWay,
    /// How long it has run, in nanoseconds.
    pub time_ns: Nanoseconds,
    /// CPU time used, in nanoseconds.
    pub cpu_ns: Nanoseconds,
}

/// Counts of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelayedWay {
    /// The impairment, in words.
    pub way: String,
    /// Received frames.
    pub came: u64,
    /// Forwarded frames.
    pub sent: u64,
    /// Bytes of forwarded frames, including Ethernet headers.
    pub sent_bytes: Bytes,
    /// Received frames that hold several packets (segmentation offload), which a network card would have
    /// split. Loss, jitter and the bound of the queue treat each as one.
    pub whole: u64,
    /// Frames lost on purpose.
    pub lost: u64,
    /// Frames dropped because the queue was full.
    pub full: u64,
    /// Frames that the kernel dropped because its buffer was full before the relay read them; not counted in
    /// `came`.
    pub overflowed: u64,
    /// Frames that could not be sent, such as those above the other interface's MTU.
    pub refused: u64,
    /// Frames that are too long for the relay (above 64 KiB), or of a kind that the kernel cannot describe.
    pub cut: u64,
    /// Frames in the queue now.
    pub waiting: u64,
    /// Largest number of frames in the queue.
    pub waiting_max: u64,
    /// From a frame's arrival to its due time: as drawn, or later where it must stay behind the frame before.
    pub delay: RelayedTimes,
    /// From a frame's due time to the call that sent it: the relay's own lateness.
    pub lateness: RelayedTimes,
}

/// A distribution of times, in nanoseconds to three digits; all zero if it is empty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelayedTimes {
    /// The mean, to the nearest nanosecond.
    pub mean_ns: u64,
    pub min_ns: u64,
    pub p50_ns: u64,
    pub p90_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}
