//! What stands between client and service, put in and taken out: each kind of layer is a [`Part`] in a file
//! of its own.
//!
//! A [`Site`] is where one variant lives for one trial: hosts of its own where its layers want them, or this
//! host. The parts are installed from the client's end inward before the service starts, may change how it is
//! started, and may put a program in front of it once it is ready. Whatever is made is tracked for clean-up
//! first and goes in reverse order. Nothing here knows what is asked or how often.

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
use crate::layers::sidecar::proxy::{Missing, SidecarError};
use crate::layers::wireguard::tunnel::WireguardError;
use crate::net::tools::{Tool, need};
use crate::net::{Capability, NamespaceError, ToolError, Unavailable};
use crate::process::launch::{Lab, Launch, LaunchError};
use crate::service::Freezing;

pub use container::ENGINE;
pub use probe::{LayerReport, report};
pub use site::{End, Ends, HostRole, Hosts, Site, SiteConfig, VariantFacts};

/// What the lab does for one layer of a variant: whether this host can run it, installing it, changing how
/// the service is started, starting programs in front of the service, and showing afterwards that packets
/// passed it. One implementation a kind of layer; every method but [`Part::by`] may be left as it is.
pub trait Part: fmt::Debug + Send + Sync {
    /// What it is made of, for the record: `tbf`, `haproxy 2.6.12`.
    fn by(&self) -> String;

    /// The capabilities that it takes; they are looked for before [`Part::probe`].
    fn needs(&self) -> &'static [Capability] {
        &[]
    }

    /// Whether its programs may stand still with their variant. Those that packets pass may not: kernels send
    /// some after every reply has come, and send again what is not acknowledged.
    fn freezing(&self) -> Freezing {
        Freezing::Safe
    }

    /// Whether this host can run it, found out by trying where nothing else tells.
    fn probe(&self) -> Result<(), Unavailable> {
        Ok(())
    }

    /// The longest time constant of its behaviour: windows last 20 times as long, and the first of them after
    /// a switch is lead-in.
    fn period(&self) -> Option<Nanoseconds> {
        None
    }

    /// Puts it in, before the service starts: links, queues, and where the ends now are.
    ///
    /// Errors: what could not be done; what was made until then goes with the site.
    fn install(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let _ = (lab, site);
        Ok(())
    }

    /// Changes how the service is started; it is started inside the server's network.
    fn configure(&self, lab: &Lab, site: &mut Site, launch: &mut Launch) -> Result<(), LayerError> {
        let _ = (lab, site, launch);
        Ok(())
    }

    /// Puts programs in front of the service, which accepts connections at `service`; returns where the
    /// client now goes.
    fn start_proxy(&self, lab: &Lab, site: &mut Site, service: SocketAddr) -> Result<SocketAddr, LayerError> {
        let _ = (lab, site);
        Ok(service)
    }

    /// What its programs counted of what passed since the service was ready. They must not be frozen.
    fn counted(&self) -> Result<Vec<ProgramFacts>, String> {
        Ok(Vec::new())
    }

    /// What a relay of ours carried, in the part that has one.
    fn relayed(&self) -> Option<Relayed> {
        None
    }

    /// What its tunnel passed on either host since the service was ready, by its own account; nothing of what
    /// is none. Waits for those that add up later than they pass packets until they have told of `least`, or
    /// do not.
    fn tunnels(&self, passed: &[LinkCounters], least: Answered) -> Result<Vec<TunnelCounts>, String> {
        let _ = (passed, least);
        Ok(Vec::new())
    }

    /// Whether what passed over the links in a trial shows that its packets took this way.
    fn prove(&self, passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        let _ = (passed, answered);
        Ok(())
    }
}

/// What a variant's client was answered: its packets took the way of the layers only where at least that
/// passed there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answered {
    pub requests: u64,
    /// Bytes of requests and replies together, as TCP carried them.
    pub bytes: u64,
}

impl Answered {
    /// Whether so many bytes hold what was carried. A tenth may lack: between two readings of one device a
    /// switch in user space holds packets that it has counted and not passed.
    pub const fn is_within(self, bytes: u64) -> bool {
        bytes >= self.bytes - self.bytes / 10
    }
}

/// Why a layer could not be put in.
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
        /// The wanted value.
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
        /// By the layers.
        wanted: u32,
        /// By the kernel's own account.
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

impl From<Missing> for LayerError {
    fn from(missing: Missing) -> Self {
        Self::Unavailable(Unavailable::new(missing.reason, missing.remedy))
    }
}

/// The parts of a variant's layers, in their order. What the link does to packets may come as one part for
/// several layers.
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

/// Whether this process may and this host can run a part.
fn available(part: &dyn Part) -> Result<(), Unavailable> {
    need(part.needs()).and_then(|()| part.probe())
}

/// The programs by which networks are made, by their own account; none where no variant has any layer.
pub fn programs<'l>(mut layers: impl Iterator<Item = &'l Layers>) -> BTreeMap<String, String> {
    if layers.all(Layers::is_empty) {
        return BTreeMap::new();
    }
    let version = |tool: Tool| Some((tool.name().to_owned(), tool.version()?));
    [Tool::Ip, Tool::Tc].into_iter().filter_map(version).collect()
}
