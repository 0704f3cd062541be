//! Synthetic samples over size whose law is known: planted cliffs and smooth curves, under realistic noise.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_judge::stats::cliffs::{Change, Cliff, find};
use weighbridge_judge::stats::scatter::{Observation, Scatter};

const LEAST: f64 = 4.0;
const MOST: f64 = 500_000.0;

/// Smaller steps are not reported.
pub const MARGIN: f64 = 0.02;

pub fn cliffs(scatter: &Scatter) -> Vec<Cliff> {
    find(scatter, MARGIN).cliffs
}

/// Blocks, and requests of each.
pub type Plan = (u32, u32);

/// From a short run to a long one.
pub const PLANS: [Plan; 3] = [(6, 400), (6, 1500), (10, 2500)];

/// How sizes are spread over the range, stratified.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spacing {
    /// Evenly per byte.
    Linear,
    /// Evenly per factor.
    Logarithmic,
}

impl Spacing {
    pub const ALL: [Self; 2] = [Self::Linear, Self::Logarithmic];
}

pub fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (random.random_range(f64::MIN_POSITIVE..1.0), random.random());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// One time around a law, in a block of that level.
pub fn time(law: impl Fn(f64) -> f64, size: f64, level: f64, random: &mut ChaCha8Rng) -> f64 {
    let tail = match random.random::<f64>() {
        u if u < 0.02 => random.random_range(f64::MIN_POSITIVE..1.0_f64).powf(-1.0 / 1.5),
        _ => 1.0,
    };
    (law(size) * (level + 0.1 * normal(random)).exp() * tail).round()
}

/// Times around a law in nanoseconds: lognormal with a spread of 10 %; every fiftieth slower by a Pareto
/// factor of exponent 1.5 (no variance); blocks that differ by 2 %.
pub fn scatter(law: fn(f64) -> f64, spacing: Spacing, plan: Plan, seed: u64) -> Scatter {
    draw_scatter(Range { spacing, ..RANGE }, plan, 0.02, seed, |size, level, random| {
        time(law, size, level, random)
    })
}

/// Which sizes are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    pub least: f64,
    pub most: f64,
    pub spacing: Spacing,
    /// How many sizes are used repeatedly; 0 if each request has its own.
    pub sizes: u32,
}

/// 4 B to 500 kB, evenly.
pub const RANGE: Range = Range { least: LEAST, most: MOST, spacing: Spacing::Linear, sizes: 0 };

impl Range {
    fn size(&self, stratum: u32, strata: u32, random: &mut ChaCha8Rng) -> f64 {
        let share = (f64::from(stratum) + random.random::<f64>()) / f64::from(strata);
        match self.spacing {
            Spacing::Linear => self.least + share * (self.most - self.least),
            Spacing::Logarithmic => self.least * (self.most / self.least).powf(share),
        }
        .round()
    }
}

/// Times that `draw` makes of a size and the level of a block; levels are normal with deviation `levels` on
/// the log scale.
pub fn draw_scatter(
    range: Range,
    (blocks, each): Plan,
    levels: f64,
    seed: u64,
    draw: impl Fn(f64, f64, &mut ChaCha8Rng) -> f64,
) -> Scatter {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let fixed: Vec<f64> = (0..range.sizes).map(|at| range.size(at, range.sizes, &mut random)).collect();
    let mut all = Vec::new();
    for block in 0..blocks {
        let level = levels * normal(&mut random);
        for stratum in 0..each {
            let size = match fixed.len() {
                0 => range.size(stratum, each, &mut random),
                count => fixed[(block * each + stratum) as usize % count],
            };
            all.push(Observation { block, size, time: draw(size, level, &mut random) });
        }
    }
    Scatter::new(all)
}

/// 300 µs and 10 ns a byte, 5 ms more above 87,380 bytes, and 30 ns a byte more above 250 kB.
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

/// Curves that bend more than a transfer's time does, without a corner: the hardest to distinguish from a
/// cliff.
pub const BENT: [Law; 3] = [
    ("three halves", |s| 3e5 + 2.0 * s + 0.03 * s.powf(1.5)),
    ("a rise over a decade", |s| 3e5 + 5.0 * s + 3e6 / (1.0 + (60_000.0 / s).powf(1.5))),
    ("a bend over a decade", |s| 3e5 + 10.0 * s + 1.2e6 * ((1.0 + (s / 6e4).powi(3)).cbrt() - 1.0)),
];

/// A transfer, 300 µs and 10 ns a byte, on which other laws are based.
pub fn plain(size: f64) -> f64 {
    3e5 + 10.0 * size
}

/// `height` more for each further chunk.
pub fn chunks(size: f64, chunk: f64, height: f64) -> f64 {
    plain(size) + height * (size / chunk).floor()
}

