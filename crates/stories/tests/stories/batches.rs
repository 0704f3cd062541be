//! Stories of experiments with more variants than live at once: batches, each with the baseline.
//!
//! Costs are of delays that the probes were told, and differ by more than any host's noise; nothing is asserted about
//! how fast anything is.

use std::collections::BTreeMap;
use std::fs;
use std::ops::RangeInclusive;

use serde_json::{Value, json};

use crate::support::{World, measuring, probe};

/// What the variants but the baseline wait before they answer, in µs.
const DELAYS: [u64; 7] = [30, 60, 90, 120, 150, 180, 210];

fn variants() -> Vec<String> {
    let delayed = DELAYS.iter().map(|micros| probe(&format!("d{micros}"), &format!("delay {micros}us")));
    std::iter::once(probe("none", "null")).chain(delayed).collect()
}

/// So many of the variants, three at once.
fn in_threes(world: &World, count: usize, budget: &str) {
    let plan = format!(
        "[plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = \"{budget}\"\nwindow = \"2 ms\"\ntogether = 3\n"
    );
    let variants = variants();
    world.experiment_with(&plan, &variants[..count].iter().map(String::as_str).collect::<Vec<_>>());
}

/// Batch and variant of every trial of a block, as the block lists them.
fn trials(world: &World, block: u32) -> Vec<(u64, u64)> {
    let listed = world.json(&format!("blocks/{block:03}.json"));
    let place = |trial: &Value| {
        let folder = trial["folder"].as_str().expect("a folder");
        let own = world.json(&format!("trials/{folder}/trial.json"));
        for key in ["batch", "variant", "variant_name"] {
            assert_eq!(own[key], trial[key], "{key} of {folder}");
        }
        (trial["batch"].as_u64().expect("a batch"), trial["variant"].as_u64().expect("a variant"))
    };
    let mut found: Vec<_> = listed["trials"].as_array().expect("trials").iter().map(place).collect();
    found.sort_unstable();
    found
}

/// Every batch with the baseline, two others in each, one in the last.
const PLACES: [(u64, u64); 11] =
    [(0, 0), (0, 1), (0, 2), (1, 0), (1, 3), (1, 4), (2, 0), (2, 5), (2, 6), (3, 0), (3, 7)];

/// Cost of a delay in µs as a comparison printed it, and its interval.
fn headline(printed: &Value, variant: &str) -> (f64, RangeInclusive<f64>) {
    let costs = printed["costs"].as_array().expect("costs");
    let is_wanted = |cost: &&Value| cost["variant"] == variant && cost["headline"] == true;
    let cost = costs.iter().find(is_wanted).unwrap_or_else(|| panic!("no headline of {variant}"));
    let end = |name: &str| cost["difference"][name].as_f64().map(|nanos| nanos / 1e3);
    let point = end("point").unwrap_or_else(|| panic!("{cost}"));
    (point, end("lower").unwrap_or(point)..=end("upper").unwrap_or(point))
}

#[track_caller]
fn assert_near((found, interval): (f64, RangeInclusive<f64>), micros: f64) {
    // On a busy machine a cost may be further off, and then says so itself.
    let is_near = (found - micros).abs() < 0.4 * micros.abs() + 15.0;
    assert!(is_near || interval.contains(&micros), "{found} µs {interval:?}, not {micros} µs");
}

#[test]
fn eight_variants_three_at_once_have_the_costs_they_were_given() {
    measuring(|| {
        let world = World::new();
        in_threes(&world, 8, "4 s");
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        let summary = ended.json();
        for micros in DELAYS {
            assert_near(headline(&summary, &format!("d{micros}")), micros as f64);
        }
        assert_eq!(summary["blocks"]["used"], 4);
        assert_eq!(summary["variants"][0]["batches"], json!([0, 1, 2, 3]));
        assert_eq!(summary["variants"][7]["batches"], json!([3]));
        assert_eq!(world.json("plan.json")["batches"], json!([[0, 1, 2], [0, 3, 4], [0, 5, 6], [0, 7]]));
        for block in 0..4 {
            assert_eq!(trials(&world, block), PLACES, "block {block}");
        }
        never_more_than_three_at_once(&world);
        variants_of_two_batches_are_compared_through_the_baseline(&world);
        world.assert_nothing_left();
    });
}

