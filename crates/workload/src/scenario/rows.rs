//! Rows of data for sessions: a CSV file read once, and the assignment of rows.
//!
//! It parses text that the caller read, keeps it in one piece, and refuses files whose rows have different lengths.

use std::ops::Range;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::experiment::{DataSpec, RowOrder, VALUE_LONGEST};

/// Most rows of a file.
pub const ROWS_MOST: usize = 10_000_000;

/// Why a file cannot be used as a table of values.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    #[error(
        "`{file}`: {source}; rows have as many fields as the first, quoted where they hold a delimiter, a quote or a line break"
    )]
    Csv {
        file: String,
        /// The parser's message, with the line.
        source: csv::Error,
    },
    #[error("`{file}` has no row of values{}", .hint)]
    Empty {
        file: String,
        /// The name that might be meant.
        hint: &'static str,
    },
    #[error("`{file}` has more than {ROWS_MOST} rows; cut it")]
    Many { file: String },
    #[error("`{file}:{line}`: a row has {found} fields, and `columns` names {named}; name each")]
    Columns {
        file: String,
        line: u64,
        /// Fields of a row.
        found: usize,
        named: usize,
    },
    #[error(
        "`{file}:{line}`: the value in column `{column}` has {length} bytes; at most {VALUE_LONGEST} are put into a request"
    )]
    Long { file: String, line: u64, column: String, length: usize },
    #[error("`{file}:{line}`: the value in column `{column}` {why}")]
    Unfit {
        file: String,
        line: u64,
        column: String,
        /// What does not fit.
        why: &'static str,
    },
}

/// The rows of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    file: String,
    columns: Vec<String>,
    text: Vec<u8>,
    /// Where each field ends in the text, row after row.
    ends: Vec<usize>,
    /// The line on which each row begins.
    lines: Vec<u32>,
}

impl Rows {
    /// Reads the text of `spec`'s file.
    pub fn parse(spec: &DataSpec, text: &[u8]) -> Result<Self, RowsError> {
        let file = || spec.file.clone();
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .delimiter(u8::try_from(spec.delimiter).unwrap_or(b','))
            .from_reader(text);
        let mut rows = Self {
            file: file(),
            columns: spec.columns.clone().unwrap_or_default(),
            text: Vec::with_capacity(text.len()),
            ends: Vec::new(),
            lines: Vec::new(),
        };
        let mut record = csv::ByteRecord::new();
        let broken = |source| RowsError::Csv { file: file(), source };
        while reader.read_byte_record(&mut record).map_err(broken)? {
            let line = record.position().map_or(0, csv::Position::line);
            if rows.columns.is_empty() {
                rows.columns =
                    record.iter().map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect();
                continue;
            }
            rows.add(&record, line)?;
        }
        if rows.len() == 0 {
            let hint = match spec.columns {
                Some(_) => "",
                None => "; its first line holds the names of the columns, unless `columns` does",
            };
            return Err(RowsError::Empty { file: file(), hint });
        }
        Ok(rows)
    }

    fn add(&mut self, record: &csv::ByteRecord, line: u64) -> Result<(), RowsError> {
        let file = || self.file.clone();
        if record.len() != self.columns.len() {
            let (found, named) = (record.len(), self.columns.len());
            return Err(RowsError::Columns { file: file(), line, found, named });
        }
        if self.lines.len() == ROWS_MOST {
            return Err(RowsError::Many { file: file() });
        }
        for (column, field) in self.columns.iter().zip(record) {
            if field.len() > VALUE_LONGEST {
                let (column, length) = (column.clone(), field.len());
                return Err(RowsError::Long { file: file(), line, column, length });
            }
            self.text.extend_from_slice(field);
            self.ends.push(self.text.len());
        }
        self.lines.push(u32::try_from(line).unwrap_or(u32::MAX));
        Ok(())
    }

    /// The file's name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The names of its columns.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows it has; at least one.
    #[allow(clippy::len_without_is_empty)] // never empty
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// The value in a row and a column.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn value(&self, row: usize, column: usize) -> &[u8] {
        &self.text[self.place(row, column)]
    }

    fn place(&self, row: usize, column: usize) -> Range<usize> {
        let at = row * self.columns.len() + column;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        begin..self.ends[at]
    }

    /// Refuses the file if a value of the column does not `fit`.
    pub(crate) fn check(
        &self,
        column: usize,
        fit: &dyn Fn(&[u8]) -> Result<(), &'static str>,
    ) -> Result<(), RowsError> {
        for row in 0..self.len() {
            fit(self.value(row, column)).map_err(|why| RowsError::Unfit {
                file: self.file.clone(),
                line: u64::from(self.lines[row]),
                column: self.columns[column].clone(),
                why,
            })?;
        }
        Ok(())
    }
}

/// Which row each session of a substream gets: the kth session always the same, whichever slot sends it.
#[derive(Debug, Clone)]
pub(crate) struct Turns {
    order: RowOrder,
    rows: usize,
    /// The shuffled order; empty if rows are used in the order of the file.
    shuffled: Vec<u32>,
    random: ChaCha8Rng,
    next: usize,
}

/// Seed of the shuffled order: the same for every variant and every run with a file of that many rows.
const SHUFFLE: u64 = 0x5eed_0f70_3705;

/// Separates draws of rows from other draws of the same substream.
const ROWS: u64 = 0x0070_3035;

impl Turns {
    pub fn new(order: RowOrder, rows: usize) -> Self {
        let mut shuffled = Vec::new();
        if order == RowOrder::Shuffled {
            shuffled.extend(0..rows as u32);
            shuffled.shuffle(&mut ChaCha8Rng::seed_from_u64(SHUFFLE));
        }
        Self { order, rows, shuffled, random: ChaCha8Rng::seed_from_u64(0), next: 0 }
    }

