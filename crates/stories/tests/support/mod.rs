//! What whole-program stories share: a folder, the built binary, small servers, and the check that nothing is
//! left at the end.
//!
//! A story starts `weigh` in its own world (folder, state, home). All processes of a world carry one marker
//! in their environment, so that no story mistakes another's processes for its own.

// Each story file uses its own part of this.
#![allow(dead_code, unused_macros)]

#[macro_use]
pub mod enemy;
pub mod server;
pub mod service;
#[path = "../../../lab/tests/skips/mod.rs"]
mod skips;

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

pub use skips::say;
#[allow(unused_imports)] // each story file uses its own part
pub use skips::{must_have_layers, skipped, skipped_layers};

/// The program under test, as it is shipped: `make build` makes it. Stories that measure need an optimised one, while
/// their own code need not be. The gate has none of these, and names the one that was compiled with the tests.
pub const WEIGH: &str = match option_env!("WEIGH_UNDER_TEST") {
    Some(path) => path,
    None => concat!(env!("CARGO_MANIFEST_DIR"), "/../../weigh"),
};

/// Environment variable that names the world of a process.
const MARKER: &str = "WEIGH_STORY";

/// The longest wait for anything. No story waits so long unless it fails.
const PATIENCE: Duration = Duration::from_secs(120);

/// The machine: stories that measure have it alone, one at a time, since what else works would be in their figures; the
/// others share it, so many at once, and go first, so that nobody who waits to be alone holds them up.
static MACHINE: Machine =
    Machine { parts: Mutex::new(Parts { alone: 0, shared: 0, waiting: 0 }), given_back: Condvar::new() };

/// Stories that share the machine at once.
const TOGETHER: usize = 4;

struct Machine {
    parts: Mutex<Parts>,
    given_back: Condvar,
}

/// How many stories have which part in the machine, and how many wait to share it.
struct Parts {
    alone: usize,
    shared: usize,
    waiting: usize,
}

/// A folder with an experiment, its runs and its state, and everything that was started in it.
pub struct World {
    folder: TempDir,
    marker: String,
    pids: Mutex<Vec<u32>>,
    _part: Part,
}

/// A story's part in the machine, until it is dropped; none where an earlier world of the same story has it.
struct Part(Option<Had>);

struct Had {
    which: Use,
    since: Instant,
}

/// Names a file to which each story adds a line: its part in the machine, the seconds that it had it, its name.
const TIMES: &str = "STORY_TIMES";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Alone,
    Shared,
}

impl Part {
    fn take(wanted: Use) -> Self {
        if HAS_MACHINE.replace(true) {
            return Self(None);
        }
        let waits = usize::from(wanted == Use::Shared);
        let mut parts = MACHINE.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.waiting += waits;
        while !parts.allow(wanted) {
            parts = MACHINE.given_back.wait(parts).unwrap_or_else(PoisonError::into_inner);
        }
        parts.waiting -= waits;
        *parts.of(wanted) += 1;
        Self(Some(Had { which: wanted, since: Instant::now() }))
    }
}

impl Had {
    fn tell(&self) -> std::io::Result<()> {
        let Some(path) = std::env::var_os(TIMES) else { return Ok(()) };
        let thread = std::thread::current();
        let (name, seconds) = (thread.name().unwrap_or("?"), self.since.elapsed().as_secs_f64());
        let line = format!("{:?} {seconds:.1} {name}\n", self.which);
        fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
    }
}

impl Parts {
    fn of(&mut self, which: Use) -> &mut usize {
        match which {
            Use::Alone => &mut self.alone,
            Use::Shared => &mut self.shared,
        }
    }

    fn allow(&self, wanted: Use) -> bool {
        match wanted {
            Use::Alone => self.alone + self.shared + self.waiting == 0,
            Use::Shared => self.alone == 0 && self.shared < TOGETHER,
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        let Some(had) = &self.0 else { return };
        HAS_MACHINE.set(false);
        *MACHINE.parts.lock().unwrap_or_else(PoisonError::into_inner).of(had.which) -= 1;
        MACHINE.given_back.notify_all();
        // Times that cannot be told fail no story.
        let _ = had.tell();
    }
}

/// How to start the program.
pub struct Start<'a> {
    world: &'a World,
    command: Command,
}

/// The running program.
pub struct Weigh<'a> {
    world: &'a World,
    child: Child,
    output: [PathBuf; 2],
}

