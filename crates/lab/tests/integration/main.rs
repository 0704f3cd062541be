//! The lab with real processes, networks and programs. One program, since each is linked with all of the crate; `quota` and
//! `frames` measure, and have the machine alone.

#[path = "../roles/mod.rs"]
mod roles;
#[path = "../sites/mod.rs"]
mod sites;
#[path = "../skips/mod.rs"]
mod skips;

mod container;
mod foreign_text;
mod layers;
mod memory;
mod overlays;
mod postgres;
mod process;
mod registry;
mod sidecar;
mod stock;
