//! Sizes spread over a range by whole runs: where a curve bends, later blocks ask for further sizes, and what is counted stays
//! of the same mix.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{World, probe, told};
use serde_json::Value;

/// A step above so many bytes, forty times what a request else takes.
const STEP: u64 = 87_380;

/// Two probes, of which one has the step; 300 sizes, and half as many again where something is suspected.
fn experiment(pairing: &str) -> String {
    format!(
        "title = \"further sizes\"\n\
         [workload]\nname = \"pingpong\"\n\
         sizes = {{ min = \"4 B\", max = \"500 kB\", spacing = \"log\", number = 300, adaptive = \"50 %\" }}\n\
         [load]\nconnections = 1\nwarmup = \"20 ms\"\n\
         [plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = \"4 s\"\npairing = \"{pairing}\"\n\
         [[variant]]\n{}\n[[variant]]\n{}\n",
        probe("smooth", "cliff --step 0ms --base 50us"),
        probe("planted", "cliff --step 2ms --base 50us")
    )
}

/// The sizes of an event `further-sizes`.
fn sizes(event: &Value) -> Vec<u64> {
    let sizes = event["sizes_bytes"].as_array().expect("sizes");
    sizes.iter().map(|size| size.as_u64().expect("a size")).collect()
}

/// The rows of a table of a trial, each a list of its cells by the names of the head.
fn rows(path: &std::path::Path) -> Vec<Vec<(String, String)>> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    lines.map(|cells| head.iter().cloned().zip(cells).collect()).collect()
}

fn cell<'r>(row: &'r [(String, String)], name: &str) -> &'r str {
    row.iter().find(|(head, _)| head == name).map_or_else(|| panic!("no column `{name}`"), |(_, cell)| cell)
}

fn number(row: &[(String, String)], name: &str) -> u64 {
    cell(row, name).parse().expect("a number")
}

#[test]
fn where_a_curve_bends_later_blocks_ask_for_further_sizes_that_no_other_figure_counts() {
    told(|| {
        let world = World::new();
        world.write("experiment.toml", &experiment("windows"));
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        let events = world.events();
        let asked: Vec<&Value> = events.iter().filter(|event| event["event"] == "further-sizes").collect();
        let blocks: Vec<u64> = asked.iter().filter_map(|event| event["block"].as_u64()).collect();
        assert_eq!(blocks, [2, 3], "the first two are scouts: {ended}");
        let further: Vec<Vec<u64>> = asked.into_iter().map(sizes).collect();
        for sizes in &further {
            let near = sizes.iter().any(|size| (STEP * 9 / 10..STEP * 11 / 10).contains(size));
            assert!(near, "nothing near the step: {sizes:?}");
        }
        assert_ne!(further[0], further[1], "others in every block");
        let further: BTreeSet<u64> = further.concat().into_iter().collect();
        let mut measured = 0;
        for trial in fs::read_dir(world.run_folder().join("trials")).expect("trials") {
            let trial = trial.expect("a trial").path();
            let windows = rows(&trial.join("windows.csv"));
            let extra: Vec<_> = windows.iter().filter(|row| cell(row, "kind") == "extra").collect();
            let block = number(&windows[0], "block");
            assert_eq!(!extra.is_empty(), block >= 2, "block {block}");
            measured += windows
                .iter()
                .filter(|row| cell(row, "kind") == "measured")
                .map(|row| number(row, "requests"))
                .sum::<u64>();
            let samples = rows(&trial.join("samples.csv"));
            let theirs = extra.iter().map(|row| number(row, "requests")).sum::<u64>();
            let found = samples.iter().filter(|row| further.contains(&number(row, "size_bytes"))).count();
            assert!(found as u64 >= theirs, "{found} samples of further sizes, {theirs} requests");
        }
        let summary = ended.json();
        let variants = summary["variants"].as_array().expect("variants");
        let counted: u64 = variants.iter().filter_map(|variant| variant["requests"].as_u64()).sum();
        assert_eq!(counted, measured, "what is counted is what was measured");
    });
}

#[test]
fn variants_that_are_sent_to_request_by_request_are_asked_for_no_further_sizes() {
    told(|| {
        let world = World::new();
        world.write("experiment.toml", &experiment("requests"));
        world.run(&["--format", "json"]).end().assert_measured();
        assert_eq!(world.count("further-sizes"), 0);
    });
}
