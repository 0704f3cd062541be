//! The workload `pingpong`: requested sizes and path. Its keys, read and written.

use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use super::sizes::{self, SizeSpread, Sizes};
use super::{Spec, Variant, WorkloadSpec, has_no_peer};
use crate::experiment::Protocol;
use crate::experiment::node::{ExperimentError, Node, Reader, Value};
use crate::quantity::Bytes;

/// The default size: the body of a small reply.
const SIZE: Bytes = Bytes::new(64);

/// `GET /pong/{n}`, or the same through a relay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PingpongSpec {
    pub sizes: Sizes,
    #[serde(default)]
    pub operation: PingpongOperation,
}

/// What the workload asks of a variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PingpongOperation {
    /// `/pong/{n}`, or `/ping/{n}` for a variant with a peer: the same bytes, fetched or passed on.
    #[default]
    Pong,
    /// `/ping/{n}`.
    Ping,
    /// `/mping/{n}`: what the relay measured for its own request; `/pong/{n}` for a service without a peer.
    Mping,
}

impl PingpongOperation {
    pub const ALL: [Self; 3] = [Self::Pong, Self::Ping, Self::Mping];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Pong => "pong",
            Self::Ping => "ping",
            Self::Mping => "mping",
        }
    }

    pub const fn path(self) -> &'static str {
        self.name()
    }

    /// The operation's name in results. `pong` and `ping` share one, so that fetched and relayed bodies can
    /// be compared.
    pub const fn operation(self) -> &'static str {
        match self {
            Self::Pong | Self::Ping => "pong",
            Self::Mping => "mping",
        }
    }
}

impl PingpongSpec {
    pub const fn new(sizes: Vec<Bytes>) -> Self {
        Self { sizes: Sizes::List(sizes), operation: PingpongOperation::Pong }
    }
}

impl Spec for PingpongSpec {
    const NAME: &'static str = "pingpong";
    const PEER: Option<&'static str> = Some(Self::NAME);

    fn read(reader: &Reader<'_>) -> Result<Self, ExperimentError> {
        let names: Vec<_> = PingpongOperation::ALL.map(|operation| (operation.name(), operation)).into();
        let operation = reader.choice("operation", &names)?.unwrap_or_default();
        Ok(Self { sizes: sizes(reader)?, operation })
    }

    fn write(&self, table: &mut Table) {
        table.insert("operation".into(), self.operation.name().into());
        match &self.sizes {
            Sizes::Spread(spread) => sizes::write(table, spread),
            Sizes::List(sizes) => {
                let sizes: Vec<Toml> = sizes.iter().map(|size| size.get().to_string().into()).collect();
                match &sizes[..] {
                    [one] => table.insert("size".into(), one.clone()),
                    _ => table.insert("sizes".into(), sizes.into()),
                };
            }
        }
    }

    fn operations(&self) -> Vec<String> {
        vec![self.operation.operation().to_owned()]
    }

    fn words(&self) -> String {
        let asked = match self.operation {
            PingpongOperation::Pong => String::new(),
            other => format!(" {}", other.name()),
        };
        let sizes = match &self.sizes {
            Sizes::List(sizes) => sizes.iter().map(Bytes::to_string).collect::<Vec<_>>().join(", "),
            Sizes::Spread(spread) => {
                format!("{} sizes from {} to {}", spread.number(), spread.min, spread.max)
            }
        };
        format!("pingpong{asked} {sizes}")
    }

    /// A variant with a peer passes bodies on; a service without one has no own call to report.
    fn for_variant(&self, variant: &Variant) -> Option<WorkloadSpec> {
        let operation = match (self.operation, &variant.peer) {
            (PingpongOperation::Pong, Some(_)) => PingpongOperation::Ping,
            (PingpongOperation::Mping, None) if has_no_peer(variant) => PingpongOperation::Pong,
            (operation, _) => operation,
        };
        Some(Self { operation, ..self.clone() }.into())
    }

