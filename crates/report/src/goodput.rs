//! Goodput of variants, and CPU and memory of roles, as text rows for every format.

use weighbridge_model::estimate::{Estimate, Unit};
use weighbridge_model::id::PointLabel;
use weighbridge_model::quantity::display_bytes;
use weighbridge_model::summary::Summary;

use crate::parts::range;
use crate::style::Style;
use crate::table::{Align, Cell, Table};
use crate::text::{clean, counted};
use crate::words;

/// Columns after variant and sizes.
pub(crate) const GOODPUT: [&str; 3] = ["bodies carried", "95 % interval", "on the sockets"];
/// Columns after variant and role.
pub(crate) const ROLES: [&str; 4] = ["CPU/op", "95 % interval", "memory", "95 % interval"];

/// A terminal shows sizes up to this many.
const FEW_SIZES: usize = 3;

/// A row of a variant, or of a part of it: a range of sizes, or a role.
pub(crate) struct UsageRow {
    pub(crate) variant: String,
    pub(crate) part: String,
    pub(crate) cells: Vec<String>,
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
    let cells = |unit: Unit, estimate: Option<&Estimate>| {
        let shown = estimate.map(|estimate| words::absolute(unit, estimate));
        shown.map_or_else(
            || ["–".to_owned(), String::new()],
            |shown| [shown.point, shown.interval.unwrap_or_default()],
        )
    };
    let row = |one: &weighbridge_model::summary::RoleUse| {
        let cpu = cells(Unit::Ns, one.cpu_per_operation.as_ref());
        let memory = cells(Unit::Bytes, one.memory_peak.as_ref());
        let cells = cpu.into_iter().chain(memory).collect();
        UsageRow { variant: one.variant.clone(), part: one.role.clone(), cells }
    };
    here.map(row).collect()
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
    for (heads, rows) in
        [(&GOODPUT[..], goodput(summary, point, FEW_SIZES)), (&ROLES[..], roles(summary, point))]
    {
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
