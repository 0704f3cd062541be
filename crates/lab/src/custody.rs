//! Who answers for what we started: each thing is written into the run's registry and told to the guardian before it
//! exists (a process: before it executes its program), and struck out when it is gone.
//!
//! Both are optional, so that a short command or a test can do without; custody itself ends nothing.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::container;
use crate::guardian::{self, Guardian, GuardianError};
use crate::procfs::ProcessIdentity;
use crate::registry::{Registry, RegistryError};

/// Something that must not outlive the run. Further kinds are further variants: a registry
/// line of a kind that a program does not know is kept and reported, never removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Thing {
    /// The leader of a session; all of its session belongs to it.
    Process(ProcessIdentity),
    /// A control group of version 2.
    Cgroup {
        /// Its directory.
        path: PathBuf,
    },
    /// A network namespace that has a name, with every link, address and queue in it.
    Namespace {
        /// The file that it is mounted on.
        path: PathBuf,
        /// Whether the folder of names was made for it or for one before it, and goes with the last.
        #[serde(default)]
        with_folder: bool,
    },
    /// A container, with its processes, groups and mounts.
    Container {
        /// The name of what runs it.
        runtime: String,
        /// Its name.
        id: String,
        /// Its bundle's folder.
        folder: PathBuf,
    },
    /// A folder with a revision of a repository.
    Worktree {
        /// The folder.
        path: PathBuf,
        /// The root of its repository.
        repository: PathBuf,
    },
}

impl Thing {
    /// Whether it lies on a disk, and so outlives a boot; it goes after what runs, which may write there.
    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(self, Self::Worktree { .. })
    }

    /// Whether anything of it is there.
    pub(crate) fn exists(&self) -> bool {
        match self {
            Self::Process(process) => !guardian::surviving_members(*process).is_empty(),
            Self::Cgroup { path } | Self::Worktree { path, .. } => path.is_dir(),
            Self::Namespace { path, .. } => path.exists(),
            Self::Container { id, folder, .. } => container::exists(id, folder),
        }
    }
}

impl std::fmt::Display for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Process(process) => write!(f, "process {}", process.pid),
            Self::Cgroup { path } => write!(f, "control group `{}`", path.display()),
            Self::Container { runtime, id, .. } => write!(f, "container `{id}` of {runtime}"),
            Self::Namespace { path, .. } => write!(f, "network namespace `{}`", path.display()),
            Self::Worktree { path, .. } => write!(f, "worktree `{}`", path.display()),
        }
    }
}

/// What happened to a thing: one line of a registry and of the guardian's pipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is about to be made.
    Taken(Thing),
    /// It is gone.
    Released(Thing),
}

impl Change {
    /// Applies the change to the list of things that exist.
    pub(crate) fn apply(self, things: &mut Vec<Thing>) {
        match self {
            Self::Taken(thing) => things.push(thing),
            Self::Released(thing) => things.retain(|held| *held != thing),
        }
    }
}

/// What runs first, each in the order of making (a control group takes its processes with it), then what engines held, which
/// is nothing but what their processes used, then the networks that it ran in, the last one made first, then what lies on a disk.
pub(crate) fn in_order_of_ending(things: &[Thing]) -> impl Iterator<Item = &Thing> {
    let is_network = |thing: &&Thing| matches!(thing, Thing::Namespace { .. });
    let is_held =
        |thing: &&Thing| matches!(thing, Thing::Container { runtime, .. } if container::is_engine(runtime));
    let running =
        things.iter().filter(move |thing| !thing.is_on_disk() && !is_network(thing) && !is_held(thing));
    let networks = things.iter().rev().filter(is_network);
    running
        .chain(things.iter().filter(is_held))
        .chain(networks)
        .chain(things.iter().filter(|thing| thing.is_on_disk()))
}

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
    use crate::procfs::Pid;

    #[test]
    fn a_change_is_one_line_of_json() {
        let process = Thing::Process(ProcessIdentity { pid: Pid::new(12), start_time: 345 });
        let line = serde_json::to_string(&Change::Taken(process.clone())).expect("plain data");
        assert_eq!(line, r#"{"taken":{"kind":"process","pid":12,"start_time":345}}"#);
        assert_eq!(serde_json::from_str::<Change>(&line).expect("our own line"), Change::Taken(process));
    }

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
