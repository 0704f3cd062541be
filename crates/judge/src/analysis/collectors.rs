//! Pauses of Java virtual machines, and what garbage collectors cost at least, among variants that differ in their virtual machine
//! alone.
//!
//! A variant's CPU time of a request over the least that any of them takes for everything but collecting, and its time over the
//! least without pauses: the *lower bound overhead* of Cai et al. 2022, *Distilling the Real Cost of Production Garbage Collectors*, ISPASS.
//! Even that least holds what a collector makes the program do (barriers, allocation), so the true overhead is higher.

use weighbridge_model::estimate::{Estimate, Unit};
use weighbridge_model::id::VariantId;
use weighbridge_model::record::JvmPauses;
use weighbridge_model::table::{ResultTable, TableCell, TableColumn, TableDrawing};

use super::TabledPoint;
use super::roles::cpu;
use crate::estimate::estimate_if_all;
use crate::question::{Load, Question, Scope, Stack};
use crate::records::Cell;

/// The role of the threads that collect.
const COLLECTOR: &str = "collector";

/// What a request takes in one block, in nanoseconds.
#[derive(Clone, Copy)]
struct Spent {
    all: f64,
    /// Without what collecting takes.
    rest: f64,
}

/// A variant by block; `None` where something is not known of some block.
struct MachineBlocks<'a> {
    variant: VariantId,
    cells: Vec<Cell<'a>>,
    cpu: Option<Vec<Spent>>,
    time: Option<Vec<Spent>>,
}

/// What the Java virtual machine of a variant takes to collect garbage; overheads are relative to the least without collecting.
struct MachineCost {
    variant: VariantId,
    pauses_per_s: Option<Estimate>,
    paused: Option<Estimate>,
    cpu_overhead: Option<Estimate>,
    time_overhead: Option<Estimate>,
}

/// Pauses, and overheads, of the point's variants on Java virtual machines.
pub(super) fn tables(point: &TabledPoint<'_>) -> [Option<ResultTable>; 2] {
    let measured = |variant| MachineBlocks::new(variant, point.cells(variant), point.facts.load);
    let groups = groups(point.question).into_iter();
    let groups = groups.map(|alike| alike.into_iter().map(measured).collect::<Vec<_>>());
    let mut costs: Vec<_> = groups.flat_map(|alike| costs_of(&alike, point.first_stage())).collect();
    costs.sort_by_key(|cost| cost.variant);
    [pauses_table(point, &costs), overheads_table(point, &costs)]
}

fn pauses_table(point: &TabledPoint<'_>, costs: &[MachineCost]) -> Option<ResultTable> {
    let rows = rows(point, costs, |cost| [cost.pauses_per_s, cost.paused]);
    (!rows.is_empty()).then(|| ResultTable {
        name: "pauses".to_owned(),
        title: "Pauses of Java virtual machines".to_owned(),
        point: point.facts.label.clone(),
        reading: "How often, and for which share of the time, a virtual machine stops all threads of its program, mostly to \
                  collect garbage."
            .to_owned(),
        columns: vec![
            TableColumn::text("variant"),
            TableColumn::of("pauses", Unit::PerSecond),
            TableColumn::of("paused", Unit::Share),
        ],
        rows,
        drawing: Some(TableDrawing::Bars { value: 2 }),
        ..ResultTable::default()
    })
}

fn overheads_table(point: &TabledPoint<'_>, costs: &[MachineCost]) -> Option<ResultTable> {
    let rows = rows(point, costs, |cost| [cost.cpu_overhead, cost.time_overhead]);
    let has_cpu = costs.iter().any(|cost| cost.cpu_overhead.is_some());
    (!rows.is_empty()).then(|| ResultTable {
        name: "collectors".to_owned(),
        title: "Lower bound overhead of collectors".to_owned(),
        point: point.facts.label.clone(),
        reading: "CPU time and time of a request beyond the least that a variant of the same program takes without collecting; \
                  the true overhead is higher."
            .to_owned(),
        columns: vec![
            TableColumn::text("variant"),
            TableColumn::of("overhead in CPU time", Unit::Share),
            TableColumn::of("overhead in time", Unit::Share),
        ],
        rows,
        drawing: Some(TableDrawing::Bars { value: if has_cpu { 1 } else { 2 } }),
        ..ResultTable::default()
    })
}

