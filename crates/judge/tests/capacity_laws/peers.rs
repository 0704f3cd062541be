//! The rules of other tools, on the same simulated services. Their statistics are exact, which mutilate's are not.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use weighbridge_model::objective::Resolved;
use weighbridge_model::quantity::Nanoseconds;

use super::server::Server;
use super::{Case, objectives};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tool {
    /// `--search` (mutilate.cc): the peak in closed load, bisection until high ≤ 1.02 low, then 2 % less until one
    /// run keeps the limit.
    Mutilate,
    /// Adaptive load (step_controller_impl.cc): doubled until exceeded, then bisected until two loads differ by less
    /// than 1 %; a confirmation of three times a run's length.
    Nighthawk,
}

/// What a tool says, and the time that its runs took.
pub struct Said {
    pub rate: f64,
    pub seconds: f64,
}

/// One life of a service, for runs of one length.
pub struct Runs {
    pub server: Server,
    condition: Resolved,
    pub length: f64,
    pub seconds: f64,
}

impl Runs {
    pub fn new(case: &Case, length: f64, seed: u64) -> Self {
        let server = Server::start(case.service, case.starts, &mut ChaCha8Rng::seed_from_u64(seed));
        let condition = objectives(case.objective).conditions()[0];
        Self { server, condition, length, seconds: 0.0 }
    }

    /// Whether one run at this rate keeps the limit.
    pub fn keeps(&mut self, rate: f64) -> bool {
        self.excess(rate) <= 1.0
    }

    /// The statistic of one run at this rate as a multiple of its limit.
    pub fn excess(&mut self, rate: f64) -> f64 {
        self.seconds += self.length;
        let requests = self.server.requests(rate, Nanoseconds::from_secs_f64(self.length));
        let mut times: Vec<u64> = requests.iter().map(|r| r.done.since(r.due).as_nanos()).collect();
        let limit = self.condition.limit.value();
        match self.condition.measure.statistic().and_then(|statistic| statistic.quantile()) {
            _ if times.is_empty() => 0.0,
            None => times.iter().sum::<u64>() as f64 / (limit * times.len() as f64),
            Some(q) => {
                let at = ((q * times.len() as f64) as usize).min(times.len() - 1);
                *times.select_nth_unstable(at).1 as f64 / limit
            }
        }
    }
}

/// The rule with as many seconds as it may have.
pub fn run(tool: Tool, case: &Case, seconds: f64, seed: u64) -> Said {
    match tool {
        Tool::Mutilate => mutilate(Runs::new(case, seconds / 7.4, seed)),
        Tool::Nighthawk => nighthawk(Runs::new(case, seconds / 12.0, seed)),
    }
}

fn mutilate(mut runs: Runs) -> Said {
    let peak = runs.server.pace();
    runs.seconds += runs.length;
    let (mut low, mut high, mut rate, mut keeps) = (1.0, peak, peak, false);
    while high > low * 1.02 && rate > 0.1 * peak {
        rate = 0.5 * (low + high);
        keeps = runs.keeps(rate);
        if keeps { low = rate } else { high = rate }
    }
    while !keeps && rate > 0.1 * peak && rate > 0.9 * low {
        rate *= 0.98;
        keeps = runs.keeps(rate);
    }
    Said { rate, seconds: runs.seconds }
}

fn nighthawk(mut runs: Runs) -> Said {
    let (mut low, mut high) = (0.0, 0.125 * runs.server.pace());
    while runs.keeps(high) {
        (low, high) = (high, 2.0 * high);
    }
    let (mut before, mut rate) = (high, 0.5 * (low + high));
    while (rate / before - 1.0).abs() >= 0.01 {
        if runs.keeps(rate) {
            low = rate
        } else {
            high = rate
        }
        (before, rate) = (rate, 0.5 * (low + high));
    }
    Said { rate, seconds: runs.seconds + 3.0 * runs.length }
}
