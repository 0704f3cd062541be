//! `weigh calibrate` as a whole: copies are run, what is found is kept and quoted, an interrupted one leaves nothing. No
//! claim is made of the host.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{World, experiment, measuring, probe};

/// Calibrations that the world keeps.
fn kept(world: &World) -> Vec<PathBuf> {
    let hosts = fs::read_dir(world.path("state/weighbridge/calibration"));
    let folders = hosts.into_iter().flatten().map(|entry| entry.expect("an entry").path());
    folders
        .flat_map(|host| fs::read_dir(host).expect("a folder").map(|e| e.expect("an entry").path()))
        .collect()
}

/// One calibration with the least budget: a run of each kind. `TMPDIR` is the world's own.
fn calibrated(world: &World, more: &[&str]) -> Value {
    fs::create_dir_all(world.path("tmp")).expect("a folder");
    let arguments = [&["calibrate", "--budget", "1ms", "--format", "json"], more].concat();
    let tmp = world.path("tmp");
    let ended = world.weigh(&arguments).env("TMPDIR", tmp.to_str().expect("UTF-8")).end();
    ended.assert_code(0);
    assert_eq!(fs::read_dir(&tmp).expect("a folder").count(), 0, "its runs are removed: {ended}");
    world.assert_nothing_left();
    ended.json()
}

/// A share with its interval, or runs that were lost to a disturbed host instead.
fn assert_share(share: &Value, lost: &Value) {
    if share.is_null() {
        assert!(lost.as_u64() > Some(0), "neither counted nor lost");
        return;
    }
    let at = |key: &str| share[key].as_f64().expect("a number");
    assert!(at("of") >= 1.0 && at("hits") <= at("of"), "{share}");
    assert!(
        0.0 <= at("lower") && at("lower") <= at("point") && at("point") <= at("upper") && at("upper") <= 1.0
    );
}

#[test]
fn a_variant_is_run_beside_copies_of_itself_and_later_runs_quote_it() {
    measuring(|| {
        let world = World::new();
        world.experiment(&[&probe("a", "delay 20us"), &probe("b", "delay 30us")]);
        let found = calibrated(&world, &["--experiment", "experiment.toml"]);
        assert_eq!((&found["experiment"], &found["headline"]), (&"story".into(), &"response_p50".into()));
        let variants = found["variants"].as_array().expect("variants");
        assert_eq!(variants.len(), 1, "the baseline alone");
        let variant = &variants[0];
        assert_eq!((&variant["variant"], &variant["blocks"]), (&"a".into(), &4.into()));
        assert_share(&variant["false_alarms"], &variant["lost"]);
        let planted = &variant["planted"];
        if !planted.is_null() {
            assert_eq!(planted["planting"], "hold-back");
            assert!(planted["asked_ns"].as_u64() >= Some(300), "{planted}");
            // One connection, one in flight: the truth is known, and never below what was asked by more than a reading.
            assert!(planted["truth_ns"].as_f64() > Some(200.0), "{planted}");
            assert_share(&planted["found"], &variant["lost"]);
        }
        for spread in variant["quantities"].as_array().expect("quantities") {
            let parts = !spread["start"].is_null();
            let times = spread["detectable"].as_array().expect("a list").len();
            assert_eq!(times, if parts { 3 } else { 1 }, "{spread}");
        }
        let noise = found["noise"].as_array().expect("a list");
        assert_eq!(noise.len(), 7, "{noise:?}");
        for source in noise {
            let unavailable = source["evidence"].as_str().expect("text").starts_with("unavailable: ");
            assert_eq!(source["value"].is_null(), unavailable, "{source}");
        }

        let files = kept(&world);
        assert_eq!(files.len(), 1, "{files:?}");
        let stored: Value = serde_json::from_slice(&fs::read(&files[0]).expect("a file")).expect("JSON");
        assert_eq!(stored, found);
        assert_eq!(
            files[0].parent().and_then(|p| p.file_name()).and_then(|n| n.to_str()),
            stored["host"]["key"].as_str()
        );

        let ended = world.run(&["--details"]).end();
        ended.assert_measured();
        assert!(ended.stdout.contains("this host, calibrated just now with story"), "{ended}");
        let quote = &world.json("summary.json")["calibration"];
        assert_eq!((&quote["experiment"], &quote["started"]), (&found["experiment"], &found["started"]));
        assert_eq!(quote["false_alarms"], variant["false_alarms"]);
        assert_eq!(quote["changed"], serde_json::json!([]));
        let page = fs::read_to_string(world.run_folder().join("report.html")).expect("a page");
        assert!(page.contains("This host, calibrated"), "the page quotes it too");
        let doctor = world.weigh(&["doctor", "--details"]).end();
        assert!(doctor.stdout.contains("calibration"), "{doctor}");
        assert!(doctor.stdout.contains("with story"), "{doctor}");
    });
}

