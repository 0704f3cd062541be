//! What all blocks say together.

use weighbridge_model::objective::{ACHIEVED_LEAST, Objectives};
use weighbridge_model::quantity::PerSecond;
use weighbridge_model::record::steps::{StepKind, StepRecord};

use crate::stats::interval::{Interval, Mean};
use crate::stats::multiple::p_against_zero;
use crate::stats::sample::mean;
use crate::thresholds::{BLOCKS_FOR_INTERVAL, LACK_OF_FIT_P, LEVEL};

use super::classify::Class;
use super::ends;
use super::fit::{Enclosed, curves, is_steep, isotonic, largest_points};
use super::pool::{RatePool, Which, by_rate, places};

/// The capacity of one variant by one objective.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityEstimate {
    /// The estimate, or the rate that [`CapacityEnd`] names.
    pub value: PerSecond,
    /// Lower and upper; `None` below the fewest blocks for an interval, and where there is only a limit.
    pub interval: Option<(PerSecond, PerSecond)>,
    /// Jackknife pseudo-values of the log capacity, one a block in the order of blocks: their mean is the
    /// estimate, and differences of two variants' are block log-ratios. Empty where there is only a limit.
    pub blocks: Vec<f64>,
    /// Places, among the blocks given, of those that have a pseudo-value.
    pub measured: Vec<usize>,
    /// What the rates are too far apart to tell, on the log scale; it is part of the interval.
    pub allowance: f64,
    /// What the capacity is limited by; `None` where nothing was exceeded.
    pub limited_by: Option<LimitedBy>,
    pub end: CapacityEnd,
}

/// What limits a capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedBy {
    /// By its place in `Objectives::conditions`.
    Condition(usize),
    /// Fewer good replies came than requests were offered.
    Achieved,
}

/// How sure the estimate is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CapacityEnd {
    Estimated,
    /// Nothing was exceeded up to the generator's ceiling, or up to `to`.
    AtLeast(PerSecond),
    /// Even this rate was exceeded.
    Below(PerSecond),
    /// The lower rate is surely exceeded, the higher one surely kept.
    NotMonotone {
        exceeded: PerSecond,
        kept: PerSecond,
    },
    /// What came before decides whether this rate is kept.
    Hysteresis(PerSecond),
    /// The capacity changes from block to block, by this share from the first to the last.
    Drift(f64),
    /// The last, longer step at this rate did not keep the objective.
    NotConfirmed(PerSecond),
}

/// All steps at one rate together.
#[derive(Debug, Clone, PartialEq)]
pub struct CurvePoint {
    pub rate: PerSecond,
    /// Steps that count.
    pub steps: u32,
    /// Of each condition, in the order of `Objectives::conditions`.
    pub conditions: Vec<PooledFigure>,
    pub achieved: f64,
    /// By objective.
    pub classes: Vec<Class>,
}

/// A statistic of all blocks at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PooledFigure {
    pub value: f64,
    /// Lower and upper, if there are blocks enough.
    pub interval: Option<(f64, f64)>,
}

/// The capacity by each objective, of one variant; one list of steps for each block, in their order. The spread is
/// that of the `first` blocks, since they decided how many there are.
pub fn capacities(
    objectives: &Objectives,
    blocks: &[Vec<&StepRecord>],
    first: usize,
) -> Vec<CapacityEstimate> {
    let grid = by_rate(objectives, blocks, |kind| kind == StepKind::Grid);
    let all = by_rate(objectives, blocks, |kind| matches!(kind, StepKind::Grid | StepKind::Extra));
    let tried = by_rate(objectives, blocks, |kind| !matches!(kind, StepKind::Confirm | StepKind::Common));
    let estimate = |objective| {
        let view = View { objectives, objective, blocks, first, grid: &grid, all: &all };
        let found = if grid.is_empty() { view.bounds(&tried) } else { view.estimate() };
        CapacityEstimate { end: ends::look(&view, &found).unwrap_or(found.end), ..found }
    };
    (0..objectives.list().len()).map(estimate).collect()
}

/// What was measured at each rate, ascending.
pub fn curve(objectives: &Objectives, blocks: &[Vec<&StepRecord>]) -> Vec<CurvePoint> {
    let pools = by_rate(objectives, blocks, |kind| matches!(kind, StepKind::Grid | StepKind::Extra));
    let point = |pool: &RatePool| CurvePoint {
        rate: rate(pool.rate),
        steps: pool.steps.iter().sum(),
        conditions: (0..objectives.conditions().len()).map(|condition| pooled(pool, condition)).collect(),
        achieved: pool.achieved(Which::All).unwrap_or(0.0),
        classes: (0..objectives.list().len()).map(|objective| class(objectives, objective, pool)).collect(),
    };
    pools.iter().map(point).collect()
}

