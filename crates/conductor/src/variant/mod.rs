//! A variant for one block: its processes, network, layers and output, from the start to the end.

pub(crate) mod cpu_usage;
pub(crate) mod data;
pub(crate) mod direct;
mod files;
pub(crate) mod launcher;
pub(crate) mod memory_watch;
pub(crate) mod network;
pub(crate) mod output;
pub(crate) mod peer;
pub(crate) mod readiness;
pub(crate) mod roles;
pub(crate) mod running;

use weighbridge_lab::host::cores::CoreError;
use weighbridge_lab::layers::LayerError;
use weighbridge_lab::process::freeze::FreezeError;
use weighbridge_lab::process::launch::LaunchError;
use weighbridge_lab::service::state::StateError;
use weighbridge_model::quantity::Bytes;

use crate::prepare::launch_spec::LaunchSpecError;

/// Why a variant cannot be prepared or started.
#[derive(Debug, thiserror::Error)]
pub enum VariantError {
    #[error("{source}")]
    Launch {
        variant: String,
        /// What went wrong.
        source: LaunchError,
    },
    #[error("variant `{variant}`: {source}")]
    State {
        variant: String,
        /// What went wrong.
        source: StateError,
    },
    #[error(transparent)]
    LaunchSpec(#[from] LaunchSpecError),
    #[error(
        "{largest} of memory for a variant and {available} to be had leave room for {together} variants at once"
    )]
    Crowded {
        /// Variants that may live at once.
        together: usize,
        /// What the largest that was started holds.
        largest: Bytes,
        /// What could still be had.
        available: Bytes,
    },
    #[error("variant `{variant}`: {source}")]
    Move {
        variant: String,
        /// What went wrong.
        source: CoreError,
    },
    #[error("variant `{variant}`: {source}")]
    Layer {
        variant: String,
        /// What went wrong.
        source: Box<LayerError>,
    },
    #[error("variant `{variant}`: {source}")]
    Freeze {
        variant: String,
        /// What went wrong.
        source: FreezeError,
    },
}