    /// Begins a substream, at a row that follows from its number.
    pub fn rewind(&mut self, substream: u64, file: u64) {
        self.random = ChaCha8Rng::seed_from_u64(substream ^ ROWS.rotate_left(file as u32));
        self.next = self.random.random_range(0..self.rows);
    }

    /// The next session's row.
    pub fn take(&mut self) -> usize {
        if self.order == RowOrder::Random {
            return self.random.random_range(0..self.rows);
        }
        let at = self.next;
        self.next = (at + 1) % self.rows;
        self.shuffled.get(at).map_or(at, |row| *row as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec() -> DataSpec {
        DataSpec {
            file: "users.csv".to_owned(),
            order: RowOrder::Sequential,
            columns: None,
            delimiter: ',',
            sha256: None,
        }
    }

    fn refused(spec: &DataSpec, text: &str) -> String {
        Rows::parse(spec, text.as_bytes()).expect_err(text).to_string()
    }

    #[test]
    fn columns_are_named_by_the_first_line_or_by_the_experiment() {
        let rows =
            Rows::parse(&spec(), "\u{feff}user, pass word\r\nann,\"a,\"\"b\"\"\nc\"\n\nbob,\n".as_bytes())
                .expect("rows");
        assert_eq!((rows.columns(), rows.len()), (&["user".to_owned(), "pass word".to_owned()][..], 2));
        let values: Vec<&[u8]> = (0..4).map(|at| rows.value(at / 2, at % 2)).collect();
        assert_eq!(values, [&b"ann"[..], b"a,\"b\"\nc", b"bob", b""]);
        let named = DataSpec { columns: Some(vec!["a".into(), "b".into()]), delimiter: ';', ..spec() };
        let rows = Rows::parse(&named, b"1;2\n3;4").expect("rows");
        assert_eq!((rows.len(), rows.value(1, 0)), (2, &b"3"[..]));
    }

    #[test]
    fn errors_name_file_and_line() {
        let named = DataSpec { columns: Some(vec!["a".into()]), ..spec() };
        for (spec, text, parts) in [
            (&spec(), "", &["`users.csv` has no row", "`columns`"][..]),
            (&spec(), "a,b\n", &["has no row"]),
            (&spec(), "a,b\n1,2\n3\n", &["`users.csv`", "line: 3"]),
            (&named, "1,2\n", &["`users.csv:1`", "2 fields", "names 1"]),
            (
                &spec(),
                &format!("a\nx\n{}\n", "x".repeat(8193)),
                &["`users.csv:3`", "column `a`", "8193 bytes"],
            ),
        ] {
            let message = refused(spec, text);
            parts.iter().for_each(|part| assert!(message.contains(part), "{text:.20}: {message}"));
        }
        let rows = Rows::parse(&spec(), b"a,b\n1,\"x\ny\"\n2,\"z\nw\"\n3,\n").expect("rows");
        let never = |value: &[u8]| if value == b"z\nw" { Err("is odd") } else { Ok(()) };
        let message = rows.check(1, &never).expect_err("odd").to_string();
        assert_eq!(message, "`users.csv:4`: the value in column `b` is odd");
    }

    proptest! {
        #[test]
        fn csv_round_trips(
            table in (1usize..5).prop_flat_map(|columns| {
                prop::collection::vec(prop::collection::vec("[a-z,\";\n\r é]{0,5}", columns), 2..20)
            }),
            semicolon in any::<bool>(),
        ) {
            let delimiter = if semicolon { ';' } else { ',' };
            let mut writer =
                csv::WriterBuilder::new().delimiter(delimiter as u8).from_writer(Vec::new());
            table.iter().for_each(|row| writer.write_record(row).expect("written"));
            let text = writer.into_inner().expect("in memory");
            let columns: Vec<String> = (0..table[0].len()).map(|n| format!("c{n}")).collect();
            let spec = DataSpec { columns: Some(columns), delimiter, ..spec() };
            let rows = Rows::parse(&spec, &text).expect("rows");
            prop_assert_eq!(rows.len(), table.len());
            for (row, fields) in table.iter().enumerate() {
                for (column, field) in fields.iter().enumerate() {
                    prop_assert_eq!(rows.value(row, column), field.as_bytes());
                }
            }
        }

        #[test]
        fn no_row_repeats_before_all_were_used(rows in 1usize..200, substream in any::<u64>()) {
            for order in [RowOrder::Sequential, RowOrder::Shuffled] {
                let mut turns = Turns::new(order, rows);
                turns.rewind(substream, 0);
                let taken: Vec<usize> = (0..2 * rows).map(|_| turns.take()).collect();
                let mut once = taken[..rows].to_vec();
                once.sort_unstable();
                prop_assert_eq!(once, (0..rows).collect::<Vec<_>>());
                prop_assert_eq!(&taken[..rows], &taken[rows..]);
                if order == RowOrder::Sequential {
                    prop_assert!(taken.windows(2).all(|two| two[1] == (two[0] + 1) % rows));
                }
                turns.rewind(substream, 0);
                let again: Vec<usize> = (0..2 * rows).map(|_| turns.take()).collect();
                prop_assert_eq!(again, taken);
            }
        }
    }

    #[test]
    fn random_rows_are_equally_likely() {
        let mut turns = Turns::new(RowOrder::Random, 10);
        let mut counts = [0u32; 10];
        for substream in 0..100 {
            turns.rewind(substream, 0);
            (0..1000).for_each(|_| counts[turns.take()] += 1);
        }
        // 100,000 draws: a share of a tenth has a standard deviation of 95.
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 500), "{counts:?}");
    }
}
