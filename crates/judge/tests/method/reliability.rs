//! Runs of copies, and what they say about the host; variants of two runs against each other. Figures are
//! compared with closed forms over the input.

use crate::common;

use common::{Place, add_window, good, normal, question, random, trial};
use weighbridge_judge::across::{ComparedRun, through_baseline, through_calibration};
use weighbridge_judge::reliability::{
    CalibrationRun, Runs, SlowerRun, changed, measured_time, quote, reliability,
};
use weighbridge_judge::stats::student::two_sided_quantile;
use weighbridge_judge::{Question, summarise};
use weighbridge_model::estimate::{Quantity, Validity, Verdict};
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::TrialRecord;
use weighbridge_model::reliability::{
    HostCalibration, HostIdentity, Planting, RELIABILITY_VERSION, RunToRun, VariantReliability,
};
use weighbridge_model::summary::Cost;

const ROUNDS: u32 = 20;

/// A run of blocks in which every request takes `time(block, round, variant)` nanoseconds.
fn run_with_times(blocks: u32, mut time: impl FnMut(u32, u32, u16) -> f64) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for block in 0..blocks {
        let mut pair = [trial(block, 0), trial(block, 1)];
        for round in 0..ROUNDS {
            for position in 0..2 {
                let variant = ((round + position) % 2) as u16;
                let took = time(block, round, variant).round() as u64;
                let place = Place::measured(round, position);
                add_window(&mut pair[usize::from(variant)], place, &[good(took); 100]);
            }
        }
        trials.extend(pair);
    }
    trials
}

fn look(question: &Question, trials: &[TrialRecord]) -> CalibrationRun {
    CalibrationRun::new(question, trials, Validity::Valid)
}

fn asked() -> Question {
    question(&["a", "a (copy)"])
}

fn judged(copies: &[CalibrationRun], slower: &[SlowerRun]) -> VariantReliability {
    let planting = (Planting::Probe, Nanoseconds::from_micros(20));
    reliability(&asked(), &Runs { variant: "a", copies, slower, planting, lost: 1 })
}

/// A run whose copy differs by `shift` ± `step` from block to block, on the log scale.
fn shifted(shift: f64, step: f64) -> CalibrationRun {
    let signs = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
    let trials = run_with_times(6, |block, _, variant| match variant {
        0 => 1e6,
        _ => 1e6 * (shift + step * signs[block as usize]).exp(),
    });
    look(&asked(), &trials)
}

#[test]
fn false_alarms_are_counted_with_the_exact_interval() {
    // The interval of ±d around s is s ± t·d/√5: 0 is outside if s > 1.1496·d.
    let half = two_sided_quantile(0.95, 5.0) / 5.0_f64.sqrt();
    let copies: Vec<CalibrationRun> =
        [0.0, 0.9 * half, 1.1 * half, -1.1 * half, 0.5, -0.1].map(|shift| shifted(shift * 0.01, 0.01)).into();
    let found = judged(&copies, &[]);
    let alarms = found.false_alarms.unwrap();
    assert_eq!((alarms.hits, alarms.of), (2, 6), "{alarms:?}");
    // Clopper–Pearson for 2 of 6.
    assert!((alarms.lower - 0.0433).abs() < 1e-4 && (alarms.upper - 0.7772).abs() < 1e-4, "{alarms:?}");
    assert_eq!((found.lost, found.blocks), (1, 6));
    assert_eq!(found.planted, None);
    let invalid = CalibrationRun::new(&asked(), &run_with_times(6, |_, _, _| 1e6), Validity::Invalid);
    let found = judged(&[invalid, shifted(0.0, 0.01)], &[]);
    assert_eq!(
        (found.false_alarms.unwrap().of, found.lost),
        (1, 2),
        "what must not be used is lost, not counted"
    );
    assert_eq!(judged(&[], &[]).false_alarms, None);
}

