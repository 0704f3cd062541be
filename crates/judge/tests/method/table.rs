//! The table of costs: which rows exist, which are withheld, what overrides a verdict.

use crate::common;

use common::{Place, add_window, cost, failed, good, noisy, question, random, run};
use weighbridge_judge::{Lifetime, Load, Placement, detail, summarise};
use weighbridge_model::detail::{DotKind, TimeKind};
use weighbridge_model::estimate::{ContrastKind, Effect, Quantity, Validity, Verdict};
use weighbridge_model::id::PointId;
use weighbridge_model::quantity::{Bytes, Ratio};
use weighbridge_model::record::{
    ErrorKind, FailedReplies, Traffic, TrialRecord, Void, WindowEnd, WindowFigures, WindowKind,
};
use weighbridge_model::summary::{Severity, Summary};

/// Six blocks of ten rounds of 200 requests: the baseline near 100 µs, the variant `factor` times that.
fn plain(factor: f64) -> Vec<TrialRecord> {
    let mut random = random(21);
    run(6, 10, |variant, _, _| {
        noisy(&mut random, if variant == 0 { 100_000.0 } else { 100_000.0 * factor }, 0.01, 200)
    })
}

fn change(trials: &mut [TrialRecord], variant: u16, mut edit: impl FnMut(&mut WindowFigures)) {
    let own = trials.iter_mut().filter(|t| t.variant.0 == variant);
    own.flat_map(|t| &mut t.windows).for_each(|w| edit(&mut w.figures));
}

fn has_finding(summary: &Summary, name: &str) -> bool {
    summary.findings.iter().any(|finding| finding.name == name)
}

/// Told only in some runs.
fn is_special(quantity: Quantity) -> bool {
    let of_some = [
        Quantity::WireBytesPerOperation,
        Quantity::PayloadBytesPerOperation,
        Quantity::Capacity,
        Quantity::ActionThroughput,
        Quantity::RestoreTime,
    ];
    of_some.contains(&quantity) || quantity.contrast() == ContrastKind::Plain
}

#[test]
fn a_plain_run_has_one_row_per_quantity_with_the_headline_first() {
    let summary = summarise(&question(&["a", "b"]), &plain(2.31));
    let quantities: Vec<_> = summary.costs.iter().map(|c| c.quantity).collect();
    let all: Vec<_> = Quantity::ALL.into_iter().filter(|quantity| !is_special(*quantity)).collect();
    assert_eq!(
        quantities, all,
        "response p50 is both the headline and the first; nothing has a link, the protocol is one, and nothing is counted"
    );
    assert!(summary.costs.iter().all(|c| c.operation == "get" && c.variant == "b"));
    let first = &summary.costs[0];
    assert!(first.headline && summary.costs[1..].iter().all(|c| !c.headline));
    let point = first.ratio.unwrap().point;
    assert!((point - 2.31).abs() < 0.01, "{point}");
    assert_eq!((first.verdict, first.effect), (Verdict::Higher, Some(Effect::Worse)));
    assert_eq!(summary.validity, Validity::Valid, "{:?}", summary.findings);
    assert_eq!(summary.blocks.used, 6);
    assert_eq!(summary.variants[1].requests, 6 * 10 * 200);
    assert_eq!(summary.variants[0].version.as_deref(), Some("test 1.0"));
}

#[test]
fn another_headline_comes_first() {
    let mut asked = question(&["a", "b"]);
    asked.headline = Quantity::CpuPerOperation;
    let summary = summarise(&asked, &plain(1.0));
    assert_eq!(summary.costs[0].quantity, Quantity::CpuPerOperation);
    assert!(summary.costs[0].headline && summary.costs.iter().all(|cost| !is_special(cost.quantity)));
    // Even without a link whose bytes could be counted, the row exists and says why it has no figure.
    asked.headline = Quantity::WireBytesPerOperation;
    let summary = summarise(&asked, &plain(1.0));
    let first = &summary.costs[0];
    assert!(first.headline && first.quantity == Quantity::WireBytesPerOperation, "{first:?}");
    assert!(first.reason.as_deref().is_some_and(|why| why.contains("`veth`")), "{first:?}");
}

