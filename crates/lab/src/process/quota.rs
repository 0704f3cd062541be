//! Quotas of CPU time: sets one for a role, and finds the one that limits a process, even if another program
//! set it.
//!
//! A quota belongs to a control group: `cpu.max` in version 2 if a parent group delegates the controller,
//! else `cpu.cfs_quota_us` in version 1. Trying it shows which this host offers. No controller is enabled and
//! no limit of a group but our own is written. The launcher makes a group only after it is tracked for
//! clean-up.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{CpuQuota, Throttling};

use crate::cleanup::owned_resource::PREFIX;
use crate::host::procfs::Pid;
use crate::process::cgroup;

/// Gives threads that try at the same time different names.
static ATTEMPTS: AtomicU32 = AtomicU32::new(0);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "CPU time cannot be limited here: {reason}; run as root, or under `systemd-run --user --scope -p Delegate=yes weigh …`"
)]
pub struct NoQuota {
    /// What was tried, and the result.
    reason: String,
}

/// The version of control groups, by the files of its CPU controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// `cpu.cfs_period_us` and `cpu.cfs_quota_us`.
    First,
    /// `cpu.max`.
    Second,
}

/// The controllers that limit a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControllerKind {
    /// CPU time.
    Cpu,
    Memory,
}

impl ControllerKind {
    /// Its name in mounts and in `/proc/<pid>/cgroup`.
    const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }
}

/// A process's place in one hierarchy that has, or may have, a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupLocation {
    /// Whose files the hierarchy's groups have.
    pub version: Version,
    /// Where the hierarchy is mounted.
    pub mount: PathBuf,
    /// The process's group.
    pub group: PathBuf,
}

impl CgroupLocation {
    /// This process's places.
    pub fn own(kind: ControllerKind) -> Vec<Self> {
        Self::read(kind, "self")
    }

    /// A process's places, version 2 first; empty if it has ended or there are no control groups.
    pub fn find(kind: ControllerKind, pid: Pid) -> Vec<Self> {
        Self::read(kind, &pid.to_string())
    }

    fn read(kind: ControllerKind, process: &str) -> Vec<Self> {
        let text = |file: &str| fs::read_to_string(file).unwrap_or_default();
        Self::locate(kind, &text("/proc/self/mountinfo"), &text(&format!("/proc/{process}/cgroup")))
    }

    /// Like [`Self::find`], from the text of `/proc/self/mountinfo` and `/proc/<pid>/cgroup`.
    pub fn locate(kind: ControllerKind, mountinfo: &str, groups: &str) -> Vec<Self> {
        let found = |version: Version| {
            let (root, mount) = mountinfo.lines().find_map(|line| mounted(line, version, kind))?;
            let place = groups.lines().find_map(|line| listed(line, version, kind))?;
            // As in `Hierarchy::locate`: for a path outside the mounted root, use the mount point itself.
            let below = Path::new(place).strip_prefix(&root).ok().filter(|below| below.is_relative());
            let below = below.filter(|_| !place.contains("..")).unwrap_or(Path::new(""));
            Some(Self { version, group: mount.join(below), mount })
        };
        [Version::Second, Version::First].into_iter().filter_map(found).collect()
    }

    /// The group below which to make limited ones for a process in this place.
    pub fn base(&self) -> PathBuf {
        match self.version {
            Version::First => self.group.clone(),
            Version::Second => cgroup::base_within(&self.mount, &self.group),
        }
    }

    /// The tightest quota on the path from the process's group to the mount, and the group that has it.
    pub fn quota(&self) -> Option<(CpuQuota, PathBuf)> {
        let groups = self.group.ancestors().take_while(|path| path.starts_with(&self.mount));
        let quotas = groups.filter_map(|path| Some((read_quota(path, self.version)?, path.to_owned())));
        quotas.min_by(|(a, _), (b, _)| a.cores().get().total_cmp(&b.cores().get()))
    }
}

/// Root and mount point of the version's controller, if this line of mountinfo is its mount.
fn mounted(line: &str, version: Version, controller: ControllerKind) -> Option<(PathBuf, PathBuf)> {
    let (left, right) = line.split_once(" - ")?;
    let mut kind = right.split(' ');
    let fits = match (version, kind.next()?) {
        (Version::Second, "cgroup2") => true,
        (Version::First, "cgroup") => kind.nth(1)?.split(',').any(|option| option == controller.name()),
        _ => false,
    };
    let mut fields = left.split(' ').skip(3);
    let mut path = || fields.next().map(|field| PathBuf::from(field.replace("\\040", " ")));
    if fits { Some((path()?, path()?)) } else { None }
}

/// The group of the version's controller, if this line of `/proc/<pid>/cgroup` (`number:controllers:group`)
/// is the controller's.
fn listed(line: &str, version: Version, controller: ControllerKind) -> Option<&str> {
    let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
    let fits = match version {
        Version::Second => controllers.is_empty(),
        Version::First => controllers.split(',').any(|name| name == controller.name()),
    };
    fits.then_some(group)
}

