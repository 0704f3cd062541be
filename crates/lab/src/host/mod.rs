//! This host: its facts and state, read from the kernel, and the system calls for that.
//!
//! Of processes it reads only what the kernel reports of any. The lowest module of the lab; all others depend
//! on it.

pub mod ask;
pub mod clock;
pub mod core_latency;
pub mod cores;
pub mod cputime;
pub mod facts;
mod id;
pub mod identity;
pub mod idle;
pub(crate) mod keeper;
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
