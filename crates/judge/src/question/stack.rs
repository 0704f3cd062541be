//! What a variant consists of, so that it can be recognised as another one with something more.

use std::path::PathBuf;

use weighbridge_model::experiment::{
    self, Container, ContainerEngine, ContainerNetwork, Database, JVM_VARIABLE, JvmSettings, Layer, Ovs,
    Peer, Protocol, Publisher, Relay, Sidecar, SidecarSide, Target, TlsSpec,
};
use weighbridge_model::secret::is_secret;

/// The longest value of a variable that is part of a name, in characters.
const VALUE: usize = 40;

/// Layers that our packet relay may implement.
pub(crate) const RELAYED: [&str; 2] = ["delay", "loss"];

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stack {
    /// What variants must have in common to differ in layers and settings only; `None` if unknown.
    pub family: Option<Family>,
    /// The family for a reader: `rust`, `go, grpc`.
    pub name: String,
    /// Layers from the client's end inward, then settings; each occurs once.
    pub elements: Vec<StackElement>,
}

/// A program and how it is asked, without layers and settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    pub target: Target,
    pub protocol: Protocol,
    pub unix: Option<PathBuf>,
    /// The service that it passes requests on to.
    pub peer: Option<Peer>,
    pub database: Option<Database>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Identity {
    Layer(Layer),
    /// The program that forwards a container's published port.
    Publisher {
        engine: Option<ContainerEngine>,
        publish: Option<Publisher>,
    },
    Tls(TlsSpec),
    Variable {
        key: String,
        value: String,
    },
    /// Anything else, by name.
    Name(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct StackElement {
    pub id: Identity,
    /// The name in reports: `vxlan`, `tls`, `cpu 0.5`.
    pub name: String,
    /// Whether packets or the service pass through it; otherwise it is a setting.
    pub is_layer: bool,
    /// Name and value of a setting that may have another value elsewhere, such as `cores` and `1`; never a
    /// secret.
    pub value: Option<(String, String)>,
}

impl StackElement {
    pub fn layer(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { id: Identity::Name(name.clone()), name, is_layer: true, value: None }
    }

    /// The kind of a layer without its settings: `vxlan`.
    pub(crate) fn kind(&self) -> &str {
        self.name.split(' ').next().unwrap_or(&self.name)
    }

    pub fn setting(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { id: Identity::Name(name.clone()), name, is_layer: false, value: None }
    }

    pub fn with_value(key: &str, value: impl ToString) -> Self {
        let value = value.to_string();
        Self { value: Some((key.to_owned(), value.clone())), ..Self::setting(format!("{key} {value}")) }
    }
}

impl Stack {
    /// The name of a secret variable appears without its value.
    pub fn new(variant: &experiment::Variant) -> Self {
        let family = Family {
            target: variant.target.clone(),
            protocol: variant.protocol,
            unix: variant.unix.clone(),
            peer: variant.peer.clone(),
            database: variant.database,
        };
        let layers = variant.layers.iter().flat_map(layer_elements);
        let tls = variant.tls.iter().map(|tls| {
            let name = if tls.resumption { "tls" } else { "tls without resumption" };
            StackElement { id: Identity::Tls(tls.clone()), ..StackElement::setting(name) }
        });
        let experiment::Limits { cpu, memory, cores } = &variant.limits;
        let limits = [
            cpu.map(|cpu| StackElement::with_value("cpu", cpu)),
            memory.map(|memory| StackElement::with_value("memory", memory)),
            cores.map(|cores| StackElement::with_value("cores", cores)),
        ];
        let experiment::OwnSlots { connections, in_flight } = &variant.slots;
        let slots = [("connections", connections), ("in_flight", in_flight)];
        let slots = slots.into_iter().filter_map(|(key, own)| Some(StackElement::with_value(key, (*own)?)));
        let limits = limits.into_iter().flatten().chain(slots);
        let idle = variant.idle.map(|idle| StackElement::with_value("idle", idle.name()));
        let variables = variant.env.iter().map(|(key, value)| variable(key, value));
        let base = variant.base.map(|sessions| StackElement::with_value("base", sessions));
        let jvm = variant.jvm.iter().flat_map(JvmSettings::settings);
        let jvm = jvm.map(|(key, value)| StackElement::with_value(key, value));
        Self {
            family: Some(family),
            name: family_name(variant),
            elements: layers
                .chain(tls)
                .chain(limits)
                .chain(idle)
                .chain(base)
                .chain(jvm)
                .chain(variables)
                .collect(),
        }
    }

    /// The stack with our packet relay below the effects that it implements, which no layer may name.
    pub(crate) fn relayed(mut self) -> Self {
        let is_relay = |element: &StackElement| element.is_layer && element.kind() == "relay";
        let is_done_by_one = |element: &StackElement| element.is_layer && RELAYED.contains(&element.kind());
        if let Some(at) = self.elements.iter().position(is_done_by_one)
            && !self.elements.iter().any(is_relay)
        {
            self.elements.insert(at, one_element(&Layer::Relay(Relay)));
        }
        self
    }

    /// Whether this has everything that `other` has, its layers in the same order, and something more.
    pub(crate) fn is_above(&self, other: &Self) -> bool {
        self.family == other.family
            && self.elements.len() > other.elements.len()
            && other.settings().all(|element| self.has(element))
            && is_within(other.layers(), self.layers())
    }

    /// Whether both have the same elements, layers in the same order.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.family == other.family
            && self.elements.len() == other.elements.len()
            && other.settings().all(|element| self.has(element))
            && self.layers().map(|element| &element.id).eq(other.layers().map(|element| &element.id))
    }

    /// The stack of the same program whatever its Java virtual machine is told.
    pub(crate) fn without_virtual_machine(&self) -> Self {
        let of_machine = |element: &StackElement| {
            element
                .value
                .as_ref()
                .is_some_and(|(key, _)| JvmSettings::KEYS.contains(&key.as_str()) || key == JVM_VARIABLE)
        };
        let elements = self.elements.iter().filter(|element| element.is_layer || !of_machine(element));
        Self { elements: elements.cloned().collect(), ..self.clone() }
    }

    /// Whether this begins with all of `other`, so that whatever it has more is further inside.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        let mut own = self.elements.iter().map(|element| &element.id);
        other.elements.iter().all(|element| own.next() == Some(&element.id))
    }

    fn layers(&self) -> impl Iterator<Item = &StackElement> {
        self.elements.iter().filter(|element| element.is_layer)
    }

    fn settings(&self) -> impl Iterator<Item = &StackElement> {
        self.elements.iter().filter(|element| !element.is_layer)
    }

    pub(crate) fn beyond<'s>(&'s self, other: &Self) -> Vec<&'s StackElement> {
        self.elements.iter().filter(|element| !other.has(element)).collect()
    }

    fn has(&self, element: &StackElement) -> bool {
        self.elements.iter().any(|own| own.id == element.id)
    }
}

