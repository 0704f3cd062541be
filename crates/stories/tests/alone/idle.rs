//! Idle cores are kept awake while something is measured, and let go however that ends. Alone in its file: the kernel's limit
//! is one for the whole machine, and other stories hold it too.

use std::fs;
use std::time::Duration;

use weighbridge_lab::host::clock::monotonic_now;
use weighbridge_lab::host::cputime::CpuTimes;
use weighbridge_lab::host::idle::{IdleHold, latency_limit};
use weighbridge_model::idle::Idle;
use weighbridge_model::quantity::Nanoseconds;

use crate::support::{World, eventually, measuring, probe, skipped, state};

/// All stories in one test, since they look at one and the same limit.
#[test]
fn idle_cores_are_kept_awake_and_let_go() {
    if let Err(error) = IdleHold::open() {
        skipped(&format!("{}; {}", error.why(), error.remedy()));
        return;
    }
    // Nobody else may measure, from the first look at the limit to the last.
    let _alone = World::new();
    polling_is_idle_time();
    the_limit_holds_while_windows_run_and_ends_with_the_run();
    who_may_not_keep_them_awake_is_told_once_and_measures();
    a_variant_may_have_a_way_of_its_own();
    a_calibration_that_is_stopped_lets_them_sleep();
}

/// What the kernel books as polled it also books as idle, so that no process and no role has it.
fn polling_is_idle_time() {
    let polled = || -> Option<Nanoseconds> {
        let state = |core: &str| format!("/sys/devices/system/cpu/{core}/cpuidle/state0");
        let cores = fs::read_dir("/sys/devices/system/cpu").ok()?;
        let names = cores.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let times = names.filter_map(|core| {
            let name = fs::read_to_string(format!("{}/name", state(&core))).ok()?;
            let time = fs::read_to_string(format!("{}/time", state(&core))).ok()?;
            (name.trim() == "POLL").then(|| Nanoseconds::from_micros(time.trim().parse().unwrap_or(0)))
        });
        Some(times.sum())
    };
    let idle = || CpuTimes::read().expect("/proc").machine.idle;
    let hold = IdleHold::open().expect("it could be opened before");
    hold.ask(Idle::Polled).expect("an open device takes it");
    let (began, polled_before, idle_before) = (monotonic_now(), polled(), idle());
    std::thread::sleep(Duration::from_millis(1_000));
    let (polled_after, idle_after) = (polled(), idle());
    let span = monotonic_now().since(began);
    let Some((before, after)) = polled_before.zip(polled_after) else { return };
    let (polled, idle) = (after.saturating_sub(before), idle_after.saturating_sub(idle_before));
    // The kernel books a stretch of polling when it ends, and idle time in ticks of 10 ms of each core.
    let slack = span / 10 + Nanoseconds::from_millis(100);
    assert!(idle + slack >= polled, "polled for {polled}, idle for {idle}, in {span}");
}

fn the_limit_holds_while_windows_run_and_ends_with_the_run() {
    let before = latency_limit();
    assert_ne!(before, Some(Nanoseconds::ZERO), "somebody else keeps the cores awake");
    for signal in [None, Some("INT"), Some("KILL")] {
        measuring(|| {
            let world = World::new();
            // Long enough for every block to check, of which three are needed.
            let plan = "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"6 s\"\nwindow = \"5 ms\"\n";
            world.experiment_with(plan, &[&probe("a", "null"), &probe("b", "null")]);
            let mut weigh = world.run(&["--format", "json"]).start();
            weigh.until("cores kept awake", |_| latency_limit() == Some(Nanoseconds::ZERO));
            match signal {
                None => {
                    let ended = weigh.end();
                    ended.assert_measured();
                    assert_eq!(ended.json()["idle"]["was"], "polled", "{ended}");
                    assert_eq!(environment(&world)["idle"]["was"], "polled");
                    assert!(windows(&world).contains(",idle-check,"), "some rounds the other way");
                }
                Some(signal) => drop(weigh.end_by(signal)),
            }
            assert_eq!(latency_limit(), before, "after {signal:?}");
            if signal == Some("KILL") {
                // Its registry is the doctor's to remove.
                world.weigh(&["doctor", "--clean"]).end().assert_code(0);
            }
            world.assert_nothing_left();
        });
    }
}

fn environment(world: &World) -> serde_json::Value {
    let text = fs::read_to_string(world.run_folder().join("environment.json")).expect("an environment");
    serde_json::from_str(&text).expect("JSON")
}

/// The windows of all trials: a short run checks in some of its blocks only.
fn windows(world: &World) -> String {
    let trials = fs::read_dir(world.run_folder().join("trials")).expect("trials");
    let table = |trial: std::io::Result<fs::DirEntry>| {
        fs::read_to_string(trial.expect("an entry").path().join("windows.csv")).expect("windows")
    };
    trials.map(table).collect()
}

/// Without the device, as in a container, and without the right to open it, as another user.
fn who_may_not_keep_them_awake_is_told_once_and_measures() {
    let missing = "mount -t tmpfs none /dev && mknod /dev/null c 1 3 && mknod /dev/urandom c 1 9 && \
                   mknod /dev/zero c 1 5 && chmod 666 /dev/* && exec \"$@\"";
    let refused = "touch forbidden && chmod 0 forbidden && mount --bind forbidden /dev/cpu_dma_latency && \
                   exec setpriv --bounding-set -all --inh-caps -all \"$@\"";
    for (script, says, remedy) in [
        (missing, "there is no `/dev/cpu_dma_latency` here", "--device /dev/cpu_dma_latency"),
        (refused, "`/dev/cpu_dma_latency` may not be opened", "run as root"),
    ] {
        measuring(|| {
            let world = World::new();
            world.experiment(&[&probe("a", "null"), &probe("b", "null")]);
            let run = world.run(&["--format", "json"]);
            let ended = run.through("unshare", &["--mount", "sh", "-c", script, "sh"]).end();
            ended.assert_measured();
            let told = ended.stderr.matches("idle cores cannot be kept awake").count();
            assert_eq!(told, 1, "{ended}");
            let idle = &ended.json()["idle"];
            assert_eq!((&idle["asked"], &idle["was"]), (&"polled".into(), &"host".into()), "{ended}");
            let findings = ended.json()["findings"].to_string();
            assert_eq!(findings.matches("cores sleep").count(), 1, "{findings}");
            assert!(findings.contains(says) && findings.contains(remedy), "{findings}");
            assert!(!windows(&world).contains(",idle-check,"), "there is no other way");
        });
    }
}

fn a_variant_may_have_a_way_of_its_own() {
    measuring(|| {
        let world = World::new();
        let asleep = format!("{}\nidle = \"host\"", probe("asleep", "null"));
        world.experiment(&[&probe("awake", "null"), &asleep]);
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        assert!(!windows(&world).contains(",idle-check,"), "the experiment asks that itself");
    });
}

fn a_calibration_that_is_stopped_lets_them_sleep() {
    let before = latency_limit();
    let world = World::new();
    let mut weigh = world.weigh(&["calibrate", "--generator", "--duration", "100ms"]).start();
    let is_awake = |_: &World| latency_limit() == Some(Nanoseconds::ZERO);
    weigh.until("cores kept awake", is_awake);
    weigh.signal("TSTP");
    eventually("weigh stands still", || state(weigh.pid()) == Some('T'));
    assert_eq!(latency_limit(), before);
    weigh.signal("CONT");
    weigh.until("cores kept awake again", is_awake);
    weigh.end_by("INT").assert_error(&["interrupted"]);
    assert_eq!(latency_limit(), before);
    world.assert_nothing_left();
}
