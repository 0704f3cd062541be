//! Which sizes a block asks for besides those of the range, where these are adaptive.
//!
//! The first blocks that count are *scouts*: their single requests say where a curve may step or bend, and
//! every block after them asks for further sizes there, others in each block. What the scouts say is said
//! once, so the other blocks have no part in choosing what they are asked, and can confirm what is found.

use weighbridge_model::experiment::SizeSpread;
use weighbridge_model::id::PointId;
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::TrialRecord;

use crate::stats::cliffs::{Suspect, suspects};
use crate::stats::scatter::{Observation, Scatter};

/// Blocks that ask for the range alone, and decide.
pub const SCOUTS: usize = 2;

/// The range of a point.
#[derive(Debug, Clone, Copy)]
pub struct SizeRule {
    /// Sizes over the range, and the share of further ones.
    pub spread: SizeSpread,
}

/// What was measured before a block.
#[derive(Debug, Clone, Copy)]
pub struct SizeHistory<'a> {
    /// The point that is asked about.
    pub point: PointId,
    /// The block to come.
    pub block: u32,
    /// Trials of all variants in all blocks before; those of void blocks are passed over.
    pub trials: &'a [TrialRecord],
}

/// What follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SizeStep {
    /// The range alone: nothing bends, it is not known yet, or nobody asked.
    Range,
    /// These sizes besides, ascending, each once.
    Extra(Vec<Bytes>),
}

impl SizeRule {
    /// Sizes for the block to come, the same for every variant.
    pub fn next(&self, history: &SizeHistory<'_>) -> SizeStep {
        if self.spread.adaptive <= 0.0 {
            return SizeStep::Range;
        }
        let stretches = self.stretches(history);
        if stretches.is_empty() {
            return SizeStep::Range;
        }
        let whole = |size: f64| Bytes::new(size.round() as u64);
        let stretches: Vec<_> = stretches.iter().map(|s| (whole(s.from), whole(s.to))).collect();
        SizeStep::Extra(self.spread.extra(&stretches, history.block))
    }

    /// Where the scouts saw any variant's curve step or bend; those that overlap are one.
    fn stretches(&self, history: &SizeHistory<'_>) -> Vec<Suspect> {
        let counts = |trial: &&TrialRecord| trial.void.is_none() && trial.block < history.block;
        let trials: Vec<&TrialRecord> = history.trials.iter().filter(counts).collect();
        let mut blocks: Vec<u32> = trials.iter().map(|trial| trial.block).collect();
        blocks.sort_unstable();
        blocks.dedup();
        let Some(scouts) = blocks.get(..SCOUTS) else { return Vec::new() };
        let mut variants: Vec<_> = trials.iter().map(|trial| trial.variant).collect();
        variants.sort_unstable();
        variants.dedup();
        let scatter = |variant| {
            let those = trials.iter().filter(|t| t.variant == variant && scouts.contains(&t.block));
            let samples = those.flat_map(|trial| trial.samples.iter().map(|sample| (trial.block, sample)));
            let good = samples.filter(|(_, sample)| sample.point == history.point && sample.is_good());
            suspects(&Scatter::new(good.map(|(block, sample)| Observation {
                block,
                size: sample.size.get() as f64,
                time: sample.service().as_nanos() as f64,
            })))
        };
        merged(variants.into_iter().flat_map(scatter).collect())
    }
}

/// Stretches that overlap as one, rising.
fn merged(mut stretches: Vec<Suspect>) -> Vec<Suspect> {
    stretches.sort_by(|a, b| a.from.total_cmp(&b.from));
    let mut apart: Vec<Suspect> = Vec::new();
    for stretch in stretches {
        match apart.last_mut().filter(|last| stretch.from <= last.to) {
            Some(last) => last.to = last.to.max(stretch.to),
            None => apart.push(stretch),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspect(from: f64, to: f64) -> Suspect {
        Suspect { from, to }
    }

    #[test]
    fn stretches_that_overlap_are_one() {
        let all = vec![suspect(50.0, 60.0), suspect(10.0, 20.0), suspect(15.0, 30.0), suspect(12.0, 14.0)];
        assert_eq!(merged(all), [suspect(10.0, 30.0), suspect(50.0, 60.0)]);
        assert_eq!(merged(Vec::new()), []);
    }
}
