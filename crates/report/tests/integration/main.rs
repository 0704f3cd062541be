//! What is printed, exported and drawn, byte for byte. One program, since each is linked with all of the crate.

#[path = "../support/evidence.rs"]
mod evidence;
#[path = "../support/mod.rs"]
mod support;

mod brief;
mod formats;
mod golden;
mod overview;
mod plot;
mod rejudged;
mod relayed;
mod reliability;
mod result_tables;
mod rules;
