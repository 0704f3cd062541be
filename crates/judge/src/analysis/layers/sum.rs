//! Whether single layers add up: each alone above one variant, against all of them together.
//!
//! In each block the interaction is the cost of all layers together less the sum of the single costs. These
//! costs share the variant below and the block, so they are not independent and their errors do not add up:
//! the interval is over the blocks' interactions.

use std::collections::BTreeMap;

use weighbridge_model::estimate::{ContrastKind, Estimate, Quantity, Statistic, Verdict};
use weighbridge_model::id::VariantId;
use weighbridge_model::layering::{Additivity, Single, SumCheck, SumRow, Unchecked};

use super::lineup::{Member, SingleLayers};
use super::{PointContext, Row};
use crate::estimate::{estimate, mean_with_error};
use crate::question::Question;
use crate::stats::multiple::p_against_zero;
use crate::verdict::{append_reason, verdict_from_interval};

pub(super) fn check(question: &Question, context: &PointContext<'_, '_>, singles: &SingleLayers) -> SumCheck {
    let (rows, unchecked) = match variants(question, context, singles) {
        Ok(ids) => rows(question, context, &ids),
        Err(reason) => (Vec::new(), vec![Unchecked { quantity: None, reason }]),
    };
    let name = |member: Member| match member {
        Member::Measured(id) => question.variants[id.index()].name.clone(),
        Member::Absent(at) => question.absent[at].name.clone(),
    };
    let single = |(member, layer): &(Member, String)| Single { name: layer.clone(), variant: name(*member) };
    SumCheck {
        point: question.points[context.id.index()].label.clone(),
        of: singles.family.clone(),
        base: name(singles.base),
        singles: singles.singles.iter().map(single).collect(),
        whole: name(singles.whole),
        rows,
        unchecked,
    }
}

/// Base, single layers and whole; an error if one was not measured or is invalid.
fn variants(
    question: &Question,
    context: &PointContext<'_, '_>,
    singles: &SingleLayers,
) -> Result<Vec<VariantId>, String> {
    let variant = |member: Member| match member {
        Member::Absent(at) => {
            let absent = &question.absent[at];
            Err(format!("`{}` is unavailable: {}", absent.name, absent.reason))
        }
        Member::Measured(id) => match context.diagnoses[id.index()].invalid() {
            Some(reason) => Err(format!("`{}` is invalid: {reason}", question.variants[id.index()].name)),
            None => Ok(id),
        },
    };
    singles.members().map(variant).collect()
}

fn rows(
    question: &Question,
    context: &PointContext<'_, '_>,
    ids: &[VariantId],
) -> (Vec<SumRow>, Vec<Unchecked>) {
    let is_there = |quantity: &Quantity| {
        is_changed(*quantity)
            && adds_up(*quantity)
            && ids.iter().any(|id| context.samples.all[id.index()].figure(*quantity).is_ok())
    };
    let (mut rows, mut unchecked) = (Vec::new(), Vec::new());
    for quantity in Quantity::ALL.into_iter().filter(is_there) {
        match row(question, context, ids, quantity) {
            Ok(row) => rows.push(row),
            Err(reason) => unchecked.push(Unchecked { quantity: Some(quantity), reason }),
        }
    }
    (rows, unchecked)
}

/// Whether a layer can change a quantity: none changes what bodies hold. What it does to shares is in the table of
/// costs alone.
pub(super) fn is_changed(quantity: Quantity) -> bool {
    quantity != Quantity::PayloadBytesPerOperation && quantity.contrast() == ContrastKind::Log
}

/// Whether costs add up in a quantity if layers do not interact: times and resources do. A rate is the
/// inverse of a time, and the tail of a sum is not the sum of tails.
pub(crate) fn adds_up(quantity: Quantity) -> bool {
    let is_tail = matches!(quantity.statistic(), Statistic::Quantile(q) if q > 0.5);
    quantity != Quantity::Throughput && quantity.contrast() == ContrastKind::Log && !is_tail
}