#[test]
fn several_operations_have_a_row_each_and_one_for_all() {
    let mut random = random(22);
    let mut asked = question(&["a", "b"]);
    asked.points[0].operations = vec!["get".to_owned(), "set".to_owned()];
    let trials = run(6, 10, |variant, _, _| {
        let mut requests = noisy(&mut random, 100_000.0, 0.01, 400);
        // Every other request is a `set`, which the variant answers twice as slowly.
        for request in requests.iter_mut().step_by(2) {
            request.operation = 1;
            request.service *= 1 + u64::from(variant);
        }
        requests
    });
    let summary = summarise(&asked, &trials);
    let point = |operation, quantity| cost(&summary, operation, quantity).ratio.unwrap().point;
    assert!((point("get", Quantity::ResponseP50) - 1.0).abs() < 0.005);
    assert!((point("set", Quantity::ResponseP50) - 2.0).abs() < 0.01);
    assert!((point("all", Quantity::ResponseMean) - 1.5).abs() < 0.01);
    let count = |quantity| summary.costs.iter().filter(|c| c.quantity == quantity).count();
    assert_eq!(count(Quantity::ResponseP99), 3);
    assert_eq!(count(Quantity::CpuPerOperation), 1, "CPU belongs to no single operation");
    assert_eq!(summary.costs[0].operation, "all");
}

#[test]
fn a_quantile_is_withheld_below_20_requests_beyond_it_in_a_block() {
    // 2,000 requests a block are enough for p99; with one window less in one block they are not.
    let enough = summarise(&question(&["a", "b"]), &plain(1.0));
    assert_ne!(cost(&enough, "get", Quantity::ResponseP99).verdict, Verdict::Withheld);
    let mut random = random(23);
    let few =
        run(6, 10, |_, block, _| noisy(&mut random, 100_000.0, 0.01, if block == 3 { 190 } else { 200 }));
    let summary = summarise(&question(&["a", "b"]), &few);
    let row = cost(&summary, "get", Quantity::ResponseP99);
    assert_eq!((row.verdict, row.ratio, row.difference), (Verdict::Withheld, None, None));
    assert!(
        row.reason
            .as_deref()
            .is_some_and(|r| r.starts_with("needs about 2,000 requests in each block, fewer than 2,000 ")),
        "{row:?}"
    );
    assert_ne!(cost(&summary, "get", Quantity::ResponseP90).verdict, Verdict::Withheld);
    let figure = summary.variants[0].figures.iter().find(|f| f.quantity == Quantity::ResponseP99).unwrap();
    assert!(figure.estimate.is_none() && figure.reason.is_some());
}

#[test]
fn a_cost_of_a_quantile_needs_100_requests_beyond_it_in_all() {
    // Four blocks with 20 beyond p99 each: the figure is shown, its cost is not.
    let mut random = random(24);
    let trials = run(4, 10, |_, _, _| noisy(&mut random, 100_000.0, 0.01, 200));
    let summary = summarise(&question(&["a", "b"]), &trials);
    let figure = summary.variants[0].figures.iter().find(|f| f.quantity == Quantity::ResponseP99).unwrap();
    assert!(figure.estimate.is_some());
    let row = cost(&summary, "get", Quantity::ResponseP99);
    assert_eq!(row.verdict, Verdict::Withheld);
    assert!(
        row.reason
            .as_deref()
            .is_some_and(|r| r.starts_with("needs about 10,000 requests in all, fewer than 8,100 ")),
        "{row:?}"
    );
}

#[test]
fn below_four_blocks_there_are_points_and_no_intervals() {
    let summary = summarise(&question(&["a", "b"]), &plain(2.0)[..6]);
    let headline = &summary.costs[0];
    assert!((headline.ratio.unwrap().point - 2.0).abs() < 0.01);
    assert_eq!((headline.ratio.unwrap().interval(), headline.verdict), (None, Verdict::Undecided));
}

#[test]
fn a_void_block_counts_for_nothing() {
    let mut trials = plain(2.0);
    trials[2].void = Some(Void::ClockJump);
    trials[4].steal = 0.11;
    trials[7].windows[3].figures.end = WindowEnd::Aborted;
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert_eq!((summary.blocks.used, summary.blocks.void), (3, 3));
    let evidence: Vec<_> = summary.findings.iter().map(|f| f.evidence.as_str()).collect();
    assert!(evidence.iter().any(|e| e.contains("block 1") && e.contains("clock")), "{evidence:?}");
    assert!(evidence.iter().any(|e| e.contains("block 2") && e.contains("11 %")), "{evidence:?}");
    assert_eq!(summary.costs[0].ratio.unwrap().blocks, 3);
}

