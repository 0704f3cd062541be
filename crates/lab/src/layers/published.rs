//! A network of the service's own, with one port published by a program in user space: slirp4netns or pasta.
//!
//! The network is one of our namespaces, made before the service starts, with a persistent tap device that
//! has the service's address. The program is started on the server's host once the service is ready; it opens
//! the other end of that device and listens where clients expect the service. Rootless engines publish their
//! containers' ports in this way. Nothing of the host's own network is changed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use weighbridge_model::experiment::Publisher;
use weighbridge_model::network::LinkCounters;
use weighbridge_model::quantity::Nanoseconds;

use super::proof::check_device;
use super::site::{SiteProgram, run_on};
use super::veth::{DEVICE as LINK, try_here};
use super::{Answered, HostRole, LayerError, Site};
use crate::host::sys::monotonic;
use crate::net::tools::Tool;
use crate::net::{Batch, Namespace};
use crate::process::launch::{Lab, LinePattern, Ready};
use crate::unavailable::Unavailable;

/// The role of the program's CPU time and memory.
const ROLE: &str = "port-forwarder";
/// The device of the container's network.
const DEVICE: &str = "tap0";
/// The name of the container's network, in counters.
const HOST: &str = "container";
/// Addresses that slirp4netns and rootless engines use.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 100);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 2);
/// The MTU that engines set, since no physical link is on the path.
const MTU: u32 = 65_520;
/// The socket for requests to slirp4netns, in its folder.
const SOCKET: &str = "ask.sock";
/// slirp4netns answers within milliseconds once it runs.
const ANSWER_PATIENCE: Nanoseconds = Nanoseconds::from_secs(5);
/// Programs report their version at once.
const VERSION_PATIENCE: Duration = Duration::from_secs(10);

/// The program that publishes a port, found on this host.
#[derive(Debug, Clone)]
pub(super) struct Forwarder {
    publisher: Publisher,
    executable: PathBuf,
}

impl Forwarder {
    /// The wanted program, or the first that this host has of slirp4netns and pasta.
    pub fn find(wanted: Option<Publisher>) -> Result<Self, Unavailable> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> =
            std::env::split_paths(&path).chain(["/usr/bin", "/usr/sbin"].map(PathBuf::from)).collect();
        let at = |publisher: Publisher| {
            let mut files = folders.iter().map(|folder| folder.join(publisher.name()));
            files.find(|file| file.is_file()).map(|executable| Self { publisher, executable })
        };
        let found = match wanted {
            Some(publisher) => at(publisher),
            None => Publisher::ALL.into_iter().find_map(at),
        };
        found.ok_or_else(|| match wanted {
            Some(Publisher::Slirp4netns) => Unavailable::new(
                "the program `slirp4netns` is not installed",
                "install it (`apt-get install slirp4netns`, `dnf install slirp4netns`)",
            ),
            Some(Publisher::Pasta) => Unavailable::new(
                "the program `pasta` is not installed",
                "install it (`apt-get install passt`, `dnf install passt`)",
            ),
            None => Unavailable::new(
                "neither of the programs `slirp4netns` and `pasta` is installed",
                "install one (`apt-get install slirp4netns`, or `passt` for pasta)",
            ),
        })
    }

    /// The name, and the version that it reports.
    pub fn by(&self) -> String {
        let command = [self.executable.display().to_string(), "--version".to_owned()];
        let said = crate::host::ask::ask(&command, None, VERSION_PATIENCE).unwrap_or_default();
        let first = said.lines().next().unwrap_or_default();
        // `slirp4netns version 1.2.0`, `pasta 0.0~git20230309.7c7625d-1`
        let version =
            first.split_ascii_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        format!("{} {}", self.publisher.name(), version.unwrap_or_default()).trim_end().to_owned()
    }

    /// Whether this process can make such networks.
    pub fn probe(&self) -> Result<(), Unavailable> {
        Tool::Ip.find()?;
        try_here("tap devices", device_here)
    }

    /// Makes the network of the service.
    pub fn install(&self, lab: &Lab, site: &mut Site) -> Result<(), LayerError> {
        let inner = Namespace::make(&lab.tracker_handle(), &site.name_of(HOST))?;
        run_on(&inner, &device())?;
        site.set_inner(inner);
        Ok(())
    }

    /// Publishes `port` of the service; returns the address for its clients.
    pub fn start(
        &self,
        lab: &Lab,
        site: &mut Site,
        network: &Path,
        port: u16,
    ) -> Result<SocketAddr, LayerError> {
        let host = site.server_address();
        let at = match self.publisher {
            Publisher::Slirp4netns => {
                let folder = site.variant().folder.join(ROLE);
                let made = std::fs::create_dir_all(&folder);
                made.map_err(|source| unwilling("make the folder of slirp4netns", &source))?;
                // An interrupted block may have left a socket here.
                let _ = std::fs::remove_file(folder.join(SOCKET));
                let program = SiteProgram {
                    host: HostRole::Server,
                    role: ROLE,
                    command: self.slirp4netns(network),
                    ready: connected()?,
                    folder: Some(folder.clone()),
                };
                let published = site.start(lab, program)?;
                forward(&folder, SocketAddr::new(host, published), port)
                    .map_err(|source| unwilling("have slirp4netns publish the port", &source))?;
                let _ = std::fs::remove_file(folder.join(SOCKET));
                published
            }
            Publisher::Pasta => {
                let mut command = self.pasta(network, host, port);
                // pasta would look for a device with a route out, and ours have none. It copies the hardware
                // address of the named device; devices for IP packets only, such as WireGuard's, have none.
                command.extend(site.hosts().map(|_| format!("--interface={LINK}")));
                let (host, ready) = (HostRole::Server, Ready::AnyPort);
                site.start(lab, SiteProgram { host, role: ROLE, command, ready, folder: None })?
            }
        };
        Ok(SocketAddr::new(host, at))
    }

    fn slirp4netns(&self, network: &Path) -> Vec<String> {
        let mut words = vec![self.executable.display().to_string()];
        words.extend([format!("--mtu={MTU}"), format!("--api-socket={SOCKET}")]);
        words.extend(["--disable-host-loopback", "--disable-dns", "--netns-type=path"].map(str::to_owned));
        words.extend([network.display().to_string(), DEVICE.to_owned()]);
        words
    }

    fn pasta(&self, network: &Path, host: IpAddr, port: u16) -> Vec<String> {
        let mut words = vec![self.executable.display().to_string()];
        let plain =
            |words: &mut Vec<String>, more: &[&str]| words.extend(more.iter().map(|&word| word.to_owned()));
        plain(&mut words, &["--foreground", "--ipv4-only", "--runas", "0", "--ns-ifname", DEVICE]);
        // pasta would copy these from a device with a route out, and there may be none.
        let (address, gateway, mtu) = (ADDRESS.to_string(), GATEWAY.to_string(), MTU.to_string());
        plain(&mut words, &["--address", &address, "--gateway", &gateway, "--mtu", &mtu, "--netmask", "24"]);
        plain(&mut words, &["--no-dhcp", "--no-ndp", "--no-ra", "--no-dhcpv6", "--no-map-gw"]);
        let published = format!("{host}/{{port}}:{port}");
        plain(&mut words, &["--tcp-ports", &published, "--udp-ports", "none"]);
        plain(&mut words, &["--tcp-ns", "none", "--udp-ns", "none"]);
        words.push(format!("--netns={}", network.display()));
        words
    }

    /// Whether packets passed the container's network both ways. pasta forwards connections from the host's
    /// loopback to the container's loopback, and no others, so with pasta either device may have carried
    /// them.
    pub fn prove(&self, passed: &[LinkCounters], answered: Answered) -> Result<(), String> {
        let tap = check_device(HOST, DEVICE, passed, answered);
        match self.publisher {
            Publisher::Pasta if tap.is_err() => check_device(HOST, "lo", passed, answered).or(tap),
            _ => tap,
        }
    }
}

