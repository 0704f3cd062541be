//! How often the rules for steadiness report something, on synthetic records with seeded noise: false alarms,
//! and planted effects that are found. The bounds allow for another seed, but not for a changed rule.
//!
//! The noise is that of short windows: 1 % from window to window, correlated between neighbours (0.5), 0.5 %
//! from start to start, and 2 % from block to block, which variant and baseline share.

use crate::common;

use common::{Place, add_window, good, normal, question, random, trial};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use weighbridge_judge::{Load, summarise};
use weighbridge_model::estimate::Verdict;
use weighbridge_model::pairing::{Pairing, Preparation, TurnEffect, WarmEnd, WarmUp};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{TrialRecord, WindowKind};
use weighbridge_model::summary::Summary;

const BLOCKS: u32 = 6;
const ROUNDS: u32 = 40;
const WARM_UP: u32 = 20;

/// The conditions of one window.
#[derive(Debug, Clone, Copy)]
struct At {
    /// Position among the trial's measured windows, from 0 to 1; below 0 in the warm-up.
    through: f64,
    /// Whether it follows a freeze.
    broken: bool,
    /// Which start of the service.
    block: u32,
}

struct Noise {
    last: f64,
    start: f64,
}

impl Noise {
    fn new(random: &mut ChaCha8Rng) -> Self {
        Self { last: 0.01 * normal(random), start: 0.005 * normal(random) }
    }

    fn next(&mut self, random: &mut ChaCha8Rng) -> f64 {
        self.last = 0.5 * self.last + 0.01 * (1.0 - 0.25_f64).sqrt() * normal(random);
        self.last + self.start
    }
}

/// A run whose variant 1 has times by `law` (1 is the baseline's), and whose windows have `pause` as their
/// longest request.
fn run(
    random: &mut ChaCha8Rng,
    law: impl Fn(At) -> f64,
    mut pause: impl FnMut(&mut ChaCha8Rng, u16, u32) -> u64,
) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for block in 0..BLOCKS {
        let shared = 0.02 * normal(random);
        for variant in 0..2 {
            let mut one = trial(block, variant);
            let mut noise = Noise::new(random);
            let mut window = |one: &mut TrialRecord, random: &mut ChaCha8Rng, place: Place, at: At| {
                let factor = if variant == 1 { law(at) } else { 1.0 };
                let time = 1_000_000.0 * factor * (shared + noise.next(random)).exp();
                let mut requests = vec![good(time as u64); 20];
                requests[7].service += pause(random, variant, place.round);
                add_window(one, place, &requests);
            };
            for round in 0..WARM_UP {
                let through = f64::from(round) / f64::from(WARM_UP) - 1.0;
                let place = Place { kind: WindowKind::WarmUp, ..Place::measured(round, 0) };
                window(&mut one, random, place, At { through, broken: false, block });
            }
            for round in 0..ROUNDS {
                let place = Place::measured(round, (round + u32::from(variant)) % 2);
                let through = f64::from(round) / f64::from(ROUNDS);
                window(&mut one, random, place, At { through, broken: true, block });
            }
            trials.push(one);
        }
    }
    trials
}

/// In how many of `runs` runs each of these findings is reported for the variant.
fn found(
    seed: u64,
    runs: u32,
    names: &[&str],
    law: impl Fn(At) -> f64,
    mut pause: impl FnMut(&mut ChaCha8Rng, u16, u32) -> u64,
) -> Vec<u32> {
    let mut random = random(seed);
    let mut counts = vec![0; names.len()];
    for _ in 0..runs {
        let summary = summarise(&question(&["a", "b"]), &run(&mut random, &law, &mut pause));
        for (count, name) in counts.iter_mut().zip(names) {
            *count += u32::from(summary.findings.iter().any(|f| f.name == *name && f.subject == "b"));
        }
    }
    counts
}

fn no_pause(_: &mut ChaCha8Rng, _: u16, _: u32) -> u64 {
    0
}

/// Host pauses of 1 to 10 ms in one window of a hundred, in both variants.
fn host(random: &mut ChaCha8Rng, _: u16, _: u32) -> u64 {
    if random.random::<f64>() < 0.01 { 1_000_000 + random.random_range(0..9_000_000) } else { 0 }
}

#[test]
fn a_steady_variant_is_seldom_called_anything() {
    let names = ["drift", "not warm", "depends on turns", "pauses", "carry-over"];
    let counts = found(71, 200, &names, |_| 1.0, host);
    // Of 200: drift and turns need 5 %, which this noise does not have. A warm-up that ends while it changes
    // has the rule's own 5 % plus the effect of correlated neighbours, in four of six trials; pauses are
    // tested at 5 % and 1 % of the time, carry-over at 1 %.
    for ((name, count), most) in names.iter().zip(&counts).zip([1, 8, 1, 10, 7]) {
        assert!(*count <= most, "{name}: {count} of 200 false alarms, {counts:?}");
    }
}

