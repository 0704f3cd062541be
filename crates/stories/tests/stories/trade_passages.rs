//! Passages of the brokerage outside a run: played with DaCapo's lines, and the smallest heap that they take.

use serde_json::Value;
use weighbridge_model::quantity::Bytes;

use crate::support::{Ended, World, measuring, probe, service};

/// HotSpot rounds heaps up to so much.
const STEP: f64 = 2_097_152.0;

fn experiment(world: &World, workload: &str, variants: &[&str]) {
    world.experiment_with(
        &format!("[workload]\n{workload}\n[load]\nconnections = 2\n[plan]\nblocks = 2\n"),
        variants,
    );
}

/// A search with that variant, which ends with this code.
fn heap(world: &World, only: &str, code: i32) -> Ended {
    let ended = world
        .weigh(&["trade", "heap", "experiment.toml", "--only", only, "--format", "json"])
        .with_services()
        .end();
    ended.assert_code(code);
    ended
}

#[test]
#[ignore = "minutes: `make accuracy` tells it"]
fn the_smallest_heap_is_found() {
    measuring(|| {
        service::build("java-trade");
        let world = World::new();
        let serial = "name = \"serial\"\nservice = \"java-trade\"\nenv.JDK_JAVA_OPTIONS = \"-XX:+UseSerialGC -Xmx512m\"";
        experiment(&world, "name = \"trade\"\nsize = \"small\"", &[serial]);
        let ended = heap(&world, "serial", 0);
        let found: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        let bytes = |name: &str| found[name].as_f64().expect("a number");
        let (minimum, too_small) = (bytes("minimum_bytes"), bytes("too_small_bytes"));
        // A machine with its classes, the base of 48 users and nothing else.
        assert!(minimum > 3e6 && minimum < 64e6, "{found}");
        assert!(too_small < minimum && minimum <= (too_small * 1.02).max(too_small + STEP), "{found}");
        let tries = found["tries"].as_array().expect("tries");
        for tried in tries {
            let (heap, passes) = (tried["heap_bytes"].as_f64().expect("a number"), tried["passes"] == true);
            assert!(passes || heap < minimum, "{found}");
            assert_eq!(tried["why"].is_string(), !passes, "{found}");
        }
        assert_eq!(tries.iter().filter(|tried| tried["heap_bytes"].as_f64() == Some(minimum)).count(), 3);
        assert!(ended.stderr.contains("passes, the slowest passage takes"), "{}", ended.stderr);
    });
}

#[test]
fn what_has_no_heap_to_be_found_is_refused_with_what_to_name_instead() {
    let world = World::new();
    service::build("rust-trade");
    let rust = "name = \"rust\"\nservice = \"rust-trade\"";
    let elsewhere = "name = \"elsewhere\"\nurl = \"http://127.0.0.1:9/\"";
    experiment(&world, "name = \"trade\"\nsessions = 4", &[rust, elsewhere]);
    let refused = |only: &str| heap(&world, only, 2).stderr;
    assert!(
        refused("elsewhere").contains("is a server that is not started here"),
        "{}",
        refused("elsewhere")
    );
    assert!(refused("java").contains("no such variant; allowed: `rust`, `elsewhere`"), "{}", refused("java"));
    let ignored = refused("rust");
    assert!(ignored.contains("the size seems to be ignored; is it a program of Java"), "{ignored}");
    experiment(&world, "name = \"pingpong\"", &["name = \"rust\"\nservice = \"rust\""]);
    let pong = refused("rust");
    assert!(pong.contains("`pingpong` has no passages to carry out"), "{pong}");
}

