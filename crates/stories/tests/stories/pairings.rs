//! Stories of how variants are put side by side, from the file to the record: request by request, one after another,
//! and what cannot be.
//!
//! A machine that is busy with other things makes figures invalid; nothing here depends on that.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use weighbridge_lab::host::cores::CoreLayout;
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{TrialRecord, WindowEnd, WindowKind, WindowRecord};
use weighbridge_store::RunFolder;

use crate::support::server::{GOOD, Server, read_head};
use crate::support::{Ended, World, experiment, measuring, probe};

/// Open load at a low rate and a plan of four short blocks.
fn low(plan: &str) -> String {
    format!(
        "[load]\nmodel = \"open\"\nrate = \"50/s\"\nwarmup = \"20 ms\"\ntimeout = \"60 s\"\n\
         [plan]\nblocks = {{ min = 4, max = 4 }}\nbudget = \"5 s\"\n{plan}\n"
    )
}

/// Runs two probes and returns the record.
fn measure(world: &World, tables: &str) -> (Ended, Vec<TrialRecord>) {
    let variants = [probe("one", "null"), probe("two", "delay 200us")];
    world.write("experiment.toml", &experiment(tables, &[&variants[0], &variants[1]]));
    let ended = world.run(&["--format", "json"]).end();
    ended.assert_measured();
    let folder = RunFolder::open(world.run_folder()).expect("a run");
    let trials: Vec<_> = folder.load_blocks().expect("its record").into_iter().flatten().collect();
    assert_eq!(trials.len(), 8, "two variants in four blocks: {ended}");
    for window in trials.iter().flat_map(measured) {
        let figures = &window.figures;
        assert_eq!((figures.end, figures.errors.total()), (WindowEnd::Complete, 0), "{window:?}");
        assert_eq!((figures.offered, figures.not_sent), (figures.requests, 0), "{window:?}");
    }
    (ended, trials)
}

fn measured(trial: &TrialRecord) -> impl Iterator<Item = &WindowRecord> {
    trial.windows.iter().filter(|window| window.kind == WindowKind::Measured)
}

/// Pairs of trials of one block.
fn blocks(trials: &[TrialRecord]) -> Vec<[&TrialRecord; 2]> {
    trials.chunk_by(|a, b| a.block == b.block).map(|two| [&two[0], &two[1]]).collect()
}

#[test]
fn at_a_low_rate_variants_share_windows_and_get_the_same_requests() {
    measuring(|| {
        let world = World::new();
        let (ended, trials) = measure(&world, &low(""));
        for [one, two] in blocks(&trials) {
            assert_eq!((&one.pairings, &two.pairings), (&vec![Pairing::Requests], &vec![Pairing::Requests]));
            assert!(measured(one).count() >= 10 && measured(one).count() == measured(two).count());
            for (one, two) in measured(one).zip(measured(two)) {
                assert_eq!((one.round, one.position, two.position), (two.round, 0, 0));
                assert_eq!(one.figures.requests, two.figures.requests, "the same work");
                assert_eq!((one.cpu.len(), two.cpu.len()), (1, 1), "CPU time of the whole window");
                assert_eq!(one.cpu[0].requests, one.figures.requests);
            }
            let kinds = |trial: &TrialRecord| trial.windows.iter().map(|w| w.kind).collect::<Vec<_>>();
            assert!(!kinds(one).contains(&WindowKind::Check));
            assert_eq!(kinds(one).iter().filter(|kind| **kind == WindowKind::LeadIn).count(), 1);
            let sum = |trial| measured(trial).map(|w| w.figures.requests).sum::<u64>();
            assert_eq!(one.tallies[0].ok().0.len(), sum(one));
        }
        let summary = ended.json();
        assert_eq!(summary["pairings"][0]["pairing"], "requests");
        assert_eq!(world.json("plan.json")["rules"]["pairing"], "auto");
        let report = std::fs::read_to_string(world.run_folder().join("report.html")).expect("a report");
        assert!(report.contains("put side by side request by request"), "the section of trust");
        world.assert_nothing_left();
    });
}

