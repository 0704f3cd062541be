//! The result of `weigh summary` for measured and imported runs: one row for each variant (or imported
//! series) and point.
//!
//! Every figure has its interval, or says that it has none; everything else is a count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Validity;
use crate::id::PointLabel;
use crate::sizes::SizeTime;
use crate::tags::TagSet;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overview {
    /// By run, point and variant.
    pub rows: Vec<OverviewRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// Measured by Weighbridge: intervals are over blocks, each a fresh start.
    Measured,
    /// Measured by another program: intervals are over the rows of its log, as if the rows were independent
    /// of each other. They say how well this log determines its quantile, and nothing about another run.
    Imported,
}

impl Origin {
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Measured => "blocks",
            Self::Imported => "rows",
        }
    }
}

/// A figure, with its 95 % interval if there are enough blocks or rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewFigure {
    pub point: f64,
    /// Lower bound; `null` without an interval.
    pub lower: Option<f64>,
    /// Upper bound; `null` without an interval.
    pub upper: Option<f64>,
}

impl OverviewFigure {
    pub fn new(point: f64, interval: Option<(f64, f64)>) -> Self {
        let (lower, upper) = interval.unzip();
        Self { point, lower, upper }
    }

    pub fn interval(self) -> Option<(f64, f64)> {
        self.lower.zip(self.upper)
    }

    /// Applies an increasing function to the value and its bounds.
    pub fn map(self, function: impl Fn(f64) -> f64) -> Self {
        Self {
            point: function(self.point),
            lower: self.lower.map(&function),
            upper: self.upper.map(&function),
        }
    }
}

/// One variant at one point, or one imported series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewRow {
    pub run: String,
    /// The variant or imported series, as named in the run.
    pub variant: String,
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "PointLabel::is_empty", default)]
    pub point: PointLabel,
    /// The tag `machine`; `null` if not given.
    pub machine: Option<String>,
    /// The tag `experiment` of ppbench's log or of the variant, else the variant's name.
    pub experiment: String,
    /// Readable name made of both tags, by a naming file if there is one.
    pub name: String,
    /// All tags.
    #[serde(skip_serializing_if = "TagSet::is_empty", default)]
    pub tags: TagSet,
    pub origin: Origin,
    /// Whether its figures may be used; `null` for imported rows, which are not checked.
    pub validity: Option<Validity>,
    /// Requests begun in measured windows; for an imported log its rows.
    pub requests: u64,
    /// Failures among them; for an imported log the rows whose time may not be used: failed, a status other
    /// than 200, a length other than asked for, or a time not above 0.
    pub failed: u64,
    /// Requests that a relay retried; `null` if no relay and no row of a log reports retries.
    pub retried: Option<u64>,
    /// The smallest size asked for; `null` if the workload has no sizes.
    pub size_from_bytes: Option<u64>,
    /// The largest size asked for.
    pub size_to_bytes: Option<u64>,
    /// The time that `median_ns` and `p90_ns` are of.
    pub time: SizeTime,
    pub median_ns: Option<OverviewFigure>,
    pub p90_ns: Option<OverviewFigure>,
    /// Median over requests of body bytes per second of that time.
    pub transfer_median_bytes_per_s: Option<OverviewFigure>,
    /// Good replies per second of window time; `null` for imported logs, whose requests per second are the
    /// inverse of the time.
    pub throughput_per_s: Option<OverviewFigure>,
}
