//! A variant come to life for one block: its process where it is ours, its addresses, what it says of itself.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::host::cores::{CoreError, CoreId};
use weighbridge_lab::host::lanes::Lane;
use weighbridge_lab::host::memory_available;
use weighbridge_lab::layers::{self, Site};
use weighbridge_lab::process::launch::{Lab, Launch, LaunchError, Ready};
use weighbridge_lab::process::logs::{excerpt, last_lines};
use weighbridge_lab::process::{Running, Wrapping};
use weighbridge_lab::service::Service;
use weighbridge_lab::service::catalog::Catalog;
use weighbridge_lab::service::runtime;
use weighbridge_load::dial::{Endpoint, ResolveError, resolve};
use weighbridge_model::experiment::{
    Limits, Program, Target, Url, Variant, WorkloadSpec, expand_environment,
};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{MemoryFacts, QuotaFacts, QuotaOrigin, ServiceFacts, Void};
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::Address;

use crate::batch::{Party, Watch};
use crate::direct::Direct;
use crate::ground::{Ground, Revision};
use crate::hook::LINES;
use crate::network::listen_at;
use crate::peer::{self, PeerRecipe};
use crate::printed::Printed;
use crate::programs::program_sha256;
use crate::ready::ready;
use crate::roles::{Clocks, Role, Roles};
use crate::seating::Seating;
use crate::times;
use crate::tls::{Secured, TlsError, scheme};

/// A connection breaks a moment before the death of the process behind it can be seen.
const DEATH_SHOWS: Nanoseconds = Nanoseconds::from_millis(200);

/// How one variant is started in every block.
#[derive(Debug, Clone)]
pub(crate) enum Recipe {
    /// A service of the catalogue, built.
    Service {
        service: Box<Service>,
        version: Option<String>,
        hash: Option<String>,
        peer: Option<Box<PeerRecipe>>,
    },
    /// A program of the user's own, with the digest of the files that its command names.
    Command { program: Box<Program>, ground: Ground, hash: Option<String> },
    /// A server that somebody else runs.
    Url { address: Address, addresses: Vec<Endpoint> },
}

/// Why a variant cannot be prepared or started.
#[derive(Debug, thiserror::Error)]
pub enum ActorError {
    /// The service did not come up. The lab's message names it as the experiment does.
    #[error("{source}")]
    Launch {
        /// The variant.
        variant: String,
        /// What went wrong.
        source: LaunchError,
    },
    /// The URL's host is unknown.
    #[error("variant `{variant}`: {source}")]
    Resolve {
        /// The variant.
        variant: String,
        /// What went wrong.
        source: ResolveError,
    },
    /// A value says `env:NAME` and the environment has no such name.
    #[error("variant `{variant}`: `{key}` asks for `env:{name}`, which is not set; export it and run again")]
    Environment {
        /// The variant.
        variant: String,
        /// The variable to set.
        key: String,
        /// The variable asked for.
        name: String,
    },
    /// Its connections cannot be secured as it asks.
    #[error("variant `{variant}`: {source}")]
    Tls {
        /// The variant.
        variant: String,
        /// What went wrong.
        source: TlsError,
    },
    /// Memory does not hold as many variants at once. The run makes smaller batches and starts anew.
    #[error(
        "{largest} of memory for a variant and {available} to be had leave room for {together} variants at once"
    )]
    Crowded {
        /// Variants that may live at once.
        together: usize,
        /// What the largest that was started holds.
        largest: Bytes,
        /// What could still be had.
        available: Bytes,
    },
    /// The process cannot be moved to other cores.
    #[error("variant `{variant}`: {source}")]
    Move {
        /// The variant.
        variant: String,
        /// What went wrong.
        source: CoreError,
    },
    /// Its layers could not be put in.
    #[error("variant `{variant}`: {source}")]
    Layer {
        /// The variant.
        variant: String,
        /// What went wrong.
        source: Box<layers::LayerError>,
    },
    /// The process refuses to stop or to go on.
    #[error("variant `{variant}`: {source}")]
    Freeze {
        /// The variant.
        variant: String,
        /// What went wrong.
        source: weighbridge_lab::process::freeze::FreezeError,
    },
}

