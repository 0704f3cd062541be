//! Cleans up after runs that have ended together with their guardians, from their registries.
//!
//! It removes only what a registry with a dead owner lists: control groups and networks named `wb-…`,
//! worktrees below our cache, processes with the recorded start time, and what is left of their sessions. It
//! never searches for leftovers by name.

use std::fs;
use std::io;
use std::path::Path;

use crate::cleanup::owned_resource::{OwnedResource, PREFIX};
use crate::cleanup::registry::{Listed, Owner, RegistryError, list};
use crate::host::procfs::{self, ProcessIdentity, ProcessStat};
use crate::layers::container::oci;
use crate::net::namespace;
use crate::service::{checkout, state};

use super::{KEEPER_GONE, Removal, exists, in_removal_order, remove, surviving_members, survivors};

/// Seconds by which a file's time and a process's start time may disagree.
const CLOCKS_APART: f64 = 2.0;

/// What cleaning does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanMode {
    /// Says what would be done.
    DryRun,
    /// Does it.
    Remove,
}

/// What was, or would be, done about one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// The run that left it behind.
    pub run: String,
    /// The resource, or the registry file itself.
    pub what: String,
    /// What became of it.
    pub outcome: CleanOutcome,
}

/// What became of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CleanOutcome {
    /// It exists and would be removed.
    WouldRemove,
    Removed,
    /// It was gone.
    AlreadyGone,
    /// It was gone, and with it the means to find what it may have left, with the reason.
    Unseen(String),
    /// It stays, and why.
    Kept(String),
    /// It should have gone, and why it did not.
    Failed(String),
}

/// Removes what registries of dead owners list, then those registries. Registries of living owners are left
/// alone and not mentioned. A registry with something kept or failed stays.
///
/// Errors: [`RegistryError::Read`]; failures of single resources are outcomes.
pub fn clean(base: &Path, mode: CleanMode) -> Result<Vec<Action>, RegistryError> {
    let mut actions = Vec::new();
    for listed in list(base)?.into_iter().filter(Listed::is_stale) {
        let first = actions.len();
        if let (CleanMode::Remove, Some(owner)) = (mode, &listed.owner) {
            owner.wait_for_guardian();
        }
        for resource in in_removal_order(&listed.resources) {
            let outcome = clean_resource(&listed, resource, mode);
            actions.push(Action { run: listed.run.clone(), what: resource.to_string(), outcome });
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

fn clean_resource(listed: &Listed, resource: &OwnedResource, mode: CleanMode) -> CleanOutcome {
    if !resource.is_on_disk() && !listed.owner.as_ref().is_some_and(Owner::is_of_this_boot) {
        // Neither processes nor control groups outlive a boot, and others may have their names by now.
        return CleanOutcome::AlreadyGone;
    }
    if let Some(why) = not_ours(listed, resource) {
        return CleanOutcome::Kept(why);
    }
    match (exists(resource), mode) {
        (false, _) if matches!(resource, OwnedResource::Keeper(_)) => {
            CleanOutcome::Unseen(KEEPER_GONE.to_owned())
        }
        (false, _) => CleanOutcome::AlreadyGone,
        (true, CleanMode::DryRun) => CleanOutcome::WouldRemove,
        (true, CleanMode::Remove) => match remove(resource) {
            Removal::Removed => CleanOutcome::Removed,
            Removal::AlreadyGone => CleanOutcome::AlreadyGone,
            Removal::Failed(error) => CleanOutcome::Failed(error.to_string()),
        },
    }
}

/// Why a listed resource may not be ours; `None` if it can only be ours.
fn not_ours(listed: &Listed, resource: &OwnedResource) -> Option<String> {
    let unless = |ours: bool, why: &str| (!ours).then(|| why.to_owned());
    match resource {
        OwnedResource::Process(process) => foreign_session(listed, *process),
        // Its start time is compared whenever it is used.
        OwnedResource::Keeper(_) => None,
        OwnedResource::Cgroup { path } => {
            (!is_ours(path)).then(|| format!("its name does not begin with `{}`", PREFIX))
        }
        OwnedResource::Container { runtime, id, folder } => {
            unless(oci::is_ours(runtime, id, folder), "it is not named as ours are")
        }
        OwnedResource::Namespace { path, .. } => {
            unless(namespace::is_ours(path), "it does not lie where we put networks")
        }
        OwnedResource::Worktree { path, .. } => {
            unless(checkout::is_ours(path), "it does not lie where we put worktrees")
        }
        OwnedResource::StateFolder { path } => {
            unless(state::is_ours(path), "its name is not one that we give to a service's state")
        }
    }
}

/// Why processes with a dead leader's session id may be another's. Once no process had the id, the kernel may
/// have given it to another session, whose leader then ended as daemons' do. A process that existed when the
/// run last wrote is ours, and so is its session; if all started later, that cannot be known.
fn foreign_session(listed: &Listed, leader: ProcessIdentity) -> Option<String> {
    if ProcessStat::read(leader.pid).is_some_and(|stat| stat.start_time == leader.start_time) {
        return None;
    }
    let members = surviving_members(leader);
    let written = fs::metadata(&listed.path).and_then(|file| file.modified()).ok()?;
    let silence = written.elapsed().unwrap_or_default();
    // Start times have ticks of 10 ms, and the wall clock may have been set meanwhile.
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
    let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let straight = path.is_absolute() && !path.components().any(|part| part.as_os_str() == "..");
    // Only the kernel makes this file, so a folder of the same name elsewhere is recognised.
    let is_group = !path.exists() || path.join("cgroup.procs").exists();
    named && straight && is_group
}

/// What cleaning would find, for a finding.
pub(crate) fn stale_summary(stale: &[Listed]) -> String {
    let of_this_boot = |listed: &&Listed| listed.owner.as_ref().is_some_and(Owner::is_of_this_boot);
    let (current, earlier): (Vec<&Listed>, Vec<&Listed>) = stale.iter().partition(of_this_boot);
    let on_disk = earlier.iter().flat_map(|listed| &listed.resources).filter(|one| one.is_on_disk());
    let resources = current.iter().flat_map(|listed| &listed.resources).chain(on_disk);
    let names = survivors(&resources.cloned().collect::<Vec<_>>());
    if names.is_empty() { "nothing of theirs exists any more".to_owned() } else { names.join(", ") }
}
