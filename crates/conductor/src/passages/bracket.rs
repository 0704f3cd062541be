//! Between which sizes the smallest heap lies, and which size to try next.

use weighbridge_model::quantity::Bytes;

/// The first heap that is tried.
const FIRST: Bytes = Bytes::new(256 << 20);
/// Heaps are multiples of this, the least one included: HotSpot rounds up to as much, which a page of its card table covers.
const STEP: u64 = 2 << 20;
/// A heap that is too small and one that is large enough differ by a step or so much in the end, 2 %.
const APART: f64 = 1.02;
/// Starts with the smallest heap, all of which it must be large enough for: near it, that is a matter of chance.
const STARTS: usize = 3;

/// The largest heap that was too small once, and the larger ones that never were.
#[derive(Debug, Clone)]
pub(super) struct Bracket {
    too_small: Option<Bytes>,
    /// One for each start.
    large_enough: Vec<Bytes>,
    most: Bytes,
}

impl Bracket {
    /// Nothing is known yet; no heap is larger than `most`.
    pub fn up_to(most: Bytes) -> Self {
        let most = Bytes::new((most.get() / STEP * STEP).max(STEP));
        Self { too_small: None, large_enough: Vec::new(), most }
    }

    pub fn too_small(&self) -> Option<Bytes> {
        self.too_small
    }

    /// The smallest that is large enough, as far as is known.
    pub fn large_enough(&self) -> Option<Bytes> {
        self.large_enough.iter().min().copied()
    }

    /// The heap to try next: doubled or halved until there is one of each kind, then between them in the middle of the
    /// ratio, then the smallest one again. `None` where nothing is left to try.
    pub fn next(&self) -> Option<Bytes> {
        match (self.too_small, self.large_enough()) {
            (None, None) => Some(FIRST.min(self.most)),
            (None, Some(passed)) => (passed.get() > STEP).then(|| rounded(passed.get() / 2)),
            (Some(failed), None) => (failed < self.most).then(|| Bytes::new(failed.get() * 2).min(self.most)),
            (Some(failed), Some(passed)) => {
                let (low, high) = (failed.get() as f64, passed.get() as f64);
                let is_near = high <= low * APART || passed.get() - failed.get() <= STEP;
                let starts = self.large_enough.iter().filter(|heap| **heap == passed).count();
                match is_near {
                    false => Some(rounded((low * high).sqrt() as u64).min(Bytes::new(passed.get() - STEP))),
                    true => (starts < STARTS).then_some(passed),
                }
            }
        }
    }

    /// Takes in what a heap showed.
    pub fn add(&mut self, heap: Bytes, passed: bool) {
        if passed {
            self.large_enough.push(heap);
            return;
        }
        self.too_small = self.too_small.max(Some(heap));
        self.large_enough.retain(|large| *large > heap);
    }
}

fn rounded(bytes: u64) -> Bytes {
    Bytes::new(bytes.next_multiple_of(STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// Searches where `passes` says which heaps are large enough, by the number of the try.
    fn search(most: u64, passes: impl Fn(u64, usize) -> bool) -> (Bracket, usize) {
        let mut bracket = Bracket::up_to(Bytes::new(most));
        let mut tries = 0;
        while let Some(heap) = bracket.next() {
            assert!(heap.get() <= most && heap.get().is_multiple_of(STEP), "{heap}");
            bracket.add(heap, passes(heap.get(), tries));
            tries += 1;
            assert!(tries < 100, "{bracket:?}");
        }
        (bracket, tries)
    }

    #[test]
    fn every_threshold_is_found_within_two_per_cent_or_a_step_in_few_tries() {
        let mut threshold = 3_000_000;
        while threshold < 7 * GIB {
            let (bracket, tries) = search(8 * GIB, |heap, _| heap >= threshold);
            let (low, high) = (bracket.too_small().unwrap().get(), bracket.large_enough().unwrap().get());
            assert!(low < threshold && threshold <= high, "{low} < {threshold} <= {high}");
            let apart = ((low as f64 * APART) as u64).max(low + STEP);
            assert!(high <= apart, "{low} and {high} are apart");
            assert!(tries <= 16, "{tries} for {threshold}");
            threshold += threshold / 7;
        }
    }

    /// Between 60 and 66 MiB every second start passes; a single start each would end anywhere between.
    #[test]
    fn a_heap_that_passes_only_now_and_then_is_too_small() {
        for odd in [0, 1] {
            let now_and_then = |heap: u64, at: usize| heap >= 66 << 20 || (heap >= 60 << 20 && at % 2 == odd);
            let (bracket, _) = search(8 * GIB, now_and_then);
            assert_eq!(bracket.large_enough(), Some(Bytes::new(66 << 20)), "{bracket:?}");
        }
    }

    #[test]
    fn what_passes_always_or_never_ends_the_search() {
        let (always, tries) = search(GIB, |_, _| true);
        assert_eq!((always.large_enough(), always.too_small()), (Some(Bytes::new(STEP)), None));
        assert!(tries <= 8, "{tries}");
        let (never, tries) = search(3 * GIB, |_, _| false);
        assert_eq!((never.large_enough(), never.too_small()), (None, Some(Bytes::new(3 * GIB))));
        assert!(tries <= 5, "{tries}");
        let (scarce, _) = search((100 << 20) + 5, |_, _| true);
        assert_eq!(scarce.large_enough(), Some(Bytes::new(STEP)));
    }
}
