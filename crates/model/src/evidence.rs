//! Data for exports beyond the summary: single windows, values of blocks, histograms of requests. `judge`
//! makes it from the records of a run, since only it knows which blocks count; `report` writes it.

use crate::estimate::Quantity;
use crate::histogram::TimeHistogram;
use crate::id::PointLabel;
use crate::quantity::Nanoseconds;
use crate::record::samples::Sample;
use crate::record::{Outcome, WindowRecord};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Every variant at every point, by operation; first the total if there are several operations.
    pub operations: Vec<OperationEvidence>,
    /// Every window, in the order of blocks and trials.
    pub windows: Vec<WindowEvidence>,
    /// Samples by trial, if the workload keeps them.
    pub samples: Vec<SampleEvidence>,
}

/// One operation of one variant at one point, over the blocks that count.
#[derive(Debug, Clone, PartialEq)]
pub struct OperationEvidence {
    pub variant: String,
    pub point: PointLabel,
    /// The operation's name, or `all`.
    pub operation: String,
    /// Whether it is one operation or the sum of several.
    pub extent: Extent,
    /// Merged histograms of measured windows of the blocks that count, one entry per outcome that occurred,
    /// good replies first.
    pub outcomes: Vec<OutcomeTimes>,
    /// Percentiles of response times of good replies and, as lower bounds, of timeouts.
    pub percentiles: Vec<Percentile>,
    /// Block estimates of every quantity that was measured.
    pub blocks: Vec<BlockValue>,
    /// Measured time of all blocks.
    pub measured: Nanoseconds,
    /// Requests in flight at most: connections × in flight.
    pub slots: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The sum of operations that have rows of their own.
    Sum,
    /// An operation, or the only one.
    Single,
}

/// Histograms of requests with the same outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct OutcomeTimes {
    /// Times of timeouts are lower bounds.
    pub outcome: Outcome,
    pub response: TimeHistogram,
    pub service: TimeHistogram,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Percentile {
    /// 0 to 100.
    pub percent: f64,
    /// `None` if too few requests lie beyond.
    pub time: Option<Nanoseconds>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockValue {
    pub quantity: Quantity,
    /// From 0.
    pub block: u32,
    pub value: f64,
}

/// The samples of one operation in one trial at one point, with names.
#[derive(Debug, Clone, PartialEq)]
pub struct SampleEvidence {
    pub variant: String,
    pub point: PointLabel,
    pub operation: String,
    /// From 0.
    pub block: u32,
    /// Why its block does not count; `None` if it counts.
    pub void: Option<String>,
    /// In the order of the record.
    pub samples: Vec<Sample>,
}

/// One window with the names of variant and point.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowEvidence {
    pub variant: String,
    pub point: PointLabel,
    /// From 0.
    pub batch: u32,
    /// Why its block does not count; `None` if it counts.
    pub void: Option<String>,
    pub record: WindowRecord,
}
