//! Arguments of `weigh summary` and `weigh cite`.

use super::Verification;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `weigh summary`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh summary
  weigh summary runs/20260101-120000-pong runs/20260108-120000-imported --naming names.json
  weigh summary runs/* --naming-template -o names.json
  weigh summary runs/* --machine m3.large,m3.xlarge --experiment bare-go --format csv -o summary.csv")]
pub struct Summary {
    /// Run folders, imported ones too; the newest in `runs` without any.
    #[arg(value_name = "RUN")]
    pub runs: Vec<PathBuf>,
    /// Only what has one of these machine tags, comma-separated.
    #[arg(long = "machine", visible_alias = "machines", value_delimiter = ',', value_name = "TAG")]
    pub machines: Vec<String>,
    /// Only what has one of these experiment tags, comma-separated.
    #[arg(long = "experiment", visible_alias = "experiments", value_delimiter = ',', value_name = "TAG")]
    pub experiments: Vec<String>,
    /// Only what has this tag; repeat for several.
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = weighbridge_model::tags::parse)]
    pub tags: Vec<(String, String)>,
    /// ppbench's naming file: readable names for the tags of machines and experiments.
    #[arg(long, value_name = "FILE")]
    pub naming: Option<PathBuf>,
    /// Write a naming file instead: every tag of these runs, named like itself, to be edited. With `--naming` the names that
    /// are given there are kept.
    #[arg(long, conflicts_with = "format")]
    pub naming_template: bool,
    /// Where and how to print.
    #[command(flatten)]
    pub output: super::Output,
    #[command(flatten)]
    pub verification: Verification,
}

/// Arguments of `weigh cite`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  weigh cite
  weigh cite --format bibtex >> references.bib
  weigh cite runs/20260101-120000-pong")]
pub struct Cite {
    /// A run folder: cite what was measured there too.
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// How it is written.
    #[arg(long, value_enum, default_value_t = CiteFormat::Text, value_name = "FORMAT")]
    pub format: CiteFormat,
}

/// How a citation is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CiteFormat {
    /// Sentences.
    Text,
    /// Entries of a bibliography for BibTeX and biblatex.
    Bibtex,
    /// The same facts for programs.
    Json,
    /// Of Weighbridge itself: the Citation File Format, as `CITATION.cff` has it.
    Cff,
}
