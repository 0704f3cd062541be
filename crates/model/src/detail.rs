//! Data for charts that a [`Summary`](crate::summary::Summary) does not hold: curves, densities, courses over
//! time, dots.
//!
//! `judge` computes them from the records, so that the charts need no statistics. Long lists are columns of
//! equal length, because a run may have hundreds of thousands of dots. No verdict depends on anything here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capacity::CapacityFound;
use crate::estimate::{Estimate, Quantity, Unit};
use crate::id::PointLabel;
use crate::quantity::Nanoseconds;
use crate::sizes::{SizeCurve, SizeRatios, SizeSamples};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeKind {
    Response,
    Service,
}

impl TimeKind {
    pub const ALL: [Self; 2] = [Self::Response, Self::Service];
}

/// One percentile curve: estimates over blocks, as the figures of a summary are. All windows of a block are
/// pooled, even for p50.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    pub variant: String,
    pub point: PointLabel,
    /// The operation's name, or `all`.
    pub operation: String,
    pub time: TimeKind,
    /// Quantile (0 to 1, ascending) and time in nanoseconds. Ends where fewer than 20 requests lie beyond in
    /// some block.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper bound of each point in nanoseconds, at 95 %; empty below 4 blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub band: Vec<(f64, f64)>,
}

/// The distribution of one variant's times: the share of its replies in each bin. Bins have equal width on a
/// logarithmic scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Density {
    pub variant: String,
    pub point: PointLabel,
    /// The operation's name, or `all`.
    pub operation: String,
    pub time: TimeKind,
    /// Lower edge of the first bin in nanoseconds.
    pub from_ns: f64,
    /// Upper edge over lower edge of each bin, the same for all variants of a point and operation.
    pub step: f64,
    /// Share of the replies in each bin, 0 to 1; ends where fewer than 20 requests lie beyond.
    pub shares: Vec<f64>,
}

/// One variant's times over the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    pub variant: String,
    pub point: PointLabel,
    /// Spans of its measured windows, in order of time; none extends over two blocks.
    pub spans: Vec<Span>,
}

/// Some consecutive windows: quartiles of their median response times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Block, from 0.
    pub block: u32,
    /// Start of the span's first window, since the run's first window.
    #[serde(rename = "from_ns")]
    pub from: Nanoseconds,
    /// End of the span's last window.
    #[serde(rename = "to_ns")]
    pub to: Nanoseconds,
    pub windows: u32,
    #[serde(rename = "lower_ns")]
    pub lower: Nanoseconds,
    #[serde(rename = "median_ns")]
    pub median: Nanoseconds,
    #[serde(rename = "upper_ns")]
    pub upper: Nanoseconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DotKind {
    /// The median response time of a measured window.
    Window,
    /// The median response time of a window of the warm-up.
    WarmUp,
    /// The median response time of a longer window of the window check.
    Check,
    /// The response time of a single request.
    Request,
}

/// Times of one variant over the time of the run, one dot for each window or request; columns of equal
/// length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    pub variant: String,
    pub point: PointLabel,
    /// The operation's name, or `all`.
    pub operation: String,
    pub kind: DotKind,
    /// Start of each, since the run's first window, ascending.
    pub at_ns: Vec<u64>,
    pub time_ns: Vec<u64>,
}

/// The unit of a factor's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    Bytes,
    PerSecond,
    Ns,
    Count,
}

/// A factor of the matrix with numeric values, so that figures can be drawn against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// The key: `workload.size`, `load.rate` …
    pub key: String,
    pub scale: Scale,
    /// Each value as in points and as a number, ascending.
    pub values: Vec<(String, f64)>,
}

/// CPU and memory of one role while a variant was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleUse {
    pub variant: String,
    pub point: PointLabel,
    /// `service` and other roles of the variant; `generator`: its loop except waiting; `unattributed`.
    pub role: String,
    /// CPU time per request in nanoseconds; absent if not accounted.
    pub cpu_per_operation: Option<Estimate>,
    /// Largest resident memory in bytes; absent if not accounted.
    pub memory_peak: Option<Estimate>,
}

/// How a variant handles rising rates, and the highest that meets an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    pub found: CapacityFound,
    /// What is drawn over the rate, the condition that breaks first: `p99`, `errors`.
    pub measure: String,
    /// Nanoseconds; a count is of parts of 1, for shares.
    pub unit: Unit,
    /// Its limit, in this unit.
    pub limit: f64,
    /// Tried rates, ascending.
    pub steps: Vec<CapacityStep>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityStep {
    pub offered_per_s: f64,
    /// Good replies per second.
    pub answered_per_s: f64,
    /// What is drawn, over blocks; absent if the steps were cut short.
    pub figure: Option<Estimate>,
    pub kept: Kept,
}

/// Whether a step met its objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kept {
    Yes,
    No,
    /// The interval contains the limit.
    Undecided,
}

impl Kept {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Yes => "kept",
            Self::No => "exceeded",
            Self::Undecided => "undecided",
        }
    }
}

/// The cost of each of several layers, from a variant without them to one with all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waterfall {
    pub point: PointLabel,
    /// What all of its variants have in common: `rust`.
    #[serde(default)]
    pub of: String,
    /// The operation's name, or `all`.
    pub operation: String,
    pub quantity: Quantity,
    pub unit: Unit,
    /// The variant without layers.
    pub from: Level,
    /// Each layer's own cost, in the order in which they are added.
    pub layers: Vec<Level>,
    pub to: Level,
}

/// A variant's or a layer's figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    pub name: String,
    /// The variant's figure, or the difference that the layer makes.
    pub estimate: Estimate,
}

/// Data for charts, made by `judge` from the records: `detail.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Detail {
    pub curves: Vec<Curve>,
    pub densities: Vec<Density>,
    /// Times over the run, in spans of windows.
    pub courses: Vec<Course>,
    pub samples: Vec<Samples>,
    pub axes: Vec<Axis>,
    pub roles: Vec<RoleUse>,
    /// Times over size, if the workload's sizes vary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_curves: Vec<SizeCurve>,
    /// Medians over size relative to other variants than the baseline; for at most 12 variants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_ratios: Vec<SizeRatios>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_samples: Vec<SizeSamples>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<Capacity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waterfalls: Vec<Waterfall>,
}
