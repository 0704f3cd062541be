//! The registry: one file per run that lists, before it is made, each thing that must not outlive the run.
//!
//! It is for the case that both the run and its guardian are gone (a power cut, `kill -9` of both). Cleaning removes
//! only what a registry lists whose owner is dead, only control groups and networks named `wb-…`, only worktrees below our cache, and
//! only processes whose start time is the one written down, and what is left of a session of theirs. It never searches for leftovers by name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weighbridge_model::quantity::Nanoseconds;

use crate::cgroup;
use crate::checkout;
use crate::container;
use crate::custody::{Change, Thing, in_order_of_ending};
use crate::guardian::{self, Ending};
use crate::net::namespace;
use crate::procfs::{self, ProcessIdentity, ProcessStat};
use crate::sys;

/// Seconds by which a file's time and a process's start may disagree.
const CLOCKS_APART: f64 = 2.0;
/// A guardian kills and removes within a second; each thing may take it ten at most.
const GUARDIAN_PATIENCE: Nanoseconds = Nanoseconds::from_secs(60);

/// Who owns a registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The process.
    #[serde(flatten)]
    pub process: ProcessIdentity,
    /// The boot in which it ran, since ids and start times begin anew with each.
    pub boot: String,
    /// Its guardian, which outlives it by as long as it takes to end what is listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardian: Option<ProcessIdentity>,
}

impl Owner {
    /// This process, now.
    pub fn own() -> Option<Self> {
        Some(Self { process: ProcessIdentity::own()?, boot: boot_id()?, guardian: None })
    }

    /// Whether the owner still runs. A stopped one does.
    pub fn is_alive(&self) -> bool {
        self.is_of_this_boot() && self.process.is_alive()
    }

    fn is_of_this_boot(&self) -> bool {
        boot_id().is_some_and(|boot| boot == self.boot)
    }

    /// Lets its guardian do its work first: two that remove the same things would be in each other's way.
    fn wait_for_guardian(&self) {
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
enum Line {
    Owner(Owner),
    #[serde(untagged)]
    Change(Change),
}

/// Why a registry could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// The file or its folder could not be used.
    #[error("could not write the registry `{path}`; set `XDG_STATE_HOME` to a folder on a disk with room")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The folder of registries could not be read.
    #[error("could not read the registries in `{path}`; check that the folder may be read")]
    Read {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The name of the run cannot name a file.
    #[error("`{run}` cannot name a registry; use a run name of letters, digits, `-`, `_`, `.` and `+`")]
    Name {
        /// The run.
        run: String,
    },
    /// `/proc` does not tell who we are.
    #[error("could not find this process in `/proc`; mount `/proc` to run experiments")]
    NoOwner,
}

/// The folder of registries: `$XDG_STATE_HOME/weighbridge/registry`, by default below `~/.local/state`; `None` where
/// there is no home either. A relative `XDG_STATE_HOME` counts as not set, as its specification says.
pub fn default_base() -> Option<PathBuf> {
    state_folder().map(|folder| folder.join("registry"))
}

/// Where this program keeps what outlives a run: `$XDG_STATE_HOME/weighbridge`, by default below `~/.local/state`.
pub fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    base_from(folder("XDG_STATE_HOME"), folder("HOME"))
}

fn base_from(state: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let state = state.filter(|path| path.is_absolute());
    let home = home.filter(|path| path.is_absolute()).map(|path| path.join(".local/state"));
    state.or(home).map(|path| path.join("weighbridge"))
}

/// The registry of this run, open for writing.
#[derive(Debug)]
pub struct Registry {
    path: PathBuf,
    file: File,
}

impl Registry {
    /// Makes the file `<base>/<run>.jsonl`, with this process as its owner and without a guardian.
    ///
    /// # Errors
    /// Where the file exists already or cannot be made.
    pub fn create(base: &Path, run: &str) -> Result<Self, RegistryError> {
        Self::create_guarded(base, run, None)
    }

