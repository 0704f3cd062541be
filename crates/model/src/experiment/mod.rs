//! The experiment: its checked form, and how a TOML file becomes one.
//!
//! A file is parsed into a tree with line numbers (`node`), the matrix is expanded in the tree (`matrix`),
//! and each key is read (`read`) into [`Experiment`], whose values are consistent. Nothing here touches a
//! disk or a network; whoever has the catalogue checks names of services.

mod base;
mod cache;
mod capacity;
mod database;
mod direct;
mod jvm;
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
mod slots;
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

pub use cache::{CacheSettings, EvictionPolicy};
pub use capacity::{AskedRates, CapacitySpec, TriedRates};
pub use database::{DATABASE_VARIABLE, Database, DatabaseVia, Durability, PostgresSettings};
pub use jvm::{Collector, HeapSize, JVM_VARIABLE, JvmSettings};
pub use layers::{
    Bursts, CongestionControl, Container, ContainerEngine, ContainerNetwork, ContainerRuntime, Delay, Layer,
    Layers, Loss, Mtu, Ovs, OvsTunnel, Publisher, Rate, Relay, Seccomp, Sidecar, SidecarMode, SidecarProgram,
    SidecarSide, Towards, Veth, Vxlan, VxlanLayout, Wireguard, WireguardImplementation,
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
pub use slots::OwnSlots;
pub use spell::ShapeError;
pub use template::{
    NAME_LONGEST, Template, TemplateError, TemplatePiece, URL_ESCAPED, ValueForm, environment_names,
    expand_environment, is_value_name, whole_environment,
};
pub use tls::{TlsSpec, TlsVersion};
pub use typed::{TypedUrl, typed_schemes};
pub use workload::*;

/// A checked experiment. The first variant is the baseline; every point has the same variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub title: String,
    /// One per combination of `workload` and `load` keys in the matrix; at least one.
    pub points: Vec<Point>,
    /// At least one; two or more give costs.
    pub variants: Vec<Variant>,
    pub plan: PlanRules,
    /// Asks for the highest rate instead of for times at a rate.
    #[serde(default)]
    pub capacity: Option<CapacitySpec>,
    pub gates: Vec<Gate>,
    pub hooks: Hooks,
    #[serde(default)]
    pub tags: Tags,
}

/// One setting of workload and load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// The matrix keys and values of this point; empty if there is one point.
    pub label: PointLabel,
    pub workload: WorkloadSpec,
    pub load: LoadSpec,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadSpec {
    pub model: LoadModel,
    /// Connections, 1 to 60,000.
    pub connections: u32,
    /// Requests outstanding per connection, 1 to 1,000.
    pub in_flight: u32,
    /// A request without a reply after this time has failed.
    pub timeout: Nanoseconds,
    /// Time spent warming up each variant in each block and point.
    pub warmup: Nanoseconds,
    /// Time between a reply and the moment at which the next request is due; none in open load.
    pub think: Think,
    /// How many requests a connection serves before the client closes it; `None` for no limit.
    pub churn: Option<NonZeroU32>,
    /// Whether the kernel stamps what connections send and receive; needs one request in flight.
    #[serde(default)]
    pub stamps: Stamps,
    /// How requests over HTTP/2 use HPACK's dynamic table.
    #[serde(default)]
    pub header_table: HeaderTable,
}

/// How the header fields of requests over HTTP/2 are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderTable {
    /// As ordinary clients do: what a connection has sent before is an index, as far as the table of 4,096 bytes goes.
    #[default]
    Used,
    /// Every field is spelled out in every request.
    Unused,
}

impl LoadSpec {
    pub fn slots(&self) -> u64 {
        u64::from(self.connections) * u64::from(self.in_flight)
    }

