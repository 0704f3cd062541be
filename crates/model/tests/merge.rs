//! Merging histograms is addition: nothing is lost, and a second of a thousand workers takes less than a second.

use std::time::Instant;

use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::{ErrorKind, OperationId, Outcome, RequestRecord, Tallies};

/// What one worker measured: `requests` of two operations, spread over five decades, some of them timeouts.
fn worker(number: u64, requests: u64) -> Tallies {
    let mut tallies = Tallies::default();
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..requests {
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
    tallies
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

/// Not timed where other tests run: `cargo test --release -p weighbridge-model --test merge -- --ignored`.
#[test]
#[ignore = "a matter of time: run it alone, in release"]
fn a_second_of_a_thousand_workers_is_merged_within_a_second() {
    // Each a memory of its own, so that no cache flatters; a request a millisecond of each.
    let workers: Vec<Tallies> = (0..1_000).map(|number| worker(number, 1_000)).collect();
    let mut all = Tallies::default();
    let start = Instant::now();
    workers.iter().for_each(|worker| all.merge(worker));
    let took = start.elapsed();
    assert_eq!(all.lag.len(), 1_000_000);
    assert!(took.as_secs_f64() < 1.0, "{took:?}");
}
