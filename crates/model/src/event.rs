//! What happens during a run, as it happens: `events.jsonl`, which terminal, browser and CI logs follow.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Quantity;
use crate::id::PointLabel;
use crate::quantity::Nanoseconds;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimedEvent {
    /// Time since the run began.
    #[serde(rename = "at_ns")]
    pub at: Nanoseconds,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// The headline so far, for one variant and point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interim {
    /// The variant's name.
    pub variant: String,
    /// The point.
    pub point: PointLabel,
    /// Ratio minus 1, in parts of 1.
    pub change: f64,
    /// Half-width of its interval, relative to the ratio; absent below 4 blocks.
    pub half_width: Option<f64>,
    /// Lower bound of its interval, as `change` is; absent below 4 blocks and in older records.
    #[serde(default)]
    pub lower: Option<f64>,
    /// Upper bound.
    #[serde(default)]
    pub upper: Option<f64>,
}

/// What a block is busy with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// A variant is started.
    Starting,
    /// Answers are asked for and compared.
    Verifying,
    /// A variant is warmed.
    Warming,
    /// Windows are measured.
    Measuring,
}

impl Phase {
    /// Its name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Verifying => "verifying",
            Self::Warming => "warming",
            Self::Measuring => "measuring",
        }
    }
}

/// What one variant's measured windows showed since the last such event. It is for watching, and rests on no estimate:
/// the figures of the result are made of all windows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recent {
    /// The variant's name.
    pub variant: String,
    /// Requests that were sent.
    pub requests: u64,
    /// Failures among them.
    pub errors: u64,
    /// The time of those windows.
    #[serde(rename = "time_ns")]
    pub time: Nanoseconds,
    /// Median response time of the last of them; absent where nothing was answered well.
    #[serde(rename = "p50_ns")]
    pub p50: Option<Nanoseconds>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "event")]
pub enum Event {
    /// The run began.
    RunStarted {
        /// The experiment's title.
        title: String,
        /// The run folder.
        folder: String,
        /// Variants that take part.
        variants: Vec<String>,
        /// Points.
        points: usize,
        /// Fewest and most blocks.
        blocks: (u32, u32),
        /// Time allowed.
        #[serde(rename = "budget_ns")]
        budget: Nanoseconds,
        /// The headline's quantity; absent in older records.
        #[serde(default)]
        headline: Option<Quantity>,
    },
    /// The budget is divided into so many blocks, not the plan's fewest.
    Divided {
        /// Blocks.
        blocks: u32,
        /// The earlier run of the same experiment that advises it.
        run: String,
    },
    /// A service is being built.
    Building {
        /// The service.
        service: String,
    },
    /// A variant cannot take part.
    Unavailable {
        /// The variant.
        variant: String,
        /// Why and what to do.
        reason: String,
    },
    /// Answers of all variants agree.
    Verified {
        /// Requests compared.
        requests: usize,
    },
    /// A block began.
    BlockStarted {
        /// From 0.
        block: u32,
        /// Blocks planned by now.
        of: u32,
    },
    /// More variants than live at once: they are measured in batches, or in other batches from now on.
    Batches {
        /// The variants of each batch, the baseline first.
        batches: Vec<Vec<String>>,
        /// Why so many at once.
        reason: String,
    },
    /// A batch of a block began; only where there are several.
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
    /// A block begins with something that takes a while.
    Phase {
        /// Block, from 0.
        block: u32,
        /// With what.
        phase: Phase,
        /// The variant; absent where it is all of them.
        variant: Option<String>,
        /// The point; absent while variants are started.
        point: Option<PointLabel>,
    },
    /// A variant is running, its connections are open.
    Started {
        /// The variant.
        variant: String,
        /// Start to ready.
        #[serde(rename = "took_ns")]
        took: Option<Nanoseconds>,
    },
    /// A variant is warm at a point.
    Warm {
        /// The variant.
        variant: String,
        /// The point.
        point: PointLabel,
        /// Windows it took.
        windows: u32,
    },
    /// A round ended; not each one is told.
    Round {
        /// Block, from 0.
        block: u32,
        /// The point.
        point: PointLabel,
        /// From 0.
        round: u32,
        /// Rounds planned in this block and point.
        of: u32,
        /// What each variant did since the last such event; absent in older records.
        #[serde(default)]
        recent: Vec<Recent>,
    },
    /// A block ended.
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
        /// Why.
        reason: String,
    },
    /// Something a reader of the result must know.
    Warning {
        /// What.
        text: String,
    },
    /// The run ended and its summary is written.
    RunEnded {
        /// The run folder.
        folder: String,
    },
    /// The run was stopped by the user; `--resume` goes on.
    Interrupted {
        /// The run folder.
        folder: String,
        /// Whole blocks kept.
        blocks: u32,
    },
}
