//! Stories that must have the machine to themselves: planted truths that are found again, traps that a run sees through,
//! cliffs, and what the kernel counts for the whole machine. One after the other: each measures, or looks at what every
//! other story would change.
//!
//! Those that are ignored need an optimised program and a machine that does nothing else: `make accuracy` tells them.

#[path = "../support/mod.rs"]
#[macro_use]
mod support;

mod accounts;
mod accuracy;
mod capacity;
mod cliffs;
mod idle;
mod planted_costs;
mod traps;