#[test]
fn a_planted_difference_is_found_and_compared_with_the_truth() {
    // 2 % of 1 ms: 20 µs. The third run sees nothing; the interval of the fourth is too high.
    let slower = |shift: f64, step: f64| SlowerRun { run: shifted(shift, step), truth: Some(20_202.0) };
    let (exact, none, much) = (0.02, 0.001, 0.05);
    let runs = [slower(exact, 0.002), slower(exact, 0.002), slower(none, 0.01), slower(much, 0.002)];
    let found = judged(&[shifted(0.0, 0.01)], &runs).planted.unwrap();
    assert_eq!((found.found.hits, found.found.of), (3, 4));
    let covered = found.covered.unwrap();
    // ±1.15 % around 0.1 % does not contain 2 %.
    assert_eq!((covered.hits, covered.of), (2, 4));
    let mean = (2.0 * 20_202.0 + 1_051.0 + 51_273.0) / 4.0;
    let estimate = found.difference.unwrap();
    assert!((estimate.point - mean).abs() < 30.0, "{estimate:?} is not {mean}");
    assert!(estimate.interval().is_some() && estimate.blocks == 4);
    assert_eq!((found.truth, found.asked), (Some(20_202.0), Nanoseconds::from_micros(20)));
    // A copy that is faster by the same amount does not count as found.
    let faster = [SlowerRun { run: shifted(-0.02, 0.002), truth: None }];
    let found = judged(&[], &faster).planted.unwrap();
    assert_eq!((found.found.hits, found.covered, found.truth), (0, None, None));
}

#[test]
fn the_smallest_detectable_difference_follows_from_the_components() {
    // Starts of 1 % and rounds of 2 % between two copies, recovered from 40 runs of 6 blocks.
    let mut draws = random(5);
    let (start, round) = (0.01_f64, 0.02_f64);
    let mut copies = Vec::new();
    for _ in 0..40 {
        let own: Vec<f64> = (0..6).map(|_| start * normal(&mut draws)).collect();
        copies.push(look(
            &asked(),
            &run_with_times(6, |block, _, variant| match variant {
                0 => 1e6,
                _ => 1e6 * (own[block as usize] + round * normal(&mut draws)).exp(),
            }),
        ));
    }
    let found = judged(&copies, &[]);
    let mean = found.quantities.iter().find(|found| found.quantity == Quantity::ResponseMean).unwrap();
    let close = |found: Option<Ratio>, wanted: f64, within: f64| {
        let found = found.unwrap().get();
        assert!((found / wanted - 1.0).abs() < within, "{found} is not {wanted}");
    };
    close(mean.start, start, 0.15);
    close(mean.round, round, 0.05);
    close(Some(mean.deviation), (start * start + round * round / f64::from(ROUNDS)).sqrt(), 0.1);
    assert_eq!((mean.blocks, mean.detectable.len()), (240, 3));
    // The closed form over the estimated components. In these records variants run side by side: a round
    // takes 100 requests of 1 ms.
    let (start, round) = (mean.start.unwrap().get(), mean.round.unwrap().get());
    let each = 0.1;
    for found in &mean.detectable {
        let rounds = (found.measured.as_secs_f64() / (6.0 * each)).max(10.0);
        let sd = (start * start + round * round / rounds).sqrt();
        let wanted = ((2.570_582 + 0.919_544) * sd / 6.0_f64.sqrt()).exp_m1();
        assert!((found.change.get() / wanted - 1.0).abs() < 0.08, "{found:?} is not {wanted}");
    }
    let changes: Vec<f64> = mean.detectable.iter().map(|found| found.change.get()).collect();
    assert!(changes[0] >= changes[1] && changes[1] >= changes[2], "more time finds less: {changes:?}");
    // A tail needs histograms, so it has no components: there is only what the runs themselves would find.
    let p90 = found.quantities.iter().find(|found| found.quantity == Quantity::ResponseP90).unwrap();
    assert_eq!((p90.start, p90.round, p90.detectable.len()), (None, None, 1));
    let wanted = ((2.570_582 + 0.919_544) * p90.deviation.get() / 6.0_f64.sqrt()).exp_m1();
    assert!((p90.detectable[0].change.get() / wanted - 1.0).abs() < 1e-5);
    assert_eq!(found.quantities[0].quantity, Quantity::ResponseP50, "the headline first");
}