fn device() -> Batch {
    // A persistent device outlives the program at its other end, so its counters can still be read.
    Batch::new(Tool::Ip)
        .with(format!("tuntap add dev {DEVICE} mode tap"))
        .with(format!("link set dev {DEVICE} mtu {MTU} up"))
        .with(format!("address add {ADDRESS}/24 dev {DEVICE}"))
        .with(format!("route add default via {GATEWAY}"))
        .with("link set dev lo up")
}

fn device_here() -> Result<(), crate::net::ToolError> {
    device().run()
}

/// The line by which slirp4netns reports that it has the device.
fn connected() -> Result<Ready, LayerError> {
    let pattern = Regex::new("^received tapfd")
        .map_err(|error| unwilling("be waited for", &io::Error::other(error)))?;
    Ok(Ready::Log(LinePattern::new(pattern)))
}

fn unwilling(what: &str, source: &io::Error) -> LayerError {
    Unavailable::new(
        format!("could not {what}: {source}"),
        "see its log in the run's `logs/`, or try the other program (`publish`)",
    )
    .into()
}

/// Makes the slirp4netns of that folder listen at `published` for `port` of the container.
fn forward(folder: &Path, published: SocketAddr, port: u16) -> io::Result<()> {
    let question = serde_json::json!({
        "execute": "add_hostfwd",
        "arguments": {
            "proto": "tcp",
            "host_addr": published.ip(),
            "host_port": published.port(),
            "guest_addr": ADDRESS,
            "guest_port": port
        }
    });
    let answer = ask(folder, &question.to_string())?;
    let answered: serde_json::Value = serde_json::from_str(&answer)?;
    match &answered["error"]["desc"] {
        serde_json::Value::String(why) => Err(io::Error::other(why.clone())),
        _ if answered["return"].is_object() => Ok(()),
        _ => Err(io::Error::other(format!("it answered `{}`", answer.trim()))),
    }
}

/// Sends one request, once the socket exists.
fn ask(folder: &Path, question: &str) -> io::Result<String> {
    let folder = File::open(folder)?;
    // A path through the open folder is short enough for a socket address.
    let address = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(SOCKET);
    let began = monotonic();
    let mut stream = loop {
        match UnixStream::connect(&address) {
            Ok(stream) => break stream,
            Err(_) if monotonic().since(began) < ANSWER_PATIENCE => {
                std::thread::sleep(Duration::from_millis(1))
            }
            Err(error) => return Err(error),
        }
    };
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(question.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = String::new();
    stream.take(1 << 16).read_to_string(&mut answer)?;
    Ok(answer)
}
