//! The layers `ovs`, `ovs-vxlan`, `ovs-geneve` and `ovs-gre`: a user-space switch of Open vSwitch on each
//! host.
//!
//! The host's device becomes a port of a bridge, which takes its address. With a tunnel, a second bridge has
//! its own network, whose frames the switch sends to the other host. All packets of a host's programs pass a
//! TUN device, so they reach the switch whole and with checksums, and no offload has to be disabled.
//!
//! The switches keep running while their variant is frozen, since kernels still exchange acknowledgements
//! after the last reply. Flows time out after ten seconds without packets and the next packet makes them
//! again, as after any other pause. Both ends know each other's hardware address for a quarter of an hour.

pub mod switch;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use weighbridge_model::experiment::{Ovs, OvsTunnel};
use weighbridge_model::network::{LinkCounters, TunnelCounts};
use weighbridge_model::quantity::Nanoseconds;

use super::proof::{check_device, check_link_below};
use super::site::run_on;
use super::veth::{WITH_RAW, neighbour, try_here};
use super::{Answered, End, Ends, LayerError, Part, Site};
use crate::host::sys::monotonic;
use crate::net::tools::Tool;
use crate::net::{Batch, Capability};
use crate::process::launch::Lab;
use crate::service::Freezing;
use crate::unavailable::Unavailable;
use switch::{OvsError, PortCounts, Switch};

/// The bridge with the device of the host.
const OUTER: &str = "br0";
/// The bridge with the tunnel.
const INNER: &str = "br1";
/// The tunnel's port.
const TUNNEL: &str = "tun0";
/// The network's number in the tunnel's packets.
const KEY: u32 = 7;
/// The UDP port of a VXLAN tunnel. The standard 4789 belongs to the kernel's overlays, which may be above or
/// below it: the switch would take their packets for its tunnel's, whichever of the host's devices they
/// arrive by.
const VXLAN_PORT: u16 = 14789;

/// Several times the interval at which a switch adds up its counters.
const SUM_PATIENCE: Nanoseconds = Nanoseconds::from_secs(5);

/// A switch on either host.
#[derive(Debug)]
pub(super) struct OvsPart {
    ovs: Ovs,
    version: OnceLock<Result<String, Unavailable>>,
    /// The client's and the server's switch, while they run.
    up: Mutex<Vec<RunningSwitch>>,
}

/// A switch that runs.
#[derive(Debug)]
struct RunningSwitch {
    host: &'static str,
    switch: Switch,
    /// The tunnel's counters when the service got ready.
    before: PortCounts,
}

/// One end: its host's name, both ends' addresses on the link below, and both hosts' numbers.
struct TunnelEndpoint<'a> {
    name: &'static str,
    number: u8,
    own: &'a End,
    theirs: &'a End,
}

impl OvsPart {
    pub fn new(ovs: Ovs) -> Self {
        Self { ovs, version: OnceLock::new(), up: Mutex::default() }
    }

    fn version(&self) -> Result<&str, Unavailable> {
        self.version.get_or_init(switch::version).as_ref().map(String::as_str).map_err(Clone::clone)
    }

    fn up(&self) -> MutexGuard<'_, Vec<RunningSwitch>> {
        self.up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device by which a host's programs reach the other.
    const fn device(&self) -> &'static str {
        if self.ovs.tunnel.is_some() { INNER } else { OUTER }
    }

    /// Largest packet between the ends over a link with MTU `mtu`.
    const fn mtu(&self, mtu: u32) -> u32 {
        match self.ovs.tunnel {
            Some(tunnel) => mtu - tunnel.overhead(),
            None => mtu,
        }
    }

    /// Starts one end's switch and puts the host's device into it.
    fn raise(
        &self,
        lab: &Lab,
        site: &mut Site,
        end: &TunnelEndpoint<'_>,
        mtu: u32,
    ) -> Result<(), LayerError> {
        let TunnelEndpoint { name, number, own, .. } = end;
        let mut folder = site.config().logs.clone().into_os_string();
        folder.push(format!("-ovs-{name}"));
        let cores = Some(site.config().cores.clone()).filter(|cores| !cores.is_empty());
        let start = || Switch::start(lab, folder.into(), &format!("ovs-{name}"), cores.as_deref());
        let (switch, [database, daemon]) = match *name {
            "client" => site.in_client(start)?,
            _ => site.in_server(start)?,
        }?;
        site.keep(format!("ovs-database-{name}"), database);
        site.keep(format!("ovs-{name}"), daemon);
        switch.configure(&format!(
            "add-br {OUTER} -- set Bridge {OUTER} datapath_type=netdev other-config:hwaddr={} \
             -- set Interface {OUTER} mtu_request={mtu} -- add-port {OUTER} {}",
            hardware(1, *number),
            own.device
        ))?;
        let moved = Batch::new(Tool::Ip)
            .with(format!("address del {}/24 dev {}", own.address, own.device))
            .with(format!("address add {}/24 dev {OUTER}", own.address))
            .with(format!("link set {OUTER} up"))
            .with(neighbour(end.theirs.address, &hardware(1, 3 - end.number), OUTER));
        on(site, name, &moved)?;
        if let Some(tunnel) = self.ovs.tunnel {
            self.dig(&switch, site, end, tunnel, mtu)?;
        }
        self.up().push(RunningSwitch { host: name, switch, before: PortCounts::default() });
        Ok(())
    }

    /// Adds the tunnel and the network that it carries.
    fn dig(
        &self,
        switch: &Switch,
        site: &Site,
        end: &TunnelEndpoint<'_>,
        tunnel: OvsTunnel,
        mtu: u32,
    ) -> Result<(), LayerError> {
        let mtu = self.mtu(mtu);
        switch.configure(&format!(
            "add-br {INNER} -- set Bridge {INNER} datapath_type=netdev other-config:hwaddr={} \
             -- set Interface {INNER} mtu_request={mtu} -- add-port {INNER} {TUNNEL} \
             -- set Interface {TUNNEL} type={} options:remote_ip={} options:key={KEY}{}",
            hardware(2, end.number),
            tunnel.name(),
            end.theirs.address,
            match tunnel {
                OvsTunnel::Vxlan => format!(" options:dst_port={VXLAN_PORT}"),
                OvsTunnel::Geneve | OvsTunnel::Gre => String::new(),
            }
        ))?;
        let inner = Batch::new(Tool::Ip)
            .with(format!("address add {}/24 dev {INNER}", address(end.number)))
            .with(format!("link set {INNER} up"))
            .with(neighbour(address(3 - end.number), &hardware(2, 3 - end.number), INNER));
        on(site, end.name, &inner)?;
        // The switch would ask for the other's hardware address itself, and drop the packet that caused it.
        let theirs = hardware(1, 3 - end.number);
        Ok(switch.tell(&["tnl/neigh/set", OUTER, &end.theirs.address.to_string(), &theirs])?)
    }
}

