//! Layers between client and service: each kind of layer is a [`Part`] in its own file.
//!
//! A [`Site`] is where one variant lives for one trial: its own hosts if its layers need them, or this host.
//! The parts are installed from the client's end inward before the service starts; they may change how it
//! starts, and may put a program in front of it once it is ready. Everything is tracked for clean-up before
//! it is made, and removed in reverse order. Nothing here depends on the requests or their rate.

mod carrier;
pub mod container;
mod crossing;
pub mod frames;
pub mod ovs;
mod probe;
mod proof;
mod published;
mod rate;
mod rehearsal;
pub mod sidecar;
mod site;
mod veth;
mod vxlan;
pub mod wireguard;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;

use weighbridge_model::experiment::{Layer, Layers};
use weighbridge_model::network::{LinkCounters, ProgramFacts, TunnelCounts};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::relayed::Relayed;

use crate::cleanup::tracker::CleanupTrackerError;
use crate::layers::container::oci::ContainerError;
use crate::layers::ovs::switch::OvsError;
use crate::layers::sidecar::proxy::SidecarError;
use crate::layers::wireguard::tunnel::WireguardError;
use crate::net::tools::{Tool, need};
use crate::net::{Capability, NamespaceError, ToolError};
use crate::process::launch::{Lab, Launch, LaunchError};
use crate::service::Freezing;
use crate::unavailable::Unavailable;

pub use container::ENGINE;
pub use probe::{LayerReport, report};
pub use site::{End, Ends, HostRole, Hosts, Site, SiteConfig, VariantFacts};

/// What the lab does for one layer of a variant: check whether this host can run it, install it, change how
/// the service starts, start programs in front of the service, and prove afterwards that packets passed it.
/// There is one implementation per kind of layer; every method but [`Part::by`] has a default.
pub trait Part: fmt::Debug + Send + Sync {
    /// What implements it, for the record: `tbf`, `haproxy 2.6.12`.
    fn by(&self) -> String;

    /// The capabilities that it needs; they are checked before [`Part::probe`].
    fn needs(&self) -> &'static [Capability] {
        &[]
    }

    /// Whether its programs may be frozen with their variant. Programs that packets pass may not be: kernels
    /// send some after every reply has arrived, and repeat what is not acknowledged.
    fn freezing(&self) -> Freezing {
        Freezing::Safe
    }

    /// Whether this host can run it; tries it if nothing else tells.
    fn probe(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    /// The longest time constant of its behaviour: windows are 20 times as long, and the first period after a
    /// switch is lead-in.
    fn period(&self) -> Option<Nanoseconds> {
        None
    }

    /// Installs it before the service starts: links, queues, and the new ends.
    ///
    /// Errors: what could not be done; what was already made is removed with the site.
    fn install(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let _ = (lab, site);
        Ok(())
    }

    /// Changes how the service starts; it starts inside the server's network.
    fn configure(&self, lab: &Lab, site: &mut Site, launch: &mut Launch) -> Result<(), LayerError> {
        let _ = (lab, site, launch);
        Ok(())
    }

    /// Puts programs in front of the service, which accepts connections at `service`; returns the client's
    /// new target.
    fn start_proxy(&self, lab: &Lab, site: &mut Site, service: SocketAddr) -> Result<SocketAddr, LayerError> {
        let _ = (lab, site);
        Ok(service)
    }

    /// What its programs counted since the service was ready. They must not be frozen.
    fn counted(&self) -> Result<Vec<ProgramFacts>, String> {
        Ok(Vec::new())
    }

    /// What our packet relay carried, in the part that has it.
    fn relayed(&self) -> Option<Relayed> {
        None
    }

    /// What its tunnel passed on either host since the service was ready, by its own counters; empty for
    /// other parts. For tunnels that add up their counters late, waits until they have counted `least`, or
    /// time runs out.
    fn tunnels(&self, passed: &[LinkCounters], least: Answered) -> Result<Vec<TunnelCounts>, String> {
        let _ = (passed, least);
        Ok(Vec::new())
    }

    /// Whether the counters of the links in a trial prove that its packets passed this layer.
    fn prove(&self, passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        let _ = (passed, answered);
        Ok(())
    }
}

