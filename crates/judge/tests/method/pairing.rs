//! Variants that were not paired in windows by turns: everything is pooled, throughput is given if it exists,
//! and findings say how they were paired.

use crate::common;

use common::{Place, add_window, cost, failed, good, noisy, question, random, ratio, run};
use rand::Rng;
use weighbridge_judge::{Load, summarise};
use weighbridge_model::estimate::{Quantity, Validity, Verdict};
use weighbridge_model::pairing::Pairing;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{ErrorKind, TrialRecord, WindowKind};
use weighbridge_model::summary::{Severity, Summary};

/// The same records with another pairing.
fn paired(mut trials: Vec<TrialRecord>, pairing: Pairing) -> Vec<TrialRecord> {
    for trial in &mut trials {
        trial.pairings = vec![pairing];
        if pairing == Pairing::Requests {
            trial.windows.iter_mut().for_each(|window| window.position = 0);
        }
    }
    trials
}

/// Six blocks of ten rounds of 200 requests: the variant takes twice the baseline's 100 µs.
fn plain(pairing: Pairing) -> Vec<TrialRecord> {
    let mut random = random(31);
    paired(run(6, 10, |variant, _, _| noisy(&mut random, 1e5 * f64::from(variant + 1), 0.01, 200)), pairing)
}

fn finding<'a>(summary: &'a Summary, name: &str) -> Option<&'a weighbridge_model::summary::Finding> {
    summary.findings.iter().find(|finding| finding.name == name)
}

/// With rounds of very unequal size, the median over rounds is that of most rounds, the pooled median that of
/// most requests.
#[test]
fn p50_is_pooled_wherever_windows_are_not_paired_by_round() {
    let trials = || {
        run(6, 11, |variant, _, round| {
            // Ten small rounds in which the variant costs nothing, and one with most requests, at twice the
            // time.
            let (count, factor) = if round == 5 { (2_000, 2) } else { (50, 1) };
            vec![good(100_000 * if variant == 1 { factor } else { 1 }); count]
        })
    };
    let p50_ratio = |pairing| {
        ratio(&summarise(&question(&["a", "b"]), &paired(trials(), pairing)), Quantity::ResponseP50)
    };
    assert!((p50_ratio(Pairing::Windows) - 1.0).abs() < 1e-3);
    for pooled in [Pairing::Requests, Pairing::Sequential].map(p50_ratio) {
        assert!((pooled - 2.0).abs() < 2e-3, "{pooled}");
    }
}

#[test]
fn throughput_is_of_whole_windows_in_open_load_and_withheld_in_closed() {
    let mut trials = plain(Pairing::Requests);
    // Each variant's replies take a part of the window, which is a second for both.
    for window in trials.iter_mut().flat_map(|trial| &mut trial.windows) {
        window.figures.health.wall = Nanoseconds::from_secs(1);
    }
    let mut asked = question(&["a", "b"]);
    let closed = summarise(&asked, &trials);
    let row = cost(&closed, "get", Quantity::Throughput);
    assert_eq!(row.verdict, Verdict::Withheld);
    assert!(row.reason.as_ref().is_some_and(|reason| reason.contains("pairing = \"sequential\"")), "{row:?}");
    asked.points[0].load = Load::Open;
    let open = summarise(&asked, &trials);
    assert!((ratio(&open, Quantity::Throughput) - 1.0).abs() < 1e-9, "the same requests in the same time");
    let figure = open.variants[0].figures.iter().find(|figure| figure.quantity == Quantity::Throughput);
    assert!((figure.expect("a figure").estimate.expect("an estimate").point - 200.0).abs() < 1e-9);
    // Variants that run one after another have their own time.
    let apart = summarise(&question(&["a", "b"]), &plain(Pairing::Sequential));
    assert!((ratio(&apart, Quantity::Throughput) - 0.5).abs() < 0.01);
}

#[test]
fn a_run_says_how_its_variants_were_put_side_by_side() {
    for pairing in [Pairing::Duet, Pairing::Windows, Pairing::Requests, Pairing::Sequential] {
        let summary = summarise(&question(&["a", "b"]), &plain(pairing));
        assert_eq!(summary.pairings.iter().map(|point| point.pairing).collect::<Vec<_>>(), [pairing]);
        let found = finding(&summary, "not paired");
        assert_eq!(found.map(|f| f.severity), (pairing == Pairing::Sequential).then_some(Severity::Warning));
    }
    assert!(summarise(&question(&["a", "b"]), &[]).pairings.is_empty());
    let alone: Vec<_> = plain(Pairing::Sequential).into_iter().filter(|trial| trial.variant.0 == 0).collect();
    assert!(
        finding(&summarise(&question(&["a"]), &alone), "not paired").is_none(),
        "of one there is nothing to pair"
    );
    // Records from before other pairings existed have windows.
    let mut old = plain(Pairing::Windows);
    old.iter_mut().for_each(|trial| trial.pairings.clear());
    assert_eq!(summarise(&question(&["a", "b"]), &old).pairings[0].pairing, Pairing::Windows);
    // If blocks differ, the weakest pairing counts.
    let mut mixed = plain(Pairing::Requests);
    mixed[0].pairings = vec![Pairing::Sequential];
    assert_eq!(summarise(&question(&["a", "b"]), &mixed).pairings[0].pairing, Pairing::Sequential);
}

