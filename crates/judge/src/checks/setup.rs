//! Limits that the set-up itself puts on conclusions: who is measured, on which cores, and how variants are
//! paired.

use weighbridge_model::finding::ONE_INSTANCE;
use weighbridge_model::id::PointId;
use weighbridge_model::pairing::Pairing;
use weighbridge_model::summary::{Finding, Severity};

use super::{RunContext, subject};
use crate::question::{Lifetime, Question, Variant};
use crate::records::Records;

pub(super) fn one_instance(context: &RunContext<'_>) -> Vec<Finding> {
    let instances = context.question.variants.iter().filter(|variant| variant.lifetime == Lifetime::Instance);
    let note = |variant: &Variant| Finding {
        severity: Severity::Note,
        name: ONE_INSTANCE.to_owned(),
        subject: variant.name.clone(),
        evidence: "it ran already, so how much restarts differ is not in the interval".to_owned(),
        remedy: "let `weigh` start it, as `service` or `command`".to_owned(),
    };
    instances.map(note).collect()
}

/// A note if a variant has one core, so that nothing of it runs in parallel.
pub(super) fn one_service_core(context: &RunContext<'_>) -> Vec<Finding> {
    let note = || Finding {
        severity: Severity::Note,
        name: "one service core".to_owned(),
        subject: String::new(),
        evidence: "costs are CPU costs, no parallelism".to_owned(),
        remedy: "use a host with more cores".to_owned(),
    };
    if context.question.cores.service == Some(1) { vec![note()] } else { Vec::new() }
}

/// Variants of a point that ran one after another do not share what the host did meanwhile.
pub(crate) fn not_paired(question: &Question, records: &Records<'_>, id: PointId) -> Option<Finding> {
    let point = question.points.get(id.index())?;
    let alone = question.variants.len() < 2;
    (records.pairing(id) == Pairing::Sequential && !alone).then(|| Finding {
        severity: Severity::Warning,
        name: "not paired".to_owned(),
        subject: subject("", &point.label).trim().to_owned(),
        evidence: "variants ran one after another in each block: windows were not paired, and drift of the host is in the costs"
            .to_owned(),
        remedy: "more blocks average it out; where windows can hold 200 requests within 1 s, they pair".to_owned(),
    })
}
