//! Compositions: a planted wait between the calls of a session is found, and none is invented.

use weighbridge_judge::question::{Composition, Point};
use weighbridge_judge::{Load, Question, summarise};
use weighbridge_model::id::{OperationId, PointId};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::Finding;

use crate::common::{Place, Request, add_window, noisy, normal, question, random, trial};

/// What each part takes alone, in nanoseconds, and how often a session calls it.
const PARTS: [(f64, u32); 4] = [(60_000.0, 1), (30_000.0, 4), (45_000.0, 2), (30_000.0, 1)];
const SUM: f64 = 300_000.0;
const SESSION: OperationId = OperationId(4);

/// A point for each part, and one for the session.
fn asked() -> Question {
    let point = |at: usize| Point {
        label: [("workload.operation".to_owned(), format!("op{at}"))].into(),
        load: Load::Closed,
        slots: 1,
        own_slots: Vec::new(),
        session_length: 1,
        script: None,
        operations: (0..if at == PARTS.len() { 5 } else { 1 }).map(|of| format!("op{of}")).collect(),
    };
    let parts = (0..).map(PointId).zip(PARTS).map(|(point, (_, times))| (point, times)).collect();
    let composition = Composition { point: PointId(4), operation: SESSION, parts };
    Question {
        points: (0..=PARTS.len()).map(point).collect(),
        compositions: vec![composition],
        ..question(&["even", "other"])
    }
}

/// Blocks of two variants, of which the second waits between its calls.
fn measured(seed: u64, wait: f64, blocks: u32) -> Vec<TrialRecord> {
    let mut random = random(seed);
    let mut trials = Vec::new();
    for block in 0..blocks {
        let common = 1.0 + 0.03 * normal(&mut random);
        for (variant, wait) in [(0, 0.0), (1, wait)] {
            let mut all = trial(block, variant);
            all.tallies.clear();
            let takes = PARTS.iter().map(|(takes, _)| (*takes, OperationId(0)));
            let points = takes.chain([(SUM + wait, SESSION)]);
            for (point, (takes, operation)) in (0..).map(PointId).zip(points) {
                let mut here = trial(block, variant);
                for round in 0..6 {
                    let requests: Vec<Request> = noisy(&mut random, takes * common, 0.05, 80)
                        .into_iter()
                        .map(|request| Request { operation: operation.0, ..request })
                        .collect();
                    add_window(&mut here, Place::measured(round, variant.into()), &requests);
                    here.windows.last_mut().expect("just added").point = point;
                }
                all.windows.append(&mut here.windows);
                all.tallies.append(&mut here.tallies);
            }
            trials.push(all);
        }
    }
    trials
}

fn found(seed: u64, wait: f64, blocks: u32) -> Vec<Finding> {
    let findings = summarise(&asked(), &measured(seed, wait, blocks)).findings;
    findings.into_iter().filter(|finding| finding.name == "composition is not its parts").collect()
}

#[test]
fn a_planted_wait_is_found_and_none_is_invented() {
    for seed in 0..40 {
        // 4 % of the sum, where 2 % are the margin.
        let [wait] = &found(seed, 12_000.0, 8)[..] else { panic!("seed {seed}: not one") };
        assert_eq!(wait.subject, "other at workload.operation = op4", "seed {seed}");
        let said = wait.evidence.split("a difference of ").nth(1).expect("a difference");
        let micros: f64 = said.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
        assert!((10.0..=14.0).contains(&micros), "seed {seed}: {}", wait.evidence);
        assert_eq!(found(1_000 + seed, 0.0, 8), [], "seed {seed}");
        // Less than the margin is no finding, however sure it is.
        assert_eq!(found(2_000 + seed, 3_000.0, 8), [], "seed {seed}");
    }
}

#[test]
fn a_session_that_is_faster_than_its_parts_is_told_too() {
    let [faster] = &found(7, -30_000.0, 6)[..] else { panic!("not one") };
    assert!(
        faster.evidence.contains("add up to 30") || faster.evidence.contains("add up to 29"),
        "{faster:?}"
    );
    assert!(faster.evidence.contains("a difference of -"), "{faster:?}");
}

#[test]
fn too_few_blocks_say_nothing() {
    assert_eq!(found(8, 60_000.0, 3), []);
}
