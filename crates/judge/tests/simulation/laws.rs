//! The laws of simulated requests, windows and starts, with the true cost of each in closed form.
//!
//! Windows are the smallest that the product measures (200 requests, 10 rounds a block), where estimates are
//! worst; with stalls a block has 250 windows of 20 ms.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use weighbridge_model::estimate::Quantity;
use weighbridge_model::id::{OperationId, VariantId};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{OperationFigures, TrialRecord, WindowFigures, WindowKind, WindowRecord};

const REQUESTS: usize = 200;
const ROUNDS: u32 = 10;
/// Windows of 20 ms of work in a block with stalls, and requests of each.
const STALL_ROUNDS: u32 = 250;
const STALL_REQUESTS: u64 = 133;
/// Work between two stalls, and the length of a stall: 100 ms in every 2 s.
const WORK_NANOS: f64 = 1.9e9;
const STALL_NANOS: f64 = 0.1e9;
/// The median of a request.
const BASE_NANOS: f64 = 100_000.0;
/// Spread of a request, on the log scale.
const REQUEST_SPREAD: f64 = 0.5;
/// Variation of the host that all windows of a block, or of a round, share; pairing removes it.
const HOST_BLOCK: f64 = 0.10;
const HOST_ROUND: f64 = 0.03;
/// Shares of slow requests of baseline and variant, and how slow they are.
const MISSES: [f64; 2] = [0.30, 0.31];
const MISS_FACTOR: f64 = 5.0;
/// Correlation of neighbouring windows and their spread.
const CORRELATION: f64 = 0.9;
const CORRELATED_SPREAD: f64 = 0.03;
/// The true cost, unless a law determines it: +2 %.
const COST: f64 = 0.02;

/// The quantity for verdicts on simulated runs; only its direction matters.
pub const HEADLINE: Quantity = Quantity::ResponseP50;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    pub name: &'static str,
    pub quantity: Quantity,
    /// Wanted half-width of the stopping rule, about that of ten blocks.
    pub until: f64,
    /// Near normal block estimates have the promised coverage.
    pub shape: Shape,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    NearNormal,
    HeavyTail,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Lognormal,
    Bimodal,
    Autocorrelated,
    Starts,
    /// Both variants, with this exponent.
    Pareto(f64),
    /// The variant alone; the baseline's requests are lognormal.
    ParetoBeside(f64),
    Stalls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    Cost,
    /// The baseline against itself.
    Same,
}

const fn law(name: &'static str, quantity: Quantity, until: f64, shape: Shape, kind: Kind) -> Law {
    Law { name, quantity, until, shape, kind }
}

/// In the order of tables.
pub const LAWS: [Law; 9] = [
    law("lognormal requests", Quantity::ResponseP50, 0.02, Shape::NearNormal, Kind::Lognormal),
    law("bimodal requests", Quantity::ResponseMean, 0.02, Shape::NearNormal, Kind::Bimodal),
    law("autocorrelated windows", Quantity::ResponseP50, 0.03, Shape::NearNormal, Kind::Autocorrelated),
    law("normal block effects", Quantity::ResponseP50, 0.02, Shape::NearNormal, Kind::Starts),
    law("Pareto 3, both", Quantity::ResponseMean, 0.02, Shape::HeavyTail, Kind::Pareto(3.0)),
    law("Pareto 2.1, both", Quantity::ResponseMean, 0.05, Shape::HeavyTail, Kind::Pareto(2.1)),
    law("Pareto 3 beside lognormal", Quantity::ResponseMean, 0.02, Shape::HeavyTail, Kind::ParetoBeside(3.0)),
    law(
        "Pareto 2.1 beside lognormal",
        Quantity::ResponseMean,
        0.05,
        Shape::HeavyTail,
        Kind::ParetoBeside(2.1),
    ),
    law("stalls, 100 ms in every 2 s", Quantity::ResponseMean, 0.01, Shape::HeavyTail, Kind::Stalls),
];

impl Law {
    pub fn seed(&self) -> u64 {
        self.name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }

