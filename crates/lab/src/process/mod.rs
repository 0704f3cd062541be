//! Programs that we start: what they may have, how they are started, stand still, go on and end, and what
//! they used.
//!
//! What a program is, and why it is started, is for others to know.

pub mod account;
pub mod cgroup;
pub mod command;
pub mod freeze;
pub mod launch;
pub mod logs;
pub mod memory;
pub mod quota;
mod running;
pub mod talk;

pub use running::{Departure, Exit, ExitReport, GRACE, Running, Wrapping};
