//! Where control groups of version 2 are mounted, by the text of `/proc/self/mountinfo`.

use std::path::PathBuf;

/// A mounted hierarchy of version 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cgroup2Mount {
    /// The group that is mounted at the mount point.
    pub root: PathBuf,
    /// The mount point.
    pub at: PathBuf,
}

impl Cgroup2Mount {
    /// The first in the text of `/proc/self/mountinfo`; `None` if there is none.
    pub fn find(mountinfo: &str) -> Option<Self> {
        mountinfo.lines().find_map(Self::parse)
    }

    /// Parses a `cgroup2` line: `id parent dev root mount options … - type source …`.
    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        if right.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = left.split(' ').skip(3);
        let mut path = || fields.next().map(|field| PathBuf::from(field.replace("\\040", " ")));
        Some(Self { root: path()?, at: path()? })
    }
}
