//! A run that is repeated is divided into blocks as the one before it advises, also after it was cut and gone on with.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{World, measuring, probe, restate};

/// Has a finished run advise so many blocks.
fn advise(run: &Path, blocks: u32) {
    restate(run, "summary.json", |summary| {
        let spread =
            summary["spread"].as_array_mut().expect("a run of four blocks says where its spread is from");
        spread[0]["advice"] = json!({ "blocks": blocks, "rounds": 10, "now": 0.05, "then": 0.02 });
    });
}

fn plan(run: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(run.join("plan.json")).expect("a file")).expect("JSON")
}

#[test]
fn a_repeated_run_has_the_blocks_that_the_one_before_advises() {
    measuring(|| {
        let world = World::new();
        let blocks = "[plan]\nblocks = { min = 4, max = 8 }\nbudget = '2 s'";
        world.experiment_with(blocks, &[&probe("a", "null"), &probe("b", "null")]);
        world.run(&[]).end().assert_measured();
        let first = world.run_folder();
        assert_eq!(plan(&first)["division"], Value::Null);
        advise(&first, 5);

        let mut weigh = world.run(&[]).start();
        weigh.until("the second run's first block", |world| {
            let newest = world.run_folders().into_iter().find(|run| *run != first);
            newest.is_some_and(|run| fs::read_dir(run.join("blocks")).is_ok_and(|blocks| blocks.count() > 0))
        });
        weigh.end_by("KILL");
        crate::support::eventually("the guardian ends everything", || world.processes("").is_empty());
        let second = world.run_folders().into_iter().find(|run| *run != first).expect("a second run");
        let name = first.file_name().expect("a name").to_string_lossy().into_owned();
        assert_eq!(plan(&second)["division"], json!({ "blocks": 5, "run": name }));

        let second = second.to_str().expect("UTF-8").to_owned();
        let ended = world.weigh(&["run", "--resume", &second]).end();
        ended.assert_measured();
        assert!(ended.says("divided into 5 blocks, as run"), "{ended:?}");
        let summary: Value = serde_json::from_str(
            &fs::read_to_string(Path::new(&second).join("summary.json")).expect("a file"),
        )
        .expect("JSON");
        assert_eq!(summary["blocks"]["used"], 5);
    });
}
