//! Roles as real processes: they start or report why not, freeze, thaw, are accounted for, and stop as one.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::time::Duration;

use weighbridge_lab::cleanup::owned_resource::PREFIX;
use weighbridge_lab::host::cores::CoreId;
use weighbridge_lab::host::procfs::{Pid, ProcessIdentity, ProcessStat};
use weighbridge_lab::process::account::CpuReading;
use weighbridge_lab::process::cgroup::Hierarchy;
use weighbridge_lab::process::freeze::FreezeMethod;
use weighbridge_lab::process::launch::{Lab, Launch, LaunchError, Ready};
use weighbridge_lab::process::{Departure, Exit, Running};
use weighbridge_model::quantity::{Bytes, Nanoseconds};

use crate::roles::role;

/// Uses its core without end.
const BUSY: &str = "echo ready 1; while :; do :; done";
/// Long enough for anything that happens at all, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(60);
const GRACE: Nanoseconds = Nanoseconds::from_secs(60);

struct Bench {
    lab: Lab,
    folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::with_method(FreezeMethod::Cgroup)
    }

    fn with_method(method: FreezeMethod) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let run = folder.path().display().to_string();
        Self { lab: Lab::with_method(&run, None, None, method), folder }
    }

    fn shell(&self, script: &str) -> Launch {
        self.command(&["sh", "-c", script])
    }

    fn command(&self, words: &[&str]) -> Launch {
        role(self.folder.path(), words)
    }

    fn start(&self, script: &str) -> Running {
        self.lab.launch(&self.shell(script)).expect("it starts")
    }

    fn fail(&self, launch: &Launch) -> LaunchError {
        self.lab.launch(launch).expect_err("it cannot start")
    }
}

/// Waits until a condition holds; the time is only a limit.
#[track_caller]
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let pause = Duration::from_millis(2);
    for _ in 0..PATIENCE.as_millis() / pause.as_millis() {
        if is_so() {
            return;
        }
        std::thread::sleep(pause);
    }
    panic!("{what} did not come about within {PATIENCE:?}");
}

fn identities(running: &mut Running) -> Vec<ProcessIdentity> {
    running.members().into_iter().filter_map(ProcessIdentity::read).collect()
}

fn status_line(pid: Pid, key: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("the kernel writes it");
    line.trim().to_owned()
}

/// The CPU time of a frozen role after its threads, which count as frozen just before, have left their cores.
fn settled(role: &mut Running) -> CpuReading {
    let mut last = role.cpu_time();
    eventually("a standstill", || {
        std::thread::sleep(Duration::from_millis(5));
        let now = role.cpu_time();
        std::mem::replace(&mut last, now) == now
    });
    last
}

/// The CPU time that the kernel counted for a process's control group, where the group is ours.
fn group_cpu_time(pid: Pid) -> Option<Nanoseconds> {
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let name = path.rsplit('/').next().filter(|name| name.starts_with(PREFIX))?;
    let facts = fs::read_to_string(Hierarchy::detect()?.base().join(name).join("cpu.stat")).ok()?;
    let micros = facts.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    Some(Nanoseconds::from_micros(micros.parse().expect("a number")))
}

fn freezing_stops_every_cpu_clock(method: FreezeMethod) {
    let bench = Bench::with_method(method);
    let mut role = bench.start("(while :; do :; done)& echo ready 1; while :; do :; done");
    let step = Nanoseconds::from_millis(20);
    for _ in 0..5 {
        let before = role.cpu_time();
        eventually("CPU time", || role.cpu_time().time > before.time + step);
        role.freeze().expect("it can be frozen");
        let frozen = settled(&mut role);
        assert_eq!((frozen.processes, frozen.exited), (2, 0));
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(role.cpu_time(), frozen, "a frozen role used CPU");
        role.thaw().expect("it can be thawed");
    }
    let thawed = role.cpu_time();
    eventually("CPU time after the thaw", || role.cpu_time().time > thawed.time + step);
    assert!(role.is_alive());
    role.stop(GRACE);
}

