//! Removes what a run has left behind: the one place that knows how to remove each kind of resource.
//!
//! It depends on all modules that make such resources; normally they remove them themselves. The guardian
//! ([`guard`]) and the clean-up after a dead run ([`stale`]) use it.

pub mod guard;
pub mod stale;

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::cleanup::guardian::END_PATIENCE;
use crate::cleanup::owned_resource::OwnedResource;
use crate::host::procfs::{self, ProcessIdentity, ProcessStat};
use crate::host::sys::{self, Signal};
use crate::layers::container::oci;
use crate::net::namespace;
use crate::process::cgroup;
use crate::service::{checkout, state};

/// A keeper ends as soon as the last process below it has.
const KEEPER_PATIENCE: Nanoseconds = Nanoseconds::from_secs(2);

/// What is to be known where a keeper was killed.
const KEEPER_GONE: &str = "it was killed, so programs that had left their session can no longer be found";

/// Whether anything of a resource is left.
fn exists(resource: &OwnedResource) -> bool {
    match resource {
        OwnedResource::Process(process) => !surviving_members(*process).is_empty(),
        OwnedResource::Keeper(keeper) => keeper.is_alive(),
        OwnedResource::Cgroup { path }
        | OwnedResource::Worktree { path, .. }
        | OwnedResource::StateFolder { path } => path.is_dir(),
        OwnedResource::Namespace { path, .. } => path.exists(),
        OwnedResource::Container { id, folder, .. } => oci::exists(id, folder),
    }
}

/// The order of removal: first what runs, in order of creation (a control group includes its processes); then
/// engines' containers, whose processes have ended by then; then networks, the last one made first; then
/// files.
fn in_removal_order(resources: &[OwnedResource]) -> impl Iterator<Item = &OwnedResource> {
    let is_network = |resource: &&OwnedResource| matches!(resource, OwnedResource::Namespace { .. });
    let is_held = |resource: &&OwnedResource| match resource {
        OwnedResource::Container { runtime, .. } => oci::is_engine(runtime),
        _ => false,
    };
    let running = resources
        .iter()
        .filter(move |resource| !resource.is_on_disk() && !is_network(resource) && !is_held(resource));
    let networks = resources.iter().rev().filter(is_network);
    running
        .chain(resources.iter().filter(is_held))
        .chain(networks)
        .chain(resources.iter().filter(|resource| resource.is_on_disk()))
}

/// The result of removing a resource.
#[derive(Debug)]
enum Removal {
    /// It existed, and is removed.
    Removed,
    /// It did not exist.
    AlreadyGone,
    /// It still exists.
    Failed(io::Error),
}

/// Thaws and kills a process's session, thaws, kills and removes a control group or a container, or removes a
/// network, a worktree or a state folder. Somebody else may be doing the same: what is gone has gone, whatever
/// stood in the way.
fn remove(resource: &OwnedResource) -> Removal {
    if !exists(resource) {
        return Removal::AlreadyGone;
    }
    match try_to_remove(resource) {
        Ok(()) => Removal::Removed,
        Err(_) if !exists(resource) => Removal::AlreadyGone,
        Err(error) => Removal::Failed(error),
    }
}

fn try_to_remove(resource: &OwnedResource) -> io::Result<()> {
    match resource {
        OwnedResource::Process(process) => end_all(|| surviving_members(*process)),
        OwnedResource::Keeper(keeper) => end_kept(*keeper),
        OwnedResource::Worktree { path, repository } => checkout::remove(path, repository),
        OwnedResource::StateFolder { path } => state::remove(path),
        OwnedResource::Container { runtime, id, folder } => {
            // The owner would have removed the secrets in it, and no longer can.
            oci::forget(folder);
            oci::end(runtime, id, folder)
        }
        OwnedResource::Namespace { path, with_folder } => namespace::remove(path, *with_folder),
        OwnedResource::Cgroup { path } => {
            // Kernels before 5.14 cannot kill frozen processes; without the file nothing is frozen.
            let _ = std::fs::write(path.join("cgroup.freeze"), "0");
            cgroup::kill_members(path).and_then(|()| cgroup::remove(path, Duration::from_secs(5)))
        }
    }
}

/// The process itself and the members of the session that `leader` made. While its id names a session or group,
/// the kernel gives the id to no new process; so either the leader lives, or it is dead and the members are its
/// children. A process with the id and another start time means that the session has ended and the id belongs to
/// a stranger.
fn surviving_members(leader: ProcessIdentity) -> Vec<ProcessStat> {
    let own = ProcessStat::read(leader.pid);
    if own.as_ref().is_some_and(|stat| stat.identity() != leader) {
        return Vec::new();
    }
    let mut members = procfs::session_members(leader.pid);
    // A process in another's session, as one that was forked after `setsid`.
    let is_apart = |stat: &ProcessStat| stat.session != leader.pid && stat.group != leader.pid;
    members.extend(own.filter(|stat| is_apart(stat) && !stat.is_gone()));
    members
}

