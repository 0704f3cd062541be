//! A whole run: what it needs is checked and prepared, then it is carried out; or an interrupted one is gone on with.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};
use weighbridge_judge as judge;
use weighbridge_judge::steer::{BlockRule, Budget};
use weighbridge_lab::cleanup::guardian::GuardianError;
use weighbridge_lab::cleanup::registry::RegistryError;
use weighbridge_lab::cleanup::tracker::CleanupTrackerError;
use weighbridge_lab::host::cores::{CoreError, CoreLayout};
use weighbridge_lab::host::lanes::Lanes;
use weighbridge_lab::host::memory_total;
use weighbridge_lab::host::resource_limits::ResourceLimitError;
use weighbridge_lab::service::catalog::{Catalog, CatalogError};
use weighbridge_model::event::TimedEvent;
use weighbridge_model::experiment::{Experiment, Target, Variant};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::idle::Idle;
use weighbridge_model::plan::Batches;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Detail, Summary};
use weighbridge_store::scrub::Secrets;
use weighbridge_store::{ReadError, RunFolder, RunWriter, UtcTime, WriteError};
use weighbridge_workload::{Address, Given, GrpcError, UrlScheme, Workload, WorkloadError};

use crate::actor::ActorError;
use crate::batch::{self, Party, whole_plan};
use crate::block::BlockError;
use crate::client::ClientError;
use crate::control::Control;
use crate::course::{Shop, measure};
use crate::environment;
use crate::failures;
use crate::ground::{self, GroundError};
use crate::hook::HookError;
use crate::idle::IdleCores;
use crate::names::{self, NameError};
use crate::prepared::prepare;
use crate::room;
use crate::seating::Seating;
use crate::shape::{self, Shape, ShapeError};

/// Open load above this against an address that is neither loopback nor private must be allowed explicitly.
pub const REMOTE_RATE: f64 = 1_000.0;

/// How a run is done, beside the experiment.
#[derive(Debug, Clone)]
pub struct Options {
    /// Folder for run folders.
    pub out: PathBuf,
    /// Label the result quick.
    pub quick: bool,
    /// Whether the budget is measured time only (`weigh load -d`).
    pub measured_budget: bool,
    /// Allow high rates against addresses that are neither loopback nor private.
    pub allow_remote: bool,
    /// The program and hidden verb that stand guard.
    pub guardian: (PathBuf, String),
    /// Folder of the experiment file, where services are sought first.
    pub experiment_folder: Option<PathBuf>,
    /// Where connections of URL variants go instead of their own address.
    pub connect_to: Option<(String, u16)>,
    /// For calibration only: the variant whose replies the generator holds back, and by how much.
    pub hold_back: Option<(VariantId, Nanoseconds)>,
    /// For tests only: the cores of a duet, instead of those that the machine has for one.
    pub lanes: Option<Lanes>,
    /// Folder of the calibrations of hosts, which summaries quote; `None` where there is none.
    pub calibrations: Option<PathBuf>,
    /// What the user asks meanwhile.
    pub control: Control,
}

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// Verdicts.
    pub summary: Summary,
    /// What charts draw.
    pub detail: Detail,
    /// The host and its tools.
    pub environment: Value,
    /// The folder.
    pub folder: RunFolder,
}

