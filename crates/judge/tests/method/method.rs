//! The method's promises: intervals cover, A/A alarms are rare, typical and total differ as intended.

use crate::common;

use common::{Place, Request, add_window, cost, good, noisy, normal, question, random, ratio, run, trial};
use rand::Rng;
use weighbridge_judge::estimate::{BlockEstimate, Contrast};
use weighbridge_judge::stats::interval::Stein;
use weighbridge_judge::verdict::conclude;
use weighbridge_judge::{Load, summarise};
use weighbridge_model::estimate::{Quantity, Verdict};
use weighbridge_model::quantity::Ratio;

const REPETITIONS: u32 = 2000;

/// For 2,000 repetitions the share of a true 95 % is 0.95 ± 0.005 (standard deviation); the bounds are four
/// of these.
fn assert_covers(hits: u32, what: &str) {
    let share = f64::from(hits) / f64::from(REPETITIONS);
    assert!((0.93..=0.97).contains(&share), "{what}: {share}");
}

/// Block estimates of two lognormal variants that share the block's conditions.
fn lognormal_blocks(random: &mut impl FnMut() -> f64, blocks: u32, log_ratio: f64) -> Vec<BlockEstimate> {
    (0..blocks)
        .map(|block| {
            let shared = 0.2 * random();
            let (mine, theirs) =
                ((log_ratio + shared + 0.05 * random()).exp(), (shared + 0.05 * random()).exp());
            BlockEstimate { block, compared: (mine / theirs).ln(), difference: mine - theirs }
        })
        .collect()
}

#[test]
fn intervals_of_lognormal_blocks_cover_95_percent() {
    let mut random = random(11);
    let mut draw = || normal(&mut random);
    for blocks in [6, 10] {
        let (mut of_ratio, mut of_difference) = (0, 0);
        // E[difference] of two lognormals: e^(µ + σ²/2), σ² = 0.2² + 0.05².
        let scale = (0.5 * (0.04 + 0.0025_f64)).exp();
        for _ in 0..REPETITIONS {
            let contrast = Contrast::new(lognormal_blocks(&mut draw, blocks, 0.1), 6.max(blocks as usize));
            let (lower, upper) = contrast.ratio().unwrap().interval().unwrap();
            of_ratio += u32::from((lower..=upper).contains(&0.1_f64.exp()));
            let (lower, upper) = contrast.difference().interval().unwrap();
            of_difference += u32::from((lower..=upper).contains(&(scale * 0.1_f64.exp_m1())));
        }
        assert_covers(of_ratio, &format!("ratio over {blocks} blocks"));
        assert_covers(of_difference, &format!("difference over {blocks} blocks"));
    }
}

#[test]
fn intervals_cover_95_percent_when_the_data_decide_how_many_blocks() {
    let mut random = random(12);
    let mut draw = || normal(&mut random);
    let rule = Stein { first: 6, most: 60, goal: 0.05, level: 0.95 };
    let (mut hits, mut first_stage_only, mut met) = (0, 0, 0);
    for _ in 0..REPETITIONS {
        let mut blocks = lognormal_blocks(&mut draw, 6, 0.1);
        let logs: Vec<f64> = blocks.iter().map(|b| b.compared).collect();
        let planned = rule.blocks(&logs).unwrap();
        blocks.extend(lognormal_blocks(&mut draw, planned.run as u32 - 6, 0.1));
        first_stage_only += u32::from(planned.run == 6);
        let contrast = Contrast::new(blocks, 6);
        let (lower, upper) = contrast.ratio().unwrap().interval().unwrap();
        hits += u32::from((lower..=upper).contains(&0.1_f64.exp()));
        met += u32::from(contrast.half_width().unwrap().ln_1p() <= 0.05 * (1.0 + 1e-9) || planned.cut());
    }
    assert_covers(hits, "ratio after Stein's rule");
    assert_eq!(met, REPETITIONS, "the final interval meets the goal wherever n was not cut");
    assert!(first_stage_only < REPETITIONS / 4, "the rule must have had something to decide");
}

#[test]
fn a_variant_against_itself_is_called_different_one_time_in_twenty() {
    let mut random = random(13);
    let mut draw = || normal(&mut random);
    let (mut alarms, mut verdicts) = (0, 0);
    for _ in 0..REPETITIONS {
        let contrast = Contrast::new(lognormal_blocks(&mut draw, 6, 0.0), 6);
        let (lower, upper) = contrast.ratio().unwrap().interval().unwrap();
        alarms += u32::from(lower > 1.0 || upper < 1.0);
        let verdict = conclude(&contrast, Quantity::ResponseP50, Ratio::new(0.02)).verdict;
        verdicts += u32::from(matches!(verdict, Verdict::Higher | Verdict::Lower));
    }
    // Binomial(2000, 0.05): 100 ± 4 standard deviations of 9.7.
    assert!((61..=139).contains(&alarms), "{alarms}");
    assert!(verdicts <= alarms);
}

