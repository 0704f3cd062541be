//! Whether single layers add up: each alone above one variant, against all of them together.
//!
//! A block says what each single layer costs and what all cost together; the interaction is the latter less the sum of the
//! former, in that block. All these costs share the variant below, and the block; so they are not independent, and no
//! errors are added up: the interval is over the blocks' interactions.

use weighbridge_model::layering::{Additivity, Single, SumCheck, SumRow};
use weighbridge_model::record::VariantId;
use weighbridge_model::summary::{Estimate, Quantity, Statistic, Validity};

use super::blocks::Levels;
use super::lineup::Singles;
use super::{Here, Row};
use crate::estimate::{estimate, mean_with_error};
use crate::question::Question;
use crate::stats::multiple::p_against_zero;

/// One check at one point; `None` where a variant of it is invalid or no quantity is there of all.
pub(super) fn check(question: &Question, here: &Here<'_, '_>, singles: &Singles) -> Option<SumCheck> {
    let ids: Vec<VariantId> = std::iter::once(singles.base)
        .chain(singles.singles.iter().map(|(id, _)| *id))
        .chain(std::iter::once(singles.whole))
        .collect();
    let is_usable = ids.iter().all(|id| here.validity[id.index()] != Validity::Invalid);
    let rows: Vec<SumRow> = Quantity::ALL
        .into_iter()
        .filter(|quantity| is_usable && adds_up(*quantity))
        .filter_map(|quantity| row(question, here, &ids, quantity))
        .collect();
    let name = |id: VariantId| question.variants[id.index()].name.clone();
    let single = |(id, layer): &(VariantId, String)| Single { name: layer.clone(), variant: name(*id) };
    (!rows.is_empty()).then(|| SumCheck {
        point: question.points[here.id.index()].label.clone(),
        of: singles.of.clone(),
        base: name(singles.base),
        singles: singles.singles.iter().map(single).collect(),
        whole: name(singles.whole),
        rows,
    })
}

/// Whether costs that do not interact add up in a quantity: times and what is used. A rate is one over a time, and the tail
/// of a sum is not the sum of tails.
fn adds_up(quantity: Quantity) -> bool {
    let is_tail = matches!(quantity.statistic(), Statistic::Quantile(q) if q > 0.5);
    quantity != Quantity::Throughput && !is_tail
}

fn row(question: &Question, here: &Here<'_, '_>, ids: &[VariantId], quantity: Quantity) -> Option<SumRow> {
    let levels = Levels::new(&here.sides, ids, quantity).ok()?;
    let last = ids.len() - 1;
    let costs = |place| levels.between(0, place).into_iter().map(|level| level.difference);
    let mut sums = vec![0.0; levels.blocks.len()];
    for place in 1..last {
        sums.iter_mut().zip(costs(place)).for_each(|(sum, cost)| *sum += cost);
    }
    let wholes: Vec<f64> = costs(last).collect();
    let beyond: Vec<f64> = wholes.iter().zip(&sums).map(|(whole, sum)| whole - sum).collect();
    let first_stage = here.sides.first_stage;
    let interaction = estimate(&beyond, first_stage);
    let base = here.sides.all[ids[0].index()].figure(quantity).ok()?.point.abs();
    let (verdict, reason) = conclude(&interaction, base * question.margin.get());
    Some(SumRow {
        quantity,
        unit: quantity.unit(),
        sum: estimate(&sums, first_stage),
        whole: estimate(&wholes, first_stage),
        interaction,
        p: mean_with_error(&beyond, first_stage).map(p_against_zero),
        verdict,
        reason,
    })
}

/// What an interaction says by itself; less than `least` is not relevant.
pub(super) fn conclude(interaction: &Estimate, least: f64) -> (Additivity, Option<String>) {
    let Some((lower, upper)) = interaction.interval() else {
        return (Additivity::Undecided, Some("too few blocks for an interval".to_owned()));
    };
    if lower <= 0.0 && 0.0 <= upper {
        return (Additivity::Agrees, None);
    }
    if -least <= lower && upper <= least {
        return (Additivity::Agrees, Some("measurable, and within the margin".to_owned()));
    }
    (Additivity::Interaction, None)
}

impl Row for SumRow {
    fn parts(&mut self) -> (Option<f64>, &mut Additivity, &mut Option<String>) {
        (self.p, &mut self.verdict, &mut self.reason)
    }
}
