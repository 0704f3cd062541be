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

use crate::of_variant::OfVariant;
use crate::prepare::launch_spec::LaunchSpecError;

/// Why a variant cannot be prepared or started.
#[derive(Debug, thiserror::Error)]
pub enum VariantError {
    #[error("{0}")]
    Launch(#[source] LaunchError),
    #[error(transparent)]
    State(#[from] OfVariant<StateError>),
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
    #[error(transparent)]
    Move(#[from] OfVariant<CoreError>),
    #[error(transparent)]
    Layer(#[from] OfVariant<Box<LayerError>>),
    #[error(transparent)]
    Freeze(#[from] OfVariant<FreezeError>),
}
