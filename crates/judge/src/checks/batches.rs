//! Variants that never lived at the same time.

use weighbridge_model::id::VariantId;
use weighbridge_model::summary::{Finding, Severity};

use super::RunContext;

/// Costs are against the baseline of each batch.
const BATCHES: &str = "batches";
/// Two variants are compared through the baseline.
const THROUGH_THE_BASELINE: &str = "through the baseline";

pub(super) fn in_batches(context: &RunContext<'_>) -> Vec<Finding> {
    finding(context).into_iter().collect()
}

fn finding(context: &RunContext<'_>) -> Option<Finding> {
    let &RunContext { question, records, bridge } = context;
    let note = |name: &str, evidence, remedy: &str| Finding {
        severity: Severity::Note,
        name: name.to_owned(),
        subject: String::new(),
        evidence,
        remedy: remedy.to_owned(),
    };
    let remedy = "two variants of different batches are told apart only through the baseline: raise `together` where \
                  these matter most";
    if let Some(bridge) = bridge {
        let evidence = format!("measured in different batches: each cost is a ratio of ratios to `{bridge}`");
        return Some(note(THROUGH_THE_BASELINE, evidence, remedy));
    }
    let batches = records.batches();
    let name = |id: &VariantId| Some(format!("`{}`", question.variants.get(id.index())?.name));
    let members = |ids: &Vec<VariantId>| ids.iter().skip(1).filter_map(name).collect::<Vec<_>>().join(", ");
    let each: Vec<_> = batches.values().map(members).collect();
    let baseline = batches.values().flatten().next().and_then(name)?;
    (batches.len() > 1).then(|| {
        let evidence = format!("each cost is against {baseline} of its own batch: {}", each.join(" | "));
        note(BATCHES, evidence, remedy)
    })
}