/// Measures four variants, three at once, put side by side as `tables` ask, and holds costs, record and a comparison of two
/// batches against what was asked.
fn four_in_two_batches(tables: &str, pairing: &str) {
    let world = World::new();
    let variants = variants();
    world.experiment_with(tables, &variants[..4].iter().map(String::as_str).collect::<Vec<_>>());
    let ended = world.run(&["--format", "json"]).end();
    ended.assert_measured();
    let summary = ended.json();
    for micros in &DELAYS[..3] {
        assert_near(headline(&summary, &format!("d{micros}")), *micros as f64);
    }
    assert_eq!(summary["pairings"], json!([{ "pairing": pairing }]));
    assert_eq!(summary["blocks"]["used"], 4);
    for block in 0..4 {
        assert_eq!(trials(&world, block), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 3)], "block {block}");
    }
    for folder in fs::read_dir(world.run_folder().join("trials")).expect("trials") {
        let name = folder.expect("a trial").file_name();
        let own = world.json(&format!("trials/{}/trial.json", name.display()));
        assert_eq!(own["pairings"], json!([pairing]), "every batch of every block does the same: {own}");
    }
    let run = world.run_folder().to_str().expect("UTF-8").to_owned();
    let apart = world.weigh(&["compare", &run, "d30", "d90", "--format", "json"]).end();
    assert!(matches!(apart.code, Some(0 | 3)), "{apart}");
    assert_near(headline(&apart.json(), "d90"), 60.0);
    let findings = summary["findings"].to_string();
    assert_eq!(findings.contains("not paired"), pairing == "sequential", "{findings}");
    world.assert_nothing_left();
}

#[test]
fn batches_are_measured_request_by_request_too() {
    // Low enough that a second holds no window of 200.
    const TABLES: &str = "[load]\nmodel = \"open\"\nrate = \"150/s\"\nwarmup = \"20 ms\"\n\
        [plan]\nblocks = { min = 4, max = 4 }\nbudget = \"5 s\"\ntogether = 3\n";
    measuring(|| four_in_two_batches(TABLES, "requests"));
}

#[test]
fn batches_are_measured_one_after_another_too() {
    const TABLES: &str = "[load]\nwarmup = \"20 ms\"\n[plan]\nblocks = { min = 4, max = 4 }\n\
        budget = \"3 s\"\ntogether = 3\npairing = \"sequential\"\n";
    measuring(|| four_in_two_batches(TABLES, "sequential"));
}

/// Each batch starts its own variants, and the next begins when these have ended; batches come in more than one order.
fn never_more_than_three_at_once(world: &World) {
    let mut started: Vec<Vec<String>> = Vec::new();
    let mut orders: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for event in world.events() {
        match event["event"].as_str() {
            Some("batch-started") => {
                let number = |key: &str| event[key].as_u64().expect("a number");
                orders.entry(number("block")).or_default().push(number("batch"));
                started.push(Vec::new());
            }
            Some("started") => {
                let name = event["variant"].as_str().expect("a name").to_owned();
                started.last_mut().expect("a batch began before").push(name);
            }
            _ => {}
        }
    }
    assert_eq!(started.len(), 16, "four batches in each of four blocks");
    assert!(started.iter().all(|names| (2..=3).contains(&names.len()) && names.iter().any(|n| n == "none")));
    let mut distinct: Vec<_> = orders.values().collect();
    distinct.sort();
    distinct.dedup();
    assert!(distinct.len() > 1, "{orders:?}");
    let logs = fs::read_dir(world.run_folder().join("logs")).expect("logs").count();
    assert_eq!(logs, 4 * PLACES.len() * 2, "no trial writes over another's output");
}

fn variants_of_two_batches_are_compared_through_the_baseline(world: &World) {
    let run = world.run_folder().to_str().expect("UTF-8").to_owned();
    let compare = |one: &str, other: &str| {
        let ended = world.weigh(&["compare", &run, one, other, "--format", "json"]).end();
        assert!(matches!(ended.code, Some(0 | 3)), "{ended}");
        ended.json()
    };
    let apart = compare("d60", "d210");
    assert_near(headline(&apart, "d210"), 150.0);
    let through = "in different batches: through `none`";
    assert!(
        apart["costs"][0]["reason"].as_str().is_some_and(|reason| reason.contains(through)),
        "{}",
        apart["costs"][0]
    );
    assert_eq!(apart["variants"].as_array().map(Vec::len), Some(2));
    let beside = compare("d30", "d60");
    assert_near(headline(&beside, "d60"), 30.0);
    assert!(!beside["costs"][0]["reason"].as_str().unwrap_or_default().contains("through"));
    // Against the baseline from either side, by what lived beside it.
    assert_near(headline(&compare("none", "d210"), "d210"), 210.0);
    assert_near(headline(&compare("d210", "none"), "none"), -210.0);
}

