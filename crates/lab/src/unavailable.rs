//! The error of what this host or this user cannot do: what is missing, and how to get it.

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub struct Unavailable {
    /// What is missing.
    pub reason: String,
    /// How to get it.
    pub remedy: String,
}

impl Unavailable {
    pub fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { reason: reason.into(), remedy: remedy.into() }
    }
}
