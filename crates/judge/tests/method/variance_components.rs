//! Variance components, levels of starts, drift through a run, totals that depend on few events: from whole
//! records to the summary.

use crate::common;

use common::{Place, Request, add_window, cost, good, noisy, normal, question, random, run, trial};
use weighbridge_judge::estimate::Estimand;
use weighbridge_judge::estimate::parts::CostParts;
use weighbridge_judge::question::Scope;
use weighbridge_judge::records::Records;
use weighbridge_judge::{Question, summarise};
use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::TrialRecord;
use weighbridge_model::summary::{Source, Summary};

fn finding<'a>(summary: &'a Summary, name: &str) -> Option<&'a str> {
    summary.findings.iter().find(|finding| finding.name == name).map(|finding| finding.evidence.as_str())
}

/// Runs in which a start moves the variant by `start`, a round by `round` and the host by `host`, all
/// standard deviations of the logarithm; requests themselves do not vary.
fn with_components(seed: u64, blocks: u32, (start, round, host): (f64, f64, f64)) -> Vec<TrialRecord> {
    let mut random = random(seed);
    let mut trials = Vec::new();
    for block in 0..blocks {
        let shared = host * normal(&mut random);
        let mut pair = [trial(block, 0), trial(block, 1)];
        // Half of the variance on either side, so that their ratio has all of it.
        let own = [0, 1].map(|_| start * 0.5_f64.sqrt() * normal(&mut random));
        for at in 0..40 {
            for position in 0..2 {
                let variant = ((at + position) % 2) as usize;
                let noise = round * 0.5_f64.sqrt() * normal(&mut random);
                let time = 1e6 * (shared + own[variant] + noise).exp();
                let place = Place::measured(at, position);
                add_window(&mut pair[variant], place, &[good(time as u64); 100]);
            }
        }
        trials.extend(pair);
    }
    trials
}

fn parts(question: &Question, trials: &[TrialRecord]) -> CostParts {
    let records = Records::new(trials);
    let estimand = Estimand { point: PointId(0), variant: VariantId(1), scope: Scope::Only };
    CostParts::new(question, &records, estimand).expect("many parts")
}

#[test]
fn simulated_components_are_found_again() {
    // The mean over windows is linear, so the method of moments is unbiased; 60 runs of 12 blocks.
    let mut asked = question(&["a", "b"]);
    asked.headline = Quantity::ResponseMean;
    for truth in [(0.01, 0.02, 0.05), (0.002, 0.03, 0.0), (0.02, 0.005, 0.02)] {
        let runs = 60;
        let mut sums = (0.0, 0.0, 0.0);
        for seed in 0..runs {
            let found = parts(&asked, &with_components(seed, 12, truth)).variances().unwrap();
            sums.0 += found.cost.between / runs as f64;
            sums.1 += found.round / runs as f64;
            sums.2 += found.block / runs as f64;
        }
        let close = |found: f64, wanted: f64, within: f64| (found.max(0.0).sqrt() - wanted).abs() < within;
        assert!(close(sums.0, truth.0, 0.12 * truth.0 + 0.0015), "start of {truth:?}: {sums:?}");
        assert!(close(sums.1, truth.1, 0.03 * truth.1), "round of {truth:?}: {sums:?}");
        assert!(close(sums.2, truth.2, 0.1 * truth.2 + 0.004), "block of {truth:?}: {sums:?}");
    }
}

#[test]
fn the_interval_of_the_share_of_starts_covers_95_percent() {
    let mut asked = question(&["a", "b"]);
    asked.headline = Quantity::ResponseMean;
    // Of a block of 40 rounds: 0.005² from starts, 0.02²/40 from rounds.
    let (start, round) = (0.005_f64, 0.02_f64);
    let share = start * start / (start * start + round * round / 40.0);
    let runs = 400;
    let hits = (0..runs).filter(|seed| {
        let found = parts(&asked, &with_components(1_000 + seed, 6, (start, round, 0.05)));
        let interval = found.variances().unwrap().cost.share_between(0.95).unwrap();
        (interval.lower..=interval.upper).contains(&share)
    });
    // Binomial(400, 0.95): 380 ± 4 standard deviations of 4.4.
    let hits = hits.count();
    assert!((363..=397).contains(&hits), "{hits}");
}

