//! Facts about the host. Each is missing where the host does not tell it; nothing is guessed.

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
    /// Cores by physical core: those of one list are SMT siblings.
    pub siblings: Option<Vec<Vec<CoreId>>>,
    /// How the cores' frequency is governed.
    pub frequency: Option<Frequency>,
    /// How idle cores wait.
    pub idle: IdleFacts,
    /// Name, release and build of the kernel.
    pub kernel: Option<String>,
    /// Memory in all.
    pub memory: Option<Bytes>,
    /// Whether the host is a virtual machine.
    pub hypervisor: Option<Hypervisor>,
    /// What the kernel's clocks run by.
    pub clock_source: Option<String>,
    /// What they could run by.
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
    /// How many of those are kept for other uses.
    pub reserved_ports: Option<u32>,
    /// Open files that a process may have.
    pub open_files: Option<Limit>,
    /// The boot: another one may be another kernel, and has other process ids.
    pub boot_id: Option<String>,
    /// First 16 hexadecimal digits of the SHA-256 of the host's name: the same host can be told, not named.
    pub hostname_sha256: Option<String>,
    /// Control groups.
    pub cgroup: Option<CgroupFacts>,
    /// Settings of the kernel that move figures.
    pub settings: KernelSettings,
    /// Versions of the toolchains that are on the path, by language.
    pub toolchains: BTreeMap<String, String>,
    /// Revision of the experiment's folder.
    pub revision: Option<GitRevision>,
}

/// Whether a hypervisor lies below.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Hypervisor {
    /// The processor says that there is one.
    Present,
    /// It says that there is none.
    Absent,
}

/// Sizes of a socket's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BufferSizes {
    /// Under memory pressure.
    pub least: Bytes,
    /// At first.
    pub initial: Bytes,
    /// The most it grows to by itself.
    pub most: Bytes,
}

/// A range of ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortRange {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl PortRange {
    /// How many there are.
    pub const fn count(self) -> u32 {
        (self.last as u32 + 1).saturating_sub(self.first as u32)
    }

    /// The ports that are in this range and in another; a range of none where there are none.
    pub fn both(self, other: Self) -> Self {
        Self { first: self.first.max(other.first), last: self.last.min(other.last) }
    }
}

/// A resource limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limit {
    /// In force.
    pub soft: u64,
    /// What it may be raised to.
    pub hard: u64,
}

/// Control groups on this host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CgroupFacts {
    /// Which versions are mounted.
    pub version: CgroupVersion,
    /// Where version 2 is mounted.
    pub mount: Option<PathBuf>,
}

/// Which control groups are mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CgroupVersion {
    /// Version 1 only.
    One,
    /// Version 2 only.
    Two,
    /// Both.
    Hybrid,
}

/// Revision of a folder under git.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GitRevision {
    /// The commit.
    pub commit: String,
    /// Whether tracked files differ from it.
    pub tree: WorkingTree,
}

/// State of a working tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkingTree {
    /// As committed.
    Clean,
    /// Changed since.
    Changed,
}

/// A core (logical CPU) by the kernel's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CoreId(u32);

impl CoreId {
    /// Core number `number`.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }
    /// The plain number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for CoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
