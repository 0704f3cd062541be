//! Pauses of virtual machines and what collectors cost at least, in whole runs with known times.

use crate::common;

use common::{Place, add_window, cell, good, named, question, tables, trial};
use weighbridge_judge::{Load, Question, StackElement, summarise};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{JvmPauses, RoleCpu, TrialRecord, WindowRecord};
use weighbridge_model::table::TableCell;

const IN_CPU: &str = "overhead in CPU time";
const IN_TIME: &str = "overhead in time";

const BLOCKS: u32 = 6;
const REQUESTS: u64 = 50;

/// CPU times of a request, in nanoseconds; what the collector takes swings by block.
#[derive(Clone, Copy)]
struct Law {
    rest: u64,
    collected: u64,
    swing: u64,
}

/// In each block a window of each variant, of requests that take so many nanoseconds; `tell` adds to it.
fn run(each: &[u64], tell: impl Fn(u32, usize, &mut WindowRecord)) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for block in 0..BLOCKS {
        for (variant, each) in each.iter().enumerate() {
            let mut trial = trial(block, variant as u16);
            let place = Place::measured(0, variant as u32);
            add_window(&mut trial, place, &[good(*each); REQUESTS as usize]);
            tell(block, variant, &mut trial.windows[0]);
            trials.push(trial);
        }
    }
    trials
}

fn trials(laws: &[Option<Law>]) -> Vec<TrialRecord> {
    run(&vec![1_000; laws.len()], |block, variant, window| {
        let Some(Law { rest, collected, swing }) = laws[variant] else { return };
        let role = |name: &str, each: u64| RoleCpu {
            role: name.to_owned(),
            cpu: Nanoseconds::from_nanos(each * REQUESTS),
            requests: REQUESTS,
        };
        let swings = if block % 2 == 0 { collected + swing } else { collected - swing };
        window.cpu = vec![role("service", rest), role("collector", swings)];
    })
}

/// Variants of one program; each of these settings of its virtual machine, and the last of another program.
fn asked(settings: &[(&str, &str)], other: &str) -> Question {
    let names: Vec<&str> = settings.iter().map(|(_, value)| *value).chain([other]).collect();
    let mut asked = question(&names);
    for (variant, (key, value)) in asked.variants.iter_mut().zip(settings) {
        variant.stack.elements.push(StackElement::with_value(key, value));
    }
    asked.variants.last_mut().expect("the other").stack.elements.push(StackElement::setting("cpu 1"));
    asked
}

#[test]
fn a_collector_costs_at_least_what_is_beyond_the_least_without_collecting() {
    let law = |rest, collected, swing| Some(Law { rest, collected, swing });
    let settings = [
        ("collector", "serial"),
        ("collector", "z"),
        ("JDK_JAVA_OPTIONS", "-XX:+UseG1GC"),
        ("heap", "64 MiB"),
    ];
    // The least is 900, of `z`, which collects most. The fourth tells no collector, the last is another program.
    let laws = [law(1_000, 80, 8), law(900, 900, 0), law(1_100, 10, 0), None, law(10, 10, 0)];
    let summary = summarise(&asked(&settings, "other"), &trials(&laws));
    let [overheads] = tables(&summary, "collectors")[..] else { panic!("{:?}", summary.tables) };
    let point = |row| cell(overheads, row, IN_CPU).estimate().expect("it is known").point;
    let expected = [("serial", 0.2), ("z", 1.0), ("-XX:+UseG1GC", 1_110.0 / 900.0 - 1.0)];
    assert_eq!(named(overheads), expected.map(|(variant, _)| variant));
    for (row, (variant, wanted)) in expected.into_iter().enumerate() {
        assert!((point(row) - wanted).abs() < 1e-9, "{variant}: {}", point(row));
    }
    // Three blocks have 8 ns more and three 8 less, of 900: a standard deviation of 8 √(6/5) / 900, t(5) is 2.571.
    let half = 2.5706 * (8.0 * (6.0_f64 / 5.0).sqrt() / 900.0) / 6.0_f64.sqrt();
    let (low, high) =
        cell(overheads, 0, IN_CPU).estimate().and_then(|cpu| cpu.interval()).expect("six blocks");
    assert!(((high - low) / 2.0 - half).abs() < 1e-4, "{low} {high} {half}");
}

#[test]
fn one_variant_alone_has_nothing_to_be_held_against() {
    let law = Some(Law { rest: 1_000, collected: 80, swing: 0 });
    let summary = summarise(&asked(&[("collector", "serial")], "other"), &trials(&[law, law]));
    assert!(summary.tables.is_empty(), "{:?}", summary.tables);
    let all_alike = summarise(&question(&["a", "b"]), &trials(&[law, law]));
    assert_eq!(named(tables(&all_alike, "collectors")[0]), ["a", "b"]);
}

/// A window of 50 requests, each of so many nanoseconds, in which the machine stops so often and so long in all.
#[derive(Clone, Copy)]
struct Stops {
    each: u64,
    count: u64,
    time: u64,
}

fn stopped(laws: &[Option<Stops>]) -> Vec<TrialRecord> {
    let each: Vec<u64> = laws.iter().map(|law| law.map_or(1_000, |law| law.each)).collect();
    run(&each, |_, variant, window| {
        let pauses = |law: Stops| JvmPauses { count: law.count, time: Nanoseconds::from_nanos(law.time) };
        window.pauses = laws[variant].map(pauses);
    })
}

#[test]
fn pauses_are_told_over_time_and_what_they_cost_is_beyond_the_least_without_them() {
    let stops = |each, count, time| Some(Stops { each, count, time });
    let settings = [("collector", "serial"), ("collector", "z"), ("heap", "64 MiB")];
    // 50 requests of 1,000 ns with 10,000 ns of pauses leave 800 ns for each, of 1,200 with none 1,200.
    let laws = [stops(1_000, 2, 10_000), stops(1_200, 0, 0), None, stops(10, 1, 100)];
    let mut asked = asked(&settings, "other");
    let summary = summarise(&asked, &stopped(&laws));
    let [pauses] = tables(&summary, "pauses")[..] else { panic!("{:?}", summary.tables) };
    let [overheads] = tables(&summary, "collectors")[..] else { panic!("{:?}", summary.tables) };
    assert_eq!(named(pauses), ["serial", "z", "other"], "one tells of no pauses");
    assert_eq!(named(overheads), ["serial", "z"], "`other` is another program");
    let is = |told: &TableCell, wanted: f64| {
        let point = told.estimate().expect("it is known").point;
        assert!((point / wanted - 1.0).abs() < 1e-9 || point == wanted, "{point}, not {wanted}");
    };
    is(cell(pauses, 0, "pauses"), 2.0 / 50e-6);
    is(cell(pauses, 0, "paused"), 0.2);
    is(cell(overheads, 0, IN_TIME), 1_000.0 / 800.0 - 1.0);
    is(cell(pauses, 1, "paused"), 0.0);
    is(cell(overheads, 1, IN_TIME), 1_200.0 / 800.0 - 1.0);
    is(cell(pauses, 2, "paused"), 0.2);
    for row in 0..2 {
        assert!(cell(overheads, row, IN_CPU).estimate().is_none(), "no collector told its CPU time");
    }
    // By a schedule a window lasts as long whatever a request takes.
    asked.points[0].load = Load::Open;
    let summary = summarise(&asked, &stopped(&laws));
    assert!(tables(&summary, "collectors").is_empty());
    assert_eq!(named(tables(&summary, "pauses")[0]).len(), 3);
}
