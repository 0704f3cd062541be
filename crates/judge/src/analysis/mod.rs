//! What a run says beyond costs and verdicts: layers, framings and codecs, sizes, variance components, relays, goodput, legs of
//! service times, CPU time by role; and tables of actions, attempts, collectors, scaling and listed rates.

mod actions;
pub mod capacity;
mod collectors;
pub mod factorial;
pub mod goodput;
pub mod latency_parts;
pub mod layers;
pub mod legs;
pub mod machine;
mod rates;
pub mod roles;
mod scaling;
pub mod sizes;
pub mod variance_components;

use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::summary::VariantSummary;
use weighbridge_model::table::ResultTable;

use crate::question::{Point, Question, Variant};
use crate::records::{Cell, Records, WindowSelection};

/// What the tables of one point are made from.
#[derive(Clone, Copy)]
struct TabledPoint<'a> {
    question: &'a Question,
    records: &'a Records<'a>,
    id: PointId,
    facts: &'a Point,
    /// Of all points, with their figures.
    summaries: &'a [VariantSummary],
}

/// Every table that has something to tell, point by point.
pub(crate) fn tables(
    question: &Question,
    records: &Records<'_>,
    summaries: &[VariantSummary],
) -> Vec<ResultTable> {
    let of_point = |(id, facts)| {
        let point = TabledPoint { question, records, id, facts, summaries };
        let actions = [actions::actions(&point), actions::attempts(&point)];
        let rates = [scaling::scaling(&point), rates::rates(&point), rates::starts(&point)];
        actions.into_iter().chain(collectors::tables(&point)).chain(rates)
    };
    question.points().flat_map(of_point).flatten().collect()
}

impl<'a> TabledPoint<'a> {
    fn variants(&self) -> impl Iterator<Item = (VariantId, &'a Variant)> {
        self.question.variants()
    }

    fn cells(&self, variant: VariantId) -> Vec<Cell<'a>> {
        self.records.cells(self.id, variant, WindowSelection::Measured)
    }

    fn first_stage(&self) -> usize {
        self.question.blocks.min as usize
    }

    /// The variants at this point, with their figures, in the order of their ids.
    fn summaries(&self) -> impl Iterator<Item = (VariantId, &'a VariantSummary)> {
        let here = self.summaries.iter().filter(|one| one.point == self.facts.label);
        (0..).map(VariantId).zip(here)
    }
}
