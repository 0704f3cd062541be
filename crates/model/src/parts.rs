//! Where the time of relayed requests went, and how many bytes were carried. `judge` makes these values,
//! `report` shows them.
//!
//! A relay reports how long its own call of its peer took, so each request's time splits into parts that sum
//! up to it. Means of parts add up too. Medians do not, so nobody subtracts them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Effect, Estimate, Verdict};
use crate::id::PointLabel;

/// One part of a request's response time, or the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimePart {
    /// Due to sent: waiting for a free connection at the client.
    Waiting,
    /// Service time minus the relay's own call: the relay's server and the network to it.
    Outside,
    /// The relay's own call, by its clock: its client, the network to the peer, the peer's server.
    Inside,
    /// Part of the call: what the peer takes when the generator asks it directly.
    Server,
    /// Part of the call: the rest, which is the relay's client compared with the generator's.
    Client,
    /// Done minus due: `waiting`, `outside` and `inside` together.
    Response,
}

impl TimePart {
    /// All, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Waiting, Self::Outside, Self::Inside, Self::Server, Self::Client, Self::Response];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Outside => "outside",
            Self::Inside => "inside",
            Self::Server => "server",
            Self::Client => "client",
            Self::Response => "response",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartTimes {
    pub part: TimePart,
    /// Mean over a block's requests, over blocks. Means of parts add up.
    pub mean_ns: Estimate,
    /// Median of a block's requests, over blocks. Absent for `server` and `client`, which are not parts of
    /// single requests, and where fewer than 20 requests lie beyond it in some block.
    pub p50_ns: Option<Estimate>,
    /// The means against the baseline's. Absent for the baseline, and where the part is not above zero in
    /// every block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<PartCost>,
}

/// A part's mean against the baseline's, blocks paired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartCost {
    /// Variant minus baseline in nanoseconds.
    pub difference: Estimate,
    /// Variant over baseline.
    pub ratio: Estimate,
    /// The conclusion, with Holm's correction over the parts of all variants at the point.
    pub verdict: Verdict,
    /// Whether the difference is an improvement.
    pub effect: Option<Effect>,
    /// What the verdict alone does not say.
    pub reason: Option<String>,
    /// The p-value that Holm's correction ranks.
    pub p: Option<f64>,
}

/// The parts of requests of some sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizedParts {
    pub from_bytes: u64,
    pub to_bytes: u64,
    /// Good replies.
    pub requests: u64,
    pub parts: Vec<PartTimes>,
}

/// Where the time of one relay's requests went at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelayParts {
    pub variant: String,
    pub point: PointLabel,
    pub operation: String,
    /// Good replies that the parts are computed from.
    pub requests: u64,
    /// Failed requests among the samples; they are in no part.
    pub failed: u64,
    /// Requests that are not kept as samples, and so in no part.
    pub left_out: u64,
    /// Requests that the relay retried, good and failed ones.
    pub retried: u64,
    /// Retries in all.
    pub retries: u64,
    /// The variant that asks the peer directly, if there is one: `server` and `client` are computed from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<String>,
    /// The parts, in the order of [`TimePart::ALL`].
    pub parts: Vec<PartTimes>,
    /// The same by size, ascending: each size by itself if there are few, else by powers of ten. Empty if
    /// there is one size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizedParts>,
}

/// Bytes that good replies of some sizes carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizedCarried {
    pub from_bytes: u64,
    pub to_bytes: u64,
    /// Good replies.
    pub requests: u64,
    /// Bytes per second of the windows' whole time; the classes of sizes sum up to the variant's figure.
    pub bytes_per_s: Estimate,
}

/// Goodput of one variant at one point: bytes carried divided by the windows' time, however long single
/// requests took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Carried {
    pub variant: String,
    pub point: PointLabel,
    /// Body bytes of good replies per second (for a relay that reports its own call: its peer's bodies).
    /// Absent where sizes of single requests are not known.
    pub bytes_per_s: Option<Estimate>,
    /// Payload on the generator's sockets per second, both ways, including heads and failed replies. Absent
    /// where it is not counted.
    pub sockets_bytes_per_s: Option<Estimate>,
    /// The contribution of each class of sizes to `bytes_per_s`, ascending; empty if there is one size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizedCarried>,
}
