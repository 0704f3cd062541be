//! Recorded runs, from which stories are told that need a run and not its making: damage, pages, exports, gates.
//!
//! They lie packed in `testdata/recorded-runs`, without the page of a report, which can be made again. Where the format of runs
//! changes, this makes them anew, by real runs; they are not small by accident, so look at their size before you commit them:
//!
//! ```sh
//! make build && cargo test --workspace --test stories -- --ignored recorded::make_the_recorded_runs_anew
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::servers::{memcached, redis};
use crate::support::{Ended, WEIGH, World, eventually, send};

const PACKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/recorded-runs");

const PLAN: &str = "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"1 s\"\n";

/// The folder with a run of every kind, by its name.
pub static RUNS: LazyLock<PathBuf> = LazyLock::new(|| {
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded_runs");
    let _ = fs::remove_dir_all(&unpacked);
    fs::create_dir(&unpacked).expect("a folder");
    for archive in fs::read_dir(PACKED).expect("recorded runs").flatten() {
        let status = Command::new("tar").arg("-xzf").arg(archive.path()).arg("-C").arg(&unpacked).status();
        assert!(status.expect("`tar` is there").success(), "{:?}", archive.path());
    }
    unpacked
});

/// A copy of a recorded run, which the story may change.
pub fn copy_of(kind: &str, to: &Path) {
    copy(&RUNS.join(kind), to);
}

pub fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-r").args([from, to]).status().expect("`cp` is there");
    assert!(status.success(), "{} to {}", from.display(), to.display());
}

#[test]
#[ignore = "changes the repository: run it where the format of runs has changed"]
fn make_the_recorded_runs_anew() {
    let [null, slower, slowest, queue, slower_queue] = [
        ("a", "null"),
        ("b", "delay 50us"),
        ("c", "delay 90us"),
        ("a", "delay exponential:mean=400us"),
        ("b", "delay exponential:mean=800us"),
    ]
    .map(|(name, law)| move |world: &World| served(world, name, law));
    let windows = format!("{PLAN}window = \"5 ms\"\n");
    let sizes = "[workload]\nname = \"pingpong\"\nsizes = { min = \"4 B\", max = \"20 kB\", number = 8 }\n";
    let two = |tables: &str, world: &World| measured(world, tables, &[null(world), slower(world)]);
    record("pair", |world| two(&windows, world));
    record("gates", |world| two(&format!("{windows}[gates]\nfail_if = [\"response p50 > +1 %\"]\n"), world));
    record("requests", |world| two(&format!("{PLAN}pairing = \"requests\"\n"), world));
    let stamps = "[load]\nkernel_timestamps = true\n";
    record("sequential", |world| two(&format!("{stamps}{PLAN}pairing = \"sequential\"\n"), world));
    let points = "[matrix]\n\"workload.size\" = [\"64 B\", \"4 kB\"]\n";
    record("matrix", |world| two(&format!("{windows}{points}"), world));
    // Every request is kept.
    record("sizes", |world| two(&format!("{sizes}{}", PLAN.replace("1 s", "100 ms")), world));
    let search = "[capacity]\nobjective = \"mean < 4 ms\"\nrates = [\"400/s\", \"800/s\"]\n";
    record("capacity", |world| {
        measured(world, &format!("{search}{PLAN}"), &[queue(world), slower_queue(world)]);
    });
    record("batches", |world| {
        measured(world, &format!("{windows}together = 2\n"), &[null(world), slower(world), slowest(world)]);
    });
    record("died", |world| dies_once(world, &windows, &[null(world), slower(world)]));
    record("commands", of_commands);
    record("cache", of_caches);
    record("imported", imported);
    record("interrupted", interrupted);
}

/// A run that was killed after its first block.
pub fn interrupted(world: &World) {
    // It has more blocks than end before.
    let plan = "[plan]\nblocks = 30\nbudget = \"30 s\"\nwindow = \"5 ms\"\n";
    world.experiment_with(plan, &[&served(world, "a", "null"), &served(world, "b", "delay 50us")]);
    let mut weigh = world.run(&[]).start();
    weigh.until_event("block-ended", 1);
    weigh.end_by("KILL");
    eventually("the guardian ends everything", || world.processes("").is_empty());
}

/// Makes a run in a world of its own, and packs it.
fn record(kind: &str, make: impl FnOnce(&World)) {
    let world = World::new();
    make(&world);
    let run = world.path(kind);
    fs::rename(world.run_folder(), &run).expect("a run");
    let _ = fs::remove_file(run.join("report.html"));
    fs::create_dir_all(PACKED).expect("a folder");
    let archive = Path::new(PACKED).join(format!("{kind}.tar.gz"));
    let plain = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
    let packed = Command::new("tar")
        .args(plain)
        .args(["--use-compress-program", "gzip -9n", "-cf"])
        .arg(archive)
        .arg(kind)
        .current_dir(world.path(""))
        .status();
    assert!(packed.expect("`tar` is there").success());
}

/// A probe as a variant, by a script: where the program lies says something of this machine.
fn served(world: &World, name: &str, law: &str) -> String {
    format!(
        "name = \"{name}\"\n{}",
        world.script(&format!("probe-{name}"), &format!("exec {WEIGH} probe {law}"))
    )
}

fn measured(world: &World, tables: &str, variants: &[String]) {
    world.experiment_with(tables, &variants.iter().map(String::as_str).collect::<Vec<_>>());
    assert_has_summary(world, &world.run(&[]).end());
}

/// Figures need not be good, and a gate may fail.
fn assert_has_summary(world: &World, ended: &Ended) {
    assert!(matches!(ended.code, Some(0 | 1 | 3)), "{ended}");
    assert!(world.run_folder().join("summary.json").exists(), "{ended}");
}

/// A run in whose first block the second variant dies, so that this block is void and the others count.
fn dies_once(world: &World, tables: &str, variants: &[String]) {
    world.experiment_with(tables, &variants.iter().map(String::as_str).collect::<Vec<_>>());
    let mut weigh = world.run(&[]).start();
    weigh.until_event("round", 1);
    world.processes("probe delay").into_iter().for_each(|pid| send("KILL", pid));
    assert_has_summary(world, &weigh.end());
}

fn of_commands(world: &World) {
    let (redis, cached) = (redis(&[]), memcached());
    let variants = [
        format!("name = \"redis\"\nurl = \"redis://{}\"", redis.address),
        format!("name = \"memcached\"\nurl = \"memcached://{}\"", cached.address),
    ];
    let workload = "[workload]\nname = \"commands\"\n[[workload.command]]\ncommand = \"get k\"\n";
    measured(world, &format!("{workload}{PLAN}"), &variants);
}

fn of_caches(world: &World) {
    let cache = |name: &str, protocol: &str, command: &str| {
        format!("name = \"{name}\"\nprotocol = \"{protocol}\"\ncommand = \"{command}\"")
    };
    let variants = [
        cache("memcached", "memcached", "memcached -u root -l 127.0.0.1 -U 0 -t 1 -p {port}"),
        cache("redis", "resp", "redis-server --bind 127.0.0.1 --port {port} --save ''"),
    ];
    let mix = "mix = { get = 6, set = 2, delete = 1, head = 1 }";
    let workload = format!("[workload]\nname = \"cache\"\nkeys = 300\nvalue = \"fb_value\"\n{mix}\n");
    measured(world, &format!("{workload}{PLAN}"), &variants);
}

fn imported(world: &World) {
    let log = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/ppbench_csv/good.csv");
    let ended = world.weigh(&["import", "ppbench", log.to_str().expect("UTF-8"), "--out", "runs"]).end();
    ended.assert_code(0);
}
