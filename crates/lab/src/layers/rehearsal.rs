//! A lab for trying something out before anything depends on it. What it makes is listed in its own registry,
//! like a run's, and removed before the result is returned.
//!
//! A probe that tries less than a trial does would let a run begin that cannot continue.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::cleanup::registry::{self, Registry};
use crate::host::sys;
use crate::process::launch::Lab;

/// A lab and a folder, for one try.
#[derive(Debug)]
pub(crate) struct Rehearsal {
    pub lab: Lab,
    folder: PathBuf,
}

impl Rehearsal {
    /// A lab with a unique name.
    pub fn begin() -> io::Result<Self> {
        let name = format!("probe-{}-{}", std::process::id(), sys::monotonic().as_nanos());
        let registry = registry::default_base().map(|base| Registry::create(&base, &name)).transpose();
        let registry = registry.map_err(io::Error::other)?;
        let folder = std::env::temp_dir().join(format!("weigh-{name}"));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self { lab: Lab::new(&name, None, registry), folder })
    }

    /// A folder for its files, which is removed with it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        // What was not removed stays listed, and `weigh doctor --clean` finds it. If a container could not be
        // ended, its root may still have mounts, so the folder must not be removed recursively.
        if self.lab.tracker().close().is_ok_and(|left| left.is_empty()) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
