//! Histograms of times.

use hdrhistogram::Histogram;

/// A histogram of times in nanoseconds, 3 significant digits, 1 ns to 1 h.
pub type TimeHistogram = Histogram<u64>;

pub fn time_histogram() -> TimeHistogram {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("constant bounds are valid")
}
