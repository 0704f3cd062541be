//! How many rounds a block has.

use weighbridge_model::quantity::Nanoseconds;

use crate::thresholds::ROUNDS_LEAST;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundRule {
    /// The block's measured time over its points.
    pub time: Nanoseconds,
    /// With two variants, rounds come in pairs AB, BA.
    pub variants: usize,
    /// Windows of one passage through the load's profile, at least 1: every part of it is measured equally
    /// often.
    pub passage: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoundHistory {
    pub rounds: u32,
    /// Time they took, switches and lead-ins included.
    pub spent: Nanoseconds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoundStep {
    Round { of: u32 },
    Done,
}

impl RoundRule {
    /// Rounds until the time is filled (to the nearest round): at least 10, whole passages through the load's
    /// profile, and an even number with two variants, so that each runs first equally often.
    pub fn next(&self, history: RoundHistory) -> RoundStep {
        let expected = self.expected(history);
        if history.rounds < expected { RoundStep::Round { of: expected } } else { RoundStep::Done }
    }

    /// How many rounds there are if one takes about `each`.
    pub fn fitting(&self, each: Nanoseconds) -> u32 {
        self.expected(RoundHistory { rounds: 1, spent: each })
    }

    fn expected(&self, history: RoundHistory) -> u32 {
        let each = history.spent.as_nanos() as f64 / f64::from(history.rounds.max(1));
        let fit = if each > 0.0 { (self.time.as_nanos() as f64 / each).round() } else { 0.0 };
        let passage = self.passage.max(1);
        let even = if self.variants == 2 && passage % 2 == 1 { 2 } else { 1 };
        (fit as u32).max(ROUNDS_LEAST).next_multiple_of(passage * even)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(rule: RoundRule, each: Nanoseconds) -> u32 {
        let mut history = RoundHistory::default();
        while let RoundStep::Round { .. } = rule.next(history) {
            history = RoundHistory { rounds: history.rounds + 1, spent: history.spent + each };
        }
        history.rounds
    }

    #[test]
    fn rounds_fill_the_time() {
        let rule = RoundRule { time: Nanoseconds::from_secs(2), variants: 3, passage: 1 };
        assert_eq!(follow(rule, Nanoseconds::from_millis(62)), 32);
    }

    #[test]
    fn there_are_at_least_ten_rounds() {
        let rule = RoundRule { time: Nanoseconds::ZERO, variants: 3, passage: 1 };
        assert_eq!(follow(rule, Nanoseconds::from_secs(4)), 10);
    }

    #[test]
    fn a_profile_is_passed_through_whole() {
        let rounds = |passage, variants| {
            let rule = RoundRule { time: Nanoseconds::from_secs(2), variants, passage };
            follow(rule, Nanoseconds::from_millis(62))
        };
        // 32 rounds fill the time.
        assert_eq!((rounds(4, 3), rounds(7, 3), rounds(7, 2), rounds(50, 3)), (32, 35, 42, 50));
    }

    #[test]
    fn two_variants_have_as_many_rounds_of_either_order() {
        let rule = RoundRule { time: Nanoseconds::from_millis(1300), variants: 2, passage: 1 };
        assert_eq!(follow(rule, Nanoseconds::from_millis(100)), 14);
    }
}
