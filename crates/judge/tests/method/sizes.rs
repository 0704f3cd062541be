//! Curves, cliffs and advice of whole runs whose samples have known laws.

use crate::common;

use common::{Place, add_window, good, normal, question, random, trial};
use rand::Rng;
use weighbridge_judge::{Question, detail, summarise};
use weighbridge_model::id::{OperationId, PointId};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::samples::{Relayed, Sample};
use weighbridge_model::record::{ErrorKind, Outcome, TrialRecord, WindowKind};
use weighbridge_model::sizes::{CliffChange, SizeGuide, SizeTime};

const SIZES: u32 = 500;
const MOST: f64 = 500_000.0;

/// Blocks of variants with these laws (ns by size) and the same sizes: lognormal noise of 10 %, blocks that
/// differ by 5 % for all variants together and by 1 % for each.
fn run(laws: &[fn(f64) -> f64], blocks: u32, seed: u64) -> Vec<TrialRecord> {
    let mut random = random(seed);
    let mut trials = Vec::new();
    for block in 0..blocks {
        let share = |n: u32, random: &mut rand_chacha::ChaCha8Rng| {
            (f64::from(n) + random.random::<f64>()) / f64::from(SIZES)
        };
        let sizes: Vec<f64> = (0..SIZES).map(|n| (4.0 + share(n, &mut random) * MOST).round()).collect();
        let host = 0.05 * normal(&mut random);
        for (variant, law) in laws.iter().enumerate() {
            let own = host + 0.01 * normal(&mut random);
            let mut trial = trial(block, variant as u16);
            add_window(&mut trial, Place::measured(0, variant as u32), &[good(1_000); 200]);
            let mut time = |size: f64| (law(size) * (own + 0.1 * normal(&mut random)).exp()) as u64;
            trial.samples = sizes.iter().map(|size| sample(*size as u64, time(*size))).collect();
            trials.push(trial);
        }
    }
    trials
}

fn sample(size: u64, service: u64) -> Sample {
    let nanos = Nanoseconds::from_nanos;
    Sample {
        kind: WindowKind::Measured,
        point: PointId(0),
        round: 0,
        operation: OperationId(0),
        size: Bytes::new(size),
        due: nanos(1_000),
        sent: nanos(1_500),
        done: nanos(1_500 + service),
        outcome: Outcome::Ok,
        status: Some(200),
        length: Bytes::new(size),
        relayed: Some(Relayed {
            duration: nanos(service / 2),
            status: 200,
            length: Bytes::new(size),
            retries: 0,
        }),
    }
}

fn steady(size: f64) -> f64 {
    3e5 + 10.0 * size
}

/// Slower below 200 kB, faster above.
fn crossing(size: f64) -> f64 {
    1.3e6 + 5.0 * size
}

fn stepping(size: f64) -> f64 {
    steady(size) + if size > 131_000.0 { 3e6 } else { 0.0 }
}

fn asked(variants: &[&str]) -> Question {
    let guide = |name: &str, bytes| SizeGuide { name: name.to_owned(), bytes: Bytes::new(bytes) };
    Question {
        guides: vec![guide("segment", 65_483), guide("receive buffer (tcp_rmem)", 131_072)],
        ..question(variants)
    }
}

#[test]
fn advice_names_the_best_variant_by_size_and_says_ties() {
    let laws: [fn(f64) -> f64; 3] = [steady, crossing, steady];
    let over = summarise(&asked(&["a", "b", "a again"]), &run(&laws, 8, 1)).over_size;
    assert_eq!(over.cliffs, []);
    let [advice] = &over.advice[..] else { panic!("{:?}", over.advice) };
    let (first, last) = (&advice.ranges[0], &advice.ranges[advice.ranges.len() - 1]);
    let mut tied = first.best.clone();
    tied.sort();
    assert_eq!(tied, ["a", "a again"], "{:?}", advice.ranges);
    assert_eq!(last.best, ["b"]);
    // The laws cross at 200 kB; classes of sizes are some 50 kB wide, so all may be tied only around there.
    assert!((140_000..210_000).contains(&first.to_bytes), "{:?}", advice.ranges);
    assert!((190_000..260_000).contains(&last.from_bytes), "{:?}", advice.ranges);
    assert!(first.lead.unwrap() > 0.0 && last.lead.is_some());
    assert!(advice.ranges.windows(2).all(|pair| pair[0].to_bytes == pair[1].from_bytes));
}

#[test]
fn a_cliff_of_a_run_has_its_variant_place_height_and_likely_cause() {
    let laws: [fn(f64) -> f64; 2] = [steady, stepping];
    let summary = summarise(&asked(&["a", "b"]), &run(&laws, 6, 2));
    let [cliff] = &summary.over_size.cliffs[..] else { panic!("{:?}", summary.over_size.cliffs) };
    assert_eq!(
        (cliff.variant.as_str(), cliff.operation.as_str(), cliff.change),
        ("b", "get", CliffChange::Level)
    );
    assert!((cliff.place_bytes.point / 131_000.0 - 1.0).abs() < 0.01, "{cliff:?}");
    assert!(cliff.height.lower < 3e6 && 3e6 < cliff.height.upper, "{cliff:?}");
    assert!((cliff.before / 1.61e6 - 1.0).abs() < 0.1, "{cliff:?}");
    assert!(cliff.cause.as_ref().unwrap().starts_with("receive buffer (tcp_rmem)"), "{cliff:?}");
    assert_eq!(summary.over_size.guides.len(), 2);
}

