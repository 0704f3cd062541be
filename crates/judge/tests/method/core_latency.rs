//! Cores in two places: the findings on a run in which a hypervisor moved them.

use weighbridge_judge::{Question, summarise};
use weighbridge_model::estimate::Validity;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{TrialRecord, WindowKind};
use weighbridge_model::summary::{Finding, Severity, Summary};

use crate::common::{Place, add_window, noisy, normal, question, random, run};

/// Eight blocks of forty rounds. In every third group of ten rounds, a different one in each block, the cores
/// are neighbours and the baseline takes 14 µs; otherwise it takes `far`. `costs` are the variant's factors
/// near and far.
fn moving(seed: u64, far: f64, costs: [f64; 2]) -> Vec<TrialRecord> {
    moving_with(seed, far, costs, [0.0; 8])
}

/// The same with the logarithm of what each start of the variant costs besides.
fn moving_with(seed: u64, far: f64, costs: [f64; 2], levels: [f64; 8]) -> Vec<TrialRecord> {
    in_places(seed, far, costs, levels, |block, round| (round / 10 + block).is_multiple_of(3))
}

/// The same with the rounds of each block in which the cores are neighbours.
fn in_places(
    seed: u64,
    far: f64,
    costs: [f64; 2],
    levels: [f64; 8],
    is_near: impl Fn(u32, u32) -> bool,
) -> Vec<TrialRecord> {
    let mut random = random(seed);
    let starts = levels.map(|level| level + 0.003 * normal(&mut random));
    let mut trials = run(8, 40, |variant, block, round| {
        let near = is_near(block, round);
        let baseline = if near { 14_000.0 } else { far };
        let cost = if near { costs[0] } else { costs[1] } * starts[block as usize].exp();
        noisy(&mut random, if variant == 0 { baseline } else { baseline * cost }, 0.02, 200)
    });
    for window in trials.iter_mut().flat_map(|trial| &mut trial.windows) {
        let latency = if is_near(window.block, window.round) { 55 } else { 320 };
        window.core_latency = Some(Nanoseconds::from_nanos(latency + u64::from(window.round % 5)));
    }
    trials
}

fn asked() -> Question {
    question(&["a", "b"])
}

fn found<'a>(summary: &'a Summary, name: &str) -> Option<&'a Finding> {
    summary.findings.iter().find(|finding| finding.name == name)
}

#[test]
fn times_and_costs_in_both_places_are_reported() {
    let summary = summarise(&asked(), &moving(1, 18_000.0, [1.14, 1.20]));
    let moved = found(&summary, "cores moved").expect("a finding");
    assert!(
        moved
            .evidence
            .starts_with("a cache line took 57 ns between the client's and the service's core and back in 3")
            && moved.evidence.contains(" % of the windows, 322 ns in the others: p50 14.0 µs and 18.0 µs"),
        "{}",
        moved.evidence
    );
    let cost = found(&summary, "depends on core latency").expect("a finding");
    let before_intervals =
        cost.evidence.split(" % [").filter_map(|part| part.rsplit(' ').next()?.parse().ok());
    let costs: Vec<f64> = before_intervals.collect();
    assert!((costs[0] - 14.0).abs() < 0.5 && (costs[1] - 20.0).abs() < 0.5, "{}", cost.evidence);
    assert!(
        cost.evidence.contains("where a cache line took 57 ns between the cores, +"),
        "{}",
        cost.evidence
    );
    assert!(cost.evidence.ends_with("where it took 322 ns"), "{}", cost.evidence);
    assert!(found(&summary, "two levels").is_none(), "explained");
    assert_eq!((cost.severity, summary.validity), (Severity::Note, Validity::Valid));
}

