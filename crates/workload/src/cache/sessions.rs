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
use weighbridge_load::session::{Check, FollowUp, Later, LongerTime, Reply, RequestId, Sessions, Step};
use weighbridge_load::template::RequestBuffer;
use weighbridge_load::think::time_at;
use weighbridge_model::experiment::{CacheOperation, CacheSpec, CacheStart};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::counts::{Count, Counts};
use weighbridge_model::record::{ErrorKind, Outcome};

use super::draw::{Ranks, Scatter, below, key_length, unit, value_length};
use super::editions::{Cause, Editions, PlacedKey, Sent, WriteEnd, Wrong};
use super::replay::Replay;
use super::reply::{Carrier, ReplyMeaning, ValueReply};
use super::requests::{KeyedValue, Requests};
use super::value::{Arrived, LetterBlock, Origin};
use crate::Emptying;
use crate::checks::Reset;
use crate::checks::explain::{Explain, FailureLog, Noted, Words, status_line};
use crate::stream::Mix;

/// Sets the backend's times apart from the requests.
const DELAYS: u64 = 0x6261_636b_656e_6473;

/// A cache's keys, laws and writes, shared by the sessions of one variant.
#[derive(Debug)]
pub(crate) struct Cache {
    spec: CacheSpec,
    carrier: Carrier,
    requests: Requests,
    /// `None` where nothing is sent.
    emptying: Option<Rendered>,
    block: LetterBlock,
    editions: Editions,
    mix: Mix,
    operations: Vec<CacheOperation>,
    ranks: Ranks,
    delete_ranks: Ranks,
    scatter: Scatter,
    /// Keys already set to fill it.
    filled: AtomicU32,
    /// The requests, in their order, if they come from a trace.
    replay: Option<Arc<Replay>>,
    /// Requests of it that were begun.
    replayed: AtomicU64,
}

/// Operations beside those of the mix, in the order of their numbers.
#[derive(Debug, Clone, Copy)]
enum GetKind {
    Hit,
    Miss,
    Refill,
    Lookup,
}

/// The key of a request.
#[derive(Debug, Clone, Copy, Default)]
struct RequestedKey {
    sent: Sent,
    /// Its number, which no other key has.
    number: u64,
    is_absent: bool,
}

/// A key of the request that is outstanding on a slot.
#[derive(Debug, Default)]
pub(super) struct AskedKey {
    key: RequestedKey,
    pub name: Vec<u8>,
    /// Bytes of its values.
    pub length: usize,
    /// Whether the reply has its value.
    is_found: bool,
}

impl Cache {
    pub(super) fn new(spec: &CacheSpec, carrier: Carrier, requests: Requests) -> Self {
        let operations = spec.mixed();
        Self {
            carrier,
            requests,
            emptying: None,
            block: LetterBlock::new(),
            editions: Editions::new(spec.keys, spec.fresh.get() > 0.0, spec.ttl),
            mix: Mix::weighted(operations.iter().map(|operation| spec.mix.weight(*operation))),
            operations,
            ranks: Ranks::new(&spec.popularity, spec.keys),
            delete_ranks: Ranks::new(&spec.delete_popularity, spec.keys),
            scatter: Scatter::new(spec.keys, spec.seed),
            filled: AtomicU32::new(if spec.start == CacheStart::Warm { 0 } else { spec.keys }),
            replay: None,
            replayed: AtomicU64::new(0),
            spec: spec.clone(),
        }
    }

    /// Requests that fill it before all others.
    pub fn fill(&self) -> u64 {
        u64::from(self.spec.keys.saturating_sub(self.filled.load(Ordering::Relaxed)))
    }

    pub fn emptying(&self) -> Emptying {
        match self.spec.start {
            CacheStart::Warm => Emptying::Never,
            CacheStart::Empty => Emptying::EachWindow,
            CacheStart::Cold => Emptying::Once,
        }
    }

    pub(super) fn emptied_by(self, request: Rendered) -> Self {
        Self { emptying: Some(request), ..self }
    }