    /// The true ln(variant / baseline).
    ///
    /// For bimodal requests and stalls it follows from the means: Σ share × time, and (work + stall)/work.
    /// For the others it holds by construction: the variant has the baseline's law, scaled by the cost (or
    /// another law of that mean).
    pub fn truth(&self, truth: Truth) -> f64 {
        match (truth, self.kind) {
            (Truth::Same, _) => 0.0,
            (_, Kind::Bimodal) => {
                let [baseline, variant] = MISSES.map(|share| 1.0 + share * (MISS_FACTOR - 1.0));
                (variant / baseline).ln()
            }
            (_, Kind::Stalls) => ((WORK_NANOS + STALL_NANOS) / WORK_NANOS).ln(),
            _ => COST.ln_1p(),
        }
    }

    /// One block: a trial of the baseline and one of the variant.
    pub fn block(&self, draws: &mut Draws, block: u32, truth: Truth) -> Vec<TrialRecord> {
        let host = HOST_BLOCK * draws.normal();
        let starts = if self.kind == Kind::Starts { 0.02 } else { 0.002 };
        let own = [starts * draws.normal(), starts * draws.normal()];
        let mut trials = [trial(block, 0), trial(block, 1)];
        let mut states = [0, 1].map(|variant| State::new(self, draws, variant, truth));
        for round in 0..self.rounds() {
            let host = host + HOST_ROUND * draws.normal();
            for position in 0..2 {
                let variant = ((round + position) % 2) as usize;
                let scale = (host + own[variant]).exp();
                let figures = states[variant].window(draws, scale);
                push(&mut trials[variant], (round, position), figures);
            }
        }
        trials.into()
    }

    fn rounds(&self) -> u32 {
        if self.kind == Kind::Stalls { STALL_ROUNDS } else { ROUNDS }
    }
}

/// One variant's life in a block.
struct State {
    kind: Kind,
    variant: usize,
    /// As a factor.
    cost: f64,
    truth: Truth,
    /// The disturbance of the last window, or the work left until the next stall.
    memory: f64,
    times: Vec<u64>,
}

struct Sums {
    ok: u64,
    sum: u64,
    p50: u64,
    p90: u64,
    max: u64,
}

impl State {
    fn new(law: &Law, draws: &mut Draws, variant: usize, truth: Truth) -> Self {
        let memory = match law.kind {
            Kind::Autocorrelated => CORRELATED_SPREAD * draws.normal(),
            Kind::Stalls => WORK_NANOS * draws.uniform(),
            _ => 0.0,
        };
        let cost = if variant == 1 { law.truth(truth).exp() } else { 1.0 };
        Self { kind: law.kind, variant, cost, truth, memory, times: Vec::with_capacity(REQUESTS) }
    }

    /// A window on a host that is slower by `scale`.
    fn window(&mut self, draws: &mut Draws, scale: f64) -> Sums {
        let middle = BASE_NANOS * scale;
        match self.kind {
            Kind::Lognormal | Kind::Starts => self.requests(|| middle * draws.lognormal(), self.cost),
            Kind::Autocorrelated => {
                let fresh = CORRELATED_SPREAD * (1.0 - CORRELATION * CORRELATION).sqrt() * draws.normal();
                self.memory = CORRELATION * self.memory + fresh;
                let middle = middle * self.memory.exp();
                self.requests(|| middle * draws.lognormal(), self.cost)
            }
            Kind::Bimodal => {
                let misses = if self.truth == Truth::Cost { MISSES[self.variant] } else { MISSES[0] };
                let slow = |u: f64| if u < misses { MISS_FACTOR } else { 1.0 };
                self.requests(|| middle * slow(draws.uniform()) * draws.lognormal(), 1.0)
            }
            Kind::Pareto(exponent) => self.requests(|| middle * draws.pareto(exponent), self.cost),
            Kind::ParetoBeside(exponent) if self.variant == 1 || self.truth == Truth::Same => {
                self.requests(|| middle * draws.pareto(exponent), self.cost)
            }
            // Of mean 1, like the Pareto distribution of the other variant.
            Kind::ParetoBeside(_) => {
                let unit = (-0.5 * REQUEST_SPREAD * REQUEST_SPREAD).exp();
                self.requests(|| middle * unit * draws.lognormal(), 1.0)
            }
            Kind::Stalls => self.stalling(draws, scale),
        }
    }

