//! Cliffs on synthetic samples with known laws: planted ones are found in place, smooth curves have none.

use crate::cliff_laws;

use cliff_laws::{
    BENT, CASES, Case, MARGIN, PLANS, RANGE, SHARES, SILENT, SMOOTH, Spacing, cliffs, draw_scatter, planted,
    scatter, shared,
};
use weighbridge_judge::stats::cliffs::{Change, Cliff, find};

const SEEDS: u64 = 20;
const STEP: f64 = 87_380.0;
const CORNER: f64 = 250_000.0;

fn find_change(found: &[Cliff], change: Change) -> Option<&Cliff> {
    found.iter().find(|cliff| cliff.change == change)
}

/// 5 ms above 87,380 bytes and another slope from 250 kB on: both found within 5 % of their place, and
/// nothing else.
#[test]
fn a_planted_step_and_a_planted_corner_are_found_in_every_seed() {
    let linear = PLANS.map(|plan| (Spacing::Linear, plan));
    let (mut held, mut asked) = ([0; 4], 0);
    for (spacing, plan) in linear.into_iter().chain([(Spacing::Logarithmic, PLANS[2])]) {
        for seed in 0..SEEDS {
            let found = cliffs(&scatter(planted, spacing, plan, seed));
            let (Some(step), Some(corner), 2) =
                (find_change(&found, Change::Level), find_change(&found, Change::Slope), found.len())
            else {
                panic!("{spacing:?} {plan:?} {seed}: {found:?}");
            };
            let off = [step.place.point / STEP - 1.0, corner.place.point / CORNER - 1.0];
            assert!(off.iter().all(|off| off.abs() <= 0.05), "{spacing:?} {plan:?} {seed}: {found:?}");
            let truths =
                [(step.place, STEP), (corner.place, CORNER), (step.height, 5e6), (corner.height, 20.0)];
            for (count, (interval, truth)) in held.iter_mut().zip(truths) {
                *count += u32::from(interval.contains(truth));
            }
            asked += 1;
        }
    }
    // Nominally 95 %; for this number of cases, three standard errors below are 88 %.
    assert!(held.iter().all(|held| f64::from(*held) >= 0.88 * f64::from(asked)), "{held:?} of {asked}");
}

#[test]
fn a_smooth_curve_has_none_in_any_seed() {
    for (name, law) in SMOOTH {
        for spacing in Spacing::ALL {
            for plan in [PLANS[0], PLANS[1]] {
                for seed in 100..100 + SEEDS {
                    let found = cliffs(&scatter(law, spacing, plan, seed));
                    assert!(found.is_empty(), "{name} {spacing:?} {plan:?} {seed}: {found:?}");
                }
            }
        }
    }
}

/// A curve that bends without a corner may cause one false cliff in a hundred samples.
#[test]
fn a_gentle_bend_is_seldom_taken_for_a_cliff() {
    let (mut alarms, mut asked) = (0, 0);
    for (_, law) in BENT {
        for spacing in Spacing::ALL {
            for seed in 200..200 + SEEDS {
                alarms += usize::from(!cliffs(&scatter(law, spacing, PLANS[0], seed)).is_empty());
                asked += 1;
            }
        }
    }
    assert!(alarms * 40 <= asked, "{alarms} of {asked}");
}

/// Each within 5 % of its place, or between the neighbouring sizes, and nothing else.
fn assert_found(cases: &[Case]) {
    for case in cases {
        let mut missed = vec![0; case.truths.len()];
        for seed in 300..300 + SEEDS {
            let found = cliffs(&case.scatter(seed));
            assert_eq!(case.false_ones(&found), 0, "{} {seed}: {found:?}", case.name);
            for (count, truth) in missed.iter_mut().zip(case.truths) {
                *count += u32::from(Case::off(&found, *truth).is_none());
            }
        }
        assert!(missed.iter().all(|missed| *missed <= 1), "{}: {missed:?} of {SEEDS} missed", case.name);
    }
}

#[test]
fn cliffs_near_the_ends_and_several_at_once_are_found_where_they_are_and_no_others() {
    let (single, _) = CASES.split_at(8);
    assert_found(single);
}

#[test]
fn stairs_and_cliffs_of_blocks_that_differ_are_found_where_they_are_and_no_others() {
    let (_, stairs) = CASES.split_at(8);
    assert_found(stairs);
}

/// A cliff with too few requests on one side is not reported as something else.
#[test]
fn a_cliff_too_near_an_end_is_not_told_as_another_one() {
    for case in SILENT {
        for seed in 400..400 + SEEDS {
            assert_eq!(cliffs(&case.scatter(seed)), [], "{} {seed}", case.name);
        }
    }
    let found = find(&CASES[0].scatter(1), MARGIN);
    let judged = found.judged.expect("sizes that are judged");
    assert!(judged.steps.0 < 4e3 && judged.steps.1 > 495e3, "{judged:?}");
    assert!(judged.corners.0 > judged.steps.0 && judged.corners.1 < judged.steps.1, "{judged:?}");
}

/// The median changes from fast to slow requests where these become the majority; nothing else happens there.
/// With few requests, one sample in twenty may have a false cliff.
#[test]
fn a_growing_share_of_slow_requests_is_no_cliff() {
    for (most, factor) in SHARES {
        for (plan, allowed) in [(PLANS[0], 1), (PLANS[1], 0)] {
            let has_cliffs = |seed: &u64| {
                let sample = draw_scatter(RANGE, plan, 0.02, *seed, shared(most, factor));
                !cliffs(&sample).is_empty()
            };
            let alarms: Vec<u64> = (500..500 + SEEDS).filter(has_cliffs).collect();
            assert!(alarms.len() <= allowed, "{most} {factor} {plan:?}: {alarms:?}");
        }
    }
}

#[test]
fn fewer_than_four_blocks_and_a_handful_of_sizes_have_no_cliff() {
    assert_eq!(cliffs(&scatter(planted, Spacing::Linear, (3, 1500), 1)), []);
    assert_eq!(cliffs(&scatter(planted, Spacing::Linear, (6, 10), 1)), []);
}

#[test]
fn a_step_below_the_margin_is_not_reported() {
    let small = |s: f64| 3e5 + 10.0 * s + if s > STEP { 5e6 } else { 0.0 };
    let sample = scatter(small, Spacing::Linear, PLANS[1], 3);
    assert_eq!(cliffs(&sample).len(), 1);
    assert_eq!(find(&sample, 10.0).cliffs, [], "5 ms on 1.2 ms are less than ten times the level");
}
