//! What layers cost, one at a time and together.
//!
//! Variants that differ only in layers, and in settings priced like layers, form *chains*; [`lineup`] finds
//! them in the question. At each point the stages of a chain are estimated (`chain`) and single layers are
//! compared with the whole (`sum`); over all points a stage's cost is compared with the factors (`factor`).
//! Contrasts are taken within a block and intervals over blocks (`blocks`): values of one block are not
//! independent.

mod blocks;
mod chain;
mod factor;
pub mod lineup;
mod sum;

use std::borrow::Cow;

use weighbridge_model::estimate::{Quantity, Unit, Verdict};
use weighbridge_model::finding::LAYERS_INTERACT;
use weighbridge_model::id::PointLabel;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::layering::{Additivity, Chain, Interaction, Layering, SumCheck};
use weighbridge_model::summary::{Finding, Severity};

use crate::checks::{Diagnosis, Objection, subject};
use crate::estimate::Absence;
use crate::question::Question;
use crate::records::Records;
use crate::stats::multiple::holm;
use crate::thresholds::FAMILY_ERROR;
use crate::verdict::{append_reason, only_alone};
use blocks::{Incomparable, VariantLevels};
pub(crate) use blocks::{Level, PointSamples};
use factor::PairCosts;
use lineup::SingleLayers;
pub(crate) use sum::{adds_up, conclude};

pub(crate) fn is_asked(question: &Question, records: &Records<'_>) -> bool {
    Layers::new(question, records).is_asked()
}

/// The question with our packet relay below each delay that such a relay produced.
fn as_carried<'q>(question: &'q Question, records: &Records<'_>) -> Cow<'q, Question> {
    let mut carried = Cow::Borrowed(question);
    for (id, variant) in question.variants() {
        let stack = variant.stack.clone().relayed();
        if stack != variant.stack && records.was_relayed(id) {
            carried.to_mut().variants[id.index()].stack = stack;
        }
    }
    carried
}

/// The chains and sum checks of a run; points are added one after another.
pub(crate) struct Layers<'q> {
    question: Cow<'q, Question>,
    chains: Vec<lineup::Chain>,
    singles: Vec<SingleLayers>,
    estimates: Vec<Chain>,
    sums: Vec<SumCheck>,
    measured: Vec<PairCosts>,
}

pub(crate) struct PointContext<'s, 'a> {
    pub id: PointId,
    /// One for each variant.
    pub samples: PointSamples<'s, 'a>,
    /// One for each variant.
    pub diagnoses: &'s [Diagnosis],
    /// Puts into words why a variant has no figure of a quantity.
    pub why: &'s dyn Fn(Absence, Quantity) -> String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Exclusion {
    /// The verdict table refuses it too.
    Objection(Objection),
    /// There is no figure, or too little for a cost.
    Absence(Absence),
}

impl Exclusion {
    /// The reason as the variant's own row gives it.
    pub(crate) fn own_reason(&self, context: &PointContext<'_, '_>, quantity: Quantity) -> String {
        match self {
            Self::Objection(Objection { verdict, reason }) => format!("{}: {reason}", verdict.name()),
            Self::Absence(absence) => (context.why)(*absence, quantity),
        }
    }

    /// The reason as other variants' rows give it: it names this variant, whose own row has the details.
    fn reason_for_others(&self, name: &str) -> String {
        match self {
            Self::Objection(Objection { verdict: Verdict::Invalid, .. }) => format!("`{name}` is invalid"),
            Self::Objection(_) => format!("that of `{name}` is withheld"),
            Self::Absence(Absence::NotMeasured | Absence::NoBlock) => format!("`{name}` has no such figure"),
            Self::Absence(_) => format!("`{name}` has too few requests for it"),
        }
    }
}