/// Whether all of `few` are among `many`, in the same order.
fn is_within<'p>(
    few: impl Iterator<Item = &'p StackElement>,
    mut many: impl Iterator<Item = &'p StackElement>,
) -> bool {
    few.into_iter().all(|element| many.any(|own| own.id == element.id))
}

/// The elements of a layer, from the client's end inward. A layer that contains another one is that one and
/// something more.
fn layer_elements(layer: &Layer) -> Vec<StackElement> {
    match layer {
        Layer::Ovs(Ovs { tunnel: Some(tunnel) }) => {
            let switch = one_element(&Layer::Ovs(Ovs::PLAIN));
            vec![switch, StackElement::layer(format!("tunnel {}", tunnel.name()))]
        }
        Layer::Sidecar(sidecar) if sidecar.side == SidecarSide::Both => {
            let beside = |side| one_element(&Layer::Sidecar(Sidecar { side, ..*sidecar }));
            vec![beside(SidecarSide::Client), beside(SidecarSide::Server)]
        }
        Layer::Container(container) => {
            let Container { engine, network, publish, .. } = container;
            // The network already exists (the host's, or that of the layers before), so it is not part of the
            // container.
            let within = Container { network: ContainerNetwork::Host, publish: None, ..*container };
            let within = one_element(&Layer::Container(within));
            if *network != ContainerNetwork::Published {
                return vec![within];
            }
            let by = publish.map(|publisher| format!(" by {}", publisher.name())).unwrap_or_default();
            let published = StackElement::layer(format!("published{by}"));
            vec![
                StackElement { id: Identity::Publisher { engine: *engine, publish: *publish }, ..published },
                within,
            ]
        }
        layer => vec![one_element(layer)],
    }
}

/// The layer as a single element. Its name may leave out settings.
fn one_element(layer: &Layer) -> StackElement {
    StackElement { id: Identity::Layer(layer.clone()), ..StackElement::layer(layer.to_string()) }
}

