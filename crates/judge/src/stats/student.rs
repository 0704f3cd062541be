//! Student's t distribution: tails, two-sided p values and quantiles.
//!
//! Degrees of freedom are a positive `f64`; infinity gives the normal distribution.

use super::special::{first_beyond, incomplete_beta, normal_upper_tail};

/// Beyond this many degrees of freedom the normal approximation of Abramowitz & Stegun 26.7.8 is exact to
/// 1e-11, and the continued fraction of the beta function would take thousands of steps.
const NEARLY_NORMAL: f64 = 1e6;

/// P(|T| > |t|) with `degrees` degrees of freedom: I_{ν/(ν+t²)}(ν/2, ½) (Abramowitz & Stegun 26.7.1).
///
/// The small probability is computed directly, not as one minus a large one, so far tails keep their digits.
pub fn two_sided_p(t: f64, degrees: f64) -> f64 {
    if t.is_nan() {
        return f64::NAN;
    }
    if t.is_infinite() {
        return 0.0;
    }
    if degrees > NEARLY_NORMAL {
        let z = t.abs() * (1.0 - 0.25 / degrees) / (1.0 + t * t / (2.0 * degrees)).sqrt();
        return 2.0 * normal_upper_tail(z);
    }
    let square = t * t;
    if square <= degrees {
        // Near the centre ν/(ν+t²) is close to 1 and has lost the digits of a small t.
        1.0 - incomplete_beta(0.5, 0.5 * degrees, square / (degrees + square))
    } else {
        incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + square))
    }
}

/// P(T > t).
pub fn upper_tail(t: f64, degrees: f64) -> f64 {
    let half = 0.5 * two_sided_p(t, degrees);
    if t >= 0.0 { half } else { 1.0 - half }
}

/// P(T ≤ t).
pub fn cdf(t: f64, degrees: f64) -> f64 {
    upper_tail(-t, degrees)
}

/// The t with P(T ≤ t) = `p`, for 0 < p < 1; infinite at the ends, not a number outside.
///
/// The tail is monotone, so bisection to the last bit is as exact as the tail (about 1e-13) and cannot
/// diverge. Two hundred evaluations cost nothing compared with a block.
pub fn quantile(p: f64, degrees: f64) -> f64 {
    match p {
        p if !(0.0..=1.0).contains(&p) => f64::NAN,
        p if p < 0.5 => -positive_quantile(2.0 * p, degrees),
        p => positive_quantile(2.0 * (1.0 - p), degrees),
    }
}

/// The t with P(|T| ≤ t) = `level`: the factor of a two-sided interval (2.571 for 0.95 and 5 degrees of
/// freedom).
pub fn two_sided_quantile(level: f64, degrees: f64) -> f64 {
    quantile(0.5 + 0.5 * level, degrees)
}

