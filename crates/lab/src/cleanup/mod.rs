//! Nothing outlives a run: what it owns is listed in a registry and told to a guardian before it is made.
//!
//! Nothing here removes anything; that is done by those who made it or, where they cannot any more, by
//! [`crate::removal`].

pub mod guardian;
pub mod owned_resource;
pub mod registry;
pub mod tracker;
