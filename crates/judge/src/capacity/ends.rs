//! Ends that are not plain estimates.

use weighbridge_model::record::steps::{COUNTED, Course, StepEnd, StepKind, StepRecord};

use crate::stats::interval::Mean;
use crate::stats::multiple::p_against_zero;
use crate::stats::sample::mean;
use crate::stats::student;
use crate::thresholds::{
    BLOCKS_FOR_INTERVAL, CAPACITY_DRIFT, COLLAPSE, COURSE_EFFECT, DRIFT_P, KEPT_NEARLY, SURE_LEVEL,
};

use super::classify::{Class, classify, classify_at, load_ratio};
use super::estimate::{CapacityEnd, CapacityEstimate, View, rate};
use super::pool::{RatePool, Which};

/// What must be said of an estimate, the gravest first.
pub(super) fn look(view: &View<'_>, found: &CapacityEstimate) -> Option<CapacityEnd> {
    not_monotone(view)
        .or_else(|| two_outcomes(view))
        .or_else(|| differs_by_course(view))
        .or_else(|| not_confirmed(view))
        .or_else(|| drift(&found.blocks))
}

/// A lower rate that every block exceeds and a higher one that every block keeps.
fn not_monotone(view: &View<'_>) -> Option<CapacityEnd> {
    let exceeded = view.grid.iter().find(|pool| is_surely(view, pool, |ratio| ratio > 1.0))?;
    let higher = view.grid.iter().filter(|pool| pool.rate > exceeded.rate);
    let kept = higher.rev().find(|pool| is_surely(view, pool, |ratio| ratio <= 1.0))?;
    Some(CapacityEnd::NotMonotone { exceeded: rate(exceeded.rate), kept: rate(kept.rate) })
}

/// Whether the statistic lies on one side of the limit in every block, and far enough from it on average.
fn is_surely(view: &View<'_>, pool: &RatePool, side: impl Fn(f64) -> bool) -> bool {
    let blocks = (0..view.blocks.len()).filter(|block| pool.is_measured_by(*block));
    let ratio = |block| Some(pool.largest(view.objectives, view.objective, Which::Only(block))?.ratio);
    let ratios: Vec<f64> = blocks.filter_map(ratio).collect();
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.clamp(1e-3, 1e3).ln()).collect();
    ratios.len() >= BLOCKS_FOR_INTERVAL
        && ratios.iter().all(|ratio| side(*ratio))
        && Mean::new(&logs).is_some_and(|mean| !mean.interval(SURE_LEVEL).contains(0.0))
}

/// In one life a rate collapsed while a higher one did not, and in another life the same rate did not: the service has
/// two states at this rate, and chance or what came before decides. A start that is slower would collapse at the
/// higher rate too. The higher one must have had surely more to do.
fn two_outcomes(view: &View<'_>) -> Option<CapacityEnd> {
    let counted = |step: &&&StepRecord| {
        matches!(step.step.kind, StepKind::Grid | StepKind::Extra)
            && classify(view.objectives, view.objective, step) != Class::Generator
    };
    let ratio = |step: &StepRecord| load_ratio(view.objectives, view.objective, step);
    let collapsed = |low: &StepRecord, other: &StepRecord| {
        ratio(low) > 1.0 && ratio(other) <= KEPT_NEARLY && ratio(low) >= COLLAPSE * ratio(other)
    };
    let reversed = view.blocks.iter().flat_map(|block| {
        block.iter().filter(counted).filter(|low| {
            let mut higher = block.iter().filter(counted).filter(|step| had_surely_more(step, low));
            higher.any(|step| collapsed(low, step))
        })
    });
    let has_two_states = |low: &&&StepRecord| {
        let mut same = view.blocks.iter().flatten().filter(|step| step.step.rate == low.step.rate);
        same.any(|step| collapsed(low, step))
    };
    let lowest = reversed.filter(has_two_states).map(|step| step.step.rate.get()).min_by(f64::total_cmp)?;
    Some(CapacityEnd::Hysteresis(rate(lowest)))
}

