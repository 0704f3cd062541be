//! How good measurements are on a host: what `weigh calibrate` found with copies of one variant, kept and quoted later.
//!
//! Values only. The conductor measures, the judge makes these figures of the records, the store keeps them, the report
//! shows them. What the generator itself does is [`crate::calibration`]'s.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimate, Quantity, Unit};
use crate::quantity::{Nanoseconds, Ratio};

/// Version of this JSON.
pub const RELIABILITY_VERSION: u32 = 1;

/// How often something happened.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// How often.
    pub hits: u32,
    /// Of how many independent tries.
    pub of: u32,
    /// hits / of.
    pub point: f64,
    /// Lower bound of the exact (Clopper–Pearson) interval.
    pub lower: f64,
    /// Upper bound.
    pub upper: f64,
    /// Its level: 0.95.
    pub level: f64,
}

/// The smallest difference that a plan finds in four of five tries.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Detectable {
    /// Time of rounds in all, over all blocks.
    #[serde(rename = "measured_ns")]
    pub measured: Nanoseconds,
    /// Blocks that it is divided into.
    pub blocks: u32,
    /// The difference, as a share of the baseline's figure.
    pub change: Ratio,
}

/// What two copies of a variant differ by in one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuantitySpread {
    /// The quantity.
    pub quantity: Quantity,
    /// Its unit.
    pub unit: Unit,
    /// The variant's own figure, over all runs.
    pub figure: f64,
    /// Blocks that the deviations rest on, of all runs of copies.
    pub blocks: u32,
    /// Standard deviation of ln(copy / variant) from block to block, as measured.
    pub deviation: Ratio,
    /// What of it each start decides; absent where the quantity cannot be had from a part of a block.
    pub start: Option<Ratio>,
    /// Standard deviation of one round; absent likewise.
    pub round: Option<Ratio>,
    /// The smallest detectable difference for given measured times; where the components are absent, for the time of the
    /// calibration's own runs only.
    pub detectable: Vec<Detectable>,
    /// What it costs to be the second of two copies: copy / variant over runs, with an interval from three runs on. Its
    /// `blocks` are runs. Absent in older calibrations.
    #[serde(default)]
    pub position: Option<Estimate>,
}

/// How far one and the same variant, measured again, lies from itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunToRun {
    /// The quantity.
    pub quantity: Quantity,
    /// Standard deviation between runs of the mean over blocks of the figure's logarithm.
    pub deviation: Ratio,
    /// Lower bound of its interval (chi-square).
    pub lower: Ratio,
    /// Upper bound.
    pub upper: Ratio,
    /// Level of the interval: 0.95.
    pub level: f64,
    /// Runs.
    pub runs: u32,
}

/// How a copy was made slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Planting {
    /// The probe kept its processor busy before each answer, and recorded for how long.
    Probe,
    /// The generator held each reply back after it was read, before *done* was taken.
    HoldBack,
}

/// One run with a planted difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlantedRun {
    /// The headline's ratio, slower copy over variant.
    pub ratio: Estimate,
    /// The headline's difference, in the headline's unit.
    pub difference: Estimate,
    /// What was really planted, in nanoseconds a request; absent where the headline does not show it one to one.
    #[serde(rename = "truth_ns")]
    pub truth: Option<f64>,
}

/// What became of a copy that was really slower.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Planted {
    /// How it was made slower.
    pub planting: Planting,
    /// By how much, as asked for.
    #[serde(rename = "asked_ns")]
    pub asked: Nanoseconds,
    /// Runs whose headline's interval excludes 0, towards worse.
    pub found: Share,
    /// Runs whose interval of the difference holds the truth; absent where the headline does not show it one to one.
    pub covered: Option<Share>,
    /// The difference over runs, in the headline's unit.
    pub difference: Option<Estimate>,
    /// What was really planted, on average over the runs, in nanoseconds; absent as above.
    #[serde(rename = "truth_ns")]
    pub truth: Option<f64>,
    /// Run by run.
    pub runs: Vec<PlantedRun>,
}

/// One variant beside copies of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantReliability {
    /// Its name.
    pub variant: String,
    /// Blocks of a run.
    pub blocks: u32,
    /// Rounds of a block, on average.
    pub rounds: f64,
    /// Measured time of a run, on average.
    #[serde(rename = "measured_ns")]
    pub measured: Nanoseconds,
    /// Runs of two copies whose headline's interval excludes 0. Absent where no run gave an interval.
    pub false_alarms: Option<Share>,
    /// Runs that gave no interval or whose figures were invalid, by themselves in no other count.
    pub lost: u32,
    /// Quantity by quantity; the headline first.
    pub quantities: Vec<QuantitySpread>,
    /// Runs with a copy that was slower; absent where there was none.
    pub planted: Option<Planted>,
    /// From run to run, the variant alone.
    pub run_to_run: Vec<RunToRun>,
    /// Between the beginning of the first run and the end of the last: what takes longer to change is not in it.
    #[serde(rename = "spread_over_ns")]
    pub spread_over: Nanoseconds,
}

/// Something on the host that gets into figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NoiseSource {
    /// What it is, in a few words.
    pub source: String,
    /// The figure; absent where it cannot be had here.
    pub value: Option<f64>,
    /// The figure's unit.
    pub unit: String,
    /// The figure in words, or why it cannot be had.
    pub evidence: String,
    /// What it does to figures.
    pub effect: String,
}

/// Facts of a host that make figures of another one incomparable, and a few that merely may change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostIdentity {
    /// 16 hexadecimal digits, from `lasting`.
    pub key: String,
    /// Processor, cores, kernel, hypervisor …: hosts that differ here are different hosts.
    pub lasting: BTreeMap<String, String>,
    /// Boot, name, governor, clock source …: told where they have changed.
    pub passing: BTreeMap<String, String>,
}

/// What `weigh calibrate` found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostCalibration {
    /// Version of this JSON.
    pub schema: u32,
    /// Of which experiment.
    pub experiment: String,
    /// Workload, load model and connections in words.
    pub conditions: String,
    /// Headline of that experiment.
    pub headline: Quantity,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// The same in seconds since 1970.
    pub started_unix_s: u64,
    /// Time it took.
    #[serde(rename = "took_ns")]
    pub took: Nanoseconds,
    /// The host.
    pub host: HostIdentity,
    /// Variant by variant.
    pub variants: Vec<VariantReliability>,
    /// What disturbs measurements here.
    pub noise: Vec<NoiseSource>,
}

/// What later reports say of a host's calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationQuote {
    /// Of which experiment.
    pub experiment: String,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How old it was when it was quoted.
    #[serde(rename = "age_ns")]
    pub age: Nanoseconds,
    /// The headline that it was made for.
    pub headline: Quantity,
    /// How often two copies were called different.
    pub false_alarms: Option<Share>,
    /// The smallest difference of that headline found in four of five tries, in the measured time nearest to that of the
    /// report.
    pub detectable: Option<Detectable>,
    /// What it costs to be the second of two copies, in that headline.
    #[serde(default)]
    pub position: Option<Estimate>,
    /// How far one variant's figure lies from itself, run to run.
    pub run_to_run: Option<RunToRun>,
    /// What of the host has changed since, in words.
    pub changed: Vec<String>,
}
