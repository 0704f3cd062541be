//! One chain at one point: what each stage is and costs, in each quantity. A stage without a usable figure
//! has no cost, and the stage above it is compared with the next usable one below.

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::id::VariantId;
use weighbridge_model::layering::{Chain, Missing, Stage, StageCost};

use super::blocks::{VariantLevels, estimates};
use super::factor::{PairCosts, VariantPair, WHOLE};
use super::lineup::{self, stage_name};
use super::sum::is_changed;
use super::{Exclusion, PointContext};
use crate::checks::tail;
use crate::question::Question;
use crate::verdict::append_reason;

pub(super) struct ChainEstimates<'l, 's, 'a> {
    question: &'l Question,
    context: &'l PointContext<'s, 'a>,
    chain: &'l lineup::Chain,
    measures: Vec<QuantityEstimates>,
}

/// One quantity of a chain; one entry for each stage.
struct QuantityEstimates {
    quantity: Quantity,
    /// Only figures that may be used.
    figures: Vec<Option<Estimate>>,
    exclusions: Vec<Option<Exclusion>>,
    levels: VariantLevels,
}

struct StageDifference {
    from: usize,
    estimates: (Estimate, Estimate),
    remark: Option<String>,
}

impl<'l, 's, 'a> ChainEstimates<'l, 's, 'a> {
    /// Measures every quantity of which at least one stage has a figure.
    pub(super) fn new(
        question: &'l Question,
        context: &'l PointContext<'s, 'a>,
        chain: &'l lineup::Chain,
    ) -> Self {
        let mut estimates = Self { question, context, chain, measures: Vec::new() };
        let all = Quantity::ALL.into_iter().filter(|quantity| is_changed(*quantity));
        estimates.measures = all.filter_map(|quantity| estimates.measure(quantity)).collect();
        estimates
    }

    fn measure(&self, quantity: Quantity) -> Option<QuantityEstimates> {
        let ids: Vec<VariantId> = self.chain.stages.iter().map(|(id, _)| *id).collect();
        let figures = ids.iter().map(|id| self.context.samples.all[id.index()].figure(quantity).ok());
        let figures: Vec<Option<Estimate>> = figures.collect();
        figures.iter().any(Option::is_some).then_some(())?;
        let mut exclusions: Vec<_> = ids.iter().map(|id| self.context.exclusion(*id, quantity)).collect();
        let is_objection = |exclusion: &Option<Exclusion>| matches!(exclusion, Some(Exclusion::Objection(_)));
        let usable: Vec<VariantId> = ids
            .iter()
            .zip(&exclusions)
            .filter(|(_, exclusion)| exclusion.is_none())
            .map(|(id, _)| *id)
            .collect();
        let levels = self.context.levels(&usable, quantity);
        for (id, exclusion) in ids.iter().zip(&mut exclusions).filter(|(_, exclusion)| exclusion.is_none()) {
            *exclusion = levels.absence(*id).map(Exclusion::Absence);
        }
        Some(QuantityEstimates {
            quantity,
            figures: figures
                .into_iter()
                .zip(&exclusions)
                .map(|(figure, exclusion)| figure.filter(|_| !is_objection(exclusion)))
                .collect(),
            levels,
            exclusions,
        })
    }

    pub(super) fn chain(&self) -> Chain {
        let stage = |(place, (id, stage)): (usize, &(VariantId, String))| Stage {
            name: stage.clone(),
            variant: self.name(place).to_owned(),
            validity: self.context.diagnoses[id.index()].validity(),
            costs: self.measures.iter().map(|measure| self.cost(measure, place)).collect(),
        };
        let missing = |&(place, at): &(usize, usize)| {
            let absent = &self.question.absent[at];
            let (variant, reason) = (absent.name.clone(), absent.reason.clone());
            Missing { variant, below: self.name(place).to_owned(), reason }
        };
        Chain {
            point: self.question.points[self.context.id.index()].label.clone(),
            of: self.chain.family.clone(),
            stages: self.chain.stages.iter().enumerate().map(stage).collect(),
            whole: self.measures.iter().map(|measure| self.whole(measure)).collect(),
            missing: self.chain.missing.iter().map(missing).collect(),
        }
    }

    /// The costs of every pair of neighbours and of the whole chain in each block, for the factors.
    pub(super) fn measured(&self) -> Vec<PairCosts> {
        self.measures.iter().flat_map(|measure| self.measured_in(measure)).collect()
    }

    fn last(&self) -> usize {
        self.chain.stages.len() - 1
    }

    fn name(&self, place: usize) -> &str {
        let (id, _) = self.chain.stages[place];
        &self.question.variants[id.index()].name
    }

