//! The bench top: host facts, service processes, layers, pinning, freezing, accounting, clean-up.
//!
//! The lab starts programs, keeps them where they belong, tells what they used, and sees that nothing outlives a run.
//! It never sends a request, never estimates, and never prints; it freezes and kills only what it started.
#![cfg(target_os = "linux")]

pub mod account;
pub mod catalog;
pub mod cgroup;
pub mod checkout;
pub mod cleanup;
pub mod container;
pub mod doctor;
pub mod errand;
pub mod freeze;
pub mod host;
pub mod launch;
pub mod layers;
pub mod logs;
pub mod memory;
pub mod net;
pub mod noise;
pub mod ports;
pub mod process;
pub mod quota;
mod rehearsal;
pub mod removal;
pub mod runtime;
pub mod service;
pub mod talk;
