//! Which layers this host can run, for `weigh doctor`.

use weighbridge_model::experiment::{
    Container, ContainerEngine, ContainerNetwork, ContainerRuntime, Delay, Layer, Layers, Loss, Ovs,
    OvsTunnel, Publisher, Rate, Relay, Sidecar, SidecarMode, SidecarProgram, SidecarSide, Towards, Veth,
    Vxlan, Wireguard, WireguardImplementation,
};
use weighbridge_model::quantity::{BitsPerSecond, Bytes, Nanoseconds, Ratio};

use super::{available, parts};
use crate::unavailable::Unavailable;

/// Whether this host can run a kind of layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerReport {
    /// Its name in an experiment file.
    pub name: String,
    /// What would implement it, or why it is unavailable.
    pub found: Result<String, Unavailable>,
}

/// Tries every kind of layer, with settings that work on any host.
pub fn report() -> Vec<LayerReport> {
    samples().into_iter().map(report_on).collect()
}

fn report_on(layer: Layer) -> LayerReport {
    let name = match &layer {
        // If a name has several implementations, each is reported.
        Layer::Container(_) | Layer::Wireguard(_) => layer.to_string(),
        _ => layer.name().to_owned(),
    };
    // A layer of the link needs hosts, so it is tried together with them.
    let around = [Layer::Veth(Veth::default()), layer.clone()];
    let layers = Layers::new(around.to_vec()).or_else(|_| Layers::new(vec![layer])).unwrap_or_default();
    let found = match parts(&layers).pop() {
        Some((_, part)) => available(&*part).map(|()| part.by()),
        None => Ok(String::new()),
    };
    LayerReport { name, found }
}

fn samples() -> Vec<Layer> {
    vec![
        Layer::Veth(Veth::default()),
        Layer::Rate(Rate {
            rate: BitsPerSecond::new(100_000_000),
            burst: Bytes::new(32_000),
            queue: Nanoseconds::from_millis(50),
        }),
        Layer::Relay(Relay),
        Layer::Delay(Delay {
            time: Nanoseconds::from_millis(1),
            jitter: Nanoseconds::ZERO,
            towards: Towards::Server,
        }),
        Layer::Loss(Loss { share: Ratio::new(0.01), towards: Towards::Both, bursts: None }),
        Layer::Vxlan(Vxlan::default()),
        Layer::Ovs(Ovs::PLAIN),
        Layer::Ovs(Ovs::with(OvsTunnel::Vxlan)),
        Layer::Ovs(Ovs::with(OvsTunnel::Geneve)),
        Layer::Ovs(Ovs::with(OvsTunnel::Gre)),
        wireguard(WireguardImplementation::Kernel),
        wireguard(WireguardImplementation::WireguardGo),
        wireguard(WireguardImplementation::Boringtun),
        sidecar(SidecarProgram::Haproxy),
        sidecar(SidecarProgram::Nginx),
        sidecar(SidecarProgram::Envoy),
        container(|container| container),
        container(|container| Container { runtime: ContainerRuntime::Crun, ..container }),
        container(|container| published(container, Publisher::Slirp4netns)),
        container(|container| published(container, Publisher::Pasta)),
        container(|container| engine(container, ContainerEngine::Docker)),
        container(|container| Container {
            network: ContainerNetwork::Published,
            ..engine(container, ContainerEngine::Docker)
        }),
        container(|container| engine(container, ContainerEngine::Podman)),
        container(|container| Container {
            network: ContainerNetwork::Published,
            ..engine(container, ContainerEngine::Podman)
        }),
    ]
}

const fn sidecar(program: SidecarProgram) -> Layer {
    Layer::Sidecar(Sidecar { program, side: SidecarSide::Server, mode: SidecarMode::Http })
}

const fn wireguard(implementation: WireguardImplementation) -> Layer {
    Layer::Wireguard(Wireguard { implementation: Some(implementation) })
}

fn container(change: impl Fn(Container) -> Container) -> Layer {
    Layer::Container(change(Container::default()))
}

fn published(container: Container, publisher: Publisher) -> Container {
    Container { network: ContainerNetwork::Published, publish: Some(publisher), ..container }
}

fn engine(container: Container, engine: ContainerEngine) -> Container {
    Container { engine: Some(engine), ..container }
}
