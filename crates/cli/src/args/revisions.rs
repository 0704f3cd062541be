//! Arguments about revisions of one program.

use clap::Args;

/// Revisions of one program.
#[derive(Debug, Clone, Args)]
pub struct Revisions {
    /// Revisions of one program, comma-separated.
    ///
    /// Weigh revisions of the current folder's repository, comma-separated, the first as the baseline: branches, tags,
    /// hashes, `HEAD~1`; `worktree` is the working tree as it is. The experiment has one variant, a `command`.
    #[arg(long, value_delimiter = ',', value_name = "REVISION")]
    pub revisions: Vec<String>,
    /// With --revisions: builds each of them.
    ///
    /// With --revisions: builds each revision, in its own tree, by `sh -c`.
    #[arg(long, value_name = "COMMAND", requires = "revisions")]
    pub build: Option<String>,
    /// A program, `{port}` for its port; may be repeated.
    ///
    /// Instead of an experiment file: a program with its arguments, `{port}` for its port. Repeat it to weigh several,
    /// the first as the baseline, or give one with --revisions.
    #[arg(long = "command", value_name = "COMMAND", conflicts_with = "experiment")]
    pub commands: Vec<String>,
    /// With --command: what is fetched [default: /].
    #[arg(long, value_name = "PATH", requires = "commands")]
    pub url_path: Option<String>,
}
