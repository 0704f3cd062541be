//! What one step shows.

use weighbridge_model::objective::{ACHIEVED_LEAST, Measure, Objectives, Resolved};
use weighbridge_model::record::steps::{COUNTED, StepEnd, StepFigure, StepRecord};

use crate::stats::student::two_sided_quantile;
use crate::thresholds::LEVEL;

use super::measure::missing;

/// What a step shows of one objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The intervals of all conditions lie within their limits.
    Kept,
    /// The interval of one condition lies beyond its limit.
    Exceeded,
    /// An interval holds its limit.
    Undecided,
    /// Exceeded; the figures are lower limits.
    Cut,
    /// Spoiled by the generator, or stopped: it says nothing.
    Generator,
}

/// What a step shows of an objective, by t intervals over its tenths.
pub fn classify(objectives: &Objectives, objective: usize, step: &StepRecord) -> Class {
    classify_at(LEVEL, objectives, objective, step)
}

/// The same with intervals of another level.
pub(super) fn classify_at(level: f64, objectives: &Objectives, objective: usize, step: &StepRecord) -> Class {
    match step.step.end {
        StepEnd::Cut => return Class::Cut,
        StepEnd::Generator | StepEnd::Aborted => return Class::Generator,
        StepEnd::Complete => {}
    }
    let half = |figure: StepFigure| two_sided_quantile(level, (COUNTED - 1) as f64) * figure.error;
    // What was not achieved is a matter of requests in flight at both ends where nothing is wrong: it decides
    // nothing until it is certain.
    if step.achieved.value + half(step.achieved) < ACHIEVED_LEAST {
        return Class::Exceeded;
    }
    let mut class = Class::Kept;
    for (condition, figure) in objectives.conditions().iter().zip(&step.figures) {
        let limit = condition.limit.value();
        match half(*figure) {
            _ if condition.objective != objective => {}
            half if figure.value - half > limit => return Class::Exceeded,
            half if figure.value + half > limit => class = Class::Undecided,
            _ => {}
        }
    }
    class
}

/// Whether a step keeps an objective by its figures alone, however uncertain they are.
pub(super) fn is_kept(objectives: &Objectives, objective: usize, step: &StepRecord) -> bool {
    match classify(objectives, objective, step) {
        Class::Kept => true,
        Class::Undecided => load_ratio(objectives, objective, step) <= 1.0,
        Class::Exceeded | Class::Cut | Class::Generator => false,
    }
}

/// Whether the limit of a time lies below the shortest of all good replies, so that no statistic of them can keep it.
pub(super) fn is_hopeless(objectives: &Objectives, objective: usize, step: &StepRecord) -> bool {
    let (response, service) = step.tallies.ok();
    let is_below = |condition: &Resolved| {
        let times = match condition.measure {
            Measure::Response(_) => &response,
            Measure::Service(_) => &service,
            Measure::Errors => return false,
        };
        !times.is_empty() && times.min() as f64 > condition.limit.value()
    };
    let of_all = |condition: &&Resolved| condition.objective == objective && condition.operation.is_none();
    objectives.conditions().iter().filter(of_all).any(is_below)
}

/// The largest of a step's figures as a multiple of its limit: above 1 where the objective is exceeded.
pub(super) fn load_ratio(objectives: &Objectives, objective: usize, step: &StepRecord) -> f64 {
    let figures = objectives.conditions().iter().zip(&step.figures);
    let of_objective = figures.filter(|(condition, _)| condition.objective == objective);
    let ratios = of_objective.map(|(condition, figure)| ratio(figure.value, condition.limit.value()));
    let largest = ratios.fold(0.0, f64::max);
    let missed =
        missing(step.achieved.value + two_sided_quantile(LEVEL, (COUNTED - 1) as f64) * step.achieved.error);
    if step.step.end == StepEnd::Cut || missed > 1.0 { largest.max(missed) } else { largest }
}

/// A limit of zero allows nothing.
pub(super) fn ratio(value: f64, limit: f64) -> f64 {
    match (value > 0.0, limit > 0.0) {
        (false, _) => 0.0,
        (true, true) => value / limit,
        (true, false) => f64::INFINITY,
    }
}
