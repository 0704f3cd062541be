//! Stories of two variants that run at the same time, each on cores of its own, and of what refuses to.
//!
//! A duet needs four cores. So that all of it is told on smaller machines too, runs are conducted here, as the verb does it,
//! with lanes that share cores; figures of such a run say of themselves that they are suspect, and only what is large is
//! looked for in them. No experiment file can ask for that.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use weighbridge_conductor::run::{Finished, RunError, resume, run};
use weighbridge_conductor::{Checked, Control, Options};
use weighbridge_lab::host::cores::{CoreLayout, Pinned};
use weighbridge_lab::host::lanes::Lanes;
use weighbridge_model::estimate::Quantity;
use weighbridge_model::event::{Event, TimedEvent};
use weighbridge_model::experiment::Experiment;
use weighbridge_model::id::VariantId;
use weighbridge_model::pairing::Pairing;
use weighbridge_model::record::{TrialRecord, Void, WindowEnd, WindowKind, WindowRecord};

use crate::support::{WEIGH, World, eventually, experiment, measuring, note_disturbance, probe, send};

/// Short blocks of a duet.
const PLAN: &str = "[plan]\nblocks = { min = 2, max = 2 }\nbudget = \"4 s\"\npairing = \"duet\"\n";

/// Both clients on the last core, both services on the others.
fn on_one_side() -> Lanes {
    let layout = CoreLayout::detect().expect("cores");
    let lane = || (layout.client(), layout.service().to_vec());
    Lanes::sharing([lane(), lane()])
}

/// Each service beside the other's client; where there is only one core, all on that.
fn crossed() -> Lanes {
    let layout = CoreLayout::detect().expect("cores");
    let (one, other) = (layout.client(), layout.service()[0]);
    Lanes::sharing([(one, vec![other]), (other, vec![one])])
}

fn options(world: &World, lanes: Lanes) -> Options {
    Options {
        out: world.path("runs"),
        quick: false,
        measured_budget: false,
        allow_remote: false,
        guardian: (WEIGH.into(), "guardian".to_owned()),
        experiment_folder: None,
        connect_to: None,
        hold_back: None,
        lanes: Some(lanes),
        calibrations: None,
        control: Control::default(),
    }
}

fn checked(experiment: Experiment, options: &Options) -> Checked {
    Checked::new(experiment, options).expect("no mistake")
}

fn duet(more: &str, laws: [&str; 2]) -> Experiment {
    let text = experiment(&format!("{PLAN}{more}"), &[&probe("one", laws[0]), &probe("two", laws[1])]);
    Experiment::parse("experiment.toml", &text).expect("an experiment")
}

fn trials(finished: &Finished) -> Vec<TrialRecord> {
    finished.folder.load_blocks().expect("its record").into_iter().flatten().collect()
}

fn windows_of_kind(trial: &TrialRecord, kind: WindowKind) -> impl Iterator<Item = &WindowRecord> {
    trial.windows.iter().filter(move |window| window.kind == kind)
}

/// Processes of anybody whose command line holds these words.
fn processes(words: &str) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").expect("/proc").filter_map(|entry| {
        let entry = entry.ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(words).then(|| entry.file_name().to_str()?.parse().ok())?
    });
    pids.collect()
}

/// Listens for blocks that the hypervisor spoils.
fn watch(timed: &TimedEvent) {
    if let Event::BlockVoid { reason, .. } = &timed.event {
        note_disturbance(reason);
    }
}