impl PointContext<'_, '_> {
    pub(crate) fn exclusion(&self, id: VariantId, quantity: Quantity) -> Option<Exclusion> {
        if let Some(objection) = self.diagnoses[id.index()].objection(quantity) {
            return Some(Exclusion::Objection(objection));
        }
        let variant = self.samples.all[id.index()];
        variant.figure(quantity).and(variant.can_cost(quantity)).err().map(Exclusion::Absence)
    }

    /// The levels of these variants, those with an exclusion left out.
    pub(crate) fn levels(&self, ids: &[VariantId], quantity: Quantity) -> VariantLevels {
        let is_usable = |id: &VariantId| self.exclusion(*id, quantity).is_none();
        VariantLevels::new(&self.samples, ids, quantity, Some(VariantId(0)).filter(is_usable))
    }

    /// A remark if these variants did not live in one batch.
    pub(crate) fn crossing(&self, question: &Question, ids: &[VariantId]) -> Option<String> {
        let baseline = &question.variants.first()?.name;
        (!self.samples.lived_together(ids)).then(|| format!("in different batches, each with `{baseline}`"))
    }

    pub(crate) fn why_apart(&self, question: &Question, gap: Incomparable, quantity: Quantity) -> String {
        let name = |id: VariantId| &question.variants[id.index()].name;
        match gap {
            Incomparable::Absent(id, absence) => format!("`{}`: {}", name(id), (self.why)(absence, quantity)),
            Incomparable::NoBlock => "they were measured in no block both".to_owned(),
            Incomparable::Apart => {
                let baseline = name(VariantId(0));
                let why = self
                    .exclusion(VariantId(0), quantity)
                    .map(|exclusion| exclusion.reason_for_others(baseline));
                format!(
                    "in different batches, and {}",
                    why.unwrap_or_else(|| format!("`{baseline}` is in one alone"))
                )
            }
        }
    }
}

impl<'q> Layers<'q> {
    pub(crate) fn new(question: &'q Question, records: &Records<'_>) -> Self {
        let question = as_carried(question, records);
        let (chains, singles) = (lineup::chains(&question), lineup::single_layers(&question));
        Self { question, chains, singles, estimates: Vec::new(), sums: Vec::new(), measured: Vec::new() }
    }

    pub(crate) fn is_asked(&self) -> bool {
        !(self.chains.is_empty() && self.singles.is_empty())
    }

    pub(crate) fn add(&mut self, context: &PointContext<'_, '_>) {
        for chain in &self.chains {
            let estimates = chain::ChainEstimates::new(&self.question, context, chain);
            self.estimates.push(estimates.chain());
            self.measured.extend(estimates.measured());
        }
        self.sums.extend(self.singles.iter().map(|singles| sum::check(&self.question, context, singles)));
    }

    pub(crate) fn end(mut self) -> (Layering, Vec<Finding>) {
        correct(self.sums.iter_mut().flat_map(|check| &mut check.rows).collect());
        let (mut interactions, slopes) = factor::over(&self.question, self.measured);
        // A whole is the sum of its stages: in one family with them it would count twice.
        let (wholes, stages) = interactions.iter_mut().partition(|one| one.stage == factor::WHOLE);
        correct(wholes);
        correct(stages);
        let mut findings: Vec<Finding> = self.sums.iter().filter_map(sum_finding).collect();
        findings.extend(factor_findings(&interactions));
        (Layering { chains: self.estimates, sums: self.sums, interactions, slopes }, findings)
    }
}

/// A row that concludes something from a p value.
pub(crate) trait Row {
    /// The p value, the conclusion, and its reason.
    fn parts(&mut self) -> (Option<f64>, &mut Additivity, &mut Option<String>);
}

/// Holm's correction at 5 % over one family: interactions with a larger adjusted p become undecided.
fn correct(mut family: Vec<&mut impl Row>) {
    let tested: Vec<(usize, f64)> =
        family.iter_mut().enumerate().filter_map(|(at, row)| Some((at, row.parts().0?))).collect();
    let p_values: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
    for ((at, _), adjusted) in tested.iter().zip(holm(&p_values)) {
        let (_, verdict, reason) = family[*at].parts();
        if *verdict == Additivity::Interaction && adjusted > FAMILY_ERROR {
            *verdict = Additivity::Undecided;
            append_reason(reason, only_alone("significant", tested.len()));
        }
    }
}

