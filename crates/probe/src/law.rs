//! The laws of a probe as checked values, with the text form that flags and `GET /version` use.
//!
//! A law says *how long* a request occupies the probe, nothing else: [`crate::runner`] applies it to one request after
//! another, and the server does the waiting. No clock is read here.
//!
//! | text | delay of a request |
//! | --- | --- |
//! | `null` | none |
//! | `constant:time=200us` | always that |
//! | `exponential:mean=200us[,seed=1]` | exponential |
//! | `uniform:low=100us,high=300us[,seed=1]` | uniform |
//! | `bimodal:low=100us,high=2ms,share=5%[,seed=1]` | `high` for that share of the requests, else `low` |
//! | `stall:after=5s,length=1s` | one stop, at the first request so long after the first of all |
//! | `stall:requests=1000,length=1s` | one stop, at the request after so many |
//! | `periodic-stall:every=2s,length=100ms[,gap=10ms]` | a stop of `length` in the middle of every `every` of running time |
//! | `trend:from=400us,to=100us,requests=1000` | `from` at first, `to` after so many requests, linearly between |
//! | `trend:from=100us,to=200us,over=10s` | the same by the time since the first request began |
//! | `cold:idle=5ms,requests=100,cold=300us[,warm=50us]` | `cold` for so many requests at first and after each pause of `idle`, else `warm` |
//! | `cliff:above=64KiB[,step=200us][,base=1ms][,slope=0.1ns/B][,corner=250kB][,slope_above=0.2ns/B]` | by the size of the reply's body |
//! | `crowded:time=100us,above=8,factor=4[,below=9]` | `time`, and `factor` times that while more than `above` requests wait |
//! | `crowded:mean=100us,above=8,factor=4[,below=9][,seed=1]` | the same of exponential times |

mod text;

pub use text::LawError;

use std::num::NonZeroU64;

use weighbridge_model::quantity::{Bytes, Nanoseconds, Ratio};

/// What occupies the probe during a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// No delay.
    Null,
    /// A busy-wait of a drawn time: with one request served at a time, the G of an M/G/1 queue.
    Delay {
        /// The distribution of the times.
        distribution: Distribution,
        /// Seed of the draws; the same seed draws the same times in the same order.
        seed: u64,
    },
    /// One stop of the whole process, asleep.
    Stall(Stall),
    /// A regular stop of the whole process, asleep, per period of running time.
    PeriodicStall(PeriodicStall),
    /// A busy-wait by the size of the reply's body.
    Cliff(Cliff),
    /// A busy-wait that becomes longer or shorter over the probe's life: a server that warms up, or one that leaks.
    Trend(Trend),
    /// A busy-wait that is longer after a pause: a server whose caches go cold while it is idle.
    Cold(Cold),
    /// A busy-wait that is longer while many wait: a server that collapses under load.
    Crowded(Crowded),
}

/// A distribution of delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Always the same time.
    Constant(Nanoseconds),
    /// Exponential: P(delay > t) = exp(−t / mean).
    Exponential {
        /// The mean, and the standard deviation too.
        mean: Nanoseconds,
    },
    /// Uniform between two times.
    Uniform(Uniform),
    /// One of two times.
    Bimodal(Bimodal),
}

/// Every time from `low` to `high` is equally likely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uniform {
    low: Nanoseconds,
    high: Nanoseconds,
}

/// `high` for a share of the requests, `low` for the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bimodal {
    low: Nanoseconds,
    high: Nanoseconds,
    share: Ratio,
}

/// One stop of the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// When it comes.
    pub at: StallPoint,
    /// How long it lasts.
    pub length: Nanoseconds,
}

/// When the one stop comes. It always happens during a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallPoint {
    /// At the first request that begins this long, or longer, after the first request of all began.
    AfterTime(Nanoseconds),
    /// At the request that follows this many.
    AfterRequests(u64),
}

