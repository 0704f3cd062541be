//! How throughput grows with connections, in whole runs with known times.

use crate::common;

use common::{Place, add_window, cell, good, named, question, tables, trial};
use weighbridge_judge::{Load, Point, Question, summarise};
use weighbridge_model::id::{PointId, PointLabel};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::table::TableCell;

const BLOCKS: u32 = 6;
const REQUESTS: usize = 50;

/// The question with this load at a point of one connection and at one of four.
fn asked(load: Load) -> Question {
    let mut asked = question(&["a", "b"]);
    let point = |connections: u64| Point {
        label: PointLabel::from([("load.connections".to_owned(), connections.to_string())]),
        load,
        slots: connections,
        ..asked.points[0].clone()
    };
    asked.points = vec![point(4), point(1)];
    asked.sizes = vec![asked.sizes[0]; 2];
    asked
}

/// At one connection a request takes 1,000 ns; of four connections two are busy, and it takes so long in each block.
fn trials(times: [u64; BLOCKS as usize]) -> Vec<TrialRecord> {
    let window = |trial: &mut TrialRecord, point: u16, busy: u64, time: u64| {
        let place = Place { connections: busy, ..Place::measured(0, u32::from(trial.variant.0)) };
        add_window(trial, place, &[good(time); REQUESTS]);
        trial.windows.last_mut().expect("it was added").point = PointId(point);
    };
    let mut trials = Vec::new();
    for (block, time) in (0..).zip(times) {
        for variant in 0..2 {
            let mut trial = trial(block, variant);
            window(&mut trial, 0, 2, time);
            window(&mut trial, 1, 1, 1_000);
            trials.push(trial);
        }
    }
    trials
}

#[test]
fn parallel_efficiency_is_throughput_for_each_connection_over_that_of_one() {
    let summary = summarise(&asked(Load::Closed), &trials([800, 1_250, 800, 1_250, 800, 1_250]));
    let [four, one] = tables(&summary, "scaling")[..] else { panic!("{:?}", summary.tables) };
    assert_eq!((four.point["load.connections"].as_str(), named(four)), ("4", vec!["a", "b"]));
    // Two busy connections of four, each 1,000 / 800 and 1,000 / 1,250 times as fast as one alone.
    let efficiency =
        cell(four, 0, "parallel efficiency").estimate().expect("there is a point of one connection");
    let (values, mean) = ([0.5 * 1.25, 0.5 * 0.8], 0.5 * (1.25 + 0.8) / 2.0);
    assert!((efficiency.point - mean).abs() < 1e-9, "{efficiency:?}");
    // Six values, three of each; t(5) is 2.571.
    let deviation = (values[0] - mean) * (6.0_f64 / 5.0).sqrt();
    let (low, high) = efficiency.interval().expect("six blocks");
    assert!(((high - low) / 2.0 - 2.5706 * deviation / 6.0_f64.sqrt()).abs() < 1e-4, "{low} {high}");
    let utilisation = |table| cell(table, 0, "utilisation").estimate().expect("replies are seen").point;
    assert!((utilisation(four) - 0.5).abs() < 1e-9, "{four:?}");
    assert!((utilisation(one) - 1.0).abs() < 1e-9, "{one:?}");
    assert_eq!(*cell(one, 0, "parallel efficiency"), TableCell::Absent { reason: None });
}

#[test]
fn nothing_is_told_in_open_load_or_where_connections_are_no_factor() {
    let trials = trials([1_000; BLOCKS as usize]);
    assert!(summarise(&asked(Load::Open), &trials).tables.is_empty());
    let mut plain = asked(Load::Closed);
    for (point, size) in plain.points.iter_mut().zip(["1 KiB", "2 KiB"]) {
        point.label = PointLabel::from([("workload.size".to_owned(), size.to_owned())]);
    }
    assert!(summarise(&plain, &trials).tables.is_empty());
}