    /// Errors: in words, why the kernel's stamps cannot be attributed to single requests.
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRules {
    /// The quantity that decides when to stop.
    pub headline: Quantity,
    pub blocks_min: u32,
    pub blocks_max: u32,
    /// Wanted half-width of the headline's ratio, or of its difference where shares are compared.
    pub until: Option<Ratio>,
    /// Time allowed from the first start on; builds are excluded.
    pub budget: Nanoseconds,
    /// Differences within this share are not relevant.
    pub margin: Ratio,
    /// Differences of shares within this, in parts of 1, are not relevant; left out if it is the default.
    #[serde(default = "share_margin", skip_serializing_if = "is_default_share_margin")]
    pub share_margin: Ratio,
    pub seed: u64,
    /// Length of a window; `null` lets the tool choose.
    pub window: Option<Nanoseconds>,
    /// Most variants alive at once, including the baseline; at least 2.
    pub together: u32,
    /// Whether variants that do not take part in a window are frozen.
    pub freeze: bool,
    #[serde(default)]
    pub idle: Idle,
    #[serde(default)]
    pub pairing: PairingChoice,
    /// The variants that `--quick` keeps; empty keeps all. For experiments with too many variants for a few
    /// minutes.
    #[serde(default)]
    pub quick: Vec<String>,
}

const fn share_margin() -> Ratio {
    read::default::SHARE_MARGIN
}

fn is_default_share_margin(margin: &Ratio) -> bool {
    *margin == share_margin()
}

/// The rules of an experiment without `[plan]`.
impl Default for PlanRules {
    fn default() -> Self {
        Self {
            headline: read::default::HEADLINE,
            blocks_min: read::default::BLOCKS_MIN,
            blocks_max: read::default::BLOCKS_MAX,
            until: None,
            budget: read::default::BUDGET,
            margin: read::default::MARGIN,
            share_margin: read::default::SHARE_MARGIN,
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Unique.
    pub name: String,
    pub target: Target,
    pub protocol: Protocol,
    /// TLS of its connections; `None` for plain text.
    #[serde(default)]
    pub tls: Option<TlsSpec>,
    /// The Unix socket of the URL's server, instead of its host and port.
    #[serde(default)]
    pub unix: Option<PathBuf>,
    /// Environment added to the service's; a value `env:NAME` is read when the run starts.
    pub env: Vec<(String, String)>,
    /// Its limits: `cpu`, `memory` and `cores`.
    #[serde(flatten)]
    pub limits: Limits,
    #[serde(flatten)]
    pub slots: OwnSlots,
    /// How idle cores wait while it is measured; `None` for the plan's setting.
    #[serde(default)]
    pub idle: Option<Idle>,
    /// The service to which it passes requests on. It is then a relay, and both services are one variant.
    #[serde(default)]
    pub peer: Option<Peer>,
    #[serde(default)]
    pub cache: Option<CacheSettings>,
    /// Where its service keeps its records; `None` for the service's default.
    #[serde(default)]
    pub database: Option<Database>,
    /// Sessions of the script of whose users its service keeps records; `None` for the script that is played.
    #[serde(default)]
    pub base: Option<u32>,
    /// Of its service, which is then a program of Java.
    #[serde(default)]
    pub jvm: Option<JvmSettings>,
    #[serde(default)]
    pub layers: Layers,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Target {
    /// A service of the catalogue.
    Service {
        name: String,
    },
    Command(Program),
    /// A server that somebody else runs.
    Url(Url),
}

/// An `http://`, `https://`, `memcached://`, `redis://` or `rediss://` address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Url {
    #[serde(default)]
    pub scheme: Scheme,
    /// Host name or address, without brackets.
    pub host: String,
    pub port: u16,
    /// Path and query, starting with `/`; for `redis://` the number of the database, for `memcached://`
    /// nothing more.
    pub path: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    #[default]
    Http,
    Https,
    Memcached,
    Redis,
    Rediss,
}

impl Scheme {
    pub const ALL: [Self; 5] = [Self::Http, Self::Https, Self::Memcached, Self::Redis, Self::Rediss];

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Memcached => "memcached",
            Self::Redis => "redis",
            Self::Rediss => "rediss",
        }
    }

    pub const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
            Self::Memcached => 11211,
            Self::Redis | Self::Rediss => 6379,
        }
    }

    pub const fn is_secured(self) -> bool {
        match self {
            Self::Http | Self::Memcached | Self::Redis => false,
            Self::Https | Self::Rediss => true,
        }
    }

    pub const fn protocol(self) -> Protocol {
        match self {
            Self::Http | Self::Https => Protocol::HTTP1_JSON,
            Self::Memcached => Protocol::MEMCACHED,
            Self::Redis | Self::Rediss => Protocol::RESP,
        }
    }

    /// Whether this protocol can be spoken there.
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

    /// The most connections of a variant at a point.
    pub fn most_connections(&self) -> u32 {
        let of_point =
            |point: &Point| self.variants.iter().map(|variant| variant.load(&point.load).connections).max();
        self.points.iter().filter_map(of_point).max().unwrap_or(1)
    }

    /// The experiment as a file, with every default filled in and the matrix expanded as far as its points
    /// allow. Reading it gives the same experiment.
    pub fn to_toml(&self) -> String {
        write::experiment(self)
    }

    /// In order; the first is the baseline.
    pub fn variant_ids(&self) -> impl Iterator<Item = VariantId> + use<> {
        (0..self.variants.len() as u16).map(VariantId)
    }

    pub fn point_ids(&self) -> impl Iterator<Item = PointId> + use<> {
        (0..self.points.len() as u16).map(PointId)
    }
}

impl Url {
    /// Parses `http://host[:port][/path]`, `https://…`, `memcached://host[:port]`,
    /// `redis://host[:port][/database]` or `rediss://…`. The host may be an IPv6 address in brackets; the
    /// default scheme is `http`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once("://") {
            Some((name, rest)) => {
                let scheme = Scheme::named(name).ok_or_else(|| typed::unknown_scheme(text, name))?;
                Self::read(text, scheme, rest)
            }
            None => Self::read(text, Scheme::Http, text),
        }
    }

    /// Parses `rest`, which follows the scheme in `text`.
    fn read(text: &str, scheme: Scheme, rest: &str) -> Result<Self, String> {
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        let (host, port) = split_authority(authority, scheme.port()).ok_or_else(|| {
            // The message must not show a user and password from the address.
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

/// Errors: an address of this scheme cannot have this path.
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
