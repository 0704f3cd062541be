//! `counts.csv`: what a workload counted, one row a window, for trials whose workload counts. No figure is computed here.

use weighbridge_model::record::WindowRecord;
use weighbridge_model::record::counts::{Count, Counts};

use crate::error::Problem;
use crate::table::{RowWriter, read_table, write_table};

const COLUMNS: [&str; Count::ALL.len() + 1] = {
    let mut columns = ["window"; Count::ALL.len() + 1];
    let mut at = 0;
    while at < Count::ALL.len() {
        columns[at + 1] = Count::ALL[at].name();
        at += 1;
    }
    columns
};

/// `None` if no window has counts.
pub(crate) fn write_counts(windows: &[WindowRecord]) -> Option<Vec<u8>> {
    let counted = windows.iter().zip(0u64..).filter_map(|(window, index)| {
        let counts = window.figures.counts.as_ref()?;
        let mut row = RowWriter::default();
        row.number(index);
        Count::ALL.into_iter().for_each(|count| {
            row.number(counts.get(count));
        });
        Some(row)
    });
    let mut counted = counted.peekable();
    counted.peek()?;
    Some(write_table(&COLUMNS, counted))
}

/// Adds the rows to their windows.
pub(crate) fn read_counts(bytes: &[u8], windows: &mut [WindowRecord]) -> Result<(), Problem> {
    let rows = read_table(&COLUMNS, bytes, |cells| {
        let index = cells.u64()?;
        let window = usize::try_from(index).ok().and_then(|at| windows.get_mut(at));
        let window = window.ok_or_else(|| format!("column `window`: the trial has no window {index}"))?;
        let mut counts = Counts::default();
        for count in Count::ALL {
            counts.add(count, cells.u64()?);
        }
        match window.figures.counts.replace(counts) {
            Some(_) => Err(format!("column `window`: a second row of window {index}")),
            None => Ok(()),
        }
    })?;
    // A table without rows is never written.
    if rows.is_empty() { Err(Problem::somewhere("it has no row".to_owned())) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_no_window_a_second_row_and_a_table_without_rows_are_damage() {
        let (head, zeros) = (COLUMNS.join(","), ",0".repeat(Count::ALL.len()));
        let read = |rows: &str| {
            let mut windows = [WindowRecord::default()];
            read_counts(format!("{head}\n{rows}").as_bytes(), &mut windows).map(|()| windows)
        };
        let problem = read(&format!("1{zeros}\n")).unwrap_err();
        assert_eq!(problem, Problem::on_line(2, "column `window`: the trial has no window 1"));
        let problem = read(&format!("0{zeros}\n0{zeros}\n")).unwrap_err();
        assert_eq!(problem, Problem::on_line(3, "column `window`: a second row of window 0"));
        assert!(read("").is_err());
        let [window] = read(&format!("0{zeros}\n")).unwrap();
        assert_eq!(window.figures.counts, Some(Counts::default()), "counts of zero are counts");
    }
}
