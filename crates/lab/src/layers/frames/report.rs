//! The distribution of the times of the frames that the relay carried.

use hdrhistogram::Histogram;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::relayed::RelayedTimes;

/// Counts times from 1 ns to beyond the longest delay, with three digits.
#[derive(Debug)]
pub(super) struct Distribution(Histogram<u64>);

impl Distribution {
    pub fn new() -> Self {
        const MINUTES: u64 = 600_000_000_000;
        // The library accepts these constant bounds.
        Self(Histogram::new_with_bounds(1, MINUTES, 3).expect("constant bounds"))
    }

    pub fn add(&mut self, time: Nanoseconds) {
        // Times above the upper bound are counted there.
        self.0.saturating_record(time.as_nanos());
    }

    pub fn times(&self) -> RelayedTimes {
        if self.0.is_empty() {
            return RelayedTimes::default();
        }
        RelayedTimes {
            mean_ns: self.0.mean().round() as u64,
            min_ns: self.0.min(),
            p50_ns: self.0.value_at_quantile(0.5),
            p90_ns: self.0.value_at_quantile(0.9),
            p99_ns: self.0.value_at_quantile(0.99),
            max_ns: self.0.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_that_were_added() {
        let mut distribution = Distribution::new();
        assert_eq!(distribution.times(), RelayedTimes::default());
        for nanos in 1..=1000 {
            distribution.add(Nanoseconds::from_nanos(nanos));
        }
        let times = distribution.times();
        assert_eq!(
            (times.min_ns, times.p50_ns, times.p90_ns, times.p99_ns, times.max_ns),
            (1, 500, 900, 990, 1000)
        );
        assert_eq!(times.mean_ns, 501);
    }
}
