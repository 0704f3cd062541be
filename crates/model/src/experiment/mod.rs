//! The experiment: its checked form, and the way there from a TOML file.
//!
//! A file is first a tree with line numbers (`node`), in which the matrix is expanded (`matrix`), and then read key by
//! key (`read`) into [`Experiment`], whose values cannot be inconsistent. Nothing here touches a disk or a network;
//! names of services are checked by whoever knows the catalogue.

mod direct;
mod layers;
mod limit;
mod load;
mod matrix;
mod misplaced;
mod node;
mod peer;
mod program;
mod protocol;
mod read;
mod shape;
mod spell;
mod tags;
mod template;
mod tls;
mod typed;
mod workload;
mod write;

use std::num::NonZeroU32;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Quantity;
use crate::gate::Gate;
use crate::id::PointLabel;
use crate::id::{PointId, VariantId};
use crate::idle::Idle;
use crate::legs::Stamps;
use crate::pairing::PairingChoice;
use crate::quantity::{Nanoseconds, Ratio};
use crate::tags::Tags;

pub use layers::{
    Bursts, CongestionControl, Container, ContainerEngine, ContainerNetwork, ContainerRuntime, Delay, Layer,
    Layers, Loss, Mtu, Ovs, OvsTunnel, Place, Publisher, Rate, Relay, Seccomp, Sidecar, SidecarMode,
    SidecarProgram, SidecarSide, Towards, Veth, Vxlan, VxlanLayout, Wireguard, WireguardImplementation,
};
pub use limit::{CpuLimit, Limits};
pub use load::speed;
pub use node::{ExperimentError, suggestion};
pub use peer::Peer;
pub use program::{Program, Readiness, ReadyAddress, ReadyPattern, WORKING_TREE};
pub use protocol::{CodecName, FramingName, NamedProtocol, Protocol};
pub use shape::{
    Arrivals, Flow, LoadModel, PROFILE_LONGEST, Profile, RateStep, STEPS_MOST, SessionLength, Think,
    TraceSpec,
};
pub use spell::ShapeError;
pub use template::{
    NAME_LONGEST, Template, TemplateError, TemplatePiece, URL_ESCAPED, ValueForm, environment_names,
    expand_environment, is_value_name, whole_environment,
};
pub use tls::{TlsSpec, TlsVersion};
pub use typed::{TypedUrl, typed_schemes};
pub use workload::*;

/// An experiment, checked. The first variant is the baseline; every point has the same variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// What it asks, in a line.
    pub title: String,
    /// One per combination of `workload` and `load` keys in the matrix; at least one.
    pub points: Vec<Point>,
    /// At least one; two or more give costs.
    pub variants: Vec<Variant>,
    /// How much to measure, and when to stop.
    pub plan: PlanRules,
    /// Conditions on the result.
    pub gates: Vec<Gate>,
    /// Commands run around the measurement.
    pub hooks: Hooks,
    /// Words to find it and its variants by.
    #[serde(default)]
    pub tags: Tags,
}

/// One setting of workload and load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The matrix keys that make this point; empty where there is one point.
    pub label: PointLabel,
    /// What is asked.
    pub workload: WorkloadSpec,
    /// How it is asked.
    pub load: LoadSpec,
}

/// How requests are issued.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    /// Closed, open or partly open.
    pub model: LoadModel,
    /// Connections, 1 to 60,000.
    pub connections: u32,
    /// Requests outstanding per connection, 1 to 1,000.
    pub in_flight: u32,
    /// After this a request failed.
    pub timeout: Nanoseconds,
    /// Time spent warming up each variant in each block and point.
    pub warmup: Nanoseconds,
    /// Between a reply and the moment at which the next request is due; nothing in open load.
    pub think: Think,
    /// How many requests a connection serves before the client closes it; `None` for as many as the server likes.
    pub churn: Option<NonZeroU32>,
    /// Whether the kernel stamps what connections send and receive; only with one request in flight.
    #[serde(default)]
    pub stamps: Stamps,
}

impl LoadSpec {
    /// Requests that can be outstanding at once.
    pub fn slots(&self) -> u64 {
        u64::from(self.connections) * u64::from(self.in_flight)
    }

    /// Why the kernel's stamps cannot be told apart by request, where they cannot.
    pub fn check_stamps(&self) -> Result<(), String> {
        if self.stamps == Stamps::Off || self.in_flight == 1 {
            return Ok(());
        }
        Err(format!(
            "one request in flight on each connection, not {}: with more, one packet carries parts of several requests and its stamp is of none of them alone",
            self.in_flight
        ))
    }

