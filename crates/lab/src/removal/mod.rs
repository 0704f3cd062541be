//! Removing what a run has left: the one place that knows every kind of it.
//!
//! It lies above everything that makes such things and takes them away itself when all is well. It is used by the guardian
//! ([`guard`]) and by cleaning up after a run that is gone ([`stale`]).

pub mod guard;
pub mod stale;

use std::io;
use std::time::Duration;

use crate::cleanup::guardian::END_PATIENCE;
use crate::cleanup::owned::Thing;
use crate::host::procfs::{self, ProcessIdentity};
use crate::host::sys::{self, Signal, Target};
use crate::layers::container::oci;
use crate::net::namespace;
use crate::process::cgroup;
use crate::service::checkout;

/// Whether anything of a thing is there.
fn exists(thing: &Thing) -> bool {
    match thing {
        Thing::Process(process) => !surviving_members(*process).is_empty(),
        Thing::Cgroup { path } | Thing::Worktree { path, .. } => path.is_dir(),
        Thing::Namespace { path, .. } => path.exists(),
        Thing::Container { id, folder, .. } => oci::exists(id, folder),
    }
}

/// What runs first, each in the order of making (a control group takes its processes with it), then what engines held, which
/// is nothing but what their processes used, then the networks that it ran in, the last one made first, then what lies on a disk.
fn in_order_of_ending(things: &[Thing]) -> impl Iterator<Item = &Thing> {
    let is_network = |thing: &&Thing| matches!(thing, Thing::Namespace { .. });
    let is_held =
        |thing: &&Thing| matches!(thing, Thing::Container { runtime, .. } if oci::is_engine(runtime));
    let running =
        things.iter().filter(move |thing| !thing.is_on_disk() && !is_network(thing) && !is_held(thing));
    let networks = things.iter().rev().filter(is_network);
    running
        .chain(things.iter().filter(is_held))
        .chain(networks)
        .chain(things.iter().filter(|thing| thing.is_on_disk()))
}

/// How a thing was ended.
#[derive(Debug)]
enum Ending {
    /// It was there, and is gone now.
    Ended,
    /// There was nothing.
    AlreadyGone,
    /// It is still there.
    Failed(io::Error),
}

/// Thaws and kills a process's session, thaws, kills and removes a control group or a container, or removes a network or a worktree.
/// Somebody else may be doing the same: what is gone has gone, whatever stood in the way.
fn end(thing: &Thing) -> Ending {
    if !exists(thing) {
        return Ending::AlreadyGone;
    }
    match try_to_end(thing) {
        Ok(()) => Ending::Ended,
        Err(_) if !exists(thing) => Ending::AlreadyGone,
        Err(error) => Ending::Failed(error),
    }
}

fn try_to_end(thing: &Thing) -> io::Result<()> {
    match thing {
        Thing::Process(process) => end_session(*process),
        Thing::Worktree { path, repository } => checkout::remove(path, repository),
        Thing::Container { runtime, id, folder } => {
            // Whoever made it would have hidden what is secret in it, and cannot any more.
            oci::forget(folder);
            oci::end(runtime, id, folder)
        }
        Thing::Namespace { path, with_folder } => namespace::remove(path, *with_folder),
        Thing::Cgroup { path } => {
            // Kernels before 5.14 cannot kill what is frozen; where the file is missing nothing is frozen.
            let _ = std::fs::write(path.join("cgroup.freeze"), "0");
            cgroup::kill_members(path).and_then(|()| cgroup::remove(path, Duration::from_secs(5)))
        }
    }
}

/// The members of the session that `leader` made. While its number still names a session or group the kernel gives
/// it to no new process; so either the leader lives, or it is dead and the members are its children. Where a process
/// of the number has another start time, the session was gone and the number is a stranger's.
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
            // Either fails only where the member has just ended.
            let _ = sys::signal(Target::Process(member.pid), Signal::Kill);
            let _ = sys::signal(Target::Process(member.pid), Signal::Continue);
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
        assert!(matches!(end(&Thing::Process(stranger)), Ending::AlreadyGone));
    }
}
