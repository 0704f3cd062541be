//! The guardian of a run that is killed with signal 9, in real processes.
//!
//! A program without a test harness: by its first argument it also plays the guardian and the victim, as
//! `weigh` does by its hidden verb.

mod roles;

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use roles::role;
use weighbridge_lab::cleanup::guardian::Guardian;
use weighbridge_lab::cleanup::owned_resource::{Change, OwnedResource};
use weighbridge_lab::cleanup::registry::{self, Registry};
use weighbridge_lab::host::ports::{self, Listener};
use weighbridge_lab::host::procfs::{self, Pid, ProcessIdentity};
use weighbridge_lab::process::Departure;
use weighbridge_lab::process::cgroup::Hierarchy;
use weighbridge_lab::process::freeze::FreezeMethod;
use weighbridge_lab::process::launch::{Lab, Launch, Ready};
use weighbridge_lab::process::quota::{Controller, Version};
use weighbridge_lab::removal::guard;
use weighbridge_lab::removal::stale::{self, CleanMode, CleanOutcome};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::CpuQuota;

const GUARD: &str = "play-guardian";
const VICTIM: &str = "play-victim";
const LISTEN: &str = "play-listener";
/// Half a core.
const QUOTA: CpuQuota =
    CpuQuota { time: Nanoseconds::from_millis(50), period: Nanoseconds::from_millis(100) };

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [GUARD] => {
            guard::run(io::stdin(), io::stdout()).expect("its parent waits for it");
        }
        [VICTIM, folder, method] => victim(Path::new(folder), method),
        [LISTEN] => listen(),
        _ if arguments.iter().any(|argument| argument == "--list") => {}
        _ => stories(),
    }
}

type Story = (&'static str, fn());

fn stories() {
    let stories: [Story; 6] = [
        ("a frozen run that is killed leaves nothing, control groups", || killed("cgroup")),
        ("a frozen run that is killed leaves nothing, signals", || killed("stop")),
        ("a guardian outlives what a terminal may send", signals_are_ignored),
        ("a guardian that is sent away leaves everything", dismissal),
        ("a guardian does not touch a stranger of the same id", strangers),
        ("a plain command gets a port and is ready when it accepts", plain_command),
    ];
    for (claim, story) in stories {
        writeln!(io::stdout(), "test {claim} ...").expect("stdout");
        story();
    }
}

/// Waits until a condition holds; the time is only a limit.
#[track_caller]
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    panic!("{what} did not come about within a minute");
}

fn launch(folder: &Path, name: &str, command: &[&str]) -> Launch {
    Launch {
        name: name.to_owned(),
        stdout: folder.join(format!("{name}.out")),
        stderr: folder.join(format!("{name}.err")),
        ..role(folder, command)
    }
}

/// Starts two guarded roles, one of them frozen, prints their processes, and waits to be killed.
fn victim(folder: &Path, method: &str) {
    let method = if method == "cgroup" { FreezeMethod::Cgroup } else { FreezeMethod::Stop };
    let program = std::env::current_exe().expect("our own program");
    let guardian = Guardian::start(&program, GUARD).expect("a guardian");
    let registry = Registry::create(&folder.join("registry"), "victim").expect("a registry");
    let run = folder.display().to_string();
    let lab = Lab::with_method(&run, Some(guardian), Some(registry), method);
    let busy = "(trap '' TERM; while :; do :; done)& echo ready 1; while :; do :; done";
    let mut frozen = lab.launch(&launch(folder, "frozen", &["sh", "-c", busy])).expect("it starts");
    let running = launch(folder, "running", &["sh", "-c", busy]);
    let quota = Controller::detect().is_ok().then_some(QUOTA);
    let mut running = lab.launch_within(&running, quota).expect("it starts");
    frozen.freeze().expect("it can be frozen");
    let pids: Vec<String> =
        [frozen.members(), running.members()].concat().iter().map(Pid::to_string).collect();
    writeln!(io::stdout(), "{}", pids.join(" ")).expect("stdout");
    std::thread::sleep(Duration::from_secs(600));
}

/// A running victim.
struct Scene {
    method: &'static str,
    folder: tempfile::TempDir,
    victim: Child,
    roles: Vec<ProcessIdentity>,
    guardian: ProcessIdentity,
}

impl Scene {
    fn set(method: &'static str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new(std::env::current_exe().expect("our own program"));
        command.arg(VICTIM).arg(folder.path()).arg(method).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut victim = command.spawn().expect("a victim");
        let mut line = String::new();
        let output = victim.stdout.take().expect("piped");
        BufReader::new(output).read_line(&mut line).expect("its roles");
        let ids = line.split_whitespace().map(|id| Pid::new(id.parse().expect("a number")));
        let roles: Vec<ProcessIdentity> = ids.filter_map(ProcessIdentity::read).collect();
        assert_eq!(roles.len(), 4, "{line}");
        let parent = Pid::new(victim.id() as i32);
        let is_guardian = |stat: &procfs::ProcessStat| {
            let is_role = roles.iter().any(|role| role.pid == stat.pid);
            stat.parent == parent && !is_role && stat.name != "wb-keeper"
        };
        let guardian = procfs::processes().into_iter().find(is_guardian).expect("a guardian");
        let guardian = ProcessIdentity { pid: guardian.pid, start_time: guardian.start_time };
        Self { method, folder, victim, roles, guardian }
    }

