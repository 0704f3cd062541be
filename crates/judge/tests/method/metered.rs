//! Metered latency against its definition, carried out request by request over generated closed logs.

use proptest::prelude::*;
use weighbridge_judge::metered::{ClosedLog, ClosedRequest};
use weighbridge_model::quantity::Nanoseconds;

/// Up to six slots that start at times of their own, with up to 25 requests each: (think, service) times.
/// Small times make ties common, long ones are pauses. One slot may be idle long before the others.
fn logs() -> impl Strategy<Value = Vec<ClosedRequest>> {
    let think = prop_oneof![4 => Just(0_u64), 1 => 0_u64..20];
    let service = prop_oneof![6 => 0_u64..30, 3 => 1_000_u64..1_000_000, 1 => 100_000_000_u64..200_000_000];
    let slot = (0_u64..50, prop::collection::vec((think, service), 1..25));
    let slots = prop::collection::vec(slot, 1..6);
    // A clock may have run for long: beyond 2^53 a floating-point number has no single nanoseconds.
    let origin = prop_oneof![Just(0_u64), Just(1_u64 << 62)];
    (origin, slots).prop_map(|(origin, slots)| log_of(origin, slots)).prop_shuffle()
}

fn log_of(origin: u64, slots: Vec<(u64, Vec<(u64, u64)>)>) -> Vec<ClosedRequest> {
    let mut log = Vec::new();
    for (slot, (first, turns)) in (0..).zip(slots) {
        let mut now = origin + first;
        for (think, service) in turns {
            let start = Nanoseconds::from_nanos(now + think);
            now += think + service;
            log.push(ClosedRequest { slot, start, end: Nanoseconds::from_nanos(now) });
        }
    }
    log
}

fn windows() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..100, 0_u64..3_000_000, 0_u64..2_000_000_000, Just(u64::MAX)]
}

/// Straight from the definition, with nothing sorted but the outcome: every request looks at all others. Of
/// requests with the same start and end, the one given first has the lower rank.
fn oracle(log: &[ClosedRequest], window: u64) -> Vec<u64> {
    let all: Vec<(i128, i128)> = log
        .iter()
        .map(|request| (i128::from(request.start.as_nanos()), i128::from(request.end.as_nanos())))
        .collect();
    let until = cut(log);
    let kept: Vec<(i128, i128)> = all.into_iter().filter(|(start, _)| *start <= until).collect();
    let window = i128::from(window);
    let mut outcome = Vec::new();
    for (at, &(start, end)) in kept.iter().enumerate() {
        let earlier = |other: usize| (kept[other], other) < ((start, end), at);
        let rank = (0..kept.len()).filter(|other| earlier(*other)).count() as i128;
        let before = kept.iter().filter(|(other, _)| 2 * (start - other) > window).count() as i128;
        let from = kept.iter().map(|(other, _)| *other).filter(|other| 2 * (start - other) <= window).min();
        let marks = || kept.iter().map(|(other, _)| *other).chain([until]);
        let to = marks().filter(|mark| 2 * (mark - start) <= window).max();
        let up_to = marks().filter(|mark| 2 * (mark - start) <= window).count() as i128 - 1;
        let (from, to) = (from.expect("itself"), to.expect("itself"));
        let synthetic =
            if up_to == before { start } else { from + (rank - before) * (to - from) / (up_to - before) };
        outcome.push((start, end, (end - start).max(end - synthetic)));
    }
    // Stable: requests that look alike stay in the order of their ranks.
    outcome.sort_by_key(|(start, end, _)| (*start, *end));
    outcome.into_iter().map(|(_, _, latency)| u64::try_from(latency).expect("a length")).collect()
}

/// When the first slot has done its last request.
fn cut(log: &[ClosedRequest]) -> i128 {
    let last = |slot: u32| log.iter().filter(|request| request.slot == slot).map(|request| request.end).max();
    let until = log.iter().filter_map(|request| last(request.slot)).min();
    i128::from(until.expect("a request").as_nanos())
}

fn nanos(times: &[Nanoseconds]) -> Vec<u64> {
    times.iter().map(|time| time.as_nanos()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn metered_latency_is_that_of_the_definition_to_the_nanosecond(requests in logs(), window in windows()) {
        let log = ClosedLog::new(&requests).unwrap();
        let metered = nanos(&log.metered(Nanoseconds::from_nanos(window)));
        prop_assert_eq!(metered, oracle(&requests, window));
    }

    #[test]
    fn window_zero_is_simple_latency_and_no_window_adds_more_than_its_half(
        requests in logs(), window in windows()
    ) {
        let log = ClosedLog::new(&requests).unwrap();
        let until = cut(&requests);
        let mut simple: Vec<_> = requests
            .iter()
            .filter(|request| i128::from(request.start.as_nanos()) <= until)
            .map(|request| (request.start, request.end))
            .collect();
        simple.sort_unstable();
        let simple: Vec<u64> = simple.iter().map(|(start, end)| end.as_nanos() - start.as_nanos()).collect();
        prop_assert_eq!(&nanos(&log.metered(Nanoseconds::ZERO)), &simple);
        prop_assert_eq!(log.left_out() + simple.len(), requests.len());
        for (metered, simple) in nanos(&log.metered(Nanoseconds::from_nanos(window))).iter().zip(simple) {
            prop_assert!(*metered >= simple && metered - simple <= window / 2, "{} {}", metered, simple);
        }
    }

    #[test]
    fn windows_beyond_twice_the_base_stretch_space_starts_evenly(requests in logs()) {
        let log = ClosedLog::new(&requests).unwrap();
        let until = cut(&requests);
        let mut kept: Vec<_> = requests
            .iter()
            .map(|request| (i128::from(request.start.as_nanos()), i128::from(request.end.as_nanos())))
            .filter(|(start, _)| *start <= until)
            .collect();
        kept.sort_unstable();
        let (first, n) = (kept[0].0, kept.len() as i128);
        let even = |at: i128| first + at * (until - first) / n;
        let wanted: Vec<u64> =
            (0..).zip(&kept).map(|(at, (start, end))| (end - even(at).min(*start)) as u64).collect();
        let twice = log.stretch().as_nanos() * 2;
        for window in [twice, twice + 1, u64::MAX] {
            prop_assert_eq!(&nanos(&log.metered(Nanoseconds::from_nanos(window))), &wanted);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn quantiles_are_nearest_ranks_of_the_latencies_of_their_window(requests in logs()) {
        let log = ClosedLog::new(&requests).unwrap();
        let rows = log.by_window();
        prop_assert!(rows.windows(2).all(|pair| pair[0].window < pair[1].window));
        for row in rows {
            let latencies = log.metered(row.window);
            for (quantile, per_mille) in
                [(row.p50, 500), (row.p90, 900), (row.p99, 990), (row.p999, 999), (row.max, 1000)]
            {
                let below = latencies.iter().filter(|latency| **latency < quantile).count();
                let up_to = latencies.iter().filter(|latency| **latency <= quantile).count();
                prop_assert!(below * 1000 < per_mille * latencies.len());
                prop_assert!(up_to * 1000 >= per_mille * latencies.len());
                prop_assert!(latencies.contains(&quantile));
            }
        }
    }
}
