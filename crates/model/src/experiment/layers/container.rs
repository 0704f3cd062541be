//! The container of the service: the layer `container`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};
use super::super::{Readiness, Target, Variant};

/// An OCI container made from the service's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// The program that runs it.
    pub runtime: ContainerRuntime,
    /// The engine that calls the runtime; `None` if `weigh` calls it.
    #[serde(default)]
    pub engine: Option<ContainerEngine>,
    pub network: ContainerNetwork,
    /// What publishes its port; `None` for a program that the host has, or for the engine itself.
    #[serde(default)]
    pub publish: Option<Publisher>,
    /// Whether its files are read-only, except `/tmp`.
    pub read_only: bool,
    pub seccomp: Seccomp,
}

/// The program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerRuntime {
    Runc,
    Crun,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerEngine {
    /// Docker: a daemon, containerd and a shim.
    Docker,
    /// Podman: no daemon, a monitor for each container.
    Podman,
}

/// The program that translates addresses between a container's network and its variant's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Publisher {
    /// slirp4netns: a TCP/IP stack in user space.
    Slirp4netns,
    /// pasta (of passt): sockets on one side, packets on the other.
    Pasta,
}

/// How a container is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerNetwork {
    /// By this host's network.
    Host,
    /// By the network that the layers before it make: that of the server's host.
    Layer,
    /// It has its own network and publishes a port: by address translation in user space, or by the engine's
    /// bridge and firewall rules.
    Published,
}

/// The filter for system calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Seccomp {
    /// The filter that engines use by default.
    Default,
    Unconfined,
}

impl ContainerRuntime {
    pub const ALL: [Self; 2] = [Self::Runc, Self::Crun];

    /// In TOML; also the name of its executable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runc => "runc",
            Self::Crun => "crun",
        }
    }
}

impl ContainerEngine {
    pub const ALL: [Self; 2] = [Self::Docker, Self::Podman];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }
}

impl Publisher {
    pub const ALL: [Self; 2] = [Self::Slirp4netns, Self::Pasta];

    /// In TOML; also the name of its executable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Slirp4netns => "slirp4netns",
            Self::Pasta => "pasta",
        }
    }
}

impl ContainerNetwork {
    pub const ALL: [Self; 3] = [Self::Host, Self::Layer, Self::Published];

    /// The one that needs no additional program.
    const fn plain(has_hosts: bool) -> Self {
        if has_hosts { Self::Layer } else { Self::Host }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Layer => "layer",
            Self::Published => "published",
        }
    }
}

impl Seccomp {
    pub const ALL: [Self; 2] = [Self::Default, Self::Unconfined];

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

/// Reads the settings; `has_hosts` says whether a layer before it makes hosts.
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
    /// A default container with the network that exists without it: the server host's, or this host's.
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

    /// Errors: in words, why the variant cannot run in it.
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
