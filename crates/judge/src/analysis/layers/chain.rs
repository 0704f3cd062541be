//! One chain at one point: what each stage is and costs, quantity by quantity. What is usable is decided variant by variant
//! and pair by pair: a stage that has no figure, or none that may be used, has no cost, and the one above it is held against
//! the next below.

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::id::VariantId;
use weighbridge_model::layering::{Chain, Missing, Stage, StageCost};

use super::blocks::{Levels, estimates};
use super::factor::{Measured, Pair, WHOLE};
use super::lineup::{Line, stage_name};
use super::{Here, Obstacle};
use crate::checks::tail;
use crate::question::Question;
use crate::verdict::append;

/// One line at one point.
pub(super) struct Looked<'l, 's, 'a> {
    question: &'l Question,
    here: &'l Here<'s, 'a>,
    line: &'l Line,
    measures: Vec<Measure>,
}

/// One quantity of a chain, stage by stage.
struct Measure {
    quantity: Quantity,
    /// The stages' own figures, where they may be used.
    figures: Vec<Option<Estimate>>,
    /// Why a stage can be held against nothing.
    obstacles: Vec<Option<Obstacle>>,
    levels: Levels,
}

/// A cost that was found: against which stage, what it is, and what it does not say itself.
struct Found {
    from: usize,
    estimates: (Estimate, Estimate),
    remark: Option<String>,
}

impl<'l, 's, 'a> Looked<'l, 's, 'a> {
    /// Looks at every quantity of which at least one stage has a figure.
    pub(super) fn new(question: &'l Question, here: &'l Here<'s, 'a>, line: &'l Line) -> Self {
        let mut looked = Self { question, here, line, measures: Vec::new() };
        looked.measures = Quantity::ALL.into_iter().filter_map(|quantity| looked.measure(quantity)).collect();
        looked
    }

    fn measure(&self, quantity: Quantity) -> Option<Measure> {
        let ids: Vec<VariantId> = self.line.stages.iter().map(|(id, _)| *id).collect();
        let figures = ids.iter().map(|id| self.here.sides.all[id.index()].figure(quantity).ok());
        let figures: Vec<Option<Estimate>> = figures.collect();
        figures.iter().any(Option::is_some).then_some(())?;
        let mut obstacles: Vec<_> = ids.iter().map(|id| self.here.obstacle(*id, quantity)).collect();
        let is_objected = |obstacle: &Option<Obstacle>| matches!(obstacle, Some(Obstacle::Objection(_)));
        let usable: Vec<VariantId> = ids
            .iter()
            .zip(&obstacles)
            .filter(|(_, obstacle)| obstacle.is_none())
            .map(|(id, _)| *id)
            .collect();
        let levels = self.here.levels(&usable, quantity);
        for (id, obstacle) in ids.iter().zip(&mut obstacles).filter(|(_, obstacle)| obstacle.is_none()) {
            *obstacle = levels.absence(*id).map(Obstacle::Absence);
        }
        Some(Measure {
            quantity,
            figures: figures
                .into_iter()
                .zip(&obstacles)
                .map(|(figure, obstacle)| figure.filter(|_| !is_objected(obstacle)))
                .collect(),
            levels,
            obstacles,
        })
    }

    /// The chain.
    pub(super) fn chain(&self) -> Chain {
        let stage = |(place, (id, stage)): (usize, &(VariantId, String))| Stage {
            name: stage.clone(),
            variant: self.name(place).to_owned(),
            validity: self.here.diagnoses[id.index()].validity(),
            costs: self.measures.iter().map(|measure| self.cost(measure, place)).collect(),
        };
        let missing = |&(place, at): &(usize, usize)| {
            let absent = &self.question.absent[at];
            let (variant, reason) = (absent.name.clone(), absent.reason.clone());
            Missing { variant, below: self.name(place).to_owned(), reason }
        };
        Chain {
            point: self.question.points[self.here.id.index()].label.clone(),
            of: self.line.of.clone(),
            stages: self.line.stages.iter().enumerate().map(stage).collect(),
            whole: self.measures.iter().map(|measure| self.whole(measure)).collect(),
            missing: self.line.missing.iter().map(missing).collect(),
        }
    }

    /// What the blocks say of every pair that was found, and of the whole, for the factors.
    pub(super) fn measured(&self) -> Vec<Measured> {
        self.measures.iter().flat_map(|measure| self.measured_in(measure)).collect()
    }

    fn last(&self) -> usize {
        self.line.stages.len() - 1
    }

    fn name(&self, place: usize) -> &str {
        let (id, _) = self.line.stages[place];
        &self.question.variants[id.index()].name
    }

