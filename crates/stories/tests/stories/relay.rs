//! A service that passes requests on is one variant with its peer: started, told apart, recorded and ended together.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use serde_json::Value;
use weighbridge_model::record::samples::Sample;
use weighbridge_model::record::{ErrorKind, Outcome, TrialRecord};

use crate::support::{World, measuring, service};

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
    measuring(|| {
        let world = World::new();
        let services = catalogue(&world);
        world.experiment_with(
            "[tags]\nmachine = \"here\"\n[workload]\nname = \"pingpong\"\noperation = \"mping\"\n\
             sizes = { min = \"4 B\", max = \"20 kB\", number = 40 }\n",
            &[
                "service = \"go\"\npeer = \"go\"",
                "name = \"other\"\nservice = \"go\"\npeer = \"go\"",
                "name = \"alone\"\nservice = \"go\"",
            ],
        );
        let home = std::env::var("HOME").expect("a home");
        let run = world.run(&["--tag", "zone=a"]);
        let run = run.env("WEIGH_SERVICES", services.to_str().expect("a plain path"));
        run.env("HOME", &home).end().assert_measured();
        summarised_and_exported(&world);
        let folder = weighbridge_store::RunFolder::open(world.run_folder()).expect("a run");
        let blocks = folder.load_blocks().expect("its record");
        let folders = world.run_folder().join("trials");
        let files: usize = (0..12).map(|at| samples(&folders.join(format!("{at:03}"))).len()).sum();
        assert_eq!(files, blocks.iter().flatten().map(|trial| trial.samples.len()).sum::<usize>());
        for block in &blocks {
            let [one, other, alone] = &block[..] else { panic!("three variants") };
            let sizes = |trial: &TrialRecord| -> Vec<(u32, u64)> {
                trial.samples.iter().map(|sample| (sample.round, sample.size.get())).collect()
            };
            // One request in flight: they end in the order in which they are asked for.
            assert_eq!(sizes(one), sizes(other), "the same sizes in the same rounds");
            assert_eq!(sizes(one), sizes(alone), "of the peer alone too");
            assert!(
                alone.samples.iter().all(|sample| sample.relayed.is_none() && sample.length == sample.size)
            );
            let left_out = |trial: &TrialRecord| trial.all_samples_left_out();
            assert_eq!((left_out(one), left_out(other)), (0, 0));
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
        told_in_parts(&world.json("summary.json"), &blocks);
    });
}

/// The summary says where the time went: means of parts as the samples have them, the call cut by the peer alone.
fn told_in_parts(summary: &Value, blocks: &[Vec<TrialRecord>]) {
    let relays = summary["relays"].as_array().expect("relays");
    assert_eq!(relays.iter().map(|relay| &relay["variant"]).collect::<Vec<_>>(), ["go to go", "other"]);
    let mean = |relay: &Value, part: &str| {
        let parts = relay["parts"].as_array().expect("parts");
        let of = parts.iter().find(|one| one["part"] == part).unwrap_or_else(|| panic!("no {part}"));
        of["mean_ns"]["point"].as_f64().expect("a mean")
    };
    let over_blocks = |value: &dyn Fn(&[TrialRecord]) -> f64| {
        blocks.iter().map(|block| value(block)).sum::<f64>() / blocks.len() as f64
    };
    let in_block = |trial: &TrialRecord, value: &dyn Fn(&Sample) -> u64| {
        trial.samples.iter().map(|sample| value(sample) as f64).sum::<f64>() / trial.samples.len() as f64
    };
    let inside = |sample: &Sample| sample.relayed.map_or(0, |relayed| relayed.duration.as_nanos());
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
    for (at, relay) in relays.iter().enumerate() {
        assert_eq!(
            (&relay["direct"], &relay["failed"], &relay["retries"]),
            (&"alone".into(), &0.into(), &0.into())
        );
        let truth = over_blocks(&|block| in_block(&block[at], &inside));
        assert!(near(mean(relay, "inside"), truth), "{relay}");
        let server = over_blocks(&|block| in_block(&block[2], &|sample| sample.service().as_nanos()));
        assert!(near(mean(relay, "server"), server), "{relay}");
        assert!(near(mean(relay, "server") + mean(relay, "client"), truth), "{relay}");
        let sum: f64 = ["waiting", "outside", "inside"].iter().map(|part| mean(relay, part)).sum();
        assert!(near(mean(relay, "response"), sum), "{relay}");
        assert_eq!(relay["sizes"].as_array().map(Vec::len), Some(5), "powers of ten from 4 B to 20 kB");
    }
    assert!(relays[1]["parts"][2]["cost"]["verdict"].is_string() && relays[0]["parts"][2]["cost"].is_null());
}

