//! The CSV of ppbench and of its predecessor's ApacheBench runs: rows as typed values, read with the line and column of what
//! is wrong, and written as ppbench writes them.
//!
//! Every field keeps its text, so what is read and written again says the same to the letter. Failed and retried rows are
//! rows like others; nothing is dropped here.

mod fields;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::fields::records;

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

/// Columns of the first versions of ppbench, which knew one tag and derived nothing.
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
    /// The eleven fields as they are written, in the order of [`COLUMNS`].
    fields: [String; COLUMNS.len()],
    size: u64,
    failed: u64,
    time_ms: f64,
    retries: f64,
    status: u16,
}

/// Which of the layouts a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Eleven columns, written by `ppbench run`.
    Ppbench,
    /// Eight columns, written by its first versions.
    EarlyPpbench,
    /// One row for each run of ApacheBench.
    ApacheBench,
}

/// A file, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// How it was laid out.
    pub layout: Layout,
    /// Its rows, in their order.
    pub rows: Vec<Row>,
}

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {at}: {what}")]
pub struct Damage {
    /// Line, from 1.
    pub line: u64,
    /// The column's name, or where on the line.
    pub at: String,
    /// What is there, and what may be.
    pub what: String,
}

/// Readable names for the tags of machines and experiments: ppbench's naming file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Naming {
    /// By machine tag.
    pub machines: BTreeMap<String, String>,
    /// By experiment tag.
    pub experiments: BTreeMap<String, String>,
}

/// What a row of a measured request is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured<'a> {
    /// The machine's tag.
    pub machine: &'a str,
    /// The experiment's tag.
    pub experiment: &'a str,
    /// The path asked for.
    pub path: String,
    /// The size asked for, in bytes.
    pub size: u64,
    /// Whether it failed: 0 or 1 requests.
    pub failed: u64,
    /// Requests outstanding at once.
    pub concurrency: u64,
    /// Bytes of the body.
    pub length: u64,
    /// Its time in nanoseconds.
    pub time_ns: u64,
    /// How often it was repeated.
    pub retries: u32,
    /// The reply's status; 0 where there was none.
    pub status: u16,
}

impl Row {
    /// A row of one measured request, its figures as ppbench makes them.
    pub fn of(measured: &Measured<'_>) -> Self {
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
            time_ms,
            retries: f64::from(measured.retries),
            status: measured.status,
        }
    }

    /// The machine's tag.
    pub fn machine(&self) -> &str {
        &self.fields[0]
    }

    /// The experiment's tag.
    pub fn experiment(&self) -> &str {
        &self.fields[1]
    }

    /// The size asked for, in bytes: the last part of the path.
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Failed requests of the row.
    pub const fn failed(&self) -> u64 {
        self.failed
    }

    /// Mean time of its requests in milliseconds; may be 0 or below where the clock of the writer went wrong.
    pub const fn time_ms(&self) -> f64 {
        self.time_ms
    }

    /// Bytes of bodies per second of its time, as the writer says; may be infinite or no number.
    pub fn transfer_bytes_per_s(&self) -> f64 {
        self.fields[7].parse().unwrap_or(f64::NAN)
    }

    /// How often its requests were repeated.
    pub const fn retries(&self) -> f64 {
        self.retries
    }

    /// Whether its time may be used: nothing failed, the status is 200, the time above 0. ppbench drops the others in silence;
    /// here they are counted.
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.status == 200 && self.time_ms > 0.0
    }
}

impl Naming {
    /// Reads a naming file.
    ///
    /// # Errors
    /// In words, with line and column.
    pub fn parse(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| {
            format!(
                "{error}; a naming file is {{\"machines\": {{tag: name}}, \"experiments\": {{tag: name}}}}"
            )
        })
    }

    /// Adds tags that have no name yet, named like themselves: a file to be edited. Empty ones are no tags.
    pub fn add(&mut self, machine: Option<&str>, experiment: &str) {
        let tags = [(&mut self.machines, machine), (&mut self.experiments, Some(experiment))];
        for (names, tag) in tags {
            if let Some(tag) = tag.filter(|tag| !tag.is_empty()) {
                names.entry(tag.to_owned()).or_insert_with(|| tag.to_owned());
            }
        }
    }

    /// The file's text, which [`parse`](Self::parse) reads back.
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).expect("maps of text can be written") + "\n"
    }

    /// The name of a row's series: of the experiment, and of the machine where there is a tag of one.
    pub fn series(&self, row: &Row) -> String {
        self.name((!row.machine().is_empty()).then(|| row.machine()), row.experiment())
    }

    /// The readable name of two tags; of neither it is `untagged`.
    pub fn name(&self, machine: Option<&str>, experiment: &str) -> String {
        let named = |names: &BTreeMap<String, String>, tag: &str| {
            names.get(tag).cloned().unwrap_or_else(|| tag.to_owned())
        };
        let experiment = match named(&self.experiments, experiment) {
            empty if empty.is_empty() => "untagged".to_owned(),
            experiment => experiment,
        };
        match machine {
            None => experiment,
            Some(machine) => format!("{experiment} on {}", named(&self.machines, machine)),
        }
    }
}

