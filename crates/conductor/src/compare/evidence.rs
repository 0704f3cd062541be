//! The evidence of a stored run: single windows, values of blocks, histograms. Reads the record and hands it to the
//! judge; decides nothing.

use weighbridge_judge as judge;
use weighbridge_model::evidence::Evidence;
use weighbridge_store::RunFolder;

use crate::compare::{CompareError, experiment_of, question_of, trials_of};

/// Reads the evidence of a run that has ended, and with it every trial, whose hashes are checked.
pub fn evidence(folder: &RunFolder) -> Result<Evidence, CompareError> {
    let question = question_of(folder.summary()?, &experiment_of(folder)?);
    Ok(judge::evidence(&question, &trials_of(folder)?))
}
