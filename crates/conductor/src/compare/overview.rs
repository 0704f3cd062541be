//! A stored run with one row a variant: what `weigh summary` shows.

use weighbridge_judge::overview::{SizeBounds, measured};
use weighbridge_model::experiment::WorkloadSpec;
use weighbridge_model::overview::OverviewRow;
use weighbridge_model::record::TrialRecord;
use weighbridge_store::RunFolder;

use crate::compare::{CompareError, experiment_of, question_of, trials_of};

/// The rows of a run that was measured here. Trials are read only where single requests were kept.
pub fn overview(folder: &RunFolder) -> Result<Vec<OverviewRow>, CompareError> {
    let (summary, experiment) = (folder.summary()?, experiment_of(folder)?);
    let has_spread = experiment.points.iter().any(|point| point.workload.spread().is_some());
    let trials: Vec<TrialRecord> = if has_spread { trials_of(folder)? } else { Vec::new() };
    let sizes: Vec<_> = experiment.points.iter().map(|point| bounds(&point.workload)).collect();
    let question = question_of(summary.clone(), &experiment);
    Ok(measured(&question, &trials, &summary, &sizes))
}

fn bounds(workload: &WorkloadSpec) -> Option<SizeBounds> {
    workload.size_range().map(|(min, max)| SizeBounds { min, max })
}
