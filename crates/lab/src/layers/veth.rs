//! Two hosts joined by a switch: three namespaces, two pairs of virtual Ethernet devices, and what carries frames between
//! them in the middle one.
//!
//! Addresses are the same in every variant: the client is 10.77.0.1, the server 10.77.0.2, as many characters as
//! 127.0.0.1 has, so that a request with its `Host` is as long with layers as without. There is no way out.

use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use weighbridge_model::experiment::{CongestionControl, Layers, Veth};
use weighbridge_model::network::LinkCounters;

use super::crossing::{Crossing, Treatment};
use super::site::{configure, set};
use super::{End, Ends, Hosts, LayerError, Part, Site};
use crate::launch::Lab;
use crate::net::tools::{Tool, need};
use crate::net::{Batch, Capability, Namespace, Unavailable, namespace};

/// The device of a host.
pub(super) const DEVICE: &str = "eth0";
/// The switch's port towards the client.
pub(super) const CLIENT_PORT: &str = "client0";
/// The switch's port towards the server.
pub(super) const SERVER_PORT: &str = "server0";
pub(super) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// What making networks takes.
pub(super) const CAPABILITIES: [Capability; 2] = [Capability::SysAdmin, Capability::NetAdmin];

const CONGESTION_CONTROL: &str = "net/ipv4/tcp_congestion_control";
/// Ports of closed connections are used again, as they are between loopback addresses: with a connection for every request
/// a minute has more of them than there are ports.
const REUSE_PORTS: &str = "net/ipv4/tcp_tw_reuse";

/// The layer `veth`.
#[derive(Debug)]
pub(super) struct VethPart {
    veth: Veth,
    crossing: Crossing,
    treatment: Treatment,
}

impl VethPart {
    pub fn new(veth: &Veth, layers: &Layers) -> Self {
        Self { veth: veth.clone(), crossing: Crossing::of(layers), treatment: Treatment::of(layers) }
    }
}

impl Part for VethPart {
    fn by(&self) -> String {
        match self.crossing {
            Crossing::Relay => "veth".to_owned(),
            Crossing::Bridge | Crossing::Netem => "veth and bridge".to_owned(),
        }
    }

    fn probe(&self) -> Result<(), Unavailable> {
        need(&CAPABILITIES)?;
        Tool::Ip.find()?;
        let control = self.veth.congestion_control.as_ref();
        try_here("veth devices", || {
            Batch::new(Tool::Ip).with("link add wb0 type veth peer name wb1").run()?;
            Batch::new(Tool::Ip).with("link add wb2 type bridge").run()?;
            Ok(control.map_or(Ok(()), has_control))
        })?
    }

    fn lay(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let custody = lab.custody_handle();
        let make = |role: &str| Namespace::make(&custody, &site.name_of(role));
        let hosts = Hosts { switch: make("switch")?, client: make("client")?, server: make("server")? };
        let mtu = u32::from(self.veth.mtu.get());
        let pair = |port: &str, host: &Namespace| {
            format!("link add {port} mtu {mtu} type veth peer name {DEVICE} mtu {mtu} netns {}", host.name())
        };
        let up = |batch: Batch, device: &str| batch.with(format!("link set {device} up"));
        // Made in the switch's namespace, so that neither end is ever in the host's.
        let links = Batch::new(Tool::Ip)
            .with(pair(CLIENT_PORT, &hosts.client))
            .with(pair(SERVER_PORT, &hosts.server));
        configure(&hosts.switch, &up(up(links, CLIENT_PORT), SERVER_PORT))?;
        for (host, address) in [(&hosts.client, CLIENT), (&hosts.server, SERVER)] {
            let address = Batch::new(Tool::Ip).with(format!("address add {address}/24 dev {DEVICE}"));
            configure(host, &up(up(address, "lo"), DEVICE))?;
        }
        let settings = own_settings();
        for host in [(&hosts.client, "client"), (&hosts.server, "server")] {
            host.0.run(|| take_over(&settings))?;
            set(host, REUSE_PORTS, "1")?;
        }
        let control = self.control(&hosts)?;
        let end = |address| End { address, device: DEVICE.to_owned() };
        site.set_ends(Ends { client: end(CLIENT), server: end(SERVER), mtu, overlay: None });
        site.set_hosts(hosts, control);
        self.crossing.lay(&self.treatment, site)
    }

    fn prove(&self, passed: &[LinkCounters], requests: u64) -> Result<(), String> {
        for (host, device) in
            [("client", DEVICE), ("switch", CLIENT_PORT), ("switch", SERVER_PORT), ("server", DEVICE)]
        {
            saw((host, device), passed, requests)?;
        }
        Ok(())
    }
}