fn finding(subject: String, evidence: String, remedy: &str) -> Finding {
    Finding {
        severity: Severity::Note,
        name: LAYERS_INTERACT.to_owned(),
        subject,
        evidence,
        remedy: remedy.to_owned(),
    }
}

fn signed(unit: Unit, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", unit.display(value))
}

fn with_interval(unit: Unit, estimate: &weighbridge_model::estimate::Estimate) -> String {
    match estimate.interval() {
        Some((lower, upper)) => {
            format!("{} [{}, {}]", signed(unit, estimate.point), signed(unit, lower), signed(unit, upper))
        }
        None => signed(unit, estimate.point),
    }
}

fn sum_finding(check: &SumCheck) -> Option<Finding> {
    let rows: Vec<String> = check
        .rows
        .iter()
        .filter(|row| row.verdict == Additivity::Interaction)
        .map(|row| {
            format!(
                "{}: alone they add up to {}, together they cost {}, a difference of {}",
                row.quantity.label(),
                signed(row.unit, row.sum.point),
                signed(row.unit, row.whole.point),
                with_interval(row.unit, &row.interaction)
            )
        })
        .collect();
    let names: Vec<&str> = check.singles.iter().map(|single| single.name.as_str()).collect();
    let evidence = format!("{} above `{}`: {}", names.join(" and "), check.base, rows.join("; "));
    let remedy = "price the stack as a whole: a sum of costs measured one by one is not what it costs";
    (!rows.is_empty()).then(|| finding(subject(&check.whole, &check.point), evidence, remedy))
}

/// One finding for each pair of stages and factor: of the first quantity that shows the interaction, the
/// headline if it does, with every value of the other factors at which it shows.
fn factor_findings(interactions: &[Interaction]) -> Vec<Finding> {
    let is_reported =
        |one: &&Interaction| one.verdict == Additivity::Interaction && one.stage != factor::WHOLE;
    let pair_and_factor = |one: &Interaction| (one.above.clone(), one.variant.clone(), one.factor.clone());
    let mut groups: Vec<Vec<&Interaction>> = Vec::new();
    for one in interactions.iter().filter(is_reported) {
        match groups.iter_mut().find(|group| pair_and_factor(group[0]) == pair_and_factor(one)) {
            Some(group) if group[0].quantity == one.quantity => group.push(one),
            Some(_) => {}
            None => groups.push(vec![one]),
        }
    }
    groups.iter().map(|group| factor_finding(group)).collect()
}

fn factor_finding(group: &[&Interaction]) -> Finding {
    let first = group[0];
    let changes = |one: &&Interaction| {
        let value = |point: &PointLabel| point.get(&one.factor).cloned().unwrap_or_default();
        let others: Vec<String> = one
            .to
            .iter()
            .filter(|(key, _)| **key != one.factor)
            .map(|(key, value)| format!("{key} = {value}"))
            .collect();
        let others = if others.is_empty() { String::new() } else { format!(" at {}", others.join(", ")) };
        format!(
            "from {} to {}{others} it changes by {}",
            value(&one.from),
            value(&one.to),
            with_interval(one.unit, &one.difference)
        )
    };
    let evidence = format!(
        "what `{}` adds to {} of `{}` depends on `{}`: {}",
        first.stage,
        first.quantity.label(),
        first.above,
        first.factor,
        group.iter().map(changes).collect::<Vec<_>>().join("; ")
    );
    let remedy = "give its cost together with the factor's value, and do not carry it over to another";
    finding(subject(&first.variant, &PointLabel::default()), evidence, remedy)
}
