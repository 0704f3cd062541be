//! What a run says: estimates, costs, verdicts, validity, findings. Made by `judge`, shown by `report`.
//!
//! These types are the published JSON; a field is added freely, renamed or removed only with [`SCHEMA_VERSION`].

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::idle::IdleWait;
use crate::layering::Layering;
use crate::legs::StampSummary;
use crate::pairing::Pairing;
use crate::parts::{Carried, RelayParts};
use crate::quantity::{Nanoseconds, Ratio, display_bytes, display_count, display_nanos, display_rate};
use crate::record::{ErrorCounts, Traffic};
use crate::reliability::CalibrationQuote;
use crate::sizes::OverSize;
use crate::tags::Tags;

pub use crate::detail::{Detail, RoleUse};

/// Version of the JSON that [`Summary`] makes.
pub const SCHEMA_VERSION: u32 = 1;

/// A figure that can be estimated for a variant and compared between variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the names say it all: which time, which statistic
pub enum Quantity {
    ResponseP50,
    ResponseP90,
    ResponseP99,
    ResponseMean,
    ServiceP50,
    ServiceP90,
    ServiceP99,
    ServiceMean,
    /// Good replies per second of window time.
    Throughput,
    /// CPU time of all the variant's processes per request answered.
    CpuPerOperation,
    /// Payload bytes both ways per request answered.
    BytesPerOperation,
    /// Bytes of packets both ways on the link of the variant's client, Ethernet headers included, per request answered.
    WireBytesPerOperation,
    /// TCP segments both ways on the generator's connections per request answered.
    SegmentsPerOperation,
    /// Largest resident memory of the variant's processes over a trial.
    MemoryPeak,
}

/// The unit of a quantity's figures, as in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Bytes.
    Bytes,
    /// Per second.
    PerSecond,
    /// A plain count.
    Count,
}

/// Whether a larger figure is good news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// The variant does better than the baseline.
    Better,
    /// The variant does worse than the baseline.
    Worse,
}

/// Which statistic of time a quantity is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// A quantile, 0 to 1.
    Quantile(f64),
    /// The arithmetic mean.
    Mean,
    /// Not a statistic of request times.
    Other,
}

impl Quantity {
    /// All quantities, in the order of tables.
    pub const ALL: [Self; 14] = [
        Self::ResponseP50,
        Self::ResponseP90,
        Self::ResponseP99,
        Self::ResponseMean,
        Self::ServiceP50,
        Self::ServiceP90,
        Self::ServiceP99,
        Self::ServiceMean,
        Self::Throughput,
        Self::CpuPerOperation,
        Self::BytesPerOperation,
        Self::WireBytesPerOperation,
        Self::SegmentsPerOperation,
        Self::MemoryPeak,
    ];

    /// The name in JSON: `response_p50`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ResponseP50 => "response_p50",
            Self::ResponseP90 => "response_p90",
            Self::ResponseP99 => "response_p99",
            Self::ResponseMean => "response_mean",
            Self::ServiceP50 => "service_p50",
            Self::ServiceP90 => "service_p90",
            Self::ServiceP99 => "service_p99",
            Self::ServiceMean => "service_mean",
            Self::Throughput => "throughput",
            Self::CpuPerOperation => "cpu_per_operation",
            Self::BytesPerOperation => "bytes_per_operation",
            Self::WireBytesPerOperation => "wire_bytes_per_operation",
            Self::SegmentsPerOperation => "segments_per_operation",
            Self::MemoryPeak => "memory_peak",
        }
    }

    /// The name in tables and TOML: `response p50`.
    pub fn label(self) -> String {
        self.name().replace('_', " ")
    }

    /// The unit of its figures.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Throughput => Unit::PerSecond,
            Self::BytesPerOperation | Self::WireBytesPerOperation | Self::MemoryPeak => Unit::Bytes,
            Self::SegmentsPerOperation => Unit::Count,
            _ => Unit::Ns,
        }
    }

    /// Which statistic it is.
    pub const fn statistic(self) -> Statistic {
        match self {
            Self::ResponseP50 | Self::ServiceP50 => Statistic::Quantile(0.5),
            Self::ResponseP90 | Self::ServiceP90 => Statistic::Quantile(0.9),
            Self::ResponseP99 | Self::ServiceP99 => Statistic::Quantile(0.99),
            Self::ResponseMean | Self::ServiceMean => Statistic::Mean,
            _ => Statistic::Other,
        }
    }

    /// Whether it is of response time (done minus due).
    pub const fn is_response(self) -> bool {
        matches!(self, Self::ResponseP50 | Self::ResponseP90 | Self::ResponseP99 | Self::ResponseMean)
    }

    /// Whether it is of service time (done minus sent).
    pub const fn is_service(self) -> bool {
        matches!(self, Self::ServiceP50 | Self::ServiceP90 | Self::ServiceP99 | Self::ServiceMean)
    }

    /// What a higher figure means.
    pub const fn higher_is(self) -> Effect {
        match self {
            Self::Throughput => Effect::Better,
            _ => Effect::Worse,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.label())
    }
}

