//! Accuracy of the generator on a host: the result of `weigh calibrate --generator`.
//!
//! Values only. The conductor collects requests and the probe's records, the judge computes these figures,
//! the report shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idle::IdleWait;
use crate::quantity::{Nanoseconds, PerSecond, Ratio};

pub const CALIBRATION_VERSION: u32 = 2;

/// A quantile of a difference of times, in nanoseconds, with its 95 % interval by order statistics. May be
/// negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorQuantile {
    #[serde(rename = "point_ns")]
    pub point: i64,
    #[serde(rename = "lower_ns")]
    pub lower: i64,
    #[serde(rename = "upper_ns")]
    pub upper: i64,
}

/// Measured response time minus replayed truth, request by request, for one law of the probe and one shape of
/// load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCurve {
    /// The probe's law, in its own words.
    pub law: String,
    pub shape: String,
    pub requests: u64,
    /// Median of the replayed truth.
    #[serde(rename = "truth_p50_ns")]
    pub truth_p50: Nanoseconds,
    pub p50: ErrorQuantile,
    pub p90: Option<ErrorQuantile>,
    /// Absent where fewer than 20 requests lie beyond it.
    pub p99: Option<ErrorQuantile>,
    #[serde(rename = "max_ns")]
    pub max: i64,
    /// Median error minus that under the law of no delay, same shape.
    #[serde(rename = "beyond_null_p50_ns")]
    pub beyond_null_p50: Option<i64>,
    /// 99th percentile of the error minus that under the law of no delay, same shape.
    #[serde(rename = "beyond_null_p99_ns")]
    pub beyond_null_p99: Option<i64>,
}

/// How the loop waits for the next arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Waiting {
    /// It sleeps, except for the last 50 µs.
    Sleeping,
    /// It never sleeps.
    Spinning,
}

/// How punctual open load is against a server without delay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pacing {
    /// Requested rate.
    #[serde(rename = "rate_per_s")]
    pub rate: PerSecond,
    pub waiting: Waiting,
    pub due: u64,
    /// Answered requests as a share of those due.
    pub achieved: Ratio,
    /// Median lag: the generator's own lateness in sending.
    #[serde(rename = "lag_p50_ns")]
    pub lag_p50: Nanoseconds,
    /// 99th percentile of the lag.
    #[serde(rename = "lag_p99_ns")]
    pub lag_p99: Nanoseconds,
}

/// The generator's highest throughput against a server without delay, in closed load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    pub connections: u32,
    pub in_flight: u32,
    /// Good replies per second of wall time.
    #[serde(rename = "throughput_per_s")]
    pub throughput: PerSecond,
    /// Good replies per second of the loop's CPU time.
    #[serde(rename = "per_cpu_second")]
    pub per_cpu_second: PerSecond,
}

/// Interruptions of the client's core while the services' cores were busy: gaps of 50 µs or more, seen by a
/// thread that never gives the core up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostGaps {
    /// How long the core was observed.
    #[serde(rename = "watched_ns")]
    pub watched: Nanoseconds,
    /// Share of that time that lies in gaps.
    pub share: Ratio,
    #[serde(rename = "per_s")]
    pub rate: PerSecond,
    #[serde(rename = "longest_ns")]
    pub longest: Nanoseconds,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorCalibration {
    pub schema: u32,
    #[serde(default)]
    pub idle: IdleWait,
    /// Interruptions of the client's core; absent if it could not be observed.
    pub gaps: Option<HostGaps>,
    /// Errors relative to the truth; the law of no delay first.
    pub errors: Vec<ErrorCurve>,
    pub pacing: Vec<Pacing>,
    pub ceilings: Vec<Ceiling>,
    #[serde(rename = "took_ns")]
    pub took: Nanoseconds,
}