/// The result of a program that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// From the start, or the last signal, to the end.
    pub took: Duration,
    /// The most memory seen in use at once, in KiB.
    pub memory_peak_kib: u64,
}

/// Whether the program was built from this tree, after the last change of every source that Cargo says it is made of.
fn is_fresh() -> Result<(), String> {
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified());
    let program = fs::canonicalize(WEIGH).map_err(|error| format!("{WEIGH}: {error}; run `make build`"))?;
    let built = changed(&program).map_err(|error| format!("{}: {error}", program.display()))?;
    let list = program.with_extension("d");
    let list = fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).canonicalize().expect("a root");
    // What a build script made lies beside the program.
    let made = program.parent().expect("a folder").join("build");
    let is_older = |source: &&str| {
        let source = Path::new(source);
        let is_ours = source.starts_with(&root) || source.starts_with(&made);
        // The program carries them along, and their own builds may touch them.
        let is_carried = ["services", "suites"].iter().any(|folder| source.starts_with(root.join(folder)));
        is_ours && (is_carried || changed(source).is_ok_and(|at| at <= built))
    };
    let mut sources = list.split_once(": ").expect("a list of sources").1.split_whitespace();
    match sources.find(|source| !is_older(source)) {
        Some(source) => {
            Err(format!("{WEIGH} is not built from {source} as it is now in this tree; run `make build`"))
        }
        None => Ok(()),
    }
}

impl World {
    /// A world for a story that measures; waits until it has the machine alone.
    pub fn new() -> Self {
        Self::on(Use::Alone)
    }

    /// A world for a story that only waits, or needs no good figures.
    pub fn idle() -> Self {
        Self::on(Use::Shared)
    }

