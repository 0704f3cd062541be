//! Core latency during a block. On a virtual machine it changes whenever the hypervisor moves a virtual core,
//! and with it every time over loopback.
//!
//! This module samples and keeps the values; the judge interprets them.

use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::host::core_latency;
use weighbridge_lab::host::cores::CoreId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};

use super::BlockContext;
use crate::prepare::cores::CorePlacement;

/// A sample takes tenths of a millisecond; a hypervisor leaves cores in place for longer than this interval.
const SAMPLE_EVERY: Nanoseconds = Nanoseconds::from_millis(100);

#[derive(Debug, Default)]
pub(super) struct CoreLatency {
    /// The client's core and the first service core; `None` where there is no such pair.
    cores: Option<(CoreId, CoreId)>,
    latest: Option<(Timestamp, Nanoseconds)>,
}

impl CoreLatency {
    /// Samples nothing in a duet, which has two pairs of cores, nor where no service, hence no core, is ours.
    pub fn new(context: &BlockContext<'_>) -> Self {
        let cores = match context.launcher.placement {
            CorePlacement::One(layout)
                if context.launch_specs.iter().any(|launch_spec| launch_spec.is_ours()) =>
            {
                layout.service().first().map(|service| (layout.client(), *service))
            }
            _ => None,
        };
        Self { cores: cores.filter(|(client, service)| client != service), latest: None }
    }

    /// Samples again if the last sample is too old. Nothing may be measured meanwhile.
    pub fn sample(&mut self) {
        let Some((client, service)) = self.cores else { return };
        let is_recent = |(at, _): &(Timestamp, Nanoseconds)| monotonic_now().since(*at) < SAMPLE_EVERY;
        if !self.latest.as_ref().is_some_and(is_recent) {
            self.latest =
                core_latency::glance(client, service).ok().map(|latency| (monotonic_now(), latency));
        }
    }

    pub fn last(&self) -> Option<Nanoseconds> {
        self.latest.map(|(_, latency)| latency)
    }
}
