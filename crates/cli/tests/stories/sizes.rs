//! Sizes spread over a range by whole runs: where a curve bends, later blocks ask for further sizes, and what is counted stays
//! of the same mix.

use std::collections::BTreeSet;
use std::fs;

use crate::support::{World, probe, told};
use serde_json::Value;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{TrialRecord, Void, WindowKind};
use weighbridge_store::{Participant, RunFolder, RunWriter, UtcTime};

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
            let of_further = samples.iter().filter(|row| cell(row, "kind") == "extra");
            let sizes: Vec<u64> = of_further.map(|row| number(row, "size_bytes")).collect();
            assert_eq!(sizes.len() as u64, theirs, "each is kept, and told from the others");
            assert!(sizes.iter().all(|size| further.contains(size)));
        }
        let summary = ended.json();
        let variants = summary["variants"].as_array().expect("variants");
        let counted: u64 = variants.iter().filter_map(|variant| variant["requests"].as_u64()).sum();
        assert_eq!(counted, measured, "what is counted is what was measured");
        let folder = RunFolder::open(world.run_folder()).expect("a run");
        let blocks = folder.load_blocks().expect("its record");
        true_throughput(&summary, &blocks);
        exported_without_further_sizes(&world, &blocks);
        exported_without_void_blocks(&world, &folder, blocks);
    });
}

/// Bodies of measured windows over their time, block by block.
fn true_throughput(summary: &Value, blocks: &[Vec<TrialRecord>]) {
    for (at, carried) in summary["carried"].as_array().expect("carried").iter().enumerate() {
        let throughput = |trial: &TrialRecord| {
            assert_eq!(trial.all_samples_left_out(WindowKind::Measured), 0, "few enough to be kept");
            let good =
                trial.samples.iter().filter(|sample| sample.is_measured(PointId(0)) && sample.is_good());
            let measured = trial.windows.iter().filter(|window| window.kind == WindowKind::Measured);
            let time = measured.map(|window| window.figures.ended.since(window.figures.started));
            let time: Nanoseconds = time.sum();
            good.map(|sample| sample.size.get() as f64).sum::<f64>() / time.as_secs_f64()
        };
        let truth = blocks.iter().map(|block| throughput(&block[at])).sum::<f64>() / blocks.len() as f64;
        let told = carried["bytes_per_s"]["point"].as_f64().expect("a figure");
        assert!((told / truth - 1.0).abs() < 1e-9, "{told} B/s, truly {truth}");
    }
}

/// A log of ppbench cannot say why a size was asked for.
fn exported_without_further_sizes(world: &World, blocks: &[Vec<TrialRecord>]) {
    let count = |kind: WindowKind| {
        let samples = blocks.iter().flatten().flat_map(|trial| &trial.samples);
        samples.filter(|sample| sample.kind == kind).count()
    };
    let run = world.run_folder().to_str().expect("a plain path").to_owned();
    let ended = world.weigh(&["export", &run, "--format", "ppbench-csv"]).end();
    assert_eq!(ended.stdout.lines().count(), 1 + count(WindowKind::Measured));
    let said = format!("without {} requests of further sizes", count(WindowKind::Extra));
    assert!(ended.stderr.contains(&said), "{ended}");
}

/// The same record with a service that died in the last block.
fn exported_without_void_blocks(world: &World, folder: &RunFolder, mut blocks: Vec<Vec<TrialRecord>>) {
    let void = blocks.last_mut().expect("blocks");
    void[0].void = Some(Void::ServiceDied("of age".to_owned()));
    let gone: usize = void.iter().map(|trial| trial.samples.len()).sum();
    let mut again =
        RunWriter::create(world.path("again"), "void", UtcTime::from_unix_ns(0)).expect("a folder");
    let out = again.folder().path().to_str().expect("a plain path").to_owned();
    again.write_experiment(&folder.experiment().expect("an experiment")).expect("written");
    again.write_environment(&folder.environment().expect("an environment")).expect("written");
    again.write_detail(&folder.detail().expect("a detail")).expect("written");
    again.write_summary(&folder.summary().expect("a summary")).expect("written");
    let names = ["smooth", "planted"];
    let participants: Vec<_> = (0..)
        .zip(names)
        .map(|(at, name)| Participant { variant: VariantId(at), name: name.to_owned() })
        .collect();
    for block in &blocks {
        again.write_block(&participants, block).expect("written");
    }
    drop(again);
    let ended = world.weigh(&["export", &out, "--format", "ppbench-csv"]).end();
    assert!(ended.stderr.contains(&format!("without {gone} requests of void blocks")), "{ended}");
    let counting = blocks[..blocks.len() - 1].iter().flatten().flat_map(|trial| &trial.samples);
    let counting = counting.filter(|sample| sample.is_measured(PointId(0))).count();
    assert_eq!(ended.stdout.lines().count(), 1 + counting);
}

#[test]
fn variants_that_are_sent_to_request_by_request_are_asked_for_no_further_sizes() {
    told(|| {
        let world = World::new();
        world.write("experiment.toml", &experiment("requests"));
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        assert_eq!(world.count("further-sizes"), 0);
        assert!(
            ended.says("`adaptive` asks for no further sizes") && ended.says("pairing `requests`"),
            "{ended}"
        );
    });
}
