//! Containers by the real runtimes: what is inside, that container and runtime are one unit, and that nothing
//! is left.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weighbridge_lab::layers::container::oci::{Container, Runtime, Settings};
use weighbridge_lab::process::launch::{Allowed, Lab, Launch, Ready, Wrapping};
use weighbridge_lab::process::{Departure, Exit, GRACE};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::CpuQuota;

/// Prints its user and place, tries what it should not be able to do, and ends with code 7 on request.
const PROGRAM: &str = r#"
import os, signal, sys, time
def status(name):
    return next(line.split()[1] for line in open("/proc/self/status") if line.startswith(name + ":"))
def can(act):
    try:
        act()
    except OSError as error:
        return str(error.errno)
    return "yes"
facts = {
    "pid": str(os.getpid()), "host": os.uname().nodename, "seccomp": status("Seccomp"), "new": status("NoNewPrivs"),
    "capabilities": status("CapEff"), "write": can(lambda: open("/usr/mine", "w")), "tmp": can(lambda: open("/tmp/mine", "w")),
    "root": can(lambda: os.mkdir("/mine")), "shadow": can(lambda: open("/etc/shadow")), "port": os.environ["PORT"],
    "state": can(lambda: open(os.environ["STATE"] + "/mine", "x")), "data": can(lambda: open(os.environ["DATA"] + "/mine", "w")),
    "people": open(os.environ["DATA"] + "/people.json").read(), "home": os.environ["HOME"], "mine": os.environ["MINE"], "cwd": os.getcwd(),
}
open(os.environ["RUNTIME_FACTS"], "w").write(" ".join(f"{key}={value}" for key, value in facts.items()))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("ready 4242", flush=True)
while True:
    time.sleep(0.001)
"#;

/// Has a child killed that wants more memory than there is, then computes without end.
const GREEDY: &str = r#"
import os, signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
print("ready 4242", flush=True)
subprocess.run([sys.executable, "-c", "bytearray(300 << 20)"])
while True:
    pass
"#;

const HALF: CpuQuota = CpuQuota { time: Nanoseconds::from_millis(50), period: Nanoseconds::from_millis(100) };
const LIMIT: Bytes = Bytes::new(64 << 20);

fn launch(folder: &Path, program: &str) -> Launch {
    let own = folder.join("service");
    fs::create_dir_all(&own).expect("a folder");
    fs::write(own.join("program.py"), program).expect("a program");
    let (state, data) = (folder.join("wb-01234567-000-0-state"), folder.join("data"));
    for made in [&state, &data] {
        fs::create_dir_all(made).expect("a folder");
    }
    fs::write(data.join("people.json"), "{}").expect("a file");
    let named = |name: &str, path: &Path| (name.to_owned(), path.display().to_string());
    let facts = named("RUNTIME_FACTS", &folder.join("facts.txt"));
    let mine = ("MINE".to_owned(), "kept".to_owned());
    Launch {
        name: "contained".to_owned(),
        command: ["python3", "program.py"].map(str::to_owned).to_vec(),
        environment: vec![facts, mine, named("STATE", &state), named("DATA", &data)],
        folder: Some(own),
        host: Ipv4Addr::LOCALHOST.into(),
        cores: None,
        stdout: folder.join("out.log"),
        stderr: folder.join("err.log"),
        ready: Ready::Line,
        ready_timeout: Nanoseconds::from_secs(30),
        wrapping: Wrapping::None,
    }
}

/// Control groups of this name in every hierarchy.
fn groups(id: &str) -> Vec<PathBuf> {
    let hierarchies = fs::read_dir("/sys/fs/cgroup").into_iter().flatten().flatten();
    hierarchies.map(|entry| entry.path().join(id)).filter(|path| path.exists()).collect()
}

