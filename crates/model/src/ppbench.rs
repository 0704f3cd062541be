//! The CSV of ppbench and of its predecessor's ApacheBench runs: rows as typed values, read with errors that
//! name line and column, and written as ppbench writes them.
//!
//! Every field keeps its text, so a row that is read and written again is unchanged. Failed and retried rows
//! are kept.

mod cells;
mod fault;
mod fields;
mod naming;
mod series;

use self::cells::Cells;
pub use self::fault::{Fault, Faults};
use self::fields::records;
pub use self::naming::{Naming, Tagged};
pub use self::series::{Series, series};

/// Columns of ppbench's CSV, in their order.
pub const COLUMNS: [&str; 11] = [
    "Machine Tag",
    "Experiment Tag",
    "Document Path",
    "Failed requests",
    "Concurrency Level",
    "Total transferred",
    "Time per request",
    "Transfer rate",
    "Requests per second",
    "Retries",
    "Response Code",
];

/// Columns of the predecessor's CSV of ApacheBench runs.
pub const APACHE_BENCH_COLUMNS: [&str; 11] = [
    "Tag",
    "Document Path",
    "Document Length",
    "Time taken for tests",
    "Complete requests",
    "Failed requests",
    "Concurrency Level",
    "Total transferred",
    "Requests per second (mean)",
    "Transfer rate",
    "Time per request",
];

/// Columns of the first versions of ppbench, which had one tag and no derived columns.
pub const EARLY_COLUMNS: [&str; 8] = [
    "Tag",
    "Document Path",
    "Failed requests",
    "Concurrency Level",
    "Total transferred",
    "Time per request",
    "Retries",
    "Response Code",
];

/// One row: the mean of some requests for one size.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The eleven fields as text, in the order of [`COLUMNS`].
    fields: [String; COLUMNS.len()],
    size: u64,
    failed: u64,
    /// Bytes of a body; `None` if the median of several lengths is not an integer.
    length: Option<u64>,
    time_ms: f64,
    /// `None` if the writer did not know.
    retries: Option<f64>,
    /// `None` if the writer did not know.
    status: Option<u16>,
}

/// The layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Eleven columns, written by `ppbench run`.
    Ppbench,
    /// Eight columns, written by its first versions.
    EarlyPpbench,
    /// One row for each run of ApacheBench.
    ApacheBench,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub layout: Layout,
    /// In the order of the file.
    pub rows: Vec<Row>,
    /// How many requests a row is the mean of, if known: the fewest and the most that ApacheBench completed.
    pub requests: Option<(u64, u64)>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {at}: {what}")]
pub struct Damage {
    /// Line, from 1.
    pub line: u64,
    /// The column's name, or another place on the line.
    pub at: String,
    /// What is there, and what is allowed.
    pub what: String,
}

/// A measured request, from which a row is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured<'a> {
    pub machine: &'a str,
    pub experiment: &'a str,
    /// The requested path.
    pub path: String,
    /// The requested size in bytes.
    pub size: u64,
    /// 1 if the request failed, else 0.
    pub failed: u64,
    /// Requests outstanding at once.
    pub concurrency: u64,
    /// Bytes of the body.
    pub length: u64,
    /// Its time in nanoseconds.
    pub time_ns: u64,
    /// How often it was retried.
    pub retries: u32,
    /// The reply's status; 0 where there was none.
    pub status: u16,
}

impl Row {
    /// The row of one measured request, with the figures that ppbench derives.
    pub fn from_request(measured: &Measured<'_>) -> Self {
        let time_ms = measured.time_ns as f64 / 1e6;
        let per_ms = |value: f64| if time_ms > 0.0 { (value / time_ms).to_string() } else { "0".to_owned() };
        Self {
            fields: [
                measured.machine.to_owned(),
                measured.experiment.to_owned(),
                measured.path.clone(),
                measured.failed.to_string(),
                measured.concurrency.to_string(),
                measured.length.to_string(),
                time_ms.to_string(),
                per_ms(1000.0 * measured.length as f64),
                per_ms(1000.0),
                measured.retries.to_string(),
                measured.status.to_string(),
            ],
            size: measured.size,
            failed: measured.failed,
            length: Some(measured.length),
            time_ms,
            retries: Some(f64::from(measured.retries)),
            status: Some(measured.status),
        }
    }

    pub fn machine(&self) -> &str {
        &self.fields[0]
    }

    pub fn experiment(&self) -> &str {
        &self.fields[1]
    }

