//! Control groups around a container. The container's processes are moved into the variant's groups, where
//! they are counted, limited and frozen like those of any service. Processes that only start it leave the
//! limiting groups.
//!
//! Runtimes put containers into new groups. A hook, which they run before the program starts, undoes that:
//! the launch writes down its own groups, and the hook moves the container's only process there, in every
//! hierarchy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cleanup::owned_resource::PREFIX;
use crate::process::cgroup;

/// A killed process leaves its groups within milliseconds.
const LEAVE_PATIENCE: Duration = Duration::from_secs(5);

/// Pause between two checks whether groups have reappeared, the number of consecutive checks that must not
/// see them, and the largest number of checks (2 s).
const LOOK: Duration = Duration::from_millis(20);
const QUIET: u32 = 5;
const TRIES: u32 = 100;

/// Controllers of version 1; other mount options are not part of a hierarchy's name.
const CONTROLLERS: [&str; 15] = [
    "blkio",
    "cpu",
    "cpuacct",
    "cpuset",
    "debug",
    "devices",
    "freezer",
    "hugetlb",
    "memory",
    "misc",
    "net_cls",
    "net_prio",
    "perf_event",
    "pids",
    "rdma",
];

/// One mounted hierarchy of control groups.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    /// Its controllers, as in `/proc/<pid>/cgroup`; empty for version 2.
    controllers: String,
    at: String,
    /// The group that is mounted, a prefix of all visible ones; empty for the root group.
    root: String,
}

/// The hierarchies in the text of `/proc/self/mountinfo`.
fn mounts(mountinfo: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let mut fields = left.split(' ').skip(3).map(|field| field.replace("\\040", " "));
        let (root, at) = (fields.next()?.trim_end_matches('/').to_owned(), fields.next()?);
        let mut right = right.split(' ');
        let controllers = match (right.next()?, right.nth(1)) {
            ("cgroup2", _) => String::new(),
            ("cgroup", Some(options)) => {
                let named = |option: &&str| option.starts_with("name=") || CONTROLLERS.contains(option);
                options.split(',').filter(named).collect::<Vec<_>>().join(",")
            }
            _ => return None,
        };
        Some(Mount { controllers, at, root })
    };
    mountinfo.lines().filter_map(mount).collect()
}

fn own_mounts() -> Vec<Mount> {
    mounts(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// Branches of a shell's `case` with the mount point of each hierarchy.
fn arms(mounts: &[Mount]) -> String {
    let arm = |Mount { controllers, at, root }: &Mount| {
        format!("'{controllers}') mount={} root={} ;;\n", quoted(Path::new(at)), quoted(Path::new(root)))
    };
    mounts.iter().map(arm).collect()
}

/// A path, quoted as one word for a shell.
pub(super) fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

/// A script that reads the container's process on its standard input and moves it to the groups in the file
/// `list`, which has the format of `/proc/<pid>/cgroup`.
pub(super) fn hook(list: &Path) -> String {
    format!(
        "pid=$(sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/')\n\
         while IFS=: read -r number controllers group; do\n\
         case \"$controllers\" in\n{}*) continue ;;\nesac\n\
         echo \"$pid\" > \"$mount${{group#\"$root\"}}/cgroup.procs\" || exit 1\ndone < {}\n",
        arms(&own_mounts()),
        quoted(list)
    )
}

/// The first lines of a launch: writes its groups to `list`, and leaves our groups of version 1, since only
/// the container is to be limited. The group of version 2 is kept, since it is the one that is frozen.
pub(super) fn entry(list: &Path) -> String {
    let first: Vec<Mount> = own_mounts().into_iter().filter(|mount| !mount.controllers.is_empty()).collect();
    let list = quoted(list);
    format!(
        "cat /proc/self/cgroup > {list} || exit 1\n\
         while IFS=: read -r number controllers group; do\n\
         case \"$controllers\" in\n{}*) continue ;;\nesac\n\
         case \"${{group##*/}}\" in {PREFIX}*) group=${{group#\"$root\"}}; echo $$ > \"$mount${{group%/*}}/cgroup.procs\" || exit 1 ;; esac\n\
         done < {list}\n",
        arms(&first)
    )
}

/// Kills the remaining members of the groups called `name` at the roots of all hierarchies, and of the groups
/// below, and removes the groups.
pub(super) fn remove(name: &str) -> io::Result<()> {
    let mut outcome = Ok(());
    for Mount { at, .. } in own_mounts() {
        let removed = remove_below(&PathBuf::from(at).join(name));
        outcome = outcome.and(removed);
    }
    outcome
}

/// Like [`remove`], until they do not reappear: a runtime that an engine started before both were killed may
/// still be making them.
pub(super) fn remove_for_good(name: &str) -> io::Result<()> {
    let mut outcome = remove(name);
    let mut quiet = 0;
    for _ in 0..TRIES {
        std::thread::sleep(LOOK);
        quiet = if exists(name) { 0 } else { quiet + 1 };
        if quiet == QUIET {
            return Ok(());
        }
        if quiet == 0 {
            outcome = remove(name);
        }
    }
    outcome
}

/// Whether there is a group called `name` at the root of any hierarchy.
pub(super) fn exists(name: &str) -> bool {
    own_mounts().into_iter().any(|mount| PathBuf::from(mount.at).join(name).is_dir())
}

fn remove_below(group: &Path) -> io::Result<()> {
    let _ = cgroup::kill_members(group);
    for entry in fs::read_dir(group).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove_below(&entry.path())?;
        }
    }
    // A killed process leaves the group a moment later.
    cgroup::remove(group, LEAVE_PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "24 20 0:21 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        25 24 0:22 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        26 24 0:23 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n\
        34 24 0:31 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
    const SECOND: &str = "30 24 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

    #[test]
    fn hierarchies_of_both_versions_are_known_by_their_controllers() {
        let known =
            |text| mounts(text).into_iter().map(|mount| (mount.controllers, mount.at)).collect::<Vec<_>>();
        let pair = |controllers: &str, at: &str| (controllers.to_owned(), at.to_owned());
        // With SELinux, and inside a container without its own namespace of control groups.
        let within =
            "26 24 0:22 /docker/4711 /sys/fs/my\\040cgroup ro - cgroup cgroup rw,seclabel,cpu,cpuacct\n";
        assert_eq!(known(within), [pair("cpu,cpuacct", "/sys/fs/my cgroup")]);
        assert_eq!(mounts(within)[0].root, "/docker/4711");
        assert_eq!(mounts(SECOND)[0].root, "");
        assert_eq!(
            known(HYBRID),
            [
                pair("cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct"),
                pair("name=systemd", "/sys/fs/cgroup/systemd"),
                pair("", "/sys/fs/cgroup/unified"),
            ]
        );
        assert_eq!(known(SECOND), [pair("", "/sys/fs/cgroup")]);
    }

    #[test]
    fn scripts_know_the_hierarchies_of_this_host_and_any_path() {
        let list = Path::new("/runs/it's here/groups");
        let script = hook(list);
        assert!(script.contains("'') mount='") && script.contains("cgroup.procs"), "{script}");
        assert!(script.contains("< '/runs/it'\\''s here/groups'"), "{script}");
        assert!(!entry(list).contains("'') mount="), "{}", entry(list));
    }
}
