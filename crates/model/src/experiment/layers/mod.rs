//! The layers of a variant: the key `layers`, read, checked and written.
//!
//! A layer is something between client and service. The list starts at the client: hosts and their link, then
//! what the link does to packets, then overlays on it, then sidecars, then the container of the service. Each
//! kind has a file here for its settings, and a file in the lab that sets it up and checks whether the host
//! supports it.

mod container;
mod delay;
mod loss;
mod ovs;
mod rate;
mod relay;
mod sidecar;
mod veth;
mod vxlan;
mod wireguard;

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use super::node::{ExperimentError, Node, Reader, Value, suggestion};
use super::{Protocol, Target, Variant};

pub use container::{Container, ContainerEngine, ContainerNetwork, ContainerRuntime, Publisher, Seccomp};
pub use delay::Delay;
pub use loss::{Bursts, Loss};
pub use ovs::{Ovs, OvsTunnel};
pub use rate::Rate;
pub use relay::Relay;
pub use sidecar::{Sidecar, SidecarMode, SidecarProgram, SidecarSide};
pub use veth::{CongestionControl, Mtu, Veth};
pub use vxlan::{Vxlan, VxlanLayout};
pub use wireguard::{Wireguard, WireguardImplementation};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "layer")]
pub enum Layer {
    /// Two hosts joined by a switch, each a network namespace of its own.
    Veth(Veth),
    Rate(Rate),
    /// Our packet relay carries packets across the switch, unchanged.
    Relay(Relay),
    Delay(Delay),
    Loss(Loss),
    /// An overlay of Ethernet frames in UDP packets.
    Vxlan(Vxlan),
    /// A switch in user space on each host, with or without a tunnel between them.
    Ovs(Ovs),
    /// An overlay of encrypted packets in UDP packets.
    Wireguard(Wireguard),
    Sidecar(Sidecar),
    Container(Container),
}

/// The class of a layer; the list of a variant is in the order of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LayerClass {
    /// The hosts and the link between them.
    Hosts,
    /// What the link does to packets.
    Link,
    /// What travels inside packets of the link.
    Overlay,
    /// Programs beside the client or the service.
    Sidecar,
    /// What contains the service's process.
    Container,
}

/// The direction of packets that a layer affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Towards {
    Server,
    Client,
    Both,
}

impl Towards {
    pub const ALL: [Self; 3] = [Self::Server, Self::Client, Self::Both];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::Both => "both",
        }
    }

    pub const fn is_to_server(self) -> bool {
        matches!(self, Self::Server | Self::Both)
    }

    pub const fn is_to_client(self) -> bool {
        matches!(self, Self::Client | Self::Both)
    }

    /// Whether both include the same direction.
    const fn meets(self, other: Self) -> bool {
        self.is_to_server() && other.is_to_server() || self.is_to_client() && other.is_to_client()
    }

    fn read(reader: &Reader<'_>) -> Result<Option<Self>, ExperimentError> {
        reader.choice("towards", &Self::ALL.map(|towards| (towards.name(), towards)))
    }
}