    fn groups(&self) -> Vec<std::path::PathBuf> {
        let listed = registry::list(&self.folder.path().join("registry")).expect("registries");
        let group = |resource: &OwnedResource| match resource {
            OwnedResource::Cgroup { path } => Some(path.clone()),
            _ => None,
        };
        listed.iter().flat_map(|listed| listed.resources.iter().filter_map(group)).collect()
    }

    /// Kills the victim with signal 9 and checks that only a registry is left, which says so.
    fn kill_and_check(mut self) {
        let groups = self.groups();
        let own = self.method == "cgroup" && Hierarchy::detect().is_some_and(|found| found.is_usable());
        // A quota of version 2 belongs to the role's own group, if it has one.
        let limit = Controller::detect().is_ok_and(|found| !own || found.version() == Version::First);
        assert_eq!(groups.len(), if own { 2 } else { 0 } + usize::from(limit), "{groups:?}");
        assert!(groups.iter().all(|group| group.is_dir()));
        assert!(self.roles.iter().all(|role| role.is_alive()));
        self.victim.kill().expect("it is ours");
        self.victim.wait().expect("it is ours");
        eventually("the guardian's end", || !self.guardian.is_alive());
        for role in &self.roles {
            assert!(!role.is_alive(), "{role:?} outlived its run");
        }
        assert!(groups.iter().all(|group| !group.exists()), "{groups:?}");
        let base = self.folder.path().join("registry");
        let actions = stale::clean(&base, CleanMode::Remove).expect("cleaning");
        let (last, resources) = actions.split_last().expect("a registry was left");
        assert_eq!(resources.len(), 2 + groups.len());
        assert!(resources.iter().all(|action| action.outcome == CleanOutcome::AlreadyGone), "{resources:?}");
        assert_eq!(last.outcome, CleanOutcome::Removed);
    }
}

fn killed(method: &'static str) {
    Scene::set(method).kill_and_check();
}

fn signals_are_ignored() {
    let scene = Scene::set("cgroup");
    let own = procfs::ProcessStat::read(scene.guardian.pid).expect("it runs");
    assert_eq!(own.session, scene.guardian.pid, "it sits in a session of its own");
    for signal in ["INT", "TERM", "HUP", "QUIT", "TSTP"] {
        let sent =
            Command::new("kill").arg(format!("-{signal}")).arg(scene.guardian.pid.to_string()).status();
        assert!(sent.expect("kill").success());
    }
    scene.kill_and_check();
}

/// A process that no lab started, killed when the test ends.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        Self(Command::new("sleep").arg("1000").process_group(0).spawn().expect("sleep"))
    }
    fn identity(&self) -> ProcessIdentity {
        ProcessIdentity::read(Pid::new(self.0.id() as i32)).expect("it runs")
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        // The tested code may have killed it; it is reaped here either way.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn guardian_of(identity: ProcessIdentity) -> Guardian {
    let program = std::env::current_exe().expect("our own program");
    let mut guardian = Guardian::start(&program, GUARD).expect("a guardian");
    guardian.tell(&Change::Taken(OwnedResource::Process(identity))).expect("it listens");
    guardian
}

fn dismissal() {
    let sleeper = Sleeper::start();
    let identity = sleeper.identity();
    guardian_of(identity).dismiss().expect("it goes");
    assert!(identity.is_alive());
    // Closing the pipe without dismissal ends it, so the dismissal above made the difference.
    drop(guardian_of(identity));
    assert!(!identity.is_alive());
}

fn strangers() {
    let sleeper = Sleeper::start();
    let identity = sleeper.identity();
    drop(guardian_of(ProcessIdentity { start_time: identity.start_time - 1, ..identity }));
    assert!(identity.is_alive());
}

fn listen() {
    let port: u16 = std::env::var("PORT").ok().and_then(|port| port.parse().ok()).expect("a port");
    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).expect("a free port");
    for connection in listener.incoming() {
        drop(connection);
    }
}

fn plain_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let lab = Lab::new(&folder.path().display().to_string(), None, None);
    let program = std::env::current_exe().expect("our own program").display().to_string();
    let mut plain = launch(folder.path(), "plain", &[&program, LISTEN]);
    plain.ready = Ready::AnyPort;
    plain.environment = vec![("SEEN".to_owned(), "{port}".to_owned())];
    let role = lab.launch(&plain).expect("it starts");
    assert_eq!(ports::listener_of(role.port()), Listener::Process(role.pid()));
    let environment = fs::read(format!("/proc/{}/environ", role.pid())).expect("it runs");
    let seen = format!("SEEN={}", role.port()).into_bytes();
    assert!(environment.split(|byte| *byte == 0).any(|pair| pair == seen));
    assert_eq!(role.stop(Nanoseconds::from_secs(60)).departure, Departure::InTime);
}