/// The value of all blocks with the jackknife's interval over them.
fn pooled(pool: &RatePool, condition: usize) -> PooledFigure {
    let measured: Vec<usize> = (0..pool.steps.len()).filter(|block| pool.is_measured_by(*block)).collect();
    let value = pool.value(condition, Which::All).unwrap_or(0.0);
    let pseudo = pseudo_values(&measured, |which| pool.value(condition, which));
    let interval = pseudo.and_then(|pseudo| interval(&pseudo, pseudo.len()));
    PooledFigure { value, interval: interval.map(|interval| (interval.lower, interval.upper)) }
}

/// What all steps of a rate show, by intervals over blocks.
fn class(objectives: &Objectives, objective: usize, pool: &RatePool) -> Class {
    if pool.is_cut(Which::All) {
        return Class::Cut;
    }
    let mut class = match pool.achieved(Which::All) {
        Some(achieved) if achieved < ACHIEVED_LEAST => return Class::Exceeded,
        _ => Class::Kept,
    };
    for condition in places(objectives, objective).take_while(|at| *at < objectives.conditions().len()) {
        let limit = objectives.conditions()[condition].limit.value();
        let figure = pooled(pool, condition);
        match figure.interval {
            Some((lower, _)) if lower > limit => return Class::Exceeded,
            Some((_, upper)) if upper <= limit => {}
            _ => class = Class::Undecided,
        }
    }
    class
}

/// What is known of one variant by one objective.
pub(super) struct View<'a> {
    pub objectives: &'a Objectives,
    pub objective: usize,
    pub blocks: &'a [Vec<&'a StepRecord>],
    first: usize,
    /// Rates that every block measured.
    pub grid: &'a [RatePool],
    /// With those that single blocks needed.
    pub all: &'a [RatePool],
}

