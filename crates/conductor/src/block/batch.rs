//! Batches: parts of a block with more variants than may run at once, each with the baseline.
//!
//! To [`crate::block`] a batch is an experiment of its own: only its variants and launch specifications,
//! numbered from 0, under a plan that draws its own orders and the same request streams. Afterwards its
//! trials get their numbers of the run back. A block of one batch needs none of this.

use weighbridge_judge as judge;
use weighbridge_judge::steer::{BlockHistory, BlockRule};
use weighbridge_model::event::Event;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::id::VariantId;
use weighbridge_model::plan::{Batches, Plan};
use weighbridge_model::record::TrialRecord;

use crate::block::times::BlockTimes;
use crate::block::{BlockContext, BlockError, BlockResult, PriorDecisions};
use crate::prepare::launch_spec::LaunchSpec;
use crate::prepare::plan::whole_plan;

pub(crate) struct Batch {
    pub number: u32,
    /// The variants by their numbers in the run, the baseline first.
    pub members: Vec<VariantId>,
    pub experiment: Experiment,
    pub launch_specs: Vec<LaunchSpec>,
    pub plan: Plan,
}

impl Batch {
    pub fn all(experiment: &Experiment, launch_specs: &[LaunchSpec], batches: &Batches) -> Vec<Self> {
        let whole = whole_plan(experiment);
        let batch = |(number, members): (u32, &[VariantId])| {
            let variants = members.iter().map(|id| experiment.variants[id.index()].clone()).collect();
            Self {
                number,
                members: members.to_vec(),
                experiment: Experiment { variants, ..experiment.clone() },
                launch_specs: members.iter().map(|id| launch_specs[id.index()].clone()).collect(),
                plan: if batches.count() > 1 { whole.for_batch(number, members.len()) } else { whole },
            }
        };
        (0..).zip(batches.iter()).map(batch).collect()
    }

    fn names(&self) -> Vec<String> {
        self.experiment.variants.iter().map(|variant| variant.name.clone()).collect()
    }

    fn renumber(&self, trial: &mut TrialRecord) {
        trial.batch = self.number;
        trial.variant = self.members[trial.variant.index()];
        trial.windows.iter_mut().for_each(|window| window.variant = trial.variant);
    }
}

pub(crate) struct BatchRunner<'a> {
    pub batches: &'a [Batch],
    pub contexts: Vec<BlockContext<'a>>,
    pub plan: Plan,
    pub rule: BlockRule,
}

impl BatchRunner<'_> {
    /// Measures block `number`, batch after batch. `history` is the run without this block, `prior` what
    /// earlier blocks decided.
    ///
    /// A block is void as a whole: after a disturbed batch no further batch is started.
    pub fn block(
        &self,
        number: u32,
        history: &BlockHistory<'_>,
        prior: PriorDecisions<'_>,
        emit: &mut dyn FnMut(Event),
    ) -> Result<BlockResult, BlockError> {
        if let [context] = &self.contexts[..] {
            return context.block(number, history, prior, emit);
        }
        let (mut pairings, mut windows) = (prior.pairings.to_vec(), prior.windows.to_vec());
        let mut warm_ups = prior.warm_ups.to_vec();
        let mut steps = prior.steps.clone();
        let count = self.contexts.len() as u32;
        let mut whole = BlockResult { trials: Vec::new(), times: BlockTimes::default(), disturbed: None };
        for (done, at) in (0..).zip(self.plan.batch_order(number, count)) {
            let (batch, context) = (&self.batches[at as usize], &self.contexts[at as usize]);
            if context.control.is_interrupted() {
                return Err(BlockError::Interrupted);
            }
            emit(Event::BatchStarted { block: number, batch: at, of: count, variants: batch.names() });
            let before = batch_history(history, count, done, &whole.times);
            let known =
                PriorDecisions { pairings: &pairings, windows: &windows, warm_ups: &warm_ups, steps: &steps };
            let mut part = context.block(number, &before, known, emit)?;
            // The first batch decides for the whole block.
            if let (true, Some(trial)) = (pairings.is_empty(), part.trials.first()) {
                pairings.clone_from(&trial.pairings);
                windows = trial.preparations.iter().map(|preparation| preparation.window).collect();
                warm_ups = batch.experiment.point_ids().map(|point| trial.warm_up_requests(point)).collect();
            }
            for trial in &part.trials {
                steps.learn(&batch.experiment.variants[trial.variant.index()].name, trial);
            }
            part.trials.iter_mut().for_each(|trial| batch.renumber(trial));
            whole.add(part);
            if whole.disturbed.is_some() {
                break;
            }
        }
        whole.void();
        Ok(whole)
    }

    /// Starts the variants of every batch and compares their answers. Returns how many were compared.
    pub fn verify(&self) -> Result<usize, BlockError> {
        self.contexts.iter().map(BlockContext::verify).sum()
    }
}

/// The rule of a batch: it counts batches as blocks, so that the budget is divided among all of them.
pub(crate) fn batch_rule(rule: BlockRule, batches: u32) -> BlockRule {
    let judge::Blocks { min, max } = rule.blocks;
    let blocks = judge::Blocks { min: min.saturating_mul(batches), max: max.saturating_mul(batches) };
    BlockRule { blocks, ..rule }
}

/// The run as a batch sees it, after `done` batches of the present block that took `times`.
fn batch_history<'h>(
    history: &BlockHistory<'h>,
    batches: u32,
    done: u32,
    times: &BlockTimes,
) -> BlockHistory<'h> {
    BlockHistory {
        used: history.used * batches + done,
        void: history.void * batches,
        begun: history.begun * batches + done,
        overhead: history.overhead + times.overhead,
        measured: history.measured + times.measured,
        round: history.round.map(|round| round / u64::from(batches)),
        ..*history
    }
}

impl BlockResult {
    fn add(&mut self, other: Self) {
        self.trials.extend(other.trials);
        self.times.overhead += other.times.overhead;
        self.times.measured += other.times.measured;
        self.times.round += other.times.round;
        self.disturbed = other.disturbed;
    }

    fn void(&mut self) {
        if let Some(void) = &self.disturbed {
            self.trials.iter_mut().for_each(|trial| trial.void = Some(void.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weighbridge_judge::Blocks;
    use weighbridge_judge::steer::Budget;
    use weighbridge_model::estimate::ContrastKind;
    use weighbridge_model::quantity::Nanoseconds;

    const SECOND: Nanoseconds = Nanoseconds::from_secs(1);

    #[test]
    fn the_budget_is_shared_out_among_all_batches() {
        let rule = BlockRule {
            blocks: Blocks { min: 4, max: 4 },
            until: None,
            contrast: ContrastKind::Log,
            budget: Budget::Whole(SECOND * 88),
        };
        let before = BlockHistory {
            used: 1,
            void: 0,
            compared: &[],
            overhead: SECOND * 2,
            begun: 1,
            measured: SECOND * 20,
            round: None,
        };
        let times = BlockTimes { overhead: SECOND, measured: SECOND * 10, round: SECOND };
        // The second batch of the second of four blocks of two. Of 88 s, 4 s of starts and 30 s of measuring
        // are used. The rest is for it and four more batches, which need 1 s of starts each.
        let mut history = batch_history(&before, 2, 1, &times);
        assert_eq!((history.used, history.begun), (3, 3));
        history.overhead += SECOND;
        history.begun += 1;
        let time = batch_rule(rule, 2).measured_time(&history);
        assert_eq!(time, SECOND * (88 - 4 - 30 - 4) / 5);
    }
}
