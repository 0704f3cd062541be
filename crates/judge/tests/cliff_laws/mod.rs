//! Synthetic samples over size whose law is known: planted cliffs and smooth curves, under realistic noise.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_judge::stats::scatter::{Observation, Scatter};

const LEAST: f64 = 4.0;
const MOST: f64 = 500_000.0;

/// Blocks, and requests of each.
pub type Plan = (u32, u32);

/// From a short run to a long one.
pub const PLANS: [Plan; 3] = [(6, 400), (6, 1500), (10, 2500)];

/// How sizes are spread over the range, stratified.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spacing {
    /// As many per byte everywhere.
    Linear,
    /// As many per factor everywhere.
    Logarithmic,
}

impl Spacing {
    pub const ALL: [Self; 2] = [Self::Linear, Self::Logarithmic];
}

/// A standard normal by Box and Muller.
pub fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random_range(f64::MIN_POSITIVE..1.0), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// One time about a law, of a block of that level.
pub fn time(law: fn(f64) -> f64, size: f64, level: f64, random: &mut ChaCha8Rng) -> f64 {
    let tail = match random.random::<f64>() {
        u if u < 0.02 => random.random_range(f64::MIN_POSITIVE..1.0_f64).powf(-1.0 / 1.5),
        _ => 1.0,
    };
    (law(size) * (level + 0.1 * normal(random)).exp() * tail).round()
}

/// Times about a law in nanoseconds: lognormal with a spread of 10 %, every fiftieth slower by a Pareto factor of
/// exponent 1.5 (no variance), blocks that differ by 2 %.
pub fn scatter(law: fn(f64) -> f64, spacing: Spacing, (blocks, each): Plan, seed: u64) -> Scatter {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut all = Vec::new();
    for block in 0..blocks {
        let level = 0.02 * normal(&mut random);
        for stratum in 0..each {
            let share = (f64::from(stratum) + random.random::<f64>()) / f64::from(each);
            let size = match spacing {
                Spacing::Linear => LEAST + share * (MOST - LEAST),
                Spacing::Logarithmic => LEAST * (MOST / LEAST).powf(share),
            };
            let size = size.round();
            all.push(Observation { block, size, time: time(law, size, level, &mut random) });
        }
    }
    Scatter::new(all)
}

/// 300 µs and 10 ns a byte, 5 ms more above 87,380 bytes, 30 ns a byte from 250 kB on.
pub fn planted(size: f64) -> f64 {
    let step = if size > 87_380.0 { 5e6 } else { 0.0 };
    3e5 + 10.0 * size + step + 20.0 * (size - 250_000.0).max(0.0)
}

/// A name and the median time in nanoseconds by size.
pub type Law = (&'static str, fn(f64) -> f64);

/// Curves without a cliff.
pub const SMOOTH: [Law; 6] = [
    ("constant", |_| 2e5),
    ("level and rate", |s| 3e5 + 10.0 * s),
    ("root", |s| 1e5 + 4000.0 * s.sqrt()),
    ("logarithm", |s| 5e4 + 2e4 * s.ln()),
    ("power", |s| 1e5 + 40.0 * s.powf(0.8)),
    ("parabola", |s| 3e5 + 5.0 * s + 2e-5 * s * s),
];

/// Curves that bend more than a transfer's time does, without a corner: the hardest that a cliff can be told from.
pub const BENT: [Law; 3] = [
    ("three halves", |s| 3e5 + 2.0 * s + 0.03 * s.powf(1.5)),
    ("a rise over a decade", |s| 3e5 + 5.0 * s + 3e6 / (1.0 + (60_000.0 / s).powf(1.5))),
    ("a bend over a decade", |s| 3e5 + 10.0 * s + 1.2e6 * ((1.0 + (s / 6e4).powi(3)).cbrt() - 1.0)),
];
