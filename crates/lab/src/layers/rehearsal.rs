//! A lab in which something is tried out before anything depends on it: what is made there is listed in a
//! registry of its own, as a run's is, and gone before the answer is given.
//!
//! A probe that tries less than what is done later would let a run begin that cannot go on.

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
    /// A place to try something out; nobody else's has its name.
    pub fn begin() -> io::Result<Self> {
        let name = format!("probe-{}-{}", std::process::id(), sys::monotonic().as_nanos());
        let registry = registry::default_base().map(|base| Registry::create(&base, &name)).transpose();
        let registry = registry.map_err(io::Error::other)?;
        let folder = std::env::temp_dir().join(format!("weigh-{name}"));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self { lab: Lab::new(&name, None, registry), folder })
    }

    /// A folder for its files, which goes with it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Rehearsal {
    fn drop(&mut self) {
        // What was not taken away stays listed, and `weigh doctor --clean` finds it. A container's root may
        // be mounted upon where it could not be ended: it must not be walked through.
        if self.lab.tracker().close().is_ok_and(|left| left.is_empty()) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