struct LayerKind {
    /// The name, or the part before the colon (`sidecar:haproxy`).
    name: &'static str,
    /// Reads the settings; gets the layers before it. The key `layer` has already been read.
    read: fn(&Reader<'_>, &[Layer]) -> Result<Layer, ExperimentError>,
}

/// Every known kind. A new kind needs a row, a file here and an arm of [`Layer`].
const KINDS: [LayerKind; 13] = [
    LayerKind { name: "veth", read: |reader, _| veth::read(reader).map(Layer::Veth) },
    LayerKind { name: "rate", read: |reader, _| rate::read(reader).map(Layer::Rate) },
    LayerKind { name: "relay", read: |_, _| Ok(Layer::Relay(Relay)) },
    LayerKind { name: "delay", read: |reader, _| delay::read(reader).map(Layer::Delay) },
    LayerKind { name: "loss", read: |reader, _| loss::read(reader).map(Layer::Loss) },
    LayerKind { name: "vxlan", read: |reader, _| vxlan::read(reader).map(Layer::Vxlan) },
    LayerKind { name: "ovs", read: |_, _| Ok(Layer::Ovs(Ovs::PLAIN)) },
    LayerKind { name: "ovs-vxlan", read: |_, _| Ok(Layer::Ovs(Ovs::with(OvsTunnel::Vxlan))) },
    LayerKind { name: "ovs-geneve", read: |_, _| Ok(Layer::Ovs(Ovs::with(OvsTunnel::Geneve))) },
    LayerKind { name: "ovs-gre", read: |_, _| Ok(Layer::Ovs(Ovs::with(OvsTunnel::Gre))) },
    LayerKind { name: "wireguard", read: |reader, _| wireguard::read(reader).map(Layer::Wireguard) },
    LayerKind { name: "sidecar", read: |reader, _| sidecar::read(reader).map(Layer::Sidecar) },
    LayerKind {
        name: "container",
        read: |reader, before| container::read(reader, has_hosts(before)).map(Layer::Container),
    },
];

impl Layer {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Veth(_) => "veth",
            Self::Rate(_) => "rate",
            Self::Relay(_) => "relay",
            Self::Delay(_) => "delay",
            Self::Loss(_) => "loss",
            Self::Vxlan(_) => "vxlan",
            Self::Ovs(ovs) => ovs.name(),
            Self::Wireguard(_) => "wireguard",
            Self::Sidecar(sidecar) => sidecar.name(),
            Self::Container(_) => "container",
        }
    }

    const fn class(&self) -> LayerClass {
        match self {
            Self::Veth(_) => LayerClass::Hosts,
            Self::Rate(_) | Self::Relay(_) | Self::Delay(_) | Self::Loss(_) => LayerClass::Link,
            Self::Vxlan(_) | Self::Ovs(_) | Self::Wireguard(_) => LayerClass::Overlay,
            Self::Sidecar(_) => LayerClass::Sidecar,
            Self::Container(_) => LayerClass::Container,
        }
    }

    fn write(&self) -> Toml {
        let mut table = Table::new();
        table.insert("layer".into(), self.name().into());
        match self {
            Self::Veth(veth) => veth.write(&mut table),
            Self::Rate(rate) => rate.write(&mut table),
            Self::Relay(Relay) | Self::Ovs(_) => {}
            Self::Delay(delay) => delay.write(&mut table),
            Self::Loss(loss) => loss.write(&mut table),
            Self::Vxlan(vxlan) => vxlan.write(&mut table),
            Self::Wireguard(wireguard) => wireguard.write(&mut table),
            Self::Sidecar(sidecar) => sidecar.write(&mut table),
            Self::Container(container) => container.write(&mut table),
        }
        table.into()
    }
}

impl fmt::Display for Layer {
    /// As in reports: `rate 100 Mbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::Veth(veth) => veth.fmt(f),
            Self::Rate(rate) => rate.fmt(f),
            Self::Relay(Relay) | Self::Ovs(_) => Ok(()),
            Self::Delay(delay) => delay.fmt(f),
            Self::Loss(loss) => loss.fmt(f),
            Self::Vxlan(vxlan) => vxlan.fmt(f),
            Self::Wireguard(wireguard) => wireguard.fmt(f),
            Self::Sidecar(sidecar) => sidecar.fmt(f),
            Self::Container(container) => container.fmt(f),
        }
    }
}

/// The checked layers of a variant, starting at the client.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Layer>", into = "Vec<Layer>")]
pub struct Layers(Vec<Layer>);

impl Layers {
    /// Errors: in words, why these layers cannot be combined.
    pub fn new(layers: Vec<Layer>) -> Result<Self, String> {
        for (at, layer) in layers.iter().enumerate() {
            check_next(&layers[..at], layer)?;
        }
        Ok(Self(layers))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> std::slice::Iter<'_, Layer> {
        self.0.iter()
    }

    /// Whether client and service are on separate hosts.
    pub fn has_hosts(&self) -> bool {
        self.veth().is_some()
    }

    /// The layer that makes the hosts, if there is one.
    pub fn veth(&self) -> Option<&Veth> {
        self.iter().find_map(|layer| if let Layer::Veth(veth) = layer { Some(veth) } else { None })
    }

    /// Whether there is an explicit layer `relay`.
    pub fn has_relay(&self) -> bool {
        self.iter().any(|layer| matches!(layer, Layer::Relay(_)))
    }
}

