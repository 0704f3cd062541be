//! Starts a variant for one block: its site and layers, its peer, its service.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use weighbridge_lab::host::cores::CoreId;
use weighbridge_lab::host::lanes::Lane;
use weighbridge_lab::host::memory_available;
use weighbridge_lab::layers::Site;
use weighbridge_lab::process::launch::{Lab, Launch, Ready};
use weighbridge_lab::process::{Running, Wrapping};
use weighbridge_lab::service::Service;
use weighbridge_lab::service::postgres::Template;
use weighbridge_lab::service::runtime;
use weighbridge_lab::service::state::StateFolder;
use weighbridge_model::experiment::{DATABASE_VARIABLE, Database, Program, Variant, WorkloadSpec};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{QuotaFacts, QuotaOrigin, ServiceFacts};
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::Address;

use crate::prepare::cores::CorePlacement;
use crate::prepare::launch_spec::{LaunchSpec, environment, secured};
use crate::prepare::sources::ProgramSource;
use crate::tls::{Secured, scheme};
use crate::variant::VariantError;
use crate::variant::data::DataFolders;
use crate::variant::database::StartedDatabase;
use crate::variant::direct::Direct;
use crate::variant::memory_watch::MemoryWatch;
use crate::variant::network::listen_at;
use crate::variant::output::OutputCapture;
use crate::variant::peer::StartedPeer;
use crate::variant::readiness::ready;
use crate::variant::roles::Roles;
use crate::variant::running::{OwnProcesses, RunningVariant, allowed_cores};

#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbering<'a> {
    pub batch: u32,
    /// The number in the run of each of its variants.
    pub members: &'a [VariantId],
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct VariantStart<'a> {
    pub block: u32,
    pub lane: Lane,
    /// Its number in the batch.
    pub id: VariantId,
    pub variant: &'a Variant,
    pub workload: &'a WorkloadSpec,
}

pub(crate) struct VariantLauncher<'a> {
    pub lab: &'a Lab,
    pub placement: &'a CorePlacement,
    pub logs: &'a Path,
    /// The workload's files for services.
    pub data: &'a DataFolders,
    /// What each server of PostgreSQL begins with.
    pub database: Option<&'a Template>,
    /// Hidden in logs and messages.
    pub secrets: &'a Secrets,
    pub freeze: bool,
    /// Of one client, at most.
    pub connections: u32,
    /// Present where there are several batches.
    pub numbering: Option<Numbering<'a>>,
    /// Present in the run's first block.
    pub watch: Option<MemoryWatch>,
}

struct Launched {
    service: Running,
    peer: Option<StartedPeer>,
    database: Option<StartedDatabase>,
    site: Site,
    /// Where the client connects.
    address: SocketAddr,
    logs: [OutputCapture; 2],
    runtime: PathBuf,
    /// The state of a service of the catalogue.
    state: Option<StateFolder>,
    secured: Secured,
}