#[test]
fn the_summary_says_which_level_dominates_and_how_to_divide_the_time() {
    let asked = question(&["a", "b"]);
    let summary = summarise(&asked, &with_components(1, 8, (0.05, 0.005, 0.1)));
    let spread = &summary.spread[0];
    assert_eq!((spread.variant.as_str(), spread.quantity), ("b", Quantity::ResponseP50));
    assert_eq!((spread.dominates, spread.rounds), (Source::Starts, 40.0));
    assert!(spread.share_of_starts.interval().unwrap().0 > 0.9, "{spread:?}");
    let advice = spread.advice.expect("more blocks of fewer rounds are better");
    assert!(advice.blocks > 8 && advice.rounds < 40 && advice.then < advice.now, "{advice:?}");
    let evidence = finding(&summary, "spread").unwrap();
    assert!(evidence.starts_with("most of it is between starts: starts have"), "{evidence}");

    let summary = summarise(&asked, &with_components(2, 8, (0.0, 0.05, 0.1)));
    assert_ne!(summary.spread[0].dominates, Source::Starts, "{:?}", summary.spread[0]);
    let (order, drift) = (summary.spread[0].carry_over.unwrap(), summary.spread[0].drift.unwrap());
    for (estimate, what) in [(order, "carry-over"), (drift, "drift")] {
        let (lower, upper) = estimate.interval().unwrap();
        assert!(lower < 1.0 && 1.0 < upper, "{what}: {estimate:?}");
    }
    assert!(summarise(&asked, &with_components(3, 3, (0.0, 0.05, 0.1))).spread.is_empty(), "three blocks");
}

#[test]
fn a_headline_that_needs_histograms_has_the_means_components() {
    let trials = with_components(4, 8, (0.05, 0.005, 0.1));
    let mean = summarise(&Question { headline: Quantity::ResponseMean, ..question(&["a", "b"]) }, &trials);
    for headline in [Quantity::ResponseP90, Quantity::ResponseP99] {
        let summary = summarise(&Question { headline, ..question(&["a", "b"]) }, &trials);
        assert_eq!(summary.spread.len(), 1, "of the headline's cost alone");
        assert_eq!(summary.spread[0].quantity, Quantity::ResponseMean);
        assert_eq!(summary.spread[0], mean.spread[0], "{headline}");
        let evidence = finding(&summary, "spread").unwrap();
        assert!(evidence.contains("of a block's response mean"), "{evidence}");
        // The quantile's own interval includes the deviation from block to block.
        let cost = cost(&summary, "get", headline).ratio.expect("a ratio");
        assert!(cost.interval().is_some_and(|(lower, upper)| upper > lower), "{cost:?}");
    }
}

#[test]
fn carry_over_and_drift_of_a_cost_are_estimated_with_their_sizes() {
    let mut random = random(41);
    let trials = run(8, 40, |variant, _, round| {
        let second = (u32::from(variant) + round) % 2 == 1;
        let drifting = if variant == 1 { 1.0 + 0.10 * f64::from(round) / 39.0 } else { 1.0 };
        let after = if second { 1.03 } else { 1.0 };
        noisy(&mut random, 100_000.0 * drifting * after, 0.01, 200)
    });
    let summary = summarise(&question(&["a", "b"]), &trials);
    let spread = &summary.spread[0];
    // In rounds AB the variant is 3 % slower, in BA the baseline: 1.03².
    let order = spread.carry_over.unwrap();
    assert!((order.point - 1.0609).abs() < 0.003 && order.blocks == 8, "{order:?}");
    // From the middle of the first tenth to that of the last: 36 of 39 steps.
    let drift = spread.drift.unwrap();
    assert!((drift.point - 1.092).abs() < 0.01, "{drift:?}");
}

#[test]
fn two_levels_after_restart_are_flagged_with_both() {
    let mut random = random(42);
    let trials = run(8, 40, |variant, block, _| {
        let level = if variant == 1 && [1, 2, 5].contains(&block) { 1.08 } else { 1.0 };
        noisy(&mut random, 100_000.0 * level, 0.02, 200)
    });
    let summary = summarise(&question(&["a", "b"]), &trials);
    let evidence = finding(&summary, "two levels of starts").expect("three starts are 8 % slower");
    assert!(evidence.contains("in 5 starts (") && evidence.contains("in 3 ("), "{evidence}");
    let steady = run(8, 40, |_, _, _| noisy(&mut random, 100_000.0, 0.02, 200));
    assert_eq!(finding(&summarise(&question(&["a", "b"]), &steady), "two levels of starts"), None);
}

#[test]
fn starts_that_vary_smoothly_lie_on_no_two_levels() {
    let asked = question(&["a", "b"]);
    let flagged = (0..100).filter(|seed| {
        let summary = summarise(&asked, &with_components(2_000 + seed, 8, (0.02, 0.01, 0.05)));
        finding(&summary, "two levels of starts").is_some()
    });
    assert!(flagged.count() <= 1);
}

