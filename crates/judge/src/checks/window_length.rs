//! The window check: is a cost the same in longer windows?

use weighbridge_model::estimate::{ContrastKind, Quantity};
use weighbridge_model::quantity::Ratio;

use super::{Alarm, CheckContext, Impact};
use crate::estimate::{Contrast, contrast};
use crate::records::{Longer, WindowSelection};
use crate::stats::interval::Mean;
use crate::stats::multiple::p_against_zero;
use crate::stats::sample;
use crate::thresholds::{CHECKED_BLOCKS, LEVEL, WINDOW_CHECK_P};

/// Number of checks of a cost: two lengths, each of the headline and of the mean.
const CHECKS: f64 = 4.0;

/// Whether a variant's headline cost, or that of the mean response time, leaves its interval in windows ten
/// or a hundred times as long.
///
/// If single windows hold no value of the headline (it needs a trial's histograms), only the mean is
/// examined. The mean is examined for a p50 too: slow first requests of a window move the mean, but not
/// always the p50. The blocks' differences must be significant, with Bonferroni's correction for four checks:
/// a check has fewer windows and more noise than the cost. Below three blocks with a check there is no
/// conclusion: a single window of a second is at the mercy of the host.
pub(super) fn depends_on_window(context: &CheckContext<'_>) -> Option<Alarm> {
    let &CheckContext { question, records, .. } = context;
    if context.is_baseline() {
        return None;
    }
    let contrast =
        |selection, quantity| contrast(question, records, context.estimand(), selection, quantity).ok();
    let check = |(longer, quantity): (Longer, Quantity)| {
        let check = contrast(WindowSelection::Check(longer), quantity)?;
        moved(&contrast(WindowSelection::Measured, quantity)?, &check, WINDOW_CHECK_P / CHECKS)
            .map(|change| (longer, quantity, change))
    };
    let lengths = [Longer::Tenfold, Longer::Hundredfold];
    let both = [question.headline, Quantity::ResponseMean].into_iter().filter(|quantity| is_log(*quantity));
    let both = both.flat_map(|quantity| lengths.map(|length| (length, quantity)));
    let (longer, quantity, change) = both.into_iter().find_map(check)?;
    let times = if longer == Longer::Tenfold { "ten" } else { "a hundred" };
    Some(Alarm {
        impact: Impact::HeadlineSuspect,
        name: "depends on window",
        evidence: format!(
            "{quantity} against the baseline changes by {} in windows {times} times as long",
            Ratio::new(change.exp_m1())
        ),
        remedy: "set `window` to a longer time: something in the service is slower than a window",
    })
}

/// A share's difference is no logarithm, and its few tries in a check window say little.
pub(super) fn is_log(quantity: Quantity) -> bool {
    quantity.contrast() == ContrastKind::Log
}

/// By how much the log-ratio moved, if that is beyond the interval and beyond the check's own noise (p below
/// `level`). Each block's check is compared with the same block, because blocks differ by their starts, and
/// only some may have a check.
pub(super) fn moved(measured: &Contrast, check: &Contrast, level: f64) -> Option<f64> {
    let interval = measured.mean()?.interval(LEVEL);
    let measured_in = |block: u32| measured.blocks().iter().find(|b| b.block == block);
    let differences: Vec<f64> =
        check.blocks().iter().filter_map(|b| Some(b.compared - measured_in(b.block)?.compared)).collect();
    let change = sample::mean(&differences)?;
    let differences = Mean::new(&differences).filter(|_| differences.len() >= CHECKED_BLOCKS)?;
    let beyond_noise = p_against_zero(differences) < level;
    (!interval.contains(interval.point + change) && beyond_noise).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::BlockEstimate;

    fn moved(measured: &Contrast, check: &Contrast) -> Option<f64> {
        super::moved(measured, check, WINDOW_CHECK_P / CHECKS)
    }

    fn contrast(logs: &[f64]) -> Contrast {
        let block = |(block, log): (u32, &f64)| BlockEstimate { block, compared: *log, difference: 0.0 };
        Contrast::new((0..).zip(logs).map(block).collect(), 6)
    }

    #[test]
    fn a_shift_beyond_interval_and_noise_has_moved() {
        let measured = contrast(&[0.100, 0.101, 0.099, 0.100, 0.101, 0.099]);
        let check = contrast(&[0.150, 0.148, 0.152, 0.151, 0.149, 0.150]);
        assert!((moved(&measured, &check).unwrap() - 0.05).abs() < 1e-12);
    }

    #[test]
    fn a_noisy_check_beyond_a_narrow_interval_has_not_moved() {
        let measured = contrast(&[0.100, 0.101, 0.099, 0.100, 0.101, 0.099]);
        let check = contrast(&[0.160, 0.050, 0.165, 0.045, 0.158, 0.052]);
        assert_eq!(moved(&measured, &check), None);
    }

    #[test]
    fn a_steady_shift_within_a_wide_interval_has_not_moved() {
        let measured = contrast(&[0.05, 0.15, 0.05, 0.15, 0.05, 0.15]);
        let check = contrast(&[0.061, 0.160, 0.060, 0.159, 0.060, 0.160]);
        assert_eq!(moved(&measured, &check), None);
    }

    #[test]
    fn a_check_of_some_blocks_is_compared_with_the_same_blocks() {
        // Starts on two levels. The checks ran in two blocks on the lower level and agree with these blocks.
        let measured = contrast(&[0.0, 0.001, 0.4, 0.401, 0.4, 0.0]);
        assert_eq!(moved(&measured, &contrast(&[0.001, 0.002])), None);
    }

    #[test]
    fn checks_in_two_blocks_decide_nothing() {
        let measured = contrast(&[0.100, 0.101, 0.099, 0.100, 0.101, 0.099]);
        assert_eq!(moved(&measured, &contrast(&[0.225, 0.226])), None);
        assert!(moved(&measured, &contrast(&[0.225, 0.226, 0.224])).is_some());
    }
}
