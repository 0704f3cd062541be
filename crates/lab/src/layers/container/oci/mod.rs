//! A container around a service: an OCI bundle made from the service's own files, run in the foreground by
//! runc or crun.
//!
//! The bundle holds a configuration and an empty root. The host's files are mounted in the root at their
//! usual paths; nothing is copied and no image is needed. The container's processes stay in the control
//! groups of the process that starts it, so that they are counted, limited and frozen like those of any
//! service. Each container is tracked for clean-up before its runtime starts, and removing one never follows
//! a mount. Optionally an engine (see `engine`) manages it. Image registries are never used.

mod bundle;
mod engine;
mod files;
mod groups;
mod rehearsal;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::cleanup::owned_resource::{OwnedResource, PREFIX};
use crate::cleanup::tracker::{CleanupTracker, CleanupTrackerError};
use crate::host::procfs::Pid;
use crate::net::Capability;
use crate::net::tools::need;
use crate::process::Wrapping;
use crate::process::cgroup::Hierarchy;
use crate::process::launch::{Lab, Launch};
use crate::service::{runtime, state};
use crate::unavailable::Unavailable;

pub use bundle::{Access, BindMount, BundleConfig, configuration};
use engine::ContainerSpec;
pub use engine::Engine;
pub(crate) use engine::{PORT as ENGINE_PORT, UP as ENGINE_UP};
pub use files::Files;

/// Runtimes answer short questions at once.
const PATIENCE: Duration = Duration::from_secs(10);
/// Killing and removing takes milliseconds; runtimes themselves give up after 10 s.
const END_PATIENCE: Duration = Duration::from_secs(15);

/// The program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Runtime {
    Runc,
    Crun,
}

/// How to make a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub runtime: Runtime,
    /// Whether its root is read-only.
    pub read_only: bool,
    /// Whether its system calls are filtered.
    pub filtered: bool,
}

/// How an engine runs a container.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EngineSettings<'a> {
    pub engine: Engine,
    pub settings: Settings,
    /// The file of the network that the container joins if its port is not published.
    pub network: &'a Path,
    /// The address at which its port is published; `None` if the container joins `network`.
    pub published: Option<IpAddr>,
}