/// A name that is no quantity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a quantity; allowed: {list}", list = Quantity::ALL.map(|q| q.label()).join(", "))]
pub struct UnknownQuantity(pub String);

impl FromStr for Quantity {
    type Err = UnknownQuantity;
    /// Accepts `response p50`, `response_p50`, and `p50` for the response time.
    fn from_str(text: &str) -> Result<Self, UnknownQuantity> {
        let name = text.trim().replace([' ', '-'], "_").to_lowercase();
        Self::ALL
            .into_iter()
            .find(|q| q.name() == name || q.name() == format!("response_{name}"))
            .ok_or_else(|| UnknownQuantity(text.to_owned()))
    }
}

impl Unit {
    /// A figure of this unit on the scale that suits a reader.
    pub fn display(self, value: f64) -> String {
        match self {
            Self::Ns => display_nanos(value),
            Self::Bytes => display_bytes(value),
            Self::PerSecond => display_rate(value),
            Self::Count => display_count(value),
        }
    }
}

/// A figure with its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The estimate itself, in the quantity's unit (or a plain ratio).
    pub point: f64,
    /// Lower bound of the interval; absent below 4 blocks.
    pub lower: Option<f64>,
    /// Upper bound of the interval; absent below 4 blocks.
    pub upper: Option<f64>,
    /// Confidence level of the interval: 0.95.
    pub level: f64,
    /// Block estimates it rests on.
    pub blocks: u32,
    /// The bootstrap-t interval of the same estimate, of costs from 10 blocks on. Shown beside; no verdict looks at it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub bootstrap: Option<Bounds>,
}

/// The ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl Estimate {
    /// Both bounds, where there is an interval.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.lower.zip(self.upper)
    }
}

/// What a comparison concludes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// The whole interval of the ratio lies within the margin.
    #[serde(rename = "no relevant difference")]
    NoRelevantDifference,
    /// The interval lies above 1.
    #[serde(rename = "higher")]
    Higher,
    /// The interval lies below 1.
    #[serde(rename = "lower")]
    Lower,
    /// Neither can be said.
    #[serde(rename = "undecided")]
    Undecided,
    /// The data must not be used for this; the reason says why.
    #[serde(rename = "invalid")]
    Invalid,
    /// Not to be had: too few requests for this quantile, not measured, or the generator was the limit; the reason says
    /// which.
    #[serde(rename = "withheld")]
    Withheld,
}

impl Verdict {
    /// The verdict as in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoRelevantDifference => "no relevant difference",
            Self::Higher => "higher",
            Self::Lower => "lower",
            Self::Undecided => "undecided",
            Self::Invalid => "invalid",
            Self::Withheld => "withheld",
        }
    }
}

/// Whether figures may be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Validity {
    /// Nothing speaks against them.
    #[default]
    Valid,
    /// Something does; the findings say what.
    Suspect,
    /// They must not be used.
    Invalid,
}

impl Validity {
    /// `valid`, `suspect` or `invalid`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

/// A point's factor values: `workload.size` to `64 B`. Empty where the experiment has one point.
pub type PointLabel = BTreeMap<String, String>;

/// Variant minus baseline in one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// The variant's name.
    pub variant: String,
    /// The operation's name, or `all`.
    pub operation: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The unit of `difference`.
    pub unit: Unit,
    /// Variant minus baseline; absent where withheld or not measured.
    pub difference: Option<Estimate>,
    /// Variant over baseline; absent where withheld or not measured.
    pub ratio: Option<Estimate>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Whether that is good news; absent unless `higher` or `lower`.
    pub effect: Option<Effect>,
    /// Why, where the verdict alone does not say (`measurable: +1.0 %`, `lag p99 …`).
    pub reason: Option<String>,
    /// Two-sided p of no difference or twice the equivalence test's, as the verdict rule takes it; absent where no
    /// interval is.
    pub p: Option<f64>,
    /// Whether this is the experiment's headline.
    pub headline: bool,
}

