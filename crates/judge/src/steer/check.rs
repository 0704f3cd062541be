//! Which longer windows a block runs to see whether costs depend on the window's length.

use weighbridge_model::quantity::Nanoseconds;

use crate::thresholds::{CHECK_LONGER, CHECK_LONGER_LEAST, CHECK_LONGEST, CHECK_SHARE, CHECK_SHORTER};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckRule {
    /// A measured round as it took, switches included.
    pub round: Nanoseconds,
    pub windows: u64,
    /// Time that the block's measured rounds took at this point.
    pub measured: Nanoseconds,
    /// From 0; a check that is too expensive for every block runs in some.
    pub block: u32,
}

impl CheckRule {
    /// The factors by which check windows are longer, with at most one round of each: 10 and 100, as far as a
    /// window stays within 2 s, and all within a tenth of the measured time, on average over blocks.
    pub fn factors(&self) -> Vec<u64> {
        let window = (self.round.as_nanos() / self.windows.max(1)).max(1);
        let fit = CHECK_LONGEST.as_nanos() / window;
        let mut allowed = self.measured.as_secs_f64() * CHECK_SHARE;
        let mut chosen = Vec::new();
        for (factor, least) in [(CHECK_SHORTER, CHECK_SHORTER), (CHECK_LONGER, CHECK_LONGER_LEAST)] {
            let factor = factor.min(fit);
            if factor < least {
                continue;
            }
            let cost = (self.round * factor).as_secs_f64();
            let turns = (cost / allowed.max(1e-9)).ceil().max(1.0) as u64;
            if u64::from(self.block) % turns == turns - 1 {
                chosen.push(factor);
            }
            allowed = (allowed - cost / turns as f64).max(0.0);
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(round_ms: u64, measured_s: u64, block: u32) -> Vec<u64> {
        let round = Nanoseconds::from_millis(round_ms);
        CheckRule { round, windows: 2, measured: Nanoseconds::from_secs(measured_s), block }.factors()
    }

    #[test]
    fn a_long_block_checks_both_lengths_and_no_window_exceeds_2_s() {
        // Windows of 22 ms: a hundredfold one would take 2.2 s, so it is ninetyfold.
        assert_eq!(rule(44, 60, 0), [10, 90]);
    }

    #[test]
    fn a_short_block_takes_turns() {
        // A tenth of 6 s holds one tenfold round of 440 ms; a ninetyfold one of 4 s comes every 25th block.
        assert_eq!(rule(44, 6, 0), [10]);
        let hundredfold = (0..100).filter(|block| rule(44, 6, *block).contains(&90)).count();
        assert_eq!(hundredfold, 4);
    }

    #[test]
    fn long_windows_are_not_made_longer() {
        assert!(rule(2_000, 60, 0).is_empty(), "ten times 1 s is too long");
        assert_eq!(
            rule(200, 600, 0),
            [10],
            "a hundredfold window of 100 ms cannot be above 32-fold within 2 s"
        );
    }

    #[test]
    fn the_time_for_checks_stays_within_a_tenth() {
        for (round_ms, measured_s) in [(44, 6), (44, 20), (60, 3), (10, 1)] {
            let spent: u64 =
                (0..200).flat_map(|block| rule(round_ms, measured_s, block)).map(|f| f * round_ms).sum();
            assert!(spent <= measured_s * 1_000 * 200 / 10, "{spent} ms");
        }
    }
}
