//! Arranges a summary in reading order, by point and then by variant. Computes nothing.

use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::id::PointLabel;
use weighbridge_model::summary::{Cost, Figure, Summary, VariantSummary};

use crate::words;

pub(crate) struct Point<'a> {
    pub(crate) label: &'a PointLabel,
    /// Workload, load model and connections in words, if the summary has one text per point.
    pub(crate) condition: Option<&'a str>,
    /// In the order of the summary, baseline first.
    pub(crate) variants: Vec<&'a VariantSummary>,
    pub(crate) pairs: Vec<Pair<'a>>,
}

pub(crate) struct Pair<'a> {
    pub(crate) variant: &'a str,
    pub(crate) baseline: &'a str,
    pub(crate) costs: Vec<&'a Cost>,
}

impl Pair<'_> {
    /// In order of appearance.
    pub(crate) fn operations(&self) -> Vec<&str> {
        distinct(self.costs.iter().map(|cost| cost.operation.as_str()))
    }
}

/// In order of appearance.
pub(crate) fn points(summary: &Summary) -> Vec<Point<'_>> {
    let of_variants = summary.variants.iter().map(|variant| &variant.point);
    let labels = distinct(of_variants.chain(summary.costs.iter().map(|cost| &cost.point)));
    let conditions_match = summary.conditions.len() == labels.len();
    let each = labels.into_iter().enumerate().map(|(at, label)| Point {
        label,
        condition: conditions_match.then(|| summary.conditions[at].as_str()),
        variants: summary.variants.iter().filter(|variant| variant.point == *label).collect(),
        pairs: pairs(summary, label),
    });
    each.collect()
}

fn pairs<'a>(summary: &'a Summary, label: &'a PointLabel) -> Vec<Pair<'a>> {
    let here: Vec<&Cost> = summary.costs.iter().filter(|cost| cost.point == *label).collect();
    let names = distinct(here.iter().map(|cost| cost.variant.as_str()));
    let each = names.into_iter().map(|variant| Pair {
        variant,
        baseline: words::baseline(summary, label),
        costs: here.iter().copied().filter(|cost| cost.variant == variant).collect(),
    });
    each.collect()
}

pub(crate) fn figure<'a>(
    variant: &'a VariantSummary,
    operation: &str,
    quantity: Quantity,
) -> Option<&'a Figure> {
    variant.figures.iter().find(|figure| figure.quantity == quantity && figure.operation == operation)
}

/// A variant's estimate over all operations, or of its only one.
pub(crate) fn overall(variant: &VariantSummary, quantity: Quantity) -> Option<&Estimate> {
    let figures = || variant.figures.iter().filter(|figure| figure.quantity == quantity);
    let all = figures().find(|figure| figure.operation == "all");
    all.or_else(|| figures().next()).and_then(|figure| figure.estimate.as_ref())
}

/// A variant's p50 of response times, or of service times if it has no response times, as in imported logs.
pub(crate) fn typical(variant: &VariantSummary) -> Option<&Estimate> {
    let has_response = variant.figures.iter().any(|figure| figure.quantity == Quantity::ResponseP50);
    overall(variant, if has_response { Quantity::ResponseP50 } else { Quantity::ServiceP50 })
}

/// Each value once, in order of first appearance.
pub(crate) fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}