    /// Both tags; an empty machine tag counts as none.
    pub fn tags(&self) -> Tagged<'_> {
        let machine = Some(self.machine()).filter(|tag| !tag.is_empty());
        Tagged { machine, experiment: self.experiment(), variant: None }
    }

    /// The requested size in bytes: the last part of the path.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Whether its time was measured by `ping` for its own request; else the client measured it.
    pub fn is_relayed(&self) -> bool {
        self.fields[2].contains("/mping/")
    }

    /// Mean time of its requests in milliseconds; 0 or below if the writer's clock went wrong.
    pub const fn time_ms(&self) -> f64 {
        self.time_ms
    }

    /// Body bytes per second of its time, by the writer; may be infinite or not a number.
    pub fn transfer_bytes_per_s(&self) -> f64 {
        self.fields[7].parse().unwrap_or(f64::NAN)
    }

    /// Mean number of retries; `None` if the writer did not know.
    pub const fn retries(&self) -> Option<f64> {
        self.retries
    }
}

/// Reads a file of any layout; the header decides which.
pub fn read(text: &str) -> Result<Table, Damage> {
    let mut records = records(text);
    let Some(header) = records.next().transpose()? else {
        return Err(damage(
            1,
            "column `Machine Tag`",
            "the file is empty; a CSV of ppbench begins with its header".to_owned(),
        ));
    };
    let names: Vec<&str> = header.fields.iter().map(|field| field.as_ref()).collect();
    let (layout, columns) = layout(&names);
    if let Some(at) = (0..columns.len().max(names.len())).find(|at| names.get(*at) != columns.get(*at)) {
        let found = names.get(at).map_or("nothing".to_owned(), |name| quoted(name));
        let wanted = columns.get(at).map_or("the end of the line".to_owned(), |name| format!("`{name}`"));
        return Err(damage(
            header.line,
            &format!("column {}", at + 1),
            format!("{found} where {wanted} is expected"),
        ));
    }
    let (mut rows, mut requests) = (Vec::new(), None);
    for record in records {
        let record = record?;
        // Concatenated logs repeat the header.
        if record.fields.iter().eq(columns) {
            continue;
        }
        if record.fields.len() != columns.len() {
            let what = format!("{} fields where {} are expected", record.fields.len(), columns.len());
            return Err(damage(
                record.line,
                &format!("column {}", record.fields.len().min(columns.len())),
                what,
            ));
        }
        let fields = record.fields.into_iter().map(|field| field.into_owned()).collect();
        let cells = Cells { line: record.line, columns, fields };
        rows.push(match layout {
            Layout::Ppbench => cells.ppbench()?,
            Layout::EarlyPpbench => cells.early_ppbench()?,
            Layout::ApacheBench => {
                let completed = cells.completed()?;
                let (fewest, most) = requests.unwrap_or((completed, completed));
                requests = Some((completed.min(fewest), completed.max(most)));
                cells.apache_bench()?
            }
        });
    }
    Ok(Table { layout, rows, requests })
}

/// The layout of a header. The two that begin with `Tag` differ in their third column.
fn layout(names: &[&str]) -> (Layout, &'static [&'static str]) {
    match names {
        ["Tag", "Document Path", "Failed requests", ..] => (Layout::EarlyPpbench, &EARLY_COLUMNS),
        ["Tag", ..] => (Layout::ApacheBench, &APACHE_BENCH_COLUMNS),
        _ => (Layout::Ppbench, &COLUMNS),
    }
}

/// The text of a file.
///
/// Errors: the file is compressed, in UTF-16, or not valid UTF-8.
pub fn decode(bytes: &[u8]) -> Result<&str, Damage> {
    let refuse = |what: &str| Err(damage(1, "the first bytes", what.to_owned()));
    match bytes {
        [0x1f, 0x8b, ..] => return refuse("the file is compressed; unpack it first, with `gunzip`"),
        [0xfe, 0xff, ..] | [0xff, 0xfe, ..] => return refuse("the file is in UTF-16; save it as UTF-8"),
        _ => {}
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count() as u64;
        let bad = bytes[before.len()];
        damage(line, "its text", format!("the byte 0x{bad:02x} is no UTF-8; save the file as UTF-8"))
    })
}

/// Writes rows as ppbench does: a header, every field in quotes, lines that end in a line feed.
pub fn write<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let mut text = String::new();
    fields::write(&mut text, COLUMNS.iter().copied());
    for row in rows {
        fields::write(&mut text, row.fields.iter().map(String::as_str));
    }
    text
}

/// Quotes a text in an error: on one line, and at most 60 characters.
fn quoted(text: &str) -> String {
    const MOST: usize = 60;
    let mut shown: String = text.chars().take(MOST).flat_map(escaped).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

fn escaped(c: char) -> impl Iterator<Item = char> {
    let (code, plain) = if c.is_control() { (Some(c.escape_default()), None) } else { (None, Some(c)) };
    code.into_iter().flatten().chain(plain)
}

fn damage(line: u64, at: &str, what: String) -> Damage {
    Damage { line, at: at.to_owned(), what }
}

#[cfg(test)]
mod tests;