#[test]
fn freezing_by_the_best_way_stops_every_cpu_clock_and_thawing_lets_it_go_on() {
    freezing_stops_every_cpu_clock(FreezeMethod::Cgroup);
}

#[test]
fn freezing_by_signals_stops_every_cpu_clock_and_thawing_lets_it_go_on() {
    freezing_stops_every_cpu_clock(FreezeMethod::Stop);
}

#[test]
fn a_role_is_moved_whole_from_core_to_core() {
    let bench = Bench::new();
    let mut role = bench.start("(while :; do :; done)& echo ready 1; while :; do :; done");
    let allowed = role.cores().expect("it runs");
    for core in [allowed[0], allowed[allowed.len() - 1], allowed[0]] {
        role.pin(&[core]).expect("an allowed core");
        assert_eq!(role.cores(), Some(vec![core]));
        let members = role.members();
        assert_eq!(members.len(), 2, "parent and child");
        for member in members {
            assert_eq!(status_line(member, "Cpus_allowed_list:"), core.to_string());
        }
    }
    let error = role.pin(&[CoreId::new(u32::from(u16::MAX))]).expect_err("there is no such core");
    assert!(error.to_string().contains("could not pin process"), "{error}");
    role.stop(GRACE);
}

#[test]
fn freezing_by_signals_catches_a_role_that_forks_all_the_time() {
    let bench = Bench::with_method(FreezeMethod::Stop);
    let mut role = bench.start("echo ready 1; while :; do (:); done");
    for _ in 0..20 {
        role.freeze().expect("it can be frozen");
        let (clocks, members) = (settled(&mut role), role.members());
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!((role.members(), role.cpu_time()), (members, clocks));
        role.thaw().expect("it can be thawed");
    }
    role.stop(GRACE);
}

/// Go, Java, Python and the shell start programs this way. A child that is stopped before it executes its program keeps
/// its parent in an uninterruptible wait.
#[test]
fn a_role_that_waits_for_its_child_to_execute_is_frozen_with_or_without_control_groups() {
    for method in [FreezeMethod::Cgroup, FreezeMethod::Stop] {
        let bench = Bench::with_method(method);
        let pipe = bench.folder.path().join("pipe");
        // The child opens the pipe first, and waits there for somebody who writes.
        let script = "import os
os.mkfifo('pipe')
print('ready 1', flush=True)
opens = [(os.POSIX_SPAWN_OPEN, 0, 'pipe', os.O_RDONLY, 0)]
os.waitpid(os.posix_spawnp('cat', ['cat'], os.environ, file_actions=opens), 0)
while True: pass";
        let mut launch = bench.command(&["python3", "-c", script]);
        launch.folder = Some(bench.folder.path().to_owned());
        let mut role = bench.lab.launch(&launch).expect("it starts");
        eventually("the child", || role.members().len() == 2);
        role.freeze().expect("it can be frozen");
        let frozen = settled(&mut role);
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!(role.cpu_time(), frozen, "{method}: a frozen role used CPU");
        role.thaw().expect("it can be thawed");
        fs::write(&pipe, "").expect("the child reads it");
        eventually("the child's end", || role.cpu_time().exited == 1);
        role.stop(GRACE);
    }
}

#[test]
fn freezing_twice_is_freezing_once() {
    let bench = Bench::new();
    let mut role = bench.start(BUSY);
    role.freeze().expect("it can be frozen");
    role.freeze().expect("it is frozen");
    role.thaw().expect("it can be thawed");
    let thawed = role.cpu_time();
    eventually("CPU time after one thaw", || role.cpu_time().time > thawed.time);
    role.thaw().expect("it runs");
}