impl TryFrom<Vec<Layer>> for Layers {
    type Error = String;
    fn try_from(layers: Vec<Layer>) -> Result<Self, String> {
        Self::new(layers)
    }
}

impl From<Layers> for Vec<Layer> {
    fn from(layers: Layers) -> Self {
        layers.0
    }
}

impl fmt::Display for Layers {
    /// `bare`, or the layers joined by ` + `.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("bare");
        }
        let names: Vec<String> = self.0.iter().map(Layer::to_string).collect();
        f.write_str(&names.join(" + "))
    }
}

fn has_hosts(layers: &[Layer]) -> bool {
    layers.iter().any(|layer| layer.class() == LayerClass::Hosts)
}

/// Refuses two layers of one kind that would do the same thing in the same place. Those for one direction or
/// one side may occur once for each.
fn check_beside(other: &Layer, layer: &Layer) -> Result<(), String> {
    let (one, two) = (other.name(), layer.name());
    let meet = match (other, layer) {
        (Layer::Sidecar(other), Layer::Sidecar(layer)) if !other.side.meets(layer.side) => return Ok(()),
        (Layer::Sidecar(_), Layer::Sidecar(_)) if one != two => {
            return Err(format!(
                "`{one}` and `{two}` stand on the same side; give them different ones (`side`) or leave one out"
            ));
        }
        (Layer::Delay(other), Layer::Delay(layer)) => other.towards.meets(layer.towards),
        (Layer::Loss(other), Layer::Loss(layer)) => other.towards.meets(layer.towards),
        _ => one == two,
    };
    if meet { Err(format!("`{two}` stands there twice; leave one out")) } else { Ok(()) }
}

/// Refuses a layer that cannot follow those before it.
fn check_next(before: &[Layer], layer: &Layer) -> Result<(), String> {
    let name = layer.name();
    before.iter().try_for_each(|other| check_beside(other, layer))?;
    if matches!(layer.class(), LayerClass::Link | LayerClass::Overlay) && !has_hosts(before) {
        return Err(format!(
            "`{name}` needs two hosts to stand between, which `veth` makes; write `veth` before it"
        ));
    }
    match layer {
        Layer::Ovs(_) => before.iter().try_for_each(check_below_switch)?,
        Layer::Wireguard(_) => wireguard::check_below(before)?,
        Layer::Container(container) => container.check_network(has_hosts(before))?,
        _ => {}
    }
    for other in before {
        if let (Layer::Veth(veth), Layer::Rate(rate)) = (other, layer) {
            rate.check(veth.mtu)?;
        }
    }
    if let Some(other) = before.iter().find(|other| other.class() > layer.class()) {
        return Err(format!(
            "`{name}` stands inside of `{}`, where it cannot be: {}; write `{name}` before `{0}`",
            other.name(),
            why_before(layer.class())
        ));
    }
    Ok(())
}