/// The tightest quota of CPU time on this process, whoever set it, and how often it throttled so far. `None`
/// if no quota is visible: groups above the mounted root of a container are not.
pub fn own_quota() -> Option<(CpuQuota, Option<Throttling>)> {
    let quotas = CgroupLocation::own(ControllerKind::Cpu).into_iter().filter_map(|place| place.quota());
    let (quota, group) = quotas.min_by(|(a, _), (b, _)| a.cores().get().total_cmp(&b.cores().get()))?;
    Some((quota, throttling(&group)))
}

fn read_quota(group: &Path, version: Version) -> Option<CpuQuota> {
    let text = |name: &str| fs::read_to_string(group.join(name)).ok();
    match version {
        Version::Second => parse_max(&text("cpu.max")?),
        Version::First => parse_cfs(&text("cpu.cfs_quota_us")?, &text("cpu.cfs_period_us")?),
    }
}

/// Parses `cpu.max`: `50000 100000` in µs, or `max 100000` for none.
pub fn parse_max(text: &str) -> Option<CpuQuota> {
    let (quota, period) = text.trim().split_once(' ')?;
    parse_cfs(quota, period)
}

/// Parses `cpu.cfs_quota_us` (−1 for none) and `cpu.cfs_period_us`.
pub fn parse_cfs(quota: &str, period: &str) -> Option<CpuQuota> {
    let micros =
        |text: &str| text.trim().parse::<u64>().ok()?.checked_mul(1_000).map(Nanoseconds::from_nanos);
    let found = CpuQuota { time: micros(quota)?, period: micros(period)? };
    (found.period > Nanoseconds::ZERO).then_some(found)
}

/// Parses the throttling in `cpu.stat`; version 1 counts in ns, version 2 in µs.
pub fn parse_throttling(text: &str) -> Option<Throttling> {
    let field = |name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.trim().parse().ok()
    };
    let nanos = match field("throttled_time") {
        Some(nanos) => nanos,
        None => field("throttled_usec")?.checked_mul(1_000)?,
    };
    Some(Throttling {
        periods: field("nr_periods")?,
        throttled: field("nr_throttled")?,
        time: Nanoseconds::from_nanos(nanos),
    })
}

/// How often the quota of the group at `path` throttled so far; `None` if the kernel does not report it.
pub fn throttling(path: &Path) -> Option<Throttling> {
    parse_throttling(&fs::read_to_string(path.join("cpu.stat")).ok()?)
}

/// How to set quotas on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    version: Version,
    base: PathBuf,
}

impl Controller {
    /// The way that works here, found by setting a quota on an empty group.
    pub fn detect() -> Result<Self, NoQuota> {
        let mut tried = Vec::new();
        for place in CgroupLocation::own(ControllerKind::Cpu) {
            let controller = Self { version: place.version, base: place.base() };
            match controller.attempt() {
                Ok(()) => return Ok(controller),
                Err(error) => tried.push(format!("`{}`: {error}", controller.base.display())),
            }
        }
        let reason = if tried.is_empty() {
            "no control groups with a CPU controller are mounted".to_owned()
        } else {
            format!("the CPU controller could not be used at {}", tried.join(", nor at "))
        };
        Err(NoQuota { reason })
    }

    /// Whose files are used.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The group below which to make limited ones.
    pub fn base(&self) -> &Path {
        &self.base
    }

    fn attempt(&self) -> io::Result<()> {
        let period = Nanoseconds::from_millis(100);
        attempt(&self.base, |path| self.write(path, CpuQuota { time: period, period }))
    }

    /// Sets the quota of the group at `path`.
    pub fn write(&self, path: &Path, quota: CpuQuota) -> io::Result<()> {
        let micros = |time: Nanoseconds| time.as_nanos() / 1_000;
        let write = |name: &str, text: String| set(path, name, &text);
        match self.version {
            Version::Second => write("cpu.max", format!("{} {}", micros(quota.time), micros(quota.period))),
            Version::First => write("cpu.cfs_period_us", micros(quota.period).to_string())
                .and_then(|()| write("cpu.cfs_quota_us", micros(quota.time).to_string())),
        }
    }

    /// Makes the limited group `path`, which must be tracked for clean-up already.
    ///
    /// Errors: the system's; no group is left then.
    pub(crate) fn create(&self, path: &Path, quota: CpuQuota) -> io::Result<Limited> {
        Limited::make(path, |path| self.write(path, quota))
    }
}

/// Writes a file of a group.
pub(crate) fn set(group: &Path, name: &str, text: &str) -> io::Result<()> {
    // The file is never created: a group without the controller lacks it, and a folder elsewhere is not a
    // group.
    let file = OpenOptions::new().write(true).open(group.join(name));
    file.and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
}

/// Tries to make a group below `base` with this limit, and removes it.
pub(crate) fn attempt(base: &Path, limit: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    // It exists for microseconds and has no members, so no registry lists it.
    let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
    let path = base.join(format!("{PREFIX}{:08x}-limit{attempt}", Pid::own().get()));
    fs::create_dir(&path)?;
    let written = limit(&path);
    let entered = OpenOptions::new().write(true).open(path.join("cgroup.procs")).map(drop);
    let removed = cgroup::remove(&path, Duration::from_millis(100));
    written.and(entered).and(removed)
}

