//! How good the generator's own figures are on a host: what `weigh calibrate --generator` found.
//!
//! Values only. The conductor collects requests and the probe's records, the judge makes these figures of them, the
//! report shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idle::IdleWait;
use crate::quantity::{Nanoseconds, PerSecond, Ratio};

/// Version of this JSON.
pub const CALIBRATION_VERSION: u32 = 2;

/// A quantile with its 95 % interval by order statistics, in nanoseconds. May be negative: it is a difference of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorQuantile {
    /// The quantile.
    #[serde(rename = "point_ns")]
    pub point: i64,
    /// Lower end of its interval.
    #[serde(rename = "lower_ns")]
    pub lower: i64,
    /// Upper end of its interval.
    #[serde(rename = "upper_ns")]
    pub upper: i64,
}

/// Measured response minus replayed truth, request by request, for one law of the probe and one shape of load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorCurve {
    /// The probe's law, in its own words.
    pub law: String,
    /// The shape of the load.
    pub shape: String,
    /// Requests compared.
    pub requests: u64,
    /// Median of the replayed truth.
    #[serde(rename = "truth_p50_ns")]
    pub truth_p50: Nanoseconds,
    /// Median error.
    pub p50: ErrorQuantile,
    /// 90th percentile of the error.
    pub p90: Option<ErrorQuantile>,
    /// 99th percentile; absent where fewer than 20 requests lie beyond it.
    pub p99: Option<ErrorQuantile>,
    /// The largest error.
    #[serde(rename = "max_ns")]
    pub max: i64,
    /// Median error beyond that under the law of no delay, same shape.
    #[serde(rename = "beyond_null_p50_ns")]
    pub beyond_null_p50: Option<i64>,
    /// 99th percentile of the error beyond that under the law of no delay, same shape.
    #[serde(rename = "beyond_null_p99_ns")]
    pub beyond_null_p99: Option<i64>,
}

/// How the loop waits for the next arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Waiting {
    /// Asleep, but for the last 50 µs.
    Sleeping,
    /// Awake all the time.
    Spinning,
}

/// How punctual open load is against a server without delay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pacing {
    /// Rate asked for.
    #[serde(rename = "rate_per_s")]
    pub rate: PerSecond,
    /// How the loop waited.
    pub waiting: Waiting,
    /// Requests due.
    pub due: u64,
    /// Requests answered, as a share of those due.
    pub achieved: Ratio,
    /// Median lag: the generator's own lateness in sending.
    #[serde(rename = "lag_p50_ns")]
    pub lag_p50: Nanoseconds,
    /// 99th percentile of the lag.
    #[serde(rename = "lag_p99_ns")]
    pub lag_p99: Nanoseconds,
}

/// The most the generator does against a server without delay, closed load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Connections.
    pub connections: u32,
    /// Requests in flight on each.
    pub in_flight: u32,
    /// Good replies per second of wall time.
    #[serde(rename = "throughput_per_s")]
    pub throughput: PerSecond,
    /// Good replies per second of the loop's CPU time.
    #[serde(rename = "per_cpu_second")]
    pub per_cpu_second: PerSecond,
}

/// What others took of the client's core while the services' cores were busy: gaps of 50 µs or more that a thread saw
/// which never gave it up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostGaps {
    /// How long the core was watched.
    #[serde(rename = "watched_ns")]
    pub watched: Nanoseconds,
    /// The part of the time that it was away.
    pub share: Ratio,
    /// Gaps in a second.
    #[serde(rename = "per_s")]
    pub rate: PerSecond,
    /// The longest.
    #[serde(rename = "longest_ns")]
    pub longest: Nanoseconds,
}

/// What `weigh calibrate --generator` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GeneratorCalibration {
    /// Version of this JSON.
    pub schema: u32,
    /// How idle cores waited.
    #[serde(default)]
    pub idle: IdleWait,
    /// What others took of the client's core; absent where it could not be watched.
    pub gaps: Option<HostGaps>,
    /// Errors against the truth, the law of no delay first.
    pub errors: Vec<ErrorCurve>,
    /// Punctuality.
    pub pacing: Vec<Pacing>,
    /// Ceilings.
    pub ceilings: Vec<Ceiling>,
    /// Time it took.
    #[serde(rename = "took_ns")]
    pub took: Nanoseconds,
}