#[test]
fn the_variant_alone_is_compared_with_itself_from_run_to_run() {
    // Levels of three runs at ln 1, ln 1.1 and ln 0.9 of a millisecond; copies change too, so their cost is
    // zero.
    let runs: Vec<CalibrationRun> =
        [1.0, 1.1, 0.9].map(|level| look(&asked(), &run_with_times(6, |_, _, _| 1e6 * level))).into();
    let found = judged(&runs, &[]);
    let p50 = found.run_to_run.iter().find(|found| found.quantity == Quantity::ResponseP50).unwrap();
    let logs = [0.0, 1.1_f64.ln(), 0.9_f64.ln()];
    let mean = logs.iter().sum::<f64>() / 3.0;
    let sd = (logs.iter().map(|l| (l - mean) * (l - mean)).sum::<f64>() / 2.0).sqrt();
    assert!((p50.deviation.get() - sd).abs() < 1e-9 && p50.runs == 3, "{p50:?}");
    // χ² with two degrees at 97.5 and 2.5 %: −2 ln 0.025 and −2 ln 0.975.
    let bound = |p: f64| sd * (2.0 / (-2.0 * p.ln())).sqrt();
    assert!((p50.lower.get() - bound(0.025)).abs() < 1e-9, "{p50:?}");
    assert!((p50.upper.get() - bound(0.975)).abs() < 1e-9, "{p50:?}");
    assert_eq!(judged(&runs[..2], &[]).run_to_run, [], "two runs tell no deviation");
    assert!(found.spread_over > Nanoseconds::ZERO);
}

#[test]
fn what_the_second_of_two_copies_costs_is_the_mean_over_runs_with_students_interval() {
    // ln ratios of +1 %, +2 % and +3 %: mean 2 %, standard error 1 %/√3, t(0.975; 2) = 4.302653.
    let copies: Vec<CalibrationRun> = [0.01, 0.02, 0.03].map(|shift| shifted(shift, 0.001)).into();
    let found = judged(&copies, &[]);
    let p50 = &found.quantities[0];
    let position = p50.position.as_ref().unwrap();
    let half = 4.302_653 * 0.01 / 3.0_f64.sqrt();
    let close = |value: f64, log: f64| assert!((value.ln() - log).abs() < 1e-6, "ln {value} is not {log}");
    close(position.point, 0.02);
    close(position.lower.unwrap(), 0.02 - half);
    close(position.upper.unwrap(), 0.02 + half);
    assert_eq!(position.blocks, 3, "runs");
    // A slower copy says nothing about the position.
    let slower = [SlowerRun { run: shifted(0.5, 0.001), truth: None }];
    assert_eq!(judged(&copies, &slower).quantities[0].position.as_ref(), Some(position));
    let two = judged(&copies[..2], &[]);
    assert_eq!(two.quantities[0].position.as_ref().unwrap().interval(), None, "two runs have no interval");
    let said = quote(
        &calibration(found),
        Quantity::ResponseP50,
        Nanoseconds::from_secs(20),
        &HostIdentity::default(),
        1,
    );
    assert_eq!(said.position.map(|position| position.blocks), Some(3));
}

fn calibration(variant: VariantReliability) -> HostCalibration {
    HostCalibration {
        schema: RELIABILITY_VERSION,
        experiment: "an experiment".to_owned(),
        conditions: String::new(),
        headline: Quantity::ResponseP50,
        started: "2026-01-01T00:00:00Z".to_owned(),
        started_unix_s: 1_000,
        took: Nanoseconds::from_secs(1),
        host: HostIdentity {
            key: "00".to_owned(),
            lasting: [("kernel".to_owned(), "6.1".to_owned())].into(),
            passing: [("boot".to_owned(), "x".to_owned()), ("memory".to_owned(), "1 GiB".to_owned())].into(),
        },
        variants: vec![variant],
        noise: Vec::new(),
    }
}

