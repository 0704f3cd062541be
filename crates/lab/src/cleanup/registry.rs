//! The registry: one file per run that lists each resource that must not outlive the run, before it is made.
//!
//! It serves the case that both the run and its guardian have ended (a power cut, `kill -9` of both):
//! `crate::removal::stale` then cleans up what it lists.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weighbridge_model::quantity::Nanoseconds;

use crate::cleanup::owned_resource::{Change, OwnedResource};
use crate::host::procfs::ProcessIdentity;
use crate::host::sys;

/// A guardian kills and removes within a second; each resource may take it ten at most.
const GUARDIAN_PATIENCE: Nanoseconds = Nanoseconds::from_secs(60);

/// Who owns a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    #[serde(flatten)]
    pub process: ProcessIdentity,
    /// The boot in which it ran, since ids and start times restart with each boot.
    pub boot: String,
    /// Its guardian, which outlives it until everything listed has been ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardian: Option<ProcessIdentity>,
}

impl Owner {
    /// This process.
    pub fn own() -> Option<Self> {
        Some(Self { process: ProcessIdentity::own()?, boot: boot_id()?, guardian: None })
    }

    /// Whether the owner still runs; a stopped process counts as running.
    pub fn is_alive(&self) -> bool {
        self.is_of_this_boot() && self.process.is_alive()
    }

    pub(crate) fn is_of_this_boot(&self) -> bool {
        boot_id().is_some_and(|boot| boot == self.boot)
    }

    /// Waits until the guardian has finished, so that two processes do not remove the same resources at once.
    pub(crate) fn wait_for_guardian(&self) {
        let Some(guardian) = self.guardian.filter(|_| self.is_of_this_boot()) else { return };
        let start = sys::monotonic();
        while guardian.is_alive() && sys::monotonic().since(start) < GUARDIAN_PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn boot_id() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RegistryEntry {
    Owner(Owner),
    #[serde(untagged)]
    Change(Change),
}

/// Why a registry could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    #[error("could not write the registry `{path}`; set `XDG_STATE_HOME` to a folder on a disk with room")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    #[error("could not read the registries in `{path}`; check that the folder may be read")]
    Read {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    #[error("`{run}` cannot name a registry; use a run name of letters, digits, `-`, `_`, `.` and `+`")]
    Name { run: String },
    #[error("could not find this process in `/proc`; mount `/proc` to run experiments")]
    NoOwner,
}

/// The folder of registries: `$XDG_STATE_HOME/weighbridge/registry`, by default below `~/.local/state`;
/// `None` if there is no home either. A relative `XDG_STATE_HOME` counts as unset, as its specification
/// requires.
pub fn default_base() -> Option<PathBuf> {
    state_folder().map(|folder| folder.join("registry"))
}

/// The folder for what outlives a run: `$XDG_STATE_HOME/weighbridge`, by default below `~/.local/state`.
pub fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    base_from(folder("XDG_STATE_HOME"), folder("HOME"))
}

fn base_from(state: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let state = state.filter(|path| path.is_absolute());
    let home = home.filter(|path| path.is_absolute()).map(|path| path.join(".local/state"));
    state.or(home).map(|path| path.join("weighbridge"))
}

/// A run's registry, open for writing.
#[derive(Debug)]
pub struct Registry {
    path: PathBuf,
    file: File,
}

impl Registry {
    /// Makes the file `<base>/<run>.jsonl`, with this process as its owner and no guardian.
    pub fn create(base: &Path, run: &str) -> Result<Self, RegistryError> {
        Self::create_guarded(base, run, None)
    }

    /// Like [`Self::create`], with a guardian.
    pub fn create_guarded(
        base: &Path,
        run: &str,
        guardian: Option<ProcessIdentity>,
    ) -> Result<Self, RegistryError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        if run.is_empty() || run.starts_with('.') || !run.chars().all(plain) {
            return Err(RegistryError::Name { run: run.to_owned() });
        }
        let owner = Owner { guardian, ..Owner::own().ok_or(RegistryError::NoOwner)? };
        let path = base.join(format!("{run}.jsonl"));
        let failed = |source| RegistryError::Write { path: path.clone(), source };
        fs::create_dir_all(base).map_err(failed)?;
        // The file gets its final name only once it names its owner, so that a cleaner never finds one
        // without.
        let draft = base.join(format!("{run}.draft"));
        let file = OpenOptions::new().append(true).create(true).open(&draft).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        let mut registry = Self { path: path.clone(), file };
        registry.append(&RegistryEntry::Owner(owner))?;
        let named = fs::hard_link(&draft, &path);
        fs::remove_file(&draft).map_err(failed)?;
        named.map_err(failed)?;
        // The directory entry must be on the disk too, not only the content.
        File::open(base).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(registry)
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one change, and returns once it is on the disk.
    pub fn note(&mut self, change: &Change) -> Result<(), RegistryError> {
        self.append(&RegistryEntry::Change(change.clone()))
    }

