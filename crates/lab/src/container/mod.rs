//! A container around a service: an OCI bundle made from the service's own files, run in the foreground by runc or crun.
//!
//! The bundle holds a configuration and an empty root, in which this host's files are shown at their own places; nothing is
//! copied and no image is needed. The container's processes are in the control groups of whoever started it, so that they
//! are counted, limited and frozen like those of any service. Each container is in custody before its runtime is started;
//! removing one never follows a mount. Engines, registries and images are none of its business.

mod bundle;
mod files;

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::cgroup::{Hierarchy, PREFIX};
use crate::custody::{Custody, CustodyError, Thing};
use crate::launch::{Lab, Launch};
use crate::process::Wrapping;
use crate::procfs::Pid;
use crate::runtime;

pub use bundle::{Access, Network, Plan, Shown, configuration};
pub use files::Files;

/// A runtime answers short questions at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// Killing and removing takes some milliseconds; runtimes themselves give up after 10 s.
const END_PATIENCE: Duration = Duration::from_secs(15);

/// The program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Runtime {
    /// runc.
    Runc,
    /// crun.
    Crun,
}

/// How a container is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// By what it is run.
    pub runtime: Runtime,
    /// Its network.
    pub network: Network,
    /// Whether its root can only be read.
    pub read_only: bool,
    /// Whether its system calls are filtered.
    pub filtered: bool,
}

/// Why there can be no container here: what is missing, and how to get it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; {remedy}")]
pub struct Missing {
    /// What is missing.
    pub reason: String,
    /// What to do about it.
    pub remedy: String,
}

/// Why a container could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// This host cannot run it.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// Its bundle could not be written.
    #[error("could not write `{}` for the container `{id}`: {source}; free space or check the folder", path.display())]
    Write {
        /// The container.
        id: String,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It could not be written down; it was then not made.
    #[error(transparent)]
    Custody(#[from] CustodyError),
    /// Its runtime does not tell which process is its first.
    #[error("`{runtime} state {id}` does not tell the container's first process: {why}")]
    NoState {
        /// The runtime.
        runtime: &'static str,
        /// The container.
        id: String,
        /// What came instead.
        why: String,
    },
}

impl Runtime {
    /// Every runtime.
    pub const ALL: [Self; 2] = [Self::Runc, Self::Crun];

    /// Its name, which is that of its executable.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runc => "runc",
            Self::Crun => "crun",
        }
    }

    /// The runtime of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|runtime| runtime.name() == name)
    }

    /// Its executable: sought in `PATH`, then where Debian keeps what root runs.
    ///
    /// # Errors
    /// It is not there.
    pub fn find(self) -> Result<PathBuf, Missing> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/bin"].map(PathBuf::from));
        let found = folders.find_map(|folder| Some(folder.join(self.name())).filter(|path| path.is_file()));
        found.ok_or_else(|| Missing {
            reason: format!("the program `{}` is not installed", self.name()),
            remedy: format!("install it (`apt-get install {0}`, `dnf install {0}`)", self.name()),
        })
    }

    /// Its version as it says itself: `1.1.5+ds1`.
    ///
    /// # Errors
    /// It is not there, or does not say.
    pub fn version(self) -> Result<String, Missing> {
        let path = self.find()?;
        let command = [path.display().to_string(), "--version".to_owned()];
        let said = crate::ask::ask(&command, None, PATIENCE).unwrap_or_else(|error| error.to_string());
        let first = said.lines().next().unwrap_or_default();
        let version = first.split_once(" version ").map(|(_, version)| version.trim().to_owned());
        version.ok_or_else(|| Missing {
            reason: format!("`{} --version` says no version but `{first}`", path.display()),
            remedy: format!("install {} anew", self.name()),
        })
    }

    /// Whether this process can run containers by it.
    ///
    /// # Errors
    /// What is missing, and how to get it.
    pub fn probe(self) -> Result<(), Missing> {
        self.version()?;
        if !Hierarchy::detect().is_some_and(|found| found.is_usable()) {
            return Err(Missing {
                reason: "a container can be held still only by a control group of version 2, and none can be made here".to_owned(),
                remedy: "run as root on a host with cgroup2 mounted".to_owned(),
            });
        }
        Ok(())
    }

    /// The command that runs the container of a bundle, to be started in the bundle's folder.
    fn run(self, executable: &Path, id: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        if let (Self::Crun, Some(mount)) = (self, hybrid()) {
            // With both versions mounted it would refuse; what it does not see does not trouble it.
            let script = "umount \"$0\" && exec \"$@\"";
            words.extend(["unshare", "--mount", "sh", "-c", script, &mount].map(str::to_owned));
        }
        words.push(executable.display().to_string());
        words.extend(["--root", STATE].map(str::to_owned));
        if self == Self::Crun {
            words.push("--cgroup-manager=disabled".to_owned());
        }
        words.extend(["run", "--bundle", ".", id].map(str::to_owned));
        words
    }
}

