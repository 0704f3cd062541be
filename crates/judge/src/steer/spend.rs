//! How to divide time into blocks and rounds, according to where the variance is.
//!
//! This is advice for the *next* run. Within a run Stein's interval is exact only if every block measures as
//! many rounds as those of the first stage, so no running plan is changed.

use weighbridge_model::quantity::Nanoseconds;

use crate::question::Blocks;
use crate::stats::student::two_sided_quantile;
use crate::thresholds::{ADVICE_GAIN, LEVEL, ROUNDS_LEAST};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendRule {
    pub blocks: Blocks,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpendHistory {
    /// Variance of the cost from start to start; 0 or below if none was found.
    pub start: f64,
    /// Variance of the cost of one round.
    pub round: f64,
    pub blocks: u32,
    /// Rounds of a block, on average.
    pub rounds: f64,
    /// Starts, checks and warm-ups of one block.
    pub overhead: Nanoseconds,
    /// One round, switches and lead-ins included.
    pub each: Nanoseconds,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SpendStep {
    Divide {
        blocks: u32,
        rounds: u32,
        /// Expected half-width of the log-ratio's interval as run.
        now: f64,
        /// Expected half-width as advised.
        then: f64,
    },
    /// No division narrows the interval by a tenth.
    Keep,
}

impl SpendRule {
    /// n blocks of J rounds take n·(overhead + J·each), and their interval has the half-width
    /// t(n−1)·√((σ²_start + σ²_round/J)/n). Of all n that the plan allows, each with the J that fills the
    /// same time (at least the fewest rounds of a block), the narrowest is chosen. Without the factor t and
    /// the limits, this is the J of Kalibera & Jones (2013): [`crate::stats::components::best_inner`].
    pub fn next(&self, history: &SpendHistory) -> SpendStep {
        let Blocks { min, max } = self.blocks;
        let rounds = |blocks: u32| {
            let left = history.time() / f64::from(blocks) - history.overhead.as_secs_f64();
            // Rounding must not exclude a division that just fits.
            let fit = (left / history.each.as_secs_f64() + 1e-6).floor();
            (fit >= f64::from(ROUNDS_LEAST)).then_some(fit)
        };
        let divided = (min.max(2)..=max.max(min)).filter_map(|blocks| {
            let rounds = rounds(blocks)?;
            Some((blocks, rounds, history.half_width(blocks, rounds)))
        });
        let Some((blocks, rounds, then)) = divided.min_by(|a, b| a.2.total_cmp(&b.2)) else {
            return SpendStep::Keep;
        };
        let now = history.half_width(history.blocks, history.rounds);
        match then < now * (1.0 - ADVICE_GAIN) {
            true => SpendStep::Divide { blocks, rounds: rounds as u32, now, then },
            false => SpendStep::Keep,
        }
    }
}

impl SpendHistory {
    fn time(&self) -> f64 {
        f64::from(self.blocks) * (self.overhead.as_secs_f64() + self.rounds * self.each.as_secs_f64())
    }

    fn half_width(&self, blocks: u32, rounds: f64) -> f64 {
        let variance = self.start.max(0.0) + self.round / rounds;
        let degrees = f64::from(blocks) - 1.0;
        two_sided_quantile(LEVEL, degrees) * (variance / f64::from(blocks)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::components::best_inner;

    const RULE: SpendRule = SpendRule { blocks: Blocks { min: 6, max: 30 } };

    /// Six blocks of 480 rounds of 50 ms with 1 s of starts: 150 s.
    fn history(start: f64, round: f64) -> SpendHistory {
        SpendHistory {
            start: start * start,
            round: round * round,
            blocks: 6,
            rounds: 480.0,
            overhead: Nanoseconds::from_secs(1),
            each: Nanoseconds::from_millis(50),
        }
    }

    #[test]
    fn where_starts_vary_more_blocks_are_run() {
        // ±2.571·0.005/√6 = 0.0053; 30 blocks of (150/30 − 1)/0.05 = 80 rounds: ±2.045·0.0051/√30 = 0.0019.
        let SpendStep::Divide { blocks, rounds, now, then } = RULE.next(&history(0.005, 0.01)) else {
            panic!("starts dominate");
        };
        assert_eq!((blocks, rounds), (30, 80));
        assert!((now - 0.005_271).abs() < 2e-5 && (then - 0.001_913).abs() < 2e-5, "{now} {then}");
    }

    #[test]
    fn where_rounds_vary_blocks_are_as_few_as_their_starts_are_dear() {
        // Starts of 60 s in 20 blocks of 10 rounds: nearly all time goes into starts, which do not vary.
        let dear = SpendHistory {
            start: 0.0,
            round: 1e-4,
            blocks: 20,
            rounds: 10.0,
            overhead: Nanoseconds::from_secs(60),
            each: Nanoseconds::from_millis(50),
        };
        let SpendStep::Divide { blocks, rounds, .. } = RULE.next(&dear) else { panic!("rounds dominate") };
        assert_eq!(
            (blocks, rounds),
            (7, 2257),
            "(1210/7 − 60)/0.05 rounds; with 6 the factor t outweighs the start"
        );
    }

    #[test]
    fn a_division_that_is_good_is_kept() {
        let good = SpendHistory { blocks: 30, rounds: 80.0, ..history(0.005, 0.01) };
        assert_eq!(RULE.next(&good), SpendStep::Keep);
        let fixed = SpendRule { blocks: Blocks { min: 6, max: 6 } };
        assert_eq!(fixed.next(&history(0.005, 0.01)), SpendStep::Keep);
    }

    #[test]
    fn with_many_blocks_allowed_the_rounds_are_those_of_the_closed_form() {
        // √((1/0.05)·(0.04²/0.005²)) = 35.8 rounds; an hour leaves some 1,300 blocks, where t no longer
        // matters.
        let long = SpendHistory { blocks: 144, ..history(0.005, 0.04) };
        let rule = SpendRule { blocks: Blocks { min: 6, max: 5_000 } };
        assert!((best_inner(1.0, 0.05, long.round, long.start) - 35.777).abs() < 1e-3);
        let SpendStep::Divide { rounds, .. } = rule.next(&long) else { panic!("480 rounds are too many") };
        assert!((33..=38).contains(&rounds), "{rounds}");
    }

    #[test]
    fn a_block_never_has_fewer_than_ten_rounds() {
        let SpendStep::Divide { rounds, .. } = RULE.next(&SpendHistory {
            rounds: 40.0,
            overhead: Nanoseconds::from_millis(1),
            ..history(0.05, 0.001)
        }) else {
            panic!("starts dominate")
        };
        assert!(rounds >= ROUNDS_LEAST, "{rounds}");
    }
}
