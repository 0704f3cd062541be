//! Network namespaces: made on their own thread, named below `/run/netns`, entered temporarily, and removed.
//!
//! Each is tracked for clean-up before it is made. Namespaces of others are never touched: creating the
//! name's file claims the name, and fails if it exists. `/run/netns` itself is made if missing, and removed
//! with the last of our names. Nothing is mounted on it, so that after a run the host's mounts are as before.

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

/// Where namespaces have their names, as for `ip netns`.
pub const FOLDER: &str = "/run/netns";

/// Upper bound for mounts on one name; each is unmounted separately.
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

/// One of our network namespaces. Dropping it removes its name; it ends with its last process and socket.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    path: PathBuf,
    /// Open on the namespace, and so on the mount behind its name: see [`Namespace::remove`].
    file: File,
    with_folder: bool,
    tracker: Arc<CleanupTracker>,
}

/// Whether this program has made [`FOLDER`].
static MADE_FOLDER: AtomicBool = AtomicBool::new(false);

impl Namespace {
    /// Makes the namespace `name`, which must begin with `wb-`. Its loopback device is down and IPv6 is off,
    /// so that the kernel sends no packets of its own.
    ///
    /// Errors: [`NamespaceError::Taken`] if the name exists; [`NamespaceError::Make`].
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
                    // The first error is the one to report.
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

    /// Runs `job` on a thread in the namespace, and waits for it. What it starts is in the namespace too.
    ///
    /// Errors: [`NamespaceError::Enter`]; `job` did not run then.
    pub fn run<R: Send>(&self, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
        let done = std::thread::scope(|scope| {
            let inside = scope.spawn(|| sys::enter_network(self.file.as_fd()).map(|()| job()));
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        done.map_err(|source| NamespaceError::Enter { name: self.name.clone(), source })
    }

    fn remove(&self) -> io::Result<()> {
        let removed = remove(&self.path, self.with_folder);
        // If `/run/netns` was mounted over meanwhile (the first `ip netns add` of a boot does that), the path
        // led to a copy of our mount. Only the descriptor that is open on the mount itself still reaches it.
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
        // The folder's owner removed it just now, with the last of its names.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(FOLDER).and_then(|()| make())
        }
        other => other,
    }
}

/// Makes a namespace on its own thread, switches IPv6 off in it, and mounts it on `path`.
fn mount_new(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            sys::leave_network()?;
            for which in ["all", "default"] {
                // Kernels without IPv6 have no such file and nothing to switch off.
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
            }
            sys::name_own_network(&path)
        });
        inside.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
    })
}

/// Whether a path is one of a namespace that we may have made.
pub(crate) fn is_ours(path: &Path) -> bool {
    let named = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PREFIX));
    let straight = !path.components().any(|part| part.as_os_str() == "..");
    named && straight && path.parent() == Some(Path::new(FOLDER))
}

/// Removes the name of one of our namespaces, even if it is only partly made, and then [`FOLDER`] if it was
/// made for it and is empty.
pub(crate) fn remove(path: &Path, with_folder: bool) -> io::Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    let mut tries = 0..MOUNTS_MOST;
    while sys::is_namespace(&name) {
        match sys::unmount(&name) {
            // Another process was faster; look again. The number of tries is limited, since some mounts
            // cannot be unmounted.
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
        // It stays if it is not empty.
        let _ = fs::remove_dir(FOLDER);
    }
    Ok(())
}

/// Like [`Namespace::run`], for callers that only know the namespace's file.
///
/// Errors: [`NamespaceError::Enter`]; `job` did not run then.
pub(crate) fn run_in<R: Send>(path: &Path, job: impl FnOnce() -> R + Send) -> Result<R, NamespaceError> {
    let done = std::thread::scope(|scope| {
        let enter = || File::open(path).and_then(|file| sys::enter_network(file.as_fd()));
        let inside = scope.spawn(move || enter().map(|()| job()));
        inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    done.map_err(|source| NamespaceError::Enter { name: path.display().to_string(), source })
}

/// Runs `job` on a thread in an unnamed namespace that ends with the thread, to find out what the kernel can
/// do.
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
    fn only_our_names_are_recognised() {
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