/// A row for each variant of which any of these figures is known.
fn rows(
    point: &TabledPoint<'_>,
    costs: &[MachineCost],
    figures: impl Fn(&MachineCost) -> [Option<Estimate>; 2],
) -> Vec<Vec<TableCell>> {
    let row = |cost: &MachineCost| {
        let figures = figures(cost);
        let name = TableCell::variant(&point.question.variants[cost.variant.index()].name);
        let is_known = figures.iter().any(Option::is_some);
        is_known.then(|| [name].into_iter().chain(figures.map(TableCell::figure)).collect())
    };
    costs.iter().filter_map(row).collect()
}

fn costs_of(alike: &[MachineBlocks<'_>], first_stage: usize) -> Vec<MachineCost> {
    let over_blocks = |values: Vec<Option<f64>>| estimate_if_all(values.into_iter(), first_stage);
    let of = |one: &MachineBlocks<'_>| {
        let seconds = |cell: &Cell<'_>| Some(cell.time().as_secs_f64()).filter(|time| *time > 0.0);
        let rate = |cell: &Cell<'_>| Some(pauses(cell)?.count as f64 / seconds(cell)?);
        let share = |cell: &Cell<'_>| Some(pauses(cell)?.time.as_secs_f64() / seconds(cell)?);
        MachineCost {
            variant: one.variant,
            pauses_per_s: over_blocks(one.cells.iter().map(rate).collect()),
            paused: over_blocks(one.cells.iter().map(share).collect()),
            cpu_overhead: over_blocks(overheads(alike, one, |one| one.cpu.as_deref())),
            time_overhead: over_blocks(overheads(alike, one, |one| one.time.as_deref())),
        }
    };
    alike.iter().map(of).collect()
}

/// By block, what a request takes beyond the least of the variants alike; empty where it is not known, or of none other.
fn overheads<'m>(
    alike: &'m [MachineBlocks<'_>],
    one: &'m MachineBlocks<'_>,
    spent: impl Fn(&'m MachineBlocks<'_>) -> Option<&'m [Spent]>,
) -> Vec<Option<f64>> {
    let known: Vec<_> = alike.iter().filter_map(&spent).collect();
    let least = known.iter().min_by(|one, other| mean_rest(one).total_cmp(&mean_rest(other)));
    // With one alone there is nothing to distill from.
    let (Some(least), Some(own), true) = (least, spent(one), known.len() > 1) else { return Vec::new() };
    let over = |(block, spent): (usize, &Spent)| Some(spent.all / least.get(block)?.rest - 1.0);
    own.iter().enumerate().map(over).collect()
}

fn mean_rest(blocks: &[Spent]) -> f64 {
    blocks.iter().map(|spent| spent.rest).sum::<f64>() / blocks.len() as f64
}

/// Variants that differ in their virtual machine alone, in the order of the first of each group.
fn groups(question: &Question) -> Vec<Vec<VariantId>> {
    let mut groups: Vec<(Stack, Vec<VariantId>)> = Vec::new();
    for (variant, facts) in question.variants() {
        let program = facts.stack.without_virtual_machine();
        match groups.iter_mut().find(|(other, _)| other.is_like(&program)) {
            Some((_, group)) => group.push(variant),
            None => groups.push((program, vec![variant])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

impl<'a> MachineBlocks<'a> {
    fn new(variant: VariantId, cells: Vec<Cell<'a>>, load: Load) -> Self {
        let all = |of: fn(&Cell<'_>) -> Option<Spent>| {
            let blocks: Option<Vec<Spent>> = cells.iter().map(of).collect();
            blocks.filter(|blocks| !blocks.is_empty())
        };
        let cpu = all(|cell| {
            let all = cell.cpu_per_request()?;
            Some(Spent { all, rest: all - cpu(cell, COLLECTOR)? })
        });
        // By a schedule, windows last as long as it says.
        let time = (load == Load::Closed).then(|| all(time_per_request)).flatten();
        Self { variant, cells, cpu, time }
    }
}

fn time_per_request(cell: &Cell<'_>) -> Option<Spent> {
    let (time, paused) = (cell.time().as_nanos() as f64, pauses(cell)?.time.as_nanos() as f64);
    let requests = Some(cell.good(Scope::All) as f64).filter(|requests| *requests > 0.0)?;
    Some(Spent { all: time / requests, rest: (time - paused) / requests })
}

/// Of all windows together; `None` where one does not tell, or there is none.
fn pauses(cell: &Cell<'_>) -> Option<JvmPauses> {
    let all: Option<Vec<JvmPauses>> = cell.windows.iter().map(|window| window.pauses).collect();
    all?.into_iter().reduce(|all, more| all + more)
}