/// Where a URL's server is reached: its host's addresses, or the Unix socket that leads to it.
pub(crate) fn endpoints(url: &Url, unix: Option<&Path>) -> Result<Vec<Endpoint>, ResolveError> {
    match unix {
        Some(path) => Ok(vec![Endpoint::Unix(path.to_owned())]),
        None => Ok(resolve(&url.host, url.port)?.into_iter().map(Endpoint::Tcp).collect()),
    }
}

impl Recipe {
    /// Finds out how to start `variant`. Services are taken from `catalog`, built already.
    pub fn new(
        variant: &Variant,
        (service, peer): (Option<Service>, Option<Service>),
        ground: Ground,
    ) -> Result<Self, ActorError> {
        Ok(match &variant.target {
            Target::Service { .. } => {
                let service = service.expect("the caller looked the service up");
                let (version, hash) = (service.version().ok(), service.binary_sha256());
                let peer = peer.map(|peer| Box::new(PeerRecipe::new(peer)));
                Self::Service { service: Box::new(service), version, hash, peer }
            }
            Target::Command(program) => Self::Command {
                hash: program_sha256(&program.argv, ground.folder.as_deref()),
                program: Box::new(program.clone()),
                ground,
            },
            Target::Url(url) => {
                let addresses = endpoints(url, variant.unix.as_deref())
                    .map_err(|source| ActorError::Resolve { variant: variant.name.clone(), source })?;
                Self::Url {
                    address: Address {
                        authority: url.authority(),
                        base: url.path.clone(),
                        scheme: scheme(variant.tls.as_ref()),
                    },
                    addresses,
                }
            }
        })
    }

    /// Version and digest of the program, for the environment and for resuming.
    pub fn identity(&self) -> (Option<&str>, Option<&str>) {
        match self {
            Self::Service { version, hash, .. } => (version.as_deref(), hash.as_deref()),
            Self::Command { hash, .. } => (None, hash.as_deref()),
            Self::Url { .. } => (None, None),
        }
    }

    /// Who its peer is, where it has one.
    pub fn peer(&self) -> Option<&PeerRecipe> {
        match self {
            Self::Service { peer, .. } => peer.as_deref(),
            _ => None,
        }
    }

    /// What was checked out for it.
    pub fn revision(&self) -> Option<&Revision> {
        match self {
            Self::Command { ground, .. } => ground.revision.as_ref(),
            _ => None,
        }
    }

    /// Where a server that is not ours is reached.
    pub fn addresses(&self) -> &[Endpoint] {
        match self {
            Self::Url { addresses, .. } => addresses,
            _ => &[],
        }
    }

    /// Whether we start it.
    pub fn is_ours(&self) -> bool {
        !matches!(self, Self::Url { .. })
    }

    /// The longest time constant that it declares.
    pub fn period(&self) -> Option<Nanoseconds> {
        match self {
            Self::Service { service, peer, .. } => {
                service.period().max(peer.as_deref().and_then(PeerRecipe::period))
            }
            _ => None,
        }
    }

    /// The longest time constant of a variant with this recipe, as far as it is known before anything is started.
    pub fn period_of(&self, variant: &Variant) -> Option<Nanoseconds> {
        self.period().max(times::period_of(variant))
    }

    /// The time for which it is to be warmed at least, as it declares.
    pub fn warmup(&self) -> Option<Nanoseconds> {
        match self {
            Self::Service { service, peer, .. } => {
                service.warmup().max(peer.as_deref().and_then(PeerRecipe::warmup))
            }
            _ => None,
        }
    }
}