/// Why a run did not finish.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user asked to stop; whole blocks are kept.
    #[error("interrupted; {}, go on with `weigh run --resume {}`", kept(*.blocks), folder.display())]
    Interrupted {
        /// The run folder.
        folder: PathBuf,
        /// Whole blocks kept.
        blocks: usize,
    },
    /// The user asked to stop while services were looked up and built.
    #[error("interrupted before anything was measured")]
    InterruptedEarly,
    /// The run failed, and whole blocks are kept.
    #[error("{cause}; {}, go on with `weigh run --resume {}`", kept(*.blocks), folder.display())]
    Cut {
        /// What went wrong.
        cause: Box<RunError>,
        /// The run folder.
        folder: PathBuf,
        /// Whole blocks kept.
        blocks: usize,
    },
    /// A hook failed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// A revision cannot be had, or a program not be built.
    #[error(transparent)]
    Ground(GroundError),
    /// A request cannot be rendered.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The load cannot be made, or not in windows.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// A block could not be measured.
    #[error(transparent)]
    Block(BlockError),
    /// A variant cannot be prepared.
    #[error(transparent)]
    Actor(#[from] ActorError),
    /// No variant can run here.
    #[error("no variant can run here: {0}")]
    NothingLeft(String),
    /// A service is in no catalogue.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no catalogue of services.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The rate needs permission.
    #[error(
        "variant `{variant}`: {rate}/s against `{host}`, which is neither loopback nor private; add `--allow-remote` if that server is yours"
    )]
    Remote {
        /// The variant.
        variant: String,
        /// The host.
        host: String,
        /// The rate.
        rate: f64,
    },
    /// A limit that is none.
    #[error(
        "variant `{variant}`: `{key} = {limit}` is more than the {all} of this machine that services may use; give it less, or leave `{key}` out"
    )]
    MoreThanAll {
        /// The variant.
        variant: String,
        /// What is limited.
        key: &'static str,
        /// Its limit as it is written.
        limit: String,
        /// What there is, in words.
        all: String,
    },
    /// Two variants cannot run at the same time here.
    #[error(
        "`plan.pairing`: `duet` needs 4 cores, two for services and two for their clients, and `weigh` may use {cores} here; use `windows`, which shares the host's drift too, or a host with more cores"
    )]
    FewCores {
        /// Cores that there are.
        cores: usize,
    },
    /// One of two that were to run at the same time cannot run here.
    #[error(
        "`plan.pairing`: `duet` is of two variants, and not both can run here: {0}; use `windows` for those that can"
    )]
    Alone(String),
    /// This host has no room for so many connections.
    #[error(transparent)]
    Room(#[from] ResourceLimitError),
    /// The machine's cores could not be found out.
    #[error(transparent)]
    Cores(#[from] CoreError),
    /// The generator could not be started.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The guardian could not be started.
    #[error(transparent)]
    Guardian(#[from] GuardianError),
    /// The registry could not be written.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Something that was started could not be released.
    #[error(transparent)]
    CleanupTracker(#[from] CleanupTrackerError),
    /// The run folder could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The run folder could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The folder of the services' output could not be made.
    #[error("`{}` cannot be made: {source}; free space or change `--out`", path.display())]
    Logs {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Too many blocks were disturbed.
    #[error(
        "{void} blocks were thrown away and {used} count: {reason}; quiet the machine or mend the service"
    )]
    Disturbed {
        /// Blocks thrown away.
        void: u32,
        /// Blocks that count.
        used: u32,
        /// Why the last one was.
        reason: String,
    },
    /// The error said a secret: its words without it.
    #[error("{0}")]
    Hidden(String),
    /// The run cannot be continued as it was.
    #[error("run `{run}` cannot go on: {why}; start it anew")]
    NotResumable {
        /// The run folder.
        run: String,
        /// What differs.
        why: String,
    },
}

impl From<GroundError> for RunError {
    fn from(error: GroundError) -> Self {
        match error {
            GroundError::Interrupted => Self::InterruptedEarly,
            error => Self::Ground(error),
        }
    }
}

impl RunError {
    /// Whether the experiment itself is wrong, wherever it is run: a name that is in no catalogue.
    pub fn is_mistake(&self) -> bool {
        let unknown = |error: &NameError| matches!(*error.source, CatalogError::Unknown { .. });
        matches!(self, Self::Name(error) if unknown(error))
    }

    /// The error as it may be told.
    fn without(self, secrets: &Secrets) -> Self {
        if let Self::Interrupted { .. } | Self::InterruptedEarly = self {
            return self;
        }
        match secrets.hide(&self.to_string()) {
            Cow::Borrowed(_) => self,
            Cow::Owned(text) => Self::Hidden(text),
        }
    }
}

fn kept(blocks: usize) -> String {
    match blocks {
        0 => "no block was whole yet".to_owned(),
        1 => "1 whole block is kept".to_owned(),
        blocks => format!("{blocks} whole blocks are kept"),
    }
}

/// Looks for mistakes that can be seen without starting anything: a service that is in no catalogue, a rate that needs
/// permission, a trace that cannot be read, a value that the environment lacks, a request that cannot be sent.
///
/// # Errors
/// [`RunError`], naming the first mistake.
pub fn check(experiment: &Experiment, options: &Options) -> Result<(), RunError> {
    let shapes = shape::shapes(&mut experiment.clone(), options.experiment_folder.as_deref())?;
    shape::check_windows(experiment, &shapes)?;
    check_remote(experiment, &shapes, options.allow_remote)?;
    room::check(experiment, options.connect_to.as_ref())?;
    check_limits(experiment, &Seating::detect(experiment, options)?)?;
    names::check(experiment, options.experiment_folder.as_deref())?;
    ground::revisions(experiment)?;
    // Where a request goes to makes no difference to whether it can be rendered.
    let anywhere =
        Address { authority: "localhost".to_owned(), base: "/".to_owned(), scheme: UrlScheme::default() };
    let set = |name: &str| std::env::var(name).ok();
    for variant in &experiment.variants {
        crate::actor::environment(variant)?;
        if let Some(peer) = &variant.peer {
            crate::actor::lookup(&variant.name, &peer.env)?;
        }
        crate::actor::secured(variant)?;
        for (point, shape) in experiment.points.iter().zip(&shapes) {
            let protocol = variant.protocol;
            let given = Given { environment: &set, rows: shape.rows(), extra: &[] };
            let asked = point.workload.asked_of(variant);
            match Workload::with_rows(&asked, &point.load, protocol, &anywhere, given) {
                // A server that has not been started cannot have been asked for its descriptors.
                Err(WorkloadError::Grpc(error)) if *error == GrpcError::Unreflected => {}
                bound => drop(bound?),
            }
        }
    }
    Ok(())
}

/// Carries out an experiment. `sink` sees every event as it happens.
///
/// # Errors
/// [`RunError`]; whole blocks measured before it are in the run folder.
pub fn run(
    experiment: Experiment,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    let secrets = secrets_of(&experiment);
    carried_out(experiment, options, sink).map_err(|error| error.without(&secrets))
}

fn carried_out(
    experiment: Experiment,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    check(&experiment, options)?;
    let mut prepared = prepare(experiment, options, sink)?;
    let started = utc_now();
    let mut writer = RunWriter::create(&options.out, &prepared.experiment.title, started)?;
    let mut facts = prepared.write_down(&writer, options)?;
    let logs = writer.folder().path().join("logs");
    prepared
        .grounds
        .keep_logs(&logs, &prepared.secrets)
        .map_err(|source| RunError::Logs { path: logs.clone(), source })?;
    let measured = loop {
        match measure(&prepared, options, (&mut writer, started, facts), Vec::new(), sink) {
            // Before a block is kept nothing hangs on which variants there are.
            Err(RunError::Block(BlockError::Actor(ActorError::Layer { variant, source })))
                if writer.folder().load_blocks().is_ok_and(|blocks| blocks.is_empty()) =>
            {
                let event =
                    prepared.leave_out(&variant, &format!("its layers could not be put in: {source}"))?;
                let timed = TimedEvent { at: Nanoseconds::ZERO, event };
                sink(&timed);
                writer.append_event(&timed)?;
                facts = prepared.write_down(&writer, options)?;
            }
            other => break other,
        }
    };
    // A layer that was not laid to its end was not taken down by its variant.
    hide_in_logs(&logs, &prepared.secrets);
    measured
}

/// Goes on with an interrupted run.
///
/// # Errors
/// [`RunError::NotResumable`] where boot, host, a service or this program changed; otherwise as [`run`].
pub fn resume(
    folder: &Path,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    let known = RunFolder::open(folder).ok().and_then(|folder| folder.experiment().ok());
    let known = known.and_then(|text| Experiment::parse("experiment.toml", &text).ok());
    let secrets = known.map(|experiment| secrets_of(&experiment)).unwrap_or_default();
    taken_up(folder, options, (sink, &secrets)).map_err(|error| error.without(&secrets))
}

fn taken_up(
    folder: &Path,
    options: &Options,
    (sink, secrets): (&mut dyn FnMut(&TimedEvent), &Secrets),
) -> Result<Finished, RunError> {
    let mut writer = RunWriter::resume(folder)?;
    hide_in_logs(&folder.join("logs"), secrets);
    let refused = |why: String| RunError::NotResumable { run: folder.display().to_string(), why };
    let text = writer.folder().experiment()?;
    if text.contains("<redacted sha256:") {
        return Err(refused("its experiment holds values that were not stored".to_owned()));
    }
    let experiment =
        Experiment::parse("experiment.toml", &text).map_err(|error| refused(error.to_string()))?;
    let stored = writer.folder().environment()?;
    let plan = writer.folder().plan()?;
    let options = resumed_options(&plan, options);
    let names: Vec<_> = experiment.variants.iter().map(|variant| variant.name.clone()).collect();
    let mut prepared = prepare(experiment, &options, sink)?;
    prepared.division = serde_json::from_value(plan["division"].clone()).unwrap_or_default();
    if prepared.experiment.variants.len() != names.len() {
        return Err(refused("a variant is not available any more".to_owned()));
    }
    prepared.batches = batch::stored(&plan, names.len())
        .ok_or_else(|| refused("the batches of its plan are not those of its variants".to_owned()))?;
    let mut facts = environment::environment(
        &prepared.experiment,
        &prepared.recipes,
        options.experiment_folder.as_deref(),
        prepared.idle.wait(),
    );
    prepared.secrets.hide_json(&mut facts);
    if let Some(why) = environment::changed(&stored, &facts) {
        return Err(refused(why));
    }
    writer.discard_incomplete()?;
    let done: Vec<TrialRecord> = writer.folder().load_blocks()?.into_iter().flatten().collect();
    let started = writer.folder().started();
    measure(&prepared, &options, (&mut writer, started, facts), done, sink)
}

/// Hides secrets in logs, and in the configurations in folders beside them, that a run which ended before its time left as
/// they were written. What cannot be written anew is not kept.
fn hide_in_logs(logs: &Path, secrets: &Secrets) {
    let Ok(entries) = std::fs::read_dir(logs) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => hide_in_logs(&path, secrets),
            Ok(kind) if kind.is_file() && secrets.hide_file(&path).is_err() => {
                let _ = std::fs::remove_file(&path);
            }
            _ => {}
        }
    }
}