/// A stop of `length` in the middle of every `every` of running time.
///
/// *Running time* must not include the time that the process is frozen between windows, and a process cannot observe
/// its own freezing. So it is computed from the requests: with bᵢ the moment request i begins, and sᵢ the stop that was
/// made in it (zero for nearly all), the *served time* is
///
/// ```text
/// S = Σ min(bᵢ₊₁ − bᵢ − sᵢ, gap)
/// ```
///
/// so a freeze counts as `gap` at most. The k-th stop is made at the first request with S ≥ (k − ½) · (every − length).
/// Running time is R = S + Σ sᵢ: each period is `every − length` of service and one stop of `length`, which is `every`.
/// The stop is in the middle of its period, so that a life cut short after any time has had its share of stops on
/// average: at the end of the period, each life would lack half a stop. The excess of S over a threshold counts towards
/// the next, so the share does not drift: after any number of requests the number of stops is ⌊S / (every − length) +
/// ½⌋.
///
/// In closed load on one connection, where a request and its successor begin g ≤ `gap` apart without a stop, a period
/// contains (every − length) / g requests in `every` of wall time. So throughput is 1/g · (1 − length/every), and the
/// mean time from one reply to the next is g / (1 − length/every): with 100 ms in every 2 s, throughput −5 %, mean
/// 1/0.95 − 1 = +5.26 %, median unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeriodicStall {
    every: Nanoseconds,
    length: Nanoseconds,
    gap: Nanoseconds,
}

/// A delay that depends on the size n of the reply's body:
///
/// ```text
/// base + slope · min(n, corner) + slope_above · (n − corner)₊ + step · [n > above]
/// ```
///
/// If `step` is zero it is continuous in n; if both slopes are equal too, it is smooth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cliff {
    /// What every reply costs.
    pub base: Nanoseconds,
    /// The last size before the step.
    pub above: Bytes,
    /// The additional delay of larger replies.
    pub step: Nanoseconds,
    /// Time per byte up to `corner`.
    pub slope: NanosecondsPerByte,
    /// The size at which the slope changes.
    pub corner: Bytes,
    /// Time per byte beyond `corner`.
    pub slope_above: NanosecondsPerByte,
}

/// A delay that changes linearly from `from` to `to`, and stays there. Frozen time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trend {
    from: Nanoseconds,
    to: Nanoseconds,
    span: Span,
}

/// How long a [`Trend`] lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// This many requests.
    Requests(NonZeroU64),
    /// This long after the first request of all began.
    Time(Nanoseconds),
}

/// `cold` for the first `requests` requests of the probe's life, and for as many after each pause of more than `idle`
/// between the end of one request and the beginning of the next; `warm` for all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cold {
    /// The pause after which it is cold again.
    pub idle: Nanoseconds,
    /// Requests until it is warm.
    pub requests: u64,
    /// Delay of a request while it is cold.
    pub cold: Nanoseconds,
    /// Delay of a request while it is warm.
    pub warm: Nanoseconds,
}

/// `factor` times as long for requests whose service begins while more than `above` others wait; once that is so, until
/// fewer than `below` wait.
///
/// With arrivals at a rate between μ / factor and μ it has two states: a queue that once exceeds `above` grows on, and
/// the rate must fall below μ / factor before it recovers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crowded {
    /// Times of a probe that is not crowded.
    base: Distribution,
    seed: u64,
    above: u64,
    below: u64,
    factor: f64,
}

/// Time per byte: finite and never negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
pub struct NanosecondsPerByte(f64);

impl Law {
    /// The law's kind, as the verb `weigh probe` names it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Delay { .. } => "delay",
            Self::Stall(_) => "stall",
            Self::PeriodicStall(_) => "periodic-stall",
            Self::Cliff(_) => "cliff",
            Self::Trend(_) => "trend",
            Self::Cold(_) => "cold",
            Self::Crowded(_) => "crowded",
        }
    }
    /// Whether several requests can be under the law at once: the null law takes no time, and a stall stops all.
    pub const fn takes_servers(&self) -> bool {
        !matches!(self, Self::Null | Self::Stall(_) | Self::PeriodicStall(_))
    }
    /// Whether it depends on how many requests wait.
    pub const fn sees_waiting(&self) -> bool {
        matches!(self, Self::Crowded(_))
    }
}

impl Uniform {
    /// Times from `low` to `high`; [`LawError::Order`] if `low` is longer.
    pub fn try_new(low: Nanoseconds, high: Nanoseconds) -> Result<Self, LawError> {
        if low > high {
            return Err(LawError::Order { low, high });
        }
        Ok(Self { low, high })
    }
    /// The shortest time.
    pub const fn low(self) -> Nanoseconds {
        self.low
    }
    /// The longest time.
    pub const fn high(self) -> Nanoseconds {
        self.high
    }
}

