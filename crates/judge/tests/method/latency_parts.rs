//! Parts of relayed requests' times in whole runs with known parts.

use crate::common;

use common::{Place, add_window, good, question, trial};
use weighbridge_judge::gate::judge;
use weighbridge_judge::{AskedSizes, Question, detail, summarise};
use weighbridge_model::estimate::{Estimate, Verdict};
use weighbridge_model::gate::{Gate, GateKind};
use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::parts::{PartTimes, RelayParts, TimePart};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::samples::{Relayed, Sample};
use weighbridge_model::record::{ErrorKind, Outcome, RoleCpu, RoleMemory, TrialRecord, WindowKind};
use weighbridge_model::sizes::SizeTime;
use weighbridge_model::summary::{RoleUse, SampleCounts, Summary};

const BLOCKS: u32 = 6;

/// Parts of one request: waiting, outside and inside its relay's call; a direct one has nothing inside.
#[derive(Clone, Copy)]
struct Law {
    waiting: u64,
    outside: u64,
    inside: Option<u64>,
}

fn sample(size: u64, round: u32, law: Law, retries: u32) -> Sample {
    let nanos = Nanoseconds::from_nanos;
    let service = law.outside + law.inside.unwrap_or(0);
    Sample {
        kind: WindowKind::Measured,
        point: PointId(0),
        round,
        operation: OperationId(0),
        size: Bytes::new(size),
        due: nanos(1_000),
        sent: nanos(1_000 + law.waiting),
        done: nanos(1_000 + law.waiting + service),
        outcome: Outcome::Ok,
        status: Some(200),
        length: Bytes::new(size),
        relayed: law.inside.map(|inside| Relayed {
            duration: nanos(inside),
            status: 200,
            length: Bytes::new(size),
            retries,
        }),
    }
}

/// Blocks of variants; `law(variant, block, request)` gives the times of the 60 requests of each round.
fn run(variants: u16, law: impl Fn(u16, u32, u64) -> Law) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for block in 0..BLOCKS {
        for variant in 0..variants {
            let mut trial = trial(block, variant);
            for round in 0..2 {
                add_window(&mut trial, Place::measured(round, u32::from(variant)), &[good(1_000); 60]);
                let size = |n: u64| if n.is_multiple_of(2) { 100 } else { 10_000 };
                let each = (0..60).map(|n| sample(size(n), round, law(variant, block, n), 0));
                trial.samples.extend(each);
            }
            trials.push(trial);
        }
    }
    trials
}

fn asked(variants: &[&str]) -> Question {
    Question {
        directs: vec![(VariantId(0), VariantId(1)), (VariantId(2), VariantId(1))],
        ..question(variants)
    }
}

fn part(relay: &RelayParts, part: TimePart) -> &PartTimes {
    relay.parts.iter().find(|one| one.part == part).unwrap_or_else(|| panic!("no {}", part.name()))
}

fn mean(relay: &RelayParts, time_part: TimePart) -> f64 {
    part(relay, time_part).mean_ns.point
}

/// Relays 0 and 2, and the peer itself as 1. Skewed, so that medians of parts do not add up to the median of
/// the whole.
fn law(variant: u16, block: u32, n: u64) -> Law {
    let host = 100 * u64::from(block);
    match variant {
        1 => Law { waiting: 0, outside: 20_000 + host, inside: None },
        _ => Law {
            waiting: 500 + if n.is_multiple_of(3) { 30_000 } else { 0 },
            outside: 40_000 + if n % 3 == 1 { 9_000 } else { 0 },
            inside: Some(50_000 + host + u64::from(variant) * 10_000 + if n % 3 == 2 { 6_000 } else { 0 }),
        },
    }
}

#[test]
fn parts_of_requests_add_up_and_the_call_is_cut_by_who_asks_directly() {
    let summary = summarise(&asked(&["go", "peer", "slow"]), &run(3, law));
    let [go, slow] = &summary.relays[..] else { panic!("{:?}", summary.relays) };
    assert_eq!((go.variant.as_str(), slow.variant.as_str()), ("go", "slow"));
    assert_eq!((go.direct.as_deref(), go.requests, go.failed, go.left_out), (Some("peer"), 720, 0, 0));
    // Each of the extras is in a third of the requests; blocks differ by 0 to 500 ns, 250 on average.
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * b.abs().max(1.0);
    for (time_part, truth) in [
        (TimePart::Waiting, 10_500.0),
        (TimePart::Outside, 43_000.0),
        (TimePart::Inside, 52_250.0),
        (TimePart::Server, 20_250.0),
        (TimePart::Client, 32_000.0),
        (TimePart::Response, 105_750.0),
    ] {
        assert!(near(mean(go, time_part), truth), "{}: {}", time_part.name(), mean(go, time_part));
    }
    let client = part(go, TimePart::Client).mean_ns;
    assert!(
        client.lower.zip(client.upper).is_some_and(|(l, u)| u - l < 1e-3),
        "blocks are paired: {client:?}"
    );
    let inside = part(go, TimePart::Inside).mean_ns;
    assert!(inside.lower.zip(inside.upper).is_some_and(|(l, u)| u - l > 300.0), "{inside:?}");
    let p50 = |time_part| part(go, time_part).p50_ns.map(|p50| p50.point);
    let sum: f64 = [TimePart::Waiting, TimePart::Outside, TimePart::Inside].into_iter().filter_map(p50).sum();
    assert!(p50(TimePart::Response).is_some_and(|whole| whole > sum + 5_000.0), "medians do not add up");
    assert_eq!((p50(TimePart::Server), p50(TimePart::Client)), (None, None));
}