/// The t ≥ 0 with P(|T| > t) = `p`.
fn positive_quantile(p: f64, degrees: f64) -> f64 {
    if p <= 0.0 {
        return f64::INFINITY;
    }
    if p >= 1.0 {
        return 0.0;
    }
    first_beyond(|t| two_sided_p(t, degrees) <= p)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-sided 90, 95 and 99 % factors as in every table of the t distribution, to three decimals (e.g.
    /// NIST/SEMATECH e-Handbook of Statistical Methods §1.3.6.7.2).
    const TABLE: [(f64, [f64; 3]); 14] = [
        (1.0, [6.314, 12.706, 63.657]),
        (2.0, [2.920, 4.303, 9.925]),
        (3.0, [2.353, 3.182, 5.841]),
        (4.0, [2.132, 2.776, 4.604]),
        (5.0, [2.015, 2.571, 4.032]),
        (6.0, [1.943, 2.447, 3.707]),
        (8.0, [1.860, 2.306, 3.355]),
        (9.0, [1.833, 2.262, 3.250]),
        (10.0, [1.812, 2.228, 3.169]),
        (15.0, [1.753, 2.131, 2.947]),
        (29.0, [1.699, 2.045, 2.756]),
        (60.0, [1.671, 2.000, 2.660]),
        (100.0, [1.660, 1.984, 2.626]),
        (f64::INFINITY, [1.645, 1.960, 2.576]),
    ];

    #[test]
    fn quantiles_match_the_published_table() {
        for (degrees, row) in TABLE {
            for (level, wanted) in [0.90, 0.95, 0.99].into_iter().zip(row) {
                let got = two_sided_quantile(level, degrees);
                assert!((got - wanted).abs() <= 0.000_51, "t({level}, {degrees}) = {got}, table {wanted}");
            }
        }
    }

    #[test]
    fn quantiles_match_closed_forms_to_nine_digits() {
        for p in [0.51, 0.6, 0.75, 0.9, 0.975, 0.995, 0.9999, 0.999_999] {
            // ν = 1: tan(π(p−½)); ν = 2: (2p−1)/√(2p(1−p)); ν = 4: Shaw (2006), eq. 36.
            let a: f64 = 2.0 * p - 1.0;
            let alpha = 4.0 * p * (1.0 - p);
            let q = ((alpha.sqrt().acos() / 3.0).cos()) / alpha.sqrt();
            for (degrees, wanted) in [
                (1.0, (std::f64::consts::PI * (p - 0.5)).tan()),
                (2.0, a * (2.0 / alpha).sqrt()),
                (4.0, 2.0 * (q - 1.0).sqrt()),
            ] {
                let got = quantile(p, degrees);
                assert!((got / wanted - 1.0).abs() < 1e-9, "ν = {degrees}, p = {p}: {got} is not {wanted}");
                assert!((quantile(1.0 - p, degrees) / -wanted - 1.0).abs() < 1e-9);
            }
        }
        assert!((two_sided_quantile(0.95, f64::INFINITY) - 1.959_963_984_540_054).abs() < 1e-9);
    }

    #[test]
    fn tails_match_the_closed_forms_of_three_and_five_degrees() {
        // P(T ≤ t) = ½ + (θ + sin θ cos θ)/π for ν = 3, with one term more for ν = 5 (A&S 26.7.3), θ =
        // atan(t/√ν).
        for t in [0.01_f64, 0.5, 1.0, 1.7, 1.8, 2.571, 4.0, 20.0] {
            let three = (t / 3.0_f64.sqrt()).atan();
            let wanted = 1.0 - 2.0 / std::f64::consts::PI * (three + three.sin() * three.cos());
            assert!((two_sided_p(t, 3.0) - wanted).abs() < 1e-13);
            let five = (t / 5.0_f64.sqrt()).atan();
            let series = five.cos() + 2.0 / 3.0 * five.cos().powi(3);
            let wanted = 1.0 - 2.0 / std::f64::consts::PI * (five + five.sin() * series);
            assert!((two_sided_p(t, 5.0) - wanted).abs() < 1e-13);
            assert!((cdf(t, 5.0) - (1.0 - 0.5 * wanted)).abs() < 1e-13);
            assert!((cdf(-t, 5.0) - 0.5 * wanted).abs() < 1e-13);
        }
    }

    #[test]
    fn the_quantile_inverts_the_distribution_for_all_degrees() {
        for degrees in [1.0, 1.5, 5.0, 29.0, 999.0, 1e5, 9.9e5, 1.1e6, 1e9, f64::INFINITY] {
            for p in [1e-6, 0.025, 0.3, 0.7, 0.975] {
                let back = cdf(quantile(p, degrees), degrees);
                assert!((back / p - 1.0).abs() < 1e-9, "ν = {degrees}, p = {p}: back {back}");
            }
        }
    }

    #[test]
    fn the_two_methods_agree_where_they_meet() {
        for t in [0.1, 1.0, 1.96, 4.0] {
            let (beta, normal) = (two_sided_p(t, NEARLY_NORMAL), two_sided_p(t, NEARLY_NORMAL * 1.000_001));
            assert!((beta / normal - 1.0).abs() < 1e-9, "{t}: {beta} and {normal}");
        }
    }

    #[test]
    fn the_ends_are_infinite_and_the_outside_is_not_a_number() {
        assert_eq!(quantile(1.0, 5.0), f64::INFINITY);
        assert_eq!(quantile(0.0, 5.0), f64::NEG_INFINITY);
        assert_eq!(quantile(0.5, 5.0), 0.0);
        assert!(quantile(1.1, 5.0).is_nan());
        assert_eq!(two_sided_p(f64::INFINITY, 5.0), 0.0);
    }
}