/// What every round of a duet is: both at once, on either set of cores in turn, after a lead-in of either.
fn assert_rounds(one: &TrialRecord, two: &TrialRecord) {
    let measured = |trial| windows_of_kind(trial, WindowKind::Measured).collect::<Vec<_>>();
    let (ones, twos) = (measured(one), measured(two));
    assert!(ones.len() >= 10 && ones.len().is_multiple_of(2) && ones.len() == twos.len());
    for (a, b) in ones.iter().zip(&twos) {
        assert_eq!((a.round, a.position + b.position), (b.round, 1), "each has its own cores");
        let overlap = a.figures.started < b.figures.ended && b.figures.started < a.figures.ended;
        assert!(overlap, "at the same time: {:?} {:?}", a.figures, b.figures);
        for window in [a, b] {
            assert_eq!((window.figures.end, window.figures.errors.total()), (WindowEnd::Complete, 0));
            assert_eq!(window.cpu.len(), 1, "CPU time of the round");
            assert!(window.cpu[0].requests > window.figures.requests, "its lead-in counts");
            assert!(window.figures.health.wall >= window.figures.ended.since(window.figures.started));
        }
    }
    for swapped in ones.chunks(2) {
        assert_eq!(swapped[0].position + swapped[1].position, 1, "two rounds, either set of cores");
    }
    for trial in [one, two] {
        assert_eq!(trial.pairings, [Pairing::Duet]);
        let rounds = measured(trial).len() + windows_of_kind(trial, WindowKind::Check).count();
        assert_eq!(windows_of_kind(trial, WindowKind::LeadIn).count(), rounds, "one for each window");
        let requests: u64 = measured(trial).iter().map(|window| window.figures.requests).sum();
        assert_eq!(trial.tallies[0].ok().0.len(), requests, "each client's requests are tallied");
        assert!(!trial.tallies[0].lag.is_empty() && !trial.tallies[0].loop_delay.is_empty(), "self-checks");
        assert!(trial.machine.is_some_and(|machine| machine.generator > Default::default()));
    }
}

#[test]
fn a_large_difference_is_found_in_its_direction() {
    measuring(|| {
        let world = World::new();
        let options = options(&world, on_one_side());
        // Before every answer they sleep for so long: on a core that both share, nobody is in the other's way.
        let sleeps = |us: u32| format!("periodic-stall --every {}us --length {us}us", us + 1);
        let laws = [sleeps(300), sleeps(1_200)];
        let finished = run(checked(duet("", [&laws[0], &laws[1]]), &options), &options, &mut watch)
            .expect("it is measured");
        let trials = trials(&finished);
        assert_eq!(trials.len(), 4, "two variants in two blocks");
        for block in trials.chunks(2) {
            assert_rounds(&block[0], &block[1]);
        }
        let summary = &finished.summary;
        let row = |quantity| summary.costs.iter().find(|cost| cost.quantity == quantity).expect("a row");
        let p50 = row(Quantity::ResponseP50).ratio.expect("a ratio");
        // Four times was planted; waking up comes to both.
        assert!(p50.point > 1.3, "{p50:?}");
        assert_eq!(p50.blocks, 2);
        let throughput = row(Quantity::Throughput).ratio.expect("each has its own time");
        assert!(throughput.point < 1.0, "{throughput:?}");
        assert_eq!(summary.pairings[0].pairing, Pairing::Duet);
        let found = |name: &str| summary.findings.iter().any(|finding| finding.name == name);
        assert!(
            found("shared core") && !found("not paired") && !found("carry-over"),
            "{:?}",
            summary.findings
        );
    });
}

/// In open load, with services that move from core to core.
#[test]
fn a_variant_against_itself_works_through() {
    measuring(|| {
        let world = World::new();
        let options = options(&world, crossed());
        let load = "[load]\nmodel = \"open\"\nrate = \"2000/s\"\nwarmup = \"20 ms\"\ntimeout = \"2 s\"\n";
        let finished =
            run(checked(duet(load, ["null"; 2]), &options), &options, &mut watch).expect("it is measured");
        let trials = trials(&finished);
        assert_eq!((trials.len(), finished.summary.blocks.used), (4, 2));
        for block in trials.chunks(2) {
            assert_rounds(&block[0], &block[1]);
            let cores = |trial: &TrialRecord| trial.service.runtime.as_ref().expect("seen").cores.clone();
            let (one, two) = (cores(&block[0]), cores(&block[1]));
            assert_eq!((one.len(), two.len()), (1, 1));
            let lanes = CoreLayout::detect().expect("cores");
            assert_eq!(
                one == two,
                lanes.client() == lanes.service()[0],
                "{one:?} and {two:?}: apart if they can"
            );
        }
        let p50 = finished.summary.costs.iter().find(|cost| cost.headline).expect("a headline");
        assert!(p50.ratio.is_some(), "{p50:?}");
    });
}

