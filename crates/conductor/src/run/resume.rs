//! Resumes an interrupted run, provided that nothing on which its blocks depend has changed.

use std::fs;
use std::path::{Path, PathBuf};

use weighbridge_model::event::TimedEvent;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::plan::{PlanFile, RunPlan};
use weighbridge_model::record::TrialRecord;
use weighbridge_store::scrub::Secrets;
use weighbridge_store::{RunFolder, RunWriter};

use crate::options::Options;
use crate::prepare::checked::Checked;
use crate::prepare::{environment, plan, prepare, secrets};
use crate::run::run_loop::{RunFiles, measure};
use crate::run::{Finished, RunError, hide_in_logs};

pub fn resume(
    folder: &Path,
    options: &Options,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    let known = RunFolder::open(folder).ok().and_then(|folder| folder.experiment().ok());
    let known = known.and_then(|text| Experiment::parse("experiment.toml", &text).ok());
    let secrets = known.map(|experiment| secrets::experiment_secrets(&experiment)).unwrap_or_default();
    resume_run(folder, options, &secrets, sink).map_err(|error| error.without(&secrets))
}

fn resume_run(
    folder: &Path,
    options: &Options,
    secrets: &Secrets,
    sink: &mut dyn FnMut(&TimedEvent),
) -> Result<Finished, RunError> {
    let mut writer = RunWriter::resume(folder)?;
    let refused = |why: String| RunError::NotResumable { run: folder.display().to_string(), why };
    let logs = folder.join("logs");
    if let Some(strange) = strange(&logs) {
        let what = strange.display();
        return Err(refused(format!(
            "`{what}` is neither a regular file nor a folder, and must be removed first"
        )));
    }
    hide_in_logs(&logs, secrets);
    // Damage is told before anything else is wrong with the run, built or removed.
    let done: Vec<TrialRecord> = writer.folder().load_blocks()?.into_iter().flatten().collect();
    let text = writer.folder().experiment()?;
    if text.contains("<redacted sha256:") {
        return Err(refused("its experiment holds values that were not stored".to_owned()));
    }
    let experiment =
        Experiment::parse("experiment.toml", &text).map_err(|error| refused(error.to_string()))?;
    let stored = writer.folder().environment()?;
    let PlanFile::Measured(plan) = writer.folder().plan()? else {
        return Err(refused("it was imported, not measured".to_owned()));
    };
    let options = stored_options(&plan, options);
    let variants = experiment.variants.len();
    let mut prepared = prepare(Checked::for_resume(experiment, &options)?, &options, sink)?;
    prepared.division = plan.division.flatten();
    if prepared.experiment.variants.len() != variants {
        return Err(refused("a variant is not available any more".to_owned()));
    }
    prepared.batches = plan::stored_batches(plan.batches, variants)
        .ok_or_else(|| refused("the batches of its plan are not those of its variants".to_owned()))?;
    let facts = prepared.facts(&options);
    if let Some(why) = environment::changed(&stored, &facts) {
        return Err(refused(why));
    }
    writer.discard_incomplete()?;
    let started = writer.folder().started();
    measure(&prepared, &options, RunFiles { writer: &mut writer, started, facts }, done, sink)
}

/// What of the logs is a link, a pipe or a device: output that is appended to it would go elsewhere, or wait for ever.
fn strange(path: &Path) -> Option<PathBuf> {
    let kind = path.symlink_metadata().ok()?.file_type();
    if kind.is_dir() {
        return fs::read_dir(path).ok()?.flatten().find_map(|entry| strange(&entry.path()));
    }
    (!kind.is_file()).then(|| path.to_owned())
}

fn stored_options(plan: &RunPlan, options: &Options) -> Options {
    Options {
        quick: plan.quick,
        measured_budget: plan.measured_budget,
        experiment_folder: plan.experiment_folder.clone(),
        connect_to: plan.connect_to.clone().map(|to| (to.host, to.port)),
        ..options.clone()
    }
}
