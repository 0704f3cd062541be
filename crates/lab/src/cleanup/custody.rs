//! Who answers for what we started: each thing is written into the run's registry and told to the guardian before it
//! exists (a process: before it executes its program), and struck out when it is gone.
//!
//! Both are optional, so that a short command or a test can do without; custody itself ends nothing.

use std::sync::{Mutex, PoisonError};

use crate::cleanup::guardian::{Guardian, GuardianError};
use crate::cleanup::owned::{Change, Thing};
use crate::cleanup::registry::{Registry, RegistryError};

/// Why a thing could not be taken into custody; it was then not made.
#[derive(Debug, thiserror::Error)]
pub enum CustodyError {
    /// The guardian is gone or cannot be told.
    #[error(transparent)]
    Guardian(#[from] GuardianError),
    /// The registry could not be written.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// The guardian and the registry of one run.
#[derive(Debug, Default)]
pub struct Custody {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    guardian: Option<Guardian>,
    registry: Option<Registry>,
    held: Vec<Thing>,
}

impl Custody {
    /// Custody by what is given.
    pub fn new(guardian: Option<Guardian>, registry: Option<Registry>) -> Self {
        Self { inner: Mutex::new(Inner { guardian, registry, held: Vec::new() }) }
    }

    /// Writes down a thing that is about to be made.
    ///
    /// # Errors
    /// Where it could not be written down; then do not make it.
    pub fn take(&self, thing: Thing) -> Result<(), CustodyError> {
        self.change(Change::Taken(thing))
    }

    /// Strikes out a thing that is gone.
    ///
    /// # Errors
    /// Where that could not be written down; the guardian finds nothing there later, which is harmless.
    pub fn release(&self, thing: Thing) -> Result<(), CustodyError> {
        self.change(Change::Released(thing))
    }

    fn change(&self, change: Change) -> Result<(), CustodyError> {
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

    /// Ends custody. Where everything is gone, the guardian is dismissed and the registry removed; what is left is
    /// returned, and the guardian ends it (its pipe closes) while the registry stays.
    ///
    /// # Errors
    /// Where the guardian did not go or the registry could not be removed.
    pub fn close(&self) -> Result<Vec<Thing>, CustodyError> {
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

impl Drop for Custody {
    /// An owner that went on an error's path leaves nothing either; after [`Custody::close`] there is nothing to do.
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
        let thing = |name: &str| Thing::Cgroup { path: PathBuf::from(name) };
        let custody = Custody::default();
        custody.take(thing("a")).expect("nothing to write to");
        custody.take(thing("b")).expect("nothing to write to");
        custody.release(thing("a")).expect("nothing to write to");
        assert_eq!(custody.close().expect("nothing to close"), [thing("b")]);
    }
}
