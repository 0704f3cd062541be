//! This host: what it is and does, read from the kernel, and the system calls by which it is read.
//!
//! Of processes only what the kernel tells of any; the lowest floor of the lab, on which everything else
//! stands.

pub mod ask;
pub mod clock;
pub mod core_latency;
pub mod cores;
pub mod cputime;
pub mod facts;
mod id;
pub mod identity;
pub mod idle;
pub mod lanes;
pub mod machine;
pub(crate) mod mounts;
pub mod ports;
pub mod procfs;
pub mod resource_limits;
pub mod scheduler_jitter;
pub(crate) mod sys;

pub(crate) use facts::siblings;
pub use facts::{InterruptLine, git_revision, memory_available, memory_total, parse_interrupts, toolchains};
