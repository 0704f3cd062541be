//! The sessions of the workload `cache`, each one request, and the check of its reply.
//!
//! Which operation and which key come next depends only on the substream and on how many were drawn from it. The requests
//! that fill the cache come before all others. Nothing is allocated once each slot has sent the longest value.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_load::failures::Failures;
use weighbridge_load::framer::{ERROR_FIELD, Head};
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};
use weighbridge_load::template::RequestBuffer;
use weighbridge_model::experiment::{CacheOperation, CacheSpec, CacheStart};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

use super::draw::{Ranks, Scatter, below, key_length, unit, value_length};
use super::editions::{Cause, Editions, PlacedKey, Sent, Wrong};
use super::reply::{Carrier, ReplyMeaning, ValueReply};
use super::requests::{KeyedValue, Requests};
use super::value::{Arrived, LetterBlock, Origin};
use crate::checks::Reset;
use crate::checks::explain::{Explain, FailureLog, Noted, Words, status_line};
use crate::stream::Mix;

/// Gets and what became of them, for one variant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CacheCounts {
    pub hits: u64,
    /// Misses of keys that were never written.
    pub compulsory: u64,
    /// Misses of keys that were deleted.
    pub invalidated: u64,
    /// Misses of keys that the server has dropped.
    pub capacity: u64,
}

/// A cache's keys, laws and writes, shared by the sessions of one variant.
#[derive(Debug)]
pub(crate) struct Cache {
    spec: CacheSpec,
    carrier: Carrier,
    requests: Requests,
    block: LetterBlock,
    editions: Editions,
    mix: Mix,
    operations: Vec<CacheOperation>,
    ranks: Ranks,
    delete_ranks: Ranks,
    scatter: Scatter,
    /// Keys already set to fill it.
    filled: AtomicU32,
    counts: [AtomicU64; 4],
}

/// The key of a request.
#[derive(Debug, Clone, Copy, Default)]
struct RequestedKey {
    sent: Sent,
    /// Its number, which no other key has.
    number: u64,
    is_absent: bool,
}

impl Cache {
    pub(super) fn new(spec: &CacheSpec, carrier: Carrier, requests: Requests) -> Self {
        let operations = spec.mixed();
        Self {
            carrier,
            requests,
            block: LetterBlock::new(),
            editions: Editions::new(spec.keys, spec.fresh.get() > 0.0),
            mix: Mix::weighted(operations.iter().map(|operation| spec.mix.weight(*operation))),
            operations,
            ranks: Ranks::new(&spec.popularity, spec.keys),
            delete_ranks: Ranks::new(&spec.delete_popularity, spec.keys),
            scatter: Scatter::new(spec.keys, spec.seed),
            filled: AtomicU32::new(if spec.start == CacheStart::Warm { 0 } else { spec.keys }),
            counts: Default::default(),
            spec: spec.clone(),
        }
    }

    /// Requests that fill it before all others.
    pub fn fill(&self) -> u64 {
        u64::from(self.spec.keys.saturating_sub(self.filled.load(Ordering::Relaxed)))
    }

    /// What became of gets since this was last asked.
    pub fn take_counts(&self) -> CacheCounts {
        let [hits, compulsory, invalidated, capacity] =
            [0, 1, 2, 3].map(|at: usize| self.counts[at].swap(0, Ordering::Relaxed));
        CacheCounts { hits, compulsory, invalidated, capacity }
    }

    fn count(&self, cause: Option<Cause>) {
        let at = match cause {
            None => 0,
            Some(Cause::Compulsory) => 1,
            Some(Cause::Invalidated) => 2,
            Some(Cause::Capacity) => 3,
        };
        self.counts[at].fetch_add(1, Ordering::Relaxed);
    }

    /// The place of the next key that fills it, the most popular last.
    fn next_to_fill(&self) -> Option<u32> {
        if self.filled.load(Ordering::Relaxed) >= self.spec.keys {
            return None;
        }
        let at = self.filled.fetch_add(1, Ordering::Relaxed);
        (at < self.spec.keys).then(|| self.scatter.place(self.spec.keys - 1 - at))
    }

    fn number_of(&self, key: PlacedKey) -> u64 {
        u64::from(key.place) + u64::from(key.generation) * u64::from(self.spec.keys)
    }

    fn key(&self, sent: Sent) -> RequestedKey {
        RequestedKey { sent, number: self.number_of(sent.key), is_absent: false }
    }

    /// A key that is never stored.
    fn absent(&self, random: &mut ChaCha8Rng) -> RequestedKey {
        let number = below(random, self.spec.keys).into();
        RequestedKey { sent: Sent::default(), number, is_absent: true }
    }

