//! Quantities, estimates and verdicts.
//!
//! These types are part of the published JSON, as those of [`crate::summary`] are.

mod table;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use table::Phrase;
use table::{Interval, QuantityRow, TABLE};

use crate::quantity::{display_bytes, display_count, display_nanos, display_rate, display_share};

/// A figure that can be estimated for a variant and compared between variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-quantities" = table::published()))]
pub enum Quantity {
    ResponseP50,
    ResponseP90,
    ResponseP95,
    ResponseP99,
    ResponseMean,
    ServiceP50,
    ServiceP90,
    ServiceP99,
    ServiceMean,
    /// Good replies per second of window time.
    Throughput,
    /// CPU time of all the variant's processes per request answered.
    CpuPerOperation,
    /// Bytes both ways on the generator's connections per request answered.
    BytesPerOperation,
    /// Bytes of the bodies of requests and replies, without what frames them, per request answered.
    PayloadBytesPerOperation,
    /// Bytes of packets both ways on the link of the variant's client, Ethernet headers included, per request answered.
    WireBytesPerOperation,
    /// TCP segments both ways on the generator's connections per request answered.
    SegmentsPerOperation,
    /// Largest resident memory of the variant's processes over a trial.
    MemoryPeak,
    /// The highest rate that keeps the objective, in requests (or sessions) due per second.
    Capacity,
    /// Requests that got an answer, of those due.
    Availability,
    /// Requests that were answered rightly, of those due.
    Reliability,
    /// Lookups that found their key, of all; so are the following shares.
    HitRate,
    /// Bytes of values found, of those looked up.
    ByteHitRate,
    /// Of a key that was never written.
    CompulsoryMisses,
    /// Of a key that was written, and is gone for none of the other reasons.
    CapacityMisses,
    /// Of a key whose last write deleted it.
    InvalidatedMisses,
    /// Of a key whose time to live was over.
    ExpiredMisses,
    /// Of a key whose refill was under way.
    UnderWayMisses,
    /// Lookups that missed and led to a refill.
    RefillRate,
    /// Attempts that were answered *again*, of all.
    AbortRate,
    /// Actions of a script, of which every reply was right, per second; an action is one or more requests.
    ActionThroughput,
    /// What it takes to make a service's database what it was at first, before each window.
    RestoreTime,
}

/// The unit of a quantity's figures, as in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    Ns,
    Bytes,
    PerSecond,
    Count,
    /// In parts of 1; differences are in percentage points.
    Share,
}

/// How a quantity of two variants is compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContrastKind {
    /// By the ratio, on the log scale.
    #[default]
    Log,
    /// By the difference, in the quantity's own unit.
    Plain,
}

impl ContrastKind {
    /// The unit of a hundredth of a change: per cent, or percentage points of a share.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Log => "%",
            Self::Plain => "pp",
        }
    }

    pub(crate) fn is_log(&self) -> bool {
        *self == Self::Log
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Better,
    Worse,
}

/// Which statistic of request times a quantity is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// A quantile, 0 to 1.
    Quantile(f64),
    Mean,
    /// Not a statistic of request times.
    Other,
}