impl Bimodal {
    /// `high` for `share` of the requests, else `low`; [`LawError::Order`] if `low` is longer, [`LawError::Share`] if
    /// `share` is not from 0 to 1.
    pub fn try_new(low: Nanoseconds, high: Nanoseconds, share: Ratio) -> Result<Self, LawError> {
        if low > high {
            return Err(LawError::Order { low, high });
        }
        if !(0.0..=1.0).contains(&share.get()) {
            return Err(LawError::Share { share });
        }
        Ok(Self { low, high, share })
    }
    /// The shorter time.
    pub const fn low(self) -> Nanoseconds {
        self.low
    }
    /// The longer time.
    pub const fn high(self) -> Nanoseconds {
        self.high
    }
    /// The probability of the longer time.
    pub const fn share(self) -> Ratio {
        self.share
    }
}

impl PeriodicStall {
    /// The default of the most that a gap between two requests counts as running time.
    pub const GAP: Nanoseconds = Nanoseconds::from_millis(10);

    /// A stop of `length` in every `every`, gaps counted up to [`Self::GAP`]; [`LawError::Period`] unless `0 < length <
    /// every`.
    pub fn try_new(every: Nanoseconds, length: Nanoseconds) -> Result<Self, LawError> {
        if length == Nanoseconds::ZERO || length >= every {
            return Err(LawError::Period { every, length });
        }
        Ok(Self { every, length, gap: Self::GAP })
    }
    /// The same with gaps between requests counted up to `gap`. If windows are short, counting a freeze as 10 ms is
    /// much: a `gap` a little above the longest real one keeps the share true.
    pub const fn with_gap(self, gap: NonZeroU64) -> Self {
        Self { gap: Nanoseconds::from_nanos(gap.get()), ..self }
    }
    /// The period, the stop included.
    pub const fn every(self) -> Nanoseconds {
        self.every
    }
    /// The stop in each period.
    pub const fn length(self) -> Nanoseconds {
        self.length
    }
    /// The most that a gap between two requests counts.
    pub const fn gap(self) -> Nanoseconds {
        self.gap
    }
}

impl Cliff {
    /// The delay of a reply with a body of `size`, to the nearest nanosecond.
    pub fn delay(&self, size: Bytes) -> Nanoseconds {
        let corner = self.corner.get();
        let below = self.slope.0 * size.get().min(corner) as f64;
        let beyond = self.slope_above.0 * size.get().saturating_sub(corner) as f64;
        let step = if size > self.above { self.step } else { Nanoseconds::ZERO };
        self.base + step + Nanoseconds::from_nanos((below + beyond).round() as u64)
    }
}

impl Trend {
    /// From `from` to `to` in `span`; [`LawError::NoSpan`] if `span` is zero.
    pub fn try_new(from: Nanoseconds, to: Nanoseconds, span: Span) -> Result<Self, LawError> {
        if span == Span::Time(Nanoseconds::ZERO) {
            return Err(LawError::NoSpan);
        }
        Ok(Self { from, to, span })
    }
    /// How long it lasts.
    pub const fn span(self) -> Span {
        self.span
    }
    /// The delay after `share` of the span, to the nearest nanosecond; `to` after the whole span.
    pub fn delay(&self, share: f64) -> Nanoseconds {
        let (from, to) = (self.from.as_nanos() as f64, self.to.as_nanos() as f64);
        Nanoseconds::from_nanos((from + (to - from) * share.clamp(0.0, 1.0)).round() as u64)
    }
}

impl Crowded {
    /// Times by `base`, drawn with `seed`, `factor` times as long while more than `above` wait; [`LawError::Factor`]
    /// unless `factor` is finite and at least 1.
    pub fn try_new(base: Distribution, seed: u64, above: u64, factor: f64) -> Result<Self, LawError> {
        if !(factor.is_finite() && factor >= 1.0) {
            return Err(LawError::Factor { factor });
        }
        Ok(Self { base, seed, above, below: above.saturating_add(1), factor })
    }
    /// The same, but crowded until fewer than `below` wait; [`LawError::Below`] unless that is from 1 to `above` + 1.
    pub fn with_below(self, below: u64) -> Result<Self, LawError> {
        let most = self.above.saturating_add(1);
        if !(1..=most).contains(&below) {
            return Err(LawError::Below { below, most });
        }
        Ok(Self { below, ..self })
    }
    /// The distribution of times while it is not crowded.
    pub const fn base(self) -> Distribution {
        self.base
    }
    /// Seed of the draws.
    pub const fn seed(self) -> u64 {
        self.seed
    }
    /// Whether it is crowded while so many wait, if it `was`.
    pub const fn is_crowded(self, was: bool, waiting: u64) -> bool {
        waiting > self.above || was && waiting >= self.below
    }
    /// `time` while it is crowded, to the nearest nanosecond.
    pub fn lengthened(self, time: Nanoseconds) -> Nanoseconds {
        Nanoseconds::from_nanos((time.as_nanos() as f64 * self.factor).round() as u64)
    }
}

