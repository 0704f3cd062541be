//! Carries out a plan: lab, load, workload, judge and store together.
//!
//! The only crate besides the command that sees them all. It executes steps that the judge names and writes down what
//! happened; it estimates nothing and prints nothing.

pub mod across;
mod actor;
mod answers;
mod batch;
mod block;
pub mod calibrate;
mod client;
pub mod compare;
pub mod control;
mod course;
pub mod described;
mod direct;
mod division;
mod environment;
pub mod failures;
mod hook;
mod question;
pub mod quoted;
pub mod reliability;
mod room;
pub mod run;
pub mod shape;
pub mod single;
mod stretch;
mod times;
pub mod tls;
pub mod verify;
pub mod words;

pub use control::Control;
pub use words::{conditions, factors};
