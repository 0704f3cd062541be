//! What exports show beyond the summary: single windows, values of blocks, histograms of requests. Made by `judge` from
//! the records of a run, since it alone knows which blocks count; written by `report`.

use crate::estimate::Quantity;
use crate::histogram::TimeHistogram;
use crate::id::PointLabel;
use crate::quantity::Nanoseconds;
use crate::record::samples::Sample;
use crate::record::{Outcome, WindowRecord};

/// The evidence of one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Every variant at every point, operation by operation, the total of several operations first.
    pub operations: Vec<OperationEvidence>,
    /// Every window, in the order of blocks and trials.
    pub windows: Vec<WindowEvidence>,
    /// Single requests, trial by trial, where a workload keeps them.
    pub samples: Vec<SampleEvidence>,
}

/// One operation of one variant at one point, over the blocks that count.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationEvidence {
    /// The variant's name.
    pub variant: String,
    pub point: PointLabel,
    /// The operation's name, or `all`.
    pub operation: String,
    /// Whether it is one operation or the sum of several.
    pub extent: Extent,
    /// Histograms of measured windows, one entry per outcome that occurred, good replies first; of blocks that count,
    /// merged.
    pub outcomes: Vec<OutcomeTimes>,
    /// Percentiles of response times of good replies and, as lower bounds, of timeouts.
    pub percentiles: Vec<Percentile>,
    /// What single blocks say, of every quantity that was measured.
    pub blocks: Vec<BlockValue>,
    /// Measured time of all blocks.
    pub measured: Nanoseconds,
}

/// What a row of several operations covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The sum of operations that have rows of their own.
    Sum,
    /// An operation, or the only one.
    Single,
}

/// Histograms of the requests that ended alike.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeTimes {
    /// How they ended; times of timeouts are lower bounds.
    pub outcome: Outcome,
    /// Done minus due.
    pub response: TimeHistogram,
    /// Done minus sent.
    pub service: TimeHistogram,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// 0 to 100.
    pub percent: f64,
    /// The time; absent where too few requests lie beyond.
    pub time: Option<Nanoseconds>,
}

/// What one block says of one quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockValue {
    pub quantity: Quantity,
    /// The block, from 0.
    pub block: u32,
    /// The value in the quantity's unit.
    pub value: f64,
}

/// The single requests of one operation in one trial at one point, with the names of what they are of.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleEvidence {
    /// The variant's name.
    pub variant: String,
    pub point: PointLabel,
    /// The operation's name.
    pub operation: String,
    /// The block, from 0.
    pub block: u32,
    /// Why its block counts for nothing; absent where it counts.
    pub void: Option<String>,
    /// What was recorded, in its order.
    pub samples: Vec<Sample>,
}

/// One window with the names of what it is of.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowEvidence {
    /// The variant's name.
    pub variant: String,
    pub point: PointLabel,
    /// The batch of the block, from 0.
    pub batch: u32,
    /// Why its block counts for nothing; absent where it counts.
    pub void: Option<String>,
    /// What was recorded.
    pub record: WindowRecord,
}
