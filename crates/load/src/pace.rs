//! Arrival times of open load: an endless, seeded, strictly replayable schedule.
//!
//! Each time is computed from the schedule's start, never from the clock, so late sending does not move later arrivals.
//! A law draws arrivals at unit rate; a profile transforms them by the inverse of its cumulative rate (the time change
//! of a Poisson process, exact, without thinning), so that every law works with every profile. It does not know what
//! was sent.

use std::sync::Arc;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::experiment::{Arrivals, Profile};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Timestamp};
use weighbridge_model::trace::Trace;

use crate::profile::Cumulative;

/// The generator's random stream from which arrivals are drawn, so that a workload that seeds the same generator with
/// the same substream shares no number with them.
const STREAM: u64 = 0x6172_7269_7661_6c73;

/// A source of arrivals, and the part of it that a window uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Where the times come from.
    pub source: Source,
    /// The position in the profile or trace at which a window begins.
    pub offset: Nanoseconds,
    /// Which part of it this generator sends.
    pub part: Part,
    /// When it begins, if not at the window's start: threads that share a flow share its beginning.
    pub origin: Option<Timestamp>,
}

/// Where arrival times come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// A law of the gaps on a profile of the rate.
    Law {
        /// Arrivals per second over time.
        profile: Profile,
        /// Law of the gaps.
        arrivals: Arrivals,
    },
    /// Recorded times, played at `speed` times their speed and repeated at the end.
    Trace {
        /// The times.
        trace: Arc<Trace>,
        /// Above zero.
        speed: f64,
    },
}

impl Source {
    /// The same arrivals at a mean rate of `rate`: the law's gaps, the profile's form and the trace's order stay.
    pub fn at(&self, rate: PerSecond) -> Self {
        let factor = rate.get() / Flow::new(self.clone()).mean();
        match self {
            Self::Law { profile, arrivals } => {
                Self::Law { profile: profile.scaled(factor), arrivals: *arrivals }
            }
            Self::Trace { trace, speed } => Self::Trace { trace: Arc::clone(trace), speed: speed * factor },
        }
    }
}

/// One of several equal parts of a flow. Constant arrivals, jitter and traces are dealt out one by one, so that the
/// parts together are the whole; Poisson arrivals are drawn at the part's rate, and their superposition follows the
/// whole's law. Generalized Pareto gaps are drawn at the part's rate too, and the superposition of many parts comes near
/// to Poisson arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// From 0.
    pub index: u32,
    /// At least 1.
    pub of: u32,
}

impl Part {
    /// All of it.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
}

impl Flow {
    /// A flow from its beginning.
    pub const fn new(source: Source) -> Self {
        Self { source, offset: Nanoseconds::ZERO, part: Part::WHOLE, origin: None }
    }

    /// A law at a constant rate.
    pub const fn steady(rate: PerSecond, arrivals: Arrivals) -> Self {
        Self::new(Source::Law { profile: Profile::Constant { rate }, arrivals })
    }

    /// Mean arrivals per second of this part.
    pub fn mean(&self) -> f64 {
        let whole = match &self.source {
            Source::Law { profile, .. } => profile.mean().get(),
            Source::Trace { trace, speed } => trace.mean().get() * speed,
        };
        whole / f64::from(self.part.of.max(1))
    }

    /// After this time it repeats; `None` if it never changes.
    pub fn length(&self) -> Option<Nanoseconds> {
        match &self.source {
            Source::Law { profile, .. } => profile.length(),
            Source::Trace { trace, speed } => {
                Some(Nanoseconds::from_nanos((trace.length().as_nanos() as f64 / speed).round() as u64))
            }
        }
    }
}

/// The arrival times of one window.
#[derive(Debug, Clone)]
pub struct Schedule {
    start: Timestamp,
    /// The position in the profile or trace at which the window begins, in nanoseconds.
    offset: f64,
    /// The last arrival in nanoseconds: rounding must not swap two arrivals less than a nanosecond apart.
    last: u64,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    /// Nothing arrives.
    Never,
    Law {
        cumulative: Cumulative,
        law: Law,
    },
    Trace {
        trace: Arc<Trace>,
        speed: f64,
        next: u64,
        step: u64,
    },
}

