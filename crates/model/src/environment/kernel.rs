//! Kernel settings that affect measurements. METHODOLOGY says what each costs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::host::CoreId;

/// Kernel settings; a setting that the host does not report is missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KernelSettings {
    /// Whether SMT is used: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub smt: Option<String>,
    pub huge_pages: Option<HugePages>,
    /// Address space layout of the programs that we start.
    pub address_layout: Option<AddressLayout>,
    pub numa: Option<Numa>,
    /// Whether each session of processes gets an equal share of a core (autogroup).
    pub autogroup: Option<Switch>,
    pub packet_steering: Option<PacketSteering>,
    /// Which cores handle interrupts of devices.
    pub interrupts: Option<Interrupts>,
    /// Preemption model: `none`, `voluntary`, `full`, `lazy`. Only root can read it.
    pub preemption: Option<String>,
    /// Mitigations of processor vulnerabilities, by vulnerability. Those that do not affect this processor
    /// are left out.
    pub mitigations: BTreeMap<String, String>,
    /// Parameters of the kernel's command line that affect timing.
    pub parameters: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    On,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HugePages {
    /// Which memory gets them: `always`, `madvise`, `never`.
    pub enabled: String,
    /// Whether an allocation waits for a huge page: `always`, `defer`, `defer+madvise`, `madvise`, `never`.
    pub defrag: Option<String>,
}

/// Address space layout of programs (ASLR).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AddressLayout {
    /// Random at each start.
    Random,
    /// Random at each start, except for the heap.
    RandomButHeap,
    /// The same at each start.
    Fixed,
}

impl AddressLayout {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::RandomButHeap => "random-but-heap",
            Self::Fixed => "fixed",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Numa {
    pub nodes: u32,
    /// Whether the kernel moves pages to the node that uses them (NUMA balancing).
    pub balancing: Option<Switch>,
}

/// Receive packet steering (RPS): the cores to which the kernel hands a received packet. An empty list: it
/// stays on the core that received it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PacketSteering {
    /// For the loopback interface.
    pub loopback: Vec<CoreId>,
    /// For interfaces that are made from now on, including those of layers.
    pub new_interfaces: Option<Vec<CoreId>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Frequency {
    /// The governors in use, each once.
    pub governors: Vec<String>,
    /// The driver of the first core.
    pub driver: Option<String>,
    /// Operation mode of the driver, which says whether the processor chooses: `active`, `passive`, `guided`.
    pub mode: Option<String>,
    /// Energy performance preference of the first core, such as `performance` or `balance_power`.
    pub preference: Option<String>,
    /// Whether cores may run faster than their nominal frequency while power and heat allow it.
    pub boost: Option<Switch>,
    /// Lowest frequency of the first core, in kHz.
    pub lowest_khz: Option<u64>,
    /// Highest frequency of the first core, in kHz.
    pub highest_khz: Option<u64>,
}

/// Which cores handle interrupts of devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Interrupts {
    /// Cores that may handle interrupts of a new device.
    pub default_cores: Option<Vec<CoreId>>,
    /// Devices that have raised interrupts, by the cores that handle them, as a list such as `0-1`.
    pub devices: BTreeMap<String, Vec<String>>,
    /// The program that moves interrupts from core to core, if one runs.
    pub balancer: Option<String>,
}