#[test]
fn a_frozen_role_is_thawed_to_be_stopped_and_may_finish_its_work() {
    for method in [FreezeMethod::Cgroup, FreezeMethod::Stop] {
        let bench = Bench::with_method(method);
        let mut role = bench.start("trap 'echo last words; exit 0' TERM; echo ready 1; while :; do :; done");
        role.freeze().expect("it can be frozen");
        let report = role.stop(GRACE);
        assert_eq!((report.exit, report.departure), (Exit::Code(0), Departure::InTime), "{method}");
        let said = fs::read_to_string(bench.folder.path().join("out.log")).expect("its log");
        assert_eq!(said, "ready 1\nlast words\n");
    }
}

#[test]
fn stopping_kills_grandchildren_that_ignore_the_request() {
    let bench = Bench::new();
    // A child that has a child, and one that has none.
    let mut role = bench.start(
        "trap '' TERM; (trap '' TERM; sleep 1000; sleep 1000)& sleep 1000& echo ready 1; wait; sleep 1000",
    );
    eventually("two children and a grandchild", || role.members().len() >= 4);
    let everyone = identities(&mut role);
    let report = role.stop(Nanoseconds::from_millis(50));
    assert_eq!((report.exit, report.departure), (Exit::Signal(9), Departure::Killed));
    for process in everyone {
        assert!(!process.is_alive(), "{process:?} outlived its role");
    }
}

#[test]
fn a_child_that_outlives_its_parent_is_killed_with_or_without_control_groups() {
    for method in [FreezeMethod::Cgroup, FreezeMethod::Stop] {
        let bench = Bench::with_method(method);
        let flag = bench.folder.path().join("flag");
        fs::write(&flag, "").expect("a file");
        let mut launch = bench.shell("sleep 1000& echo ready 1; while [ -e flag ]; do sleep 0.01; done");
        launch.folder = Some(bench.folder.path().to_owned());
        let mut role = bench.lab.launch(&launch).expect("it starts");
        let leader = role.pid();
        fs::remove_file(&flag).expect("the file");
        eventually("the parent's end", || !role.is_alive());
        eventually("one child left", || role.members().len() == 1);
        let everyone = identities(&mut role);
        assert_ne!(everyone[0].pid, leader);
        let report = role.stop(GRACE);
        assert_eq!((report.exit, report.departure), (Exit::Code(0), Departure::InTime), "{method}");
        assert!(!everyone[0].is_alive());
    }
}

#[test]
fn a_child_that_leaves_the_session_is_still_the_roles_with_or_without_control_groups() {
    for method in [FreezeMethod::Cgroup, FreezeMethod::Stop] {
        let bench = Bench::with_method(method);
        // Two that leave: one with its parent, one whose parent ends at once.
        let mut role = bench.start("setsid sleep 1000 & (setsid sleep 1000 &) ; echo ready 1; wait");
        let leader = role.pid();
        let fled = |pid: &Pid| ProcessStat::read(*pid).is_some_and(|stat| stat.session != leader);
        eventually("the flight", || role.members().iter().filter(|pid| fled(pid)).count() == 2);
        let everyone = identities(&mut role);
        role.freeze().expect("it can be frozen");
        assert!(everyone.iter().all(|process| process.is_alive()));
        role.stop(GRACE);
        assert!(everyone.iter().all(|process| !process.is_alive()), "{method}");
    }
}

