//! A whole run: prepare, blocks until the judge says stop, judge, store.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weighbridge_judge as judge;
use weighbridge_judge::steer::{BlockHistory, BlockRule, BlockStep, Budget, Stop};
use weighbridge_lab::catalog::{Catalog, CatalogError};
use weighbridge_lab::clock::monotonic_now;
use weighbridge_lab::cores::{CoreError, CoreLayout, pin_current_thread};
use weighbridge_lab::custody::CustodyError;
use weighbridge_lab::guardian::{Guardian, GuardianError};
use weighbridge_lab::launch::Lab;
use weighbridge_lab::registry::{self, Registry, RegistryError};
use weighbridge_lab::service::Service;
use weighbridge_model::event::{Event, Interim, TimedEvent};
use weighbridge_model::experiment::{Experiment, LoadModel, Target};
use weighbridge_model::plan::Plan;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{TrialRecord, VariantId};
use weighbridge_model::summary::{Detail, Summary};
use weighbridge_store::{Participant, ReadError, RunFolder, RunWriter, UtcTime, WriteError};

use crate::actor::{ActorError, Recipe, Stage, find_service};
use crate::block::{Bench, BlockError, BlockTimes, run_hook};
use crate::client::{Client, ClientError};
use crate::control::Control;
use crate::environment;
use crate::question::question;
use crate::single::client_core;

/// Open load above this against an address that is neither loopback nor private must be allowed explicitly.
const REMOTE_RATE: f64 = 1_000.0;

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
    #[error("interrupted with {blocks} whole blocks; go on with `weigh run --resume {}`", folder.display())]
    Interrupted {
        /// The run folder.
        folder: PathBuf,
        /// Whole blocks kept.
        blocks: usize,
    },
    /// A block could not be measured.
    #[error(transparent)]
    Block(BlockError),
    /// A variant cannot be prepared.
    #[error(transparent)]
    Actor(#[from] ActorError),
    /// No variant can run here.
    #[error("no variant can run here: {0}")]
    NothingLeft(String),
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
    Custody(#[from] CustodyError),
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
        "{void} blocks were thrown away and {used} count: {reason}; quiet the machine or mend the service, then run again"
    )]
    Disturbed {
        /// Blocks thrown away.
        void: u32,
        /// Blocks that count.
        used: u32,
        /// Why the last one was.
        reason: String,
    },
    /// The run cannot be continued as it was.
    #[error("run `{run}` cannot go on: {why}; start it anew")]
    NotResumable {
        /// The run folder.
        run: String,
        /// What differs.
        why: String,
    },
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
    check_remote(&experiment, options.allow_remote)?;
    let prepared = prepare(experiment, options, sink)?;
    let started = utc_now();
    let mut writer = RunWriter::create(&options.out, &prepared.experiment.title, started)?;
    writer.write_experiment(&environment::redacted(&prepared.experiment).to_toml())?;
    let facts = environment::environment(
        &prepared.experiment,
        &prepared.recipes,
        options.experiment_folder.as_deref(),
    );
    writer.write_environment(&facts)?;
    writer.write_plan(&plan_value(&prepared.experiment, options))?;
    measure(prepared, options, (&mut writer, started, facts), Vec::new(), sink)
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
    let mut writer = RunWriter::resume(folder)?;
    let refused = |why: String| RunError::NotResumable { run: folder.display().to_string(), why };
    let text = writer.folder().experiment()?;
    if text.contains("<redacted sha256:") {
        return Err(refused("its experiment holds values that were not stored".to_owned()));
    }
    let experiment =
        Experiment::parse("experiment.toml", &text).map_err(|error| refused(error.to_string()))?;
    let stored = writer.folder().environment()?;
    let plan = writer.folder().plan()?;
    let options = Options {
        quick: plan["quick"].as_bool().unwrap_or(false),
        measured_budget: plan["measured_budget"].as_bool().unwrap_or(false),
        ..options.clone()
    };
    let names: Vec<_> = experiment.variants.iter().map(|variant| variant.name.clone()).collect();
    let prepared = prepare(experiment, &options, sink)?;
    if prepared.experiment.variants.len() != names.len() {
        return Err(refused("a variant is not available any more".to_owned()));
    }
    let facts = environment::environment(
        &prepared.experiment,
        &prepared.recipes,
        options.experiment_folder.as_deref(),
    );
    if let Some(why) = environment::changed(&stored, &facts) {
        return Err(refused(why));
    }
    writer.discard_incomplete()?;
    let done: Vec<TrialRecord> = writer.folder().load_blocks()?.into_iter().flatten().collect();
    let started = writer.folder().started();
    measure(prepared, &options, (&mut writer, started, facts), done, sink)
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
    let prepared = prepare(experiment, options, sink)?;
    let cores = CoreLayout::detect()?;
    let logs = std::env::temp_dir().join(format!("weigh-verify-{}", std::process::id()));
    let shop = Shop::open("verify", &prepared.recipes, options, &cores, &logs)?;
    let plan = &prepared.experiment.plan;
    let rule = BlockRule {
        blocks: judge::Blocks { min: 1, max: 1 },
        until: None,
        budget: Budget::Whole(plan.budget),
    };
    let outcome = shop.bench(&prepared.experiment, &prepared.recipes, options, rule).verify();
    shop.close()?;
    // Kept where a service failed: its output says why.
    if outcome.is_ok() {
        let _ = std::fs::remove_dir_all(&logs);
    }
    outcome.map_err(RunError::Block)
}