    fn on(wanted: Use) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        static FRESH: LazyLock<Result<(), String>> = LazyLock::new(is_fresh);
        assert_eq!(*FRESH, Ok(()));
        let part = Part::take(wanted);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            folder: TempDir::new().expect("a folder"),
            marker: format!("{}-{number}", std::process::id()),
            pids: Mutex::default(),
            _part: part,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, with its folders.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("it lies in the world")).expect("folders");
        fs::write(&path, text).expect("a file");
        path
    }

    /// Writes an executable shell script, and returns its command as words in TOML.
    pub fn script(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        let text = self.write(&format!("{name}.text"), &format!("#!/bin/sh\n{text}\n"));
        install(&text, &path, "755");
        fs::remove_file(text).expect("it was written");
        format!("command = [\"{}\"]", path.display())
    }

    /// Writes `experiment.toml` with small blocks and these variants, each the lines of its table.
    pub fn experiment(&self, variants: &[&str]) -> PathBuf {
        self.experiment_with("", variants)
    }

    /// Like [`Self::experiment`], with more tables or a changed plan: `more` comes before the variants.
    pub fn experiment_with(&self, more: &str, variants: &[&str]) -> PathBuf {
        self.write("experiment.toml", &experiment(more, variants))
    }

    /// `weigh` with these arguments, not yet started.
    pub fn weigh(&self, arguments: &[impl AsRef<OsStr>]) -> Start<'_> {
        let mut command = Command::new(WEIGH);
        command.args(arguments).current_dir(self.folder.path());
        command.env(MARKER, &self.marker).env("HOME", self.folder.path());
        command.env("XDG_STATE_HOME", self.path("state")).env("XDG_CACHE_HOME", self.path("cache"));
        for name in ["WEIGH_SERVICES", "NO_COLOR", "PORT", "HOST"] {
            command.env_remove(name);
        }
        // A service that is rebuilt uses Go's cache instead of compiling everything.
        if let Some(cache) = go_cache() {
            command.env("GOCACHE", cache);
        }
        Start { world: self, command }
    }

    /// `weigh run` of the world's experiment into `runs`.
    pub fn run(&self, more: &[&str]) -> Start<'_> {
        self.weigh(&[&["run", "experiment.toml", "--out", "runs"], more].concat())
    }

    /// The only run folder.
    pub fn run_folder(&self) -> PathBuf {
        let mut runs = self.run_folders();
        assert_eq!(runs.len(), 1, "one run: {runs:?}");
        runs.remove(0)
    }

    pub fn run_folders(&self) -> Vec<PathBuf> {
        entries(&self.path("runs")).into_iter().filter(|path| path.join("run.json").exists()).collect()
    }

    /// The events of the only run, so far.
    pub fn events(&self) -> Vec<Value> {
        let Some(run) = self.run_folders().pop() else { return Vec::new() };
        let text = fs::read_to_string(run.join("events.jsonl")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// How many events of a kind there are.
    pub fn count(&self, event: &str) -> usize {
        self.events().iter().filter(|line| line["event"] == event).count()
    }

    /// Complete blocks of the only run.
    pub fn blocks(&self) -> usize {
        entries(&self.run_folder().join("blocks")).len()
    }

    /// A file of the only run, as JSON.
    pub fn json(&self, name: &str) -> Value {
        let path = self.run_folder().join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).expect("JSON")
    }

    /// Process ids of the world whose command line contains `text`, without zombies.
    pub fn processes(&self, text: &str) -> Vec<u32> {
        let marker = format!("{MARKER}={}", self.marker);
        let is_ours = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|pair| pair == marker.as_bytes())
        };
        let pids = entries(Path::new("/proc"));
        let pids = pids.iter().filter_map(|path| path.file_name()?.to_str()?.parse::<u32>().ok());
        pids.filter(is_ours).filter(|pid| command_line(*pid).contains(text)).collect()
    }

    /// Existing control groups of this world's runs.
    pub fn groups(&self) -> Vec<PathBuf> {
        // Version 2 of control groups is mounted at the root, or beside the hierarchies of version 1 in its
        // own folder.
        let root = Path::new("/sys/fs/cgroup");
        let hierarchies = entries(root).into_iter().filter(|path| path.is_dir());
        self.made_in(&hierarchies.chain([root.to_owned()]).collect::<Vec<_>>())
    }

    /// Existing network namespaces of this world's runs.
    pub fn networks(&self) -> Vec<PathBuf> {
        self.made_in(&[PathBuf::from("/run/netns")])
    }

    /// Existing folders of databases of this world's runs.
    pub fn databases(&self) -> Vec<PathBuf> {
        self.made_in(&[PathBuf::from("/var/tmp")])
    }

    /// Entries of these folders with a name that a run of this world gives.
    fn made_in(&self, folders: &[PathBuf]) -> Vec<PathBuf> {
        let pids = self.pids.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let runs = self.run_folders();
        let names = runs.iter().filter_map(|run| run.file_name()?.to_str());
        let prefix = |name: &str, pid: u32| {
            let digest = Sha256::digest(format!("{name}-{pid}"));
            let hex = weighbridge_model::hex::encode(&digest[..4]);
            format!("wb-{hex}-")
        };
        let prefixes: Vec<String> =
            names.flat_map(|name| pids.iter().map(move |pid| prefix(name, *pid))).collect();
        let is_ours = |path: &PathBuf| {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
            prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()))
        };
        folders.iter().flat_map(|folder| entries(folder)).filter(is_ours).collect()
    }

    /// Registries of runs that have not ended or have not been cleaned up.
    pub fn registries(&self) -> Vec<PathBuf> {
        entries(&self.path("state/weighbridge/registry"))
    }

    /// Folders in which revisions are checked out.
    pub fn worktrees(&self) -> Vec<PathBuf> {
        let repositories = entries(&self.path("cache/weighbridge/revisions"));
        repositories.iter().flat_map(|repository| entries(repository)).collect()
    }

    /// Fails if any process, control group, network, revision or registry of this world is left.
    pub fn assert_nothing_left(&self) {
        eventually("no process is left", || self.processes("").is_empty());
        eventually("no control group is left", || self.groups().is_empty());
        eventually("no network is left", || self.networks().is_empty());
        eventually("no revision is left", || self.worktrees().is_empty());
        eventually("no registry is left", || self.registries().is_empty());
    }
}

impl Drop for World {
    /// Ends what a failed story left, only processes with this world's marker.
    fn drop(&mut self) {
        for pid in self.processes("") {
            send("CONT", pid);
            send("KILL", pid);
        }
        for network in self.networks() {
            let name = network.file_name().unwrap_or_default();
            let _ = Command::new("ip").args(["netns", "delete"]).arg(name).status();
        }
        for group in self.groups() {
            let _ = fs::write(group.join("cgroup.kill"), "1");
            // It can be removed once the kernel has ended its processes.
            let _ = (0..100).any(|_| {
                std::thread::sleep(Duration::from_millis(5));
                fs::remove_dir(&group).is_ok()
            });
        }
    }
}

