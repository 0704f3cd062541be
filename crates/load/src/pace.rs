//! Arrival times of open load: an endless, seeded, strictly replayable schedule.
//!
//! Each time is computed from the schedule's start, never from the clock, so lateness in sending does not move what
//! follows. It refuses to know what was sent.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::experiment::Arrivals;
use weighbridge_model::quantity::{Nanoseconds, PerSecond, Timestamp};

/// Which of the generator's random streams the arrivals are drawn from, so that a workload seeding the same
/// generator with the same substream shares no number with them.
const STREAM: u64 = 0x6172_7269_7661_6c73;

/// The arrival times of one window.
#[derive(Debug, Clone)]
pub struct Schedule {
    start: Timestamp,
    /// Mean gap in nanoseconds; infinite at rate 0.
    gap: f64,
    law: Law,
}

/// The law of the gaps and what it must remember.
#[derive(Debug, Clone)]
enum Law {
    /// Arrival `k` lies `k` gaps after the start; counting keeps rounding from adding up.
    Constant { next: u64 },
    /// The elapsed time is summed in binary64: after an hour its resolution is still below a microsecond's millionth.
    Poisson { elapsed: f64, random: Box<ChaCha8Rng> },
}

impl Schedule {
    /// The schedule of `substream` from `start` on. Constant arrivals begin at the start itself, Poisson arrivals
    /// after an exponential gap.
    pub fn new(rate: PerSecond, arrivals: Arrivals, substream: u64, start: Timestamp) -> Self {
        let law = match arrivals {
            Arrivals::Constant => Law::Constant { next: 0 },
            Arrivals::Poisson => {
                let mut random = Box::new(ChaCha8Rng::seed_from_u64(substream));
                random.set_stream(STREAM);
                Law::Poisson { elapsed: 0.0, random }
            }
        };
        Self { start, gap: 1e9 / rate.get(), law }
    }

    /// The next arrival, never earlier than the one before; `None` where there is none (rate 0).
    pub fn next_arrival(&mut self) -> Option<Timestamp> {
        if !self.gap.is_finite() {
            return None;
        }
        let elapsed = match &mut self.law {
            Law::Constant { next } => {
                let elapsed = *next as f64 * self.gap;
                *next += 1;
                elapsed
            }
            Law::Poisson { elapsed, random } => {
                *elapsed += self.gap * exponential(random);
                *elapsed
            }
        };
        Some(self.start + Nanoseconds::from_nanos(elapsed.round() as u64))
    }
}

/// A draw from the exponential law of mean 1, by inversion: −ln U with U uniform on (0, 1], so never infinite.
fn exponential(random: &mut ChaCha8Rng) -> f64 {
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(law: Arrivals, rate: f64, substream: u64, count: usize) -> Vec<u64> {
        let rate = PerSecond::new(rate).expect("a rate");
        let mut schedule = Schedule::new(rate, law, substream, Timestamp::from_nanos(0));
        (0..count).map_while(|_| schedule.next_arrival()).map(Timestamp::as_nanos).collect()
    }

    #[test]
    fn constant_arrivals_do_not_drift() {
        // A third of a second's gap is no whole number of nanoseconds; after 3 million gaps the time is exact.
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
        // Standard errors: 0.0022 of the mean, 0.0063 of the variance, 0.0011 of the share; five of each are allowed.
        assert!((mean - 1.0).abs() < 0.012, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.032, "variance {variance}");
        assert!((beyond_one - (-1f64).exp()).abs() < 0.006, "share {beyond_one}");
    }

    #[test]
    fn a_substream_replays_and_another_differs() {
        let times = |substream| arrivals(Arrivals::Poisson, 10.0, substream, 100);
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
        assert!(times(1).is_sorted());
    }

    #[test]
    fn rate_zero_has_no_arrivals() {
        assert!(arrivals(Arrivals::Poisson, 0.0, 1, 10).is_empty());
        assert!(arrivals(Arrivals::Constant, 0.0, 1, 10).is_empty());
    }
}
