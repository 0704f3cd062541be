//! Network namespaces: made on a thread of their own, named below `/run/netns`, entered for a while, and
//! removed.
//!
//! Each is tracked for clean-up before it is made. One that somebody else has is never touched: a name is
//! claimed by making its file, which fails where there is one. `/run/netns` itself is made where it is
//! missing, and goes with the last of ours; it is not mounted upon: after a run the host's mounts are what
//! they were.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cleanup::owned_resource::{OwnedResource, PREFIX};
use crate::cleanup::tracker::{CleanupTracker, CleanupTrackerError};
use crate::host::sys;

/// Where namespaces have their names, as `ip netns` has it too.
pub const FOLDER: &str = "/run/netns";

/// Mounts that may lie on one name, by far: each is taken away by itself.
const MOUNTS_MOST: u32 = 100;

/// Why a namespace could not be made or entered.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    #[error(
        "could not make the network namespace `{name}`: {source}; this needs CAP_SYS_ADMIN and a writable `{FOLDER}`"
    )]
    Make {
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    #[error("the network namespace `{name}` is there already; remove it with `weigh doctor --clean`")]
    Taken { name: String },
    #[error(
        "could not enter the network namespace `{name}`: {source}; check that nothing removes namespaces meanwhile"
    )]
    Enter {
        name: String,
        /// The system's reason.
        source: io::Error,
    },
    #[error(transparent)]
    Tracker(#[from] CleanupTrackerError),
}

/// A network namespace of ours. Dropping it removes its name; it goes with the last process and socket in it.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    path: PathBuf,
    /// Open on the namespace, and so on the mount that has its name: see [`Namespace::remove`].
    file: File,
    with_folder: bool,
    tracker: Arc<CleanupTracker>,
}

/// Whether this program has made [`FOLDER`].
static MADE_FOLDER: AtomicBool = AtomicBool::new(false);

impl Namespace {
    /// Makes the namespace `name`, which must begin with `wb-`. Its loopback device is down and IPv6 is off,
    /// so that no packet is sent that nobody asked for.
    ///
    /// Errors: [`NamespaceError::Taken`] where there is one of this name; [`NamespaceError::Make`].
    pub fn make(tracker: &Arc<CleanupTracker>, name: &str) -> Result<Self, NamespaceError> {
        let path = Path::new(FOLDER).join(name);
        let failed = |source| NamespaceError::Make { name: name.to_owned(), source };
        if !is_ours(&path) {
            return Err(failed(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("it must begin with `{PREFIX}`"),
            )));
        }
        if path.exists() {
            return Err(NamespaceError::Taken { name: name.to_owned() });
        }
        let with_folder = MADE_FOLDER.load(Ordering::SeqCst) || !Path::new(FOLDER).exists();
        let resource = OwnedResource::Namespace { path: path.clone(), with_folder };
        tracker.track(resource.clone())?;
        MADE_FOLDER.store(with_folder, Ordering::SeqCst);
        let made = claim(&path).and_then(|()| mount_new(&path)).and_then(|()| File::open(&path));
        match made {
            Ok(file) => {
                Ok(Self { name: name.to_owned(), path, file, with_folder, tracker: Arc::clone(tracker) })
            }
            Err(source) => {
                if source.kind() != io::ErrorKind::AlreadyExists {
                    // The error to tell is the first.
                    let _ = remove(&path, with_folder);
                }
                let _ = tracker.release(resource);
                Err(failed(source))
            }
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its file below [`FOLDER`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Does something on a thread that is in the namespace, and waits for it. What it starts is in the
    /// namespace too.
    ///
    /// Errors: [`NamespaceError::Enter`]; nothing was done then.
    pub fn run<R: Send>(&self, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        let done = std::thread::scope(|scope| {
            let inside = scope.spawn(|| sys::enter_network(self.file.as_fd()).map(|()| job()));
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        done.map_err(|source| NamespaceError::Enter { name: self.name.clone(), source })
    }

    fn remove(&self) -> io::Result<()> {
        let removed = remove(&self.path, self.with_folder);
        // Where `/run/netns` was mounted upon meanwhile (the first `ip netns add` of a boot does that), the
        // path led to a copy of our mount, and the mount itself can be reached only by what is open on it.
        if let Ok(own) = CString::new(format!("/proc/self/fd/{}", self.file.as_raw_fd())) {
            let _ = sys::unmount_open(&own);
        }
        removed
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // What could not be removed stays tracked, and the guardian tries again.
        if self.remove().is_ok() {
            let (path, with_folder) = (self.path.clone(), self.with_folder);
            let _ = self.tracker.release(OwnedResource::Namespace { path, with_folder });
        }
    }
}

/// Makes the file that the name is mounted on.
fn claim(path: &Path) -> io::Result<()> {
    let make = || OpenOptions::new().write(true).create_new(true).open(path).map(drop);
    fs::create_dir_all(FOLDER)?;
    match make() {
        // Whoever made the folder took it away with the last name of theirs, just now.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(FOLDER).and_then(|()| make())
        }
        other => other,
    }
}

/// Makes a namespace on a thread of its own, where IPv6 is off, and mounts it on `path`.
fn mount_new(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            sys::leave_network()?;
            for which in ["all", "default"] {
                // Kernels without IPv6 have no such file, and nothing to be switched off.
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
            }
            sys::name_own_network(&path)
        });
        inside.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })
}

/// Whether a path is that of a namespace which we may have made.
pub(crate) fn is_ours(path: &Path) -> bool {
    let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let straight = !path.components().any(|part| part.as_os_str() == "..");
    named && straight && path.parent() == Some(Path::new(FOLDER))
}

/// Takes the name away from a namespace of ours, however far it had come to be, and the folder that was made
/// for it once there is no name in it.
pub(crate) fn remove(path: &Path, with_folder: bool) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let mut tries = 0..MOUNTS_MOST;
    while sys::is_namespace(&name) {
        match sys::unmount(&name) {
            // Somebody else was faster: looked at again, a mount that nobody may take away left to the end.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && tries.next().is_some() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => other?,
    }
    if with_folder {
        // It stays where it holds anything.
        let _ = fs::remove_dir(FOLDER);
    }
    Ok(())
}

/// Does something on a thread in the namespace of that file, as [`Namespace::run`] does, for who does not
/// hold it.
///
/// Errors: [`NamespaceError::Enter`]; nothing was done then.
pub(crate) fn run_in<R: Send>(path: &Path, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
    let done = std::thread::scope(|scope| {
        let enter = || File::open(path).and_then(|file| sys::enter_network(file.as_fd()));
        let inside = scope.spawn(move || enter().map(|()| job()));
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    done.map_err(|source| NamespaceError::Enter { name: path.display().to_string(), source })
}

/// Does something on a thread in a namespace that has no name and goes with the thread: for finding out what
/// the kernel can.
pub fn in_scratch<R: Send>(job: impl FnOnce() -> R + Send) -> io::Result<R> {
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| sys::leave_network().map(|()| job()));
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_ours() {
        for (path, ours) in [
            ("/run/netns/wb-01234567-0-client", true),
            ("/run/netns/blue", false),
            ("/run/netns/../wb-x", false),
            ("/tmp/wb-x", false),
            ("/run/netns/a/wb-x", false),
        ] {
            assert_eq!(is_ours(Path::new(path)), ours, "{path}");
        }
    }
}