/// Times of which a share is slower by `factor`; the share grows evenly to `most` at the largest size. The
/// spread is 5 %.
pub fn shared(most: f64, factor: f64) -> impl Fn(f64, f64, &mut ChaCha8Rng) -> f64 {
    move |size, level, random| {
        let slow = if random.random::<f64>() < most * size / MOST { factor } else { 1.0 };
        (plain(size) * slow * (level + 0.05 * normal(random)).exp()).round()
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub law: fn(f64) -> f64,
    /// For stairs, their distance.
    pub truths: &'static [(Change, f64)],
    pub range: Range,
    pub plan: Plan,
    /// By how much blocks differ.
    pub levels: f64,
}

impl Case {
    const fn new(name: &'static str, law: fn(f64) -> f64, truths: &'static [(Change, f64)]) -> Self {
        Self { name, law, truths, range: RANGE, plan: PLANS[1], levels: 0.02 }
    }

    const fn over_factors(self, plan: Plan) -> Self {
        Self { range: Range { spacing: Spacing::Logarithmic, ..RANGE }, plan, ..self }
    }

    pub fn scatter(&self, seed: u64) -> Scatter {
        draw_scatter(self.range, self.plan, self.levels, seed, |size, level, random| {
            time(self.law, size, level, random)
        })
    }

    /// The relative error of the cliff reported for this truth; `None` if there is none.
    pub fn off(found: &[Cliff], (change, truth): (Change, f64)) -> Option<f64> {
        let off = |cliff: &Cliff| cliff.period.unwrap_or(cliff.place).point / truth - 1.0;
        let those = found.iter().filter(|cliff| cliff.change == change && matches_truth(cliff, truth));
        those.map(off).min_by(|a, b| a.abs().total_cmp(&b.abs()))
    }

    /// Number of reported cliffs that no truth explains.
    pub fn false_ones(&self, found: &[Cliff]) -> usize {
        let is_true = |cliff: &&Cliff| {
            self.truths.iter().any(|(change, truth)| *change == cliff.change && matches_truth(cliff, *truth))
        };
        found.iter().filter(|cliff| !is_true(cliff)).count()
    }
}

/// Within 5 % of the truth, or between its neighbouring sizes: if sizes are far apart, the place is not known
/// better.
fn matches_truth(cliff: &Cliff, truth: f64) -> bool {
    let place = cliff.period.unwrap_or(cliff.place);
    (place.point / truth - 1.0).abs() <= 0.05 || (place.lower <= truth && truth <= place.upper)
}

const LEVEL: Change = Change::Level;
const SLOPE: Change = Change::Slope;
const STAIRS: Change = Change::Stairs;

fn above(size: f64, place: f64, height: f64) -> f64 {
    if size > place { height } else { 0.0 }
}

fn from(size: f64, place: f64, slope: f64) -> f64 {
    slope * (size - place).max(0.0)
}

/// Cases with their cliffs.
pub const CASES: [Case; 14] = [
    Case::new("5 ms above 4 kB", |s| plain(s) + above(s, 4e3, 5e6), &[(LEVEL, 4e3)]),
    Case {
        range: Range { most: 1e6, sizes: 1_000, ..RANGE },
        ..Case::new("5 ms above 8,192 B of 1 MB", |s| plain(s) + above(s, 8192.0, 5e6), &[(LEVEL, 8192.0)])
    },
    Case::new("5 ms above 495 kB", |s| plain(s) + above(s, 495e3, 5e6), &[(LEVEL, 495e3)]),
    Case::new("40 ns/B more from 450 kB", |s| plain(s) + from(s, 450e3, 40.0), &[(SLOPE, 450e3)]),
    Case::new("20 ns/B more from 350 kB", |s| plain(s) + from(s, 350e3, 20.0), &[(SLOPE, 350e3)])
        .over_factors(PLANS[2]),
    Case::new(
        "0.3 ms above 30 kB, 1 ms less above 220 kB",
        |s| plain(s) + above(s, 30e3, 3e5) - above(s, 220e3, 1e6),
        &[(LEVEL, 30e3), (LEVEL, 220e3)],
    ),
    Case::new(
        "30 ns/B more from 60 kB, 4 ms above 300 kB",
        |s| plain(s) + from(s, 60e3, 30.0) + above(s, 300e3, 4e6),
        &[(SLOPE, 60e3), (LEVEL, 300e3)],
    ),
    Case::new(
        "15 ns/B more from 100 kB to 400 kB",
        |s| plain(s) + from(s, 100e3, 15.0) - from(s, 400e3, 15.0),
        &[(SLOPE, 100e3), (SLOPE, 400e3)],
    ),
    Case::new("0.2 ms each 64 KiB", |s| chunks(s, 65_536.0, 2e5), &[(STAIRS, 65_536.0)]),
    Case::new("0.5 ms each 16 KiB", |s| chunks(s, 16_384.0, 5e5), &[(STAIRS, 16_384.0)]),
    Case::new("1 ms each 64 KiB", |s| chunks(s, 65_536.0, 1e6), &[(STAIRS, 65_536.0)]),
    Case::new("1 ms each 64 KiB", |s| chunks(s, 65_536.0, 1e6), &[(STAIRS, 65_536.0)]).over_factors(PLANS[1]),
    Case::new(
        "0.3 ms each 32 KiB, 5 ms above 200 kB",
        |s| chunks(s, 32_768.0, 3e5) + above(s, 200e3, 5e6),
        &[(STAIRS, 32_768.0), (LEVEL, 200e3)],
    ),
    Case {
        plan: (4, 1500),
        levels: 0.4,
        ..Case::new(
            "5 ms above 87,380 B, 20 ns/B more from 250 kB; blocks differ by 40 %",
            planted,
            &[(LEVEL, 87_380.0), (SLOPE, 250e3)],
        )
    },
];

/// Laws whose median changes where nothing happens, or whose cliff has too few requests on one side.
pub const SILENT: [Case; 4] = [
    Case::new("5 ms above 1 kB", |s| plain(s) + above(s, 1e3, 5e6), &[]),
    Case::new("5 ms above 499 kB", |s| plain(s) + above(s, 499e3, 5e6), &[]),
    Case::new("40 ns/B more from 490 kB", |s| plain(s) + from(s, 490e3, 40.0), &[]),
    Case::new("40 ns/B more from 450 kB", |s| plain(s) + from(s, 450e3, 40.0), &[]).over_factors(PLANS[1]),
];

/// The largest share of slower requests, which grows with the size, and their factor.
pub const SHARES: [(f64, f64); 4] = [(0.9, 1.5), (0.9, 3.0), (0.6, 1.5), (0.9, 1.2)];
