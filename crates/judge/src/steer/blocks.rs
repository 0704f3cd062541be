//! When to stop, and how long a block measures.

use weighbridge_model::estimate::ContrastKind;
use weighbridge_model::quantity::{Nanoseconds, Ratio};

use crate::question::Blocks;
use crate::stats::interval::Stein;
use crate::thresholds::{LEVEL, MEASURED_LEAST, ROUNDS_LEAST};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockRule {
    /// Fewest (the first stage) and most blocks.
    pub blocks: Blocks,
    /// Wanted half-width of the headline's ratio, relative to the ratio, or of its difference where shares are compared.
    /// With `None` the fewest blocks run, and rounds fill the budget.
    pub until: Option<Ratio>,
    /// How the headline is compared.
    pub contrast: ContrastKind,
    pub budget: Budget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// From the first start on, everything included (`budget` of an experiment).
    Whole(Nanoseconds),
    /// Rounds only (`-d` of `weigh load`).
    Measured(Nanoseconds),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockHistory<'a> {
    /// Blocks that count.
    pub used: u32,
    pub void: u32,
    /// What is compared of the headline in each block (log-ratios, or differences of shares), one list for each variant and point, ascending by block.
    pub compared: &'a [Vec<f64>],
    /// Starts, checks and warm-ups of all blocks begun so far.
    pub overhead: Nanoseconds,
    /// Blocks begun so far, including void ones and one that has just warmed up.
    pub begun: u32,
    /// Rounds of all blocks so far, with their switches.
    pub measured: Nanoseconds,
    /// One round at every point, if known.
    pub round: Option<Nanoseconds>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockStep {
    Run { of: u32 },
    Stop(Stop),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Enough,
    /// The most blocks allowed are run, and the goal would take more.
    Most {
        needed: u32,
    },
    /// The budget has no time for another block, and the plan asks for more.
    Budget {
        needed: u32,
    },
    /// As many blocks are void as a run needs at least.
    Void,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wanted {
    run: u32,
    needed: u32,
}

impl BlockRule {
    /// One block without a goal, of an experiment of which nothing is estimated.
    pub const fn once(budget: Nanoseconds) -> Self {
        let blocks = Blocks { min: 1, max: 1 };
        Self { blocks, until: None, contrast: ContrastKind::Log, budget: Budget::Whole(budget) }
    }

    /// The time of each of so many points in a block, if the budget is divided evenly among the fewest blocks.
    pub fn share(&self, points: usize) -> Nanoseconds {
        let (Budget::Whole(budget) | Budget::Measured(budget)) = self.budget;
        budget / (u64::from(self.blocks.min.max(1)) * points.max(1) as u64)
    }

    /// The next step, asked before each block.
    ///
    /// The fewest blocks are run whatever the budget. After that, with a goal, the first stage alone fixes n
    /// = ⌈(t(min−1)·s/ln(1+until))²⌉ (of shares: /until) of the widest headline, clipped to [min, max]; without one, n is the
    /// fewest.
    pub fn next(&self, history: &BlockHistory<'_>) -> BlockStep {
        let planned = self.planned(history);
        if history.void >= self.blocks.min && history.void > history.used {
            return BlockStep::Stop(Stop::Void);
        }
        if history.used < self.blocks.min {
            return BlockStep::Run { of: planned };
        }
        let wanted = self.wanted(history);
        if history.used >= wanted.run {
            let cut = wanted.needed > history.used;
            return BlockStep::Stop(if cut { Stop::Most { needed: wanted.needed } } else { Stop::Enough });
        }
        if !self.holds_another(history) {
            return BlockStep::Stop(Stop::Budget { needed: wanted.needed });
        }
        BlockStep::Run { of: wanted.run }
    }

    /// The measured time of the block that has just warmed up: (budget − starts and warm-ups) / blocks still
    /// planned. Starts and warm-ups of the blocks to come are set aside at the average of those so far.
    ///
    /// With a goal, blocks are as long as if every affordable block were run, in both stages: Stein's rule
    /// assumes the same spread for all blocks, and a goal met early saves time.
    pub fn measured_time(&self, history: &BlockHistory<'_>) -> Nanoseconds {
        let left = u64::from(self.planned(history).saturating_sub(history.used).max(1));
        match self.budget {
            Budget::Measured(time) => time.saturating_sub(history.measured) / left,
            Budget::Whole(time) => {
                let to_come = overhead_per_block(history) * (left - 1);
                let rest = time.saturating_sub(history.overhead + history.measured).saturating_sub(to_come);
                // Long warm-ups make a run exceed its budget, rather than make its measurements too short to
                // use.
                let least = time.as_secs_f64() * MEASURED_LEAST / f64::from(self.planned(history).max(1));
                (rest / left).max(Nanoseconds::from_secs_f64(least))
            }
        }
    }

    /// Blocks among which the budget is divided.
    fn planned(&self, history: &BlockHistory<'_>) -> u32 {
        let Blocks { min, max } = self.blocks;
        let most = max.max(min);
        match (self.until, self.budget) {
            (None, _) => min,
            (Some(_), Budget::Measured(_)) => most,
            (Some(_), Budget::Whole(time)) => {
                let least =
                    overhead_per_block(history) + history.round.unwrap_or_default() * u64::from(ROUNDS_LEAST);
                let affordable = time.as_nanos().checked_div(least.as_nanos()).unwrap_or(u64::MAX);
                affordable.clamp(u64::from(min), u64::from(most)) as u32
            }
        }
    }

    fn wanted(&self, history: &BlockHistory<'_>) -> Wanted {
        let Blocks { min, max } = self.blocks;
        let Some(until) = self.until else { return Wanted { run: min, needed: min } };
        let goal = match self.contrast {
            ContrastKind::Log => until.get().ln_1p(),
            ContrastKind::Plain => until.get(),
        };
        let rule = Stein { first: min as usize, most: max as usize, goal, level: LEVEL };
        let asked = history.compared.iter().filter_map(|logs| rule.blocks(logs));
        asked.fold(Wanted { run: min, needed: min }, |widest, blocks| Wanted {
            run: widest.run.max(blocks.run as u32),
            needed: widest.needed.max(u32::try_from(blocks.needed).unwrap_or(u32::MAX)),
        })
    }

    /// Whether the budget has time for another block as long as those so far.
    fn holds_another(&self, history: &BlockHistory<'_>) -> bool {
        let measured = history.measured / u64::from(history.begun.max(1));
        match self.budget {
            Budget::Measured(time) => history.measured + measured <= time,
            Budget::Whole(time) => {
                history.overhead + history.measured + overhead_per_block(history) + measured <= time
            }
        }
    }
}

fn overhead_per_block(history: &BlockHistory<'_>) -> Nanoseconds {
    history.overhead / u64::from(history.begun.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: BlockRule = BlockRule {
        blocks: Blocks { min: 6, max: 30 },
        until: Some(Ratio::new(0.01)),
        contrast: ContrastKind::Log,
        budget: Budget::Whole(Nanoseconds::from_secs(600)),
    };

    /// Log-ratios with a first-stage deviation of `s`: three at +d, three at −d, s = d·√(6/5).
    fn first_stage(s: f64) -> Vec<f64> {
        let d = s / (6.0_f64 / 5.0).sqrt();
        vec![d, -d, d, -d, d, -d]
    }

    fn history(used: u32, compared: &[Vec<f64>]) -> BlockHistory<'_> {
        BlockHistory {
            used,
            void: 0,
            compared,
            overhead: Nanoseconds::from_secs(2) * u64::from(used),
            begun: used,
            measured: Nanoseconds::from_secs(10) * u64::from(used),
            round: Some(Nanoseconds::from_millis(60)),
        }
    }

    #[test]
    fn the_first_stage_is_always_run_even_over_budget() {
        let rule = BlockRule { budget: Budget::Whole(Nanoseconds::from_secs(1)), ..RULE };
        for used in 0..6 {
            let logs = [first_stage(0.01)[..used as usize].to_vec()];
            assert!(matches!(rule.next(&history(used, &logs)), BlockStep::Run { .. }), "{used}");
        }
        assert!(matches!(rule.next(&history(6, &[first_stage(0.05)])), BlockStep::Stop(Stop::Budget { .. })));
    }

    #[test]
    fn the_widest_headline_fixes_the_number_of_blocks() {
        // s = 0.01: (2.5706·0.01/ln 1.01)² = 6.67, so 7; s = 0.02 takes 26.7, so 27.
        let logs = [first_stage(0.01), first_stage(0.02)];
        assert_eq!(RULE.next(&history(6, &logs[..1])), BlockStep::Run { of: 7 });
        assert_eq!(RULE.next(&history(6, &logs)), BlockStep::Run { of: 27 });
        let mut more = logs.to_vec();
        more.iter_mut().for_each(|logs| logs.extend([1.0; 20]));
        assert_eq!(RULE.next(&history(26, &more)), BlockStep::Run { of: 27 }, "later blocks do not move n");
        assert_eq!(RULE.next(&history(27, &more)), BlockStep::Stop(Stop::Enough));
    }

    #[test]
    fn a_goal_out_of_reach_is_reported() {
        // s = 0.04: 106.8 blocks.
        assert_eq!(
            RULE.next(&history(30, &[first_stage(0.04)])),
            BlockStep::Stop(Stop::Most { needed: 107 })
        );
        let short = BlockRule { budget: Budget::Whole(Nanoseconds::from_secs(100)), ..RULE };
        assert_eq!(
            short.next(&history(8, &[first_stage(0.02)])),
            BlockStep::Stop(Stop::Budget { needed: 27 })
        );
    }

    #[test]
    fn without_a_goal_the_fewest_blocks_share_the_budget() {
        let rule = BlockRule { until: None, ..RULE };
        // Six blocks of 2 s overhead in 600 s: (600 − 12)/6 = 98 s each, also for the last.
        let first = BlockHistory { overhead: Nanoseconds::from_secs(2), begun: 1, ..history(0, &[]) };
        assert_eq!(rule.measured_time(&first), Nanoseconds::from_secs(98));
        let last = BlockHistory {
            overhead: Nanoseconds::from_secs(12),
            begun: 6,
            measured: Nanoseconds::from_secs(490),
            ..history(5, &[])
        };
        assert_eq!(rule.measured_time(&last), Nanoseconds::from_secs(98));
        assert_eq!(rule.next(&history(6, &[])), BlockStep::Stop(Stop::Enough));
    }

    #[test]
    fn with_a_goal_blocks_are_as_long_as_if_all_were_run() {
        let first = BlockHistory { overhead: Nanoseconds::from_secs(2), begun: 1, ..history(0, &[]) };
        assert_eq!(RULE.measured_time(&first), Nanoseconds::from_secs(18));
        assert_eq!(RULE.next(&first), BlockStep::Run { of: 30 });
        // If the time allows fewer than 30 blocks, those that fit with ten rounds each share it.
        let slow = BlockHistory { overhead: Nanoseconds::from_secs(60), ..first };
        assert_eq!(RULE.next(&slow), BlockStep::Run { of: 9 });
    }

    #[test]
    fn a_duration_of_measured_time_leaves_starts_out() {
        let rule = BlockRule { until: None, budget: Budget::Measured(Nanoseconds::from_secs(12)), ..RULE };
        let first = BlockHistory { overhead: Nanoseconds::from_secs(100), begun: 1, ..history(0, &[]) };
        assert_eq!(rule.measured_time(&first), Nanoseconds::from_secs(2));
    }

    #[test]
    fn a_run_whose_blocks_are_all_void_ends() {
        let void = BlockHistory { void: 6, begun: 6, ..history(0, &[]) };
        assert_eq!(RULE.next(&void), BlockStep::Stop(Stop::Void));
    }
}