/// Why a container could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    #[error(transparent)]
    Missing(#[from] Unavailable),
    #[error("could not write `{}` for the container `{id}`: {source}; free space or check the folder", path.display())]
    Write { id: String, path: PathBuf, source: io::Error },
    #[error(transparent)]
    Tracker(#[from] CleanupTrackerError),
    #[error("{engine} could not {step}: {why}; see its log in the run's `logs/`")]
    Engine {
        engine: &'static str,
        /// What it should have done.
        step: &'static str,
        /// What it reported.
        why: String,
    },
    #[error("`{runtime} state {id}` does not tell the container's first process: {why}")]
    NoState {
        runtime: &'static str,
        id: String,
        /// What it printed instead.
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

    /// Its executable: searched in `PATH`, then where Debian installs programs for root.
    pub fn find(self) -> Result<PathBuf, Unavailable> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/bin"].map(PathBuf::from));
        let found = folders.find_map(|folder| Some(folder.join(self.name())).filter(|path| path.is_file()));
        found.ok_or_else(|| Unavailable {
            reason: format!("the program `{}` is not installed", self.name()),
            remedy: format!("install it (`apt-get install {0}`, `dnf install {0}`)", self.name()),
        })
    }

    /// The version that it reports: `1.1.5+ds1`.
    pub fn version(self) -> Result<String, Unavailable> {
        let path = self.find()?;
        let command = [path.display().to_string(), "--version".to_owned()];
        let said = crate::host::ask::ask(&command, None, PATIENCE).unwrap_or_else(|error| error.to_string());
        let first = said.lines().next().unwrap_or_default();
        let version = first.split_once(" version ").map(|(_, version)| version.trim().to_owned());
        version.ok_or_else(|| Unavailable {
            reason: format!("`{} --version` says no version but `{first}`", path.display()),
            remedy: format!("install {} anew", self.name()),
        })
    }

    /// Whether this process can run containers with it; runs one to find out.
    pub fn probe(self) -> Result<(), Unavailable> {
        self.version()?;
        need(&[Capability::SysAdmin])?;
        if !Hierarchy::detect().is_some_and(|found| found.is_usable()) {
            return Err(Unavailable {
                reason: "a container can be held still only by a control group of version 2, and none can be made here".to_owned(),
                remedy: "run as root on a host with cgroup2 mounted".to_owned(),
            });
        }
        rehearsal::rehearse(self, None)
    }

    /// The command that runs the container of a bundle, to be started in the bundle's folder.
    fn run(self, executable: &Path, id: &str) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        if let (Self::Crun, Some(mount)) = (self, hybrid()) {
            // With both versions mounted, crun refuses to run. In its own mount namespace version 2 can be
            // unmounted.
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

/// The runtime's folder for a container's state, inside the bundle's folder.
const STATE: &str = "state";
/// The root's folder, as named in the configuration.
const ROOT: &str = "rootfs";

/// The configuration before the port is known. The start writes the port into the runtime's configuration.
const TEMPLATE: &str = "config.in";
const CONFIGURATION: &str = "config.json";

/// File in the bundle's folder in which a launch lists its control groups.
const GROUPS: &str = "groups.txt";

/// The mount point of version 2 on a host that has groups of version 1 too.
fn hybrid() -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let kind =
        |line: &str| line.split_once(" - ").map(|(_, right)| right.split(' ').next() == Some("cgroup"));
    mounts.lines().any(|line| kind(line) == Some(true)).then_some(())?;
    Some(Hierarchy::detect()?.mount().display().to_string())
}

/// A container that is about to be started or runs. Dropping it kills its processes and removes its files
/// except its configuration.
#[derive(Debug)]
pub struct Container {
    runtime: Runtime,
    /// The engine that has the runtime run it.
    engine: Option<Engine>,
    id: String,
    folder: PathBuf,
    tracker: Arc<CleanupTracker>,
}

impl Container {
    /// Puts a container around what `launch` starts: makes its bundle in `folder` and changes `launch` to
    /// start the runtime. `id` must begin with `wb-`.
    ///
    /// Errors: [`ContainerError`]; nothing is left behind.
    pub fn around(
        lab: &Lab,
        id: String,
        folder: PathBuf,
        settings: Settings,
        launch: &mut Launch,
    ) -> Result<Self, ContainerError> {
        let executable = settings.runtime.find()?;
        let container = Self::begin(lab, id, folder, settings.runtime, None)?;
        let inside = container.inside(launch)?;
        let environment = environment(launch);
        let host = launch.host.to_string();
        let command: Vec<String> = launch.command.iter().map(|word| placed(word, &host)).collect();
        let files = container.lay_out(&command, &environment, &inside)?;
        container.write(command, environment, &files, &inside, settings)?;
        // The port is known only at the start, in the runtime's environment.
        let script =
            format!("(umask 077; sed \"s/{PORT}/$PORT/g\" {TEMPLATE} > {CONFIGURATION}) && exec \"$@\"");
        let entry = match settings.runtime {
            Runtime::Runc => groups::entry(&container.folder.join(GROUPS)),
            // crun has no hook that could see the groups which crun must not see.
            Runtime::Crun => String::new(),
        };
        let script = entry + &script;
        launch.command = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
        launch.command.extend(container.runtime.run(&executable, &container.id));
        launch.folder = Some(container.folder.clone());
        launch.wrapping = Wrapping::Leader;
        Ok(container)
    }

    /// Like [`Self::around`], with an engine. `start` starts the engine's daemon, if it has one, in a network
    /// that is not this host's, and returns its first process. Its arguments are the command and the file of
    /// the network that unpublished containers join.
    ///
    /// Errors: [`ContainerError`] or the error of `start`; only the daemon is left behind.
    pub(crate) fn by_engine<E: From<ContainerError>>(
        lab: &Lab,
        id: String,
        folder: PathBuf,
        by: EngineSettings<'_>,
        launch: &mut Launch,
        start: impl FnOnce(Vec<String>) -> Result<Pid, E>,
    ) -> Result<Self, E> {
        let EngineSettings { engine, settings, network, published } = by;
        let container = Self::begin(lab, id, folder, settings.runtime, Some(engine))?;
        let inside = container.inside(launch)?;
        if published.is_some() {
            launch.environment.push(("PORT".to_owned(), ENGINE_PORT.to_string()));
        }
        let environment = environment(launch);
        let files = container.lay_out(&launch.command, &environment, &inside)?;
        let network = published.is_none().then_some(network);
        let daemon =
            engine.daemon(settings.runtime, &container.folder, network).map_err(ContainerError::from)?;
        let daemon = daemon.map(start).transpose()?;
        let root = container.folder.join(ROOT);
        let refused = |step| {
            move |why: io::Error| ContainerError::Engine { engine: engine.name(), step, why: why.to_string() }
        };
        engine.import(daemon, &root).map_err(refused("take in the container's root"))?;
        // `HOME` differs inside, so it is passed with its value; other variables are passed by name alone.
        let passed = |(name, value): (String, String)| {
            (name == "HOME").then_some(value).map_or((name.clone(), None), |value| (name, Some(value)))
        };
        let spec = ContainerSpec {
            id: &container.id,
            runtime: settings.runtime,
            command: &launch.command,
            environment: &environment.into_iter().map(passed).collect::<Vec<_>>(),
            folder: &inside,
            shown: &files.shown,
            read_only: settings.read_only,
            filtered: settings.filtered,
            published,
        };
        let command = engine.run(&spec, &container.folder, &root, daemon);
        launch.command = command.map_err(refused("be told what to run"))?;
        launch.folder = Some(container.folder.clone());
        launch.wrapping = Wrapping::Outside;
        Ok(container)
    }

    fn begin(
        lab: &Lab,
        id: String,
        folder: PathBuf,
        runtime: Runtime,
        engine: Option<Engine>,
    ) -> Result<Self, ContainerError> {
        let container = Self { runtime, engine, id, folder, tracker: lab.tracker_handle() };
        container.tracker.track(container.resource())?;
        Ok(container)
    }

    fn resource(&self) -> OwnedResource {
        let runtime = self.engine.map_or(self.runtime.name(), Engine::name).to_owned();
        OwnedResource::Container { runtime, id: self.id.clone(), folder: self.folder.clone() }
    }

    /// The folder in which the program runs.
    fn inside(&self, launch: &Launch) -> Result<PathBuf, ContainerError> {
        let inside = launch.folder.clone().map_or_else(std::env::current_dir, std::path::absolute);
        inside.map_err(|source| self.failed(Path::new("."), source))
    }

    fn failed(&self, path: &Path, source: io::Error) -> ContainerError {
        ContainerError::Write { id: self.id.clone(), path: path.to_owned(), source }
    }

    /// Makes the root with the host's symbolic links; returns the host's paths that are mounted inside.
    fn lay_out(
        &self,
        command: &[String],
        environment: &[(String, String)],
        inside: &Path,
    ) -> Result<Files, ContainerError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| self.failed(&path, source)
        };
        let root = self.folder.join(ROOT);
        // An interrupted block may have left a root here.
        remove_root(&root).map_err(failed(&root))?;
        fs::create_dir_all(&root).map_err(failed(&root))?;
        let named = |variable: &str| {
            environment.iter().find(|(key, _)| key == variable).map(|(_, path)| PathBuf::from(path))
        };
        let facts = named(runtime::VARIABLE);
        if let Some(file) = &facts {
            // What is shown inside has to be there.
            fs::write(file, "").map_err(failed(file))?;
        }
        // A user's own variable of that name opens nothing.
        let state = named(state::VARIABLE).filter(|path| state::is_ours(path));
        let writes: Vec<PathBuf> = facts.into_iter().chain(state).collect();
        let files = Files::needed_by(command, environment, inside, &writes);
        for (link, target) in &files.links {
            let made = root.join(link.strip_prefix("/").unwrap_or(link));
            symlink(target, &made).map_err(failed(&made))?;
        }
        Ok(files)
    }

    /// Writes the bundle's configuration.
    fn write(
        &self,
        command: Vec<String>,
        environment: Vec<(String, String)>,
        files: &Files,
        inside: &Path,
        settings: Settings,
    ) -> Result<(), ContainerError> {
        let config = BundleConfig {
            command,
            environment,
            folder: inside.display().to_string(),
            shown: files.shown.clone(),
            read_only: settings.read_only,
            filtered: settings.filtered,
            group: (settings.runtime == Runtime::Runc).then(|| format!("/{}", self.id)),
            hook: (settings.runtime == Runtime::Runc).then(|| groups::hook(&self.folder.join(GROUPS))),
            name: self.id.clone(),
        };
        let file = self.folder.join(TEMPLATE);
        // Its environment may hold secrets, so only the owner may read it.
        let made = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&file);
        let written = made.and_then(|mut made| made.write_all(configuration(&config).as_bytes()));
        written.map_err(|source| self.failed(&file, source))
    }

    /// Its first process; an error before it is started.
    pub fn pid(&self) -> Result<Pid, ContainerError> {
        let pid = state(self.runtime, &self.id, &self.folder);
        pid.map_err(|why| ContainerError::NoState { runtime: self.runtime.name(), id: self.id.clone(), why })
    }
}

