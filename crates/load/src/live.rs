//! Response times for display while a load runs: coarse counts that one loop writes and another thread reads, without a
//! lock.
//!
//! For display only: figures of results come from the recorder's own histograms.

use std::sync::atomic::{AtomicU64, Ordering};

use weighbridge_model::quantity::Nanoseconds;

/// Binary digits of a time that are kept after its first: 32 classes per octave, so that a time is exact to 1.6 %.
const DIGITS: u32 = 5;
/// Classes of one octave.
const OCTAVE: usize = 1 << DIGITS;
/// All classes: short times have one each, then one octave for each binary digit.
const CLASSES: usize = OCTAVE * (64 - DIGITS as usize + 1);

/// Counts of times that one thread writes and any thread may read.
#[derive(Debug)]
pub struct LiveTimes {
    counts: Box<[AtomicU64]>,
}

impl Default for LiveTimes {
    fn default() -> Self {
        Self { counts: (0..CLASSES).map(|_| AtomicU64::new(0)).collect() }
    }
}

impl LiveTimes {
    /// Counts one time. Only one thread may call it: two would lose counts, and a lock or atomic addition is not worth
    /// its cost here.
    pub fn record(&self, time: Nanoseconds) {
        let count = &self.counts[class(time.as_nanos())];
        count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// The counts by now.
    pub fn counts(&self) -> LiveCounts {
        LiveCounts(self.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect())
    }
}

/// Counts of times at one moment, or between two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCounts(Vec<u64>);

impl Default for LiveCounts {
    fn default() -> Self {
        Self(vec![0; CLASSES])
    }
}

impl LiveCounts {
    /// Adds the counts of another loop.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(count, more)| *count += more);
    }

    /// The counts since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self(self.0.iter().zip(&earlier.0).map(|(now, then)| now.saturating_sub(*then)).collect())
    }

    /// Number of times.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// The time that a share `quantile` (0 to 1) of all do not exceed, to 1.6 %; `None` if there are no times.
    pub fn quantile(&self, quantile: f64) -> Option<Nanoseconds> {
        let total = self.total();
        let rank = ((total as f64 * quantile).ceil() as u64).clamp(1, total.max(1));
        let mut below = 0;
        let at = self.0.iter().position(|count| {
            below += count;
            below >= rank
        });
        at.map(|class| Nanoseconds::from_nanos(middle(class)))
    }
}

/// The class of a time in nanoseconds.
fn class(nanos: u64) -> usize {
    if nanos < OCTAVE as u64 {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - DIGITS;
    let digits = (nanos >> shift) as usize - OCTAVE;
    OCTAVE * (shift as usize + 1) + digits
}

fn middle(class: usize) -> u64 {
    if class < OCTAVE {
        return class as u64;
    }
    let (shift, digits) = (class / OCTAVE - 1, class % OCTAVE);
    let width = 1u64 << shift;
    ((OCTAVE + digits) as u64) * width + width / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_exact_to_a_sixtieth() {
        for exponent in 0..64 {
            for offset in [0, 1, 12_345] {
                let nanos = (1u64 << exponent) | (offset & ((1u64 << exponent) - 1));
                let estimate = middle(class(nanos));
                assert!(estimate.abs_diff(nanos) as f64 <= nanos as f64 / 60.0, "{nanos}: {estimate}");
            }
        }
        assert_eq!(class(u64::MAX), CLASSES - 1);
        assert!((0..100_000).map(class).is_sorted());
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_times() {
        let mut times: Vec<u64> = (1..=1_000).map(|n| n * n * 37).collect();
        let live = LiveTimes::default();
        times.iter().for_each(|nanos| live.record(Nanoseconds::from_nanos(*nanos)));
        times.sort_unstable();
        for (quantile, rank) in [(0.5, 500), (0.99, 990), (1.0, 1_000), (0.0, 1)] {
            let estimate = live.counts().quantile(quantile).expect("there are times").as_nanos() as f64;
            let exact = times[rank - 1] as f64;
            assert!((estimate / exact - 1.0).abs() < 0.017, "{quantile}: {estimate} for {exact}");
        }
        assert_eq!(LiveCounts::default().quantile(0.5), None);
    }

    #[test]
    fn counts_of_loops_add_up_and_subtract() {
        let (one, two) = (LiveTimes::default(), LiveTimes::default());
        (0..10).for_each(|_| one.record(Nanoseconds::from_micros(10)));
        let earlier = one.counts();
        (0..30).for_each(|_| one.record(Nanoseconds::from_micros(50)));
        let mut fresh = one.counts().since(&earlier);
        assert_eq!((fresh.total(), fresh.quantile(0.1)), (30, one.counts().quantile(0.9)));
        two.record(Nanoseconds::from_secs(1));
        fresh.merge(&two.counts());
        assert_eq!((fresh.total(), fresh.quantile(1.0)), (31, two.counts().quantile(0.5)));
    }
}