    fn cost(&self, measure: &QuantityEstimates, place: usize) -> StageCost {
        let figure = measure.figures[place];
        let own = measure.exclusions[place]
            .as_ref()
            .map(|exclusion| exclusion.own_reason(self.context, measure.quantity));
        match own {
            Some(reason) => stage_cost(measure.quantity, figure, Err(Some(reason))),
            None if place == 0 => stage_cost(measure.quantity, figure, Err(None)),
            None => {
                let found = self.below(measure, place).map_err(Some);
                let against = found.as_ref().ok().filter(|found| found.from + 1 < place);
                let against = against.map(|found| self.name(found.from).to_owned());
                StageCost { against, ..stage_cost(measure.quantity, figure, found) }
            }
        }
    }

    fn below(&self, measure: &QuantityEstimates, place: usize) -> Result<StageDifference, String> {
        let from = measure.exclusions[..place].iter().rposition(Option::is_none);
        let first = from.map_or(0, |from| from + 1);
        let between = (first..place)
            .filter_map(|at| Some(measure.exclusions[at].as_ref()?.reason_for_others(self.name(at))));
        let between = between.collect::<Vec<_>>().join(", ");
        let Some(from) = from else { return Err(between) };
        let mut found = self.against(measure, from, place)?;
        if from + 1 < place {
            let against = format!("against `{}`, since {between}", self.name(from));
            found.remark = Some(found.remark.map_or(against.clone(), |more| format!("{against}; {more}")));
        }
        Ok(found)
    }

    fn whole(&self, measure: &QuantityEstimates) -> StageCost {
        let ends = [0, self.last()];
        let exclusion = |at: usize| Some(measure.exclusions[at].as_ref()?.reason_for_others(self.name(at)));
        let found = match ends.into_iter().find_map(exclusion) {
            Some(reason) => Err(reason),
            None => self.against(measure, 0, self.last()),
        };
        stage_cost(measure.quantity, None, found.map_err(Some))
    }

    fn against(
        &self,
        measure: &QuantityEstimates,
        from: usize,
        to: usize,
    ) -> Result<StageDifference, String> {
        let (context, quantity) = (self.context, measure.quantity);
        let ids = [from, to].map(|place| self.chain.stages[place].0);
        let levels = measure.levels.between(ids[0], ids[1]);
        let levels = levels.map_err(|gap| context.why_apart(self.question, gap, quantity))?;
        let named = |place: usize| {
            let (id, _) = self.chain.stages[place];
            tail::NamedSamples { name: self.name(place), samples: context.samples.all[id.index()] }
        };
        let mut remark = context.crossing(self.question, &ids);
        if let Some(few) = tail::thin_tail_remark([named(to), named(from)], quantity) {
            append_reason(&mut remark, few);
        }
        Ok(StageDifference { from, estimates: estimates(&levels, context.samples.first_stage), remark })
    }

    fn measured_in(&self, measure: &QuantityEstimates) -> Vec<PairCosts> {
        let usable: Vec<usize> =
            (0..=self.last()).filter(|place| measure.exclusions[*place].is_none()).collect();
        let pairs = usable.windows(2).map(|pair| (pair[0], pair[1], false));
        // In a chain of two stages, the whole is the only pair.
        let is_whole = self.last() > 1 && usable.first() == Some(&0) && usable.last() == Some(&self.last());
        let whole = is_whole.then_some((0, self.last(), true));
        let one = |(from, to, is_whole): (usize, usize, bool)| {
            let (lower, upper) = (self.chain.stages[from].0, self.chain.stages[to].0);
            let levels = measure.levels.between(lower, upper).ok()?;
            let stage = if is_whole { WHOLE.to_owned() } else { stage_name(self.question, lower, upper) };
            Some(PairCosts {
                pair: VariantPair { family: self.chain.family.clone(), stage, lower, upper, is_whole },
                point: self.context.id,
                quantity: measure.quantity,
                scale: measure.figures[from].map_or(1.0, |figure| figure.point.abs()),
                costs: levels.into_iter().map(|(block, level)| (block, level.difference)).collect(),
                first_stage: self.context.samples.first_stage,
            })
        };
        pairs.chain(whole).filter_map(one).collect()
    }
}

fn stage_cost(
    quantity: Quantity,
    figure: Option<Estimate>,
    found: Result<StageDifference, Option<String>>,
) -> StageCost {
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
        Ok(StageDifference { estimates: (difference, ratio), remark, .. }) => {
            StageCost { difference: Some(difference), ratio: Some(ratio), reason: remark, ..none }
        }
        Err(reason) => StageCost { reason, ..none },
    }
}
