//! The steps at one rate taken together: sums over sums, and quantiles of all requests.

use weighbridge_model::id::OperationId;
use weighbridge_model::objective::{Limit, Measure, Objectives, Resolved};
use weighbridge_model::record::steps::{StepEnd, StepKind, StepRecord};
use weighbridge_model::record::{Outcome, Tally};

use super::classify::ratio;
use super::measure::missing;

/// Which blocks are taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    All,
    Without(usize),
    Only(usize),
}

impl Which {
    fn holds(self, block: usize) -> bool {
        match self {
            Self::All => true,
            Self::Without(left_out) => block != left_out,
            Self::Only(one) => block == one,
        }
    }
}

/// All steps of one rate.
#[derive(Debug)]
pub(super) struct RatePool {
    pub rate: f64,
    /// Steps of each block.
    pub steps: Vec<u32>,
    /// Those among them that were cut.
    pub cut: Vec<u32>,
    /// In the order of `Objectives::conditions`, what was achieved last.
    pools: Vec<Pool>,
}

/// What one condition looks at.
#[derive(Debug)]
enum Pool {
    /// Part and whole of each block.
    Shares(Vec<Share>),
    PooledTimes {
        quantile: f64,
        /// Ascending.
        times: Vec<PooledTimes>,
        /// Requests of each block.
        counts: Vec<u64>,
    },
}

#[derive(Debug, Clone, Copy, Default)]
struct Share {
    part: f64,
    whole: f64,
}

/// Equal times of one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PooledTimes {
    nanos: u64,
    block: usize,
    count: u64,
}

/// The steps of the wanted kinds by rate, ascending. Those that say nothing are left out.
pub(super) fn by_rate(
    objectives: &Objectives,
    blocks: &[Vec<&StepRecord>],
    wanted: impl Fn(StepKind) -> bool,
) -> Vec<RatePool> {
    let counts = |step: &&StepRecord| {
        wanted(step.step.kind) && matches!(step.step.end, StepEnd::Complete | StepEnd::Cut)
    };
    let steps = || blocks.iter().flatten().copied().filter(counts);
    let mut rates: Vec<f64> = steps().map(|step| step.step.rate.get()).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let pool = |rate: f64| {
        let here: Vec<Vec<&StepRecord>> = blocks
            .iter()
            .map(|block| {
                block.iter().copied().filter(|step| counts(step) && step.step.rate.get() == rate).collect()
            })
            .collect();
        RatePool::new(objectives, rate, &here)
    };
    rates.into_iter().map(pool).collect()
}

impl RatePool {
    fn new(objectives: &Objectives, rate: f64, blocks: &[Vec<&StepRecord>]) -> Self {
        let mut pools: Vec<Pool> =
            objectives.conditions().iter().map(|condition| Pool::new(condition, blocks)).collect();
        pools.push(Pool::shares(blocks, |step| {
            let sum = |of: fn(&_) -> u64| step.tenths.iter().map(of).sum::<u64>() as f64;
            Share { part: sum(|tenth| tenth.replies), whole: sum(|tenth| tenth.due) }
        }));
        let cut = |block: &Vec<&StepRecord>| {
            block.iter().filter(|step| step.step.end == StepEnd::Cut).count() as u32
        };
        Self {
            rate,
            steps: blocks.iter().map(|block| block.len() as u32).collect(),
            cut: blocks.iter().map(cut).collect(),
            pools,
        }
    }

    /// The pooled statistic of a condition; of the place after the last one, the share achieved.
    pub fn value(&self, condition: usize, which: Which) -> Option<f64> {
        self.pools[condition].value(which)
    }

    pub fn achieved(&self, which: Which) -> Option<f64> {
        self.value(self.pools.len() - 1, which)
    }

    /// A statistic as a multiple of its limit.
    pub fn ratio(&self, objectives: &Objectives, condition: usize, which: Which) -> Option<f64> {
        let value = self.value(condition, which)?;
        Some(match objectives.conditions().get(condition) {
            Some(condition) => ratio(value, condition.limit.value()),
            None => missing(value),
        })
    }

    /// The largest of an objective's statistics as a multiple of its limit, and whose it is.
    pub fn largest(&self, objectives: &Objectives, objective: usize, which: Which) -> Option<Largest> {
        places(objectives, objective)
            .filter_map(|condition| {
                let ratio = self.ratio(objectives, condition, which)?;
                Some(Largest { ratio, condition })
            })
            .max_by(|a, b| a.ratio.total_cmp(&b.ratio))
    }

    pub fn is_cut(&self, which: Which) -> bool {
        self.cut.iter().enumerate().any(|(block, cut)| *cut > 0 && which.holds(block))
    }

