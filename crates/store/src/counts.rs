//! `counts.csv`: what a workload counted, one row a window, for trials whose workload counts. No figure is computed here.

use weighbridge_model::record::WindowRecord;
use weighbridge_model::record::counts::{Count, Counts};

use crate::error::Problem;
use crate::table::{RowWriter, has_column, read_table, write_table};

const COLUMNS: [&str; Count::ALL.len() + 1] = {
    let mut columns = ["window"; Count::ALL.len() + 1];
    let mut at = 0;
    while at < Count::ALL.len() {
        columns[at + 1] = Count::ALL[at].name();
        at += 1;
    }
    columns
};

/// How many counts the oldest records have: those of a cache.
const LEAST_COUNTS: usize = 9;

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
    // Older records have fewer, never others.
    let known =
        Count::ALL.iter().take_while(|count| has_column(bytes, count.name())).count().max(LEAST_COUNTS);
    let rows = read_table(&COLUMNS[..=known], bytes, |cells| {
        let index = cells.u64()?;
        let window = usize::try_from(index).ok().and_then(|at| windows.get_mut(at));
        let window = window.ok_or_else(|| format!("column `window`: the trial has no window {index}"))?;
        let mut counts = Counts::default();
        for count in &Count::ALL[..known] {
            counts.add(*count, cells.u64()?);
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

    #[test]
    fn an_older_record_has_none_of_what_was_not_counted_yet() {
        for (known, last) in
            [(LEAST_COUNTS, Count::Refills), (11, Count::GivenUp), (Count::ALL.len(), Count::Actions)]
        {
            let mut windows = [WindowRecord::default()];
            let (head, ones) = (COLUMNS[..=known].join(","), ",1".repeat(known));
            assert!(head.ends_with(&format!(",{}", last.name())));
            read_counts(format!("{head}\n0{ones}\n").as_bytes(), &mut windows).unwrap();
            let counts = windows[0].figures.counts.unwrap();
            let all: Vec<u64> = Count::ALL.iter().map(|count| counts.get(*count)).collect();
            assert_eq!(all.iter().filter(|count| **count == 1).count(), known);
            assert_eq!(counts.get(last), 1);
        }
        let fewer = COLUMNS[..LEAST_COUNTS].join(",");
        assert!(read_counts(format!("{fewer}\n").as_bytes(), &mut [WindowRecord::default()]).is_err());
    }
}
