//! The result of a run: estimates, costs, verdicts, validity, findings. `judge` makes it, `report` shows it.
//!
//! These types are the published JSON. A new field needs no new version; renaming or removing one needs a new
//! [`SCHEMA_VERSION`].

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capacity::{CapacityFound, CommonRate};
use crate::estimate::{Effect, Estimate, Quantity, Unit, Validity, Verdict};
use crate::factorial::Factorial;
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
use crate::table::ResultTable;
use crate::tags::Tags;

pub use crate::detail::{Detail, RoleUse};

/// Version of the JSON that [`Summary`] makes.
pub const SCHEMA_VERSION: u32 = 1;

/// Variant minus baseline in one quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    pub variant: String,
    /// The operation's name, or `all`.
    pub operation: String,
    pub quantity: Quantity,
    /// The unit of `difference`.
    pub unit: Unit,
    /// Variant minus baseline; absent if withheld or not measured.
    pub difference: Option<Estimate>,
    /// Variant over baseline; absent if withheld or not measured, and where differences of shares are compared.
    pub ratio: Option<Estimate>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Whether that is an improvement; absent unless `higher` or `lower`.
    pub effect: Option<Effect>,
    /// Explains the verdict where needed (`measurable: +1.0 %`, `lag p99 …`).
    pub reason: Option<String>,
    /// The p-value that the verdict rule uses: two-sided for no difference, or twice the equivalence test's.
    /// Absent without an interval.
    pub p: Option<f64>,
    /// Whether this is the experiment's headline.
    pub headline: bool,
}

/// One absolute figure of a variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// The operation's name, or `all`.
    pub operation: String,
    pub quantity: Quantity,
    pub unit: Unit,
    /// The figure over block estimates; absent if withheld.
    pub estimate: Option<Estimate>,
    /// Why it is absent.
    pub reason: Option<String>,
}

/// One variant at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantSummary {
    pub name: String,
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// Whether it is the baseline.
    pub baseline: bool,
    pub validity: Validity,
    /// Why its figures are not simply valid.
    pub reasons: Vec<String>,
    /// Requests due in measured windows: good ones, errors and those not sent.
    pub requests: u64,
    /// Failures among them.
    pub errors: u64,
    pub errors_by_kind: ErrorCounts,
    /// Requests of its other windows; left out if it had none.
    #[serde(default, skip_serializing_if = "OtherWindows::is_empty")]
    pub other_windows: OtherWindows,
    /// How many of its requests are kept as samples; absent if the workload keeps none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<SampleCounts>,
    /// Connections opened in measured windows; earlier ones are not counted.
    #[serde(default)]
    pub connects: u64,
    /// Requests never sent.
    pub not_sent: u64,
    /// How often a request was sent again on another connection; left out if none was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resent: u64,
    /// Measured windows.
    pub windows: u64,
    /// Blocks that count.
    pub blocks: u32,
    /// Batches in which it was measured, from 0; empty if all variants lived at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<u32>,
    /// The service's answer to the version question.
    pub version: Option<String>,
    /// What its language's runtime reports, by key: `gc`, `heap_bytes` … If starts differ, all values, joined
    /// by ` or `.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub runtime: BTreeMap<String, String>,
    /// Its connections, where they are not simply the load's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<Slots>,
    /// The service and its peer, if it is a relay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay: Option<Relay>,
    pub figures: Vec<Figure>,
    /// The kernel's counts on the generator's sockets over measured windows.
    pub traffic: Traffic,
    /// Legs of service times by the kernel's time stamps, over measured windows; absent if not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_timestamps: Option<StampSummary>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// How a variant's requests are spread over connections: its own setting, or pipelined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slots {
    pub connections: u32,
    /// On each connection.
    pub in_flight: u32,
    /// Whether several are in flight on a connection that answers them in order, so that each waits for those before it.
    pub pipelined: bool,
}

/// Requests of windows that are in no figure: longer ones for the window check, and those of the idle check.
/// Gates look at them too, since none of them should fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherWindows {
    /// Requests begun.
    pub requests: u64,
    /// Failures among them.
    pub errors: u64,
    pub errors_by_kind: ErrorCounts,
}

impl OtherWindows {
    /// Whether there were none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How many requests of a variant's measured windows are kept as samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SampleCounts {
    /// Kept requests.
    pub kept: u64,
    /// Requests that are not kept, whole rounds at a time; curves over size and parts of relayed requests do
    /// not cover them.
    pub left_out: u64,
}

/// A service that passes requests on, and the one that it asks.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Relay {
    /// The service that passes requests on.
    pub service: String,
    /// The service that it asks.
    pub peer: String,
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Note,
    /// Read the figures with care.
    Warning,
    /// Figures must not be used.
    Problem,
}

/// Something that the judge noticed, with evidence and remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// A short fixed name: `generator-bound`, `carry-over`, `depends on window` …
    pub name: String,
    /// The variant and point; empty for the whole run.
    pub subject: String,
    /// What was observed, in numbers.
    pub evidence: String,
    pub remedy: String,
}

/// The level of repetition with the largest share of the variance of a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The starts of variants, one in each block; more rounds do not average this out.
    Starts,
    /// Rounds within a block.
    Rounds,
    /// Undecided: the interval of the share contains one half.
    Neither,
}

