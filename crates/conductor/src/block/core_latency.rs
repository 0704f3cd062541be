//! Core latency through a block: on a virtual machine it changes whenever the hypervisor moves a virtual core, and with it
//! every time over loopback.
//!
//! Looks now and then and keeps what it saw; what it means is the judge's to say.

use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::host::core_latency;
use weighbridge_lab::host::cores::CoreId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use super::BlockContext;
use crate::prepare::cores::CorePlacement;

/// A look takes some tenths of a millisecond, and a hypervisor leaves cores where they are for longer than this.
const LOOK_EVERY: Nanoseconds = Nanoseconds::from_millis(100);

/// The latency between the client's core and the services'.
#[derive(Debug, Default)]
pub(super) struct CoreLatency {
    /// The client's, and the first of the services'; `None` where there is no such pair.
    cores: Option<(CoreId, CoreId)>,
    seen: Option<(Timestamp, Nanoseconds)>,
}

impl CoreLatency {
    /// Of the cores of a run. In a duet there are two pairs, and where nothing is ours a server's core is not known.
    pub fn of(context: &BlockContext<'_>) -> Self {
        let cores = match context.launcher.placement {
            CorePlacement::One(layout)
                if context.launch_specs.iter().any(|launch_spec| launch_spec.is_ours()) =>
            {
                layout.service().first().map(|service| (layout.client(), *service))
            }
            _ => None,
        };
        Self { cores: cores.filter(|(client, service)| client != service), seen: None }
    }

    /// Looks again where the last look is too old. Nothing may be measured meanwhile.
    pub fn look(&mut self) {
        let Some((client, service)) = self.cores else { return };
        let is_fresh = |(at, _): &(Timestamp, Nanoseconds)| monotonic_now().since(*at) < LOOK_EVERY;
        if !self.seen.as_ref().is_some_and(is_fresh) {
            self.seen = core_latency::glance(client, service).ok().map(|latency| (monotonic_now(), latency));
        }
    }

    /// What was seen last.
    pub fn last(&self) -> Option<Nanoseconds> {
        self.seen.map(|(_, latency)| latency)
    }
}
