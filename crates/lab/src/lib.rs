//! The bench top: host facts, service processes, layers, pinning, freezing, accounting, clean-up.
//!
//! The lab starts programs, keeps them on their cores, reports what they used, and makes sure that nothing
//! outlives a run. It never sends a request, never estimates, and never prints. It freezes and kills only
//! what it started.
//!
//! From the lowest to the highest: [`host`], [`cleanup`], [`net`] and [`process`], [`service`], [`layers`],
//! [`removal`], [`doctor`]; each uses only those before it.
#![cfg(target_os = "linux")]

pub mod cleanup;
pub mod doctor;
pub mod host;
pub mod layers;
pub mod net;
pub mod process;
pub mod removal;
pub mod service;
pub mod unavailable;
