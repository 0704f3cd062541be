//! Arrival times against their laws: Kolmogorov-Smirnov tests of gaps for twenty seeds each, counts against the
//! integral of the rate, order and share of jitter.
//!
//! Seeds are fixed, so each test gives the same answer every time. The level is Holm's over twenty seeds at 1 %.

use weighbridge_load::pace::{Flow, Schedule, Source};
use weighbridge_load::profile::Cumulative;
use weighbridge_model::experiment::{Arrivals, Profile};
use weighbridge_model::quantity::{PerSecond, Ratio, Timestamp};

const COUNT: usize = 100_000;
const SEEDS: u64 = 20;
const RATE: f64 = 1_000.0;

fn flow(profile: &str, arrivals: Arrivals) -> Flow {
    Flow::new(Source::Law { profile: profile.parse().expect("a profile"), arrivals })
}

/// Arrival times in nanoseconds.
fn times(flow: &Flow, seed: u64, count: usize) -> Vec<f64> {
    let mut schedule = Schedule::new(flow, seed, Timestamp::from_nanos(0));
    (0..count).map_while(|_| schedule.next_arrival()).map(|at| at.as_nanos() as f64).collect()
}

fn gaps(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|two| two[1] - two[0]).collect()
}

/// The p-value of the Kolmogorov-Smirnov test of `values` against the distribution function `law` (asymptotic, with
/// Stephens' correction: Stephens 1970).
fn p_value(mut values: Vec<f64>, law: impl Fn(f64) -> f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len() as f64;
    let distance = |(rank, value): (usize, &f64)| {
        let expected = law(*value);
        (expected - rank as f64 / n).max((rank + 1) as f64 / n - expected)
    };
    let distance = values.iter().enumerate().map(distance).fold(0.0, f64::max);
    let scaled = (n.sqrt() + 0.12 + 0.11 / n.sqrt()) * distance;
    let term = |k: i32| f64::from(k % 2 * 2 - 1) * (-2.0 * f64::from(k * k) * scaled * scaled).exp();
    (2.0 * (1..100).map(term).sum::<f64>()).clamp(0.0, 1.0)
}

/// Whether Holm's procedure at 1 % rejects any of the hypotheses: whether it rejects the one with the smallest p.
fn holm_rejects(p_values: &[f64]) -> bool {
    p_values.iter().any(|p| *p <= 0.01 / p_values.len() as f64)
}

fn over_seeds(p_value: impl Fn(u64) -> f64) -> Vec<f64> {
    (1..=SEEDS).map(p_value).collect()
}

fn exponential(mean: f64) -> impl Fn(f64) -> f64 {
    move |gap| 1.0 - (-gap / mean).exp()
}

/// The difference of two uniforms of width `2 · share` about a mean of 1: triangular.
fn triangular(share: f64) -> impl Fn(f64) -> f64 {
    move |gap| {
        let z = ((gap - 1.0) / (2.0 * share)).clamp(-1.0, 1.0);
        if z < 0.0 { (1.0 + z).powi(2) / 2.0 } else { 1.0 - (1.0 - z).powi(2) / 2.0 }
    }
}

#[test]
fn p_values_match_the_table() {
    // Critical values of the asymptotic distribution: 1.3581 at 5 %, 1.6276 at 1 % (Smirnov 1948).
    let at = |scaled: f64| {
        let n = 1e6;
        let shift = scaled / (f64::sqrt(n) + 0.12 + 0.11 / f64::sqrt(n)) - 0.5 / n;
        let values = (0..1_000_000).map(|k| (f64::from(k) + 0.5) / n).collect();
        p_value(values, |u| u + shift)
    };
    assert!((at(1.3581) - 0.05).abs() < 1e-3, "{}", at(1.3581));
    assert!((at(1.6276) - 0.01).abs() < 3e-4, "{}", at(1.6276));
}

#[test]
fn poisson_gaps_are_exponential() {
    let steady = Flow::steady(PerSecond::new(RATE).expect("a rate"), Arrivals::Poisson);
    let p_values =
        over_seeds(|seed| p_value(gaps(&times(&steady, seed, COUNT + 1)), exponential(1e9 / RATE)));
    assert!(!holm_rejects(&p_values), "{p_values:?}");
    // The same test detects a rate that is 4 % off.
    let off = over_seeds(|seed| p_value(gaps(&times(&steady, seed, COUNT + 1)), exponential(1.04e9 / RATE)));
    assert!(off.iter().all(|p| *p < 0.01 / SEEDS as f64), "{off:?}");
}

#[test]
fn poisson_gaps_are_independent() {
    let steady = Flow::steady(PerSecond::new(RATE).expect("a rate"), Arrivals::Poisson);
    for seed in 1..=SEEDS {
        let gaps = gaps(&times(&steady, seed, COUNT + 1));
        let mean = 1e9 / RATE;
        let products = gaps.windows(2).map(|two| (two[0] / mean - 1.0) * (two[1] / mean - 1.0));
        // The correlation of neighbours has a standard error of 1/√n; the bound is four and a half of them.
        let correlation = products.sum::<f64>() / (gaps.len() - 1) as f64;
        assert!(correlation.abs() < 4.5 / (COUNT as f64).sqrt(), "seed {seed}: {correlation}");
    }
}

