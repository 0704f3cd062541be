//! Engines around a container: Docker, with a daemon that we start, and Podman, which has none.
//!
//! The container has the same files as without an engine. Whatever an engine creates (images, state, sockets,
//! locks) is in a memory file system of a mount namespace, which ends with its last process, so nothing
//! remains on this host. Its networks are in our namespaces and never in the host's, whose firewall the
//! engine would change. Nothing is pulled from a registry.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use super::bundle::{Access, BindMount};
use super::{Runtime, groups, hybrid, rehearsal};
use crate::host::procfs::Pid;
use crate::unavailable::Unavailable;

/// A program that manages containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    Docker,
    Podman,
}

/// Engines report their version at once.
const VERSION_PATIENCE: Duration = Duration::from_secs(20);
/// Importing an image of empty folders takes less than a second; a loaded machine gets much more.
const IMPORT_PATIENCE: Duration = Duration::from_secs(60);
/// A daemon is ready within two seconds; a loaded machine gets much more.
const DAEMON_PATIENCE: Duration = Duration::from_secs(60);
/// What dockerd logs once it accepts requests.
pub(crate) const UP: &str = "API listen on";
/// Where engines keep their files, in their mount namespace.
const OWN: &str = "/run/weigh";
/// The image of empty folders.
const IMAGE: &str = "weighbridge";
/// The published port, inside and outside of the container.
pub(crate) const PORT: u16 = 8080;

/// What to run in a container, and how.
#[derive(Debug)]
pub(super) struct ContainerSpec<'a> {
    pub id: &'a str,
    pub runtime: Runtime,
    pub command: &'a [String],
    /// Names of the variables inside. `None` keeps the caller's value; `Some` replaces it.
    pub environment: &'a [(String, Option<String>)],
    pub folder: &'a Path,
    pub shown: &'a [BindMount],
    pub read_only: bool,
    pub filtered: bool,
    /// The address at which its port is published; `None` if it joins the network in which it is started.
    pub published: Option<IpAddr>,
}