#[test]
fn variants_without_reported_calls_have_no_curve_of_them() {
    let curves = detail(&asked(&["go", "peer", "slow"]), &run(3, law)).size_curves;
    let relayed = curves.iter().filter(|curve| curve.time == SizeTime::Relayed);
    assert_eq!(relayed.map(|curve| curve.variant.as_str()).collect::<Vec<_>>(), ["go", "slow"]);
}

#[test]
fn what_was_carried_is_bytes_over_the_time_of_whole_windows() {
    let mut trials = run(1, law);
    for trial in &mut trials {
        // Windows take 60 µs each; a request of the second was not kept, and one of the first failed.
        trial.samples.pop();
        trial.samples[0].outcome = Outcome::Error(ErrorKind::Check);
    }
    let carried = &summarise(&question(&["go"]), &trials).carried[0];
    let rate = |bytes: f64| bytes / 60e-6;
    let near = |estimate: &Estimate, truth: f64| (estimate.point / truth - 1.0).abs() < 1e-9;
    assert!(near(carried.bytes_per_s.as_ref().expect("sizes"), rate(29.0 * 100.0 + 30.0 * 10_000.0)));
    assert!(near(&carried.sizes[0].bytes_per_s, rate(29.0 * 100.0)), "{carried:?}");
    assert!(near(&carried.sizes[1].bytes_per_s, rate(30.0 * 10_000.0)), "{carried:?}");
    // Sockets carry 300 B a request, in all windows.
    assert!(near(carried.sockets_bytes_per_s.as_ref().expect("counted"), rate(60.0 * 300.0)));
    let one = Question { sizes: vec![AskedSizes::One(Bytes::new(500))], ..question(&["go"]) };
    let carried = &summarise(&one, &trials).carried[0];
    assert!(near(carried.bytes_per_s.as_ref().expect("a size"), rate(60.0 * 500.0)));
    let unknown = Question { sizes: Vec::new(), ..question(&["go"]) };
    assert_eq!(summarise(&unknown, &trials).carried[0].bytes_per_s, None);
}

#[test]
fn roles_are_separate_if_there_are_several() {
    let mut trials = run(2, law);
    let alone = summarise(&question(&["go", "other"]), &trials);
    assert_eq!(alone.roles, []);
    for trial in trials.iter_mut().filter(|trial| trial.variant == VariantId(1)) {
        for window in &mut trial.windows {
            let cpu = Nanoseconds::from_nanos(60 * 4_000);
            window.cpu.push(RoleCpu { role: "peer".to_owned(), cpu, requests: 60 });
        }
        let peak = Bytes::new(3 << 20);
        trial.memory.push(RoleMemory { role: "peer".to_owned(), point: PointId(0), peak });
    }
    let summary = summarise(&question(&["go", "other"]), &trials);
    let shown = |one: &RoleUse| {
        let [cpu, memory] =
            [&one.cpu_per_operation, &one.memory_peak].map(|e| e.as_ref().expect("told").point);
        (one.variant.clone(), one.role.clone(), cpu, memory)
    };
    let (name, mib) = ("other".to_owned(), f64::from(1 << 20));
    let truth = [
        (name.clone(), "peer".to_owned(), 4_000.0, 3.0 * mib),
        (name, "service".to_owned(), 10_000.0, 10.0 * mib),
    ];
    assert_eq!(summary.roles.iter().map(shown).collect::<Vec<_>>(), truth);
}

#[test]
fn parts_are_compared_with_the_baselines_and_reported_by_size() {
    let summary = summarise(&asked(&["go", "peer", "slow"]), &run(3, law));
    let [go, slow] = &summary.relays[..] else { panic!("two relays") };
    assert!(go.parts.iter().all(|part| part.cost.is_none()), "the baseline");
    let cost = |time_part| part(slow, time_part).cost.as_ref().expect("a cost");
    let inside = cost(TimePart::Inside);
    assert!(
        (inside.difference.point - 20_000.0).abs() < 1e-6 && inside.verdict == Verdict::Higher,
        "{inside:?}"
    );
    assert_eq!(cost(TimePart::Outside).verdict, Verdict::NoRelevantDifference);
    assert_eq!(cost(TimePart::Response).verdict, Verdict::Higher);
    let classes: Vec<_> =
        go.sizes.iter().map(|class| (class.from_bytes, class.to_bytes, class.requests)).collect();
    assert_eq!(classes, [(100, 100, 360), (10_000, 10_000, 360)]);
    let parts = |class: usize| go.sizes[class].parts.iter().map(|part| part.part).collect::<Vec<_>>();
    assert_eq!((parts(0), parts(1)), (TimePart::ALL.to_vec(), TimePart::ALL.to_vec()));
}

