//! The seeded request stream and the sessions that read it, each one request long.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_load::failures::Failures;
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};

use crate::Expect;
use crate::checks::Reset;
use crate::explain::FailureLog;

/// Shares of kinds of request, as rising thresholds in (0, 1].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mix(Vec<f64>);

impl Mix {
    /// Equal shares.
    pub fn even(kinds: usize) -> Self {
        Self::weighted(std::iter::repeat_n(1.0, kinds))
    }

    /// Shares in proportion to weights above zero.
    pub fn weighted(weights: impl Iterator<Item = f64>) -> Self {
        let running = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        let sums: Vec<f64> = running.collect();
        let total = sums.last().copied().unwrap_or(1.0);
        Self(sums.into_iter().map(|sum| sum / total).collect())
    }

    /// The kind at `u` in [0, 1).
    fn pick(&self, u: f64) -> usize {
        self.0.partition_point(|threshold| *threshold <= u).min(self.0.len() - 1)
    }
}

/// Sessions of one request each, drawn from one stream that all slots share: the first n requests are the same n,
/// whichever slots send them.
pub(crate) struct Stream {
    rendered: Vec<Rendered>,
    expects: Vec<Expect>,
    mix: Mix,
    random: ChaCha8Rng,
    /// Per slot the kind outstanding and, per kind, its check: made once, so that nothing is allocated later.
    slots: Vec<Slot>,
    /// What the checks note.
    failures: FailureLog,
}

struct Slot {
    kind: usize,
    checks: Vec<Box<dyn Reset + Send>>,
}

impl Stream {
    pub fn new(rendered: Vec<Rendered>, expects: Vec<Expect>, mix: Mix) -> Self {
        Self {
            rendered,
            expects,
            mix,
            random: ChaCha8Rng::seed_from_u64(0),
            slots: Vec::new(),
            failures: FailureLog::default(),
        }
    }
}

impl Sessions for Stream {
    fn prepare(&mut self, slots: u32) {
        let checks = || self.expects.iter().map(|expect| expect.check(&self.failures)).collect();
        self.slots = (0..slots).map(|_| Slot { kind: 0, checks: checks() }).collect();
    }

    fn rewind(&mut self, substream: u64) {
        self.random = ChaCha8Rng::seed_from_u64(substream);
        self.failures.take();
    }

    fn open(&mut self, slot: u32) -> RequestId {
        let kind = if self.rendered.len() == 1 { 0 } else { self.mix.pick(self.random.random()) };
        let slot = &mut self.slots[slot as usize];
        slot.kind = kind;
        slot.checks[kind].reset();
        RequestId(kind as u32)
    }

    fn next(&mut self, _slot: u32, _reply: &Reply) -> Step {
        Step::End
    }

    fn request(&self, id: RequestId) -> &Rendered {
        &self.rendered[id.0 as usize]
    }

    fn check(&mut self, slot: u32) -> &mut dyn Check {
        let slot = &mut self.slots[slot as usize];
        slot.checks[slot.kind].as_mut()
    }

    fn take_failures(&mut self) -> Failures {
        self.failures.take()
    }
}
