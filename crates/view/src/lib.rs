//! The web view's server: it listens on loopback, answers GET and HEAD, and asks a [`Site`] what to say.
//!
//! Everything that guards a page stands here and holds for all of them: whose `Host` and `Origin` are answered, headers
//! that keep a browser from running or loading what the page does not hold, what a path may look like, how many clients
//! there may be and how long one may take. The crate knows nothing of runs and reads no file; it is the only one of the
//! product with an async runtime.

mod guard;
mod policy;
mod request_target;
mod server;
mod site;

pub use policy::{Policy, hash};
pub use request_target::RequestTarget;
pub use server::{ClientLimits, Problem, Server};
pub use site::{Answer, Download, Feed, Message, Site, Update};