fn variable(key: &str, value: &str) -> StackElement {
    let is_shown = !is_secret(key) && value.chars().count() <= VALUE;
    let name = if is_shown { format!("{key}={value}") } else { key.to_owned() };
    let own = is_shown.then(|| (key.to_owned(), value.to_owned()));
    StackElement {
        id: Identity::Variable { key: key.to_owned(), value: value.to_owned() },
        value: own,
        ..StackElement::setting(name)
    }
}

fn family_name(variant: &experiment::Variant) -> String {
    let program = |argv: &[String]| {
        let first = argv.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first).to_owned()
    };
    let mut name = match &variant.target {
        Target::Service { name } => name.clone(),
        Target::Command(command) => program(&command.argv),
        Target::Url(url) => format!("{}:{}", url.host, url.port),
    };
    if let Some(peer) = &variant.peer {
        name = format!("{name} → {}", peer.service);
        if peer.protocol != Protocol::HTTP1_JSON {
            name = format!("{name} over {}", peer.protocol.name());
        }
    }
    if let Some(database) = &variant.database {
        name = format!("{name} on {database}");
    }
    match variant.protocol {
        Protocol::HTTP1_JSON => name,
        protocol => format!("{name}, {}", protocol.name()),
    }
}

/// Names for a reader: `vxlan + tls`; `bare` if there are no elements.
pub(crate) fn names<'p>(elements: impl IntoIterator<Item = &'p StackElement>) -> String {
    let names: Vec<&str> = elements.into_iter().map(|element| element.name.as_str()).collect();
    if names.is_empty() { "bare".to_owned() } else { names.join(" + ") }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::Experiment;

    use super::*;

    /// The stack of a service behind layers, as the experiment file writes them.
    fn stack(layers: &str) -> Stack {
        let text = format!(
            "[workload]\nname = \"pingpong\"\n[[variant]]\nname = \"one\"\nservice = \"go\"\nlayers = {layers}\n"
        );
        let experiment = Experiment::parse("test.toml", &text).expect("a valid experiment");
        Stack::new(&experiment.variants[0])
    }

    #[track_caller]
    fn assert_above(above: &str, below: &str, more: &str) {
        let (above, below) = (stack(above), stack(below));
        assert!(above.is_above(&below) && !below.is_above(&above), "{above:?} {below:?}");
        assert_eq!(names(above.beyond(&below)), more);
    }

    #[test]
    fn a_layer_that_holds_another_is_that_one_and_something_more() {
        assert_above(r#"["veth", "ovs-vxlan"]"#, r#"["veth", "ovs"]"#, "tunnel vxlan");
        let both = r#"["veth", { layer = "sidecar:envoy", side = "both" }]"#;
        assert_above(both, r#"["veth", "sidecar:envoy"]"#, "sidecar:envoy at the client");
        let client = r#"["veth", { layer = "sidecar:envoy", side = "client" }]"#;
        assert_above(both, client, "sidecar:envoy");
        let published = r#"["veth", { layer = "container", network = "published" }]"#;
        assert_above(published, r#"["veth", "container"]"#, "published");
        assert_above(published, r#"["veth"]"#, "published + container");
        assert_above(r#"["veth", "container"]"#, r#"["container"]"#, "veth");
        let apart = r#"["veth", { layer = "sidecar:envoy", side = "client" }, "sidecar:envoy"]"#;
        assert!(stack(apart).is_like(&stack(both)), "one on either side is both");
        // Docker's container differs from plain runc's, and so does the program that publishes its port.
        let docker = stack(r#"["veth", { layer = "container", engine = "docker", network = "published" }]"#);
        assert!(!docker.is_above(&stack(r#"["veth", "container"]"#)));
        assert!(docker.is_above(&stack(r#"["veth", { layer = "container", engine = "docker" }]"#)));
    }

    #[test]
    fn a_relay_is_put_below_what_it_does_and_once() {
        let delay = r#"["veth", { layer = "delay", time = "1 ms" }]"#;
        let relayed = stack(delay).relayed();
        assert!(relayed.is_above(&stack(r#"["veth", "relay"]"#)), "{relayed:?}");
        assert_eq!(relayed.clone().relayed(), relayed);
        let named = stack(r#"["veth", "relay", { layer = "delay", time = "1 ms" }]"#);
        assert_eq!(named.clone().relayed(), named);
        assert!(relayed.is_like(&named));
        assert_eq!(stack(r#"["veth"]"#).relayed(), stack(r#"["veth"]"#));
    }
}