/// Reads a file of any layout, told apart by its header.
///
/// # Errors
/// [`Damage`]: the first thing that is wrong.
pub fn read(text: &str) -> Result<Table, Damage> {
    let mut records = records(text.strip_prefix('\u{feff}').unwrap_or(text));
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
        let found = names.get(at).map_or("nothing".to_owned(), |name| format!("`{name}`"));
        let wanted = columns.get(at).map_or("the end of the line".to_owned(), |name| format!("`{name}`"));
        return Err(damage(
            header.line,
            &format!("column {}", at + 1),
            format!("{found} where {wanted} is expected"),
        ));
    }
    let mut rows = Vec::new();
    for record in records {
        let record = record?;
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
            Layout::ApacheBench => cells.apache_bench()?,
        });
    }
    Ok(Table { layout, rows })
}

/// The layout that a header begins. Both that begin with `Tag` differ in their third column.
fn layout(names: &[&str]) -> (Layout, &'static [&'static str]) {
    match names {
        ["Tag", "Document Path", "Failed requests", ..] => (Layout::EarlyPpbench, &EARLY_COLUMNS),
        ["Tag", ..] => (Layout::ApacheBench, &APACHE_BENCH_COLUMNS),
        _ => (Layout::Ppbench, &COLUMNS),
    }
}

/// The text of a file, and what is wrong with it where it is none.
///
/// # Errors
/// [`Damage`]: compressed, in UTF-16, or with bytes that are no UTF-8.
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

/// A number as rows hold it.
fn spelled(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => value.to_string(),
    }
}

fn damage(line: u64, at: &str, what: String) -> Damage {
    Damage { line, at: at.to_owned(), what }
}

/// The fields of one row, of as many as there are columns.
struct Cells {
    line: u64,
    columns: &'static [&'static str],
    fields: Vec<String>,
}

impl Cells {
    fn wrong(&self, at: usize, wanted: &str) -> Damage {
        let what = format!("`{}` is not {wanted}", self.fields[at]);
        damage(self.line, &format!("column `{}`", self.columns[at]), what)
    }

    fn whole(&self, at: usize) -> Result<u64, Damage> {
        self.fields[at].parse().map_err(|_| self.wrong(at, "a whole number"))
    }

    /// A number; derived columns of rows without time hold `NaN` or `Infinity`.
    fn number(&self, at: usize) -> Result<f64, Damage> {
        let text = &self.fields[at];
        let plain = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
        let is_word = matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity");
        let parsed = if plain || is_word { text.parse().ok() } else { None };
        parsed.ok_or_else(|| self.wrong(at, "a number"))
    }

    fn finite(&self, at: usize) -> Result<f64, Damage> {
        let number = self.number(at)?;
        if number.is_finite() { Ok(number) } else { Err(self.wrong(at, "a finite number")) }
    }

    /// The size at the end of a path such as `/mping/1961`.
    fn size(&self, at: usize) -> Result<u64, Damage> {
        let size = self.fields[at].rsplit_once('/').and_then(|(_, size)| size.parse().ok());
        size.ok_or_else(|| self.wrong(at, "a path that ends in a size, such as `/mping/1961`"))
    }

    fn ppbench(self) -> Result<Row, Damage> {
        let size = self.size(2)?;
        let failed = self.whole(3)?;
        self.whole(4)?;
        self.number(5)?;
        let time_ms = self.finite(6)?;
        self.number(7)?;
        self.number(8)?;
        let retries = self.finite(9)?;
        let status = self.fields[10].parse().map_err(|_| self.wrong(10, "a status from 0 to 65535"))?;
        let fields = self.fields.try_into().expect("as many fields as columns");
        Ok(Row { fields, size, failed, time_ms, retries, status })
    }

    /// As rows of eleven columns: the tag is the experiment's, and what is derived is derived as later versions do.
    fn early_ppbench(self) -> Result<Row, Damage> {
        let size = self.size(1)?;
        let failed = self.whole(2)?;
        self.whole(3)?;
        let length = self.number(4)?;
        let time_ms = self.finite(5)?;
        let retries = self.finite(6)?;
        let status = self.fields[7].parse().map_err(|_| self.wrong(7, "a status from 0 to 65535"))?;
        let per_time = |value: f64| spelled(if time_ms > 0.0 { value / time_ms } else { 0.0 });
        let text = |at: usize| self.fields[at].clone();
        let fields = [
            String::new(),
            text(0),
            text(1),
            text(2),
            text(3),
            text(4),
            text(5),
            per_time(1000.0 * length),
            per_time(1000.0),
            text(6),
            text(7),
        ];
        Ok(Row { fields, size, failed, time_ms, retries, status })
    }

    /// ApacheBench's time per request here is *across all concurrent requests*: a request took that, times their number.
    fn apache_bench(self) -> Result<Row, Damage> {
        let size = self.size(1)?;
        self.whole(2)?;
        self.finite(3)?;
        self.whole(4)?;
        let failed = self.whole(5)?;
        let concurrency = self.whole(6)?;
        self.finite(7)?;
        self.number(8)?;
        let rate = self.number(9)?;
        let time_ms = self.finite(10)? * concurrency as f64;
        if !time_ms.is_finite() {
            return Err(self.wrong(10, "a time that can be multiplied by the concurrency"));
        }
        let [tag, path, length] = [0, 1, 2].map(|at| self.fields[at].clone());
        // ApacheBench counts kilobytes of 1024, ppbench bytes.
        let rate = spelled(rate * 1024.0);
        let fields = [
            String::new(),
            tag,
            path,
            failed.to_string(),
            concurrency.to_string(),
            length,
            time_ms.to_string(),
            rate,
            self.fields[8].clone(),
            "0".to_owned(),
            "200".to_owned(),
        ];
        Ok(Row { fields, size, failed, time_ms, retries: 0.0, status: 200 })
    }
}

#[cfg(test)]
mod tests;