/// Where the spread of one variant's headline cost comes from. Standard deviations are of ln(variant /
/// baseline), so they are approximately shares of the ratio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    pub variant: String,
    /// The headline, or `response_mean` if the headline is a share or single windows do not give it.
    pub quantity: Quantity,
    /// Rounds of a block, on average.
    pub rounds: f64,
    /// Standard deviation between blocks of what variant and baseline have in common, which cancels in their
    /// ratio.
    pub block: Ratio,
    /// Standard deviation of the cost between starts.
    pub start: Ratio,
    /// Standard deviation of the cost between rounds, for a single round, as far as averaging does not remove
    /// it.
    pub round: Ratio,
    /// Share of the variance of a block's cost that is due to starts, 0 to 1; `level` is 0.95, `blocks` the
    /// number of blocks used.
    pub share_of_starts: Estimate,
    /// Which of the two dominates, if that is shown.
    pub dominates: Source,
    /// A division of the same time into blocks and rounds that would narrow the interval by a tenth or more.
    pub advice: Option<Advice>,
    /// Cost in rounds in which the variant ran after the baseline, over that in which it ran before (1: no
    /// carry-over).
    pub carry_over: Option<Estimate>,
    /// Cost at the end of a block over that at its beginning (1: no drift).
    pub drift: Option<Estimate>,
}

/// How to divide the time of a run, for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// Blocks to run.
    pub blocks: u32,
    /// Rounds in each block.
    pub rounds: u32,
    /// Expected half-width of the ratio's interval with the present division.
    pub now: Ratio,
    /// Expected half-width with the advised one, in the same time.
    pub then: Ratio,
}

/// How the variants were paired at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PointPairing {
    /// Left out if the experiment has one point.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub point: PointLabel,
    /// What was done.
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

/// Whether the precision goal was reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Goal {
    /// Wanted half-width of the headline's ratio, or of its difference where shares are compared.
    pub until: Ratio,
    /// Half-width of the widest headline interval over variants; absent below 4 blocks.
    pub half_width: Option<Ratio>,
    /// Whether it is within the goal.
    pub reached: bool,
}

/// How many cores each role kept busy while variants were measured: CPU seconds per second of the blocks,
/// over all variants. `busy` = `generator` + `service` + `unattributed`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuRoles {
    /// Total time of the blocks.
    #[serde(rename = "span_ns")]
    pub span: Nanoseconds,
    /// The whole machine: everything but idle, waiting for disks, and stolen.
    pub busy: Estimate,
    /// This program: the generator and the conductor.
    pub generator: Estimate,
    /// The whole machine without the generator.
    pub beside_generator: Estimate,
    /// All processes of the variants that were started here.
    pub service: Estimate,
    /// The rest: interrupts and deferred work outside any process, kernel threads, other processes.
    pub unattributed: Estimate,
    /// Error of `busy` in a single block in either direction, in cores, because the kernel counts whole
    /// ticks.
    pub resolution: f64,
}

/// A whole run: `summary.json`, and what `weigh run --format json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema: u32,
    pub title: String,
    pub run: String,
    /// When it started, RFC 3339 in UTC.
    pub started: String,
    /// Time from the first start to the last stop.
    #[serde(rename = "took_ns")]
    pub took: Nanoseconds,
    /// Measured with `--quick`: 4 blocks, short warm-up.
    pub quick: bool,
    /// The worst validity of its variants.
    pub validity: Validity,
    pub headline: Quantity,
    pub margin: Ratio,
    /// Differences of shares within this, in parts of 1, are not relevant; left out if no cost is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_margin: Option<Ratio>,
    pub blocks: BlockCounts,
    /// The precision goal, if one was set.
    pub goal: Option<Goal>,
    /// Workload, load model and connections of each point, in words.
    pub conditions: Vec<String>,
    /// How variants were paired at each measured point.
    #[serde(default)]
    pub pairings: Vec<PointPairing>,
    /// Costs: point by point, variant by variant; the first is the headline of the first point.
    pub costs: Vec<Cost>,
    /// Variants: point by point.
    pub variants: Vec<VariantSummary>,
    /// What the judge noticed.
    pub findings: Vec<Finding>,
    /// CPU of the whole machine by role; absent if not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_roles: Option<CpuRoles>,
    /// Where the spread of each headline cost comes from; only for costs of 4 blocks or more.
    #[serde(default)]
    pub spread: Vec<Spread>,
    /// Cliffs and advice over size; left out if sizes do not vary.
    #[serde(default, skip_serializing_if = "OverSize::is_empty")]
    pub over_size: OverSize,
    /// Tags of the run and its variants; left out if there are none.
    #[serde(default, skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Where the time of relayed requests went; left out if no relay reported its own call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relays: Vec<RelayParts>,
    /// Goodput: bytes carried per second, by variant and size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<Carried>,
    /// CPU per request and memory by role, for variants with several roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<RoleUse>,
    /// What else it tells, point by point, as tables: pauses and overheads of garbage collectors, scaling, actions, attempts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<ResultTable>,
    /// What layers cost, singly and together; left out if no variant extends another one.
    #[serde(default, skip_serializing_if = "Layering::is_empty")]
    pub layering: Layering,
    /// What framing and codec cost; left out unless variants have each framing with each codec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factorials: Vec<Factorial>,
    /// The capacity of each variant at each point by each objective; left out where none is asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capacities: Vec<CapacityFound>,
    /// At each point with capacities, the rate at which its costs were measured; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub common_rates: Vec<CommonRate>,
    /// Variants that could not be measured: name, and reason with remedy.
    pub unavailable: Vec<(String, String)>,
    /// How idle cores waited; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleWait>,
    /// This host's calibration; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibration: Option<CalibrationQuote>,
}
