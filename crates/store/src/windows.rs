//! The tables of a trial: `windows.csv`, `operations.csv` and `resources.csv`. Together they hold every
//! window completely, in columns that any data-frame library reads. No figure is computed here.

use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::record::{
    ErrorCounts, ErrorKind, JvmPauses, LoopHealth, OperationFigures, RoleCpu, RoleMemory, Traffic,
    WindowFigures, WindowKind, WindowRecord,
};

use crate::error::Problem;
use crate::table::{Cells, RowWriter, has_column, read_table, write_table};

/// `windows.csv`: one row a window, in order of time.
pub(crate) const WINDOW_COLUMNS: [&str; 51] = [
    "window",
    "kind",
    "block",
    "batch",
    "point",
    "round",
    "position",
    "variant",
    "started_ns",
    "ended_ns",
    "end",
    "offered",
    "requests",
    "not_sent",
    "errors_connect",
    "errors_tls",
    "errors_reset",
    "errors_timeout",
    "errors_protocol",
    "errors_status",
    "errors_check",
    "resent",
    "held_up",
    "connects",
    "handshakes",
    "resumed",
    "all_operation",
    "all_ok",
    "all_response_sum_ns",
    "all_service_sum_ns",
    "all_response_p50_ns",
    "all_service_p50_ns",
    "all_response_p90_ns",
    "all_service_p90_ns",
    "all_response_max_ns",
    "sent_bytes",
    "received_bytes",
    "segments_out",
    "segments_in",
    "retransmits",
    "payload_sent_bytes",
    "payload_received_bytes",
    "loop_busy_ns",
    "loop_wall_ns",
    "loop_cpu_ns",
    "loop_delay_p50_ns",
    "lag_p99_ns",
    "core_latency_ns",
    "restore_ns",
    "pauses",
    "paused_ns",
];

/// Absent in records from before there were batches.
const BATCH_COLUMN: &str = "batch";

/// Absent in records from before requests were sent again. Where it is absent, `requests` lacks those not sent.
const RESENT_COLUMN: &str = "resent";

/// Absent in records from before stalled replies were counted.
const HELD_UP_COLUMN: &str = "held_up";

/// Absent in records from before payload was counted, with the one behind it.
const PAYLOAD_COLUMN: &str = "payload_sent_bytes";
const PAYLOAD_RECEIVED_COLUMN: &str = "payload_received_bytes";

/// Absent in records from before core latency was measured.
const CORE_LATENCY_COLUMN: &str = "core_latency_ns";

/// Absent in records from before restoring a database was timed.
const RESTORE_COLUMN: &str = "restore_ns";

/// Absent in records from before pauses of Java virtual machines were counted, with the one after it.
const PAUSES_COLUMN: &str = "pauses";
const PAUSED_COLUMN: &str = "paused_ns";

/// `operations.csv`: one row a window and operation.
pub(crate) const OPERATION_COLUMNS: [&str; 10] = [
    "window",
    "operation",
    "ok",
    "response_sum_ns",
    "service_sum_ns",
    "response_p50_ns",
    "service_p50_ns",
    "response_p90_ns",
    "service_p90_ns",
    "response_max_ns",
];

/// `resources.csv`: one row a window and role (CPU), then one row a role and point (memory).
pub(crate) const RESOURCE_COLUMNS: [&str; 7] =
    ["resource", "window", "role", "cpu_ns", "requests", "peak_bytes", "point"];

/// Cells of [`OperationFigures`], without the operation.
const FIGURE_CELLS: usize = OPERATION_COLUMNS.len() - 1;

const CPU: &str = "cpu";
const MEMORY: &str = "memory";

pub(crate) fn write_windows(windows: &[WindowRecord], batch: u32) -> Vec<u8> {
    let rows = windows.iter().zip(0u64..).map(|(window, index)| window_row(index, window, batch));
    write_table(&WINDOW_COLUMNS, rows)
}

