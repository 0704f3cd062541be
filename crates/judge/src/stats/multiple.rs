//! p values of one comparison, and Holm's correction over a table of them.
//!
//! The caller decides which rows form a table.

use super::interval::Mean;
use super::student::{two_sided_p, upper_tail};

/// Two-sided p of "the true mean is 0": P(|T| > |x̄|/se). Without spread (se = 0) it is 1 for a mean of
/// exactly 0, and 0 for any other. What the mean's allowance may explain says nothing, nor
/// what lies within the least half-width.
pub fn p_against_zero(mean: Mean) -> f64 {
    let distance = (mean.point.abs() - mean.allowance).max(0.0);
    match (mean.error == 0.0, distance == 0.0) {
        _ if distance < mean.least => 1.0,
        (true, true) => 1.0,
        (true, false) => 0.0,
        _ => two_sided_p(distance / mean.error, mean.degrees),
    }
}

/// p of the two one-sided tests that the true mean lies within [`lower`, `upper`] (TOST, Schuirmann 1987):
/// the larger of P(T > (x̄−lower)/se) and P(T > (upper−x̄)/se).
///
/// p ≤ α exactly if the 1−2α interval lies within the margins, so 2p is on the scale of a two-sided test:
/// `2p ≤ 0.05` means that the 95 % interval lies inside.
pub fn p_equivalence(mean: Mean, lower: f64, upper: f64) -> f64 {
    let one_side = |distance: f64| match (mean.error == 0.0, distance >= 0.0) {
        _ if mean.least > 0.0 && distance < mean.least => 1.0,
        (true, true) => 0.0,
        (true, false) => 1.0,
        _ => upper_tail(distance / mean.error, mean.degrees),
    };
    one_side(mean.point - lower - mean.allowance).max(one_side(upper - mean.point - mean.allowance))
}

/// Holm's step-down procedure (Holm 1979): adjusts p values so that "adjusted ≤ α" rejects with a family-wise
/// error of at most α, however the tests depend on each other.
///
/// With the p values ascending, adjusted(i) = max over j ≤ i of min(1, (k−j+1)·p(j)). The result has the
/// order of the input.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        largest = largest.max(((p_values.len() - rank) as f64 * p_values[at]).min(1.0));
        adjusted[at] = largest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::student::two_sided_quantile;

    #[test]
    fn holm_matches_the_worked_example() {
        // The worked example of the Holm-Bonferroni article (Wikipedia): p = 0.01 0.04 0.03 0.005 at α =
        // 0.05; H4 and H1 are rejected, H3 and H2 are not. Adjusted (R's p.adjust): 0.03 0.06 0.06 0.02.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, wanted) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - wanted).abs() < 1e-15, "{adjusted:?}");
        }
    }

    #[test]
    fn holm_of_one_is_the_p_value_itself_and_never_exceeds_one() {
        assert_eq!(holm(&[0.04]), vec![0.04]);
        assert_eq!(holm(&[0.9, 0.8]), vec![1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    #[test]
    fn p_against_zero_is_the_interval_turned_round() {
        let mean = Mean {
            point: two_sided_quantile(0.95, 5.0),
            error: 1.0,
            degrees: 5.0,
            allowance: 0.0,
            least: 0.0,
        };
        assert!((p_against_zero(mean) - 0.05).abs() < 1e-12);
        assert_eq!(
            p_against_zero(Mean { point: 0.0, error: 0.0, degrees: 5.0, allowance: 0.0, least: 0.0 }),
            1.0
        );
        assert_eq!(
            p_against_zero(Mean { point: 0.1, error: 0.0, degrees: 5.0, allowance: 0.0, least: 0.0 }),
            0.0
        );
    }

    #[test]
    fn twice_the_equivalence_p_is_at_most_alpha_exactly_where_the_interval_lies_inside() {
        let t = two_sided_quantile(0.95, 5.0);
        for (point, inside) in [(0.0, true), (0.999, true), (1.001, false), (-0.999, true), (-1.001, false)] {
            // Half-width 1, margins ±2: the interval touches a margin at point ±1.
            let mean = Mean { point, error: 1.0 / t, degrees: 5.0, allowance: 0.0, least: 0.0 };
            assert_eq!(2.0 * p_equivalence(mean, -2.0, 2.0) <= 0.05, inside, "{point}");
        }
        let exact = Mean { point: 0.01, error: 0.0, degrees: 5.0, allowance: 0.0, least: 0.0 };
        assert_eq!(p_equivalence(exact, -0.02, 0.02), 0.0);
        assert_eq!(p_equivalence(exact, -0.02, 0.005), 1.0);
    }

    #[test]
    fn what_an_allowance_or_the_least_half_width_may_explain_says_nothing() {
        let t = two_sided_quantile(0.95, 5.0);
        for (allowance, least) in [(0.0, 0.0), (0.3, 0.0), (2.0, 0.0), (0.0, 0.5), (0.0, 2.0), (0.3, 1.2)] {
            for point in [0.1, 0.9, 1.1, 1.29, 1.31, 1.45, 2.2, 2.3, 2.8, 3.5, 3.9] {
                let mean = Mean { point, error: 1.0 / t, degrees: 5.0, allowance, least };
                let interval = mean.interval(0.95);
                assert_eq!(p_against_zero(mean) <= 0.05, interval.lower > 0.0, "{mean:?}");
                let inside = interval.lower >= -5.0 && interval.upper <= 5.0;
                assert_eq!(2.0 * p_equivalence(mean, -5.0, 5.0) <= 0.05, inside, "{mean:?}");
            }
        }
        // Without spread, the least half-width alone decides.
        let exact = |point| Mean { point, error: 0.0, degrees: 5.0, allowance: 0.0, least: 0.5 };
        assert_eq!([0.0, 0.4, 0.6].map(|point| p_against_zero(exact(point))), [1.0, 1.0, 0.0]);
        assert_eq!([0.0, 0.4, 0.6].map(|point| p_equivalence(exact(point), -1.0, 1.0)), [0.0, 0.0, 1.0]);
    }
}
