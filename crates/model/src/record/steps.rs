//! Steps of a search for capacity: one rate tried on one variant, in one long window of open load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LoopHealth, Outcome, RequestRecord, Tallies};
use crate::quantity::{Nanoseconds, PerSecond, Timestamp};

/// Parts of a step. The first is the lead-in.
pub const PARTS: usize = 10;
/// Tenths of a step that count.
pub const COUNTED: usize = PARTS - 1;

/// What a step was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Doubling or halving the rate, until one is kept and one is exceeded.
    Bracket,
    /// Between a rate that was kept and one that was exceeded.
    Narrow,
    /// One of the rates that every block measures.
    Grid,
    /// A further rate that one block needs.
    Extra,
    /// A longer one at the lower end of the interval.
    Confirm,
    /// At a rate that all variants keep, for their other costs: its window is a measured one.
    Common,
}

/// Where the rate came from: the step before of the same variant.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// From a lower rate, or from none.
    #[default]
    Rising,
    /// From a higher rate.
    Falling,
}

/// How a step ended.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum StepEnd {
    /// Every request due in it was waited for.
    #[default]
    Complete,
    /// Overloaded and ended early: the queue never emptied and grew, or requests waited for more than ten times
    /// the limit. Its figures are lower limits.
    Cut,
    /// The generator was too late, too busy, or did not send: the step says nothing of the service.
    Generator,
    /// The user or the conductor stopped it.
    Aborted,
}

/// A step as it was run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Place in the trial, from 0.
    pub number: u32,
    pub kind: StepKind,
    pub course: Course,
    /// Offered.
    pub rate: PerSecond,
    pub start: Timestamp,
    /// Lead-in included. Of a step that was cut: as planned.
    pub length: Nanoseconds,
    pub end: StepEnd,
    pub health: LoopHealth,
}

/// A tenth of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tenth {
    /// Requests due in it.
    pub due: u64,
    /// Good replies to these.
    pub good: u64,
    /// Requests due in it that failed.
    pub errors: u64,
    /// Response times of these good replies.
    pub response_sum: Nanoseconds,
    /// Good replies that came during the tenth, whenever they were due.
    pub replies: u64,
    /// The smallest number of requests that were due and not done at a moment of it.
    pub smallest_backlog: u64,
}

/// A figure of one step with its standard error over tenths.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StepFigure {
    /// In nanoseconds, or a share in parts of 1, or a count.
    pub value: f64,
    pub error: f64,
}

/// A step with what was measured in it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    pub step: Step,
    /// Sent, checked and in no figure.
    pub lead_in: Tenth,
    pub tenths: [Tenth; COUNTED],
    /// Requests due in the counted tenths.
    pub tallies: Tallies,
    /// One for each condition, in the order of `Objectives::conditions`.
    pub figures: Vec<StepFigure>,
    /// Good replies that came during the counted tenths, as a share of requests due in them.
    pub achieved: StepFigure,
}

impl Step {
    /// The rate of a step against the one before of the same variant.
    pub fn course(before: Option<PerSecond>, rate: PerSecond) -> Course {
        if before.is_some_and(|before| before > rate) { Course::Falling } else { Course::Rising }
    }
}

impl Tenth {
    /// Adds a request that was due in it.
    pub fn add(&mut self, request: &RequestRecord) {
        self.due += 1;
        if request.outcome == Outcome::Ok {
            self.good += 1;
            self.response_sum += request.done.since(request.due);
        } else {
            self.errors += 1;
        }
    }
}
