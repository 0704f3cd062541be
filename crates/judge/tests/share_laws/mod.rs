//! Simulated runs of two variants whose shares are known, judged by the judge's own code. Only the counts are simulated:
//! of each block and variant a binomial number of hits among so many lookups, with a probability that may differ from
//! block to block.

#![allow(dead_code)] // the fast form and the long one use their own parts

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_judge::estimate::{Estimand, VariantSamples};
use weighbridge_judge::question::Scope;
use weighbridge_judge::records::{Records, WindowSelection};
use weighbridge_judge::thresholds::LEVEL;
use weighbridge_judge::{Blocks, Question};
use weighbridge_model::estimate::{Estimate, Quantity};
use weighbridge_model::id::{OperationId, PointId, VariantId};
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::counts::{Count, Counts};
use weighbridge_model::record::{OperationFigures, TrialRecord, WindowFigures, WindowRecord};

use crate::common::{self, normal};

pub const AT: [usize; 3] = [6, 10, 30];

/// From 0.1 to 99.9 %.
pub const SHARES: [f64; 7] = [0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999];

/// The smallest block: ten rounds of 200 requests.
pub const LOOKUPS: u64 = 2_000;

/// What differs from block to block, as standard deviations of the logit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub name: &'static str,
    /// In common to both variants: pairing removes it.
    host: f64,
    /// Each variant's own start.
    starts: f64,
}

pub const SPREADS: [Spread; 2] =
    [Spread { name: "none", host: 0.0, starts: 0.0 }, Spread { name: "starts", host: 0.2, starts: 0.1 }];

/// The variant's odds over the baseline's.
pub const ODDS: [f64; 2] = [1.0, 1.25];

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law {
    /// The baseline's, where the logit is its mean.
    pub share: f64,
    pub odds: f64,
    pub spread: Spread,
    pub lookups: u64,
}

/// How many intervals held the truth, by number of blocks.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub difference: BTreeMap<usize, Held>,
    /// Of the difference, by Student's interval alone.
    pub student: BTreeMap<usize, Held>,
    /// Of the difference, with the root of both squares for half-width.
    pub root: BTreeMap<usize, Held>,
    /// Of the baseline's own share.
    pub figure: BTreeMap<usize, Held>,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Held {
    pub hits: u32,
    pub of: u32,
    /// Summed half-widths.
    pub widths: f64,
}

impl Held {
    fn count(&mut self, lower: f64, upper: f64, truth: f64) {
        self.hits += u32::from(lower <= truth && truth <= upper);
        self.of += 1;
        self.widths += 0.5 * (upper - lower);
    }

    pub fn get(self) -> f64 {
        f64::from(self.hits) / f64::from(self.of.max(1))
    }

    fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.of += other.of;
        self.widths += other.widths;
    }
}

impl Outcome {
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.difference, &other.difference),
            (&mut self.student, &other.student),
            (&mut self.root, &other.root),
            (&mut self.figure, &other.figure),
        ] {
            theirs.iter().for_each(|(blocks, held)| mine.entry(*blocks).or_default().add(*held));
        }
    }
}

impl Law {
    fn logit(&self, variant: usize) -> f64 {
        (self.share / (1.0 - self.share)).ln() + if variant == 1 { self.odds.ln() } else { 0.0 }
    }

    /// The mean share over blocks: of the inverse logit under a normal law, by Simpson's rule.
    fn mean(&self, variant: usize) -> f64 {
        let deviation = self.spread.host.hypot(self.spread.starts);
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let steps = 400;
        let width = 16.0 / f64::from(steps);
        let at = |step: i32| {
            let z = -8.0 + width * f64::from(step);
            let weight = if step == 0 || step == steps { 1.0 } else { f64::from(2 + 2 * (step % 2)) };
            weight * density(z) * inverse_logit(self.logit(variant) + deviation * z)
        };
        (0..=steps).map(at).sum::<f64>() * width / 3.0
    }

    fn seed(&self, run: u64) -> u64 {
        let parts = [self.share, self.odds, self.spread.starts, self.lookups as f64, run as f64];
        parts.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| {
            (hash ^ part.to_bits()).wrapping_mul(0x0100_0000_01b3).rotate_left(17)
        })
    }
}

