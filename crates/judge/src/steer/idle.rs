//! How many rounds of a block run with idle cores waiting the other way.

use weighbridge_model::quantity::Nanoseconds;

use crate::thresholds::{CHECKED_BLOCKS, IDLE_CHECK_ROUNDS, IDLE_CHECK_SHARE};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdleCheckRule {
    /// A measured round as it took, switches included.
    pub round: Nanoseconds,
    /// Time that the block's measured rounds took at this point.
    pub measured: Nanoseconds,
    /// From 0; a check that is too expensive for every block runs in some.
    pub block: u32,
    pub blocks: u32,
}

impl IdleCheckRule {
    /// An even number of rounds, so that two variants come first equally often, within a tenth of the
    /// measured time on average over blocks. It is 0 in a block without a check, and in a run in which too
    /// few blocks could have one for a conclusion.
    pub fn rounds(&self) -> u32 {
        let allowed = self.measured.as_secs_f64() * IDLE_CHECK_SHARE;
        let fit = allowed / self.round.as_secs_f64().max(1e-9);
        let turns = (f64::from(IDLE_CHECK_ROUNDS) / fit.max(1e-9)).ceil().max(1.0) as u64;
        if turns.saturating_mul(CHECKED_BLOCKS as u64) > u64::from(self.blocks) {
            return 0;
        }
        if turns == 1 {
            return (fit as u32) / 2 * 2;
        }
        if u64::from(self.block) % turns == turns - 1 { IDLE_CHECK_ROUNDS } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(round_ms: u64, measured_ms: u64, block: u32) -> u32 {
        rounds_in_block(12, round_ms, measured_ms, block)
    }

    fn rounds_in_block(blocks: u32, round_ms: u64, measured_ms: u64, block: u32) -> u32 {
        let [round, measured] = [round_ms, measured_ms].map(Nanoseconds::from_millis);
        IdleCheckRule { round, measured, block, blocks }.rounds()
    }

    #[test]
    fn a_run_of_which_too_few_blocks_could_check_checks_nothing() {
        // Every fourth block: only two of eleven.
        assert_eq!(rounds_in_block(12, 100, 1_000, 3), 4);
        assert_eq!(rounds_in_block(11, 100, 1_000, 3), 0);
        assert_eq!((rounds_in_block(3, 44, 4_400, 0), rounds_in_block(2, 44, 4_400, 0)), (10, 0));
    }

    #[test]
    fn a_tenth_of_the_time_goes_to_the_check() {
        assert_eq!(rounds(44, 4_400, 0), 10);
        assert_eq!(rounds(44, 5_000, 3), 10, "an even number");
    }

    #[test]
    fn a_short_block_checks_with_the_fewest_rounds_now_and_then() {
        // Ten rounds: a tenth is one of them, so every fourth block runs four.
        let run: Vec<_> = (0..8).map(|block| rounds(100, 1_000, block)).collect();
        assert_eq!(run, [0, 0, 0, 4, 0, 0, 0, 4]);
    }

    #[test]
    fn what_took_no_time_is_checked_seldom_and_does_not_divide_by_nothing() {
        assert_eq!(rounds(0, 0, 0), 0);
    }
}
