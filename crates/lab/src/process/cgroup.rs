//! Control groups of version 2: finds the hierarchy, makes one group per unit, freezes, kills and removes it.
//!
//! Groups are made below this process's own, or below the nearest ancestor whose groups can be limited, under
//! names that begin with `wb-`. Nothing else is changed, and no controller is enabled (freezing, killing and
//! counting CPU need none).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;

use crate::cleanup::owned_resource::PREFIX;
use crate::host::mounts::Cgroup2Mount;
use crate::host::procfs::Pid;
use crate::host::sys::{self, Signal, SignalTarget};

/// Gives threads that try at the same time different names.
static ATTEMPTS: AtomicU32 = AtomicU32::new(0);

/// Where groups can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    mount: PathBuf,
    base: PathBuf,
}

impl Hierarchy {
    /// The mounted version 2 hierarchy and our place in it; `None` if there is none.
    pub fn detect() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let found = Self::locate(&mounts, &own).filter(|found| found.base.is_dir())?;
        let base = base_within(&found.mount, &found.base);
        Some(Self { base, ..found })
    }

    /// Like [`Self::detect`], from the text of `/proc/self/mountinfo` and `/proc/self/cgroup`.
    pub fn locate(mountinfo: &str, own: &str) -> Option<Self> {
        let Cgroup2Mount { root, at: mount } = Cgroup2Mount::find(mountinfo)?;
        let place = own.lines().find_map(|line| line.strip_prefix("0::"))?;
        // For a path outside the mounted root (another namespace's view), use the mount point itself. The
        // rest must be relative, since joining an absolute path would leave the mount.
        let below = Path::new(place).strip_prefix(&root).ok().filter(|below| below.is_relative());
        let below = below.unwrap_or(Path::new(""));
        let base = if place.contains("..") { mount.clone() } else { mount.join(below) };
        Some(Self { mount, base })
    }

    /// Where the hierarchy is mounted.
    pub fn mount(&self) -> &Path {
        &self.mount
    }

    /// The group in which new ones are made.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Whether a group can be made and frozen here; makes one and removes it to find out.
    pub fn is_usable(&self) -> bool {
        // It exists for microseconds and has no members, so no registry lists it.
        let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{:08x}-probe{attempt}", Pid::own().get());
        let Ok(group) = Cgroup::create(&self.base.join(name)) else { return false };
        let enterable = OpenOptions::new().write(true).open(self.base.join("cgroup.procs")).is_ok();
        group.remove(Duration::from_millis(100)).is_ok() && enterable
    }
}

/// Controllers that a group must delegate so that those below it can be limited.
const LIMITING: [&str; 2] = ["cpu", "memory"];

/// The group in which to make roles' groups for a process in the group `own`: the nearest ancestor up to
/// `mount` that delegates [`LIMITING`] and in which this user may move processes; `own` if there is none. A
/// group with processes of its own delegates nothing, and that of a session or a service has some.
pub(crate) fn base_within(mount: &Path, own: &Path) -> PathBuf {
    let passes_down = |group: &Path| {
        let passed = fs::read_to_string(group.join("cgroup.subtree_control")).unwrap_or_default();
        LIMITING.iter().all(|wanted| passed.split_ascii_whitespace().any(|name| name == *wanted))
            && OpenOptions::new().write(true).open(group.join("cgroup.procs")).is_ok()
    };
    // A limit on our own group must keep applying, so its ancestors are not used.
    let is_limited = |group: &Path| {
        let limit = |name: &str| fs::read_to_string(group.join(name)).unwrap_or_default();
        ["cpu.max", "memory.max"]
            .iter()
            .any(|name| !limit(name).is_empty() && !limit(name).starts_with("max"))
    };
    for group in own.ancestors().take_while(|group| group.starts_with(mount)) {
        if passes_down(group) {
            return group.to_owned();
        }
        if is_limited(group) {
            break;
        }
    }
    own.to_owned()
}

/// One group, with open descriptors of the files that are used around every window.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    procs: File,
    freeze: File,
    events: File,
}

