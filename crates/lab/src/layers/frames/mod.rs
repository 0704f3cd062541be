//! The packet relay carries Ethernet frames between two interfaces of one network namespace, and delays or
//! drops them as configured. It replaces netem where the kernel has none.
//!
//! The same loop handles every case: a *null relay* is one whose delay is zero, so that the relay's own cost
//! can be measured. [`impairment`] describes what is done to the frames of a direction, [`schedule`] decides
//! it for each frame as a pure function of seed and number, [`relay`] carries it out, and a
//! [`weighbridge_model::relayed::Relayed`] reports what became of all frames.
//!
//! It routes nothing, answers nothing, changes no byte, makes no interface, and never leaves the namespace in
//! which it was started.

mod frame;
pub mod impairment;
pub mod relay;
mod report;
pub mod schedule;
mod sys;

pub use impairment::{Impairment, ImpairmentError};
pub use relay::{
    DEFAULT_SPIN, FramesError, InterfacePair, Settings, VERB, Watch, available, run, watch_signals,
};