impl Engine {
    /// Every engine.
    pub const ALL: [Self; 2] = [Self::Docker, Self::Podman];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// The engine of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// The programs that it needs, and the package that installs them.
    const fn programs(self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Docker => {
                (&["dockerd", "docker", "containerd", "tar", "nsenter", "unshare", "setpriv"], "docker.io")
            }
            Self::Podman => (&["podman", "conmon", "unshare"], "podman"),
        }
    }

    /// The program that runs containers.
    fn executable(self) -> Result<PathBuf, Unavailable> {
        self.find(self.name())
    }

    fn find(self, name: &str) -> Result<PathBuf, Unavailable> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        // Distributions install engines in these folders. Wrappers of the same name often come first in
        // `PATH`.
        let system = ["/usr/bin", "/usr/sbin", "/usr/libexec/podman", "/usr/lib/podman"].map(PathBuf::from);
        let mut folders = system.into_iter().chain(std::env::split_paths(&path));
        let found = folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()));
        found.ok_or_else(|| {
            let (_, package) = self.programs();
            Unavailable {
                reason: format!("the program `{name}` is not installed"),
                remedy: format!(
                    "install it (`apt-get install {package}`, `dnf install {}`); no daemon need run",
                    self.name()
                ),
            }
        })
    }

    /// The version that it reports: `20.10.24+dfsg1`.
    pub fn version(self) -> Result<String, Unavailable> {
        let path = match self {
            Self::Docker => self.find("dockerd")?,
            Self::Podman => self.executable()?,
        };
        let command = [path.display().to_string(), "--version".to_owned()];
        let said =
            crate::host::ask::ask(&command, None, VERSION_PATIENCE).unwrap_or_else(|error| error.to_string());
        let first = said.lines().next().unwrap_or_default();
        // `Docker version 20.10.24+dfsg1, build 297e128`, `podman version 4.3.1`
        let version = first.split_once(" version ").and_then(|(_, rest)| rest.split([',', ' ']).next());
        version.map(str::to_owned).ok_or_else(|| Unavailable {
            reason: format!("`{} --version` says no version but `{first}`", path.display()),
            remedy: format!("install {} anew", self.name()),
        })
    }

    /// Whether this process can run containers with it, with or without published ports. Starts a daemon once
    /// per program to see that it gets ready.
    pub fn probe(self, runtime: Runtime, is_published: bool) -> Result<(), Unavailable> {
        let (programs, _) = self.programs();
        programs.iter().try_for_each(|name| self.find(name).map(drop))?;
        if runtime == Runtime::Crun && hybrid().is_some() {
            return Err(Unavailable {
                reason: "crun refuses hosts with both versions of control groups, and an engine cannot hide one from it".to_owned(),
                remedy: "take `runtime = \"runc\"`".to_owned(),
            });
        }
        runtime.probe()?;
        static TRIED: [OnceLock<Result<(), Unavailable>>; 2] = [const { OnceLock::new() }; 2];
        match self {
            Self::Docker => TRIED[usize::from(is_published)]
                .get_or_init(|| self.try_daemon(runtime, is_published))
                .clone(),
            Self::Podman => rehearsal::rehearse(runtime, Some(self)),
        }
    }

    /// Starts the daemon so that its networks, mounts and processes end with it, and with us.
    fn try_daemon(self, runtime: Runtime, is_published: bool) -> Result<(), Unavailable> {
        let network = (!is_published).then_some(Path::new("/proc/self/ns/net"));
        let listen = format!(
            "\"$@\" 2>&1 | while read -r line; do echo \"$line\"; \
             case $line in *'{UP}'*) kill -KILL -1;; esac; done"
        );
        let apart = ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--pid", "--fork", "--kill-child"];
        let mut command = apart.map(str::to_owned).to_vec();
        command.extend(["--mount-proc", "sh", "-c", &listen, "sh"].map(str::to_owned));
        command.extend(self.daemon(runtime, Path::new(OWN), network)?.into_iter().flatten());
        let why = match crate::host::ask::ask(&command, None, DAEMON_PATIENCE) {
            Ok(said) if said.contains(UP) => return Ok(()),
            Ok(said) => said.lines().last().unwrap_or("it said nothing").trim().to_owned(),
            Err(crate::host::ask::AskError::TooSlow { .. }) => {
                format!("it is not up within {DAEMON_PATIENCE:?}")
            }
            Err(error) => error.to_string(),
        };
        Err(Unavailable {
            reason: format!("the daemon of {} does not come up here: {why}", self.name()),
            remedy: "fix that, or use `engine = \"podman\"`, or a container without an engine".to_owned(),
        })
    }

    /// The command that starts the daemon, for an engine that has one. Start it in the network of its bridge
    /// (containers are `published`), or in a network of its own, in which case the containers join the
    /// network of the file `network`. `runtime` runs the containers and the hook in `bundle`.
    pub(super) fn daemon(
        self,
        runtime: Runtime,
        bundle: &Path,
        network: Option<&Path>,
    ) -> Result<Option<Vec<String>>, Unavailable> {
        if self == Self::Podman {
            return Ok(None);
        }
        let below = runtime.find()?.display().to_string();
        let hook = groups::quoted(&bundle.join(HOOK));
        let runtime = format!("{OWN}/runtime");
        // Children can enter a network that the daemon holds open, even if its name is gone.
        let held = network.map(|path| format!("exec 9<{}\n", groups::quoted(path))).unwrap_or_default();
        let script = format!(
            "{held}{}ln -s {hook} {OWN}/hook || exit 1\n\
             sed \"s/@PID@/$$/\" > {runtime} <<'END'\n{}END\n\
             chmod 755 {runtime}\nexec \"$@\"\n",
            hidden(&["/etc/docker", "/opt/containerd"]),
            wrapper(network.is_some(), &below)
        );
        let mut words: Vec<String> =
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", &script, "sh"]
                .map(str::to_owned)
                .to_vec();
        // dockerd would have `modprobe` load br_netfilter. The host would keep the module, and the host's
        // firewall would then filter its bridges.
        words.extend(["setpriv", "--bounding-set=-sys_module", "--inh-caps=-sys_module"].map(str::to_owned));
        words.push(self.find("dockerd")?.display().to_string());
        let places = [
            format!("--data-root={OWN}/data"),
            format!("--exec-root={OWN}/exec"),
            format!("--pidfile={OWN}/pid"),
            format!("--host=unix://{SOCKET}"),
            format!("--add-runtime=weigh={runtime}"),
        ];
        words.extend(places);
        let plain = ["--default-runtime=weigh", "--storage-driver=vfs", "--oom-score-adjust=0"];
        words.extend(plain.map(str::to_owned));
        if network.is_some() {
            let none = [
                "--bridge=none",
                "--iptables=false",
                "--ip6tables=false",
                "--ip-forward=false",
                "--ip-masq=false",
            ];
            words.extend(none.map(str::to_owned));
        }
        Ok(Some(words))
    }

    /// The first words of every command for the daemon whose first process is `daemon`.
    fn client(self, daemon: Option<Pid>) -> Result<Vec<String>, Unavailable> {
        let mut words = vec![self.executable()?.display().to_string()];
        if let Some(pid) = daemon {
            words.extend(["--host".to_owned(), format!("unix:///proc/{pid}/root{SOCKET}")]);
        }
        Ok(words)
    }

    /// Has the daemon import the folders of `root` as an image. Does nothing for an engine that runs them in
    /// place.
    pub(super) fn import(self, daemon: Option<Pid>, root: &Path) -> io::Result<()> {
        let Some(pid) = daemon else { return Ok(()) };
        let client = self.client(Some(pid)).map_err(io::Error::other)?;
        let script = format!("tar -C {} -cf - . | \"$@\" import - {IMAGE}", groups::quoted(root));
        let mut command = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
        command.extend(client);
        crate::host::ask::ask(&command, None, IMPORT_PATIENCE).map(drop).map_err(io::Error::other)
    }

    /// The command that runs a container in the foreground, to be started in `bundle`.
    pub(super) fn run(
        self,
        spec: &ContainerSpec<'_>,
        bundle: &Path,
        root: &Path,
        daemon: Option<Pid>,
    ) -> io::Result<Vec<String>> {
        let hook = bundle.join(HOOK);
        let list = bundle.join(super::GROUPS);
        write(&hook, &groups::hook(&list))?;
        let mut words: Vec<String> = match self {
            Self::Docker => ["sh", "-c", &format!("{}exec \"$@\"\n", groups::entry(&list)), "sh"]
                .map(str::to_owned)
                .to_vec(),
            Self::Podman => {
                let hooks = bundle.join(HOOKS);
                fs::create_dir_all(&hooks)?;
                let text = serde_json::json!({
                    "version": "1.0.0",
                    "hook": { "path": "/bin/sh", "args": ["sh", hook] },
                    "when": { "always": true },
                    "stages": ["createRuntime"]
                });
                write(&hooks.join("groups.json"), &format!("{text:#}\n"))?;
                let script = format!(
                    "{}{}mount -t tmpfs tmpfs /dev/shm || exit 1\nexec \"$@\"\n",
                    groups::entry(&list),
                    hidden(&["/var/lib/cni", "/var/lib/containers"])
                );
                ["unshare", "--mount", "--propagation", "private", "sh", "-c", &script, "sh"]
                    .map(str::to_owned)
                    .to_vec()
            }
        };
        words.extend(self.client(daemon).map_err(io::Error::other)?);
        if self == Self::Podman {
            words.extend(podman_places(spec.runtime, &bundle.join(HOOKS)).map_err(io::Error::other)?);
        }
        words.extend(self.flags(spec));
        match self {
            Self::Docker => words.push(IMAGE.to_owned()),
            Self::Podman => words.extend(["--rootfs".to_owned(), root.display().to_string()]),
        }
        words.extend(spec.command.iter().cloned());
        Ok(words)
    }

    fn flags(self, spec: &ContainerSpec<'_>) -> Vec<String> {
        let mut words = vec!["run".to_owned(), "--rm".to_owned(), format!("--name={}", spec.id)];
        words.push(format!("--cgroup-parent=/{}", spec.id));
        words.push(format!("--workdir={}", spec.folder.display()));
        words.extend(["--user=0:0", "--cap-drop=ALL", "--security-opt=no-new-privileges"].map(str::to_owned));
        // The mounted files are the host's own, which SELinux would hide from a container.
        words.push("--security-opt=label=disable".to_owned());
        match self {
            Self::Docker => words.extend(
                ["--log-driver=none", "--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777"].map(str::to_owned),
            ),
            Self::Podman => {
                let own = [
                    "--log-driver=passthrough",
                    "--cgroups=no-conmon",
                    "--no-hosts",
                    "--tmpfs=/tmp:rw,exec,nosuid,nodev,mode=1777",
                ];
                words.extend(own.map(str::to_owned));
                // The engine's default limits exceed what a process without CAP_SYS_RESOURCE may set.
                words.extend(limits());
            }
        }
        words.extend(spec.read_only.then(|| "--read-only".to_owned()));
        words.extend((!spec.filtered).then(|| "--security-opt=seccomp=unconfined".to_owned()));
        match spec.published {
            None => words.push("--network=host".to_owned()),
            Some(host) => words.push(format!("--publish={host}:{PORT}:{PORT}")),
        }
        for BindMount { path, access } in spec.shown {
            let access = match access {
                Access::Read => ":ro",
                Access::Write => "",
            };
            words.push(format!("--volume={path}:{path}{access}"));
        }
        for (name, value) in spec.environment {
            // Every user can read a command line, so values are passed by name where they can be.
            words.push(match value {
                None => format!("--env={name}"),
                Some(value) => format!("--env={name}={value}"),
            });
        }
        words
    }
}