#[test]
fn failed_repeated_and_unkept_requests_are_counted_and_in_no_part() {
    let mut trials = run(1, |_, _, _| Law { waiting: 0, outside: 1_000, inside: Some(2_000) });
    for trial in &mut trials {
        // 120 requests: 3 fail, 2 of them repeated; 1 good one was repeated twice; 10 are not kept.
        trial.samples.truncate(110);
        for (at, retries) in [(0, 0), (1, 1), (2, 4)] {
            let failed = Law { waiting: 0, outside: 1_000_000, inside: Some(1_000_000) };
            trial.samples[at] =
                Sample { outcome: Outcome::Error(ErrorKind::Status), ..sample(100, 0, failed, retries) };
        }
        if let Some(relayed) = &mut trial.samples[3].relayed {
            relayed.retries = 2;
        }
    }
    let relay = &summarise(&question(&["go"]), &trials).relays[0];
    let all = u64::from(BLOCKS);
    assert_eq!((relay.requests, relay.failed, relay.left_out), (107 * all, 3 * all, 10 * all));
    assert_eq!((relay.retried, relay.retries), (3 * all, 7 * all));
    assert_eq!((mean(relay, TimePart::Outside), mean(relay, TimePart::Inside)), (1_000.0, 2_000.0));
    assert!(relay.direct.is_none() && relay.parts.iter().all(|part| part.part != TimePart::Server));
    let none = run(1, |_, _, _| Law { waiting: 0, outside: 1_000, inside: None });
    assert!(summarise(&question(&["peer"]), &none).relays.is_empty(), "nobody told");
}

#[test]
fn many_sizes_are_grouped_by_powers_of_ten() {
    let mut trials = run(1, |_, _, _| Law { waiting: 0, outside: 1_000, inside: Some(2_000) });
    for trial in &mut trials {
        for (sample, size) in
            trial.samples.iter_mut().zip([4, 9, 10, 99, 100, 5_000, 9_999, 10_000].into_iter().cycle())
        {
            sample.size = Bytes::new(size);
        }
    }
    let relay = &summarise(&question(&["go"]), &trials).relays[0];
    let classes: Vec<_> = relay.sizes.iter().map(|class| (class.from_bytes, class.to_bytes)).collect();
    assert_eq!(classes, [(4, 9), (10, 99), (100, 100), (5_000, 9_999), (10_000, 10_000)]);
    assert_eq!(relay.sizes.iter().map(|class| class.requests).sum::<u64>(), relay.requests);
}

#[test]
fn requests_that_are_not_kept_are_counted() {
    let mut trials = run(3, law);
    trials.iter_mut().for_each(|trial| trial.samples.truncate(110));
    let summary = summarise(&asked(&["go", "peer", "slow"]), &trials);
    let all = u64::from(BLOCKS);
    assert_eq!(summary.relays[0].left_out, 10 * all);
    assert_eq!(summary.variants[0].samples, Some(SampleCounts { kept: 110 * all, left_out: 10 * all }));
}

#[test]
fn failures_of_longer_windows_are_reported_and_seen_by_gates() {
    let mut trials = run(2, law);
    let question = asked(&["go", "peer"]);
    let plain = summarise(&question, &trials);
    let mut failed = [good(10_000); 120];
    failed[0].outcome = Outcome::Error(ErrorKind::Reset);
    for trial in &mut trials {
        for round in 0..2 {
            add_window(trial, Place { kind: WindowKind::Check, ..Place::measured(round, 0) }, &failed);
        }
    }
    let summary = summarise(&question, &trials);
    let [one, _] = &summary.variants[..] else { panic!("two variants") };
    let all = u64::from(BLOCKS);
    let other = one.other_windows;
    assert_eq!(
        (one.errors, other.errors, other.errors_by_kind.reset, other.requests),
        (0, 2 * all, 2 * all, 240 * all)
    );
    assert!(plain.variants[0].other_windows.is_empty());
    let finding = summary.findings.iter().find(|finding| finding.name == "errors elsewhere").expect("told");
    assert_eq!(finding.evidence, "12 of 1440 requests of longer windows and idle checks failed: 12 reset");
    assert_eq!(summary.validity, plain.validity, "no figure suffers from them");
    let passes = |text: &str, summary: &Summary| {
        judge(&Gate::parse(GateKind::FailIf, text).expect("a gate"), summary).passed
    };
    assert!(
        passes("errors > 0", &plain) && !passes("errors > 0", &summary) && passes("errors > 12", &summary)
    );
    // 12 of the 720 measured and the 1,440 others.
    assert!(passes("errors > 0.6 %", &summary) && !passes("errors > 0.5 %", &summary));
}