/// Nobody tells the CPU time of a server by URL; that its requests are hardly ever there tells enough.
#[test]
fn servers_by_url_that_are_almost_idle_share_windows_too() {
    measuring(|| {
        let world = World::new();
        let server = Server::answering(GOOD);
        let url = |name: &str| format!("name = \"{name}\"\nurl = \"{}\"", server.url());
        let load = "[workload]\nname = \"http\"\n[load]\nmodel = \"open\"\nrate = \"150/s\"\nconnections = 2\n\
                    warmup = \"20 ms\"\n";
        let plan = "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"2 s\"\n";
        world.experiment_with(&format!("{load}{plan}"), &[&url("one"), &url("two")]);
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        assert_eq!(ended.json()["pairings"][0]["pairing"], "requests", "{ended}");
        let trials = RunFolder::open(world.run_folder()).expect("a run").load_blocks().expect("its record");
        assert!(trials.iter().flatten().all(|trial| trial.pairings == [Pairing::Requests]));
        assert!(
            trials.iter().flatten().flat_map(measured).all(|window| window.cpu.is_empty()),
            "nothing is known"
        );
    });
}

#[test]
fn long_requests_of_closed_load_are_sent_in_turn_where_services_are_idle() {
    measuring(|| {
        let world = World::new();
        // The delay of a probe keeps its core busy; a server that is asked to wait does not.
        let slow = Server::start(|mut stream, _| {
            while read_head(&mut stream) {
                std::thread::sleep(Duration::from_millis(10));
                if stream.write_all(GOOD).is_err() {
                    return;
                }
            }
        });
        let url = |name: &str| format!("name = \"{name}\"\nurl = \"{}\"", slow.url());
        let plan = "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"4 s\"\npairing = \"requests\"\n";
        let load = "[workload]\nname = \"http\"\n[load]\nconnections = 2\nwarmup = \"20 ms\"\n";
        world.experiment_with(&format!("{load}{plan}"), &[&url("one"), &url("two")]);
        let ended = world.run(&["--format", "json"]).end();
        ended.assert_measured();
        let trials = RunFolder::open(world.run_folder()).expect("a run").load_blocks().expect("its record");
        for trial in trials.iter().flatten() {
            assert_eq!(trial.pairings, [Pairing::Requests]);
            let mut windows = measured(trial);
            let requests = windows.next().expect("windows").figures.requests;
            assert!(requests >= 2 && windows.all(|window| window.figures.requests == requests));
        }
        let summary = ended.json();
        let costs = summary["costs"].as_array().expect("costs");
        let throughput = costs.iter().find(|cost| cost["quantity"] == "throughput").expect("a row");
        assert_eq!(throughput["verdict"], "withheld");
        assert!(
            throughput["reason"].as_str().is_some_and(|reason| reason.contains("sequential")),
            "{throughput}"
        );
    });
}

#[test]
fn one_after_another_every_variant_has_its_share_and_is_first_equally_often() {
    measuring(|| {
        let world = World::new();
        let (ended, trials) = measure(&world, &low("pairing = \"sequential\""));
        let mut first = BTreeMap::new();
        for [one, two] in blocks(&trials) {
            assert_eq!(one.pairings, [Pairing::Sequential]);
            assert_eq!(measured(one).count(), measured(two).count());
            let ends = |trial| {
                let begin = measured(trial).map(|window| window.figures.started).min().expect("windows");
                let end = measured(trial).map(|window| window.figures.ended).max().expect("windows");
                (begin, end)
            };
            let (one_ends, two_ends) = (ends(one), ends(two));
            assert!(one_ends.1 <= two_ends.0 || two_ends.1 <= one_ends.0, "stretches do not overlap");
            let earlier = if one_ends.0 < two_ends.0 { one } else { two };
            assert!(measured(earlier).all(|window| window.position == 0));
            *first.entry(earlier.variant).or_insert(0) += 1;
        }
        assert_eq!(first.into_values().collect::<Vec<_>>(), [2, 2], "AB and BA");
        let summary = ended.json();
        assert_eq!(summary["pairings"][0]["pairing"], "sequential");
        let findings = summary["findings"].as_array().expect("findings");
        assert!(findings.iter().any(|finding| finding["name"] == "not paired"), "{findings:?}");
        world.assert_nothing_left();
    });
}

/// The share of the service's cores that a variant used in its windows, from the record.
fn busy(trials: &[TrialRecord], variant: usize) -> f64 {
    let cores = CoreLayout::detect().expect("cores").service().len() as f64;
    let windows = || trials.iter().filter(|trial| trial.variant.index() == variant).flat_map(measured);
    let cpu: Nanoseconds = windows().flat_map(|window| &window.cpu).map(|role| role.cpu).sum();
    let wall: Nanoseconds = windows().map(|window| window.figures.health.wall).sum();
    cpu.as_secs_f64() / wall.as_secs_f64() / cores
}