#[test]
fn a_container_is_confined_counted_frozen_and_leaves_nothing() {
    for runtime in Runtime::ALL {
        runtime.probe().expect("run `scripts/setup --tests` as root");
        assert!(runtime.version().expect("a version").starts_with(|c: char| c.is_ascii_digit()));
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = fs::canonicalize(scratch.path()).expect("a folder");
        let lab = Lab::new(&format!("container-test-{}", std::process::id()), None, None);
        let settings = Settings { runtime, read_only: true, filtered: true };
        let mut launch = launch(&folder, PROGRAM);
        let (id, bundle) = (format!("{}-container", lab.prefix()), folder.join("bundle"));
        let container =
            Container::around(&lab, id.clone(), bundle.clone(), settings, &mut launch).expect("a bundle");
        let mut running = lab.launch(&launch).unwrap_or_else(|error| panic!("{}: {error}", runtime.name()));
        assert_eq!(running.port(), 4242);
        let facts = weighbridge_lab::service::runtime::said(&folder.join("facts.txt"));
        let fact = |name: &str| facts.get(name).map(String::as_str);
        let own = folder.join("service").display().to_string();
        // EROFS is 30, ENOENT 2.
        for (name, wanted) in [
            ("pid", "1"),
            ("host", id.as_str()),
            ("seccomp", "2"),
            ("new", "1"),
            ("capabilities", "0000000000000000"),
            ("write", "30"),
            ("tmp", "yes"),
            ("root", "30"),
            ("shadow", "2"),
            ("port", "0"),
            ("home", "/tmp"),
            ("mine", "kept"),
            ("state", "yes"),
            ("data", "30"),
            ("people", "{}"),
        ] {
            assert_eq!(fact(name), Some(wanted), "{} {name}: {facts:?}", runtime.name());
        }
        assert!(folder.join("wb-01234567-000-0-state/mine").is_file(), "{}", runtime.name());
        assert!(fact("cwd").is_none_or(|cwd| cwd == own), "{facts:?}");
        let first = container.pid().expect("its first process");
        let members = running.members();
        assert!(members.contains(&first) && members.contains(&running.pid()), "{members:?}");
        running.freeze().expect("it stands still");
        // A thread counts as frozen just before it leaves its core.
        std::thread::sleep(Duration::from_millis(5));
        let (service, wrapper) = (running.cpu_time(), running.wrapper_use().expect("a runtime"));
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(
            (running.cpu_time(), running.wrapper_use()),
            (service, Some(wrapper)),
            "{}",
            runtime.name()
        );
        assert_eq!(service.processes, 1, "the runtime is told apart");
        running.thaw().expect("it goes on");
        let report = running.stop(GRACE);
        assert_eq!((report.exit, report.departure), (Exit::Code(7), Departure::InTime), "{}", runtime.name());
        drop(container);
        assert!(!bundle.join("rootfs").exists() && !bundle.join("state").exists());
        assert!(bundle.join("config.json").is_file(), "the record keeps it");
        assert_eq!(groups(&id), Vec::<PathBuf>::new());
        assert!(lab.close().expect("nothing to close").is_empty(), "{}", runtime.name());
    }
}

#[test]
fn a_container_that_is_dropped_alive_is_killed_and_removed() {
    for runtime in Runtime::ALL {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = fs::canonicalize(scratch.path()).expect("a folder");
        let lab = Lab::new(&format!("dropped-container-{}", std::process::id()), None, None);
        let settings = Settings { runtime, read_only: false, filtered: false };
        let mut launch = launch(&folder, PROGRAM);
        let (id, bundle) = (format!("{}-container", lab.prefix()), folder.join("bundle"));
        let container =
            Container::around(&lab, id.clone(), bundle.clone(), settings, &mut launch).expect("a bundle");
        let mut running = lab.launch(&launch).unwrap_or_else(|error| panic!("{}: {error}", runtime.name()));
        let first = container.pid().expect("its first process");
        // As a guardian does: the container is removed while its runtime still waits.
        drop(container);
        assert!(!Path::new(&format!("/proc/{first}/root/usr")).exists(), "its process is gone");
        assert!((0..1_000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            !running.is_alive()
        }));
        drop(running);
        assert!(!bundle.join("rootfs").exists());
        assert_eq!(groups(&id), Vec::<PathBuf>::new());
        assert!(lab.close().expect("nothing to close").is_empty());
    }
}

#[test]
fn limits_hold_what_is_inside_and_not_its_runtime() {
    for runtime in Runtime::ALL {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = fs::canonicalize(scratch.path()).expect("a folder");
        let lab = Lab::new(&format!("limited-container-{}", std::process::id()), None, None);
        let settings = Settings { runtime, read_only: true, filtered: true };
        let mut launch = launch(&folder, GREEDY);
        let (id, bundle) = (format!("{}-container", lab.prefix()), folder.join("bundle"));
        let container = Container::around(&lab, id.clone(), bundle, settings, &mut launch).expect("a bundle");
        let allowed = Allowed { quota: Some(HALF), memory: Some(LIMIT) };
        let mut running =
            lab.launch_within(&launch, allowed).unwrap_or_else(|error| panic!("{}: {error}", runtime.name()));
        // Until both limits have been hit, however busy the machine is; the time is only a limit.
        let began = Instant::now();
        let (quota, memory) = loop {
            let quota = running.quota().expect("it is limited");
            let memory = running.memory_limit().expect("it is limited");
            if memory.killed > 0 && quota.throttling.is_some_and(|told| told.throttled >= 5) {
                break (quota, memory);
            }
            assert!(began.elapsed() < Duration::from_secs(60), "never met: {quota:?}, {memory:?}");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert_eq!((quota.quota, memory.limit, memory.killed), (HALF, LIMIT, 1), "{}", runtime.name());
        assert!(running.is_alive(), "the kernel takes the largest");
        // The first and the last period may be partial; the kernel gives each core slices of 5 ms.
        let (before, since) = (running.cpu_time().time, Instant::now());
        std::thread::sleep(Duration::from_millis(500));
        let used = running.cpu_time().time.saturating_sub(before).as_secs_f64();
        let most = 0.5 * since.elapsed().as_secs_f64() + 0.12;
        assert!(used > 0.0 && used <= most, "{used} s of CPU time, at most {most} s");
        let report = running.stop(GRACE);
        assert_eq!((report.exit, report.departure), (Exit::Code(7), Departure::InTime), "{}", runtime.name());
        drop(container);
        assert_eq!(groups(&id), Vec::<PathBuf>::new());
        assert!(lab.close().expect("nothing to close").is_empty(), "{}", runtime.name());
    }
}
