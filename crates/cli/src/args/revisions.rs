//! Arguments about revisions of one program.

use clap::Args;

/// Revisions of one program.
#[derive(Debug, Clone, Args)]
pub struct Revisions {
    /// Weigh revisions of the current folder's repository, comma-separated, the first as the baseline: branches, tags,
    /// hashes, `HEAD~1`; `worktree` is the working tree as it is. The experiment has one variant, a `command`.
    #[arg(long, value_delimiter = ',', value_name = "REVISION")]
    pub revisions: Vec<String>,
    /// With --revisions: builds each revision, in its own tree, by `sh -c`.
    #[arg(long, value_name = "COMMAND", requires = "revisions")]
    pub build: Option<String>,
    /// With --revisions, instead of an experiment file: the program and its arguments, `{port}` for its port.
    #[arg(long, value_name = "COMMAND", requires = "revisions", conflicts_with = "experiment")]
    pub command: Option<String>,
    /// With --command: what is fetched from it [default: /].
    #[arg(long, value_name = "PATH", requires = "command")]
    pub url_path: Option<String>,
}
