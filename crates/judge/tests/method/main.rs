//! The method against its oracles, one file for each subject. It is one program, since linking the crate
//! takes time.

#[path = "../capacity_laws/mod.rs"]
mod capacity_laws;
#[path = "../cliff_laws/mod.rs"]
mod cliff_laws;
#[path = "../common/mod.rs"]
mod common;
#[path = "../share_laws/mod.rs"]
mod share_laws;
#[path = "../simulation/mod.rs"]
mod simulation;

mod actions;
mod batches;
mod capacity;
mod cliffs;
mod collectors;
mod compositions;
mod core_latency;
mod coverage;
mod defects;
mod factorial;
mod idle;
mod latency_parts;
mod layers;
mod limits;
mod metered;
mod method;
mod network;
mod pairing;
mod reliability;
mod scaling;
mod shares;
mod sizes;
mod steadiness;
mod table;
mod variance_components;
