//! Why a run does not begin.

use std::borrow::Cow;

use weighbridge_lab::host::cores::CoreError;
use weighbridge_lab::host::resource_limits::ResourceLimitError;
use weighbridge_lab::service::catalog::CatalogError;
use weighbridge_lab::service::postgres::PostgresError;
use weighbridge_model::experiment::HeapSize;
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::WorkloadError;

use crate::prepare::launch_spec::LaunchSpecError;
use crate::prepare::remote::RemoteError;
use crate::prepare::services::NameError;
use crate::prepare::shapes::ShapeError;
use crate::prepare::sources::SourceError;
use crate::with_variant::WithVariant;

/// Why an experiment cannot be run here as it is. Nothing was started yet.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error("interrupted before anything was measured")]
    Interrupted,
    #[error(transparent)]
    ProgramSource(SourceError),
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Shape(#[from] ShapeError),
    #[error(transparent)]
    LaunchSpec(#[from] LaunchSpecError),
    #[error("no variant can run here: {0}")]
    NothingLeft(String),
    #[error(transparent)]
    Name(#[from] NameError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
    #[error(
        "variant `{variant}`: `{key} = {limit}` is more than the {all} of this machine that services may use; give it less, or leave `{key}` out"
    )]
    MoreThanAll {
        variant: String,
        key: &'static str,
        /// The limit as it is written.
        limit: String,
        /// What is available, in words.
        all: String,
    },
    #[error(
        "`plan.pairing`: `duet` needs 4 cores, two for services and two for their clients, and `weigh` may use {cores} here; use `windows`, which shares the host's drift too, or a host with more cores"
    )]
    FewCores { cores: usize },
    #[error(
        "`plan.pairing`: `duet` is of two variants, and not both can run here: {0}; use `windows` for those that can"
    )]
    Alone(String),
    #[error(
        "at `{from}` and at `{to}` a service would load different files, and it loads them once, for all points; write one experiment for each"
    )]
    Data { from: String, to: String },
    #[error(
        "variant `{variant}`: `jvm.heap = \"{heap}\"` is a multiple of the smallest heap for a passage, and the workload `{workload}` has no \
         passages; give a size, such as `256 MiB`"
    )]
    HeapWithoutPassages { variant: String, heap: HeapSize, workload: &'static str },
    #[error(
        "variant `{variant}`: how large a heap of `{heap}` is was not searched for; give a size, such as `256 MiB`"
    )]
    HeapUnknown { variant: String, heap: HeapSize },
    #[error(transparent)]
    Room(#[from] ResourceLimitError),
    #[error(transparent)]
    Cores(#[from] CoreError),
    #[error(transparent)]
    Database(#[from] WithVariant<PostgresError>),
    #[error("{0}")]
    Hidden(String),
}

impl From<SourceError> for PrepareError {
    fn from(error: SourceError) -> Self {
        match error {
            SourceError::Interrupted => Self::Interrupted,
            error => Self::ProgramSource(error),
        }
    }
}

impl PrepareError {
    /// The error with secrets hidden.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        match secrets.hide(&self.to_string()) {
            Cow::Borrowed(_) => self,
            Cow::Owned(text) => Self::Hidden(text),
        }
    }

    /// Whether the experiment is wrong on every host: it names a service that is in no catalogue.
    pub fn is_mistake(&self) -> bool {
        let unknown = |error: &NameError| matches!(*error.source, CatalogError::Unknown { .. });
        match self {
            Self::Name(error) => unknown(error),
            Self::Shape(error) => error.is_mistake(),
            Self::Data { .. } => true,
            _ => false,
        }
    }
}