/// The law of the gaps at unit rate, and its state.
#[derive(Debug, Clone)]
enum Law {
    /// Arrival `k` is at `k`; counting avoids accumulated rounding errors.
    Constant {
        next: u64,
        step: u64,
    },
    /// Arrival `k` is between `k` and `k + width`, uniformly.
    Jitter {
        next: u64,
        step: u64,
        width: f64,
        random: Box<ChaCha8Rng>,
    },
    /// The elapsed time is summed in binary64: after a billion arrivals its resolution is still a ten-millionth of a
    /// gap.
    Poisson {
        elapsed: f64,
        mean: f64,
        random: Box<ChaCha8Rng>,
    },
    Gpd {
        elapsed: f64,
        mean: f64,
        shape: f64,
        random: Box<ChaCha8Rng>,
    },
}

impl Schedule {
    /// The schedule of `substream` from `start` on. Constant arrivals begin at the start itself, jittered ones up to
    /// twice the jitter later, Poisson arrivals after an exponential gap, a trace with its first arrival.
    pub fn new(flow: &Flow, substream: u64, start: Timestamp) -> Self {
        let (step, first) = (u64::from(flow.part.of.max(1)), u64::from(flow.part.index));
        let offset = flow.offset.as_nanos() as f64;
        let form = match &flow.source {
            Source::Law { profile, .. } if profile.peak().get() <= 0.0 => Form::Never,
            Source::Law { profile, arrivals } => {
                let cumulative = Cumulative::new(profile);
                let before = cumulative.arrivals_by(offset);
                let random = || {
                    let mut random = Box::new(ChaCha8Rng::seed_from_u64(substream));
                    random.set_stream(STREAM);
                    random
                };
                let next = before.ceil() as u64 + first;
                let law = match arrivals {
                    Arrivals::Constant => Law::Constant { next, step },
                    Arrivals::Jitter(share) => {
                        Law::Jitter { next, step, width: 2.0 * share.get(), random: random() }
                    }
                    Arrivals::Poisson => {
                        Law::Poisson { elapsed: before, mean: step as f64, random: random() }
                    }
                    Arrivals::Gpd(shape) => {
                        Law::Gpd { elapsed: before, mean: step as f64, shape: *shape, random: random() }
                    }
                };
                Form::Law { cumulative, law }
            }
            Source::Trace { trace, speed } => {
                let next = arrivals_before(trace, offset * speed) + first;
                Form::Trace { trace: Arc::clone(trace), speed: *speed, next, step }
            }
        };
        Self { start, offset, last: 0, form }
    }

    /// A schedule without arrivals.
    pub(crate) fn never(start: Timestamp) -> Self {
        Self { start, offset: 0.0, last: 0, form: Form::Never }
    }

    /// The next arrival, never earlier than the one before; `None` if there is none (rate 0).
    pub fn next_arrival(&mut self) -> Option<Timestamp> {
        let time = match &mut self.form {
            Form::Never => return None,
            Form::Law { cumulative, law } => cumulative.time_of(law.next()),
            Form::Trace { trace, speed, next, step } => {
                let count = trace.times().len() as u64;
                let (passage, at) = (*next / count, (*next % count) as usize);
                *next += *step;
                // Whole nanoseconds up to here, so a trace at its own speed is played exactly.
                let nanos = trace.length() * passage + trace.times()[at];
                if *speed == 1.0 {
                    let late = nanos.as_nanos().saturating_sub(self.offset as u64);
                    return Some(self.start + Nanoseconds::from_nanos(late));
                }
                nanos.as_nanos() as f64 / *speed
            }
        };
        let since = (time - self.offset).max(0.0);
        if !since.is_finite() {
            return None;
        }
        self.last = self.last.max(since.round() as u64);
        Some(self.start + Nanoseconds::from_nanos(self.last))
    }

    /// The operation of the last arrival, if a trace names it.
    pub fn operation(&self) -> Option<OperationId> {
        let Form::Trace { trace, next, step, .. } = &self.form else { return None };
        let last = next.checked_sub(*step)?;
        trace.operation((last % trace.times().len() as u64) as usize)
    }
}