/// Where a runtime keeps what it knows of a container, in the bundle's folder.
const STATE: &str = "state";
/// The root, as the configuration has it too.
const ROOT: &str = "rootfs";

/// Where version 2 is mounted, on a host that has groups of version 1 too.
fn hybrid() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let kind =
        |line: &str| line.split_once(" - ").map(|(_, right)| right.split(' ').next() == Some("cgroup"));
    mounts.lines().any(|line| kind(line) == Some(true)).then_some(())?;
    Some(Hierarchy::detect()?.mount().display().to_string())
}

/// A script for runc, which puts containers into groups of its own making: before the program starts, its only process is
/// moved to where runc itself is, in every hierarchy.
fn hook() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let arm = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let mount = left.split(' ').nth(4)?;
        let mut right = right.split(' ');
        let controllers = match (right.next()?, right.nth(1)) {
            ("cgroup2", _) => String::new(),
            ("cgroup", Some(options)) => {
                let named =
                    |option: &&str| !matches!(*option, "rw" | "ro" | "xattr" | "noprefix" | "clone_children");
                options.split(',').filter(named).collect::<Vec<_>>().join(",")
            }
            _ => return None,
        };
        Some(format!("'{controllers}') mount='{mount}' ;;\n"))
    };
    let arms: String = mounts.lines().filter_map(arm).collect();
    Some(format!(
        "pid=$(sed 's/.*\"pid\": *\\([0-9]*\\).*/\\1/')\n\
         while IFS=: read -r number controllers group; do\n\
         case \"$controllers\" in\n{arms}*) continue ;;\nesac\n\
         echo \"$pid\" > \"$mount$group/cgroup.procs\" || exit 1\ndone < /proc/self/cgroup\n"
    ))
}

/// A container that is about to be started, or was. Dropping it kills what is in it and removes what was made for it, its
/// configuration apart.
#[derive(Debug)]
pub struct Container {
    runtime: Runtime,
    id: String,
    folder: PathBuf,
    custody: Arc<Custody>,
}

impl Container {
    /// Puts a container around what `launch` starts: its bundle is made in `folder`, and from now on `launch` starts the
    /// runtime. `id` begins with `wb-`.
    ///
    /// # Errors
    /// [`ContainerError`]; nothing is left then.
    pub fn around(
        lab: &Lab,
        (id, folder): (String, PathBuf),
        settings: Settings,
        launch: &mut Launch,
    ) -> Result<Self, ContainerError> {
        let executable = settings.runtime.find()?;
        let custody = lab.custody_handle();
        let name = settings.runtime.name().to_owned();
        custody.take(Thing::Container { runtime: name, id: id.clone(), folder: folder.clone() })?;
        let container = Self { runtime: settings.runtime, id, folder, custody };
        let inside = launch.folder.clone().map_or_else(std::env::current_dir, Ok);
        let inside = inside.map_err(|source| container.failed(Path::new("."), source))?;
        let files = container.write(launch, &inside, settings)?;
        for (link, target) in &files.links {
            let made = container.folder.join(ROOT).join(link.strip_prefix("/").unwrap_or(link));
            symlink(target, &made).map_err(|source| container.failed(&made, source))?;
        }
        // The port is known to the runtime's environment only when it is started.
        let script = "sed \"s/{port}/$PORT/g\" config.in > config.json && exec \"$@\"";
        let script = script.replace("{port}", PORT);
        launch.command = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
        launch.command.extend(container.runtime.run(&executable, &container.id));
        launch.folder = Some(container.folder.clone());
        launch.wrapping = Wrapping::Leader;
        Ok(container)
    }