pub(crate) fn write_operations(windows: &[WindowRecord]) -> Vec<u8> {
    let rows = windows.iter().zip(0u64..).flat_map(|(window, index)| {
        window.figures.operations.iter().map(move |operation| {
            let mut row = RowWriter::default();
            row.number(index);
            push_operation(&mut row, operation);
            row
        })
    });
    write_table(&OPERATION_COLUMNS, rows)
}

pub(crate) fn write_resources(windows: &[WindowRecord], memory: &[RoleMemory]) -> Vec<u8> {
    let cpu = windows.iter().zip(0u64..).flat_map(|(window, index)| {
        window.cpu.iter().map(move |role| {
            let mut row = RowWriter::default();
            row.text(CPU)
                .number(index)
                .text(&role.role)
                .number(role.cpu.as_nanos())
                .number(role.requests)
                .empty(2);
            row
        })
    });
    let memory = memory.iter().map(|role| {
        let mut row = RowWriter::default();
        row.text(MEMORY)
            .empty(1)
            .text(&role.role)
            .empty(2)
            .number(role.peak.get())
            .number(u64::from(role.point.0));
        row
    });
    write_table(&RESOURCE_COLUMNS, cpu.chain(memory))
}

/// The kind of windows in which earlier versions asked for additional sizes: its rows are read and dropped.
pub(crate) const REMOVED_KIND: &str = "extra";

/// Windows of a trial of this batch, without operations and CPU, which are in the other tables; and for each
/// whether it is of [`REMOVED_KIND`].
pub(crate) fn read_windows(bytes: &[u8], batch: u32) -> Result<(Vec<WindowRecord>, Vec<bool>), Problem> {
    let optional = OptionalColumns {
        batch: has_column(bytes, BATCH_COLUMN).then_some(batch),
        resent: has_column(bytes, RESENT_COLUMN),
        held_up: has_column(bytes, HELD_UP_COLUMN),
        payload: has_column(bytes, PAYLOAD_COLUMN),
        core_latency: has_column(bytes, CORE_LATENCY_COLUMN),
        restore: has_column(bytes, RESTORE_COLUMN),
        pauses: has_column(bytes, PAUSES_COLUMN),
    };
    let is_read = |column: &&str| match *column {
        BATCH_COLUMN => optional.batch.is_some(),
        RESENT_COLUMN => optional.resent,
        HELD_UP_COLUMN => optional.held_up,
        PAYLOAD_COLUMN | PAYLOAD_RECEIVED_COLUMN => optional.payload,
        CORE_LATENCY_COLUMN => optional.core_latency,
        RESTORE_COLUMN => optional.restore,
        PAUSES_COLUMN | PAUSED_COLUMN => optional.pauses,
        _ => true,
    };
    let columns: Vec<_> = WINDOW_COLUMNS.into_iter().filter(is_read).collect();
    let mut expected = 0;
    let rows = read_table(&columns, bytes, |cells| {
        let index = cells.u64()?;
        if index != expected {
            return Err(format!("column `window`: `{index}` where `{expected}` is next"));
        }
        expected += 1;
        let kind = cells.word_unless(REMOVED_KIND)?;
        let mut window = read_window(cells, kind.unwrap_or(WindowKind::LeadIn), optional)?;
        if !optional.resent {
            window.figures.requests = window.figures.offered;
        }
        Ok((window, kind.is_none()))
    })?;
    Ok(rows.into_iter().unzip())
}

/// Which of the columns that older records lack a table has.
#[derive(Debug, Clone, Copy)]
struct OptionalColumns {
    /// The batch of every row; `None` without the column.
    batch: Option<u32>,
    resent: bool,
    held_up: bool,
    payload: bool,
    core_latency: bool,
    restore: bool,
    pauses: bool,
}

pub(crate) fn read_operations(bytes: &[u8], windows: &mut [WindowRecord]) -> Result<(), Problem> {
    read_table(&OPERATION_COLUMNS, bytes, |cells| {
        let window = window_of(cells, windows)?;
        window.figures.operations.push(read_operation(cells)?);
        Ok(())
    })
    .map(drop)
}

