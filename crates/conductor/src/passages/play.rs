//! Passages one after another in one process, as DaCapo plays them: all but the last warm it up.

use weighbridge_model::event::TimedEvent;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::RequestRecord;

use super::Player;
use crate::block::BlockError;
use crate::block::passages::{Passage, PassageLimits, PassagesEnd};
use crate::options::Options;
use crate::prepare::checked::Checked;
use crate::run::RunError;

/// A passage of hours is a mistake.
const LONGEST: Nanoseconds = Nanoseconds::from_secs(3600);

/// When passages take alike: DaCapo's rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Convergence {
    /// Of so many passages, the last ones, …
    pub window: usize,
    /// … the coefficient of variation of their times is at most this, in parts of 1.
    pub variation: f64,
}

impl Convergence {
    /// DaCapo's: 3 % over 3.
    pub const DACAPO: Self = Self { window: 3, variation: 0.03 };

    /// The standard deviation (of the population) over the mean of the last times; `None` before there are so many.
    pub fn variation_of(&self, times: &[Nanoseconds]) -> Option<f64> {
        let last: Vec<f64> =
            times[times.len().checked_sub(self.window)?..].iter().map(|time| time.as_secs_f64()).collect();
        let mean = last.iter().sum::<f64>() / last.len() as f64;
        let variance = last.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / last.len() as f64;
        Some(variance.sqrt() / mean)
    }

    pub fn is_reached(&self, times: &[Nanoseconds]) -> bool {
        self.variation_of(times).is_some_and(|variation| variation <= self.variation)
    }
}

/// How many passages are played before the one that counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmUps {
    Exactly(u32),
    /// Until they converge, at most so many.
    Until(Convergence, u32),
}

impl WarmUps {
    /// Whether the next passage counts, after warm-ups of these times.
    pub fn are_over(&self, times: &[Nanoseconds]) -> bool {
        match self {
            Self::Exactly(number) => times.len() as u32 >= *number,
            Self::Until(convergence, _) => convergence.is_reached(times),
        }
    }

    /// Whether no further warm-up may be tried, though they are not over.
    fn are_in_vain(&self, times: &[Nanoseconds]) -> bool {
        matches!(self, Self::Until(_, most) if times.len() as u32 >= *most && !self.are_over(times))
    }
}

/// A passage that was played.
#[derive(Debug)]
pub enum Played {
    /// A warm-up; whether the next one counts, or there is none.
    WarmUp { took: Nanoseconds, next: Option<PassageKind> },
    /// The one that counts, with each of its requests; none of a service that plays it in its own process.
    Counted { took: Nanoseconds, requests: Vec<RequestRecord> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassageKind {
    WarmUp,
    Counted,
}

#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// A reply or the end state is wrong, or the service is gone.
    #[error("{0}")]
    Failed(String),
    #[error(
        "{tried} passages did not converge: over the last {window} the coefficient of variation is {:.1} %, wanted is \
         {:.0} %; quiet the machine, or ask for a number of passages",
        100.0 * found, 100.0 * wanted
    )]
    NotConverged { tried: u32, window: usize, found: f64, wanted: f64 },
    #[error("the clock jumped, or this process was stopped, during a passage; play again")]
    Disturbed,
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Plays with the only variant of an experiment, at its first point. `ended` is told of every passage.
///
/// # Errors
///
/// [`PlayError`]: a reply or the end state is wrong, the variant cannot be started, or passages do not converge.
pub fn play(
    checked: Checked,
    options: &Options,
    warm_ups: WarmUps,
    sink: &mut dyn FnMut(&TimedEvent),
    ended: &mut dyn FnMut(Played),
) -> Result<(), PlayError> {
    let player = Player::open(checked, options, sink)?;
    let (mut times, mut counts) = (Vec::new(), warm_ups.are_over(&[]));
    let mut each = |Passage { took, requests }: Passage| {
        if counts {
            ended(Played::Counted { took, requests });
            return false;
        }
        times.push(took);
        counts = warm_ups.are_over(&times);
        let next = if counts { PassageKind::Counted } else { PassageKind::WarmUp };
        let next = (!warm_ups.are_in_vain(&times)).then_some(next);
        ended(Played::WarmUp { took, next });
        next.is_some()
    };
    let outcome = player.carry_out(0, |_| {}, PassageLimits { longest: LONGEST, each: &mut each });
    let outcome = match (outcome, warm_ups) {
        (Err(BlockError::Interrupted), _) => Err(RunError::InterruptedEarly.into()),
        (Err(error), _) => Err(PlayError::Failed(player.without_secrets(&error))),
        (Ok(PassagesEnd::Disturbed), _) => Err(PlayError::Disturbed),
        (Ok(PassagesEnd::Whole), WarmUps::Until(Convergence { window, variation }, most)) if !counts => {
            let found = Convergence { window, variation }.variation_of(&times).unwrap_or_default();
            Err(PlayError::NotConverged { tried: most, window, found, wanted: variation })
        }
        (Ok(PassagesEnd::Whole), _) => Ok(()),
    };
    player.close(sink)?;
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(millis: &[u64]) -> Vec<Nanoseconds> {
        millis.iter().map(|&time| Nanoseconds::from_millis(time)).collect()
    }

    /// 100, 104, 96: mean 100, variance (0 + 16 + 16) / 3, its root 3.266.
    #[test]
    fn variation_is_of_the_last_three() {
        let rule = Convergence::DACAPO;
        assert_eq!(rule.variation_of(&times(&[100, 104])), None);
        let found = rule.variation_of(&times(&[900, 100, 104, 96])).expect("three");
        assert!((found - 0.032_66).abs() < 1e-5, "{found}");
        assert!(!rule.is_reached(&times(&[100, 104, 96])));
        assert!(rule.is_reached(&times(&[900, 100, 103, 97])));
    }

    #[test]
    fn warm_ups_are_a_number_or_converge_or_are_in_vain() {
        let two = WarmUps::Exactly(2);
        assert!(
            WarmUps::Exactly(0).are_over(&[]) && !two.are_over(&times(&[9])) && two.are_over(&times(&[9, 1]))
        );
        assert!(!two.are_in_vain(&times(&[9])));
        let converging = WarmUps::Until(Convergence::DACAPO, 4);
        let apart = times(&[900, 500, 300, 200]);
        assert!(!converging.are_in_vain(&apart[..3]) && converging.are_in_vain(&apart));
        let alike = times(&[900, 100, 100, 100]);
        assert!(converging.are_over(&alike) && !converging.are_in_vain(&alike));
    }
}
