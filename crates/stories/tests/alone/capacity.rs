//! Whether capacities are right: probes that spin or sleep for times that they record, whose capacity follows from queueing
//! theory; copies of a service, which must not be told apart; and a planted difference, which must be found.
//!
//! `CAPACITY_TRIES=20` tells each of the first three so often; without it they are told once.

#![allow(clippy::print_stderr)] // the figures of a study

use serde_json::Value;
use weighbridge_lab::host::cores::{CoreLayout, pin_current_thread};
use weighbridge_lab::process::GRACE;
use weighbridge_probe::record::Served;

use super::accuracy::{Estimate, Run, TestBench, median, open_windows};
use crate::support::measuring;

/// How often a story is told.
fn tries() -> usize {
    let Ok(text) = std::env::var("CAPACITY_TRIES") else { return 1 };
    text.parse().unwrap_or_else(|_| panic!("`CAPACITY_TRIES` is a whole number, not `{text}`"))
}

/// Variants by name and probe, under an objective. A probe draws the same times in each life unless its seed differs, and
/// blocks would share their error.
fn run(objective: &str, budget: &str, seed: usize, variants: &[(&str, &str)]) -> Run {
    let variants = variants.iter().map(|(name, probe)| {
        let probe = probe.replace("SEED", "seed=$$");
        format!("[[variant]]\nname = '{name}'\ncommand = ['sh', '-c', 'exec WEIGH probe {probe}']\n")
    });
    Run::measure(&format!(
        "title = '{objective}'\n[workload]\nname = 'pingpong'\nsize = '64 B'\n\
         [load]\nconnections = 64\nwarmup = '100 ms'\n[capacity]\nobjective = '{objective}'\n\
         [plan]\nblocks = {{ min = 6, max = 6 }}\nbudget = '{budget}'\nseed = {seed}\n{}",
        variants.collect::<String>()
    ))
}

fn capacity(run: &Run, variant: &str) -> Estimate {
    let all = run.summary["capacities"].as_array().unwrap();
    let found: &Value = all.iter().find(|one| one["variant"] == variant).unwrap();
    Estimate::of(&found["highest"])
}

/// What became of many tries.
#[derive(Default)]
struct Tally {
    tries: usize,
    near: usize,
    held: usize,
    errors: Vec<f64>,
}

impl Tally {
    fn add(&mut self, found: Estimate, known: f64, tolerance: f64) {
        let error = found.point / known - 1.0;
        eprintln!(
            "{known:.1}/s by theory, {:.1}/s found ({:+.2} %), interval {:.1} to {:.1}/s",
            found.point,
            100.0 * error,
            found.lower,
            found.upper
        );
        self.tries += 1;
        self.near += usize::from(error.abs() <= tolerance);
        self.held += usize::from((found.lower..=found.upper).contains(&known));
        self.errors.push(error);
    }

    /// One estimate in ten may be too far off. An interval at 95 % misses one truth in twenty, and of a few tries
    /// that says nothing.
    fn assert(mut self) {
        self.errors.sort_by(f64::total_cmp);
        let (n, middle) = (self.tries, 100.0 * self.errors[self.tries / 2]);
        let said =
            format!("{} of {n} near, {} of {n} held, median error {middle:+.2} %", self.near, self.held);
        eprintln!("{said}");
        assert!(10 * self.near >= 9 * n, "{said}");
        assert!(n < 20 || 20 * self.held >= 17 * n, "{said}");
    }
}

fn mean(times: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = times.fold((0.0, 0u64), |(sum, count), time| (sum + time, count + 1));
    sum / count as f64
}

/// The rate at which the mean response of an M/G/1 queue is `limit` seconds, by Pollaczek and Khinchine:
/// W = E S + λ E S² / (2 (1 − λ E S)).
fn pollaczek_khinchine(served: &[Served], limit: f64) -> f64 {
    let times = || served.iter().map(|one| one.occupied().as_secs_f64());
    let (first, second) = (mean(times()), mean(times().map(|time| time * time)));
    let waiting = limit - first;
    2.0 * waiting / (second + 2.0 * waiting * first)
}

/// The rate at which the mean response of an M/M/c queue is `limit` seconds, by Erlang's formula.
fn erlang(mean: f64, servers: u32, limit: f64) -> f64 {
    let response = |rate: f64| {
        let offered = rate * mean;
        let free =
            (1..=servers).fold(1.0, |blocked, n| offered * blocked / (f64::from(n) + offered * blocked));
        let waits = free / (1.0 - offered / f64::from(servers) * (1.0 - free));
        mean + waits / (f64::from(servers) / mean - rate)
    };
    let (mut low, mut high) = (0.0, f64::from(servers) / mean);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if response(middle) < limit { low = middle } else { high = middle }
    }
    low
}