impl NanosecondsPerByte {
    /// `value` nanoseconds per byte, or `None` if that is negative or not finite.
    pub fn new(value: f64) -> Option<Self> {
        (value.is_finite() && value >= 0.0).then_some(Self(value))
    }
    /// Nanoseconds per byte.
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl std::fmt::Display for NanosecondsPerByte {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}ns/B", self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a time per byte such as `0.5ns/B`")]
pub struct NotPerByte;

impl std::str::FromStr for NanosecondsPerByte {
    type Err = NotPerByte;
    fn from_str(text: &str) -> Result<Self, NotPerByte> {
        let number = text.strip_suffix("ns/B").and_then(|number| number.trim().parse().ok());
        number.and_then(Self::new).ok_or(NotPerByte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cliff(step_us: u64, slope: f64, slope_above: f64) -> Cliff {
        Cliff {
            base: Nanoseconds::ZERO,
            above: Bytes::new(1000),
            corner: Bytes::new(1000),
            step: Nanoseconds::from_micros(step_us),
            slope: NanosecondsPerByte::new(slope).unwrap(),
            slope_above: NanosecondsPerByte::new(slope_above).unwrap(),
        }
    }

    #[test]
    fn a_cliff_steps_just_above_its_size() {
        let flat = cliff(200, 0.0, 0.0);
        for (size, nanos) in [(4, 0), (1000, 0), (1001, 200_000), (1_000_000, 200_000)] {
            assert_eq!(flat.delay(Bytes::new(size)), Nanoseconds::from_nanos(nanos));
        }
        let sloped = cliff(200, 0.5, 2.0);
        for (size, nanos) in [(4, 2), (1000, 500), (1001, 200_502), (2000, 202_500)] {
            assert_eq!(sloped.delay(Bytes::new(size)), Nanoseconds::from_nanos(nanos));
        }
    }

    #[test]
    fn a_step_and_a_corner_may_be_at_different_sizes() {
        let both =
            Cliff { base: Nanoseconds::from_micros(10), corner: Bytes::new(3000), ..cliff(200, 0.5, 2.0) };
        for (size, nanos) in [(4, 10_002), (1000, 10_500), (1001, 210_501), (3000, 211_500), (4000, 213_500)]
        {
            assert_eq!(both.delay(Bytes::new(size)), Nanoseconds::from_nanos(nanos));
        }
    }

    #[test]
    fn a_cliff_without_a_step_is_continuous() {
        let bend = cliff(0, 1.0, 3.0);
        for size in 990..1010 {
            let rise = bend.delay(Bytes::new(size + 1)).as_nanos() - bend.delay(Bytes::new(size)).as_nanos();
            assert_eq!(rise, if size < 1000 { 1 } else { 3 });
        }
    }

    #[test]
    fn a_trend_is_a_straight_line_and_ends() {
        let us = Nanoseconds::from_micros;
        let trend = Trend::try_new(us(400), us(100), Span::Time(us(9))).unwrap();
        for (share, delay) in [(-1.0, 400), (0.0, 400), (0.5, 250), (0.75, 175), (1.0, 100), (7.0, 100)] {
            assert_eq!(trend.delay(share), us(delay), "{share}");
        }
        assert!(matches!(Trend::try_new(us(1), us(2), Span::Time(us(0))), Err(LawError::NoSpan)));
    }

    #[test]
    fn invalid_laws_are_refused() {
        let us = Nanoseconds::from_micros;
        assert!(matches!(Uniform::try_new(us(2), us(1)), Err(LawError::Order { .. })));
        assert!(matches!(Bimodal::try_new(us(2), us(1), Ratio::new(0.5)), Err(LawError::Order { .. })));
        assert!(matches!(Bimodal::try_new(us(1), us(2), Ratio::new(1.5)), Err(LawError::Share { .. })));
        assert!(matches!(Bimodal::try_new(us(1), us(2), Ratio::new(f64::NAN)), Err(LawError::Share { .. })));
        assert!(matches!(PeriodicStall::try_new(us(2), us(2)), Err(LawError::Period { .. })));
        assert!(matches!(PeriodicStall::try_new(us(2), us(0)), Err(LawError::Period { .. })));
        assert_eq!(NanosecondsPerByte::new(-1.0), None);
        assert_eq!(NanosecondsPerByte::new(f64::INFINITY), None);
    }
}
