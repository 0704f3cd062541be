//! A variant during one block, from start to end: its processes, network, layers and output.

pub(crate) mod cpu_usage;
pub(crate) mod data;
pub(crate) mod database;
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
use weighbridge_lab::service::postgres::PostgresError;
use weighbridge_lab::service::state::StateError;
use weighbridge_model::experiment::HeapSize;
use weighbridge_model::quantity::Bytes;

use crate::prepare::launch_spec::LaunchSpecError;
use crate::with_variant::WithVariant;

#[derive(Debug, thiserror::Error)]
pub enum VariantError {
    #[error("{0}")]
    Launch(#[source] LaunchError),
    #[error(
        "{source}; if its heap of {heap} is too small: `weigh trade heap` finds the smallest that suffices"
    )]
    LaunchWithHeap { source: LaunchError, heap: HeapSize },
    #[error(transparent)]
    State(#[from] WithVariant<StateError>),
    #[error(transparent)]
    Database(#[from] WithVariant<PostgresError>),
    #[error(transparent)]
    LaunchSpec(#[from] LaunchSpecError),
    #[error(
        "{largest} of memory for a variant and {available} to be had leave room for {together} variants at once"
    )]
    Crowded {
        /// How many variants may run at once.
        together: usize,
        /// Memory of the largest started variant.
        largest: Bytes,
        /// Memory still available.
        available: Bytes,
    },
    #[error(transparent)]
    Move(#[from] WithVariant<CoreError>),
    #[error(transparent)]
    Layer(#[from] WithVariant<Box<LayerError>>),
    #[error(transparent)]
    Freeze(#[from] WithVariant<FreezeError>),
}

impl VariantError {
    /// A program of Java that ends before it is ready may have too small a heap, and does not always say so.
    fn with_heap(self, heap: Option<HeapSize>) -> Self {
        match (self, heap) {
            (Self::Launch(source @ LaunchError::Exited { .. }), Some(heap)) => {
                Self::LaunchWithHeap { source, heap }
            }
            (other, _) => other,
        }
    }
}
