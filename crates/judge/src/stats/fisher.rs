//! Fisher's F distribution: the ratio of two independent mean squares.

use super::special::{first_beyond, incomplete_beta};

/// P(F ≤ `f`) with `over` and `under` degrees of freedom: I_{ν₁f/(ν₁f+ν₂)}(ν₁/2, ν₂/2) (Abramowitz & Stegun
/// 26.6.2).
pub fn cdf(f: f64, over: f64, under: f64) -> f64 {
    if f <= 0.0 {
        return 0.0;
    }
    if f.is_infinite() {
        return 1.0;
    }
    incomplete_beta(0.5 * over, 0.5 * under, over * f / (over * f + under))
}

/// P(F > `f`), computed directly: one minus a large probability would lose digits.
pub fn upper_tail(f: f64, over: f64, under: f64) -> f64 {
    if f <= 0.0 {
        return 1.0;
    }
    if f.is_infinite() {
        return 0.0;
    }
    incomplete_beta(0.5 * under, 0.5 * over, under / (over * f + under))
}

/// The f with P(F ≤ f) = `p`, for 0 < p < 1, by bisection to the last bit; 0 and infinite at the ends.
pub fn quantile(p: f64, over: f64, under: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    let beyond =
        |f: f64| if p < 0.5 { cdf(f, over, under) > p } else { upper_tail(f, over, under) < 1.0 - p };
    first_beyond(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_published_table() {
        // Upper 5 % and 2.5 % points as printed in every table (e.g. NIST/SEMATECH e-Handbook §1.3.6.7.3).
        for (p, over, under, wanted) in [
            (0.95, 1.0, 1.0, 161.4476),
            (0.95, 3.0, 12.0, 3.4903),
            (0.95, 5.0, 10.0, 3.3258),
            (0.95, 10.0, 30.0, 2.1646),
            (0.975, 3.0, 12.0, 4.4742),
            (0.975, 12.0, 3.0, 14.3366),
            (0.99, 5.0, 10.0, 5.6363),
        ] {
            let got = quantile(p, over, under);
            assert!((got / wanted - 1.0).abs() < 2e-5, "F({p}; {over}, {under}) = {got}, table {wanted}");
        }
    }

    #[test]
    fn one_degree_over_is_the_square_of_students_t() {
        for under in [1.0, 5.0, 29.0, 500.0] {
            for level in [0.5, 0.9, 0.95, 0.999] {
                let t = crate::stats::student::two_sided_quantile(level, under);
                assert!((quantile(level, 1.0, under) / (t * t) - 1.0).abs() < 1e-9, "{level} {under}");
            }
        }
    }

    #[test]
    fn tails_and_reciprocals_agree() {
        for (over, under) in [(2.0, 7.0), (5.0, 54.0), (29.0, 270.0)] {
            for p in [0.001, 0.025, 0.5, 0.9, 0.999] {
                let f = quantile(p, over, under);
                assert!((cdf(f, over, under) + upper_tail(f, over, under) - 1.0).abs() < 1e-12);
                assert!((cdf(f, over, under) - p).abs() < 1e-12);
                assert!((quantile(1.0 - p, under, over) * f - 1.0).abs() < 1e-9);
            }
        }
        assert_eq!((cdf(-1.0, 2.0, 2.0), upper_tail(f64::INFINITY, 2.0, 2.0)), (0.0, 0.0));
    }
}
