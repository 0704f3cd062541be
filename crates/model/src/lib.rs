//! The vocabulary of Weighbridge as types: quantities, experiment, plan, records, summary.
//!
//! All plain values: no clock, no input or output, no threads. This crate does not measure, estimate or
//! print.

pub mod calibration;
pub mod capacity;
pub mod detail;
pub mod distribution;
pub mod environment;
pub mod estimate;
pub mod event;
pub mod evidence;
pub mod experiment;
pub mod factorial;
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
pub mod objective;
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
pub mod table;
pub mod tags;
pub mod trace;
