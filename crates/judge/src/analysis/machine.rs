//! CPU by role over the run: how many cores the machine, the generator, the services and everything else kept
//! busy.
//!
//! There is one figure for each block, over all its batches, and Student's t over blocks. The interval
//! includes the random error of the kernel's counting by ticks; the rounding is reported too. Figures are for
//! whole blocks: ticks are too coarse to separate the windows of variants.

use std::collections::BTreeMap;

use weighbridge_model::machine::MachineCpu;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::summary::CpuRoles;

use crate::estimate::estimate;
use crate::question::Question;
use crate::records::{Block, Records};

/// `None` where no block has these times.
pub fn roles(question: &Question, records: &Records<'_>) -> Option<CpuRoles> {
    let blocks: Vec<MachineCpu> = records.used.iter().filter_map(block_cpu).collect();
    if blocks.is_empty() {
        return None;
    }
    let cores = |time: fn(&MachineCpu) -> f64| {
        let values: Vec<f64> =
            blocks.iter().map(|block| time(block) / block.span.as_nanos() as f64).collect();
        estimate(&values, question.blocks.min as usize)
    };
    let rounding = |block: &MachineCpu| block.resolution.as_nanos() as f64 / block.span.as_nanos() as f64;
    Some(CpuRoles {
        span: blocks.iter().map(|block| block.span).sum(),
        busy: cores(|block| block.busy.as_nanos() as f64),
        generator: cores(|block| block.generator.as_nanos() as f64),
        beside_generator: cores(|block| block.busy.as_nanos() as f64 - block.generator.as_nanos() as f64),
        service: cores(|block| block.service.as_nanos() as f64),
        unattributed: cores(MachineCpu::unattributed),
        resolution: blocks.iter().map(rounding).fold(0.0, f64::max),
    })
}

/// The sum over a block's batches; `None` if one of them has no times.
fn block_cpu(block: &Block<'_>) -> Option<MachineCpu> {
    let mut batches: BTreeMap<u32, Option<MachineCpu>> = BTreeMap::new();
    for trial in &block.trials {
        // Every trial of a batch holds the same value.
        batches.entry(trial.batch).or_insert(trial.machine);
    }
    let stretches: Vec<MachineCpu> = batches.into_values().collect::<Option<_>>()?;
    let sum = |time: fn(&MachineCpu) -> Nanoseconds| stretches.iter().map(time).sum();
    let whole = MachineCpu {
        span: sum(|one| one.span),
        busy: sum(|one| one.busy),
        resolution: sum(|one| one.resolution),
        generator: sum(|one| one.generator),
        service: sum(|one| one.service),
    };
    (whole.span > Nanoseconds::ZERO).then_some(whole)
}
