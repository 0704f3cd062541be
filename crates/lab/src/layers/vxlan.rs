//! An overlay of the kernel's: Ethernet frames in UDP packets between the two hosts.

use std::net::Ipv4Addr;

use weighbridge_model::experiment::Vxlan;
use weighbridge_model::network::LinkCounters;

use super::site::configure;
use super::veth::{CAPABILITIES, DEVICE, saw, try_here};
use super::{End, Ends, LayerError, Part, Site};
use crate::launch::Lab;
use crate::net::tools::{Tool, need};
use crate::net::{Batch, Unavailable};

/// The overlay's device on either host.
const OVERLAY: &str = "vxlan0";
/// The port that IANA gave to VXLAN.
const PORT: u16 = 4789;
/// Headers of the outer IP, UDP and VXLAN, and the inner Ethernet's.
const OVERHEAD: u32 = 50;
const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);

/// The layer `vxlan`.
#[derive(Debug)]
pub(super) struct VxlanPart {
    vxlan: Vxlan,
}

impl VxlanPart {
    pub const fn new(vxlan: Vxlan) -> Self {
        Self { vxlan }
    }
}

impl Part for VxlanPart {
    fn by(&self) -> String {
        format!("the kernel's vxlan, {}", self.vxlan.layout.name())
    }

    fn probe(&self) -> Result<(), Unavailable> {
        need(&CAPABILITIES)?;
        try_here("VXLAN devices", || {
            Batch::new(Tool::Ip).with(format!("link add wb0 type vxlan id 42 dstport {PORT}")).run()
        })
    }

    fn lay(&self, _lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let (Some(hosts), Some(ends)) = (site.hosts(), site.ends().cloned()) else { return Ok(()) };
        let mtu = ends.mtu - OVERHEAD;
        let sides = [
            (&hosts.client, CLIENT, &ends.client, &ends.server),
            (&hosts.server, SERVER, &ends.server, &ends.client),
        ];
        for (host, address, own, other) in sides {
            let commands = Batch::new(Tool::Ip)
                .with(format!(
                    "link add {OVERLAY} mtu {mtu} type vxlan id 42 dstport {PORT} local {} remote {} dev {}",
                    own.address, other.address, own.device
                ))
                .with(format!("address add {address}/24 dev {OVERLAY}"))
                .with(format!("link set {OVERLAY} up"));
            configure(host, &commands)?;
        }
        let end = |address| End { address, device: OVERLAY.to_owned() };
        site.set_ends(Ends { client: end(CLIENT), server: end(SERVER), mtu });
        Ok(())
    }

    fn prove(&self, passed: &[LinkCounters], requests: u64) -> Result<(), String> {
        for host in ["client", "server"] {
            saw((host, OVERLAY), passed, requests)?;
            let packets = |device: &str| {
                passed
                    .iter()
                    .find(|link| link.host == host && link.device == device)
                    .map_or(0, LinkCounters::packets)
            };
            if packets(DEVICE) < packets(OVERLAY) {
                return Err(format!(
                    "{} packets passed `{OVERLAY}` of the {host} and only {} the link below it",
                    packets(OVERLAY),
                    packets(DEVICE)
                ));
            }
        }
        Ok(())
    }
}
