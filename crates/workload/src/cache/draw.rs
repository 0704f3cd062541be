//! Draws of the workload `cache`: lengths, ranks by popularity, and the bijection that scatters ranks over keys; some are of
//! use to other workloads. Pure: the same numbers in give the same numbers out.

use rand::RngCore;
use weighbridge_model::experiment::{CacheSpec, FbTail, KEY_MOST, LengthLaw, Popularity, VALUE_MOST};

/// Shares of values of 0 to 14 bytes in pool ETC at Facebook, and the parameters of the tail (Atikoglu et al., 2012).
const FB_HEAD: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837, 0.00837,
    0.08989, 0.00092, 0.00326, 0.01980,
];
const FB_SCALE: f64 = 214.476;
const FB_SHAPE: f64 = 0.348238;
/// The least size of the tail.
const FB_TAIL: f64 = 15.0;

/// A draw from [0, 1).
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Well mixed bits of a number (the finalizer of SplitMix64).
pub(crate) fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Bytes of the values of the key with this number.
pub(super) fn value_length(spec: &CacheSpec, number: u64) -> u32 {
    length(&spec.value, mixed(number ^ spec.seed << 1), 0, VALUE_MOST)
}

/// Bytes of the name of the key with this number.
pub(super) fn key_length(spec: &CacheSpec, number: u64) -> u32 {
    length(&spec.key, mixed(number ^ spec.seed << 1 ^ 1), spec.shortest_key(), KEY_MOST)
}

/// The length that a law gives to a number: the same number has always the same length.
pub(super) fn length(law: &LengthLaw, number: u64, least: u32, most: u32) -> u32 {
    let [first, second] = [number, number ^ 0x5851_f42d_4c95_7f2d].map(|number| unit(mixed(number)));
    let drawn = match law {
        LengthLaw::Fixed(length) => f64::from(*length),
        LengthLaw::Uniform { low, high } => {
            (f64::from(*low) + first * (f64::from(*high) - f64::from(*low) + 1.0)).floor()
        }
        // Box and Muller's transform of two independent draws.
        LengthLaw::Normal { mean, deviation } => {
            let radius = (-2.0 * (1.0 - first).ln()).sqrt();
            mean + deviation * radius * (std::f64::consts::TAU * second).cos()
        }
        LengthLaw::Exponential { rate } => -(1.0 - first).ln() / rate,
        LengthLaw::Pareto { location, scale, shape } => location + pareto(first, *scale, *shape),
        LengthLaw::Gev { location, scale, shape } => location + extreme(first, *scale, *shape),
        LengthLaw::FbValue(tail) => fb_value(first, *tail),
        LengthLaw::List(lengths) => {
            let total: f64 = lengths.iter().map(|one| one.weight).sum();
            let mut left = first * total;
            let found = lengths.iter().find(|one| {
                left -= one.weight;
                left < 0.0
            });
            found.or(lengths.last()).map_or(0.0, |one| f64::from(one.length))
        }
    };
    drawn.round().clamp(f64::from(least), f64::from(most)) as u32
}

/// The generalized Pareto law at U = `u`: σ ((1 − U)^−k − 1) / k, of location 0.
pub(super) fn pareto(u: f64, scale: f64, shape: f64) -> f64 {
    let e = -(1.0 - u).ln();
    if shape == 0.0 { scale * e } else { scale * (shape * e).exp_m1() / shape }
}

/// The generalized law of extreme values at U = 1 − `u`: σ ((−ln U)^−k − 1) / k, of location 0.
pub(super) fn extreme(u: f64, scale: f64, shape: f64) -> f64 {
    let e = -(-(1.0 - u).ln()).ln();
    if shape == 0.0 { scale * e } else { scale * (shape * e).exp_m1() / shape }
}

fn fb_value(u: f64, tail: FbTail) -> f64 {
    if tail == FbTail::Gpd {
        return pareto(u, FB_SCALE, FB_SHAPE);
    }
    let mut left = u;
    for (length, share) in (0..).zip(FB_HEAD) {
        if left < share {
            return f64::from(length);
        }
        left -= share;
    }
    let u = left / (1.0 - FB_HEAD.iter().sum::<f64>());
    match tail {
        FbTail::Conditional => {
            // The share below the tail's beginning is left out.
            let below = 1.0 - (1.0 + FB_SHAPE * FB_TAIL / FB_SCALE).powf(-1.0 / FB_SHAPE);
            pareto(below + (1.0 - below) * u, FB_SCALE, FB_SHAPE)
        }
        FbTail::Shifted | FbTail::Gpd => FB_TAIL + pareto(u, FB_SCALE, FB_SHAPE),
    }
}

/// A law of popularity over a number of ranks, from 0, the most popular.
#[derive(Debug, Clone)]
pub(super) enum Ranks {
    Uniform(u32),
    Zipf(Zipf),
    Piecewise(Vec<Piece>),
}

/// Ranks that are asked for alike.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    /// Share of all requests for ranks before `end`.
    until: f64,
    begin: u32,
    end: u32,
}

