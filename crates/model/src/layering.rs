//! What layers cost, one at a time and together: chains of variants of which each has one thing more than the one before,
//! whether the costs of single layers add up, and whether they depend on a factor. Made by `judge`, shown by `report`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Quantity, Unit, Validity};
use crate::id::PointLabel;

/// Costs of layers; empty where no variant is another one with something more.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Layering {
    /// Point by point: from the variant with the least to the one with the most.
    pub chains: Vec<Chain>,
    /// Whether costs of single layers add up to that of all together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sums: Vec<SumCheck>,
    /// Whether what a layer costs depends on a factor of the points.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interactions: Vec<Interaction>,
    /// What layers cost per operation and per byte, where size is a factor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slopes: Vec<Slope>,
}

impl Layering {
    /// Whether there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.chains.is_empty() && self.sums.is_empty()
    }
}

/// Variants of which each has everything that the one before has and something more, at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "PointLabel::is_empty", default)]
    pub point: PointLabel,
    /// What all of its variants are: `rust`.
    pub of: String,
    /// Its variants, the one with the least first.
    pub stages: Vec<Stage>,
    /// The last against the first: costs of the stages between add up to these.
    pub whole: Vec<StageCost>,
    /// Variants that belong between or below the stages and could not be measured.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub missing: Vec<Missing>,
}

/// A variant of a chain that could not be measured: the stage above it is held against the one below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// Its name.
    pub variant: String,
    /// The variant of the stage that stands above it.
    pub below: String,
    /// Why it could not be measured.
    pub reason: String,
}

/// One variant of a chain, and what it costs more than the one before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// What it has more than the one before: `veth`, `vxlan + sidecar:haproxy`, `tls`; the first stage's is `bare` or what
    /// it has itself.
    pub name: String,
    /// The variant's name.
    pub variant: String,
    /// Whether its figures may be used.
    pub validity: Validity,
    /// One for each quantity.
    pub costs: Vec<StageCost>,
}

/// One quantity of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageCost {
    /// The quantity.
    pub quantity: Quantity,
    /// The unit of figure and difference.
    pub unit: Unit,
    /// The variant's own figure; absent where it has none or none that may be used, and for the whole.
    pub figure: Option<Estimate>,
    /// The variant minus `against`; absent for the first stage and where there is no such cost.
    pub difference: Option<Estimate>,
    /// The variant over `against`; absent where `difference` is.
    pub ratio: Option<Estimate>,
    /// The variant that it is held against, where that is not the one before: what lies between has no figure that may be
    /// used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub against: Option<String>,
    /// Why figure or cost is absent, or what the cost alone does not say.
    pub reason: Option<String>,
}

/// Whether effects add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Additivity {
    /// They do: the interval of the interaction lies within the margin.
    Agrees,
    /// They do not: together they cost another thing than apart.
    Interaction,
    /// The interval allows neither conclusion, there is none, or it is one row among many.
    Undecided,
}

impl Additivity {
    /// The verdict as in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Interaction => "interaction",
            Self::Undecided => "undecided",
        }
    }
}

/// Single layers, each alone above the same variant, against all of them together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SumCheck {
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "PointLabel::is_empty", default)]
    pub point: PointLabel,
    /// What all of its variants are.
    pub of: String,
    /// The variant below all of them.
    pub base: String,
    /// Variants with one of the layers each, above `base`.
    pub singles: Vec<Single>,
    /// The variant with all of them.
    pub whole: String,
    /// One for each quantity that all of these have.
    pub rows: Vec<SumRow>,
    /// What was not checked, and why.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unchecked: Vec<Unchecked>,
}

/// A sum that was not checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unchecked {
    /// The quantity; absent where it is so for all.
    pub quantity: Option<Quantity>,
    /// Why.
    pub reason: String,
}

/// A layer by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Single {
    /// The layer.
    pub name: String,
    /// The variant that has it and nothing else above the base.
    pub variant: String,
}

/// One quantity of a sum check. All are means over blocks of what a block says, so that no independence is assumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SumRow {
    /// The quantity.
    pub quantity: Quantity,
    /// The unit.
    pub unit: Unit,
    /// What each single layer costs above the base, in the order of [`SumCheck::singles`].
    #[serde(default)]
    pub singles: Vec<Estimate>,
    /// The same, added.
    pub sum: Estimate,
    /// The cost of all together.
    pub whole: Estimate,
    /// `whole` minus `sum`.
    pub interaction: Estimate,
    /// Two-sided p of no interaction; absent where no interval is.
    pub p: Option<f64>,
    /// The conclusion, Holm's correction over all rows of the run included.
    pub verdict: Additivity,
    /// What the verdict alone does not say.
    pub reason: Option<String>,
}

/// What a stage of a chain costs at one point against what it costs at another that differs in one factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interaction {
    /// What all variants of the chain are.
    pub of: String,
    /// The stage; `whole` for a whole chain.
    pub stage: String,
    /// Its variant.
    pub variant: String,
    /// The variant that it is held against: the one below.
    #[serde(default)]
    pub above: String,
    /// The factor: `workload.size`.
    pub factor: String,
    /// The point that it is held against.
    pub from: PointLabel,
    /// The other point.
    pub to: PointLabel,
    /// The quantity.
    pub quantity: Quantity,
    /// The unit.
    pub unit: Unit,
    /// The cost at `to` minus the cost at `from`.
    pub difference: Estimate,
    /// Two-sided p of no difference; absent where no interval is.
    pub p: Option<f64>,
    /// The conclusion, Holm's correction included: over all stages of the run, and over all whole chains by themselves.
    pub verdict: Additivity,
    /// What the verdict alone does not say.
    pub reason: Option<String>,
}

/// What a stage of a chain costs per operation and per byte of the size: the line through its costs at all sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Slope {
    /// What all variants of the chain are.
    pub of: String,
    /// The stage; `whole` for a whole chain.
    pub stage: String,
    /// Its variant.
    pub variant: String,
    /// The variant that it is held against: the one below.
    #[serde(default)]
    pub above: String,
    /// The other factors of the points.
    #[serde(skip_serializing_if = "PointLabel::is_empty", default)]
    pub point: PointLabel,
    /// The sizes that the line goes through, in bytes.
    pub sizes: Vec<u64>,
    /// The quantity.
    pub quantity: Quantity,
    /// The unit of `per_operation`; `per_byte` is so much per byte.
    pub unit: Unit,
    /// The line at size 0.
    pub per_operation: Estimate,
    /// Its slope.
    pub per_byte: Estimate,
}
