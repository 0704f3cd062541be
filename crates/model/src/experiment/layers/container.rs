//! What is around the service's process: the layer `container`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};
use super::super::{Readiness, Target, Variant};

/// An OCI container made from the service's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// By what it is run.
    pub runtime: ContainerRuntime,
    /// The engine that has the runtime run it; `None` for nobody between `weigh` and the runtime.
    #[serde(default)]
    pub engine: Option<ContainerEngine>,
    /// How it is reached.
    pub network: ContainerNetwork,
    /// What publishes its port; `None` for whatever the host has, or the engine's own way.
    #[serde(default)]
    pub publish: Option<Publisher>,
    /// Whether its files cannot be changed from inside, `/tmp` apart.
    pub read_only: bool,
    /// Whether a filter stands before its system calls.
    pub seccomp: Seccomp,
}

/// The program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerRuntime {
    Runc,
    Crun,
}

/// What manages containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerEngine {
    /// Docker: a daemon, containerd and a shim.
    Docker,
    /// Podman: no daemon, a monitor for each container.
    Podman,
}

/// The program that translates addresses between a container's network and that of its variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Publisher {
    /// slirp4netns: a TCP/IP stack in user space.
    Slirp4netns,
    /// pasta of passt: sockets on one side, packets on the other.
    Pasta,
}

/// How a container is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerNetwork {
    /// It has this host's network.
    Host,
    /// It has the network that the layers before it make: that of the server's host.
    Layer,
    /// It has a network of its own, and a port of it is published: by address translation in user space, or by the engine's
    /// bridge and rules.
    Published,
}

/// What stands before a container's system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seccomp {
    /// A filter that lets through what engines let through by default.
    Default,
    /// Nothing.
    Unconfined,
}

impl ContainerRuntime {
    /// Every runtime.
    pub const ALL: [Self; 2] = [Self::Runc, Self::Crun];

    /// Its name in TOML, which is that of its executable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runc => "runc",
            Self::Crun => "crun",
        }
    }
}

impl ContainerEngine {
    /// Every engine.
    pub const ALL: [Self; 2] = [Self::Docker, Self::Podman];

    /// Its name in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

impl Publisher {
    /// Every program.
    pub const ALL: [Self; 2] = [Self::Slirp4netns, Self::Pasta];

    /// Its name in TOML, which is that of its executable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slirp4netns => "slirp4netns",
            Self::Pasta => "pasta",
        }
    }
}

impl ContainerNetwork {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::Host, Self::Layer, Self::Published];

    /// The one that needs no program of its own.
    const fn plain(has_hosts: bool) -> Self {
        if has_hosts { Self::Layer } else { Self::Host }
    }

    /// Its name in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Layer => "layer",
            Self::Published => "published",
        }
    }
}

impl Seccomp {
    /// Every choice.
    pub const ALL: [Self; 2] = [Self::Default, Self::Unconfined];

    /// Its name in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Unconfined => "unconfined",
        }
    }
}

impl Default for Container {
    fn default() -> Self {
        Self {
            runtime: ContainerRuntime::Runc,
            engine: None,
            network: ContainerNetwork::Host,
            publish: None,
            read_only: true,
            seccomp: Seccomp::Default,
        }
    }
}