impl Ranks {
    pub fn new(law: &Popularity, keys: u32) -> Self {
        match law {
            Popularity::Uniform => Self::Uniform(keys),
            Popularity::Zipf(exponent) => Self::Zipf(Zipf::new(*exponent, keys)),
            Popularity::Piecewise(shares) => {
                let mut begin = 0;
                let mut piece = |end, until| {
                    let piece = Piece { until, begin, end };
                    begin = end;
                    piece
                };
                let mut pieces: Vec<Piece> = shares
                    .iter()
                    .map(|share| {
                        piece((share.keys.get() * f64::from(keys)).round() as u32, share.requests.get())
                    })
                    .collect();
                pieces.push(piece(keys, 1.0));
                Self::Piecewise(pieces)
            }
        }
    }

    /// How often a rank is asked for, in proportion to the others.
    pub fn weight(&self, rank: u32) -> f64 {
        match self {
            Self::Uniform(_) => 1.0,
            Self::Zipf(zipf) => zipf.hat(f64::from(rank) + 1.0),
            Self::Piecewise(pieces) => {
                let at = pieces.partition_point(|piece| piece.end <= rank).min(pieces.len() - 1);
                let before = at.checked_sub(1).map_or(0.0, |before| pieces[before].until);
                (pieces[at].until - before) / f64::from(pieces[at].end - pieces[at].begin)
            }
        }
    }

    /// The rank of the next request.
    pub fn draw(&self, random: &mut impl RngCore) -> u32 {
        match self {
            Self::Uniform(keys) => below(random, *keys),
            Self::Zipf(zipf) => zipf.draw(random),
            Self::Piecewise(pieces) => {
                let u = unit(random.next_u64());
                let at = pieces.partition_point(|piece| piece.until <= u).min(pieces.len() - 1);
                pieces[at].begin + below(random, pieces[at].end - pieces[at].begin)
            }
        }
    }
}

/// A whole number below `limit`, which is at most 10⁸: its bias is below 2⁻³⁷.
pub(crate) fn below(random: &mut impl RngCore, limit: u32) -> u32 {
    ((u128::from(random.next_u64()) * u128::from(limit)) >> 64) as u32
}

/// Zipf's law by rejection-inversion (Hörmann and Derflinger, 1996): any exponent from 0 on, no table.
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    exponent: f64,
    keys: f64,
    /// The integral of the hat at 1.5 minus the hat at 1, and at `keys` + 0.5.
    first: f64,
    last: f64,
    /// A distance below which a draw is accepted at once.
    near: f64,
}

impl Zipf {
    pub fn new(exponent: f64, keys: u32) -> Self {
        let mut zipf = Self { exponent, keys: f64::from(keys), first: 0.0, last: 0.0, near: 0.0 };
        zipf.first = zipf.integral(1.5) - 1.0;
        zipf.last = zipf.integral(zipf.keys + 0.5);
        zipf.near = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.hat(2.0));
        zipf
    }

    pub fn draw(&self, random: &mut impl RngCore) -> u32 {
        loop {
            let u = self.last + unit(random.next_u64()) * (self.first - self.last);
            let x = self.inverse(u);
            let rank = x.round().clamp(1.0, self.keys);
            if rank - x <= self.near || u >= self.integral(rank + 0.5) - self.hat(rank) {
                return rank as u32 - 1;
            }
        }
    }

    /// x^−s.
    fn hat(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// The integral of the hat from 1 to x: (x^(1−s) − 1) / (1 − s), and ln x for s = 1.
    fn integral(&self, x: f64) -> f64 {
        let log = x.ln();
        let t = (1.0 - self.exponent) * log;
        // Near 1 the quotient of e^t − 1 and t is exact enough by its series.
        if t.abs() > 1e-8 { log * t.exp_m1() / t } else { log * (1.0 + t / 2.0) }
    }

    fn inverse(&self, y: f64) -> f64 {
        // Rounding must not take it below the least value.
        let t = (y * (1.0 - self.exponent)).max(-1.0);
        if t.abs() > 1e-8 { (y * t.ln_1p() / t).exp() } else { (y * (1.0 - t / 2.0)).exp() }
    }
}

/// A seeded bijection of 0 up to a limit: a Feistel network over the next even number of bits, walked until it is below.
#[derive(Debug, Clone)]
pub(crate) struct Scatter {
    limit: u64,
    half: u32,
    keys: [u64; 4],
}

impl Scatter {
    pub fn new(limit: u32, seed: u64) -> Self {
        let bits = u64::from(limit.max(2) - 1).ilog2() + 1;
        let keys = [1, 2, 3, 4].map(|round| mixed(seed ^ (round << 56)));
        Self { limit: limit.into(), half: bits.div_ceil(2), keys }
    }

    pub fn place(&self, rank: u32) -> u32 {
        let mask = (1u64 << self.half) - 1;
        let mut at = u64::from(rank);
        loop {
            let (mut left, mut right) = (at >> self.half, at & mask);
            for key in self.keys {
                (left, right) = (right, left ^ (mixed(right ^ key) & mask));
            }
            at = left << self.half | right;
            if at < self.limit {
                return at as u32;
            }
        }
    }
}
