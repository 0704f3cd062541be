//! Variants of one family, block by block, all against one reference. So the difference of any two is taken
//! within a block, and the steps of a chain add up to the whole exactly.
//!
//! In closed load p50 is a median over rounds, and medians of differences do not add up. So a step is not
//! estimated from its two variants alone. It is the difference of their costs against the chain's lowest
//! variant, each paired with it round by round: these are the costs of the verdict table, and drift within a
//! round cancels.

use std::collections::BTreeMap;

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::id::VariantId;

use crate::estimate::{Absence, Contrast, VariantSamples, estimate};

/// One variant against its reference, in one block.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Level {
    pub log_ratio: f64,
    pub difference: f64,
}

pub(crate) struct PointSamples<'s, 'a> {
    /// One for each variant of the question, over all requests.
    pub all: Vec<&'s VariantSamples<'a>>,
    pub batches: Vec<Vec<VariantId>>,
    pub first_stage: usize,
}

impl PointSamples<'_, '_> {
    pub(crate) fn lived_together(&self, variants: &[VariantId]) -> bool {
        let has_all = |batch: &Vec<VariantId>| variants.iter().all(|id| batch.contains(id));
        self.batches.len() < 2 || self.batches.iter().any(has_all)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reference {
    /// A variant of the same batch, possibly the variant itself.
    Variant(VariantId),
    /// No variant: the quantity is counted, and does not drift from batch to batch.
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Incomparable {
    /// The variant has no figure against its reference.
    Absent(VariantId, Absence),
    /// They lived in different batches, and the baseline, which lived in both, has no figure of this
    /// quantity.
    Apart,
    NoBlock,
}

/// The level in each block by the block's number.
type ByBlock = Result<BTreeMap<u32, Level>, Absence>;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct VariantLevels(BTreeMap<VariantId, (Reference, ByBlock)>);

impl VariantLevels {
    /// The reference of all `ids` is the first of them if all lived in one batch; else the baseline, if its
    /// figures may be used; else the first of each variant's own batch. A counted quantity of variants in
    /// several batches needs no reference.
    pub(crate) fn new(
        samples: &PointSamples<'_, '_>,
        variants: &[VariantId],
        quantity: Quantity,
        usable_baseline: Option<VariantId>,
    ) -> Self {
        let together = samples.lived_together(variants);
        let reference = |id: VariantId| {
            let beside = variants.iter().find(|other| samples.lived_together(&[id, **other]));
            match (variants.first(), usable_baseline) {
                (Some(first), _) if together => Reference::Variant(*first),
                (_, Some(baseline)) => Reference::Variant(baseline),
                _ if is_counted(quantity) => Reference::Nothing,
                _ => Reference::Variant(beside.copied().unwrap_or(id)),
            }
        };
        let level = |&id: &VariantId| {
            let reference = reference(id);
            (id, (reference, levels(samples, id, reference, quantity)))
        };
        Self(variants.iter().map(level).collect())
    }

    pub(crate) fn absence(&self, id: VariantId) -> Option<Absence> {
        self.0.get(&id)?.1.as_ref().err().copied()
    }

    /// The level of `to` against `from` in each block that has both; never empty.
    pub(crate) fn between(
        &self,
        from: VariantId,
        to: VariantId,
    ) -> Result<BTreeMap<u32, Level>, Incomparable> {
        let levels_of_variant = |id: VariantId| {
            let (reference, levels) =
                self.0.get(&id).ok_or(Incomparable::Absent(id, Absence::NotMeasured))?;
            Ok((reference, levels.as_ref().map_err(|absence| Incomparable::Absent(id, *absence))?))
        };
        let ((below, from), (above, to)) = (levels_of_variant(from)?, levels_of_variant(to)?);
        if below != above {
            return Err(Incomparable::Apart);
        }
        let step = |(block, to): (&u32, &Level)| {
            let from = from.get(block)?;
            let difference = to.difference - from.difference;
            Some((*block, Level { log_ratio: to.log_ratio - from.log_ratio, difference }))
        };
        let blocks: BTreeMap<u32, Level> = to.iter().filter_map(step).collect();
        if blocks.is_empty() { Err(Incomparable::NoBlock) } else { Ok(blocks) }
    }
}

/// Whether a quantity is counted and not timed, so that what the host does meanwhile does not change it.
const fn is_counted(quantity: Quantity) -> bool {
    matches!(
        quantity,
        Quantity::BytesPerOperation
            | Quantity::PayloadBytesPerOperation
            | Quantity::WireBytesPerOperation
            | Quantity::SegmentsPerOperation
    )
}

fn levels(
    samples: &PointSamples<'_, '_>,
    id: VariantId,
    reference: Reference,
    quantity: Quantity,
) -> Result<BTreeMap<u32, Level>, Absence> {
    let variant = samples.all[id.index()];
    let own = |level: fn(f64) -> Level| {
        let values = variant.values(quantity)?;
        Ok(values.into_iter().map(|(block, value)| (block, level(value))).collect())
    };
    match reference {
        Reference::Variant(other) if other == id => own(|_| Level::default()),
        Reference::Nothing => own(|value| Level { log_ratio: value.ln(), difference: value }),
        Reference::Variant(other) => {
            let contrast: Contrast = variant.against(samples.all[other.index()], quantity)?;
            let level = |block: &crate::estimate::BlockEstimate| {
                (block.block, Level { log_ratio: block.compared, difference: block.difference })
            };
            Ok(contrast.blocks().iter().map(level).collect())
        }
    }
}

pub(crate) fn estimates(levels: &BTreeMap<u32, Level>, first_stage: usize) -> (Estimate, Estimate) {
    let estimated = |pick: fn(&Level) -> f64| {
        let values: Vec<f64> = levels.values().map(pick).collect();
        estimate(&values, first_stage)
    };
    let (difference, logs) = (estimated(|level| level.difference), estimated(|level| level.log_ratio));
    let ratio = Estimate {
        point: logs.point.exp(),
        lower: logs.lower.map(f64::exp),
        upper: logs.upper.map(f64::exp),
        ..logs
    };
    (difference, ratio)
}