/// What network and client add to a mean response, in seconds: a probe without delay at a low rate.
fn floor() -> f64 {
    // In a thread of its own, since it is pinned.
    let measured = std::thread::spawn(|| {
        pin_current_thread(CoreLayout::detect().unwrap().client()).unwrap();
        let bench = TestBench::new();
        let null = bench.start("null", &["probe", "null"]);
        let windows = open_windows(null.port(), 500.0, 20);
        null.stop(GRACE);
        bench.close();
        median(windows.iter().flatten().map(|one| one.done.since(one.due).as_nanos()).collect())
    });
    measured.join().unwrap() / 1e9
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_spinning_queue_keeps_its_mean_up_to_the_rate_of_pollaczek_and_khinchine() {
    measuring(|| {
        let (mut tally, limit) = (Tally::default(), 2e-3 - floor());
        for seed in 1..=tries() {
            let law = ["exponential:mean=400us", "bimodal:low=200us,high=2ms,share=10%"][seed % 2];
            let probe = format!("delay {law},SEED --record DIR/record");
            let found = run("mean < 2 ms", "100 s", seed, &[("queue", &probe)]);
            let known = pollaczek_khinchine(&found.probe_records(), limit);
            tally.add(capacity(&found, "queue"), known, 0.03);
        }
        tally.assert();
    });
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn four_sleeping_servers_keep_their_mean_up_to_the_rate_of_erlang() {
    measuring(|| {
        let (mut tally, limit) = (Tally::default(), 20e-3 - floor());
        for seed in 1..=tries() {
            let probe = "delay exponential:mean=10ms,SEED --servers 4 --record DIR/record";
            let found = run("mean < 20 ms", "60 s", seed, &[("queue", probe)]);
            let records = found.probe_records();
            let service = mean(records.iter().map(|one| one.spent().as_secs_f64()));
            tally.add(capacity(&found, "queue"), erlang(service, 4, limit), 0.04);
        }
        tally.assert();
    });
}

/// 104.71 µs of 100 µs are 5 % of the rate at which the mean is 1 ms.
#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn copies_are_not_told_apart_and_five_percent_are_found() {
    const PROBES: [(&str, &str); 3] = [
        ("one", "delay exponential:mean=100us,SEED"),
        ("copy", "delay exponential:mean=100us,SEED"),
        ("slower", "delay exponential:mean=104.71us,SEED"),
    ];
    measuring(|| {
        let (mut apart, mut found) = (0, 0);
        for seed in 1..=tries() {
            let run = run("mean < 1 ms", "5 min", seed, &PROBES);
            let verdict = |variant: &str| {
                let costs = run.summary["costs"].as_array().unwrap();
                let cost = costs.iter().find(|cost| cost["variant"] == variant).unwrap();
                eprintln!("{variant}: {} {}", cost["verdict"], cost["ratio"]);
                cost["verdict"].as_str().unwrap().to_owned()
            };
            apart += usize::from(["higher", "lower"].contains(&&*verdict("copy")));
            found += usize::from(verdict("slower") == "lower");
        }
        let said = format!("of {} runs {apart} told copies apart, {found} found 5 %", tries());
        eprintln!("{said}");
        assert!(20 * apart <= tries() && 20 * found >= 19 * tries(), "{said}");
    });
}

/// Half an interval's width, as a share of its middle.
fn half_width(found: Estimate) -> f64 {
    eprintln!("{:.1}/s, {:.1} to {:.1}/s", found.point, found.lower, found.upper);
    0.5 * found.width() / found.point
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn five_minutes_give_two_services_two_percent() {
    measuring(|| {
        let probes =
            [("fast", "delay exponential:mean=100us,SEED"), ("slow", "delay exponential:mean=120us,SEED")];
        let found = run("mean < 1 ms", "5 min", 1, &probes);
        for (name, _) in probes {
            assert!(half_width(capacity(&found, name)) <= 0.02, "{name}");
        }
    });
}

#[test]
#[ignore = "measures: needs a release build and a quiet machine"]
fn a_limit_far_above_the_time_of_a_request_is_met_within_two_percent() {
    measuring(|| {
        let found = run("mean < 5 ms", "5 min", 1, &[("brief", "delay exponential:mean=20us,SEED")]);
        assert!(half_width(capacity(&found, "brief")) <= 0.02);
    });
}