#[test]
fn a_cost_that_rises_from_block_to_block_is_flagged() {
    let mut random = random(43);
    let mut trials = |slope: f64| {
        run(10, 10, |variant, block, _| {
            let rise = if variant == 1 { 1.0 + slope * f64::from(block) } else { 1.0 };
            noisy(&mut random, 100_000.0 * rise, 0.01, 200)
        })
    };
    let rising = summarise(&question(&["a", "b"]), &trials(0.01));
    let evidence = finding(&rising, "drift through the run").expect("a percent a block");
    assert!(evidence.contains("first of 10 blocks"), "{evidence}");
    assert_eq!(finding(&summarise(&question(&["a", "b"]), &trials(0.0)), "drift through the run"), None);
}

/// Blocks of 50 rounds; the variant stops for 20 ms in `stalls` windows of each.
fn stalling(stalls: u32) -> Vec<TrialRecord> {
    let mut random = random(44);
    run(6, 50, |variant, _, round| {
        let mut requests = noisy(&mut random, 100_000.0, 0.02, 200);
        if variant == 1 && round % 7 == 0 && round / 7 < stalls {
            requests[100] = good(20_000_000);
        }
        requests
    })
}

#[test]
fn a_mean_that_hangs_on_few_events_is_flagged_in_its_row_and_as_a_finding() {
    let asked = question(&["a", "b"]);
    let few = summarise(&asked, &stalling(2));
    let reason = cost(&few, "get", Quantity::ResponseMean).reason.clone().unwrap();
    assert!(reason.contains("rare slow windows (`b`): on average 2.0 windows of a block"), "{reason}");
    let p50 = cost(&few, "get", Quantity::ResponseP50);
    assert!(!p50.reason.clone().unwrap_or_default().contains("windows"), "{p50:?}");
    let evidence = finding(&few, "few tail events").unwrap();
    let of = "response mean, service mean, throughput: on average 2.0 windows of a block";
    assert!(evidence.starts_with(of), "{evidence}");
    for stalls in [0, 5] {
        let summary = summarise(&asked, &stalling(stalls));
        assert_eq!(finding(&summary, "few tail events"), None, "{stalls} events a block");
    }
}

#[test]
fn a_far_quantile_that_lies_in_few_windows_is_flagged() {
    // Of 2,000 requests a block, 40 are slow, all in one window or spread over all of them.
    let slow = |together: bool| {
        let mut random = random(45);
        run(6, 10, |variant, _, round| {
            let mut requests: Vec<Request> = noisy(&mut random, 100_000.0, 0.02, 200);
            let count = match (variant, together) {
                (0, _) => 0,
                (_, true) => {
                    if round == 3 {
                        40
                    } else {
                        0
                    }
                }
                (_, false) => 4,
            };
            requests[..count].fill(good(1_000_000));
            requests
        })
    };
    let asked = question(&["a", "b"]);
    let reason =
        |summary: &Summary| cost(summary, "get", Quantity::ResponseP99).reason.clone().unwrap_or_default();
    let one = reason(&summarise(&asked, &slow(true)));
    assert!(one.contains("rare slow windows (`b`): on average 1.0 windows of a block hold"), "{one}");
    let many = reason(&summarise(&asked, &slow(false)));
    assert!(!many.contains("rare slow"), "{many}");
}

#[test]
fn from_ten_blocks_on_the_bootstrap_is_shown_beside_and_the_verdict_stays_students() {
    let mut random = random(46);
    let trials = run(10, 10, |variant, _, _| {
        noisy(&mut random, if variant == 0 { 100_000.0 } else { 110_000.0 }, 0.02, 200)
    });
    let asked = question(&["a", "b"]);
    let ratio = summarise(&asked, &trials).costs[0].ratio.unwrap();
    let bounds = ratio.bootstrap.expect("ten blocks");
    let (lower, upper) = ratio.interval().unwrap();
    assert!(bounds.lower < ratio.point && ratio.point < bounds.upper);
    assert!((bounds.lower - lower).abs() < upper - lower && (bounds.upper - upper).abs() < upper - lower);
    assert_eq!(summarise(&asked, &trials), summarise(&asked, &trials), "the same records, the same bounds");
    assert_eq!(summarise(&asked, &trials[..18]).costs[0].ratio.unwrap().bootstrap, None, "nine blocks");
}

#[test]
fn what_a_block_spends_on_starting_is_in_the_advice() {
    // Starts of a minute each: ten blocks of 40 rounds of some 0.2 s consist almost only of starts.
    let mut trials = with_components(5, 10, (0.002, 0.05, 0.0));
    trials.iter_mut().for_each(|trial| trial.service.start = Some(Nanoseconds::from_secs(60)));
    let asked = question(&["a", "b"]);
    let advice = summarise(&asked, &trials).spread[0].advice.expect("fewer, longer blocks");
    assert!(advice.blocks < 10 && advice.rounds > 40, "{advice:?}");
}
