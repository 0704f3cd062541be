//! A stored run in one row a variant: what `weigh summary` shows. Reads the record and hands it to the judge.

use weighbridge_judge::overview::{SizeBounds, measured};
use weighbridge_model::experiment::{Experiment, Sizes, WorkloadSpec};
use weighbridge_model::overview::OverviewRow;
use weighbridge_model::record::TrialRecord;
use weighbridge_store::RunFolder;

use crate::compare::{CompareError, experiment_of, question_of, trials_of};

/// The rows of a run that was measured here. Trials are read only where single requests were kept.
///
/// # Errors
/// [`CompareError::Read`] where the folder is damaged or the run has not ended, [`CompareError::Experiment`] where its
/// experiment is not understood.
pub fn overview(folder: &RunFolder) -> Result<Vec<OverviewRow>, CompareError> {
    let (summary, experiment) = (folder.summary()?, experiment_of(folder)?);
    let trials: Vec<TrialRecord> = if has_spread(&experiment) { trials_of(folder)? } else { Vec::new() };
    let sizes: Vec<_> = experiment.points.iter().map(|point| asked(&point.workload)).collect();
    let question = question_of(summary.clone(), &experiment);
    Ok(measured(&question, &trials, &summary, &sizes))
}

/// Whether single requests are kept of any point.
fn has_spread(experiment: &Experiment) -> bool {
    let spread = |workload: &WorkloadSpec| matches!(workload, WorkloadSpec::Pingpong(spec) if matches!(spec.sizes, Sizes::Spread(_)));
    experiment.points.iter().any(|point| spread(&point.workload))
}

/// The smallest and the largest size that a workload asks for; `None` where it asks for none.
fn asked(workload: &WorkloadSpec) -> Option<SizeBounds> {
    match workload {
        WorkloadSpec::Pingpong(spec) => match &spec.sizes {
            Sizes::List(sizes) => {
                Some(SizeBounds { min: sizes.iter().min().copied()?, max: sizes.iter().max().copied()? })
            }
            Sizes::Spread(spread) => Some(SizeBounds { min: spread.min, max: spread.max }),
        },
        _ => None,
    }
}
