//! What can go wrong with a run folder. Every message names the file and the next step; nothing here decides
//! what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a run folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path holds no run: it has no `run.json`. Another path was meant, or the run ended while its folder was
    /// being made.
    #[error(
        "`{path}` is not a run folder (it has no `run.json`); give the path of a folder that `weigh run` made"
    )]
    NotARun {
        /// The path given.
        path: PathBuf,
    },
    #[error(
        "`{path}` has schema {found}, this `weigh` reads schema {supported}; use the version that wrote it"
    )]
    Schema {
        /// The file with the version.
        path: PathBuf,
        /// The version in it.
        found: u64,
        /// The version that can be read.
        supported: u32,
    },
    #[error(
        "`{path}` is missing: the run ended before it was written, or it was removed since; measure again"
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    #[error("`{path}`{at}: {problem}; restore the file from a copy or measure again", at = LineNumber(*.line))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1, where one can be named.
        line: Option<u64>,
        /// What is wrong there.
        problem: String,
    },
    #[error(
        "`{path}` was changed after the run (its SHA-256 differs from the recorded one); restore the file from a \
         copy or measure again"
    )]
    Altered {
        /// The file.
        path: PathBuf,
    },
    #[error("`{path}` cannot be read: {source}; make it readable and try again")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// Why a run folder cannot be written. Blocks that were written before are kept in every case.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("no space left to write `{path}`; free space and {next}")]
    DiskFull {
        /// The file or folder.
        path: PathBuf,
        /// How to go on.
        next: NextStep,
    },
    #[error("`{path}` may not be written ({source}); make it writable and {next}")]
    Denied {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
        /// How to go on.
        next: NextStep,
    },
    #[error("`{path}` cannot be written: {source}; remove the cause and {next}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
        /// How to go on.
        next: NextStep,
    },
    #[error("`{folder}` is being written by {owner}; wait until it ends, or stop it", owner = Owner(*.pid))]
    Locked {
        /// The run folder.
        folder: PathBuf,
        /// Its process id, where it has been noted already.
        pid: Option<u32>,
    },
    #[error("a block without trials cannot be stored; give one trial of every variant")]
    EmptyBlock,
    #[error("trials of blocks {first} and {other} were given together; write one block at a time")]
    MixedBlock {
        /// Block of the first trial.
        first: u32,
        /// Another trial's block.
        other: u32,
    },
    #[error("block {block} is stored already; give the next block its own number")]
    BlockExists { block: u32 },
    #[error(
        "block {block} has no trial of variant `{variant}`; write a block only when all its trials have ended"
    )]
    MissingVariant {
        block: u32,
        /// The variant's name.
        variant: String,
    },
    #[error(
        "a trial of block {block} is of variant {variant}, which takes no part; list it among the participants"
    )]
    UnknownVariant {
        block: u32,
        /// The variant's position in the experiment.
        variant: u16,
    },
    #[error("{what} cannot be stored: {problem}; please report this as a defect")]
    NotStorable {
        /// What was to be stored.
        what: String,
        /// Why not.
        problem: String,
    },
    #[error("`{name}` is not a name for a derived file; use a plain file name that is no part of the record")]
    DerivedName {
        /// The name given.
        name: String,
    },
    #[error(transparent)]
    Unreadable(#[from] ReadError),
}

/// What the user does once the cause of a failed write is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// The run's whole blocks are kept: go on with it.
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

/// Something wrong inside a file, before the file's path is known.
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

    pub(crate) fn of_json(error: &serde_json::Error) -> Self {
        // serde_json repeats the position at the end of its message; ours stands in front.
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