    /// The same beside a guardian.
    ///
    /// # Errors
    /// As [`Registry::create`].
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
        // It gets its name once its owner stands in it: a cleaner never meets a registry without one by chance.
        let draft = base.join(format!("{run}.draft"));
        let file = OpenOptions::new().append(true).create(true).open(&draft).map_err(failed)?;
        file.set_len(0).map_err(failed)?;
        let mut registry = Self { path: path.clone(), file };
        registry.append(&Line::Owner(owner))?;
        let named = fs::hard_link(&draft, &path);
        fs::remove_file(&draft).map_err(failed)?;
        named.map_err(failed)?;
        // The name must be on the disk too, not only the content.
        File::open(base).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(registry)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one change, and returns when it is on the disk.
    ///
    /// # Errors
    /// [`RegistryError::Write`].
    pub fn note(&mut self, change: &Change) -> Result<(), RegistryError> {
        self.append(&Line::Change(change.clone()))
    }

    /// Removes the file: the run ended cleanly.
    ///
    /// # Errors
    /// [`RegistryError::Write`].
    pub fn finish(self) -> Result<(), RegistryError> {
        fs::remove_file(&self.path).map_err(|source| RegistryError::Write { path: self.path, source })
    }

    fn append(&mut self, line: &Line) -> Result<(), RegistryError> {
        let failed = |source| RegistryError::Write { path: self.path.clone(), source };
        let mut text = serde_json::to_string(line).map_err(|error| failed(error.into()))?;
        text.push('\n');
        (&self.file).write_all(text.as_bytes()).and_then(|()| self.file.sync_data()).map_err(failed)
    }
}

/// A registry found on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The file.
    pub path: PathBuf,
    /// The run.
    pub run: String,
    /// Its owner; `None` where even the first line is not whole, so that nothing had been made yet.
    pub owner: Option<Owner>,
    /// What it took and did not release, in the order of taking.
    pub things: Vec<Thing>,
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
            Self { path: path.to_owned(), run, owner: None, things: Vec::new(), unknown: Vec::new() };
        // Only whole lines count: one that the crash cut off told of a thing that was then never made.
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            match serde_json::from_str::<Line>(line) {
                Ok(Line::Owner(owner)) => listed.owner = Some(owner),
                Ok(Line::Change(change)) => change.apply(&mut listed.things),
                Err(_) => listed.unknown.push(line.to_owned()),
            }
        }
        listed
    }
}

/// All registries in `base`, by name; none where the folder does not exist.
///
/// # Errors
/// [`RegistryError::Read`].
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

/// What cleaning does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanMode {
    /// Says what would be done.
    DryRun,
    /// Does it.
    Remove,
}

/// What was, or would be, done about one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The run that left it behind.
    pub run: String,
    /// The thing, or the registry file itself.
    pub what: String,
    /// What became of it.
    pub outcome: CleanOutcome,
}

/// What became of a thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanOutcome {
    /// It exists and would be removed.
    WouldRemove,
    /// It is removed.
    Removed,
    /// It was gone.
    AlreadyGone,
    /// It stays, and why.
    Kept(String),
    /// It should have gone, and why it did not.
    Failed(String),
}

/// Removes what registries list whose owner is dead, then those registries; living owners' are left alone and not
/// mentioned. A registry with something kept or failed stays.
///
/// # Errors
/// [`RegistryError::Read`]; single things that fail are outcomes.
pub fn clean(base: &Path, mode: CleanMode) -> Result<Vec<Action>, RegistryError> {
    let mut actions = Vec::new();
    for listed in list(base)?.into_iter().filter(Listed::is_stale) {
        let first = actions.len();
        if let (CleanMode::Remove, Some(owner)) = (mode, &listed.owner) {
            owner.wait_for_guardian();
        }
        for thing in in_order_of_ending(&listed.things) {
            let outcome = clean_thing(&listed, thing, mode);
            actions.push(Action { run: listed.run.clone(), what: thing.to_string(), outcome });
        }
        for line in &listed.unknown {
            let outcome = CleanOutcome::Kept("this version does not know it; use a newer `weigh`".to_owned());
            actions.push(Action { run: listed.run.clone(), what: format!("`{line}`"), outcome });
        }
        let left =
            |action: &Action| matches!(action.outcome, CleanOutcome::Kept(_) | CleanOutcome::Failed(_));
        if !actions[first..].iter().any(left) {
            let what = format!("registry `{}`", listed.path.display());
            actions.push(Action { run: listed.run.clone(), what, outcome: remove_file(&listed.path, mode) });
        }
    }
    Ok(actions)
}

