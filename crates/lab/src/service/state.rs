//! The folder for what a service stores during one trial: the contract's variable `STATE`.
//!
//! It is made empty before the service starts and removed once the service has ended.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::cleanup::owned_resource::{OwnedResource, PREFIX};
use crate::cleanup::tracker::{CleanupTracker, CleanupTrackerError};
use crate::process::launch::Lab;
use crate::service::folder::remove_with_contents;
use crate::service::postgres::forget_shared_memory;

pub const VARIABLE: &str = "STATE";

/// The end of such a folder's name, which begins with [`PREFIX`].
const ENDING: &str = "-state";

#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(
        "could not make the folder `{}` for a service's state: {source}; see that there is room and that its parent may be written to",
        path.display()
    )]
    Folder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    CleanupTracker(#[from] CleanupTrackerError),
}

/// The folder of one service for one trial. Drop it only when the service has ended: that removes it.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    tracker: Arc<CleanupTracker>,
}

impl StateFolder {
    /// Makes an empty folder in `parent`, registered for clean-up before it exists. `name` distinguishes
    /// services of one lab. After an error nothing is left.
    pub fn make(lab: &Lab, parent: &Path, name: &str) -> Result<Self, StateError> {
        let path = parent.join(format!("{}-{name}{ENDING}", lab.prefix()));
        let failed = |source| StateError::Folder { path: path.clone(), source };
        // A service runs in its own folder, where a relative path would lead elsewhere.
        let path = std::path::absolute(&path).map_err(failed)?;
        let state = Self { path, tracker: lab.tracker_handle() };
        state.tracker.track(state.resource())?;
        // A folder left from an earlier trial is removed now: none is used twice.
        let made = remove(&state.path).and_then(|()| DirBuilder::new().mode(0o700).create(&state.path));
        made.map_err(|source| StateError::Folder { path: state.path.clone(), source })?;
        Ok(state)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The variable for the environment of the service.
    pub fn variable(&self) -> (String, String) {
        (VARIABLE.to_owned(), self.path.display().to_string())
    }

    fn resource(&self) -> OwnedResource {
        OwnedResource::StateFolder { path: self.path.clone() }
    }
}

impl Drop for StateFolder {
    fn drop(&mut self) {
        // What cannot be removed stays registered, and clean-up tries again.
        if remove(&self.path).is_ok() {
            let _ = self.tracker.release(self.resource());
        }
    }
}

/// Whether a path can only be a folder that we made for a service's state.
pub(crate) fn is_ours(path: &Path) -> bool {
    let straight = path.is_absolute() && path.components().all(|part| !matches!(part, Component::ParentDir));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    straight && name.starts_with(PREFIX) && name.ends_with(ENDING)
}

/// Removes such a folder with its contents, if it exists. Fails where it is none of ours or remains.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    if is_ours(path) {
        forget_shared_memory(path);
        remove_with_contents(path)
    } else {
        Err(io::Error::other("its name is not one that we give"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn lab() -> Lab {
        Lab::new("state-test", None, None)
    }

    #[test]
    fn each_trial_has_an_empty_folder_of_its_own_that_is_gone_afterwards() {
        let parent = tempfile::tempdir().expect("a folder");
        let lab = lab();
        let state = StateFolder::make(&lab, parent.path(), "000-0").expect("a folder");
        let path = state.path().to_owned();
        let facts = fs::metadata(&path).expect("it is there");
        assert_eq!(facts.permissions().mode() & 0o777, 0o700);
        fs::create_dir(path.join("locked")).expect("a folder");
        fs::write(path.join("locked/table"), "rows").expect("a file");
        fs::set_permissions(path.join("locked"), fs::Permissions::from_mode(0o500)).expect("it is ours");
        drop(state);
        assert!(!path.exists());
        // The contents left by an earlier trial are not passed on.
        fs::create_dir(&path).expect("a folder");
        fs::write(path.join("old"), "").expect("a file");
        let state = StateFolder::make(&lab, parent.path(), "000-0").expect("a folder");
        assert_eq!(state.path(), path);
        assert_eq!(fs::read_dir(&path).expect("it is there").count(), 0);
        drop(state);
        assert_eq!(lab.close().expect("nothing to close"), []);
    }

    #[test]
    fn what_a_link_leads_to_is_kept() {
        let parent = tempfile::tempdir().expect("a folder");
        let theirs = parent.path().join("theirs");
        fs::create_dir(&theirs).expect("a folder");
        fs::write(theirs.join("file"), "").expect("a file");
        let lab = lab();
        let state = StateFolder::make(&lab, parent.path(), "000-0").expect("a folder");
        symlink(&theirs, state.path().join("link")).expect("a link");
        drop(state);
        assert!(theirs.join("file").exists());
    }

    #[test]
    fn nothing_but_our_own_folders_is_ever_removed() {
        for (path, ours) in [
            ("/runs/a/logs/wb-01234567-000-0-state", true),
            ("/runs/a/logs/wb-01234567-000-0", false),
            ("/runs/a/logs/my-state", false),
            ("/runs/../wb-01234567-000-0-state", false),
            ("runs/wb-01234567-000-0-state", false),
        ] {
            assert_eq!(is_ours(Path::new(path)), ours, "{path}");
        }
        let parent = tempfile::tempdir().expect("a folder");
        remove(parent.path()).expect_err("it is somebody else's");
        assert!(parent.path().exists());
    }

    #[test]
    fn where_nothing_can_be_written_the_error_names_the_folder() {
        let lab = lab();
        let error = StateFolder::make(&lab, Path::new("/proc"), "000-0").expect_err("no folder").to_string();
        assert!(error.contains("`/proc/wb-") && error.contains("-000-0-state`"), "{error}");
        assert_eq!(lab.close().expect("nothing to close"), []);
    }
}
