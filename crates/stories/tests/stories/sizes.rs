//! Sizes spread over a range by whole runs: what is counted and exported.

use serde_json::Value;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{TrialRecord, Void, WindowKind};
use weighbridge_store::{Participant, RunFolder, RunWriter, UtcTime};

use crate::support::{World, measuring, probe};

#[test]
fn bytes_carried_and_rows_exported_are_those_of_the_measured_windows() {
    measuring(|| {
        let world = World::new();
        let experiment = format!(
            "title = \"sizes\"\n\
             [workload]\nname = \"pingpong\"\n\
             sizes = {{ min = \"4 B\", max = \"500 kB\", spacing = \"log\", number = 300 }}\n\
             [load]\nconnections = 1\nwarmup = \"20 ms\"\n\
             [plan]\nblocks = {{ min = 3, max = 3 }}\nbudget = \"2 s\"\n\
             [[variant]]\n{}\n[[variant]]\n{}\n",
            probe("smooth", "cliff --step 0ms --base 50us"),
            probe("planted", "cliff --step 2ms --base 50us")
        );
        world.write("experiment.toml", &experiment);
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        let folder = RunFolder::open(world.run_folder()).expect("a run");
        let blocks = folder.load_blocks().expect("its record");
        true_throughput(&ended.json(), &blocks);
        exported_without_void_blocks(&world, &folder, blocks);
    });
}

/// Bodies of measured windows over their time, block by block.
fn true_throughput(summary: &Value, blocks: &[Vec<TrialRecord>]) {
    for (at, carried) in summary["carried"].as_array().expect("carried").iter().enumerate() {
        let throughput = |trial: &TrialRecord| {
            assert_eq!(trial.all_samples_left_out(), 0, "few enough to be kept");
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

/// Of a record with a service that died in the last block.
fn exported_without_void_blocks(world: &World, folder: &RunFolder, mut blocks: Vec<Vec<TrialRecord>>) {
    let void = blocks.last_mut().expect("blocks");
    void[0].void = Some(Void::ServiceDied("of age".to_owned()));
    let gone: usize = void.iter().map(|trial| trial.samples.len()).sum();
    let mut again =
        RunWriter::create(world.path("again"), "void", UtcTime::from_unix_ns(0)).expect("a folder");
    let out = again.folder().path().to_str().expect("a plain path").to_owned();
    again.write_experiment(&folder.experiment().expect("an experiment")).expect("written");
    again.write_environment(&folder.environment().expect("an environment")).expect("written");
    let names = ["smooth", "planted"];
    let participants: Vec<_> = (0..)
        .zip(names)
        .map(|(at, name)| Participant { variant: VariantId(at), name: name.to_owned() })
        .collect();
    for block in &blocks {
        again.write_block(&participants, block).expect("written");
    }
    again.write_detail(&folder.detail().expect("a detail")).expect("written");
    again.write_summary(&folder.summary().expect("a summary")).expect("written");
    drop(again);
    let ended = world.weigh(&["export", &out, "--format", "ppbench-csv"]).end();
    assert!(ended.stderr.contains(&format!("without {gone} requests of void blocks")), "{ended}");
    let counting = blocks[..blocks.len() - 1].iter().flatten().flat_map(|trial| &trial.samples);
    let counting = counting.filter(|sample| sample.is_measured(PointId(0))).count();
    assert_eq!(ended.stdout.lines().count(), 1 + counting);
}
