//! Method defects of earlier benchmark systems, each with the judge's guard. Numbers are those of the
//! project's list; 7 and 17 are also guarded in the modules that compute them.

use crate::common;

use common::{Place, add_window, cost, failed, good, noisy, question, random, ratio, run, trial};
use weighbridge_judge::{Transport, summarise};
use weighbridge_model::estimate::{Quantity, Validity, Verdict};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{ErrorKind, Traffic};

/// 1: nanoseconds were divided as integers, so every time below a millisecond was 0 or 1 ms.
#[test]
fn defect_1_a_difference_of_300_ns_on_15_us_is_kept() {
    let mut random = random(31);
    let trials = run(6, 50, |variant, _, _| {
        noisy(&mut random, if variant == 0 { 15_000.0 } else { 15_300.0 }, 0.02, 400)
    });
    let summary = summarise(&question(&["a", "b"]), &trials);
    let difference = cost(&summary, "get", Quantity::ResponseP50).difference.unwrap();
    let (lower, upper) = difference.interval().unwrap();
    assert!(lower > 270.0 && upper < 330.0, "{difference:?}");
}

/// 3: latency was taken from the actual send, so waiting for a busy server was left out.
#[test]
fn defect_3_waiting_before_the_send_is_in_the_response_time_and_not_in_the_service_time() {
    let trials = run(6, 20, |variant, _, _| {
        let mut requests = vec![good(100_000); 200];
        requests.iter_mut().filter(|_| variant == 1).for_each(|r| r.waited = 900_000);
        requests
    });
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert!((ratio(&summary, Quantity::ResponseMean) - 10.0).abs() < 1e-9);
    assert!((ratio(&summary, Quantity::ServiceMean) - 1.0).abs() < 1e-9);
}

/// 4: rows with a wrapped clock, the slow ones, were dropped in silence.
#[test]
fn defect_4_a_request_that_was_due_and_never_sent_invalidates() {
    let mut trials = run(6, 10, |_, _, _| vec![good(100_000); 200]);
    trials[3].windows[4].figures.not_sent = 1;
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert_eq!((summary.validity, summary.costs[0].verdict), (Validity::Invalid, Verdict::Invalid));
    assert_eq!(summary.variants[1].not_sent, 1);
}

/// 5: requests per second was one over the latency, so concurrency could not be seen.
#[test]
fn defect_5_throughput_is_replies_over_time_and_not_one_over_the_latency() {
    let mut trials = Vec::new();
    for block in 0..6 {
        for (variant, connections) in [(0, 1), (1, 4)] {
            let mut one = trial(block, variant);
            for round in 0..10 {
                let place = Place { connections, ..Place::measured(round, u32::from(variant)) };
                add_window(&mut one, place, &[good(100_000); 200]);
            }
            trials.push(one);
        }
    }
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert!((ratio(&summary, Quantity::ResponseP50) - 1.0).abs() < 1e-9);
    assert!((ratio(&summary, Quantity::Throughput) - 4.0).abs() < 1e-9);
}

/// 6: a percentile range of single requests was draw_scatter and called a confidence interval.
#[test]
fn defect_6_the_interval_is_of_the_mean_over_blocks_and_not_the_range_of_requests() {
    let half_width = |spread: f64, blocks: u32| {
        let mut random = random(32);
        let trials = run(blocks, 10, |_, _, _| noisy(&mut random, 100_000.0, spread, 400));
        let mut asked = question(&["a", "b"]);
        asked.blocks.min = blocks;
        let summary = summarise(&asked, &trials);
        let (lower, upper) = cost(&summary, "get", Quantity::ResponseMean).ratio.unwrap().interval().unwrap();
        0.5 * (upper - lower)
    };
    // Requests spread by 20 %; with 4,000 in a block, its mean is accurate to 0.3 %, and more blocks improve
    // it.
    let (few, many) = (half_width(0.2, 6), half_width(0.2, 24));
    assert!(few < 0.02 && many < few, "{few} {many}");
}

/// 7: servers were measured while still warming up, with up to 78 % drift inside the sample.
#[test]
fn defect_7_a_variant_that_still_becomes_faster_is_flagged() {
    let mut random = random(33);
    let trials = run(6, 60, |variant, _, round| {
        let warming = if variant == 1 { 1.78 - 0.78 * f64::from(round) / 60.0 } else { 1.0 };
        noisy(&mut random, 100_000.0 * warming, 0.02, 50)
    });
    let summary = summarise(&question(&["a", "b"]), &trials);
    let drifts: Vec<_> = summary.findings.iter().filter(|f| f.name == "drift").collect();
    assert_eq!(drifts.len(), 1, "{drifts:?}");
    assert_eq!(drifts[0].subject, "b");
    assert_eq!(summary.validity, Validity::Suspect);
}

