//! Histograms of times.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use hdrhistogram::Histogram;

/// A histogram of times in nanoseconds, 3 significant digits, 1 ns to 1 h.
pub type TimeHistogram = Histogram<u64>;

pub fn time_histogram() -> TimeHistogram {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("constant bounds are valid")
}

/// A histogram that can be folded: a whole one takes a quarter of a megabyte however little is in it, and a run keeps
/// several of each trial until it ends. Whoever reads a folded one as a whole, or changes it, unfolds it.
#[derive(Debug, Clone)]
pub struct FoldableHistogram {
    /// Lost when it is changed. A value of each bucket that is not empty, ascending, and how many are in it.
    folded: Option<Box<[(u64, u64)]>>,
    whole: OnceLock<TimeHistogram>,
}

impl FoldableHistogram {
    /// Gives back what empty buckets take.
    pub fn fold(&mut self) {
        if self.folded.is_none() {
            self.folded =
                Some(self.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).collect());
        }
        self.whole.take();
    }

    /// Adds all times to `into`, without unfolding.
    pub fn add_to(&self, into: &mut TimeHistogram) {
        match &self.folded {
            Some(folded) => folded.iter().for_each(|(value, count)| into.saturating_record_n(*value, *count)),
            None => into.add(&**self).expect("every time histogram has the bounds of `time_histogram`"),
        }
    }
}

impl Default for FoldableHistogram {
    /// An empty one.
    fn default() -> Self {
        time_histogram().into()
    }
}

impl From<TimeHistogram> for FoldableHistogram {
    fn from(whole: TimeHistogram) -> Self {
        Self { folded: None, whole: whole.into() }
    }
}

impl PartialEq for FoldableHistogram {
    /// By what is in them, folded or not.
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Deref for FoldableHistogram {
    type Target = TimeHistogram;

    fn deref(&self) -> &TimeHistogram {
        self.whole.get_or_init(|| {
            let mut whole = time_histogram();
            self.add_to(&mut whole);
            whole
        })
    }
}

impl DerefMut for FoldableHistogram {
    fn deref_mut(&mut self) -> &mut TimeHistogram {
        // Of what is being recorded nothing is folded, and this is all that it costs.
        if self.folded.is_some() {
            let _ = &**self;
            self.folded = None;
        }
        self.whole.get_mut().expect("it was made above")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets of every width, the highest one too, and times that share a bucket.
    fn filled() -> FoldableHistogram {
        let mut times = FoldableHistogram::default();
        for value in
            [1, 2, 2_047, 2_048, 2_049, 25_000, 25_001, 7_930_123, 3_599_999_999_999, 3_600_000_000_000]
        {
            times.saturating_record_n(value, value % 5 + 1);
        }
        times
    }

    #[test]
    fn folding_changes_nothing() {
        let (whole, mut folded) = (filled(), filled());
        folded.fold();
        let mut added = time_histogram();
        folded.add_to(&mut added);
        assert_eq!(added, *whole);
        assert!(folded.whole.get().is_none(), "adding does not unfold");
        assert_eq!((folded.len(), folded.min(), folded.max()), (whole.len(), whole.min(), whole.max()));
        for quantile in [0.0, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(folded.value_at_quantile(quantile), whole.value_at_quantile(quantile));
        }
        assert_eq!((folded.mean(), folded == whole), (whole.mean(), true));
    }

    #[test]
    fn what_is_recorded_after_folding_is_in_it() {
        let (mut whole, mut folded) = (filled(), filled());
        folded.fold();
        folded.saturating_record(77);
        whole.saturating_record(77);
        assert_eq!(folded, whole);
        folded.fold();
        assert_eq!(folded, whole);
    }

    #[test]
    fn an_empty_one_is_empty_when_folded() {
        let mut times = FoldableHistogram::default();
        times.fold();
        assert!(times.is_empty());
        assert_eq!(times, FoldableHistogram::default());
    }
}
