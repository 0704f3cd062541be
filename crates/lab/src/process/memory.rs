//! Limits of memory: sets one for a role, and reads how often it was hit.
//!
//! A limit belongs to a control group: `memory.max` in version 2 if a parent group delegates the controller,
//! else `memory.limit_in_bytes` in version 1. Trying it shows which this host offers, as for quotas of CPU
//! time. Swapping is disabled for the group, so that memory above the limit is reclaimed or its process
//! killed. No controller is enabled, and no group but our own is changed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::MemoryFacts;

use crate::process::quota::{self, CgroupLocation, ControllerKind, Limited, Version};

/// A limit that every group accepts, for trying.
const TRIED: Bytes = Bytes::new(64 << 20);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "memory cannot be limited here: {reason}; run as root, or under `systemd-run --user --scope -p Delegate=yes weigh …`"
)]
pub struct NoLimit {
    /// What was tried, and the result.
    reason: String,
}

/// How to limit memory on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    version: Version,
    base: PathBuf,
}

impl Controller {
    /// The way that works here, found by limiting an empty group.
    pub fn detect() -> Result<Self, NoLimit> {
        let mut tried = Vec::new();
        for place in CgroupLocation::own(ControllerKind::Memory) {
            let controller = Self { version: place.version, base: place.base() };
            match quota::attempt(&controller.base, |path| controller.write(path, TRIED)) {
                Ok(()) => return Ok(controller),
                Err(error) => tried.push(format!("`{}`: {error}", controller.base.display())),
            }
        }
        let reason = if tried.is_empty() {
            "no control groups with a memory controller are mounted".to_owned()
        } else {
            format!("the memory controller could not be used at {}", tried.join(", nor at "))
        };
        Err(NoLimit { reason })
    }

    /// Whose files are used.
    pub const fn version(&self) -> Version {
        self.version
    }

    /// The group below which to make limited ones.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Limits the group at `path`.
    pub fn write(&self, path: &Path, limit: Bytes) -> io::Result<()> {
        let bytes = limit.get().to_string();
        // Kernels without swap accounting lack the files of its limits; version 1 can still be told never to
        // swap.
        let swap = |name: &str, text: &str| match path.join(name).exists() {
            true => quota::set(path, name, text),
            false => Ok(()),
        };
        match self.version {
            Version::Second => {
                quota::set(path, "memory.max", &bytes).and_then(|()| swap("memory.swap.max", "0"))
            }
            Version::First => quota::set(path, "memory.limit_in_bytes", &bytes)
                .and_then(|()| swap("memory.memsw.limit_in_bytes", &bytes))
                .and_then(|()| swap("memory.swappiness", "0")),
        }
    }

    /// Makes the limited group `path`, which must be tracked for clean-up already.
    ///
    /// Errors: the system's; no group is left then.
    pub(crate) fn create(&self, path: &Path, limit: Bytes) -> io::Result<Limited> {
        Limited::make(path, |path| self.write(path, limit))
    }
}

/// The limit of the group at `path`, of either version, and how often it was hit; `None` if it has none.
pub fn facts(path: &Path) -> Option<MemoryFacts> {
    let text = |name: &str| fs::read_to_string(path.join(name)).ok();
    let bytes = |name: &str| text(name)?.trim().parse().ok().map(Bytes::new);
    if let Some(limit) = bytes("memory.max") {
        let events = text("memory.events").unwrap_or_default();
        return Some(MemoryFacts {
            limit,
            // Kernels before 5.19 lack this file.
            peak: bytes("memory.peak"),
            met: field(&events, "max"),
            killed: field(&events, "oom_kill"),
        });
    }
    Some(MemoryFacts {
        limit: bytes("memory.limit_in_bytes").filter(|limit| *limit < UNLIMITED)?,
        peak: bytes("memory.max_usage_in_bytes"),
        met: text("memory.failcnt").and_then(|text| text.trim().parse().ok()).unwrap_or_default(),
        killed: field(&text("memory.oom_control").unwrap_or_default(), "oom_kill"),
    })
}