impl Quantity {
    /// All quantities, in the order of tables.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::ResponseP50; TABLE.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = TABLE[at].quantity;
            at += 1;
        }
        all
    };

    /// Its row; a test checks that rows and arms have the same order.
    const fn row(self) -> &'static QuantityRow {
        &TABLE[self as usize]
    }

    /// The name in JSON: `response_p50`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    pub fn label(self) -> String {
        self.name().replace('_', " ")
    }

    pub const fn unit(self) -> Unit {
        self.row().unit
    }

    pub const fn statistic(self) -> Statistic {
        self.row().statistic
    }

    /// Whether it is of response time (done minus due).
    pub const fn is_response(self) -> bool {
        matches!(self.row().interval, Some(Interval::Response))
    }

    /// Whether it is of service time (done minus sent).
    pub const fn is_service(self) -> bool {
        matches!(self.row().interval, Some(Interval::Service))
    }

    pub const fn higher_is(self) -> Effect {
        self.row().higher_is
    }

    /// Whether each of several operations has a figure of its own; CPU time, bytes and memory cannot be
    /// divided among them.
    pub const fn is_by_operation(self) -> bool {
        self.row().is_by_operation
    }

    pub const fn contrast(self) -> ContrastKind {
        self.row().contrast
    }

    /// The only workload that has it; `None` if any may.
    pub const fn of_workload(self) -> Option<&'static str> {
        match self {
            Self::HitRate
            | Self::ByteHitRate
            | Self::CompulsoryMisses
            | Self::CapacityMisses
            | Self::InvalidatedMisses
            | Self::ExpiredMisses
            | Self::UnderWayMisses
            | Self::RefillRate => Some("cache"),
            Self::AbortRate | Self::ActionThroughput | Self::RestoreTime => Some("trade"),
            _ => None,
        }
    }

    pub const fn phrase(self) -> Phrase {
        self.row().phrase
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a quantity; allowed: {list}", list = Quantity::ALL.map(|q| q.label()).join(", "))]
pub struct UnknownQuantity(pub String);

impl FromStr for Quantity {
    type Err = UnknownQuantity;
    /// Accepts `response p50`, `response_p50`, and `p50` for the response time.
    fn from_str(text: &str) -> Result<Self, UnknownQuantity> {
        let name = text.trim().replace([' ', '-'], "_").to_lowercase();
        Self::ALL
            .into_iter()
            .find(|q| q.name() == name || q.name() == format!("response_{name}"))
            .ok_or_else(|| UnknownQuantity(text.to_owned()))
    }
}

impl Unit {
    /// A figure of this unit as text, in a scale of its size.
    pub fn display(self, value: f64) -> String {
        match self {
            Self::Ns => display_nanos(value),
            Self::Bytes => display_bytes(value),
            Self::PerSecond => display_rate(value),
            Self::Count => display_count(value),
            Self::Share => display_share(value),
        }
    }
}

/// A figure with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate itself, in the quantity's unit (or a plain ratio).
    pub point: f64,
    /// Lower bound of the interval; absent below 4 blocks.
    pub lower: Option<f64>,
    /// Upper bound of the interval; absent below 4 blocks.
    pub upper: Option<f64>,
    /// Confidence level of the interval: 0.95.
    pub level: f64,
    /// Number of block estimates.
    pub blocks: u32,
    /// The bootstrap-t interval of the same estimate, for costs from 10 blocks on. For information; no
    /// verdict uses it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bootstrap: Option<Bounds>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    pub lower: f64,
    pub upper: f64,
}

impl Estimate {
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.lower.zip(self.upper)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// The whole interval of the ratio lies within the margin.
    #[serde(rename = "no relevant difference")]
    NoRelevantDifference,
    /// The interval lies above 1.
    #[serde(rename = "higher")]
    Higher,
    /// The interval lies below 1.
    #[serde(rename = "lower")]
    Lower,
    /// The interval allows neither conclusion.
    #[serde(rename = "undecided")]
    Undecided,
    /// The data must not be used; the reason says why.
    #[serde(rename = "invalid")]
    Invalid,
    /// No figure: too few requests for this quantile, not measured, or the generator was the limit; the
    /// reason says which.
    #[serde(rename = "withheld")]
    Withheld,
}

impl Verdict {
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoRelevantDifference => "no relevant difference",
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Undecided => "undecided",
            Self::Invalid => "invalid",
            Self::Withheld => "withheld",
        }
    }
}

/// Whether figures may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    /// No check objects.
    #[default]
    Valid,
    /// To be read with care; the findings say why.
    Suspect,
    /// They must not be used.
    Invalid,
}

impl Validity {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_every_spelling() {
        for text in ["p99", "response p99", "response_p99", "Response P99"] {
            assert_eq!(text.parse(), Ok(Quantity::ResponseP99));
        }
        assert_eq!("service mean".parse(), Ok(Quantity::ServiceMean));
        let error = "p98".parse::<Quantity>().unwrap_err().to_string();
        assert!(error.contains("`p98`") && error.contains("response p50"), "{error}");
    }
}