/// A variant that is up.
#[derive(Debug)]
pub(crate) struct Actor {
    pub variant: VariantId,
    pub name: String,
    pub address: Address,
    pub addresses: Vec<Endpoint>,
    pub facts: ServiceFacts,
    pub secured: Secured,
    /// The longest time constant of its behaviour: what its service declares, or the period of a quota of CPU time.
    pub period: Option<Nanoseconds>,
    /// The time for which its service says that it must be warmed.
    pub warmup: Option<Nanoseconds>,
    /// Where its operations run in its own process.
    pub direct: Option<Direct>,
    /// Where it lives, with its layers; `None` where it is not ours.
    pub site: Option<Site>,
    running: Option<Roles>,
    may_freeze: bool,
    /// Whose cores it is on, where there are two sets.
    lane: Lane,
    /// What it may have at most.
    limits: Limits,
    /// Where its output goes, stderr first.
    logs: Vec<Printed>,
    /// Where a service writes what its run-time saw, and where its peer does.
    runtime: PathBuf,
    peer_runtime: PathBuf,
    secrets: Secrets,
}

/// What every start needs.
pub(crate) struct Stage<'a> {
    pub lab: &'a Lab,
    pub seating: &'a Seating,
    pub logs: &'a Path,
    /// What is hidden in whatever is kept or said of a service.
    pub secrets: &'a Secrets,
    pub freeze: bool,
    /// Most connections that a client holds to a variant at a time.
    pub connections: u32,
    /// The batch that is started, where there are several.
    pub party: Option<&'a Party>,
    /// Watches memory in the run's first block.
    pub watch: Option<Watch>,
}