    pub fn is_measured_by(&self, block: usize) -> bool {
        self.steps[block] > 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Largest {
    pub ratio: f64,
    pub condition: usize,
}

/// The places of an objective's conditions; the last place is that of what was achieved.
pub(super) fn places(objectives: &Objectives, objective: usize) -> impl Iterator<Item = usize> {
    let conditions = objectives.conditions();
    let own = (0..conditions.len()).filter(move |at| conditions[*at].objective == objective);
    own.chain([conditions.len()])
}

impl Pool {
    fn new(condition: &Resolved, blocks: &[Vec<&StepRecord>]) -> Self {
        let operation = condition.operation;
        let Some(statistic) = condition.measure.statistic() else {
            let per_step = matches!(condition.limit, Limit::Count(_));
            return Self::shares(blocks, |step| errors(step, operation, per_step));
        };
        let is_response = matches!(condition.measure, Measure::Response(_));
        match (statistic.quantile(), operation) {
            (Some(quantile), _) => Self::times(quantile, blocks, operation, is_response),
            (None, None) if is_response => Self::shares(blocks, |step| {
                let sum = |of: fn(&_) -> u64| step.tenths.iter().map(of).sum::<u64>() as f64;
                Share { part: sum(|tenth| tenth.response_sum.as_nanos()), whole: sum(|tenth| tenth.good) }
            }),
            (None, _) => Self::shares(blocks, |step| {
                let mut sum = Share::default();
                for_each_time(step, operation, is_response, |nanos, count| {
                    sum.part += nanos as f64 * count as f64;
                    sum.whole += count as f64;
                });
                sum
            }),
        }
    }

    fn shares(blocks: &[Vec<&StepRecord>], share: impl Fn(&StepRecord) -> Share) -> Self {
        let sum = |block: &Vec<&StepRecord>| {
            block.iter().map(|step| share(step)).fold(Share::default(), |sum, one| Share {
                part: sum.part + one.part,
                whole: sum.whole + one.whole,
            })
        };
        Self::Shares(blocks.iter().map(sum).collect())
    }

    fn times(
        quantile: f64,
        blocks: &[Vec<&StepRecord>],
        operation: Option<OperationId>,
        is_response: bool,
    ) -> Self {
        let (mut times, mut counts) = (Vec::new(), vec![0; blocks.len()]);
        for (block, steps) in blocks.iter().enumerate() {
            for step in steps {
                for_each_time(step, operation, is_response, |nanos, count| {
                    counts[block] += count;
                    times.push(PooledTimes { nanos, block, count });
                });
            }
        }
        times.sort_unstable();
        Self::PooledTimes { quantile, times, counts }
    }

    fn value(&self, which: Which) -> Option<f64> {
        match self {
            Self::Shares(shares) => {
                let used = shares.iter().enumerate().filter(|(block, _)| which.holds(*block));
                let (part, whole) = used
                    .fold((0.0, 0.0), |(part, whole), (_, share)| (part + share.part, whole + share.whole));
                (whole > 0.0).then(|| part / whole)
            }
            Self::PooledTimes { quantile, times, counts } => {
                let used = counts.iter().enumerate().filter(|(block, _)| which.holds(*block));
                let total: u64 = used.map(|(_, count)| count).sum();
                let beyond = total - ((quantile * total as f64 - 1e-9).ceil().max(1.0) as u64).min(total);
                let mut passed = 0;
                let found = times.iter().rev().filter(|times| which.holds(times.block)).find(|times| {
                    passed += times.count;
                    passed > beyond
                });
                found.map(|times| times.nanos as f64)
            }
        }
    }
}

/// Failed requests among all, or per step.
fn errors(step: &StepRecord, operation: Option<OperationId>, per_step: bool) -> Share {
    let concerned = step.tallies.entries.iter().filter(|tally| is_of(tally, operation));
    let (mut bad, mut all) = (0, 0);
    for tally in concerned {
        all += tally.response.len();
        bad += if tally.outcome == Outcome::Ok { 0 } else { tally.response.len() };
    }
    Share { part: bad as f64, whole: if per_step { 1.0 } else { all as f64 } }
}

/// Calls `see` with the middle of each bucket of good replies' times.
fn for_each_time(
    step: &StepRecord,
    operation: Option<OperationId>,
    is_response: bool,
    mut see: impl FnMut(u64, u64),
) {
    let good = |tally: &&Tally| tally.outcome == Outcome::Ok && is_of(tally, operation);
    for tally in step.tallies.entries.iter().filter(good) {
        let times = if is_response { &tally.response } else { &tally.service };
        for bucket in times.iter_recorded() {
            see(times.median_equivalent(bucket.value_iterated_to()), bucket.count_at_value());
        }
    }
}

fn is_of(tally: &Tally, operation: Option<OperationId>) -> bool {
    operation.is_none_or(|operation| operation == tally.operation)
}