pub(crate) fn read_resources(bytes: &[u8], windows: &mut [WindowRecord]) -> Result<Vec<RoleMemory>, Problem> {
    let mut memory = Vec::new();
    read_table(&RESOURCE_COLUMNS, bytes, |cells| {
        match cells.text() {
            CPU => {
                let window = window_of(cells, windows)?;
                let role = cells.text().to_owned();
                let cpu = Nanoseconds::from_nanos(cells.u64()?);
                window.cpu.push(RoleCpu { role, cpu, requests: cells.u64()? });
            }
            MEMORY => {
                cells.skip_empty(1);
                let role = cells.text().to_owned();
                cells.skip_empty(2);
                let peak = Bytes::new(cells.u64()?);
                memory.push(RoleMemory { role, point: PointId(cells.number()?), peak });
            }
            other => return Err(format!("column `resource`: `{other}` is neither `{CPU}` nor `{MEMORY}`")),
        }
        Ok(())
    })?;
    Ok(memory)
}

fn window_of<'w>(
    cells: &mut Cells<'_>,
    windows: &'w mut [WindowRecord],
) -> Result<&'w mut WindowRecord, String> {
    let index = cells.u64()?;
    let found = usize::try_from(index).ok().and_then(|at| windows.get_mut(at));
    found.ok_or_else(|| format!("column `window`: the trial has no window {index}"))
}

fn window_row(index: u64, window: &WindowRecord, batch: u32) -> RowWriter {
    let figures = &window.figures;
    let mut row = RowWriter::default();
    row.number(index)
        .word(window.kind)
        .number(window.block)
        .number(batch)
        .number(window.point.0)
        .number(window.round)
        .number(window.position)
        .number(window.variant.0)
        .number(figures.started.as_nanos())
        .number(figures.ended.as_nanos())
        .word(figures.end)
        .number(figures.offered)
        .number(figures.requests)
        .number(figures.not_sent);
    for kind in ErrorKind::ALL {
        row.number(figures.errors.get(kind));
    }
    row.number(figures.resent);
    row.number(figures.held_up).number(figures.connects).number(figures.handshakes).number(figures.resumed);
    match &figures.all {
        Some(all) => push_operation(&mut row, all),
        None => {
            row.empty(FIGURE_CELLS);
        }
    }
    let (traffic, health) = (figures.traffic, figures.health);
    row.number(traffic.sent.get())
        .number(traffic.received.get())
        .number(traffic.segments_out)
        .number(traffic.segments_in)
        .number(traffic.retransmits)
        .number(traffic.payload_sent.get())
        .number(traffic.payload_received.get())
        .number(health.busy.as_nanos())
        .number(health.wall.as_nanos())
        .number(health.cpu.as_nanos())
        .number(health.loop_delay_p50.as_nanos())
        .number(health.lag_p99.as_nanos());
    for time in [window.core_latency, window.restore] {
        match time {
            Some(time) => row.number(time.as_nanos()),
            None => row.empty(1),
        };
    }
    match window.pauses {
        Some(pauses) => row.number(pauses.count).number(pauses.time.as_nanos()),
        None => row.empty(2),
    };
    row
}