impl Stage<'_> {
    /// Whether a quota can hold a variant up. One of somebody else's may hold the generator too, so that only one that
    /// leaves every core free does nothing.
    fn binds(&self, facts: &QuotaFacts) -> bool {
        let cores = self.seating.usual().service().len() + 1;
        facts.origin == QuotaOrigin::Experiment || facts.quota.cores().get() < cores as f64
    }

    /// Starts a variant on the cores of a lane and waits until it is ready.
    pub fn start(
        &self,
        (block, lane): (u32, Lane),
        id: VariantId,
        variant: &Variant,
        recipe: &Recipe,
        workload: &WorkloadSpec,
    ) -> Result<Actor, ActorError> {
        let said = self.said(block, id, "runtime");
        let secured = secured(variant)?;
        let (mut launch, may_freeze, logs) = match recipe {
            Recipe::Url { address, addresses } => {
                return Ok(Actor::elsewhere(id, variant, (address.clone(), addresses.clone()), secured));
            }
            Recipe::Service { service, peer, .. } => {
                let safe = service.freezing() == weighbridge_lab::service::Freezing::Safe
                    && peer.as_deref().is_none_or(PeerRecipe::is_freezable);
                let logs = self.printed(block, id, variant, ["err", "out"])?;
                let paths = logs.each_ref().map(Printed::path);
                (service_launch(service, variant, workload, &paths), safe, logs)
            }
            Recipe::Command { program, ground, .. } => {
                let ready = ready(program, variant, &secured)?;
                let logs = self.printed(block, id, variant, ["err", "out"])?;
                let paths = logs.each_ref().map(Printed::path);
                (command_launch((program, ground), ready, variant, &paths), true, logs)
            }
        };
        launch.name.clone_from(&variant.name);
        launch.cores = Some(allowed_cores(self.seating.at(lane).service(), variant.limits).to_vec());
        launch.environment.extend(secured.environment());
        if matches!(recipe, Recipe::Service { .. }) {
            launch.environment.push((runtime::VARIABLE.to_owned(), said.display().to_string()));
        }
        let mut site = self.site((block, lane), id, variant)?;
        listen_at(&mut launch, &site);
        let peer = match variant.peer.as_ref().zip(recipe.peer()) {
            Some(peer) => Some(self.start_peer((block, lane), id, (variant, &site), peer)?),
            None => None,
        };
        launch.environment.extend(peer.as_ref().map(|peer| ("PEER".to_owned(), peer.address(&site))));
        launch.environment.extend(environment(variant)?);
        let (running, at) = self.launch_at(&mut site, variant, launch, &logs)?;
        let may_freeze = may_freeze && self.freeze;
        let living = (running, peer, may_freeze);
        let actor = self.alive((id, variant, recipe), lane, (living, site, at), (logs, said), secured);
        self.admitted(block, actor)
    }

    /// The actor of processes that are ready.
    fn alive(
        &self,
        (id, variant, recipe): (VariantId, &Variant, &Recipe),
        lane: Lane,
        ((mut running, peer, may_freeze), mut site, at): (Living, Site, SocketAddr),
        (logs, said): ([Printed; 2], PathBuf),
        secured: Secured,
    ) -> Actor {
        let (version, hash) = recipe.identity();
        let quota = running.quota();
        let mut written = Vec::from(logs);
        let mut peer_runtime = PathBuf::new();
        let (peer, peer_facts) = match peer {
            Some(peer) => {
                written.extend(peer.logs);
                peer_runtime = peer.runtime;
                (Some(peer.running), Some(Box::new(peer.facts)))
            }
            None => (None, None),
        };
        Actor {
            variant: id,
            name: variant.name.clone(),
            address: Address {
                authority: at.to_string(),
                base: "/".to_owned(),
                scheme: scheme(variant.tls.as_ref()),
            },
            addresses: vec![at.into()],
            facts: ServiceFacts {
                version: version.map(str::to_owned),
                binary_sha256: hash.map(str::to_owned),
                start: Some(running.ready_after()),
                quota,
                memory: None,
                runtime: None,
                peer: peer_facts,
                network: None,
            },
            secured,
            period: self.period(recipe, variant, quota),
            warmup: recipe.warmup(),
            direct: running.take_talk().map(Direct::new),
            running: Some(Roles { service: running, peer, layers: site.take_programs() }),
            site: Some(site),
            may_freeze,
            lane,
            limits: variant.limits,
            logs: written,
            runtime: said,
            peer_runtime,
            secrets: self.secrets.clone(),
        }
    }

    /// The actor, unless memory shows in the first block that fewer may live at once.
    fn admitted(&self, block: u32, mut actor: Actor) -> Result<Actor, ActorError> {
        if let (0, Some(watch), Some(available)) = (block, &self.watch, memory_available()) {
            let peak = actor.memory_peaks().into_iter().map(|(_, peak)| peak).sum();
            let crowded = watch.started(peak, available);
            if let Err(crowded) = crowded {
                actor.stop();
                return Err(crowded);
            }
        }
        Ok(actor)
    }

    /// The longest time constant of a variant: its service's own, or that of a quota.
    fn period(&self, recipe: &Recipe, variant: &Variant, quota: Option<QuotaFacts>) -> Option<Nanoseconds> {
        let found = quota.filter(|facts| self.binds(facts)).map(|facts| facts.quota.period);
        recipe.period_of(variant).max(found)
    }

    /// The error as it may be told, and the logs as they may be kept.
    pub(crate) fn launch_failed(
        &self,
        variant: &Variant,
        mut source: LaunchError,
        logs: &[Printed],
    ) -> ActorError {
        for text in source.foreign_mut() {
            *text = self.secrets.hide(text).into_owned();
        }
        for log in logs {
            // What cannot be written anew is not kept.
            let _ = log.keep(self.secrets);
        }
        ActorError::Launch { variant: variant.name.clone(), source }
    }

    /// Where a service says what its run-time saw.
    pub(crate) fn said(&self, block: u32, id: VariantId, stream: &str) -> PathBuf {
        let said = self.log(block, id, stream).with_extension("txt");
        // A service runs in its own folder. A path that cannot be made absolute is one that nothing is said at.
        std::path::absolute(&said).unwrap_or(said)
    }

    /// Where a variant's output goes, by its streams, stderr first.
    pub(crate) fn printed(
        &self,
        block: u32,
        id: VariantId,
        variant: &Variant,
        streams: [&str; 2],
    ) -> Result<[Printed; 2], ActorError> {
        let make = |stream| {
            let path = self.log(block, id, stream);
            // Of a block that was begun before.
            let _ = std::fs::remove_file(&path);
            Printed::new(path.clone(), self.secrets).map_err(|source| ActorError::Launch {
                variant: variant.name.clone(),
                source: LaunchError::Log { name: variant.name.clone(), path, source },
            })
        };
        let [stderr, stdout] = streams;
        Ok([make(stderr)?, make(stdout)?])
    }

    /// Where a stream of a variant's output is kept, by its number in the run.
    fn log(&self, block: u32, id: VariantId, stream: &str) -> PathBuf {
        let mut path = self.logs_of(block, id).into_os_string();
        path.push(format!("-{stream}.log"));
        path.into()
    }

    /// What the paths of all logs of a variant begin with.
    pub(crate) fn logs_of(&self, block: u32, id: VariantId) -> PathBuf {
        self.logs.join(match self.party {
            None => format!("{block:03}-{}", id.0),
            Some(party) => format!("{block:03}-{}-batch-{}", party.members[id.index()].0, party.number),
        })
    }
}

