//! Quotas of CPU time on real processes: one that the lab sets is in force and removed with its role, and one
//! that another program set is found. On a host where no quota can be set, the tests check the error and skip
//! the rest.

mod roles;
mod skips;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use roles::role;
use weighbridge_lab::cleanup::owned_resource::OwnedResource;
use weighbridge_lab::cleanup::registry::{self, Registry};
use weighbridge_lab::process::freeze::FreezeMethod;
use weighbridge_lab::process::launch::{Lab, Launch, LaunchError};
use weighbridge_lab::process::quota::{CgroupLocation, Controller, ControllerKind};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{CpuQuota, QuotaOrigin};

const HALF: CpuQuota = CpuQuota { time: Nanoseconds::from_millis(50), period: Nanoseconds::from_millis(100) };
const GRACE: Nanoseconds = Nanoseconds::from_secs(60);
/// Uses two cores without end.
const SPIN: &str = "(while :; do :; done)& echo ready 1; while :; do :; done";

fn launch(folder: &Path, script: &str) -> Launch {
    role(folder, &["sh", "-c", script])
}

/// How to set quotas here. If there is no way, a role with a quota must be refused with the remedy.
fn controller() -> Option<Controller> {
    let refusal = match Controller::detect() {
        Ok(controller) => return Some(controller),
        Err(refusal) => refusal.to_string(),
    };
    assert!(refusal.contains("cannot be limited here") && refusal.contains("Delegate=yes"), "{refusal}");
    let folder = tempfile::tempdir().expect("a folder");
    let lab = Lab::new(&folder.path().display().to_string(), None, None);
    let error =
        lab.launch_within(&launch(folder.path(), SPIN), Some(HALF)).expect_err("it cannot be limited");
    assert!(matches!(error, LaunchError::NoQuota { .. }), "{error}");
    skips::skipped_layers(&refusal);
    None
}

fn a_role_is_held(method: FreezeMethod) {
    if controller().is_none() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let base = folder.path().join("registry");
    let listed = Registry::create(&base, "run").expect("a registry");
    let lab = Lab::with_method(&folder.path().display().to_string(), None, Some(listed), method);
    let mut role = lab.launch_within(&launch(folder.path(), SPIN), Some(HALF)).expect("it starts");
    // Runs until the quota has ended some periods early, however busy the machine is; the time is only a
    // limit.
    let (began, before) = (Instant::now(), role.cpu_time().time);
    let held = loop {
        let facts = role.quota().expect("it is limited");
        assert_eq!((facts.quota, facts.origin), (HALF, QuotaOrigin::Experiment));
        let told = facts.throttling.expect("the kernel counts");
        assert!(told.throttled <= told.periods, "{told:?}");
        if told.throttled >= 5 {
            break told;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "never held up: {told:?}");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(held.time > Nanoseconds::ZERO, "{held:?}");
    let used = role.cpu_time().time.saturating_sub(before).as_secs_f64();
    // At most 50 ms of each period, of which the first and the last may be partial; the kernel gives each
    // core slices of 5 ms.
    let most = 0.5 * began.elapsed().as_secs_f64() + 0.12;
    assert!(used <= most, "{used} s of CPU time, at most {most} s");
    // Freezing and thawing work as without a quota.
    role.freeze().expect("it can be frozen");
    role.thaw().expect("it can be thawed");
    let groups = groups_in(&base);
    assert!(!groups.is_empty() && groups.iter().all(|group| group.is_dir()), "listed: {groups:?}");
    role.stop(GRACE);
    assert!(groups.iter().all(|group| !group.exists()), "left behind: {groups:?}");
    assert_eq!(lab.close().expect("all is gone"), []);
}

fn groups_in(base: &Path) -> Vec<PathBuf> {
    let listed = registry::list(base).expect("registries");
    let group = |resource: &OwnedResource| match resource {
        OwnedResource::Cgroup { path } => Some(path.clone()),
        _ => None,
    };
    listed.iter().flat_map(|listed| listed.resources.iter().filter_map(group)).collect()
}

#[test]
fn a_role_that_spins_on_two_cores_gets_half_of_one() {
    a_role_is_held(FreezeMethod::Cgroup);
}

#[test]
fn a_role_that_is_frozen_by_signals_is_held_too() {
    a_role_is_held(FreezeMethod::Stop);
}

#[test]
fn a_role_without_a_limit_has_none_of_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    let lab = Lab::new(&folder.path().display().to_string(), None, None);
    let mut role = lab.launch(&launch(folder.path(), "echo ready 1; sleep 600")).expect("it starts");
    // This test itself may run under another program's quota.
    assert_ne!(role.quota().map(|facts| facts.origin), Some(QuotaOrigin::Experiment));
    role.stop(GRACE);
}

/// A group that is removed when the test ends.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        // Its members have been stopped; the kernel may take a moment to remove them from the group.
        for _ in 0..1_000 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[test]
fn a_quota_that_the_command_brings_itself_is_found() {
    let Some(controller) = controller() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let group = Group(controller.base().join(format!("wb-test-{}", std::process::id())));
    fs::create_dir(&group.0).expect("a group of our own");
    let quota = CpuQuota { time: Nanoseconds::from_millis(30), period: Nanoseconds::from_millis(60) };
    controller.write(&group.0, quota).expect("it is ours");
    // Has the same effect as `docker run --cpus` or a systemd unit.
    let script = format!("echo $$ > {}/cgroup.procs; echo ready 1; exec sleep 600", group.0.display());
    let lab = Lab::new(&folder.path().display().to_string(), None, None);
    let mut role = lab.launch(&launch(folder.path(), &script)).expect("it starts");
    let facts = role.quota().expect("it is limited");
    assert_eq!((facts.quota, facts.origin), (quota, QuotaOrigin::Host));
    assert!(CgroupLocation::find(ControllerKind::Cpu, role.pid()).iter().any(|place| place.group == group.0));
    role.stop(GRACE);
}
