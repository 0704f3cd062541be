//! The kernel's overlay: Ethernet frames in UDP packets between the two hosts.

use std::net::Ipv4Addr;

use weighbridge_model::experiment::{Vxlan, VxlanLayout};
use weighbridge_model::network::{LinkCounters, TunnelCounts};

use super::proof::{check_device, check_link_below};
use super::site::run_on;
use super::veth::{CAPABILITIES, neighbour, try_here};
use super::{Answered, End, Ends, LayerError, Part, Site};
use crate::net::tools::Tool;
use crate::net::{Batch, Capability, Namespace};
use crate::process::launch::Lab;
use crate::unavailable::Unavailable;

/// Bytes of the outer IP, UDP and VXLAN headers and of the inner Ethernet header.
const OVERHEAD: u32 = 50;

/// The configuration of an overlay.
#[derive(Debug, Clone, Copy)]
struct OverlayConfig {
    /// Its device on either host.
    device: &'static str,
    /// The VXLAN network identifier.
    id: u32,
    /// The UDP port of its packets.
    port: u16,
}

/// With the port that IANA assigned to VXLAN.
const DIRECT: OverlayConfig = OverlayConfig { device: "vxlan0", id: 42, port: 4789 };
/// With flannel's names and numbers; its port is the kernel's old default.
const FLANNEL: OverlayConfig = OverlayConfig { device: "flannel.1", id: 1, port: 8472 };

/// One end of an overlay: its host, both hosts' numbers, and both addresses on the link below.
struct TunnelEndpoint<'a> {
    host: &'a Namespace,
    number: u8,
    other: u8,
    own: &'a End,
    theirs: &'a End,
}

/// The layer `vxlan`.
#[derive(Debug)]
pub(super) struct VxlanPart {
    vxlan: Vxlan,
}

impl VxlanPart {
    pub const fn new(vxlan: Vxlan) -> Self {
        Self { vxlan }
    }

    const fn config(&self) -> OverlayConfig {
        match self.vxlan.layout {
            VxlanLayout::Direct => DIRECT,
            VxlanLayout::Flannel => FLANNEL,
        }
    }
}

/// The address of a host in the network of both hosts.
const fn direct_address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, 0, number)
}

/// The address of a host in its own network, which flannel gives to the host's bridge for containers.
const fn flannel_address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 78, number, 1)
}

/// A hardware address that is configured on both hosts, so that neither asks for it.
fn hardware(number: u8) -> String {
    format!("02:77:62:00:00:{number:02x}")
}

impl TunnelEndpoint<'_> {
    /// Configures each end with the other's address.
    fn direct(&self, mtu: u32) -> Result<(), LayerError> {
        let OverlayConfig { device, id, port } = DIRECT;
        let commands = Batch::new(Tool::Ip)
            .with(format!(
                "link add {device} address {} mtu {mtu} type vxlan id {id} dstport {port} local {} remote {} dev {}",
                hardware(self.number), self.own.address, self.theirs.address, self.own.device
            ))
            .with(format!("address add {}/24 dev {device}", direct_address(self.number)))
            .with(format!("link set {device} up"))
            .with(neighbour(direct_address(self.other), &hardware(self.other), device));
        run_on(self.host, &commands)
    }

    /// Configures routing as flannel does, without learning: the other host's network is routed to its end of
    /// the overlay, whose hardware address and host are configured. The host's own network is on a bridge,
    /// where containers would be.
    fn flannel(&self, mtu: u32) -> Result<(), LayerError> {
        let OverlayConfig { device, id, port } = FLANNEL;
        let network = |number: u8| Ipv4Addr::new(10, 78, number, 0);
        let (theirs, hardware_of_theirs) = (network(self.other), hardware(self.other));
        let commands = Batch::new(Tool::Ip)
            .with(format!(
                "link add {device} address {} mtu {mtu} type vxlan id {id} dstport {port} local {} dev {} nolearning",
                hardware(self.number), self.own.address, self.own.device
            ))
            .with(format!("address add {}/32 dev {device}", network(self.number)))
            .with(format!("link set {device} up"))
            .with(format!("link add cni0 mtu {mtu} type bridge"))
            .with(format!("address add {}/24 dev cni0", flannel_address(self.number)))
            .with("link set cni0 up")
            .with(neighbour(theirs, &hardware_of_theirs, device))
            .with(format!(
                "route add {theirs}/24 via {theirs} dev {device} onlink src {}",
                flannel_address(self.number)
            ));
        run_on(self.host, &commands)?;
        let forward = format!("fdb append {hardware_of_theirs} dev {device} dst {}", self.theirs.address);
        run_on(self.host, &Batch::new(Tool::Bridge).with(forward))
    }
}

impl Part for VxlanPart {
    fn by(&self) -> String {
        let OverlayConfig { device, id, port } = self.config();
        format!("the kernel's vxlan: `{device}`, network {id}, UDP port {port}")
    }

    fn needs(&self) -> &'static [Capability] {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), Unavailable> {
        if self.vxlan.layout == VxlanLayout::Flannel {
            Tool::Bridge.find()?;
        }
        let OverlayConfig { id, port, .. } = self.config();
        try_here("VXLAN devices", || {
            Batch::new(Tool::Ip).with(format!("link add wb0 type vxlan id {id} dstport {port}")).run()
        })
    }

    fn install(&self, _lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let (Some(hosts), Some(ends)) = (site.hosts(), site.ends().cloned()) else { return Ok(()) };
        let mtu = ends.mtu - OVERHEAD;
        let client = TunnelEndpoint {
            host: &hosts.client,
            number: 1,
            other: 2,
            own: &ends.client,
            theirs: &ends.server,
        };
        let server = TunnelEndpoint {
            host: &hosts.server,
            number: 2,
            other: 1,
            own: &ends.server,
            theirs: &ends.client,
        };
        for side in [client, server] {
            match self.vxlan.layout {
                VxlanLayout::Direct => side.direct(mtu)?,
                VxlanLayout::Flannel => side.flannel(mtu)?,
            }
        }
        let device = self.config().device.to_owned();
        let end = |number| match self.vxlan.layout {
            VxlanLayout::Direct => End { address: direct_address(number), device: device.clone() },
            VxlanLayout::Flannel => End { address: flannel_address(number), device: "cni0".to_owned() },
        };
        site.set_ends(Ends { client: end(1), server: end(2), mtu, overlay: Some(device.clone()) });
        Ok(())
    }

    /// Its device makes one UDP packet of each packet that passes it.
    fn tunnels(&self, passed: &[LinkCounters], _least: Answered) -> Result<Vec<TunnelCounts>, String> {
        let OverlayConfig { device, port, .. } = self.config();
        let end = |link: &LinkCounters| TunnelCounts {
            layer: "vxlan".to_owned(),
            host: link.host.clone(),
            kind: format!("UDP {port}"),
            received_packets: Some(link.received_packets),
            received_bytes: link.received_bytes,
            sent_packets: Some(link.sent_packets),
            sent_bytes: link.sent_bytes,
        };
        Ok(passed.iter().filter(|link| link.device == device).map(end).collect())
    }

    fn prove(&self, passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        let device = self.config().device;
        for host in ["client", "server"] {
            check_device(host, device, passed, answered)?;
            check_link_below(host, device, passed)?;
        }
        Ok(())
    }
}
