//! CPU time of the whole machine by role: what the generator, the services and everything else used while the variants
//! of a batch were measured. A record of fact; nothing is estimated here.

use serde::{Deserialize, Serialize};

use crate::quantity::Nanoseconds;

/// One stretch: from when all variants of a batch were started until before they were stopped. Every role is of the same
/// stretch, so that generator, service and what is left sum up to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineCpu {
    /// How long it was.
    #[serde(rename = "span_ns")]
    pub span: Nanoseconds,
    /// What all cores of the machine worked: all but idle, waiting for disks, and stolen. By the kernel's ticks.
    #[serde(rename = "busy_ns")]
    pub busy: Nanoseconds,
    /// By so much `busy` may be off either way because the kernel tells whole ticks.
    #[serde(rename = "resolution_ns")]
    pub resolution: Nanoseconds,
    /// This program: the generator and what conducts it. By its own CPU clock.
    #[serde(rename = "generator_ns")]
    pub generator: Nanoseconds,
    /// All processes of the variants that were started here, by their own CPU clocks.
    #[serde(rename = "service_ns")]
    pub service: Nanoseconds,
}

impl MachineCpu {
    /// What is nobody's of these, in nanoseconds: interrupts and deferred interrupt work outside any process, kernel
    /// threads, other processes, servers that were not started here. Slightly below 0 where the ticks say less than the
    /// clocks.
    pub fn unattributed(&self) -> f64 {
        self.busy.as_nanos() as f64 - self.generator.as_nanos() as f64 - self.service.as_nanos() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_closes_the_sum_and_may_be_below_nothing() {
        let millis = Nanoseconds::from_millis;
        let stretch = MachineCpu {
            span: millis(1_000),
            busy: millis(1_500),
            resolution: millis(50),
            generator: millis(900),
            service: millis(400),
        };
        assert_eq!(stretch.unattributed(), 200e6);
        assert_eq!(MachineCpu { busy: millis(1_290), ..stretch }.unattributed(), -10e6);
    }
}
