//! Densities: the shares of a variant's replies in bins of equal width on the logarithmic scale.
//!
//! All variants of a point share their bins, so that densities are comparable. There is no kernel smoothing:
//! a chart draws counts.

use weighbridge_model::detail::{Density, TimeKind};
use weighbridge_model::histogram::{TimeHistogram, time_histogram};
use weighbridge_model::id::{PointId, VariantId};

use crate::question::{Question, Scope};
use crate::records::{Records, WindowSelection, add};
use crate::thresholds::BEYOND_PER_BLOCK;

/// Bins across the narrowest density of a point, limited by [`MOST_BINS`].
const NARROWEST_BINS: f64 = 16.0;
const LEAST_BINS: f64 = 40.0;
const MOST_BINS: f64 = 200.0;
/// Bins are at least this many of the histograms' three-digit steps wide; narrower ones would draw a comb.
const LEAST_STEP: f64 = 1.004;
const EDGE: f64 = 0.001;
/// Below this many replies there is no density.
const LEAST_REPLIES: u64 = 1000;

pub fn densities(question: &Question, records: &Records<'_>) -> Vec<Density> {
    let mut densities = Vec::new();
    for (point, facts) in question.points() {
        for scope in facts.scopes() {
            for time in TimeKind::ALL {
                let merged: Vec<_> = question
                    .variants()
                    .map(|(variant, variant_facts)| {
                        (variant_facts.name.clone(), merged(records, point, variant, scope, time))
                    })
                    .filter(|(_, histogram)| histogram.len() >= LEAST_REPLIES)
                    .collect();
                let histograms: Vec<&TimeHistogram> = merged.iter().map(|(_, histogram)| histogram).collect();
                let Some(bins) = Bins::new(&histograms) else { continue };
                densities.extend(merged.iter().map(|(variant, histogram)| Density {
                    variant: variant.clone(),
                    point: facts.label.clone(),
                    operation: facts.name(scope).to_owned(),
                    time,
                    from_ns: bins.from,
                    step: bins.step,
                    shares: bins.shares(histogram),
                }));
            }
        }
    }
    densities
}

fn merged(
    records: &Records<'_>,
    point: PointId,
    variant: VariantId,
    scope: Scope,
    time: TimeKind,
) -> TimeHistogram {
    let mut histogram = time_histogram();
    for cell in records.cells(point, variant, WindowSelection::Measured) {
        add(&mut histogram, cell.times(scope).kind(time));
    }
    histogram
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Bins {
    from: f64,
    step: f64,
    count: usize,
}

impl Bins {
    /// Bins over all of `histograms`; `None` if there are none.
    fn new(histograms: &[&TimeHistogram]) -> Option<Self> {
        let ranges: Vec<(f64, f64)> = histograms.iter().map(|histogram| range(histogram)).collect();
        let from = ranges.iter().map(|range| range.0).reduce(f64::min)?;
        let to = ranges.iter().map(|range| range.1).reduce(f64::max)?;
        let narrowest = ranges.iter().map(|(low, high)| (high / low).ln()).reduce(f64::min)?;
        // The last edge is beyond the largest time, which counts as below it.
        let whole = (to / from).ln() + LEAST_STEP.ln();
        let wanted = NARROWEST_BINS * whole / narrowest.max(LEAST_STEP.ln());
        let count = wanted.clamp(LEAST_BINS, MOST_BINS).min(whole / LEAST_STEP.ln()).max(1.0).floor();
        Some(Self { from, step: (whole / count).exp(), count: count as usize })
    }

    /// The share of all replies in each bin; empty bins at the end are left out.
    fn shares(&self, histogram: &TimeHistogram) -> Vec<f64> {
        let mut counts = vec![0_u64; self.count];
        let (low, high) = range(histogram);
        for value in histogram.iter_recorded() {
            let time = histogram.lowest_equivalent(value.value_iterated_to()) as f64;
            if (low..=high).contains(&time) {
                let at = ((time / self.from).ln() / self.step.ln()).max(0.0) as usize;
                counts[at.min(self.count - 1)] += value.count_since_last_iteration();
            }
        }
        let end = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        counts[..end].iter().map(|count| *count as f64 / histogram.len() as f64).collect()
    }
}

/// Ends of a density: a thousandth of the replies lies beyond either, and at least 20 replies.
fn range(histogram: &TimeHistogram) -> (f64, f64) {
    let edge = EDGE.max(BEYOND_PER_BLOCK as f64 / histogram.len().max(1) as f64);
    let low = histogram.lowest_equivalent(histogram.value_at_quantile(edge));
    (low.max(1) as f64, histogram.value_at_quantile(1.0 - edge).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` replies with times spread evenly from `from` to `to` nanoseconds.
    fn even(from: u64, to: u64, count: u64) -> TimeHistogram {
        let mut histogram = time_histogram();
        (0..count).for_each(|n| histogram.saturating_record(from + (to - from) * n / count));
        histogram
    }

    #[test]
    fn shares_are_those_that_were_counted() {
        // Of times spread evenly over 1 to 2 ms, a bin from a to b holds (b − a) / 1 ms.
        let histogram = even(1_000_000, 2_000_000, 100_000);
        let bins = Bins::new(&[&histogram]).unwrap();
        let shares = bins.shares(&histogram);
        let sum: f64 = shares.iter().sum();
        assert!((0.997..=0.999).contains(&sum), "a thousandth is left out at either end: {sum}");
        for (at, share) in shares.iter().enumerate().skip(1).take(shares.len() - 3) {
            let edge = |at: usize| bins.from * bins.step.powi(at as i32);
            let expected = (edge(at + 1) - edge(at)) / 1e6;
            assert!((share / expected - 1.0).abs() < 0.15, "bin {at}: {share} for {expected}");
        }
    }

    #[test]
    fn bins_are_shared_and_no_finer_than_the_histogram() {
        let (narrow, wide) = (even(1_000_000, 1_010_000, 5000), even(5_000_000, 50_000_000, 5000));
        let bins = Bins::new(&[&narrow, &wide]).unwrap();
        assert!(bins.count as f64 <= MOST_BINS && bins.step >= LEAST_STEP, "{bins:?}");
        assert!(bins.shares(&narrow).len() < bins.shares(&wide).len());
        let single = even(1_000_000, 1_000_000, 5000);
        let bins = Bins::new(&[&single]).unwrap();
        assert_eq!((bins.count, bins.shares(&single)), (1, vec![1.0]));
        assert_eq!(Bins::new(&[]), None);
    }
}
