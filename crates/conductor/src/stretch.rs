//! CPU time by role over one stretch of a block: the machine's, this program's, the variants'.

use weighbridge_lab::host::machine::MachineWatch;
use weighbridge_model::machine::MachineCpu;
use weighbridge_model::quantity::Nanoseconds;

use crate::actor::Actor;

/// From when all variants are started until before they are stopped.
#[derive(Debug)]
pub(crate) struct Stretch {
    watch: MachineWatch,
    service: Nanoseconds,
}

impl Stretch {
    /// Begins now; `None` where the machine does not tell.
    pub fn begin(actors: &mut [Actor]) -> Option<Self> {
        Some(Self { service: service(actors), watch: MachineWatch::start()? })
    }

    /// Ends now.
    pub fn end(&self, actors: &mut [Actor]) -> Option<MachineCpu> {
        let used = self.watch.end()?;
        Some(MachineCpu {
            span: used.span,
            busy: used.busy,
            resolution: used.resolution,
            generator: used.own,
            service: service(actors).saturating_sub(self.service),
        })
    }
}

/// The clocks of all variants that were started here.
fn service(actors: &mut [Actor]) -> Nanoseconds {
    actors.iter_mut().filter_map(Actor::process_cpu).sum()
}
