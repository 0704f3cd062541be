//! The kernel's VXLAN: the layer `vxlan`.

use std::fmt;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::super::node::{ExperimentError, Reader};

/// Frames travel in UDP packets between the hosts; each packet is 50 bytes longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vxlan {
    pub layout: VxlanLayout,
}

/// How the ends of a VXLAN find each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VxlanLayout {
    /// Each end knows the other's address; both are in one overlay network.
    #[default]
    Direct,
    /// As flannel configures it: one network per host, with static routes, neighbours and forwarding entries.
    Flannel,
}

impl VxlanLayout {
    pub const ALL: [Self; 2] = [Self::Direct, Self::Flannel];

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
