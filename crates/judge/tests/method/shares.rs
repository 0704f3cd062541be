//! Shares: plain contrasts hold what they state, from 0 to 100 %.

use crate::common::{self, add_window, failed, good, noisy, random};
use crate::share_laws::{self, AT, LOOKUPS, Law, ODDS, SPREADS, simulate, trial};

use weighbridge_judge::gate::judge;
use weighbridge_judge::summarise;
use weighbridge_model::estimate::{Effect, Quantity, Verdict};
use weighbridge_model::gate::{Gate, GateKind};
use weighbridge_model::quantity::Ratio;
use weighbridge_model::record::ErrorKind;
use weighbridge_model::summary::{Cost, Summary};

const RUNS: u64 = 400;

/// The fast form of `examples/shares.rs`, whose table is in docs/STUDY.md: fewer shares, and limits that four standard
/// deviations of so few runs allow.
#[test]
fn intervals_of_differences_of_shares_hold_95_percent_from_a_thousandth_on() {
    let within = 4.0 * (0.95_f64 * 0.05 / RUNS as f64).sqrt();
    for spread in SPREADS {
        for odds in ODDS {
            for share in [0.001, 0.1, 0.999] {
                let outcome = simulate(&Law { share, odds, spread, lookups: LOOKUPS }, 0..RUNS);
                for at in AT {
                    let held = outcome.difference[&at].get();
                    assert!((held - 0.95).abs() < within, "{share}, {odds}, {spread:?}, {at} blocks: {held}");
                }
            }
        }
    }
}

/// Blocks of these hits among 2,000 lookups each: the baseline's, and the variant's.
fn summary(blocks: &[[u64; 2]]) -> Summary {
    let trials: Vec<_> = (0..)
        .zip(blocks)
        .flat_map(|(block, hits)| {
            [0, 1].map(|variant| trial(block, variant, hits[usize::from(variant)], LOOKUPS))
        })
        .collect();
    summarise(&share_laws::question(), &trials)
}

fn row(summary: &Summary, quantity: Quantity) -> &Cost {
    summary.costs.iter().find(|cost| cost.quantity == quantity).expect("a row")
}

#[test]
fn shares_of_0_and_of_100_percent_get_a_verdict_and_an_honest_interval() {
    for hits in [0, LOOKUPS] {
        let summary = summary(&[[hits, hits]; 6]);
        let cost = row(&summary, Quantity::HitRate);
        assert_eq!((cost.verdict, cost.ratio), (Verdict::NoRelevantDifference, None), "{cost:?}");
        // 12,000 lookups a side: Wilson's bound without an event is z²/(N + z²).
        let bound = 3.841_459 / (12_000.0 + 3.841_459);
        let difference = cost.difference.unwrap();
        let (lower, upper) = difference.interval().unwrap();
        assert!(difference.point == 0.0 && (upper - bound).abs() < 1e-9 && (lower + bound).abs() < 1e-9);
        let figure = summary.variants[0].figures.iter().find(|f| f.quantity == Quantity::HitRate).unwrap();
        let (lower, upper) = figure.estimate.unwrap().interval().unwrap();
        let lacks = if hits == 0 { upper } else { 1.0 - lower };
        assert!((lacks - bound).abs() < 1e-9 && lower >= 0.0 && upper <= 1.0, "{figure:?}");
    }
    let apart = summary(&[[0, LOOKUPS]; 6]);
    let cost = row(&apart, Quantity::HitRate);
    assert_eq!((cost.verdict, cost.effect), (Verdict::Higher, Some(Effect::Better)));
    assert_eq!(cost.difference.unwrap().upper, Some(1.0));
}

#[test]
fn a_block_without_a_hit_counts() {
    let some = summary(&[[0, 3], [2, 0], [0, 0], [1, 0], [0, 1], [0, 0]]);
    let cost = row(&some, Quantity::HitRate);
    let difference = cost.difference.unwrap();
    assert_eq!(difference.blocks, 6);
    assert!((difference.point - 1.0 / 12_000.0).abs() < 1e-12);
    let misses = row(&some, Quantity::CapacityMisses).difference.unwrap();
    assert!((misses.point + difference.point).abs() < 1e-12);
}

