//! Stored runs looked at again: judged anew, two of their variants against each other. Two runs are [`crate::across`]'s.

use weighbridge_judge as judge;
use weighbridge_lab::cores::CoreLayout;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::record::{TrialRecord, VariantId};
use weighbridge_model::summary::Summary;
use weighbridge_store::{ReadError, RunFolder};

use crate::question::question;

/// Why stored runs cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The folder cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its experiment is not understood.
    #[error("run `{run}`: {source}")]
    Experiment {
        /// The run folder.
        run: String,
        /// What is wrong.
        source: weighbridge_model::experiment::ExperimentError,
    },
    /// Variants were named that cannot be compared as meant.
    #[error("{0}")]
    Choice(String),
    /// A name that is no variant of the run.
    #[error("run `{run}` has no variant `{name}`; it has {allowed}")]
    NoVariant {
        /// The run folder.
        run: String,
        /// As given.
        name: String,
        /// The run's variants.
        allowed: String,
    },
}

/// Variant `variant` of a run against its variant `baseline`, with full verdicts: they were measured together.
///
/// # Errors
/// See [`CompareError`].
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
    let kept = [find(baseline)?, find(variant)?];
    let mut trials = trials_of(folder)?;
    cut_down(&mut experiment, &mut trials, &kept);
    judged(folder, &experiment, &trials)
}

/// Keeps these variants only, in this order, and numbers the trials likewise.
pub(crate) fn cut_down(experiment: &mut Experiment, trials: &mut Vec<TrialRecord>, kept: &[usize]) {
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
) -> Result<Summary, CompareError> {
    let stored = folder.summary()?;
    let calibration = stored.calibration.clone();
    Ok(Summary { calibration, ..judge::summarise(&question_of(stored, experiment), trials) })
}

/// The question that a stored run answers, for these of its variants.
pub(crate) fn question_of(stored: Summary, experiment: &Experiment) -> judge::Question {
    let run = judge::Run {
        title: stored.title,
        name: stored.run,
        started: stored.started,
        took: stored.took,
        quick: stored.quick,
        conditions: Vec::new(),
        unavailable: stored.unavailable,
    };
    question(experiment, CoreLayout::detect().ok().as_ref(), run)
}
