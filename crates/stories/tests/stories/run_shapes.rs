//! Stories of `weigh run` with every shape of load, from the file to the verdict: the record of the run shows that
//! both variants got what the file asks for, request by request where the record tells of single requests.
//!
//! A machine that is busy with other things makes windows longer and figures invalid; nothing here depends on that.

use std::collections::BTreeMap;

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{OperationFigures, TrialRecord, WindowEnd, WindowKind, WindowRecord};
use weighbridge_model::trace::Trace;
use weighbridge_store::RunFolder;

use crate::support::{Ended, World, experiment, measuring, probe};

/// Runs two copies of the null probe under this load, and returns the record.
fn measure(world: &World, tables: &str) -> Vec<TrialRecord> {
    let plan = "[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"3 s\"\n";
    let plan = if tables.contains("[plan]") { "" } else { plan };
    let text = experiment(&format!("{tables}\n{plan}"), &[&probe("one", "null"), &probe("two", "null")]);
    world.write("experiment.toml", &text);
    let ended = world.run(&[]).end();
    assert_closed(&ended);
    let folder = RunFolder::open(world.run_folder()).expect("a run");
    let trials: Vec<_> = folder.load_blocks().expect("its record").into_iter().flatten().collect();
    assert_eq!(trials.len(), 8, "two variants in four blocks: {ended}");
    for window in trials.iter().flat_map(|trial| &trial.windows) {
        let figures = &window.figures;
        assert_eq!((figures.end, figures.errors.total()), (WindowEnd::Complete, 0), "{window:?}");
        assert_eq!((figures.offered, figures.not_sent), (figures.requests, 0), "{window:?}");
        let good: u64 = figures.operations.iter().map(|operation| operation.ok).sum();
        assert_eq!(good, figures.requests, "every request was answered: {window:?}");
    }
    trials
}

/// The run is closed by a table of verdicts.
fn assert_closed(ended: &Ended) {
    ended.assert_measured();
    for words in ["two against one (baseline)\n", "▸ response p50"] {
        assert!(ended.stdout.contains(words), "`{words}`: {ended}");
    }
}

fn measured(trial: &TrialRecord) -> impl Iterator<Item = &WindowRecord> {
    trial.windows.iter().filter(|window| window.kind == WindowKind::Measured)
}

// --- Traces -------------------------------------------------------------------------------------------------------

/// Arrivals in each of the two slices of the trace.
const ARRIVALS: u64 = 220;

/// The slices' length, as the rule of windows has it.
const SLICE: Nanoseconds = Nanoseconds::from_nanos(99_999_900);

/// A trace of 0.2 s in two slices, each of which begins and ends with an operation of its own.
fn trace() -> String {
    // 440 arrivals, the last after 439 mean gaps of 454,545 ns: 199,999,800 ns until it starts again.
    let last = 439 * 454_545u64;
    let mut text = "ns,operation\n".to_owned();
    for slice in 0..2u64 {
        for at in 0..ARRIVALS {
            // Odd gaps, and from time to time two at once.
            let begin = [0, 120_000_007][slice as usize];
            let twin = u64::from(at % 5 == 0 && at % 3 > 0);
            let time = begin + at / 3 * 1_000_003 + (at % 3 - twin) * 30_011;
            let (time, name) = match at {
                0 => (begin, format!("first {slice}")),
                219 if slice == 1 => (last, "last 1".to_owned()),
                219 => (time, "last 0".to_owned()),
                at => (time, format!("middle {}", at % 2)),
            };
            text += &format!("{time},{name}\n");
        }
    }
    text
}

const OPERATIONS: [&str; 6] = ["first 0", "first 1", "last 0", "last 1", "middle 0", "middle 1"];

fn requests() -> String {
    let request = |name: &&str| format!("[[workload.request]]\nname = \"{name}\"\npath = \"/pong/5\"\n");
    format!("[workload]\nname = \"http\"\n{}", OPERATIONS.iter().map(request).collect::<String>())
}

/// The arrival that comes as number `at`, counted on where the trace starts again: when, and of which operation.
fn arrival(trace: &Trace, at: usize) -> (u64, usize) {
    let (passage, at) = (at / trace.times().len(), at % trace.times().len());
    let time = trace.times()[at].as_nanos() + trace.length().as_nanos() * passage as u64;
    let name = trace.name(at).expect("every line names one");
    (time, OPERATIONS.iter().position(|known| *known == name).expect("a known name"))
}

/// Holds one window against the trace. Returns whether the record told when its first and last request were due.
fn check_slice(trace: &Trace, window: &WindowRecord) -> bool {
    let figures = &window.figures;
    let first = if window.round.is_multiple_of(2) { 0 } else { ARRIVALS as usize };
    assert!(figures.offered >= ARRIVALS, "{window:?}");
    let arrivals: Vec<_> = (first..).map(|at| arrival(trace, at)).take(figures.offered as usize).collect();
    let mut counts = [0u64; OPERATIONS.len()];
    arrivals.iter().for_each(|(_, operation)| counts[*operation] += 1);
    let mut seen = [0u64; OPERATIONS.len()];
    figures.operations.iter().for_each(|one| seen[one.operation.index()] = one.ok);
    assert_eq!(seen, counts, "each operation as often as the trace has it: {window:?}");
    let ((begin, opens), (end, closes)) = (arrivals[0], arrivals[arrivals.len() - 1]);
    if counts[opens] != 1 || counts[closes] != 1 {
        // The window ran on into another of the same name.
        return false;
    }
    let figures_at = |operation: usize| -> &OperationFigures {
        figures.operations.iter().find(|one| one.operation.index() == operation).expect("it was seen")
    };
    // One connection, one request at a time: the first request was sent first, the last one was over last.
    let waited = figures_at(opens).response_sum.saturating_sub(figures_at(opens).service_sum);
    let first_due = figures.started.as_nanos() - waited.as_nanos();
    let last_due = figures.ended.as_nanos() - figures_at(closes).response_sum.as_nanos();
    assert_eq!(last_due - first_due, end - begin, "to the nanosecond: {window:?}");
    true
}