    /// Removes the file: the run ended cleanly.
    pub fn finish(self) -> Result<(), RegistryError> {
        fs::remove_file(&self.path).map_err(|source| RegistryError::Write { path: self.path, source })
    }

    fn append(&mut self, entry: &RegistryEntry) -> Result<(), RegistryError> {
        let failed = |source| RegistryError::Write { path: self.path.clone(), source };
        let mut text = serde_json::to_string(entry).map_err(|error| failed(error.into()))?;
        text.push('\n');
        (&self.file).write_all(text.as_bytes()).and_then(|()| self.file.sync_data()).map_err(failed)
    }
}

/// Adds a change to the registry at `path` after its owner's death; does nothing if somebody has removed it.
pub(crate) fn append(path: &Path, change: &Change) -> io::Result<()> {
    let mut text = serde_json::to_string(change)?;
    text.push('\n');
    // The owner's last line may be cut off.
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(format!("\n{text}").as_bytes())
}

/// A registry found on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The file.
    pub path: PathBuf,
    pub run: String,
    /// Its owner; `None` if even the first line is incomplete, in which case nothing had been made yet.
    pub owner: Option<Owner>,
    /// What it took and did not release, in order of taking.
    pub resources: Vec<OwnedResource>,
    /// Whole lines that this program does not understand (a newer program's kinds).
    pub unknown: Vec<String>,
}

impl Listed {
    /// Whether its owner is dead, so that it may be cleaned.
    pub fn is_stale(&self) -> bool {
        !self.owner.as_ref().is_some_and(Owner::is_alive)
    }

    fn parse(path: &Path, text: &str) -> Self {
        let run = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let mut listed =
            Self { path: path.to_owned(), run, owner: None, resources: Vec::new(), unknown: Vec::new() };
        // Only whole lines count: the crash cut off the last line before its resource was made.
        let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
        for line in whole.filter(|line| !line.is_empty()) {
            match serde_json::from_str::<RegistryEntry>(line) {
                Ok(RegistryEntry::Owner(owner)) => listed.owner = Some(owner),
                Ok(RegistryEntry::Change(change)) => change.apply(&mut listed.resources),
                Err(_) => listed.unknown.push(line.to_owned()),
            }
        }
        listed
    }
}

/// All registries in `base`, by name; empty if the folder does not exist.
pub fn list(base: &Path) -> Result<Vec<Listed>, RegistryError> {
    let failed = |source| RegistryError::Read { path: base.to_owned(), source };
    let entries = match fs::read_dir(base) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(failed)?,
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            paths.push(path);
        }
    }
    paths.sort();
    let read = |path: &PathBuf| match fs::read_to_string(path) {
        // Its run has just ended.
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        other => Some(other.map(|text| Listed::parse(path, &text)).map_err(failed)),
    };
    paths.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::procfs::Pid;

    #[test]
    fn the_folder_follows_the_specification() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(base_from(path("/s"), path("/h")), path("/s/weighbridge"));
        assert_eq!(base_from(None, path("/h")), path("/h/.local/state/weighbridge"));
        assert_eq!(base_from(path("relative"), path("/h")), path("/h/.local/state/weighbridge"));
        assert_eq!(base_from(None, None), None);
    }

    #[test]
    fn a_torn_last_line_is_ignored_and_an_unknown_kind_is_kept() {
        let text = concat!(
            r#"{"owner":{"pid":7,"start_time":9,"boot":"b"}}"#,
            "\n",
            r#"{"taken":{"kind":"process","pid":12,"start_time":345}}"#,
            "\n",
            r#"{"taken":{"kind":"moon","name":"wb-1"}}"#,
            "\n",
            r#"{"taken":{"kind":"cgro"#,
        );
        let listed = Listed::parse(Path::new("/r/run-1.jsonl"), text);
        assert_eq!(listed.run, "run-1");
        let process = ProcessIdentity { pid: Pid::new(7), start_time: 9 };
        assert_eq!(listed.owner, Some(Owner { process, boot: "b".to_owned(), guardian: None }));
        let child = ProcessIdentity { pid: Pid::new(12), start_time: 345 };
        assert_eq!(listed.resources, [OwnedResource::Process(child)]);
        assert_eq!(listed.unknown, [r#"{"taken":{"kind":"moon","name":"wb-1"}}"#]);
    }

    #[test]
    fn names_that_leave_the_folder_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for run in ["", "..", "a/b", ".hidden", "a b"] {
            let error = Registry::create(folder.path(), run).expect_err(run);
            assert!(matches!(error, RegistryError::Name { .. }), "{run}: {error}");
        }
    }
}
