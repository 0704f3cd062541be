//! A variant for one block: its processes, network, layers and output, from the start to the end.

pub(crate) mod actor;
pub(crate) mod cpu_usage;
pub(crate) mod direct;
pub(crate) mod memory_watch;
pub(crate) mod network;
pub(crate) mod output;
pub(crate) mod peer;
pub(crate) mod readiness;
pub(crate) mod roles;
