//! Batches: changes of the host between batches are in no cost, and variants of different batches are
//! compared through the baseline alone.

use crate::common;

use common::{Place, add_window, good, noisy, normal, question, random, trial};
use weighbridge_judge::estimate::headlines;
use weighbridge_judge::records::Records;
use weighbridge_judge::stats::interval::Interval;
use weighbridge_judge::thresholds::LEVEL;
use weighbridge_judge::{Bridge, summarise, summarise_through};
use weighbridge_model::estimate::{Quantity, Validity};
use weighbridge_model::id::VariantId;
use weighbridge_model::machine::MachineCpu;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{TrialRecord, WindowKind};
use weighbridge_model::summary::{Cost, Summary};

/// The host is slower by this factor during the second batch.
const HOST: f64 = 1.3;
const BATCHES: [[u16; 2]; 2] = [[0, 1], [0, 2]];
/// Time of each variant relative to the baseline.
const FACTORS: [f64; 3] = [1.0, 1.2, 1.1];

/// Six blocks of two batches in either order, with ten rounds of 300 requests of about 100 µs.
fn drifting() -> Vec<TrialRecord> {
    let mut random = random(41);
    let mut trials = Vec::new();
    for block in 0..6 {
        let mut batches: Vec<u32> = vec![0, 1];
        if block % 2 == 1 {
            batches.reverse();
        }
        for batch in batches {
            let host = if batch == 1 { HOST } else { 1.0 };
            let mut pair = BATCHES[batch as usize].map(|variant| trial(block, variant));
            for round in 0..10 {
                for position in 0..2 {
                    let one = &mut pair[((round + position) % 2) as usize];
                    let middle = 100_000.0 * host * FACTORS[one.variant.index()];
                    add_window(one, Place::measured(round, position), &noisy(&mut random, middle, 0.05, 300));
                }
            }
            pair.iter_mut().for_each(|trial| trial.batch = batch);
            trials.extend(pair);
        }
    }
    trials
}

fn row<'a>(summary: &'a Summary, variant: &str, quantity: Quantity) -> &'a Cost {
    summary.costs.iter().find(|cost| cost.variant == variant && cost.quantity == quantity).expect("a row")
}

#[track_caller]
fn assert_near(cost: &Cost, truth: f64) {
    let found = cost.ratio.unwrap_or_else(|| panic!("{cost:?}")).point;
    assert!(
        (found / truth - 1.0).abs() < 0.01,
        "{} of `{}`: {found}, not {truth}",
        cost.quantity,
        cost.variant
    );
}

#[test]
fn what_the_host_does_between_batches_cancels_in_every_cost() {
    let summary = summarise(&question(&["a", "b", "c"]), &drifting());
    for (variant, factor) in [("b", 1.2), ("c", 1.1)] {
        for quantity in [
            Quantity::ResponseP50,
            Quantity::ResponseP90,
            Quantity::ResponseP99,
            Quantity::ResponseMean,
            Quantity::ServiceP50,
        ] {
            assert_near(row(&summary, variant, quantity), factor);
        }
        assert_near(row(&summary, variant, Quantity::Throughput), 1.0 / factor);
        assert_near(row(&summary, variant, Quantity::MemoryPeak), 1.0);
        assert_eq!(row(&summary, variant, Quantity::ResponseP50).ratio.expect("measured").blocks, 6);
    }
    // A difference is in the time of its own batch: 10 µs on a host that is slower by 30 % are 13 µs.
    let difference = row(&summary, "c", Quantity::ResponseP50).difference.expect("measured").point;
    assert!((difference / 13_000.0 - 1.0).abs() < 0.1, "{difference}");
}

#[test]
fn the_baselines_own_row_merges_its_trials_and_batches_are_reported() {
    let summary = summarise(&question(&["a", "b", "c"]), &drifting());
    let [a, b, c] = &summary.variants[..] else { panic!("three") };
    assert_eq!((a.blocks, a.windows, a.requests), (6, 120, 36_000));
    assert_eq!((b.blocks, b.windows, b.requests), (6, 60, 18_000));
    assert_eq!((&a.batches[..], &b.batches[..], &c.batches[..]), (&[0, 1][..], &[0][..], &[1][..]));
    let note = summary.findings.iter().find(|finding| finding.name == "batches").expect("a note");
    assert!(note.evidence.contains("`a` of its own batch: `b` | `c`"), "{}", note.evidence);
    // The step between its two lives is neither drift nor a second level.
    assert_eq!(summary.validity, Validity::Valid, "{:?}", summary.findings);
    for name in ["drift", "two levels"] {
        assert!(!summary.findings.iter().any(|finding| finding.name == name), "{:?}", summary.findings);
    }
    assert_eq!(summary.spread.len(), 2, "where the spread comes from is known of each");
}

/// The trials of `b` and `c` as 0 and 1, with the baseline as 2.
fn bridged() -> Vec<TrialRecord> {
    let mut trials = drifting();
    for trial in &mut trials {
        trial.variant = VariantId((trial.variant.0 + 2) % 3);
        trial.windows.iter_mut().for_each(|window| window.variant = trial.variant);
    }
    trials
}

