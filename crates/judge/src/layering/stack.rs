//! What a variant is made of, so that one can be found to be another one with something more.

use weighbridge_model::experiment::{self, Target};
use weighbridge_model::secret::is_secret;

/// Longest value of a variable that stands in a name, in characters.
const VALUE: usize = 40;

/// What a variant is, and what it has that others may have not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stack {
    /// All that variants must have in common to be told apart by layers and settings alone; empty where nobody knows.
    pub family: String,
    /// The same for a reader: `rust`, `go, grpc`.
    pub name: String,
    /// Layers from the client's end inward, then settings; none comes twice.
    pub parts: Vec<Part>,
}

/// A layer, or a setting that is priced like one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What makes it the same as another.
    pub id: String,
    /// As a report names it: `vxlan`, `tls`, `cpu 0.5`.
    pub name: String,
    /// Whether packets or the service pass through it; else it is a setting.
    pub is_layer: bool,
    /// Name and value of a setting that another variant may have otherwise, as `cores` and `1`. None of what is hidden.
    pub value: Option<(String, String)>,
}

impl Part {
    /// A layer by its name with its settings.
    pub fn layer(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { id: name.clone(), name, is_layer: true, value: None }
    }

    /// A setting that is its own name.
    pub fn setting(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { id: name.clone(), name, is_layer: false, value: None }
    }

    /// A setting with a value.
    pub fn with_value(key: &str, value: impl ToString) -> Self {
        let value = value.to_string();
        Self { value: Some((key.to_owned(), value.clone())), ..Self::setting(format!("{key} {value}")) }
    }
}

impl Stack {
    /// The stack of a variant. A variable whose name is that of a secret is named without its value.
    pub fn of(variant: &experiment::Variant) -> Self {
        let (target, protocol) = (&variant.target, variant.protocol);
        let family = format!("{target:?} {protocol:?} {:?} {:?}", variant.unix, variant.peer);
        // Its name leaves settings out in which two may differ.
        let layers = variant
            .layers
            .iter()
            .map(|layer| Part { id: format!("{layer:?}"), ..Part::layer(layer.to_string()) });
        let tls = variant.tls.iter().map(|tls| {
            let name = if tls.resumption { "tls" } else { "tls without resumption" };
            Part { id: format!("{tls:?}"), ..Part::setting(name) }
        });
        let experiment::Limits { cpu, memory, cores } = &variant.limits;
        let limits = [
            cpu.map(|cpu| Part::with_value("cpu", cpu)),
            memory.map(|memory| Part::with_value("memory", memory)),
            cores.map(|cores| Part::with_value("cores", cores)),
        ];
        let limits = limits.into_iter().flatten();
        let variables = variant.env.iter().map(|(key, value)| variable(key, value));
        Self {
            family,
            name: name_of(variant),
            parts: layers.chain(tls).chain(limits).chain(variables).collect(),
        }
    }

    /// Whether this has everything that `other` has, and something more.
    pub(super) fn is_above(&self, other: &Self) -> bool {
        self.family == other.family
            && self.parts.len() > other.parts.len()
            && other.parts.iter().all(|part| self.has(part))
    }

    /// What this has and `other` has not.
    pub(super) fn beyond<'s>(&'s self, other: &Self) -> Vec<&'s Part> {
        self.parts.iter().filter(|part| !other.has(part)).collect()
    }

    fn has(&self, part: &Part) -> bool {
        self.parts.iter().any(|own| own.id == part.id)
    }
}

fn variable(key: &str, value: &str) -> Part {
    let is_shown = !is_secret(key) && value.chars().count() <= VALUE;
    let name = if is_shown { format!("{key}={value}") } else { key.to_owned() };
    let own = is_shown.then(|| (key.to_owned(), value.to_owned()));
    Part { id: format!("{key}={value}"), value: own, ..Part::setting(name) }
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
        experiment::Protocol::Http1Json => name,
        protocol => format!("{name}, {}", protocol.name()),
    }
}

/// Parts for a reader: `vxlan + tls`; `bare` where there are none.
pub(super) fn names<'p>(parts: impl IntoIterator<Item = &'p Part>) -> String {
    let names: Vec<&str> = parts.into_iter().map(|part| part.name.as_str()).collect();
    if names.is_empty() { "bare".to_owned() } else { names.join(" + ") }
}
