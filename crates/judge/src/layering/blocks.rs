//! Variants of a chain, block by block, on one scale: each against one of them, so that what lies between two is a
//! difference within a block and the steps of a chain add up to the whole, to the last bit of a sum.
//!
//! In closed load p50 is a median over rounds, and medians of differences do not add up. So a step is not taken between its
//! two variants alone but between their costs against the lowest of the chain, each paired with it round by round: these are
//! the costs of the verdict table, and what a round's drift does to all cancels.

use std::collections::BTreeMap;

use weighbridge_model::record::VariantId;
use weighbridge_model::summary::{Estimate, Quantity};

use crate::estimate::{Absence, BlockEstimate, Contrast, Side, estimate};

/// What one block says.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Level {
    /// ln of the ratio to the reference.
    pub log_ratio: f64,
    /// The difference from the reference.
    pub difference: f64,
}

/// The sides of one point, by variant.
pub(crate) struct Sides<'s, 'a> {
    /// One for each variant of the question, of all requests.
    pub all: Vec<&'s Side<'a>>,
    /// Whether variants lived in batches: then all are against the baseline, which alone lived beside each.
    pub is_batched: bool,
    /// Blocks of the first stage.
    pub first_stage: usize,
}

/// Several variants, block by block: of the blocks that all have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Levels {
    /// The blocks' numbers.
    pub blocks: Vec<u32>,
    /// By variant, then by block.
    of: Vec<Vec<Level>>,
}

impl Levels {
    /// These variants in one quantity, against the first of them, or against the baseline where variants lived in batches.
    /// What the baseline has no figure of, as bytes on a link that it lacks, is counted and does not drift from batch to
    /// batch: it is against the first then too.
    ///
    /// # Errors
    /// Why one of them has no figure, with its number.
    pub(crate) fn new(
        sides: &Sides<'_, '_>,
        variants: &[VariantId],
        quantity: Quantity,
    ) -> Result<Self, (VariantId, Absence)> {
        let is_apart = sides.is_batched && sides.all[0].values(quantity).is_err();
        let reference = if sides.is_batched && !is_apart { VariantId(0) } else { variants[0] };
        let level = |&id: &VariantId| {
            let (side, reference_side) = (sides.all[id.index()], sides.all[reference.index()]);
            let contrast = match id == reference {
                true => against_itself(side, quantity),
                false if is_apart => by_block(side, reference_side, quantity),
                false => side.against(reference_side, quantity),
            };
            contrast.map_err(|absence| (id, absence))
        };
        let contrasts: Vec<Contrast> = variants.iter().map(level).collect::<Result<_, _>>()?;
        let maps: Vec<BTreeMap<u32, BlockEstimate>> = contrasts
            .iter()
            .map(|contrast| contrast.blocks().iter().map(|block| (block.block, *block)).collect())
            .collect();
        let is_common = |block: &&u32| maps.iter().all(|map| map.contains_key(block));
        let blocks: Vec<u32> = maps[0].keys().filter(is_common).copied().collect();
        if blocks.is_empty() {
            return Err((variants[0], Absence::NoBlock));
        }
        let row = |map: &BTreeMap<u32, BlockEstimate>| {
            let level = |block| Level { log_ratio: map[block].log_ratio, difference: map[block].difference };
            blocks.iter().map(level).collect()
        };
        Ok(Self { of: maps.iter().map(row).collect(), blocks })
    }

    /// What each block says of variant `to` against variant `from`, by their places.
    pub(crate) fn between(&self, from: usize, to: usize) -> Vec<Level> {
        let pairs = self.of[from].iter().zip(&self.of[to]);
        pairs
            .map(|(from, to)| Level {
                log_ratio: to.log_ratio - from.log_ratio,
                difference: to.difference - from.difference,
            })
            .collect()
    }
}

fn against_itself(side: &Side<'_>, quantity: Quantity) -> Result<Contrast, Absence> {
    let of = |(block, _)| BlockEstimate { block, log_ratio: 0.0, difference: 0.0 };
    Ok(Contrast::new(side.values(quantity)?.into_iter().map(of).collect(), 1))
}

/// One variant's figures against another's of the same blocks, in whichever batches.
fn by_block(side: &Side<'_>, reference: &Side<'_>, quantity: Quantity) -> Result<Contrast, Absence> {
    let theirs: BTreeMap<u32, f64> = reference.values(quantity)?.into_iter().collect();
    let of = |(block, value): (u32, f64)| {
        let other = *theirs.get(&block)?;
        Some(BlockEstimate { block, log_ratio: (value / other).ln(), difference: value - other })
    };
    let blocks: Vec<BlockEstimate> = side.values(quantity)?.into_iter().filter_map(of).collect();
    if blocks.is_empty() { Err(Absence::NoBlock) } else { Ok(Contrast::new(blocks, 1)) }
}

/// Difference and ratio over blocks.
pub(crate) fn estimates(levels: &[Level], first_stage: usize) -> (Estimate, Estimate) {
    let of = |pick: fn(&Level) -> f64| {
        let values: Vec<f64> = levels.iter().map(pick).collect();
        estimate(&values, first_stage)
    };
    let (difference, logs) = (of(|level| level.difference), of(|level| level.log_ratio));
    let ratio = Estimate {
        point: logs.point.exp(),
        lower: logs.lower.map(f64::exp),
        upper: logs.upper.map(f64::exp),
        ..logs
    };
    (difference, ratio)
}