    pub(super) fn replaying(self, replay: Option<Arc<Replay>>) -> Self {
        Self { replay, ..self }
    }

    pub fn emptying_request(&self) -> Option<&Rendered> {
        self.emptying.as_ref()
    }

    /// The server has been emptied.
    pub fn emptied(&self) {
        self.editions.empty();
    }

    /// The place of the next key that fills it, the most popular last, or that which the trace asks for first.
    fn next_to_fill(&self) -> Option<u32> {
        if self.filled.load(Ordering::Relaxed) >= self.spec.keys {
            return None;
        }
        let at = self.filled.fetch_add(1, Ordering::Relaxed);
        let rank = self.spec.keys.checked_sub(1 + at)?;
        Some(if self.replay.is_some() { rank } else { self.scatter.place(rank) })
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
        match &self.replay {
            None => value_length(&self.spec, number) as usize,
            Some(replay) => replay.value_length(number as u32) as usize,
        }
    }

    fn name_length(&self, number: u64) -> usize {
        match &self.replay {
            None => key_length(&self.spec, number) as usize,
            Some(replay) => replay.name_length(number as u32) as usize,
        }
    }

    /// The next request: of the trace, or drawn. Windows follow one another through a trace, whatever their substreams; it
    /// begins again after its last request.
    fn next_request(
        &self,
        random: &mut ChaCha8Rng,
        named: Option<CacheOperation>,
    ) -> (CacheOperation, RequestedKey) {
        if let Some(replay) = &self.replay {
            let request = replay.at(self.replayed.fetch_add(1, Ordering::Relaxed));
            return (request.operation, self.key(self.editions.read(request.key)));
        }
        let operation = named.unwrap_or_else(|| match self.operations[..] {
            [one] => one,
            _ => self.operations[self.mix.pick(unit(random.next_u64()))],
        });
        (operation, self.draw(operation, random))
    }

