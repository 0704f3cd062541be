//! Where a variant lives for one trial: its hosts, its two ends, and what its layers started there.

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

/// How long a program of a layer may take to be ready: proxies read certificates and resolve names.
const PROGRAM_PATIENCE: Nanoseconds = Nanoseconds::from_secs(30);
/// No request and its reply are shorter together, in whatever a proxy makes of them: two frames of HTTP/2
/// have 18 bytes.
const LEAST_BYTES: u64 = 18;

/// The hosts of a variant's own.
#[derive(Debug)]
pub struct Hosts {
    /// Where the client's sockets are.
    pub client: Namespace,
    /// Where the two links meet.
    pub switch: Namespace,
    /// Where the service and its peer are.
    pub server: Namespace,
}

/// One end of the way from client to service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub address: Ipv4Addr,
    /// The device with that address.
    pub device: String,
}

/// The two ends, as the innermost link installed so far has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    pub client: End,
    /// The service's.
    pub server: End,
    /// Largest packet from one to the other, its IP header included.
    pub mtu: u32,
    /// The device of the overlay by which they reach each other, the same on both hosts; `None` without one.
    pub overlay: Option<String>,
}

/// What programs of layers need to know of their variant.
#[derive(Debug, Clone, Default)]
pub struct VariantFacts {
    /// A folder of the variant's own, absolute; made by whoever first needs it.
    pub folder: PathBuf,
    /// What is spoken.
    pub protocol: Protocol,
    /// Most connections that its client holds at a time.
    pub connections: u32,
}

/// What a site is made for and by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteConfig {
    /// The variant's number in the run.
    pub variant: usize,
    /// The cores of its programs, ascending.
    pub cores: Vec<CoreId>,
    /// What the paths of its programs' logs begin with: a folder, and how names in it begin.
    pub logs: PathBuf,
}

/// Which of a site's hosts: what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostRole {
    Client,
    /// The one in the middle.
    Switch,
    /// The service's.
    Server,
}

/// A program of a layer, to be started on one of a site's hosts.
#[derive(Debug)]
pub(super) struct SiteProgram<'a> {
    pub host: HostRole,
    /// Under which its CPU time is told.
    pub role: &'a str,
    pub command: Vec<String>,
    pub ready: Ready,
    /// Where it runs; our own folder by default.
    pub folder: Option<PathBuf>,
}

/// Where one variant lives for one trial.
#[derive(Debug)]
pub struct Site {
    config: SiteConfig,
    /// `wb-<8 hex of the run>-<variant>`.
    name: String,
    parts: Vec<(Layer, Box<dyn Part>)>,
    variant: VariantFacts,
    /// Programs that layers started, by their role; they end before the hosts go.
    programs: Vec<(String, Running)>,
    ends: Option<Ends>,
    hosts: Option<Hosts>,
    /// The network of the service alone, inside of the server's.
    inner: Option<Namespace>,
    /// Where the service listens, if it is not where its clients look for it.
    listens: Option<IpAddr>,
    congestion_control: Option<String>,
    before: Vec<LinkCounters>,
    segments_before: Vec<HostSegments>,
}

impl Site {
    /// Makes the hosts of a variant and installs its layers there.
    ///
    /// Errors: [`LayerError`]; nothing of it is left then.
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

    /// Has TCP adapt to the finished link as the layers say, and reads back what the link is.
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

    /// Does something with every part, from the client's end inward.
    fn each(
        &mut self,
        mut job: impl FnMut(&mut Self, &dyn Part) -> Result<(), LayerError>,
    ) -> Result<(), LayerError> {
        let parts = std::mem::take(&mut self.parts);
        let done = parts.iter().try_for_each(|(_, part)| self.with_part(&**part, |site| job(site, &**part)));
        self.parts = parts;
        done
    }

    /// Does something for a part, and leaves the programs that it starts running while the variant stands
    /// still where they must.
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

    /// Changes a launch as the layers want it; it is told its address and must be started by
    /// [`Site::in_service`].
    pub fn configure(&mut self, lab: &Lab, launch: &mut Launch) -> Result<(), LayerError> {
        self.each(|site, part| part.configure(lab, site, launch))
    }

    /// Puts what the layers want in front of the service that is ready at `service`, from the service's end
    /// outward; returns where the client goes. From here on counts what passes.
    pub fn start_proxy(&mut self, lab: &Lab, service: SocketAddr) -> Result<SocketAddr, LayerError> {
        let parts = std::mem::take(&mut self.parts);
        let proxied = parts.iter().rev().try_fold(service, |at, (_, part)| {
            self.with_part(&**part, |site| part.start_proxy(lab, site, at))
        });
        self.parts = parts;
        (self.before, self.segments_before) = (self.counters(), self.segments());
        proxied
    }

    /// The name of a namespace of this site for a role.
    pub fn name_of(&self, role: &str) -> String {
        format!("{}-{role}", self.name)
    }

    /// Tells what is known of the variant, before its programs start.
    pub fn set_variant(&mut self, variant: VariantFacts) {
        self.variant = variant;
    }

    /// What is known of its variant.
    pub fn variant(&self) -> &VariantFacts {
        &self.variant
    }

    /// Whether any layer stands here.
    pub fn has_layers(&self) -> bool {
        !self.parts.is_empty()
    }

    pub fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    /// The ends of the innermost link; `None` where client and service are on this host.
    pub fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// The address that the service is to listen on: all of its own network's, where it has one.
    pub fn service_address(&self) -> IpAddr {
        self.listens.unwrap_or_else(|| self.server_address())
    }