#[test]
fn a_server_that_stops_100_ms_in_every_2_s_shows_in_totals_and_not_in_the_typical() {
    // 285 windows of 20 ms are 5.7 s of work, with three stops of 100 ms, one in 1.9 s of work, from a random
    // phase.
    const WORK_NANOS: u64 = 1_900_000_000;
    let mut random = random(14);
    let mut until_stop = 0;
    let mut stream: Vec<Request> = Vec::new();
    let trials = run(6, 285, |variant, _, round| {
        if round == 0 && variant == 1 {
            until_stop = random.random_range(0..WORK_NANOS);
        }
        // Both windows of a round carry the same slice; AB and BA alternate, so the first of a round draws
        // it.
        if u32::from(variant) == round % 2 {
            stream = noisy(&mut random, 150_000.0, 0.02, 133);
        }
        let mut requests = stream.clone();
        for request in requests.iter_mut().filter(|_| variant == 1) {
            if request.service >= until_stop {
                until_stop += WORK_NANOS;
                request.service += 100_000_000;
            }
            until_stop -= request.service.min(200_000);
        }
        requests
    });
    let summary = summarise(&question(&["steady", "stopping"]), &trials);
    let near = |quantity, wanted: f64, within: f64| {
        let got = ratio(&summary, quantity);
        assert!((got - wanted).abs() < within, "{quantity}: {got}, wanted {wanted}");
    };
    near(Quantity::ResponseMean, 2.0 / 1.9, 0.003);
    near(Quantity::ServiceMean, 2.0 / 1.9, 0.003);
    near(Quantity::Throughput, 1.9 / 2.0, 0.003);
    near(Quantity::ResponseP50, 1.0, 0.001);
    let verdict = |quantity| cost(&summary, "get", quantity).verdict;
    assert_eq!(verdict(Quantity::ResponseP50), Verdict::NoRelevantDifference);
    assert_eq!(verdict(Quantity::ResponseMean), Verdict::Higher);
    assert_eq!(verdict(Quantity::Throughput), Verdict::Lower);
}

#[test]
fn the_typical_is_the_median_of_paired_windows_and_the_total_pools_them() {
    // Ten rounds: the baseline at 100 µs, the variant at 110 µs, except three rounds at 1 ms.
    let trials = run(6, 10, |variant, _, round| match (variant, round) {
        (0, _) => vec![good(100_000); 200],
        (_, 0..3) => vec![good(1_000_000); 200],
        _ => vec![good(110_000); 200],
    });
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert!((ratio(&summary, Quantity::ResponseP50) - 1.10).abs() < 1e-9);
    assert!((ratio(&summary, Quantity::ResponseMean) - (0.7 * 1.1 + 0.3 * 10.0)).abs() < 1e-9);
    assert!((ratio(&summary, Quantity::Throughput) - 1.0 / (0.7 * 1.1 + 0.3 * 10.0)).abs() < 1e-9);
    // The merged histogram's 90th percentile lies among the slow third; its median does not.
    assert!((ratio(&summary, Quantity::ResponseP90) - 10.0).abs() < 0.02);
    let difference = cost(&summary, "get", Quantity::ResponseP50).difference.unwrap();
    assert!((difference.point - 10_000.0).abs() < 1e-6);
}

#[test]
fn in_open_load_the_median_is_pooled_per_block() {
    // Six of ten windows are slow and short: most windows are slow, and most requests fast.
    let trials = run(6, 10, |variant, _, round| match (variant, round) {
        (0, _) => vec![good(100_000); 200],
        (_, 0..6) => vec![good(1_000_000); 50],
        _ => vec![good(100_000); 200],
    });
    let mut open = question(&["a", "b"]);
    let closed = summarise(&open, &trials);
    open.points[0].load = Load::Open;
    let open = summarise(&open, &trials);
    assert!((ratio(&closed, Quantity::ResponseP50) - 10.0).abs() < 1e-9, "most windows are slow");
    assert!((ratio(&open, Quantity::ResponseP50) - 1.0).abs() < 1e-3, "most requests are fast");
}

#[test]
fn extra_windows_of_the_baseline_count_as_one_median_in_a_round() {
    let mut trials = Vec::new();
    for block in 0..6 {
        let mut pair = [trial(block, 0), trial(block, 1)];
        for round in 0..20 {
            for (position, nanos) in [(0, 100_000), (1, 102_000), (3, 900_000)] {
                add_window(&mut pair[0], Place::measured(round, position), &vec![good(nanos); 20]);
            }
            add_window(&mut pair[1], Place::measured(round, 2), &[good(204_000); 20]);
        }
        trials.extend(pair);
    }
    let summary = summarise(&question(&["a", "b"]), &trials);
    assert!((ratio(&summary, Quantity::ResponseP50) - 2.0).abs() < 1e-12);
}