impl VethPart {
    /// Sets how TCP adapts to the link on both hosts; returns what it is.
    fn control(&self, hosts: &Hosts) -> Result<String, LayerError> {
        if let Some(control) = &self.veth.congestion_control {
            for host in [(&hosts.client, "client"), (&hosts.server, "server")] {
                set(host, CONGESTION_CONTROL, control.name())?;
            }
        }
        let read = || fs::read_to_string(format!("/proc/sys/{CONGESTION_CONTROL}"));
        Ok(hosts.server.run(read)?.unwrap_or_default().trim().to_owned())
    }
}

/// The settings of this host's TCP: buffers, windows, time-outs, local ports.
fn own_settings() -> Vec<(PathBuf, String)> {
    let files = fs::read_dir("/proc/sys/net/ipv4").into_iter().flatten().flatten().map(|entry| entry.path());
    let of_tcp = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("tcp_") || name == "ip_local_port_range"
    };
    let files = files.filter(of_tcp).chain([PathBuf::from("/proc/sys/net/core/somaxconn")]);
    files.filter_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?))).collect()
}

/// Has TCP in the network of the calling thread behave as on the host, as far as the kernel keeps it apart: what differs
/// between variants is to be the layers.
fn take_over(settings: &[(PathBuf, String)]) {
    for (path, value) in settings {
        // What cannot be read or written here is the same for all networks.
        if fs::read_to_string(path).is_ok_and(|own| own != *value) {
            let _ = fs::write(path, value);
        }
    }
}

/// Whether the kernel has this congestion control.
fn has_control(control: &CongestionControl) -> Result<(), Unavailable> {
    let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let available = fs::read_to_string(path).unwrap_or_default();
    if available.split_ascii_whitespace().any(|name| name == control.name()) {
        return Ok(());
    }
    Err(Unavailable::new(
        format!("this kernel has no congestion control `{}`, only {}", control.name(), available.trim()),
        format!("load it (`modprobe tcp_{}`), or choose one of those", control.name()),
    ))
}

/// Tries something in a namespace that nobody sees.
pub(super) fn try_here<T: Send>(
    what: &str,
    job: impl FnOnce() -> Result<T, crate::net::ToolError> + Send,
) -> Result<T, Unavailable> {
    match namespace::in_scratch(job) {
        Err(error) => Err(Unavailable::new(
            format!("a network namespace cannot be made: {error}"),
            "run as root on a kernel with network namespaces (CONFIG_NET_NS)",
        )),
        Ok(Err(crate::net::ToolError::Missing(why))) => Err(why),
        Ok(Err(error)) => Err(Unavailable::new(
            format!("this kernel makes no {what}: {error}"),
            format!("load the kernel's module for {what}, or use a kernel that has it"),
        )),
        Ok(Ok(found)) => Ok(found),
    }
}

/// Whether a device passed packets both ways. A reply of several requests may share a packet, so none is asked for each.
pub(super) fn saw(
    (host, device): (&str, &str),
    passed: &[LinkCounters],
    requests: u64,
) -> Result<(), String> {
    let Some(link) = passed.iter().find(|link| link.host == host && link.device == device) else {
        return Err(format!("`{device}` of the {host} was gone at the end of the trial"));
    };
    if requests > 0 && (link.sent_packets == 0 || link.received_packets == 0) {
        return Err(format!(
            "{requests} requests were answered, and `{device}` of the {host} saw {} packets out and {} in: they took another way",
            link.sent_packets, link.received_packets
        ));
    }
    Ok(())
}

/// Whether the host's link passed the packets of the device above it. A tenth may lack: between the two readings of either
/// device a switch in user space holds packets that the one has counted and the other has not. Fewer may have passed where
/// their bytes did: a daemon of a tunnel in between hands several down as one.
pub(super) fn carried_below((host, above): (&str, &str), passed: &[LinkCounters]) -> Result<(), String> {
    let of = |device: &str| passed.iter().find(|link| link.host == host && link.device == device);
    let packets = |device: &str| of(device).map_or(0, LinkCounters::packets);
    let bytes = |device: &str| of(device).map_or(0, |link| link.received_bytes + link.sent_bytes);
    let has_fewer = packets(DEVICE) < packets(above) - packets(above) / 10;
    if has_fewer && bytes(DEVICE) < bytes(above) - bytes(above) / 10 {
        return Err(format!(
            "{} packets passed `{above}` of the {host} and only {} the link below it",
            packets(above),
            packets(DEVICE)
        ));
    }
    Ok(())
}