    /// The key of the next request of an operation. A fresh key takes the place of one of all keys, each alike.
    fn draw(&self, operation: CacheOperation, random: &mut ChaCha8Rng) -> RequestedKey {
        let (absent, fresh) = match operation {
            CacheOperation::Get => (self.spec.absent.get(), self.spec.fresh.get()),
            CacheOperation::Head => (self.spec.absent.get(), 0.0),
            CacheOperation::Delete => (self.spec.delete_absent.get(), 0.0),
            CacheOperation::Set => (0.0, 0.0),
        };
        if absent + fresh > 0.0 {
            let u = unit(random.next_u64());
            if u < absent {
                return self.absent(random);
            }
            if u < absent + fresh {
                return self.key(self.editions.replace(below(random, self.spec.keys)));
            }
        }
        let ranks = if operation == CacheOperation::Delete { &self.delete_ranks } else { &self.ranks };
        let place = self.scatter.place(ranks.draw(random));
        self.key(self.editions.read(place))
    }

    fn value_length(&self, number: u64) -> usize {
        value_length(&self.spec, number) as usize
    }

    /// Writes a key's name: a letter that says whether it is ever stored, and its number after as many zeros as its length
    /// needs.
    fn name_key(&self, key: &RequestedKey, into: &mut Vec<u8>) {
        let length = key_length(&self.spec, key.number) as usize;
        into.clear();
        into.resize(length, b'0');
        into[0] = if key.is_absent { b'n' } else { b'k' };
        let (mut at, mut rest) = (length, key.number);
        while rest > 0 && at > 1 {
            at -= 1;
            into[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }

    fn operation_id(&self, operation: CacheOperation) -> OperationId {
        let at = self.operations.iter().position(|one| *one == operation);
        OperationId(at.unwrap_or(0) as u16)
    }
}

/// A place for a request in flight.
struct CacheSlot {
    buffer: RequestBuffer,
    check: Noted<CacheCheck>,
}

pub(crate) struct CacheSessions {
    cache: Arc<Cache>,
    random: ChaCha8Rng,
    slots: Vec<CacheSlot>,
    failures: FailureLog,
}

impl CacheSessions {
    pub fn new(cache: Arc<Cache>) -> Self {
        let failures = FailureLog::default();
        Self { cache, random: ChaCha8Rng::seed_from_u64(0), slots: Vec::new(), failures }
    }

    /// Operation, key and bytes of the key's value of what was asked last on a slot.
    pub(super) fn asked(&mut self, slot: u32) -> (CacheOperation, &[u8], usize) {
        let check = self.slots[slot as usize].check.inner();
        (check.operation, &check.name, check.length)
    }

    fn begin(&mut self, slot: u32, operation: CacheOperation, key: RequestedKey) -> RequestId {
        let CacheSlot { buffer, check } = &mut self.slots[slot as usize];
        let check = check.inner();
        let cache = &self.cache;
        check.give_up();
        check.reset();
        (check.operation, check.key) = (operation, key);
        cache.name_key(&key, &mut check.name);
        check.length = cache.value_length(key.number);
        let mut origin = Origin::new(key.number, 0);
        let deletes = operation == CacheOperation::Delete;
        if (deletes || operation == CacheOperation::Set) && !key.is_absent {
            let (placed, edition) = cache.editions.write(key.sent.key.place, deletes);
            check.unsettled = Some(placed);
            origin = Origin::new(key.number, edition);
        }
        let value = KeyedValue { key: &check.name, block: &cache.block, origin, length: check.length };
        cache.requests.fill(cache.operation_id(operation), operation, &value, buffer);
        RequestId(slot)
    }

    fn open_any(&mut self, slot: u32, named: Option<CacheOperation>) -> RequestId {
        if let Some(place) = self.cache.next_to_fill() {
            let key = self.cache.key(self.cache.editions.read(place));
            return self.begin(slot, CacheOperation::Set, key);
        }
        let cache = &self.cache;
        let operation = named.unwrap_or_else(|| match cache.operations[..] {
            [one] => one,
            _ => cache.operations[cache.mix.pick(unit(self.random.next_u64()))],
        });
        let key = cache.draw(operation, &mut self.random);
        self.begin(slot, operation, key)
    }
}

impl Sessions for CacheSessions {
    fn prepare(&mut self, slots: u32) {
        let slot = |_| CacheSlot {
            buffer: self.cache.requests.buffer(),
            check: Noted::new(CacheCheck::new(Arc::clone(&self.cache)), &self.failures),
        };
        self.slots = (0..slots).map(slot).collect();
    }

    fn rewind(&mut self, substream: u64) {
        self.random = ChaCha8Rng::seed_from_u64(substream);
        self.slots.iter_mut().for_each(|slot| slot.check.inner().give_up());
        self.failures.take();
    }

    fn open(&mut self, slot: u32) -> RequestId {
        self.open_any(slot, None)
    }

    fn open_with(&mut self, slot: u32, operation: OperationId) -> RequestId {
        let named = self.cache.operations.get(operation.index()).copied();
        self.open_any(slot, named)
    }

    fn next(&mut self, slot: u32, _reply: &Reply) -> Step {
        self.slots[slot as usize].check.inner().give_up();
        Step::End
    }

    fn request(&self, id: RequestId) -> &Rendered {
        self.slots[id.0 as usize].buffer.rendered()
    }

    fn check(&mut self, slot: u32) -> &mut dyn Check {
        &mut self.slots[slot as usize].check
    }

    fn take_failures(&mut self) -> Failures {
        self.failures.take()
    }
}

/// Checks one reply after another on a slot.
struct CacheCheck {
    cache: Arc<Cache>,
    operation: CacheOperation,
    key: RequestedKey,
    /// The key's name.
    name: Vec<u8>,
    /// Bytes of the key's values.
    length: usize,
    /// The write whose end is not known.
    unsettled: Option<PlacedKey>,
    status: u16,
    value: ValueReply,
    wrong: Option<&'static str>,
    /// What the last get was.
    kind: Option<OperationId>,
    /// The text of a reply that is no value.
    words: Words,
}

impl CacheCheck {
    fn new(cache: Arc<Cache>) -> Self {
        Self {
            value: ValueReply::new(cache.carrier),
            cache,
            operation: CacheOperation::Get,
            key: RequestedKey::default(),
            name: Vec::new(),
            length: 0,
            unsettled: None,
            status: 0,
            wrong: None,
            kind: None,
            words: Words::default(),
        }
    }

    /// A write that had no good answer may be carried out at any time.
    fn give_up(&mut self) {
        if let Some(key) = self.unsettled.take() {
            self.cache.editions.settle(key, false);
        }
    }

    /// Whether what comes is a value.
    fn is_value(&self) -> bool {
        self.operation == CacheOperation::Get && self.status == 200
    }

    /// A reply that says that there is a value.
    fn judge(&self) -> Result<(), &'static str> {
        let editions = &self.cache.editions;
        match self.operation {
            CacheOperation::Set => return Ok(()),
            _ if self.key.is_absent => return Err(Wrong::Foreign.words()),
            CacheOperation::Delete => return Ok(()),
            CacheOperation::Head => return editions.may_exist(&self.key.sent).map_err(Wrong::words),
            CacheOperation::Get => {}
        }
        if !self.value.is_whole() {
            return Err("torn: not an object with the key that was asked for and its value");
        }
        let arrived = self.value.value.arrived();
        editions.judge(&self.key.sent, self.key.number, arrived).map_err(Wrong::words)?;
        // Keys of other lengths have been refused by their names, unless these were cut.
        match (arrived, self.value.value.length() == self.length) {
            (Arrived::Whole(..) | Arrived::Short(..), true) => Ok(()),
            _ => Err(Wrong::Torn.words()),
        }
    }
}

impl Reset for CacheCheck {
    fn reset(&mut self) {
        self.status = 0;
        self.value = ValueReply::new(self.cache.carrier);
        (self.wrong, self.kind) = (None, None);
        self.words.clear();
    }
}

impl Check for CacheCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
    }

    fn data(&mut self, bytes: &[u8]) {
        if self.is_value() {
            self.value.piece(&self.cache.block, &self.name, bytes);
        } else {
            self.words.push(bytes);
        }
    }

    fn trailers(&mut self, fields: &Head<'_>) {
        self.status = fields.status;
        self.words.push(fields.field(ERROR_FIELD).unwrap_or_default());
    }

    fn done(&mut self) -> Outcome {
        let Some(meaning) = self.cache.requests.meaning(self.operation, self.status, self.words.bytes())
        else {
            self.give_up();
            return Outcome::Error(ErrorKind::Status);
        };
        if let Some(key) = self.unsettled.take() {
            self.cache.editions.settle(key, true);
        }
        let judged = if meaning == ReplyMeaning::Done { self.judge() } else { Ok(()) };
        if let Err(wrong) = judged {
            self.wrong = Some(wrong);
            return Outcome::Error(ErrorKind::Check);
        }
        if self.operation == CacheOperation::Get {
            let cause = || match self.key.is_absent {
                true => Cause::Compulsory,
                false => self.cache.editions.cause(&self.key.sent),
            };
            let is_miss = meaning == ReplyMeaning::Nothing;
            self.cache.count(is_miss.then(cause));
            self.kind = Some(OperationId(self.cache.operations.len() as u16 + u16::from(is_miss)));
        }
        Outcome::Ok
    }

    fn recorded_as(&self) -> Option<OperationId> {
        self.kind
    }
}

impl Explain for CacheCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        match (self.wrong, self.cache.carrier) {
            (Some(wrong), _) => Some(wrong.as_bytes().into()),
            (None, Carrier::Rest) => Some(status_line(self.status).into_bytes().into()),
            (None, Carrier::Commands) => Some(self.words.bytes().into()),
        }
    }
}
