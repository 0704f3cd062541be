//! The smallest difference that a plan can find.

use super::student::{quantile, two_sided_quantile};

/// The smallest difference that a two-sided t test over `blocks` blocks finds with probability `power`, in
/// the unit of `deviation`: (t(1−α/2; b−1) + t(power; b−1)) · s/√b, with 1 − α the `level` (Bloom 1995,
/// "Minimum detectable effects", Evaluation Review 19:547–556; Snedecor & Cochran 1989, §6.14, with t for z).
///
/// Assumes independent and near normal block estimates. `None` below two blocks.
pub fn smallest_detectable(deviation: f64, blocks: u32, level: f64, power: f64) -> Option<f64> {
    if blocks < 2 {
        return None;
    }
    let (n, degrees) = (f64::from(blocks), f64::from(blocks) - 1.0);
    Some((two_sided_quantile(level, degrees) + quantile(power, degrees)) * deviation / n.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::interval::Mean;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn it_is_the_closed_form() {
        // t(0.975; 5) = 2.570582, t(0.8; 5) = 0.919544: 3.490126/√6 = 1.424838.
        let found = smallest_detectable(1.0, 6, 0.95, 0.8).unwrap();
        assert!((found - 1.424_838).abs() < 2e-6, "{found}");
        assert!((smallest_detectable(0.004, 6, 0.95, 0.8).unwrap() - 0.004 * found).abs() < 1e-15);
        // With very many blocks both factors are those of the normal distribution: 1.959964 + 0.841621 =
        // 2.801585.
        let many = smallest_detectable(1.0, 1_000_000, 0.95, 0.8).unwrap();
        assert!((many * 1_000.0 - 2.801_585).abs() < 1e-5, "{many}");
        assert_eq!(smallest_detectable(1.0, 1, 0.95, 0.8), None);
    }

    /// The sum of two quantiles approximates the noncentral t. In the simulation, such a difference is found
    /// in about four of five tries.
    #[test]
    fn such_a_difference_is_found_in_four_of_five_tries() {
        let mut draws = ChaCha8Rng::seed_from_u64(11);
        for blocks in [6_u32, 10, 30] {
            let shift = smallest_detectable(1.0, blocks, 0.95, 0.8).unwrap();
            let found = (0..4_000)
                .filter(|_| {
                    let sample: Vec<f64> = (0..blocks).map(|_| shift + normal(&mut draws)).collect();
                    Mean::new(&sample).unwrap().interval(0.95).lower > 0.0
                })
                .count();
            let power = found as f64 / 4_000.0;
            // The formula errs by up to three percent at six blocks; four binomial standard errors are 2.5 %.
            assert!((power - 0.8).abs() < 0.055, "{blocks} blocks: {power}");
        }
    }

    /// One standard normal value (Box & Muller).
    fn normal(draws: &mut ChaCha8Rng) -> f64 {
        let (u, v): (f64, f64) = (1.0 - draws.random::<f64>(), draws.random());
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    }
}
