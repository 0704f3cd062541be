//! `plan.json`: the seeds, the rules, which variants live at once, and the first block.

use serde::Serialize;
use serde_json::{Value, json};
use weighbridge_model::experiment::Experiment;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::plan::{Batches, Plan};

use crate::options::Options;

/// The batches that an experiment asks for, before anything is known of memory.
pub fn batches(experiment: &Experiment) -> Batches {
    Batches::even(experiment.variants.len(), experiment.plan.together as usize)
}

/// One batch of a block with its orders, by the variants' numbers in the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BatchPlan {
    /// Its number.
    pub batch: u32,
    /// Its variants in the order they are started.
    pub starts: Vec<VariantId>,
    /// Its variants in the order they are connected to, at every point.
    pub connects: Vec<VariantId>,
    /// Points in the order they are measured.
    pub points: Vec<PointId>,
    /// Of each point, by its number: the variants of the first four rounds in the order of their windows.
    pub first_rounds_of_each_point: Vec<Vec<Vec<VariantId>>>,
    /// Of each point: the variants in the order in which they would run one after another. Only then have they stretches
    /// of their own; elsewhere they may turn out to be needed.
    pub stretches_of_each_point: Vec<Vec<VariantId>>,
}

/// The first block: its batches in the order they are carried out.
pub fn first_block(experiment: &Experiment, batches: &Batches) -> Vec<BatchPlan> {
    let whole = whole_plan(experiment);
    let members: Vec<&[VariantId]> = batches.iter().collect();
    let of_batch = |batch: u32| {
        let members = members[batch as usize];
        let plan = if batches.count() > 1 { whole.of_batch(batch, members.len()) } else { whole };
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

/// `plan.json`: the seeds, the rules, the batches and the first block.
pub fn plan_value(experiment: &Experiment, options: &Options, batches: &Batches) -> Value {
    let names: Vec<_> = experiment.variants.iter().map(|variant| variant.name.as_str()).collect();
    json!({
        "rules": experiment.plan,
        "quick": options.quick,
        "measured_budget": options.measured_budget,
        "experiment_folder": options.experiment_folder,
        "connect_to": options.connect_to.as_ref().map(|(host, port)| json!({ "host": host, "port": port })),
        "variants": names,
        "batches": batches,
        "first_block": first_block(experiment, batches),
    })
}

/// The plan of the experiment as a whole: which batch comes first in a block, and what all do.
pub(crate) fn whole_plan(experiment: &Experiment) -> Plan {
    Plan::new(experiment.plan.seed, experiment.variants.len(), experiment.points.len())
}

/// The batches that a plan names, where they are of this experiment. A run of before there were batches names none: all
/// its variants lived at once.
pub(crate) fn stored_batches(plan: &Value, variants: usize) -> Option<Batches> {
    match plan.get("batches") {
        None => Some(Batches::even(variants, usize::MAX)),
        Some(value) => {
            serde_json::from_value::<Batches>(value.clone()).ok().filter(|batches| batches.fit(variants))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_read_from_a_plan_and_must_be_of_its_experiment() {
        let plan = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        assert_eq!(
            stored_batches(&plan("{}"), 8),
            Some(Batches::even(8, 8)),
            "a run of before there were batches"
        );
        let two = stored_batches(&plan(r#"{"batches":[[0,1],[0,2,3]]}"#), 4).expect("they fit");
        assert_eq!((two.count(), two.largest()), (2, 3));
        assert_eq!(stored_batches(&plan(r#"{"batches":[[0,1],[0,2]]}"#), 4), None);
        assert_eq!(stored_batches(&plan(r#"{"batches":"all"}"#), 4), None);
    }
}
