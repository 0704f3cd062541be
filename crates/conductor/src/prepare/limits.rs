//! A variant's resource limits, compared with what this machine has.

use weighbridge_lab::host::memory_total;
use weighbridge_lab::process::{memory, quota};
use weighbridge_model::experiment::{Experiment, Limits, Variant};

use crate::prepare::cores::CorePlacement;
use crate::prepare::error::PrepareError;

fn count_in_words(cores: usize) -> String {
    if cores == 1 { "one core".to_owned() } else { format!("{cores} cores") }
}

/// Refuses limits above what services may use: the machine, and not the limit, would then decide.
pub(crate) fn check(experiment: &Experiment, placement: &CorePlacement) -> Result<(), PrepareError> {
    let cores = placement.usual().service().len();
    let words = count_in_words(cores);
    let whole = memory_total();
    for Variant { name, limits, .. } in &experiment.variants {
        let time = limits.cpu.filter(|limit| limit.cores().get() > cores as f64);
        let memory = limits.memory.zip(whole).filter(|(limit, whole)| limit > whole);
        let too_much =
            time.map(|limit| ("cpu", format!("\"{limit}\""), words.clone()))
                .or(memory
                    .map(|(limit, whole)| ("memory", format!("\"{limit}\""), format!("{whole} of memory"))));
        if let Some((key, limit, all)) = too_much {
            return Err(PrepareError::MoreThanAll { variant: name.clone(), key, limit, all });
        }
    }
    Ok(())
}

/// Whether this host can limit a variant, where services may use `cores`. Too many cores are no mistake:
/// experiments compare machines of several sizes, and the variant is left out here.
pub(crate) fn check_host(limits: Limits, cores: usize) -> Result<(), String> {
    if let Some(count) = limits.cores.filter(|count| *count as usize > cores) {
        let all = count_in_words(cores);
        return Err(format!(
            "`cores = {count}` is more than the {all} of this machine that services may use; give it less, or use a machine with more"
        ));
    }
    if limits.cpu.is_some() {
        quota::Controller::detect().map_err(|why| why.to_string())?;
    }
    if limits.memory.is_some() {
        memory::Controller::detect().map_err(|why| why.to_string())?;
    }
    Ok(())
}
