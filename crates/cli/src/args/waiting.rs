//! Arguments about how the generator and idle cores wait.

use clap::ValueEnum;
use weighbridge_model::idle::Idle;

/// How the generator waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Wait {
    /// Always asleep: the least CPU time, for a machine with other work.
    Asleep,
    /// Asleep, but awake through waits up to 20 µs and for the last 50 µs before an arrival: high rates on fast servers.
    Brief,
    /// Never asleep, as with several URLs and in `run`: the least lateness and the truest times; takes the whole of a core
    /// for each thread, busy or not.
    Awake,
}

/// How idle cores wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum IdleCores {
    /// Kept awake: they poll for work. Needs write access to `/dev/cpu_dma_latency`.
    Polled,
    /// As the host has it: they stop, and are woken.
    Host,
}

impl From<IdleCores> for Idle {
    fn from(typed: IdleCores) -> Self {
        match typed {
            IdleCores::Polled => Self::Polled,
            IdleCores::Host => Self::Host,
        }
    }
}
