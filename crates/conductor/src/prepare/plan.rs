//! `plan.json`: the seeds, the rules, which variants run at once, and the first block.

use weighbridge_model::experiment::Experiment;
use weighbridge_model::id::VariantId;
use weighbridge_model::plan::{BatchPlan, Batches, ConnectTo, Plan, RunPlan};

use crate::options::Options;

/// The batches that an experiment asks for, before memory is known.
pub fn batches(experiment: &Experiment) -> Batches {
    Batches::even(experiment.variants.len(), experiment.plan.together as usize)
}

/// The first block's batches in the order in which they are carried out.
pub fn first_block(experiment: &Experiment, batches: &Batches) -> Vec<BatchPlan> {
    let whole = whole_plan(experiment);
    let members: Vec<&[VariantId]> = batches.iter().collect();
    let of_batch = |batch: u32| {
        let members = members[batch as usize];
        let plan = if batches.count() > 1 { whole.for_batch(batch, members.len()) } else { whole };
        let placed = |ids: Vec<VariantId>| ids.iter().map(|id| members[id.index()]).collect::<Vec<_>>();
        let rounds = |point| (0..4).map(|round| placed(plan.round(0, point, round))).collect();
        let order = plan.block(0);
        BatchPlan {
            batch,
            starts: placed(order.starts),
            connects: placed(order.connects),
            points: order.points,
            first_rounds_of_each_point: experiment.point_ids().map(rounds).collect(),
            stretches_of_each_point: experiment
                .point_ids()
                .map(|point| placed(plan.stretches(0, point)))
                .collect(),
        }
    };
    whole.batch_order(0, batches.count()).into_iter().map(of_batch).collect()
}

/// The content of `plan.json`, before an earlier run's advice on the number of blocks is added.
pub fn run_plan(experiment: &Experiment, options: &Options, batches: &Batches) -> RunPlan {
    let connect_to = options.connect_to.clone();
    RunPlan {
        rules: experiment.plan.clone(),
        quick: options.quick,
        measured_budget: options.measured_budget,
        experiment_folder: options.experiment_folder.clone(),
        connect_to: connect_to.map(|(host, port)| ConnectTo { host, port }),
        variants: experiment.variants.iter().map(|variant| variant.name.clone()).collect(),
        batches: Some(batches.clone()),
        first_block: first_block(experiment, batches),
        division: None,
    }
}

pub(crate) fn whole_plan(experiment: &Experiment) -> Plan {
    let plan = Plan::new(experiment.plan.seed, experiment.variants.len(), experiment.points.len());
    match experiment.points.iter().any(|point| point.workload.is_stateful()) {
        true => plan.one_window_each(),
        false => plan,
    }
}

/// The batches in a stored plan, if they match its experiment. Plans older than batches have none: all their
/// variants ran at once.
pub(crate) fn stored_batches(stored: Option<Batches>, variants: usize) -> Option<Batches> {
    match stored {
        None => Some(Batches::even(variants, usize::MAX)),
        Some(batches) => Some(batches).filter(|batches| batches.fit(variants)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_of_a_stored_plan_must_be_of_its_experiment() {
        assert_eq!(stored_batches(None, 8), Some(Batches::even(8, 8)), "a run of before there were batches");
        let stored = |text: &str| serde_json::from_str::<Batches>(text).ok();
        let two = stored_batches(stored("[[0,1],[0,2,3]]"), 4).expect("they fit");
        assert_eq!((two.count(), two.largest()), (2, 3));
        assert_eq!(stored_batches(stored("[[0,1],[0,2]]"), 4), None);
    }
}
