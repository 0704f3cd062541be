//! Services and where their programs come from: the catalogue, `service.toml`, checked-out revisions, the
//! folder for a service's state, its server of PostgreSQL, and run-time facts.

pub mod catalog;
pub mod checkout;
mod error;
mod folder;
mod manifest;
mod offer;
pub mod postgres;
pub mod runtime;
pub mod state;
mod stock;

pub use error::ServiceError;
pub use manifest::{Built, FILE, Freezing, Service, Tls};
pub use offer::WorkloadOffer;
pub use stock::Stock;