#[test]
fn a_drift_of_a_tenth_of_the_p50_is_always_found_and_one_of_a_fiftieth_is_let_pass() {
    for (change, least, most) in [(0.20, 100, 100), (-0.20, 100, 100), (0.10, 98, 100), (0.02, 0, 2)] {
        let counts = found(72, 100, &["drift"], |at| 1.0 + change * at.through.max(0.0), no_pause);
        assert!((least..=most).contains(&counts[0]), "{change}: found in {} of 100", counts[0]);
    }
}

#[test]
fn a_step_is_found_wherever_it_lies_but_at_the_very_ends() {
    for at_share in [0.2, 0.5, 0.8] {
        let step = |at: At| if at.through < at_share { 1.15 } else { 1.0 };
        let counts = found(73, 100, &["drift"], step, no_pause);
        assert!(counts[0] >= 98, "at {at_share}: found in {} of 100", counts[0]);
    }
}

#[test]
fn a_variant_that_is_slower_after_a_freeze_is_found_from_a_tenth_on() {
    for (slower, least) in [(1.20, 100), (1.10, 98)] {
        let counts =
            found(74, 100, &["depends on turns"], |at| if at.broken { slower } else { 1.0 }, no_pause);
        assert!(counts[0] >= least, "{slower}: found in {} of 100", counts[0]);
    }
    // An effect below the threshold is not reported, and a variant that is always slower has no such effect.
    for law in [|at: At| if at.broken { 1.02 } else { 1.0 }, |_: At| 1.3] {
        let counts = found(75, 100, &["depends on turns"], law, no_pause);
        assert!(counts[0] <= 1, "found in {} of 100", counts[0]);
    }
}

/// Under a load other than the warm-up's, the difference may be the load's, so there is no check.
#[test]
fn turns_are_checked_only_where_the_warm_up_is_the_same_load() {
    let slower = |at: At| if at.broken { 1.20 } else { 1.0 };
    let trials = run(&mut random(80), slower, no_pause);
    let is_reported = |load: Load, pairing: Pairing| {
        let mut asked = question(&["a", "b"]);
        asked.points[0].load = load;
        let mut trials = trials.clone();
        trials.iter_mut().for_each(|trial| trial.pairings = vec![pairing]);
        summarise(&asked, &trials).findings.iter().any(|finding| finding.name == "depends on turns")
    };
    assert!(is_reported(Load::Closed, Pairing::Windows));
    assert!(!is_reported(Load::Closed, Pairing::Sequential), "one turn a block");
    assert!(!is_reported(Load::Open, Pairing::Windows), "the warm-up is closed load");
    assert!(
        !is_reported(Load::Closed, Pairing::Requests),
        "nothing is frozen in windows that variants share"
    );
}

/// The last requests of a window run with fewer and fewer in parallel, which makes short windows of many
/// slots fast.
#[test]
fn turns_are_not_checked_against_windows_that_hold_few_requests_for_their_slots() {
    let trials = run(&mut random(80), |at: At| if at.broken { 1.20 } else { 1.0 }, no_pause);
    let is_reported = |slots: u64, session_length: u64| {
        let mut asked = question(&["a", "b"]);
        (asked.points[0].slots, asked.points[0].session_length) = (slots, session_length);
        summarise(&asked, &trials).findings.iter().any(|finding| finding.name == "depends on turns")
    };
    // Windows hold 20 requests.
    assert!(is_reported(1, 1) && is_reported(2, 1) && !is_reported(3, 1));
    // As few as 10 sessions, each carried out whole by one slot.
    assert!(is_reported(1, 2) && !is_reported(2, 2));
}

#[test]
fn a_warm_up_that_ends_with_its_time_is_told() {
    let falling = |at: At| if at.through < 0.0 { 1.0 - 0.3 * at.through } else { 1.0 };
    let counts = found(76, 100, &["not warm", "drift"], falling, no_pause);
    assert!(counts[0] >= 98 && counts[1] <= 1, "{counts:?}");
}

#[test]
fn pauses_of_50_ms_are_found_among_those_of_the_host() {
    let stalls = |random: &mut ChaCha8Rng, variant: u16, round: u32| {
        if variant == 1 && round % 16 == 8 { 50_000_000 } else { host(random, variant, round) }
    };
    let counts = found(77, 100, &["pauses"], |_| 1.0, stalls);
    assert!(counts[0] >= 98, "found in {} of 100", counts[0]);
}