fn row(
    question: &Question,
    context: &PointContext<'_, '_>,
    ids: &[VariantId],
    quantity: Quantity,
) -> Result<SumRow, String> {
    let exclusion = |id: &VariantId| {
        let exclusion = context.exclusion(*id, quantity)?;
        Some(format!("`{}`: {}", question.variants[id.index()].name, exclusion.own_reason(context, quantity)))
    };
    if let Some(reason) = ids.iter().find_map(exclusion) {
        return Err(reason);
    }
    let levels = context.levels(ids, quantity);
    let cost = |id: &VariantId| {
        let blocks = levels.between(ids[0], *id).map_err(|gap| context.why_apart(question, gap, quantity))?;
        Ok(blocks.into_iter().map(|(block, level)| (block, level.difference)).collect())
    };
    let costs: Vec<BTreeMap<u32, f64>> = ids[1..].iter().map(cost).collect::<Result<_, String>>()?;
    let (whole, singles) = costs.split_last().ok_or("there is nothing to add up")?;
    // Only blocks in which all were measured.
    let has_all = |block: &&u32| singles.iter().all(|single| single.contains_key(block));
    let blocks: Vec<u32> = whole.keys().filter(has_all).copied().collect();
    if blocks.is_empty() {
        return Err("no block holds all of them".to_owned());
    }
    let in_blocks = |cost: &BTreeMap<u32, f64>| blocks.iter().map(|block| cost[block]).collect::<Vec<_>>();
    let sums: Vec<f64> =
        blocks.iter().map(|block| singles.iter().map(|single| single[block]).sum()).collect();
    let wholes = in_blocks(whole);
    let beyond: Vec<f64> = wholes.iter().zip(&sums).map(|(whole, sum)| whole - sum).collect();
    let first_stage = context.samples.first_stage;
    let interaction = estimate(&beyond, first_stage);
    let base = context.samples.all[ids[0].index()].figure(quantity).map_or(0.0, |figure| figure.point.abs());
    let (verdict, mut reason) = conclude(&interaction, base * question.margin.get());
    if let Some(crossing) = context.crossing(question, ids) {
        append_reason(&mut reason, crossing);
    }
    Ok(SumRow {
        quantity,
        unit: quantity.unit(),
        singles: singles.iter().map(|single| estimate(&in_blocks(single), first_stage)).collect(),
        sum: estimate(&sums, first_stage),
        whole: estimate(&wholes, first_stage),
        interaction,
        p: mean_with_error(&beyond, first_stage).map(p_against_zero),
        verdict,
        reason,
    })
}

/// The conclusion from one interaction, by the rule of the verdict table; less than `least` is not relevant.
pub(crate) fn conclude(interaction: &Estimate, least: f64) -> (Additivity, Option<String>) {
    let Some((lower, upper)) = interaction.interval() else {
        return (Additivity::Undecided, Some("too few blocks for an interval".to_owned()));
    };
    match verdict_from_interval(lower, upper, least) {
        Verdict::NoRelevantDifference if lower > 0.0 || upper < 0.0 => {
            (Additivity::Agrees, Some("measurable, and within the margin".to_owned()))
        }
        Verdict::NoRelevantDifference => (Additivity::Agrees, None),
        Verdict::Higher | Verdict::Lower => (Additivity::Interaction, None),
        _ => (Additivity::Undecided, Some("the interval holds 0, and more than the margin".to_owned())),
    }
}

impl Row for SumRow {
    fn parts(&mut self) -> (Option<f64>, &mut Additivity, &mut Option<String>) {
        (self.p, &mut self.verdict, &mut self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_is_that_of_the_verdict_table() {
        let concluded = |lower: f64, upper: f64| {
            let interaction = Estimate {
                point: 0.5 * (lower + upper),
                lower: Some(lower),
                upper: Some(upper),
                level: 0.95,
                blocks: 6,
                bootstrap: None,
            };
            let (verdict, reason) = conclude(&interaction, 2.0);
            (verdict, reason.is_some())
        };
        assert_eq!(concluded(-1.0, 1.5), (Additivity::Agrees, false));
        assert_eq!(concluded(0.5, 1.5), (Additivity::Agrees, true), "measurable");
        assert_eq!(concluded(0.5, 2.5), (Additivity::Interaction, false));
        assert_eq!(concluded(-9.0, -3.0), (Additivity::Interaction, false));
        assert_eq!(
            concluded(-40.0, 35.0),
            (Additivity::Undecided, true),
            "0 in a wide interval shows nothing"
        );
    }
}
