//! Goodput of variants, CPU and memory of roles, pauses and lower bound overhead of collectors, and scaling, as text rows for
//! every format.

use weighbridge_model::estimate::{Estimate, Unit};
use weighbridge_model::id::PointLabel;
use weighbridge_model::quantity::display_bytes;
use weighbridge_model::summary::{CollectorCost, Scaling, Summary};

use crate::parts::range;
use crate::style::Style;
use crate::table::{Align, Cell, Table};
use crate::text::{clean, counted};
use crate::words;

/// Columns after variant and sizes.
pub(crate) const GOODPUT: [&str; 3] = ["bodies carried", "95 % interval", "on the sockets"];
/// Columns after variant and role.
pub(crate) const ROLES: [&str; 4] = ["CPU/op", "95 % interval", "memory", "95 % interval"];

/// Columns after variant.
pub(crate) const PAUSES: [&str; 4] = ["pauses", "95 % interval", "paused", "95 % interval"];

/// Columns after variant.
pub(crate) const COLLECTORS: [&str; 4] =
    ["lower bound overhead, CPU time", "95 % interval", "in time", "95 % interval"];

/// Columns after variant.
pub(crate) const SCALING: [&str; 4] =
    ["parallel efficiency", "95 % interval", "utilisation", "95 % interval"];

/// A terminal shows sizes up to this many.
const FEW_SIZES: usize = 3;

/// A row of a variant, or of a part of it: a range of sizes, or a role.
pub(crate) struct UsageRow {
    pub(crate) variant: String,
    pub(crate) part: String,
    pub(crate) cells: Vec<String>,
}

impl UsageRow {
    fn of_whole(variant: &str, cells: Vec<String>) -> Self {
        Self { variant: variant.to_owned(), part: String::new(), cells }
    }
}

/// Goodput of a point's variants whose body sizes are known.
pub(crate) fn goodput(summary: &Summary, point: &PointLabel, sizes: usize) -> Vec<UsageRow> {
    let here = summary.carried.iter().filter(|one| one.point == *point);
    let mut rows = Vec::new();
    for one in here.filter(|one| one.bytes_per_s.is_some()) {
        let row = |part: String, bytes: Option<&Estimate>, sockets: Option<&Estimate>| {
            let (point, interval) = bytes.map(rate).unwrap_or_default();
            let sockets = sockets.map(|sockets| rate(sockets).0).unwrap_or_default();
            UsageRow { variant: one.variant.clone(), part, cells: vec![point, interval, sockets] }
        };
        rows.push(row(String::new(), one.bytes_per_s.as_ref(), one.sockets_bytes_per_s.as_ref()));
        for size in one.sizes.iter().filter(|_| one.sizes.len() <= sizes) {
            let name =
                format!("{}, {}", range(size.from_bytes, size.to_bytes), counted(size.requests, "request"));
            rows.push(row(name, Some(&size.bytes_per_s), None));
        }
    }
    rows
}

/// What each role of a point's variants used.
pub(crate) fn roles(summary: &Summary, point: &PointLabel) -> Vec<UsageRow> {
    let here = summary.roles.iter().filter(|one| one.point == *point);
    let row = |one: &weighbridge_model::summary::RoleUse| {
        let cpu = point_and_interval(Unit::Ns, one.cpu_per_operation.as_ref());
        let memory = point_and_interval(Unit::Bytes, one.memory_peak.as_ref());
        let cells = cpu.into_iter().chain(memory).collect();
        UsageRow { variant: one.variant.clone(), part: one.role.clone(), cells }
    };
    here.map(row).collect()
}

/// How often and how long the virtual machines of a point's variants stop.
pub(crate) fn pauses(summary: &Summary, point: &PointLabel) -> Vec<UsageRow> {
    let here = summary.collectors.iter().filter(|one| one.point == *point && one.paused.is_some());
    let cells = |one: &CollectorCost| {
        let often = point_and_interval(Unit::PerSecond, one.pauses_per_s.as_ref());
        often.into_iter().chain(point_and_interval(Unit::Share, one.paused.as_ref())).collect()
    };
    here.map(|one| UsageRow::of_whole(&one.variant, cells(one))).collect()
}

/// The lower bound overhead of the collectors of a point's variants.
pub(crate) fn collectors(summary: &Summary, point: &PointLabel) -> Vec<UsageRow> {
    let here = summary.collectors.iter().filter(|one| one.point == *point && one.cpu_overhead.is_some());
    let cells = |one: &CollectorCost| {
        let cpu = point_and_interval(Unit::Share, one.cpu_overhead.as_ref());
        cpu.into_iter().chain(point_and_interval(Unit::Share, one.time_overhead.as_ref())).collect()
    };
    here.map(|one| UsageRow::of_whole(&one.variant, cells(one))).collect()
}

/// What a point's variants make of their connections.
pub(crate) fn scaling(summary: &Summary, point: &PointLabel) -> Vec<UsageRow> {
    let cells = |one: &Scaling| {
        let efficiency = point_and_interval(Unit::Share, one.parallel_efficiency.as_ref());
        efficiency.into_iter().chain(point_and_interval(Unit::Share, one.utilisation.as_ref())).collect()
    };
    let here = summary.scaling.iter().filter(|one| one.point == *point);
    here.map(|one| UsageRow::of_whole(&one.variant, cells(one))).collect()
}

fn point_and_interval(unit: Unit, estimate: Option<&Estimate>) -> [String; 2] {
    let shown = estimate.map(|estimate| words::absolute(unit, estimate));
    shown.map_or_else(
        || ["–".to_owned(), String::new()],
        |shown| [shown.point, shown.interval.unwrap_or_default()],
    )
}

/// Bytes per second and their interval.
fn rate(estimate: &Estimate) -> (String, String) {
    let point = format!("{}/s", display_bytes(estimate.point));
    let interval = estimate.interval();
    let interval = interval.map(|(low, high)| format!("[{}, {}]", display_bytes(low), display_bytes(high)));
    (point, interval.unwrap_or_default())
}

pub(crate) fn point_lines(
    summary: &Summary,
    point: &PointLabel,
    style: Style,
    columns: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (heads, rows) in [
        (&GOODPUT[..], goodput(summary, point, FEW_SIZES)),
        (&ROLES[..], roles(summary, point)),
        (&PAUSES[..], pauses(summary, point)),
        (&COLLECTORS[..], collectors(summary, point)),
        (&SCALING[..], scaling(summary, point)),
    ] {
        if rows.is_empty() {
            continue;
        }
        let align = [Align::Left, Align::Right, Align::Left, Align::Right, Align::Left];
        let mut table = Table::new(align, 2);
        table.push(std::iter::once("").chain(heads.iter().copied()).map(Cell::new).collect());
        for row in rows {
            let name = match row.part.as_str() {
                "" => clean(&row.variant),
                part if heads.len() == ROLES.len() => format!("{}, {}", clean(&row.variant), clean(part)),
                part => format!("  {}", clean(part)),
            };
            table.push(std::iter::once(name).chain(row.cells).map(Cell::new).collect());
        }
        lines.push(String::new());
        lines.extend(table.lines(style, columns));
    }
    lines
}