#[test]
fn starts_on_two_levels_are_found_although_starts_vary_and_smooth_ones_are_not_levels() {
    let levels = |at: At| if at.block.is_multiple_of(2) { 1.0 } else { 1.15 };
    let counts = found(78, 100, &["two levels of starts"], levels, no_pause);
    assert!(counts[0] >= 95, "found in {} of 100", counts[0]);
    let smooth = |at: At| 1.0 + 0.03 * f64::from(at.block);
    let counts = found(79, 100, &["two levels of starts"], smooth, no_pause);
    assert!(counts[0] <= 2, "found in {} of 100", counts[0]);
}

/// The summary of a run with these preparations.
fn prepared(law: impl Fn(At) -> f64, prepare: impl Fn(&TrialRecord) -> Preparation) -> Summary {
    let mut trials = run(&mut random(81), law, no_pause);
    for trial in &mut trials {
        trial.preparations = vec![prepare(trial)];
    }
    summarise(&question(&["a", "b"]), &trials)
}

fn verdict(summary: &Summary) -> (Verdict, String) {
    let cost = summary.costs.iter().find(|cost| cost.headline).expect("a headline");
    (cost.verdict, cost.reason.clone().unwrap_or_default())
}

#[test]
fn what_is_not_warm_in_most_trials_has_no_verdict() {
    let ended = |cold_until: u32, variant: u16, end: WarmEnd| {
        prepared(
            |_| 1.3,
            move |trial| {
                let is_cold = trial.variant.0 == variant && trial.block < cold_until;
                let end = if is_cold { end } else { WarmEnd::Steady };
                let warm_up = Some(WarmUp { end, time: Nanoseconds::from_secs(60), windows: WARM_UP });
                Preparation { warm_up, ..Preparation::default() }
            },
        )
    };
    for (variant, end) in [(1, WarmEnd::Faster), (1, WarmEnd::Working), (0, WarmEnd::Working)] {
        let summary = ended(4, variant, end);
        let (given, reason) = verdict(&summary);
        assert_eq!(given, Verdict::Withheld, "{end:?}: {reason}");
        assert!(reason.contains("not warm") && reason.contains("4 of 6 trials"), "{reason}");
        assert!(reason.contains("set `warmup`"), "it says what would do: {reason}");
        assert!(summary.costs.iter().all(|cost| cost.verdict == Verdict::Withheld || cost.ratio.is_none()));
    }
    assert_eq!(verdict(&ended(3, 1, WarmEnd::Working)).0, Verdict::Higher, "half of the trials");
    assert_eq!(verdict(&ended(6, 1, WarmEnd::Varying)).0, Verdict::Higher, "it varies and becomes no faster");
    assert_eq!(verdict(&ended(6, 1, WarmEnd::Busy)).0, Verdict::Higher, "it polls, and its p50 is steady");
}

#[test]
fn a_run_that_chose_its_windows_withholds_what_depends_on_turns_all_the_same() {
    let slower = |at: At| if at.broken { 1.20 } else { 1.0 };
    let (given, reason) = verdict(&prepared(slower, |_| Preparation {
        window: Some(Nanoseconds::from_millis(20)),
        ..Preparation::default()
    }));
    assert_eq!(given, Verdict::Withheld);
    assert!(reason.contains("slower or faster after idling"), "{reason}");
    let (given, reason) = verdict(&prepared(slower, |_| Preparation::default()));
    assert_eq!(given, Verdict::Higher, "the experiment named the length");
    assert!(reason.contains("slower or faster after idling"), "{reason}");
}

#[test]
fn why_windows_are_longer_is_reported_for_the_variant_that_needs_it() {
    let millis = Nanoseconds::from_millis;
    let effect = |window, change| TurnEffect { window: millis(window), change, error: 0.002 };
    let evidence = |window: Option<Nanoseconds>| {
        let summary = prepared(
            |_| 1.0,
            move |trial| {
                let change = if trial.variant.0 == 1 { 0.3 } else { 0.001 };
                let turns = match trial.block {
                    0 => vec![effect(20, change), effect(20, change), effect(100, change / 100.0)],
                    _ => Vec::new(),
                };
                Preparation { window, turns, ..Preparation::default() }
            },
        );
        let found: Vec<_> =
            summary.findings.into_iter().filter(|finding| finding.name == "longer turns").collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].subject, "b");
        found[0].evidence.clone()
    };
    let longer = evidence(Some(millis(100)));
    assert!(longer.contains("+35") && longer.contains("windows are 100 ms long"), "{longer}");
    let none = evidence(None);
    assert!(none.contains("one after another"), "{none}");
}
