//! The method against its oracles, one file a subject. One program, since each is linked with the whole
//! crate.

#[path = "../cliff_laws/mod.rs"]
mod cliff_laws;
#[path = "../common/mod.rs"]
mod common;
#[path = "../simulation/mod.rs"]
mod simulation;

mod batches;
mod cliffs;
mod core_latency;
mod coverage;
mod defects;
mod idle;
mod latency_parts;
mod layers;
mod limits;
mod method;
mod network;
mod pairing;
mod reliability;
mod sizes;
mod steadiness;
mod table;
mod variance_components;
