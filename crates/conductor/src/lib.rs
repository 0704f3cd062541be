//! Carries out a plan: lab, load, workload, judge and store together.
//!
//! The only crate besides the command that sees them all. It executes steps that the judge names and writes down what
//! happened; it estimates nothing and prints nothing.

mod block;
pub mod calibrate;
pub mod compare;
pub mod control;
pub mod descriptors;
pub mod failures;
mod hooks;
pub mod inquiry;
pub mod prepare;
pub mod run;
pub mod single;
mod times;
pub mod tls;
mod variant;
pub mod words;

pub use control::Control;
pub use times::{foreseen, period_of};
pub use words::{conditions, factors};
