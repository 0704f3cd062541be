//! The layers `ovs`, `ovs-vxlan`, `ovs-geneve` and `ovs-gre`: a switch of Open vSwitch in user space on either host.
//!
//! The host's device becomes a port of a bridge, which takes over its address; with a tunnel, a second bridge has a network
//! of its own, whose frames the switch sends to the other host. All that a host's programs send passes a TUN device, so that
//! packets reach the switch whole and with their checksums, and nothing has to be switched off.
//!
//! A stopped switch forgets nothing that matters: its flows time out after ten seconds without packets and are made again by
//! the next one, as for any other pause, and both ends know each other's hardware address for a quarter of an hour.

use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use weighbridge_model::experiment::{Ovs, OvsTunnel};
use weighbridge_model::network::LinkCounters;
use weighbridge_model::quantity::Nanoseconds;

use super::site::configure;
use super::veth::{CAPABILITIES, carried_below, saw, try_here};
use super::{End, Ends, LayerError, Part, Site};
use crate::launch::Lab;
use crate::net::tools::{Tool, need};
use crate::net::{Batch, Capability, Unavailable};
use crate::ovs::{self, OvsError, PortCounts, Switch};
use crate::sys::monotonic;

/// The bridge with the device of the host.
const OUTER: &str = "br0";
/// The bridge with the tunnel.
const INNER: &str = "br1";
/// The tunnel's port.
const TUNNEL: &str = "tun0";
/// The network that the tunnel's packets name, as several could share a way.
const KEY: u32 = 7;

/// Several times what a switch takes until it has added up.
const SUM_PATIENCE: Nanoseconds = Nanoseconds::from_secs(5);

