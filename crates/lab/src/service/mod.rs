//! Services and where their programs come from: the catalogue, one service's `service.toml`, revisions that
//! are checked out, and what a service's run-time says of itself.

pub mod catalog;
pub mod checkout;
mod manifest;
mod offer;
pub mod runtime;

pub use manifest::{Built, FILE, Freezing, Service, ServiceError, Tls};
pub use offer::WorkloadOffer;