impl VariantLauncher<'_> {
    pub fn start(
        &self,
        start: VariantStart<'_>,
        launch_spec: &LaunchSpec,
    ) -> Result<RunningVariant, VariantError> {
        let secured = secured(start.variant)?;
        let captures = || self.captures(start, ["err", "out"]);
        let (launch, logs) = match launch_spec {
            LaunchSpec::Url { address, addresses } => {
                return Ok(RunningVariant::external(start, address.clone(), addresses.clone(), secured));
            }
            LaunchSpec::Service { service, .. } => {
                let logs = captures()?;
                (service_launch(service, start.variant, start.workload, &logs), logs)
            }
            LaunchSpec::Command { program, program_source, .. } => {
                let ready = ready(program, start.variant, &secured)?;
                let logs = captures()?;
                (command_launch(program, program_source, ready, start, &logs), logs)
            }
        };
        let launched = self.launch(start, launch_spec, launch, logs, secured)?;
        self.check_memory(start.block, self.running(start, launch_spec, launched))
    }

    pub(crate) fn cores(&self, start: VariantStart<'_>) -> &[CoreId] {
        allowed_cores(self.placement.at(start.lane).service(), start.variant.limits)
    }

    fn launch(
        &self,
        start: VariantStart<'_>,
        launch_spec: &LaunchSpec,
        mut launch: Launch,
        logs: [OutputCapture; 2],
        secured: Secured,
    ) -> Result<Launched, VariantError> {
        let variant = start.variant;
        let runtime = self.runtime_file(start, "runtime");
        launch.name.clone_from(&variant.name);
        launch.cores = Some(self.cores(start).to_vec());
        launch.environment.extend(secured.environment());
        // Made before the site, so that it is removed after whatever runs there.
        let state = match launch_spec {
            LaunchSpec::Service { .. } => Some(self.state_folder(start, "")?),
            _ => None,
        };
        if let Some(state) = &state {
            launch.environment.push((runtime::VARIABLE.to_owned(), runtime.display().to_string()));
            launch.environment.push(state.variable());
        }
        // Of a relay, its peer reads them.
        let data = self.data.variable(variant).filter(|_| variant.peer.is_none());
        launch.environment.extend(data);
        // PostgreSQL is told by its server, once it has one.
        let embedded = variant.database.filter(|database| database.postgres().is_none());
        let told = |database: Database| (DATABASE_VARIABLE.to_owned(), database.engine().to_owned());
        launch.environment.extend(embedded.map(told));
        let mut site = self.site(start)?;
        listen_at(&mut launch, &site);
        let peer = match variant.peer.as_ref().zip(launch_spec.peer()) {
            Some((peer, launch_spec)) => Some(self.start_peer(start, peer, launch_spec, &site)?),
            None => None,
        };
        launch.environment.extend(peer.iter().flat_map(|peer| peer.variables(&site)));
        let server = variant.database.and_then(|database| database.postgres());
        let database = match self.database.zip(server) {
            Some((template, asked)) => Some(self.start_database(start, template, asked, &site)?),
            None => None,
        };
        launch.environment.extend(database.iter().map(StartedDatabase::variable));
        launch.environment.extend(environment(variant)?);
        let launched = self.launch_at(&mut site, variant, launch, &logs);
        let heap = variant.jvm.as_ref().and_then(|jvm| jvm.heap);
        let (service, address) = launched.map_err(|error| error.with_heap(heap))?;
        Ok(Launched { service, peer, database, site, address, logs, runtime, state, secured })
    }

    fn running(
        &self,
        start: VariantStart<'_>,
        launch_spec: &LaunchSpec,
        launched: Launched,
    ) -> RunningVariant {
        let Launched { mut service, peer, database, mut site, address, logs, runtime, state, secured } =
            launched;
        let (version, hash) = launch_spec.identity();
        let quota = service.quota();
        let mut logs = Vec::from(logs);
        let mut states = Vec::from_iter(state);
        let mut facts = ServiceFacts {
            version: version.map(str::to_owned),
            binary_sha256: hash.map(str::to_owned),
            start: Some(service.ready_after()),
            quota,
            ..ServiceFacts::default()
        };
        let direct = service.take_talk().map(Direct::new);
        let mut roles = Roles { service, peer: None, database: None, layers: site.take_programs() };
        let mut peer_runtime = None;
        if let Some(peer) = peer {
            logs.extend(peer.logs);
            states.push(peer.state);
            facts.peer = Some(Box::new(peer.facts));
            (roles.peer, peer_runtime) = (Some(peer.running), Some(peer.runtime));
        }
        let mut database_folder = None;
        if let Some(database) = database {
            logs.extend(database.logs);
            facts.database = Some(Box::new(database.facts));
            (roles.database, database_folder) = (Some(database.running), Some(database.folder));
        }
        RunningVariant {
            variant: start.id,
            name: start.variant.name.clone(),
            address: Address {
                authority: address.to_string(),
                base: "/".to_owned(),
                scheme: scheme(start.variant.tls.as_ref()),
            },
            addresses: vec![address.into()],
            facts,
            secured,
            period: self.period(launch_spec, start.variant, quota),
            warmup: launch_spec.warmup(),
            direct,
            own: Some(OwnProcesses {
                roles,
                site,
                may_freeze: self.freeze && launch_spec.is_freezable(),
                lane: start.lane,
                limits: start.variant.limits,
                logs,
                runtime,
                peer_runtime,
                states,
                database: database_folder,
                secrets: self.secrets.clone(),
            }),
        }
    }

    /// Stops the variant again where the first block shows that memory holds fewer at once.
    fn check_memory(&self, block: u32, mut running: RunningVariant) -> Result<RunningVariant, VariantError> {
        if let (0, Some(watch), Some(available)) = (block, &self.watch, memory_available()) {
            let peak = running.memory_peaks().into_iter().map(|(_, peak)| peak).sum();
            if let Err(crowded) = watch.started(peak, available) {
                running.stop();
                return Err(crowded);
            }
        }
        Ok(running)
    }

    fn period(
        &self,
        launch_spec: &LaunchSpec,
        variant: &Variant,
        quota: Option<QuotaFacts>,
    ) -> Option<Nanoseconds> {
        let found = quota.filter(|facts| self.binds(facts)).map(|facts| facts.quota.period);
        launch_spec.period_of(variant).max(found)
    }

    /// Whether a quota can slow a variant down. A quota set by somebody else may also apply to the generator,
    /// so it is harmless only if it leaves every core free.
    fn binds(&self, facts: &QuotaFacts) -> bool {
        let cores = self.placement.usual().service().len() + 1;
        facts.origin == QuotaOrigin::Experiment || facts.quota.cores().get() < cores as f64
    }
}

fn service_launch(
    service: &Service,
    variant: &Variant,
    workload: &WorkloadSpec,
    logs: &[OutputCapture; 2],
) -> Launch {
    let protocol = variant.protocol.name();
    // Preparation has already refused a service that offers nothing over the protocol.
    let first = || service.first_over(protocol).map_or("pingpong", |offer| &offer.name);
    let workload = workload.offered_as(variant).unwrap_or_else(first);
    let [stderr, stdout] = logs.each_ref().map(OutputCapture::path);
    let mut launch = service.launch(workload, protocol, &stdout, &stderr);
    if let Some(cache) = &variant.cache {
        service.set_cache(cache, &mut launch);
    }
    launch
}

fn command_launch(
    program: &Program,
    source: &ProgramSource,
    ready: Ready,
    start: VariantStart<'_>,
    logs: &[OutputCapture; 2],
) -> Launch {
    let VariantStart { variant, workload, .. } = start;
    let [stderr, stdout] = logs.each_ref().map(OutputCapture::path);
    // As a service is told; requests of the user's own have no name.
    let told = [("PROTOCOL", Some(variant.protocol.name())), ("WORKLOAD", workload.offered_as(variant))];
    let told = told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    Launch {
        name: variant.name.clone(),
        command: program.argv.clone(),
        environment: told.collect(),
        folder: source.folder.clone(),
        host: IpAddr::V4(Ipv4Addr::LOCALHOST),
        cores: None,
        stdout,
        stderr,
        ready,
        ready_timeout: program.ready_timeout,
        wrapping: Wrapping::None,
    }
}