#[test]
fn a_late_generator_invalidates_where_nothing_asked_for_is_left() {
    let mut trials = plain(2.0);
    for trial in &mut trials {
        trial.tallies[0].lag.saturating_record_n(99_000, 1000);
    }
    assert_eq!(summarise(&question(&["a", "b"]), &trials).validity, Validity::Valid, "99 µs never matter");
    for trial in trials.iter_mut().filter(|t| t.variant.0 == 1) {
        trial.tallies[0].lag.saturating_record_n(110_000, 100);
    }
    let summary = summarise(&question(&["a", "b"]), &trials);
    let row = &summary.costs[0];
    assert_eq!((row.verdict, row.effect), (Verdict::Invalid, None));
    let told = "`b`: generator late: requests were sent 110 µs late at p99, which moves response p50, ";
    assert!(row.reason.as_deref().is_some_and(|reason| reason.starts_with(told)), "{row:?}");
    assert!(row.ratio.is_some());
    assert_eq!(summary.validity, Validity::Invalid);
}

/// 5 ms a request, in which `late` of 1,000 requests were sent 600 µs late, and the others 1 µs.
fn late(late: u64) -> Vec<TrialRecord> {
    let mut random = random(25);
    let mut trials = run(6, 10, |_, _, _| noisy(&mut random, 5_000_000.0, 0.01, 400));
    for trial in &mut trials {
        trial.tallies[0].lag.saturating_record_n(1_000, 1000 - late);
        trial.tallies[0].lag.saturating_record_n(600_000, late);
    }
    trials
}

#[test]
fn a_late_tail_withholds_p99_alone_and_keeps_the_rest() {
    let summary = summarise(&question(&["a", "b"]), &late(15));
    assert_eq!(summary.validity, Validity::Valid);
    let p99 = cost(&summary, "get", Quantity::ResponseP99);
    assert_eq!((p99.verdict, p99.ratio, p99.difference, p99.p), (Verdict::Withheld, None, None, None));
    let reason = p99.reason.as_deref().unwrap_or_default();
    assert!(reason.starts_with("`a`: at most 5."), "{reason}");
    assert!(reason.contains("sent 600 µs late; `weigh doctor` says"), "{reason}");
    for kept in [Quantity::ResponseP50, Quantity::ResponseP90, Quantity::ResponseMean, Quantity::ServiceP99] {
        let row = cost(&summary, "get", kept);
        assert!(row.ratio.is_some() && row.verdict != Verdict::Withheld, "{row:?}");
    }
    for variant in &summary.variants {
        let absent: Vec<Quantity> =
            variant.figures.iter().filter(|one| one.estimate.is_none()).map(|one| one.quantity).collect();
        assert_eq!(absent, [Quantity::ResponseP99], "{variant:?}");
    }
    let finding = summary.findings.iter().find(|one| one.name == "generator late").expect("a finding");
    assert_eq!((finding.severity, finding.subject.as_str()), (Severity::Note, "a"));
    assert_eq!(finding.evidence, "requests were sent 600 µs late at p99; withheld: response p99");
}

#[test]
fn lateness_of_one_side_withholds_the_cost_and_the_figure_of_that_side() {
    let mut trials = late(0);
    for (trial, other) in trials.iter_mut().zip(late(15)).filter(|(trial, _)| trial.variant.0 == 1) {
        *trial = other;
    }
    let summary = summarise(&question(&["a", "b"]), &trials);
    let reason = cost(&summary, "get", Quantity::ResponseP99).reason.clone().unwrap_or_default();
    assert!(reason.starts_with("`b`: at most"), "{reason}");
    let figure = |variant: usize| {
        let mut figures = summary.variants[variant].figures.iter();
        figures.find(|one| one.quantity == Quantity::ResponseP99).and_then(|one| one.estimate)
    };
    assert!(figure(0).is_some() && figure(1).is_none());
}

#[test]
fn lateness_is_invalid_only_where_gates_have_nothing_either() {
    let mut asked = question(&["a", "b"]);
    asked.headline = Quantity::ResponseP99;
    assert_eq!(summarise(&asked, &late(15)).validity, Validity::Invalid);
    asked.gated = vec![Quantity::ResponseP99];
    assert_eq!(summarise(&asked, &late(15)).validity, Validity::Invalid);
    asked.gated = vec![Quantity::ResponseP99, Quantity::ResponseMean];
    assert_eq!(summarise(&asked, &late(15)).validity, Validity::Valid);
}

