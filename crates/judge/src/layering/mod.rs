//! What layers cost, one at a time and together.
//!
//! Variants that differ only in layers, and in settings priced like layers, form *chains*: [`lineup`] finds them in the
//! question. At each point the stages of a chain are estimated (`chain`), single layers are held against the whole
//! (`sum`), and over all points a stage's cost is held against the factors (`factor`). All of it is made of what single
//! blocks say (`blocks`): contrasts are taken within a block, intervals over blocks, and nothing is taken to be
//! independent that shares a block.

mod blocks;
mod chain;
mod factor;
pub mod lineup;
mod stack;
mod sum;

use weighbridge_model::layering::{Additivity, Chain, Interaction, Layering, SumCheck};
use weighbridge_model::record::{PointId, VariantId};
use weighbridge_model::summary::{Finding, Quantity, Severity, Unit, Validity};

use crate::diagnose::subject;
use crate::question::Question;
use crate::stats::multiple::holm;
use crate::thresholds::FAMILY_ERROR;
pub(crate) use blocks::Sides;
use factor::Measured;
use lineup::{Line, Singles};
pub use stack::{Part, Stack};

/// The name of the finding.
pub const LAYERS_INTERACT: &str = "layers interact";

/// Chains and sum checks of a run, point after point.
pub(crate) struct Layers<'q> {
    question: &'q Question,
    lines: Vec<Line>,
    singles: Vec<Singles>,
    chains: Vec<Chain>,
    sums: Vec<SumCheck>,
    /// What the blocks say of each stage, for the factors.
    measured: Vec<Measured>,
}

/// One point as the judge has added it up.
pub(crate) struct Here<'s, 'a> {
    /// Its number.
    pub id: PointId,
    /// The sides of all variants.
    pub sides: Sides<'s, 'a>,
    /// Whether each variant's figures may be used.
    pub validity: Vec<Validity>,
    /// Why a variant has no figure of a quantity, in words.
    pub why: &'s dyn Fn(VariantId, crate::estimate::Absence, Quantity) -> String,
}

impl<'q> Layers<'q> {
    /// Nothing measured yet.
    pub(crate) fn new(question: &'q Question) -> Self {
        let (lines, singles) = (lineup::lines(question), lineup::sums(question));
        Self { question, lines, singles, chains: Vec::new(), sums: Vec::new(), measured: Vec::new() }
    }

    /// Whether the question has anything of the kind.
    pub(crate) fn is_asked(&self) -> bool {
        !(self.lines.is_empty() && self.singles.is_empty())
    }

    /// Adds a point.
    pub(crate) fn add(&mut self, here: &Here<'_, '_>) {
        for (at, line) in self.lines.iter().enumerate() {
            let (chain, measured) = chain::chain(self.question, here, (at, line));
            self.chains.push(chain);
            self.measured.extend(measured);
        }
        self.sums.extend(self.singles.iter().filter_map(|singles| sum::check(self.question, here, singles)));
    }

    /// Everything together, with what is worth a finding.
    pub(crate) fn end(mut self) -> (Layering, Vec<Finding>) {
        correct(self.sums.iter_mut().flat_map(|check| &mut check.rows).collect());
        let (mut interactions, slopes) = factor::over(self.question, &self.lines, &self.measured);
        correct(interactions.iter_mut().collect());
        let mut findings: Vec<Finding> = self.sums.iter().filter_map(sum_finding).collect();
        findings.extend(factor_findings(&interactions));
        (Layering { chains: self.chains, sums: self.sums, interactions, slopes }, findings)
    }
}

/// A row that concludes something by a p value.
pub(crate) trait Row {
    /// The p value and the conclusion.
    fn parts(&mut self) -> (Option<f64>, &mut Additivity, &mut Option<String>);
}

/// Holm at 5 % over one family: an interaction whose adjusted p is above that is undecided.
fn correct(mut family: Vec<&mut impl Row>) {
    let tested: Vec<(usize, f64)> =
        family.iter_mut().enumerate().filter_map(|(at, row)| Some((at, row.parts().0?))).collect();
    let p_values: Vec<f64> = tested.iter().map(|(_, p)| *p).collect();
    for ((at, _), adjusted) in tested.iter().zip(holm(&p_values)) {
        let (_, verdict, reason) = family[*at].parts();
        if *verdict == Additivity::Interaction && adjusted > FAMILY_ERROR {
            *verdict = Additivity::Undecided;
            *reason = Some(format!("`interaction` alone, not among {} rows (Holm at 5 %)", tested.len()));
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

/// A difference in its unit with its sign.
fn signed(unit: Unit, value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", unit.display(value))
}

fn with_interval(unit: Unit, estimate: &weighbridge_model::summary::Estimate) -> String {
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

/// One finding for each stage and factor, of the first quantity that shows it: the headline's, where it does.
fn factor_findings(interactions: &[Interaction]) -> Vec<Finding> {
    let mut told: Vec<(&str, &str, &str)> = Vec::new();
    let mut findings = Vec::new();
    for one in interactions.iter().filter(|one| one.verdict == Additivity::Interaction) {
        let of = (one.of.as_str(), one.variant.as_str(), one.factor.as_str());
        if one.stage == factor::WHOLE || told.contains(&of) {
            continue;
        }
        told.push(of);
        let value = |point: &weighbridge_model::summary::PointLabel| {
            point.get(&one.factor).cloned().unwrap_or_default()
        };
        let evidence = format!(
            "what `{}` adds to {} depends on `{}`: from {} to {} it changes by {}",
            one.stage,
            one.quantity.label(),
            one.factor,
            value(&one.from),
            value(&one.to),
            with_interval(one.unit, &one.difference)
        );
        let remedy = "give its cost together with the factor's value, and do not carry it over to another";
        findings.push(finding(subject(&one.variant, &Default::default()), evidence, remedy));
    }
    findings
}
