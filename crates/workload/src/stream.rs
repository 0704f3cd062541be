//! The seeded request stream and the sessions that read it: each one request long, or the requests of a composition.

use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_load::failures::Failures;
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Fate, Reply, RequestId, Seen, Sessions, Step};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::Outcome;

use crate::checks::explain::FailureLog;
use crate::checks::{Reset, SeenReply};
use crate::expect::Expect;
use crate::spread::SET_ASIDE;

/// Shares of kinds of session, as ascending thresholds in (0, 1].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mix(Vec<f64>);

impl Mix {
    /// Equal shares.
    pub fn even(kinds: usize) -> Self {
        Self::weighted(std::iter::repeat_n(1.0, kinds))
    }

    /// Shares in proportion to weights. One of zero is never picked.
    pub fn weighted(weights: impl Iterator<Item = f64>) -> Self {
        let running = weights.scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        let sums: Vec<f64> = running.collect();
        let total = sums.last().copied().unwrap_or(1.0);
        Self(sums.into_iter().map(|sum| sum / total).collect())
    }

    /// The same shares among these kinds only; it picks an index of `kinds`.
    pub fn among(&self, kinds: &[usize]) -> Self {
        let before = |kind: usize| kind.checked_sub(1).map_or(0.0, |last| self.0[last]);
        Self::weighted(kinds.iter().map(|kind| self.0[*kind] - before(*kind)))
    }

    /// The kind at `u` in [0, 1).
    pub fn pick(&self, u: f64) -> usize {
        self.0.partition_point(|threshold| *threshold <= u).min(self.0.len() - 1)
    }
}

/// Sessions drawn from one stream that all slots share: the first n are the same n, whichever slots send them. A session is
/// one request, unless its request stands first in a composition: those that follow it in the list belong to it.
pub(crate) struct Stream {
    rendered: Vec<Rendered>,
    expects: Vec<Arc<dyn Expect>>,
    mix: Mix,
    /// Per operation its kinds and their shares.
    by_operation: Vec<(Vec<usize>, Mix)>,
    random: ChaCha8Rng,
    /// Per slot the kind outstanding and, per kind, its check, created once so that nothing is allocated later.
    slots: Vec<Slot>,
    /// Texts noted by the checks.
    failures: FailureLog,
    /// What was seen of single requests, if these are kept: then memory is reserved.
    seen: Vec<Seen>,
}

struct Slot {
    kind: usize,
    checks: Vec<Box<dyn Reset + Send>>,
}

impl Stream {
    pub fn new(rendered: Vec<Rendered>, expects: Vec<Arc<dyn Expect>>, mix: Mix) -> Self {
        let last = rendered.iter().map(|rendered| rendered.operation().index()).max().unwrap_or(0);
        let kinds_of = |operation: usize| {
            let begins = |kind: usize| rendered[kind].session().is_none_or(|place| place.is_first);
            let is_of = |kind: &usize| rendered[*kind].operation().index() == operation && begins(*kind);
            let kinds: Vec<usize> = (0..rendered.len()).filter(is_of).collect();
            let mix = mix.among(&kinds);
            (kinds, mix)
        };
        let by_operation = (0..=last).map(kinds_of).collect();
        let random = ChaCha8Rng::seed_from_u64(0);
        // A relay's measurement is only useful per request.
        let keeps = expects.iter().any(|expect| expect.is_kept());
        Self {
            rendered,
            expects,
            mix,
            by_operation,
            random,
            slots: Vec::new(),
            failures: FailureLog::default(),
            seen: Vec::with_capacity(if keeps { SET_ASIDE } else { 0 }),
        }
    }

    fn begin(&mut self, slot: u32, kind: usize) -> RequestId {
        let slot = &mut self.slots[slot as usize];
        slot.kind = kind;
        slot.checks[kind].reset();
        RequestId(kind as u32)
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
        self.seen.clear();
    }

    fn open(&mut self, slot: u32) -> RequestId {
        let kind = if self.rendered.len() == 1 { 0 } else { self.mix.pick(self.random.random()) };
        self.begin(slot, kind)
    }

    fn open_with(&mut self, slot: u32, operation: OperationId) -> RequestId {
        let kind = match self.by_operation.get(operation.index()) {
            Some((kinds, _)) if kinds.len() == 1 => kinds[0],
            Some((kinds, mix)) if kinds.len() > 1 => kinds[mix.pick(self.random.random())],
            // No request has it: the load was made for another workload.
            _ => return self.open(slot),
        };
        self.begin(slot, kind)
    }

    /// Only a right reply leads on: what comes next would ask for what it said.
    fn next(&mut self, slot: u32, reply: &Reply) -> Step {
        let kind = self.slots[slot as usize].kind;
        match self.rendered[kind].session() {
            Some(place) if !place.is_last && reply.outcome == Outcome::Ok => {
                Step::Send(self.begin(slot, kind + 1))
            }
            _ => Step::End,
        }
    }

    fn request(&self, id: RequestId) -> &Rendered {
        &self.rendered[id.0 as usize]
    }

    fn check(&mut self, slot: u32) -> &mut dyn Check {
        let slot = &mut self.slots[slot as usize];
        slot.checks[slot.kind].as_mut()
    }

    fn over(&mut self, slot: u32, request: RequestId, fate: Fate) {
        let kind = request.0 as usize;
        let SeenReply { status, length, relayed } = match fate {
            Fate::Sent => self.slots[slot as usize].checks[kind].seen(),
            Fate::NeverSent => SeenReply::default(),
        };
        self.seen.push(Seen { size: self.expects[kind].size(), status, length, relayed });
    }

    fn take_seen(&mut self) -> Vec<Seen> {
        // The reserved memory is kept for the next window.
        let taken = self.seen.clone();
        self.seen.clear();
        taken
    }

    fn take_failures(&mut self) -> Failures {
        self.failures.take()
    }
}
