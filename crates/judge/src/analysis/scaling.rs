//! How throughput grows with the number of connections, in closed load: parallel efficiency; and how busy they are.

use weighbridge_model::estimate::{Estimate, Unit};
use weighbridge_model::id::{PointId, PointLabel, VariantId};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::record::counts::Count;
use weighbridge_model::table::{ResultTable, TableCell, TableColumn, TableDrawing};

use super::TabledPoint;
use crate::estimate::estimate_if_all;
use crate::question::{Load, Point, Question, Scope};
use crate::records::{Cell, Records, WindowSelection};

/// The factor over which throughput grows.
const CONNECTIONS: &str = "load.connections";

/// Of every variant, at a point of closed load where connections are a factor.
pub(super) fn scaling(point: &TabledPoint<'_>) -> Option<ResultTable> {
    let TabledPoint { question, records, id, facts, .. } = *point;
    if !facts.label.contains_key(CONNECTIONS) || facts.load != Load::Closed {
        return None;
    }
    let fewest = fewest(question, facts).filter(|fewest| *fewest != id);
    let row = |variant, name: &str| {
        let spread = Spread { question, records, variant };
        let efficiency = fewest.and_then(|fewest| spread.parallel_efficiency(id, fewest));
        let utilisation = spread.utilisation(id);
        let is_known = efficiency.is_some() || utilisation.is_some();
        let figures = [efficiency, utilisation].map(TableCell::figure);
        is_known.then(|| [TableCell::variant(name)].into_iter().chain(figures).collect())
    };
    let rows: Vec<Vec<_>> =
        point.variants().filter_map(|(variant, facts)| row(variant, &facts.name)).collect();
    (!rows.is_empty()).then(|| ResultTable {
        name: "scaling".to_owned(),
        title: "How throughput grows with connections".to_owned(),
        point: facts.label.clone(),
        reading: "Parallel efficiency is throughput for each connection over that with the fewest: 100 % where it grows in \
                  proportion. Utilisation is the share of the connections’ time in which one waits for a reply."
            .to_owned(),
        columns: vec![
            TableColumn::text("variant"),
            TableColumn::of("parallel efficiency", Unit::Share),
            TableColumn::of("utilisation", Unit::Share),
        ],
        rows,
        drawing: Some(TableDrawing::Bars { value: if fewest.is_some() { 1 } else { 2 } }),
        ..ResultTable::default()
    })
}

/// The point with the fewest slots among those that differ from this one in connections alone.
fn fewest(question: &Question, facts: &Point) -> Option<PointId> {
    let others = |label: &PointLabel| {
        let mut others = label.clone();
        others.remove(CONNECTIONS);
        others
    };
    let alike = question.points().filter(|(_, other)| others(&other.label) == others(&facts.label));
    alike.min_by_key(|(_, other)| other.slots).map(|(point, _)| point)
}

/// One variant over the points.
struct Spread<'a> {
    question: &'a Question,
    records: &'a Records<'a>,
    variant: VariantId,
}

impl Spread<'_> {
    /// Throughput for each slot, over that at the point with the fewest in the same block.
    fn parallel_efficiency(&self, point: PointId, fewest: PointId) -> Option<Estimate> {
        let [many, few] = [point, fewest].map(|point| (self.cells(point), self.slots(point)));
        let of_block = |cell: &Cell<'_>| {
            let single = few.0.iter().find(|other| other.block == cell.block)?;
            Some(throughput(cell)? / many.1 / (throughput(single)? / few.1))
        };
        estimate_if_all(many.0.iter().map(of_block), self.first_stage())
    }

    /// The share of the slots' time in which one waits for a reply.
    fn utilisation(&self, point: PointId) -> Option<Estimate> {
        let slots = self.slots(point);
        let of_block = |cell: &Cell<'_>| {
            let time = cell.time().as_nanos() as f64 * slots;
            let waited = cell.service_sum().as_nanos() as f64;
            (waited > 0.0 && time > 0.0).then_some(waited / time)
        };
        estimate_if_all(self.cells(point).iter().map(of_block), self.first_stage())
    }

    fn first_stage(&self) -> usize {
        self.question.blocks.min as usize
    }

    fn slots(&self, point: PointId) -> f64 {
        self.question.points[point.index()].slots as f64
    }

    /// None where variants share a window, whose time is not a variant's own.
    fn cells(&self, point: PointId) -> Vec<Cell<'_>> {
        match self.records.pairing(point) {
            Pairing::Requests => Vec::new(),
            Pairing::Duet | Pairing::Windows | Pairing::Sequential => {
                self.records.cells(point, self.variant, WindowSelection::Measured)
            }
        }
    }
}

/// Of actions where the workload counts them, else of requests.
fn throughput(cell: &Cell<'_>) -> Option<f64> {
    let actions = cell.counts().map(|counts| counts.get(Count::Actions)).filter(|actions| *actions > 0);
    let (done, time) = (actions.unwrap_or_else(|| cell.good(Scope::All)), cell.time().as_secs_f64());
    (done > 0 && time > 0.0).then(|| done as f64 / time)
}