/// One absolute figure of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The operation's name, or `all`.
    pub operation: String,
    /// The quantity.
    pub quantity: Quantity,
    /// The unit.
    pub unit: Unit,
    /// The figure over block estimates; absent where withheld.
    pub estimate: Option<Estimate>,
    /// Why it is absent.
    pub reason: Option<String>,
}

/// One variant at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantSummary {
    /// The variant's name.
    pub name: String,
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// Whether the others are compared with it.
    pub baseline: bool,
    /// Whether its figures may be used.
    pub validity: Validity,
    /// What speaks against them.
    pub reasons: Vec<String>,
    /// Requests begun in measured windows.
    pub requests: u64,
    /// Failures among them.
    pub errors: u64,
    /// The same by kind.
    pub errors_by_kind: ErrorCounts,
    /// Requests of its other windows; left out where it had none.
    #[serde(default, skip_serializing_if = "OtherWindows::is_empty")]
    pub other_windows: OtherWindows,
    /// How many of its requests are kept one by one; absent of workloads of which none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleCounts>,
    /// Connections opened in measured windows; those kept from before are not among them.
    #[serde(default)]
    pub connects: u64,
    /// Requests due but never sent.
    pub not_sent: u64,
    /// Measured windows.
    pub windows: u64,
    /// Blocks that count.
    pub blocks: u32,
    /// Batches in which it was measured, from 0; empty where all variants lived at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<u32>,
    /// The service's answer to the version question.
    pub version: Option<String>,
    /// What its run-time said that it saw, by key: `gc`, `heap_bytes` … Where starts differ, each value, joined by ` or `.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runtime: BTreeMap<String, String>,
    /// The service and its peer, where it passes requests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<Relay>,
    /// Absolute figures.
    pub figures: Vec<Figure>,
    /// Kernel's counts on the generator's sockets over measured windows.
    pub traffic: Traffic,
    /// Where service times went, by the kernel's time stamps, over measured windows; absent where not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_timestamps: Option<StampSummary>,
}

/// Requests of windows that count in no figure and are looked at by gates all the same, since none of them should fail:
/// longer ones for the window check, and those of further sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherWindows {
    /// Requests begun.
    pub requests: u64,
    /// Failures among them.
    pub errors: u64,
    /// The same by kind.
    pub errors_by_kind: ErrorCounts,
}

impl OtherWindows {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How many requests of a variant are kept one by one: of its measured windows and of those of further sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampleCounts {
    /// Those that are.
    pub kept: u64,
    /// Those that are not, whole rounds at a time: curves over size and parts of relayed requests are without them.
    pub left_out: u64,
}

/// Two services of which one passes requests on to the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Relay {
    /// The service that is asked, and asks in its turn.
    pub service: String,
    /// The one that answers it.
    pub peer: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// Figures are to be read with care.
    Warning,
    /// Figures must not be used.
    Problem,
}

/// Something the judge noticed, with its evidence and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// A short fixed name: `generator-bound`, `carry-over`, `depends on window` …
    pub name: String,
    /// The variant and point it is about; empty for the whole run.
    pub subject: String,
    /// What was seen, in numbers.
    pub evidence: String,
    /// What to do.
    pub remedy: String,
}

/// Which level of repetition makes most of the spread of a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Starts: each block's own, which more rounds do not take away.
    Starts,
    /// Rounds within a block.
    Rounds,
    /// The interval of the share holds one half.
    Neither,
}

/// Where the spread of one variant's headline cost comes from. Standard deviations are of ln(variant / baseline), so
/// about shares of the ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// The variant.
    pub variant: String,
    /// The headline; `response_mean` where the headline cannot be had from single windows.
    pub quantity: Quantity,
    /// Rounds of a block, on average.
    pub rounds: f64,
    /// Standard deviation from block to block of what variant and baseline have in common; their ratio is free of it.
    pub block: Ratio,
    /// Standard deviation of the cost from start to start.
    pub start: Ratio,
    /// Standard deviation of the cost from round to round, as far as it survives averaging: of one round.
    pub round: Ratio,
    /// Share of the variance of a block's cost that starts have, 0 to 1; `level` 0.95, `blocks` those it rests on.
    pub share_of_starts: Estimate,
    /// Which of the two dominates, where that is certain.
    pub dominates: Source,
    /// A division of the same time into blocks and rounds that narrows the interval by a tenth or more.
    pub advice: Option<Advice>,
    /// Cost in rounds in which the variant ran after the baseline, over that in which it ran before (1: no carry-over).
    pub carry_over: Option<Estimate>,
    /// Cost at the end of a block over that at its beginning (1: no drift).
    pub drift: Option<Estimate>,
}

