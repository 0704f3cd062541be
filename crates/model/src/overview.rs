//! What `weigh summary` says of runs, measured and imported ones alike: one row a variant (or imported series) and point.
//!
//! Every figure here has its interval, or says that it has none; everything else is a count.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Validity;
use crate::id::PointLabel;
use crate::sizes::SizeTime;
use crate::tags::TagSet;

/// Rows of one or several runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overview {
    /// Run by run, point by point, variant by variant.
    pub rows: Vec<OverviewRow>,
}

/// Who measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A run of ours: intervals are over blocks, each a fresh start.
    Measured,
    /// Another program: intervals are over the rows of its log, as if they were independent of each other. They say how
    /// well this one log knows its quantile, and nothing of another run.
    Imported,
}

impl Origin {
    /// What intervals are over.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Measured => "blocks",
            Self::Imported => "rows",
        }
    }
}

/// A figure, and its 95 % interval where there are enough blocks or rows for one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewFigure {
    /// The value.
    pub point: f64,
    /// Lower bound; `null` where there is no interval.
    pub lower: Option<f64>,
    /// Upper bound; `null` where there is no interval.
    pub upper: Option<f64>,
}

impl OverviewFigure {
    /// A figure with its interval, lower bound first.
    pub fn new(point: f64, interval: Option<(f64, f64)>) -> Self {
        let (lower, upper) = interval.unzip();
        Self { point, lower, upper }
    }

    /// Both bounds.
    pub fn interval(self) -> Option<(f64, f64)> {
        self.lower.zip(self.upper)
    }

    /// What a rising function makes of the value and of its bounds.
    pub fn map(self, of: impl Fn(f64) -> f64) -> Self {
        Self { point: of(self.point), lower: self.lower.map(&of), upper: self.upper.map(&of) }
    }
}

/// One variant at one point, or one imported series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverviewRow {
    /// The run folder's name.
    pub run: String,
    /// The variant, or the imported series, as the run calls it.
    pub variant: String,
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "PointLabel::is_empty", default)]
    pub point: PointLabel,
    /// The tag of where it ran; `null` where nobody said.
    pub machine: Option<String>,
    /// The tag of what was tried: that of ppbench's log, or the variant's.
    pub experiment: String,
    /// Both as a reader is shown them, by a naming file where there is one.
    pub name: String,
    /// All tags.
    #[serde(skip_serializing_if = "TagSet::is_empty", default)]
    pub tags: TagSet,
    /// Who measured it.
    pub origin: Origin,
    /// Whether its figures may be used; `null` of imported ones, which nobody checked.
    pub validity: Option<Validity>,
    /// Requests begun in measured windows; rows of an imported log.
    pub requests: u64,
    /// Failures among them; rows of an imported log whose time may not be used: that failed, or have another status than 200,
    /// another length than asked for, or a time not above 0.
    pub failed: u64,
    /// Those that a relay had to repeat; `null` where no relay, and no row of a log, told.
    pub retried: Option<u64>,
    /// The smallest size asked for; `null` where the workload has none.
    pub size_from_bytes: Option<u64>,
    /// The largest.
    pub size_to_bytes: Option<u64>,
    /// Which time the next two are of.
    pub time: SizeTime,
    /// Its median.
    pub median_ns: Option<OverviewFigure>,
    /// Its 90th percentile.
    pub p90_ns: Option<OverviewFigure>,
    /// The median over requests of the body's bytes per second of that time.
    pub transfer_median_bytes_per_s: Option<OverviewFigure>,
    /// Good replies per second of window time; `null` of imported logs, whose requests per second are one over the time.
    pub throughput_per_s: Option<OverviewFigure>,
}
