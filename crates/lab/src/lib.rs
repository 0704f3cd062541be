//! The bench top: host facts, service processes, layers, pinning, freezing, accounting, clean-up.
//!
//! The lab starts programs, keeps them where they belong, tells what they used, and sees that nothing outlives a run.
//! It never sends a request, never estimates, and never prints; it freezes and kills only what it started.
#![cfg(target_os = "linux")]

pub mod account;
pub mod ask;
pub mod catalog;
pub mod cgroup;
pub mod checkout;
pub mod clock;
pub mod container;
pub mod core_latency;
pub mod cores;
pub mod cputime;
pub mod custody;
pub mod doctor;
pub mod errand;
pub mod freeze;
pub mod gaps;
pub mod guardian;
pub mod host;
mod id;
pub mod identity;
pub mod idle;
pub mod lanes;
pub mod launch;
pub mod layers;
pub mod logs;
pub mod machine;
pub mod memory;
mod mounts;
pub mod net;
pub mod noise;
pub mod owned;
pub mod ports;
pub mod process;
pub mod procfs;
pub mod quota;
pub mod registry;
mod rehearsal;
pub mod removal;
pub mod room;
pub mod runtime;
pub mod service;
mod sys;
pub mod talk;
