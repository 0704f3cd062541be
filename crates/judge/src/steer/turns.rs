//! The window length from which a variant that is frozen before each window answers as it does without a
//! break.

use weighbridge_model::pairing::TurnEffect;
use weighbridge_model::quantity::{Nanoseconds, Ratio};

use crate::stats::sample::median;
use crate::thresholds::{TURN_ERRORS, TURN_LONG, TURN_LONGER, TURN_LONGEST, TURN_WINDOWS};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnRule {
    /// The length unless an effect is seen.
    pub nominal: Nanoseconds,
    /// The longest of which ten rounds fit into a block.
    pub longest: Nanoseconds,
    pub margin: Ratio,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStep {
    /// Compare every variant's windows of this length, each after a freeze, with the later ones of its
    /// warm-up.
    Glance(Nanoseconds),
    /// Compare them with later windows of the same turn, which follow without a break.
    Compare(Nanoseconds),
    Windows(Nanoseconds),
    None,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// With windows of the same turn instead of the warm-up.
    pub closely: bool,
    pub effects: Vec<TurnEffect>,
}

impl TurnRule {
    /// First a quick comparison at the nominal length; if it finds an effect, a close one (the host may have
    /// changed since the warm-up); then each longer length, until no variant's windows differ by more than
    /// the margin and two standard errors.
    pub fn next(&self, history: &[Compared]) -> TurnStep {
        if let Some(last) = history.last()
            && last.effects.iter().all(|effect| self.is_within(effect))
        {
            let window = last.effects.first().map_or(self.nominal, |effect| effect.window);
            return TurnStep::Windows(window);
        }
        let Some(tried) = history.len().checked_sub(1) else { return TurnStep::Glance(self.nominal) };
        match self.lengths().nth(tried) {
            Some(length) => TurnStep::Compare(length),
            None => TurnStep::None,
        }
    }

    fn lengths(&self) -> impl Iterator<Item = Nanoseconds> {
        let longer = [TURN_LONGER, TURN_LONG, TURN_LONGEST]
            .into_iter()
            .filter(|length| *length > self.nominal && *length <= self.longest);
        std::iter::once(self.nominal).chain(longer)
    }

    /// Whether a variant's windows differ by no more than the margin, allowing for the error.
    pub fn is_within(&self, effect: &TurnEffect) -> bool {
        effect.change.abs() <= self.margin.get().ln_1p() + TURN_ERRORS * effect.error
    }
}

/// The effect of a freeze on windows of a length, from the logarithms of p50 after a freeze less those
/// without a break; `None` if there are too few.
///
/// The error is that of a median of normal values whose deviation comes from their median absolute deviation,
/// which is too small in such small samples (Croux and Rousseeuw, COMPSTAT 1992).
pub fn turn_effect(window: Nanoseconds, changes: &[f64]) -> Option<TurnEffect> {
    if changes.len() < TURN_WINDOWS.min(3) {
        return None;
    }
    let change = median(changes)?;
    let distances: Vec<f64> = changes.iter().map(|each| (each - change).abs()).collect();
    let count = changes.len() as f64;
    let small = match changes.len() {
        3 => 1.495,
        4 => 1.363,
        5 => 1.206,
        _ => count / (count - 0.8),
    };
    let error = 1.2533 * 1.4826 * small * median(&distances)? / count.sqrt();
    Some(TurnEffect { window, change, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(count: u64) -> Nanoseconds {
        Nanoseconds::from_millis(count)
    }

    const RULE: TurnRule =
        TurnRule { nominal: millis(20), longest: Nanoseconds::from_secs(2), margin: Ratio::new(0.02) };

    /// Follows the rule for a variant whose windows of a length differ by `law(length)`.
    fn follow(rule: TurnRule, law: impl Fn(Nanoseconds) -> f64) -> (TurnStep, usize) {
        let mut history = Vec::new();
        loop {
            let (window, closely) = match rule.next(&history) {
                TurnStep::Glance(window) => (window, false),
                TurnStep::Compare(window) => (window, true),
                end => return (end, history.len()),
            };
            let effects = [0.0, law(window)].map(|change| TurnEffect { window, change, error: 0.002 });
            history.push(Compared { closely, effects: effects.to_vec() });
        }
    }

    #[test]
    fn a_service_without_an_effect_is_compared_once() {
        assert_eq!(follow(RULE, |_| 0.01), (TurnStep::Windows(millis(20)), 1));
    }

    #[test]
    fn the_shortest_length_within_the_margin_is_taken() {
        // 5 ms after a freeze are lost: 25 % of 20 ms, 5 % of 100 ms, 1 % of 500 ms.
        let law = |window: Nanoseconds| 0.005 / window.as_secs_f64();
        assert_eq!(follow(RULE, law), (TurnStep::Windows(millis(500)), 4));
        let wide = TurnRule { margin: Ratio::new(0.05), ..RULE };
        assert_eq!(follow(wide, law), (TurnStep::Windows(millis(100)), 3));
    }

    #[test]
    fn no_length_that_fits_into_a_block_may_do() {
        let law = |window: Nanoseconds| -0.005 / window.as_secs_f64();
        assert_eq!(follow(TurnRule { longest: millis(400), ..RULE }, law), (TurnStep::None, 3));
        assert_eq!(follow(RULE, |_| 0.3), (TurnStep::None, 5));
        // A longer nominal length is not shortened.
        let long = TurnRule { nominal: millis(100), ..RULE };
        assert_eq!(follow(long, law), (TurnStep::Windows(millis(500)), 3));
    }

    #[test]
    fn a_host_that_changed_since_the_warm_up_is_not_taken_for_an_effect() {
        let far = TurnEffect { window: millis(20), change: 0.5, error: 0.001 };
        let near = TurnEffect { change: 0.001, ..far };
        let history = [
            Compared { closely: false, effects: vec![far] },
            Compared { closely: true, effects: vec![near] },
        ];
        assert_eq!(RULE.next(&history[..1]), TurnStep::Compare(millis(20)));
        assert_eq!(RULE.next(&history), TurnStep::Windows(millis(20)));
    }

    #[test]
    fn noise_is_allowed_for() {
        let effect = |change, error| TurnEffect { window: millis(20), change, error };
        assert!(RULE.is_within(&effect(0.035, 0.01)) && !RULE.is_within(&effect(0.045, 0.01)));
        let effect = turn_effect(millis(20), &[0.1, 0.12, 0.11, 0.9, 0.09]).expect("five");
        // The distances are 0.01, 0.01, 0, 0.79 and 0.02: their median is 0.01.
        assert!((effect.change - 0.11).abs() < 1e-12);
        assert!((effect.error - 1.2533 * 1.206 * 0.014826 / 5.0_f64.sqrt()).abs() < 1e-9);
        assert_eq!(turn_effect(millis(20), &[0.1, 0.2]), None);
    }
}
