//! The layer `wireguard`: IP packets travel encrypted between the hosts, by the kernel or by a daemon on each
//! host.
//!
//! Both ends agree on keys during installation, so that no request waits for that. While packets pass they
//! repeat it every two minutes without delaying any. After a pause of three minutes or more the first packet
//! waits for a round trip; that packet belongs to the lead-in of a window. Daemons keep running while their
//! variant is frozen, since kernels still exchange acknowledgements after the last reply.

pub mod tunnel;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use weighbridge_model::experiment::{Wireguard, WireguardImplementation as Implementation};
use weighbridge_model::network::{LinkCounters, TunnelCounts};
use weighbridge_model::quantity::Nanoseconds;

use super::proof::check_device;
use super::site::run_on;
use super::veth::{CAPABILITIES, DEVICE as LINK, try_here};
use super::{Answered, End, Ends, LayerError, Part, Site};
use crate::host::sys::monotonic;
use crate::net::tools::Tool;
use crate::net::{Batch, Capability, Namespace, namespace};
use crate::process::launch::{Lab, LaunchError};
use crate::service::Freezing;
use crate::unavailable::Unavailable;
use tunnel::{DEVICE, Keys, PORT, Transfer, TunnelConfig, WireguardError};

/// Agreeing on keys takes a round trip; lost messages are repeated after five seconds.
const HANDSHAKE_PATIENCE: Nanoseconds = Nanoseconds::from_secs(60);
/// Nothing listens at this port. A packet to it makes both ends agree on keys.
const DISCARD: u16 = 9;

/// The implementation, with its version.
#[derive(Debug, Clone)]
struct Choice {
    implementation: Implementation,
    version: String,
}

/// An end of the tunnel that is up.
#[derive(Debug)]
struct TunnelEnd {
    host: &'static str,
    /// The file of its network namespace.
    network: PathBuf,
    end: tunnel::End,
    /// Its counters when the service got ready.
    before: Transfer,
}

/// A tunnel between the hosts.
#[derive(Debug)]
pub(super) struct WireguardPart {
    wireguard: Wireguard,
    choice: OnceLock<Result<Choice, Unavailable>>,
    /// The server's end and the client's, while they are up.
    ends: Mutex<Vec<TunnelEnd>>,
}

/// One end of the tunnel: its host's name and number, and the other end's address.
struct TunnelEndpoint {
    name: &'static str,
    number: u8,
    theirs: Ipv4Addr,
    keys: [Keys; 2],
}

impl TunnelEndpoint {
    const fn config(&self) -> TunnelConfig {
        let [own, theirs] = self.keys;
        TunnelConfig { own, theirs, endpoint: self.theirs, peer: address(3 - self.number) }
    }
}

/// The address of a host inside the tunnel.
const fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 80, 0, number)
}

impl WireguardPart {
    pub const fn new(wireguard: Wireguard) -> Self {
        Self { wireguard, choice: OnceLock::new(), ends: Mutex::new(Vec::new()) }
    }

    fn choice(&self) -> Result<&Choice, Unavailable> {
        let choose = || match self.wireguard.implementation {
            Some(implementation) => try_one(implementation),
            None => first(),
        };
        self.choice.get_or_init(choose).as_ref().map_err(Clone::clone)
    }

    fn ends(&self) -> MutexGuard<'_, Vec<TunnelEnd>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one end of the tunnel.
    fn raise(&self, lab: &Lab, site: &mut Site, side: &TunnelEndpoint, mtu: u32) -> Result<(), LayerError> {
        let implementation = self.choice()?.implementation;
        let (end, add) = match implementation {
            Implementation::Kernel => {
                (tunnel::End::Kernel, Some(format!("link add {DEVICE} type wireguard")))
            }
            _ => (self.start(lab, site, side.name, implementation)?, None),
        };
        let Some(host) = host_of(site, side.name) else { return Ok(()) };
        if let Some(add) = add {
            run_on(host, &Batch::new(Tool::Ip).with(add))?;
        }
        host.run(|| end.configure(&side.config()))??;
        let commands = Batch::new(Tool::Ip)
            .with(format!("link set {DEVICE} mtu {mtu}"))
            .with(format!("address add {}/24 dev {DEVICE}", address(side.number)))
            .with(format!("link set {DEVICE} up"));
        run_on(host, &commands)?;
        let network = host.path().to_owned();
        self.ends().push(TunnelEnd { host: side.name, network, end, before: Transfer::default() });
        Ok(())
    }

