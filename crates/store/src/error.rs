//! Errors of run folders. Every message names the file and the next step.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a run folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It has no `run.json`: a wrong path, or the run ended while its folder was being created.
    #[error(
        "`{path}` is not a run folder (it has no `run.json`); give the path of a folder that `weigh run` made"
    )]
    NotARun { path: PathBuf },
    #[error(
        "`{path}` has schema {found}, this `weigh` reads schema {supported}; use the version that wrote it"
    )]
    Schema { path: PathBuf, found: u64, supported: u32 },
    #[error(
        "`{path}` is missing: the run ended before it was written, or it was removed since; measure again"
    )]
    Missing { path: PathBuf },
    #[error("`{path}`{at}: {problem}; restore the file from a copy or measure again", at = LineNumber(*.line))]
    Damaged {
        path: PathBuf,
        /// From 1; `None` if unknown.
        line: Option<u64>,
        problem: String,
    },
    #[error(
        "`{path}` was changed after the run (its SHA-256 differs from the recorded one); restore the file from a \
         copy or measure again"
    )]
    Altered { path: PathBuf },
    /// The summary is there, but not all on which it rests is as it was.
    #[error("{0}; `weigh export --unverified` shows the stored results all the same")]
    Evidence(Box<ReadError>),
    #[error("`{path}` cannot be read: {source}; put a readable file there and try again")]
    Io { path: PathBuf, source: io::Error },
}

/// Why a run folder cannot be written. Blocks that were written before are always kept.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("no space left to write `{path}`; free space and {next}")]
    DiskFull { path: PathBuf, next: NextStep },
    #[error("`{path}` may not be written ({source}); make it writable and {next}")]
    Denied { path: PathBuf, source: io::Error, next: NextStep },
    #[error("`{path}` cannot be written: {source}; remove the cause and {next}")]
    Io { path: PathBuf, source: io::Error, next: NextStep },
    #[error("`{folder}` is being written by {owner}; wait until it ends, or stop it", owner = Owner(*.pid))]
    Locked {
        folder: PathBuf,
        /// The owner's process id; `None` if it has not written it yet.
        pid: Option<u32>,
    },
    #[error("a block without trials cannot be stored; give one trial of every variant")]
    EmptyBlock,
    #[error("trials of blocks {first} and {other} were given together; write one block at a time")]
    MixedBlock { first: u32, other: u32 },
    #[error("block {block} is stored already; give the next block its own number")]
    BlockExists { block: u32 },
    #[error(
        "block {block} has no trial of variant `{variant}`; write a block only when all its trials have ended"
    )]
    MissingVariant { block: u32, variant: String },
    #[error(
        "a trial of block {block} is of variant {variant}, which takes no part; list it among the participants"
    )]
    UnknownVariant {
        block: u32,
        /// Position in the experiment.
        variant: u16,
    },
    #[error("{what} cannot be stored: {problem}; please report this as a defect")]
    NotStorable { what: String, problem: String },
    #[error("`{name}` is not a name for a derived file; use a plain file name that is no part of the record")]
    DerivedName { name: String },
    #[error(transparent)]
    Unreadable(#[from] ReadError),
}

/// What the user does after removing the cause of a failed write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// The run's complete blocks are kept: continue it.
    Resume(PathBuf),
    /// Nothing was measured yet: start again, here or elsewhere.
    StartAgain,
    /// The run is complete; only this file is missing.
    Repeat,
}

impl fmt::Display for NextStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resume(folder) => write!(f, "continue with `weigh run --resume {}`", folder.display()),
            Self::StartAgain => f.write_str("start again, or choose another folder with `--out DIR`"),
            Self::Repeat => f.write_str("repeat the command"),
        }
    }
}

/// A defect inside a file whose path is added later.
#[derive(Debug, PartialEq)]
pub(crate) struct Problem {
    pub(crate) line: Option<u64>,
    pub(crate) what: String,
}

impl Problem {
    pub(crate) fn on_line(line: u64, what: impl Into<String>) -> Self {
        Self { line: Some(line), what: what.into() }
    }

    pub(crate) fn somewhere(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }

    pub(crate) fn from_json(error: &serde_json::Error) -> Self {
        // serde_json appends the position to its message; ours comes first.
        let message = error.to_string();
        let what = message.split(" at line ").next().unwrap_or(&message).to_owned();
        Self { line: u64::try_from(error.line()).ok().filter(|line| *line > 0), what }
    }

    pub(crate) fn at(self, path: impl Into<PathBuf>) -> ReadError {
        ReadError::Damaged { path: path.into(), line: self.line, problem: self.what }
    }
}

struct LineNumber(Option<u64>);

impl fmt::Display for LineNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, " line {line}"))
    }
}

struct Owner(Option<u32>);

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}
