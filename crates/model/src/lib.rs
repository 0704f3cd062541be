//! The words of Weighbridge as types: quantities, experiment, plan, records, summary.
//!
//! No clock, no input or output, no threads: everything here is a value. Other crates read and make these values;
//! this crate refuses to measure, to estimate or to print.

pub mod calibration;
pub mod detail;
pub mod environment;
pub mod estimate;
pub mod event;
pub mod evidence;
pub mod experiment;
pub mod finding;
pub mod gate;
pub mod hex;
pub mod histogram;
pub mod id;
pub mod idle;
pub mod layering;
pub mod legs;
pub mod machine;
pub mod network;
pub mod overview;
pub mod pairing;
pub mod parts;
pub mod plan;
pub mod ppbench;
pub mod quantity;
pub mod record;
pub mod relayed;
pub mod reliability;
pub mod secret;
pub mod sizes;
pub mod summary;
pub mod tags;
pub mod trace;