#[test]
fn a_keeper_that_is_killed_is_said_and_what_was_seen_before_is_ended() {
    let bench = Bench::with_method(FreezeMethod::Stop);
    let mut role = bench.start("(setsid sleep 1000 &) ; echo ready 1; exec sleep 1000");
    let leader = role.pid();
    // Before it has a session of its own it is known by the leader's, which the keeper's end does not keep.
    let fled = |pid: &Pid| ProcessStat::read(*pid).is_some_and(|stat| stat.session != leader);
    eventually("the flight", || role.members().iter().filter(|pid| fled(pid)).count() == 1);
    let everyone = identities(&mut role);
    let parent = ProcessStat::read(role.pid()).expect("it runs").parent;
    let keeper = ProcessStat::read(parent).expect("it runs");
    assert_eq!((keeper.name.as_str(), keeper.parent), ("wb-keeper", Pid::own()));
    let killed = std::process::Command::new("kill").args(["-9", &parent.to_string()]).status();
    assert!(killed.expect("kill").success());
    eventually("the keeper's end", || ProcessStat::read(parent).is_none_or(|stat| stat.is_gone()));
    role.stop(GRACE);
    // What left the session is nobody's child any more, so nobody could wait for its end.
    eventually("everyone's end", || everyone.iter().all(|process| !process.is_alive()));
    let left = bench.lab.close().expect("nothing to close");
    let said = weighbridge_lab::removal::survivors(&left);
    assert!(said.len() == 1 && said[0].contains(&format!("keeper {parent}: it was killed")), "{said:?}");
}

#[test]
fn a_program_that_cannot_be_executed_leaves_no_keeper() {
    let bench = Bench::with_method(FreezeMethod::Stop);
    let error = bench.fail(&bench.command(&["/nonexistent/program"]));
    assert!(matches!(error, LaunchError::NotExecutable { .. }), "{error}");
    let is_ours =
        |stat: &ProcessStat| stat.name == "wb-keeper" && stat.parent == Pid::own() && !stat.is_gone();
    // Tests beside this one have theirs, which end too.
    eventually("no keeper", || !weighbridge_lab::host::procfs::processes().iter().any(is_ours));
    assert!(bench.lab.close().expect("nothing to close").is_empty());
}

#[test]
fn a_role_that_is_dropped_is_killed_frozen_or_not() {
    let bench = Bench::new();
    let mut frozen = bench.start("(while :; do :; done)& echo ready 1; while :; do :; done");
    let mut running = bench.start(BUSY);
    frozen.freeze().expect("it can be frozen");
    let everyone = [identities(&mut frozen), identities(&mut running)].concat();
    assert_eq!(everyone.len(), 3);
    drop((frozen, running));
    assert!(everyone.iter().all(|process| !process.is_alive()));
}

#[test]
fn a_role_that_ended_by_itself_is_reported_so() {
    let bench = Bench::new();
    let flag = bench.folder.path().join("flag");
    fs::write(&flag, "").expect("a file");
    let mut launch = bench.shell("echo ready 1; while [ -e flag ]; do sleep 0.01; done; exit 6");
    launch.folder = Some(bench.folder.path().to_owned());
    let mut role = bench.lab.launch(&launch).expect("it starts");
    assert!(role.is_alive());
    fs::remove_file(&flag).expect("the file");
    eventually("its end", || !role.is_alive());
    assert_eq!(role.exit(), Some(Exit::Code(6)));
    let report = role.stop(GRACE);
    assert_eq!((report.exit, report.departure), (Exit::Code(6), Departure::EndedBefore));
}

#[test]
fn a_role_has_its_own_session_its_cores_and_nothing_to_read() {
    let bench = Bench::new();
    let own = ProcessStat::read(Pid::own()).expect("/proc is mounted");
    let allowed = status_line(Pid::own(), "Cpus_allowed_list:");
    let core =
        weighbridge_lab::host::cores::parse_core_list(&allowed).expect("a list").pop().expect("a core");
    let mut launch = bench.shell("echo ready 4711; cat; while :; do :; done");
    launch.cores = Some(vec![core]);
    let mut role = bench.lab.launch(&launch).expect("it starts");
    let stat = ProcessStat::read(role.pid()).expect("it runs");
    assert_eq!((stat.group, stat.session), (role.pid(), role.pid()));
    assert_ne!(stat.session, own.session);
    assert_eq!(status_line(role.pid(), "Cpus_allowed_list:"), core.to_string());
    assert_eq!(role.port(), 4711);
    assert!(role.ready_after() > Nanoseconds::ZERO);
    // `cat` reached the end of its input, or the loop would not use CPU.
    let before = role.cpu_time();
    eventually("CPU time", || role.cpu_time().time > before.time + Nanoseconds::from_millis(20));
    assert!(role.memory_peak() > Bytes::new(4096));
}

