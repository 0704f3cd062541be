//! Does a session take as long as its calls do where each is measured alone?

use std::collections::BTreeMap;

use weighbridge_model::estimate::{Quantity, Unit};
use weighbridge_model::finding::NOT_ITS_PARTS;
use weighbridge_model::id::VariantId;
use weighbridge_model::summary::{Finding, Severity};

use super::{RunContext, subject};
use crate::estimate::{Estimand, VariantSamples, estimate};
use crate::question::{Composition, Scope};
use crate::records::WindowSelection;

/// Means add up, so in each block the mean of the sessions is compared with the sum of the means of their calls. Told is a
/// difference whose interval lies beyond the margin of that sum.
pub(super) fn not_its_parts(context: &RunContext<'_>) -> Vec<Finding> {
    let compositions = context.question.compositions.iter();
    let each = |composition| {
        let variants = context.question.variants();
        variants.filter_map(move |(variant, _)| difference(context, composition, variant))
    };
    compositions.flat_map(each).collect()
}

fn difference(context: &RunContext<'_>, composition: &Composition, variant: VariantId) -> Option<Finding> {
    let question = context.question;
    let means = |point, scope| -> Option<BTreeMap<u32, f64>> {
        let estimand = Estimand { point, variant, scope };
        let samples = VariantSamples::new(question, context.records, estimand, WindowSelection::Measured);
        Some(samples.values(Quantity::ResponseMean).ok()?.into_iter().collect())
    };
    let sessions = means(composition.point, Scope::One(composition.operation))?;
    let parts = composition.parts.iter();
    let parts: Vec<_> =
        parts.map(|(point, times)| Some((means(*point, Scope::Only)?, *times))).collect::<Option<_>>()?;
    let sum = |block: &u32| {
        let parts = parts.iter();
        parts.map(|(means, times)| Some(means.get(block)? * f64::from(*times))).sum::<Option<f64>>()
    };
    let blocks = sessions.iter().filter_map(|(block, session)| Some((*session, sum(block)?)));
    let (sessions, sums): (Vec<f64>, Vec<f64>) = blocks.unzip();
    if sums.is_empty() {
        return None;
    }
    let differences: Vec<f64> = sessions.iter().zip(&sums).map(|(session, sum)| session - sum).collect();
    let first_stage = question.blocks.min as usize;
    let [session, sum, difference] =
        [&sessions, &sums, &differences].map(|values| estimate(values, first_stage));
    let (lower, upper) = difference.interval()?;
    let least = sum.point * question.margin.get();
    let show = |value: f64| Unit::Ns.display(value);
    (lower > least || upper < -least).then(|| Finding {
        severity: Severity::Note,
        name: NOT_ITS_PARTS.to_owned(),
        subject: subject(&question.variants[variant.index()].name, &question.points[composition.point.index()].label),
        evidence: format!(
            "its calls measured alone add up to {}, the session takes {}: a difference of {} [{}, {}]",
            show(sum.point),
            show(session.point),
            show(difference.point),
            show(lower),
            show(upper)
        ),
        remedy: "calls one after another meet other states of the service than calls of one kind; compare the operations within the session, and look at think times"
            .to_owned(),
    })
}
