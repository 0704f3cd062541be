//! What happens during a run, as it happens: `events.jsonl`, which terminal, browser and CI logs follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::detail::Kept;
use crate::estimate::{ContrastKind, Quantity};
use crate::id::PointLabel;
use crate::quantity::{Nanoseconds, PerSecond};
use crate::record::steps::StepKind;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedEvent {
    /// Time since the run began.
    #[serde(rename = "at_ns")]
    pub at: Nanoseconds,
    #[serde(flatten)]
    pub event: Event,
}

/// The headline so far, for one variant and point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interim {
    pub variant: String,
    pub point: PointLabel,
    /// Ratio minus 1: 0.02 for 2 % more. Of shares the difference: 0.02 for 2 percentage points more.
    pub change: f64,
    /// `plain` where `change` is a difference of shares; absent where it is a ratio.
    #[serde(default, skip_serializing_if = "ContrastKind::is_log")]
    pub contrast: ContrastKind,
    /// Half-width of its interval, relative to the ratio (of shares in their own unit); absent below 4 blocks.
    pub half_width: Option<f64>,
    /// Lower bound of the interval of `change`; absent below 4 blocks and in older records.
    #[serde(default)]
    pub lower: Option<f64>,
    /// Upper bound, likewise.
    #[serde(default)]
    pub upper: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    Starting,
    Verifying,
    Warming,
    /// The rates of a capacity.
    Searching,
    Measuring,
}

impl Phase {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Verifying => "verifying",
            Self::Warming => "warming",
            Self::Searching => "searching",
            Self::Measuring => "measuring",
        }
    }
}

/// What one variant's measured windows showed since the last such event. It is for watching only; the figures
/// of the result come from all windows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recent {
    pub variant: String,
    pub requests: u64,
    /// Failures among them.
    pub errors: u64,
    /// Total time of those windows.
    #[serde(rename = "time_ns")]
    pub time: Nanoseconds,
    /// Median response time of the last window; absent if it has no good reply.
    #[serde(rename = "p50_ns")]
    pub p50: Option<Nanoseconds>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    RunStarted {
        title: String,
        folder: String,
        variants: Vec<String>,
        points: usize,
        /// Fewest and most blocks.
        blocks: (u32, u32),
        #[serde(rename = "budget_ns")]
        budget: Nanoseconds,
        /// The headline's quantity; absent in older records.
        #[serde(default)]
        headline: Option<Quantity>,
    },
    /// An earlier run advises another number of blocks than the plan's fewest.
    Divided {
        blocks: u32,
        /// The earlier run of the same experiment.
        run: String,
    },
    Building {
        service: String,
    },
    /// A variant cannot take part.
    Unavailable {
        variant: String,
        /// Why, and what to do.
        reason: String,
    },
    /// Answers of all variants agree.
    Verified {
        /// Requests compared.
        requests: usize,
    },
    BlockStarted {
        /// From 0.
        block: u32,
        /// Blocks planned by now.
        of: u32,
    },
    /// There are more variants than can live at once: they are measured in batches, or in other batches from
    /// now on.
    Batches {
        /// The variants of each batch, the baseline first.
        batches: Vec<Vec<String>>,
        /// Why the batches have this size.
        reason: String,
    },
    /// A batch of a block began; only if there are several.
    BatchStarted {
        /// Block, from 0.
        block: u32,
        /// Batch, from 0.
        batch: u32,
        /// Batches of the block.
        of: u32,
        /// Its variants, the baseline first.
        variants: Vec<String>,
    },
    /// A block begins a phase that takes a while.
    Phase {
        /// Block, from 0.
        block: u32,
        phase: Phase,
        /// The variant; absent if it is all of them.
        variant: Option<String>,
        /// The point; absent while variants are started.
        point: Option<PointLabel>,
    },
    /// A variant is running and its connections are open.
    Started {
        variant: String,
        /// From start to ready.
        #[serde(rename = "took_ns")]
        took: Option<Nanoseconds>,
    },
    /// A variant is warm at a point.
    Warm {
        variant: String,
        point: PointLabel,
        /// Windows of the warm-up.
        windows: u32,
    },
    /// A round ended; not every round is reported.
    Round {
        /// Block, from 0.
        block: u32,
        point: PointLabel,
        /// From 0.
        round: u32,
        /// Rounds planned in this block and point.
        of: u32,
        /// What each variant did since the last such event; absent in older records.
        #[serde(default)]
        recent: Vec<Recent>,
    },
    /// One rate was tried in search of a capacity.
    Step {
        /// Block, from 0.
        block: u32,
        variant: String,
        point: PointLabel,
        kind: StepKind,
        #[serde(rename = "rate_per_s")]
        rate: PerSecond,
        /// Whether this step alone kept the headline's objective.
        kept: Kept,
        /// What it showed of the objective's first condition: `mean 812 µs`.
        shown: String,
    },
    BlockEnded {
        /// From 0.
        block: u32,
        /// The headline so far.
        interim: Vec<Interim>,
        /// Blocks planned by now.
        of: u32,
    },
    /// A block was thrown away.
    BlockVoid {
        /// From 0.
        block: u32,
        reason: String,
    },
    /// A warning about the result.
    Warning {
        text: String,
    },
    /// The run ended and its summary is written.
    RunEnded {
        folder: String,
    },
    /// The user stopped the run; `--resume` continues it.
    Interrupted {
        folder: String,
        /// Complete blocks that are kept.
        blocks: u32,
    },
}