#[test]
fn a_role_has_the_usual_timer_slack_whatever_we_were_started_with() {
    let bench = Bench::new();
    let own = fs::read_link("/proc/thread-self").expect("a thread");
    let thread = own.file_name().and_then(|name| name.to_str()).expect("its number");
    fs::write(format!("/proc/{thread}/timerslack_ns"), "1234").expect("it is ours");
    let _role = bench.start("cat /proc/self/timerslack_ns >&2; echo ready 1; exec sleep 1000");
    let told = fs::read_to_string(bench.folder.path().join("err.log")).expect("a log");
    assert_eq!(told, "50000\n");
}

#[test]
fn cpu_time_grows_and_agrees_with_the_control_group() {
    let bench = Bench::new();
    let mut role = bench.start(BUSY);
    let enough = Nanoseconds::from_millis(200);
    eventually("a fifth of a second of CPU time", || role.cpu_time().time > enough);
    role.freeze().expect("it can be frozen");
    let by_clocks = role.cpu_time().time;
    if let Some(by_group) = group_cpu_time(role.members()[0]) {
        // The shell was forked outside the group, and the kernel updates both counters at different times.
        let apart = by_clocks.saturating_sub(by_group) + by_group.saturating_sub(by_clocks);
        assert!(apart < enough / 4, "clocks {by_clocks}, group {by_group}");
    }
}

#[test]
fn children_that_end_are_counted_and_keep_what_was_seen() {
    let bench = Bench::new();
    // The child ends when it has used some CPU and the parent sees the file gone.
    let script = "while [ -e flag ]; do :; done & echo ready 1; wait; while :; do sleep 1000; done";
    fs::write(bench.folder.path().join("flag"), "").expect("a file");
    let mut launch = bench.shell(script);
    launch.folder = Some(bench.folder.path().to_owned());
    let mut role = bench.lab.launch(&launch).expect("it starts");
    eventually("CPU time of the child", || role.cpu_time().time > Nanoseconds::from_millis(50));
    let before = role.cpu_time();
    fs::remove_file(bench.folder.path().join("flag")).expect("the file");
    eventually("the child's end", || role.cpu_time().exited > 0);
    assert!(role.cpu_time().time >= before.time);
}

