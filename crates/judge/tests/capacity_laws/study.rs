//! Many searches of one case, against the truth.

use std::collections::BTreeMap;

use weighbridge_judge::capacity::CapacityEnd;

use super::peers::{self, Tool};
use super::server::{Habit, Law, Service};
use super::{Case, objectives, oracle, rule, search};

/// The services of the study; all serve 10,000 requests a second at most.
pub const SERVICES: [(&str, Service); 4] = [
    ("M/M/1", Service { law: Law::Exponential { mean: 100e-6 }, servers: 1, habit: Habit::None }),
    ("M/D/1", Service { law: Law::Constant { mean: 100e-6 }, servers: 1, habit: Habit::None }),
    (
        "M/G/1",
        Service {
            law: Law::Bimodal { short: 50e-6, long: 550e-6, share: 0.1 },
            servers: 1,
            habit: Habit::None,
        },
    ),
    ("M/M/4", Service { law: Law::Exponential { mean: 400e-6 }, servers: 4, habit: Habit::None }),
];

pub const OBJECTIVES: [&str; 2] = ["mean < 1 ms", "p99 < 5 ms"];

/// Spread of starts.
pub const STARTS: f64 = 0.005;

/// Results of the searches of one case.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub runs: u32,
    /// Searches without an interval.
    pub open: u32,
    pub covered: u32,
    /// Sums over searches: of the error on the log scale, its square, half-widths, seconds.
    pub error: f64,
    pub square: f64,
    pub half_width: f64,
    pub seconds: f64,
    /// How searches ended, but for estimates.
    pub ends: BTreeMap<&'static str, u32>,
    /// Sum of squared errors of other tools' rules, and their seconds.
    pub peers: BTreeMap<Tool, Peer>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Peer {
    pub runs: u32,
    pub error: f64,
    pub square: f64,
    pub seconds: f64,
}

impl Outcome {
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.open += other.open;
        self.covered += other.covered;
        self.error += other.error;
        self.square += other.square;
        self.half_width += other.half_width;
        self.seconds += other.seconds;
        other.ends.iter().for_each(|(end, count)| *self.ends.entry(end).or_default() += count);
        for (tool, peer) in &other.peers {
            let mine = self.peers.entry(*tool).or_default();
            mine.runs += peer.runs;
            mine.error += peer.error;
            mine.square += peer.square;
            mine.seconds += peer.seconds;
        }
    }

    pub fn bias(&self) -> f64 {
        self.error / f64::from(self.runs)
    }

    pub fn rmse(&self) -> f64 {
        (self.square / f64::from(self.runs)).sqrt()
    }

    pub fn coverage(&self) -> f64 {
        f64::from(self.covered) / f64::from(self.runs)
    }

    pub fn half_width(&self) -> f64 {
        self.half_width / f64::from(self.runs - self.open)
    }
}

impl Peer {
    pub fn rmse(&self) -> f64 {
        (self.square / f64::from(self.runs)).sqrt()
    }

    fn add(&mut self, error: f64, seconds: f64) {
        self.runs += 1;
        self.error += error;
        self.square += error * error;
        self.seconds += seconds;
    }
}

pub fn truth(case: &Case) -> f64 {
    oracle::capacity(&case.service, &objectives(case.objective).conditions()[0])
}

/// The searches of these numbers, each with a seed of its own; each tool has as long as the search took.
pub fn study(case: &Case, truth: f64, numbers: std::ops::Range<u64>, tools: &[Tool]) -> Outcome {
    let mut outcome = Outcome::default();
    for number in numbers {
        let seed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5eed;
        let found = search(case, &rule(case.objective, seed), seed);
        let estimate = &found.estimate;
        let error = (estimate.value.get() / truth).ln();
        outcome.runs += 1;
        outcome.error += error;
        outcome.square += error * error;
        outcome.seconds += found.seconds;
        match estimate.interval {
            Some((lower, upper)) => {
                outcome.covered += u32::from((lower.get()..=upper.get()).contains(&truth));
                outcome.half_width += 0.5 * (upper.get() - lower.get()) / truth;
            }
            None => outcome.open += 1,
        }
        if let Some(name) = end_name(estimate.end) {
            *outcome.ends.entry(name).or_default() += 1;
        }
        for tool in tools {
            let run = peers::run(*tool, case, found.seconds, seed ^ 0x0dd);
            outcome.peers.entry(*tool).or_default().add((run.rate / truth).ln(), run.seconds);
        }
    }
    outcome
}

fn end_name(end: CapacityEnd) -> Option<&'static str> {
    match end {
        CapacityEnd::Estimated => None,
        CapacityEnd::AtLeast(_) => Some("at least"),
        CapacityEnd::Below(_) => Some("below"),
        CapacityEnd::NotMonotone { .. } => Some("not monotone"),
        CapacityEnd::Hysteresis(_) => Some("hysteresis"),
        CapacityEnd::Drift(_) => Some("drift"),
        CapacityEnd::NotConfirmed(_) => Some("not confirmed"),
    }
}