/// Of four sessions, so that each start of a virtual machine is short.
#[test]
#[ignore = "minutes: `make accuracy` tells it"]
fn heaps_that_are_multiples_of_the_smallest_are_sized_before_the_run() {
    measuring(|| {
        service::build("java-trade");
        let world = World::new();
        let matrix = "[matrix]\nservice = [\"java-trade\"]\njvm.collector = [\"g1\", \"serial\"]\njvm.heap = [\"2x\"]\n";
        let text = |name: &str| {
            format!(
                "[workload]\n{name}\n[load]\nwarmup = \"50 ms\"\n[plan]\nblocks = 2\nbudget = \"8 s\"\n{matrix}"
            )
        };
        world.write("experiment.toml", &text("name = \"trade\"\nsessions = 4"));
        let planned = world.weigh(&["plan", "experiment.toml"]).with_services().end();
        planned.assert_code(0);
        assert!(
            planned.stdout.contains("java-trade/serial/2x, http1-json, collector serial, heap 2x"),
            "{planned}"
        );
        assert!(
            planned.stdout.contains("multiples of the smallest with G1, which is searched for first"),
            "{planned}"
        );

        let ended = world.weigh(&["run", "experiment.toml"]).with_services().end();
        assert!(matches!(ended.code, Some(0 | 3)), "{ended}");
        assert_eq!(ended.stderr.matches("searching for the smallest heap").count(), 1, "{ended}");
        let smallest = ended.stderr.split("smallest heap: ").nth(1).expect("the smallest heap is told");
        let smallest: Bytes = smallest.lines().next().expect("a line").trim().parse().expect("a size");
        let size = (2 * smallest.get()).next_multiple_of(1 << 20);
        let stored =
            std::fs::read_to_string(world.run_folder().join("experiment.toml")).expect("the experiment");
        assert_eq!(stored.matches(&format!("heap = \"{size} B\"")).count(), 2, "{stored}");

        let tiny = text("name = \"trade\"\nsessions = 4").replace("\"2x\"", "\"4 MiB\"");
        world.write("experiment.toml", &tiny);
        let refused = world.weigh(&["run", "experiment.toml"]).with_services().end();
        refused.assert_error(&[
            "before it was ready",
            "if its heap of 4 MiB is too small: `weigh trade heap` finds",
        ]);

        world.write("experiment.toml", &text("name = \"pingpong\""));
        let refused = world.weigh(&["run", "experiment.toml"]).with_services().end();
        refused.assert_error(&[
            "`jvm.heap = \"2x\"` is a multiple of the smallest heap",
            "give a size, such as `256 MiB`",
        ]);
    });
}

fn play(world: &World, more: &[&str], code: i32) -> Ended {
    let ended = world.weigh(&[&["trade", "play", "experiment.toml"], more].concat()).with_services().end();
    ended.assert_code(code);
    ended
}

/// The lines about passages, without the table of actions and without times.
fn told(ended: &Ended) -> Vec<String> {
    let lines = ended.stdout.lines().filter(|line| line.starts_with("===== "));
    let untimed =
        |line: &str| line.split(" in ").next().expect("a beginning").trim_end_matches(" =====").to_owned();
    lines.map(|line| untimed(line.split(" one ").nth(1).expect("the variant"))).collect()
}

#[test]
fn passages_are_played_with_dacapos_lines() {
    service::build("rust-trade");
    let world = World::idle();
    let direct = "name = \"one\"\nservice = \"rust-trade\"\nprotocol = \"direct\"";
    experiment(&world, "name = \"trade\"\nsize = \"small\"", &[direct]);
    let script = world.path("script");
    world
        .weigh(&["trade", "script", "--size", "small", "--out", &script.display().to_string()])
        .end()
        .assert_code(0);
    let counted = world.weigh(&["trade", "count", &script.display().to_string()]).end();

    let once = play(&world, &[], 0);
    assert_eq!(told(&once), ["starting", "PASSED"]);
    assert!(once.stdout.contains(counted.stdout.trim_end()), "{once}");
    let thrice = play(&world, &["-n", "3"], 0);
    let expected = [
        "starting warmup 1",
        "completed warmup 1",
        "starting warmup 2",
        "completed warmup 2",
        "starting",
        "PASSED",
    ];
    assert_eq!(told(&thrice), expected);
    assert_eq!(thrice.stdout.matches("Completed 32 trade sessions").count(), 1, "{thrice}");
    world.assert_nothing_left();
}

