//! Which blocks count for nothing.

use weighbridge_model::summary::{Finding, Severity};

use super::RunContext;

pub(super) fn void_blocks(context: &RunContext<'_>) -> Vec<Finding> {
    let finding = |(block, reason): &(u32, String)| Finding {
        severity: Severity::Note,
        name: "void block".to_owned(),
        subject: String::new(),
        evidence: format!("block {block} counts for nothing: {reason}"),
        remedy: "none is needed where enough blocks are left".to_owned(),
    };
    context.records.void.iter().map(finding).collect()
}