/// What a variant's client was answered. Its packets passed the layers only if at least as much passed there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answered {
    pub requests: u64,
    /// Bytes of requests and replies together, as TCP carried them.
    pub bytes: u64,
}

impl Answered {
    /// Whether this many bytes include what was carried. A tenth may be missing: between two readings of one
    /// device, a user-space switch may hold packets that it has counted but not passed on.
    pub const fn is_within(self, bytes: u64) -> bool {
        bytes >= self.bytes - self.bytes / 10
    }
}

/// Why a layer could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error("could not set `{setting}` to `{value}` in the network of the {host}: {why}")]
    Setting {
        /// Its name under `/proc/sys`.
        setting: String,
        /// The intended value.
        value: String,
        /// Whose network.
        host: &'static str,
        /// The system's reason, or what is allowed.
        why: String,
    },
    #[error(
        "the largest packet from host to host is {found} bytes and should be {wanted}; a device below may carry less than its layer asks"
    )]
    Mtu {
        /// The size that the layers should give.
        wanted: u32,
        /// The size that the kernel reports.
        found: u32,
    },
    #[error(transparent)]
    Launch(#[from] LaunchError),
    #[error(transparent)]
    Sidecar(#[from] SidecarError),
    #[error(transparent)]
    Ovs(#[from] OvsError),
    #[error(transparent)]
    Wireguard(#[from] WireguardError),
    #[error(transparent)]
    Container(#[from] ContainerError),
    #[error(transparent)]
    Tracker(#[from] CleanupTrackerError),
}

/// The parts of a variant's layers, in their order. One part may implement several layers of the link.
pub fn parts(layers: &Layers) -> Vec<(Layer, Box<dyn Part>)> {
    let part = |layer: &Layer| -> Box<dyn Part> {
        match layer {
            Layer::Veth(veth) => Box::new(veth::VethPart::new(veth, layers)),
            Layer::Rate(rate) => Box::new(rate::RatePart::new(rate, layers)),
            Layer::Relay(_) | Layer::Delay(_) | Layer::Loss(_) => {
                Box::new(crossing::CrossingPart::new(layer, layers))
            }
            Layer::Vxlan(vxlan) => Box::new(vxlan::VxlanPart::new(*vxlan)),
            Layer::Ovs(ovs) => Box::new(ovs::OvsPart::new(*ovs)),
            Layer::Wireguard(wireguard) => Box::new(wireguard::WireguardPart::new(*wireguard)),
            Layer::Sidecar(sidecar) => Box::new(sidecar::SidecarPart::new(*sidecar)),
            Layer::Container(container) => Box::new(container::ContainerPart::new(*container)),
        }
    };
    layers.iter().map(|layer| (layer.clone(), part(layer))).collect()
}

/// The longest time constant that any of the layers declares.
pub fn period(layers: &Layers) -> Option<Nanoseconds> {
    parts(layers).iter().filter_map(|(_, part)| part.period()).max()
}

/// Whether this host can run all of the layers.
pub fn probe(layers: &Layers) -> Result<(), String> {
    let mut parts = parts(layers).into_iter();
    parts.try_for_each(|(layer, part)| {
        available(&*part).map_err(|why| format!("layer `{}`: {why}", layer.name()))
    })
}

/// Whether this process has the capabilities for a part and this host can run it.
fn available(part: &dyn Part) -> Result<(), Unavailable> {
    need(part.needs()).and_then(|()| part.probe())
}

/// The programs that make networks, with the versions that they report; empty if no variant has any layer.
pub fn programs<'l>(mut layers: impl Iterator<Item = &'l Layers>) -> BTreeMap<String, String> {
    if layers.all(Layers::is_empty) {
        return BTreeMap::new();
    }
    let version = |tool: Tool| Some((tool.name().to_owned(), tool.version()?));
    [Tool::Ip, Tool::Tc].into_iter().filter_map(version).collect()
}
