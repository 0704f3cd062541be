//! One chain at one point: what each stage is and costs, quantity by quantity.

use weighbridge_model::layering::{Chain, Stage, StageCost};
use weighbridge_model::record::VariantId;
use weighbridge_model::summary::{Estimate, Quantity, Validity};

use super::Here;
use super::blocks::{Level, Levels, estimates};
use super::factor::Measured;
use super::lineup::Line;
use crate::estimate::Absence;
use crate::question::Question;

/// One quantity of a chain: from which of its stages on there are figures, and what the blocks say of these.
struct Measure {
    quantity: Quantity,
    first: usize,
    levels: Result<Levels, (VariantId, Absence)>,
    figures: Vec<Result<Estimate, Absence>>,
}

/// The chain with its number, and what the blocks say of its stages.
pub(super) fn chain(
    question: &Question,
    here: &Here<'_, '_>,
    (at, line): (usize, &Line),
) -> (Chain, Vec<Measured>) {
    let measures: Vec<Measure> =
        Quantity::ALL.into_iter().filter_map(|quantity| measure(here, line, quantity)).collect();
    let name = |id: VariantId| question.variants[id.index()].name.clone();
    let stage = |(place, (id, stage)): (usize, &(VariantId, String))| Stage {
        name: stage.clone(),
        variant: name(*id),
        validity: here.validity[id.index()],
        costs: measures.iter().map(|measure| cost(question, here, line, measure, place)).collect(),
    };
    let chain = Chain {
        point: question.points[here.id.index()].label.clone(),
        of: line.of.clone(),
        stages: line.stages.iter().enumerate().map(stage).collect(),
        whole: measures.iter().map(|measure| whole(question, here, line, measure)).collect(),
    };
    (chain, measures.iter().filter_map(|measure| measured(here, (at, line), measure)).collect())
}

/// A quantity of which at least one stage has a figure.
fn measure(here: &Here<'_, '_>, line: &Line, quantity: Quantity) -> Option<Measure> {
    let sides = &here.sides;
    let figures: Vec<_> = line.stages.iter().map(|(id, _)| sides.all[id.index()].figure(quantity)).collect();
    figures.iter().any(Result::is_ok).then_some(())?;
    // From the last stage that has none on: what lies before it is compared with nothing.
    let first = figures.iter().rposition(Result::is_err).map_or(0, |last| last + 1);
    let variants: Vec<VariantId> = line.stages[first..].iter().map(|(id, _)| *id).collect();
    let levels = match (variants.first(), line.stages.last()) {
        (Some(_), _) => Levels::new(sides, &variants, quantity),
        (None, Some((id, _))) => Err((*id, Absence::NotMeasured)),
        (None, None) => return None,
    };
    Some(Measure { quantity, first, levels, figures })
}

fn cost(question: &Question, here: &Here<'_, '_>, line: &Line, measure: &Measure, place: usize) -> StageCost {
    let id = line.stages[place].0;
    let found = match place {
        0 => Err(None),
        _ => against(question, here, line, measure, (place - 1, place)).map_err(Some),
    };
    let figure = &measure.figures[place];
    let why = figure.as_ref().err().map(|absence| (here.why)(id, *absence, measure.quantity));
    of(measure.quantity, figure.as_ref().ok().copied(), found.map_err(|reason| why.or(reason)))
}

fn whole(question: &Question, here: &Here<'_, '_>, line: &Line, measure: &Measure) -> StageCost {
    let found = against(question, here, line, measure, (0, line.stages.len() - 1));
    of(measure.quantity, None, found.map_err(Some))
}

fn of(
    quantity: Quantity,
    figure: Option<Estimate>,
    found: Result<(Estimate, Estimate), Option<String>>,
) -> StageCost {
    let unit = quantity.unit();
    match found {
        Ok((difference, ratio)) => StageCost {
            quantity,
            unit,
            figure,
            difference: Some(difference),
            ratio: Some(ratio),
            reason: None,
        },
        Err(reason) => StageCost { quantity, unit, figure, difference: None, ratio: None, reason },
    }
}

/// Difference and ratio of two stages, or why there are none.
fn against(
    question: &Question,
    here: &Here<'_, '_>,
    line: &Line,
    measure: &Measure,
    (from, to): (usize, usize),
) -> Result<(Estimate, Estimate), String> {
    let levels = levels(question, here, line, measure, (from, to))?;
    Ok(estimates(&levels, here.sides.first_stage))
}

fn levels(
    question: &Question,
    here: &Here<'_, '_>,
    line: &Line,
    measure: &Measure,
    (from, to): (usize, usize),
) -> Result<Vec<Level>, String> {
    let name = |id: VariantId| &question.variants[id.index()].name;
    let ids = [from, to].map(|place| line.stages[place].0);
    if let Some(invalid) = ids.into_iter().find(|id| here.validity[id.index()] == Validity::Invalid) {
        return Err(format!("`{}` is invalid", name(invalid)));
    }
    if let Some(place) = [from, to].into_iter().find(|place| measure.figures[*place].is_err()) {
        return Err(format!("`{}` has no such figure", name(line.stages[place].0)));
    }
    match &measure.levels {
        _ if from < measure.first => Err("a stage between has no such figure".to_owned()),
        Err((id, absence)) => {
            Err(format!("`{}`: {}", name(*id), (here.why)(*id, *absence, measure.quantity)))
        }
        Ok(levels) => Ok(levels.between(from - measure.first, to - measure.first)),
    }
}

/// What the blocks say of every stage, for the factors; `None` where a stage is missing or invalid.
fn measured(here: &Here<'_, '_>, (at, line): (usize, &Line), measure: &Measure) -> Option<Measured> {
    let is_usable = line.stages.iter().all(|(id, _)| here.validity[id.index()] != Validity::Invalid);
    let levels = measure.levels.as_ref().ok().filter(|_| is_usable)?;
    let last = line.stages.len() - 1;
    let steps = (1..=last).map(|place| (place > measure.first).then(|| (place - 1, place)));
    let whole = (measure.first == 0).then_some((0, last));
    let between = |pair: Option<(usize, usize)>| {
        pair.map(|(from, to)| levels.between(from - measure.first, to - measure.first))
    };
    let figures = &measure.figures;
    Some(Measured {
        line: at,
        point: here.id,
        quantity: measure.quantity,
        scale: figures[measure.first].as_ref().map_or(1.0, |figure| figure.point.abs()),
        blocks: levels.blocks.clone(),
        stages: steps.chain(std::iter::once(whole)).map(between).collect(),
        first_stage: here.sides.first_stage,
    })
}