impl RunningSwitch {
    fn counts(&self) -> Result<PortCounts, OvsError> {
        self.switch.counts(INNER, TUNNEL)
    }

    /// What has passed the tunnel since the service was ready. Waits until the switch has counted `least`: it
    /// adds up about once a second, which may be after the end of a short trial.
    fn passed(&self, least: Answered) -> Result<PortCounts, OvsError> {
        let start = monotonic();
        loop {
            let counts = self.counts()?.since(self.before);
            let has_both = least.requests == 0 || counts.received > 0 && counts.sent > 0;
            let has_all = has_both && least.is_within(counts.received_bytes + counts.sent_bytes);
            if has_all || monotonic().since(start) > SUM_PATIENCE {
                return Ok(counts);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// What a tunnel's packets look like on the link below.
fn kind(tunnel: OvsTunnel) -> String {
    match tunnel {
        OvsTunnel::Vxlan => format!("UDP {VXLAN_PORT}"),
        OvsTunnel::Geneve => "UDP 6081".to_owned(),
        OvsTunnel::Gre => "GRE".to_owned(),
    }
}

/// The address of a host in the network of the tunnel.
const fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 79, 0, number)
}

/// The hardware address of a bridge, configured on the other host so that it need not ask.
fn hardware(bridge: u8, number: u8) -> String {
    format!("02:77:62:{bridge:02x}:00:{number:02x}")
}

fn on(site: &Site, name: &str, commands: &Batch) -> Result<(), LayerError> {
    site.hosts().map_or(Ok(()), |hosts| {
        run_on(if name == "client" { &hosts.client } else { &hosts.server }, commands)
    })
}

impl Part for OvsPart {
    fn by(&self) -> String {
        format!("Open vSwitch {} in user space", self.version().unwrap_or_default()).replace("  ", " ")
    }

    fn needs(&self) -> &'static [Capability] {
        &WITH_RAW
    }

    fn freezing(&self) -> Freezing {
        Freezing::Unsafe
    }

    fn probe(&self) -> Result<(), Unavailable> {
        self.version()?;
        try_here("TUN devices", || Batch::new(Tool::Ip).with("tuntap add dev wb0 mode tap").run())
    }

    fn install(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let (Some(_), Some(ends)) = (site.hosts(), site.ends().cloned()) else { return Ok(()) };
        let client = TunnelEndpoint { name: "client", number: 1, own: &ends.client, theirs: &ends.server };
        let server = TunnelEndpoint { name: "server", number: 2, own: &ends.server, theirs: &ends.client };
        for side in [client, server] {
            self.raise(lab, site, &side, ends.mtu)?;
        }
        let end = |number: u8, below: &End| End {
            address: if self.ovs.tunnel.is_some() { address(number) } else { below.address },
            device: self.device().to_owned(),
        };
        site.set_ends(Ends {
            client: end(1, &ends.client),
            server: end(2, &ends.server),
            mtu: self.mtu(ends.mtu),
            overlay: Some(self.device().to_owned()),
        });
        Ok(())
    }

    fn start_proxy(
        &self,
        _lab: &Lab,
        _site: &mut Site,
        service: SocketAddr,
    ) -> Result<SocketAddr, LayerError> {
        if self.ovs.tunnel.is_some() {
            for up in self.up().iter_mut() {
                up.before = up.counts()?;
            }
        }
        Ok(service)
    }

    fn tunnels(&self, _passed: &[LinkCounters], least: Answered) -> Result<Vec<TunnelCounts>, String> {
        let Some(tunnel) = self.ovs.tunnel else { return Ok(Vec::new()) };
        let end = |up: &RunningSwitch| {
            let counts = up.passed(least).map_err(|error| error.to_string())?;
            Ok(TunnelCounts {
                layer: self.ovs.name().to_owned(),
                host: up.host.to_owned(),
                kind: kind(tunnel),
                received_packets: Some(counts.received),
                received_bytes: counts.received_bytes,
                sent_packets: Some(counts.sent),
                sent_bytes: counts.sent_bytes,
            })
        };
        self.up().iter().map(end).collect()
    }

    fn prove(&self, passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        for RunningSwitch { host, .. } in self.up().iter() {
            check_device(host, self.device(), passed, answered)?;
            check_link_below(host, self.device(), passed)?;
        }
        Ok(())
    }
}
