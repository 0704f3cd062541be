//! Which layers this host can run, for `weigh doctor`.

use weighbridge_model::experiment::{
    Container, Delay, Layer, Layers, Loss, Rate, Relay, Sidecar, SidecarMode, SidecarProgram, SidecarSide,
    Towards, Veth, Vxlan,
};
use weighbridge_model::quantity::{BitsPerSecond, Bytes, Nanoseconds, Ratio};

use super::parts;
use crate::net::Unavailable;

/// Whether this host can run a kind of layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayerReport {
    /// Its name in an experiment file.
    pub name: String,
    /// By what it would be run, or why it cannot be.
    pub found: Result<String, Unavailable>,
}

/// Tries every kind of layer, with settings that any host takes.
pub fn report() -> Vec<LayerReport> {
    samples().into_iter().map(of).collect()
}

fn of(layer: Layer) -> LayerReport {
    let name = layer.name().to_owned();
    // A layer of the link is looked at beside the hosts that it needs.
    let around = [Layer::Veth(Veth::default()), layer.clone()];
    let layers = Layers::new(around.to_vec()).or_else(|_| Layers::new(vec![layer])).unwrap_or_default();
    let found = match parts(&layers).pop() {
        Some((_, part)) => part.probe().map(|()| part.by()),
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
        Layer::Loss(Loss { share: Ratio::new(0.01), towards: Towards::Both }),
        Layer::Vxlan(Vxlan::default()),
        sidecar(SidecarProgram::Haproxy),
        sidecar(SidecarProgram::Nginx),
        sidecar(SidecarProgram::Envoy),
        Layer::Container(Container::default()),
    ]
}

const fn sidecar(program: SidecarProgram) -> Layer {
    Layer::Sidecar(Sidecar { program, side: SidecarSide::Server, mode: SidecarMode::Http })
}
