//! What comes of a window in a service's own process: times by operation, and their figures.

use std::collections::BTreeMap;

use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::counts::Counts;
use weighbridge_model::record::{OperationFigures, Outcome, Tallies};

/// What a window in a service's own process came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectResult {
    pub requests: u64,
    /// From the first request's beginning to the last one's end.
    pub elapsed: Nanoseconds,
    /// CPU time of the process in that time.
    pub cpu: Nanoseconds,
    /// Times of requests.
    pub operations: Vec<OperationTimes>,
    /// Times of actions of several requests each.
    pub actions: Vec<OperationTimes>,
    /// Beside the requests; `None` where the workload counts nothing.
    pub counts: Option<Counts>,
}

impl DirectResult {
    /// Each operation's figures. Quantiles are by nearest rank.
    pub fn figures(&self) -> Vec<OperationFigures> {
        let each = self.operations.iter().chain(&self.actions).filter(|one| !one.times.is_empty());
        let mut figures: Vec<_> = each.map(OperationTimes::figures).collect();
        figures.sort_by_key(|one| one.operation);
        figures
    }

    /// Those of all requests together; `None` if there were none.
    pub fn all(&self) -> Option<OperationFigures> {
        let operation = self.operations.iter().find(|one| !one.times.is_empty())?.operation;
        let times = CountedTimes::merged(self.operations.iter().map(|one| &one.times));
        let sum = self.operations.iter().map(|one| one.sum).sum();
        Some(OperationTimes { operation, sum, times }.figures())
    }

    /// Adds the requests to a trial's histograms.
    pub fn add_to(&self, tallies: &mut Tallies) {
        for OperationTimes { operation, times, .. } in &self.operations {
            let tally = tallies.entry(*operation, Outcome::Ok);
            for TimeCount { time, count } in &times.0 {
                tally.response.saturating_record_n(*time, *count);
                tally.service.saturating_record_n(*time, *count);
            }
        }
        for OperationTimes { operation, times, .. } in &self.actions {
            for TimeCount { time, count } in &times.0 {
                let time = Nanoseconds::from_nanos(*time);
                (0..*count).for_each(|_| tallies.record_message(*operation, Outcome::Ok, time));
            }
        }
    }
}

/// The times of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationTimes {
    pub operation: OperationId,
    /// Of all times.
    pub sum: Nanoseconds,
    pub times: CountedTimes,
}

impl OperationTimes {
    fn figures(&self) -> OperationFigures {
        let Self { operation, sum, ref times } = *self;
        let count = times.count();
        let share = |percent: u128| (u128::from(count) * percent).div_ceil(100) as u64;
        let [p50, p90] = [50, 90].map(|percent| times.rank(share(percent)));
        OperationFigures {
            operation,
            ok: count,
            response_sum: sum,
            service_sum: sum,
            response_p50: p50,
            service_p50: p50,
            response_p90: p90,
            service_p90: p90,
            response_max: times.rank(count),
        }
    }
}

/// Times in nanoseconds and their counts, rising and distinct.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedTimes(pub(super) Vec<TimeCount>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TimeCount {
    pub time: u64,
    pub count: u64,
}

impl CountedTimes {
    /// Those of a list in which none is below the one before; `None` if one is.
    pub fn of_rising(list: &[u64]) -> Option<Self> {
        if !list.is_sorted() {
            return None;
        }
        let equal = list.chunk_by(|a, b| a.max(&1) == b.max(&1));
        // A histogram's first bucket begins at 1 ns.
        Some(Self(equal.map(|one| TimeCount { time: one[0].max(1), count: one.len() as u64 }).collect()))
    }

    fn merged<'a>(of: impl Iterator<Item = &'a Self>) -> Self {
        let mut counts = BTreeMap::new();
        for TimeCount { time, count } in of.flat_map(|times| &times.0) {
            *counts.entry(*time).or_insert(0) += count;
        }
        Self(counts.into_iter().map(|(time, count)| TimeCount { time, count }).collect())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|one| one.count).sum()
    }

    /// The time of this rank, from 1.
    fn rank(&self, rank: u64) -> Nanoseconds {
        let mut seen = 0;
        let found = self.0.iter().find(|one| {
            seen += one.count;
            seen >= rank
        });
        Nanoseconds::from_nanos(found.map_or(0, |one| one.time))
    }
}
