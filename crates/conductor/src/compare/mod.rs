//! Stored runs judged again, and two variants of one run compared. Two runs are compared in [`across`].

pub mod across;
pub mod evidence;
pub mod overview;

use std::collections::BTreeSet;

use weighbridge_judge as judge;
use weighbridge_judge::Bridge;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::id::VariantId;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::Summary;
use weighbridge_store::{ReadError, RunFolder};

use crate::prepare::cores::layout;
use crate::run::question::question;

#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("run `{run}`: {source}")]
    Experiment { run: String, source: weighbridge_model::experiment::ExperimentError },
    #[error("{0}")]
    Choice(String),
    #[error("run `{run}` has no variant `{name}`; it has {allowed}")]
    NoVariant { run: String, name: String, allowed: String },
}

/// What the judge makes of a run's records now. On another host than the run's, findings about cores are of that host.
pub fn judge_again(folder: &RunFolder) -> Result<Summary, CompareError> {
    judged(folder, &experiment_of(folder)?, &trials_of(folder)?, None)
}

/// Compares two variants of a run, with full verdicts since they were measured together. Variants of
/// different batches are compared through the run's baseline, which was in both batches.
pub fn compare_variants(folder: &RunFolder, baseline: &str, variant: &str) -> Result<Summary, CompareError> {
    let mut experiment = experiment_of(folder)?;
    let find = |name: &str| {
        experiment.variants.iter().position(|v| v.name == name).ok_or_else(|| CompareError::NoVariant {
            run: folder.path().display().to_string(),
            name: name.to_owned(),
            allowed: experiment
                .variants
                .iter()
                .map(|v| format!("`{}`", v.name))
                .collect::<Vec<_>>()
                .join(", "),
        })
    };
    let (first, second) = (find(baseline)?, find(variant)?);
    let kept = [first, second].map(|index| (VariantId(index as u16), experiment.variants[index].clone()));
    let through = experiment.variants[0].name.clone();
    let ids = kept.each_ref().map(|(id, _)| *id);
    let (trials, bridge) = trials_of_pair(trials_of(folder)?, ids, through);
    experiment.variants = kept.map(|(_, variant)| variant).to_vec();
    judged(folder, &experiment, &trials, bridge.as_ref())
}

/// Keeps only these variants, in this order, and renumbers the trials.
pub(crate) fn keep_variants(experiment: &mut Experiment, trials: &mut Vec<TrialRecord>, kept: &[usize]) {
    trials.retain_mut(|trial| {
        let place = kept.iter().position(|index| *index == trial.variant.index());
        if let Some(place) = place {
            trial.variant = VariantId(place as u16);
            trial.windows.iter_mut().for_each(|window| window.variant = trial.variant);
        }
        place.is_some()
    });
    experiment.variants = kept.iter().map(|index| experiment.variants[*index].clone()).collect();
}

/// The trials of two variants, renumbered 0 and 1. Where the variants share batches, only those batches;
/// otherwise also the trials of the run's baseline, renumbered 2, through which they are compared.
fn trials_of_pair(
    mut trials: Vec<TrialRecord>,
    ids: [VariantId; 2],
    through: String,
) -> (Vec<TrialRecord>, Option<Bridge>) {
    let batches = ids.map(|id| {
        trials.iter().filter(|trial| trial.variant == id).map(|trial| trial.batch).collect::<BTreeSet<_>>()
    });
    let shared: BTreeSet<u32> = &batches[0] & &batches[1];
    let either: BTreeSet<u32> = &batches[0] | &batches[1];
    // A run without a complete block has no trials, and needs no bridge.
    let bridge =
        (shared.is_empty() && !either.is_empty()).then_some(Bridge { variant: VariantId(2), name: through });
    let kept = if bridge.is_some() { either } else { shared };
    let mut places = ids.to_vec();
    places.extend(bridge.is_some().then_some(VariantId(0)));
    trials.retain_mut(|trial| {
        let place = places.iter().position(|id| *id == trial.variant);
        let Some(place) = place.filter(|_| kept.contains(&trial.batch)) else { return false };
        trial.variant = VariantId(place as u16);
        trial.windows.iter_mut().for_each(|window| window.variant = trial.variant);
        true
    });
    (trials, bridge)
}

pub(crate) fn experiment_of(folder: &RunFolder) -> Result<Experiment, CompareError> {
    let run = folder.path().display().to_string();
    Experiment::parse("experiment.toml", &folder.experiment()?)
        .map_err(|source| CompareError::Experiment { run, source })
}

pub(crate) fn trials_of(folder: &RunFolder) -> Result<Vec<TrialRecord>, CompareError> {
    Ok(folder.load_blocks()?.into_iter().flatten().collect())
}

fn judged(
    folder: &RunFolder,
    experiment: &Experiment,
    trials: &[TrialRecord],
    bridge: Option<&Bridge>,
) -> Result<Summary, CompareError> {
    let stored = folder.summary()?;
    let calibration = stored.calibration.clone();
    let question = question_of(stored, experiment);
    let summary = match bridge {
        None => judge::summarise(&question, trials),
        Some(bridge) => judge::summarise_through(&question, trials, bridge),
    };
    Ok(Summary { calibration, ..summary })
}

pub(crate) fn question_of(stored: Summary, experiment: &Experiment) -> judge::Question {
    let run = judge::Run {
        title: stored.title,
        name: stored.run,
        started: stored.started,
        took: stored.took,
        quick: stored.quick,
        conditions: Vec::new(),
        tags: stored.tags,
        unavailable: stored.unavailable,
    };
    let (guides, idle) = (stored.over_size.guides, stored.idle);
    judge::Question { guides, idle, ..question(experiment, layout(experiment).as_ref(), run) }
}
