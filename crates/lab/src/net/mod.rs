//! Networks of our own: namespaces, the links in them, their counters, and sockets made inside.
//!
//! A host of ours is a network namespace below `/run/netns`. Nothing is made, changed or read in the
//! machine's own namespace: work inside happens on a thread that has entered the namespace. [`crate::layers`]
//! decides which links a layer needs.

pub mod connector;
pub mod counters;
pub mod namespace;
pub mod tools;

pub use connector::Connector;
pub use counters::parse_devices;
pub use namespace::{FOLDER, Namespace, NamespaceError};
pub use tools::{Batch, Capability, ToolError};