#[test]
fn closed_load_that_is_late_on_average_loses_its_throughput() {
    let withheld = |load: Load| {
        let mut asked = question(&["a", "b"]);
        (asked.points[0].load, asked.headline) = (load, Quantity::ServiceP50);
        let summary = summarise(&asked, &late(900));
        assert_eq!(summary.validity, Validity::Valid);
        let withheld = summary.costs.iter().filter(|row| row.verdict == Verdict::Withheld);
        withheld.map(|row| row.quantity.name()).collect::<Vec<_>>()
    };
    let times = ["response_p50", "response_p90", "response_p95", "response_p99", "response_mean"];
    assert_eq!(withheld(Load::Open), times);
    assert_eq!(withheld(Load::Closed), [&times[..], &["throughput"]].concat());
}

#[test]
fn a_saturated_window_invalidates() {
    let mut trials = plain(2.0);
    trials[1].windows[0].figures.end = WindowEnd::Saturated;
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert!(has_finding(&summary, "saturated"));
    assert_eq!(summary.costs[0].verdict, Verdict::Invalid);
}

#[test]
fn suspect_conditions_are_reported_and_change_no_verdict() {
    let check = |name: &str, edit: &dyn Fn(&mut Vec<TrialRecord>)| {
        let mut trials = plain(2.0);
        edit(&mut trials);
        let summary = summarise(&question(&["a", "b"]), &trials);
        assert!(has_finding(&summary, name), "{name}: {:?}", summary.findings);
        assert_eq!(summary.validity, Validity::Suspect, "{name}");
        assert_eq!(summary.costs[0].verdict, Verdict::Higher, "{name}");
    };
    check("loop delay", &|trials| {
        trials.iter_mut().for_each(|t| t.tallies[0].loop_delay.saturating_record_n(50_000, 10));
    });
    check("retransmits", &|trials| {
        trials[0].windows[0].figures.traffic.retransmits = 2;
        change(trials, 0, |w| w.traffic.segments_out = 150);
    });
    check("errors", &|trials| {
        change(trials, 0, |w| w.errors.status = 3);
        change(trials, 1, |w| w.errors.status = 3);
    });
    check("unequal errors", &|trials| change(trials, 1, |w| w.errors.status = 3));
    let mut shared = question(&["a", "b"]);
    shared.cores.placement = Placement::Shared;
    assert!(has_finding(&summarise(&shared, &plain(2.0)), "shared core"));
}

#[test]
fn few_errors_are_a_note_with_counts() {
    let mut trials = plain(2.0);
    trials[0].windows[0].figures.errors.reset = 2;
    let summary = summarise(&question(&["a", "b"]), &trials);
    let finding = summary.findings.iter().find(|f| f.name == "errors").unwrap();
    assert_eq!(finding.evidence, "2 of 12,000 requests failed: 2 reset");
    assert_eq!(summary.validity, Validity::Valid);
}

#[test]
fn a_wrong_reply_is_told_with_its_kinds_and_one_in_a_hundred_invalidates() {
    let told = |wrong_in_each: u64, windows: usize| {
        let mut trials = plain(2.0);
        let mut of_b: Vec<_> = trials.iter_mut().filter(|trial| trial.variant.0 == 1).collect();
        let mut failed = of_b.iter_mut().flat_map(|trial| &mut trial.windows);
        (0..windows).for_each(|_| failed.next().unwrap().figures.errors.check = wrong_in_each);
        let said = |text: &str, example: &str, count| FailedReplies {
            point: PointId(0),
            kind: ErrorKind::Check,
            text: text.to_owned(),
            example: example.to_owned(),
            count,
        };
        of_b[0].failures = vec![said("stale", "k7", 1), said("foreign", "", 1)];
        of_b[1].failures = vec![said("stale", "k9", 1)];
        summarise(&question(&["a", "b"]), &trials)
    };
    let summary = told(1, 3);
    let finding = summary.findings.iter().find(|one| one.name == "wrong replies").expect("a finding");
    assert_eq!((finding.severity, &finding.subject[..]), (Severity::Warning, "b"));
    assert_eq!(finding.evidence, "3 of 12,000 replies have wrong content: 2 stale (first: k7); 1 foreign");
    assert_eq!(summary.validity, Validity::Suspect);
    assert_eq!(told(40, 3).validity, Validity::Invalid, "120 of 12,000");
    assert_eq!(told(39, 3).validity, Validity::Suspect);
}

