//! What needs no rights works without them, and whoever starts a run, nothing of it is left, or it is named: ten programs
//! that try to survive, as root and as another user, with a control group of that user's and without.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::server::{GOOD, Server};
use crate::support::{Start, WEIGH, World, eventually, install, measuring, send, skipped};

/// Made by `scripts/setup --tests`.
const USER: &str = "weigh-tests";

/// As whom `weigh` runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    /// As these tests do.
    Self_,
    User,
    /// The user with a control group that was delegated to them, as systemd does.
    UserWithGroup,
}

/// A world that belongs to the user, with a copy of the program that they can reach.
struct Place {
    world: World,
    who: Who,
    program: PathBuf,
    group: Option<PathBuf>,
}

impl Place {
    /// `None` where these tests run as another user than root and cannot become anybody.
    fn of(who: Who) -> Option<Self> {
        let is_root = may_become_others();
        if who != Who::Self_ && !is_root {
            skipped("only root can start a program as another user");
            return None;
        }
        let world = World::idle();
        let program = world.path("weigh");
        install(Path::new(WEIGH), &program, "755");
        let folder = world.path("");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("readable");
        if who != Who::Self_ {
            chown(&folder, Some(user()), None).expect("the user's");
        }
        let group = (who == Who::UserWithGroup).then(delegated).flatten();
        if who == Who::UserWithGroup && group.is_none() {
            skipped("version 2 of control groups is not mounted");
            return None;
        }
        Some(Self { world, who, program, group })
    }

    fn weigh(&self, arguments: &[&str]) -> Start<'_> {
        let start = self.world.weigh(arguments);
        let to_user = format!("exec setpriv --reuid {USER} --regid {USER} --clear-groups -- \"$@\"");
        // The user cannot reach where the program was built.
        let copy = self.program.to_str().expect("a plain path");
        let script = match (self.who, &self.group) {
            (Who::Self_, _) => "exec \"$@\"".to_owned(),
            (_, None) => to_user,
            (_, Some(group)) => format!("echo $$ > {}/cgroup.procs && {to_user}", group.display()),
        };
        start.through("sh", &["-c", &format!("shift; set -- {copy} \"$@\"; {script}"), "sh"])
    }

    /// A variant whose server is a null probe that the rest of a shell script starts.
    fn variant(&self, name: &str, script: &str) -> String {
        let script = script.replace("PROBE", &format!("{} probe null", self.program.display()));
        let script = script.replace("PIDS", &self.world.path("pids").display().to_string());
        let command = self.world.script(name, &script);
        format!("name = \"{name}\"\n{command}")
    }

    /// The survivors that wrote down their numbers and have not ended.
    fn survivors(&self) -> Vec<u32> {
        let pids = fs::read_to_string(self.world.path("pids")).unwrap_or_default();
        pids.lines().filter_map(|line| line.parse().ok()).filter(|pid| runs(*pid)).collect()
    }

    /// The last empty group of a killed run may have to wait for the doctor, as its registry does.
    fn assert_no_group_left(&self) {
        if let Some(group) = &self.group {
            let is_empty = || {
                fs::read_dir(group)
                    .is_ok_and(|mut all| !all.any(|one| one.is_ok_and(|one| one.path().is_dir())))
            };
            eventually("no control group below the user's", is_empty);
        }
    }

    fn assert_nothing_left(&self, when: &str) {
        eventually(&format!("{:?}, {when}: no survivor", self.who), || self.survivors().is_empty());
        eventually(&format!("{:?}, {when}: no process", self.who), || self.world.processes("").is_empty());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.survivors().into_iter().for_each(|pid| send("KILL", pid));
        if let Some(group) = &self.group {
            let _ = fs::write(group.join("cgroup.kill"), "1");
            let _ = (0..200).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(5));
                fs::remove_dir(group).is_ok()
            });
        }
    }
}

fn may_become_others() -> bool {
    fs::metadata("/proc/self").is_ok_and(|file| std::os::unix::fs::MetadataExt::uid(&file) == 0)
}

fn user() -> u32 {
    let said = Command::new("id").args(["-u", USER]).output().expect("id");
    let text = String::from_utf8_lossy(&said.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("there is no user `{USER}`; run `scripts/setup --tests`"))
}

/// A new control group that belongs to the user.
fn delegated() -> Option<PathBuf> {
    let roots = [Path::new("/sys/fs/cgroup"), Path::new("/sys/fs/cgroup/unified")];
    let root = roots
        .into_iter()
        .find(|root| root.join("cgroup.procs").exists() && root.join("cgroup.controllers").exists())?;
    let group = root.join(format!("story-{}", std::process::id()));
    fs::create_dir(&group).expect("root may make one");
    for file in ["", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
        chown(group.join(file), Some(user()), None).expect("the user's");
    }
    Some(group)
}

/// Whether any thread of a process runs.
fn runs(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let state = |thread: fs::DirEntry| {
        let stat = fs::read_to_string(thread.path().join("stat")).ok()?;
        stat.rsplit(") ").next()?.chars().next()
    };
    threads.filter_map(state).any(|state| !matches!(state, 'Z' | 'X'))
}

