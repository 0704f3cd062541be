//! A limit of the link's speed: the kernel's token bucket (tbf) at both ports of the switch.

use weighbridge_model::experiment::{Layers, Rate};
use weighbridge_model::quantity::Nanoseconds;

use super::crossing::{Crossing, Treatment};
use super::site::run_on;
use super::veth::{CAPABILITIES, CLIENT_PORT, SERVER_PORT, try_here};
use super::{LayerError, Part, Site};
use crate::net::tools::Tool;
use crate::net::{Batch, Capability};
use crate::process::launch::Lab;
use crate::unavailable::Unavailable;

/// The layer `rate`.
#[derive(Debug)]
pub(super) struct RatePart {
    rate: Rate,
    crossing: Crossing,
    treatment: Treatment,
}

impl RatePart {
    pub fn new(rate: &Rate, layers: &Layers) -> Self {
        Self {
            rate: rate.clone(),
            crossing: Crossing::choose(layers),
            treatment: Treatment::from_layers(layers),
        }
    }

    fn queue(&self, port: &str, place: &str) -> String {
        format!(
            "qdisc add dev {port} {place} tbf rate {}bit burst {}b latency {}us",
            self.rate.rate.get(),
            self.rate.burst.get(),
            self.rate.queue.as_nanos().div_ceil(1_000)
        )
    }
}

impl Part for RatePart {
    fn by(&self) -> String {
        "tbf".to_owned()
    }

    fn needs(&self) -> &'static [Capability] {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), Unavailable> {
        Tool::Tc.find()?;
        try_here("tbf queues", || {
            Batch::new(Tool::Ip).with("link add wb0 type veth peer name wb1").run()?;
            Batch::new(Tool::Tc).with(self.queue("wb0", "root")).run()
        })
    }

    fn period(&self) -> Option<Nanoseconds> {
        Some(self.rate.period())
    }

    fn install(&self, _lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let Some(hosts) = site.hosts() else { return Ok(()) };
        let queue = |port| self.queue(port, self.crossing.place_of_queue(&self.treatment, port));
        run_on(&hosts.switch, &Batch::new(Tool::Tc).with(queue(CLIENT_PORT)).with(queue(SERVER_PORT)))
    }
}
