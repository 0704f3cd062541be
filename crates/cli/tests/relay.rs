//! A service that passes requests on is one variant with its peer: started, told apart, recorded and ended together.

mod support;

use std::fs;
use std::path::Path;

use serde_json::Value;
use support::{World, service, told};

/// A catalogue of the Go service and of one whose toolchain nobody has.
fn catalogue(world: &World) -> std::path::PathBuf {
    let folder = world.path("services");
    fs::create_dir_all(&folder).expect("a folder");
    service::build("go");
    std::os::unix::fs::symlink(service::folder().join("go"), folder.join("go")).expect("a link");
    let text = fs::read_to_string(folder.join("go/service.toml")).expect("a service");
    let absent = text
        .replace("name = \"go\"", "name = \"absent\"")
        .replace("probe = [\"go\", \"version\"]", "probe = [\"frobnicate\"]");
    world.write("services/absent/service.toml", &absent);
    folder
}

fn trials(run: &Path) -> Vec<(Value, String)> {
    let folders = fs::read_dir(run.join("trials")).expect("trials");
    let read = |folder: std::path::PathBuf| {
        let text = |name: &str| fs::read_to_string(folder.join(name)).expect("a file");
        (serde_json::from_str(&text("trial.json")).expect("JSON"), text("resources.csv"))
    };
    folders.map(|entry| read(entry.expect("an entry").path())).collect()
}

/// Columns of `samples.csv` as numbers; text and empty cells are `None`.
fn samples(folder: &Path) -> Vec<Vec<Option<u64>>> {
    let text = fs::read_to_string(folder.join("samples.csv")).expect("samples");
    text.lines().skip(1).map(|line| line.split(',').map(|cell| cell.parse().ok()).collect()).collect()
}

#[test]
fn single_requests_of_a_relay_are_kept_with_their_sizes() {
    told(|| {
        let world = World::new();
        let services = catalogue(&world);
        world.experiment_with(
            "[tags]\nmachine = \"here\"\n[workload]\nname = \"pingpong\"\noperation = \"mping\"\n\
             sizes = { min = \"4 B\", max = \"20 kB\", number = 40 }\n",
            &["service = \"go\"\npeer = \"go\"", "name = \"other\"\nservice = \"go\"\npeer = \"go\""],
        );
        let home = std::env::var("HOME").expect("a home");
        let run = world.run(&["--tag", "zone=a"]);
        let run = run.env("WEIGH_SERVICES", services.to_str().expect("a plain path"));
        run.env("HOME", &home).end().assert_measured();
        summarised_and_exported(&world);
        let folder = weighbridge_store::RunFolder::open(world.run_folder()).expect("a run");
        let blocks = folder.load_blocks().expect("its record");
        let folders = world.run_folder().join("trials");
        let files: usize = (0..8).map(|at| samples(&folders.join(format!("{at:03}"))).len()).sum();
        assert_eq!(files, blocks.iter().flatten().map(|trial| trial.samples.len()).sum::<usize>());
        for block in &blocks {
            let [one, other] = &block[..] else { panic!("two variants") };
            let sizes = |trial: &weighbridge_model::record::TrialRecord| -> Vec<(u32, u64)> {
                trial.samples.iter().map(|sample| (sample.round, sample.size.get())).collect()
            };
            // One request in flight: they end in the order in which they are asked for.
            assert_eq!(sizes(one), sizes(other), "the same sizes in the same rounds");
            assert_eq!((one.samples_left_out(), other.samples_left_out()), (0, 0));
            // The first block begins where a passage does, the others within one.
            if one.block == 0 {
                let mut first: Vec<u64> = sizes(one).iter().take(40).map(|(_, size)| *size).collect();
                first.sort_unstable();
                first.dedup();
                assert_eq!(first.len(), 40, "none twice before all are through");
            }
            for sample in one.samples.iter().chain(&other.samples) {
                let relayed = sample.relayed.expect("a relay was asked");
                assert_eq!((sample.status, relayed.status, relayed.length), (Some(200), 200, sample.size));
                assert!(relayed.duration <= sample.service(), "{sample:?}");
            }
        }
    });
}

