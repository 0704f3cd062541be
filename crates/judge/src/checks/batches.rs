//! Which variants never lived beside each other.

use weighbridge_model::id::VariantId;
use weighbridge_model::summary::{Finding, Severity};

use crate::question::Question;
use crate::records::Records;

/// What batches do to the costs, where there are several; `bridge` is the variant through which they are compared.
pub(crate) fn in_batches(
    question: &Question,
    records: &Records<'_>,
    bridge: Option<&str>,
) -> Option<Finding> {
    let finding = |name: &str, evidence, remedy: &str| Finding {
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
        return Some(finding("through the baseline", evidence, remedy));
    }
    let batches = records.batches();
    let name = |id: &VariantId| Some(format!("`{}`", question.variants.get(id.index())?.name));
    let members = |ids: &Vec<VariantId>| ids.iter().skip(1).filter_map(name).collect::<Vec<_>>().join(", ");
    let each: Vec<_> = batches.values().map(members).collect();
    let baseline = batches.values().flatten().next().and_then(name)?;
    (batches.len() > 1).then(|| {
        let evidence = format!("each cost is against {baseline} of its own batch: {}", each.join(" | "));
        finding("batches", evidence, remedy)
    })
}