    /// Writes a key's name: a letter that says whether it is ever stored, and its number after as many zeros as its length
    /// needs.
    fn name_key(&self, key: &RequestedKey, into: &mut Vec<u8>) {
        let length = self.name_length(key.number);
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

    /// Makes `asked` this key.
    fn ask(&self, key: RequestedKey, asked: &mut AskedKey) {
        self.name_key(&key, &mut asked.name);
        asked.length = self.value_length(key.number);
        (asked.key, asked.is_found) = (key, false);
    }

    fn kind(&self, kind: GetKind) -> OperationId {
        OperationId(self.operations.len() as u16 + kind as u16)
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
    /// Of the backend's times, one a get: each variant's misses of the same gets take the same.
    delays: ChaCha8Rng,
    slots: Vec<CacheSlot>,
    failures: FailureLog,
}

impl CacheSessions {
    pub fn new(cache: Arc<Cache>) -> Self {
        let failures = FailureLog::default();
        let [random, delays] = [0, DELAYS].map(ChaCha8Rng::seed_from_u64);
        Self { cache, random, delays, slots: Vec::new(), failures }
    }

    /// What was asked last on a slot.
    pub(super) fn asked(&mut self, slot: u32) -> (CacheOperation, &[AskedKey]) {
        let check = self.slots[slot as usize].check.inner();
        (check.operation, check.asked())
    }

    fn begin(&mut self, slot: u32, operation: CacheOperation, key: RequestedKey) -> RequestId {
        let CacheSlot { buffer, check } = &mut self.slots[slot as usize];
        let check = check.inner();
        let cache = &self.cache;
        check.give_up();
        check.reset();
        (check.operation, check.delay, check.keys) = (operation, None, 1);
        let asked = &mut check.asked[0];
        cache.ask(key, asked);
        let mut origin = Origin::new(key.number, 0);
        let deletes = operation == CacheOperation::Delete;
        let writes = deletes || operation == CacheOperation::Set;
        // Nobody asks for a key again that a fresh one has replaced.
        if writes && !key.is_absent && cache.editions.is_current(key.sent.key) {
            let (placed, edition) = cache.editions.write(key.sent.key.place, deletes);
            check.unsettled = Some(placed);
            origin = Origin::new(key.number, edition);
        }
        let value = KeyedValue { key: &asked.name, block: &cache.block, origin, length: asked.length };
        cache.requests.fill(cache.operation_id(operation), operation, &value, buffer);
        RequestId(slot)
    }

    /// A get of as many keys as a batch has, the first of them given.
    fn begin_batch(&mut self, slot: u32, first: RequestedKey) -> RequestId {
        let CacheSlot { buffer, check } = &mut self.slots[slot as usize];
        let check = check.inner();
        let cache = &self.cache;
        check.give_up();
        check.reset();
        (check.operation, check.delay, check.keys) = (CacheOperation::Get, None, check.asked.len());
        for (at, asked) in check.asked.iter_mut().enumerate() {
            let key = if at == 0 { first } else { cache.draw(CacheOperation::Get, &mut self.random) };
            cache.ask(key, asked);
        }
        let names = check.asked.iter().map(|asked| &asked.name[..]);
        cache.requests.fill_batch(cache.operation_id(CacheOperation::Get), names, buffer);
        RequestId(slot)
    }

    fn open_any(&mut self, slot: u32, named: Option<CacheOperation>) -> RequestId {
        if let Some(place) = self.cache.next_to_fill() {
            let key = self.cache.key(self.cache.editions.read(place));
            return self.begin(slot, CacheOperation::Set, key);
        }
        let cache = &self.cache;
        let (operation, key) = cache.next_request(&mut self.random, named);
        if operation == CacheOperation::Get && cache.spec.batch > 1 {
            return self.begin_batch(slot, key);
        }
        let refill = cache.spec.refill.filter(|_| operation == CacheOperation::Get);
        let delay = refill.map(|law| time_at(law, 1.0 - unit(self.delays.next_u64())));
        let id = self.begin(slot, operation, key);
        self.slots[slot as usize].check.inner().delay = delay;
        id
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
        self.delays = ChaCha8Rng::seed_from_u64(substream ^ DELAYS);
        self.slots.iter_mut().for_each(|slot| slot.check.inner().give_up());
        self.failures.take();
        self.take_counts();
    }

    fn set_time(&mut self, now: Timestamp) {
        self.cache.editions.set_time(now);
    }

    fn open(&mut self, slot: u32) -> RequestId {
        self.open_any(slot, None)
    }

    fn open_with(&mut self, slot: u32, operation: OperationId) -> RequestId {
        let named = self.cache.operations.get(operation.index()).copied();
        self.open_any(slot, named)
    }

    fn next(&mut self, slot: u32, _reply: &Reply) -> Step {
        let check = self.slots[slot as usize].check.inner();
        check.give_up();
        let (Some(key), Some(delay)) = (check.missed.take(), check.delay) else { return Step::End };
        self.cache.editions.begin_refill(key);
        let follow_up = FollowUp(u64::from(key.place) << 32 | u64::from(key.generation));
        Step::Later(Later { follow_up, delay, operation: self.cache.kind(GetKind::Refill) })
    }

    fn has_follow_ups(&self) -> bool {
        self.cache.spec.refill.is_some()
    }

    fn open_follow_up(&mut self, slot: u32, FollowUp(number): FollowUp) -> RequestId {
        let key = PlacedKey { place: (number >> 32) as u32, generation: number as u32 };
        let request = self.begin(slot, CacheOperation::Set, self.cache.key(Sent::of(key)));
        self.slots[slot as usize].check.inner().is_refill = true;
        request
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

    fn take_counts(&mut self) -> Option<Counts> {
        let mut all = Counts::default();
        for slot in &mut self.slots {
            all.merge(&std::mem::take(&mut slot.check.inner().counts));
        }
        Some(all)
    }
}

/// What is wrong with a value, and its key's place among those asked for.
#[derive(Debug, Clone, Copy)]
struct WrongValue {
    words: &'static str,
    at: usize,
}

/// Checks one reply after another on a slot.
struct CacheCheck {
    cache: Arc<Cache>,
    operation: CacheOperation,
    /// As many as a batch has.
    asked: Box<[AskedKey]>,
    /// How many of them the request is for, and the index of that whose value is arriving.
    keys: usize,
    at: usize,
    /// The write whose end is not known.
    unsettled: Option<PlacedKey>,
    /// How long the backend takes if this get misses; `None` if nobody asks it.
    delay: Option<Nanoseconds>,
    /// The key that this get missed, if it can be set.
    missed: Option<PlacedKey>,
    is_refill: bool,
    status: u16,
    value: ValueReply,
    wrong: Option<WrongValue>,
    /// What the last get was.
    kind: Option<OperationId>,
    /// What became of gets since this was last asked.
    counts: Counts,
    /// The text of a reply that is no value.
    words: Words,
}

impl CacheCheck {
    fn new(cache: Arc<Cache>) -> Self {
        Self {
            value: ValueReply::new(cache.carrier),
            asked: (0..cache.spec.batch).map(|_| AskedKey::default()).collect(),
            cache,
            operation: CacheOperation::Get,
            keys: 1,
            at: 0,
            unsettled: None,
            delay: None,
            missed: None,
            is_refill: false,
            status: 0,
            wrong: None,
            kind: None,
            counts: Counts::default(),
            words: Words::default(),
        }
    }

    /// A write that had no good answer may be carried out at any time.
    fn give_up(&mut self) {
        self.end_refill();
        if let Some(key) = self.unsettled.take() {
            self.cache.editions.settle(key, WriteEnd::Unknown);
        }
    }

    fn asked(&self) -> &[AskedKey] {
        &self.asked[..self.keys]
    }

    /// Counts a get that was answered rightly: a hit if every key was found.
    fn count(&mut self) {
        let is_miss = self.asked().iter().any(|asked| !asked.is_found);
        self.kind = Some(self.cache.kind(if is_miss { GetKind::Miss } else { GetKind::Hit }));
        let RequestedKey { is_absent, sent, .. } = self.asked[0].key;
        self.missed = (is_miss && !is_absent).then_some(sent.key);
        (0..self.keys).for_each(|at| self.count_key(at));
    }

    fn count_key(&mut self, at: usize) {
        let AskedKey { key, length, is_found, .. } = &self.asked[at];
        let bytes = *length as u64;
        self.counts.add(Count::AskedBytes, bytes);
        if *is_found {
            self.counts.add(Count::HitBytes, bytes);
            return self.counts.add(Count::Hits, 1);
        }
        let cause = match key.is_absent {
            true => Cause::Compulsory,
            false => self.cache.editions.cause(&key.sent),
        };
        let cause = match cause {
            Cause::Compulsory => Count::CompulsoryMisses,
            Cause::Invalidated => Count::InvalidatedMisses,
            Cause::Expired => Count::ExpiredMisses,
            Cause::UnderWay => Count::UnderWayMisses,
            Cause::Capacity => Count::CapacityMisses,
        };
        self.counts.add(cause, 1);
    }

    fn end_refill(&mut self) {
        if std::mem::take(&mut self.is_refill) {
            self.cache.editions.end_refill(self.asked[0].key.sent.key);
        }
    }

    /// Whether what comes is a value.
    fn is_value(&self) -> bool {
        self.operation == CacheOperation::Get && self.status == 200
    }

    /// A reply that says that there is a value.
    fn judge(&self) -> Result<(), &'static str> {
        let editions = &self.cache.editions;
        let AskedKey { key, length, .. } = &self.asked[self.at];
        match self.operation {
            CacheOperation::Set => return Ok(()),
            _ if key.is_absent => return Err(Wrong::Foreign.words()),
            CacheOperation::Delete => return Ok(()),
            CacheOperation::Head => return editions.may_exist(&key.sent).map_err(Wrong::words),
            CacheOperation::Get => {}
        }
        if !self.value.is_whole() {
            return Err("torn: not an object with the key that was asked for and its value");
        }
        let arrived = self.value.value.arrived();
        editions.judge(&key.sent, key.number, arrived).map_err(Wrong::words)?;
        // Keys of other lengths have been refused by their names, unless these were cut.
        match (arrived, self.value.value.length() == *length) {
            (Arrived::Whole(..) | Arrived::Short(..), true) => Ok(()),
            _ => Err(Wrong::Torn.words()),
        }
    }
}

impl CacheCheck {
    /// Judges the value that has arrived, the one of the key at `at`.
    fn end_value(&mut self) {
        match self.judge() {
            Ok(()) => {}
            Err(words) => self.wrong = self.wrong.or(Some(WrongValue { words, at: self.at })),
        }
    }
}

impl Reset for CacheCheck {
    fn reset(&mut self) {
        (self.status, self.at) = (0, 0);
        self.value = ValueReply::new(self.cache.carrier);
        (self.wrong, self.kind, self.missed) = (None, None, None);
        self.words.clear();
    }
}

impl Check for CacheCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
    }

