//! Networks of our own: namespaces, the links in them, what passed there, and sockets made inside.
//!
//! A host of ours is a network namespace below `/run/netns`. Nothing is ever made, changed or read in the
//! host's own namespace: what has to happen inside happens on a thread that has entered it. Which links a
//! layer needs is for [`crate::layers`] to say.

pub mod connector;
pub mod counters;
pub mod namespace;
pub mod tools;

pub use connector::Connector;
pub use counters::parse_devices;
pub use namespace::{FOLDER, Namespace, NamespaceError};
pub use tools::{Batch, Capability, ToolError, Unavailable};
