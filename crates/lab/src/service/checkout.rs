//! Revisions of a git repository, each checked out into a folder of its own (a worktree) while it is needed.
//!
//! It uses the user's `git`, without hooks. A worktree is registered before it is made, and removed at the
//! end, by the guardian or by clean-up if need be. Only folders below our cache are ever removed, and the
//! user's own working tree is never touched.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use weighbridge_model::experiment::suggestion;
use weighbridge_model::hex;

use crate::cleanup::owned_resource::OwnedResource;
use crate::cleanup::tracker::{CleanupTracker, CleanupTrackerError};
use crate::process::command::{self, CommandOutcome};
use crate::service::folder::remove_with_contents;

/// Path of the worktrees below the cache folder.
const PLACE: [&str; 2] = ["weighbridge", "revisions"];
/// Digits of a hash in a folder's name.
const SHORT: usize = 12;
/// Most names suggested for an unknown revision.
const OFFERED: usize = 8;
/// Variables that redirect git to another repository, whatever the folder; they are set while a git hook
/// runs.
const OF_GIT: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_INTERNAL_SUPER_PREFIX",
];

#[derive(Debug, thiserror::Error)]
pub enum CheckoutError {
    #[error("revisions need `git`, which could not be executed: {source}; install it")]
    NoGit { source: io::Error },
    #[error("`{}` is in no git repository: {said}; go into the one whose revisions are to be weighed", folder.display())]
    NoRepository { folder: PathBuf, said: String },
    #[error("`{revision}` is no revision of `{}`{hint}", repository.display())]
    Unknown {
        revision: String,
        repository: PathBuf,
        /// A suggestion, to follow the message.
        hint: String,
    },
    #[error("git could not {step}: {said}")]
    Git { step: String, said: String },
    #[error("there is no home folder to check revisions out in; set `XDG_CACHE_HOME`")]
    NoCache,
    #[error("could not make `{}` for a revision: {source}; set `XDG_CACHE_HOME` to a folder on a disk with room", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Tracker(#[from] CleanupTrackerError),
    #[error("checking out `{0}` was called off")]
    Cancelled(String),
}

/// A commit by its full hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Commit(String);

impl Commit {
    pub fn hash(&self) -> &str {
        &self.0
    }

    /// The first seven digits, for display.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    root: PathBuf,
    /// The starting folder, relative to the root.
    within: PathBuf,
}

impl Repository {
    /// The repository that contains `folder`.
    pub fn around(folder: &Path) -> Result<Self, CheckoutError> {
        let ask = |what: &str| {
            let output = run(git(folder).args(["rev-parse", what]))?;
            match output.status.success() {
                true => Ok(PathBuf::from(text(&output.stdout))),
                false => Err(CheckoutError::NoRepository { folder: folder.to_owned(), said: said(&output) }),
            }
        };
        Ok(Self { root: ask("--show-toplevel")?, within: ask("--show-prefix")? })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The commit that a revision (branch, tag, hash, `HEAD~1` …) currently means.
    pub fn commit(&self, revision: &str) -> Result<Commit, CheckoutError> {
        let as_commit = format!("{revision}^{{commit}}");
        let arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", &as_commit];
        let output = run(git(&self.root).args(arguments))?;
        let hash = text(&output.stdout);
        let is_hash = hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if output.status.success() && is_hash {
            return Ok(Commit(hash));
        }
        let (revision, repository) = (revision.to_owned(), self.root.clone());
        let hint = self.hint(&revision)?;
        Err(CheckoutError::Unknown { revision, repository, hint })
    }

    fn hint(&self, revision: &str) -> Result<String, CheckoutError> {
        if let Some((from, to)) = revision.split_once("..") {
            return Ok(format!("; write two: `{from},{}`", to.trim_start_matches('.')));
        }
        let newest = ["for-each-ref", "--sort=-committerdate", "--format=%(refname:short)"];
        let output = run(git(&self.root).args(newest).args(["refs/heads", "refs/tags", "refs/remotes"]))?;
        let names = text(&output.stdout);
        let names: Vec<&str> = names.lines().take(OFFERED).collect();
        let shallow = run(git(&self.root).args(["rev-parse", "--is-shallow-repository"]))?;
        let shallow = match text(&shallow.stdout) == "true" {
            true => "; this clone is shallow and lacks most: `git fetch --unshallow`",
            false => "",
        };
        Ok(match names.is_empty() {
            true => shallow.to_owned(),
            false => format!("{}{shallow}", suggestion(revision, &names)),
        })
    }

    /// How many files of the working tree have uncommitted changes.
    pub fn changes(&self) -> Result<usize, CheckoutError> {
        let output = run(git(&self.root).args(["status", "--porcelain"]))?;
        match output.status.success() {
            true => Ok(output.stdout.iter().filter(|byte| **byte == b'\n').count()),
            false => {
                Err(CheckoutError::Git { step: "tell what has changed".to_owned(), said: said(&output) })
            }
        }
    }
}

/// The worktrees of one run, removed when dropped.
#[derive(Debug)]
pub struct Checkouts {
    repository: Repository,
    base: PathBuf,
    tracker: Arc<CleanupTracker>,
    made: Vec<(Commit, PathBuf)>,
}

impl Checkouts {
    /// Makes no worktree yet. They will be registered with `tracker` and lie below `cache` (see
    /// [`cache_folder`]).
    pub fn new(repository: Repository, cache: &Path, tracker: Arc<CleanupTracker>) -> Self {
        let digest = Sha256::digest(repository.root.as_os_str().as_encoded_bytes());
        let name = hex::encode(&digest[..4]);
        let base = PLACE.iter().fold(cache.to_owned(), |path, part| path.join(part)).join(name);
        Self { repository, base, tracker, made: Vec::new() }
    }

