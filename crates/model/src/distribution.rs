//! How response times are distributed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::quantity::Nanoseconds;

/// All response times of one URL.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct TimeDistribution {
    /// From p50 on, those with enough requests beyond them whose requests were sent in time.
    pub percentiles: Vec<Percentile>,
    /// How many requests took how long, ascending and without gaps; the first and the last hold requests.
    pub histogram: Vec<TimeBucket>,
}

/// A share of requests and the time within which they were answered.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Percentile {
    /// From 0 to 1.
    pub quantile: f64,
    /// Response time.
    #[serde(rename = "time_ns")]
    pub time: Nanoseconds,
}

/// Requests whose response time lies in a range.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TimeBucket {
    /// Their times are longer than this …
    #[serde(rename = "above_ns")]
    pub above: Nanoseconds,
    /// … and at most this.
    #[serde(rename = "to_ns")]
    pub to: Nanoseconds,
    /// How many.
    pub count: u64,
}
