//! What a trial's record says of the servers that its service asks: its peer, the server of its database.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::RuntimeFacts;
use crate::quantity::Nanoseconds;

/// What the peer of a variant said of itself when it started, and what was seen of its processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PeerFacts {
    /// Its name in the catalogue.
    pub service: String,
    /// Its answer to `--version`.
    pub version: Option<String>,
    /// SHA-256 of the executable, hexadecimal.
    pub binary_sha256: Option<String>,
    /// Time from start to ready.
    #[serde(rename = "start_ns")]
    pub start: Nanoseconds,
    /// What its run-time saw; `None` where it had ended before it was looked at.
    pub runtime: Option<RuntimeFacts>,
}

/// The server of a variant's database.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DatabaseFacts {
    /// As the experiment names it: `postgres`.
    pub engine: String,
    /// Its own word.
    pub version: String,
    /// Time from start to ready.
    #[serde(rename = "start_ns")]
    pub start: Nanoseconds,
    /// The settings that are not the engine's defaults.
    pub settings: BTreeMap<String, String>,
}
