//! Stored runs looked at again: judged anew, two of their variants against each other, or two runs side by side.

use weighbridge_judge as judge;
use weighbridge_lab::cores::CoreLayout;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::record::{TrialRecord, VariantId};
use weighbridge_model::summary::{Cost, Summary, Validity, Verdict};
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

/// What a comparison of two runs is worth.
#[derive(Debug)]
pub enum Comparison {
    /// They are one and the same run.
    Together(Summary),
    /// They were not measured together: every cost is invalid.
    NotTogether(Summary),
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
    let (first, second) = (find(baseline)?, find(variant)?);
    let kept = [first, second].map(|index| (VariantId(index as u16), experiment.variants[index].clone()));
    let mut trials = trials_of(folder)?;
    trials.retain_mut(|trial| {
        let place = kept.iter().position(|(id, _)| *id == trial.variant);
        if let Some(place) = place {
            trial.variant = VariantId(place as u16);
            trial.windows.iter_mut().for_each(|window| window.variant = trial.variant);
        }
        place.is_some()
    });
    experiment.variants = kept.map(|(_, variant)| variant).to_vec();
    judged(folder, &experiment, &trials)
}

/// Two runs. Unless they are the same one, they were not measured together, and the machine may have changed between
/// them by more than the difference that is looked for: nothing is concluded.
///
/// # Errors
/// See [`CompareError`].
pub fn compare_runs(first: &RunFolder, second: &RunFolder) -> Result<Comparison, CompareError> {
    let (mut one, two) = (first.summary()?, second.summary()?);
    let path = |folder: &RunFolder| std::fs::canonicalize(folder.path()).ok();
    if path(first).is_some() && path(first) == path(second) {
        return Ok(Comparison::Together(one));
    }
    let cost = |variant: &weighbridge_model::summary::VariantSummary| Cost {
        point: variant.point.clone(),
        variant: format!("{} ({})", variant.name, two.run),
        operation: "all".to_owned(),
        quantity: one.headline,
        unit: one.headline.unit(),
        difference: None,
        ratio: None,
        verdict: Verdict::Invalid,
        effect: None,
        reason: Some("not measured together; put both into one experiment".to_owned()),
        p: None,
        headline: true,
    };
    one.costs = two.variants.iter().map(cost).collect();
    one.title = format!("{} against {}", two.run, one.run);
    one.findings.clear();
    one.spread.clear();
    one.goal = None;
    for variant in &mut one.variants {
        variant.name = format!("{} ({})", variant.name, one.run);
    }
    one.variants.extend(two.variants.into_iter().map(|mut variant| {
        variant.name = format!("{} ({})", variant.name, two.run);
        variant.baseline = false;
        variant
    }));
    one.validity = Validity::Invalid;
    Ok(Comparison::NotTogether(one))
}

fn experiment_of(folder: &RunFolder) -> Result<Experiment, CompareError> {
    let run = folder.path().display().to_string();
    Experiment::parse("experiment.toml", &folder.experiment()?)
        .map_err(|source| CompareError::Experiment { run, source })
}

fn trials_of(folder: &RunFolder) -> Result<Vec<TrialRecord>, CompareError> {
    Ok(folder.load_blocks()?.into_iter().flatten().collect())
}

fn judged(
    folder: &RunFolder,
    experiment: &Experiment,
    trials: &[TrialRecord],
) -> Result<Summary, CompareError> {
    let stored = folder.summary()?;
    let run = judge::Run {
        title: stored.title,
        name: stored.run,
        started: stored.started,
        took: stored.took,
        quick: stored.quick,
        conditions: Vec::new(),
        unavailable: stored.unavailable,
    };
    let question = question(experiment, CoreLayout::detect().ok().as_ref(), run);
    Ok(judge::summarise(&question, trials))
}
