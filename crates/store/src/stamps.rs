//! `stamps.csv`: results of the kernel's time stamps, one row a window, for trials whose load asked for them.
//! No figure is computed here.

use weighbridge_model::legs::{KernelStamps, Leg, LegFigures, StampFigures};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::WindowRecord;

use crate::error::Problem;
use crate::table::{Cells, RowWriter, read_table, write_table};

pub(crate) const STAMP_COLUMNS: [&str; 18] = [
    "window",
    "unavailable",
    "requests",
    "unmatched",
    "clock_error_ns",
    "round_trip_ns",
    "client_send_sum_ns",
    "client_send_p50_ns",
    "client_send_p90_ns",
    "client_send_p99_ns",
    "outside_sum_ns",
    "outside_p50_ns",
    "outside_p90_ns",
    "outside_p99_ns",
    "client_receive_sum_ns",
    "client_receive_p50_ns",
    "client_receive_p90_ns",
    "client_receive_p99_ns",
];

/// Cells of [`StampFigures`].
const FIGURE_CELLS: usize = STAMP_COLUMNS.len() - 2;

/// `None` if no window has stamps.
pub(crate) fn write_stamps(windows: &[WindowRecord]) -> Option<Vec<u8>> {
    let stamped = windows.iter().zip(0u64..).filter_map(|(window, index)| {
        let stamps = window.figures.stamps.as_ref()?;
        Some(row(index, stamps))
    });
    let mut stamped = stamped.peekable();
    stamped.peek()?;
    Some(write_table(&STAMP_COLUMNS, stamped))
}

/// Adds the rows to their windows.
pub(crate) fn read_stamps(bytes: &[u8], windows: &mut [WindowRecord]) -> Result<(), Problem> {
    let mut rows = 0;
    read_table(&STAMP_COLUMNS, bytes, |cells| {
        let index = cells.u64()?;
        let window = usize::try_from(index).ok().and_then(|at| windows.get_mut(at));
        let window = window.ok_or_else(|| format!("column `window`: the trial has no window {index}"))?;
        if window.figures.stamps.is_some() {
            return Err(format!("column `window`: a second row of window {index}"));
        }
        window.figures.stamps = Some(read_row(cells)?);
        rows += 1;
        Ok(())
    })?;
    // A table without rows is never written.
    if rows == 0 { Err(Problem::somewhere("it has no row".to_owned())) } else { Ok(()) }
}

fn row(index: u64, stamps: &KernelStamps) -> RowWriter {
    let mut row = RowWriter::default();
    row.number(index);
    match stamps {
        KernelStamps::Unavailable(reason) => row.text(reason).empty(FIGURE_CELLS),
        KernelStamps::Taken(figures) => {
            row.empty(1)
                .number(figures.requests)
                .number(figures.unmatched)
                .number(figures.clock_error.as_nanos());
            match figures.round_trip {
                Some(time) => row.number(time.as_nanos()),
                None => row.empty(1),
            };
            for leg in figures.legs {
                row.number(leg.sum.as_nanos())
                    .number(leg.p50.as_nanos())
                    .number(leg.p90.as_nanos())
                    .number(leg.p99.as_nanos());
            }
            &mut row
        }
    };
    row
}

// Fields of a struct literal are evaluated in written order, which is the order of the columns.
fn read_row(cells: &mut Cells<'_>) -> Result<KernelStamps, String> {
    let reason = cells.text().to_owned();
    if cells.skip_empty(FIGURE_CELLS) {
        return Ok(KernelStamps::Unavailable(reason));
    }
    if !reason.is_empty() {
        return Err(format!("column `unavailable`: `{reason}` beside figures"));
    }
    let time = |cells: &mut Cells<'_>| cells.u64().map(Nanoseconds::from_nanos);
    let figures = StampFigures {
        requests: cells.u64()?,
        unmatched: cells.u64()?,
        clock_error: time(cells)?,
        round_trip: if cells.skip_empty(1) { None } else { Some(time(cells)?) },
        legs: [LegFigures::default(); 3],
    };
    let mut legs = figures.legs;
    for leg in Leg::ALL {
        legs[leg as usize] =
            LegFigures { sum: time(cells)?, p50: time(cells)?, p90: time(cells)?, p99: time(cells)? };
    }
    Ok(KernelStamps::Taken(StampFigures { legs, ..figures }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_after_the_legs() {
        for (leg, columns) in Leg::ALL.into_iter().zip(STAMP_COLUMNS[6..].chunks(4)) {
            let named = ["sum", "p50", "p90", "p99"].map(|what| format!("{}_{what}_ns", leg.name()));
            assert_eq!(columns, named);
        }
    }

    #[test]
    fn rows_of_no_window_and_reasons_beside_figures_are_damage() {
        let head = STAMP_COLUMNS.join(",");
        let figures = ",1".repeat(FIGURE_CELLS);
        for (row, wanted) in [
            (format!("7,{figures}"), "the trial has no window 7"),
            (format!("0,why{figures}"), "the trial has no window 0"),
        ] {
            let problem = read_stamps(format!("{head}\n{row}\n").as_bytes(), &mut []).unwrap_err();
            assert!(problem.what.contains(wanted), "{problem:?}");
        }
        assert!(read_stamps(format!("{head}\n").as_bytes(), &mut []).is_err());
    }
}