#[test]
fn a_report_quotes_its_own_headline_at_the_nearest_time() {
    let copies: Vec<CalibrationRun> = [0.0, 0.001, -0.001].map(|shift| shifted(shift, 0.01)).into();
    let calibration = calibration(judged(&copies, &[]));
    let mut now = calibration.host.clone();
    let said = |measured: u64, headline| {
        quote(&calibration, headline, Nanoseconds::from_secs(measured), &now, 1_000 + 3_600)
    };
    let near = said(50, Quantity::ResponseP50);
    assert_eq!(near.detectable.unwrap().measured, Nanoseconds::from_secs(60));
    assert_eq!((near.headline, near.age), (Quantity::ResponseP50, Nanoseconds::from_secs(3_600)));
    assert!(near.changed.is_empty() && near.false_alarms.is_some());
    assert_eq!(near.run_to_run.unwrap().quantity, Quantity::ResponseP50);
    assert_eq!(said(1, Quantity::Throughput).headline, Quantity::Throughput);
    assert_eq!(said(1, Quantity::Throughput).detectable.unwrap().measured, Nanoseconds::from_secs(20));
    now.passing.insert("boot".to_owned(), "y".to_owned());
    now.passing.insert("memory".to_owned(), "2 GiB".to_owned());
    assert_eq!(
        changed(&calibration.host, &now),
        ["the machine was started again", "memory was 1 GiB, is 2 GiB"]
    );
}

#[test]
fn measured_time_is_that_of_the_rounds() {
    let trials = run_with_times(2, |_, _, _| 1e6);
    // Two blocks of 20 rounds of 100 ms; the two variants' clocks run side by side in these records.
    assert_eq!(measured_time(&trials), Nanoseconds::from_secs(4));
}

// --- Two runs ----------------------------------------------------------------------------------------------------

/// A run in which a baseline is at `level` and the variant `cost` above it, ± `step` from block to block.
fn stored(names: [&str; 2], (level, cost, step): (f64, f64, f64)) -> (Question, Vec<TrialRecord>) {
    let signs = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
    let trials = run_with_times(6, |block, _, variant| match variant {
        0 => level,
        _ => level * (cost + step * signs[block as usize]).exp(),
    });
    (question(&names), trials)
}

fn headline(costs: &[Cost]) -> &Cost {
    costs.iter().find(|cost| cost.headline).expect("a headline")
}

#[test]
fn a_shared_baseline_gives_the_ratio_of_ratios() {
    // The host became 30 % slower between the runs, which both ratios do not contain: 1.10/1.04.
    let (q1, t1) = stored(["base", "old"], (1e6, 1.04_f64.ln(), 0.002));
    let (q2, t2) = stored(["base", "new"], (1.3e6, 1.10_f64.ln(), 0.004));
    let (s1, s2) = (summarise(&q1, &t1), summarise(&q2, &t2));
    let first = ComparedRun { question: &q1, trials: &t1, summary: &s1 };
    let second = ComparedRun { question: &q2, trials: &t2, summary: &s2 };
    let costs = through_baseline(first, second);
    let cost = headline(&costs);
    let ratio = cost.ratio.unwrap();
    assert!((ratio.point - 1.10 / 1.04).abs() < 1e-5, "{ratio:?}");
    // s = d·√(6/5) each, variances of the means d²/5; Welch–Satterthwaite with 5 degrees each.
    let (va, vb) = (0.002_f64.powi(2) / 5.0, 0.004_f64.powi(2) / 5.0);
    let degrees = (va + vb).powi(2) / (va * va / 5.0 + vb * vb / 5.0);
    let half = two_sided_quantile(0.95, degrees) * (va + vb).sqrt();
    let middle = (1.10_f64 / 1.04).ln();
    assert!((ratio.lower.unwrap() - (middle - half).exp()).abs() < 2e-5, "{ratio:?} {half}");
    assert!((ratio.upper.unwrap() - (middle + half).exp()).abs() < 2e-5, "{ratio:?}");
    assert_eq!((cost.verdict, ratio.blocks, &*cost.variant), (Verdict::Higher, 12, "new"));
    // At the first run's level: 1.04 ms.
    let difference = cost.difference.unwrap();
    assert!((difference.point / (1.04e6 * (ratio.point - 1.0)) - 1.0).abs() < 1e-3, "{difference:?}");
    // A run against itself has no difference, whatever its cost.
    let same = through_baseline(first, first);
    assert!((headline(&same).ratio.unwrap().point - 1.0).abs() < 1e-12);
    assert_eq!(headline(&same).verdict, Verdict::NoRelevantDifference);
}

