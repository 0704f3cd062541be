//! Why a run did not finish.

use std::borrow::Cow;
use std::path::PathBuf;

use weighbridge_lab::cleanup::guardian::GuardianError;
use weighbridge_lab::cleanup::registry::RegistryError;
use weighbridge_lab::cleanup::tracker::CleanupTrackerError;
use weighbridge_lab::host::cores::CoreError;
use weighbridge_lab::service::postgres::PostgresError;
use weighbridge_store::scrub::Secrets;
use weighbridge_store::{ReadError, WriteError};

use crate::block::BlockError;
use crate::block::client::ClientError;
use crate::hooks::HookError;
use crate::prepare::error::PrepareError;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("interrupted; {}, go on with `weigh run --resume {}`", kept(*.blocks), folder.display())]
    Interrupted { folder: PathBuf, blocks: usize },
    #[error("interrupted before anything was measured")]
    InterruptedEarly,
    #[error("{cause}; {}, go on with `weigh run --resume {}`", kept(*.blocks), folder.display())]
    Cut { cause: Box<RunError>, folder: PathBuf, blocks: usize },
    #[error(transparent)]
    Prepare(PrepareError),
    #[error(transparent)]
    Hook(#[from] HookError),
    #[error(transparent)]
    Block(BlockError),
    #[error(transparent)]
    Cores(#[from] CoreError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    Guardian(#[from] GuardianError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    CleanupTracker(#[from] CleanupTrackerError),
    #[error(transparent)]
    Database(PostgresError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("`{}` cannot be made: {source}; free space or change `--out`", path.display())]
    Logs { path: PathBuf, source: std::io::Error },
    #[error("the workload's files for services cannot be written to `{}`: {source}; free space or change `--out`", path.display())]
    Data { path: PathBuf, source: std::io::Error },
    #[error(
        "{void} blocks were thrown away and {used} count: {reason}; quiet the machine or fix the service"
    )]
    Disturbed {
        void: u32,
        used: u32,
        /// Why the last void block is void.
        reason: String,
    },
    #[error("{0}")]
    Hidden(String),
    #[error("run `{run}` cannot go on: {why}; start it anew")]
    NotResumable { run: String, why: String },
}

impl From<PostgresError> for RunError {
    fn from(error: PostgresError) -> Self {
        match error {
            PostgresError::Interrupted => Self::Block(BlockError::Interrupted),
            error => Self::Database(error),
        }
    }
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
    /// The error with secrets hidden.
    pub(crate) fn without(self, secrets: &Secrets) -> Self {
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