impl<'a> Start<'a> {
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// With the reference services; their toolchains are found by way of the user's home.
    pub fn with_services(self) -> Self {
        let folder = service::folder();
        let services = self.env("WEIGH_SERVICES", folder.to_str().expect("a plain path"));
        services.env("HOME", &std::env::var("HOME").expect("a home"))
    }

    pub fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Makes it the leader of its own process group, as a shell at a terminal does.
    pub fn leading(mut self) -> Self {
        std::os::unix::process::CommandExt::process_group(&mut self.command, 0);
        self
    }

    /// Feeds a file to stdin.
    pub fn stdin(mut self, file: &Path) -> Self {
        self.command.stdin(File::open(file).expect("a file for stdin"));
        self
    }

    /// Starts it through another program, which takes it as its last arguments.
    pub fn through(mut self, program: &str, words: &[&str]) -> Self {
        let mut outer = Command::new(program);
        outer.args(words).arg(self.command.get_program()).args(self.command.get_args());
        for (name, value) in self.command.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        if let Some(folder) = self.command.get_current_dir() {
            outer.current_dir(folder);
        }
        self.command = outer;
        self
    }

    /// Starts it with its output in files, so that nobody has to drain it.
    pub fn start(mut self) -> Weigh<'a> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let output = ["out", "err"].map(|name| self.world.path(&format!("{number}.{name}")));
        let [stdout, stderr] = output.each_ref().map(|path| File::create(path).expect("a file for output"));
        let child = self.command.stdout(stdout).stderr(stderr).spawn().expect("the binary starts");
        self.world.pids.lock().unwrap_or_else(PoisonError::into_inner).push(child.id());
        Weigh { world: self.world, child, output }
    }

    /// Starts it and waits for its end.
    pub fn end(self) -> Ended {
        self.start().end()
    }

    /// The command itself, for a story that connects it in another way.
    pub fn command(self) -> Command {
        self.command
    }
}