#[test]
fn of_several_points_the_one_that_is_asked_for_is_calibrated_and_named() {
    measuring(|| {
        let world = World::new();
        let points =
            "[matrix]\nworkload.size = [\"64 B\", \"1 KiB\"]\n[plan]\nblocks = { min = 4, max = 4 }\n";
        world.write("experiment.toml", &experiment(points, &[&probe("a", "null")]));
        let found = calibrated(&world, &["--experiment", "experiment.toml", "--point", "2", "--no-keep"]);
        // The headline of the experiment's runs is the first point's, so they must not take this for theirs.
        assert_eq!(found["experiment"], "story at workload.size = 1 KiB");
        let conditions = found["conditions"].as_str().expect("text");
        assert!(conditions.starts_with("pingpong 1 KiB; "), "{conditions}");
        assert!(conditions.ends_with("; point 2 of 2: workload.size = 1 KiB"), "{conditions}");
    });
}

#[test]
fn without_an_experiment_a_probe_of_our_own_is_made_slower() {
    measuring(|| {
        let world = World::new();
        let found = calibrated(&world, &["--delta", "50us", "--no-keep"]);
        assert_eq!(found["experiment"], "built-in probe");
        let variant = &found["variants"][0];
        assert_eq!(variant["variant"], "probe");
        let planted = &variant["planted"];
        if !planted.is_null() {
            assert_eq!((&planted["planting"], &planted["asked_ns"]), (&"probe".into(), &50_000.into()));
            // What the probe recorded of itself.
            assert!(planted["truth_ns"].as_f64() >= Some(50_000.0), "{planted}");
        }
        assert!(kept(&world).is_empty(), "nothing was to be kept");
        let doctor = world.weigh(&["doctor", "--details"]).end();
        assert!(doctor.stdout.contains("run `weigh calibrate`"), "{doctor}");
    });
}

#[test]
fn an_interrupted_calibration_keeps_nothing_and_leaves_nothing() {
    let world = World::new();
    world.experiment(&[&probe("a", "null")]);
    fs::create_dir_all(world.path("tmp")).expect("a folder");
    let tmp = world.path("tmp");
    let start = world.weigh(&["calibrate", "--experiment", "experiment.toml", "--budget", "10min"]);
    let mut weigh = start.env("TMPDIR", tmp.to_str().expect("UTF-8")).start();
    weigh.until("a run is under way", |world| !world.processes("probe").is_empty());
    let ended = weigh.end_by("INT");
    ended.assert_error(&["interrupted", "keeps nothing"]);
    assert!(ended.stdout.is_empty() && kept(&world).is_empty(), "{ended}");
    assert_eq!(fs::read_dir(&tmp).expect("a folder").count(), 0, "{ended}");
    world.assert_nothing_left();
}

#[test]
fn a_copy_that_cannot_be_started_is_one_error() {
    let world = World::idle();
    world.write("experiment.toml", &experiment("", &["name = \"x\"\ncommand = [\"/nonexistent\"]"]));
    let ended = world.weigh(&["calibrate", "--experiment", "experiment.toml"]).end();
    ended.assert_error(&["`x`", "/nonexistent"]);
    assert!(kept(&world).is_empty());
    world.assert_nothing_left();
}

#[test]
fn wrong_ways_to_ask_are_told_apart() {
    let world = World::idle();
    world.experiment(&[&probe("a", "null"), &probe("b", "null")]);
    let points = "[matrix]\nworkload.size = [\"64 B\", \"1 KiB\"]\n";
    world.write("points.toml", &experiment(points, &[&probe("a", "null")]));
    for (arguments, words) in [
        (&["--budget", "0s"][..], &["`--budget` must be above zero"][..]),
        (&["--delta", "0s"], &["`--delta` must be above zero"]),
        (&["--budget", "soon"], &["'--budget", "`soon`"]),
        (&["--only", "a"], &["--experiment"]),
        (&["--requests", "5"], &["--generator"]),
        (&["--generator", "--experiment", "experiment.toml"], &["--generator", "--experiment"]),
        (&["--experiment", "absent.toml"], &["`absent.toml`", "weigh init"]),
        (&["--experiment", "experiment.toml", "--only", "c"], &["`--only c`", "`a`, `b`"]),
        (&["--point", "2"], &["--experiment"]),
        (&["--experiment", "experiment.toml", "--point", "2"], &["`--point 2`", "there is 1"]),
        (&["--experiment", "experiment.toml", "--point", "0"], &["`--point 0`"]),
        (
            &["--experiment", "points.toml", "--point", "3"],
            &["1 (workload.size = 64 B), 2 (workload.size = 1 KiB)"],
        ),
        (&["--format", "html"], &["`html`", "`json`"]),
    ] {
        let ended = world.weigh(&[&["calibrate"], arguments].concat()).end();
        assert_eq!(ended.code, Some(2), "{ended}");
        for word in words {
            assert!(ended.says(word), "`{word}` is not in {ended}");
        }
        assert!(ended.stdout.is_empty() && kept(&world).is_empty(), "{ended}");
    }
    let homeless = world.weigh(&["calibrate"]).env("HOME", "").env("XDG_STATE_HOME", "").end();
    homeless.assert_error(&["XDG_STATE_HOME", "--no-keep"]);
}
