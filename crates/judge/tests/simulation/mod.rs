//! Simulated runs whose truth is known, judged by the judge's own code: [`VariantSamples::against`] makes
//! block estimates of windows, [`Contrast`] intervals, [`BlockRule`] stops, [`thin_tail`] flags. Only the
//! requests are simulated.

#![allow(dead_code)] // the fast form and the long one use their own parts

pub mod laws;

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use weighbridge_judge::checks::tail::thin_tail;
use weighbridge_judge::estimate::{BlockEstimate, Contrast, Estimand, VariantSamples};
use weighbridge_judge::question::Scope;
use weighbridge_judge::records::{Records, WindowSelection};
use weighbridge_judge::stats::bootstrap::{bca, studentised};
use weighbridge_judge::stats::interval::Interval;
use weighbridge_judge::steer::{BlockHistory, BlockRule, BlockStep, Budget};
use weighbridge_judge::thresholds::{BLOCKS_FOR_BOOTSTRAP, LEVEL};
use weighbridge_judge::verdict::conclude;
use weighbridge_judge::{Blocks, Question};
use weighbridge_model::estimate::{ContrastKind, Verdict};
use weighbridge_model::id::{PointId, VariantId};
use weighbridge_model::quantity::{Nanoseconds, Ratio};
use weighbridge_model::record::TrialRecord;

use crate::common;
use laws::{Draws, Law, Truth};

pub const AT: [usize; 3] = [6, 10, 30];

/// The product's default plan.
pub const PLAN: Blocks = Blocks { min: 6, max: 30 };

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    pub hits: u32,
    pub of: u32,
}

/// Results of the simulated runs of one law.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Student's interval holds the truth, by number of blocks.
    pub covered: BTreeMap<usize, Share>,
    /// The same for the bootstrap-t interval, from 10 blocks on.
    pub studentised: BTreeMap<usize, Share>,
    /// The same for the BCa interval, from 10 blocks on.
    pub bca: BTreeMap<usize, Share>,
    /// Sum of the bootstrap-t's widths over Student's, by number of blocks.
    pub wider: BTreeMap<usize, f64>,
    /// The interval after the stopping rule holds the truth.
    pub stopped: Share,
    /// Blocks that the stopping rule ran, summed.
    pub blocks: u64,
    /// 0 lies outside the headline's interval: at 6 blocks, and after the stopping rule.
    pub excludes_zero: [Share; 2],
    /// `higher` or `lower` with the default margin: at 6 blocks, and after the stopping rule.
    pub verdicts: [Share; 2],
    /// The variant is flagged for few tail events, in runs of 6 blocks.
    pub flagged: Share,
}

impl Share {
    pub fn count(&mut self, hit: bool) {
        self.hits += u32::from(hit);
        self.of += 1;
    }

    pub fn get(self) -> f64 {
        f64::from(self.hits) / f64::from(self.of.max(1))
    }

    fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.of += other.of;
    }
}

impl Outcome {
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.covered, &other.covered),
            (&mut self.studentised, &other.studentised),
            (&mut self.bca, &other.bca),
        ] {
            theirs.iter().for_each(|(blocks, share)| mine.entry(*blocks).or_default().add(*share));
        }
        other.wider.iter().for_each(|(blocks, sum)| *self.wider.entry(*blocks).or_default() += sum);
        self.stopped.add(other.stopped);
        self.blocks += other.blocks;
        self.flagged.add(other.flagged);
        for at in 0..2 {
            self.excludes_zero[at].add(other.excludes_zero[at]);
            self.verdicts[at].add(other.verdicts[at]);
        }
    }
}

/// What to compute for each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Most blocks; 30 for every number of [`AT`].
    pub blocks: usize,
    pub bootstrap: Bootstrap,
    /// One of this many runs is checked for the flag.
    pub flag_every: u64,
}

/// Bootstrap intervals take most of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bootstrap {
    Computed,
    LeftOut,
}

/// Simulates the runs of `numbers`, each with a seed of its own, so that the outcome does not depend on the
/// division among threads.
pub fn simulate(law: &Law, truth: Truth, numbers: std::ops::Range<u64>, look: Look) -> Outcome {
    let mut outcome = Outcome::default();
    for number in numbers {
        let seed = law.seed() ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut draws = Draws::new(ChaCha8Rng::seed_from_u64(seed));
        let mut run = SimulatedRun { law, truth, blocks: Vec::new(), trials: Vec::new() };
        let keep = number % look.flag_every == 0;
        run.extend(&mut draws, look.blocks.max(PLAN.min as usize), keep);
        run.look(&mut outcome, look);
        run.stop(&mut draws, &mut outcome);
        if keep {
            outcome.flagged.count(run.is_flagged());
        }
    }
    outcome
}

