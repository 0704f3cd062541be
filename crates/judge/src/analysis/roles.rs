//! CPU per request and memory by role and variant.
//!
//! The generator's part is its loop's time outside waiting, since it stays awake between replies. Time of
//! processes that we did not start cannot be assigned to variants: `cpu_roles` of the summary has the whole
//! machine's.

use std::collections::BTreeSet;

use weighbridge_model::detail::RoleUse;
use weighbridge_model::id::PointId;
use weighbridge_model::pairing::Pairing;
use weighbridge_model::record::WindowRecord;

use crate::estimate::estimate_if_all;
use crate::question::Question;
use crate::records::{Cell, Records, WindowSelection};

const GENERATOR: &str = "generator";

/// Every role of every variant at every point; the generator last.
pub fn roles(question: &Question, records: &Records<'_>) -> Vec<RoleUse> {
    let mut roles = Vec::new();
    for (point, facts) in question.points() {
        let is_shared = records.pairing(point) == Pairing::Requests;
        for (variant, variant_facts) in question.variants() {
            let cells = records.cells(point, variant, WindowSelection::Measured);
            let first_stage = question.blocks.min as usize;
            let over_blocks = |value: &dyn Fn(&Cell<'_>) -> Option<f64>| {
                estimate_if_all(cells.iter().map(value), first_stage)
            };
            let mut add = |role: &str, cpu_per_operation, memory_peak| {
                let (variant, point) = (variant_facts.name.clone(), facts.label.clone());
                roles.push(RoleUse { variant, point, role: role.to_owned(), cpu_per_operation, memory_peak });
            };
            for role in names(&cells, point) {
                add(
                    role,
                    over_blocks(&|cell| cpu(cell, role)),
                    over_blocks(&|cell| memory(cell, point, role)),
                );
            }
            // In a window that variants share, the loop's busy time cannot be split among them.
            if let Some(busy) = over_blocks(&busy).filter(|_| !is_shared) {
                add(GENERATOR, Some(busy), None);
            }
        }
    }
    roles
}

/// The roles of the processes of each variant that has several.
pub(crate) fn roles_where_several(question: &Question, records: &Records<'_>) -> Vec<RoleUse> {
    let own: Vec<RoleUse> =
        roles(question, records).into_iter().filter(|one| one.role != GENERATOR).collect();
    let several = |one: &RoleUse| {
        own.iter().filter(|other| other.variant == one.variant && other.point == one.point).count() > 1
    };
    own.iter().filter(|one| several(one)).cloned().collect()
}

fn names<'a>(cells: &[Cell<'a>], point: PointId) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    for cell in cells {
        names.extend(cell.windows.iter().flat_map(|window| &window.cpu).map(|role| role.role.as_str()));
        let memory = cell.trials.iter().flat_map(|trial| &trial.memory);
        names.extend(memory.filter(|role| role.point == point).map(|role| role.role.as_str()));
    }
    names
}

/// CPU time per answered request: sum over sum.
pub(super) fn cpu(cell: &Cell<'_>, role: &str) -> Option<f64> {
    let role_windows = cell.windows.iter().flat_map(|window| &window.cpu).filter(|one| one.role == role);
    let (cpu, requests) =
        role_windows.fold((0, 0), |(cpu, requests), one| (cpu + one.cpu.as_nanos(), requests + one.requests));
    (requests > 0).then(|| cpu as f64 / requests as f64)
}

fn busy(cell: &Cell<'_>) -> Option<f64> {
    let sum = |count: fn(&WindowRecord) -> u64| cell.windows.iter().map(|window| count(window)).sum::<u64>();
    let (busy, requests) = (sum(|w| w.figures.health.busy.as_nanos()), sum(|w| w.figures.begun()));
    (requests > 0 && busy > 0).then(|| busy as f64 / requests as f64)
}

fn memory(cell: &Cell<'_>, point: PointId, role: &str) -> Option<f64> {
    let here = cell.trials.iter().flat_map(|trial| &trial.memory);
    let peaks = here.filter(|one| one.point == point && one.role == role).map(|one| one.peak.get());
    peaks.max().filter(|peak| *peak > 0).map(|peak| peak as f64)
}