#[test]
fn levels_that_the_places_cannot_explain_are_reported() {
    let levels = [0.4, 0.0, 0.0, 0.4, 0.4, 0.0, 0.0, 0.4];
    let summary = summarise(&asked(), &moving_with(7, 14_600.0, [1.14, 1.14], levels));
    assert!(found(&summary, "cores moved").is_some(), "{:?}", summary.findings);
    let starts = found(&summary, "two levels of starts").expect("a finding");
    assert!(starts.evidence.contains("in 4 starts"), "{}", starts.evidence);
    // A place that moves times by as much could be what starts seem to draw.
    let summary = summarise(&asked(), &moving_with(7, 18_000.0, [1.14, 1.14], levels));
    assert!(found(&summary, "two levels of starts").is_none(), "{:?}", summary.findings);
}

#[test]
fn slow_starts_that_had_the_far_place_are_reported() {
    let levels = [0.4, 0.0, 0.0, 0.4, 0.4, 0.0, 0.0, 0.4];
    let trials = in_places(8, 14_600.0, [1.14, 1.14], levels, |block, _| levels[block as usize] == 0.0);
    let summary = summarise(&asked(), &trials);
    assert!(found(&summary, "cores moved").is_some(), "{:?}", summary.findings);
    let starts = found(&summary, "two levels of starts").expect("4 % in the places explain no 49 %");
    assert!(starts.evidence.contains("in 4 starts"), "{}", starts.evidence);
}

#[test]
fn places_without_an_effect_on_times_are_not_reported() {
    let summary = summarise(&asked(), &moving(2, 14_000.0, [1.14, 1.14]));
    assert!(found(&summary, "cores moved").is_none(), "{:?}", summary.findings);
    let mut one_place = moving(3, 14_000.0, [1.14, 1.14]);
    for window in one_place.iter_mut().flat_map(|trial| &mut trial.windows) {
        window.core_latency = Some(Nanoseconds::from_nanos(55 + u64::from(window.round % 7)));
    }
    assert!(found(&summarise(&asked(), &one_place), "cores moved").is_none());
    let mut unknown = moving(4, 18_000.0, [1.14, 1.20]);
    for window in unknown.iter_mut().flat_map(|trial| &mut trial.windows) {
        window.core_latency = None;
    }
    let summary = summarise(&asked(), &unknown);
    assert!(found(&summary, "cores moved").is_none() && found(&summary, "depends on core latency").is_none());
}

/// p below 1 %, and outside the interval too: fewer than four of 100 runs.
#[test]
fn a_cost_that_is_the_same_in_both_places_is_seldom_reported_to_differ() {
    let alarms = (0..100).filter(|seed| {
        let summary = summarise(&asked(), &moving(100 + seed, 18_000.0, [1.1, 1.1]));
        found(&summary, "depends on core latency").is_some()
    });
    assert!(alarms.count() < 4);
}

/// The warm-up has neighbouring cores, where the variant costs 14 %; the rounds have distant ones, where it
/// costs 30 %.
#[test]
fn a_warm_up_in_another_place_says_nothing_of_turns() {
    let run_with_place = |known: bool| {
        let mut random = random(5);
        let mut trials = run(6, 20, |variant, _, _| {
            noisy(&mut random, [18_000.0, 23_400.0][usize::from(variant)], 0.02, 200)
        });
        let latency = |nanos| known.then(|| Nanoseconds::from_nanos(nanos));
        for trial in &mut trials {
            trial.windows.iter_mut().for_each(|window| window.core_latency = latency(320));
            for round in 0..40 {
                let position = u32::from(trial.variant.0);
                let place = Place { kind: WindowKind::WarmUp, ..Place::measured(round, position) };
                let middle = [14_000.0, 15_960.0][usize::from(trial.variant.0)];
                add_window(trial, place, &noisy(&mut random, middle, 0.02, 200));
                trial.windows.last_mut().expect("it was added").core_latency = latency(55);
            }
        }
        found(&summarise(&asked(), &trials), "depends on turns").is_some()
    };
    assert!(run_with_place(false), "what is not known is held against the warm-up");
    assert!(!run_with_place(true));
}
