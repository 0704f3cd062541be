//! Renders results: terminal tables, charts, HTML, JSON, CSV, Markdown, and the formats of other programs.
//!
//! Everything here is a function of values: it writes no file, reads no clock and computes no statistic. A
//! figure that is not in a [`Summary`] or a [`Detail`] cannot be shown, and one that was withheld is shown as
//! withheld.

pub mod browse;
pub mod calibration;
mod capacity;
pub mod cite;
pub mod columns;
pub mod csv;
pub mod export;
mod factorial;
mod goodput;
mod hdr_log;
pub mod html;
mod jmh;
pub mod json;
mod junit;
mod latency;
mod layering;
mod legs;
pub mod load;
pub mod markdown;
mod names;
mod open_metrics;
pub mod overview;
#[cfg(feature = "parquet")]
mod parquet;
mod parts;
mod plain;
pub mod plot;
pub mod rejudged;
pub mod reliability;
mod result_tables;
mod schema;
mod style;
pub mod table;
pub mod terminal;
pub mod text;
mod view;
mod words;

use std::fmt;
use std::str::FromStr;

use serde_json::Value;
use weighbridge_model::gate::GateResult;
use weighbridge_model::summary::{Detail, Summary};

pub use columns::TableName;
pub use export::{ExportError, ExportFormat, Exported, export};
pub use html::{Comparison, HowToRepeat, page, suite_page};
pub use jmh::JmhClass;
pub use schema::Schema;
pub use style::{Style, Tone};
pub use words::{Shown, headline_sentences, interim_change, point as point_words, sentence};

/// Columns assumed where the terminal's width is not known.
pub const DEFAULT_COLUMNS: usize = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    /// For programs, under the published schema.
    Json,
    /// For spreadsheets, with one cost per line.
    Csv,
    /// GitHub's Markdown, for a pull request.
    Markdown,
    /// One self-contained page.
    Html,
}

impl Format {
    /// In the order of help texts.
    pub const ALL: [Self; 5] = [Self::Text, Self::Json, Self::Csv, Self::Markdown, Self::Html];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Csv => "csv",
            Self::Markdown => "markdown",
            Self::Html => "html",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("`{0}` is not an output format; allowed: {list}", list = Format::ALL.map(Format::name).join(", "))]
    Unknown(String),
    #[error("`{format}` is not available for {what}; use one of: {allowed}")]
    Unavailable {
        format: Format,
        /// The result, in words: `one URL`.
        what: &'static str,
        allowed: &'static str,
    },
}

impl FromStr for Format {
    type Err = FormatError;
    fn from_str(text: &str) -> Result<Self, FormatError> {
        let name = text.trim().to_lowercase();
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| FormatError::Unknown(text.to_owned()))
    }
}

/// One run and everything that its report shows.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    pub summary: &'a Summary,
    pub detail: &'a Detail,
    /// The host and its tools, as stored with the run.
    pub environment: &'a Value,
    pub how: &'a HowToRepeat,
    pub gates: &'a [GateResult],
}

#[derive(Debug, Clone, Copy)]
pub struct TextOptions<'a> {
    pub style: Style,
    /// Columns of the terminal: less than 80 counts as 80.
    pub columns: usize,
    /// Path of the run or of its report, for the last line.
    pub place: Option<&'a str>,
    /// Whether to show every quantity, operation and finding, rather than what is asked most.
    pub details: bool,
}

impl Default for TextOptions<'_> {
    fn default() -> Self {
        Self { style: Style::Plain, columns: DEFAULT_COLUMNS, place: None, details: false }
    }
}

impl TextOptions<'_> {
    fn width(&self) -> usize {
        self.columns.max(DEFAULT_COLUMNS)
    }
}

pub fn render(format: Format, report: &Report<'_>, options: &TextOptions<'_>) -> String {
    match format {
        Format::Text => terminal::verdicts(report.summary, report.gates, options),
        Format::Json => json::run(report.summary),
        Format::Csv => csv::costs(&[report.summary]),
        Format::Markdown => markdown::verdicts(report.summary, report.gates),
        Format::Html => page(&[*report], &[]),
    }
}

pub fn render_suite(format: Format, reports: &[Report<'_>], options: &TextOptions<'_>) -> String {
    let summaries: Vec<&Summary> = reports.iter().map(|report| report.summary).collect();
    let each = |page: &dyn Fn(&Report<'_>) -> String| reports.iter().map(page).collect::<Vec<_>>().join("\n");
    match format {
        Format::Text => each(&|report| terminal::verdicts(report.summary, report.gates, options)),
        Format::Json => json::suite(&summaries),
        Format::Csv => csv::costs(&summaries),
        Format::Markdown => each(&|report| markdown::verdicts(report.summary, report.gates)),
        Format::Html => suite_page(reports),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_format_names_the_allowed_ones() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        let error = "xml".parse::<Format>().unwrap_err().to_string();
        assert_eq!(error, "`xml` is not an output format; allowed: text, json, csv, markdown, html");
    }
}
