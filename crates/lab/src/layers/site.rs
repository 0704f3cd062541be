//! The site of a variant for one trial: its hosts, its two ends, and the programs of its layers.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use weighbridge_model::experiment::{Layer, Layers, Protocol};
use weighbridge_model::network::{
    HostSegments, LayerFacts, LinkCounters, NetworkFacts, ProgramFacts, TunnelCounts, passed,
};
use weighbridge_model::quantity::Nanoseconds;

use super::proof::check_tunnels;
use super::veth::{self, DEVICE};
use super::{Answered, LayerError, Part, parts};
use crate::host::cores::CoreId;
use crate::host::procfs::Pid;
use crate::layers::sidecar::proxy::Passed;
use crate::net::{Batch, Connector, Namespace, NamespaceError, counters};
use crate::process::Running;
use crate::process::launch::{Lab, Launch, Ready, Wrapping};
use crate::process::talk::Talk;
use crate::service::Freezing;

/// How long a layer's program may take to get ready: proxies read certificates and resolve names.
const PROGRAM_PATIENCE: Nanoseconds = Nanoseconds::from_secs(30);
/// Fewest bytes of a request with its reply, in whatever form a proxy passes them on: the headers of two
/// HTTP/2 frames.
const LEAST_BYTES: u64 = 18;

/// The hosts of one variant.
#[derive(Debug)]
pub struct Hosts {
    /// Where the client's sockets are.
    pub client: Namespace,
    /// Where the two links meet.
    pub switch: Namespace,
    /// Where the service and its peer are.
    pub server: Namespace,
}

/// One end of the path from client to service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub address: Ipv4Addr,
    /// The device with that address.
    pub device: String,
}

/// The two ends, as the innermost link installed so far defines them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    pub client: End,
    /// The service's.
    pub server: End,
    /// Largest packet from one to the other, including its IP header.
    pub mtu: u32,
    /// The overlay's device, which has the same name on both hosts; `None` without an overlay.
    pub overlay: Option<String>,
}

/// What layers' programs need to know about their variant.
#[derive(Debug, Clone, Default)]
pub struct VariantFacts {
    /// A folder for this variant only, absolute; the first user creates it.
    pub folder: PathBuf,
    /// The variant's protocol.
    pub protocol: Protocol,
    /// Most connections that its client holds at once.
    pub connections: u32,
}

/// What a site is made for, and its resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteConfig {
    /// The variant's number in the run.
    pub variant: usize,
    /// The cores of its programs, ascending.
    pub cores: Vec<CoreId>,
    /// Prefix of the paths of its programs' logs: a folder and the beginning of a file name.
    pub logs: PathBuf,
}

/// One of a site's hosts, by its purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRole {
    Client,
    /// The host in the middle.
    Switch,
    /// The service's.
    Server,
}

/// A layer's program, to be started on one of a site's hosts.
#[derive(Debug)]
pub(super) struct SiteProgram<'a> {
    pub host: HostRole,
    /// The role under which its CPU time is reported.
    pub role: &'a str,
    pub command: Vec<String>,
    pub ready: Ready,
    /// Working directory; by default our own.
    pub folder: Option<PathBuf>,
}

/// The site of one variant for one trial.
#[derive(Debug)]
pub struct Site {
    config: SiteConfig,
    /// `wb-<8 hex of the run>-<variant>`.
    name: String,
    parts: Vec<(Layer, Box<dyn Part>)>,
    variant: VariantFacts,
    /// Programs that layers started, by role; they are stopped before the hosts are removed.
    programs: Vec<(String, Running)>,
    ends: Option<Ends>,
    hosts: Option<Hosts>,
    /// The service's own network, inside the server's host.
    inner: Option<Namespace>,
    /// Where the service listens, if its clients connect to another address.
    listens: Option<IpAddr>,
    congestion_control: Option<String>,
    before: Vec<LinkCounters>,
    segments_before: Vec<HostSegments>,
}

impl Site {
    /// Makes the hosts of a variant and installs its layers there.
    ///
    /// Errors: [`LayerError`]; nothing is left then.
    pub fn make(lab: &Lab, config: SiteConfig, layers: &Layers) -> Result<Self, LayerError> {
        let mut site = Self {
            name: format!("{}-{}", lab.prefix(), config.variant),
            config,
            parts: parts(layers),
            variant: VariantFacts::default(),
            programs: Vec::new(),
            ends: None,
            hosts: None,
            inner: None,
            listens: None,
            congestion_control: None,
            before: Vec::new(),
            segments_before: Vec::new(),
        };
        site.each(|site, part| part.install(lab, site))?;
        site.look_at_ends(layers)?;
        Ok(site)
    }