impl View<'_> {
    /// Where the rates do not enclose a capacity: the lowest exceeded one, or the highest where all are kept.
    fn bounds(&self, tried: &[RatePool]) -> CapacityEstimate {
        let points = largest_points(self.objectives, self.objective, tried, Which::All);
        let Some(exceeded) = points.iter().position(|point| point.ratio > 1.0) else {
            return limit(points.last().map_or(0.0, |kept| kept.rate), CapacityEnd::AtLeast);
        };
        let pool = tried.iter().find(|pool| pool.rate == points[exceeded].rate);
        let largest = pool.and_then(|pool| pool.largest(self.objectives, self.objective, Which::All));
        let limited_by = largest.map(|largest| self.limited_by(largest.condition));
        CapacityEstimate { limited_by, ..limit(points[exceeded].rate, CapacityEnd::Below) }
    }

    fn estimate(&self) -> CapacityEstimate {
        let points = largest_points(self.objectives, self.objective, self.grid, Which::All);
        let found = if is_steep(&points) { self.steep() } else { self.smooth() };
        found.unwrap_or_else(|| self.bounds(self.grid))
    }

    /// Rates pooled over blocks.
    fn smooth(&self) -> Option<CapacityEstimate> {
        let mut curves = curves(self.objectives, self.objective, self.grid);
        let blocks = self.measured_blocks();
        for curve in curves.iter_mut().filter(|curve| curve.is_line) {
            let bends = pseudo_values(&blocks, |which| curve.bend(which));
            let p = bends.and_then(|bends| Mean::new(&bends)).map_or(1.0, p_against_zero);
            curve.is_line = p >= LACK_OF_FIT_P;
        }
        let smallest = |which| {
            let crossings =
                curves.iter().enumerate().filter_map(|(at, curve)| Some((at, curve.crossing(which)?)));
            crossings.min_by(|a, b| a.1.total_cmp(&b.1))
        };
        let (limiting, value) = smallest(Which::All)?;
        let logs = pseudo_values(&blocks, |which| Some(smallest(which)?.1.ln()));
        let curve = &curves[limiting];
        let enclosed = if curve.is_line { None } else { curve.enclosed(Which::All) };
        let allowance = enclosed.map_or(0.0, |enclosed| enclosed.half_gap());
        let condition = places(self.objectives, self.objective).nth(limiting)?;
        let (logs, measured) = logs.map(|logs| (logs, blocks)).unwrap_or_default();
        Some(self.with_interval(value.ln(), logs, Found { allowance, condition, measured }))
    }

    /// Each block by itself.
    fn steep(&self) -> Option<CapacityEstimate> {
        let enclosed = |block: &usize| {
            let points = largest_points(self.objectives, self.objective, self.all, Which::Only(*block));
            Some((*block, Enclosed::new(&isotonic(&points))?))
        };
        let found = self.measured_blocks();
        let (measured, found): (Vec<usize>, Vec<Enclosed>) = found.iter().filter_map(enclosed).unzip();
        let logs: Vec<f64> = found.iter().map(|enclosed| enclosed.crossing().ln()).collect();
        let gaps: Vec<f64> = found.iter().map(Enclosed::half_gap).collect();
        let (value, allowance) = (mean(&logs)?, mean(&gaps)?);
        let exceeded = |pool: &&RatePool| pool.rate >= value.exp();
        let largest = self.grid.iter().find(exceeded).or(self.grid.last())?;
        let condition = largest.largest(self.objectives, self.objective, Which::All)?.condition;
        Some(self.with_interval(value, logs, Found { allowance, condition, measured }))
    }

    /// How much too high a capacity may be found, on the log scale, because queues of a step begin empty: the limit as a
    /// share of the shortest step. 0 for what is no time.
    fn begun_empty(&self, condition: usize) -> f64 {
        let times =
            self.objectives.conditions().get(condition).filter(|one| one.measure.statistic().is_some());
        let steps = self.blocks.iter().flatten().filter(|one| one.step.kind == StepKind::Grid);
        let shortest =
            steps.map(|one| one.step.length).min().map_or(f64::INFINITY, |one| one.as_nanos() as f64);
        times.map_or(0.0, |one| one.limit.value() / shortest)
    }

    fn with_interval(&self, log: f64, logs: Vec<f64>, found: Found) -> CapacityEstimate {
        let Found { allowance, condition, measured } = found;
        let below = allowance + self.begun_empty(condition);
        let ends = interval(&logs, self.first)
            .map(|interval| (rate((interval.lower - below).exp()), rate((interval.upper + allowance).exp())));
        // The mean of pseudo-values is the estimate without its bias of order 1/blocks.
        let value = rate(mean(&logs).unwrap_or(log).exp());
        CapacityEstimate {
            value,
            interval: ends,
            blocks: logs,
            measured,
            allowance,
            limited_by: Some(self.limited_by(condition)),
            end: CapacityEnd::Estimated,
        }
    }

    pub fn measured_blocks(&self) -> Vec<usize> {
        let measured = |block: &usize| self.grid.iter().any(|pool| pool.is_measured_by(*block));
        (0..self.blocks.len()).filter(measured).collect()
    }

    fn limited_by(&self, condition: usize) -> LimitedBy {
        if condition < self.objectives.conditions().len() {
            LimitedBy::Condition(condition)
        } else {
            LimitedBy::Achieved
        }
    }
}

/// What goes with a capacity.
struct Found {
    measured: Vec<usize>,
    allowance: f64,
    condition: usize,
}

fn limit(value: f64, end: fn(PerSecond) -> CapacityEnd) -> CapacityEstimate {
    let value = rate(value);
    CapacityEstimate {
        value,
        interval: None,
        blocks: Vec::new(),
        measured: Vec::new(),
        allowance: 0.0,
        limited_by: None,
        end: end(value),
    }
}

/// n·θ − (n − 1)·θ₍ₖ₎ for each block k, from the estimate of all n blocks and that without block k: nearly independent
/// values whose mean is the estimate without its bias of order 1/n (Quenouille 1956, Tukey 1958). `None` where one
/// of the estimates is missing.
fn pseudo_values(blocks: &[usize], estimate: impl Fn(Which) -> Option<f64>) -> Option<Vec<f64>> {
    let (n, whole) = (blocks.len() as f64, estimate(Which::All)?);
    if blocks.len() < 2 {
        return Some(vec![whole; blocks.len()]);
    }
    let pseudo = |block: &usize| Some(n * whole - (n - 1.0) * estimate(Which::Without(*block))?);
    blocks.iter().map(pseudo).collect()
}

fn interval(blocks: &[f64], first: usize) -> Option<Interval> {
    let enough = blocks.len() >= BLOCKS_FOR_INTERVAL;
    enough.then(|| Mean::with_first_stage(blocks, first)).flatten().map(|mean| mean.interval(LEVEL))
}

pub(super) fn rate(value: f64) -> PerSecond {
    PerSecond::new(value).unwrap_or(PerSecond::new(0.0).expect("finite"))
}
