//! The registry with real processes: it lists what exists, and cleaning ends what a dead owner left and
//! nothing else.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

use weighbridge_lab::cleanup::owned_resource::OwnedResource;
use weighbridge_lab::cleanup::registry::{self, Owner, Registry};
use weighbridge_lab::host::procfs::{Pid, ProcessIdentity};
use weighbridge_lab::process::launch::Lab;
use weighbridge_lab::removal::stale::{self, Action, CleanMode, CleanOutcome};
use weighbridge_model::quantity::Nanoseconds;

use crate::roles::role;

/// A process of another program, killed when the test ends in any way.
struct Sleeper(Child);

impl Sleeper {
    fn start() -> Self {
        let mut command = Command::new("sleep");
        Self(command.arg("1000").process_group(0).stdin(Stdio::null()).spawn().expect("sleep"))
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

fn dead_process() -> ProcessIdentity {
    let sleeper = Sleeper::start();
    let identity = sleeper.identity();
    drop(sleeper);
    identity
}

fn write(base: &Path, run: &str, owner: &Owner, lines: &[String]) {
    let owner = serde_json::to_string(owner).expect("plain data");
    let text = format!("{{\"owner\":{owner}}}\n{}\n", lines.join("\n"));
    fs::write(base.join(format!("{run}.jsonl")), text).expect("a file");
}

fn taken(resource: &OwnedResource) -> String {
    format!("{{\"taken\":{}}}", serde_json::to_string(resource).expect("plain data"))
}

fn outcomes(actions: &[Action]) -> Vec<CleanOutcome> {
    actions.iter().map(|action| action.outcome.clone()).collect()
}

fn dead_owner() -> Owner {
    Owner { process: dead_process(), ..Owner::own().expect("/proc is mounted") }
}

#[test]
fn a_run_lists_what_lives_and_takes_its_registry_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().join("registry");
    let registry = Registry::create(&base, "run-1").expect("a registry");
    let path = registry.path().to_owned();
    let lab = Lab::new(&path.display().to_string(), None, Some(registry));
    let launch = role(folder.path(), &["sh", "-c", "echo ready 1; sleep 1000"]);
    let mut role = lab.launch(&launch).expect("it starts");
    let listed = registry::list(&base).expect("registries");
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].run.as_str(), listed[0].owner.clone()), ("run-1", Owner::own()));
    let identity = ProcessIdentity::read(role.pid()).expect("it runs");
    assert!(listed[0].resources.contains(&OwnedResource::Process(identity)), "{:?}", listed[0].resources);

    // The owner lives, so nothing is done or mentioned.
    assert_eq!(stale::clean(&base, CleanMode::Remove).expect("cleaning"), []);
    assert!(role.is_alive());

    role.stop(Nanoseconds::from_secs(60));
    assert_eq!(registry::list(&base).expect("registries")[0].resources, []);
    assert_eq!(lab.close().expect("nothing is left"), []);
    assert!(!path.exists());
}

#[test]
fn a_failed_start_leaves_nothing_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let registry = Registry::create(folder.path(), "run-2").expect("a registry");
    let lab = Lab::new(&folder.path().display().to_string(), None, Some(registry));
    for command in [&["/nonexistent/program"][..], &["sh", "-c", "exit 1"]] {
        let launch = role(folder.path(), command);
        lab.launch(&launch).expect_err("it cannot start");
        assert_eq!(registry::list(folder.path()).expect("registries")[0].resources, []);
    }
}

#[test]
fn one_name_is_one_registry() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Registry::create(folder.path(), "run-3").expect("a registry");
    Registry::create(folder.path(), "run-3").expect_err("it exists");
    assert!(first.path().exists());
    first.finish().expect("it is ours");
    Registry::create(folder.path(), "run-3").expect("the name is free again");
}