/// What other verbs make of the run: figures of the relay's own times, with their intervals, and rows of ppbench with the
/// run's tags.
fn summarised_and_exported(world: &World) {
    let run = world.run_folder().to_str().expect("a plain path").to_owned();
    let filters = ["--machine", "here", "--experiment", "go to go", "--tag", "zone=a"];
    let shown = world.weigh(&[&["summary", &run, "--format", "json"], &filters[..]].concat()).end().json();
    let [row] = &shown["rows"].as_array().expect("rows")[..] else { panic!("one is chosen: {shown}") };
    assert_eq!((&row["time"], &row["retried"], &row["failed"]), (&"relayed".into(), &0.into(), &0.into()));
    assert_eq!(row["tags"], serde_json::json!({ "machine": "here", "zone": "a" }));
    assert!(
        row["size_from_bytes"].as_u64() >= Some(4) && row["size_to_bytes"].as_u64() <= Some(20_000),
        "{row}"
    );
    for figure in ["median_ns", "transfer_median_bytes_per_s", "throughput_per_s"] {
        let [lower, point, upper] = ["lower", "point", "upper"].map(|key| row[figure][key].as_f64());
        assert!(lower < point && point < upper && point > Some(0.0), "{figure}: {row}");
    }
    let rows = world.weigh(&["export", &run, "--format", "ppbench-csv"]).end().stdout;
    let first = rows.lines().nth(1).expect("a row");
    assert!(first.starts_with("\"here\",\"go to go\",\"/mping/"), "{first}");
    assert_eq!(first.split("\",\"").nth(4), Some("1"), "one connection with one request in flight: {first}");
}

#[test]
fn a_relay_and_its_peer_are_one_variant() {
    told(|| {
        let world = World::new();
        let services = catalogue(&world);
        world.experiment_with(
            "",
            &[
                "service = \"go\"",
                "service = \"go\"\npeer = { service = \"go\", env = { GOGC = \"50\" } }",
                "service = \"go\"\npeer = \"absent\"",
            ],
        );
        // Toolchains are found by way of the user's home.
        let home = std::env::var("HOME").expect("a home");
        let run = world.run(&[]).env("WEIGH_SERVICES", services.to_str().expect("a plain path"));
        let ended = run.env("HOME", &home).end();
        ended.assert_measured();
        assert!(ended.says("`go to absent`") && ended.says("its peer `absent`: "), "{ended}");
        assert!(ended.says("install Go"), "the remedy: {ended}");
        let environment = world.json("environment.json");
        let version = environment["variants"][0]["version"].as_str().expect("its version");
        let peer = &environment["variants"][1]["peer"];
        assert_eq!((&peer["service"], &peer["version"]), (&"go".into(), &version.into()));
        assert_eq!(peer["binary_sha256"], environment["variants"][0]["binary_sha256"]);
        let trials = trials(&world.run_folder());
        assert_eq!(trials.len(), 8, "two variants in four blocks");
        for (trial, resources) in &trials {
            let relay = trial["variant"] == 1;
            assert_eq!(resources.contains(",peer,"), relay, "{resources}");
            assert!(resources.contains(",service,"), "{resources}");
            let peer = &trial["service"]["peer"];
            assert_eq!(peer["version"].as_str(), relay.then_some(version), "{trial}");
            assert_eq!(peer["start_ns"].as_u64().is_some_and(|time| time > 0), relay, "{trial}");
            assert_eq!(
                peer["runtime"]["threads"].as_u64().is_some_and(|threads| threads > 0),
                relay,
                "{trial}"
            );
        }
        let logs: Vec<_> = fs::read_dir(world.run_folder().join("logs")).expect("logs").flatten().collect();
        let named =
            |end: &str| logs.iter().filter(|log| log.file_name().to_string_lossy().ends_with(end)).count();
        assert_eq!((named("-1-peer-err.log"), named("-0-peer-err.log")), (4, 0));
        world.assert_nothing_left();
    });
}

/// What the suite's README says of its files is there, and every file is an experiment.
#[test]
fn every_suite_is_read_and_told_of() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites/pingpong");
    let page = fs::read_to_string(folder.join("README.md")).expect("a page");
    let files = fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path());
    let mut suites: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    suites.sort();
    assert_eq!(suites.len(), 5);
    for path in suites {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(page.contains(&format!("## {name}")), "{name}");
        let text = fs::read_to_string(&path).expect("a file");
        let experiment = weighbridge_model::experiment::Experiment::parse(&name, &text);
        experiment.unwrap_or_else(|error| panic!("{error}"));
    }
}
