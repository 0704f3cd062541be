//! Where the time of requests that a relay passes on went, and what was carried: what a run says of them. Made by `judge`,
//! shown by `report`.
//!
//! A relay tells how long its own call of its peer took, so each request's time falls into parts that sum up to it. Means of
//! parts add up as well; medians do not, and nobody subtracts them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Effect, Estimate, Verdict};
use crate::id::PointLabel;

/// One part of a request's response time, or the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimePart {
    /// Due to sent: waiting at the client for a free connection.
    Waiting,
    /// Service time less the relay's own call: the relay's server and the way to it.
    Outside,
    /// The relay's own call, by its clock: its client, the way to the peer, the peer's server.
    Inside,
    /// Of the call: what the peer takes where the generator asks it directly.
    Server,
    /// Of the call: what is left, the relay's client against the generator's.
    Client,
    /// Done minus due: `waiting`, `outside` and `inside` together.
    Response,
}

impl TimePart {
    /// All, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Waiting, Self::Outside, Self::Inside, Self::Server, Self::Client, Self::Response];

    /// The name in JSON and columns.
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

/// One part, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartTimes {
    /// Which part.
    pub part: TimePart,
    /// Mean over a block's requests, over blocks. Means of parts add up.
    pub mean_ns: Estimate,
    /// Median of a block's requests, over blocks; absent of `server` and `client`, which are no parts of single requests,
    /// and where fewer than 20 requests lie beyond in some block.
    pub p50_ns: Option<Estimate>,
    /// The means against the baseline's; absent of the baseline, and where the part is not above zero in every block.
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
    /// The conclusion, by Holm among the parts of all variants at the point.
    pub verdict: Verdict,
    /// Whether that is good news.
    pub effect: Option<Effect>,
    /// What the verdict alone does not say.
    pub reason: Option<String>,
    /// The p by which Holm ranks it.
    pub p: Option<f64>,
}

/// The parts of requests of some sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizedParts {
    /// Smallest size.
    pub from_bytes: u64,
    /// Largest size.
    pub to_bytes: u64,
    /// Good replies that it is of.
    pub requests: u64,
    /// Its parts, without costs.
    pub parts: Vec<PartTimes>,
}

/// Where the time of one relay's requests went at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RelayParts {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// The operation's name.
    pub operation: String,
    /// Good replies that the parts are of.
    pub requests: u64,
    /// Failed requests among those kept one by one; in no part.
    pub failed: u64,
    /// Requests that are not kept one by one, and so in no part.
    pub left_out: u64,
    /// Requests that the relay repeated, good and failed ones.
    pub retried: u64,
    /// How often it did, in all.
    pub retries: u64,
    /// The variant that is the peer asked directly, where there is one: `server` and `client` rest on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direct: Option<String>,
    /// The parts, in the order of [`TimePart::ALL`].
    pub parts: Vec<PartTimes>,
    /// The same by size, rising: each size by itself where they are few, else by powers of ten; empty of a single size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizedParts>,
}

/// What good replies of some sizes carried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizedCarried {
    /// Smallest size.
    pub from_bytes: u64,
    /// Largest size.
    pub to_bytes: u64,
    /// Good replies.
    pub requests: u64,
    /// Bytes per second of the windows' whole time; all classes together make the variant's.
    pub bytes_per_s: Estimate,
}

/// True throughput of one variant at one point: bytes carried over the windows' time, whatever single requests took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Carried {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// Body bytes of good replies per second (of a relay that tells of its call: of its peer's bodies); absent where sizes
    /// of single requests are not known.
    pub bytes_per_s: Option<Estimate>,
    /// Payload on the generator's sockets per second, both ways, heads and failed replies included; absent where it is not
    /// counted.
    pub sockets_bytes_per_s: Option<Estimate>,
    /// The share of each class of sizes in `bytes_per_s`, rising; empty of a single size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizedCarried>,
}