/// Refuses a switch of Open vSwitch on top of a layer that it cannot use.
fn check_below_switch(below: &Layer) -> Result<(), String> {
    match below {
        Layer::Ovs(other) => Err(format!(
            "a host has one switch of Open vSwitch, and `{}` makes it already; leave one out",
            other.name()
        )),
        Layer::Vxlan(Vxlan { layout: VxlanLayout::Flannel }) => {
            Err("a switch of Open vSwitch joins one network, and flannel's layout has one for each host; \
             use `vxlan` with `layout = \"direct\"` below it"
                .to_owned())
        }
        Layer::Wireguard(_) => Err(
            "a switch of Open vSwitch joins devices of Ethernet, and `wireguard` makes one of IP packets \
             alone; write `wireguard` after it, inside, or use `vxlan`, which can stand on it"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Why layers of this class come before the later classes, to follow a colon.
const fn why_before(class: LayerClass) -> &'static str {
    match class {
        LayerClass::Hosts => "everything else stands on the hosts that it makes",
        LayerClass::Link => "it works on the packets of the link, which an overlay's are too",
        LayerClass::Overlay => "it leads from host to host, and the rest lies on one of them",
        LayerClass::Sidecar => "it is beside the container and not in it",
        LayerClass::Container => "it is around the service alone",
    }
}

/// Reads `layers = ["veth", { layer = "rate", rate = "100 Mbit/s" }]`.
pub(super) fn read(reader: &Reader<'_>) -> Result<Layers, ExperimentError> {
    let Some(node) = reader.node("layers") else { return Ok(Layers::default()) };
    let path = reader.full_key("layers");
    let Value::List(items) = &node.value else {
        let message = format!("`{path}`: `{}` must be a list such as [\"veth\", \"vxlan\"]", node.show());
        return Err(reader.error(node.line, message));
    };
    let mut layers = Vec::new();
    for item in items {
        let layer = layer(reader, item, &layers)?;
        check_next(&layers, &layer).map_err(|why| reader.error(item.line, format!("`{path}`: {why}")))?;
        layers.push(layer);
    }
    Ok(Layers(layers))
}

fn layer(outer: &Reader<'_>, item: &Node, before: &[Layer]) -> Result<Layer, ExperimentError> {
    let spelled = match &item.value {
        Value::Text(_) => {
            Node { line: item.line, value: Value::Table(vec![("layer".to_owned(), item.clone())]) }
        }
        Value::Table(_) => item.clone(),
        _ => {
            let message = format!(
                "`{}`: `{}` is no layer; write a name such as \"veth\", or a table such as {{ layer = \"rate\", rate = \"1 Gbit/s\" }}",
                outer.full_key("layers"),
                item.show()
            );
            return Err(outer.error(item.line, message));
        }
    };
    let reader = outer.entry_table("layers", &spelled)?;
    let Some(name) = reader.text("layer")? else {
        let message =
            format!("`{}`: `{}` does not say which `layer` it is", outer.full_key("layers"), item.show());
        return Err(outer.error(item.line, message));
    };
    let family = name.split(':').next().unwrap_or_default();
    let Some(kind) = KINDS.iter().find(|kind| kind.name == family) else {
        // A kind may have several names.
        let several = |kind: &str| match kind {
            "sidecar" => SidecarProgram::ALL.map(|program| format!("sidecar:{}", program.name())).to_vec(),
            one => vec![one.to_owned()],
        };
        let names: Vec<String> = KINDS.iter().flat_map(|kind| several(kind.name)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let message = format!(
            "`{}`: `{name}` is no layer{}",
            outer.full_key("layers"),
            suggestion(&name.to_lowercase(), &names)
        );
        return Err(outer.error(item.line, message));
    };
    let layer = (kind.read)(&reader, before)?;
    if layer.name() != name {
        let message =
            format!("`{}`: `{name}` is no layer; write `{}`", outer.full_key("layers"), layer.name());
        return Err(outer.error(item.line, message));
    }
    reader.finish()?;
    Ok(layer)
}

/// Errors: in words, why the variant cannot have its layers.
pub(super) fn check(variant: &Variant) -> Result<(), String> {
    if variant.layers.is_empty() {
        return Ok(());
    }
    if let Target::Url(url) = &variant.target {
        return Err(format!(
            "`layers` beside `url`: they stand around programs that are started here, and nothing can be put before `{url}`; use `service` or `command`"
        ));
    }
    if variant.protocol == Protocol::DIRECT {
        return Err(
            "`layers` beside protocol `direct`, which sends nothing that could pass through them; leave one out"
                .to_owned(),
        );
    }
    variant.layers.iter().try_for_each(|layer| match layer {
        Layer::Sidecar(sidecar) => sidecar.check(variant),
        Layer::Container(container) => container.check(variant),
        _ => Ok(()),
    })
}

pub(super) fn write(layers: &Layers) -> Toml {
    layers.iter().map(Layer::write).collect::<Vec<_>>().into()
}

/// A list of layers in the name of a variant of a matrix: `bare`, `veth+vxlan`.
pub(super) fn short(node: &Node) -> String {
    let name = |item: &Node| match &item.value {
        Value::Table(entries) => {
            let shown: Vec<_> = entries.iter().map(|(_, value)| value.show()).collect();
            shown.join(" ")
        }
        _ => item.show(),
    };
    match &node.value {
        Value::List(items) if items.is_empty() => "bare".to_owned(),
        Value::List(items) => items.iter().map(name).collect::<Vec<_>>().join("+"),
        _ => node.show(),
    }
}

#[cfg(test)]
mod tests;
