//! How idle cores wait: what an experiment asks for, and what its run could do.
//!
//! An idle core stops until something wakes it. Waking takes from nanoseconds to hundreds of microseconds,
//! depending on the idle state that the kernel chose, and on a virtual machine it may go through the
//! hypervisor. A service that answers one request at a time pays that for every request. The lab sets the
//! kernel up; here are only the values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How idle cores wait while a variant is measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Idle {
    /// Kept awake: an idle core polls for work instead of stopping.
    #[default]
    Polled,
    /// As the host is configured: an idle core stops, in the idle state that its kernel chooses.
    Host,
}

impl Idle {
    pub const ALL: [Self; 2] = [Self::Polled, Self::Host];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Polled => "polled",
            Self::Host => "host",
        }
    }

    pub const fn other(self) -> Self {
        match self {
            Self::Polled => Self::Host,
            Self::Host => Self::Polled,
        }
    }

    /// What such cores do, to complete a sentence about idle cores.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Polled => "kept awake",
            Self::Host => "that sleep between requests",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleWait {
    pub asked: Idle,
    pub was: Idle,
    /// Why they could not be kept awake; `null` if they could, or if it was not asked for.
    pub refused: Option<String>,
    /// What would let them be kept awake.
    pub remedy: Option<String>,
}
