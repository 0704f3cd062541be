//! What is around the service's process: the layer `container`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::Variant;
use super::super::node::{ExperimentError, Reader};

/// An OCI container made from the service's own files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Container {
    /// By what it is run.
    pub runtime: ContainerRuntime,
    /// How it is reached.
    pub network: ContainerNetwork,
    /// Whether its files cannot be changed from inside, `/tmp` apart.
    pub read_only: bool,
    /// Whether a filter stands before its system calls.
    pub seccomp: Seccomp,
}

/// The program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerRuntime {
    /// runc.
    Runc,
    /// crun.
    Crun,
}

/// How a container is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerNetwork {
    /// It has the network of its variant: that of the server's host, or this host's where there are no hosts.
    Host,
    /// It has a network of its own, and a port of it is published by address translation in user space.
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

impl ContainerNetwork {
    /// Every choice, by its names in TOML: the network of the variant is the host's or that of its layers.
    const NAMES: [(&'static str, Self); 3] =
        [("host", Self::Host), ("layer", Self::Host), ("published", Self::Published)];

    /// Its name in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
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
            network: ContainerNetwork::Host,
            read_only: true,
            seccomp: Seccomp::Default,
        }
    }
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Container, ExperimentError> {
    let usual = Container::default();
    let runtime =
        reader.choice("runtime", &ContainerRuntime::ALL.map(|runtime| (runtime.name(), runtime)))?;
    let network = reader.choice("network", &ContainerNetwork::NAMES)?;
    let seccomp = reader.choice("seccomp", &Seccomp::ALL.map(|seccomp| (seccomp.name(), seccomp)))?;
    Ok(Container {
        runtime: runtime.unwrap_or(usual.runtime),
        network: network.unwrap_or(usual.network),
        read_only: reader.boolean("read_only")?.unwrap_or(usual.read_only),
        seccomp: seccomp.unwrap_or(usual.seccomp),
    })
}

impl Container {
    pub(super) fn write(&self, table: &mut Table) {
        table.insert("runtime".into(), self.runtime.name().into());
        table.insert("network".into(), self.network.name().into());
        table.insert("read_only".into(), self.read_only.into());
        table.insert("seccomp".into(), self.seccomp.name().into());
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        if self.runtime != usual.runtime {
            write!(f, " {}", self.runtime.name())?;
        }
        if self.network != usual.network {
            write!(f, " {}", self.network.name())?;
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
        if self.network == ContainerNetwork::Published && variant.peer.is_some() {
            return Err("`container` with `network = \"published\"` beside `peer`: from a network of its own the service does not reach it; write `network = \"host\"`".to_owned());
        }
        Ok(())
    }
}