impl Cgroup {
    /// Makes the group `path` and opens its files.
    ///
    /// Errors: the system's: not allowed, already exists, or the kernel is older than 5.2 and has no
    /// `cgroup.freeze`.
    pub fn create(path: &Path) -> io::Result<Self> {
        fs::create_dir(path)?;
        let open = |name: &str, write: bool| OpenOptions::new().read(true).write(write).open(path.join(name));
        let files = (|| {
            Ok((open("cgroup.procs", true)?, open("cgroup.freeze", true)?, open("cgroup.events", false)?))
        })();
        match files {
            Ok((procs, freeze, events)) => Ok(Self { path: path.to_owned(), procs, freeze, events }),
            Err(error) => {
                // The first error is the one to report. An empty group that remains is named `wb-` and
                // harmless.
                let _ = fs::remove_dir(path);
                Err(error)
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file to which a process writes `0` to join the group.
    pub(crate) fn procs(&self) -> BorrowedFd<'_> {
        self.procs.as_fd()
    }

    /// The processes in the group that still run.
    pub fn members(&self) -> io::Result<Vec<Pid>> {
        let text = read_from_start(&self.procs)?;
        // Processes of an outer namespace show as 0; they cannot be ours.
        Ok(text.lines().filter_map(|line| line.parse().ok().filter(|id| *id > 0).map(Pid::new)).collect())
    }

    /// Requests that all members be frozen or thawed. [`Cgroup::is_frozen`] confirms it.
    pub fn request(&self, state: FreezerState) -> io::Result<()> {
        let text: &[u8] = match state {
            FreezerState::Frozen => b"1",
            FreezerState::Running => b"0",
        };
        self.freeze.write_all_at(text, 0)
    }

    /// Whether every member is frozen now.
    pub fn is_frozen(&self) -> io::Result<bool> {
        let mut buffer = [0; 128];
        let length = self.events.read_at(&mut buffer, 0)?;
        Ok(buffer[..length].split(|byte| *byte == b'\n').any(|line| line == b"frozen 1"))
    }

    /// Kills every member, frozen or not.
    pub fn kill(&self) -> io::Result<()> {
        kill_members(&self.path)
    }

    /// Removes the group after waiting until the last member has left.
    pub fn remove(self, patience: Duration) -> io::Result<()> {
        remove(&self.path, patience)
    }
}

/// State requested of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FreezerState {
    /// All members are frozen.
    Frozen,
    /// All members run.
    Running,
}

/// Kills every member of the group at `path`: by `cgroup.kill` (Linux 5.14), else one by one until none is
/// left.
pub(crate) fn kill_members(path: &Path) -> io::Result<()> {
    if fs::write(path.join("cgroup.kill"), "1").is_ok() {
        return Ok(());
    }
    // A member may fork between the listing and the signal; the next listing has its child.
    for _ in 0..100 {
        let text = match fs::read_to_string(path.join("cgroup.procs")) {
            // Another process removed it. For a file that was open already, the kernel reports ENODEV
            // instead.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => return Ok(()),
            other => other?,
        };
        let members: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        if members.is_empty() {
            return Ok(());
        }
        for id in members {
            // It may have ended by itself; the next listing shows that.
            let _ = sys::signal(SignalTarget::Process(Pid::new(id)), Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Removes the group at `path`; does nothing if it is already gone.
pub(crate) fn remove(path: &Path, patience: Duration) -> io::Result<()> {
    let deadline = sys::monotonic() + Nanoseconds::from_nanos(patience.as_nanos() as u64);
    loop {
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            // A killed member leaves the group a moment later.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && sys::monotonic() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(error),
        }
    }
}

fn read_from_start(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let length = file.read_at(&mut chunk, bytes.len() as u64)?;
        if length == 0 {
            return Ok(String::from_utf8_lossy(&bytes).into_owned());
        }
        bytes.extend_from_slice(&chunk[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "24 20 0:21 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        25 24 0:22 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n\
        34 24 0:31 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_version_2_mount_of_a_hybrid_setup_is_found() {
        let found = Hierarchy::locate(HYBRID, "9:name=systemd:/\n4:memory:/x/y\n0::/\n").expect("a mount");
        assert_eq!(found.mount(), Path::new("/sys/fs/cgroup/unified"));
        assert_eq!(found.base(), Path::new("/sys/fs/cgroup/unified"));
    }

    #[test]
    fn groups_are_made_below_our_own() {
        let unified = "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        let own = "0::/user.slice/user-1000.slice/session-2.scope\n";
        let found = Hierarchy::locate(unified, own).expect("a mount");
        assert_eq!(found.base(), Path::new("/sys/fs/cgroup/user.slice/user-1000.slice/session-2.scope"));
    }

    /// Files as on a host with version 2 alone, where a session is in a slice that delegates controllers.
    #[test]
    fn groups_that_can_be_limited_are_made_where_controllers_are_delegated() {
        let folder = tempfile::tempdir().expect("a folder");
        let (mount, slice) = (folder.path(), folder.path().join("user.slice"));
        let own = slice.join("session.scope");
        fs::create_dir_all(&own).expect("a folder");
        let set = |group: &Path, name: &str, text: &str| fs::write(group.join(name), text).expect("a file");
        for (group, passed) in [(mount, "cpuset cpu memory pids\n"), (&slice, "cpu memory\n"), (&own, "\n")] {
            set(group, "cgroup.subtree_control", passed);
            set(group, "cgroup.procs", "");
            set(group, "cpu.max", "max 100000\n");
            set(group, "memory.max", "max\n");
        }
        assert_eq!(base_within(mount, &own), slice);
        set(&slice, "cgroup.subtree_control", "memory\n");
        assert_eq!(base_within(mount, &own), mount);
        set(&own, "cpu.max", "50000 100000\n");
        assert_eq!(base_within(mount, &own), own, "its limit is not to be left");
        set(&own, "cpu.max", "max 100000\n");
        fs::remove_file(mount.join("cgroup.procs")).expect("a file");
        assert_eq!(base_within(mount, &own), own, "nowhere else may a process be moved to");
    }

    #[test]
    fn a_container_that_sees_part_of_the_hierarchy_is_understood() {
        let part = "30 24 0:26 /docker/abc /sys/fs/cg\\040roup rw - cgroup2 cgroup2 rw\n";
        let inside = Hierarchy::locate(part, "0::/docker/abc/worker\n").expect("a mount");
        assert_eq!(inside.base(), Path::new("/sys/fs/cg roup/worker"));
        let outside = Hierarchy::locate(part, "0::/../other\n").expect("a mount");
        assert_eq!(outside.base(), Path::new("/sys/fs/cg roup"));
    }

    #[test]
    fn version_1_alone_is_no_hierarchy() {
        let first = "25 24 0:22 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n";
        assert_eq!(Hierarchy::locate(first, "3:freezer:/\n"), None);
        assert_eq!(Hierarchy::locate(first, "0::/\n"), None);
    }
}
