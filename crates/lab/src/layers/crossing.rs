//! What carries frames across the switch: the kernel's bridge, with netem at its ports where packets are held back or
//! lost, or a relay of ours.
//!
//! One way for all: which it is follows from the layers of the variant and from what the kernel has.

use weighbridge_model::experiment::{Delay, Layer, Layers, Loss};
use weighbridge_model::network::LinkCounters;
use weighbridge_model::relayed::Relayed;

use super::carrier::Carrier;
use super::site::configure;
use super::veth::{CAPABILITIES, CLIENT_PORT, SERVER_PORT, try_here};
use super::{LayerError, Part, Site};
use crate::launch::{Lab, Launch};
use crate::net::tools::{Tool, need};
use crate::net::{Batch, Unavailable};

/// The switch's bridge.
const BRIDGE: &str = "bridge0";

/// The three ways across.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Crossing {
    /// The kernel's bridge alone.
    Bridge,
    /// The same with netem at its ports.
    Netem,
    /// A relay of ours.
    Relay,
}

/// What is done to packets on their way.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Treatment {
    pub delay: Option<Delay>,
    pub loss: Option<Loss>,
}

impl Treatment {
    pub fn of(layers: &Layers) -> Self {
        let mut found = Self::default();
        for layer in layers.iter() {
            match layer {
                Layer::Delay(delay) => found.delay = Some(*delay),
                Layer::Loss(loss) => found.loss = Some(*loss),
                _ => {}
            }
        }
        found
    }

    fn is_none(&self) -> bool {
        self.delay.is_none() && self.loss.is_none()
    }
}

impl Crossing {
    pub fn of(layers: &Layers) -> Self {
        match Treatment::of(layers) {
            _ if layers.has_relay() => Self::Relay,
            treatment if treatment.is_none() => Self::Bridge,
            _ if has_netem().is_ok() => Self::Netem,
            _ => Self::Relay,
        }
    }

    /// Joins the two ports.
    pub fn lay(self, site: &mut Site) -> Result<(), LayerError> {
        match (self, site.hosts()) {
            (Self::Bridge | Self::Netem, Some(hosts)) => configure(&hosts.switch, &bridge()),
            // The part of the layer that asks for it starts it.
            _ => Ok(()),
        }
    }
}

/// Ports learn nothing that would have to be said again: no spanning tree, no queries for groups.
fn bridge() -> Batch {
    let made = format!("link add {BRIDGE} type bridge stp_state 0 mcast_snooping 0");
    let port = |port: &str| format!("link set {port} master {BRIDGE}");
    let up = format!("link set {BRIDGE} up");
    Batch::new(Tool::Ip).with(made).with(port(CLIENT_PORT)).with(port(SERVER_PORT)).with(up)
}

/// Whether the kernel has netem.
pub(super) fn has_netem() -> Result<(), Unavailable> {
    need(&CAPABILITIES)?;
    try_here("netem queues", || {
        Batch::new(Tool::Ip).with("link add wb0 type veth peer name wb1").run()?;
        Batch::new(Tool::Tc).with("qdisc add dev wb0 root netem delay 1ms").run()
    })
}

/// The layers `relay`, `delay` and `loss`.
#[derive(Debug)]
pub(super) struct CrossingPart {
    crossing: Crossing,
    /// The relay, in the first of these layers' parts: one does the work of all.
    carrier: Option<Carrier>,
}

impl CrossingPart {
    pub fn new(layer: &Layer, layers: &Layers) -> Self {
        let crossing = Crossing::of(layers);
        let ours = |layer: &&Layer| matches!(layer, Layer::Relay(_) | Layer::Delay(_) | Layer::Loss(_));
        let is_first = layers.iter().find(ours) == Some(layer);
        let carrier = (crossing == Crossing::Relay && is_first).then(|| Carrier::new(Treatment::of(layers)));
        Self { crossing, carrier }
    }
}

impl Part for CrossingPart {
    fn by(&self) -> String {
        match self.crossing {
            Crossing::Bridge => "bridge".to_owned(),
            Crossing::Netem => "netem".to_owned(),
            Crossing::Relay => "relay".to_owned(),
        }
    }

    fn probe(&self) -> Result<(), Unavailable> {
        match self.crossing {
            Crossing::Bridge | Crossing::Netem => Ok(()),
            Crossing::Relay => Carrier::probe(),
        }
    }

    fn dress(&self, lab: &Lab, site: &mut Site, launch: &mut Launch) -> Result<(), LayerError> {
        self.carrier.as_ref().map_or(Ok(()), |carrier| carrier.start(lab, site, launch))
    }

    fn prove(&self, _passed: &[LinkCounters], requests: u64) -> Result<(), String> {
        self.carrier.as_ref().map_or(Ok(()), |carrier| carrier.prove(requests))
    }

    fn relayed(&self) -> Option<Relayed> {
        self.carrier.as_ref()?.ask()
    }
}
