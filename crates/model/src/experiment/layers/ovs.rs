//! Open vSwitch on either host: the layers `ovs`, `ovs-vxlan`, `ovs-geneve` and `ovs-gre`.

use serde::{Deserialize, Serialize};

/// A switch in user space on either host, and what it sends frames to the other in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ovs {
    /// In what frames travel; nothing for the switch alone, the null path of the others.
    pub tunnel: Option<OvsTunnel>,
}

/// In what a switch sends frames to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OvsTunnel {
    /// UDP packets with the header of VXLAN.
    Vxlan,
    /// UDP packets with the header of Geneve, without options.
    Geneve,
    /// GRE of Ethernet frames, with a key.
    Gre,
}

impl Ovs {
    /// The switch alone.
    pub const PLAIN: Self = Self { tunnel: None };
    /// The same with a tunnel to the other.
    pub const fn with(tunnel: OvsTunnel) -> Self {
        Self { tunnel: Some(tunnel) }
    }

    /// Its name in TOML.
    pub const fn name(self) -> &'static str {
        match self.tunnel {
            None => "ovs",
            Some(OvsTunnel::Vxlan) => "ovs-vxlan",
            Some(OvsTunnel::Geneve) => "ovs-geneve",
            Some(OvsTunnel::Gre) => "ovs-gre",
        }
    }
}

impl OvsTunnel {
    /// Its name to Open vSwitch.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vxlan => "vxlan",
            Self::Geneve => "geneve",
            Self::Gre => "gre",
        }
    }

    /// Bytes by which a packet is longer below it: the inner Ethernet header, its own header, and the outer UDP's and IP's.
    pub const fn overhead(self) -> u32 {
        match self {
            Self::Vxlan | Self::Geneve => 14 + 8 + 8 + 20,
            Self::Gre => 14 + 8 + 20,
        }
    }
}