/// 9: the client was weaker than the server, and its limit was reported as the server's.
#[test]
fn defect_9_a_client_at_its_limit_withholds_verdicts_on_throughput() {
    let mut trials = run(6, 10, |variant, _, _| vec![good(if variant == 0 { 100_000 } else { 50_000 }); 200]);
    let busy = |trials: &mut Vec<_>, share: u64| {
        let windows =
            trials.iter_mut().flat_map(|t: &mut weighbridge_model::record::TrialRecord| &mut t.windows);
        windows.for_each(|w| w.figures.health.busy = w.figures.health.wall * share / 100);
    };
    busy(&mut trials, 90);
    let summary = summarise(&question(&["a", "b"]), &trials);
    let throughput = cost(&summary, "get", Quantity::Throughput);
    assert_eq!((throughput.verdict, throughput.effect), (Verdict::Withheld, None));
    assert!(throughput.reason.as_deref().is_some_and(|r| r.contains("generator-bound")), "{throughput:?}");
    assert_eq!(
        cost(&summary, "get", Quantity::ResponseP50).verdict,
        Verdict::Lower,
        "times are not withheld"
    );
    // The same client with services that use 95 % of their core is not the limit.
    for window in trials.iter_mut().flat_map(|t| &mut t.windows) {
        let time = window.figures.ended.since(window.figures.started);
        window.cpu[0].cpu = Nanoseconds::from_nanos(time.as_nanos() * 95 / 100);
    }
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert_eq!(cost(&summary, "get", Quantity::Throughput).verdict, Verdict::Higher);
}

/// 11: retries and failures ran inside a timed request, so error handling was measured as work.
#[test]
fn defect_11_attempts_failures_and_good_replies_are_counted_apart() {
    let trials = run(6, 10, |variant, _, _| {
        let mut requests = vec![good(100_000); 200];
        if variant == 1 {
            requests[100..].fill(failed(ErrorKind::Status, 100_000));
        }
        requests
    });
    let summary = summarise(&question(&["a", "b"]), &trials);
    let failing = &summary.variants[1];
    assert_eq!((failing.requests, failing.errors_by_kind.status, failing.errors), (12_000, 6_000, 6_000));
    assert!((ratio(&summary, Quantity::Throughput) - 0.5).abs() < 1e-9, "only good replies are throughput");
    assert!((ratio(&summary, Quantity::ResponseMean) - 1.0).abs() < 1e-9, "times are of good replies");
    assert_eq!(summary.validity, Validity::Suspect);
}

/// 13: a variant named after its transport ran in process.
#[test]
fn defect_13_a_variant_without_a_byte_on_the_wire_is_not_what_it_says() {
    let mut trials = run(6, 10, |_, _, _| vec![good(100_000); 200]);
    for window in trials.iter_mut().filter(|t| t.variant.0 == 1).flat_map(|t| &mut t.windows) {
        window.figures.traffic = Traffic::default();
    }
    let mut asked = question(&["direct", "soap"]);
    let found = |summary: weighbridge_model::summary::Summary| {
        summary
            .findings
            .iter()
            .filter(|f| f.name == "not what it says")
            .map(|f| f.subject.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(summarise(&asked, &trials)), ["soap"]);
    asked.variants[0].transport = Transport::InProcess;
    asked.variants[1].transport = Transport::InProcess;
    assert_eq!(found(summarise(&asked, &trials)), ["direct"]);
}

/// 14: two series from different times were subtracted line by line.
#[test]
fn defect_14_windows_are_paired_by_round_so_that_shared_drift_cancels() {
    let mut random = random(34);
    // The host becomes 4× slower over a block; the variant always costs 1 % more. One of its windows is
    // missing.
    let mut trials = run(6, 60, |variant, _, round| {
        let host = 1.0 + 3.0 * f64::from(round) / 60.0;
        noisy(&mut random, 100_000.0 * host * (1.0 + 0.01 * f64::from(variant)), 0.01, 400)
    });
    for trial in trials.iter_mut().filter(|t| t.variant.0 == 1) {
        trial.windows.remove(10);
    }
    let summary = summarise(&question(&["a", "b"]), &trials);
    let headline = summary.costs[0].ratio.unwrap();
    let (lower, upper) = headline.interval().unwrap();
    assert!(lower > 1.008 && upper < 1.012, "{headline:?}");
    assert_eq!(summary.costs[0].reason.as_deref(), Some("measurable: +1.0 %"));
}
