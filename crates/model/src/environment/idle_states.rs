//! The idle states that the kernel has for cores with nothing to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Nanoseconds;

/// The host's idle states, as stored with each run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IdleFacts {
    /// The cpuidle driver; `None` where the kernel has none, which then halts idle cores whatever is asked.
    pub driver: Option<String>,
    /// What chooses among the states.
    pub governor: Option<String>,
    /// The states of the first core, the shallowest first.
    pub states: Vec<IdleState>,
    /// How long a virtual core polls before it halts (`guest_halt_poll_ns`), where the driver is `haltpoll`.
    #[serde(rename = "guest_halt_poll_ns")]
    pub guest_halt_poll: Option<Nanoseconds>,
    /// The longest latency of waking that the kernel allows at present, by all that asked; `None` where it
    /// may not be read.
    #[serde(rename = "latency_limit_ns")]
    pub latency_limit: Option<Nanoseconds>,
}

impl IdleFacts {
    /// What a reader needs of them, in one line: `haltpoll: POLL 0 ns, haltpoll idle 1 µs`.
    pub fn in_words(&self) -> String {
        let Some(driver) = &self.driver else { return "no cpuidle driver".to_owned() };
        let state = |state: &IdleState| {
            let off = if state.disabled { " (off)" } else { "" };
            format!("{} {}{off}", state.name, state.latency)
        };
        let states: Vec<_> = self.states.iter().map(state).collect();
        if states.is_empty() { driver.clone() } else { format!("{driver}: {}", states.join(", ")) }
    }
}

/// One idle state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// How long the driver says waking takes.
    #[serde(rename = "latency_ns")]
    pub latency: Nanoseconds,
    /// How long a core must be idle for the state to pay.
    #[serde(rename = "residency_ns")]
    pub residency: Nanoseconds,
    /// Whether it is switched off.
    pub disabled: bool,
}
