//! The capacity of each variant by each objective, for the summary and for charts.

use weighbridge_model::capacity::{CapacityFound, CapacityOutcome, CommonRate};
use weighbridge_model::detail::{Capacity, CapacityStep, Kept};
use weighbridge_model::estimate::{Estimate, Unit};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::objective::{Measure, Objectives};
use weighbridge_model::record::steps::StepKind;

use crate::capacity::{CapacityEnd, CapacityEstimate, Class, CurvePoint, LimitedBy, curve};
use crate::estimate::BlockSteps;
use crate::question::{Point, Question};
use crate::records::Records;
use crate::thresholds::LEVEL;

/// The capacity of every variant at a point by every objective; empty where none is asked for.
pub(crate) fn found(
    question: &Question,
    records: &Records<'_>,
    id: PointId,
    point: &Point,
) -> Vec<CapacityFound> {
    let of_variant = |variant| {
        let blocks = BlockSteps::new(records, id, variant);
        capacities_found(question, &blocks, At { id, point, variant })
    };
    question.variants().flat_map(|(variant, _)| of_variant(variant)).collect()
}

/// Of every point at which variants were measured at a rate that all keep.
pub(crate) fn common_rates(question: &Question, records: &Records<'_>) -> Vec<CommonRate> {
    let trials = || records.used.iter().flat_map(|block| &block.trials);
    let of_point = |(id, point): (PointId, &Point)| {
        let mut steps = trials().filter_map(|trial| trial.steps.get(id.index())).flatten();
        let common = steps.find(|one| one.step.kind == StepKind::Common)?;
        Some(CommonRate { point: point.label.clone(), rate_per_s: common.step.rate.get() })
    };
    question.points().filter_map(of_point).collect()
}

/// The capacities with every rate that was measured, for charts.
pub(crate) fn charted(question: &Question, records: &Records<'_>) -> Vec<Capacity> {
    let mut charted = Vec::new();
    for (id, point) in question.points() {
        let Some(objectives) = question.objectives(id) else { continue };
        let mut drawn = Vec::new();
        for (variant, _) in question.variants() {
            let blocks = BlockSteps::new(records, id, variant);
            let found = capacities_found(question, &blocks, At { id, point, variant });
            if drawn.is_empty() {
                drawn =
                    found.iter().enumerate().map(|(at, one)| drawn_condition(objectives, at, one)).collect();
            }
            let rates = curve(objectives, blocks.steps());
            let chart = |(at, found): (usize, CapacityFound)| {
                chart(objectives, Drawn { objective: at, condition: drawn[at] }, found, &rates)
            };
            charted.extend(found.into_iter().enumerate().map(chart));
        }
    }
    charted
}

#[derive(Clone, Copy)]
struct At<'a> {
    id: PointId,
    point: &'a Point,
    variant: VariantId,
}

fn capacities_found(question: &Question, blocks: &BlockSteps<'_>, at: At<'_>) -> Vec<CapacityFound> {
    let Some(objectives) = question.objectives(at.id) else { return Vec::new() };
    let estimates = blocks.estimates(question, at.id);
    let found = |(number, objective): (usize, &weighbridge_model::objective::Objective)| {
        let estimate = estimates.get(number);
        CapacityFound {
            variant: question.variants[at.variant.index()].name.clone(),
            point: at.point.label.clone(),
            objective: objective.to_string(),
            highest: estimate.and_then(figure),
            limited_by: estimate.and_then(|one| one.limited_by).map(|by| limit_words(objectives, by)),
            outcome: estimate.map_or(CapacityOutcome::NotMeasured, |one| outcome(question, blocks, one.end)),
        }
    };
    objectives.list().iter().enumerate().map(found).collect()
}