#[test]
fn what_a_run_says_against_itself_overrides() {
    let (q1, t1) = stored(["base", "old"], (1e6, 0.0, 0.002));
    let s1 = summarise(&q1, &t1);
    let mut bad = s1.clone();
    bad.variants[0].validity = Validity::Invalid;
    bad.variants[0].reasons = vec!["never sent".to_owned()];
    let part = |summary| ComparedRun { question: &q1, trials: &t1, summary };
    let costs = through_baseline(part(&s1), part(&bad));
    assert!(costs.iter().all(|cost| cost.verdict == Verdict::Invalid), "{costs:?}");
    assert!(headline(&costs).reason.as_deref().unwrap().contains("never sent"));
    let few = t1.iter().filter(|trial| trial.block < 3).cloned().collect::<Vec<_>>();
    let short = ComparedRun { question: &q1, trials: &few, summary: &s1 };
    let costs = through_baseline(part(&s1), short);
    assert!(headline(&costs).reason.as_deref().unwrap().starts_with("3 blocks"), "{costs:?}");
    assert_eq!(headline(&costs).verdict, Verdict::Withheld);
}

#[test]
fn the_deviation_from_run_to_run_is_in_the_error_of_both() {
    let signs = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0];
    let alone = |level: f64, step: f64| {
        let mut trials = run_with_times(6, |block, _, _| level * (step * signs[block as usize]).exp());
        trials.retain(|trial| trial.variant.index() == 0);
        (question(&["a"]), trials)
    };
    let ((q1, t1), (q2, t2)) = (alone(1e6, 0.002), alone(1.2e6, 0.004));
    let (s1, s2) = (summarise(&q1, &t1), summarise(&q2, &t2));
    let deviation = RunToRun {
        quantity: Quantity::ResponseP50,
        deviation: Ratio::new(0.03),
        lower: Ratio::new(0.02),
        upper: Ratio::new(0.05),
        level: 0.95,
        runs: 21,
    };
    let first = ComparedRun { question: &q1, trials: &t1, summary: &s1 };
    let second = ComparedRun { question: &q2, trials: &t2, summary: &s2 };
    let costs = through_calibration(first, second, &[deviation]);
    let ratio = headline(&costs).ratio.unwrap();
    let (va, vb, vr) = (0.002_f64.powi(2) / 5.0, 0.004_f64.powi(2) / 5.0, 2.0 * 0.03_f64.powi(2));
    let sum = va + vb + vr;
    let degrees = sum * sum / (va * va / 5.0 + vb * vb / 5.0 + vr * vr / 20.0);
    let half = two_sided_quantile(0.95, degrees) * sum.sqrt();
    assert!((ratio.point - 1.2).abs() < 1e-5, "{ratio:?}");
    let (lower, upper) = ratio.interval().unwrap();
    assert!((lower.ln() - (1.2_f64.ln() - half)).abs() < 1e-4, "{ratio:?} {half}");
    assert!((upper.ln() - (1.2_f64.ln() + half)).abs() < 1e-4, "{ratio:?} {half}");
    assert_eq!(headline(&costs).verdict, Verdict::Higher);
    let throughput = costs.iter().find(|cost| cost.quantity == Quantity::Throughput).unwrap();
    assert_eq!(throughput.verdict, Verdict::Withheld);
    assert!(throughput.reason.as_deref().unwrap().contains("not calibrated"));
}