    fn offered_as(&self, variant: &Variant) -> Option<&'static str> {
        Some(if variant.peer.is_some() { "ping" } else { "pingpong" })
    }

    fn listed_sizes(&self) -> &[Bytes] {
        match &self.sizes {
            Sizes::List(sizes) => sizes,
            Sizes::Spread(_) => &[],
        }
    }

    fn spread(&self) -> Option<&SizeSpread> {
        match &self.sizes {
            Sizes::Spread(spread) => Some(spread),
            Sizes::List(_) => None,
        }
    }

    fn keeps_samples(&self) -> bool {
        self.spread().is_some() || self.operation == PingpongOperation::Mping
    }

    fn set_seed(&mut self, seed: u64) {
        if let Sizes::Spread(spread) = &mut self.sizes {
            spread.seed = seed;
        }
    }

    /// Refuses operations of a relay if a variant is not one.
    fn check_variants(&self, variants: &[Variant]) -> Result<(), String> {
        let another = |variant: &&Variant| {
            variant.peer.as_ref().is_some_and(|peer| peer.protocol != Protocol::HTTP1_JSON)
        };
        if let Some(variant) = variants.iter().find(another) {
            return Err(format!(
                "variant `{}`: `peer.protocol` belongs to the workload `person-client`, and a relay of `pingpong` asks over `http1-json` only; leave it out",
                variant.name
            ));
        }
        // Together with a relay, services without a peer are asked directly.
        let has_relay = self.operation == PingpongOperation::Mping && !variants.iter().all(has_no_peer);
        if self.operation == PingpongOperation::Pong || has_relay {
            return Ok(());
        }
        match variants.iter().find(|variant| has_no_peer(variant)) {
            None => Ok(()),
            Some(variant) => Err(format!(
                "`workload.operation`: `{}` is asked of a service that passes requests on, and variant `{}` has no peer; give it `peer = \"<service>\"`",
                self.operation.name(),
                variant.name
            )),
        }
    }

    fn check_direct(&self) -> Result<(), &'static str> {
        if self.operation != PingpongOperation::Pong {
            return Err("the only operation that it carries is `pong`");
        }
        if self.spread().is_some() {
            return Err("`workload.sizes` must be a list: single requests cannot be told apart in a process");
        }
        Ok(())
    }
}

pub(super) fn size(node: &Node) -> Result<Bytes, String> {
    match node.show().parse::<Bytes>() {
        Ok(size) if (4..=100_000_000).contains(&size.get()) => Ok(size),
        Ok(size) => Err(format!("`{size}` must be from 4 B to 100 MB")),
        Err(error) => Err(error.to_string()),
    }
}

fn sizes(reader: &Reader<'_>) -> Result<Sizes, ExperimentError> {
    let one = reader.value("size", size)?;
    if let Some(Node { value: Value::Table(_), .. }) = reader.node("sizes")
        && let Some(table) = reader.table("sizes")?
    {
        return match one {
            Some(_) => Err(both(reader)),
            None => Ok(Sizes::Spread(sizes::read(reader, table)?)),
        };
    }
    let many = reader.value("sizes", |node| match &node.value {
        Value::List(items) if !items.is_empty() => items.iter().map(size).collect(),
        _ => Err("must be a list of at least one size".to_owned()),
    })?;
    if let Some(node) = reader.node("repetitions") {
        let message = "`repetitions` belongs to `sizes = { min = …, max = … }`; leave it out";
        return Err(reader.error(node.line, message));
    }
    match (one, many) {
        (Some(_), Some(_)) => Err(both(reader)),
        (Some(size), None) => Ok(Sizes::List(vec![size])),
        (None, Some(sizes)) => Ok(Sizes::List(sizes)),
        (None, None) => Ok(Sizes::List(vec![SIZE])),
    }
}

fn both(reader: &Reader<'_>) -> ExperimentError {
    reader.error(reader.line(), "`workload.size` and `workload.sizes` cannot stand together")
}
