//! Two hosts joined by a switch: three namespaces, two pairs of virtual Ethernet devices, and a means of
//! carrying frames between them in the middle one.
//!
//! Addresses are the same in every variant: the client is 10.77.0.1, the server 10.77.0.2. Like 127.0.0.1
//! they have nine characters, so that a request with its `Host` is equally long with and without layers. No
//! route leads out.
//!
//! Both hosts get the other's hardware address as a permanent neighbour. Otherwise a lost ARP request would
//! be repeated only after a second, and connections would fail after the third.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use weighbridge_model::experiment::{CongestionControl, Layers, Veth};
use weighbridge_model::network::LinkCounters;

use super::crossing::{Crossing, Treatment};
use super::proof::check_device;
use super::site::{run_on, set};
use super::{Answered, End, Ends, Hosts, LayerError, Part, Site};
use crate::host::sys;
use crate::layers::rehearsal::Rehearsal;
use crate::net::tools::{AS_ROOT, Tool};
use crate::net::{Batch, Capability, Namespace, ToolError, namespace};
use crate::process::launch::Lab;
use crate::unavailable::Unavailable;

/// The device of a host.
pub(super) const DEVICE: &str = "eth0";
/// The switch's port towards the client.
pub(super) const CLIENT_PORT: &str = "client0";
/// The switch's port towards the server.
pub(super) const SERVER_PORT: &str = "server0";
pub(super) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Capabilities needed to make networks.
pub(super) const CAPABILITIES: [Capability; 2] = [Capability::SysAdmin, Capability::NetAdmin];
/// The same, and for packet sockets.
pub(super) const WITH_RAW: [Capability; 3] = [Capability::SysAdmin, Capability::NetAdmin, Capability::NetRaw];

const CONGESTION_CONTROL: &str = "net/ipv4/tcp_congestion_control";
/// Words in which `ip` reports a route's state, and which it does not accept as input.
const STATES: [&str; 5] = ["linkdown", "dead", "offload", "trap", "rt_offload"];
/// `ip` lists routes at once.
const TOLD_PATIENCE: Duration = Duration::from_secs(10);
/// Allows ports of closed connections to be reused, as between loopback addresses. With a connection for
/// every request, a minute needs more ports than there are.
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
        Self {
            veth: veth.clone(),
            crossing: Crossing::choose(layers),
            treatment: Treatment::from_layers(layers),
        }
    }
}

impl Part for VethPart {
    fn by(&self) -> String {
        match self.crossing {
            Crossing::Relay => "veth".to_owned(),
            Crossing::Bridge | Crossing::Netem => "veth and bridge".to_owned(),
        }
    }

