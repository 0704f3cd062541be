//! Run folders and calibrations on a real disk. One program, since each is linked with all of the crate.

#[path = "../support/mod.rs"]
mod support;

mod calibrations;
mod crash;
mod disk_full;
mod round_trip;
mod run_folder;
