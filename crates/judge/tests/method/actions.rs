//! Actions of a script and attempts that were answered *again*, in whole runs with planted counts and times.

use crate::common;

use common::{Place, Request, add_window, cell, good, named, question, tables, trial};
use weighbridge_judge::{Question, summarise};
use weighbridge_model::experiment::Experiment;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::record::counts::{Count, Counts};
use weighbridge_model::summary::Summary;
use weighbridge_model::table::{ResultTable, TableCell};

const BLOCKS: u32 = 6;

/// Of each recorded operation of fine grain, how many of how many nanoseconds a window has; the last is `again`.
const FINE: [(u64, u64); 14] = [
    (40, 1_000),  // login
    (50, 2_000),  // logout: 10 of them of a `switch-user`
    (60, 3_000),  // account
    (130, 3_500), // holdings
    (200, 4_000), // quote
    (25, 9_000),  // buy
    (20, 8_000),  // sell
    (15, 7_000),  // update
    (10, 6_000),  // register
    (60, 6_500),  // home
    (50, 15_500), // portfolio
    (20, 11_500), // sell-first
    (10, 8_000),  // switch-user
    (5, 500),
];

/// In all of a window; 70 of its quotes are actions.
const ACTIONS: u64 = 40 + 40 + 70 + 25 + 15 + 60 + 50 + 20 + 10;

/// The question of the workload `trade`, of which the judge sees operations and their places in the script.
fn asked(grain: &str) -> Question {
    let text = format!(
        "[workload]\nname = 'trade'\ngrain = '{grain}'\n[[variant]]\nservice = 's'\nprotocol = 'grpc'\n"
    );
    let workload = Experiment::parse("x.toml", &text).expect("an experiment").points.remove(0).workload;
    let mut asked = question(&["a", "b"]);
    asked.points[0].operations = workload.operations();
    asked.points[0].script = workload.script_operations();
    asked
}

/// In each block a window of each variant, with so many requests of so many nanoseconds; `b` takes twice as long. Of `a` so
/// many attempts were answered *again*.
fn trials(planted: &[(u64, u64)], requests: usize, actions: u64, aborts: u64) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for block in 0..BLOCKS {
        for variant in 0..2_u16 {
            let slower = u64::from(variant) + 1;
            let of = |from: usize, some: &[(u64, u64)]| -> Vec<Request> {
                let each = some.iter().zip(from as u16..).flat_map(|((count, time), operation)| {
                    (0..*count).map(move |_| Request { operation, ..good(time * slower) })
                });
                each.collect()
            };
            let mut trial = trial(block, variant);
            add_window(&mut trial, Place::measured(0, u32::from(variant)), &of(0, &planted[..requests]));
            // What is in no total: actions of several requests, and attempts.
            let mut others = common::trial(block, variant);
            add_window(&mut others, Place::measured(0, 0), &of(requests, &planted[requests..]));
            let more = others.windows.remove(0).figures.operations;
            let figures = &mut trial.windows[0].figures;
            figures.operations.extend(more.into_iter().filter(|one| aborts > 0 || one.operation.0 != 13));
            let mut counts = Counts::default();
            counts.add(Count::Actions, actions);
            counts.add(Count::Aborts, if variant == 0 { aborts } else { 0 });
            figures.counts = Some(counts);
            trials.push(trial);
        }
    }
    trials
}

fn one<'a>(summary: &'a Summary, name: &str) -> &'a ResultTable {
    let [table] = tables(summary, name)[..] else { panic!("{name}: {:?}", summary.tables) };
    table
}

/// Action, count and mean of the rows of a variant.
fn told(table: &ResultTable, variant: &str) -> Vec<(String, u64, f64)> {
    let rows = (0..table.rows.len()).filter(|row| named(table)[*row] == variant);
    let row = |row| {
        let TableCell::Text { text } = cell(table, row, "action") else { panic!("no name") };
        let TableCell::Count { count } = cell(table, row, "good") else { panic!("no count") };
        (text.clone(), *count, cell(table, row, "mean").estimate().expect("a mean").point)
    };
    rows.map(row).collect()
}