    fn requests(&mut self, mut draw: impl FnMut() -> f64, cost: f64) -> Sums {
        self.times.clear();
        self.times.extend((0..REQUESTS).map(|_| (cost * draw()).round().max(1.0) as u64));
        let rank =
            |times: &mut [u64], percent: usize| *times.select_nth_unstable(REQUESTS * percent / 100 - 1).1;
        Sums {
            ok: REQUESTS as u64,
            sum: self.times.iter().sum(),
            p50: rank(&mut self.times, 50),
            p90: rank(&mut self.times, 90),
            max: self.times.iter().copied().max().unwrap_or(1),
        }
    }

    /// A window of 20 ms of work; the variant stops for 100 ms after each 1.9 s of work.
    fn stalling(&mut self, draws: &mut Draws, scale: f64) -> Sums {
        let each = 150_000.0 * (1.0 + 0.02 * draws.normal());
        let work = each * STALL_REQUESTS as f64;
        let mut stalled = 0.0;
        if self.variant == 1 && self.truth == Truth::Cost {
            self.memory -= work;
            while self.memory < 0.0 {
                self.memory += WORK_NANOS;
                stalled += STALL_NANOS;
            }
        }
        // The host slows stalls too; otherwise the truth would not be a ratio.
        let nanos = |time: f64| (scale * time).round().max(1.0) as u64;
        Sums {
            ok: STALL_REQUESTS,
            sum: nanos(work + stalled),
            p50: nanos(each),
            p90: nanos(each),
            max: nanos(each + stalled),
        }
    }
}

fn trial(block: u32, variant: u16) -> TrialRecord {
    TrialRecord {
        block,
        variant: VariantId(variant),
        // The laws' quantities come from windows alone; histograms of thousands of trials would only take
        // time.
        tallies: Vec::new(),
        ..Default::default()
    }
}

fn push(trial: &mut TrialRecord, (round, position): (u32, u32), sums: Sums) {
    let nanos = Nanoseconds::from_nanos;
    let started = trial.windows.last().map_or(Timestamp::from_nanos(1), |last| last.figures.ended);
    let all = OperationFigures {
        operation: OperationId(0),
        ok: sums.ok,
        response_sum: nanos(sums.sum),
        service_sum: nanos(sums.sum),
        response_p50: nanos(sums.p50),
        service_p50: nanos(sums.p50),
        response_p90: nanos(sums.p90),
        service_p90: nanos(sums.p90),
        response_max: nanos(sums.max),
    };
    trial.windows.push(WindowRecord {
        kind: WindowKind::Measured,
        block: trial.block,
        round,
        position,
        variant: trial.variant,
        figures: WindowFigures {
            started,
            ended: started + nanos(sums.sum),
            offered: sums.ok,
            requests: sums.ok,
            all: Some(all),
            ..Default::default()
        },
        ..Default::default()
    });
}

pub struct Draws {
    random: ChaCha8Rng,
    spare: Option<f64>,
}

impl Draws {
    pub fn new(random: ChaCha8Rng) -> Self {
        Self { random, spare: None }
    }

    /// Uniform over [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.random.random()
    }

    /// Standard normal, by the polar method (Marsaglia & Bray 1964).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        loop {
            let (u, v) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = u * u + v * v;
            if square > 0.0 && square < 1.0 {
                let factor = (-2.0 * square.ln() / square).sqrt();
                self.spare = Some(v * factor);
                return u * factor;
            }
        }
    }

    /// Median 1.
    fn lognormal(&mut self) -> f64 {
        (REQUEST_SPREAD * self.normal()).exp()
    }

    /// A Pareto distribution of mean 1: P(X > x) = (least/x)^a with least = (a − 1)/a.
    fn pareto(&mut self, exponent: f64) -> f64 {
        (exponent - 1.0) / exponent * (1.0 - self.uniform()).powf(-1.0 / exponent)
    }
}