    /// Starts a daemon on one side.
    fn start(
        &self,
        lab: &Lab,
        site: &mut Site,
        name: &'static str,
        implementation: Implementation,
    ) -> Result<tunnel::End, LayerError> {
        let role = format!("wireguard-{name}");
        let logs = site.config().logs.clone();
        let cores = Some(site.config().cores.clone()).filter(|cores| !cores.is_empty());
        let start = || tunnel::End::start(lab, implementation, &role, &logs, cores.as_deref());
        let (end, daemon) = match name {
            "client" => site.in_client(start)?,
            _ => site.in_server(start)?,
        }?;
        site.keep(role, daemon);
        Ok(end)
    }

    fn has_agreed(&self) -> Result<bool, WireguardError> {
        for end in self.ends().iter() {
            if end.transfer()?.handshake == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes both ends agree on keys.
    fn shake_hands(&self, lab: &Lab, client: &Namespace) -> Result<(), LayerError> {
        let socket = client.run(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)))?;
        let start = monotonic();
        loop {
            // A daemon that has not noticed yet that its device is up drops the packet; then a later one is
            // answered.
            let _ = socket.as_ref().map(|socket| socket.send_to(&[0], (address(2), DISCARD)));
            std::thread::sleep(Duration::from_millis(10));
            if self.has_agreed()? {
                return Ok(());
            }
            if lab.is_cancelled() {
                return Err(LaunchError::Cancelled { name: "wireguard".to_owned() }.into());
            }
            if monotonic().since(start) > HANDSHAKE_PATIENCE {
                return Err(WireguardError::NoHandshake { waited: HANDSHAKE_PATIENCE }.into());
            }
        }
    }
}

impl TunnelEnd {
    fn transfer(&self) -> Result<Transfer, WireguardError> {
        match self.end {
            tunnel::End::Kernel => namespace::run_in(&self.network, || self.end.transfer())?,
            tunnel::End::Daemon { .. } => self.end.transfer(),
        }
    }

    /// What has passed since the service was ready.
    fn counts(&self) -> Result<TunnelCounts, WireguardError> {
        let Transfer { received, sent, .. } = self.transfer()?.since(self.before);
        Ok(TunnelCounts {
            layer: "wireguard".to_owned(),
            host: self.host.to_owned(),
            kind: format!("UDP {PORT}"),
            received_packets: None,
            received_bytes: received,
            sent_packets: None,
            sent_bytes: sent,
        })
    }

    /// Whether everything that passed its device also passed the tunnel, and then the link below. A tenth may
    /// be missing, as between a device of a user-space switch and the link.
    fn prove(&self, passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        let Self { host, .. } = self;
        check_device(host, DEVICE, passed, answered)?;
        if answered.requests == 0 {
            return Ok(());
        }
        let tunnel = self.counts().map_err(|error| error.to_string())?.bytes().get();
        let bytes = |device: &str| {
            let link = passed.iter().find(|link| link.host == *host && link.device == device);
            link.map_or(0, |link| link.bytes().get())
        };
        let (above, below) = (bytes(DEVICE), bytes(LINK));
        if tunnel < above - above / 10 || below < tunnel - tunnel / 10 {
            return Err(format!(
                "{above} bytes passed `{DEVICE}` of the {host}, {tunnel} the tunnel by its own account, and {below} the \
                 link below it: each should have carried at least what the one before did"
            ));
        }
        Ok(())
    }
}