/// Whether one step at a higher rate than another had more to do, by more than chance and the order of arrivals may matter:
/// what limits the rate itself fails or not by how many requests come, and how close together. Either the rates say so,
/// or what came until the other ended.
fn had_surely_more(one: &StepRecord, other: &StepRecord) -> bool {
    /// In standard deviations of a Poisson count: of the numbers expected …
    const EXPECTED: f64 = 3.0;
    /// … and of those that came.
    const CAME: f64 = 2.0;
    // A step that was cut ended within a tenth.
    let whole = match other.step.end {
        StepEnd::Cut => other.tenths.iter().filter(|tenth| tenth.due > 0).count().saturating_sub(1),
        _ => COUNTED,
    };
    let came = |step: &StepRecord| {
        let tenths = step.tenths[..whole].iter().map(|tenth| tenth.due).sum::<u64>();
        (step.lead_in.due + tenths) as f64
    };
    let seconds = other.step.length.as_secs_f64();
    let [expected_more, expected] = [one, other].map(|step| step.step.rate.get() * seconds);
    let came_more = came(one) * seconds / one.step.length.as_secs_f64();
    let is_surely = |more: f64, less: f64, deviations: f64| more > less + deviations * less.sqrt();
    one.step.rate > other.step.rate
        && (is_surely(expected_more, expected, EXPECTED) || is_surely(came_more, came(other), CAME))
}

/// The same rates are slower after a higher rate than after a lower one.
fn differs_by_course(view: &View<'_>) -> Option<CapacityEnd> {
    let mut effects = Vec::new();
    for block in view.blocks {
        let steps = block.iter().filter(|step| step.step.kind == StepKind::Grid);
        let mut sides = [Vec::new(), Vec::new()];
        for step in steps {
            let ratio = load_ratio(view.objectives, view.objective, step);
            let pool = view.grid.iter().find(|pool| pool.rate == step.step.rate.get())?;
            let usual = pool.largest(view.objectives, view.objective, Which::All)?.ratio;
            if ratio > 0.0 && ratio.is_finite() && usual > 0.0 && usual.is_finite() {
                sides[usize::from(step.step.course == Course::Falling)].push((ratio / usual).ln());
            }
        }
        if let (Some(rising), Some(falling)) = (mean(&sides[0]), mean(&sides[1])) {
            effects.push(falling - rising);
        }
    }
    let effect = Mean::new(&effects).filter(|_| effects.len() >= BLOCKS_FOR_INTERVAL)?;
    let differs = effect.point.abs() > COURSE_EFFECT && p_against_zero(effect) < 1.0 - SURE_LEVEL;
    differs.then(|| CapacityEnd::Hysteresis(view.grid.last().map_or(rate(0.0), |pool| rate(pool.rate))))
}

/// The last step surely exceeds the objective. That it may do so by its figures alone is likely: the lower end of an
/// interval of many steps is nearer to the limit than one step can tell.
fn not_confirmed(view: &View<'_>) -> Option<CapacityEnd> {
    let mut steps = view.blocks.iter().flatten().filter(|step| step.step.kind == StepKind::Confirm);
    let last = steps.next_back()?;
    let class = classify_at(SURE_LEVEL, view.objectives, view.objective, last);
    matches!(class, Class::Exceeded | Class::Cut).then_some(CapacityEnd::NotConfirmed(last.step.rate))
}

/// A line through the blocks in their order, and Student's t of its slope.
fn drift(blocks: &[f64]) -> Option<CapacityEnd> {
    let n = blocks.len() as f64;
    if blocks.len() < BLOCKS_FOR_INTERVAL {
        return None;
    }
    let (middle, level) = (0.5 * (n - 1.0), mean(blocks)?);
    let places = || blocks.iter().enumerate().map(|(at, log)| (at as f64 - middle, log - level));
    let square: f64 = places().map(|(at, _)| at * at).sum();
    let slope = places().map(|(at, log)| at * log).sum::<f64>() / square;
    let rest: f64 = places().map(|(at, log)| (log - slope * at) * (log - slope * at)).sum();
    let t = slope / (rest / (n - 2.0) / square).sqrt();
    let change = slope * (n - 1.0);
    let drifts = change.abs() > CAPACITY_DRIFT && student::two_sided_p(t, n - 2.0) < DRIFT_P;
    drifts.then(|| CapacityEnd::Drift(change.exp_m1()))
}