fn inverse_logit(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Simulates the runs of `numbers`, each with a seed of its own.
pub fn simulate(law: &Law, numbers: std::ops::Range<u64>) -> Outcome {
    let mut outcome = Outcome::default();
    let (question, truths) = (question(), [law.mean(0), law.mean(1)]);
    for number in numbers {
        let trials = trials(law, &mut ChaCha8Rng::seed_from_u64(law.seed(number)));
        for at in AT {
            let records = Records::new(&trials[..2 * at]);
            let samples = [0, 1].map(|variant| {
                let estimand =
                    Estimand { point: PointId(0), variant: VariantId(variant), scope: Scope::Only };
                VariantSamples::new(&question, &records, estimand, WindowSelection::Measured)
            });
            let contrast = samples[1].against(&samples[0], Quantity::HitRate).expect("both have lookups");
            let mut held = |of: fn(&mut Outcome) -> &mut BTreeMap<usize, Held>, estimate: Estimate, truth| {
                let (lower, upper) = estimate.interval().expect("six blocks");
                of(&mut outcome).entry(at).or_default().count(lower, upper, truth);
            };
            let (truth, difference) = (truths[1] - truths[0], contrast.difference());
            held(|all| &mut all.difference, difference, truth);
            let mean = contrast.mean().expect("six blocks");
            let student = mean.with_least(0.0).interval(LEVEL).half_width();
            let with = |half: f64| {
                let (lower, upper) = (Some(mean.point - half), Some(mean.point + half));
                Estimate { lower, upper, ..difference }
            };
            held(|all| &mut all.student, with(student), truth);
            held(|all| &mut all.root, with(student.hypot(mean.least)), truth);
            let figure = samples[0].figure(Quantity::HitRate).expect("it has lookups");
            held(|all| &mut all.figure, figure, truths[0]);
        }
    }
    outcome
}

fn trials(law: &Law, random: &mut ChaCha8Rng) -> Vec<TrialRecord> {
    let mut trials = Vec::new();
    for block in 0..*AT.last().expect("three numbers") as u32 {
        let host = law.spread.host * normal(random);
        for variant in 0..2 {
            let own = law.spread.starts * normal(random);
            let share = inverse_logit(law.logit(variant) + host + own);
            trials.push(trial(block, variant as u16, binomial(random, law.lookups, share), law.lookups));
        }
    }
    trials
}

pub fn trial(block: u32, variant: u16, hits: u64, lookups: u64) -> TrialRecord {
    let mut counts = Counts::default();
    counts.add(Count::Hits, hits);
    counts.add(Count::CapacityMisses, lookups - hits);
    let time = Nanoseconds::from_micros(100);
    let good = OperationFigures {
        operation: OperationId(0),
        ok: lookups,
        response_sum: time * lookups,
        service_sum: time * lookups,
        response_p50: time,
        service_p50: time,
        response_p90: time,
        service_p90: time,
        response_max: time,
    };
    let figures = WindowFigures {
        ended: Timestamp::from_nanos(0) + time * lookups,
        offered: lookups,
        requests: lookups,
        all: Some(good),
        counts: Some(counts),
        ..Default::default()
    };
    let (variant, window) = (VariantId(variant), WindowRecord { block, figures, ..Default::default() });
    TrialRecord { block, variant, windows: vec![WindowRecord { variant, ..window }], ..Default::default() }
}

pub fn question() -> Question {
    // No second stage: every block's spread counts.
    let blocks = Blocks { min: 30, max: 30 };
    Question {
        headline: Quantity::HitRate,
        blocks,
        sizes: Vec::new(),
        ..common::question(&["baseline", "variant"])
    }
}

/// By the waiting times between rarer outcomes (Devroye 1986, X.4.3).
fn binomial(random: &mut ChaCha8Rng, tries: u64, share: f64) -> u64 {
    if share > 0.5 {
        return tries - binomial(random, tries, 1.0 - share);
    }
    let (mut at, mut hits) = (0.0, 0);
    loop {
        let u: f64 = random.random();
        at += ((1.0 - u).ln() / (-share).ln_1p()).floor() + 1.0;
        if at > tries as f64 {
            return hits;
        }
        hits += 1;
    }
}