fn remove_file(path: &Path, mode: CleanMode) -> CleanOutcome {
    match mode {
        CleanMode::DryRun => CleanOutcome::WouldRemove,
        CleanMode::Remove => match fs::remove_file(path) {
            Ok(()) => CleanOutcome::Removed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => CleanOutcome::AlreadyGone,
            Err(error) => CleanOutcome::Failed(error.to_string()),
        },
    }
}

fn clean_thing(listed: &Listed, thing: &Thing, mode: CleanMode) -> CleanOutcome {
    if !thing.is_on_disk() && !listed.owner.as_ref().is_some_and(Owner::is_of_this_boot) {
        // Neither processes nor control groups outlive a boot, and their names may be others' by now.
        return CleanOutcome::AlreadyGone;
    }
    if let Some(why) = not_ours(listed, thing) {
        return CleanOutcome::Kept(why);
    }
    match (thing.exists(), mode) {
        (false, _) => CleanOutcome::AlreadyGone,
        (true, CleanMode::DryRun) => CleanOutcome::WouldRemove,
        (true, CleanMode::Remove) => match guardian::end(thing) {
            Ending::Ended => CleanOutcome::Removed,
            Ending::AlreadyGone => CleanOutcome::AlreadyGone,
            Ending::Failed(error) => CleanOutcome::Failed(error.to_string()),
        },
    }
}

/// Why a thing that is listed may be somebody else's; `None` where it can only be ours.
fn not_ours(listed: &Listed, thing: &Thing) -> Option<String> {
    let unless = |ours: bool, why: &str| (!ours).then(|| why.to_owned());
    match thing {
        Thing::Process(process) => strangers(listed, *process),
        Thing::Cgroup { path } => {
            (!is_ours(path)).then(|| format!("its name does not begin with `{}`", cgroup::PREFIX))
        }
        Thing::Container { runtime, id, folder } => {
            unless(container::is_ours(runtime, id, folder), "it is not named as ours are")
        }
        Thing::Namespace { path, .. } => {
            unless(namespace::is_ours(path), "it does not lie where we put networks")
        }
        Thing::Worktree { path, .. } => {
            unless(checkout::is_ours(path), "it does not lie where we put worktrees")
        }
    }
}

/// Why those that live under a dead leader's number may be another's: once nobody bore the number any more the kernel may have given it
/// to another session, whose leader then ended as daemons' do. One that was there when the run last wrote is ours, and with it its
/// session; where all began later nobody can tell.
fn strangers(listed: &Listed, leader: ProcessIdentity) -> Option<String> {
    if ProcessStat::read(leader.pid).is_some_and(|stat| stat.start_time == leader.start_time) {
        return None;
    }
    let members = guardian::surviving_members(leader);
    let written = fs::metadata(&listed.path).and_then(|file| file.modified()).ok()?;
    let silence = written.elapsed().unwrap_or_default();
    // Start times are told in ticks of 10 ms, and the wall clock may have been set meanwhile.
    let is_later = |stat: &ProcessStat| {
        procfs::age(stat).is_some_and(|age| age.as_secs_f64() + CLOCKS_APART < silence.as_secs_f64())
    };
    (!members.is_empty() && members.iter().all(is_later)).then(|| {
        let pids: Vec<String> = members.iter().map(|member| member.pid.to_string()).collect();
        format!(
            "the process itself is gone, and what bears its session's number began after the run had ended: look at {}, and end what is of your run (`kill`)",
            pids.join(", ")
        )
    })
}

/// Whether a path is a control group that we may have made.
fn is_ours(path: &Path) -> bool {
    let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(cgroup::PREFIX));
    let straight = path.is_absolute() && !path.components().any(|part| part.as_os_str() == "..");
    // Only the kernel makes this file, so a folder of the same name elsewhere is told apart.
    let is_group = !path.exists() || path.join("cgroup.procs").exists();
    named && straight && is_group
}

/// Names of the processes that a stale registry would end, for a finding.
pub(crate) fn stale_summary(stale: &[Listed]) -> String {
    let things = stale.iter().flat_map(|listed| &listed.things).filter(|thing| thing.exists());
    let names: Vec<String> = things.map(Thing::to_string).collect();
    if names.is_empty() { "nothing of theirs exists any more".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procfs::Pid;

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
        assert_eq!(listed.things, [Thing::Process(child)]);
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