// Fields of a struct literal are evaluated in written order, which is the order of the columns.
fn read_window(
    cells: &mut Cells<'_>,
    kind: WindowKind,
    optional: OptionalColumns,
) -> Result<WindowRecord, String> {
    let block = cells.number()?;
    if let Some(batch) = optional.batch {
        let found: u32 = cells.number()?;
        if found != batch {
            return Err(format!("column `{BATCH_COLUMN}`: {found} in a trial of batch {batch}"));
        }
    }
    Ok(WindowRecord {
        kind,
        block,
        point: PointId(cells.number()?),
        round: cells.number()?,
        position: cells.number()?,
        variant: VariantId(cells.number()?),
        figures: WindowFigures {
            started: Timestamp::from_nanos(cells.u64()?),
            ended: Timestamp::from_nanos(cells.u64()?),
            end: cells.word()?,
            offered: cells.u64()?,
            requests: cells.u64()?,
            not_sent: cells.u64()?,
            errors: read_errors(cells)?,
            resent: if optional.resent { cells.u64()? } else { 0 },
            held_up: if optional.held_up { cells.u64()? } else { 0 },
            connects: cells.u64()?,
            handshakes: cells.u64()?,
            resumed: cells.u64()?,
            all: if cells.skip_empty(FIGURE_CELLS) { None } else { Some(read_operation(cells)?) },
            traffic: Traffic {
                sent: Bytes::new(cells.u64()?),
                received: Bytes::new(cells.u64()?),
                segments_out: cells.u64()?,
                segments_in: cells.u64()?,
                retransmits: cells.u64()?,
                payload_sent: payload(cells, optional)?,
                payload_received: payload(cells, optional)?,
            },
            health: LoopHealth {
                busy: Nanoseconds::from_nanos(cells.u64()?),
                wall: Nanoseconds::from_nanos(cells.u64()?),
                cpu: Nanoseconds::from_nanos(cells.u64()?),
                loop_delay_p50: Nanoseconds::from_nanos(cells.u64()?),
                lag_p99: Nanoseconds::from_nanos(cells.u64()?),
            },
            ..Default::default()
        },
        cpu: Vec::new(),
        core_latency: time_if(optional.core_latency, cells)?,
        restore: time_if(optional.restore, cells)?,
        pauses: pauses(optional, cells)?,
    })
}

fn pauses(optional: OptionalColumns, cells: &mut Cells<'_>) -> Result<Option<JvmPauses>, String> {
    if !optional.pauses || cells.skip_empty(2) {
        return Ok(None);
    }
    Ok(Some(JvmPauses { count: cells.u64()?, time: Nanoseconds::from_nanos(cells.u64()?) }))
}

/// The time in the next cell, where there is such a column and it is not empty.
fn time_if(is_there: bool, cells: &mut Cells<'_>) -> Result<Option<Nanoseconds>, String> {
    let is_known = is_there && !cells.skip_empty(1);
    is_known.then(|| cells.u64().map(Nanoseconds::from_nanos)).transpose()
}

/// A count of payload; 0 in records without.
fn payload(cells: &mut Cells<'_>, optional: OptionalColumns) -> Result<Bytes, String> {
    Ok(Bytes::new(if optional.payload { cells.u64()? } else { 0 }))
}

fn read_errors(cells: &mut Cells<'_>) -> Result<ErrorCounts, String> {
    let mut errors = ErrorCounts::default();
    for kind in ErrorKind::ALL {
        *errors.get_mut(kind) = cells.u64()?;
    }
    Ok(errors)
}

fn push_operation(row: &mut RowWriter, figures: &OperationFigures) {
    row.number(figures.operation.0)
        .number(figures.ok)
        .number(figures.response_sum.as_nanos())
        .number(figures.service_sum.as_nanos())
        .number(figures.response_p50.as_nanos())
        .number(figures.service_p50.as_nanos())
        .number(figures.response_p90.as_nanos())
        .number(figures.service_p90.as_nanos())
        .number(figures.response_max.as_nanos());
}

