//! Makes sure that nothing outlives a run: what it owns is listed in a registry and reported to a guardian
//! before it is made.
//!
//! Nothing here removes resources; their makers do, or [`crate::removal`] if the makers no longer can.

pub mod guardian;
pub mod owned_resource;
pub mod registry;
pub mod tracker;
