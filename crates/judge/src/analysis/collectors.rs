//! Pauses of Java virtual machines, and what garbage collectors cost at least, among variants that differ in their virtual machine
//! alone.
//!
//! A variant's CPU time of a request over the least that any of them takes for everything but collecting, and its time over the
//! least without pauses: the *lower bound overhead* of Cai et al. 2022, *Distilling the Real Cost of Production Garbage Collectors*, ISPASS.
//! Even that least holds what a collector makes the program do (barriers, allocation), so the true overhead is higher.

use weighbridge_model::id::VariantId;
use weighbridge_model::record::JvmPauses;
use weighbridge_model::summary::CollectorCost;

use super::roles::cpu;
use crate::estimate::estimate_if_all;
use crate::question::{Load, Point, Question, Scope, Stack};
use crate::records::{Cell, Records, WindowSelection};

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

/// Every variant on a Java virtual machine, at every point.
pub(crate) fn collector_costs(question: &Question, records: &Records<'_>) -> Vec<CollectorCost> {
    let mut costs = Vec::new();
    for (point, facts) in question.points() {
        let measured = |variant| {
            let cells = records.cells(point, variant, WindowSelection::Measured);
            MachineBlocks::new(variant, cells, facts.load)
        };
        let groups = groups(question).into_iter();
        let groups = groups.map(|alike| alike.into_iter().map(measured).collect::<Vec<_>>());
        let mut here: Vec<_> = groups.flat_map(|alike| costs_of(question, facts, &alike)).collect();
        here.sort_by_key(|(variant, _)| *variant);
        costs.extend(here.into_iter().map(|(_, cost)| cost));
    }
    costs
}

fn costs_of(
    question: &Question,
    facts: &Point,
    alike: &[MachineBlocks<'_>],
) -> Vec<(VariantId, CollectorCost)> {
    let first_stage = question.blocks.min as usize;
    let over_blocks = |values: Vec<Option<f64>>| estimate_if_all(values.into_iter(), first_stage);
    let of = |one: &MachineBlocks<'_>| {
        let seconds = |cell: &Cell<'_>| Some(cell.time().as_secs_f64()).filter(|time| *time > 0.0);
        let rate = |cell: &Cell<'_>| Some(pauses(cell)?.count as f64 / seconds(cell)?);
        let share = |cell: &Cell<'_>| Some(pauses(cell)?.time.as_secs_f64() / seconds(cell)?);
        let cost = CollectorCost {
            variant: question.variants[one.variant.index()].name.clone(),
            point: facts.label.clone(),
            pauses_per_s: over_blocks(one.cells.iter().map(rate).collect()),
            paused: over_blocks(one.cells.iter().map(share).collect()),
            cpu_overhead: over_blocks(overheads(alike, one, |one| one.cpu.as_deref())),
            time_overhead: over_blocks(overheads(alike, one, |one| one.time.as_deref())),
        };
        let is_machine = cost.pauses_per_s.is_some() || cost.cpu_overhead.is_some();
        is_machine.then_some((one.variant, cost))
    };
    alike.iter().filter_map(of).collect()
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