    /// Configures TCP for the finished link as the layers require, and reads back the link's properties.
    fn look_at_ends(&mut self, layers: &Layers) -> Result<(), LayerError> {
        let (Some(hosts), Some(ends)) = (&self.hosts, &self.ends) else { return Ok(()) };
        let control = layers.veth().and_then(|veth| veth.congestion_control.as_ref());
        self.congestion_control = Some(veth::adapt(hosts, control)?);
        let found = veth::mtu(hosts, ends)?;
        if found != ends.mtu {
            return Err(LayerError::Mtu { wanted: ends.mtu, found });
        }
        Ok(())
    }

    /// Runs `job` for every part, from the client's end inward.
    fn each(
        &mut self,
        mut job: impl FnMut(&mut Self, &dyn Part) -> Result<(), LayerError>,
    ) -> Result<(), LayerError> {
        let parts = std::mem::take(&mut self.parts);
        let done = parts.iter().try_for_each(|(_, part)| self.with_part(&**part, |site| job(site, &**part)));
        self.parts = parts;
        done
    }

    /// Runs `job` for a part. Programs that it starts are left running while the variant is frozen, if the
    /// part needs that.
    fn with_part<T>(
        &mut self,
        part: &dyn Part,
        job: impl FnOnce(&mut Self) -> Result<T, LayerError>,
    ) -> Result<T, LayerError> {
        let first = self.programs.len();
        let done = job(self);
        if part.freezing() == Freezing::Unsafe {
            self.programs[first..].iter_mut().for_each(|(_, running)| running.leave_awake());
        }
        done
    }

    /// Changes a launch as the layers require. The launch gets its address here; start it by
    /// [`Site::in_service`].
    pub fn configure(&mut self, lab: &Lab, launch: &mut Launch) -> Result<(), LayerError> {
        self.each(|site, part| part.configure(lab, site, launch))
    }

    /// Starts the layers' proxies before the service that is ready at `service`, from the service's end
    /// outward; returns the address for the client. Counters start here.
    pub fn start_proxy(&mut self, lab: &Lab, service: SocketAddr) -> Result<SocketAddr, LayerError> {
        let parts = std::mem::take(&mut self.parts);
        let proxied = parts.iter().rev().try_fold(service, |at, (_, part)| {
            self.with_part(&**part, |site| part.start_proxy(lab, site, at))
        });
        self.parts = parts;
        (self.before, self.segments_before) = (self.counters(), self.segments());
        proxied
    }

    /// The name of this site's namespace for a role.
    pub fn name_of(&self, role: &str) -> String {
        format!("{}-{role}", self.name)
    }

    /// Sets the facts about the variant, before its programs start.
    pub fn set_variant(&mut self, variant: VariantFacts) {
        self.variant = variant;
    }

    /// The facts about its variant.
    pub fn variant(&self) -> &VariantFacts {
        &self.variant
    }

    /// Whether it has any layers.
    pub fn has_layers(&self) -> bool {
        !self.parts.is_empty()
    }

    pub fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    /// The ends of the innermost link; `None` if client and service are on this host.
    pub fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// The address for the service to listen on: every address, if it has its own network.
    pub fn service_address(&self) -> IpAddr {
        self.listens.unwrap_or_else(|| self.server_address())
    }

    /// The server's address, where clients find whatever no proxy or published port hides.
    pub fn server_address(&self) -> IpAddr {
        IpAddr::V4(self.ends.as_ref().map_or(Ipv4Addr::LOCALHOST, |ends| ends.server.address))
    }

    /// Called by the layer that makes the hosts.
    pub(crate) fn set_hosts(&mut self, hosts: Hosts) {
        self.hosts = Some(hosts);
    }

    /// Called by a layer that gives the service its own network.
    pub(super) fn set_inner(&mut self, inner: Namespace) {
        self.inner = Some(inner);
        self.listen_everywhere();
    }

    /// The file of the service's own network.
    pub(super) fn inner_path(&self) -> Option<PathBuf> {
        self.inner.as_ref().map(|inner| inner.path().to_owned())
    }

