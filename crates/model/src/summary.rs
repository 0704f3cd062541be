//! What a run says: estimates, costs, verdicts, validity, findings. Made by `judge`, shown by `report`.
//!
//! These types are the published JSON; a field is added freely, renamed or removed only with [`SCHEMA_VERSION`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::{Effect, Estimate, Quantity, Unit, Validity, Verdict};
use crate::id::PointLabel;
use crate::idle::IdleWait;
use crate::layering::Layering;
use crate::legs::StampSummary;
use crate::pairing::Pairing;
use crate::parts::{Carried, RelayParts};
use crate::quantity::{Nanoseconds, Ratio};
use crate::record::{ErrorCounts, Traffic};
use crate::reliability::CalibrationQuote;
use crate::sizes::OverSize;
use crate::tags::Tags;

pub use crate::detail::{Detail, RoleUse};

/// Version of the JSON that [`Summary`] makes.
pub const SCHEMA_VERSION: u32 = 1;

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
/// longer ones for the window check, and those of the idle check.
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

/// How many requests of a variant's measured windows are kept one by one.
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