fn read_operation(cells: &mut Cells<'_>) -> Result<OperationFigures, String> {
    Ok(OperationFigures {
        operation: OperationId(cells.number()?),
        ok: cells.u64()?,
        response_sum: Nanoseconds::from_nanos(cells.u64()?),
        service_sum: Nanoseconds::from_nanos(cells.u64()?),
        response_p50: Nanoseconds::from_nanos(cells.u64()?),
        service_p50: Nanoseconds::from_nanos(cells.u64()?),
        response_p90: Nanoseconds::from_nanos(cells.u64()?),
        service_p90: Nanoseconds::from_nanos(cells.u64()?),
        response_max: Nanoseconds::from_nanos(cells.u64()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> WindowRecord {
        let figures = WindowFigures {
            started: Timestamp::from_nanos(5),
            ended: Timestamp::from_nanos(9),
            end: weighbridge_model::record::WindowEnd::Complete,
            offered: 1,
            requests: 1,
            ..Default::default()
        };
        let (point, variant) = (PointId(1), VariantId(2));
        let core_latency = Some(Nanoseconds::from_nanos(320));
        WindowRecord {
            kind: WindowKind::Measured,
            block: 3,
            point,
            round: 4,
            position: 5,
            variant,
            figures,
            cpu: Vec::new(),
            core_latency,
            restore: Some(Nanoseconds::from_nanos(7_001)),
            pauses: Some(JvmPauses { count: 3, time: Nanoseconds::from_nanos(9_007) }),
        }
    }

    #[test]
    fn windows_tell_their_batch_and_those_of_before_there_were_batches_are_still_read() {
        let table = write_windows(&[window()], 6);
        assert_eq!(read_windows(&table, 6), Ok((vec![window()], vec![false])));
        let problem = read_windows(&table, 0).unwrap_err();
        assert_eq!(problem, Problem::on_line(2, "column `batch`: 6 in a trial of batch 0"));
        let old = String::from_utf8(table)
            .expect("text")
            .replace(",batch,", ",")
            .replace("measured,3,6,", "measured,3,");
        assert_eq!(read_windows(old.as_bytes(), 0), Ok((vec![window()], vec![false])));
        let older = old.replace(",pauses,paused_ns\n", "\n").replace(",3,9007\n", "\n");
        let none = WindowRecord { pauses: None, ..window() };
        assert_eq!(read_windows(older.as_bytes(), 0), Ok((vec![none.clone()], vec![false])));
        let older = older.replace(",restore_ns\n", "\n").replace(",7001\n", "\n");
        let none = WindowRecord { restore: None, ..none };
        assert_eq!(read_windows(older.as_bytes(), 0), Ok((vec![none.clone()], vec![false])));
        let older = older.replace(",core_latency_ns\n", "\n").replace(",320\n", "\n");
        let none = WindowRecord { core_latency: None, ..none };
        assert_eq!(read_windows(older.as_bytes(), 0), Ok((vec![none], vec![false])));
    }

    /// `requests` of older records lacks those not sent; `offered` has them.
    #[test]
    fn requests_of_an_older_record_are_those_that_were_due() {
        let counts = |requests| WindowRecord {
            figures: WindowFigures { offered: 5, requests, not_sent: 2, ..WindowFigures::default() },
            core_latency: None,
            restore: None,
            pauses: None,
            ..window()
        };
        let table = String::from_utf8(write_windows(&[counts(3)], 6)).expect("text");
        let without = |line: &str, column: usize| {
            let cells = line.split(',').enumerate().filter(|(at, _)| *at != column);
            cells.map(|(_, cell)| cell).collect::<Vec<_>>().join(",")
        };
        let resent = WINDOW_COLUMNS.iter().position(|column| *column == RESENT_COLUMN).expect("a column");
        let old: String = table.lines().map(|line| without(line, resent) + "\n").collect();
        assert_eq!(read_windows(old.as_bytes(), 6), Ok((vec![counts(5)], vec![false])));
    }

    #[test]
    fn a_row_of_a_window_that_is_not_there_is_damage() {
        let text = "window,operation,ok,response_sum_ns,service_sum_ns,response_p50_ns,service_p50_ns,\
                    response_p90_ns,service_p90_ns,response_max_ns\n7,0,1,1,1,1,1,1,1,1\n";
        let problem = read_operations(text.as_bytes(), &mut []).unwrap_err();
        assert_eq!(problem, Problem::on_line(2, "column `window`: the trial has no window 7"));
    }

    #[test]
    fn a_resource_of_no_known_kind_is_damage() {
        let text = "resource,window,role,cpu_ns,requests,peak_bytes,point\ndisk,,service,,,1,0\n";
        let problem = read_resources(text.as_bytes(), &mut []).unwrap_err();
        assert_eq!(problem, Problem::on_line(2, "column `resource`: `disk` is neither `cpu` nor `memory`"));
    }
}
