//! The capacity of a variant as a run found it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::id::PointLabel;

/// The highest rate at which one variant keeps one objective, at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CapacityFound {
    pub variant: String,
    pub point: PointLabel,
    /// As the experiment has it: `p99 < 10 ms and errors < 0.1 %`.
    pub objective: String,
    /// Per second; absent if it could not be estimated.
    pub highest: Option<Estimate>,
    /// The condition that breaks first; absent if none was seen to break.
    pub limited_by: Option<String>,
    pub outcome: CapacityOutcome,
}

/// A rate that all variants keep, and at which they were measured beside each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommonRate {
    pub point: PointLabel,
    pub rate_per_s: f64,
}

/// How sure a capacity is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum CapacityOutcome {
    Estimated,
    /// Nothing was exceeded up to this rate, the highest that the generator can offer.
    AtCeiling {
        rate_per_s: f64,
    },
    /// Nothing was exceeded up to this rate, the highest that the experiment allows.
    AtMost {
        rate_per_s: f64,
    },
    /// Nothing was exceeded up to this rate, the highest that was tried.
    NotBroken {
        rate_per_s: f64,
    },
    /// Even this rate was exceeded.
    Below {
        rate_per_s: f64,
    },
    /// One rate is surely exceeded, and a higher one surely kept.
    NotMonotone {
        exceeded_per_s: f64,
        kept_per_s: f64,
    },
    /// Whether this rate is kept depends on what came before.
    Hysteresis {
        rate_per_s: f64,
    },
    /// It changes from the first block to the last by this share.
    Drift {
        change: f64,
    },
    /// A last, longer step at this rate, the lower end of the interval, did not keep the objective.
    NotConfirmed {
        rate_per_s: f64,
    },
    /// No block counts.
    NotMeasured,
}