/// A group of version 1 that limits a role. In version 2 the role's own group does.
#[derive(Debug)]
pub(crate) struct Limited {
    path: PathBuf,
    procs: File,
}

impl Limited {
    /// Makes the group `path`, which must be tracked for clean-up already, with this limit.
    pub(crate) fn make(path: &Path, limit: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<Self> {
        fs::create_dir(path)?;
        match limit(path).and_then(|()| OpenOptions::new().write(true).open(path.join("cgroup.procs"))) {
            Ok(procs) => Ok(Self { path: path.to_owned(), procs }),
            Err(error) => {
                // The first error is the one to report.
                let _ = fs::remove_dir(path);
                Err(error)
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The file to which a process writes `0` to join the group.
    pub(crate) fn procs(&self) -> BorrowedFd<'_> {
        self.procs.as_fd()
    }

    /// Removes the group after waiting until the last member has left.
    pub(crate) fn remove(self, patience: Duration) -> io::Result<()> {
        cgroup::remove(&self.path, patience)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "24 20 0:21 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        25 24 0:22 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
        26 24 0:23 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n\
        34 24 0:31 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";

    fn quota(time: u64, period: u64) -> CpuQuota {
        CpuQuota { time: Nanoseconds::from_millis(time), period: Nanoseconds::from_millis(period) }
    }

    #[test]
    fn both_versions_of_a_hybrid_setup_are_found_and_cpuset_is_not_cpu() {
        let own = "5:cpuset:/elsewhere\n4:cpu,cpuacct:/docker/a\n0::/b\n";
        let places = CgroupLocation::locate(ControllerKind::Cpu, HYBRID, own);
        let groups: Vec<_> = places.iter().map(|place| (place.version, place.group.to_str())).collect();
        assert_eq!(
            groups,
            [
                (Version::Second, Some("/sys/fs/cgroup/unified/b")),
                (Version::First, Some("/sys/fs/cgroup/cpu,cpuacct/docker/a")),
            ]
        );
        assert_eq!(CgroupLocation::locate(ControllerKind::Cpu, HYBRID, "5:cpuset:/\n"), []);
        assert_eq!(CgroupLocation::locate(ControllerKind::Memory, HYBRID, "4:cpu,cpuacct:/a\n"), []);
        assert_eq!(CgroupLocation::locate(ControllerKind::Cpu, "", own), []);
    }

    #[test]
    fn a_part_of_the_hierarchy_and_a_place_outside_of_it_stay_below_the_mount() {
        let part = "30 24 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let group = |own: &str| CgroupLocation::locate(ControllerKind::Cpu, part, own).remove(0).group;
        assert_eq!(group("0::/docker/abc/worker\n"), Path::new("/sys/fs/cgroup/worker"));
        assert_eq!(group("0::/../other\n"), Path::new("/sys/fs/cgroup"));
        assert_eq!(group("0::/docker/abc/../../etc\n"), Path::new("/sys/fs/cgroup"));
    }

    #[test]
    fn quotas_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_max("50000 100000\n"), Some(quota(50, 100)));
        assert_eq!(parse_max("max 100000\n"), None);
        assert_eq!(parse_cfs("200000\n", "100000\n"), Some(quota(200, 100)));
        assert_eq!(parse_cfs("-1\n", "100000\n"), None);
        assert_eq!(parse_cfs("1", "0"), None);
        assert_eq!(parse_max("18446744073709551615 1"), None);
    }

    #[test]
    fn throttling_is_in_nanoseconds_in_version_1_and_in_microseconds_in_version_2() {
        let expected =
            Some(Throttling { periods: 420, throttled: 412, time: Nanoseconds::from_millis(20_100) });
        let first =
            "nr_periods 420\nnr_throttled 412\nthrottled_time 20100000000\nnr_bursts 0\nburst_time 0\n";
        assert_eq!(parse_throttling(first), expected);
        let second = "usage_usec 5\nuser_usec 5\nsystem_usec 0\nnr_periods 420\nnr_throttled 412\n\
            throttled_usec 20100000\n";
        assert_eq!(parse_throttling(second), expected);
        assert_eq!(parse_throttling("usage_usec 5\n"), None);
    }

    #[test]
    fn the_tightest_quota_on_the_way_up_counts() {
        let mount = tempfile::tempdir().expect("a folder");
        let group = mount.path().join("outer/inner");
        fs::create_dir_all(&group).expect("folders");
        fs::write(mount.path().join("outer/cpu.max"), "30000 100000\n").expect("a file");
        fs::write(group.join("cpu.max"), "max 100000\n").expect("a file");
        let place =
            CgroupLocation { version: Version::Second, mount: mount.path().to_owned(), group: group.clone() };
        assert_eq!(place.quota(), Some((quota(30, 100), mount.path().join("outer"))));
        fs::write(group.join("cpu.max"), "10000 50000\n").expect("a file");
        assert_eq!(place.quota(), Some((quota(10, 50), group)));
    }
}
