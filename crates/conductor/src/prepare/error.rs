//! Why a run does not begin.

use std::borrow::Cow;

use weighbridge_lab::host::cores::CoreError;
use weighbridge_lab::host::resource_limits::ResourceLimitError;
use weighbridge_lab::service::catalog::CatalogError;
use weighbridge_store::scrub::Secrets;
use weighbridge_workload::WorkloadError;

use crate::prepare::launch_spec::LaunchSpecError;
use crate::prepare::services::NameError;
use crate::prepare::shapes::ShapeError;
use crate::prepare::sources::SourceError;

/// Why an experiment cannot be run here as it is; nothing was started yet.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The user asked to stop while services were looked up and built.
    #[error("interrupted before anything was measured")]
    Interrupted,
    /// A revision cannot be had, or a program not be built.
    #[error(transparent)]
    ProgramSource(SourceError),
    /// A request cannot be rendered.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// The load cannot be made, or not in windows.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// It cannot be found out how a variant is started.
    #[error(transparent)]
    LaunchSpec(#[from] LaunchSpecError),
    /// No variant can run here.
    #[error("no variant can run here: {0}")]
    NothingLeft(String),
    /// A service is in no catalogue.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The rate needs permission.
    #[error(
        "variant `{variant}`: {rate}/s against `{host}`, which is neither loopback nor private; add `--allow-remote` if that server is yours"
    )]
    Remote {
        /// The variant.
        variant: String,
        /// The host.
        host: String,
        /// The rate.
        rate: f64,
    },
    /// A limit that is none.
    #[error(
        "variant `{variant}`: `{key} = {limit}` is more than the {all} of this machine that services may use; give it less, or leave `{key}` out"
    )]
    MoreThanAll {
        /// The variant.
        variant: String,
        /// What is limited.
        key: &'static str,
        /// Its limit as it is written.
        limit: String,
        /// What there is, in words.
        all: String,
    },
    /// Two variants cannot run at the same time here.
    #[error(
        "`plan.pairing`: `duet` needs 4 cores, two for services and two for their clients, and `weigh` may use {cores} here; use `windows`, which shares the host's drift too, or a host with more cores"
    )]
    FewCores {
        /// Cores that there are.
        cores: usize,
    },
    /// One of two that were to run at the same time cannot run here.
    #[error(
        "`plan.pairing`: `duet` is of two variants, and not both can run here: {0}; use `windows` for those that can"
    )]
    Alone(String),
    /// This host has no room for so many connections.
    #[error(transparent)]
    Room(#[from] ResourceLimitError),
    /// The machine's cores could not be found out.
    #[error(transparent)]
    Cores(#[from] CoreError),
    /// The error said a secret: its words without it.
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
    /// The error as it may be told.
    pub(super) fn without(self, secrets: &Secrets) -> Self {
        match secrets.hide(&self.to_string()) {
            Cow::Borrowed(_) => self,
            Cow::Owned(text) => Self::Hidden(text),
        }
    }

    /// Whether the experiment itself is wrong, wherever it is run: a name that is in no catalogue.
    pub fn is_mistake(&self) -> bool {
        let unknown = |error: &NameError| matches!(*error.source, CatalogError::Unknown { .. });
        matches!(self, Self::Name(error) if unknown(error))
    }
}