/// Ten programs that try to survive. Each writes its number into the file PIDS, and leaves the server PROBE behind as a
/// child or in its own place.
const SURVIVORS: [(&str, &str); 10] = [
    ("setsid", "setsid sh -c 'echo $$ >> PIDS; exec PROBE' & wait"),
    ("double-fork", "( ( sh -c 'echo $$ >> PIDS; exec sleep 1000' & ) & )\nexec PROBE"),
    (
        "daemon",
        "python3 -c \"
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open('PIDS', 'a').write('%d\\n' % os.getpid())
        os.chdir('/')
        os.closerange(0, 64)
        time.sleep(1000)
    os._exit(0)
os.wait()
\"\nexec PROBE",
    ),
    (
        "thread-in-another-group",
        // Its first thread ends, so that the process looks like a zombie.
        "python3 -c \"
import ctypes, os, threading, time
if os.fork() == 0:
    os.setpgid(0, 0)
    open('PIDS', 'a').write('%d\\n' % os.getpid())
    threading.Thread(target=time.sleep, args=(1000,)).start()
    ctypes.CDLL(None).pthread_exit(None)
\"\nexec PROBE",
    ),
    ("exec", "(setsid sh -c 'echo $$ >> PIDS; exec sh -c \"exec sleep 1000\"' &)\nexec PROBE"),
    (
        "ptrace-stop",
        "python3 -c \"
import ctypes, os, signal
if os.fork() == 0:
    os.setsid()
    open('PIDS', 'a').write('%d\\n' % os.getpid())
    child = os.fork()
    if child == 0:
        open('PIDS', 'a').write('%d\\n' % os.getpid())
        ctypes.CDLL(None).ptrace(0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
    os.kill(os.getpid(), signal.SIGSTOP)
    signal.pause()
\"\nexec PROBE",
    ),
    (
        "ignoring-term",
        "(setsid sh -c 'trap \"\" TERM HUP INT QUIT; echo $$ >> PIDS; while :; do sleep 1000; done' &)\nexec PROBE",
    ),
    (
        "zombie-parent",
        "python3 -c \"
import os, time
if os.fork() == 0:
    os.setsid()
    open('PIDS', 'a').write('%d\\n' % os.getpid())
    for _ in range(3):
        if os.fork() == 0:
            os._exit(0)
    time.sleep(1000)
\"\nexec PROBE",
    ),
    (
        "pid-namespace",
        // Without root by way of a user namespace, where the host allows one.
        "[ $(id -u) = 0 ] || user=--map-root-user
setsid unshare $user --fork --pid sh -c 'sleep 1000 & sleep 1000' &
echo $! >> PIDS\nexec PROBE",
    ),
    ("nohup", "(nohup sh -c 'echo $$ >> PIDS; exec setsid sleep 1000' >/dev/null 2>&1 &)\nexec PROBE"),
];

#[test]
fn ten_programs_that_try_to_survive_do_not() {
    none_survives(&Place::of(Who::Self_).expect("anybody may run as themselves"));
}

#[test]
fn ten_programs_that_try_to_survive_do_not_as_another_user() {
    [Who::User, Who::UserWithGroup].into_iter().filter_map(Place::of).for_each(|place| none_survives(&place));
}

/// Nothing is left of a run that ended by itself, nor of one that was killed in its middle.
fn none_survives(place: &Place) {
    let variants: Vec<String> = SURVIVORS.iter().map(|(name, script)| place.variant(name, script)).collect();
    let experiment = |blocks: u32, budget: &str| {
        let plan =
            format!("[plan]\nblocks = {blocks}\nbudget = \"{budget}\"\nwindow = \"5 ms\"\ntogether = 10\n");
        place.world.experiment_with(&plan, &variants.iter().map(String::as_str).collect::<Vec<_>>());
    };
    let run = ["run", "experiment.toml", "--out", "runs"];
    experiment(1, "2 s");
    place.weigh(&run).end().assert_measured();
    place.assert_nothing_left("at the end");
    place.assert_no_group_left();
    place.world.assert_nothing_left();
    fs::remove_dir_all(place.world.path("runs")).expect("the run's folder");
    fs::remove_file(place.world.path("pids")).expect("what they wrote");
    // And in the middle of it, which does not end before.
    experiment(4, "10 min");
    let mut weigh = place.weigh(&run).start();
    weigh.until_event("warm", SURVIVORS.len());
    weigh.until("most of them", |_| place.survivors().len() > SURVIVORS.len() / 2);
    assert_eq!(weigh.end_by("KILL").code, None);
    place.assert_nothing_left("killed");
    let cleaned = place.weigh(&["doctor", "--clean"]).end();
    assert!(!cleaned.assert_code(0).stdout.contains("gone: "), "{cleaned}");
    place.assert_no_group_left();
    place.world.assert_nothing_left();
}

#[test]
fn where_weigh_and_its_guardian_are_killed_the_doctor_ends_what_left_its_session() {
    measuring(|| {
        let Some(place) = Place::of(Who::User) else { return };
        let variants = [place.variant("a", "exec PROBE"), place.variant("b", SURVIVORS[2].1)];
        place.world.experiment(&[&variants[0], &variants[1]]);
        let mut weigh = place.weigh(&["run", "experiment.toml", "--out", "runs"]).start();
        weigh.until_event("warm", 2);
        weigh.signal("STOP");
        place.world.processes("guardian").into_iter().for_each(|pid| send("KILL", pid));
        eventually("the guardian is gone", || place.world.processes("guardian").is_empty());
        weigh.end_by("KILL");
        assert!(!place.survivors().is_empty(), "somebody has to be left for the doctor");
        let told = place.weigh(&["doctor", "--details"]).end();
        assert!(told.stdout.contains("(`python3"), "{told}");
        let cleaned = place.weigh(&["doctor", "--clean"]).end();
        assert!(cleaned.assert_code(0).stdout.contains("keeper"), "{cleaned}");
        place.assert_nothing_left("cleaned");
        place.world.assert_nothing_left();
    });
}

#[test]
fn what_became_another_user_is_named_before_and_after_and_no_host_with_it_is_called_clean() {
    measuring(|| {
        let Some(place) = Place::of(Who::User) else { return };
        // As `sudo` does: it runs as root, wholly.
        let rooted = place.world.path("rooted");
        let setpriv = Command::new("sh").args(["-c", "command -v setpriv"]).output().expect("sh").stdout;
        install(Path::new(String::from_utf8_lossy(&setpriv).trim()), &rooted, "4755");
        let words = "--reuid 0 --regid 0 --clear-groups";
        let child =
            format!("{} {words} sh -c 'echo $$ >> PIDS; exec sleep 1000' & exec PROBE", rooted.display());
        let itself = format!(
            "name = \"itself\"\ncommand = [\"{}\", \"--no-new-privs\", \"{}\", \"probe\", \"null\"]",
            rooted.display(),
            place.program.display()
        );
        let plan =
            "[plan]\nblocks = { min = 1, max = 1 }\nbudget = \"1 s\"\nwindow = \"5 ms\"\nfreeze = false\n";
        let variants = [itself, place.variant("child", &child)];
        place.world.experiment_with(plan, &[&variants[0], &variants[1]]);
        let ended = place.weigh(&["run", "experiment.toml", "--out", "runs"]).end();
        assert!(ended.says("`itself`: `") && ended.says("is setuid"), "{ended}");
        assert!(ended.says("left behind: process ") && ended.says("(`sleep`) of user 0"), "{ended}");
        assert!(!place.survivors().is_empty());
        let told = place.weigh(&["doctor", "--details"]).end();
        assert!(told.stdout.contains("(`sleep`) of user 0"), "{told}");
        let cleaned = place.weigh(&["doctor", "--clean"]).end();
        assert!(cleaned.assert_code(2).stdout.contains("not ours to end"), "{cleaned}");
        place.survivors().into_iter().for_each(|pid| send("KILL", pid));
        place.assert_nothing_left("ended by root");
        place.weigh(&["doctor", "--clean"]).end().assert_code(0);
        place.world.assert_nothing_left();
    });
}

#[test]
fn a_user_without_rights_runs_loads_and_is_told_what_needs_root() {
    measuring(|| {
        let Some(place) = Place::of(Who::User) else { return };
        let [a, b] =
            [("a", "exec PROBE"), ("b", "exec PROBE")].map(|(name, script)| place.variant(name, script));
        place.world.experiment(&[&a, &b]);
        place.weigh(&["run", "experiment.toml", "--out", "runs"]).end().assert_measured();
        let folder = place.world.run_folder();
        place.weigh(&["summary", folder.to_str().expect("a plain path")]).end().assert_measured();
        place.world.assert_nothing_left();
        let server = Server::answering(GOOD);
        place.weigh(&["load", &server.url(), "-n", "100", "--quiet"]).end().assert_measured();
        let doctor = place.weigh(&["doctor", "--details"]).end();
        assert!(matches!(doctor.code, Some(0 | 3)), "{doctor}");
        assert!(
            doctor.stdout.contains("cleaning up") && doctor.stdout.contains("systemd-run --user"),
            "{doctor}"
        );
        assert!(doctor.stdout.contains("run as root"), "{doctor}");
        let clean = place.weigh(&["doctor", "--clean"]).end();
        assert!(clean.assert_code(0).stdout.contains("of this user; not seen: "), "{clean}");
        // A layer that needs root is left out with what to do; the rest is measured.
        fs::remove_dir_all(place.world.path("runs")).expect("the run's folder");
        place.world.experiment(&[
            &a,
            &b,
            &format!("{}\nlayers = [\"veth\"]", a.replace("\"a\"", "\"hosts\"")),
        ]);
        let ended = place.weigh(&["run", "experiment.toml", "--out", "runs"]).end();
        assert!(ended.assert_measured().says("hosts") && ended.says("root"), "{ended}");
        place.world.assert_nothing_left();
    });
}
