//! Why a run did not finish.

use std::borrow::Cow;
use std::path::PathBuf;

use weighbridge_lab::cleanup::guardian::GuardianError;
use weighbridge_lab::cleanup::registry::RegistryError;
use weighbridge_lab::cleanup::tracker::CleanupTrackerError;
use weighbridge_lab::host::cores::CoreError;
use weighbridge_store::scrub::Secrets;
use weighbridge_store::{ReadError, WriteError};

use crate::block::BlockError;
use crate::block::client::ClientError;
use crate::hooks::HookError;
use crate::prepare::error::PrepareError;

/// Why a run did not finish.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The user asked to stop; whole blocks are kept.
    #[error("interrupted; {}, go on with `weigh run --resume {}`", kept(*.blocks), folder.display())]
    Interrupted {
        /// The run folder.
        folder: PathBuf,
        /// Whole blocks kept.
        blocks: usize,
    },
    /// The user asked to stop while services were looked up and built.
    #[error("interrupted before anything was measured")]
    InterruptedEarly,
    /// The run failed, and whole blocks are kept.
    #[error("{cause}; {}, go on with `weigh run --resume {}`", kept(*.blocks), folder.display())]
    Cut {
        /// What went wrong.
        cause: Box<RunError>,
        /// The run folder.
        folder: PathBuf,
        /// Whole blocks kept.
        blocks: usize,
    },
    /// It did not begin.
    #[error(transparent)]
    Prepare(PrepareError),
    /// A hook failed.
    #[error(transparent)]
    Hook(#[from] HookError),
    /// A block could not be measured.
    #[error(transparent)]
    Block(BlockError),
    /// The machine's cores could not be found out.
    #[error(transparent)]
    Cores(#[from] CoreError),
    /// The generator could not be started.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The guardian could not be started.
    #[error(transparent)]
    Guardian(#[from] GuardianError),
    /// The registry could not be written.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// Something that was started could not be released.
    #[error(transparent)]
    CleanupTracker(#[from] CleanupTrackerError),
    /// The run folder could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The run folder could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The folder of the services' output could not be made.
    #[error("`{}` cannot be made: {source}; free space or change `--out`", path.display())]
    Logs {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// What the workload made for services could not be written.
    #[error("the workload's files for services cannot be written to `{}`: {source}; free space or change `--out`", path.display())]
    Data {
        /// Their folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// Too many blocks were disturbed.
    #[error(
        "{void} blocks were thrown away and {used} count: {reason}; quiet the machine or mend the service"
    )]
    Disturbed {
        /// Blocks thrown away.
        void: u32,
        /// Blocks that count.
        used: u32,
        /// Why the last one was.
        reason: String,
    },
    /// The error said a secret: its words without it.
    #[error("{0}")]
    Hidden(String),
    /// The run cannot be continued as it was.
    #[error("run `{run}` cannot go on: {why}; start it anew")]
    NotResumable {
        /// The run folder.
        run: String,
        /// What differs.
        why: String,
    },
}

impl From<PrepareError> for RunError {
    fn from(error: PrepareError) -> Self {
        match error {
            PrepareError::Interrupted => Self::InterruptedEarly,
            error => Self::Prepare(error),
        }
    }
}

impl RunError {
    /// The error as it may be told.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        if let Self::Interrupted { .. } | Self::InterruptedEarly = self {
            return self;
        }
        match secrets.hide(&self.to_string()) {
            Cow::Borrowed(_) => self,
            Cow::Owned(text) => Self::Hidden(text),
        }
    }
}

fn kept(blocks: usize) -> String {
    match blocks {
        0 => "no block was whole yet".to_owned(),
        1 => "1 whole block is kept".to_owned(),
        blocks => format!("{blocks} whole blocks are kept"),
    }
}