#[test]
fn a_dead_owners_process_is_ended_after_a_dry_run_that_only_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let sleeper = Sleeper::start();
    let identity = sleeper.identity();
    write(folder.path(), "left", &dead_owner(), &[taken(&OwnedResource::Process(identity))]);

    let dry = stale::clean(folder.path(), CleanMode::DryRun).expect("cleaning");
    assert_eq!(outcomes(&dry), [CleanOutcome::WouldRemove, CleanOutcome::WouldRemove]);
    assert!(identity.is_alive());

    let done = stale::clean(folder.path(), CleanMode::Remove).expect("cleaning");
    assert_eq!(outcomes(&done), [CleanOutcome::Removed, CleanOutcome::Removed]);
    assert!(!identity.is_alive());
    assert_eq!(registry::list(folder.path()).expect("registries"), []);
}

#[test]
fn a_process_id_that_was_used_again_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let sleeper = Sleeper::start();
    let earlier = ProcessIdentity { start_time: sleeper.identity().start_time - 1, ..sleeper.identity() };
    write(folder.path(), "left", &dead_owner(), &[taken(&OwnedResource::Process(earlier))]);
    let done = stale::clean(folder.path(), CleanMode::Remove).expect("cleaning");
    assert_eq!(outcomes(&done), [CleanOutcome::AlreadyGone, CleanOutcome::Removed]);
    assert!(sleeper.identity().is_alive());
}

#[test]
fn under_a_dead_leaders_number_only_what_was_there_when_the_run_last_wrote_is_ended() {
    let folder = tempfile::tempdir().expect("a folder");
    // Like a daemon: its leader makes a session and ends, its child stays in it.
    let script = "sleep 1000 >/dev/null & echo $$ $!; read -r _";
    let mut command = Command::new("setsid");
    command.args(["--wait", "sh", "-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut starter = command.spawn().expect("util-linux");
    let mut line = String::new();
    BufReader::new(starter.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let pids: Vec<i32> = line.split_whitespace().map(|pid| pid.parse().expect("a number")).collect();
    let [leader, member] = [0, 1].map(|at| ProcessIdentity::read(Pid::new(pids[at])).expect("it runs"));
    drop(starter.stdin.take());
    starter.wait().expect("it ends");
    assert!(!leader.is_alive() && member.is_alive());

    write(folder.path(), "left", &dead_owner(), &[taken(&OwnedResource::Process(leader))]);
    let file = fs::File::options().append(true).open(folder.path().join("left.jsonl")).expect("the registry");
    let now = SystemTime::now();
    file.set_modified(now - Duration::from_secs(3_600)).expect("its time");
    let done = stale::clean(folder.path(), CleanMode::Remove).expect("cleaning");
    let [CleanOutcome::Kept(why)] = &outcomes(&done)[..] else { panic!("{done:?}") };
    assert!(why.contains(&member.pid.to_string()) && member.is_alive(), "{why}");

    file.set_modified(now).expect("its time");
    let done = stale::clean(folder.path(), CleanMode::Remove).expect("cleaning");
    assert_eq!(outcomes(&done), [CleanOutcome::Removed, CleanOutcome::Removed]);
    assert!(!member.is_alive());
}

#[test]
fn a_registry_of_another_boot_is_removed_and_nothing_that_it_lists() {
    let folder = tempfile::tempdir().expect("a folder");
    let sleeper = Sleeper::start();
    let owner = Owner { boot: "another".to_owned(), ..Owner::own().expect("/proc is mounted") };
    write(folder.path(), "left", &owner, &[taken(&OwnedResource::Process(sleeper.identity()))]);
    let done = stale::clean(folder.path(), CleanMode::Remove).expect("cleaning");
    assert_eq!(outcomes(&done), [CleanOutcome::AlreadyGone, CleanOutcome::Removed]);
    assert!(sleeper.identity().is_alive());
}

#[test]
fn folders_that_are_not_our_control_groups_and_unknown_kinds_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let foreign = folder.path().join("system.slice");
    let disguised = folder.path().join("wb-12345678-0");
    for path in [&foreign, &disguised] {
        fs::create_dir(path).expect("a folder");
    }
    let base = folder.path().join("registry");
    fs::create_dir(&base).expect("a folder");
    let mut lines =
        [&foreign, &disguised].map(|path| taken(&OwnedResource::Cgroup { path: path.clone() })).to_vec();
    lines.push(r#"{"taken":{"kind":"namespace","name":"wb-12345678"}}"#.to_owned());
    write(&base, "left", &dead_owner(), &lines);
    let done = stale::clean(&base, CleanMode::Remove).expect("cleaning");
    assert_eq!(done.len(), 3);
    assert!(done.iter().all(|action| matches!(action.outcome, CleanOutcome::Kept(_))), "{done:?}");
    assert!(foreign.exists() && disguised.exists());
    assert_eq!(registry::list(&base).expect("registries").len(), 1);
}

#[test]
fn a_revision_that_a_dead_run_left_is_removed_and_other_folders_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(&path).expect("a folder");
        fs::write(path.join("server.py"), "").expect("a file");
        path
    };
    let ours = place("cache/weighbridge/revisions/0123abcd/0123456789ab");
    let theirs = place("documents/0123abcd/0123456789ab");
    let resource =
        |path: &Path| OwnedResource::Worktree { path: path.to_owned(), repository: folder.path().to_owned() };
    let base = folder.path().join("registry");
    fs::create_dir(&base).expect("a folder");
    // Unlike a process it outlives the boot.
    let owner = Owner { boot: "another".to_owned(), ..dead_owner() };
    write(&base, "left", &owner, &[taken(&resource(&ours)), taken(&resource(&theirs))]);
    let dry = stale::clean(&base, CleanMode::DryRun).expect("cleaning");
    assert_eq!(dry[0].outcome, CleanOutcome::WouldRemove);
    assert!(ours.exists());
    let done = stale::clean(&base, CleanMode::Remove).expect("cleaning");
    assert_eq!(done[0].outcome, CleanOutcome::Removed);
    assert!(matches!(done[1].outcome, CleanOutcome::Kept(_)), "{done:?}");
    assert!(!ours.exists() && theirs.exists());
}

#[test]
fn a_state_folder_that_a_dead_run_left_is_removed_and_other_folders_are_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.join("table")).expect("a folder");
        path
    };
    let (ours, theirs) = (place("logs/wb-01234567-000-0-state"), place("documents/my-state"));
    let resource = |path: &Path| OwnedResource::StateFolder { path: path.to_owned() };
    let base = folder.path().join("registry");
    fs::create_dir(&base).expect("a folder");
    // Unlike a process it outlives the boot.
    let owner = Owner { boot: "another".to_owned(), ..dead_owner() };
    write(&base, "left", &owner, &[taken(&resource(&ours)), taken(&resource(&theirs))]);
    let done = stale::clean(&base, CleanMode::Remove).expect("cleaning");
    assert_eq!(done[0].outcome, CleanOutcome::Removed);
    assert!(matches!(done[1].outcome, CleanOutcome::Kept(_)), "{done:?}");
    assert!(!ours.exists() && theirs.exists());
}