    /// Whether a connection serves more than one request.
    pub fn keep_alive(&self) -> bool {
        self.churn != Some(NonZeroU32::MIN)
    }
}

/// How much to measure, and when to stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRules {
    /// The quantity that decides when to stop.
    pub headline: Quantity,
    /// Fewest blocks.
    pub blocks_min: u32,
    /// Most blocks.
    pub blocks_max: u32,
    /// Wanted half-width of the headline's ratio.
    pub until: Option<Ratio>,
    /// Time allowed, from the first start, builds excluded.
    pub budget: Nanoseconds,
    /// Differences within this share are not relevant.
    pub margin: Ratio,
    /// Seed of everything random.
    pub seed: u64,
    /// Length of a window; `None` lets the tool choose.
    pub window: Option<Nanoseconds>,
    /// Most variants alive at once, the baseline counted; at least 2.
    pub together: u32,
    /// Whether variants that do not take part in a window are frozen.
    pub freeze: bool,
    /// How idle cores wait.
    #[serde(default)]
    pub idle: Idle,
    /// How variants are put side by side.
    #[serde(default)]
    pub pairing: PairingChoice,
    /// The variants that `--quick` keeps, where not all of them fit into a few minutes; empty keeps all.
    #[serde(default)]
    pub quick: Vec<String>,
}

/// As where an experiment says nothing of its plan.
impl Default for PlanRules {
    fn default() -> Self {
        Self {
            headline: read::default::HEADLINE,
            blocks_min: read::default::BLOCKS_MIN,
            blocks_max: read::default::BLOCKS_MAX,
            until: None,
            budget: read::default::BUDGET,
            margin: read::default::MARGIN,
            seed: read::default::SEED,
            window: None,
            together: read::default::TOGETHER,
            freeze: true,
            idle: Idle::default(),
            pairing: PairingChoice::Auto,
            quick: Vec::new(),
        }
    }
}

/// One alternative.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Its name, unique.
    pub name: String,
    /// What is started or addressed.
    pub target: Target,
    /// The stack by which operations travel.
    pub protocol: Protocol,
    /// How its connections are secured; `None` for plain text.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// The Unix socket that leads to the URL's server, instead of its host and port.
    #[serde(default)]
    pub unix: Option<PathBuf>,
    /// Environment added to the service's; a value `env:NAME` is read when the run starts.
    pub env: Vec<(String, String)>,
    /// What it may have at most: `cpu`, `memory` and `cores`.
    #[serde(flatten)]
    pub limits: Limits,
    /// How idle cores wait while it is measured; `None` for what the plan says.
    #[serde(default)]
    pub idle: Option<Idle>,
    /// The service to which it passes requests on; it is then a relay, and both are one variant.
    #[serde(default)]
    pub peer: Option<Peer>,
    /// What stands between client and service.
    #[serde(default)]
    pub layers: Layers,
}

/// What is started or addressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Target {
    /// A service of the catalogue.
    Service { name: String },
    /// A program of the user's own.
    Command(Program),
    /// A server that somebody else runs.
    Url(Url),
}

/// An `http://`, `https://`, `memcached://`, `redis://` or `rediss://` address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Url {
    /// What is spoken there.
    #[serde(default)]
    pub scheme: Scheme,
    /// Host name or address, without brackets.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Path and query, starting with `/`; of `redis://` the number of the database, of `memcached://` nothing more.
    pub path: String,
}

/// What is spoken at an address. Further schemes are further arms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// HTTP in plain text.
    #[default]
    Http,
    /// HTTP over TLS.
    Https,
    /// memcached's text protocol.
    Memcached,
    /// Redis' protocol.
    Redis,
    /// Redis' protocol over TLS.
    Rediss,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; 5] = [Self::Http, Self::Https, Self::Memcached, Self::Redis, Self::Rediss];

    /// The scheme of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    /// What stands before `://`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Memcached => "memcached",
            Self::Redis => "redis",
            Self::Rediss => "rediss",
        }
    }

    /// The port where none is given.
    pub const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Memcached => 11211,
            Self::Redis | Self::Rediss => 6379,
        }
    }

    /// Whether it means TLS.
    pub const fn is_secured(self) -> bool {
        match self {
            Self::Http | Self::Memcached | Self::Redis => false,
            Self::Https | Self::Rediss => true,
        }
    }

    /// The protocol where none is given.
    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Http | Self::Https => Protocol::HTTP1_JSON,
            Self::Memcached => Protocol::MEMCACHED,
            Self::Redis | Self::Rediss => Protocol::RESP,
        }
    }

    /// Whether this protocol may be spoken there.
    pub const fn carries(self, protocol: Protocol) -> bool {
        match self {
            Self::Http | Self::Https => protocol.is_http(),
            Self::Memcached => matches!(protocol, Protocol::MEMCACHED),
            Self::Redis | Self::Rediss => matches!(protocol, Protocol::RESP),
        }
    }
}

