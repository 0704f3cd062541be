//! What exports show beyond the summary: windows that count, values of blocks, merged histograms. The values
//! of blocks are those from which estimates are made; nothing here is an estimate itself.

use std::collections::BTreeMap;

use weighbridge_model::estimate::Quantity;
use weighbridge_model::evidence::{
    BlockValue, Evidence, Extent, OperationEvidence, OutcomeTimes, Percentile, SampleEvidence, WindowEvidence,
};
use weighbridge_model::histogram::{TimeHistogram, time_histogram};
use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{ErrorKind, Outcome, TrialRecord};

use crate::estimate::{Estimand, VariantSamples, beyond};
use crate::question::{Point, Question, Scope};
use crate::records::{Cell, Records, WindowSelection, add, quantile};
use crate::thresholds::BEYOND_PER_BLOCK;

/// In percent.
const PERCENTS: [f64; 10] = [0.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999, 100.0];

pub fn evidence(question: &Question, trials: &[TrialRecord]) -> Evidence {
    let records = Records::new(trials);
    let mut operations = Vec::new();
    for (point, facts) in question.points() {
        for (variant, variant_facts) in question.variants() {
            for scope in facts.scopes() {
                let estimand = Estimand { point, variant, scope };
                let samples = VariantSamples::new(question, &records, estimand, WindowSelection::Measured);
                operations.push(operation(question, facts, &variant_facts.name, scope, &samples));
            }
        }
    }
    Evidence {
        operations,
        windows: windows(question, &records, trials),
        samples: samples(question, &records, trials),
    }
}

fn operation(
    question: &Question,
    point: &Point,
    variant: &str,
    scope: Scope,
    samples: &VariantSamples<'_>,
) -> OperationEvidence {
    let cells: Vec<&Cell<'_>> = samples.cells().iter().map(|one| &one.cell).collect();
    let mut blocks = Vec::new();
    let counts = samples.counts();
    let is_told = |quantity: &Quantity| scope.has(*quantity) && question.tells(*quantity, counts);
    for quantity in Quantity::ALL.into_iter().filter(is_told) {
        let values = samples.values(quantity).unwrap_or_default().into_iter();
        blocks.extend(values.map(|(block, value)| BlockValue { quantity, block, value }));
    }
    OperationEvidence {
        variant: variant.to_owned(),
        point: point.label.clone(),
        operation: point.name(scope).to_owned(),
        extent: if scope == Scope::All { Extent::Sum } else { Extent::Single },
        outcomes: outcomes(&cells, scope),
        percentiles: percentiles(&cells, scope),
        blocks,
        measured: cells.iter().map(|cell| cell.time()).sum(),
        slots: point.slots,
    }
}

/// Histograms by outcome, merged over blocks; outcomes that did not occur are left out.
fn outcomes(cells: &[&Cell<'_>], scope: Scope) -> Vec<OutcomeTimes> {
    let all = std::iter::once(Outcome::Ok).chain(ErrorKind::ALL.into_iter().map(Outcome::Error));
    let merged = |outcome| {
        let mut merged = OutcomeTimes { outcome, response: time_histogram(), service: time_histogram() };
        for cell in cells {
            let times = cell.times_with_outcome(scope, outcome);
            add(&mut merged.response, &times.response);
            add(&mut merged.service, &times.service);
        }
        (!merged.response.is_empty()).then_some(merged)
    };
    all.filter_map(merged).collect()
}

/// Percentiles of response times over good replies and timeouts, with at least 20 requests beyond each. The
/// smallest and the largest are always there.
fn percentiles(cells: &[&Cell<'_>], scope: Scope) -> Vec<Percentile> {
    let mut merged: TimeHistogram = time_histogram();
    cells.iter().for_each(|cell| add(&mut merged, &cell.times(scope).response));
    let at = |percent: f64| {
        let q = percent / 100.0;
        let is_end = percent == 0.0 || percent == 100.0;
        let enough = is_end || beyond(merged.len(), q) >= BEYOND_PER_BLOCK;
        let time = quantile(&merged, q).filter(|_| enough);
        Percentile { percent, time: time.map(|nanos| Nanoseconds::from_nanos(nanos as u64)) }
    };
    PERCENTS.map(at).into()
}

fn windows(question: &Question, records: &Records<'_>, trials: &[TrialRecord]) -> Vec<WindowEvidence> {
    let void: BTreeMap<u32, &String> = records.void.iter().map(|(block, reason)| (*block, reason)).collect();
    let name = |variant: VariantId| Some(question.variants.get(variant.index())?.name.clone());
    let label = |point: PointId| Some(question.points.get(point.index())?.label.clone());
    let each = trials.iter().flat_map(|trial| {
        trial.windows.iter().filter_map(|window| {
            Some(WindowEvidence {
                variant: name(window.variant)?,
                point: label(window.point)?,
                batch: trial.batch,
                void: void.get(&trial.block).map(|reason| (*reason).clone()),
                record: window.clone(),
            })
        })
    });
    each.collect()
}

fn samples(question: &Question, records: &Records<'_>, trials: &[TrialRecord]) -> Vec<SampleEvidence> {
    let void: BTreeMap<u32, &String> = records.void.iter().map(|(block, reason)| (*block, reason)).collect();
    let mut all = Vec::new();
    for trial in trials {
        let Some(variant) = question.variants.get(trial.variant.index()) else { continue };
        for (id, point) in question.points() {
            for (at, operation) in (0..).map(OperationId).zip(&point.operations) {
                let here = trial.samples.iter().filter(|s| (s.point, s.operation) == (id, at));
                let samples: Vec<_> = here.copied().collect();
                if samples.is_empty() {
                    continue;
                }
                all.push(SampleEvidence {
                    variant: variant.name.clone(),
                    point: point.label.clone(),
                    operation: operation.clone(),
                    block: trial.block,
                    void: void.get(&trial.block).map(|reason| (*reason).clone()),
                    samples,
                });
            }
        }
    }
    all
}
