//! What a run says beyond costs and verdicts: layers, framings and codecs, sizes, variance components, relays, goodput, legs of
//! service times, CPU time by role; and tables of collectors and scaling.

pub mod capacity;
mod collectors;
pub mod factorial;
pub mod goodput;
pub mod latency_parts;
pub mod layers;
pub mod legs;
pub mod machine;
pub mod roles;
mod scaling;
pub mod sizes;
pub mod variance_components;

use weighbridge_model::id::{PointId, VariantId};
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
}

/// Every table that has something to tell, point by point.
pub(crate) fn tables(question: &Question, records: &Records<'_>) -> Vec<ResultTable> {
    let of_point = |(id, facts)| {
        let point = TabledPoint { question, records, id, facts };
        collectors::tables(&point).into_iter().chain([scaling::scaling(&point)])
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
}
