//! Arguments of `weigh import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `weigh import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh import ppbench go.csv ruby.csv
  weigh import ppbench --naming names.json *.csv && weigh report
  weigh export --format ppbench-csv > all.csv")]
pub struct Import {
    /// Who wrote the files.
    #[arg(value_enum, value_name = "FORMAT")]
    pub format: ImportFormat,
    /// CSV files; their rows become one run, the first series the reference. `-` is stdin.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// ppbench's naming file: readable names for the tags of machines and experiments.
    #[arg(long, value_name = "FILE")]
    pub naming: Option<PathBuf>,
    /// Folder in which the run's folder is made.
    #[arg(long, default_value = "runs", value_name = "DIR")]
    pub out: PathBuf,
}

/// Whose files can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// ppbench's CSV of eleven columns, and its predecessor's of ApacheBench runs.
    Ppbench,
}
