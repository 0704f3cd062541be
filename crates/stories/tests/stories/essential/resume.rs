//! Stories of runs that are gone on with: what may be continued is, what may not be is refused in words, and nothing
//! that was measured is lost or counted twice.

use std::fs;
use std::path::Path;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{Ended, World, measuring, probe, restate};

/// A run that was killed after its first block, with its folder as text.
fn killed_run(world: &World, variants: &[&str]) -> String {
    world.experiment(variants);
    let mut weigh = world.run(&[]).start();
    weigh.until_event("block-ended", 1);
    weigh.end_by("KILL");
    crate::support::eventually("the guardian ends everything", || world.processes("").is_empty());
    world.run_folder().to_str().expect("UTF-8").to_owned()
}

fn resume(world: &World, run: &str) -> Ended {
    world.weigh(&["run", "--resume", run]).end()
}

/// Changes a JSON file of a run.
fn edit(run: &str, file: &str, change: impl Fn(&mut Value)) {
    let path = Path::new(run).join(file);
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).expect("a file")).expect("JSON");
    change(&mut value);
    fs::write(path, value.to_string()).expect("a file");
}

/// Every file of a run's record, with the digest of its content.
fn record(run: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for part in ["blocks", "trials/000", "trials/001", "."] {
        let folder = Path::new(run).join(part);
        for entry in fs::read_dir(&folder).expect("a folder").filter_map(Result::ok) {
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.path().is_file() && !["lock", "events.jsonl", "report.html"].contains(&&*name) {
                let digest = Sha256::digest(fs::read(entry.path()).expect("a file"));
                files.push((format!("{part}/{name}"), format!("{digest:x}")));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_run_is_refused_on_another_boot_host_or_build_and_left_as_it_is() {
    measuring(|| {
        let world = World::new();
        let run = killed_run(&world, &[&probe("a", "null"), &probe("b", "null")]);
        let folder = Path::new(&run);
        let original = fs::read_to_string(folder.join("environment.json")).expect("a file");
        for (pointer, words) in [
            ("/host/boot_id", "the machine was started again"),
            ("/host/hostname_sha256", "another machine"),
            ("/weigh/executable_sha256", "another build of `weigh`"),
            ("/variants/1/binary_sha256", "the program of variant `b` has changed"),
        ] {
            restate(folder, "environment.json", |value| {
                *value.pointer_mut(pointer).expect("a fact") = Value::String("other".to_owned());
            });
            let before = record(&run);
            resume(&world, &run).assert_error(&[&run, "cannot go on", words, "start it anew"]);
            assert_eq!(record(&run), before, "a refusal changes nothing");
            restate(folder, "environment.json", |value| {
                *value = serde_json::from_str(&original).expect("JSON");
            });
        }
        resume(&world, &run).assert_measured();
        assert_eq!(world.json("summary.json")["costs"][0]["ratio"]["blocks"], 4);
        // Only the killed run's registry is left, for the doctor.
        assert_eq!(world.registries().len(), 1);
    });
}

#[test]
fn a_program_that_was_built_anew_is_noticed() {
    measuring(|| {
        let world = World::new();
        let server = world.script("server", &format!("exec '{}' probe null", crate::support::WEIGH));
        let run = killed_run(&world, &[&format!("name = \"a\"\n{server}"), &probe("b", "null")]);
        world.script("server", &format!("# built anew\nexec '{}' probe null", crate::support::WEIGH));
        resume(&world, &run).assert_error(&["the program of variant `a` has changed"]);
    });
}

#[test]
fn a_run_goes_on_from_another_folder_with_its_own_services() {
    measuring(|| {
        let world = World::new();
        let text = "name = \"mine\"\nlanguage = \"Shell\"\n\
                freeze = \"safe\"\n[workloads]\npingpong = [\"http1-json\"]\n[toolchain]\nprobe = [\"true\"]\nremedy = \"none\"\n\
                [build]\ncommand = [\"true\"]\n[start]\ncommand = [\"./run\"]\n";
        world.write("services/mine/service.toml", text);
        let run = format!(
            "if [ \"$1\" = --version ]; then echo Shell 1 sh 1; exit; fi\nexec '{}' probe null",
            crate::support::WEIGH
        );
        world.script("services/mine/run", &run);
        let run = killed_run(&world, &["service = \"mine\"", "name = \"again\"\nservice = \"mine\""]);
        let elsewhere = World::idle();
        let ended = world.weigh(&["run", "--resume", &run]).folder(&elsewhere.path("")).end();
        ended.assert_measured();
        assert_eq!(world.count("block-ended"), 4);
    });
}

#[test]
fn only_one_process_writes_a_run() {
    measuring(|| {
        let world = World::new();
        world.experiment(&[&probe("a", "null")]);
        let mut weigh = world.run(&[]).start();
        weigh.until_event("started", 1);
        let run = world.run_folder().to_str().expect("UTF-8").to_owned();
        let ended = resume(&world, &run);
        ended.assert_error(&[&run, "is being written by process", &weigh.pid().to_string()]);
        weigh.end().assert_measured();
        world.assert_nothing_left();
    });
}

#[test]
fn a_run_that_has_ended_gives_its_verdicts_again_and_measures_nothing() {
    measuring(|| {
        let world = World::new();
        world.experiment(&[&probe("a", "null"), &probe("b", "delay 20us")]);
        let first = world.run(&["--format", "json"]).end();
        first.assert_measured();
        let run = world.run_folder().to_str().expect("UTF-8").to_owned();
        let before = record(&run);
        let again = world.weigh(&["run", "--resume", &run, "--format", "json"]).end();
        again.assert_measured();
        assert!(again.says("had ended already"), "{again}");
        assert_eq!(again.json()["costs"], first.json()["costs"]);
        assert_eq!(record(&run), before);
        assert_eq!(world.count("block-started"), 4);
    });
}

#[test]
fn a_run_whose_secrets_were_not_stored_cannot_go_on() {
    measuring(|| {
        let world = World::new();
        let secret = format!("{}\nenv = {{ API_TOKEN = \"swordfish\" }}", probe("a", "null"));
        let run = killed_run(&world, &[&secret, &probe("b", "null")]);
        for file in ["experiment.toml", "plan.json", "environment.json", "events.jsonl"] {
            let text = fs::read_to_string(Path::new(&run).join(file)).expect("a file");
            assert!(!text.contains("swordfish"), "{file}");
        }
        resume(&world, &run).assert_error(&["holds values that were not stored", "start it anew"]);
        // Taken from the environment, a secret is nobody's business and the run can go on.
        let world = World::idle();
        let variant = format!("{}\nenv = {{ API_TOKEN = \"env:STORY_TOKEN\" }}", probe("a", "null"));
        world.experiment(&[&variant, &probe("b", "null")]);
        world.run(&[]).end().assert_error(&["`API_TOKEN`", "`env:STORY_TOKEN`", "not set", "export it"]);
        assert!(world.run_folders().is_empty());
        let mut weigh = world.run(&[]).env("STORY_TOKEN", "swordfish").start();
        weigh.until_event("block-ended", 1);
        weigh.end_by("INT");
        let run = world.run_folder().to_str().expect("UTF-8").to_owned();
        world.weigh(&["run", "--resume", &run]).env("STORY_TOKEN", "swordfish").end().assert_measured();
        world.assert_nothing_left();
    });
}

#[test]
fn half_a_block_is_measured_again_under_its_own_number() {
    measuring(|| {
        let world = World::new();
        let run = killed_run(&world, &[&probe("a", "null"), &probe("b", "null")]);
        // A trial that was written when its block was not yet whole, as a power cut would leave it.
        let trial = Path::new(&run).join("trials");
        fs::create_dir(trial.join("002")).expect("a folder");
        fs::write(trial.join("002/trial.json"), "{").expect("a file");
        fs::create_dir(trial.join(".003.partial")).expect("a folder");
        resume(&world, &run).assert_measured();
        let blocks = world.json("summary.json")["costs"][0]["ratio"]["blocks"].clone();
        assert_eq!(blocks, 4);
        assert!(!trial.join(".003.partial").exists());
        let started: Vec<u64> = world
            .events()
            .iter()
            .filter(|event| event["event"] == "block-started")
            .filter_map(|event| event["block"].as_u64())
            .collect();
        assert!(started.windows(2).all(|pair| pair[0] <= pair[1]), "{started:?}");
        assert_eq!(started.iter().filter(|block| **block == 0).count(), 1, "the whole block is not repeated");
    });
}

#[test]
fn a_damaged_record_is_named_and_not_used() {
    let world = World::idle();
    let run = killed_run(&world, &[&probe("a", "null"), &probe("b", "null")]);
    edit(&run, "trials/000/trial.json", |value| value["steal"] = 0.01.into());
    resume(&world, &run).assert_error(&["trials/000", "changed after the run"]);
    fs::write(Path::new(&run).join("run.json"), "{ not json").expect("a file");
    resume(&world, &run).assert_error(&["run.json", "line 1"]);
}