    /// The folder in a worktree of `commit` that corresponds to the one from which the repository was found.
    /// Each commit is checked out once. After an error nothing is left of the worktree.
    pub fn folder(
        &mut self,
        commit: &Commit,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<PathBuf, CheckoutError> {
        if let Some((_, path)) = self.made.iter().find(|(made, _)| made == commit) {
            return Ok(path.join(&self.repository.within));
        }
        let path = self.claim(commit)?;
        // From here on it is removed when dropped.
        self.made.push((commit.clone(), path.clone()));
        let mut command = git(&self.repository.root);
        command.args(["worktree", "add", "--detach", "--force"]).arg(&path).arg(commit.hash());
        let log = self.base.join(format!("{}.log", commit.short()));
        let failed = |source| CheckoutError::Folder { path: log.clone(), source };
        let output = fs::File::create(&log).map_err(failed)?;
        command.stdout(Stdio::null()).stderr(output);
        let ended = command::run_tracked(&self.tracker, command, is_cancelled)
            .map_err(|source| CheckoutError::NoGit { source })?;
        let words = crate::process::logs::last_lines(&log, 5).join(" | ");
        let _ = fs::remove_file(&log);
        match ended {
            CommandOutcome::Ended(status) if status.success() => Ok(path.join(&self.repository.within)),
            CommandOutcome::Ended(_) => {
                Err(CheckoutError::Git { step: format!("check out `{}`", commit.hash()), said: words })
            }
            CommandOutcome::Cancelled => Err(CheckoutError::Cancelled(commit.short().to_owned())),
        }
    }

    /// Makes an empty folder that nobody else uses, registered before it exists.
    fn claim(&self, commit: &Commit) -> Result<PathBuf, CheckoutError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| CheckoutError::Folder { path, source }
        };
        fs::create_dir_all(&self.base).map_err(failed(&self.base))?;
        for number in 1.. {
            let again = if number == 1 { String::new() } else { format!("-{number}") };
            let path = self.base.join(format!("{}{again}", &commit.hash()[..SHORT]));
            if path.exists() {
                continue;
            }
            let resource = self.resource(&path);
            self.tracker.track(resource.clone())?;
            match fs::create_dir(&path) {
                Ok(()) => return Ok(path),
                Err(error) => {
                    self.tracker.release(resource)?;
                    if error.kind() != io::ErrorKind::AlreadyExists {
                        return Err(failed(&path)(error));
                    }
                }
            }
        }
        Err(CheckoutError::NoCache)
    }

    fn resource(&self, path: &Path) -> OwnedResource {
        OwnedResource::Worktree { path: path.to_owned(), repository: self.repository.root.clone() }
    }
}

impl Drop for Checkouts {
    fn drop(&mut self) {
        for (_, path) in std::mem::take(&mut self.made) {
            // What cannot be removed stays registered, and clean-up tries again.
            if remove(&path, &self.repository.root).is_ok() {
                let _ = self.tracker.release(self.resource(&path));
            }
        }
        // Only if it is empty: other runs may have worktrees there.
        let _ = fs::remove_dir(&self.base);
    }
}

/// Where this program keeps what can be made again: `$XDG_CACHE_HOME`, by default `~/.cache`.
pub fn cache_folder() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
}

/// Removes the variables that would redirect git to another repository.
pub fn without_git_environment(command: &mut Command) {
    for name in OF_GIT {
        command.env_remove(name);
    }
}

/// Whether a path is a worktree that we may have made: directly in a repository's folder below the cache.
pub(crate) fn is_ours(path: &Path) -> bool {
    let straight = path.is_absolute() && path.components().all(|part| !matches!(part, Component::ParentDir));
    let mut above = path.ancestors().skip(2).filter_map(Path::file_name);
    let placed = PLACE.iter().rev().all(|part| above.next() == Some(OsStr::new(part)));
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let named = name.len() >= SHORT && name.bytes().take(SHORT).all(|byte| byte.is_ascii_hexdigit());
    // A worktree has a file `.git`; a repository of its own has a folder of that name.
    straight && placed && named && !path.join(".git").is_dir()
}

