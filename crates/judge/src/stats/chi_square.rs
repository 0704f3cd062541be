//! The chi-square distribution, and the interval of a standard deviation.
//!
//! The interval of a deviation holds for normal values. Unlike that of a mean, it does not become valid for
//! other values as their number grows.

use super::special::{first_beyond, ln_gamma, lower_gamma_series, upper_gamma_fraction};

/// P(X ≤ `x`) with `degrees` degrees of freedom: the regularised incomplete gamma function P(ν/2, x/2)
/// (Abramowitz & Stegun 26.4.19), by its series below ν/2 + 1 and one minus the continued fraction above
/// (Numerical Recipes §6.2).
pub fn cdf(x: f64, degrees: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let (a, x) = (0.5 * degrees, 0.5 * x);
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 { front * lower_gamma_series(a, x) } else { 1.0 - front * upper_gamma_fraction(a, x) }
}

/// By bisection; 0 and infinite at the ends.
pub fn quantile(p: f64, degrees: f64) -> f64 {
    match p {
        p if p <= 0.0 => 0.0,
        p if p >= 1.0 => f64::INFINITY,
        p => first_beyond(|x| cdf(x, degrees) > p),
    }
}

/// The interval of a standard deviation, from the `deviation` of a sample with `degrees` degrees of freedom:
/// s·√(ν/χ²) at the upper and the lower quantile (e.g. NIST/SEMATECH e-Handbook §7.2.3.1). Assumes normal
/// values.
pub fn deviation_interval(deviation: f64, degrees: f64, level: f64) -> (f64, f64) {
    let tail = 0.5 * (1.0 - level);
    let bound = |p: f64| deviation * (degrees / quantile(p, degrees)).sqrt();
    (bound(1.0 - tail), bound(tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_published_table() {
        // NIST/SEMATECH e-Handbook §1.3.6.7.4, three decimals.
        for (p, degrees, wanted) in [
            (0.95, 1.0, 3.841),
            (0.975, 1.0, 5.024),
            (0.975, 5.0, 12.833),
            (0.025, 5.0, 0.831),
            (0.95, 10.0, 18.307),
            (0.05, 10.0, 3.940),
            (0.975, 29.0, 45.722),
            (0.025, 29.0, 16.047),
            (0.99, 100.0, 135.807),
            (0.01, 100.0, 70.065),
        ] {
            let got = quantile(p, degrees);
            assert!((got - wanted).abs() < 5.1e-4, "χ²({p}; {degrees}) = {got}, table {wanted}");
        }
    }

    #[test]
    fn two_degrees_are_an_exponential_law_and_one_a_squared_normal() {
        for x in [0.01_f64, 0.5, 1.9, 2.1, 4.0, 30.0] {
            assert!((cdf(x, 2.0) - (1.0 - (-0.5 * x).exp())).abs() < 1e-13, "{x}");
            let normal = crate::stats::special::normal_upper_tail(x.sqrt());
            assert!((cdf(x, 1.0) - (1.0 - 2.0 * normal)).abs() < 1e-12, "{x}");
            // ν = 4: 1 − e^(−x/2)(1 + x/2).
            assert!((cdf(x, 4.0) - (1.0 - (-0.5 * x).exp() * (1.0 + 0.5 * x))).abs() < 1e-13, "{x}");
        }
        assert_eq!((cdf(0.0, 3.0), quantile(0.0, 3.0), quantile(1.0, 3.0)), (0.0, 0.0, f64::INFINITY));
    }

    #[test]
    fn the_quantile_inverts_the_distribution() {
        for degrees in [1.0, 2.5, 7.0, 60.0, 900.0] {
            for p in [1e-4, 0.025, 0.5, 0.8, 0.975, 0.9999] {
                assert!((cdf(quantile(p, degrees), degrees) - p).abs() < 1e-12, "{p} {degrees}");
            }
        }
    }

    #[test]
    fn the_interval_of_a_deviation_is_the_textbooks() {
        // Ten values with s = 1 have σ in [0.6878, 1.8256]: √(9/19.0228) and √(9/2.70039).
        let (lower, upper) = deviation_interval(1.0, 9.0, 0.95);
        assert!((lower - 0.687_83).abs() < 1e-4 && (upper - 1.825_62).abs() < 1e-4, "{lower} {upper}");
    }
}
