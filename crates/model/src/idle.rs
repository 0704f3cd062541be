//! How the cores wait that have nothing to do: what an experiment asks for, and what its run could do.
//!
//! An idle core stops until something wakes it, and waking takes time: nanoseconds to hundreds of microseconds, by the
//! state that the kernel chose, and on a virtual machine a way through the hypervisor. A service that answers one request
//! at a time pays that for every request. Words only; who asks the kernel is the lab.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How idle cores wait while a variant is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Idle {
    /// Kept awake: an idle core polls for work instead of stopping.
    #[default]
    Polled,
    /// As the host has it: an idle core stops, as deeply as its kernel thinks best.
    Host,
}

impl Idle {
    /// Every way.
    pub const ALL: [Self; 2] = [Self::Polled, Self::Host];

    /// Its name in TOML and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Polled => "polled",
            Self::Host => "host",
        }
    }

    /// The other way.
    pub const fn other(self) -> Self {
        match self {
            Self::Polled => Self::Host,
            Self::Host => Self::Polled,
        }
    }

    /// What such cores do, for a sentence.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Polled => "kept awake",
            Self::Host => "that sleep between requests",
        }
    }
}

/// What a run asked of its idle cores, and whether it had it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleWait {
    /// What the experiment asks for.
    pub asked: Idle,
    /// How they waited.
    pub was: Idle,
    /// Why they could not be kept awake; `None` where they could, or nobody asked for it.
    pub refused: Option<String>,
    /// What would let them be kept awake.
    pub remedy: Option<String>,
}
