//! A stored run in the formats of other programs, one file per format. `docs/RECORD.md` says what each format
//! holds and leaves out; nothing is computed here.

use std::fmt;
use std::str::FromStr;

use weighbridge_model::evidence::Evidence;
use weighbridge_model::ppbench::{self, Row};

use crate::columns::TableName;
use crate::jmh::JmhClass;
use crate::{Report, TextOptions, csv, hdr_log, html, jmh, json, junit, markdown, open_metrics, terminal};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    Text,
    /// The summary, under its published schema.
    Json,
    /// The data of the charts, under its own schema.
    Detail,
    Csv,
    /// Needs the cargo feature `parquet`.
    Parquet,
    Markdown,
    Html,
    /// Histograms of requests, for readers of HdrHistogram's logs.
    HdrLog,
    /// The JSON of the Java microbenchmark harness, for its visualisers.
    Jmh,
    /// The table that the Java harness prints.
    JmhText,
    /// For Prometheus and compatible systems.
    OpenMetrics,
    /// Verdicts and gates as test cases, for CI systems.
    Junit,
    /// Single requests of workloads over a range of sizes, for ppbench.
    PpbenchCsv,
}

impl ExportFormat {
    /// In the order of help texts.
    pub const ALL: [Self; 13] = [
        Self::Text,
        Self::Json,
        Self::Detail,
        Self::Csv,
        Self::Parquet,
        Self::Markdown,
        Self::Html,
        Self::HdrLog,
        Self::Jmh,
        Self::JmhText,
        Self::OpenMetrics,
        Self::Junit,
        Self::PpbenchCsv,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Detail => "detail",
            Self::Csv => "csv",
            Self::Parquet => "parquet",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::HdrLog => "hdr-log",
            Self::Jmh => "jmh",
            Self::JmhText => "jmh-text",
            Self::OpenMetrics => "openmetrics",
            Self::Junit => "junit",
            Self::PpbenchCsv => "ppbench-csv",
        }
    }

    /// File name extension without the dot.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Text | Self::JmhText | Self::OpenMetrics => "txt",
            Self::Json | Self::Detail | Self::Jmh => "json",
            Self::Csv | Self::PpbenchCsv => "csv",
            Self::Parquet => "parquet",
            Self::Markdown => "md",
            Self::Html => "html",
            Self::HdrLog => "hlog",
            Self::Junit => "xml",
        }
    }

    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Text | Self::HdrLog | Self::JmhText => "text/plain; charset=utf-8",
            Self::Json | Self::Detail | Self::Jmh => "application/json",
            Self::Csv | Self::PpbenchCsv => "text/csv; charset=utf-8",
            Self::Parquet => "application/vnd.apache.parquet",
            Self::Markdown => "text/markdown; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Junit => "application/xml",
        }
    }

    /// Whether it writes one of several tables.
    pub const fn has_tables(self) -> bool {
        matches!(self, Self::Csv | Self::Parquet)
    }

    /// Whether it needs the records beside the summary.
    pub const fn needs_evidence(self, table: TableName) -> bool {
        matches!(self, Self::HdrLog | Self::Jmh | Self::JmhText)
            || (self.has_tables() && table.needs_evidence())
    }

    /// Whether every run can be written in it: single requests are kept only if sizes vary.
    pub const fn is_of_every_run(self) -> bool {
        !matches!(self, Self::PpbenchCsv)
    }

    pub const fn is_built(self) -> bool {
        cfg!(feature = "parquet") || !matches!(self, Self::Parquet)
    }

    /// Whether a terminal can show it.
    pub const fn is_text(self) -> bool {
        !matches!(self, Self::Parquet)
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("`{0}` is not an export format; allowed: {list}", list = ExportFormat::ALL.map(ExportFormat::name).join(", "))]
    Unknown(String),
    #[error(
        "`{0}` is not built into this `weigh`; build it with `cargo build --release --features {0}`, or use `csv`"
    )]
    NotBuilt(ExportFormat),
    #[error("`{format}` could not be written: {problem}; use `csv`, and report this")]
    Encoding {
        format: ExportFormat,
        /// The encoder's message.
        problem: String,
    },
}

impl FromStr for ExportFormat {
    type Err = ExportError;
    fn from_str(text: &str) -> Result<Self, ExportError> {
        let name = text.trim().to_lowercase();
        Self::ALL
            .into_iter()
            .find(|format| format.name() == name)
            .ok_or_else(|| ExportError::Unknown(text.to_owned()))
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Exported<'a> {
    pub report: Report<'a>,
    /// Windows, blocks and histograms, for formats that [need them](ExportFormat::needs_evidence).
    pub evidence: Option<&'a Evidence>,
    /// Single requests, for [`ExportFormat::PpbenchCsv`].
    pub rows: &'a [Row],
    /// For [`ExportFormat::Jmh`] and [`ExportFormat::JmhText`].
    pub jmh_class: JmhClass,
}

/// Writes a run; `table` chooses among the tables of formats that have several.
pub fn export(
    format: ExportFormat,
    table: TableName,
    run: &Exported<'_>,
    options: &TextOptions<'_>,
) -> Result<Vec<u8>, ExportError> {
    let report @ Report { summary, detail, .. } = run.report;
    let nothing = Evidence::default();
    let evidence = run.evidence.unwrap_or(&nothing);
    let text = match format {
        ExportFormat::Text => terminal::verdicts(summary, report.gates, options),
        ExportFormat::Json => json::run(summary),
        ExportFormat::Detail => json::pretty(detail),
        ExportFormat::Csv => csv::table(table, summary, run.evidence),
        ExportFormat::Parquet => return parquet(table, run),
        ExportFormat::Markdown => markdown::verdicts(summary, report.gates),
        ExportFormat::Html => html::page(&[report], &[]),
        ExportFormat::HdrLog => {
            return hdr_log::log(summary, evidence)
                .map_err(|problem| ExportError::Encoding { format, problem });
        }
        ExportFormat::Jmh => jmh::results(summary, evidence, run.jmh_class),
        ExportFormat::JmhText => jmh::table(summary, evidence, run.jmh_class),
        ExportFormat::OpenMetrics => open_metrics::exposition(summary),
        ExportFormat::Junit => junit::cases(summary, report.gates),
        ExportFormat::PpbenchCsv => ppbench::write(run.rows),
    };
    Ok(text.into_bytes())
}

#[cfg(feature = "parquet")]
fn parquet(table: TableName, run: &Exported<'_>) -> Result<Vec<u8>, ExportError> {
    crate::parquet::table(table, run.report.summary, run.evidence)
        .map_err(|error| ExportError::Encoding { format: ExportFormat::Parquet, problem: error.to_string() })
}

#[cfg(not(feature = "parquet"))]
fn parquet(_table: TableName, _run: &Exported<'_>) -> Result<Vec<u8>, ExportError> {
    Err(ExportError::NotBuilt(ExportFormat::Parquet))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_format_or_table_names_the_allowed_ones() {
        for format in ExportFormat::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        for table in TableName::ALL {
            assert_eq!(table.name().parse(), Ok(table));
        }
        let error = "xml".parse::<ExportFormat>().unwrap_err().to_string();
        assert!(
            error.starts_with("`xml` is not an export format; allowed: text, json, detail, csv"),
            "{error}"
        );
        let error = "rows".parse::<TableName>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`rows` is not a table; allowed: costs, figures, blocks, windows, samples, waterfall, sums, interactions, slopes, tables"
        );
    }
}