/// The daemon's socket, in its mount namespace.
const SOCKET: &str = "/run/weigh/docker.sock";
/// The hook's file in the bundle's folder.
pub(super) const HOOK: &str = "hook.sh";
/// The folder of Podman's hook descriptions in the bundle's folder.
pub(super) const HOOKS: &str = "hooks";

fn write(path: &Path, text: &str) -> io::Result<()> {
    let made = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    made.and_then(|mut file| file.write_all(text.as_bytes()))
}

/// The script that Docker runs as its runtime: adds the hook to a container's configuration, then runs the
/// runtime.
fn wrapper(elsewhere: bool, runtime: &str) -> String {
    let hook = format!(r#""createRuntime":[{{"path":"/bin/sh","args":["sh","{OWN}/hook"]}}]"#);
    // Docker would write the daemon's own network, while the container belongs in the one behind descriptor
    // 9.
    let network = match elsewhere {
        true => r#"-e 's|{"type":"network","path":"[^"]*"}|{"type":"network","path":"/proc/@PID@/fd/9"}|' "#,
        false => "",
    };
    // A configuration may have hooks, none, or an empty list.
    format!(
        r#"#!/bin/sh
bundle=
previous=
for word; do
    [ "$previous" != --bundle ] || bundle=$word
    previous=$word
done
[ -n "$bundle" ] || exec {runtime} "$@"
sed -i {network}-e 's|"hooks":{{}}|"hooks":{{{hook}}}|;t' -e 's|"hooks":{{|"hooks":{{{hook},|;t' \
    -e '1s|^{{|{{"hooks":{{{hook}}},|' "$bundle/config.json" || exit 1
exec {runtime} "$@"
"#
    )
}

/// Lines of a script for its own mount namespace. They mount empty memory over `/run` and `folders`, so that
/// what is made there is hidden from the host, and the host's files there are hidden from the script.
fn hidden(folders: &[&str]) -> String {
    let hide = "hide() {\n\
        [ ! -d \"$1\" ] || { mount -t tmpfs tmpfs \"$1\"; return; }\n\
        above=${1%/*} kept=/run/weigh/hidden${1%/*}\n\
        mkdir -p \"$kept/up\" \"$kept/work\" || return\n\
        mount -t overlay -o \"lowerdir=$above,upperdir=$kept/up,workdir=$kept/work\" overlay \"$above\"\n\
        }\n";
    let folders: String = folders.iter().map(|folder| format!("hide {folder} || exit 1\n")).collect();
    format!("mount -t tmpfs -o mode=755 tmpfs /run && mkdir {OWN} || exit 1\n{hide}{folders}")
}

/// Podman's options for its folders and its runtime.
fn podman_places(runtime: Runtime, hooks: &Path) -> Result<Vec<String>, Unavailable> {
    let mut words: Vec<String> = [
        "--root=/run/weigh/root",
        "--runroot=/run/weigh/runroot",
        "--tmpdir=/run/weigh/tmp",
        "--network-config-dir=/run/weigh/networks",
        "--storage-driver=vfs",
        "--cgroup-manager=cgroupfs",
        "--events-backend=none",
    ]
    .map(str::to_owned)
    .to_vec();
    words.push(format!("--runtime={}", runtime.find()?.display()));
    words.push(format!("--hooks-dir={}", hooks.display()));
    Ok(words)
}

/// Limits of files and processes, at most those of this process, which may not raise them.
fn limits() -> Vec<String> {
    let text = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let limit = |title: &str, name: &str, most: u64| {
        let line = text.lines().find_map(|line| line.strip_prefix(title))?;
        // The second value is the hard limit; `unlimited` is not a number.
        let hard = line.split_ascii_whitespace().nth(1)?.parse().unwrap_or(u64::MAX);
        Some(format!("--ulimit={name}={0}:{0}", most.min(hard)))
    };
    [limit("Max open files", "nofile", FILES_MOST), limit("Max processes", "nproc", PROCESSES_MOST)]
        .into_iter()
        .flatten()
        .collect()
}

/// More than any experiment's connections.
const FILES_MOST: u64 = 1 << 20;
/// More threads than any service has.
const PROCESSES_MOST: u64 = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(published: Option<IpAddr>) -> ContainerSpec<'static> {
        ContainerSpec {
            id: "wb-00000000-0-container",
            runtime: Runtime::Runc,
            command: &[],
            environment: &[],
            folder: Path::new("/s"),
            shown: &[],
            read_only: true,
            filtered: true,
            published,
        }
    }

    #[test]
    fn values_of_the_environment_are_on_no_command_line() {
        let environment = [("TOKEN".to_owned(), None), ("HOME".to_owned(), Some("/tmp".to_owned()))];
        for engine in Engine::ALL {
            let flags = engine.flags(&ContainerSpec { environment: &environment, ..spec(None) });
            assert!(flags.contains(&"--env=TOKEN".to_owned()), "{flags:?}");
            assert!(flags.contains(&"--env=HOME=/tmp".to_owned()), "{flags:?}");
        }
    }

    #[test]
    fn a_port_is_published_only_at_the_servers_address() {
        let host: IpAddr = [10, 77, 0, 2].into();
        for engine in Engine::ALL {
            let flags = engine.flags(&spec(Some(host)));
            assert!(flags.contains(&"--publish=10.77.0.2:8080:8080".to_owned()), "{flags:?}");
            assert!(!flags.contains(&"--network=host".to_owned()));
            assert!(engine.flags(&spec(None)).contains(&"--network=host".to_owned()));
        }
    }

    /// Our hook runs whatever hooks a configuration has, and the rest of it is unchanged.
    #[test]
    fn a_configuration_gets_the_hook_beside_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("runtime");
        write(&script, &wrapper(true, "true")).expect("a file");
        let file = folder.path().join("config.json");
        for (before, own) in [
            (r#"{"ociVersion":"1","hooks":{"prestart":[{"path":"/p"}]},"args":["\"hooks\":{"]}"#, 1),
            (
                r#"{"ociVersion":"1","hooks":{},"args":["\"hooks\":{"],"ns":[{"type":"network","path":"/run/x"}]}"#,
                0,
            ),
            (r#"{"ociVersion":"1","args":["\"hooks\":{"]}"#, 0),
        ] {
            fs::write(&file, before).expect("a file");
            let bundle = folder.path().display().to_string();
            let words = ["sh", &script.display().to_string(), "create", "--bundle", &bundle, "x"];
            crate::host::ask::ask(&words.map(str::to_owned), None, VERSION_PATIENCE).expect("it ran");
            let text = fs::read_to_string(&file).expect("a file");
            let after: serde_json::Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
            assert_eq!(after["hooks"]["createRuntime"][0]["args"][1], "/run/weigh/hook", "{text}");
            assert_eq!(after["hooks"]["prestart"].as_array().map_or(0, Vec::len), own, "{text}");
            if let Some(path) = after["ns"][0]["path"].as_str() {
                assert_eq!(path, "/proc/@PID@/fd/9", "{text}");
            }
            assert_eq!((&after["ociVersion"], &after["args"][0]), (&"1".into(), &r#""hooks":{"#.into()));
        }
    }
}
