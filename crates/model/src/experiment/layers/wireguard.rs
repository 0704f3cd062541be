//! An encrypted overlay: the layer `wireguard`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};
use super::{Delay, Layer};
use crate::quantity::Nanoseconds;

/// Packets travel encrypted in UDP packets between the hosts; each is at least [`Wireguard::OVERHEAD`] bytes
/// longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wireguard {
    /// `None` for the first of [`WireguardImplementation::ALL`] that the host has.
    pub implementation: Option<WireguardImplementation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireguardImplementation {
    Kernel,
    /// The program of its authors, in Go.
    WireguardGo,
    /// Cloudflare's program, in Rust.
    Boringtun,
}

impl WireguardImplementation {
    /// The preferred one first.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::WireguardGo, Self::Boringtun];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::WireguardGo => "wireguard-go",
            Self::Boringtun => "boringtun",
        }
    }
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Wireguard, ExperimentError> {
    let choices = WireguardImplementation::ALL.map(|which| (which.name(), which));
    Ok(Wireguard { implementation: reader.choice("implementation", &choices)? })
}

/// In the key exchange, an end that gets no answer in this time starts again.
const ANSWER_PATIENCE: Nanoseconds = Nanoseconds::from_secs(5);

/// Refuses delays below it that are too long for the key exchange.
pub(super) fn check_below(before: &[Layer]) -> Result<(), String> {
    let longest = |delay: &Delay| {
        let ways = [delay.towards.is_to_server(), delay.towards.is_to_client()];
        (delay.time + delay.jitter) * ways.iter().filter(|meant| **meant).count() as u64
    };
    let delays =
        before.iter().filter_map(|layer| if let Layer::Delay(delay) = layer { Some(delay) } else { None });
    let round_trip: Nanoseconds = delays.map(longest).sum();
    if round_trip < ANSWER_PATIENCE {
        return Ok(());
    }
    Err(format!(
        "`wireguard` behind `delay`: its ends agree on keys only where an answer comes within {ANSWER_PATIENCE}, and a round \
         trip may take {round_trip} here; give `delay` less `time` or `jitter`"
    ))
}

impl Wireguard {
    /// Bytes that it adds to a packet: the outer headers of IPv4 (20) and UDP (8), its own header (16) and
    /// the authentication tag (16). Packets below the largest are also padded to a multiple of 16 bytes.
    pub const OVERHEAD: u32 = 20 + 8 + 16 + 16;

    pub(super) fn write(&self, table: &mut Table) {
        if let Some(implementation) = self.implementation {
            table.insert("implementation".into(), implementation.name().into());
        }
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.implementation {
            None => Ok(()),
            Some(WireguardImplementation::Kernel) => f.write_str(" by the kernel"),
            Some(program) => write!(f, " by {}", program.name()),
        }
    }
}