#[test]
fn jitter_moves_each_arrival_uniformly_and_keeps_the_order() {
    for share in [0.1, 0.5] {
        let law = Arrivals::Jitter(Ratio::new(share));
        let steady = Flow::steady(PerSecond::new(RATE).expect("a rate"), law);
        let units = |seed| -> Vec<f64> {
            times(&steady, seed, COUNT).into_iter().map(|at| at * RATE / 1e9).collect()
        };
        let moved = over_seeds(|seed| {
            let moved =
                units(seed).iter().enumerate().map(|(k, at)| (at - k as f64) / (2.0 * share)).collect();
            p_value(moved, |u| u.clamp(0.0, 1.0))
        });
        assert!(!holm_rejects(&moved), "{moved:?}");
        // Every other gap: neighbours share an arrival and are not independent.
        let between = over_seeds(|seed| {
            let every_other = gaps(&units(seed)).into_iter().step_by(2).collect();
            p_value(every_other, triangular(share))
        });
        assert!(!holm_rejects(&between), "{between:?}");
        for seed in 1..=SEEDS {
            let units = units(seed);
            assert!(units.is_sorted());
            // No drift: the last arrival is where the grid has it.
            let last = units[COUNT - 1] - (COUNT - 1) as f64;
            assert!((0.0..=2.0 * share).contains(&last), "{last}");
        }
    }
}

const PROFILES: [&str; 4] = [
    "steps:500/s for 2s, 0/s for 1s, 4000/s for 3s",
    "ramp:0/s..5000/s over 7s",
    "sine:2000/s +- 2000/s every 3s",
    "burst:50/s..9000/s for 200ms every 1s",
];

#[test]
fn a_profile_changes_the_time_of_every_law_and_nothing_else() {
    for profile in PROFILES {
        let cumulative = Cumulative::new(&profile.parse().expect("a profile"));
        let unit = |flow: &Flow, seed| -> Vec<f64> {
            times(flow, seed, COUNT + 1).into_iter().map(|at| cumulative.arrivals_by(at)).collect()
        };
        let poisson = flow(profile, Arrivals::Poisson);
        let p_values = over_seeds(|seed| p_value(gaps(&unit(&poisson, seed)), exponential(1.0)));
        assert!(!holm_rejects(&p_values), "{profile}: {p_values:?}");
        let jitter = flow(profile, Arrivals::Jitter(Ratio::new(0.25)));
        let p_values = over_seeds(|seed| {
            p_value(gaps(&unit(&jitter, seed)).into_iter().step_by(2).collect(), triangular(0.25))
        });
        assert!(!holm_rejects(&p_values), "{profile}: {p_values:?}");
    }
}

/// The integral of a profile's rate over seconds, in closed form and independent of the code under test.
fn expected(profile: &str, from: f64, to: f64) -> f64 {
    let passage = |length: f64, within: &dyn Fn(f64) -> f64, t: f64| {
        (t / length).floor() * within(length) + within(t % length)
    };
    let by = |t: f64| match profile.split(':').next() {
        Some("steps") => passage(6.0, &|t| 500.0 * t.min(2.0) + 4000.0 * (t - 3.0).max(0.0), t),
        Some("ramp") => passage(7.0, &|t| 5000.0 * t * t / 14.0, t),
        Some("sine") => {
            let w = 2.0 * std::f64::consts::PI / 3.0;
            2000.0 * t + 2000.0 * (1.0 - (w * t).cos()) / w
        }
        _ => passage(1.0, &|t| 9000.0 * t.min(0.2) + 50.0 * (t - 0.2).max(0.0), t),
    };
    by(to) - by(from)
}

/// Bounds that a Poisson count with this mean exceeds with a probability below 10⁻⁶ on either side (Chernoff).
fn poisson_bounds(mean: f64) -> (f64, f64) {
    let tail = |count: f64| if count <= 0.0 { -mean } else { count - mean - count * (count / mean).ln() };
    let (mut low, mut high) = (mean, mean + 1.0);
    while low > 0.0 && tail(low) > -13.8 {
        low -= 1.0;
    }
    while tail(high) > -13.8 {
        high += 1.0;
    }
    (low.max(0.0), high)
}

#[test]
fn counts_in_any_interval_are_those_of_the_rate() {
    for profile in PROFILES {
        let horizon = 20.0;
        let constant = times(&flow(profile, Arrivals::Constant), 1, 200_000);
        let poisson: Vec<_> =
            (1..=5).map(|seed| times(&flow(profile, Arrivals::Poisson), seed, 200_000)).collect();
        for k in 0..400 {
            let (from, length) = (f64::from(k % 97) * 0.171, [0.05, 0.3, 1.0, 2.9][k as usize % 4]);
            let to = f64::min(from + length, horizon);
            let mean = expected(profile, from, to);
            let count = |times: &[f64]| {
                let before = |t: f64| times.partition_point(|at| *at < t * 1e9) as f64;
                before(to) - before(from)
            };
            // The count of constant arrivals is the integral, except for one arrival at either end.
            assert!((count(&constant) - mean).abs() <= 1.0 + 1e-6, "{profile} {from} {to}: {mean}");
            for times in poisson.iter().filter(|_| mean > 0.0) {
                let (low, high) = poisson_bounds(mean);
                let count = count(times);
                assert!((low..=high).contains(&count), "{profile} {from} {to}: {count} of {mean}");
            }
            if mean == 0.0 {
                assert_eq!(poisson.iter().map(|times| count(times)).sum::<f64>(), 0.0);
            }
        }
    }
}

#[test]
fn passages_follow_one_another_without_gap_or_overlap() {
    // The second passage is the first, one length later.
    let profile: Profile = "steps:300/s for 1s, 0/s for 500ms, 70/s for 1s".parse().expect("a profile");
    let times = times(&flow(&profile.to_string(), Arrivals::Constant), 1, 740);
    let (first, second) = times.split_at(370);
    assert!(first.iter().all(|at| *at < 2.5e9));
    for (a, b) in first.iter().zip(second) {
        assert!((b - a - 2.5e9).abs() <= 1.0, "{a} {b}");
    }
}