    fn needs(&self) -> &'static [Capability] {
        &CAPABILITIES
    }

    fn probe(&self) -> Result<(), Unavailable> {
        Tool::Ip.find()?;
        let control = self.veth.congestion_control.as_ref();
        try_here("veth devices", || {
            Batch::new(Tool::Ip).with("link add wb0 type veth peer name wb1").run()?;
            Batch::new(Tool::Ip).with("link add wb2 type bridge").run()?;
            Ok(control.map_or(Ok(()), has_control))
        })??;
        rehearse()
    }

    fn install(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let tracker = lab.tracker_handle();
        let make = |role: &str| Namespace::make(&tracker, &site.name_of(role));
        let hosts = Hosts { switch: make("switch")?, client: make("client")?, server: make("server")? };
        let mtu = u32::from(self.veth.mtu.get());
        let pair = |port: &str, host: &Namespace, own: Ipv4Addr| {
            let (netns, hardware) = (host.name(), hardware(own));
            format!(
                "link add {port} mtu {mtu} type veth peer name {DEVICE} address {hardware} mtu {mtu} netns {netns}"
            )
        };
        let up = |batch: Batch, device: &str| batch.with(format!("link set {device} up"));
        // Made in the switch's namespace, so that neither end is ever in the host's.
        let links = Batch::new(Tool::Ip).with(pair(CLIENT_PORT, &hosts.client, CLIENT)).with(pair(
            SERVER_PORT,
            &hosts.server,
            SERVER,
        ));
        run_on(&hosts.switch, &up(up(links, CLIENT_PORT), SERVER_PORT))?;
        for (host, own, theirs) in [(&hosts.client, CLIENT, SERVER), (&hosts.server, SERVER, CLIENT)] {
            let address = Batch::new(Tool::Ip).with(format!("address add {own}/24 dev {DEVICE}"));
            let commands = up(up(address, "lo"), DEVICE).with(neighbour(theirs, &hardware(theirs), DEVICE));
            run_on(host, &commands)?;
        }
        let settings = own_settings();
        for (host, name) in [(&hosts.client, "client"), (&hosts.server, "server")] {
            host.run(|| take_over(&settings))?;
            set(host, name, REUSE_PORTS, "1")?;
        }
        let end = |address| End { address, device: DEVICE.to_owned() };
        site.set_ends(Ends { client: end(CLIENT), server: end(SERVER), mtu, overlay: None });
        site.set_hosts(hosts);
        self.crossing.install(&self.treatment, site)
    }

    fn prove(&self, passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        for (host, device) in
            [("client", DEVICE), ("switch", CLIENT_PORT), ("switch", SERVER_PORT), ("server", DEVICE)]
        {
            check_device(host, device, passed, answered)?;
        }
        Ok(())
    }
}

/// The hardware address of a host's own device.
fn hardware(address: Ipv4Addr) -> String {
    format!("02:77:62:77:00:{:02x}", address.octets()[3])
}

/// The command that gives a host the hardware address of another on this device.
pub(super) fn neighbour(theirs: Ipv4Addr, hardware: &str, device: &str) -> String {
    format!("neighbour replace {theirs} lladdr {hardware} dev {device} nud permanent")
}

/// Makes a host as a trial does, once per program, to see whether this host permits it: a namespace with a
/// name, and a setting of its kernel.
fn rehearse() -> Result<(), Unavailable> {
    static TRIED: OnceLock<Result<(), Unavailable>> = OnceLock::new();
    let refused = |error: LayerError| Unavailable::new(format!("no host can be made here: {error}"), AS_ROOT);
    TRIED.get_or_init(|| make_and_forget().map_err(refused)).clone()
}

fn make_and_forget() -> Result<(), LayerError> {
    let rehearsal = Rehearsal::begin().map_err(|error| {
        Unavailable::new(
            format!("nothing can be written down that has to go again: {error}"),
            "set `XDG_STATE_HOME` and `TMPDIR` to folders on a disk with room",
        )
    })?;
    let lab = &rehearsal.lab;
    let host = Namespace::make(&lab.tracker_handle(), &format!("{}-probe", lab.prefix()))?;
    run_on(&host, &Batch::new(Tool::Ip).with("link set lo up"))?;
    set(&host, "probe", REUSE_PORTS, "1")
}

/// Sets the congestion control of TCP wherever a host's route leads to another, whatever carries the packets;
/// returns the one in use.
///
/// It is set for each route. A namespace's default may only be one of the host's
/// `tcp_allowed_congestion_control`, which is the host's to decide, while a route may name any that the
/// kernel has.
pub(super) fn adapt(hosts: &Hosts, control: Option<&CongestionControl>) -> Result<String, LayerError> {
    let Some(control) = control else {
        let read = || fs::read_to_string(format!("/proc/sys/{CONGESTION_CONTROL}"));
        return Ok(hosts.server.run(read)?.unwrap_or_default().trim().to_owned());
    };
    for host in [&hosts.client, &hosts.server] {
        let commands = routes(host)?.iter().fold(Batch::new(Tool::Ip), |batch, route| {
            batch.with(format!("route replace {route} congctl {}", control.name()))
        });
        run_on(host, &commands)?;
    }
    Ok(control.name().to_owned())
}

