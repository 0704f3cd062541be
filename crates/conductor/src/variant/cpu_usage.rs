//! CPU time by role during one span of a block: the machine's, this program's, the variants'.

use weighbridge_lab::host::machine::MachineWatch;
use weighbridge_model::machine::MachineCpu;
use weighbridge_model::quantity::Nanoseconds;

use crate::variant::running::RunningVariant;

/// The span from the last start of a variant to the first stop.
#[derive(Debug)]
pub(crate) struct CpuUsageSpan {
    watch: MachineWatch,
    service: Nanoseconds,
}

impl CpuUsageSpan {
    /// `None` where the machine does not report its CPU time.
    pub fn begin(variants: &mut [RunningVariant]) -> Option<Self> {
        Some(Self { service: service(variants), watch: MachineWatch::start()? })
    }

    pub fn end(&self, variants: &mut [RunningVariant]) -> Option<MachineCpu> {
        let used = self.watch.end()?;
        Some(MachineCpu {
            span: used.span,
            busy: used.busy,
            resolution: used.resolution,
            generator: used.own,
            service: service(variants).saturating_sub(self.service),
        })
    }
}

fn service(variants: &mut [RunningVariant]) -> Nanoseconds {
    variants.iter_mut().filter_map(RunningVariant::process_cpu).sum()
}
