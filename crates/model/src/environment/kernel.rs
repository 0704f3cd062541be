//! Settings of the kernel that move figures. What each costs is in METHODOLOGY.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::CoreId;

/// Settings of the kernel, each missing where the host does not tell it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KernelSettings {
    /// Whether SMT is used: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
    /// Transparent huge pages.
    pub huge_pages: Option<HugePages>,
    /// How programs that we start are laid out in memory.
    pub address_layout: Option<AddressLayout>,
    /// Nodes of memory.
    pub numa: Option<Numa>,
    /// Whether each session of processes gets an equal share of a core.
    pub autogroup: Option<Switch>,
    /// Receive packet steering (RPS).
    pub packet_steering: Option<PacketSteering>,
    /// Where devices' interrupts go.
    pub interrupts: Option<Interrupts>,
    /// How readily the kernel interrupts itself: `none`, `voluntary`, `full`, `lazy`. Told to root alone.
    pub preemption: Option<String>,
    /// What the kernel does about the processor's weaknesses, by weakness; those that it has not are left
    /// out.
    pub mitigations: BTreeMap<String, String>,
    /// Words of the kernel's command line that bear on timing.
    pub parameters: Vec<String>,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// In use.
    On,
    /// Not in use.
    Off,
}

impl Switch {
    /// From the kernel's 0 and 1 (or higher).
    pub fn parse(text: &str) -> Option<Self> {
        text.trim().parse::<u64>().ok().map(|value| if value == 0 { Self::Off } else { Self::On })
    }

    pub const fn word(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// Transparent huge pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HugePages {
    /// Who gets them: `always`, `madvise`, `never`.
    pub enabled: String,
    /// Whether a program waits for one to be made: `always`, `defer`, `defer+madvise`, `madvise`, `never`.
    pub defrag: Option<String>,
}

/// How programs are laid out in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AddressLayout {
    /// Anew with each start.
    Random,
    /// Anew but for the heap.
    RandomButHeap,
    /// The same with each start.
    Fixed,
}

impl AddressLayout {
    /// The word, as it is stored.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::RandomButHeap => "random-but-heap",
            Self::Fixed => "fixed",
        }
    }
}

/// Nodes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Numa {
    /// How many there are.
    pub nodes: u32,
    /// Whether the kernel moves pages to the node that uses them.
    pub balancing: Option<Switch>,
}

/// Receive packet steering: cores that a packet's way through the kernel is handed to; none: it stays where
/// it came in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketSteering {
    /// Of the loopback interface.
    pub loopback: Vec<CoreId>,
    /// Of interfaces that are made from now on, those of layers among them.
    pub new_interfaces: Option<Vec<CoreId>>,
}

/// How the cores' frequency is governed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frequency {
    /// The governors in use, each once.
    pub governors: Vec<String>,
    /// The driver of the first core.
    pub driver: Option<String>,
    /// Whether that driver leaves the choice to the processor: `active`, `passive`, `guided`.
    pub mode: Option<String>,
    /// What the processor is told to prefer on the first core, such as `performance` or `balance_power`.
    pub preference: Option<String>,
    /// Whether cores may run faster than their nominal frequency while power and heat allow it.
    pub boost: Option<Switch>,
    /// Lowest frequency of the first core, in kHz.
    pub lowest_khz: Option<u64>,
    /// Highest frequency of the first core, in kHz.
    pub highest_khz: Option<u64>,
}

/// Where the interrupts of devices go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Interrupts {
    /// Cores that those of a new device may go to.
    pub default_cores: Option<Vec<CoreId>>,
    /// Devices that have interrupted so far, by the cores that are interrupted, as a list such as `0-1`.
    pub devices: BTreeMap<String, Vec<String>>,
    /// The program that moves them from core to core, where one runs.
    pub balancer: Option<String>,
}
