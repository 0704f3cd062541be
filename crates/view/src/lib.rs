//! The web view's server: it listens on loopback, answers GET and HEAD, and asks a [`Site`] for the pages.
//!
//! All protections are here and apply to every page: which `Host` and `Origin` are answered, headers that stop a
//! browser from running or loading anything that the page does not contain, valid paths, the number of clients and the
//! time each may take. The crate knows nothing of runs and reads no file; it is the only crate of the product with an
//! async runtime.

mod guard;
mod heads;
mod policy;
mod request_target;
mod server;
mod site;

pub use policy::{Policy, hash};
pub use request_target::RequestTarget;
pub use server::{ClientLimits, Problem, Server};
pub use site::{Answer, Download, Feed, Message, Site, Update};