#[test]
fn a_run_killed_in_a_blocks_second_batch_goes_on_with_the_same_batches() {
    measuring(|| {
        let world = World::new();
        in_threes(&world, 5, "2 s");
        let mut weigh = world.run(&[]).start();
        // The second block's second batch.
        weigh.until_event("batch-started", 4);
        weigh.end_by("KILL");
        crate::support::eventually("the guardian ends everything", || world.processes("").is_empty());
        assert_eq!(world.blocks(), 1, "half a block is no block");
        let run = world.run_folder().to_str().expect("UTF-8").to_owned();
        let (batches, first) = (world.json("plan.json")["batches"].clone(), world.json("blocks/000.json"));
        world.weigh(&["run", "--resume", &run]).end().assert_measured();
        assert_eq!(world.json("plan.json")["batches"], batches);
        assert_eq!(world.json("blocks/000.json"), first, "what was whole is not measured again");
        assert_eq!(world.json("summary.json")["costs"][0]["ratio"]["blocks"], 4);
        for block in 0..4 {
            assert_eq!(trials(&world, block), PLACES[..6], "block {block}");
        }
        // A killed run's registry is left for the doctor; nothing else is.
        crate::support::eventually("no process is left", || world.processes("").is_empty());
    });
}

/// A probe behind a process that says it holds half of what memory there is: one small file, mapped over and over. Each
/// page counts as resident as often as it is mapped, and takes its room once.
const HOG: &str = r#"
import mmap, os, subprocess, sys, tempfile
available = next(int(line.split()[1]) << 10 for line in open("/proc/meminfo") if line.startswith("MemAvailable:"))
size = 64 << 20
file = tempfile.TemporaryFile()
file.truncate(size)
flags = mmap.MAP_SHARED | 0x8000  # MAP_POPULATE
maps = [mmap.mmap(file.fileno(), size, flags=flags, prot=mmap.PROT_READ) for _ in range(available // 2 // size + 1)]
sys.exit(subprocess.call(sys.argv[1:]))
"#;

#[test]
fn memory_that_runs_short_in_the_first_block_makes_smaller_batches() {
    measuring(|| {
        let world = World::new();
        let hog = world.write("hog.py", HOG);
        let hog = format!(
            "name = \"hog\"\ncommand = [\"python3\", \"{}\", \"{}\", \"probe\", \"null\"]",
            hog.display(),
            crate::support::WEIGH
        );
        world.experiment(&[&probe("a", "null"), &hog, &probe("c", "null")]);
        let ended = world.run(&[]).end();
        ended.assert_measured();
        assert_eq!(world.json("plan.json")["batches"], json!([[0, 1], [0, 2]]));
        assert_eq!(world.json("plan.json")["first_block"].as_array().map(Vec::len), Some(2));
        let events = world.events();
        let told = events.iter().find(|event| event["event"] == "batches").expect("it is told");
        assert_eq!(told["batches"], json!([["a", "hog"], ["a", "c"]]));
        let reason = told["reason"].as_str().expect("a reason");
        assert!(reason.contains("of memory") && reason.contains("for 2 variants at once"), "{reason}");
        assert!(ended.says(reason), "{ended}");
        for block in 0..4 {
            assert_eq!(trials(&world, block), [(0, 0), (0, 1), (1, 0), (1, 2)], "block {block}");
        }
        world.assert_nothing_left();
    });
}

#[test]
fn a_plan_tells_its_batches_and_one_at_a_time_is_refused() {
    let world = World::idle();
    in_threes(&world, 8, "4 s");
    let text = world.weigh(&["plan", "experiment.toml"]).end();
    text.assert_code(0);
    for line in ["together at most 3 variants", "batch 1  none, d30, d60\n", "batch 4  none, d210\n"] {
        assert!(text.stdout.contains(line), "{text}");
    }
    let plan = world.weigh(&["plan", "experiment.toml", "--format", "json"]).end().json();
    assert_eq!(plan["first_block"].as_array().map(Vec::len), Some(4));
    for batch in plan["first_block"].as_array().expect("batches") {
        let of = batch["batch"].as_u64().expect("a number") as usize;
        let mut starts: Vec<u64> =
            batch["starts"].as_array().expect("ids").iter().filter_map(Value::as_u64).collect();
        starts.sort_unstable();
        assert_eq!(json!(starts), plan["batches"][of]);
    }
    world.experiment_with("[plan]\ntogether = 1\n", &[&probe("a", "null"), &probe("b", "null")]);
    world.run(&[]).end().assert_error(&["experiment.toml:", "`plan.together`", "2 to 64"]);
    assert!(world.run_folders().is_empty());
}