/// An experiment with every variant ready to be started.
struct Prepared {
    experiment: Experiment,
    recipes: Vec<Recipe>,
    unavailable: Vec<(String, String)>,
}

/// Looks services up, builds them, and leaves out what cannot run here.
fn prepare(
    mut experiment: Experiment,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Prepared, RunError> {
    let mut say = |event: Event| sink(&TimedEvent { at: Nanoseconds::ZERO, event });
    let wants_catalog = experiment.variants.iter().any(|v| matches!(v.target, Target::Service { .. }));
    let catalog =
        if wants_catalog { Some(find_catalog(options.experiment_folder.as_deref())?) } else { None };
    let (mut recipes, mut unavailable, mut built) = (Vec::new(), Vec::new(), Vec::<Service>::new());
    let mut kept = Vec::new();
    for variant in std::mem::take(&mut experiment.variants) {
        let found = match (&variant.target, &catalog) {
            (Target::Service { name }, Some(catalog)) => {
                // A name that is in no catalogue is a mistake in the file, not a missing toolchain.
                catalog.get(name)?;
                find_service(&variant, &experiment.points[0].workload, catalog)
                    .and_then(|service| build(service, &mut built, &mut say))
                    .map(Some)
            }
            _ => Ok(None),
        };
        match found {
            Ok(service) => {
                recipes.push(Recipe::new(&redirected(&variant, options), service)?);
                kept.push(variant);
            }
            Err(reason) => {
                say(Event::Unavailable { variant: variant.name.clone(), reason: reason.clone() });
                unavailable.push((variant.name, reason));
            }
        }
    }
    if kept.is_empty() {
        let reasons: Vec<_> =
            unavailable.iter().map(|(name, reason)| format!("`{name}`: {reason}")).collect();
        return Err(RunError::NothingLeft(reasons.join("; ")));
    }
    experiment.variants = kept;
    Ok(Prepared { experiment, recipes, unavailable })
}

/// The variant with its URL's host and port replaced where `--connect-to` says so; the path stays.
fn redirected(
    variant: &weighbridge_model::experiment::Variant,
    options: &Options,
) -> weighbridge_model::experiment::Variant {
    let mut variant = variant.clone();
    if let (Target::Url(url), Some((host, port))) = (&mut variant.target, &options.connect_to) {
        url.host.clone_from(host);
        url.port = *port;
    }
    variant
}

/// The catalogue for an experiment in this folder.
///
/// # Errors
/// Where there is none.
pub fn find_catalog(experiment_folder: Option<&Path>) -> Result<Catalog, CatalogError> {
    let current = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    Catalog::find(experiment_folder, &current, std::env::var_os("WEIGH_SERVICES").as_deref())
}

fn build(service: Service, built: &mut Vec<Service>, say: &mut dyn FnMut(Event)) -> Result<Service, String> {
    if !built.contains(&service) {
        say(Event::Building { service: service.name().to_owned() });
        let log =
            std::env::temp_dir().join(format!("weigh-build-{}-{}.log", service.name(), std::process::id()));
        let outcome = service.build(&log).map_err(|error| error.to_string());
        if outcome.is_ok() {
            // Of interest only where the build failed.
            let _ = std::fs::remove_file(&log);
        }
        outcome?;
        built.push(service.clone());
    }
    Ok(service)
}

fn check_remote(experiment: &Experiment, allowed: bool) -> Result<(), RunError> {
    for point in &experiment.points {
        let LoadModel::Open { rate, .. } = point.load.model else { continue };
        for variant in &experiment.variants {
            let Target::Url(url) = &variant.target else { continue };
            if rate.get() > REMOTE_RATE && !allowed && is_public(&url.host, url.port) {
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

/// `plan.json`: the seeds, the rules and the first block.
pub fn plan_value(experiment: &Experiment, options: &Options) -> Value {
    let plan = Plan::new(experiment.plan.seed, experiment.variants.len(), experiment.points.len());
    let names: Vec<_> = experiment.variants.iter().map(|variant| variant.name.as_str()).collect();
    let rounds: Vec<_> = experiment
        .point_ids()
        .map(|point| (0..4).map(|round| plan.round(0, point, round)).collect::<Vec<_>>())
        .collect();
    json!({
        "rules": experiment.plan,
        "quick": options.quick,
        "measured_budget": options.measured_budget,
        "variants": names,
        "first_block": { "order": plan.block(0), "first_rounds_of_each_point": rounds },
    })
}

type Place<'a> = (&'a mut RunWriter, UtcTime, Value);

/// Blocks until the judge says stop, then the judgement.
fn measure(
    prepared: Prepared,
    options: &Options,
    (writer, started, facts): Place<'_>,
    done: Vec<TrialRecord>,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    let began = monotonic_now();
    let experiment = &prepared.experiment;
    let cores = CoreLayout::detect()?;
    // Services are pinned when they start; everything of ours stays off their cores.
    pin_current_thread(cores.client())?;
    let run = judge::Run {
        title: experiment.title.clone(),
        name: folder_name(writer.folder()),
        started: started.rfc3339(),
        quick: options.quick,
        unavailable: prepared.unavailable.clone(),
        ..judge::Run::default()
    };
    let mut course = Course {
        experiment,
        question: question(experiment, Some(&cores), run),
        trials: done,
        times: Vec::new(),
        began,
        writer,
        sink,
    };
    course.announce();
    let outcome = course.carry_out(&prepared.recipes, options, &cores);
    if let Some(command) = &experiment.hooks.cleanup
        && let Err(error) = run_hook("cleanup", command)
    {
        course.say(Event::Warning { text: error.to_string() })?;
    }
    match outcome {
        Err(RunError::Block(BlockError::Interrupted)) => Err(course.interrupted()),
        Err(error) => Err(error),
        Ok(()) => {
            let (summary, detail) = course.conclude()?;
            let folder = RunFolder::open(course.writer.folder().path())?;
            Ok(Finished { summary, detail, environment: facts, folder })
        }
    }
}

/// The wall clock; before 1970 it is taken for 1970.
fn utc_now() -> UtcTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    UtcTime::from_unix_ns(since.as_nanos() as u64)
}

fn folder_name(folder: &RunFolder) -> String {
    folder.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The lab and the generator, open for business.
struct Shop<'a> {
    lab: Lab,
    client: Client,
    cores: &'a CoreLayout,
    logs: &'a Path,
}

impl<'a> Shop<'a> {
    fn open(
        name: &str,
        recipes: &[Recipe],
        options: &Options,
        cores: &'a CoreLayout,
        logs: &'a Path,
    ) -> Result<Self, RunError> {
        let (program, verb) = &options.guardian;
        let ours = recipes.iter().any(Recipe::is_ours);
        let guardian = if ours { Some(Guardian::start(program, verb)?) } else { None };
        let registry = match registry::default_base().filter(|_| ours) {
            Some(base) => Some(Registry::create(&base, &format!("{name}-{}", std::process::id()))?),
            None => None,
        };
        let lab = Lab::new(name, guardian, registry);
        // A server of somebody else's may be bound to the core that would be ours.
        let theirs: Vec<_> = recipes.iter().flat_map(Recipe::addresses).copied().collect();
        let core = if theirs.is_empty() { Some(cores.client()) } else { client_core(&theirs, 1).0 };
        let client = Client::start(core, options.control.window.clone())?;
        std::fs::create_dir_all(logs).map_err(|source| RunError::Logs { path: logs.to_owned(), source })?;
        Ok(Self { lab, client, cores, logs })
    }

    fn bench<'b>(
        &'b self,
        experiment: &'b Experiment,
        recipes: &'b [Recipe],
        options: &'b Options,
        rule: BlockRule,
    ) -> Bench<'b> {
        let plan = &experiment.plan;
        Bench {
            experiment,
            plan: Plan::new(plan.seed, experiment.variants.len(), experiment.points.len()),
            recipes,
            stage: Stage { lab: &self.lab, cores: self.cores, logs: self.logs, freeze: plan.freeze },
            client: &self.client,
            control: &options.control,
            rule,
        }
    }

    fn close(self) -> Result<(), CustodyError> {
        drop(self.client);
        self.lab.close().map(drop)
    }
}

/// A run under way.
struct Course<'a> {
    experiment: &'a Experiment,
    question: judge::Question,
    trials: Vec<TrialRecord>,
    times: Vec<BlockTimes>,
    began: Timestamp,
    writer: &'a mut RunWriter,
    sink: &'a mut dyn FnMut(&TimedEvent),
}

