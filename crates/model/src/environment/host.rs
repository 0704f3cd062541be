//! Facts about the host. A fact that the host does not report is missing; nothing is guessed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::idle_states::IdleFacts;
use super::kernel::{Frequency, KernelSettings};
use crate::quantity::Bytes;

/// Facts about the host, as stored with each run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostFacts {
    /// Model of the processor.
    pub processor: Option<String>,
    /// Instruction set, such as `x86_64`.
    pub architecture: Option<String>,
    /// Cores that are online.
    pub cores: Option<Vec<CoreId>>,
    /// Cores by physical core: those in one list are SMT siblings.
    pub siblings: Option<Vec<Vec<CoreId>>>,
    pub frequency: Option<Frequency>,
    pub idle: IdleFacts,
    /// Name, release and build of the kernel.
    pub kernel: Option<String>,
    pub memory: Option<Bytes>,
    /// Whether the host is a virtual machine.
    pub hypervisor: Option<Hypervisor>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// Available clock sources.
    pub clock_sources: Option<Vec<String>>,
    /// Largest packet on the loopback interface.
    pub loopback_mtu: Option<Bytes>,
    /// TCP congestion control of new sockets.
    pub congestion_control: Option<String>,
    /// Sizes of a TCP socket's receive buffer.
    pub receive_buffer: Option<BufferSizes>,
    /// Sizes of a TCP socket's send buffer.
    pub send_buffer: Option<BufferSizes>,
    /// Largest receive buffer that a program may ask for.
    pub receive_buffer_limit: Option<Bytes>,
    /// Largest send buffer that a program may ask for.
    pub send_buffer_limit: Option<Bytes>,
    /// Longest queue of connections that wait for a listener.
    pub listen_queue: Option<u64>,
    /// Ports given to outgoing connections.
    pub local_ports: Option<PortRange>,
    /// How many of those are reserved for other uses.
    pub reserved_ports: Option<u32>,
    /// Most open files of a process.
    pub open_files: Option<Limit>,
    /// Identifies the boot. Another boot may run another kernel and has other process ids.
    pub boot_id: Option<String>,
    /// First 16 hexadecimal digits of the SHA-256 of the host's name: identifies the host without naming it.
    pub hostname_sha256: Option<String>,
    pub cgroup: Option<CgroupFacts>,
    /// Kernel settings that affect measurements.
    pub settings: KernelSettings,
    /// Versions of the toolchains on the `PATH`, by language.
    pub toolchains: BTreeMap<String, String>,
    /// Revision of the experiment's folder.
    pub revision: Option<GitRevision>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hypervisor {
    /// The processor reports one.
    Present,
    /// The processor reports none.
    Absent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BufferSizes {
    /// Guaranteed under memory pressure.
    pub least: Bytes,
    /// Of a new socket.
    pub initial: Bytes,
    /// Limit of automatic growth.
    pub most: Bytes,
}

/// A range of ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl PortRange {
    pub const fn count(self) -> u32 {
        (self.last as u32 + 1).saturating_sub(self.first as u32)
    }

    /// The ports in both ranges; an empty range if there are none.
    pub fn both(self, other: Self) -> Self {
        Self { first: self.first.max(other.first), last: self.last.min(other.last) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    pub soft: u64,
    /// What it may be raised to.
    pub hard: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupFacts {
    pub version: CgroupVersion,
    /// Where version 2 is mounted.
    pub mount: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CgroupVersion {
    One,
    Two,
    Hybrid,
}

/// Revision of a folder under git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitRevision {
    pub commit: String,
    /// Whether tracked files differ from it.
    pub tree: WorkingTree,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkingTree {
    Clean,
    Changed,
}

/// A core (logical CPU) by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CoreId(u32);

impl CoreId {
    pub const fn new(number: u32) -> Self {
        Self(number)
    }
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for CoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
