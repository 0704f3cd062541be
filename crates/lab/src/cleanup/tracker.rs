//! The list of what a run must clean up: each resource is written into the run's registry and told to the
//! guardian before it exists (a process: before it executes its program), and struck out when it is gone.
//!
//! Both are optional, so that a short command or a test can do without; the tracker itself removes nothing.

use std::sync::{Mutex, PoisonError};

use crate::cleanup::guardian::{Guardian, GuardianError};
use crate::cleanup::owned_resource::{Change, OwnedResource};
use crate::cleanup::registry::{Registry, RegistryError};

/// Why a resource could not be written down; it was then not made.
#[derive(Debug, thiserror::Error)]
pub enum CleanupTrackerError {
    #[error(transparent)]
    Guardian(#[from] GuardianError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// The guardian and the registry of one run.
#[derive(Debug, Default)]
pub struct CleanupTracker {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    guardian: Option<Guardian>,
    registry: Option<Registry>,
    held: Vec<OwnedResource>,
}

impl CleanupTracker {
    /// A tracker that tells the guardian and the registry that are given.
    pub fn new(guardian: Option<Guardian>, registry: Option<Registry>) -> Self {
        Self { inner: Mutex::new(Inner { guardian, registry, held: Vec::new() }) }
    }

    /// Writes down a resource that is about to be made.
    ///
    /// Errors: where it could not be written down; then do not make it.
    pub fn track(&self, resource: OwnedResource) -> Result<(), CleanupTrackerError> {
        self.change(Change::Taken(resource))
    }

    /// Strikes out a resource that is gone.
    ///
    /// Errors: where that could not be written down; the guardian finds nothing there later, which is harmless.
    pub fn release(&self, resource: OwnedResource) -> Result<(), CleanupTrackerError> {
        self.change(Change::Released(resource))
    }

    fn change(&self, change: Change) -> Result<(), CleanupTrackerError> {
        // A panic elsewhere leaves lists of plain values, which are whole.
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        change.clone().apply(&mut inner.held);
        if let Some(registry) = &mut inner.registry {
            registry.note(&change)?;
        }
        if let Some(guardian) = &mut inner.guardian {
            guardian.tell(&change)?;
        }
        Ok(())
    }

    /// Ends tracking. Where everything is gone, the guardian is dismissed and the registry removed; what is
    /// left is returned, and the guardian ends it (its pipe closes) while the registry stays.
    pub fn close(&self) -> Result<Vec<OwnedResource>, CleanupTrackerError> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (guardian, registry) = (inner.guardian.take(), inner.registry.take());
        let held = std::mem::take(&mut inner.held);
        if !held.is_empty() {
            drop(guardian);
            return Ok(held);
        }
        guardian.map_or(Ok(()), Guardian::dismiss)?;
        registry.map_or(Ok(()), Registry::finish)?;
        Ok(held)
    }
}

impl Drop for CleanupTracker {
    /// An owner that went on an error's path leaves nothing either; after [`CleanupTracker::close`] there is
    /// nothing to do.
    fn drop(&mut self) {
        // Whoever wants to know closes it: here nobody is left to be told.
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn what_was_released_is_no_longer_held() {
        let resource = |name: &str| OwnedResource::Cgroup { path: PathBuf::from(name) };
        let tracker = CleanupTracker::default();
        tracker.track(resource("a")).expect("nothing to write to");
        tracker.track(resource("b")).expect("nothing to write to");
        tracker.release(resource("a")).expect("nothing to write to");
        assert_eq!(tracker.close().expect("nothing to close"), [resource("b")]);
    }
}