/// The intervals of the median and of the ratio must hold the truth at 19 of 20 sizes and seeds; the ratio,
/// whose blocks are paired, must be more precise than either.
#[test]
fn intervals_of_medians_and_ratios_cover_and_pairing_narrows() {
    let laws: [fn(f64) -> f64; 2] = [steady, crossing];
    let (mut held, mut asked_for, mut widths) = ([0, 0], 0, [0.0, 0.0]);
    for seed in 100..112 {
        let curves = detail(&asked(&["a", "b"]), &run(&laws, 6, seed)).size_curves;
        let curve_of_variant = |variant: &str| {
            curves.iter().find(|c| c.variant == variant && c.time == SizeTime::Service).expect("a curve")
        };
        let (a, b) = (curve_of_variant("a"), curve_of_variant("b"));
        assert_eq!((a.requests, a.ratio.len(), b.ratio.len()), (3_000, 0, b.size_bytes.len()));
        for at in [5, 30, 50, 70, 94] {
            let size = a.size_bytes[at] as f64;
            let (lower, upper) = a.median_interval_ns[at].expect("an interval");
            let (low, high) = b.ratio[at].and_then(|ratio| ratio.interval).expect("an interval");
            let truth = crossing(size) / steady(size);
            held[0] += u32::from(lower <= steady(size) && steady(size) <= upper);
            held[1] += u32::from(low <= truth && truth <= high);
            widths[0] += (upper / lower).ln();
            widths[1] += (high / low).ln();
            asked_for += 1;
        }
    }
    // Of 60 seeds, 95 % and 98 % hold it. Values of one seed are correlated, so fewer are allowed for few
    // seeds.
    assert!(held.iter().all(|held| 5 * held >= 4 * asked_for), "{held:?} of {asked_for}");
    assert!(widths[1] < 0.8 * widths[0], "{widths:?}");
}

#[test]
fn quantile_bands_are_where_requests_lie_and_every_time_has_a_curve() {
    let curves = detail(&asked(&["a"]), &run(&[steady], 6, 40)).size_curves;
    let times: Vec<_> = curves.iter().map(|curve| curve.time).collect();
    assert_eq!(times, SizeTime::ALL);
    let service = &curves[1];
    let ratio = |quantile: usize, at: usize| {
        service.quantiles[quantile].time_ns[at].unwrap() / service.quantiles[2].time_ns[at].unwrap()
    };
    // A lognormal distribution with spreads of 10 % a request and 5 % a block: e^(1.645 · 0.11) = 1.20.
    assert!((ratio(4, 50) - 1.20).abs() < 0.05 && (ratio(0, 50) - 1.0 / 1.20).abs() < 0.05);
    assert!((0..service.size_bytes.len()).all(|at| ratio(1, at) < 1.0 && ratio(3, at) > 1.0));
    // A relay's own time is half of it here, a response half a microsecond more.
    let median = |curve: usize| curves[curve].quantiles[2].time_ns[50].unwrap();
    assert!((median(2) / median(1) - 0.5).abs() < 0.01 && median(0) > median(1));
}

#[test]
fn failed_requests_are_counted_and_in_no_curve() {
    let mut trials = run(&[steady], 6, 50);
    for trial in &mut trials {
        let mut failed = sample(100, 9_000_000_000);
        failed.outcome = Outcome::Error(ErrorKind::Status);
        trial.samples.extend([failed; 3]);
    }
    let detail = detail(&asked(&["a"]), &trials);
    assert_eq!(detail.size_curves[0].requests, 3_000);
    let samples = &detail.size_samples[1];
    assert_eq!((samples.failed, samples.size_bytes.len(), samples.time_ns.len()), (18, 3_000, 3_000));
    assert!(samples.time_ns.iter().all(|time| *time < 9_000_000_000));
}

#[test]
fn without_samples_there_is_no_curve_and_with_few_blocks_no_interval() {
    let mut bare = run(&[steady], 6, 60);
    bare.iter_mut().for_each(|trial| trial.samples.clear());
    assert!(summarise(&asked(&["a"]), &bare).over_size.is_empty());
    assert_eq!(detail(&asked(&["a"]), &bare).size_curves, []);
    let laws: [fn(f64) -> f64; 2] = [stepping, crossing];
    let few = run(&laws, 3, 61);
    let over = summarise(&asked(&["a", "b"]), &few).over_size;
    assert!(over.is_empty(), "{over:?}");
    let curves = detail(&asked(&["a", "b"]), &few).size_curves;
    assert!(curves.iter().all(|curve| curve.median_interval_ns.is_empty()));
    assert!(curves[3].ratio.iter().all(|ratio| ratio.is_some_and(|ratio| ratio.interval.is_none())));
}