#[test]
fn the_margin_of_shares_is_in_percentage_points() {
    // 90 % against 90.5 %: within 1 pp and surely not equal; with a margin of 0.2 pp it is higher.
    let blocks: Vec<[u64; 2]> = [0, 2, 4, 1, 3, 5].map(|n| [1_800 + n, 1_810 + n + n % 2]).into();
    let cost = row(&summary(&blocks), Quantity::HitRate).clone();
    assert_eq!(cost.verdict, Verdict::NoRelevantDifference);
    assert_eq!(cost.reason.as_deref(), Some("measurable: +0.5 pp"));
    let trials: Vec<_> = (0..)
        .zip(&blocks)
        .flat_map(|(block, hits)| {
            [0, 1].map(|variant| trial(block, variant, hits[usize::from(variant)], LOOKUPS))
        })
        .collect();
    let mut asked = share_laws::question();
    asked.share_margin = Ratio::new(0.002);
    let cost = row(&summarise(&asked, &trials), Quantity::HitRate).clone();
    assert_eq!((cost.verdict, cost.effect), (Verdict::Higher, Some(Effect::Better)), "{cost:?}");
}

#[test]
fn gates_bound_shares_and_their_differences() {
    let blocks: Vec<[u64; 2]> = [0, 2, 4, 1, 3, 5].map(|n| [1_800 + n, 1_700 + n]).into();
    let summary = summary(&blocks);
    let passes = |kind, text: &str| judge(&Gate::parse(kind, text).unwrap(), &summary).passed;
    assert!(passes(GateKind::Require, "hit rate >= 80 %") && !passes(GateKind::Require, "hit rate >= 90 %"));
    assert!(!passes(GateKind::FailIf, "hit rate < -1 pp") && passes(GateKind::FailIf, "hit rate < -10 pp"));
    let failed = judge(&Gate::parse(GateKind::FailIf, "hit rate < -1 pp").unwrap(), &summary);
    assert!(!failed.passed && failed.figure.contains("pp"), "{failed:?}");
}

#[test]
fn availability_and_reliability_are_told_where_somebody_asks() {
    let mut random = random(31);
    let mut trials = common::run(6, 10, |_, _, _| noisy(&mut random, 100_000.0, 0.01, 200));
    // In one window of each block the variant fails two requests: one was never answered, one wrongly.
    for trial in trials.iter_mut().filter(|trial| trial.variant.0 == 1) {
        trial.windows.pop();
        let mut requests = vec![good(100_000); 198];
        requests.extend([failed(ErrorKind::Timeout, 100_000), failed(ErrorKind::Check, 100_000)]);
        add_window(trial, common::Place::measured(9, 0), &requests);
    }
    let mut asked = common::question(&["a", "b"]);
    let quiet = summarise(&asked, &trials);
    assert!(quiet.costs.iter().all(|cost| cost.quantity != Quantity::Availability));
    assert_eq!(quiet.share_margin, None);
    asked.gated = vec![Quantity::Availability, Quantity::Reliability];
    let summary = summarise(&asked, &trials);
    for (quantity, lacks) in [(Quantity::Availability, 1.0 / 2_000.0), (Quantity::Reliability, 2.0 / 2_000.0)]
    {
        let difference = row(&summary, quantity).difference.unwrap();
        assert!((difference.point + lacks).abs() < 1e-12, "{quantity}: {difference:?}");
    }
    assert_eq!(row(&summary, Quantity::Availability).verdict, Verdict::NoRelevantDifference);
    let count = |quantity| summary.costs.iter().filter(|cost| cost.quantity == quantity).count();
    assert_eq!(count(Quantity::HitRate), 0, "no workload counted hits");
}
