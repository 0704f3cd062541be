//! Totals that depend on few events: a mean, throughput or far quantile that fewer than five windows a block
//! determine. Such block estimates are far from normal, and their intervals cover less than stated.
//!
//! Events are counted by window, as records keep windows: several slow requests of one window are one event,
//! like those of one stall. No event is left out of an estimate.

use std::collections::BTreeMap;

use weighbridge_model::estimate::{Quantity, Statistic};
use weighbridge_model::finding;
use weighbridge_model::quantity::Ratio;

use super::{Alarm, CheckContext, Impact};
use crate::estimate::{VariantSamples, is_typical};
use crate::question::Scope;
use crate::records::{Cell, scope_figures};
use crate::stats::sample::median;
use crate::thresholds::{TAIL_DEVIATIONS, TAIL_EVENTS, TAIL_SPREAD, TAIL_WEIGHT};

/// Also the remark on a cost.
const FEW_TAIL_EVENTS: &str = "few tail events";

/// Turns the median absolute deviation of a normal sample into its standard deviation.
const NORMAL_DEVIATION: f64 = 1.4826;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThinTail {
    /// Windows a block that determine it, on average.
    pub events: f64,
    /// The share of a mean or throughput that they make up; `None` for a quantile.
    pub weight: Option<Ratio>,
}

impl ThinTail {
    pub fn evidence(&self) -> String {
        let events = format!("on average {:.1} windows of a block", self.events);
        match self.weight {
            Some(weight) => format!("{events} cause much of the spread and {weight} of the total"),
            None => format!("{events} hold all requests beyond it"),
        }
    }
}

/// The thin tail of a variant's quantity; `None` if five tail events a block or more determine it, if it is
/// typical, or if windows do not show it (CPU, bytes, memory).
pub fn thin_tail(samples: &VariantSamples<'_>, quantity: Quantity) -> Option<ThinTail> {
    if is_typical(quantity, samples.load()) || samples.trials().is_empty() {
        return None;
    }
    match quantity.statistic() {
        Statistic::Quantile(_) => windows_beyond(samples, quantity),
        Statistic::Mean => outlying_windows(samples, quantity.is_response()),
        Statistic::Other if quantity == Quantity::Throughput => outlying_windows(samples, false),
        Statistic::Other => None,
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedSamples<'n> {
    pub name: &'n str,
    pub samples: &'n VariantSamples<'n>,
}

/// A remark on a cost that depends on few events, for the first of these variants with a thin tail.
pub(crate) fn thin_tail_remark(variants: [NamedSamples<'_>; 2], quantity: Quantity) -> Option<String> {
    variants.into_iter().find_map(|NamedSamples { name, samples }| {
        let found = thin_tail(samples, quantity)?;
        Some(finding::variant_reason(FEW_TAIL_EVENTS, name, &found.evidence()))
    })
}

pub(super) fn few_tail_events(context: &CheckContext<'_>) -> Option<Alarm> {
    let samples = context.samples;
    let found =
        Quantity::ALL.into_iter().filter_map(|quantity| Some((quantity, thin_tail(samples, quantity)?)));
    // Quantities of which the same is to say share it.
    let mut by_evidence: Vec<(String, Vec<String>)> = Vec::new();
    for (quantity, thin) in found {
        let evidence = thin.evidence();
        match by_evidence.iter_mut().find(|(said, _)| *said == evidence) {
            Some((_, quantities)) => quantities.push(quantity.to_string()),
            None => by_evidence.push((evidence, vec![quantity.to_string()])),
        }
    }
    let tails: Vec<String> = by_evidence
        .iter()
        .map(|(evidence, quantities)| format!("{}: {evidence}", quantities.join(", ")))
        .collect();
    (!tails.is_empty()).then(|| Alarm {
        impact: Impact::Note,
        name: FEW_TAIL_EVENTS,
        evidence: tails.join("; "),
        remedy: "intervals of these may cover less than they say; allow a larger budget, so that each block sees more of them",
    })
}

/// Counts windows whose longest response lies at or beyond the block's quantile.
fn windows_beyond(samples: &VariantSamples<'_>, quantity: Quantity) -> Option<ThinTail> {
    let count = |cell: &Cell<'_>, value: f64| {
        let figures = cell.windows.iter().filter_map(|window| scope_figures(window, samples.scope()));
        // The histogram rounds values up by at most a thousandth.
        figures.filter(|figures| figures.response_max.as_nanos() as f64 >= value * 0.999).count()
    };
    let trials = samples.trials().iter();
    let counts = trials.filter_map(|one| Some(count(&one.cell, one.totals.get(quantity)?)));
    let (blocks, events) = counts.fold((0, 0), |(blocks, all), n| (blocks + 1, all + n));
    let events = events as f64 / f64::from(blocks.max(1));
    (blocks > 0 && events < TAIL_EVENTS).then_some(ThinTail { events, weight: None })
}

/// Finds windows with an outlying mean, if they make up enough of the spread and of the mean to matter.
///
/// A window's distance is its mean over the block's median window, less one. The median absolute deviation of
/// distances is taken over all blocks, since a block may have only ten windows.
fn outlying_windows(samples: &VariantSamples<'_>, response: bool) -> Option<ThinTail> {
    let blocks = samples.trials().iter().map(|one| means(&one.cell, samples.scope(), response));
    let distances: Vec<f64> = blocks.flat_map(|means| distances(&means)).collect();
    let sizes: Vec<f64> = distances.iter().map(|d| d.abs()).collect();
    let far = TAIL_DEVIATIONS * NORMAL_DEVIATION * median(&sizes)?;
    let tail = || distances.iter().filter(|distance| **distance > far);
    let squares = |distances: &mut dyn Iterator<Item = &f64>| distances.map(|d| d * d).sum::<f64>();
    let events = tail().count() as f64 / samples.trials().len() as f64;
    let weight = tail().sum::<f64>() / (distances.len() as f64 + distances.iter().sum::<f64>());
    let hangs = squares(&mut tail()) > TAIL_SPREAD * squares(&mut distances.iter()) && weight >= TAIL_WEIGHT;
    (hangs && events < TAIL_EVENTS).then_some(ThinTail { events, weight: Some(Ratio::new(weight)) })
}

fn distances(means: &[f64]) -> Vec<f64> {
    let middle = median(means).filter(|middle| *middle > 0.0);
    middle.map_or_else(Vec::new, |middle| means.iter().map(|mean| mean / middle - 1.0).collect())
}

/// The mean time of a cell's windows in each round: several windows of a round count as one event.
fn means(cell: &Cell<'_>, scope: Scope, response: bool) -> Vec<f64> {
    let mut rounds: BTreeMap<u32, (f64, u64)> = BTreeMap::new();
    for window in &cell.windows {
        let Some(figures) = scope_figures(window, scope) else { continue };
        let time = if response { figures.response_sum } else { figures.service_sum };
        let (sum, count) = rounds.entry(window.round).or_default();
        *sum += time.as_nanos() as f64;
        *count += figures.ok;
    }
    rounds.into_values().filter(|(_, count)| *count > 0).map(|(sum, count)| sum / count as f64).collect()
}
