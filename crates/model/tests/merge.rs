//! Merging histograms is addition: nothing is lost, and a second of a thousand workers takes less than a
//! second.

use std::time::Instant;

use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::{ErrorKind, Outcome, RequestRecord, Tallies};

/// What one worker measured.
fn worker(number: u64, count: u64) -> Tallies {
    let mut tallies = Tallies::default();
    requests(number, count, &mut tallies);
    tallies
}

/// Requests of one worker: of two operations, spread over five decades, some of them timeouts.
fn requests(number: u64, count: u64, tallies: &mut Tallies) {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let response = 1_000u64 << (state % 17);
        let done = 1_000 + response + state % response;
        let outcome =
            if state.is_multiple_of(1_000) { Outcome::Error(ErrorKind::Timeout) } else { Outcome::Ok };
        tallies.record(&RequestRecord {
            due: Timestamp::from_nanos(1_000),
            sent: Timestamp::from_nanos(1_000 + response / 4),
            done: Timestamp::from_nanos(done),
            operation: OperationId((state % 2) as u16),
            outcome,
        });
        tallies.lag.saturating_record(1 + state % 9_000);
        tallies.loop_delay.saturating_record(1 + state % 700);
    }
}

#[test]
fn merged_histograms_are_those_of_all_requests() {
    let workers: Vec<Tallies> = (0..20).map(|number| worker(number, 500)).collect();
    let mut forwards = Tallies::default();
    workers.iter().for_each(|worker| forwards.merge(worker));
    let mut backwards = Tallies::default();
    workers.iter().rev().for_each(|worker| backwards.merge(worker));
    assert_eq!((forwards.lag.len(), forwards.loop_delay.len()), (10_000, 10_000));
    assert_eq!(forwards.entries.iter().map(|tally| tally.response.len()).sum::<u64>(), 10_000);
    for tally in &forwards.entries {
        let other = backwards.get(tally.operation, tally.outcome).expect("the same kinds");
        assert_eq!((&tally.response, &tally.service), (&other.response, &other.service));
        let parts = workers.iter().filter_map(|worker| worker.get(tally.operation, tally.outcome));
        let highest = parts.map(|part| part.response.max()).max();
        assert_eq!(highest, Some(tally.response.max()));
    }
}

/// Merged one by one, the histograms of many workers are those of one worker that did it all: to the last
/// count.
#[test]
fn workers_merged_are_one_worker_who_did_it_all() {
    let mut merged = Tallies::default();
    let mut together = Tallies::default();
    for number in 0..200 {
        merged.merge(&worker(number, 100));
        requests(number, 100, &mut together);
    }
    let sorted = |mut tallies: Tallies| {
        tallies.entries.sort_by_key(|tally| (tally.operation, tally.outcome));
        tallies
    };
    let (merged, together) = (sorted(merged), sorted(together));
    assert_eq!(merged.lag.len(), 20_000);
    assert!(merged.entries.len() > 2, "no timeout occurred");
    // Bounds, sums and every quantile follow from the counts; extremes are kept beside them.
    assert_eq!(merged, together);
    for (one, other) in merged.entries.iter().zip(&together.entries) {
        assert_eq!((one.response.max(), one.response.min()), (other.response.max(), other.response.min()));
        assert_eq!((one.service.max(), one.service.min()), (other.service.max(), other.service.min()));
    }
}

/// A matter of time, so not for where other tests run:
/// `cargo test --release -p weighbridge-model --test merge -- --ignored --nocapture`.
#[test]
#[ignore = "a matter of time: run it alone, in release"]
#[allow(clippy::print_stdout)]
fn a_second_of_a_thousand_workers_is_merged_within_a_second() {
    let turn = || {
        // Each a memory of its own, made anew each time, so that no cache flatters; a request a millisecond
        // of each.
        let workers: Vec<Tallies> = (0..1_000).map(|number| worker(number, 1_000)).collect();
        let mut all = Tallies::default();
        let start = Instant::now();
        workers.iter().for_each(|worker| all.merge(worker));
        let took = start.elapsed().as_secs_f64();
        assert_eq!(all.lag.len(), 1_000_000);
        took
    };
    let mut times: Vec<f64> = (0..11).map(|_| turn()).collect();
    times.sort_by(f64::total_cmp);
    let [least, lower, median, upper, most] = [0, 2, 5, 8, 10].map(|at| times[at] * 1e3);
    println!(
        "1,000 workers of 1,000 requests: median {median:.0} ms, quartiles {lower:.0} to {upper:.0} ms, {least:.0} to {most:.0} ms over 11 turns"
    );
    assert!(median < 1_000.0, "{median} ms");
}