/// The routes of a host in the format that `ip` reads, without those within the host.
fn routes(host: &Namespace) -> Result<Vec<String>, LayerError> {
    let ip = Tool::Ip.find()?.display().to_string();
    let command = [&ip, "-4", "-oneline", "route", "show"].map(str::to_owned);
    let shown = host.run(|| crate::host::ask::ask(&command, None, TOLD_PATIENCE))?;
    let shown = shown.map_err(|error| ToolError::Refused {
        command: "ip route show".to_owned(),
        said: error.to_string(),
    })?;
    let spelled = |line: &str| {
        let words = line.split_ascii_whitespace().filter(|word| !STATES.contains(word));
        words.collect::<Vec<_>>().join(" ")
    };
    Ok(shown.lines().map(spelled).filter(|route| !route.is_empty()).collect())
}

/// The largest packet that either host's kernel sends to the other end.
pub(super) fn mtu(hosts: &Hosts, ends: &Ends) -> Result<u32, LayerError> {
    let mut least = u32::MAX;
    for (host, whose, to) in
        [(&hosts.client, "client", &ends.server), (&hosts.server, "server", &ends.client)]
    {
        // Connecting a UDP socket sends nothing, so any port will do.
        let ask = || {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.connect((to.address, 9))?;
            sys::path_mtu(&socket)
        };
        let found = host.run(ask)?.map_err(|error| LayerError::Setting {
            setting: "mtu".to_owned(),
            value: ends.mtu.to_string(),
            host: whose,
            why: error.to_string(),
        })?;
        least = least.min(found);
    }
    Ok(least)
}

/// This host's settings of TCP: buffers, windows, time-outs, local ports.
fn own_settings() -> Vec<(PathBuf, String)> {
    let files = fs::read_dir("/proc/sys/net/ipv4").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_of_tcp = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("tcp_") || name == "ip_local_port_range"
    };
    let files = files.filter(is_of_tcp).chain([PathBuf::from("/proc/sys/net/core/somaxconn")]);
    files.filter_map(|path| Some((path.clone(), fs::read_to_string(path).ok()?))).collect()
}

/// Applies the host's settings of TCP to the network of the calling thread, where namespaces have their own.
/// Variants should differ only in their layers.
fn take_over(settings: &[(PathBuf, String)]) {
    for (path, value) in settings {
        // What cannot be read or written here is the same in all networks.
        if fs::read_to_string(path).is_ok_and(|own| own != *value) {
            let _ = fs::write(path, value);
        }
    }
}

/// Whether a route may have this congestion control; makes one in the namespace of the calling thread to find
/// out.
fn has_control(control: &CongestionControl) -> Result<(), Unavailable> {
    let name = control.name();
    let tried = Batch::new(Tool::Ip)
        .with(format!("address add {CLIENT}/24 dev wb0"))
        .with("link set wb0 up")
        .with(format!("route replace 10.77.0.0/24 dev wb0 scope link src {CLIENT} congctl {name}"))
        .run();
    tried.map_err(|error| {
        let path = "/proc/sys/net/ipv4/tcp_available_congestion_control";
        let available = fs::read_to_string(path).unwrap_or_default();
        Unavailable::new(
            format!(
                "this kernel has no congestion control `{name}` for a route ({error}), only {}",
                available.trim()
            ),
            format!("load it (`modprobe tcp_{name}`), or choose one of those"),
        )
    })
}

/// Runs `job` in an unnamed namespace.
pub(super) fn try_here<T: Send>(
    what: &str,
    job: impl FnOnce() -> Result<T, ToolError> + Send,
) -> Result<T, Unavailable> {
    match namespace::in_scratch(job) {
        Err(error) => Err(Unavailable::new(
            format!("a network namespace cannot be made: {error}"),
            "run as root on a kernel with network namespaces (CONFIG_NET_NS)",
        )),
        Ok(Err(ToolError::Missing(why))) => Err(why),
        Ok(Err(error)) => Err(Unavailable::new(
            format!("this kernel makes no {what}: {error}"),
            format!("load the kernel's module for {what}, or use a kernel that has it"),
        )),
        Ok(Ok(found)) => Ok(found),
    }
}