impl Weigh<'_> {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn stdout(&self) -> String {
        fs::read_to_string(&self.output[0]).unwrap_or_default()
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(&self.output[1]).unwrap_or_default()
    }

    /// Waits until a condition holds; fails with the program's output if it ends before.
    pub fn until(&mut self, what: &str, holds: impl Fn(&World) -> bool) {
        let start = Instant::now();
        while !holds(self.world) {
            let ended = self.child.try_wait().expect("it can be waited for");
            note_disturbance(&self.stderr());
            assert!(ended.is_none(), "ended ({ended:?}) before {what}: {}", self.stderr());
            assert!(start.elapsed() < PATIENCE, "{what} did not come about: {}", self.stderr());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the `nth` event of a kind.
    pub fn until_event(&mut self, event: &str, nth: usize) {
        self.until(&format!("event {nth} `{event}`"), |world| world.count(event) >= nth);
    }

    /// Sends a signal by name.
    pub fn signal(&self, name: &str) {
        send(name, self.pid());
    }

    /// Sends a signal to all processes of its group, as a terminal does, and waits for the end. It must lead
    /// a group: see [`Start::leading`].
    pub fn group_ends_by(self, signal: &str) -> Ended {
        let group = format!("-{}", self.pid());
        let sent = Command::new("kill").args([&format!("-{signal}"), "--", &group]).status();
        assert!(sent.expect("kill").success());
        self.end()
    }

    /// Sends a signal and waits for the end.
    pub fn end_by(self, signal: &str) -> Ended {
        self.signal(signal);
        self.end()
    }

    /// Waits for the end.
    pub fn end(mut self) -> Ended {
        let start = Instant::now();
        let mut memory_peak_kib = 0;
        let status = loop {
            memory_peak_kib = memory_peak_kib.max(peak_kib(self.pid()));
            if let Some(status) = self.child.try_wait().expect("it can be waited for") {
                break status;
            }
            if start.elapsed() > 2 * PATIENCE {
                let _ = self.child.kill();
                panic!("it does not end: {}", self.stderr());
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let [stdout, stderr] = self
            .output
            .each_ref()
            .map(|path| String::from_utf8_lossy(&fs::read(path).expect("its output")).into_owned());
        [&stdout, &stderr].into_iter().for_each(|said| note_disturbance(said));
        Ended { code: status.code(), stdout, stderr, took: start.elapsed(), memory_peak_kib }
    }
}

impl Ended {
    /// Fails unless it ended with this code.
    #[track_caller]
    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Fails unless it ended with exit code 2 and exactly one error line, which contains all of `words`.
    #[track_caller]
    pub fn assert_error(&self, words: &[&str]) -> &Self {
        self.assert_code(2);
        let lines: Vec<_> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(lines.len(), 1, "one error line: {self}");
        for word in words {
            assert!(lines[0].contains(word), "`{word}` is not in: {}", lines[0]);
        }
        assert!(lines[0].len() < 900, "too long to be read: {}", lines[0]);
        self
    }

    /// Fails unless it measured to the end. A disturbed host may make figures invalid (code 3), which these
    /// stories do not test.
    #[track_caller]
    pub fn assert_measured(&self) -> &Self {
        assert!(matches!(self.code, Some(0 | 3)), "{self}");
        assert!(!self.stderr.contains("error: "), "{self}");
        self
    }

    /// Fails unless every variant of the run counts. The only allowed reason for an invalid variant is a late
    /// generator (two late requests of a hundred suffice), since that does not concern the path of packets.
    #[track_caller]
    pub fn assert_counts(&self) {
        const INVALID: [&str; 6] =
            ["no good reply", "not measured", "saturated", "never sent", "another way", "out of memory"];
        self.assert_measured();
        let summary = self.json();
        for variant in summary["variants"].as_array().expect("variants") {
            let reasons: Vec<_> =
                variant["reasons"].as_array().expect("reasons").iter().map(Value::as_str).collect();
            let says = |name: &str| reasons.iter().flatten().any(|reason| reason.starts_with(name));
            assert!(variant["validity"] != "invalid" || says("generator late"), "{variant}");
            assert!(!INVALID.into_iter().any(says), "{variant}");
        }
    }

    /// Fails unless this gate failed with a message on stderr. Figures that a disturbed host made invalid are
    /// also accepted (code 3).
    #[track_caller]
    pub fn assert_gate_failed(&self, gate: &str) -> &Self {
        assert!(matches!(self.code, Some(1 | 3)), "{self}");
        assert!(self.says(&format!("gate failed: `{gate}`: ")), "{self}");
        self
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    /// Whether stderr contains this text.
    pub fn says(&self, text: &str) -> bool {
        self.stderr.contains(text)
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "code {:?} after {:?}\nstdout: {}\nstderr: {}",
            self.code, self.took, self.stdout, self.stderr
        )
    }
}

/// Runs a story that measures. It is repeated once if it failed and a run of it said that the host was disturbed: the
/// hypervisor took CPU time, so that some blocks are void, as they must be, and the story's expected numbers of blocks do
/// not hold; or steps of a search for capacity were repeated.
pub fn measuring<T>(story: impl Fn() -> T) -> T {
    DISTURBED.set(false);
    // A story makes its own world, so state that a panic leaves inconsistent is not used again.
    match catch_unwind(AssertUnwindSafe(&story)) {
        Ok(end) => return end,
        Err(failure) if !DISTURBED.get() => resume_unwind(failure),
        Err(_) => {}
    }
    say("REPEATED", "the host was disturbed while it measured");
    wait_for_the_hypervisor();
    story()
}

/// Waits until the hypervisor gives the host its time again, at most a minute, and two minutes in one test
/// program.
fn wait_for_the_hypervisor() {
    static WAITED: AtomicU32 = AtomicU32::new(0);
    for _ in 0..60 {
        if WAITED.fetch_add(1, Ordering::Relaxed) >= 120 || share_taken().is_none_or(|share| share < 0.05) {
            return;
        }
        std::thread::sleep(Duration::from_millis(700));
    }
}

/// The share of CPU time that this thread wanted and the hypervisor took, over 300 ms. It must run, since a
/// sleeping thread loses nothing.
fn share_taken() -> Option<f64> {
    let ticks = || -> Option<(f64, f64)> {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let fields: Vec<f64> =
            stat.lines().next()?.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
        let [user, nice, system, _, _, interrupts, soft, stolen, ..] = fields[..] else { return None };
        Some((user + nice + system + interrupts + soft, stolen))
    };
    let before = ticks()?;
    let end = Instant::now() + Duration::from_millis(300);
    while Instant::now() < end {
        std::hint::spin_loop();
    }
    let after = ticks()?;
    let (had, stolen) = (after.0 - before.0, after.1 - before.1);
    (had + stolen > 0.0).then(|| stolen / (had + stolen))
}

thread_local! {
    /// Whether a world of this thread's story has its part in the machine.
    static HAS_MACHINE: Cell<bool> = const { Cell::new(false) };
    /// Whether a run of this thread's story lost a block to the hypervisor.
    static DISTURBED: Cell<bool> = const { Cell::new(false) };
}

/// Records what a run's messages and findings say of the host for its story.
pub fn note_disturbance(said: &str) {
    if said.contains("the hypervisor took") || said.contains("steps repeated") {
        DISTURBED.set(true);
    }
}

/// A small experiment: short windows, four blocks, about two seconds.
pub fn experiment(more: &str, variants: &[&str]) -> String {
    let plan = if more.contains("[plan]") {
        String::new()
    } else {
        "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"2 s\"\nwindow = \"5 ms\"\n".to_owned()
    };
    let workload = if more.contains("[workload]") { "" } else { "[workload]\nname = \"pingpong\"\n" };
    let load = if more.contains("[load]") { "" } else { "[load]\nwarmup = \"20 ms\"\ntimeout = \"60 s\"\n" };
    let variants: Vec<_> = variants.iter().map(|lines| format!("[[variant]]\n{lines}\n")).collect();
    format!("title = \"story\"\n{workload}{load}{plan}{more}\n{}", variants.join(""))
}

/// A probe of the binary under test as a variant.
pub fn probe(name: &str, law: &str) -> String {
    let words: Vec<_> = law.split(' ').map(|word| format!(", \"{word}\"")).collect();
    format!("name = \"{name}\"\ncommand = [\"{WEIGH}\", \"probe\"{}]", words.concat())
}

/// Changes a JSON file of a run as a program would that writes records: its digest changes with it.
pub fn restate(run: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let edit = |name: &str, change: &mut dyn FnMut(&mut Value)| {
        let path = run.join(name);
        let mut value = serde_json::from_slice(&fs::read(&path).expect("a file")).expect("JSON");
        change(&mut value);
        let text = value.to_string();
        fs::write(path, &text).expect("a file");
        format!("{:x}", Sha256::digest(text))
    };
    let mut change = Some(change);
    let digest = edit(file, &mut |value| change.take().expect("called once")(value));
    edit("digests.json", &mut |value| value["files"][file]["sha256"] = digest.clone().into());
}

/// Sends a signal to one process.
pub fn send(signal: &str, pid: u32) {
    // A process that has just ended cannot be signalled, which is fine.
    let _ =
        Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).stderr(Stdio::null()).status();
}

/// A process's state letter: `T` stopped, `S` asleep …
pub fn state(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

/// Whether the control group of a process is frozen, or the process is stopped.
pub fn is_frozen(pid: u32) -> bool {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let path = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").to_owned();
    let frozen = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].iter().any(|base| {
        let events = fs::read_to_string(format!("{base}{path}/cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "frozen 1")
    });
    frozen || state(pid) == Some('T')
}

/// Waits until a condition holds.
#[track_caller]
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what}: it did not come about");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Copies a program by another process. A file that this one wrote might be held open, for a moment, by what another thread just
/// starts, and no kernel executes a file that is open for writing.
pub fn install(program: &Path, to: &Path, mode: &str) {
    let installed =
        Command::new("install").args(["-m", mode]).arg(program).arg(to).status().expect("coreutils");
    assert!(installed.success(), "{}", program.display());
}

/// The most memory that a process has used at once so far, in KiB; 0 if it has ended. Without the pages of its file:
/// 28 MB of a program that is not optimised, 12 of one that is.
fn peak_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kib = |field: &str| {
        let size = status.lines().find_map(|line| line.strip_prefix(field));
        size.and_then(|size| size.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0_u64)
    };
    kib("VmHWM:").saturating_sub(kib("RssFile:"))
}

fn command_line(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = listed.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// Go's cache of compiled code, by Go's own rules, which would otherwise use the world's home.
fn go_cache() -> Option<PathBuf> {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = || path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")));
    path("GOCACHE").or_else(|| Some(cache()?.join("go-build")))
}
