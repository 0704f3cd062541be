//! How many variants fit into memory at once, asked while the first block starts them.

use weighbridge_model::plan::Batches;
use weighbridge_model::quantity::Bytes;

/// The factor by which a variant's memory may grow after it is ready.
const GROWTH: u64 = 2;
/// Memory left to everything else, in MiB.
const RESERVE_MIB: u64 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrowdRule {
    /// Variants of the batch, including the baseline.
    pub of: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrowdHistory {
    pub started: usize,
    pub largest: Bytes,
    pub available: Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrowdStep {
    /// They fit, or there cannot be fewer.
    GoOn,
    Fewer(usize),
}

impl CrowdRule {
    /// Every variant, started or not, may grow to twice what the largest held when it was ready; 256 MiB are
    /// left to everything else. With a available and m held by the largest of s that are ready, n = ⌊(a + s·m
    /// − reserve) / 2m⌋ fit; never fewer than two are asked for.
    pub fn next(&self, history: &CrowdHistory) -> CrowdStep {
        let largest = history.largest.get().max(1);
        let room = history.available.get().saturating_add(largest.saturating_mul(history.started as u64));
        let fit = room.saturating_sub(RESERVE_MIB << 20) / largest.saturating_mul(GROWTH);
        let fit = usize::try_from(fit).unwrap_or(usize::MAX).max(Batches::LEAST);
        if fit < self.of { CrowdStep::Fewer(fit) } else { CrowdStep::GoOn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(of: usize, started: usize, largest_mib: u64, available_mib: u64) -> CrowdStep {
        let [largest, available] = [largest_mib, available_mib].map(|mib| Bytes::new(mib << 20));
        CrowdRule { of }.next(&CrowdHistory { started, largest, available })
    }

    #[test]
    fn small_variants_on_a_large_host_go_on() {
        assert_eq!(next(6, 1, 10, 20_000), CrowdStep::GoOn);
        assert_eq!(next(6, 6, 10, 20_000), CrowdStep::GoOn);
        assert_eq!(next(6, 1, 0, 20_000), CrowdStep::GoOn, "nothing is known of a server elsewhere");
    }

    #[test]
    fn as_many_as_fit_with_room_to_grow() {
        // 3,256 MiB and one of 500 MiB that is ready: (3,256 + 500 − 256) / 1,000 = 3.
        assert_eq!(next(6, 1, 500, 3_256), CrowdStep::Fewer(3));
        // The same host after the third: three hold 1,500 of it.
        assert_eq!(next(6, 3, 500, 2_256), CrowdStep::Fewer(3));
        assert_eq!(next(3, 3, 500, 2_256), CrowdStep::GoOn);
    }

    #[test]
    fn fewer_than_two_compare_nothing() {
        assert_eq!(next(6, 1, 500, 0), CrowdStep::Fewer(2));
        assert_eq!(next(2, 1, 500, 0), CrowdStep::GoOn);
        assert_eq!(next(1, 1, u64::MAX >> 20, 0), CrowdStep::GoOn);
    }
}
