//! What a run says of times over the size of a message: curves, cliffs, advice. Made by `judge`, shown by `report`.
//!
//! Curves are for charts and lie in the detail; cliffs and advice are conclusions and lie in the summary. A *quantile* of a
//! curve is where requests lie; an *interval* is how well something is known. Neither stands for the other.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::PointLabel;
use crate::quantity::Bytes;

/// Which time a curve is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SizeTime {
    /// Done minus due.
    Response,
    /// Done minus sent.
    Service,
    /// What a relay measured around its own request.
    Relayed,
}

impl SizeTime {
    /// All, in the order of tables.
    pub const ALL: [Self; 3] = [Self::Response, Self::Service, Self::Relayed];

    /// The name in JSON and tables.
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
    /// The value.
    pub point: f64,
    /// Lower bound.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
}

/// One quantile over size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeQuantile {
    /// The quantile, 0 to 1: this share of the requests of about this size took less.
    pub quantile: f64,
    /// Times in nanoseconds, one for each size; `null` where fewer than 3 requests of about this size lie beyond.
    pub time_ns: Vec<Option<f64>>,
}

/// Times of one variant over size. Lists are of equal length, one entry for each size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeCurve {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// The operation's name.
    pub operation: String,
    /// Which time.
    pub time: SizeTime,
    /// Requests that it is made of.
    pub requests: u64,
    /// Sizes in bytes, rising.
    pub size_bytes: Vec<u64>,
    /// Quantiles of single requests, rising; the median among them.
    pub quantiles: Vec<SizeQuantile>,
    /// 95 % interval of the median in nanoseconds, at each size for itself; empty below 4 blocks.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub median_interval_ns: Vec<Option<(f64, f64)>>,
    /// Median over the baseline's; empty for the baseline.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ratio: Vec<Option<SizeRatio>>,
}

/// A variant's median over the baseline's at one size, blocks paired.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRatio {
    /// The ratio.
    pub point: f64,
    /// Lower and upper bound at 95 %, at this size for itself; absent below 4 blocks.
    pub interval: Option<(f64, f64)>,
}

/// A variant's median over that of another which is not the baseline, over size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRatios {
    /// The variant's name.
    pub variant: String,
    /// The other's name; the ratio the other way round is the inverse, bounds exchanged.
    pub reference: String,
    /// The point.
    pub point: PointLabel,
    /// The operation's name.
    pub operation: String,
    /// Which time.
    pub time: SizeTime,
    /// The ratio at each size of the variant's curve.
    pub ratio: Vec<Option<SizeRatio>>,
}

/// Single requests over size; columns of equal length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSamples {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// The operation's name.
    pub operation: String,
    /// Which time.
    pub time: SizeTime,
    /// The size of each, rising.
    pub size_bytes: Vec<u64>,
    /// The time of each.
    pub time_ns: Vec<u64>,
    /// Requests that failed and are not among them.
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
    /// The time steps by the same again and again, at equal distances: heights are in nanoseconds a stair.
    Stairs,
}

/// A place at which a variant's median time over size steps, or changes its slope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeCliff {
    /// The variant's name.
    pub variant: String,
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// The operation's name.
    pub operation: String,
    /// What happens.
    pub change: CliffChange,
    /// Where, in bytes; of stairs the first.
    pub place_bytes: Bounded,
    /// How many bytes one of the stairs is from the next; absent where there is but one place.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub period_bytes: Option<Bounded>,
    /// By how much: nanoseconds, or nanoseconds per byte.
    pub height: Bounded,
    /// The time, or the time for each byte, just below.
    pub before: f64,
    /// What lies there on this host, in words: a likely cause, never a proven one. Absent where nothing known does.
    pub cause: Option<String>,
}

/// At which sizes a variant's cliffs would have been found. Nearer to an end too few requests lie on one side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeJudged {
    /// The variant's name.
    pub variant: String,
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// The operation's name.
    pub operation: String,
    /// Between which sizes a step of the level would be told, in bytes.
    pub steps_bytes: (u64, u64),
    /// Between which sizes a change of slope would be told, in bytes.
    pub corners_bytes: (u64, u64),
    /// Whether the curve changes at more places than are looked for; then no change of slope is told of it.
    pub cut_off: bool,
}

/// A size at which something known of this host changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeGuide {
    /// What it is: `receive buffer (tcp_rmem)`.
    pub name: String,
    /// The size.
    pub bytes: Bytes,
}

/// Which variant to take for messages of a size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeAdvice {
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// The operation's name.
    pub operation: String,
    /// Ranges that follow each other.
    pub ranges: Vec<SizeRange>,
}

/// A range of sizes over which the same variants are best.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeRange {
    /// Smallest size in bytes.
    pub from_bytes: u64,
    /// Largest size in bytes.
    pub to_bytes: u64,
    /// The variant with the lowest level first, then those that are not told from it: a tie; rising by level.
    pub best: Vec<String>,
    /// Those among `best` that have too few blocks in common with the first to be told from it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub few_blocks: Vec<String>,
    /// How much slower the next variant behind them is at least, as a ratio of medians minus 1 (lower bound, simultaneous over
    /// the whole advice, 0 where it is below); absent where all are tied.
    pub lead: Option<f64>,
}

/// What a run says of times over size. Empty, and left out, where sizes do not vary.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct OverSize {
    /// Cliffs, by variant and place.
    pub cliffs: Vec<SizeCliff>,
    /// Where cliffs were looked for, variant by variant; none of those with too few blocks or sizes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<SizeJudged>,
    /// Advice, one for each point and operation with several variants.
    pub advice: Vec<SizeAdvice>,
    /// Sizes at which something known of this host changes, rising.
    pub guides: Vec<SizeGuide>,
}

impl OverSize {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.cliffs.is_empty() && self.judged.is_empty() && self.advice.is_empty()
    }
}
