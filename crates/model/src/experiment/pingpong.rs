//! The workload `pingpong`: which sizes are asked for, and by which path. Its keys, read and written.

use serde::{Deserialize, Serialize};
use toml::{Table, Value as Toml};

use super::node::{ExperimentError, Node, Reader, Value};
use super::sizes::{self, SizeSpread, Sizes};
use super::{Target, Variant, WorkloadSpec};
use crate::quantity::Bytes;

/// Where no size is given: the body of a small reply.
const SIZE: Bytes = Bytes::new(64);

/// `GET /pong/{n}`, or the same through a relay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PingpongSpec {
    /// How many bytes.
    pub sizes: Sizes,
    /// What is asked.
    #[serde(default)]
    pub operation: PingpongOperation,
}

/// What the workload asks of a variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PingpongOperation {
    /// `/pong/{n}`, and `/ping/{n}` of a variant with a peer: the same bytes, fetched or passed on.
    #[default]
    Pong,
    /// `/ping/{n}`.
    Ping,
    /// `/mping/{n}`: what the relay measured of its own request; `/pong/{n}` of a service without a peer.
    Mping,
}

impl PingpongOperation {
    /// Every operation.
    pub const ALL: [Self; 3] = [Self::Pong, Self::Ping, Self::Mping];

    /// Its name in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pong => "pong",
            Self::Ping => "ping",
            Self::Mping => "mping",
        }
    }

    /// The first segment of its path.
    pub const fn path(self) -> &'static str {
        self.name()
    }

    /// What it is called in results: a body is a body, whoever passes it on, so that both can be compared.
    pub const fn operation(self) -> &'static str {
        match self {
            Self::Pong | Self::Ping => "pong",
            Self::Mping => "mping",
        }
    }
}

impl PingpongSpec {
    /// Bodies of these sizes.
    pub const fn of(sizes: Vec<Bytes>) -> Self {
        Self { sizes: Sizes::List(sizes), operation: PingpongOperation::Pong }
    }

    /// The range over which sizes are spread, where they are: then single requests are kept.
    pub const fn spread(&self) -> Option<&SizeSpread> {
        match &self.sizes {
            Sizes::Spread(spread) => Some(spread),
            Sizes::List(_) => None,
        }
    }

    /// Whether single requests are kept: of sizes over a range, and where a relay tells of its own.
    pub fn keeps_requests(&self) -> bool {
        self.spread().is_some() || self.operation == PingpongOperation::Mping
    }

    /// The same as it is asked of a variant: one with a peer passes bodies on, a service without one has no call of its
    /// own to tell of.
    #[must_use]
    pub fn asked_of(&self, variant: &Variant) -> Self {
        let operation = match (self.operation, &variant.peer) {
            (PingpongOperation::Pong, Some(_)) => PingpongOperation::Ping,
            (PingpongOperation::Mping, None) if is_alone(variant) => PingpongOperation::Pong,
            (operation, _) => operation,
        };
        Self { operation, ..self.clone() }
    }
}

/// Whether it is a service that passes nothing on. What a `command` or a `url` is, its owner knows.
fn is_alone(variant: &Variant) -> bool {
    matches!(variant.target, Target::Service { .. }) && variant.peer.is_none()
}

pub(super) fn read(reader: &Reader<'_>) -> Result<PingpongSpec, ExperimentError> {
    let names: Vec<_> = PingpongOperation::ALL.map(|operation| (operation.name(), operation)).into();
    let operation = reader.choice("operation", &names)?.unwrap_or_default();
    Ok(PingpongSpec { sizes: sizes(reader)?, operation })
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

pub(super) fn write(table: &mut Table, spec: &PingpongSpec) {
    table.insert("name".into(), "pingpong".into());
    table.insert("operation".into(), spec.operation.name().into());
    match &spec.sizes {
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

/// Gives the sizes the seed of the plan.
pub(super) fn seed(workload: &mut WorkloadSpec, seed: u64) {
    if let WorkloadSpec::Pingpong(PingpongSpec { sizes: Sizes::Spread(spread), .. }) = workload {
        spread.seed = seed;
    }
}

/// Refuses what is asked of a relay where a variant is none.
pub(super) fn check_relays(
    file: &str,
    workload: &WorkloadSpec,
    variants: &[Variant],
) -> Result<(), ExperimentError> {
    let message = match workload {
        WorkloadSpec::Pingpong(PingpongSpec { operation: PingpongOperation::Pong, .. }) => None,
        WorkloadSpec::Pingpong(PingpongSpec { operation, .. }) => {
            // Beside one that tells, those that have nothing to tell of are asked directly.
            let is_told =
                *operation == PingpongOperation::Mping && !variants.iter().all(|variant| is_alone(variant));
            variants.iter().find(|variant| is_alone(variant) && !is_told).map(|variant| {
                format!(
                    "`workload.operation`: `{}` is asked of a service that passes requests on, and variant `{}` has no peer; give it `peer = \"<service>\"`",
                    operation.name(),
                    variant.name
                )
            })
        }
        _ => variants.iter().find(|variant| variant.peer.is_some()).map(|variant| {
            format!(
                "variant `{}`: `peer` belongs to the workload `pingpong`, and this one is `{}`; leave it out",
                variant.name,
                workload.name()
            )
        }),
    };
    message.map_or(Ok(()), |message| Err(ExperimentError { file: file.to_owned(), line: 0, message }))
}