impl Course<'_> {
    fn say(&mut self, event: Event) -> Result<(), RunError> {
        let timed = TimedEvent { at: monotonic_now().since(self.began), event };
        (self.sink)(&timed);
        Ok(self.writer.append_event(&timed)?)
    }

    fn announce(&mut self) {
        let plan = &self.experiment.plan;
        let event = Event::RunStarted {
            title: self.experiment.title.clone(),
            folder: self.writer.folder().path().display().to_string(),
            variants: self.experiment.variants.iter().map(|variant| variant.name.clone()).collect(),
            points: self.experiment.points.len(),
            blocks: (plan.blocks_min, plan.blocks_max),
            budget: plan.budget,
        };
        // A folder that cannot be written shows with the first block, before anything is lost.
        let _ = self.say(event);
    }

    fn carry_out(
        &mut self,
        recipes: &[Recipe],
        options: &Options,
        cores: &CoreLayout,
    ) -> Result<(), RunError> {
        let name = folder_name(self.writer.folder());
        let logs = self.writer.folder().path().join("logs");
        let shop = Shop::open(&name, recipes, options, cores, &logs)?;
        let plan = &self.experiment.plan;
        if let Some(command) = &self.experiment.hooks.prepare {
            run_hook("prepare", command).map_err(RunError::Block)?;
        }
        let budget =
            if options.measured_budget { Budget::Measured(plan.budget) } else { Budget::Whole(plan.budget) };
        let rule = BlockRule { blocks: self.question.blocks, until: plan.until, budget };
        let outcome = self.blocks(&shop.bench(self.experiment, recipes, options, rule));
        match (outcome, shop.close()) {
            (Ok(()), Err(error)) => self.say(Event::Warning { text: error.to_string() }),
            (outcome, _) => outcome,
        }
    }

    fn blocks(&mut self, bench: &Bench<'_>) -> Result<(), RunError> {
        loop {
            let logs = self.log_ratios();
            let (used, void, reason) = self.counts();
            let history = self.history(used, void, &logs);
            let of = match bench.rule.next(&history) {
                BlockStep::Run { of } => of,
                BlockStep::Stop(Stop::Void) => return Err(RunError::Disturbed { void, used, reason }),
                BlockStep::Stop(_) => return Ok(()),
            };
            let number = self.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
            self.say(Event::BlockStarted { block: number, of })?;
            let mut trouble = None;
            let result = bench.block(number, &history, &mut |event| {
                trouble = self.say(event).err().or(trouble.take());
            });
            let result = result.map_err(RunError::Block)?;
            if let Some(error) = trouble {
                return Err(error);
            }
            self.writer.write_block(&self.participants(), &result.trials)?;
            self.times.push(result.times);
            let void = self.counts().1;
            self.trials.extend(result.trials);
            match self.counts() {
                (_, now, reason) if now > void => self.say(Event::BlockVoid { block: number, reason })?,
                _ => {
                    let interim = self.interim();
                    self.say(Event::BlockEnded { block: number, interim, of })?;
                }
            }
        }
    }

    fn participants(&self) -> Vec<Participant> {
        let participant = |(variant, id): (&weighbridge_model::experiment::Variant, VariantId)| Participant {
            variant: id,
            name: variant.name.clone(),
        };
        self.experiment.variants.iter().zip(self.experiment.variant_ids()).map(participant).collect()
    }

    /// Blocks that count, blocks that do not, and why the last of these does not.
    fn counts(&self) -> (u32, u32, String) {
        let gathered = judge::gather::Gathered::new(&self.trials);
        let reason = gathered.void.last().map(|(_, reason)| reason.clone()).unwrap_or_default();
        (gathered.used.len() as u32, gathered.void.len() as u32, reason)
    }

    fn history<'h>(&self, used: u32, void: u32, log_ratios: &'h [Vec<f64>]) -> BlockHistory<'h> {
        // Of blocks before a resumption the times are not known; the blocks of this process stand for them.
        let known = self.times.len() as u64;
        let begun = u64::from(used + void);
        let scale = |sum: Nanoseconds| if known == 0 { Nanoseconds::ZERO } else { sum * begun / known };
        BlockHistory {
            used,
            void,
            log_ratios,
            overhead: scale(self.times.iter().map(|times| times.overhead).sum()),
            begun: begun as u32,
            measured: scale(self.times.iter().map(|times| times.measured).sum()),
            round: self.times.last().map(|times| times.round),
        }
    }

    fn log_ratios(&self) -> Vec<Vec<f64>> {
        let gathered = judge::gather::Gathered::new(&self.trials);
        let headlines = judge::estimate::headlines(&self.question, &gathered);
        headlines.iter().filter_map(|h| h.contrast.as_ref().ok().map(|c| c.log_ratios())).collect()
    }

    fn interim(&self) -> Vec<Interim> {
        let gathered = judge::gather::Gathered::new(&self.trials);
        let headlines = judge::estimate::headlines(&self.question, &gathered);
        let interim = |headline: &judge::estimate::Headline| {
            let contrast = headline.contrast.as_ref().ok()?;
            Some(Interim {
                variant: self.experiment.variants[headline.variant.index()].name.clone(),
                point: self.experiment.points[headline.point.index()].label.clone(),
                change: contrast.ratio().point - 1.0,
                half_width: contrast.half_width(),
            })
        };
        headlines.iter().filter_map(interim).collect()
    }

    fn interrupted(&mut self) -> RunError {
        let blocks = self.counts().0 as usize;
        let folder = self.writer.folder().path().to_owned();
        let event = Event::Interrupted { folder: folder.display().to_string(), blocks: blocks as u32 };
        // The error says the same, should the folder not be writable.
        let _ = self.say(event);
        RunError::Interrupted { folder, blocks }
    }

    fn conclude(&mut self) -> Result<(Summary, Detail), RunError> {
        self.question.run.took = monotonic_now().since(self.began);
        let summary = judge::summarise(&self.question, &self.trials);
        let detail = judge::detail(&self.question, &self.trials);
        self.writer.write_summary(&summary)?;
        self.writer.write_detail(&detail)?;
        let folder = self.writer.folder().path().display().to_string();
        self.say(Event::RunEnded { folder })?;
        Ok((summary, detail))
    }
}
