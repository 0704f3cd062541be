//! Prepares a run: builds services, leaves out variants that cannot run here, and records all of it.

pub(crate) mod checked;
pub(crate) mod connections;
pub(crate) mod cores;
pub(crate) mod division;
pub(crate) mod environment;
pub(crate) mod error;
pub(crate) mod forecast;
pub(crate) mod heaps;
pub(crate) mod idle;
pub(crate) mod launch_spec;
pub(crate) mod limits;
pub(crate) mod plan;
pub(crate) mod programs;
pub(crate) mod registry;
pub(crate) mod remote;
pub(crate) mod replay;
pub(crate) mod rows;
pub(crate) mod script;
pub(crate) mod secrets;
pub(crate) mod services;
pub(crate) mod shapes;
pub(crate) mod sources;

use weighbridge_judge::Absent;
use weighbridge_lab::layers;
use weighbridge_lab::service::Service;
use weighbridge_lab::service::catalog::Catalog;
use weighbridge_lab::service::postgres::Postgres;
use weighbridge_load::dial::Endpoint;
use weighbridge_model::environment::Environment;
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::experiment::{Experiment, Target, Variant, WorkloadSpec};
use weighbridge_model::idle::Idle;
use weighbridge_model::pairing::PairingChoice;
use weighbridge_model::plan::{Batches, Division, PlanFile, RunPlan};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_store::scrub::Secrets;
use weighbridge_store::{RunWriter, WriteError};

use crate::control::Control;
use crate::options::Options;
use crate::with_variant::with_variant;
use checked::Checked;
use cores::CorePlacement;
use division::advised_division;
use error::PrepareError;
use idle::IdleCores;
use launch_spec::{LaunchSpec, Services};
use plan::{batches, run_plan};
use services::{find_peer, find_service, peer_reason};
use shapes::Shape;
use sources::ProgramSources;

/// An experiment whose variants can all be started.
pub(crate) struct Prepared {
    pub experiment: Experiment,
    pub shapes: Vec<Shape>,
    pub placement: CorePlacement,
    pub launch_specs: Vec<LaunchSpec>,
    /// Present where a variant has a server of it.
    pub postgres: Option<Postgres>,
    /// Hidden in everything that is stored or displayed.
    pub secrets: Secrets,
    pub batches: Batches,
    pub unavailable: Vec<Absent>,
    /// The number of blocks that an earlier run advises, in place of the plan's fewest.
    pub division: Option<Division>,
    /// Worktrees and builds of programs, which are removed with this value.
    pub sources: ProgramSources,
    pub idle: IdleCores,
}

impl Prepared {
    pub fn facts(&self, options: &Options) -> Environment {
        let folder = options.experiment_folder.as_deref();
        let facts = environment::environment(self, folder);
        environment::without(&self.secrets, facts)
    }

    pub fn raise_limits(&self) -> Result<(), PrepareError> {
        Ok(connections::raise_limit(&self.experiment)?)
    }

    pub fn foreign_addresses(&self) -> Vec<Endpoint> {
        self.launch_specs.iter().flat_map(LaunchSpec::addresses).cloned().collect()
    }

    /// Writes the experiment, the environment and the plan; returns the environment.
    pub fn write_files(&mut self, writer: &RunWriter, options: &Options) -> Result<Environment, WriteError> {
        let text = secrets::redacted(&self.experiment).to_toml();
        let facts = self.facts(options);
        self.division = advised_division(&options.out, &text, &facts, &self.experiment.plan);
        let plan = RunPlan {
            division: Some(self.division.clone()),
            ..run_plan(&self.experiment, options, &self.batches)
        };
        writer.write_experiment(&text)?;
        writer.write_environment(&facts)?;
        writer.write_plan(&PlanFile::Measured(Box::new(plan)))?;
        Ok(facts)
    }

    /// Leaves out a variant that turned out not to run here, and returns the event that reports it. Fails
    /// where too few are left.
    pub fn leave_out(&mut self, variant: &str, reason: &str) -> Result<Event, PrepareError> {
        let reason = self.secrets.hide(reason).into_owned();
        if let Some(at) = self.experiment.variants.iter().position(|own| own.name == variant) {
            let variant = self.experiment.variants.remove(at);
            self.launch_specs.remove(at);
            self.unavailable.push(Absent::new(&variant, reason.clone()));
        }
        check_enough(&self.experiment, &self.unavailable)?;
        self.batches = batches(&self.experiment);
        Ok(Event::Unavailable { variant: variant.to_owned(), reason })
    }
}

fn check_enough(experiment: &Experiment, unavailable: &[Absent]) -> Result<(), PrepareError> {
    if experiment.variants.is_empty() {
        return Err(PrepareError::NothingLeft(reasons(unavailable)));
    }
    if experiment.plan.pairing == PairingChoice::Duet && !unavailable.is_empty() {
        return Err(PrepareError::Alone(reasons(unavailable)));
    }
    Ok(())
}

