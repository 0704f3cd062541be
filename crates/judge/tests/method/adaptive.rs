//! Further sizes where a curve bends: the same number of requests, laid out by the rule that a run obeys,
//! places cliffs better, and invents none.

#[allow(dead_code)] // each test file uses its own part
use crate::cliff_laws;
use crate::common;

use cliff_laws::{SMOOTH, normal, planted, time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use weighbridge_judge::stats::cliffs::{Change, Cliff, confirmed};
use weighbridge_judge::stats::scatter::{Observation, Scatter};
use weighbridge_judge::steer::{SCOUTS, SizeHistory, SizeRule, SizeStep};
use weighbridge_model::experiment::{SizeCount, SizeSpread, Spacing};
use weighbridge_model::id::{OperationId, PointId};
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::samples::Sample;
use weighbridge_model::record::{Outcome, TrialRecord, Void, WindowKind};

const SEEDS: u64 = 20;
const BLOCKS: u32 = 6;
/// Requests of a block, further ones among them.
const REQUESTS: usize = 1_000;
const MARGIN: f64 = 0.02;

fn spread(adaptive: f64, seed: u64) -> SizeSpread {
    SizeSpread {
        min: Bytes::new(4),
        max: Bytes::new(500_000),
        spacing: Spacing::Log,
        count: SizeCount::Number(REQUESTS as u32),
        adaptive,
        repetitions: 1,
        seed,
    }
}

fn sample(size: Bytes, time: f64) -> Sample {
    Sample {
        kind: WindowKind::Measured,
        point: PointId(0),
        round: 0,
        operation: OperationId(0),
        size,
        due: Nanoseconds::from_nanos(0),
        sent: Nanoseconds::from_nanos(0),
        done: Nanoseconds::from_nanos(time as u64),
        outcome: Outcome::Ok,
        status: Some(200),
        length: size,
        relayed: None,
    }
}

/// The blocks of a run about a law; each block asks for what the rule says after those before it.
fn run(law: fn(f64) -> f64, adaptive: f64, seed: u64) -> Vec<TrialRecord> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let spread = spread(adaptive, seed);
    let plain = spread.sizes();
    let mut trials: Vec<TrialRecord> = Vec::new();
    for block in 0..BLOCKS {
        let level = 0.02 * normal(&mut random);
        let history = SizeHistory { point: PointId(0), block, trials: &trials };
        let further = match (SizeRule { spread }).next(&history) {
            SizeStep::Range => Vec::new(),
            SizeStep::Extra(sizes) => sizes,
        };
        let share = if further.is_empty() { 0.0 } else { adaptive / (1.0 + adaptive) };
        let extra = (share * REQUESTS as f64).round() as usize;
        let mut order = Vec::new();
        spread.order(u64::from(block), &mut order);
        let plain = order.iter().map(|at| plain[*at as usize]).take(REQUESTS - extra);
        let mut order = Vec::new();
        spread.extra_order(further.len() as u32, 0, &mut order);
        let further = order.iter().map(|at| further[*at as usize]).cycle().take(extra);
        let sizes: Vec<Bytes> = plain.chain(further).collect();
        let mut trial = common::trial(block, 0);
        let timed = |size: Bytes| sample(size, time(law, size.get() as f64, level, &mut random));
        trial.samples = sizes.into_iter().map(timed).collect();
        assert_eq!(trial.samples.len(), REQUESTS);
        trials.push(trial);
    }
    trials
}

fn cliffs(trials: &[TrialRecord], scouts: usize) -> Vec<Cliff> {
    let of = |trial: &TrialRecord| {
        let block = trial.block;
        let samples = trial.samples.clone();
        samples.into_iter().map(move |s| Observation {
            block,
            size: s.size.get() as f64,
            time: s.service().as_nanos() as f64,
        })
    };
    confirmed(&Scatter::new(trials.iter().flat_map(of)), MARGIN, scouts).cliffs
}