/// A relay that tells of 1,000 bytes each time, but now and then of a refusal by its peer or of a repetition, answers 502,
/// or hangs up; from the 60th request of a connection on, so that it is found well. Each takes it a while: so few are asked
/// that all are kept.
fn flaky_relay() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(stream: TcpStream) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut replies = stream.try_clone().ok()?;
    let mut lines = BufReader::new(stream).lines();
    for number in 0_u64.. {
        while !lines.next()?.ok()?.is_empty() {}
        std::thread::sleep(std::time::Duration::from_micros(300));
        let is = |every: u64| number >= 60 && number.is_multiple_of(every);
        let (code, retries) = (if is(31) { 503 } else { 200 }, if is(13) { 2 } else { 0 });
        let status = if is(37) { "502 Bad Gateway" } else { "200 OK" };
        if is(401) {
            return None;
        }
        let body = format!("{{\"duration_ns\":1000,\"length\":1000,\"code\":{code},\"retries\":{retries}}}");
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        replies.write_all(format!("{head}{body}").as_bytes()).ok()?;
    }
    None
}

/// Failed and repeated requests are rows as all others are, and every count of the summary is one of these rows.
#[test]
fn failed_and_repeated_requests_are_counted_wherever_they_are_told() {
    measuring(|| {
        let world = World::new();
        let url = format!("url = \"http://{}\"", flaky_relay());
        world.experiment_with(
            "[workload]\nname = \"pingpong\"\noperation = \"mping\"\nsize = \"1000 B\"\n",
            &[&format!("name = \"relay\"\n{url}"), &format!("name = \"again\"\n{url}")],
        );
        let ended = world.run(&[]).end();
        let summary = world.json("summary.json");
        let folder = weighbridge_store::RunFolder::open(world.run_folder()).expect("a run");
        let blocks = folder.load_blocks().expect("its record");
        for (at, variant) in summary["variants"].as_array().expect("variants").iter().enumerate() {
            let trials = || blocks.iter().map(|block| &block[at]);
            let rows = || trials().flat_map(|trial| &trial.samples);
            let count = |wanted: &dyn Fn(&&Sample) -> bool| rows().filter(|row| wanted(row)).count() as u64;
            let failed_by = |kind| count(&|row| row.outcome == Outcome::Error(kind));
            let left_out: u64 = trials().map(|trial| trial.all_samples_left_out()).sum();
            let failed = count(&|row| !row.is_good());
            assert!(failed > 0, "{ended}");
            assert_eq!(variant["requests"].as_u64(), Some(rows().count() as u64 + left_out));
            assert_eq!(left_out, 0, "few enough to be kept");
            assert_eq!(variant["errors"].as_u64(), Some(failed));
            let by_kind = |kind: &str| variant["errors_by_kind"][kind].as_u64();
            assert_eq!(by_kind("status"), Some(failed_by(ErrorKind::Status)));
            assert_eq!(by_kind("reset"), Some(failed_by(ErrorKind::Reset)));
            assert!(failed_by(ErrorKind::Status) > 0 && failed_by(ErrorKind::Reset) > 0, "{ended}");
            let relay = &summary["relays"][at];
            let retries = rows().filter_map(|row| row.relayed).map(|relayed| u64::from(relayed.retries));
            assert_eq!(relay["retries"].as_u64(), Some(retries.clone().sum()));
            assert_eq!(
                relay["retried"].as_u64(),
                Some(retries.filter(|retries| *retries > 0).count() as u64)
            );
            assert!(relay["retries"].as_u64() > Some(0), "{ended}");
            let counts = [&relay["requests"], &relay["failed"]].map(Value::as_u64);
            assert_eq!(counts, [Some(count(&|row| row.is_good())), Some(failed)]);
        }
        assert!(ended.stdout.contains("where the time went"), "{ended}");
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
    // The service without a peer is asked for the bodies themselves.
    let alone = rows.lines().find(|row| row.contains("\"alone\"")).expect("its rows");
    assert!(alone.starts_with("\"here\",\"alone\",\"/pong/"), "{alone}");
}

#[test]
fn a_relay_and_its_peer_are_one_variant() {
    measuring(|| {
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

/// What a suite's README says of its files is there, and every file is an experiment.
#[test]
fn every_suite_is_read_and_told_of() {
    for (name, least) in [("pingpong", 6), ("layers", 9)] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../suites").join(name);
        let page = fs::read_to_string(folder.join("README.md")).expect("a page");
        let files = fs::read_dir(&folder).expect("a folder").flatten().map(|entry| entry.path());
        let suites: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
        assert!(suites.len() >= least, "{suites:?}");
        for path in suites {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            assert!(page.contains(&format!("## {name}")), "{name}");
            let text = fs::read_to_string(&path).expect("a file");
            let experiment = weighbridge_model::experiment::Experiment::parse(&name, &text);
            experiment.unwrap_or_else(|error| panic!("{error}"));
        }
    }
}