/// A service that is ready, its peer where it has one, and whether both may be stopped for a while.
type Living = (Running, Option<peer::Started>, bool);

/// How a service of the catalogue is started.
fn service_launch(
    service: &Service,
    variant: &Variant,
    workload: &WorkloadSpec,
    [stderr, stdout]: &[PathBuf; 2],
) -> Launch {
    let workload = match workload {
        WorkloadSpec::Pingpong(_) if variant.peer.is_some() => "ping",
        WorkloadSpec::Pingpong(_) => "pingpong",
        // The user's own requests ask whatever the service's default workload offers.
        WorkloadSpec::Http { .. } | WorkloadSpec::Commands { .. } | WorkloadSpec::Grpc { .. } => {
            service.workloads().first().map_or("pingpong", String::as_str)
        }
    };
    service.launch(workload, variant.protocol.name(), stdout, stderr)
}

/// How a program of the user's own is started.
fn command_launch(
    (program, ground): (&Program, &Ground),
    ready: Ready,
    variant: &Variant,
    [stderr, stdout]: &[PathBuf; 2],
) -> Launch {
    Launch {
        name: variant.name.clone(),
        command: program.argv.clone(),
        environment: Vec::new(),
        folder: ground.folder.clone(),
        host: IpAddr::V4(Ipv4Addr::LOCALHOST),
        cores: None,
        stdout: stdout.clone(),
        stderr: stderr.clone(),
        ready,
        ready_timeout: program.ready_timeout,
        wrapping: Wrapping::None,
    }
}

/// The variant's environment with `env:` values looked up.
pub(crate) fn environment(variant: &Variant) -> Result<Vec<(String, String)>, ActorError> {
    lookup(&variant.name, &variant.env)
}

/// The same of any of a variant's environments.
pub(crate) fn lookup(
    variant: &str,
    environment: &[(String, String)],
) -> Result<Vec<(String, String)>, ActorError> {
    let lookup = |name: &str| std::env::var(name).ok();
    let resolve = |(key, value): &(String, String)| match expand_environment(value, &lookup) {
        Ok(value) => Ok((key.clone(), value)),
        Err(name) => Err(ActorError::Environment { variant: variant.to_owned(), key: key.clone(), name }),
    };
    environment.iter().map(resolve).collect()
}

/// How the variant's connections are secured from now on.
pub(crate) fn secured(variant: &Variant) -> Result<Secured, ActorError> {
    Secured::new(variant).map_err(|source| ActorError::Tls { variant: variant.name.clone(), source })
}

impl Actor {
    /// A server that somebody else runs: it is up, as far as can be told before it is asked.
    fn elsewhere(
        id: VariantId,
        variant: &Variant,
        (address, addresses): (Address, Vec<Endpoint>),
        secured: Secured,
    ) -> Self {
        Self {
            variant: id,
            name: variant.name.clone(),
            address,
            addresses,
            facts: ServiceFacts::default(),
            secured,
            period: None,
            warmup: None,
            direct: None,
            site: None,
            running: None,
            may_freeze: false,
            lane: Lane::First,
            limits: Limits::default(),
            logs: Vec::new(),
            runtime: PathBuf::new(),
            peer_runtime: PathBuf::new(),
            secrets: Secrets::default(),
        }
    }

