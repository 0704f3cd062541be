//! Services and where their programs come from: the catalogue, one service's `service.toml`, revisions that
//! are checked out, the folder for a service's state, and what its run-time says of itself.

pub mod catalog;
pub mod checkout;
mod folder;
mod manifest;
mod offer;
pub mod runtime;
pub mod state;

pub use manifest::{Built, FILE, Freezing, Service, ServiceError, Tls};
pub use offer::WorkloadOffer;