pub(crate) fn prepare(
    checked: Checked,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Prepared, PrepareError> {
    heaps::check_known(&checked.experiment)?;
    let postgres = find_postgres(&checked.experiment)?;
    let mut say = |event: Event| sink(&TimedEvent { at: Nanoseconds::ZERO, event });
    let Checked { mut experiment, shapes, placement, catalog, revisions, secrets, .. } = checked;
    let sources = ProgramSources::prepare(&mut experiment, &revisions, options, &mut say)?;
    let mut builder = Builder { control: &options.control, catalog, say: &mut say, built: Vec::new() };
    let host = HostChecks {
        cores: placement.usual().service().len(),
        no_poll: idle::cannot_be_compared(&experiment),
        idle: experiment.plan.idle,
    };
    let (mut launch_specs, mut kept, mut unavailable) = (Vec::new(), Vec::new(), Vec::new());
    for variant in std::mem::take(&mut experiment.variants) {
        if options.control.is_interrupted() {
            return Err(PrepareError::Interrupted);
        }
        let built = builder.services(&variant, &experiment.points[0].workload);
        let usable = built.and_then(|services| host.can_run(&variant).map(|()| services));
        match usable {
            Ok(services) => {
                let program_source = sources.get(&variant.name);
                launch_specs.push(LaunchSpec::new(&redirected(&variant, options), services, program_source)?);
                kept.push(variant);
            }
            Err(_) if options.control.is_interrupted() => return Err(PrepareError::Interrupted),
            Err(reason) => {
                (builder.say)(Event::Unavailable { variant: variant.name.clone(), reason: reason.clone() });
                unavailable.push(Absent::new(&variant, reason));
            }
        }
    }
    if options.control.is_interrupted() {
        return Err(PrepareError::Interrupted);
    }
    experiment.variants = kept;
    check_enough(&experiment, &unavailable)?;
    let batches = batches(&experiment);
    let idle = IdleCores::open(&experiment);
    let division = None;
    Ok(Prepared {
        experiment,
        shapes,
        placement,
        launch_specs,
        postgres,
        secrets,
        batches,
        unavailable,
        division,
        sources,
        idle,
    })
}

/// The PostgreSQL of this host, where a variant has a server of it.
fn find_postgres(experiment: &Experiment) -> Result<Option<Postgres>, PrepareError> {
    let has_server = |variant: &&Variant| variant.database.is_some_and(|one| one.postgres().is_some());
    match experiment.variants.iter().find(has_server) {
        Some(variant) => Ok(Some(Postgres::find().map_err(with_variant(&variant.name))?)),
        None => Ok(None),
    }
}

/// What a variant needs of this host besides its program.
struct HostChecks {
    cores: usize,
    /// Why idle cores cannot be kept awake for some variants and not for others.
    no_poll: Option<String>,
    /// How idle cores wait where a variant does not say.
    idle: Idle,
}

impl HostChecks {
    fn can_run(&self, variant: &Variant) -> Result<(), String> {
        limits::check_host(variant.limits, self.cores)?;
        let awake = variant.idle.unwrap_or(self.idle) == Idle::Polled;
        match self.no_poll.clone().filter(|_| awake) {
            Some(why) => Err(why),
            None => layers::probe(&variant.layers),
        }
    }
}

struct Builder<'a> {
    control: &'a Control,
    catalog: Option<Catalog>,
    say: &'a mut dyn FnMut(Event),
    built: Vec<Service>,
}

impl Builder<'_> {
    /// The services that a variant names, built; or the reason why one cannot be used here.
    fn services(&mut self, variant: &Variant, workload: &WorkloadSpec) -> Result<Services, String> {
        let (Target::Service { .. }, Some(catalog)) = (&variant.target, &self.catalog) else {
            return Ok(Services::default());
        };
        let own = find_service(variant, workload, catalog)?;
        let peer = variant.peer.as_ref().map(|peer| (peer, find_peer(peer, workload, catalog)));
        let own = self.build(own)?;
        let peer = peer.map(|(peer, found)| {
            found.and_then(|service| self.build(service).map_err(|why| peer_reason(peer, &why)))
        });
        Ok(Services { own: Some(own), peer: peer.transpose()? })
    }

    fn build(&mut self, service: Service) -> Result<Service, String> {
        if !self.built.contains(&service) {
            (self.say)(Event::Building { service: service.name().to_owned() });
            let log = std::env::temp_dir().join(format!(
                "weigh-build-{}-{}.log",
                service.name(),
                std::process::id()
            ));
            let is_cancelled = || self.control.is_interrupted();
            service.build(&log, &is_cancelled).map_err(|error| error.to_string())?;
            self.built.push(service.clone());
        }
        Ok(service)
    }
}

fn reasons(unavailable: &[Absent]) -> String {
    let reasons: Vec<_> = unavailable.iter().map(|one| format!("`{}`: {}", one.name, one.reason)).collect();
    reasons.join("; ")
}

/// The variant with its URL's host and port replaced by those of `--connect-to`; the path stays.
fn redirected(variant: &Variant, options: &Options) -> Variant {
    let mut variant = variant.clone();
    if let (Target::Url(url), Some((host, port))) = (&mut variant.target, &options.connect_to) {
        url.host.clone_from(host);
        url.port = *port;
    }
    variant
}
