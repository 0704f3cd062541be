//! What a run says about time as a function of message size: curves, cliffs, advice. `judge` makes these
//! values, `report` shows them.
//!
//! Curves are for charts and belong to the detail; cliffs and advice are conclusions and belong to the
//! summary. A *quantile* of a curve says where requests lie; an *interval* says how well a value is known.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::PointLabel;
use crate::quantity::Bytes;

/// Which time a curve is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeTime {
    Response,
    Service,
    /// What a relay measured around its own request.
    Relayed,
}

impl SizeTime {
    pub const ALL: [Self; 3] = [Self::Response, Self::Service, Self::Relayed];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Response => "response",
            Self::Service => "service",
            Self::Relayed => "relayed",
        }
    }
}

/// A value with its 95 % interval over blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounded {
    pub point: f64,
    pub lower: f64,
    pub upper: f64,
}

/// One quantile over size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeQuantile {
    /// The quantile, 0 to 1: this share of the requests of about this size took less.
    pub quantile: f64,
    /// Times in nanoseconds, one per size; `null` where fewer than 3 requests of about this size lie beyond.
    pub time_ns: Vec<Option<f64>>,
}

/// Times of one variant over size. All lists have one entry per size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeCurve {
    pub variant: String,
    pub point: PointLabel,
    pub operation: String,
    pub time: SizeTime,
    /// Requests that the curve is computed from.
    pub requests: u64,
    /// Sizes in bytes, ascending.
    pub size_bytes: Vec<u64>,
    /// Quantiles of single requests, ascending; the median is among them.
    pub quantiles: Vec<SizeQuantile>,
    /// 95 % interval of the median in nanoseconds, for each size by itself; empty below 4 blocks.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub median_interval_ns: Vec<Option<(f64, f64)>>,
    /// Median over the baseline's; empty for the baseline.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ratio: Vec<Option<SizeRatio>>,
}

/// A variant's median over the baseline's at one size, blocks paired.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRatio {
    pub point: f64,
    /// Lower and upper bound at 95 %, for this size by itself; absent below 4 blocks.
    pub interval: Option<(f64, f64)>,
}

/// A variant's median over that of another variant that is not the baseline, over size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRatios {
    pub variant: String,
    /// The other variant. The ratio of `reference` over `variant` is the inverse, with exchanged bounds.
    pub reference: String,
    pub point: PointLabel,
    pub operation: String,
    pub time: SizeTime,
    /// The ratio at each size of the variant's curve.
    pub ratio: Vec<Option<SizeRatio>>,
}

/// Single requests over size; columns of equal length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSamples {
    pub variant: String,
    pub point: PointLabel,
    pub operation: String,
    pub time: SizeTime,
    /// The size of each request, ascending.
    pub size_bytes: Vec<u64>,
    /// The time of each request.
    pub time_ns: Vec<u64>,
    /// Failed requests; they are not in the lists.
    pub failed: u64,
}

/// What happens at a cliff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CliffChange {
    /// The time steps up or down: heights are in nanoseconds.
    Level,
    /// The time for each further byte changes: heights are in nanoseconds per byte.
    Slope,
    /// The time steps by the same amount at equal distances: heights are in nanoseconds a step.
    Stairs,
}

/// A size at which a variant's median time steps, or changes its slope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeCliff {
    pub variant: String,
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    pub operation: String,
    pub change: CliffChange,
    /// The size, in bytes; for stairs that of the first step.
    pub place_bytes: Bounded,
    /// Bytes from one step of the stairs to the next; absent if there is one step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub period_bytes: Option<Bounded>,
    /// By how much: nanoseconds, or nanoseconds per byte.
    pub height: Bounded,
    /// The time, or the time for each byte, just below.
    pub before: f64,
    /// A known property of this host at that size: a likely cause, never a proven one. Absent if none is
    /// known.
    pub cause: Option<String>,
}

/// The sizes at which a variant's cliffs could be found. Nearer to the ends of the range there are too few
/// requests on one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeJudged {
    pub variant: String,
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    pub operation: String,
    /// Range of sizes in which a step of the level would be reported, in bytes.
    pub steps_bytes: (u64, u64),
    /// Range of sizes in which a change of slope would be reported, in bytes.
    pub corners_bytes: (u64, u64),
    /// Whether the curve changes at more sizes than the search allows; no change of slope is reported then.
    pub cut_off: bool,
}

/// A size at which something known of this host changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeGuide {
    /// What changes there: `receive buffer (tcp_rmem)`.
    pub name: String,
    pub bytes: Bytes,
}

/// Which variant to take for messages of a size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeAdvice {
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    pub operation: String,
    pub ranges: Vec<SizeRange>,
}

/// A range of sizes over which the same variants are best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRange {
    /// Smallest size in bytes.
    pub from_bytes: u64,
    /// Largest size in bytes.
    pub to_bytes: u64,
    /// The variant with the lowest level first, then those whose difference from it is not shown (a tie), by
    /// rising level.
    pub best: Vec<String>,
    /// The variants of `best` that share too few blocks with the first for a difference to be shown.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub few_blocks: Vec<String>,
    /// How much slower the next variant behind them is at least, as a ratio of medians minus 1: the lower
    /// bound, simultaneous over the whole advice, at least 0. Absent if all variants are tied.
    pub lead: Option<f64>,
}

/// What a run says about time over size. Empty, and left out, if sizes do not vary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OverSize {
    /// Cliffs, by variant and size.
    pub cliffs: Vec<SizeCliff>,
    /// Where cliffs were looked for, by variant. Variants with too few blocks or sizes are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<SizeJudged>,
    /// Advice, for each point and operation with several variants.
    pub advice: Vec<SizeAdvice>,
    /// Sizes at which something known of this host changes, ascending.
    pub guides: Vec<SizeGuide>,
}

impl OverSize {
    /// Whether there is nothing to report; guides alone are nothing.
    pub fn is_empty(&self) -> bool {
        self.cliffs.is_empty() && self.judged.is_empty() && self.advice.is_empty()
    }
}