/// Commands run around the measurement, by `sh -c`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hooks {
    /// Once before the first block.
    pub prepare: Option<String>,
    /// In every block, after the starts, outside the timed part.
    pub reset: Option<String>,
    /// Once at the end, however it ends.
    pub cleanup: Option<String>,
}

impl Experiment {
    /// Reads and checks an experiment file. `name` appears in errors.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        read::experiment(name, text)
    }

    /// The file that this experiment is read from, every default written out and the matrix expanded as far as its
    /// points allow. Reading it gives this experiment again.
    pub fn to_toml(&self) -> String {
        write::experiment(self)
    }

    /// The variants' identifiers in order; the first is the baseline.
    pub fn variant_ids(&self) -> impl Iterator<Item = VariantId> + use<> {
        (0..self.variants.len() as u16).map(VariantId)
    }

    /// The points' identifiers in order.
    pub fn point_ids(&self) -> impl Iterator<Item = PointId> + use<> {
        (0..self.points.len() as u16).map(PointId)
    }
}

impl Url {
    /// Reads `http://host[:port][/path]`, `https://…`, `memcached://host[:port]`, `redis://host[:port][/database]` or
    /// `rediss://…`; the host may be an IPv6 address in brackets, and without a scheme it is `http`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once("://") {
            Some((name, rest)) => {
                let scheme = Scheme::named(name).ok_or_else(|| typed::unknown_scheme(text, name))?;
                Self::read(text, scheme, rest)
            }
            None => Self::read(text, Scheme::Http, text),
        }
    }

    /// Reads what stands behind the scheme of `text`.
    fn read(text: &str, scheme: Scheme, rest: &str) -> Result<Self, String> {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let (host, port) = split_authority(authority, scheme.port()).ok_or_else(|| {
            // Whoever gives a user and a password finds out without showing them around.
            let text = match authority.rsplit_once('@') {
                Some((user, _)) => text.replacen(&format!("{user}@"), "…@", 1),
                None => text.to_owned(),
            };
            format!("`{text}` is not an address; expected `http://host[:port][/path]`, such as `http://127.0.0.1:8080/`")
        })?;
        if path.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return Err(format!(
                "`{text}`: the path holds blanks or control characters; percent-encode them"
            ));
        }
        check_path(scheme, &path).map_err(|message| format!("`{text}`: {message}"))?;
        Ok(Self { scheme, host: host.to_owned(), port, path })
    }

    /// `host:port` as a `Host` header names it.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == self.scheme.port() { host } else { format!("{host}:{}", self.port) }
    }
}

/// Whether an address of that scheme may have that path.
fn check_path(scheme: Scheme, path: &str) -> Result<(), String> {
    let number = path.trim_start_matches('/');
    match scheme {
        Scheme::Http | Scheme::Https => Ok(()),
        Scheme::Memcached if path == "/" => Ok(()),
        Scheme::Memcached => Err(format!("memcached knows no path such as `{path}`; leave it out")),
        Scheme::Redis | Scheme::Rediss if number.is_empty() || number.parse::<u32>().is_ok() => Ok(()),
        Scheme::Redis | Scheme::Rediss => {
            Err(format!("the path `{path}` is no database; give its number, such as `/1`"))
        }
    }
}

fn split_authority(authority: &str, default_port: u16) -> Option<(&str, u16)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    let plain = |c: char| c.is_alphanumeric() || "-._:%".contains(c);
    let port = match port {
        Some(port) => port.parse().ok().filter(|port| *port != 0)?,
        None => default_port,
    };
    (!host.is_empty() && host.chars().all(plain)).then_some((host, port))
}

impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}{}", self.scheme.name(), self.authority(), self.path)
    }
}

#[cfg(test)]
mod tests;
