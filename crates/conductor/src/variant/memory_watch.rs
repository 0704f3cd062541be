//! Checks whether memory holds as many variants at once as are started.

use std::cell::Cell;

use weighbridge_judge::steer::{CrowdHistory, CrowdRule, CrowdStep};
use weighbridge_model::quantity::Bytes;

use crate::variant::VariantError;

#[derive(Debug)]
pub(crate) struct MemoryWatch {
    rule: CrowdRule,
    started: Cell<usize>,
    largest: Cell<Bytes>,
}

impl MemoryWatch {
    pub fn new(of: usize) -> Self {
        Self { rule: CrowdRule { of }, started: Cell::new(0), largest: Cell::new(Bytes::new(0)) }
    }

    /// Notes that one more variant is ready and holds `peak`, while `available` remains.
    pub fn started(&self, peak: Bytes, available: Bytes) -> Result<(), VariantError> {
        self.started.set(self.started.get() + 1);
        self.largest.set(self.largest.get().max(peak));
        let (started, largest) = (self.started.get(), self.largest.get());
        match self.rule.next(&CrowdHistory { started, largest, available }) {
            CrowdStep::GoOn => Ok(()),
            CrowdStep::Fewer(together) => Err(VariantError::Crowded { together, largest, available }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_runs_short_while_they_start_says_how_many_fit() {
        let watch = MemoryWatch::new(6);
        let mib = |n: u64| Bytes::new(n << 20);
        watch.started(mib(10), mib(4_000)).expect("small ones fit");
        let crowded = watch.started(mib(500), mib(2_000)).expect_err("six of 500 MiB do not");
        let VariantError::Crowded { together, largest, .. } = crowded else { panic!("{crowded}") };
        // (2,000 + 2 × 500 − 256) / 1,000.
        assert_eq!((together, largest), (2, mib(500)));
    }
}