#[test]
fn a_trace_is_replayed_to_the_nanosecond_to_both_variants_alike() {
    measuring(|| {
        let world = World::new();
        let text = trace();
        world.write("times.csv", &text);
        let trace = Trace::parse("times.csv", &text).expect("a trace");
        assert_eq!(trace.length(), SLICE * 2);
        let load = "[load]\nmodel = \"open\"\narrivals = { trace = \"times.csv\" }\nconnections = 1\n\
             warmup = \"20 ms\"\n[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"3 s\"\nwindow = \"95 ms\"\n";
        let trials = measure(&world, &format!("{}{load}", requests()));
        for trial in &trials {
            let told = measured(trial).filter(|window| check_slice(&trace, window)).count();
            assert!(told > 0, "no window of a trial tells of its first and last request");
            let rounds = measured(trial).count();
            assert!(rounds >= 10 && rounds.is_multiple_of(2), "whole passages, and not {rounds} windows");
        }
        // The stored experiment holds the hash, and goes on only with the same file.
        let stored = world.run_folder().join("experiment.toml");
        let stored = std::fs::read_to_string(stored).expect("it is stored");
        assert!(stored.contains("sha256"), "{stored}");
    });
}

#[test]
fn a_trace_that_names_what_is_not_there_is_refused_before_anything_is_started() {
    let world = World::idle();
    world.write("times.csv", &trace().replace("last 1", "lost 1"));
    let load = "[load]\nmodel = \"open\"\narrivals = { trace = \"times.csv\" }\n";
    world.write("experiment.toml", &experiment(&format!("{}{load}", requests()), &[&probe("one", "null")]));
    world.run(&[]).end().assert_error(&[
        "times.csv:441: `lost 1` is no operation of this workload",
        "did you mean `last 1`?",
        "allowed: `first 0`",
    ]);
    assert!(world.run_folders().is_empty(), "nothing was begun");
}

// --- Profiles -----------------------------------------------------------------------------------------------------

#[test]
fn a_profile_is_cut_into_the_same_windows_for_both_variants() {
    measuring(|| {
        let world = World::new();
        // From 1,000/s to 3,000/s in the first half, to 5,000/s in the second: 140 and 280 arrivals.
        let trials = measure(
            &world,
            "[load]\nmodel = \"open\"\nprofile = \"ramp:1000/s..5000/s over 140ms\"\narrivals = \"constant\"\n\
             warmup = \"20 ms\"\n[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"3 s\"\nwindow = \"69 ms\"\n",
        );
        for trial in &trials {
            let offered = |half: u32| -> Vec<u64> {
                let of_half = measured(trial).filter(|window| window.round % 2 == half);
                of_half.map(|window| window.figures.offered).collect()
            };
            let (slow, fast) = (offered(0), offered(1));
            assert_eq!(slow.len(), fast.len(), "whole passages");
            assert!(slow.iter().all(|count| *count >= 140), "{slow:?}");
            assert!(fast.iter().all(|count| *count >= 280), "{fast:?}");
            assert!(
                slow.iter().any(|count| *count < 280),
                "windows of the first half are of the first: {slow:?}"
            );
        }
    });
}

// --- Sessions, think time, churn ----------------------------------------------------------------------------------

#[test]
fn windows_of_sessions_hold_whole_sessions() {
    measuring(|| {
        let world = World::new();
        let trials = measure(
            &world,
            "[load]\nmodel = \"partly-open\"\nsessions = \"900/s\"\nlength = 3\nthink = \"100 us\"\n\
             warmup = \"20 ms\"\n[plan]\nblocks = { min = 4, max = 4 }\nbudget = \"3 s\"\n",
        );
        for window in trials.iter().flat_map(measured) {
            assert_eq!(window.figures.requests % 3, 0, "{window:?}");
        }
    });
}

#[test]
fn think_time_and_churn_hold_in_every_window() {
    measuring(|| {
        let world = World::new();
        let churn = 7;
        let trials = measure(
            &world,
            "[load]\nthink = \"exponential:mean=50us\"\nchurn = 7\nwarmup = \"20 ms\"\n\
             [plan]\nblocks = { min = 4, max = 4 }\nbudget = \"2 s\"\nwindow = \"5 ms\"\n",
        );
        let mut rounds: BTreeMap<(u32, u32), Vec<u64>> = BTreeMap::new();
        for window in trials.iter().flat_map(measured) {
            rounds.entry((window.block, window.round)).or_default().push(window.figures.requests);
        }
        for (round, requests) in &rounds {
            assert_eq!(requests.len(), 2, "{round:?}");
            assert_eq!(requests[0], requests[1], "the same work for both, in {round:?}");
        }
        for trial in &trials {
            // One connection after another: the first was opened before the first window, each next one when the one
            // before had served its requests and another was due.
            let requests: u64 = trial.windows.iter().map(|window| window.figures.requests).sum();
            let connects: u64 = trial.windows.iter().map(|window| window.figures.connects).sum();
            assert_eq!(connects, requests.div_ceil(churn) - 1, "{requests} requests");
        }
    });
}