/// On a host that is busy with other things even these may be kept from their cores; then there is nothing to say.
#[test]
fn variants_that_are_busy_disturb_each_other_and_that_is_said() {
    measuring(|| {
        let world = World::new();
        let plan = "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"3 s\"\npairing = \"requests\"\n";
        let (ended, trials) = measure(&world, plan);
        assert!(trials.iter().all(|trial| trial.pairings == [Pairing::Requests]));
        let summary = ended.json();
        let findings = summary["findings"].as_array().expect("findings");
        for (variant, name) in ["one", "two"].into_iter().enumerate() {
            let said = findings.iter().any(|f| {
                f["name"] == "variants disturb each other"
                    && f["subject"] == name
                    && f["severity"] == "warning"
            });
            assert_eq!(
                said,
                busy(&trials, variant) >= 0.1,
                "{name}: {} {findings:?}",
                busy(&trials, variant)
            );
        }
    });
}

#[test]
fn windows_that_cannot_hold_enough_requests_are_refused_with_the_way_out() {
    let world = World::idle();
    let variants = [probe("one", "null"), probe("two", "null")];
    let text = experiment(&low("pairing = \"windows\""), &[&variants[0], &variants[1]]);
    world.write("experiment.toml", &text);
    let ended = world.run(&[]).end();
    ended.assert_error(&["`pairing = \"windows\"`", "200 requests", "only 50", "`window` to 4.00 s"]);
    world.assert_nothing_left();
    // And with windows that long it can be.
    assert!("4.00 s".parse::<Nanoseconds>().is_ok_and(|time| time == Nanoseconds::from_secs(4)));
}

#[test]
fn pairings_that_there_are_not_are_refused_before_anything_is_done() {
    let world = World::idle();
    let variants = [probe("one", "null"), probe("two", "null"), probe("three", "null")];
    for (value, count, words) in [
        ("request", 2, ["`plan.pairing`", "did you mean `requests`"]),
        (
            "duet",
            3,
            ["`plan.pairing`", "exactly 2 variants, and there are 3; write one experiment for each pair"],
        ),
    ] {
        let variants: Vec<&str> = variants[..count].iter().map(String::as_str).collect();
        world.write("experiment.toml", &experiment(&low(&format!("pairing = \"{value}\"")), &variants));
        world.run(&[]).end().assert_error(&words);
    }
    assert!(world.run_folders().is_empty(), "nothing was begun");
}

#[test]
fn the_plan_says_how_variants_are_put_side_by_side() {
    let world = World::idle();
    for (pairing, words) in [("auto", "pairing  auto: windows where"), ("sequential", "one after another: ")]
    {
        let variants = [probe("one", "null"), probe("two", "null")];
        let text = experiment(&low(&format!("pairing = \"{pairing}\"")), &[&variants[0], &variants[1]]);
        world.write("experiment.toml", &text);
        let ended = world.weigh(&["plan", "experiment.toml"]).end();
        ended.assert_code(0);
        assert!(ended.stdout.contains(words), "{ended}");
    }
}

#[test]
fn ctrl_c_in_a_window_that_variants_share() {
    measuring(|| {
        let world = World::new();
        let variants = [probe("one", "null"), probe("two", "null")];
        world.write("experiment.toml", &experiment(&low(""), &[&variants[0], &variants[1]]));
        let mut weigh = world.run(&[]).start();
        weigh.until_event("round", 1);
        let ended = weigh.end_by("INT");
        ended.assert_error(&["interrupted", "weigh run --resume runs/"]);
        world.assert_nothing_left();
        let run = world.run_folder();
        let ended = world.weigh(&["run", "--resume", run.to_str().expect("UTF-8"), "--format", "json"]).end();
        ended.assert_measured();
        assert_eq!(ended.json()["pairings"][0]["pairing"], "requests");
        world.assert_nothing_left();
    });
}

#[test]
fn a_service_that_dies_in_a_shared_window_voids_the_block() {
    measuring(|| {
        let world = World::new();
        let variants = [probe("one", "null"), probe("two", "delay 200us")];
        world.write("experiment.toml", &experiment(&low(""), &[&variants[0], &variants[1]]));
        let mut weigh = world.run(&["--format", "json"]).start();
        weigh.until_event("round", 1);
        let victims = world.processes("probe delay");
        assert_eq!(victims.len(), 1);
        crate::support::send("KILL", victims[0]);
        let ended = weigh.end();
        ended.assert_measured();
        assert!(ended.says("signal 9"), "{ended}");
        let summary = ended.json();
        assert_eq!(summary["blocks"]["void"], 1, "{ended}");
        assert_eq!(summary["blocks"]["used"], 4, "{ended}");
        world.assert_nothing_left();
    });
}