#[test]
fn variants_of_different_batches_are_compared_through_the_baseline() {
    let bridge = Bridge { variant: VariantId(2), name: "a".to_owned() };
    let summary = summarise_through(&question(&["b", "c"]), &bridged(), &bridge);
    assert_eq!(summary.variants.len(), 2, "the baseline has no row here");
    // A direct comparison would attribute the host's 30 % to the variant.
    for quantity in [Quantity::ResponseP50, Quantity::ResponseMean, Quantity::ResponseP90] {
        assert_near(row(&summary, "c", quantity), 1.1 / 1.2);
    }
    let headline = row(&summary, "c", Quantity::ResponseP50);
    let reason = headline.reason.as_deref().expect("it says how");
    assert!(reason.contains("in different batches: through `a`"), "{reason}");
    assert!(summary.findings.iter().any(|finding| finding.name == "through the baseline"));
    assert!(summary.spread.is_empty(), "no part of a block has both");

    // Each block is the difference of two log-ratios.
    let whole = question(&["a", "b", "c"]);
    let trials = drifting();
    let each = headlines(&whole, &Records::new(&trials));
    let [b, c] = [0, 1].map(|at| each[at].contrast.as_ref().expect("measured").compared());
    let mean = b.iter().zip(&c).map(|(b, c)| c - b).sum::<f64>() / 6.0;
    assert!((headline.ratio.expect("measured").point.ln() - mean).abs() < 1e-12);
}

#[test]
fn a_block_without_the_baseline_beside_a_variant_says_nothing_of_it() {
    let mut trials = drifting();
    trials.retain(|trial| !(trial.block < 2 && trial.batch == 1 && trial.variant == VariantId(0)));
    let summary = summarise(&question(&["a", "b", "c"]), &trials);
    assert_eq!(row(&summary, "b", Quantity::ResponseP50).ratio.expect("measured").blocks, 6);
    assert_eq!(row(&summary, "c", Quantity::ResponseP50).ratio.expect("measured").blocks, 4);
}

/// A simulated run: starts vary by 1 %, and the host by 15 % from batch to batch.
fn simulated(seed: u64) -> Vec<TrialRecord> {
    let mut random = random(seed);
    let mut trials = Vec::new();
    for block in 0..6 {
        for (batch, members) in (0..).zip(BATCHES) {
            let host = (0.15 * normal(&mut random)).exp();
            for (place, variant) in (0..).zip(members) {
                let mut one = trial(block, variant);
                one.tallies.clear();
                one.batch = batch;
                let start = FACTORS[variant as usize] * (0.01 * normal(&mut random)).exp();
                for round in 0..6 {
                    // Its requests go into no histogram, which the headline does not need.
                    let place = Place { kind: WindowKind::LeadIn, ..Place::measured(round, place) };
                    let time = 1e6 * host * start * (0.005 * normal(&mut random)).exp();
                    add_window(&mut one, place, &[good(time as u64); 50]);
                }
                one.windows.iter_mut().for_each(|window| window.kind = WindowKind::Measured);
                trials.push(one);
            }
        }
    }
    trials
}

#[test]
fn intervals_cover_as_they_say_whatever_the_host_does_between_batches() {
    const RUNS: u64 = 600;
    let asked = question(&["a", "b", "c"]);
    let mut covered = [0, 0];
    for run in 0..RUNS {
        let trials = simulated(7_000 + run);
        for headline in headlines(&asked, &Records::new(&trials)) {
            let at = headline.variant.index();
            let contrast = headline.contrast.expect("measured");
            let interval: Interval = contrast.mean().expect("six blocks").interval(LEVEL);
            covered[at - 1] += u32::from(interval.contains(FACTORS[at].ln()));
        }
    }
    // 95 % of 600 are 570, give or take 5.3.
    assert!(covered.iter().all(|hits| (554..=586).contains(hits)), "{covered:?} of {RUNS}");
}

/// One and a half cores busy in one batch, one core in the other, which is half as long; generator 0.9 and
/// services 0.4.
fn with_roles(mut trials: Vec<TrialRecord>) -> Vec<TrialRecord> {
    let millis = Nanoseconds::from_millis;
    for trial in &mut trials {
        let (span, busy) =
            if trial.batch == 0 { (2_000, 3_000) } else { (1_000, 1_000 + u64::from(trial.block)) };
        trial.machine = Some(MachineCpu {
            span: millis(span),
            busy: millis(busy),
            resolution: millis(50),
            generator: millis(span * 9 / 10),
            service: millis(span * 4 / 10),
        });
    }
    trials
}

#[test]
fn roles_of_a_blocks_batches_are_pooled_and_close_the_sum() {
    let summary = summarise(&question(&["a", "b", "c"]), &with_roles(drifting()));
    let roles = summary.cpu_roles.expect("every block tells them");
    // Busy 4,000 to 4,005 ms of 3,000, however many trials a batch has.
    assert!((roles.busy.point - 4.0025 / 3.0).abs() < 1e-12, "{roles:?}");
    assert!((roles.generator.point - 0.9).abs() < 1e-12 && (roles.service.point - 0.4).abs() < 1e-12);
    assert!((roles.unattributed.point - (4.0025 / 3.0 - 1.3)).abs() < 1e-12, "{roles:?}");
    assert!((roles.beside_generator.point - (4.0025 / 3.0 - 0.9)).abs() < 1e-12, "{roles:?}");
    assert_eq!((roles.span, roles.busy.blocks), (Nanoseconds::from_secs(18), 6));
    assert!((roles.resolution - 0.1 / 3.0).abs() < 1e-12, "{roles:?}");
    let (lower, upper) = roles.unattributed.interval().expect("six blocks");
    assert!(lower < roles.unattributed.point && roles.unattributed.point < upper);
    // Half a block gives no figure.
    let mut cut = with_roles(drifting());
    cut.iter_mut()
        .filter(|trial| trial.block == 0 && trial.batch == 1)
        .for_each(|trial| trial.machine = None);
    assert_eq!(summarise(&question(&["a", "b", "c"]), &cut).cpu_roles.expect("five blocks").busy.blocks, 5);
    assert_eq!(summarise(&question(&["a", "b", "c"]), &drifting()).cpu_roles, None);
}