/// Memory that the members of the group at `path` use now, of either version: `memory.current` or
/// `memory.usage_in_bytes`.
pub fn held(path: &Path) -> Option<Bytes> {
    let bytes = |name: &str| fs::read_to_string(path.join(name)).ok()?.trim().parse().ok().map(Bytes::new);
    bytes("memory.current").or_else(|| bytes("memory.usage_in_bytes"))
}

/// Without a limit, version 1 reports at least this value: the largest number of whole pages.
const UNLIMITED: Bytes = Bytes::new(1 << 62);

/// The number on a line `name number`; 0 if there is none.
fn field(text: &str, name: &str) -> u64 {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with files of the same names as a group's.
    fn group(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    /// A group of version 1 after a process was killed, as documented.
    const FIRST: [(&str, &str); 6] = [
        ("memory.limit_in_bytes", "67108864\n"),
        ("memory.memsw.limit_in_bytes", "67108864\n"),
        ("memory.usage_in_bytes", "1093632\n"),
        ("memory.max_usage_in_bytes", "67108864\n"),
        ("memory.failcnt", "53\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
    ];
    /// A group of version 2, as documented.
    const SECOND: [(&str, &str); 5] = [
        ("memory.max", "67108864\n"),
        ("memory.swap.max", "max\n"),
        ("memory.current", "1093632\n"),
        ("memory.peak", "67108864\n"),
        ("memory.events", "low 0\nhigh 0\nmax 53\noom 1\noom_kill 1\noom_group_kill 0\n"),
    ];

    #[test]
    fn both_versions_report_limit_peak_and_kills() {
        let expected =
            MemoryFacts { limit: Bytes::new(64 << 20), peak: Some(Bytes::new(64 << 20)), met: 53, killed: 1 };
        for layout in [&FIRST[..], &SECOND[..]] {
            let group = group(layout);
            assert_eq!(facts(group.path()), Some(expected), "{layout:?}");
            assert_eq!(held(group.path()), Some(Bytes::new(1_093_632)), "{layout:?}");
        }
    }

    #[test]
    fn a_group_without_a_limit_has_none() {
        let first = group(&[("memory.limit_in_bytes", "9223372036854771712\n"), ("memory.failcnt", "0\n")]);
        let second = group(&[("memory.max", "max\n"), ("memory.current", "5\n")]);
        let bare = group(&[]);
        assert_eq!((facts(first.path()), facts(second.path()), facts(bare.path())), (None, None, None));
        assert_eq!(held(bare.path()), None);
        let old = group(&[("memory.max", "1048576\n")]);
        let expected = MemoryFacts { limit: Bytes::new(1 << 20), ..MemoryFacts::default() };
        assert_eq!(facts(old.path()), Some(expected), "before 5.19 there is no `memory.peak`");
    }

    #[test]
    fn a_limit_is_written_to_the_files_of_its_version_and_disables_swapping() {
        let read = |group: &tempfile::TempDir, name: &str| {
            fs::read_to_string(group.path().join(name)).expect("a file")
        };
        let limit = Bytes::new(32 << 20);
        let controller = |version| Controller { version, base: PathBuf::new() };
        let first = group(&[("memory.limit_in_bytes", ""), ("memory.memsw.limit_in_bytes", "")]);
        controller(Version::First).write(first.path(), limit).expect("it is there");
        assert_eq!(read(&first, "memory.limit_in_bytes"), "33554432");
        assert_eq!(read(&first, "memory.memsw.limit_in_bytes"), "33554432");
        let unaccounted = group(&[("memory.limit_in_bytes", ""), ("memory.swappiness", "")]);
        controller(Version::First).write(unaccounted.path(), limit).expect("it is there");
        assert_eq!(read(&unaccounted, "memory.swappiness"), "0");
        let second = group(&[("memory.max", ""), ("memory.swap.max", "")]);
        controller(Version::Second).write(second.path(), limit).expect("it is there");
        assert_eq!(
            (read(&second, "memory.max"), read(&second, "memory.swap.max")),
            ("33554432".into(), "0".into())
        );
        // Swap accounting may be missing. A group without the controller is refused, and no file is made.
        let without = group(&[("memory.max", "")]);
        controller(Version::Second).write(without.path(), limit).expect("it is there");
        let bare = group(&[]);
        assert!(controller(Version::Second).write(bare.path(), limit).is_err());
        assert!(!bare.path().join("memory.max").exists());
    }
}
