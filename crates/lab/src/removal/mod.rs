//! Removes what a run has left behind: the one place that knows how to remove each kind of resource.
//!
//! It depends on all modules that make such resources; normally they remove them themselves. The guardian
//! ([`guard`]) and the clean-up after a dead run ([`stale`]) use it.

pub mod guard;
pub mod stale;

use std::io;
use std::time::Duration;

use crate::cleanup::guardian::END_PATIENCE;
use crate::cleanup::owned_resource::OwnedResource;
use crate::host::procfs::{self, ProcessIdentity};
use crate::host::sys::{self, Signal, SignalTarget};
use crate::layers::container::oci;
use crate::net::namespace;
use crate::process::cgroup;
use crate::service::{checkout, state};

/// Whether anything of a resource is left.
fn exists(resource: &OwnedResource) -> bool {
    match resource {
        OwnedResource::Process(process) => !surviving_members(*process).is_empty(),
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
        OwnedResource::Process(process) => end_session(*process),
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

/// The members of the session that `leader` made. While its id names a session or group, the kernel gives the
/// id to no new process; so either the leader lives, or it is dead and the members are its children. A
/// process with the id and another start time means that the session has ended and the id belongs to a
/// stranger.
fn surviving_members(leader: ProcessIdentity) -> Vec<procfs::ProcessStat> {
    let stranger =
        procfs::ProcessStat::read(leader.pid).is_some_and(|stat| stat.start_time != leader.start_time);
    if stranger { Vec::new() } else { procfs::session_members(leader.pid) }
}

fn end_session(leader: ProcessIdentity) -> io::Result<()> {
    let mut members = surviving_members(leader);
    let start = sys::monotonic();
    while !members.is_empty() {
        for member in &members {
            // Both fail only if the member has just ended.
            let _ = sys::signal(SignalTarget::Process(member.pid), Signal::KILL);
            let _ = sys::signal(SignalTarget::Process(member.pid), Signal::CONT);
        }
        if sys::monotonic().since(start) > END_PATIENCE {
            return Err(io::ErrorKind::TimedOut.into());
        }
        std::thread::sleep(Duration::from_millis(1));
        members = surviving_members(leader);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_another_start_time_is_a_stranger() {
        let own = ProcessIdentity::own().expect("/proc is mounted");
        let stranger = ProcessIdentity { start_time: own.start_time + 1, ..own };
        assert_eq!(surviving_members(stranger), []);
        assert!(matches!(remove(&OwnedResource::Process(stranger)), Removal::AlreadyGone));
    }
}
