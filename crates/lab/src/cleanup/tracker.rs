//! The list of what a run must clean up. Each resource is written to the run's registry and reported to the
//! guardian before it exists (a process: before it executes its program), and removed from the list when it
//! is gone.
//!
//! Both are optional, so that a short command or a test needs neither. The tracker itself removes no
//! resource.

use std::sync::{Mutex, PoisonError};

use crate::cleanup::guardian::{Guardian, GuardianError};
use crate::cleanup::owned_resource::{Change, OwnedResource};
use crate::cleanup::registry::{Registry, RegistryError};

/// Why a resource could not be recorded; it was then not made.
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
    /// A tracker that reports to the given guardian and registry.
    pub fn new(mut guardian: Option<Guardian>, registry: Option<Registry>) -> Self {
        if let (Some(guardian), Some(registry)) = (&mut guardian, &registry) {
            // Where the guardian is gone, the first resource cannot be tracked and says so.
            let _ = guardian.tell_registry(registry.path());
        }
        Self { inner: Mutex::new(Inner { guardian, registry, held: Vec::new() }) }
    }

    /// Records a resource that is about to be made.
    ///
    /// Errors: it could not be recorded, and must not be made.
    pub fn track(&self, resource: OwnedResource) -> Result<(), CleanupTrackerError> {
        self.change(Change::Taken(resource))
    }

    /// Removes a resource that is gone from the list.
    ///
    /// Errors: that could not be recorded; the guardian later finds nothing, which is harmless.
    pub fn release(&self, resource: OwnedResource) -> Result<(), CleanupTrackerError> {
        self.change(Change::Released(resource))
    }

    fn change(&self, change: Change) -> Result<(), CleanupTrackerError> {
        // After a panic elsewhere the lists are still consistent, since each update of their plain values is
        // complete.
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

    /// Ends tracking. If everything is gone, the guardian is dismissed and the registry removed. Otherwise
    /// the remaining resources are returned, the guardian ends them once its pipe closes, and the registry
    /// stays.
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
    /// Closes the tracker when its owner returns early with an error. After [`CleanupTracker::close`] it does
    /// nothing.
    fn drop(&mut self) {
        // Callers that need the result call `close` themselves.
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn a_released_resource_is_no_longer_listed() {
        let resource = |name: &str| OwnedResource::Cgroup { path: PathBuf::from(name) };
        let tracker = CleanupTracker::default();
        tracker.track(resource("a")).expect("nothing to write to");
        tracker.track(resource("b")).expect("nothing to write to");
        tracker.release(resource("a")).expect("nothing to write to");
        assert_eq!(tracker.close().expect("nothing to close"), [resource("b")]);
    }
}
