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
pub mod evidence;
pub mod failures;
pub mod ground;
mod hook;
mod idle;
pub mod inquiry;
pub mod names;
mod network;
pub mod overview;
mod peer;
mod prepared;
mod printed;
mod programs;
mod question;
pub mod quoted;
mod ready;
pub mod reliability;
mod roles;
mod room;
mod rows;
pub mod run;
mod seating;
pub mod shape;
pub mod single;
mod start;
mod stretch;
mod times;
pub mod tls;
pub mod words;

pub use control::Control;
pub use times::{foreseen, period_of};
pub use words::{conditions, factors};