#[test]
fn variants_that_share_windows_and_are_busy_are_suspect() {
    // 200 requests of 10 µs CPU time each: 2 ms a window.
    let with = |pairing, wall| {
        let mut trials = plain(pairing);
        for window in trials.iter_mut().flat_map(|trial| &mut trial.windows) {
            window.figures.health.wall = wall;
        }
        summarise(&question(&["a", "b"]), &trials)
    };
    let busy = with(Pairing::Requests, Nanoseconds::from_millis(10));
    let found = finding(&busy, "variants disturb each other").expect("20 % busy");
    assert!(found.evidence.contains("20") && found.severity == Severity::Warning, "{found:?}");
    assert!(busy.variants.iter().all(|variant| variant.validity == Validity::Suspect));
    let idle = with(Pairing::Requests, Nanoseconds::from_millis(50));
    assert_eq!(finding(&idle, "variants disturb each other"), None);
    let apart = with(Pairing::Windows, Nanoseconds::from_millis(10));
    assert_eq!(finding(&apart, "variants disturb each other"), None);
}

/// Twelve blocks of a duet whose second set of cores is 10 % slower. The host takes 0 to 50 % more time in a
/// round, the same for both; the variant takes 3 % more than the baseline's 100 µs.
fn duet(pairing: Pairing) -> Vec<TrialRecord> {
    let (mut host, mut times) = (random(41), random(43));
    let mut shared = 1.0;
    let trials = run(12, 20, |variant, _, round| {
        let second = (u32::from(variant) + round) % 2 == 1;
        if !second {
            // The window at position 0 comes first in `run`.
            shared = 1.0 + 0.5 * host.random::<f64>();
        }
        let middle = 1e5 * (1.0 + 0.03 * f64::from(variant)) * if second { 1.1 } else { 1.0 } * shared;
        noisy(&mut times, middle, 0.01, 200)
    });
    paired(trials, pairing)
}

#[test]
fn in_a_duet_neither_the_host_nor_the_cores_are_in_the_cost() {
    let summary = summarise(&question(&["a", "b"]), &duet(Pairing::Duet));
    let row = cost(&summary, "get", Quantity::ResponseP50);
    let found = row.ratio.expect("a ratio");
    assert!((found.point - 1.03).abs() < 1e-3, "{found:?}");
    let (lower, upper) = (found.lower.expect("twelve blocks"), found.upper.expect("twelve blocks"));
    assert!(lower < 1.03 && 1.03 < upper && upper - lower < 3e-3, "{found:?}");
    assert!(cost(&summary, "get", Quantity::Throughput).ratio.is_some(), "each has its own time");
    // 1.1 up in one round and down in the other.
    let found = finding(&summary, "cores differ").expect("they do");
    assert_eq!(found.severity, Severity::Note);
    assert!(found.evidence.contains("by 21"), "{found:?}");
    for name in ["carry-over", "two levels", "not paired", "depends on company"] {
        assert_eq!(finding(&summary, name), None);
    }
    // The same windows by turns would show an effect of the order.
    let turns = summarise(&question(&["a", "b"]), &duet(Pairing::Windows));
    assert!(finding(&turns, "carry-over").is_some() && finding(&turns, "cores differ").is_none());
}

#[test]
fn both_sets_of_cores_weigh_alike_also_where_a_round_is_missing() {
    let trials = run(6, 10, |variant, _, round| {
        if (variant, round) == (1, 9) {
            return vec![failed(ErrorKind::Status, 1_000)];
        }
        vec![good(if (u32::from(variant) + round) % 2 == 1 { 120_000 } else { 100_000 }); 50]
    });
    let summary = summarise(&question(&["a", "b"]), &paired(trials, Pairing::Duet));
    for variant in &summary.variants {
        let figure = variant.figures.iter().find(|figure| figure.quantity == Quantity::ResponseP50);
        let point = figure.and_then(|figure| figure.estimate.as_ref()).expect("a figure").point;
        assert!((point - 110_000.0).abs() < 1.0, "{point}");
    }
    assert!((ratio(&summary, Quantity::ResponseP50) - 1.0).abs() < 1e-9);
}

#[test]
fn a_cost_that_changes_beside_the_other_variant_is_reported() {
    let with = |pairing, beside: f64| {
        let mut times = random(47);
        let mut trials = plain(pairing);
        for trial in &mut trials {
            let measured = std::mem::take(&mut trial.windows);
            let factor = if trial.variant.0 == 1 { 2.0 / beside } else { 1.0 };
            for round in 0..20 {
                let place = Place { kind: WindowKind::WarmUp, ..Place::measured(round, 0) };
                add_window(trial, place, &noisy(&mut times, 1e5 * factor, 0.01, 200));
            }
            trial.windows.extend(measured);
        }
        summarise(&question(&["a", "b"]), &trials)
    };
    let summary = with(Pairing::Duet, 1.2);
    let found = finding(&summary, "depends on company").expect("20 % more than alone");
    assert!(found.severity == Severity::Warning && found.evidence.contains("p50"), "{found:?}");
    assert_eq!(finding(&summary, "depends on turns"), None, "nothing was frozen");
    let reason = cost(&summary, "get", Quantity::ResponseP50).reason.clone();
    assert!(reason.is_some_and(|reason| reason.contains("depends on company")), "the headline says so");
    assert_eq!(finding(&with(Pairing::Duet, 1.0), "depends on company"), None);
    assert_eq!(finding(&with(Pairing::Windows, 1.2), "depends on company"), None);
}