/// How to divide the time of a run, for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Blocks to run.
    pub blocks: u32,
    /// Rounds of each.
    pub rounds: u32,
    /// Expected half-width of the ratio's interval with the present division.
    pub now: Ratio,
    /// Expected half-width with the advised one, in the same time.
    pub then: Ratio,
}

/// How the variants were put side by side at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PointPairing {
    /// The point, where the experiment has several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// What was done there.
    pub pairing: Pairing,
}

/// Blocks of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockCounts {
    /// Blocks that count.
    pub used: u32,
    /// Blocks measured and thrown away.
    pub void: u32,
    /// Fewest the plan allows.
    pub min: u32,
    /// Most the plan allows.
    pub max: u32,
}

/// Whether the wanted precision was reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// Wanted half-width of the headline's ratio.
    pub until: Ratio,
    /// Half-width of the widest headline interval over variants; absent below 4 blocks.
    pub half_width: Option<Ratio>,
    /// Whether it is within the goal.
    pub reached: bool,
}

/// How many cores each role kept busy while variants were measured: CPU seconds per second of the blocks, all variants
/// together. `busy` = `generator` + `service` + `unattributed`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuRoles {
    /// Time of all blocks that it is of.
    #[serde(rename = "span_ns")]
    pub span: Nanoseconds,
    /// The whole machine: all but idle, waiting for disks, and stolen.
    pub busy: Estimate,
    /// This program: the generator and what conducts it.
    pub generator: Estimate,
    /// The whole machine without the generator.
    pub beside_generator: Estimate,
    /// All processes of the variants that were started here.
    pub service: Estimate,
    /// What is left: interrupts and deferred work outside any process, kernel threads, other processes.
    pub unattributed: Estimate,
    /// By so many cores `busy` may be off in a single block, either way, because the kernel tells whole ticks.
    pub resolution: f64,
}

/// One run, whole. `summary.json`, and what `weigh run --format json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    /// The experiment's title.
    pub title: String,
    /// The run folder's name.
    pub run: String,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// Time from the first start to the last stop.
    #[serde(rename = "took_ns")]
    pub took: Nanoseconds,
    /// Measured by `--quick`: 4 blocks, short warm-up.
    pub quick: bool,
    /// The worst validity of its variants.
    pub validity: Validity,
    /// The headline quantity.
    pub headline: Quantity,
    /// The margin of relevance.
    pub margin: Ratio,
    /// Its blocks.
    pub blocks: BlockCounts,
    /// The precision goal, where one was set.
    pub goal: Option<Goal>,
    /// In words: workload, load model and connections of each point.
    pub conditions: Vec<String>,
    /// How variants were put side by side at each point that has been measured.
    #[serde(default)]
    pub pairings: Vec<PointPairing>,
    /// Costs: point by point, variant by variant; the first is the headline of the first point.
    pub costs: Vec<Cost>,
    /// Variants: point by point.
    pub variants: Vec<VariantSummary>,
    /// What the judge noticed.
    pub findings: Vec<Finding>,
    /// CPU of the whole machine by role; absent where it was not to be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_roles: Option<CpuRoles>,
    /// Where the spread of each headline cost comes from; a cost of fewer than 4 blocks has none.
    #[serde(default)]
    pub spread: Vec<Spread>,
    /// Cliffs and advice over size; left out where sizes do not vary.
    #[serde(default, skip_serializing_if = "OverSize::is_empty")]
    pub over_size: OverSize,
    /// Words by which the run and its variants are found; left out where there is none.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Where the time of requests went that a relay told of; left out where none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relays: Vec<RelayParts>,
    /// True throughput: bytes carried per second, by variant and size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Carried>,
    /// CPU per request and memory of variants with more than one role of their own, each role by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleUse>,
    /// What layers cost, one at a time and together; left out where no variant is another one with something more.
    #[serde(default, skip_serializing_if = "Layering::is_empty")]
    pub layering: Layering,
    /// Variants that could not be measured at all: name and reason with remedy.
    pub unavailable: Vec<(String, String)>,
    /// How idle cores waited; absent where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleWait>,
    /// What a calibration of this host says of measurements on it; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibrationQuote>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_in_every_spelling() {
        for text in ["p99", "response p99", "response_p99", "Response P99"] {
            assert_eq!(text.parse(), Ok(Quantity::ResponseP99));
        }
        assert_eq!("service mean".parse(), Ok(Quantity::ServiceMean));
        let error = "p98".parse::<Quantity>().unwrap_err().to_string();
        assert!(error.contains("`p98`") && error.contains("response p50"), "{error}");
    }
}