#[test]
fn a_service_that_dies_voids_its_block_and_ctrl_c_keeps_whole_ones() {
    measuring(|| {
        let world = World::new();
        let options = options(&world, on_one_side());
        let control = options.control.clone();
        let (mut killed, mut void) = (false, Vec::new());
        // A law that nobody else's probe has.
        let laws = ["delay 1071ns", "delay 1072ns"];
        let mut experiment = duet("", laws);
        (experiment.plan.blocks_min, experiment.plan.blocks_max) = (3, 3);
        let ended =
            run(checked(experiment, &options), &options, &mut |timed: &TimedEvent| match &timed.event {
                Event::Round { .. } if !killed => {
                    let victims = processes(laws[1]);
                    assert_eq!(victims.len(), 1, "{victims:?}");
                    send("KILL", victims[0]);
                    killed = true;
                }
                Event::BlockVoid { block, reason } => {
                    note_disturbance(reason);
                    void.push((*block, reason.clone()));
                }
                Event::Round { block: 2.., .. } => {
                    for flag in [&control.interrupted, &control.window] {
                        flag.store(true, Ordering::SeqCst);
                    }
                }
                _ => {}
            });
        assert!(matches!(&ended, Err(RunError::Interrupted { blocks: 1, .. })), "{ended:?}");
        assert!(void.len() == 1 && void[0].0 == 0 && void[0].1.contains("signal 9"), "{void:?}");
        eventually("nothing of it is left", || laws.iter().all(|law| processes(law).is_empty()));
        for flag in [&options.control.interrupted, &options.control.window] {
            flag.store(false, Ordering::SeqCst);
        }
        let finished = resume(&world.run_folder(), &options, &mut watch).expect("it goes on");
        let counts = finished.summary.blocks;
        assert_eq!((counts.used, counts.void), (3, 1));
        let trials = trials(&finished);
        assert!(trials.iter().all(|trial| trial.pairings == [Pairing::Duet]));
        let died = |trial: &&TrialRecord| matches!(trial.void, Some(Void::ServiceDied(_)));
        assert_eq!(
            trials.iter().filter(died).map(|trial| trial.variant).collect::<Vec<_>>(),
            [VariantId(0), VariantId(1)]
        );
        eventually("nothing of it is left", || laws.iter().all(|law| processes(law).is_empty()));
    });
}

#[test]
fn below_four_cores_it_is_refused_before_anything_is_done() {
    let world = World::idle();
    world.write("experiment.toml", &experiment(PLAN, &[&probe("one", "null"), &probe("two", "null")]));
    // What a thread starts may use no more cores than it may.
    let _one =
        Pinned::current_thread(CoreLayout::detect().expect("cores").client()).expect("an allowed core");
    let words = ["`plan.pairing`", "`duet` needs 4 cores", "`weigh` may use 1 here", "use `windows`"];
    world.run(&[]).end().assert_error(&words);
    world.weigh(&["verify", "experiment.toml"]).end().assert_error(&words);
    let planned = world.weigh(&["plan", "experiment.toml"]).end();
    planned.assert_code(0);
    assert!(words.iter().all(|word| planned.says(word)), "a plan can be looked at anywhere: {planned}");
    // In lines of a terminal's width.
    let plan = planned.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plan.contains("the same time for both variants"), "{planned}");
    assert!(plan.contains("on the first cores, "), "{planned}");
    assert!(world.run_folders().is_empty(), "nothing was begun");
    world.assert_nothing_left();
}

/// A window of a duet is as long as a time, and still each round reads its own piece of the sizes, both variants the same.
#[test]
fn every_round_asks_for_sizes_of_its_own() {
    measuring(|| {
        let world = World::new();
        let options = options(&world, on_one_side());
        let sleeps = "periodic-stall --every 301us --length 300us";
        let sizes = "[workload]\nname = \"pingpong\"\n\
                     sizes = { min = \"4 B\", max = \"20 kB\", number = 2000 }\n";
        let finished = run(checked(duet(sizes, [sleeps, sleeps]), &options), &options, &mut watch)
            .expect("it is measured");
        for block in trials(&finished).chunks(2) {
            for trial in block {
                let rounds = windows_of_kind(trial, WindowKind::Measured);
                let largest = rounds.map(|window| window.figures.requests).max().expect("rounds") as usize;
                let sizes: BTreeSet<u64> = trial.samples.iter().map(|sample| sample.size.get()).collect();
                assert!(sizes.len() > largest, "{} sizes, {largest} in a round", sizes.len());
            }
            let first = |trial: &TrialRecord, round: u32| {
                trial.samples.iter().find(|sample| sample.round == round).expect("a request").size
            };
            for round in 0..4 {
                assert_eq!(first(&block[0], round), first(&block[1], round), "the same piece");
            }
            assert_ne!(first(&block[0], 0), first(&block[0], 1), "others in every round");
        }
    });
}
