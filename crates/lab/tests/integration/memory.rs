//! Limits of memory on real processes: what they use is reported, what is killed is reported by name, and no
//! group is left.

use std::path::Path;
use std::time::{Duration, Instant};

use weighbridge_lab::cleanup::registry::{self, Registry};
use weighbridge_lab::process::launch::{Allowed, Lab, Launch, LaunchError};
use weighbridge_lab::process::memory::Controller;
use weighbridge_model::quantity::{Bytes, Nanoseconds};

use crate::roles::role;
use crate::skips;

const LIMIT: Bytes = Bytes::new(64 << 20);
const GRACE: Nanoseconds = Nanoseconds::from_secs(60);
/// Uses some MiB, touched, before it is ready; then a child wants 300 more.
const CHILD: &str = "\
import subprocess, sys, time
held = bytearray(20 << 20)
print('ready 1', flush=True)
subprocess.run([sys.executable, '-c', 'bytearray(300 << 20)'])
time.sleep(600)
";

fn launch(folder: &Path, script: &str) -> Launch {
    role(folder, &["python3", "-c", script])
}

/// Whether memory can be limited here. If not, a role with a limit must be refused with the remedy.
fn can_limit() -> bool {
    let Err(refusal) = Controller::detect() else { return true };
    assert!(refusal.to_string().contains("Delegate=yes"), "{refusal}");
    let folder = tempfile::tempdir().expect("a folder");
    let lab = Lab::new(&folder.path().display().to_string(), None, None);
    let allowed = Allowed { quota: None, memory: Some(LIMIT) };
    let error = lab.launch_within(&launch(folder.path(), CHILD), allowed).expect_err("it cannot be limited");
    assert!(matches!(error, LaunchError::NoLimit { .. }), "{error}");
    skips::skipped_layers(&refusal.to_string());
    false
}

#[test]
fn what_a_role_holds_is_told_and_a_child_that_wants_more_is_killed() {
    if !can_limit() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().join("registry");
    let listed = Registry::create(&base, "run").expect("a registry");
    let lab = Lab::new(&folder.path().display().to_string(), None, Some(listed));
    let allowed = Allowed { quota: None, memory: Some(LIMIT) };
    let mut role = lab.launch_within(&launch(folder.path(), CHILD), allowed).expect("it starts");
    let began = Instant::now();
    let facts = loop {
        let facts = role.memory_limit().expect("it is limited");
        if facts.killed > 0 {
            break facts;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "never killed: {facts:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!((facts.limit, facts.killed), (LIMIT, 1), "{facts:?}");
    assert!(facts.peak.is_none_or(|peak| peak > Bytes::new(20 << 20) && peak <= LIMIT), "{facts:?}");
    assert!(role.is_alive(), "the kernel takes the largest");
    // Freezing and thawing work as without a limit.
    role.freeze().expect("it can be frozen");
    role.thaw().expect("it can be thawed");
    role.stop(GRACE);
    assert_eq!(lab.close().expect("all is gone"), []);
    assert_eq!(registry::list(&base).expect("registries"), []);
}

#[test]
fn a_role_that_is_killed_before_it_is_ready_says_why() {
    if !can_limit() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let lab = Lab::new(&folder.path().display().to_string(), None, None);
    let allowed = Allowed { quota: None, memory: Some(LIMIT) };
    let greedy = "held = bytearray(300 << 20)\nprint('ready 1', flush=True)";
    let error = lab.launch_within(&launch(folder.path(), greedy), allowed).expect_err("it is killed");
    let text = error.to_string();
    assert!(matches!(error, LaunchError::OutOfMemory { .. }), "{text}");
    assert!(text.contains("64 MiB") && text.contains("give `memory` more"), "{text}");
    assert_eq!(lab.close().expect("all is gone"), []);
}

#[test]
fn a_role_without_a_limit_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let lab = Lab::new(&folder.path().display().to_string(), None, None);
    let script = "import time\nprint('ready 1', flush=True)\ntime.sleep(600)";
    let role = lab.launch(&launch(folder.path(), script)).expect("it starts");
    assert_eq!(role.memory_limit(), None);
    role.stop(GRACE);
}
