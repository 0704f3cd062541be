//! Accuracy of measurements on a host: the result of `weigh calibrate` with copies of one variant, stored and
//! quoted later.
//!
//! Values only. The conductor measures, the judge computes these figures, the store keeps them, the report
//! shows them. The generator's own accuracy is in [`crate::calibration`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Quantity, Unit};
use crate::quantity::{Nanoseconds, Ratio};

pub const RELIABILITY_VERSION: u32 = 1;

/// A share of independent tries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Tries in which it happened.
    pub hits: u32,
    /// Independent tries.
    pub of: u32,
    /// hits / of.
    pub point: f64,
    /// Lower bound of the exact (Clopper–Pearson) interval.
    pub lower: f64,
    pub upper: f64,
    /// Level of the interval: 0.95.
    pub level: f64,
}

/// The smallest difference that a plan finds in four of five tries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Detectable {
    /// Total time of rounds over all blocks.
    #[serde(rename = "measured_ns")]
    pub measured: Nanoseconds,
    /// Number of blocks.
    pub blocks: u32,
    /// The difference, as a share of the baseline's figure.
    pub change: Ratio,
}

/// Differences between two copies of a variant in one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantitySpread {
    pub quantity: Quantity,
    pub unit: Unit,
    /// The variant's own figure over all runs.
    pub figure: f64,
    /// Blocks used for the deviations, of all runs of copies.
    pub blocks: u32,
    /// Standard deviation of ln(copy / variant) from block to block, as measured.
    pub deviation: Ratio,
    /// The part of it that is due to starts; absent if parts of a block do not give the quantity.
    pub start: Option<Ratio>,
    /// Standard deviation of one round; absent if `start` is.
    pub round: Option<Ratio>,
    /// The smallest detectable difference for given measured times; if the components are absent, only for
    /// the time of the calibration's own runs.
    pub detectable: Vec<Detectable>,
    /// Cost of being the second of two copies: copy / variant over runs, with an interval from three runs on.
    /// Its `blocks` are runs. Absent in older calibrations.
    #[serde(default)]
    pub position: Option<Estimate>,
}

/// How much figures of the same variant differ from run to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunToRun {
    pub quantity: Quantity,
    /// Standard deviation between runs of the mean over blocks of the figure's logarithm.
    pub deviation: Ratio,
    /// Lower bound of its interval (chi-square).
    pub lower: Ratio,
    pub upper: Ratio,
    /// Level of the interval: 0.95.
    pub level: f64,
    pub runs: u32,
}

/// How a copy was made slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Planting {
    /// The probe kept its processor busy before each answer, and recorded how long.
    Probe,
    /// The generator delayed each reply after reading it, before *done* was taken.
    HoldBack,
}

/// One run with a planted difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlantedRun {
    /// The headline's ratio, slower copy over variant.
    pub ratio: Estimate,
    /// The headline's difference, in the headline's unit.
    pub difference: Estimate,
    /// The true difference, in nanoseconds per request; absent if the headline does not show it one to one.
    #[serde(rename = "truth_ns")]
    pub truth: Option<f64>,
}

/// How often a copy that was really slower was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Planted {
    /// How it was made slower.
    pub planting: Planting,
    /// The requested difference.
    #[serde(rename = "asked_ns")]
    pub asked: Nanoseconds,
    /// Runs whose headline's interval excludes 0, in the direction of worse.
    pub found: Share,
    /// Runs whose interval of the difference contains the true one; absent if the headline does not show it
    /// one to one.
    pub covered: Option<Share>,
    /// The difference over runs, in the headline's unit.
    pub difference: Option<Estimate>,
    /// The true difference, on average over the runs, in nanoseconds; absent as above.
    #[serde(rename = "truth_ns")]
    pub truth: Option<f64>,
    pub runs: Vec<PlantedRun>,
}

/// One variant compared with copies of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantReliability {
    pub variant: String,
    /// Blocks of a run.
    pub blocks: u32,
    /// Rounds of a block, on average.
    pub rounds: f64,
    /// Measured time of a run, on average.
    #[serde(rename = "measured_ns")]
    pub measured: Nanoseconds,
    /// Runs of two copies whose headline's interval excludes 0; absent if no run gave an interval.
    pub false_alarms: Option<Share>,
    /// Runs that gave no interval or whose figures were invalid; they are in no other count.
    pub lost: u32,
    /// By quantity; the headline first.
    pub quantities: Vec<QuantitySpread>,
    /// Runs with a slower copy; absent if there was none.
    pub planted: Option<Planted>,
    /// Differences of the variant's own figures from run to run.
    pub run_to_run: Vec<RunToRun>,
    /// Time from the beginning of the first run to the end of the last; slower changes are not covered.
    #[serde(rename = "spread_over_ns")]
    pub spread_over: Nanoseconds,
}

/// A source of disturbance on the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseSource {
    /// What it is, in a few words.
    pub source: String,
    /// The figure; absent if it cannot be measured here.
    pub value: Option<f64>,
    pub unit: String,
    /// The figure in words, or why it cannot be measured.
    pub evidence: String,
    /// What it does to figures.
    pub effect: String,
}

/// Facts that identify a host for comparisons, and a few that may change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostIdentity {
    /// 16 hexadecimal digits, from `lasting`.
    pub key: String,
    /// Processor, cores, kernel, hypervisor …: figures of hosts that differ here are not comparable.
    pub lasting: BTreeMap<String, String>,
    /// Boot, name, governor, clock source …: reported if they have changed.
    pub passing: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostCalibration {
    pub schema: u32,
    /// Name of the experiment.
    pub experiment: String,
    /// Workload, load model and connections in words.
    pub conditions: String,
    /// Headline of that experiment.
    pub headline: Quantity,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The same in seconds since 1970.
    pub started_unix_s: u64,
    #[serde(rename = "took_ns")]
    pub took: Nanoseconds,
    pub host: HostIdentity,
    pub variants: Vec<VariantReliability>,
    /// What disturbs measurements here.
    pub noise: Vec<NoiseSource>,
}

/// Excerpt of a host's calibration for later reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationQuote {
    /// Name of the experiment.
    pub experiment: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How old it was when it was quoted.
    #[serde(rename = "age_ns")]
    pub age: Nanoseconds,
    /// The calibration's headline.
    pub headline: Quantity,
    /// How often two equal copies were found to differ.
    pub false_alarms: Option<Share>,
    /// The smallest difference of that headline found in four of five tries, in the measured time nearest to
    /// the report's.
    pub detectable: Option<Detectable>,
    /// Cost of being the second of two copies, in that headline.
    #[serde(default)]
    pub position: Option<Estimate>,
    /// How much figures of the same variant differ from run to run.
    pub run_to_run: Option<RunToRun>,
    /// What has changed on the host since, in words.
    pub changed: Vec<String>,
}