#[test]
fn actions_of_fine_grain_are_counted_once_and_have_the_times_of_their_operations() {
    let summary = summarise(&asked("fine"), &trials(&FINE, 9, ACTIONS, 0));
    let table = one(&summary, "actions");
    let expected = [
        ("home", 60, 6_500.0),
        ("portfolio", 50, 15_500.0),
        ("quote", 70, 4_000.0),
        ("buy", 25, 9_000.0),
        ("sell", 20, 11_500.0),
        ("update", 15, 7_000.0),
        ("register", 10, 8_000.0),
        ("login", 40, 1_000.0),
        ("logout", 40, 2_000.0),
    ];
    for (variant, slower) in [("a", 1.0), ("b", 2.0)] {
        let wanted = expected.map(|(name, count, mean)| (name.to_owned(), count * 6, mean * slower));
        assert_eq!(told(table, variant), wanted, "{variant}");
    }
    let shares = table.rows[..9].iter().enumerate().map(|(row, _)| match cell(table, row, "share") {
        TableCell::Share { share } => *share,
        other => panic!("{other:?}"),
    });
    let shares: Vec<f64> = shares.collect();
    assert!((shares[2] - 70.0 / ACTIONS as f64).abs() < 1e-12, "{shares:?}");
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(cell(table, 0, "mean").estimate().and_then(|mean| mean.interval()).is_some());
    assert_eq!(table.notes.len(), 2, "{:?}", table.notes);
    assert!(tables(&summary, "attempts").is_empty(), "none was answered again");
}

#[test]
fn a_figure_of_an_action_is_that_of_its_operation_withheld_or_not() {
    let summary = summarise(&asked("fine"), &trials(&FINE, 9, ACTIONS, 0));
    let table = one(&summary, "actions");
    // 60 requests a block have no p99, and 70 a p50.
    let TableCell::Absent { reason: Some(reason) } = cell(table, 0, "p99") else { panic!("{table:?}") };
    assert!(reason.contains("requests in each block"), "{reason}");
    assert_eq!(cell(table, 2, "p50").estimate().map(|p50| p50.point), Some(4_000.0));
}

#[test]
fn of_coarse_grain_each_action_is_one_request_and_no_note_is_needed() {
    let coarse: Vec<(u64, u64)> = (1..=9).map(|at| (10 * at, 1_000 * at)).collect();
    let summary = summarise(&asked("coarse"), &trials(&coarse, 9, 450, 0));
    let table = one(&summary, "actions");
    let found: Vec<_> = told(table, "a").into_iter().map(|(name, count, _)| (name, count)).collect();
    let expected = [
        ("home", 60),
        ("portfolio", 70),
        ("quote", 30),
        ("buy", 40),
        ("sell", 80),
        ("update", 50),
        ("register", 90),
        ("login", 10),
        ("logout", 20),
    ];
    assert_eq!(found, expected.map(|(name, count)| (name.to_owned(), count * 6)));
    assert!(table.notes.is_empty());
}

#[test]
fn attempts_answered_again_are_told_with_their_times_beside_those_of_the_others() {
    let summary = summarise(&asked("fine"), &trials(&FINE, 9, ACTIONS, 5));
    let table = one(&summary, "attempts");
    // A row for all and one for each request of `a`; of `b`, which had none, that for all.
    assert_eq!(named(table).iter().filter(|name| **name == "a").count(), 10);
    assert_eq!(named(table)[10..], ["b"]);
    assert_eq!(*cell(table, 0, "answered again"), TableCell::Count { count: 5 * 6 });
    assert_eq!(*cell(table, 10, "answered again"), TableCell::Count { count: 0 });
    let requests = FINE[..9].iter().map(|(count, _)| count).sum::<u64>() as f64;
    let time = FINE[..9].iter().map(|(count, time)| count * time).sum::<u64>() as f64;
    let point = |row, column| cell(table, row, column).estimate().expect(column).point;
    assert!((point(0, "abort rate") - 5.0 / (5.0 + requests)).abs() < 1e-12);
    assert!((point(0, "until again") - 500.0).abs() < 1e-9);
    assert!((point(0, "until success") - time / requests).abs() < 1e-9);
    assert!((point(6, "last attempt") - 9_000.0).abs() < 1e-9, "of `buy`");
    assert_eq!(*cell(table, 6, "abort rate"), TableCell::Absent { reason: None });
}

#[test]
fn a_workload_without_a_script_has_neither_table() {
    let summary = summarise(&question(&["a", "b"]), &trials(&FINE[..1], 1, 0, 3));
    assert!(summary.tables.is_empty(), "{:?}", summary.tables);
}
