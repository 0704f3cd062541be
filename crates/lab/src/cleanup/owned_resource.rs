//! What a run makes and must not leave behind, as data: the resource, and whether it was taken or released.
//!
//! Nothing here finds, removes or orders resources; only `crate::removal` knows how to remove each kind.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::host::procfs::ProcessIdentity;

/// Prefix of the names of all control groups, network namespaces and containers that we make.
pub const PREFIX: &str = "wb-";

/// Something that must not outlive the run. A further kind is a further variant. A registry line of an
/// unknown kind is kept and reported, never removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum OwnedResource {
    /// A process, with the whole session or group if it leads one.
    Process(ProcessIdentity),
    /// The keeper of a role, with all that runs below it.
    Keeper(ProcessIdentity),
    /// A control group of version 2.
    Cgroup {
        /// Its directory.
        path: PathBuf,
    },
    /// A network namespace with a name, and all its links, addresses and queues.
    Namespace {
        /// The file that it is mounted on.
        path: PathBuf,
        /// Whether the folder of names was made for it or an earlier one, and is removed with the last name.
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
    /// The folder of what a service writes during one trial.
    StateFolder {
        /// The folder.
        path: PathBuf,
    },
}

impl OwnedResource {
    /// Whether it is on a disk, and so outlives a boot. It is removed after processes, which may write there.
    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(self, Self::Worktree { .. } | Self::StateFolder { .. })
    }
}

impl std::fmt::Display for OwnedResource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Process(process) => write!(f, "process {}", process.pid),
            Self::Keeper(keeper) => write!(f, "keeper {}", keeper.pid),
            Self::Cgroup { path } => write!(f, "control group `{}`", path.display()),
            Self::Container { runtime, id, .. } => write!(f, "container `{id}` of {runtime}"),
            Self::Namespace { path, .. } => write!(f, "network namespace `{}`", path.display()),
            Self::Worktree { path, .. } => write!(f, "worktree `{}`", path.display()),
            Self::StateFolder { path } => write!(f, "state folder `{}`", path.display()),
        }
    }
}

/// What happened to a resource: one line of a registry and of the guardian's pipe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is about to be made.
    Taken(OwnedResource),
    /// It is gone.
    Released(OwnedResource),
}

impl Change {
    /// Applies the change to the list of resources that exist.
    pub(crate) fn apply(self, resources: &mut Vec<OwnedResource>) {
        match self {
            Self::Taken(resource) => resources.push(resource),
            Self::Released(resource) => resources.retain(|held| *held != resource),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::procfs::Pid;

    #[test]
    fn a_change_is_one_line_of_json() {
        let process = OwnedResource::Process(ProcessIdentity { pid: Pid::new(12), start_time: 345 });
        let line = serde_json::to_string(&Change::Taken(process.clone())).expect("plain data");
        assert_eq!(line, r#"{"taken":{"kind":"process","pid":12,"start_time":345}}"#);
        assert_eq!(serde_json::from_str::<Change>(&line).expect("our own line"), Change::Taken(process));
    }
}