fn host_of<'s>(site: &'s Site, name: &str) -> Option<&'s Namespace> {
    site.hosts().map(|hosts| if name == "client" { &hosts.client } else { &hosts.server })
}

/// Whether this host has an implementation.
fn try_one(implementation: Implementation) -> Result<Choice, Unavailable> {
    match implementation {
        Implementation::Kernel => {
            try_here("WireGuard devices", || Batch::new(Tool::Ip).with("link add wb0 type wireguard").run())?
        }
        Implementation::WireguardGo | Implementation::Boringtun => {
            try_here("TUN devices", || Batch::new(Tool::Ip).with("tuntap add dev wb0 mode tun").run())?;
        }
    }
    Ok(Choice { implementation, version: tunnel::version(implementation)? })
}

/// The best implementation that this host has.
fn first() -> Result<Choice, Unavailable> {
    let mut reasons = Vec::new();
    for implementation in Implementation::ALL {
        match try_one(implementation) {
            Ok(choice) => return Ok(choice),
            Err(why) => reasons.push(format!("`{}`: {}", implementation.name(), why.reason)),
        }
    }
    Err(Unavailable::new(
        format!("no implementation of WireGuard works here ({})", reasons.join("; ")),
        "load the kernel's module and install wireguard-tools, or put `wireguard-go` on `PATH` (`apt-get install wireguard-go`)",
    ))
}

impl Part for WireguardPart {
    fn by(&self) -> String {
        match self.choice() {
            Ok(Choice { implementation: Implementation::Kernel, version }) => {
                format!("the kernel's WireGuard, told by wg {version}: UDP port {PORT}")
            }
            Ok(Choice { implementation, version }) => {
                format!("{} {version} in user space: UDP port {PORT}", implementation.name())
            }
            Err(_) => "WireGuard".to_owned(),
        }
    }

    fn needs(&self) -> &'static [Capability] {
        &CAPABILITIES
    }

    fn freezing(&self) -> Freezing {
        Freezing::Unsafe
    }

    fn probe(&self) -> Result<(), Unavailable> {
        Tool::Ip.find()?;
        self.choice().map(drop)
    }

    fn install(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let (Some(_), Some(ends)) = (site.hosts(), site.ends().cloned()) else { return Ok(()) };
        let mtu = ends.mtu - Wireguard::OVERHEAD;
        let [client, server] = [Keys::make()?, Keys::make()?];
        // The server's end first: it must be up when the client's first packet arrives.
        let server_side =
            TunnelEndpoint { name: "server", number: 2, theirs: ends.client.address, keys: [server, client] };
        let client_side =
            TunnelEndpoint { name: "client", number: 1, theirs: ends.server.address, keys: [client, server] };
        for side in [server_side, client_side] {
            self.raise(lab, site, &side, mtu)?;
        }
        if let Some(host) = host_of(site, "client") {
            self.shake_hands(lab, host)?;
        }
        let end = |number| End { address: address(number), device: DEVICE.to_owned() };
        site.set_ends(Ends { client: end(1), server: end(2), mtu, overlay: Some(DEVICE.to_owned()) });
        Ok(())
    }

    fn start_proxy(
        &self,
        _lab: &Lab,
        _site: &mut Site,
        service: SocketAddr,
    ) -> Result<SocketAddr, LayerError> {
        for end in self.ends().iter_mut() {
            end.before = end.transfer()?;
        }
        Ok(service)
    }

    fn tunnels(&self, _passed: &[LinkCounters], _least: Answered) -> Result<Vec<TunnelCounts>, String> {
        self.ends().iter().map(|end| end.counts().map_err(|error| error.to_string())).collect()
    }

    fn prove(&self, passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        self.ends().iter().try_for_each(|end| end.prove(passed, answered))
    }
}
