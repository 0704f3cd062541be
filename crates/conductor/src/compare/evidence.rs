//! The evidence of a stored run: single windows, block values, histograms.

use weighbridge_judge as judge;
use weighbridge_model::evidence::Evidence;
use weighbridge_store::RunFolder;

use crate::compare::{CompareError, experiment_of, question_of, trials_of};

/// Reads the evidence of a finished run, with every trial, and checks their hashes.
pub fn evidence(folder: &RunFolder) -> Result<Evidence, CompareError> {
    let question = question_of(folder.summary()?, &experiment_of(folder)?);
    Ok(judge::evidence(&question, &trials_of(folder)?))
}
