//! What a variant is made of, so that one can be found to be another one with something more.

use std::path::PathBuf;

use weighbridge_model::experiment::{
    self, Container, ContainerEngine, ContainerNetwork, Layer, Ovs, Peer, Protocol, Publisher, Relay,
    Sidecar, SidecarSide, Target, TlsSpec,
};
use weighbridge_model::secret::is_secret;

/// Longest value of a variable that stands in a name, in characters.
const VALUE: usize = 40;

/// Layers that a relay in user space may stand for.
pub(crate) const RELAYED: [&str; 2] = ["delay", "loss"];

/// What a variant is, and what it has that others may have not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stack {
    /// All that variants must have in common to be distinguished by layers and settings alone; `None` where
    /// nobody knows.
    pub family: Option<Family>,
    /// The same for a reader: `rust`, `go, grpc`.
    pub name: String,
    /// Layers from the client's end inward, then settings; none comes twice.
    pub elements: Vec<StackElement>,
}

/// A program and how it is asked, apart from layers and settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// What is started or addressed.
    pub target: Target,
    /// How operations travel.
    pub protocol: Protocol,
    /// The Unix socket that leads to it.
    pub unix: Option<PathBuf>,
    /// The service that it passes requests on to.
    pub peer: Option<Peer>,
}

/// What makes an element of a stack the same as another.
#[derive(Debug, Clone, PartialEq)]
pub enum Identity {
    /// A layer with all its settings.
    Layer(Layer),
    /// What translates the addresses of a container.
    Publisher {
        /// What manages the container.
        engine: Option<ContainerEngine>,
        /// The program, where it was chosen.
        publish: Option<Publisher>,
    },
    /// How connections are secured.
    Tls(TlsSpec),
    /// A variable of the environment.
    Variable {
        /// Its name.
        key: String,
        /// Its value, hidden or not.
        value: String,
    },
    /// Of anything else its name.
    Name(String),
}

/// A layer, or a setting that is priced like one.
#[derive(Debug, Clone, PartialEq)]
pub struct StackElement {
    /// What makes it the same as another.
    pub id: Identity,
    /// As a report names it: `vxlan`, `tls`, `cpu 0.5`.
    pub name: String,
    /// Whether packets or the service pass through it; else it is a setting.
    pub is_layer: bool,
    /// Name and value of a setting that another variant may have otherwise, as `cores` and `1`. None of what
    /// is hidden.
    pub value: Option<(String, String)>,
}

impl StackElement {
    /// A layer by its name with its settings.
    pub fn layer(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { id: Identity::Name(name.clone()), name, is_layer: true, value: None }
    }

    /// A layer's kind, without its settings: `vxlan`.
    pub(crate) fn kind(&self) -> &str {
        self.name.split(' ').next().unwrap_or(&self.name)
    }

    pub fn setting(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { id: Identity::Name(name.clone()), name, is_layer: false, value: None }
    }

    /// A setting with a value.
    pub fn with_value(key: &str, value: impl ToString) -> Self {
        let value = value.to_string();
        Self { value: Some((key.to_owned(), value.clone())), ..Self::setting(format!("{key} {value}")) }
    }
}

impl Stack {
    /// The stack of a variant. A variable whose name is that of a secret is named without its value.
    pub fn new(variant: &experiment::Variant) -> Self {
        let family = Family {
            target: variant.target.clone(),
            protocol: variant.protocol,
            unix: variant.unix.clone(),
            peer: variant.peer.clone(),
        };
        let layers = variant.layers.iter().flat_map(elements_of);
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
        let limits = limits.into_iter().flatten();
        let idle = variant.idle.map(|idle| StackElement::with_value("idle", idle.name()));
        let variables = variant.env.iter().map(|(key, value)| variable(key, value));
        Self {
            family: Some(family),
            name: name_of(variant),
            elements: layers.chain(tls).chain(limits).chain(idle).chain(variables).collect(),
        }
    }

    /// The same where a relay of ours carries its packets though no layer is called so: it stands below what
    /// it does to them.
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

    /// Whether this has everything that `other` has, and something more: its layers in the same order.
    pub(crate) fn is_above(&self, other: &Self) -> bool {
        self.family == other.family
            && self.elements.len() > other.elements.len()
            && other.settings().all(|element| self.has(element))
            && is_within(other.layers(), self.layers())
    }

    /// Whether this has what `other` has, its layers in the same order, and nothing else.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.family == other.family
            && self.elements.len() == other.elements.len()
            && other.settings().all(|element| self.has(element))
            && self.layers().map(|element| &element.id).eq(other.layers().map(|element| &element.id))
    }

    /// Whether this begins with all that `other` has: what it has more stands inside.
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

    /// What this has and `other` has not.
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

/// What a layer is made of, from the client's end inward: one that holds another layer is that one and
/// something more.
fn elements_of(layer: &Layer) -> Vec<StackElement> {
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
            // The network that is there anyway is no part of it: this host's, or that of the layers before
            // it.
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

/// A layer as it stands. Its name leaves settings out in which two may differ.
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

/// What all variants of a family are, in words.
fn name_of(variant: &experiment::Variant) -> String {
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
    }
    match variant.protocol {
        Protocol::HTTP1_JSON => name,
        protocol => format!("{name}, {}", protocol.name()),
    }
}

/// Parts for a reader: `vxlan + tls`; `bare` where there are none.
pub(crate) fn names<'p>(elements: impl IntoIterator<Item = &'p StackElement>) -> String {
    let names: Vec<&str> = elements.into_iter().map(|element| element.name.as_str()).collect();
    if names.is_empty() { "bare".to_owned() } else { names.join(" + ") }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::Experiment;

    use super::*;

    /// The stack of a service behind layers, as the file writes them.
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
        // Docker's container is another one than runc's alone, and so is what publishes its port.
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
