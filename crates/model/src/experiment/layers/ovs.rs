//! Open vSwitch on each host: the layers `ovs`, `ovs-vxlan`, `ovs-geneve` and `ovs-gre`.

use serde::{Deserialize, Serialize};

/// A switch in user space on each host, and the tunnel between the two.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ovs {
    /// `None` for the switch alone, the baseline of the others.
    pub tunnel: Option<OvsTunnel>,
}

/// The encapsulation of frames between the switches.
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
    pub const PLAIN: Self = Self { tunnel: None };
    pub const fn with(tunnel: OvsTunnel) -> Self {
        Self { tunnel: Some(tunnel) }
    }

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

    /// Bytes that the tunnel adds to a packet: the inner Ethernet header, its own header, and the outer UDP
    /// and IP headers.
    pub const fn overhead(self) -> u32 {
        match self {
            Self::Vxlan | Self::Geneve => 14 + 8 + 8 + 20,
            Self::Gre => 14 + 8 + 20,
        }
    }
}