    fn cost(&self, measure: &Measure, place: usize) -> StageCost {
        let figure = measure.figures[place];
        let own = measure.obstacles[place].as_ref().map(|obstacle| obstacle.own(self.here, measure.quantity));
        match own {
            Some(reason) => of(measure.quantity, figure, Err(Some(reason))),
            None if place == 0 => of(measure.quantity, figure, Err(None)),
            None => {
                let found = self.below(measure, place).map_err(Some);
                let against = found.as_ref().ok().filter(|found| found.from + 1 < place);
                let against = against.map(|found| self.name(found.from).to_owned());
                StageCost { against, ..of(measure.quantity, figure, found) }
            }
        }
    }

    /// A stage against the next below it that may be used.
    fn below(&self, measure: &Measure, place: usize) -> Result<Found, String> {
        let from = measure.obstacles[..place].iter().rposition(Option::is_none);
        let first = from.map_or(0, |from| from + 1);
        let between = (first..place).filter_map(|at| Some(measure.obstacles[at].as_ref()?.of(self.name(at))));
        let between = between.collect::<Vec<_>>().join(", ");
        let Some(from) = from else { return Err(between) };
        let mut found = self.against(measure, (from, place))?;
        if from + 1 < place {
            let against = format!("against `{}`, since {between}", self.name(from));
            found.remark = Some(found.remark.map_or(against.clone(), |more| format!("{against}; {more}")));
        }
        Ok(found)
    }

    fn whole(&self, measure: &Measure) -> StageCost {
        let ends = [0, self.last()];
        let obstacle = |at: usize| Some(measure.obstacles[at].as_ref()?.of(self.name(at)));
        let found = match ends.into_iter().find_map(obstacle) {
            Some(reason) => Err(reason),
            None => self.against(measure, (0, self.last())),
        };
        of(measure.quantity, None, found.map_err(Some))
    }

    /// Difference and ratio of two stages that may both be used, or why there are none.
    fn against(&self, measure: &Measure, (from, to): (usize, usize)) -> Result<Found, String> {
        let (here, quantity) = (self.here, measure.quantity);
        let ids = [from, to].map(|place| self.line.stages[place].0);
        let levels = measure.levels.between(ids[0], ids[1]);
        let levels = levels.map_err(|gap| here.why_apart(self.question, gap, quantity))?;
        let side = |place: usize| {
            let (id, _) = self.line.stages[place];
            (self.name(place), here.sides.all[id.index()])
        };
        let mut remark = here.crossing(self.question, &ids);
        if let Some(few) = tail::remark(&[side(to), side(from)], quantity) {
            append(&mut remark, few);
        }
        Ok(Found { from, estimates: estimates(&levels, here.sides.first_stage), remark })
    }

    fn measured_in(&self, measure: &Measure) -> Vec<Measured> {
        let usable: Vec<usize> =
            (0..=self.last()).filter(|place| measure.obstacles[*place].is_none()).collect();
        let pairs = usable.windows(2).map(|pair| (pair[0], pair[1], false));
        // A chain of two stages is its only pair.
        let is_whole = self.last() > 1 && usable.first() == Some(&0) && usable.last() == Some(&self.last());
        let whole = is_whole.then_some((0, self.last(), true));
        let one = |(from, to, is_whole): (usize, usize, bool)| {
            let (lower, upper) = (self.line.stages[from].0, self.line.stages[to].0);
            let levels = measure.levels.between(lower, upper).ok()?;
            let stage = if is_whole { WHOLE.to_owned() } else { stage_name(self.question, lower, upper) };
            Some(Measured {
                pair: Pair { of: self.line.of.clone(), stage, lower, upper, is_whole },
                point: self.here.id,
                quantity: measure.quantity,
                scale: measure.figures[from].map_or(1.0, |figure| figure.point.abs()),
                costs: levels.into_iter().map(|(block, level)| (block, level.difference)).collect(),
                first_stage: self.here.sides.first_stage,
            })
        };
        pairs.chain(whole).filter_map(one).collect()
    }
}

fn of(quantity: Quantity, figure: Option<Estimate>, found: Result<Found, Option<String>>) -> StageCost {
    let none = StageCost {
        quantity,
        unit: quantity.unit(),
        figure,
        difference: None,
        ratio: None,
        against: None,
        reason: None,
    };
    match found {
        Ok(Found { estimates: (difference, ratio), remark, .. }) => {
            StageCost { difference: Some(difference), ratio: Some(ratio), reason: remark, ..none }
        }
        Err(reason) => StageCost { reason, ..none },
    }
}