#[test]
fn what_cannot_be_executed_is_named() {
    let bench = Bench::new();
    let error = bench.fail(&bench.command(&["/nonexistent/service", "--flag"]));
    assert!(matches!(error, LaunchError::NotExecutable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("`/nonexistent/service`") && text.contains("No such file"), "{text}");
    assert!(matches!(bench.fail(&bench.command(&[])), LaunchError::NoCommand { .. }));
    let mut launch = bench.shell("echo ready 1");
    launch.folder = Some("/nonexistent".into());
    assert!(matches!(bench.fail(&launch), LaunchError::NoFolder { .. }));
    let mut launch = bench.shell("echo ready 1");
    launch.stderr = "/nonexistent/err.log".into();
    assert!(matches!(bench.fail(&launch), LaunchError::Log { .. }));
}

#[test]
fn a_core_that_is_not_there_is_a_failed_step_and_not_a_failed_program() {
    let bench = Bench::new();
    let mut launch = bench.shell("echo ready 1");
    launch.cores = Some(vec![CoreId::new(1023)]);
    let error = bench.fail(&launch);
    assert!(error.to_string().contains("could not pin itself to its cores"), "{error}");
}

#[test]
fn a_program_that_ends_at_once_is_quoted() {
    let bench = Bench::new();
    let error = bench.fail(&bench.shell("echo out; echo no such table >&2; echo giving up >&2; exit 7"));
    assert!(matches!(error, LaunchError::Exited { exit: Exit::Code(7), .. }), "{error:?}");
    assert_eq!(error.output(), ["no such table", "giving up"]);
    assert!(error.to_string().contains("exit code 7"), "{error}");
    let silent = bench.fail(&bench.shell("echo only this; kill -6 $$"));
    assert!(matches!(silent, LaunchError::Exited { exit: Exit::Signal(6), .. }), "{silent:?}");
    assert_eq!(silent.output(), ["only this"]);
}

#[test]
fn the_contracts_exit_codes_are_understood() {
    let bench = Bench::new();
    let error = bench.fail(&bench.shell("echo PROTOCOL is wrong >&2; exit 2"));
    assert!(matches!(error, LaunchError::BadConfiguration { .. }), "{error:?}");
    let error = bench.fail(&bench.shell("echo PORT 80 is in use >&2; exit 3"));
    assert!(matches!(error, LaunchError::PortInUse { .. }), "{error:?}");
    assert!(error.to_string().ends_with("PORT 80 is in use"), "{error}");
}

#[test]
fn a_role_that_is_never_ready_is_killed_with_its_children() {
    let bench = Bench::new();
    let mut launch = bench.shell("sleep 1000 & echo $! > pid; echo still loading; wait");
    launch.folder = Some(bench.folder.path().to_owned());
    launch.ready_timeout = Nanoseconds::from_secs(1);
    let error = bench.fail(&launch);
    assert!(matches!(error, LaunchError::NeverReady { .. }), "{error:?}");
    assert!(error.to_string().contains("it did not print `ready <port>`"), "{error}");
    // On a machine so busy that the shell did not write its child's id within a second there is no child to
    // check.
    let written = fs::read_to_string(bench.folder.path().join("pid"));
    if let Some(child) = written.ok().and_then(|text| text.trim().parse::<i32>().ok()) {
        assert!(!is_our_sleep(Pid::new(child)), "the child outlived its role");
    }
}

fn is_our_sleep(pid: Pid) -> bool {
    ProcessStat::read(pid).is_some_and(|stat| stat.name == "sleep" && !stat.is_gone())
}

#[test]
fn a_bad_ready_line_is_quoted() {
    let bench = Bench::new();
    let error = bench.fail(&bench.shell("echo ready any moment; sleep 1000"));
    assert!(error.to_string().contains("`ready any moment`"), "{error}");
}

#[test]
fn a_port_that_is_taken_is_found_before_the_start_with_its_holder() {
    let bench = Bench::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let mut launch = bench.shell("echo started > started");
    launch.folder = Some(bench.folder.path().to_owned());
    launch.ready = Ready::Port(port);
    let error = bench.fail(&launch);
    let own = Pid::own();
    assert!(
        matches!(error, LaunchError::PortInUse { port: Some(p), holder: Some(pid), .. } if p == port && pid == own),
        "{error:?}"
    );
    assert!(!bench.folder.path().join("started").exists());
}

#[test]
fn control_groups_are_ours_by_name_and_gone_afterwards() {
    let bench = Bench::new();
    let mut role = bench.start(BUSY);
    let own = fs::read_to_string(format!("/proc/{}/cgroup", role.pid())).expect("it runs");
    let group = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").to_owned();
    if role.freeze_method() == FreezeMethod::Cgroup {
        let name = Path::new(&group).file_name().expect("a group").to_string_lossy().into_owned();
        let hex: String = name.strip_prefix("wb-").expect("our name").chars().take(8).collect();
        assert!(hex.len() == 8 && hex.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
        assert_eq!(role.members(), [role.pid()]);
    }
    role.stop(GRACE);
    let hierarchy = Hierarchy::detect();
    let left = hierarchy.map(|found| found.mount().join(group.trim_start_matches('/')));
    assert!(group == "/" || left.is_none_or(|path| !path.exists()));
}