/// A switch on either host.
#[derive(Debug)]
pub(super) struct OvsPart {
    ovs: Ovs,
    version: OnceLock<Result<String, Unavailable>>,
    /// The client's and the server's, while they run.
    up: Mutex<Vec<(&'static str, Switch)>>,
}

/// One side: its host's name, its own end of the link below and the other's, and the numbers of both.
struct Side<'a> {
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
        self.version.get_or_init(ovs::version).as_ref().map(String::as_str).map_err(Clone::clone)
    }

    fn up(&self) -> MutexGuard<'_, Vec<(&'static str, Switch)>> {
        self.up.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device by which a host's programs reach the other.
    const fn device(&self) -> &'static str {
        if self.ovs.tunnel.is_some() { INNER } else { OUTER }
    }

    /// Largest packet between the ends over a link that carries `mtu`.
    const fn mtu(&self, mtu: u32) -> u32 {
        match self.ovs.tunnel {
            Some(tunnel) => mtu - tunnel.overhead(),
            None => mtu,
        }
    }

    /// Starts one side's switch and puts the host's device into it.
    fn raise(&self, lab: &Lab, site: &mut Site, (side, mtu): (&Side<'_>, u32)) -> Result<(), LayerError> {
        let Side { name, number, own, .. } = side;
        let mut folder = site.given().logs.clone().into_os_string();
        folder.push(format!("-ovs-{name}"));
        let cores = Some(site.given().cores.clone()).filter(|cores| !cores.is_empty());
        let start = || Switch::start(lab, (folder.into(), &format!("ovs-{name}")), cores.as_deref());
        let (switch, [database, daemon]) = match *name {
            "client" => site.in_client(start)?,
            _ => site.in_server(start)?,
        }?;
        site.keep(format!("ovs-database-{name}"), database);
        site.keep(format!("ovs-{name}"), daemon);
        site.leave_awake(&format!("ovs-{name}"));
        switch.configure(&format!(
            "add-br {OUTER} -- set Bridge {OUTER} datapath_type=netdev other-config:hwaddr={} \
             -- set Interface {OUTER} mtu_request={mtu} -- add-port {OUTER} {}",
            hardware(1, *number),
            own.device
        ))?;
        let moved = Batch::new(Tool::Ip)
            .with(format!("address del {}/24 dev {}", own.address, own.device))
            .with(format!("address add {}/24 dev {OUTER}", own.address))
            .with(format!("link set {OUTER} up"));
        on(site, name, &moved)?;
        if let Some(tunnel) = self.ovs.tunnel {
            self.dig(&switch, site, (side, tunnel, mtu))?;
        }
        self.up().push((name, switch));
        Ok(())
    }

    /// Adds the tunnel and the network that it carries.
    fn dig(
        &self,
        switch: &Switch,
        site: &Site,
        (side, tunnel, mtu): (&Side<'_>, OvsTunnel, u32),
    ) -> Result<(), LayerError> {
        let mtu = self.mtu(mtu);
        switch.configure(&format!(
            "add-br {INNER} -- set Bridge {INNER} datapath_type=netdev other-config:hwaddr={} \
             -- set Interface {INNER} mtu_request={mtu} -- add-port {INNER} {TUNNEL} \
             -- set Interface {TUNNEL} type={} options:remote_ip={} options:key={KEY}",
            hardware(2, side.number),
            tunnel.name(),
            side.theirs.address
        ))?;
        let inner = Batch::new(Tool::Ip)
            .with(format!("address add {}/24 dev {INNER}", address(side.number)))
            .with(format!("link set {INNER} up"));
        on(site, side.name, &inner)?;
        // The switch would ask for the other's hardware address by itself, and drop the packet that made it ask.
        let theirs = hardware(1, 3 - side.number);
        Ok(switch.tell(&["tnl/neigh/set", OUTER, &side.theirs.address.to_string(), &theirs])?)
    }
}

/// What passed the tunnel, once the switch has added it up: it does so about once a second, which may be after a short trial.
fn counted(switch: &Switch) -> Result<PortCounts, OvsError> {
    let start = monotonic();
    loop {
        let counts = switch.counts(INNER, TUNNEL)?;
        let has_both = counts.received > 0 && counts.sent > 0;
        if has_both || monotonic().since(start) > SUM_PATIENCE {
            return Ok(counts);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The address of a host in the network of the tunnel.
const fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 79, 0, number)
}

/// The hardware address of a bridge, written down so that the other host need not ask.
fn hardware(bridge: u8, number: u8) -> String {
    format!("02:77:62:{bridge:02x}:00:{number:02x}")
}

fn on(site: &Site, name: &str, commands: &Batch) -> Result<(), LayerError> {
    site.hosts().map_or(Ok(()), |hosts| {
        configure(if name == "client" { &hosts.client } else { &hosts.server }, commands)
    })
}

impl Part for OvsPart {
    fn by(&self) -> String {
        format!("Open vSwitch {} in user space", self.version().unwrap_or_default()).replace("  ", " ")
    }

    fn probe(&self) -> Result<(), Unavailable> {
        let [admin, net] = CAPABILITIES;
        need(&[admin, net, Capability::NetRaw])?;
        self.version()?;
        try_here("TUN devices", || Batch::new(Tool::Ip).with("tuntap add dev wb0 mode tap").run())
    }

    fn lay(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let (Some(_), Some(ends)) = (site.hosts(), site.ends().cloned()) else { return Ok(()) };
        let client = Side { name: "client", number: 1, own: &ends.client, theirs: &ends.server };
        let server = Side { name: "server", number: 2, own: &ends.server, theirs: &ends.client };
        for side in [client, server] {
            self.raise(lab, site, (&side, ends.mtu))?;
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

    fn prove(&self, passed: &[LinkCounters], requests: u64) -> Result<(), String> {
        for (host, switch) in self.up().iter() {
            saw((host, self.device()), passed, requests)?;
            carried_below((host, self.device()), passed)?;
            let Some(tunnel) = self.ovs.tunnel.filter(|_| requests > 0) else { continue };
            let PortCounts { received, sent } = counted(switch).map_err(|error| error.to_string())?;
            if received == 0 || sent == 0 {
                return Err(format!(
                    "{requests} requests were answered, and the switch of the {host} counts {sent} packets of {} out \
                     and {received} in: they took another way",
                    tunnel.name()
                ));
            }
        }
        Ok(())
    }
}
