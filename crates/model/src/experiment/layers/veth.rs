//! Two hosts and the switch between them: the layer `veth`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader, Value};

/// Client and service on separate hosts: network namespaces, joined by a switch in a third one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Veth {
    /// Largest packet of the link.
    pub mtu: Mtu,
    /// TCP congestion control on both hosts; `None` for the kernel's default.
    pub congestion_control: Option<CongestionControl>,
}

/// The largest packet of a link, including its IP header: 576 to 65,535 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Mtu(u16);

impl Mtu {
    /// The least that every host must take (RFC 791).
    pub const LEAST: u16 = 576;

    pub fn new(bytes: u64) -> Option<Self> {
        u16::try_from(bytes).ok().filter(|bytes| *bytes >= Self::LEAST).map(Self)
    }

    pub const fn get(self) -> u16 {
        self.0
    }
}

impl Default for Mtu {
    /// Ethernet's.
    fn default() -> Self {
        Self(1500)
    }
}

/// The name of a TCP congestion control algorithm in the kernel: `cubic`, `reno`, `bbr`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CongestionControl(String);

impl CongestionControl {
    /// `None` unless the name has 1 to 15 lower-case letters, digits and underscores, the kernel's limit.
    pub fn new(name: &str) -> Option<Self> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        (!name.is_empty() && name.len() <= 15 && name.chars().all(plain)).then(|| Self(name.to_owned()))
    }

    pub fn name(&self) -> &str {
        &self.0
    }
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Veth, ExperimentError> {
    let mtu = reader.value("mtu", |node| {
        match node.value {
            Value::Integer(n) => u64::try_from(n).ok().and_then(Mtu::new),
            _ => None,
        }
        .ok_or_else(|| format!("`{}` must be a whole number of bytes from 576 to 65535", node.show()))
    })?;
    let congestion_control = reader.value("congestion_control", |node| {
        CongestionControl::new(&node.show())
            .ok_or_else(|| format!("`{}` must be the name of one, such as `cubic` or `reno`", node.show()))
    })?;
    Ok(Veth { mtu: mtu.unwrap_or_default(), congestion_control })
}

impl Veth {
    pub(super) fn write(&self, table: &mut Table) {
        table.insert("mtu".into(), i64::from(self.mtu.get()).into());
        if let Some(control) = &self.congestion_control {
            table.insert("congestion_control".into(), control.name().into());
        }
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.mtu != Mtu::default() {
            write!(f, " mtu {}", self.mtu.get())?;
        }
        match &self.congestion_control {
            Some(control) => write!(f, " {}", control.name()),
            None => Ok(()),
        }
    }
}
