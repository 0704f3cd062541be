//! What framing and codec cost where every framing was measured with every codec: main effects and interactions of
//! a two-way table. `judge` makes these values, `report` shows them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Effect, Estimate, Quantity, Unit, Verdict};
use crate::id::PointLabel;
use crate::layering::Additivity;

/// Variants that differ in framing and codec alone, each framing with each codec, at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Factorial {
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "PointLabel::is_empty", default)]
    pub point: PointLabel,
    /// What all of the variants have in common: `rust`.
    pub of: String,
    pub framings: Vec<String>,
    pub codecs: Vec<String>,
    /// Names of variants: a row for each framing, in it one for each codec.
    pub variants: Vec<Vec<String>>,
    /// One for each quantity whose costs add up and that all variants have.
    pub tables: Vec<FactorialTable>,
    /// Why there is no table, or a remark on all of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// Figures, main effects and interactions of one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FactorialTable {
    pub quantity: Quantity,
    /// The unit of figures and differences.
    pub unit: Unit,
    /// Figures of the variants, in their order.
    pub figures: Vec<Vec<Estimate>>,
    /// One for each framing but the first.
    pub framings: Vec<MainEffect>,
    /// One for each codec but the first.
    pub codecs: Vec<MainEffect>,
    /// One for each framing and codec that are neither of them the first.
    pub interactions: Vec<CellInteraction>,
    /// One for each codec but the first, with the last framing; absent in older summaries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<DifferenceParts>,
}

/// What a variant with another framing and another codec differs by from the first, and the parts of it: they add up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DifferenceParts {
    pub framing: String,
    pub codec: String,
    pub whole: Estimate,
    /// Of the framing alone, with the first codec.
    pub of_framing: Estimate,
    /// Of the codec alone, with the first framing.
    pub of_codec: Estimate,
    /// Of both together, beyond what each differs by alone.
    pub of_both: Estimate,
}

/// What one value of a factor costs more than the first, on average over the values of the other factor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MainEffect {
    /// `http2`
    pub value: String,
    /// `http1`
    pub against: String,
    /// The mean of the differences.
    pub difference: Estimate,
    /// The geometric mean of the ratios.
    pub ratio: Estimate,
    /// Two-sided p of no difference; absent without an interval.
    pub p: Option<f64>,
    /// The conclusion from the difference, with Holm's correction over all rows of the table.
    pub verdict: Verdict,
    /// Whether that is better or worse; absent unless it is higher or lower.
    pub effect: Option<Effect>,
    /// What the verdict alone does not say.
    pub reason: Option<String>,
}

/// What a framing and a codec cost together beyond what either costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellInteraction {
    pub framing: String,
    pub codec: String,
    /// The cell minus the first codec's in its row, minus the first framing's in its column, plus the first cell.
    pub difference: Estimate,
    /// Two-sided p of no interaction; absent without an interval.
    pub p: Option<f64>,
    /// The conclusion, with Holm's correction over all rows of the table.
    pub verdict: Additivity,
    /// What the verdict alone does not say.
    pub reason: Option<String>,
}