/// The estimate with its interval; `None` where there is only a limit.
pub(crate) fn figure(estimate: &CapacityEstimate) -> Option<Estimate> {
    let is_limit = matches!(estimate.end, CapacityEnd::AtLeast(_) | CapacityEnd::Below(_));
    (!is_limit).then(|| Estimate {
        point: estimate.value.get(),
        lower: estimate.interval.map(|(lower, _)| lower.get()),
        upper: estimate.interval.map(|(_, upper)| upper.get()),
        level: LEVEL,
        blocks: estimate.blocks.len() as u32,
        bootstrap: None,
    })
}

fn limit_words(objectives: &Objectives, by: LimitedBy) -> String {
    match by {
        LimitedBy::Condition(at) => objectives.condition_text(at).to_owned(),
        LimitedBy::Achieved => "achieved >= 99 %".to_owned(),
    }
}

fn outcome(question: &Question, blocks: &BlockSteps<'_>, end: CapacityEnd) -> CapacityOutcome {
    match end {
        CapacityEnd::Estimated => CapacityOutcome::Estimated,
        CapacityEnd::AtLeast(rate) if question.highest_rate.is_some_and(|most| rate >= most) => {
            CapacityOutcome::AtMost { rate_per_s: rate.get() }
        }
        CapacityEnd::AtLeast(rate) if blocks.met_ceiling() => {
            CapacityOutcome::AtCeiling { rate_per_s: rate.get() }
        }
        CapacityEnd::AtLeast(rate) => CapacityOutcome::NotBroken { rate_per_s: rate.get() },
        CapacityEnd::Below(rate) => CapacityOutcome::Below { rate_per_s: rate.get() },
        CapacityEnd::NotMonotone { exceeded, kept } => {
            CapacityOutcome::NotMonotone { exceeded_per_s: exceeded.get(), kept_per_s: kept.get() }
        }
        CapacityEnd::Hysteresis(rate) => CapacityOutcome::Hysteresis { rate_per_s: rate.get() },
        CapacityEnd::Drift(change) => CapacityOutcome::Drift { change },
        CapacityEnd::NotConfirmed(rate) => CapacityOutcome::NotConfirmed { rate_per_s: rate.get() },
    }
}

/// The condition that is drawn for all variants: the one that limits the first, or the objective's first.
fn drawn_condition(objectives: &Objectives, objective: usize, first: &CapacityFound) -> usize {
    let own = |at: &usize| objectives.conditions()[*at].objective == objective;
    let mut conditions = (0..objectives.conditions().len()).filter(own);
    let limits = |at: &usize| first.limited_by.as_deref() == Some(objectives.condition_text(*at));
    conditions.clone().find(limits).or_else(|| conditions.next()).unwrap_or_default()
}

#[derive(Clone, Copy)]
struct Drawn {
    objective: usize,
    condition: usize,
}

fn chart(
    objectives: &Objectives,
    Drawn { objective, condition: at }: Drawn,
    found: CapacityFound,
    rates: &[CurvePoint],
) -> Capacity {
    let condition = objectives.conditions()[at];
    let step = |rate: &CurvePoint| {
        let class = rate.classes.get(objective).copied().unwrap_or(Class::Undecided);
        let figure = rate.conditions.get(at).filter(|_| class != Class::Cut);
        CapacityStep {
            offered_per_s: rate.rate.get(),
            answered_per_s: rate.rate.get() * rate.achieved,
            figure: figure.map(|figure| Estimate {
                point: figure.value,
                lower: figure.interval.map(|(lower, _)| lower),
                upper: figure.interval.map(|(_, upper)| upper),
                level: LEVEL,
                blocks: rate.steps,
                bootstrap: None,
            }),
            kept: kept(class),
        }
    };
    Capacity {
        found,
        measure: condition.measure.to_string(),
        unit: if condition.measure == Measure::Errors { Unit::Count } else { Unit::Ns },
        limit: condition.limit.value(),
        steps: rates.iter().map(step).collect(),
    }
}

/// What a step shows, as an answer.
pub fn kept(class: Class) -> Kept {
    match class {
        Class::Kept => Kept::Yes,
        Class::Exceeded | Class::Cut => Kept::No,
        Class::Undecided | Class::Generator => Kept::Undecided,
    }
}