/// The width of the interval of the place of the only cliff of a kind, where it is near its place and the
/// interval holds it.
fn width(found: &[Cliff], change: Change, truth: f64) -> Option<f64> {
    let place = found.iter().find(|cliff| cliff.change == change)?.place;
    ((place.point / truth - 1.0).abs() <= 0.05).then_some((place.upper - place.lower) / truth)
}

fn median(mut widths: Vec<f64>) -> f64 {
    widths.sort_by(f64::total_cmp);
    widths[widths.len() / 2]
}

/// 5 ms above 87,380 bytes and another slope from 250 kB on, sizes spread by factors, of which few lie at the
/// large end.
#[test]
fn with_further_sizes_cliffs_are_found_more_often_and_placed_better_by_as_many_requests() {
    // Evenly, half of the corners are found.
    let truths = [(Change::Level, 87_380.0, SEEDS - 1), (Change::Slope, 250_000.0, 16)];
    let of = |adaptive: f64, scouts: usize| -> Vec<Vec<Cliff>> {
        (0..SEEDS).map(|seed| cliffs(&run(planted, adaptive, seed), scouts)).collect()
    };
    let (even, adaptive) = (of(0.0, 0), of(1.0, SCOUTS));
    for (change, truth, least) in truths {
        let widths = |runs: &[Vec<Cliff>]| -> Vec<f64> {
            runs.iter().filter_map(|found| width(found, change, truth)).collect()
        };
        let (even, adaptive) = (widths(&even), widths(&adaptive));
        assert!(
            adaptive.len() as u64 >= least && adaptive.len() >= even.len(),
            "{change:?}: {even:?} {adaptive:?}"
        );
        // What is not found has no place: of those that are found alone, the easy ones would be compared with
        // all.
        let all = |mut widths: Vec<f64>| {
            widths.resize(SEEDS as usize, f64::INFINITY);
            median(widths)
        };
        let (even, adaptive) = (all(even), all(adaptive));
        assert!(adaptive < 0.75 * even, "{change:?}: {even} {adaptive}");
    }
}

#[test]
fn further_sizes_invent_no_cliff_on_a_smooth_curve() {
    for (name, law) in SMOOTH {
        for seed in 100..100 + SEEDS {
            let found = cliffs(&run(law, 1.0, seed), SCOUTS);
            assert!(found.is_empty(), "{name} {seed}: {found:?}");
        }
    }
}

/// What the scouts said is said once: later blocks change nothing, void ones count for nothing, and every
/// variant is asked for the same.
#[test]
fn the_scouts_alone_decide_and_blocks_differ_in_sizes_only() {
    let rule = SizeRule { spread: spread(0.5, 3) };
    let trials = run(planted, 0.5, 3);
    let next = |trials: &[TrialRecord], block| rule.next(&SizeHistory { point: PointId(0), block, trials });
    assert_eq!(next(&trials[..1], 1), SizeStep::Range, "one block decides nothing");
    let after = next(&trials[..2], 5);
    let SizeStep::Extra(sizes) = &after else { panic!("a step of 5 ms is suspected") };
    // 500 further sizes, half of them about the step if both places are suspected.
    let near = |truth: f64| sizes.iter().filter(|size| (size.get() as f64 / truth - 1.0).abs() < 0.5).count();
    assert!(sizes.len() > 400 && near(87_380.0) > 100, "{sizes:?}");
    assert_eq!(next(&trials[..5], 5), after);
    assert_ne!(next(&trials, 6), after, "other sizes in the same stretches");
    let mut void = trials.clone();
    void[1].void = Some(Void::Stopped);
    assert_eq!(next(&void[..2], 2), SizeStep::Range);
    let plain = SizeRule { spread: spread(0.0, 3) };
    assert_eq!(plain.next(&SizeHistory { point: PointId(0), block: 5, trials: &trials }), SizeStep::Range);
}