#[test]
fn timeouts_enter_the_response_times_as_lower_bounds_and_the_summary_says_so() {
    let mut random = random(26);
    let mut requests = |variant| {
        let mut requests = noisy(&mut random, 100_000.0, 0.01, 199);
        requests.push(if variant == 1 { failed(ErrorKind::Timeout, 1_000_000_000) } else { good(100_000) });
        requests
    };
    let trials = run(6, 40, |variant, _, _| requests(variant));
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert!(has_finding(&summary, "lower bounds"));
    let mean = cost(&summary, "get", Quantity::ResponseMean).ratio.unwrap().point;
    // 199 at 100 µs and one at a second: 5.0995 ms.
    assert!((mean / 50.995 - 1.0).abs() < 0.005, "{mean}");
}

/// Every tenth round has a check window of ten times the requests.
fn with_checks(check_factor: f64) -> Vec<TrialRecord> {
    let mut random = random(27);
    let mut trials = run(6, 20, |variant, _, _| {
        noisy(&mut random, if variant == 0 { 100_000.0 } else { 110_000.0 }, 0.01, 200)
    });
    for trial in &mut trials {
        for round in 20..22 {
            let middle = if trial.variant.0 == 0 { 100_000.0 } else { 100_000.0 * check_factor };
            let place =
                Place { kind: WindowKind::Check, ..Place::measured(round, u32::from(trial.variant.0)) };
            add_window(trial, place, &noisy(&mut random, middle, 0.01, 2000));
        }
    }
    trials
}

#[test]
fn a_cost_that_changes_in_longer_windows_is_flagged() {
    let steady = summarise(&question(&["a", "b"]), &with_checks(1.10));
    assert!(!has_finding(&steady, "depends on window"), "{:?}", steady.findings);
    let moving = summarise(&question(&["a", "b"]), &with_checks(1.20));
    assert!(has_finding(&moving, "depends on window"));
    let reason = moving.costs[0].reason.as_deref().unwrap();
    assert!(reason.contains("depends on window") && reason.contains("ten times"), "{reason}");
    assert!((moving.costs[0].ratio.unwrap().point - 1.10).abs() < 0.005, "check windows enter no estimate");
}

#[test]
fn orders_that_differ_are_reported_as_carry_over() {
    let mut random = random(28);
    let trials = run(6, 20, |variant, _, round| {
        // The variant that runs second in a round is 5 % slower; in even rounds that is variant 1.
        let second = (u32::from(variant) + round) % 2 == 1;
        noisy(&mut random, if second { 105_000.0 } else { 100_000.0 }, 0.01, 200)
    });
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert!(has_finding(&summary, "carry-over"), "{:?}", summary.findings);
    assert!(!has_finding(&summarise(&question(&["a", "b"]), &plain(1.1)), "carry-over"));
}

#[test]
fn what_nobody_accounted_has_a_row_that_says_why() {
    let mut trials = plain(1.0);
    for trial in &mut trials {
        trial.memory.clear();
        trial.windows.iter_mut().for_each(|w| w.cpu.clear());
    }
    let mut asked = question(&["a", "b"]);
    asked.variants[1].lifetime = Lifetime::Instance;
    asked.cores.service = Some(1);
    let summary = summarise(&asked, &trials);
    for quantity in [Quantity::CpuPerOperation, Quantity::MemoryPeak] {
        let row = cost(&summary, "get", quantity);
        assert_eq!((row.verdict, row.ratio), (Verdict::Withheld, None));
        assert!(row.reason.as_deref().is_some_and(|r| r.starts_with("not started by weigh")), "{row:?}");
    }
    assert!(has_finding(&summary, "one instance") && has_finding(&summary, "one service core"));
    assert_eq!(summary.validity, Validity::Valid, "limits are notes");
}

#[test]
fn a_goal_is_reached_or_not() {
    let mut asked = question(&["a", "b"]);
    asked.until = Some(Ratio::new(0.05));
    let goal = summarise(&asked, &plain(2.0)).goal.unwrap();
    assert!(goal.reached && goal.half_width.unwrap().get() < 0.05);
    asked.until = Some(Ratio::new(1e-7));
    assert!(!summarise(&asked, &plain(2.0)).goal.unwrap().reached);
    let few = summarise(&asked, &plain(2.0)[..6]).goal.unwrap();
    assert_eq!((few.reached, few.half_width), (false, None));
}

