//! What a probe serves and where, as checked values: an address beyond loopback cannot be constructed.

use std::net::{IpAddr, Ipv4Addr};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use weighbridge_model::quantity::Nanoseconds;

use crate::canned::Canned;
use crate::law::Law;

/// What to serve, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The address, loopback.
    pub host: LoopbackHost,
    /// The port; 0 picks a free one.
    pub port: u16,
    pub law: Law,
    /// How many requests are in service at once, each asleep for its time; without it one, and busy.
    pub servers: Option<NonZeroUsize>,
    /// Whether single requests are kept.
    pub recording: Recording,
    /// What is answered, and over which protocol; other requests as the crate's documentation says.
    pub canned: Arc<Canned>,
    /// How long connections are kept.
    pub keep_alive: KeepAlive,
    /// A folder in which `<pid>.csv` is written at the end; created if it does not exist.
    pub record_folder: Option<PathBuf>,
}

/// When the probe ends a connection by itself; by default never.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silently, if nothing has come for longer than this; frozen time counts, as it does for timers.
    pub idle: Option<Nanoseconds>,
    /// With the reply to this request of the connection, which announces it.
    pub requests: Option<NonZeroU64>,
}

/// Whether and how many single requests are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recording {
    /// None. Totals are still kept, except under the null law, which then reads no clock at all.
    Off,
    /// The first this many, 56 bytes each; totals continue beyond.
    Keep(NonZeroUsize),
}

/// An address that only this host can reach; `127.0.0.1` by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoopbackHost(IpAddr);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{host}` is not a loopback address; a probe listens on `127.0.0.1`, `::1` or `localhost` only")]
pub struct NotLoopback {
    host: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "a probe under the law `{kind}` has no servers: its requests take no time, or a stop is one of the whole probe; leave \
     `servers` out, or choose `delay`, `cliff`, `trend`, `cold` or `crowded`"
)]
pub struct NoServers {
    kind: &'static str,
}

impl Recording {
    /// Two million requests, 112 MB when full.
    pub const DEFAULT: Self = Self::Keep(NonZeroUsize::new(2_000_000).expect("not zero"));
}

impl Options {
    /// A free port of 127.0.0.1; requests are kept except under the null law.
    pub fn new(law: Law) -> Self {
        let recording = if law == Law::Null { Recording::Off } else { Recording::DEFAULT };
        Self {
            host: LoopbackHost::default(),
            port: 0,
            law,
            servers: None,
            recording,
            canned: Arc::default(),
            keep_alive: KeepAlive::default(),
            record_folder: None,
        }
    }

    /// The same with so many servers; [`NoServers`] under a law without service times.
    pub fn with_servers(self, servers: NonZeroUsize) -> Result<Self, NoServers> {
        if !self.law.takes_servers() {
            return Err(NoServers { kind: self.law.kind() });
        }
        Ok(Self { servers: Some(servers), ..self })
    }
}

impl LoopbackHost {
    pub const fn address(self) -> IpAddr {
        self.0
    }
}

impl Default for LoopbackHost {
    fn default() -> Self {
        Self(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
}

impl FromStr for LoopbackHost {
    type Err = NotLoopback;
    fn from_str(text: &str) -> Result<Self, NotLoopback> {
        if text == "localhost" {
            return Ok(Self::default());
        }
        let address = text.parse::<IpAddr>().ok().filter(IpAddr::is_loopback);
        address.map(Self).ok_or_else(|| NotLoopback { host: text.to_owned() })
    }
}