struct SimulatedRun<'a> {
    law: &'a Law,
    truth: Truth,
    blocks: Vec<BlockEstimate>,
    /// Trials of the first six blocks, if they are kept.
    trials: Vec<TrialRecord>,
}

impl SimulatedRun<'_> {
    fn extend(&mut self, draws: &mut Draws, to: usize, keep: bool) {
        while self.blocks.len() < to {
            let block = self.blocks.len() as u32;
            let trials = self.law.block(draws, block, self.truth);
            self.blocks.push(estimate(self.law, &trials));
            if keep && block < PLAN.min {
                self.trials.extend(trials);
            }
        }
    }

    fn look(&self, outcome: &mut Outcome, look: Look) {
        let truth = self.law.truth(self.truth);
        for at in AT.into_iter().filter(|at| *at <= self.blocks.len()) {
            let contrast = Contrast::new(self.blocks[..at].to_vec(), at);
            let interval = contrast.mean().expect("six blocks").interval(LEVEL);
            outcome.covered.entry(at).or_default().count(interval.contains(truth));
            if at == PLAN.min as usize {
                note(outcome, 0, &contrast);
            }
            if look.bootstrap == Bootstrap::LeftOut || at < BLOCKS_FOR_BOOTSTRAP {
                continue;
            }
            let logs = contrast.compared();
            // A missing bootstrap interval is a miss.
            let holds = |found: Option<Interval>| found.is_some_and(|interval| interval.contains(truth));
            let by_t = studentised(&logs, LEVEL);
            let wider = by_t.map_or(1.0, |found| found.half_width() / interval.half_width());
            *outcome.wider.entry(at).or_default() += wider;
            outcome.studentised.entry(at).or_default().count(holds(by_t));
            outcome.bca.entry(at).or_default().count(holds(bca(&logs, LEVEL)));
        }
    }

    /// Follows the stopping rule through the run, measuring further blocks as required.
    fn stop(&mut self, draws: &mut Draws, outcome: &mut Outcome) {
        let budget = Budget::Whole(Nanoseconds::from_secs(1_000_000));
        let rule = BlockRule {
            blocks: PLAN,
            until: Some(Ratio::new(self.law.until)),
            contrast: ContrastKind::Log,
            budget,
        };
        let mut used = 0;
        loop {
            let compared = [self.blocks[..used].iter().map(|block| block.compared).collect()];
            let second = Nanoseconds::from_secs(1) * used as u64;
            let history = BlockHistory {
                used: used as u32,
                void: 0,
                compared: &compared,
                overhead: second,
                begun: used as u32,
                measured: second,
                round: None,
            };
            match rule.next(&history) {
                BlockStep::Run { .. } => used += 1,
                BlockStep::Stop(_) => break,
            }
            self.extend(draws, used, false);
        }
        let contrast = Contrast::new(self.blocks[..used].to_vec(), PLAN.min as usize);
        let interval = contrast.mean().expect("six blocks").interval(LEVEL);
        outcome.stopped.count(interval.contains(self.law.truth(self.truth)));
        outcome.blocks += used as u64;
        note(outcome, 1, &contrast);
    }

    fn is_flagged(&self) -> bool {
        let question = question(self.law);
        let records = Records::new(&self.trials);
        (0..2).map(VariantId).any(|variant| {
            let estimand = Estimand { point: PointId(0), variant, scope: Scope::Only };
            let samples = VariantSamples::new(&question, &records, estimand, WindowSelection::Measured);
            thin_tail(&samples, self.law.quantity).is_some()
        })
    }
}

fn note(outcome: &mut Outcome, at: usize, contrast: &Contrast) {
    let (lower, upper) = contrast.ratio().unwrap().interval().expect("six blocks");
    outcome.excludes_zero[at].count(lower > 1.0 || upper < 1.0);
    let verdict = conclude(contrast, laws::HEADLINE, Ratio::new(0.02)).verdict;
    outcome.verdicts[at].count(matches!(verdict, Verdict::Higher | Verdict::Lower));
}

pub fn estimate(law: &Law, trials: &[TrialRecord]) -> BlockEstimate {
    let (question, records) = (question(law), Records::new(trials));
    let samples = |id| {
        let estimand = Estimand { point: PointId(0), variant: VariantId(id), scope: Scope::Only };
        VariantSamples::new(&question, &records, estimand, WindowSelection::Measured)
    };
    let contrast = samples(1).against(&samples(0), law.quantity).expect("both variants were measured");
    contrast.blocks()[0]
}

pub fn question(law: &Law) -> Question {
    Question {
        headline: law.quantity,
        until: Some(Ratio::new(law.until)),
        blocks: PLAN,
        sizes: Vec::new(),
        ..common::question(&["a", "b"])
    }
}