/// Removes a worktree, also from its repository's list. Fails where the folder is none of ours or remains.
pub(crate) fn remove(path: &Path, repository: &Path) -> io::Result<()> {
    if !is_ours(path) {
        return Err(io::Error::other("its name is not one that we give"));
    }
    remove_with_contents(path)?;
    // If this fails, git prunes the list later by itself.
    let _ = run(git(repository).args(["worktree", "prune"]));
    Ok(())
}

fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    // No hooks of the repository; output that we can parse.
    command.arg("-C").arg(folder).args(["-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false"]);
    command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null());
    without_git_environment(&mut command);
    command
}

/// In a process group of its own, so that Ctrl-C does not interrupt it.
fn run(command: &mut Command) -> Result<Output, CheckoutError> {
    command.process_group(0).output().map_err(|source| CheckoutError::NoGit { source })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\n').to_owned()
}

fn said(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() { output.status.to_string() } else { lines.join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a commit for each text of `value`, and the folder `api`.
    fn repository(texts: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("mine");
        fs::create_dir_all(root.join("api")).expect("folders");
        let commit = |arguments: &[&str]| {
            let identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"];
            let output = run(git(&root).args(identity).args(arguments)).expect("git runs");
            assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        };
        commit(&["init", "--quiet", "--initial-branch=main"]);
        for text in texts {
            fs::write(root.join("api/value"), text).expect("a file");
            commit(&["add", "."]);
            commit(&["commit", "--quiet", "--message", text]);
        }
        folder
    }

    #[test]
    fn each_revision_has_its_own_files_and_none_is_left() {
        let home = repository(&["one", "two"]);
        let root = home.path().join("mine");
        fs::write(root.join("api/new"), "not committed").expect("a file");
        let repository = Repository::around(&root.join("api")).expect("a repository");
        assert_eq!(repository.changes().expect("it says"), 1);
        let cache = home.path().join("cache");
        let mut checkouts = Checkouts::new(repository.clone(), &cache, Arc::default());
        let never = || false;
        let (old, new) =
            (repository.commit("main~1").expect("known"), repository.commit("HEAD").expect("known"));
        let folders = [&old, &new].map(|commit| checkouts.folder(commit, &never).expect("checked out"));
        let values = folders.clone().map(|folder| fs::read_to_string(folder.join("value")).expect("a file"));
        assert_eq!(values, ["one", "two"]);
        assert!(!folders[1].join("new").exists());
        assert_eq!(
            checkouts.folder(&old, &never).expect("there"),
            folders[0],
            "a commit is checked out once"
        );
        // A build may leave read-only folders.
        let stubborn = folders[0].join("cache/deep");
        fs::create_dir_all(&stubborn).expect("folders");
        fs::write(stubborn.join("file"), "x").expect("a file");
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&stubborn, fs::Permissions::from_mode(0o500)).expect("read only");
        drop(checkouts);
        assert!(!cache.join("weighbridge/revisions").read_dir().expect("there").any(|_| true));
        let list = run(git(&root).args(["worktree", "list"])).expect("git runs");
        assert_eq!(text(&list.stdout).lines().count(), 1);
        assert!(root.join("api/new").exists());
    }

    #[test]
    fn an_unknown_revision_is_told_what_could_be_meant() {
        let home = repository(&["one"]);
        let repository = Repository::around(&home.path().join("mine")).expect("a repository");
        let error = repository.commit("mainn").expect_err("unknown").to_string();
        assert!(
            error.contains("`mainn` is no revision of") && error.contains("did you mean `main`?"),
            "{error}"
        );
        let error = repository.commit("main..HEAD").expect_err("a range").to_string();
        assert!(error.ends_with("write two: `main,HEAD`"), "{error}");
        let error = repository.commit("--help").expect_err("no option").to_string();
        assert!(error.contains("`--help` is no revision"), "{error}");
        let outside = Repository::around(home.path()).expect_err("no repository").to_string();
        assert!(outside.contains("is in no git repository"), "{outside}");
    }

    #[test]
    fn nothing_but_our_own_folders_is_ever_removed() {
        let home = tempfile::tempdir().expect("a folder");
        let place = |name: &str| {
            let path = home.path().join(name);
            fs::create_dir_all(&path).expect("a folder");
            path
        };
        for name in [
            "weighbridge/revisions/0123abcd",
            "elsewhere/0123abcd/0123456789ab",
            "weighbridge/revisions/0123abcd/documents",
        ] {
            let path = place(name);
            remove(&path, home.path()).expect_err(name);
            assert!(path.exists(), "{name}");
        }
        let real = place("weighbridge/revisions/0123abcd/0123456789ac");
        fs::create_dir(real.join(".git")).expect("a repository of its own");
        remove(&real, home.path()).expect_err("it is no worktree");
        let ours = place("weighbridge/revisions/0123abcd/0123456789ab-2");
        remove(&ours, home.path()).expect("ours");
        assert!(!ours.exists());
        let dotted = home.path().join("weighbridge/revisions/0123abcd/../0123abcd/0123456789ab");
        assert!(!is_ours(&dotted));
    }
}
