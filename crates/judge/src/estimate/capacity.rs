//! The steps of one variant in all blocks that count, and the values of the quantity `capacity` that they give: no block has
//! one by itself, so a block's value is its pseudo-value in the estimate of all.

use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::record::steps::{StepEnd, StepKind, StepRecord};

use crate::capacity::{CapacityEstimate, capacities};
use crate::question::Question;
use crate::records::Records;

/// The blocks in which a variant was measured at a point, with its steps.
pub(crate) struct BlockSteps<'a> {
    /// Numbers of the blocks.
    pub numbers: Vec<u32>,
    steps: Vec<Vec<&'a StepRecord>>,
}

impl<'a> BlockSteps<'a> {
    pub(crate) fn new(records: &Records<'a>, point: PointId, variant: VariantId) -> Self {
        let (mut numbers, mut steps) = (Vec::new(), Vec::new());
        for block in &records.used {
            let trials = block.trials.iter().filter(|trial| trial.variant == variant);
            let taken: Vec<&StepRecord> =
                trials.filter_map(|trial| trial.steps.get(point.index())).flatten().collect();
            if !taken.is_empty() {
                numbers.push(block.number);
                steps.push(taken);
            }
        }
        Self { numbers, steps }
    }

    /// By objective; empty where no block counts.
    pub(crate) fn estimates(&self, question: &Question, point: PointId) -> Vec<CapacityEstimate> {
        match question.objectives(point) {
            Some(objectives) if !self.steps.is_empty() => {
                capacities(objectives, &self.steps, question.blocks.min as usize)
            }
            _ => Vec::new(),
        }
    }

    /// Whether the generator was too late or too busy in some step of the search.
    pub(crate) fn met_ceiling(&self) -> bool {
        let mut searched = self.steps.iter().flatten().filter(|one| one.step.kind != StepKind::Common);
        searched.any(|one| one.step.end == StepEnd::Generator)
    }

    pub(crate) fn steps(&self) -> &[Vec<&'a StepRecord>] {
        &self.steps
    }

    /// The headline's capacity in a block; `None` where there is only a limit.
    pub(super) fn value(&self, estimates: &[CapacityEstimate], block: u32) -> Option<f64> {
        let at = self.numbers.iter().position(|number| *number == block)?;
        let estimate = estimates.first()?;
        let place = estimate.measured.iter().position(|measured| *measured == at)?;
        estimate.blocks.get(place).map(|log| log.exp())
    }
}