/// Ends what runs below a keeper. The keeper goes last and by itself; one that stays has children that are not
/// seen from here.
fn end_kept(keeper: ProcessIdentity) -> io::Result<()> {
    end_all(|| procfs::descendants(keeper))?;
    let start = sys::monotonic();
    while keeper.is_alive() {
        // It may have been stopped; this fails only if it has just ended.
        let _ = keeper.signal(Signal::CONT);
        if sys::monotonic().since(start) > KEEPER_PATIENCE {
            let text = "it has children that this user cannot see: look as root";
            return Err(io::Error::other(text));
        }
        std::thread::sleep(Duration::from_millis(1));
        end_all(|| procfs::descendants(keeper))?;
    }
    Ok(())
}

/// Kills all processes until `listed` finds none any more.
///
/// Errors: they may not be signalled, or do not end; both are named.
fn end_all(listed: impl Fn() -> Vec<ProcessStat>) -> io::Result<()> {
    let start = sys::monotonic();
    loop {
        let members = listed();
        let mut refused = 0;
        for member in members.iter().map(ProcessStat::identity) {
            // Other errors mean that it has just ended.
            let killed = member.signal(Signal::KILL);
            refused +=
                usize::from(killed.is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied));
            let _ = member.signal(Signal::CONT);
        }
        if members.is_empty() {
            return Ok(());
        }
        if refused == members.len() {
            let text = format!("{}: not ours to end, `kill` as that user or as root", named(&members));
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        if sys::monotonic().since(start) > END_PATIENCE {
            return Err(io::Error::new(io::ErrorKind::TimedOut, format!("{} did not end", named(&members))));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn named(processes: &[ProcessStat]) -> String {
    processes.iter().map(named_one).collect::<Vec<_>>().join(", ")
}

/// A process with its name and user.
fn named_one(stat: &ProcessStat) -> String {
    let user = procfs::user(stat.pid).map(|user| format!(" of user {user}")).unwrap_or_default();
    format!("process {} (`{}`){user}", stat.pid, stat.name)
}

/// What is still there of these resources, and what cannot be seen, in words; each once.
pub fn survivors(resources: &[OwnedResource]) -> Vec<String> {
    let mut names = Vec::new();
    for resource in resources {
        match resource {
            OwnedResource::Keeper(keeper) if !keeper.is_alive() => {
                names.push(format!("{resource}: {KEEPER_GONE}"));
            }
            OwnedResource::Keeper(keeper) => {
                let below = procfs::descendants(*keeper);
                names.extend(below.iter().map(named_one));
                names.extend(below.is_empty().then(|| resource.to_string()));
            }
            OwnedResource::Process(process) => {
                names.extend(surviving_members(*process).iter().map(named_one));
            }
            _ => names.extend(exists(resource).then(|| resource.to_string())),
        }
    }
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_removed_once_and_networks_after_what_runs_in_them() {
        let path = |name: &str| std::path::PathBuf::from(name);
        let network = |name: &str| OwnedResource::Namespace { path: path(name), with_folder: false };
        let process = OwnedResource::Process(ProcessIdentity::own().expect("/proc is mounted"));
        let container = |runtime: &str| OwnedResource::Container {
            runtime: runtime.into(),
            id: "c".into(),
            folder: path("c"),
        };
        let made = [
            OwnedResource::StateFolder { path: path("s") },
            network("first"),
            container("docker"),
            network("second"),
            OwnedResource::Cgroup { path: path("g") },
            process,
            container("runc"),
            OwnedResource::Worktree { path: path("w"), repository: path("r") },
        ];
        let order: Vec<_> = in_removal_order(&made).collect();
        let places = [4, 5, 6, 2, 3, 1, 0, 7];
        assert_eq!(order, places.map(|place| &made[place]).to_vec());
    }

    #[test]
    fn a_process_of_another_start_time_is_a_stranger() {
        let own = ProcessIdentity::own().expect("/proc is mounted");
        let stranger = ProcessIdentity { start_time: own.start_time + 1, ..own };
        assert_eq!(surviving_members(stranger), []);
        assert!(matches!(remove(&OwnedResource::Process(stranger)), Removal::AlreadyGone));
    }
}
