//! What charts draw and a [`Summary`](crate::summary::Summary) does not hold: curves, densities, courses over time, dots.
//!
//! Made by `judge` from the records, so that whoever draws computes no statistic. Long lists are columns of equal length,
//! because a run may hold hundreds of thousands of dots. Verdicts never rest on anything in here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Quantity, Unit};
use crate::id::PointLabel;
use crate::quantity::Nanoseconds;
use crate::sizes::{SizeCurve, SizeRatios, SizeSamples};

/// Which of the two times of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeKind {
    /// Done minus due.
    Response,
    /// Done minus sent.
    Service,
}

impl TimeKind {
    /// Both, in the order of tables.
    pub const ALL: [Self; 2] = [Self::Response, Self::Service];
}

/// One percentile curve: estimates over blocks, as the figures of a summary are; of totals, also where p50 is a typical.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// The operation's name, or `all`.
    pub operation: String,
    /// Which time.
    pub time: TimeKind,
    /// Quantile (0 to 1, rising) and time in nanoseconds; ends where fewer than 20 requests lie beyond in some block.
    pub points: Vec<(f64, f64)>,
    /// Lower and upper bound of each point in nanoseconds, at 95 %; empty below 4 blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub band: Vec<(f64, f64)>,
}

/// How one variant's times are spread: shares of its replies in bins of equal width on the logarithmic scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Density {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// The operation's name, or `all`.
    pub operation: String,
    /// Which time.
    pub time: TimeKind,
    /// Lower edge of the first bin in nanoseconds.
    pub from_ns: f64,
    /// Each bin's upper edge over its lower one, the same for all variants of a point and operation.
    pub step: f64,
    /// Share of the replies in each bin, 0 to 1; ends where fewer than 20 requests lie beyond.
    pub shares: Vec<f64>,
}

/// How one variant fared over the time of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// Stretches of its measured windows, rising by time; none reaches over two blocks.
    pub spans: Vec<Span>,
}

/// Some windows that followed each other: quartiles of their median response times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// Block, from 0.
    pub block: u32,
    /// Start of the first window, since the run's first window.
    #[serde(rename = "from_ns")]
    pub from: Nanoseconds,
    /// End of the last.
    #[serde(rename = "to_ns")]
    pub to: Nanoseconds,
    /// How many windows.
    pub windows: u32,
    /// Lower quartile.
    #[serde(rename = "lower_ns")]
    pub lower: Nanoseconds,
    /// Median.
    #[serde(rename = "median_ns")]
    pub median: Nanoseconds,
    /// Upper quartile.
    #[serde(rename = "upper_ns")]
    pub upper: Nanoseconds,
}

/// What a dot stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DotKind {
    /// The median response time of a measured window.
    Window,
    /// That of a window of the warm-up.
    WarmUp,
    /// That of a longer window of the window check.
    Check,
    /// The response time of a single request.
    Request,
}

/// Times of one variant over the time of the run, one dot for each window or request; columns of equal length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Samples {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// The operation's name, or `all`.
    pub operation: String,
    /// What a dot stands for.
    pub kind: DotKind,
    /// Start of each, since the run's first window, rising.
    pub at_ns: Vec<u64>,
    /// The time of each.
    pub time_ns: Vec<u64>,
}

/// What the values of a factor count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Bytes.
    Bytes,
    /// Events per second.
    PerSecond,
    /// Nanoseconds.
    Ns,
    /// Plain numbers.
    Count,
}

/// A factor of the matrix whose values are numbers, so that figures can be drawn against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Axis {
    /// The key: `workload.size`, `load.rate` …
    pub key: String,
    /// What its values count.
    pub scale: Scale,
    /// Each value as it stands in points and as a number, rising.
    pub values: Vec<(String, f64)>,
}

/// What one role used while a variant was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleUse {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// `service` and other roles of the variant; `generator`: its loop outside waiting; `unattributed`.
    pub role: String,
    /// CPU time per request in nanoseconds; absent where it was not accounted.
    pub cpu_per_operation: Option<Estimate>,
    /// Largest resident memory in bytes; absent where it was not accounted.
    pub memory_peak: Option<Estimate>,
}

/// How a variant takes a rising rate, and the highest that keeps an objective.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capacity {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// The quantity that the objective bounds; a time.
    pub quantity: Quantity,
    /// The most it may be, in the quantity's unit.
    pub limit: f64,
    /// The highest rate per second that keeps the objective; absent where none was found.
    pub highest: Option<Estimate>,
    /// What was tried, rising by rate.
    pub steps: Vec<Step>,
}

/// One rate that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Requests due per second.
    pub offered_per_s: f64,
    /// Good replies per second.
    pub answered_per_s: f64,
    /// The objective's quantity; absent where the step was cut short.
    pub figure: Option<Estimate>,
    /// Whether the objective was kept.
    pub kept: Kept,
}

/// Whether a step kept its objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kept {
    /// It did.
    Yes,
    /// It did not.
    No,
    /// The interval holds the limit.
    Undecided,
}

/// What each of several layers adds, from a baseline to the variant that has them all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waterfall {
    /// The point.
    pub point: PointLabel,
    /// What all of its variants are: `rust`.
    #[serde(default)]
    pub of: String,
    /// The operation's name, or `all`.
    pub operation: String,
    /// The quantity.
    pub quantity: Quantity,
    /// Its unit.
    pub unit: Unit,
    /// The variant without layers.
    pub from: Level,
    /// Each layer's own cost, in the order in which they are put on.
    pub layers: Vec<Level>,
    /// The variant with all of them.
    pub to: Level,
}

/// A name and its figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// The variant's or the layer's name.
    pub name: String,
    /// The figure, or of a layer the difference that it makes.
    pub estimate: Estimate,
}

/// What charts draw, made by `judge` from the records. `detail.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Detail {
    /// Percentile curves.
    pub curves: Vec<Curve>,
    /// Densities.
    pub densities: Vec<Density>,
    /// Courses over the time of the run.
    pub courses: Vec<Course>,
    /// Dots over the time of the run.
    pub samples: Vec<Samples>,
    /// Factors whose values are numbers.
    pub axes: Vec<Axis>,
    /// CPU and memory by role.
    pub roles: Vec<RoleUse>,
    /// Times over size, of workloads whose sizes vary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_curves: Vec<SizeCurve>,
    /// Medians over size against other references than the baseline; of at most 12 variants.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_ratios: Vec<SizeRatios>,
    /// Single requests over size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub size_samples: Vec<SizeSamples>,
    /// Capacity curves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<Capacity>,
    /// Costs of layers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waterfalls: Vec<Waterfall>,
}
