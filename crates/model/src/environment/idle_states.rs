//! The idle states that the kernel has for cores with nothing to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Nanoseconds;

/// The host's idle states, as stored with each run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IdleFacts {
    /// The cpuidle driver; `null` if the kernel has none, and then halts idle cores whatever is asked.
    pub driver: Option<String>,
    /// The cpuidle governor, which chooses among the states.
    pub governor: Option<String>,
    /// States of the first core, the shallowest first.
    pub states: Vec<IdleState>,
    /// How long a virtual core polls before it halts (`guest_halt_poll_ns`), where the driver is `haltpoll`.
    #[serde(rename = "guest_halt_poll_ns")]
    pub guest_halt_poll: Option<Nanoseconds>,
    /// The longest wake-up latency that the kernel allows now, over all requests (`/dev/cpu_dma_latency`);
    /// `null` if it cannot be read.
    #[serde(rename = "latency_limit_ns")]
    pub latency_limit: Option<Nanoseconds>,
}

impl IdleFacts {
    /// A summary in one line: `haltpoll: POLL 0 ns, haltpoll idle 1 µs`.
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdleState {
    /// Its name, such as `C6`.
    pub name: String,
    /// Wake-up latency, by the driver.
    #[serde(rename = "latency_ns")]
    pub latency: Nanoseconds,
    /// Shortest idle time for which the state pays off.
    #[serde(rename = "residency_ns")]
    pub residency: Nanoseconds,
    /// Whether it is switched off by configuration.
    pub disabled: bool,
}
