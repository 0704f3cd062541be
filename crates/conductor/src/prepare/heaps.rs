//! Heaps that are multiples of the smallest one: whether there is one to be found, and whether it was.

use weighbridge_model::experiment::{Experiment, HeapSize};

use crate::prepare::error::PrepareError;

/// Errors: the workload has no passages for which a heap could be the smallest.
pub fn check(experiment: &Experiment) -> Result<(), PrepareError> {
    let workload = &experiment.points[0].workload;
    match first_multiple(experiment) {
        Some((variant, heap)) if workload.sessions_of_a_passage().is_none() => {
            Err(PrepareError::HeapWithoutPassages { variant, heap, workload: workload.name() })
        }
        _ => Ok(()),
    }
}

/// Errors: a size is still to be found.
pub fn check_known(experiment: &Experiment) -> Result<(), PrepareError> {
    first_multiple(experiment)
        .map_or(Ok(()), |(variant, heap)| Err(PrepareError::HeapUnknown { variant, heap }))
}

fn first_multiple(experiment: &Experiment) -> Option<(String, HeapSize)> {
    experiment.variants.iter().find_map(|variant| {
        let jvm = variant.jvm.as_ref()?;
        jvm.heap_multiple()?;
        Some((variant.name.clone(), jvm.heap?))
    })
}