    fn data(&mut self, bytes: &[u8]) {
        if self.is_value() {
            self.value.piece(&self.cache.block, &self.asked[self.at].name, bytes);
        } else {
            self.words.push(bytes);
        }
    }

    fn value(&mut self, index: u16) {
        if self.asked[self.at].is_found {
            self.end_value();
        }
        self.at = usize::from(index);
        self.asked[self.at].is_found = true;
        self.value = ValueReply::new(self.cache.carrier);
    }

    fn trailers(&mut self, fields: &Head<'_>) {
        self.status = fields.status;
        self.words.push(fields.field(ERROR_FIELD).unwrap_or_default());
    }

    fn done(&mut self) -> Outcome {
        let meaning = self.cache.requests.meaning(self.operation, self.status, self.words.bytes());
        let may_be_full = self.cache.spec.may_be_full;
        let Some(meaning) = meaning.filter(|meaning| *meaning != ReplyMeaning::Refused || may_be_full) else {
            self.give_up();
            return Outcome::Error(ErrorKind::Status);
        };
        if self.is_refill {
            self.counts.add(Count::Refills, 1);
            self.end_refill();
        }
        if let Some(key) = self.unsettled.take() {
            let end = if meaning == ReplyMeaning::Refused { WriteEnd::Refused } else { WriteEnd::Done };
            self.cache.editions.settle(key, end);
        }
        if self.keys == 1 {
            self.asked[0].is_found = meaning == ReplyMeaning::Done;
        }
        if self.asked[self.at].is_found {
            self.end_value();
        }
        if self.wrong.is_some() {
            return Outcome::Error(ErrorKind::Check);
        }
        if self.operation == CacheOperation::Get {
            self.count();
        }
        Outcome::Ok
    }

    fn recorded_as(&self) -> Option<OperationId> {
        self.kind
    }

    /// Until the application has the value. What is nowhere is waited for nowhere.
    fn longer_time(&self) -> Option<LongerTime> {
        let delay = self.delay.filter(|_| self.kind.is_some() && !self.asked[0].key.is_absent)?;
        let by = if self.missed.is_some() { delay } else { Nanoseconds::ZERO };
        Some(LongerTime { operation: self.cache.kind(GetKind::Lookup), by })
    }
}

impl Explain for CacheCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        match (self.wrong, self.cache.carrier) {
            (Some(wrong), _) => Some(wrong.words.as_bytes().into()),
            (None, Carrier::Rest) => Some(status_line(self.status).into_bytes().into()),
            (None, Carrier::Commands) => Some(self.words.bytes().into()),
        }
    }

    fn example(&self) -> &[u8] {
        self.wrong.map_or(&[], |wrong| &self.asked[wrong.at].name)
    }
}