    /// Called by a layer behind which the service has another address.
    pub(super) const fn listen_everywhere(&mut self) {
        self.listens = Some(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    }

    /// Called by a layer that links the hosts: its ends become the site's.
    pub fn set_ends(&mut self, ends: Ends) {
        self.ends = Some(ends);
    }

    /// Starts a layer's program on a host of this site (on this host if it has none) and keeps it under its
    /// role; returns the port that it listens on, or 0 if it names none. It uses the site's cores and log
    /// paths.
    pub(super) fn start(&mut self, lab: &Lab, program: SiteProgram<'_>) -> Result<u16, LayerError> {
        let SiteProgram { host, role, command, ready, folder } = program;
        let log = |stream: &str| {
            let mut path = self.config.logs.clone().into_os_string();
            path.push(format!("-{role}-{stream}.log"));
            PathBuf::from(path)
        };
        let launch = Launch {
            name: role.to_owned(),
            command,
            environment: Vec::new(),
            folder,
            host: self.server_address(),
            cores: Some(self.config.cores.clone()),
            stdout: log("out"),
            stderr: log("err"),
            ready,
            ready_timeout: PROGRAM_PATIENCE,
            wrapping: Wrapping::None,
        };
        let running = within(self.host(host), || lab.launch(&launch))??;
        let port = running.port();
        self.keep(role, running);
        Ok(port)
    }

    fn host(&self, role: HostRole) -> Option<&Namespace> {
        self.hosts.as_ref().map(|hosts| match role {
            HostRole::Client => &hosts.client,
            HostRole::Switch => &hosts.switch,
            HostRole::Server => &hosts.server,
        })
    }

    /// The variant's number, its cores and its logs.
    pub fn config(&self) -> &SiteConfig {
        &self.config
    }

    /// Keeps a program that a layer started. It is frozen, thawed and stopped with the variant, and its CPU
    /// time is reported under `role`.
    pub fn keep(&mut self, role: impl Into<String>, running: Running) {
        self.programs.push((role.into(), running));
    }

    /// Input and output of the program of that role, if it has pipes and nobody took them yet.
    pub(super) fn take_talk(&mut self, role: &str) -> Option<Talk> {
        self.programs.iter_mut().find(|(name, _)| name == role)?.1.take_talk()
    }

    /// The first process of the program of that role.
    pub(super) fn pid_of(&self, role: &str) -> Option<Pid> {
        self.programs.iter().find(|(name, _)| name == role).map(|(_, running)| running.pid())
    }

    /// Takes the programs that layers started, with their roles, the last started first. The caller must stop
    /// them before the site is removed.
    pub fn take_programs(&mut self) -> Vec<(String, Running)> {
        self.programs.drain(..).rev().collect()
    }

    /// Runs `job` in the server's network, or here if there is none.
    pub fn in_server<R: Send>(&self, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        within(self.hosts.as_ref().map(|hosts| &hosts.server), job)
    }

    /// Runs `job` in the service's own network, or the server's if it has none.
    pub fn in_service<R: Send>(&self, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        within(self.inner.as_ref().or(self.hosts.as_ref().map(|hosts| &hosts.server)), job)
    }

    /// Runs `job` in the client's network, or here if there is none.
    pub fn in_client<R: Send>(&self, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        within(self.hosts.as_ref().map(|hosts| &hosts.client), job)
    }

    /// Makes sockets in the client's network; `None` if that is this host's.
    pub fn connector(&self) -> Option<Connector> {
        self.hosts.as_ref().map(|hosts| Connector::new(hosts.client.path()))
    }

    /// TCP segments that each host has sent so far.
    fn segments(&self) -> Vec<HostSegments> {
        let hosts =
            self.hosts.iter().flat_map(|hosts| [("client", &hosts.client), ("server", &hosts.server)]);
        hosts.filter_map(|(name, host)| host.run(|| counters::own_segments(name)).ok()?).collect()
    }

    /// The current counters of all links, without those of hosts that cannot be entered.
    pub fn counters(&self) -> Vec<LinkCounters> {
        let hosts = self.hosts.iter().flat_map(|hosts| {
            [("client", &hosts.client), ("switch", &hosts.switch), ("server", &hosts.server)]
        });
        let all = hosts.flat_map(|(name, host)| host.run(|| counters::own(name)).unwrap_or_default());
        // Programs that forward connections may do so by its loopback.
        let inner = self.inner.iter().flat_map(|inner| {
            let counted = inner.run(|| counters::with_loopback("container"));
            counted.unwrap_or_default()
        });
        all.chain(inner).collect()
    }

    /// What the client's link has carried since it was made, below any overlay; `None` if the client has no
    /// host or its host cannot be entered.
    pub fn crossing(&self) -> Option<LinkCounters> {
        let links = self.hosts.as_ref()?.client.run(|| counters::own("client")).ok()?;
        links.into_iter().find(|link| link.device == DEVICE)
    }

    /// Why the counters do not prove that the answers passed the layers; `None` if they do.
    pub fn unproved(&self, passed: &[LinkCounters], answered: Answered) -> Option<String> {
        self.parts.iter().find_map(|(layer, part)| {
            let why = part.prove(passed, answered).err()?;
            Some(format!("layer `{}`: {why}", layer.name()))
        })
    }

    /// What the layers' tunnels passed, and the reason if that disproves that the answers passed them.
    fn tunnels(&self, passed: &[LinkCounters], answered: Answered) -> (Vec<TunnelCounts>, Option<String>) {
        let (mut tunnels, mut against) = (Vec::new(), None);
        for (layer, part) in &self.parts {
            let proved = part.tunnels(passed, answered).and_then(|ends| {
                let proved = check_tunnels(&ends, answered);
                tunnels.extend(ends);
                proved
            });
            against = against.or(proved.err().map(|why| format!("layer `{}`: {why}", layer.name())));
        }
        (tunnels, against)
    }

    /// What the layers' programs counted, and the reason if that disproves that the answers to at least
    /// `requests` passed them.
    fn counted(&self, requests: u64) -> (Vec<ProgramFacts>, Option<String>) {
        let (mut programs, mut against) = (Vec::new(), None);
        for (layer, part) in &self.parts {
            let proved = part.counted().and_then(|counted| {
                let proved = counted.iter().try_for_each(|facts| {
                    let passed = Passed { connections: facts.connections, requests: facts.requests };
                    passed.prove(requests).map_err(|why| format!("`{}`: {why}", facts.role))
                });
                programs.extend(counted);
                proved
            });
            against = against.or(proved.err().map(|why| format!("layer `{}`: {why}", layer.name())));
        }
        (programs, against)
    }

    /// What the layers are, what passed since the service was ready, and whether that proves that the answers
    /// passed the layers. A proxy may shorten messages, so behind one only a few bytes per request are
    /// required.
    pub fn facts(&self, answered: Answered) -> NetworkFacts {
        let facts = |(layer, part): &(Layer, Box<dyn Part>)| LayerFacts {
            layer: layer.name().to_owned(),
            name: layer.to_string(),
            by: part.by(),
        };
        let links = passed(&self.before, &self.counters());
        let (programs, uncounted) = self.counted(answered.requests);
        let rewrites = |(layer, _): &(Layer, Box<dyn Part>)| matches!(layer, Layer::Sidecar(sidecar) if sidecar.rewrites());
        let answered = match self.parts.iter().any(rewrites) {
            true => Answered { bytes: answered.bytes.min(answered.requests * LEAST_BYTES), ..answered },
            false => answered,
        };
        let (tunnels, unpassed) = self.tunnels(&links, answered);
        let unproved = self.unproved(&links, answered).or(unpassed).or(uncounted);
        NetworkFacts {
            layers: self.parts.iter().map(facts).collect(),
            mtu: self.ends.as_ref().map(|ends| ends.mtu),
            congestion_control: self.congestion_control.clone(),
            links,
            segments: sent(&self.segments_before, &self.segments()),
            tunnels,
            crossed: Vec::new(),
            programs,
            unproved,
            relayed: self.parts.iter().find_map(|(_, part)| part.relayed()).map(Box::new),
        }
    }
}

/// What each host sent between two readings.
fn sent(before: &[HostSegments], after: &[HostSegments]) -> Vec<HostSegments> {
    let since = |after: &HostSegments| {
        before.iter().find(|before| before.host == after.host).map(|before| after.since(before))
    };
    after.iter().filter_map(since).collect()
}

fn within<R: Send>(host: Option<&Namespace>, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
    match host {
        Some(host) => host.run(job),
        None => Ok(job()),
    }
}

pub(super) fn run_on(host: &Namespace, commands: &Batch) -> Result<(), LayerError> {
    Ok(host.run(|| commands.run())??)
}

/// Makes a setting under `/proc/sys` on one of our hosts.
pub(super) fn set(
    host: &Namespace,
    whose: &'static str,
    setting: &str,
    value: &str,
) -> Result<(), LayerError> {
    let path = Path::new("/proc/sys").join(setting);
    host.run(|| fs::write(path, value))?.map_err(|error| LayerError::Setting {
        setting: setting.to_owned(),
        value: value.to_owned(),
        host: whose,
        why: error.to_string(),
    })
}

/// Stops programs, then removes hosts, in reverse order of creation.
impl Drop for Site {
    fn drop(&mut self) {
        while let Some((_, running)) = self.programs.pop() {
            drop(running);
        }
        self.inner = None;
        self.hosts = None;
    }
}
