//! What failed requests of a trial had in common.

use serde::{Deserialize, Serialize};

use super::ErrorKind;
use crate::id::PointId;

/// Requests of a trial that failed alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedReplies {
    pub point: PointId,
    pub kind: ErrorKind,
    /// What the peer said, or what is wrong with its reply; without control characters and secrets.
    pub text: String,
    /// What the first of them was about, such as a key; empty where nothing is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub example: String,
    pub count: u64,
}