    /// Stops the process in its tracks where that is ours to do. Idempotent.
    pub fn freeze(&mut self) -> Result<(), ActorError> {
        self.change(Roles::freeze)
    }

    /// Lets it run again. Idempotent.
    pub fn thaw(&mut self) -> Result<(), ActorError> {
        self.change(Roles::thaw)
    }

    fn change(
        &mut self,
        how: impl FnOnce(&mut Roles) -> Result<(), weighbridge_lab::process::freeze::FreezeError>,
    ) -> Result<(), ActorError> {
        match &mut self.running {
            Some(running) if self.may_freeze => {
                how(running).map_err(|source| ActorError::Freeze { variant: self.name.clone(), source })
            }
            _ => Ok(()),
        }
    }

    /// Moves it to the cores of another lane, where it is ours and not there already.
    pub fn take_lane(&mut self, lane: Lane, cores: &[CoreId]) -> Result<(), ActorError> {
        if let Some(running) = self.running.as_mut().filter(|_| self.lane != lane) {
            running
                .pin(allowed_cores(cores, self.limits))
                .map_err(|source| ActorError::Move { variant: self.name.clone(), source })?;
            self.lane = lane;
        }
        Ok(())
    }

    /// CPU time so far that its operations took, where the process is ours: that of all its processes, or, where they run in
    /// it, of the windows by its own account.
    pub fn cpu(&mut self) -> Option<Nanoseconds> {
        self.clocks().total()
    }

    /// Whether its processes are ours.
    pub fn is_ours(&self) -> bool {
        self.running.is_some()
    }

    /// CPU time of its processes so far, where they are ours.
    pub fn process_cpu(&mut self) -> Option<Nanoseconds> {
        self.running.as_mut().and_then(|running| running.clocks().total())
    }

    /// [`Actor::cpu`] by role.
    pub fn clocks(&mut self) -> Clocks {
        match &self.direct {
            Some(direct) => Clocks::of_service(direct.cpu()),
            None => self.running.as_mut().map(Roles::clocks).unwrap_or_default(),
        }
    }

    /// Peaks of resident memory by role since the last call of [`Actor::forget_memory_peak`], or since the start; none
    /// where the process is not ours.
    pub fn memory_peaks(&mut self) -> Vec<(Role, Bytes)> {
        self.running.as_mut().map(Roles::memory_peaks).unwrap_or_default()
    }

    /// Notes threads, cores, quota and what the run-time says of itself, where the process is ours and still there.
    pub fn look_at_processes(&mut self) {
        let Some(running) = &mut self.running else { return };
        self.facts.quota = running.quota().or(self.facts.quota);
        self.facts.memory = running.service.memory_limit();
        let said = |file: &Path| -> BTreeMap<String, String> {
            let said = runtime::said(file).into_iter();
            said.map(|(key, value)| (key, self.secrets.hide(&value).into_owned())).collect()
        };
        self.facts.runtime = Some(peer::seen(&mut running.service, said(&self.runtime)));
        if let Some((facts, peer)) = self.facts.peer.as_mut().zip(running.peer.as_mut()) {
            facts.runtime = Some(peer::seen(peer, said(&self.peer_runtime)));
        }
    }

    /// Starts the measure of peak memory anew.
    pub fn forget_memory_peak(&mut self) {
        if let Some(running) = &mut self.running {
            for pid in running.members() {
                // 5 resets the peak to what is resident now (proc(5)). Where the kernel refuses, the peak is the
                // trial's, which is an upper bound of the point's.
                let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
            }
        }
    }