#[test]
fn latency_of_the_passage_that_counts_is_told_and_written() {
    service::build("rust-trade");
    let world = World::new();
    let rest = "name = \"one\"\nservice = \"rust-trade\"";
    let direct = "name = \"direct\"\nservice = \"rust-trade\"\nprotocol = \"direct\"";
    experiment(&world, "name = \"trade\"\nsize = \"small\"", &[rest, direct]);
    let ended = play(&world, &["-n", "2", "--latency", "latency.csv"], 0);
    let kinds: Vec<_> = told(&ended).into_iter().filter(|line| line.contains("tail latency")).collect();
    let is_of = |line: &String, kind: &str| line.starts_with(&format!("{kind} tail latency"));
    assert!(kinds.len() >= 2 && is_of(&kinds[0], "simple"), "{ended}");
    assert!(kinds[1..].iter().all(|line| is_of(line, "metered")), "{ended}");
    let csv = std::fs::read_to_string(world.path("latency.csv")).expect("a file");
    let rows: Vec<Vec<u64>> = csv
        .lines()
        .skip(1)
        .map(|row| row.split(',').map(|cell| cell.parse().expect("a number of ns")).collect())
        .collect();
    assert!(csv.starts_with("window_ns,p50_ns,p90_ns,p99_ns,p999_ns,max_ns\n"), "{csv}");
    assert!(rows.len() > 10 && rows[0][0] == 0, "{csv}");
    for row in &rows {
        assert!(row.len() == 6 && row[1..].is_sorted(), "{row:?}");
        // It is at least simple latency, and at most half the window more.
        let pairs = row[1..].iter().zip(&rows[0][1..]);
        assert!(pairs.clone().all(|(metered, simple)| metered >= simple && *metered <= simple + row[0] / 2));
    }
    let line = kinds.last().expect("a line");
    let full = rows.last().expect("full smoothing")[1].div_ceil(1_000);
    assert!(line.starts_with(&format!("metered tail latency (full smoothing): 50% {full} usec, ")), "{line}");

    let refused =
        world.weigh(&["trade", "play", "experiment.toml", "--latency", "latency.csv"]).with_services().end();
    refused.assert_error(&["`latency.csv` is there already; remove it, or name another file"]);
    let direct = ["trade", "play", "experiment.toml", "--only", "direct", "--latency", "more.csv"];
    world
        .weigh(&direct)
        .end()
        .assert_error(&["variant `direct` plays in its own process, so no single request is seen"]);
    assert!(!world.path("more.csv").exists());
}

/// Passages of some milliseconds may not converge on a busy host; either is said as it is.
#[test]
fn passages_that_converge_are_followed_by_the_one_that_counts() {
    service::build("rust-trade");
    let world = World::new();
    experiment(&world, "name = \"trade\"", &["name = \"one\"\nservice = \"rust-trade\""]);
    let ended = world.weigh(&["trade", "play", "experiment.toml", "--converge"]).with_services().end();
    let mut lines = told(&ended);
    // What follows the passage that counts is told of it.
    lines.retain(|line| !line.contains("tail latency"));
    let warm_ups = lines.iter().filter(|line| line.starts_with("completed warmup")).count();
    match lines.last().map(String::as_str) {
        Some("PASSED") => {
            ended.assert_code(0);
            assert!((3..=20).contains(&warm_ups), "{ended}");
            assert_eq!(lines[lines.len() - 2], "starting");
        }
        _ => {
            ended.assert_error(&[
                "20 passages did not converge: over the last 3",
                "ask for a number of passages",
            ]);
            assert_eq!((warm_ups, lines.last().map(String::as_str)), (20, Some("FAILED")), "{ended}");
        }
    }
}

#[test]
fn a_server_that_is_no_brokerage_fails() {
    let world = World::idle();
    experiment(&world, "name = \"trade\"\nsize = \"small\"", &[&probe("one", "null")]);
    let ended = play(&world, &["--latency", "latency.csv"], 2);
    assert_eq!(told(&ended), ["starting", "FAILED"]);
    assert!(!world.path("latency.csv").exists(), "the next try may write it");
    assert!(!ended.stdout.contains("Completed"), "{ended}");
}
