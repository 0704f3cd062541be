//! Resources of a run from its first block to its last: the lab with guardian and registry, the generators.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use weighbridge_judge::steer::BlockRule;
use weighbridge_lab::cleanup::guardian::Guardian;
use weighbridge_lab::cleanup::registry;
use weighbridge_lab::cleanup::tracker::CleanupTrackerError;
use weighbridge_lab::process::launch::Lab;
use weighbridge_lab::removal::survivors;
use weighbridge_lab::service::postgres::Template;
use weighbridge_model::experiment::Variant;
use weighbridge_model::pairing::PairingChoice;
use weighbridge_workload::service_data;

use crate::block::BlockContext;
use crate::block::batch::{Batch, BatchRunner, batch_rule};
use crate::block::client::Clients;
use crate::options::Options;
use crate::prepare::Prepared;
use crate::prepare::cores::{CorePlacement, client_core};
use crate::prepare::launch_spec::LaunchSpec;
use crate::prepare::plan::whole_plan;
use crate::prepare::registry::own_registry;
use crate::run::RunError;
use crate::variant::data::DataFolders;
use crate::variant::launcher::{Numbering, VariantLauncher};
use crate::variant::memory_watch::MemoryWatch;

/// The output of `initdb`, among the logs.
const INITDB_LOG: &str = "database-initdb.log";

pub(crate) struct RunResources {
    pub lab: Lab,
    clients: Clients,
    /// Folder of the output of services and hooks.
    pub logs: PathBuf,
    /// The workload's files for services.
    data: DataFolders,
    /// What each server of PostgreSQL begins with; `None` where no variant has one.
    database: Option<Template>,
}

impl RunResources {
    /// Guardian and registry entry are made only where programs of ours are started.
    pub fn open(name: &str, prepared: &Prepared, options: &Options, logs: &Path) -> Result<Self, RunError> {
        let (program, verb) = &options.guardian;
        let ours = prepared.launch_specs.iter().any(LaunchSpec::is_ours);
        let guardian = if ours { Some(Guardian::start(program, verb)?) } else { None };
        // Runs in different folders may have the same name; live processes have different numbers.
        let name = format!("{name}-{}", std::process::id());
        let registry = match registry::default_base().filter(|_| ours) {
            Some(base) => Some(own_registry(&base, &name, guardian.as_ref().and_then(Guardian::identity))?),
            None => None,
        };
        let cut = &options.control.window;
        let lab = Lab::new(&name, guardian, registry).cancelled_by(cut.clone()).with_program(program);
        let clients = match &prepared.placement {
            CorePlacement::Duet(lanes) => Clients::in_lanes(lanes, cut)?,
            CorePlacement::One(cores) => {
                // A server that we do not start may be bound to our client's core.
                let theirs = prepared.foreign_addresses();
                let core = if theirs.is_empty() { Some(cores.client()) } else { client_core(cores, &theirs) };
                Clients::one(core, cores, cut.clone())?
            }
        };
        std::fs::create_dir_all(logs).map_err(|source| RunError::Logs { path: logs.to_owned(), source })?;
        let data = data_for_services(prepared, logs)?;
        let is_cancelled = || options.control.is_interrupted();
        let template = |postgres| Template::make(&lab, postgres, &logs.join(INITDB_LOG), &is_cancelled);
        let database = prepared.postgres.as_ref().map(template).transpose()?;
        Ok(Self { lab, clients, logs: logs.to_owned(), data, database })
    }

    /// `watch` gives the memory watch of a batch of this size.
    pub fn batch_runner<'b>(
        &'b self,
        prepared: &'b Prepared,
        batches: &'b [Batch],
        options: &'b Options,
        rule: BlockRule,
        watch: impl Fn(usize) -> Option<MemoryWatch>,
    ) -> BatchRunner<'b> {
        let experiment = &prepared.experiment;
        let of_batch = batch_rule(rule, batches.len() as u32);
        let context = |batch: &'b Batch| BlockContext {
            experiment: &batch.experiment,
            shapes: &prepared.shapes,
            plan: batch.plan,
            launch_specs: &batch.launch_specs,
            launcher: VariantLauncher {
                lab: &self.lab,
                placement: &prepared.placement,
                logs: &self.logs,
                data: &self.data,
                database: self.database.as_ref(),
                secrets: &prepared.secrets,
                freeze: experiment.plan.freeze && experiment.plan.pairing != PairingChoice::Duet,
                connections: experiment.most_connections(),
                numbering: (batches.len() > 1)
                    .then_some(Numbering { batch: batch.number, members: &batch.members }),
                watch: watch(batch.members.len()),
            },
            clients: &self.clients,
            control: &options.control,
            idle: &prepared.idle,
            rule: of_batch,
            hold_back: options.hold_back,
        };
        BatchRunner {
            batches,
            contexts: batches.iter().map(context).collect(),
            plan: whole_plan(experiment),
            rule,
        }
    }

    /// Ends all; returns what is still there and who could end it, in a warning.
    pub fn close(self) -> Result<Option<String>, CleanupTrackerError> {
        drop((self.clients, self.database));
        let left = survivors(&self.lab.close()?).join(", ");
        Ok((!left.is_empty()).then(|| format!("left behind: {left}; see `weigh doctor --clean`")))
    }
}

/// One trial of a program covers all points, so it gets the workload files of the first.
fn data_for_services(prepared: &Prepared, logs: &Path) -> Result<DataFolders, RunError> {
    if prepared.launch_specs.iter().all(|spec| matches!(spec, LaunchSpec::Url { .. })) {
        return Ok(DataFolders::default());
    }
    let (workload, script) = (&prepared.experiment.points[0].workload, prepared.shapes[0].script());
    let bases: BTreeMap<Option<u32>, &Variant> =
        prepared.experiment.variants.iter().map(|variant| (variant.base, variant)).collect();
    let files = |(base, variant): (Option<u32>, &Variant)| {
        (base, service_data(&workload.for_variant(variant), script))
    };
    let written = DataFolders::write(logs, bases.into_iter().map(files));
    written.map_err(|(path, source)| RunError::Data { path, source })
}
