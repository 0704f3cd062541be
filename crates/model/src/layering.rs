//! What layers cost, singly and together: chains of variants of which each has one thing more than the one
//! before, whether the costs of single layers add up, and whether they depend on a factor. `judge` makes
//! these values, `report` shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Quantity, Unit, Validity};
use crate::id::PointLabel;

/// Costs of layers; empty if no variant extends another one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Layering {
    /// By point: from the variant with the fewest layers to the one with the most.
    pub chains: Vec<Chain>,
    /// Whether the costs of single layers add up to the cost of all together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<SumCheck>,
    /// Whether what a layer costs depends on a factor of the points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<Interaction>,
    /// What layers cost per operation and per byte, if size is a factor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<Slope>,
}

impl Layering {
    /// Whether there is nothing to report.
    pub fn is_empty(&self) -> bool {
        self.chains.is_empty() && self.sums.is_empty()
    }
}

/// Variants of which each has everything that the one before has and something more, at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "PointLabel::is_empty", default)]
    pub point: PointLabel,
    /// What all of its variants have in common: `rust`.
    pub of: String,
    /// Its variants, the one with the fewest layers first.
    pub stages: Vec<Stage>,
    /// Costs of the last stage relative to the first: the sum of the costs of the stages between.
    pub whole: Vec<StageCost>,
    /// Variants that belong to the chain and could not be measured.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing: Vec<Missing>,
}

/// A variant of a chain that could not be measured: the stage above it is compared with the one below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    pub variant: String,
    pub below: String,
    pub reason: String,
}

/// One variant of a chain, and what it costs more than the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// What it adds to the one before: `veth`, `vxlan + sidecar:haproxy`, `tls`; for the first stage `bare`,
    /// or what it has itself.
    pub name: String,
    pub variant: String,
    pub validity: Validity,
    pub costs: Vec<StageCost>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageCost {
    pub quantity: Quantity,
    /// The unit of figure and difference.
    pub unit: Unit,
    /// The variant's own figure; absent if it has no usable one, and for the whole.
    pub figure: Option<Estimate>,
    /// The variant minus the one before, or minus `against`; absent for the first stage and if there is no
    /// such cost.
    pub difference: Option<Estimate>,
    /// The ratio of the same two; absent if `difference` is.
    pub ratio: Option<Estimate>,
    /// The variant that it is compared with, if that is not the one before, because those between have no
    /// usable figure.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub against: Option<String>,
    /// Why the figure or the cost is absent, or a remark on the cost.
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Additivity {
    /// The interval of the interaction lies within the margin.
    Agrees,
    /// Together they cost something else than singly.
    Interaction,
    /// The interval allows neither conclusion, there is none, or too many rows are tested together.
    Undecided,
}

impl Additivity {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Interaction => "interaction",
            Self::Undecided => "undecided",
        }
    }
}

/// The costs of single layers, each added alone to the same variant, compared with the cost of all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SumCheck {
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "PointLabel::is_empty", default)]
    pub point: PointLabel,
    /// What all of its variants have in common: `rust`.
    pub of: String,
    /// The variant without any of them.
    pub base: String,
    /// Variants that add one of the layers to `base`.
    pub singles: Vec<Single>,
    pub whole: String,
    /// One row per quantity that all of these variants have.
    pub rows: Vec<SumRow>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unchecked: Vec<Unchecked>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unchecked {
    /// The quantity; absent if the reason applies to all.
    pub quantity: Option<Quantity>,
    pub reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Single {
    pub name: String,
    /// The variant that adds only this layer to the base.
    pub variant: String,
}

/// One quantity of a sum check. All figures are means over blocks of a block's value, so that no independence
/// is assumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SumRow {
    pub quantity: Quantity,
    pub unit: Unit,
    /// What each single layer adds to the base, in the order of [`SumCheck::singles`].
    #[serde(default)]
    pub singles: Vec<Estimate>,
    /// The sum of `singles`.
    pub sum: Estimate,
    /// The cost of all together.
    pub whole: Estimate,
    /// `whole` minus `sum`.
    pub interaction: Estimate,
    /// Two-sided p of no interaction; absent without an interval.
    pub p: Option<f64>,
    /// The conclusion, with Holm's correction over all rows of the run.
    pub verdict: Additivity,
    /// What the verdict alone does not say.
    pub reason: Option<String>,
}

/// The cost of a stage at one point compared with its cost at another point that differs in one factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interaction {
    /// What all variants of the chain have in common.
    pub of: String,
    /// The stage; `whole` for a whole chain.
    pub stage: String,
    pub variant: String,
    /// The variant that it is compared with: the one below.
    #[serde(default)]
    pub above: String,
    /// The factor: `workload.size`.
    pub factor: String,
    /// The point that is compared with.
    pub from: PointLabel,
    pub to: PointLabel,
    pub quantity: Quantity,
    pub unit: Unit,
    /// The cost at `to` minus the cost at `from`.
    pub difference: Estimate,
    /// Two-sided p of no difference; absent without an interval.
    pub p: Option<f64>,
    /// The conclusion, with Holm's correction over all stages of the run, or over all whole chains.
    pub verdict: Additivity,
    /// What the verdict alone does not say.
    pub reason: Option<String>,
}

/// What a stage of a chain costs per operation and per byte of the size: a line through its costs at all
/// sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slope {
    /// What all variants of the chain have in common.
    pub of: String,
    /// The stage; `whole` for a whole chain.
    pub stage: String,
    pub variant: String,
    /// The variant that it is compared with: the one below.
    #[serde(default)]
    pub above: String,
    /// The other factors of the points. Left out if the experiment has one point.
    #[serde(skip_serializing_if = "PointLabel::is_empty", default)]
    pub point: PointLabel,
    /// The sizes that the line is fitted to, in bytes.
    pub sizes: Vec<u64>,
    pub quantity: Quantity,
    /// The unit of `per_operation`; `per_byte` is in this unit per byte.
    pub unit: Unit,
    /// The line at size 0.
    pub per_operation: Estimate,
    pub per_byte: Estimate,
}
