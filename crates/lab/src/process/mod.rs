//! Programs that we start: their limits, how they start, freeze, thaw and end, and what they used.
//!
//! Other modules know what a program is and why it is started.

pub mod account;
pub mod cgroup;
pub mod command;
pub mod freeze;
pub mod jvm;
mod keeper;
pub mod launch;
pub mod logs;
pub mod memory;
pub mod quota;
mod running;
pub mod talk;

pub use running::{Departure, Exit, ExitReport, GRACE, Running, Wrapping};