/// Reads it as it stands behind other layers, among which there may be hosts.
pub(super) fn read(reader: &Reader<'_>, has_hosts: bool) -> Result<Container, ExperimentError> {
    let usual = Container::behind(has_hosts);
    let runtime =
        reader.choice("runtime", &ContainerRuntime::ALL.map(|runtime| (runtime.name(), runtime)))?;
    let engine = reader.choice("engine", &ContainerEngine::ALL.map(|engine| (engine.name(), engine)))?;
    let network =
        reader.choice("network", &ContainerNetwork::ALL.map(|network| (network.name(), network)))?;
    let network = network.unwrap_or(usual.network);
    let line = reader.node("publish").map_or(reader.line(), |node| node.line);
    let publish = reader.choice("publish", &Publisher::ALL.map(|program| (program.name(), program)))?;
    if publish.is_some() && network != ContainerNetwork::Published {
        let why = "`publish` says by what a port is published, and none is; write `network = \"published\"` beside it";
        return Err(reader.error(line, why));
    }
    if let (Some(_), Some(engine)) = (publish, engine) {
        let why =
            format!("`publish` beside `engine`: {} publishes ports itself; leave one out", engine.name());
        return Err(reader.error(line, why));
    }
    let seccomp = reader.choice("seccomp", &Seccomp::ALL.map(|seccomp| (seccomp.name(), seccomp)))?;
    Ok(Container {
        runtime: runtime.unwrap_or(usual.runtime),
        engine,
        network,
        publish,
        read_only: reader.boolean("read_only")?.unwrap_or(usual.read_only),
        seccomp: seccomp.unwrap_or(usual.seccomp),
    })
}

impl Container {
    /// One with the network that is there without it: of the hosts before it, or this host's.
    pub fn behind(has_hosts: bool) -> Self {
        Self { network: ContainerNetwork::plain(has_hosts), ..Self::default() }
    }

    pub(super) fn check_network(&self, has_hosts: bool) -> Result<(), String> {
        match (self.network, has_hosts) {
            (ContainerNetwork::Host, true) => Err(
                "`container` with `network = \"host\"` beside `veth`: in this host's network the service would not be on \
                 the hosts that `veth` makes, and no packet would reach it through them; write `network = \"layer\"` or \
                 leave `network` out"
                    .to_owned(),
            ),
            (ContainerNetwork::Layer, false) => Err(
                "`container` with `network = \"layer\"` and no layer before it that makes a network; write `veth` before \
                 it, or `network = \"host\"`"
                    .to_owned(),
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn write(&self, table: &mut Table) {
        table.insert("runtime".into(), self.runtime.name().into());
        if let Some(engine) = self.engine {
            table.insert("engine".into(), engine.name().into());
        }
        table.insert("network".into(), self.network.name().into());
        if let Some(publish) = self.publish {
            table.insert("publish".into(), publish.name().into());
        }
        table.insert("read_only".into(), self.read_only.into());
        table.insert("seccomp".into(), self.seccomp.name().into());
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        if let Some(engine) = self.engine {
            write!(f, " {}", engine.name())?;
        }
        if self.runtime != usual.runtime {
            write!(f, " {}", self.runtime.name())?;
        }
        if self.network == ContainerNetwork::Published {
            write!(f, " {}", self.network.name())?;
        }
        if let Some(publish) = self.publish {
            write!(f, " by {}", publish.name())?;
        }
        if self.read_only != usual.read_only {
            f.write_str(" writable")?;
        }
        if self.seccomp != usual.seccomp {
            write!(f, " {}", self.seccomp.name())?;
        }
        Ok(())
    }

    /// Why a variant cannot be put into it, where it cannot.
    pub(super) fn check(&self, variant: &Variant) -> Result<(), String> {
        if let (ContainerNetwork::Published, Some(engine)) = (self.network, self.engine) {
            let engine = engine.name();
            if !variant.layers.has_hosts() {
                return Err(format!(
                    "`container` with `engine = \"{engine}\"` and `network = \"published\"` needs hosts of its own: an engine makes a bridge and rules of a firewall, which this host's own network must not get; write `veth` before it"
                ));
            }
            if let Target::Command(program) = &variant.target
                && program.ready != Readiness::Line
            {
                return Err(format!(
                    "`container` with `engine = \"{engine}\"` and `network = \"published\"` beside a `command` that does not tell its port: the engine accepts connections before the program does; have it print `ready <port>` and write `ready = \"line\"`"
                ));
            }
        }
        if self.network == ContainerNetwork::Published && variant.peer.is_some() {
            return Err("`container` with `network = \"published\"` beside `peer`: from a network of its own the service does not reach it; leave `network` out".to_owned());
        }
        Ok(())
    }
}
