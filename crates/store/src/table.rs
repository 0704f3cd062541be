//! Flat tables as CSV ([RFC 4180](https://www.rfc-editor.org/rfc/rfc4180), a header line, `\n` between rows).
//! Cells are integers, words or text; an empty cell is an absent number. A table with an unexpected header is
//! refused, so columns are never confused.

use std::fmt::Display;
use std::num::TryFromIntError;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Problem;

/// A row being written.
#[derive(Default)]
pub(crate) struct RowWriter(Vec<String>);

impl RowWriter {
    pub(crate) fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        self.text(number.into())
    }

    pub(crate) fn text(&mut self, text: impl Display) -> &mut Self {
        self.0.push(text.to_string());
        self
    }

    /// The name of an enum variant, spelled as in JSON.
    pub(crate) fn word(&mut self, word: impl Serialize) -> &mut Self {
        match serde_json::to_value(word) {
            Ok(serde_json::Value::String(text)) => self.text(text),
            other => unreachable!("a word is an enum without content, not {other:?}"),
        }
    }

    pub(crate) fn empty(&mut self, cells: usize) -> &mut Self {
        self.0.resize(self.0.len() + cells, String::new());
        self
    }
}

/// Every row must have a cell for every column.
pub(crate) fn write_table(columns: &[&str], rows: impl IntoIterator<Item = RowWriter>) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(columns).expect("memory takes every write");
    for RowWriter(cells) in rows {
        writer.write_record(cells).expect("rows have a cell for every column");
    }
    writer.into_inner().expect("memory takes every write")
}

pub(crate) fn read_table<T>(
    columns: &[&str],
    bytes: &[u8],
    mut read: impl FnMut(&mut Cells<'_>) -> Result<T, String>,
) -> Result<Vec<T>, Problem> {
    let mut reader = csv::Reader::from_reader(bytes);
    check_header(columns, reader.headers().map_err(|error| csv_problem(&error))?)?;
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| csv_problem(&error))? {
        let mut cells = Cells { columns, record: &record, next: 0 };
        let row = read(&mut cells)
            .map_err(|what| Problem { line: record.position().map(csv::Position::line), what })?;
        rows.push(row);
    }
    Ok(rows)
}

/// Whether the header of a table has a column; older records lack some.
pub(crate) fn has_column(bytes: &[u8], column: &str) -> bool {
    let header = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    header.split(|byte| *byte == b',').any(|name| name == column.as_bytes())
}

/// Reads the cells of a row from left to right.
pub(crate) struct Cells<'a> {
    columns: &'a [&'a str],
    record: &'a csv::StringRecord,
    next: usize,
}

impl<'a> Cells<'a> {
    pub(crate) fn text(&mut self) -> &'a str {
        self.next += 1;
        self.record.get(self.next - 1).unwrap_or_default()
    }

    pub(crate) fn number<N: TryFrom<u64, Error = TryFromIntError>>(&mut self) -> Result<N, String> {
        let text = self.text();
        let number = text.parse::<u64>().ok().and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| self.wrong(text, "a whole number of this column's range"))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, String> {
        let text = self.text();
        text.parse().map_err(|_| self.wrong(text, "a whole number below 2^64"))
    }

    pub(crate) fn word<W: DeserializeOwned>(&mut self) -> Result<W, String> {
        let text = self.text();
        serde_json::from_value(text.into()).map_err(|error| format!("column `{}`: {error}", self.column()))
    }

    /// The same, or `None` for `removed`, an obsolete word of older records.
    pub(crate) fn word_unless<W: DeserializeOwned>(&mut self, removed: &str) -> Result<Option<W>, String> {
        if self.record.get(self.next) == Some(removed) {
            self.next += 1;
            return Ok(None);
        }
        self.word().map(Some)
    }

    /// Skips the next `cells` cells if all are empty; returns whether they were.
    pub(crate) fn skip_empty(&mut self, cells: usize) -> bool {
        let empty = (self.next..self.next + cells).all(|at| self.record.get(at) == Some(""));
        if empty {
            self.next += cells;
        }
        empty
    }

    fn wrong(&self, text: &str, wanted: &str) -> String {
        format!("column `{}`: `{text}` is not {wanted}", self.column())
    }

    fn column(&self) -> &str {
        self.columns.get(self.next - 1).copied().unwrap_or_default()
    }
}

fn check_header(columns: &[&str], header: &csv::StringRecord) -> Result<(), Problem> {
    if header.iter().eq(columns.iter().copied()) {
        return Ok(());
    }
    let at = columns.iter().zip(header).take_while(|(expected, found)| **expected == *found).count();
    let what = match (columns.get(at), header.get(at)) {
        (Some(expected), Some(found)) => format!("column {} is `{found}`, expected `{expected}`", at + 1),
        (Some(expected), None) => format!("column `{expected}` is missing"),
        (None, found) => format!("unknown column `{}`", found.unwrap_or_default()),
    };
    Err(Problem::on_line(1, what))
}

fn csv_problem(error: &csv::Error) -> Problem {
    let line = error.position().map(csv::Position::line);
    let what = match error.kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells where {expected_len} are expected")
        }
        csv::ErrorKind::Utf8 { .. } => "bytes that are not UTF-8".to_owned(),
        _ => error.to_string(),
    };
    Problem { line, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&str; 2] = ["name", "count"];

    fn read(text: &str) -> Result<Vec<(String, u16)>, Problem> {
        read_table(&COLUMNS, text.as_bytes(), |cells| Ok((cells.text().to_owned(), cells.number()?)))
    }

    #[test]
    fn text_of_any_kind_survives() {
        let names = ["plain", "", "a,b", "say \"hi\"", "two\nlines\r\n", " spaces ", "µ"];
        let rows = names.iter().zip(0u16..).map(|(name, count)| {
            let mut row = RowWriter::default();
            row.text(name).number(count);
            row
        });
        let bytes = write_table(&COLUMNS, rows);
        let back = read(std::str::from_utf8(&bytes).unwrap()).unwrap();
        assert!(back.iter().map(|(name, _)| name).eq(names.iter()), "{back:?}");
        assert!(back.iter().map(|(_, count)| *count).eq(0..7));
    }

    #[test]
    fn damage_is_found_with_its_line() {
        for (text, problem) in [
            (
                "name,count\na,1\nb,x\n",
                (3, "column `count`: `x` is not a whole number of this column's range"),
            ),
            (
                "name,count\na,65536\n",
                (2, "column `count`: `65536` is not a whole number of this column's range"),
            ),
            ("name,count\na,1\nb\n", (3, "1 cells where 2 are expected")),
            ("name,size\na,1\n", (1, "column 2 is `size`, expected `count`")),
            ("name\na\n", (1, "column `count` is missing")),
            ("name,count,more\na,1,2\n", (1, "unknown column `more`")),
            ("", (1, "column `name` is missing")),
        ] {
            assert_eq!(read(text), Err(Problem::on_line(problem.0, problem.1)), "{text:?}");
        }
    }
}