    /// The server's address, where its clients look for what is not hidden behind something else.
    pub fn server_address(&self) -> IpAddr {
        IpAddr::V4(self.ends.as_ref().map_or(Ipv4Addr::LOCALHOST, |ends| ends.server.address))
    }

    /// For the layer that makes the hosts.
    pub(crate) fn set_hosts(&mut self, hosts: Hosts) {
        self.hosts = Some(hosts);
    }

    /// For a layer that gives the service a network of its own.
    pub(super) fn set_inner(&mut self, inner: Namespace) {
        self.inner = Some(inner);
        self.listen_everywhere();
    }

    /// The file of the service's own network.
    pub(super) fn inner_path(&self) -> Option<PathBuf> {
        self.inner.as_ref().map(|inner| inner.path().to_owned())
    }

    /// For a layer behind which the service's address is another.
    pub(super) const fn listen_everywhere(&mut self) {
        self.listens = Some(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    }

    /// For a layer that leads from host to host: from now on the ends are its own.
    pub fn set_ends(&mut self, ends: Ends) {
        self.ends = Some(ends);
    }

    /// Starts a program of a layer on a host of this site (on this one where it has none) and keeps it under
    /// its role; returns the port that it listens on, 0 where it says none. Its cores and logs are those of
    /// the site.
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

    /// Keeps a program that a layer started. It stands still, goes on and ends with the variant, and its CPU
    /// time is told apart under `role`.
    pub fn keep(&mut self, role: impl Into<String>, running: Running) {
        self.programs.push((role.into(), running));
    }

    /// The input and output of the program of that role, where it is talked to and nobody has taken them.
    pub(super) fn take_talk(&mut self, role: &str) -> Option<Talk> {
        self.programs.iter_mut().find(|(name, _)| name == role)?.1.take_talk()
    }

    /// The first process of the program of that role.
    pub(super) fn pid_of(&self, role: &str) -> Option<Pid> {
        self.programs.iter().find(|(name, _)| name == role).map(|(_, running)| running.pid())
    }

    /// The programs that layers started, by their role, the last started first: the caller's from now on, to
    /// be ended before the site is.
    pub fn take_programs(&mut self) -> Vec<(String, Running)> {
        self.programs.drain(..).rev().collect()
    }

    /// Does something inside the server's network, or here where there is none.
    pub fn in_server<R: Send>(&self, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        within(self.hosts.as_ref().map(|hosts| &hosts.server), job)
    }

    /// Does something inside the service's own network, or the server's where it has none.
    pub fn in_service<R: Send>(&self, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        within(self.inner.as_ref().or(self.hosts.as_ref().map(|hosts| &hosts.server)), job)
    }

    /// Does something inside the client's network, or here where there is none.
    pub fn in_client<R: Send>(&self, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        within(self.hosts.as_ref().map(|hosts| &hosts.client), job)
    }

    /// What makes sockets in the client's network; `None` where that is this host's.
    pub fn connector(&self) -> Option<Connector> {
        self.hosts.as_ref().map(|hosts| Connector::new(hosts.client.path()))
    }

    /// What TCP of either host has sent by now.
    fn segments(&self) -> Vec<HostSegments> {
        let hosts =
            self.hosts.iter().flat_map(|hosts| [("client", &hosts.client), ("server", &hosts.server)]);
        hosts.filter_map(|(name, host)| host.run(|| counters::own_segments(name)).ok()?).collect()
    }

    /// The counters of all links now; those of a host that cannot be entered are left out.
    pub fn counters(&self) -> Vec<LinkCounters> {
        let hosts = self.hosts.iter().flat_map(|hosts| {
            [("client", &hosts.client), ("switch", &hosts.switch), ("server", &hosts.server)]
        });
        let all = hosts.flat_map(|(name, host)| host.run(|| counters::own(name)).unwrap_or_default());
        // Programs that pass connections on may do so by its loopback.
        let inner = self.inner.iter().flat_map(|inner| {
            let counted = inner.run(|| counters::with_loopback("container"));
            counted.unwrap_or_default()
        });
        all.chain(inner).collect()
    }

    /// What the client's link has carried since it was made, below whatever travels over it; `None` where the
    /// client has no host of its own, or it cannot be entered.
    pub fn crossing(&self) -> Option<LinkCounters> {
        let links = self.hosts.as_ref()?.client.run(|| counters::own("client")).ok()?;
        links.into_iter().find(|link| link.device == DEVICE)
    }

    /// Why what passed does not show that the answers took this way; `None` where it does.
    pub fn unproved(&self, passed: &[LinkCounters], answered: Answered) -> Option<String> {
        self.parts.iter().find_map(|(layer, part)| {
            let why = part.prove(passed, answered).err()?;
            Some(format!("layer `{}`: {why}", layer.name()))
        })
    }

    /// What the tunnels of its layers passed, and what speaks against the answers having passed them.
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

    /// What the programs of its layers counted themselves, and what speaks against the answers to at least
    /// `requests` having passed them.
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

    /// What the layers are, what passed since the service was ready, and whether that shows that what was
    /// answered took this way. A proxy says it in words of its own, which may be fewer: little more than the
    /// requests is asked for behind one.
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

/// Makes a setting under `/proc/sys` on a host of ours.
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

/// Ends programs, then hosts, whatever was made last first.
impl Drop for Site {
    fn drop(&mut self) {
        while let Some((_, running)) = self.programs.pop() {
            drop(running);
        }
        self.inner = None;
        self.hosts = None;
    }
}