    fn failed(&self, path: &Path, source: io::Error) -> ContainerError {
        ContainerError::Write { id: self.id.clone(), path: path.to_owned(), source }
    }

    /// Writes the bundle; returns what of this host is seen inside.
    fn write(&self, launch: &Launch, inside: &Path, settings: Settings) -> Result<Files, ContainerError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| self.failed(&path, source)
        };
        let root = self.folder.join(ROOT);
        // What an interrupted block left would be in the way.
        remove_root(&root).map_err(failed(&root))?;
        fs::create_dir_all(&root).map_err(failed(&root))?;
        let environment = environment(launch);
        let writes =
            environment.iter().find(|(key, _)| key == runtime::VARIABLE).map(|(_, path)| PathBuf::from(path));
        if let Some(file) = &writes {
            // What is shown inside has to be there.
            fs::write(file, "").map_err(failed(file))?;
        }
        let command = placeholders(&launch.command);
        let files = Files::of(&command, &environment, inside, writes.as_deref());
        let plan = Plan {
            command,
            environment,
            folder: inside.display().to_string(),
            shown: files.shown.clone(),
            network: settings.network,
            read_only: settings.read_only,
            filtered: settings.filtered,
            group: (settings.runtime == Runtime::Runc).then(|| format!("/{}", self.id)),
            hook: (settings.runtime == Runtime::Runc).then(hook).flatten(),
            name: self.id.clone(),
        };
        let file = self.folder.join("config.in");
        fs::write(&file, configuration(&plan)).map_err(failed(&file))?;
        Ok(files)
    }

    /// Its first process, once it is started.
    ///
    /// # Errors
    /// [`ContainerError::NoState`].
    pub fn pid(&self) -> Result<Pid, ContainerError> {
        let told = state(self.runtime, &self.id, &self.folder);
        told.map_err(|why| ContainerError::NoState { runtime: self.runtime.name(), id: self.id.clone(), why })
    }
}

/// What stands for the port in a configuration until it is known: `sed` takes it for itself.
const PORT: &str = "@WEIGH-PORT@";

fn placeholders(words: &[String]) -> Vec<String> {
    words.iter().map(|word| word.replace("{port}", PORT)).collect()
}

/// What is told inside: of our own environment what programs are found and speak by, then what the launch adds, of two
/// values the last.
fn environment(launch: &Launch) -> Vec<(String, String)> {
    let own = ["PATH", "LANG", "LC_ALL", "TZ", "JAVA_HOME"];
    let mut all: Vec<(String, String)> = own
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
        .chain([("HOME".to_owned(), "/tmp".to_owned()), ("PORT".to_owned(), PORT.to_owned())])
        .collect();
    for (key, value) in &launch.environment {
        all.retain(|(known, _)| known != key);
        all.push((key.clone(), value.replace("{port}", PORT)));
    }
    all
}