/// Placeholder for the port in a configuration; `sed` replaces it at the start.
const PORT: &str = "@WEIGH-PORT@";

/// Replaces the contract's placeholders in a word or value, with the host now and the port later.
fn placed(text: &str, host: &str) -> String {
    text.replace("{host}", host).replace("{port}", PORT)
}

/// The environment inside: the variables of our own that name paths and locales, then those of the launch.
/// The last of two values counts.
fn environment(launch: &Launch) -> Vec<(String, String)> {
    let own = ["PATH", "LANG", "LC_ALL", "TZ", "JAVA_HOME"];
    let mut all: Vec<(String, String)> = own
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
        .chain([("HOME".to_owned(), "/tmp".to_owned()), ("PORT".to_owned(), PORT.to_owned())])
        .collect();
    for (key, value) in &launch.environment {
        all.retain(|(known, _)| known != key);
        all.push((key.clone(), placed(value, &launch.host.to_string())));
    }
    all
}

/// Asks the runtime for a container's first process.
fn state(runtime: Runtime, id: &str, folder: &Path) -> Result<Pid, String> {
    let executable = runtime.find().map_err(|missing| missing.to_string())?;
    let root = folder.join(STATE);
    let command = [&executable.display().to_string(), "--root", &root.display().to_string(), "state", id];
    let command = command.map(str::to_owned);
    let said = crate::host::ask::ask(&command, None, PATIENCE).map_err(|error| error.to_string())?;
    let state: serde_json::Value = serde_json::from_str(&said).map_err(|error| error.to_string())?;
    let pid = state["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).filter(|pid| *pid > 0);
    pid.map(Pid::new).ok_or_else(|| format!("`{said}`"))
}

impl Drop for Container {
    fn drop(&mut self) {
        // A container that cannot be removed stays tracked, and the guardian tries again.
        let name = self.engine.map_or(self.runtime.name(), Engine::name);
        if end(name, &self.id, &self.folder).is_ok() {
            let _ = self.tracker.release(self.resource());
        }
    }
}

/// Whether anything of a container is left.
pub(crate) fn exists(id: &str, folder: &Path) -> bool {
    folder.join(STATE).join(id).exists() || folder.join(ROOT).exists() || groups::exists(id)
}

/// Whether the container may be one of ours.
pub(crate) fn is_ours(runtime: &str, id: &str, folder: &Path) -> bool {
    let straight = folder.is_absolute() && !folder.components().any(|part| part.as_os_str() == "..");
    let plain = id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    straight && plain && id.starts_with(PREFIX) && (Runtime::named(runtime).is_some() || is_engine(runtime))
}

/// Whether `name` is an engine's. Its containers have no process outside their groups that would have to be
/// ended.
pub(crate) fn is_engine(name: &str) -> bool {
    Engine::named(name).is_some()
}

/// Kills a container and removes its files except its configuration and logs; does nothing if it is gone. An
/// engine's container must have been killed before.
pub(crate) fn end(runtime: &str, id: &str, folder: &Path) -> io::Result<()> {
    let known = folder.join(STATE).join(id);
    if let (true, Some(runtime)) = (known.exists(), Runtime::named(runtime)) {
        let executable = runtime.find().map_err(io::Error::other)?;
        let root = folder.join(STATE).display().to_string();
        let words = [&executable.display().to_string(), "--root", &root, "delete", "--force", id];
        let said = crate::host::ask::ask(&words.map(str::to_owned), None, END_PATIENCE);
        // It may have ended meanwhile.
        if known.exists() {
            said.map_err(io::Error::other)?;
        }
    }
    // A runtime that was killed has left its groups behind.
    if is_engine(runtime) { groups::remove_for_good(id) } else { groups::remove(id) }?;
    remove_root(&folder.join(ROOT))?;
    for file in [GROUPS, TEMPLATE, engine::HOOK] {
        // Removes only files that each start writes anew.
        let _ = fs::remove_file(folder.join(file));
    }
    let _ = fs::remove_dir_all(folder.join(engine::HOOKS));
    gone_is_none(fs::remove_dir(folder.join(STATE))).map(drop)
}

/// Removes a container's configuration, which holds its environment in clear text.
pub(crate) fn forget(folder: &Path) {
    for file in [TEMPLATE, CONFIGURATION] {
        let _ = fs::remove_file(folder.join(file));
    }
}

/// Removes a container's root with all that a program wrote there. Fails and removes nothing if anything is
/// mounted on it or below it.
fn remove_root(root: &Path) -> io::Result<()> {
    let Some(facts) = gone_is_none(fs::symlink_metadata(root))? else { return Ok(()) };
    let Some(root) = gone_is_none(root.canonicalize())? else { return Ok(()) };
    if let Some(mount) = mounted_below(&fs::read_to_string("/proc/self/mountinfo")?, &root) {
        return Err(io::Error::other(format!("`{mount}` is a mount")));
    }
    remove_below(&root, facts.dev())
}

/// The first mount at `root` or below it, in the text of `/proc/self/mountinfo`.
fn mounted_below<'t>(mountinfo: &'t str, root: &Path) -> Option<&'t str> {
    let root = root.display().to_string();
    // The kernel escapes these characters in mountinfo.
    let root =
        root.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011").replace('\n', "\\012");
    let mut points = mountinfo.lines().filter_map(|line| line.split(' ').nth(4));
    points
        .find(|point| point.strip_prefix(&root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Another process may remove the same folder, so files that are already gone are no error.
fn remove_below(folder: &Path, device: u64) -> io::Result<()> {
    let Some(entries) = gone_is_none(fs::read_dir(folder))? else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        let Some(facts) = gone_is_none(fs::symlink_metadata(&path))? else { continue };
        if facts.dev() != device {
            return Err(io::Error::other(format!("`{}` is a mount", path.display())));
        }
        if facts.is_dir() {
            remove_below(&path, device)?;
        } else {
            gone_is_none(fs::remove_file(&path))?;
        }
    }
    gone_is_none(fs::remove_dir(folder)).map(drop)
}

fn gone_is_none<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_removed_with_what_was_written_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join(ROOT);
        fs::create_dir_all(root.join("usr/lib")).expect("a folder");
        fs::write(root.join("facts.txt"), "text").expect("a file");
        fs::write(folder.path().join("mine"), "text").expect("a file");
        symlink(folder.path(), root.join("out")).expect("a link");
        remove_root(&root).expect("nothing is mounted there");
        assert!(!root.exists() && folder.path().join("mine").exists(), "links are not followed");
        remove_root(&root).expect("gone is gone");
    }

    #[test]
    fn a_root_with_a_mount_in_it_is_not_removed() {
        let known = "25 1 8:1 / / rw - ext4 /dev/sda rw\n\
            90 25 8:1 /usr /runs/my\\040run/rootfs/usr rw - ext4 /dev/sda rw\n";
        let mount = |root| mounted_below(known, Path::new(root));
        assert_eq!(mount("/runs/my run/rootfs"), Some("/runs/my\\040run/rootfs/usr"));
        assert_eq!(mount("/runs/my run/rootfs/usr"), Some("/runs/my\\040run/rootfs/usr"));
        assert_eq!(mount("/runs/my run/rootfs/us"), None);
        assert_eq!(mount("/runs/other/rootfs"), None);
    }

    #[test]
    fn host_and_port_are_replaced_everywhere() {
        assert_eq!(placed("--listen={host}:{port}", "10.77.0.2"), format!("--listen=10.77.0.2:{PORT}"));
        assert_eq!(placed("as it is", "::1"), "as it is");
    }

    #[test]
    fn containers_without_our_prefix_are_not_ours() {
        let ours = |runtime, id, folder| is_ours(runtime, id, Path::new(folder));
        assert!(ours("runc", "wb-00c0ffee-1-container", "/runs/x"));
        for (runtime, id, folder) in [
            ("lxc", "wb-1", "/runs"),
            ("runc", "web", "/runs"),
            ("runc", "wb-../..", "/runs"),
            ("runc", "wb-1", "runs"),
            ("crun", "wb-1", "/runs/../etc"),
        ] {
            assert!(!ours(runtime, id, folder), "{runtime} {id} {folder}");
        }
    }
}