impl Law {
    /// The next arrival at unit rate.
    fn next(&mut self) -> f64 {
        match self {
            Self::Constant { next, step } => {
                let at = *next;
                *next += *step;
                at as f64
            }
            Self::Jitter { next, step, width, random } => {
                let at = *next;
                *next += *step;
                at as f64 + *width * unit(random)
            }
            Self::Poisson { elapsed, mean, random } => {
                *elapsed += *mean * exponential(random);
                *elapsed
            }
            Self::Gpd { elapsed, mean, shape, random } => {
                *elapsed += *mean * pareto(*shape, exponential(random));
                *elapsed
            }
        }
    }
}

/// Arrivals of a repeated trace in its first `time` nanoseconds.
fn arrivals_before(trace: &Trace, time: f64) -> u64 {
    let length = trace.length().as_nanos();
    let time = time as u64;
    let within = trace.times().partition_point(|arrival| arrival.as_nanos() < time % length);
    time / length * trace.times().len() as u64 + within as u64
}

/// A draw from [0, 1).
fn unit(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// A draw from the exponential law of mean 1, by inversion: −ln U with U uniform on (0, 1], so never infinite.
fn exponential(random: &mut ChaCha8Rng) -> f64 {
    -(1.0 - unit(random)).ln()
}

/// The generalized Pareto law of mean 1 by inversion, at −ln U = `e`: σ (U^−k − 1) / k with σ = 1 − k.
fn pareto(shape: f64, e: f64) -> f64 {
    if shape == 0.0 { e } else { (1.0 - shape) * (shape * e).exp_m1() / shape }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(law: Arrivals, rate: f64, substream: u64, count: usize) -> Vec<u64> {
        let rate = PerSecond::new(rate).expect("a rate");
        times(&Flow::steady(rate, law), substream, count)
    }

    fn times(flow: &Flow, substream: u64, count: usize) -> Vec<u64> {
        let mut schedule = Schedule::new(flow, substream, Timestamp::from_nanos(0));
        (0..count).map_while(|_| schedule.next_arrival()).map(Timestamp::as_nanos).collect()
    }

    #[test]
    fn constant_arrivals_do_not_drift() {
        // The gap of a third of a second is no whole number of nanoseconds; after 3 million gaps the time is exact.
        let times = arrivals(Arrivals::Constant, 3.0, 0, 3_000_001);
        assert_eq!(times[..3], [0, 333_333_333, 666_666_667]);
        assert_eq!(times[3_000_000], 1_000_000 * 1_000_000_000);
    }

    #[test]
    fn poisson_gaps_have_the_moments_of_the_exponential_law() {
        let times = arrivals(Arrivals::Poisson, 1000.0, 5, 200_000);
        let gaps: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        let beyond_one = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / n;
        // Standard errors: 0.0022 of the mean, 0.0063 of the variance, 0.0011 of the share; the bounds are five of
        // each.
        assert!((mean - 1.0).abs() < 0.012, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.032, "variance {variance}");
        assert!((beyond_one - (-1f64).exp()).abs() < 0.006, "share {beyond_one}");
    }

    /// The distance of Kolmogorov and Smirnov between a million gaps and the law, times √n.
    fn distance(shape: f64, seed: u64) -> f64 {
        // Times are whole nanoseconds, a millionth of a gap.
        let times = arrivals(Arrivals::Gpd(shape), 1000.0, seed, 1_000_001);
        let mut gaps: Vec<f64> = times.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let below = |gap: f64| match shape {
            0.0 => 1.0 - (-gap).exp(),
            k => 1.0 - (1.0 + k * gap / (1.0 - k)).powf(-1.0 / k),
        };
        let n = gaps.len() as f64;
        let distance = |(at, gap): (usize, &f64)| {
            let expected = below(*gap);
            (expected - at as f64 / n).abs().max(((at + 1) as f64 / n - expected).abs())
        };
        gaps.iter().enumerate().map(distance).fold(0.0, f64::max) * n.sqrt()
    }

    #[test]
    fn generalized_pareto_gaps_follow_their_law() {
        for shape in [0.0, Arrivals::FB_IA, 0.4] {
            let distances: Vec<f64> = (1..=20).map(|seed| distance(shape, seed)).collect();
            // One in 10⁶ is farther by chance; and the mean of 20, of which each has a mean of 0.8687 and a deviation of
            // 0.2603, is within four of its deviations.
            assert!(distances.iter().all(|distance| *distance < 2.69), "shape {shape}: {distances:?}");
            let mean = distances.iter().sum::<f64>() / 20.0;
            assert!((mean - 0.8687).abs() < 4.0 * 0.2603 / 20f64.sqrt(), "shape {shape}: {distances:?}");
        }
        // The paper's own scale: quantiles of 11.7 and 107.7 µs at 52,700 requests a second.
        let quantile = |q: f64| pareto(Arrivals::FB_IA, -(1.0 - q).ln()) * 18.97;
        assert!((quantile(0.5) - 11.7).abs() < 0.05 && (quantile(0.99) - 107.7).abs() < 0.2);
    }

    #[test]
    fn a_substream_replays_and_another_differs() {
        for law in [Arrivals::Poisson, Arrivals::Gpd(0.2), Arrivals::Jitter(Arrivals::JITTER)] {
            let times = |substream| arrivals(law, 10.0, substream, 100);
            assert_eq!(times(1), times(1));
            assert_ne!(times(1), times(2));
            assert!(times(1).is_sorted());
        }
    }

    #[test]
    fn rate_zero_has_no_arrivals() {
        assert!(arrivals(Arrivals::Poisson, 0.0, 1, 10).is_empty());
        assert!(arrivals(Arrivals::Constant, 0.0, 1, 10).is_empty());
    }

    #[test]
    fn windows_of_a_profile_continue_it() {
        for profile in ["steps:300/s for 1s, 0/s for 1s, 70/s for 1s", "ramp:0/s..500/s over 3s"] {
            let profile: Profile = profile.parse().expect("a profile");
            let mut flow = Flow::new(Source::Law { profile, arrivals: Arrivals::Constant });
            let whole = times(&flow, 1, 2_000);
            let mut slices = Vec::new();
            for slice in 0..30u64 {
                flow.offset = Nanoseconds::from_millis(slice * 137);
                let from = flow.offset.as_nanos();
                slices.extend(
                    times(&flow, 1, 500)
                        .into_iter()
                        .map(|at| at + from)
                        .filter(|at| *at < from + 137_000_000),
                );
            }
            assert_eq!(slices, whole[..slices.len()]);
            assert!(slices.len() > 400);
        }
    }

    #[test]
    fn parts_of_a_flow_are_the_flow() {
        let trace = Arc::new(Trace::parse("t", "0\n0.5\n0.7\n3\n").expect("a trace"));
        let ramp: Profile = "ramp:10/s..500/s over 3s".parse().expect("a profile");
        for source in [
            Source::Law { profile: ramp, arrivals: Arrivals::Constant },
            Source::Trace { trace: Arc::clone(&trace), speed: 1.0 },
            Source::Trace { trace, speed: 3.7 },
        ] {
            let mut flow = Flow::new(source);
            let whole = times(&flow, 1, 300);
            let mut parts = Vec::new();
            for index in 0..3 {
                flow.part = Part { index, of: 3 };
                parts.extend(times(&flow, 1, 100));
            }
            parts.sort_unstable();
            assert_eq!(parts, whole);
        }
    }

    #[test]
    fn a_trace_is_played_exactly_repeats_and_keeps_its_speed() {
        let trace = Arc::new(Trace::parse("t", "5\n5.000000001\n7\n").expect("a trace"));
        let flow = Flow::new(Source::Trace { trace: Arc::clone(&trace), speed: 1.0 });
        // Mean gap 1 s, so a passage takes 3 s.
        let second = 1_000_000_000;
        assert_eq!(times(&flow, 1, 6), [0, 1, 2 * second, 3 * second, 3 * second + 1, 5 * second]);
        let fast = Flow::new(Source::Trace { trace, speed: 2.0 });
        assert_eq!(times(&fast, 9, 6), [0, 1, second, 3 * second / 2, 3 * second / 2 + 1, 5 * second / 2]);
        let slice = Flow { offset: Nanoseconds::from_secs(4), ..flow };
        assert_eq!(times(&slice, 1, 2), [second, 2 * second]);
    }
}