/// The options under which the run was begun.
fn resumed_options(plan: &Value, options: &Options) -> Options {
    let connect_to = &plan["connect_to"];
    let port = connect_to["port"].as_u64().and_then(|port| u16::try_from(port).ok());
    Options {
        quick: plan["quick"].as_bool().unwrap_or(false),
        measured_budget: plan["measured_budget"].as_bool().unwrap_or(false),
        experiment_folder: plan["experiment_folder"].as_str().map(PathBuf::from),
        connect_to: connect_to["host"].as_str().map(str::to_owned).zip(port),
        ..options.clone()
    }
}

/// Starts every variant once, asks everything and compares the answers. Returns the number of requests compared.
///
/// # Errors
/// [`RunError`] where a variant does not come up, answers wrongly, or differently from another.
pub fn verify(
    experiment: Experiment,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<usize, RunError> {
    let secrets = secrets_of(&experiment);
    verified(experiment, options, sink).map_err(|error| error.without(&secrets))
}

fn verified(
    experiment: Experiment,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<usize, RunError> {
    check(&experiment, options)?;
    let mut prepared = prepare(experiment, options, sink)?;
    room::make(&prepared.experiment)?;
    // Nothing is measured, so that it makes no difference who sits where.
    let seating = Seating::One(CoreLayout::detect()?);
    let logs = std::env::temp_dir().join(format!("weigh-verify-{}", std::process::id()));
    let secrets = prepared.secrets.clone();
    // Nothing is measured here either, so idle cores wait as they like.
    let idle = IdleCores::asking(Idle::Host, Vec::new());
    let shop = Shop::open("verify", &prepared.recipes, options, &seating, (&logs, &secrets), &idle)?;
    let plan = &prepared.experiment.plan;
    let rule = BlockRule {
        blocks: judge::Blocks { min: 1, max: 1 },
        until: None,
        budget: Budget::Whole(plan.budget),
    };
    let outcome = loop {
        let parties = Party::all(&prepared.experiment, &prepared.recipes, &prepared.batches);
        let of = (&prepared.experiment, &prepared.shapes[..]);
        match shop.crew(of, &parties, (options, rule), |_| None).verify() {
            Err(BlockError::Actor(ActorError::Layer { variant, source })) => {
                let event =
                    prepared.leave_out(&variant, &format!("its layers could not be put in: {source}"))?;
                sink(&TimedEvent { at: Nanoseconds::ZERO, event });
            }
            other => break other,
        }
    };
    shop.close()?;
    // Kept where a service failed: its output says why.
    if matches!(outcome, Ok(_) | Err(BlockError::Interrupted)) {
        let _ = std::fs::remove_dir_all(&logs);
    }
    outcome.map_err(|error| match error {
        BlockError::Interrupted => RunError::InterruptedEarly,
        error => RunError::Block(error),
    })
}

/// What an experiment was given that must not be shown.
pub(crate) fn secrets_of(experiment: &Experiment) -> Secrets {
    Secrets::new(failures::secrets_of(experiment, &|name| std::env::var(name).ok()))
}

/// The catalogue for an experiment in this folder.
///
/// # Errors
/// Where there is none.
pub fn find_catalog(experiment_folder: Option<&Path>) -> Result<Catalog, CatalogError> {
    let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Catalog::find(experiment_folder, &current, std::env::var_os("WEIGH_SERVICES").as_deref())
}

/// So many cores, in words.
pub(crate) fn words_of(cores: usize) -> String {
    if cores == 1 { "one core".to_owned() } else { format!("{cores} cores") }
}

/// A limit above what services may use would be kept by the cores, and not be what the experiment says.
fn check_limits(experiment: &Experiment, seating: &Seating) -> Result<(), RunError> {
    let cores = seating.usual().service().len();
    let words = words_of(cores);
    let whole = memory_total();
    for Variant { name, limits, .. } in &experiment.variants {
        let time = limits.cpu.filter(|limit| limit.cores().get() > cores as f64);
        let memory = limits.memory.zip(whole).filter(|(limit, whole)| limit > whole);
        let too_much =
            time.map(|limit| ("cpu", format!("\"{limit}\""), words.clone()))
                .or(memory
                    .map(|(limit, whole)| ("memory", format!("\"{limit}\""), format!("{whole} of memory"))));
        if let Some((key, limit, all)) = too_much {
            return Err(RunError::MoreThanAll { variant: name.clone(), key, limit, all });
        }
    }
    Ok(())
}

fn check_remote(experiment: &Experiment, shapes: &[Shape], allowed: bool) -> Result<(), RunError> {
    for shape in shapes {
        let Some(rate) = shape.peak_rate() else { continue };
        for variant in &experiment.variants {
            let Target::Url(url) = &variant.target else { continue };
            if variant.unix.is_none()
                && rate.get() > REMOTE_RATE
                && !allowed
                && is_public(&url.host, url.port)
            {
                let (variant, host) = (variant.name.clone(), url.host.clone());
                return Err(RunError::Remote { variant, host, rate: rate.get() });
            }
        }
    }
    Ok(())
}

/// Whether any address of the host is neither loopback, private (RFC 1918, RFC 4193) nor link-local. A host that
/// cannot be resolved is reported elsewhere.
pub fn is_public(host: &str, port: u16) -> bool {
    use std::net::IpAddr;
    let public = |address: IpAddr| match address {
        IpAddr::V4(a) => !(a.is_loopback() || a.is_private() || a.is_link_local() || a.is_unspecified()),
        IpAddr::V6(a) => {
            !(a.is_loopback() || a.is_unique_local() || a.is_unicast_link_local() || a.is_unspecified())
        }
    };
    weighbridge_load::dial::resolve(host, port)
        .is_ok_and(|addresses| addresses.iter().any(|address| public(address.ip())))
}

/// The batches that an experiment asks for, before anything is known of memory.
pub fn batches(experiment: &Experiment) -> Batches {
    Batches::even(experiment.variants.len(), experiment.plan.together as usize)
}

/// One batch of a block with its orders, by the variants' numbers in the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BatchPlan {
    /// Its number.
    pub batch: u32,
    /// Its variants in the order they are started.
    pub starts: Vec<VariantId>,
    /// Its variants in the order they are connected to, at every point.
    pub connects: Vec<VariantId>,
    /// Points in the order they are measured.
    pub points: Vec<PointId>,
    /// Of each point, by its number: the variants of the first four rounds in the order of their windows.
    pub first_rounds_of_each_point: Vec<Vec<Vec<VariantId>>>,
    /// Of each point: the variants in the order in which they would run one after another. Only then have they stretches
    /// of their own; elsewhere they may turn out to be needed.
    pub stretches_of_each_point: Vec<Vec<VariantId>>,
}

/// The first block: its batches in the order they are carried out.
pub fn first_block(experiment: &Experiment, batches: &Batches) -> Vec<BatchPlan> {
    let whole = whole_plan(experiment);
    let members: Vec<&[VariantId]> = batches.iter().collect();
    let of_batch = |batch: u32| {
        let members = members[batch as usize];
        let plan = if batches.count() > 1 { whole.of_batch(batch, members.len()) } else { whole };
        let placed = |ids: Vec<VariantId>| ids.iter().map(|id| members[id.index()]).collect::<Vec<_>>();
        let rounds = |point| (0..4).map(|round| placed(plan.round(0, point, round))).collect();
        let order = plan.block(0);
        BatchPlan {
            batch,
            starts: placed(order.starts),
            connects: placed(order.connects),
            points: order.points,
            first_rounds_of_each_point: experiment.point_ids().map(rounds).collect(),
            stretches_of_each_point: experiment
                .point_ids()
                .map(|point| placed(plan.stretches(0, point)))
                .collect(),
        }
    };
    whole.batch_order(0, batches.count()).into_iter().map(of_batch).collect()
}

/// `plan.json`: the seeds, the rules, the batches and the first block.
pub fn plan_value(experiment: &Experiment, options: &Options, batches: &Batches) -> Value {
    let names: Vec<_> = experiment.variants.iter().map(|variant| variant.name.as_str()).collect();
    json!({
        "rules": experiment.plan,
        "quick": options.quick,
        "measured_budget": options.measured_budget,
        "experiment_folder": options.experiment_folder,
        "connect_to": options.connect_to.as_ref().map(|(host, port)| json!({ "host": host, "port": port })),
        "variants": names,
        "batches": batches,
        "first_block": first_block(experiment, batches),
    })
}

/// The wall clock; before 1970 it is taken for 1970.
pub fn utc_now() -> UtcTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    UtcTime::from_unix_ns(since.as_nanos() as u64)
}
