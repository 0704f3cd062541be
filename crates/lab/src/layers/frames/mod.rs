//! The packet relay: carries Ethernet frames between two interfaces of one network namespace, late or not at
//! all where it is told so. It is what stands for a longer or worse way where the kernel has no netem.
//!
//! The same loop carries everything: a *null relay* is one whose delay is zero, so that its own cost is
//! measured and not guessed. [`impairment`] says what is done to the frames of a direction, [`schedule`]
//! decides it frame by frame as a pure function of seed and number, [`relay`] carries it out, and what became
//! of every frame is told as a [`weighbridge_model::relayed::Relayed`].
//!
//! It routes nothing, answers nothing, changes no byte, makes no interface, and never leaves the namespace it
//! was started in.

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
