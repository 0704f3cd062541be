//! An overlay of the kernel's: the layer `vxlan`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};

/// Frames travel in UDP packets between the hosts, 50 bytes longer each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vxlan {
    /// How the two ends know each other.
    pub layout: VxlanLayout,
}

/// How the ends of a VXLAN know each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VxlanLayout {
    /// Each end has the other's address, and a network of two is on top.
    #[default]
    Direct,
    /// As flannel lays it out: a network for each host, and routes, neighbours and forwarding written down instead of learnt.
    Flannel,
}

impl VxlanLayout {
    /// Every layout.
    pub const ALL: [Self; 2] = [Self::Direct, Self::Flannel];

    /// Its name in TOML.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Flannel => "flannel",
        }
    }
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Vxlan, ExperimentError> {
    let layout = reader.choice("layout", &VxlanLayout::ALL.map(|layout| (layout.name(), layout)))?;
    Ok(Vxlan { layout: layout.unwrap_or_default() })
}

impl Vxlan {
    pub(super) fn write(&self, table: &mut Table) {
        table.insert("layout".into(), self.layout.name().into());
    }

    pub(super) fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.layout {
            VxlanLayout::Direct => Ok(()),
            VxlanLayout::Flannel => f.write_str(" as flannel"),
        }
    }
}