#[test]
fn memory_is_the_peak_of_a_trial_and_cpu_the_sum_of_roles() {
    let mut trials = plain(1.0);
    for trial in trials.iter_mut().filter(|t| t.variant.0 == 1) {
        trial.memory[0].peak = Bytes::new(30 << 20);
        for window in &mut trial.windows {
            let mut sidecar = window.cpu[0].clone();
            sidecar.role = "sidecar".to_owned();
            sidecar.cpu = sidecar.cpu / 2;
            let mut kernel = sidecar.clone();
            kernel.role = "unattributed".to_owned();
            window.cpu.extend([sidecar, kernel]);
        }
    }
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert!((cost(&summary, "get", Quantity::MemoryPeak).ratio.unwrap().point - 3.0).abs() < 1e-9);
    assert!((cost(&summary, "get", Quantity::CpuPerOperation).ratio.unwrap().point - 1.5).abs() < 1e-9);
    let bytes =
        summary.variants[0].figures.iter().find(|f| f.quantity == Quantity::BytesPerOperation).unwrap();
    assert_eq!(bytes.estimate.unwrap().point, 300.0);
}

#[test]
fn nothing_measured_is_invalid_and_never_a_panic() {
    let summary = summarise(&question(&["a", "b"]), &[]);
    assert_eq!((summary.validity, summary.costs[0].verdict), (Validity::Invalid, Verdict::Invalid));
    assert!(summary.costs[0].ratio.is_none());
    let dead = run(6, 10, |_, _, _| vec![failed(ErrorKind::Connect, 1000); 50]);
    let summary = summarise(&question(&["a", "b"]), &dead);
    assert!(has_finding(&summary, "no good reply"));
    assert_eq!(summary.costs[0].verdict, Verdict::Invalid);
    let alone = summarise(&question(&["a"]), &plain(1.0));
    assert!(alone.costs.is_empty() && alone.variants.len() == 1);
}

#[test]
fn charts_get_curves_and_windows_in_order() {
    let detail = detail(&question(&["a", "b"]), &plain(2.0));
    assert_eq!(detail.samples.len(), 2);
    for samples in &detail.samples {
        assert_eq!((samples.kind, samples.at_ns.len(), samples.time_ns.len()), (DotKind::Window, 60, 60));
        assert!(samples.at_ns.is_sorted());
    }
    assert_eq!(detail.samples[0].at_ns[0].min(detail.samples[1].at_ns[0]), 0);
    assert_eq!(detail.curves.len(), 4);
    let median = |at: usize| detail.curves[at].points.iter().find(|(q, _)| *q >= 0.49).unwrap().1;
    assert!((median(2) / median(0) - 2.0).abs() < 0.01, "b beside a");
}

/// Charts and summary must show the same figures.
#[test]
fn curves_and_roles_go_through_the_figures_of_the_summary() {
    let trials = plain(2.0);
    let (summary, detail) =
        (summarise(&question(&["a", "b"]), &trials), detail(&question(&["a", "b"]), &trials));
    for variant in &summary.variants {
        let figure = |quantity| {
            let found = variant.figures.iter().find(|figure| figure.quantity == quantity);
            found.and_then(|figure| figure.estimate).expect("measured")
        };
        let curve =
            detail.curves.iter().find(|c| c.variant == variant.name && c.time == TimeKind::Response).unwrap();
        let at = curve.points.iter().position(|(q, _)| (q - 0.9).abs() < 1e-9).expect("p90 is a point");
        let p90 = figure(Quantity::ResponseP90);
        assert_eq!((curve.points[at].1, Some(curve.band[at])), (p90.point, p90.interval()));
        let service = detail.roles.iter().find(|r| r.variant == variant.name && r.role == "service").unwrap();
        assert_eq!(service.cpu_per_operation, Some(figure(Quantity::CpuPerOperation)));
        assert_eq!(service.memory_peak, Some(figure(Quantity::MemoryPeak)));
    }
    let spans: u32 = detail.courses.iter().flat_map(|course| &course.spans).map(|span| span.windows).sum();
    assert_eq!(spans, 6 * 10 * 2, "every window lies in one stretch");
    assert!(detail.courses.iter().flat_map(|c| &c.spans).all(|s| s.lower <= s.median && s.median <= s.upper));
}

#[test]
fn a_direct_call_has_no_bytes_and_a_remote_one_has() {
    let mut trials = plain(1.0);
    change(&mut trials, 1, |w| w.traffic = Traffic::default());
    assert!(has_finding(&summarise(&question(&["a", "b"]), &trials), "not what it says"));
}