    /// [`Actor::death`] of a process that has ended or is just about to.
    pub fn death_soon(&mut self) -> Option<Void> {
        // One that stands still in the middle of its end would seem alive.
        let _ = self.thaw();
        let start = monotonic_now();
        while self.running.as_mut()?.exit().is_none() && monotonic_now().since(start) < DEATH_SHOWS {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.death()
    }

    /// How the process ended and what it said last, where it is ours and has ended.
    pub fn death(&mut self) -> Option<Void> {
        let (role, exit) = self.running.as_mut()?.exit()?;
        // Of a variant with a peer the last two files are the peer's.
        let (own, peers) = self.logs.split_at(self.logs.len().min(2));
        let (logs, whose): (&[Printed], _) = match role {
            Role::Service => (own, ""),
            Role::Peer => (peers, "the peer of "),
            Role::Layer(_) => (&[][..], "a layer of "),
        };
        let starved = running_out(self.running.as_ref());
        let last = logs.iter().map(|log| last_lines(&log.path(), LINES)).find(|lines| !lines.is_empty());
        let said = excerpt(&last.unwrap_or_default());
        let text = format!("{whose}`{}` ended with {exit}{}", self.name, self.secrets.hide(&said));
        Some(match starved {
            Some(facts) => Void::OutOfMemory(format!("{text}; {}", in_words(facts))),
            None => Void::ServiceDied(text),
        })
    }

    /// Ends the process as the contract says, and then the network that it was in.
    pub fn stop(self) {
        if let Some(running) = self.running {
            running.stop();
        }
        let folder = self.site.as_ref().map(|site| site.variant().folder.clone());
        drop(self.site);
        for file in folder.iter().flat_map(|folder| layer_files(folder)) {
            if self.secrets.hide_file(&file).is_err() {
                let _ = std::fs::remove_file(&file);
            }
        }
        for log in &self.logs {
            // What cannot be written anew is not kept.
            let _ = log.keep(&self.secrets);
        }
        for said in [&self.runtime, &self.peer_runtime] {
            if said.exists() && self.secrets.hide_file(said).is_err() {
                let _ = std::fs::remove_file(said);
            }
        }
    }
}

/// Of the cores of services those that a variant may use, with its peer and the programs of its layers: the first so many.
pub(crate) fn allowed_cores(cores: &[CoreId], limits: Limits) -> &[CoreId] {
    limits.cores.and_then(|count| cores.get(..count as usize)).unwrap_or(cores)
}

/// The limit of memory at which something of a variant was killed.
fn running_out(running: Option<&Roles>) -> Option<MemoryFacts> {
    running?.service.memory_limit().filter(|facts| facts.killed > 0)
}

/// A limit of memory that killed.
fn in_words(facts: MemoryFacts) -> String {
    let peak = facts.peak.map(|peak| format!(", and it held {peak} at most")).unwrap_or_default();
    format!("its limit is {} of memory{peak}", facts.limit)
}

/// Configurations and logs of the programs of a variant's layers, each of which has a folder in this one. A container's
/// configuration holds its environment.
fn layer_files(folder: &Path) -> Vec<PathBuf> {
    let within = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = within(folder).flat_map(|program| within(&program.path()).collect::<Vec<_>>());
    files.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}

/// Looks a variant's service up and says why it cannot be used here.
pub(crate) fn find_service(
    variant: &Variant,
    workload: &WorkloadSpec,
    catalog: &Catalog,
) -> Result<Service, String> {
    let Target::Service { name } = &variant.target else { return Err("not a service".to_owned()) };
    let service = catalog.get(name).map_err(|error| error.to_string())?;
    let protocol = variant.protocol.name();
    let offered = match workload {
        WorkloadSpec::Pingpong(_) if variant.peer.is_some() => service.offers("ping", protocol),
        WorkloadSpec::Pingpong(_) => service.offers("pingpong", protocol),
        // The user's own requests may ask whatever the service has.
        _ => service.speaks(protocol),
    };
    offered.map_err(|error| error.to_string())?;
    if variant.tls.is_some() {
        service.offers_tls().map_err(|error| error.to_string())?;
    }
    service.probe().map_err(|error| error.to_string())?;
    Ok(service)
}