/// Asks the runtime for a container's first process.
fn state(runtime: Runtime, id: &str, folder: &Path) -> Result<Pid, String> {
    let executable = runtime.find().map_err(|missing| missing.to_string())?;
    let root = folder.join(STATE);
    let command = [&executable.display().to_string(), "--root", &root.display().to_string(), "state", id];
    let command = command.map(str::to_owned);
    let said = crate::ask::ask(&command, None, PATIENCE).map_err(|error| error.to_string())?;
    let state: serde_json::Value = serde_json::from_str(&said).map_err(|error| error.to_string())?;
    let pid = state["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0);
    pid.map(Pid::new).ok_or_else(|| format!("`{said}`"))
}

impl Drop for Container {
    fn drop(&mut self) {
        // What does not go stays in custody, and the guardian tries again.
        if end(self.runtime.name(), &self.id, &self.folder).is_ok() {
            let runtime = self.runtime.name().to_owned();
            let thing = Thing::Container { runtime, id: self.id.clone(), folder: self.folder.clone() };
            let _ = self.custody.release(thing);
        }
    }
}

/// Whether anything of a container is left.
pub(crate) fn exists(id: &str, folder: &Path) -> bool {
    folder.join(STATE).join(id).exists() || folder.join(ROOT).exists()
}

/// Whether a container can be one that we made.
pub(crate) fn is_ours(runtime: &str, id: &str, folder: &Path) -> bool {
    let straight = folder.is_absolute() && !folder.components().any(|part| part.as_os_str() == "..");
    let plain = id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    straight && plain && id.starts_with(PREFIX) && Runtime::named(runtime).is_some()
}

/// Kills a container and removes what was made for it but its configuration and logs; nothing where it is gone.
pub(crate) fn end(runtime: &str, id: &str, folder: &Path) -> io::Result<()> {
    let known = folder.join(STATE).join(id);
    if let (true, Some(runtime)) = (known.exists(), Runtime::named(runtime)) {
        let executable = runtime.find().map_err(io::Error::other)?;
        let root = folder.join(STATE).display().to_string();
        let words = [&executable.display().to_string(), "--root", &root, "delete", "--force", id];
        let said = crate::ask::ask(&words.map(str::to_owned), None, END_PATIENCE);
        // It may have gone by itself meanwhile.
        if known.exists() {
            said.map_err(io::Error::other)?;
        }
    }
    remove_root(&folder.join(ROOT))?;
    match fs::remove_dir(folder.join(STATE)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes a container's root: folders, links and empty files on which something was mounted, of the same file system.
/// Anything else is somebody's, and stays with an error.
fn remove_root(root: &Path) -> io::Result<()> {
    let device = match fs::symlink_metadata(root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?.dev(),
    };
    remove_below(root, device)
}

fn remove_below(folder: &Path, device: u64) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let facts = fs::symlink_metadata(&path)?;
        if facts.dev() != device {
            return Err(io::Error::other(format!("`{}` is a mount", path.display())));
        }
        match facts.file_type() {
            kind if kind.is_dir() => remove_below(&path, device)?,
            kind if kind.is_symlink() || facts.len() == 0 => fs::remove_file(&path)?,
            _ => return Err(io::Error::other(format!("`{}` is not empty", path.display()))),
        }
    }
    fs::remove_dir(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_empty_root_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join(ROOT);
        fs::create_dir_all(root.join("usr/lib")).expect("a folder");
        fs::write(root.join("facts.txt"), "").expect("a file");
        symlink("usr/lib", root.join("lib")).expect("a link");
        remove_root(&root).expect("nothing of anybody's");
        assert!(!root.exists());
        fs::create_dir_all(root.join("etc")).expect("a folder");
        fs::write(root.join("etc/mine"), "text").expect("a file");
        assert!(remove_root(&root).expect_err("somebody's").to_string().contains("etc/mine"));
        assert!(root.join("etc/mine").exists());
    }

    #[test]
    fn what_is_not_named_like_ours_is_not() {
        let ours = |runtime, id, folder| is_ours(runtime, id, Path::new(folder));
        assert!(ours("runc", "wb-00c0ffee-1-container", "/runs/x"));
        for (runtime, id, folder) in [
            ("docker", "wb-1", "/runs"),
            ("runc", "web", "/runs"),
            ("runc", "wb-../..", "/runs"),
            ("runc", "wb-1", "runs"),
            ("crun", "wb-1", "/runs/../etc"),
        ] {
            assert!(!ours(runtime, id, folder), "{runtime} {id} {folder}");
        }
    }

    #[test]
    fn the_hook_knows_the_hierarchies_of_this_host() {
        let script = hook().expect("/proc is mounted");
        assert!(script.contains("'') mount='") && script.contains("cgroup.procs"), "{script}");
    }
}