/// A run that was killed has a guardian, which is at work when somebody cleans up at once.
#[test]
fn cleaning_waits_for_a_guardian_that_is_still_at_work() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut guardian = Command::new("cat").stdin(Stdio::piped()).spawn().expect("cat");
    let identity = ProcessIdentity::read(Pid::new(guardian.id() as i32)).expect("it runs");
    let sleeper = Sleeper::start();
    let owner = Owner { guardian: Some(identity), ..dead_owner() };
    write(folder.path(), "killed", &owner, &[taken(&OwnedResource::Process(sleeper.identity()))]);
    let told = stale::clean(folder.path(), CleanMode::DryRun).expect("cleaning");
    assert_eq!(outcomes(&told), [CleanOutcome::WouldRemove, CleanOutcome::WouldRemove]);
    assert!(identity.is_alive(), "who only asks does not wait");
    // It ends while the other waits for it, or has just ended.
    let work = guardian.stdin.take().expect("a pipe");
    let ending = std::thread::spawn(move || drop(work));
    let cleaned = stale::clean(folder.path(), CleanMode::Remove).expect("cleaning");
    assert!(!identity.is_alive());
    ending.join().expect("it ended");
    guardian.wait().expect("it is ours");
    assert_eq!(outcomes(&cleaned), [CleanOutcome::Removed, CleanOutcome::Removed]);
}
