//! What a run's environment was: `environment.json`.

mod host;
mod idle_states;
mod kernel;

pub use host::{
    BufferSizes, CgroupFacts, CgroupVersion, CoreId, GitRevision, HostFacts, Hypervisor, Limit, PortRange,
    WorkingTree,
};
pub use idle_states::{IdleFacts, IdleState};
pub use kernel::{
    AddressLayout, Frequency, HugePages, Interrupts, KernelSettings, Numa, PacketSteering, Switch,
};
