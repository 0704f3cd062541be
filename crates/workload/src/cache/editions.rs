//! Which writes of each key were sent and which are settled: what a get may be answered, at a cost that does not depend on
//! how many there were.
//!
//! Every set and every delete of a key is an edition. A server may carry out writes that overlap in any order, so when
//! the last of a group of overlapping writes is answered, only the first of them is settled: it is the oldest that may be
//! held. A get is right if its value is of an edition from the oldest when it was sent up to the newest that was sent by
//! now. A write without a good answer may be carried out at any time later, so the oldest of its key stays. If one of a
//! group was refused for want of room, the value before the group may still be held.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use weighbridge_model::quantity::Timestamp;

use super::value::{Arrived, EDITION_MOST, Origin};

/// Keys share locks, since the threads of a load share the keys.
const STRIPES: usize = 64;
/// The last bit of an edition: whether it is a delete.
const DELETE: u32 = 1;
/// The first edition is 2, so that 0 is none.
const STEP: u32 = 2;
/// The oldest edition stays.
const FROZEN: u16 = 1 << 15;
/// The first write of the group under way is a delete.
const FIRST_DELETES: u16 = 1 << 14;
/// A write of the group under way was refused.
const REFUSED: u16 = 1 << 13;
/// A refill is under way.
const REFILLING: u16 = 1 << 11;
/// The server was emptied since the newest write.
const EMPTIED: u16 = 1 << 12;
const OUTSTANDING: u16 = REFILLING - 1;
/// Editions that a value without a whole name is compared with; of more, every value is taken for right.
const CANDIDATES: u32 = 64;

/// What is kept of a key: 12 bytes.
#[derive(Debug, Clone, Copy, Default)]
struct KeyState {
    /// The newest edition sent; 0 for none.
    newest: u32,
    /// The oldest edition that may be the one held; 0 for anything, even what was there before.
    oldest: u32,
    /// Writes outstanding, and flags.
    writes: u16,
    /// Writes of the group under way, answered ones included.
    group: u16,
}

#[derive(Debug)]
pub(super) struct Editions {
    stripes: Box<[Mutex<Stripe>]>,
    /// In milliseconds; wraps after 49 days.
    now: AtomicU32,
    /// How old a value is, in milliseconds, that may have run out; `None` if none does.
    old: Option<u32>,
}

#[derive(Debug)]
struct Stripe {
    keys: Box<[KeyState]>,
    /// How often each key was replaced by a fresh one; empty without fresh keys.
    generations: Box<[u32]>,
    /// When each key was set last; empty where values do not run out.
    set_at: Box<[u32]>,
}

/// A key at a place, of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PlacedKey {
    pub place: u32,
    pub generation: u32,
}

/// What was known when a get was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sent {
    pub key: PlacedKey,
    oldest: u32,
    /// Whether its value may have run out.
    is_old: bool,
}

impl Sent {
    /// Of a request for which it does not matter what was known.
    pub const fn of(key: PlacedKey) -> Self {
        Self { key, oldest: 0, is_old: false }
    }
}

/// How a value is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Of a write before one that was settled when the get was sent.
    Stale,
    /// The same, and the settled one deleted it.
    Resurrected,
    /// Not as any one write made it, or cut.
    Torn,
    /// Of another key, or of no write that was sent.
    Foreign,
}

/// How a write is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteEnd {
    /// It was carried out.
    Done,
    /// It was not, for want of room.
    Refused,
    /// It had no good answer.
    Unknown,
}

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The key was never written.
    Compulsory,
    /// The newest write deletes it.
    Invalidated,
    /// Its time to live may be over.
    Expired,
    /// It was missed before, and its refill is under way.
    UnderWay,
    /// The server has dropped it.
    Capacity,
}

impl Wrong {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Stale => "stale: a value older than the one that was stored when the get was sent",
            Self::Resurrected => "resurrected: a value that was deleted before the get was sent",
            Self::Torn => "torn: a value that no single write has made",
            Self::Foreign => "foreign: a value of another key, or one that was never sent",
        }
    }
}

impl Editions {
    /// `ttl` is the time to live of values, in seconds.
    pub fn new(keys: u32, has_generations: bool, ttl: Option<u32>) -> Self {
        let stripe = |first: usize| {
            let count = (keys as usize).saturating_sub(first).div_ceil(STRIPES);
            let keys = vec![KeyState::default(); count].into_boxed_slice();
            let generations = vec![0; if has_generations { count } else { 0 }].into_boxed_slice();
            let set_at = vec![0; if ttl.is_some() { count } else { 0 }].into_boxed_slice();
            Mutex::new(Stripe { keys, generations, set_at })
        };
        // memcached counts whole seconds: what is set just before one begins is a second older by its clock.
        let old = ttl.map(|seconds| (seconds - 1) * 1000);
        Self { stripes: (0..STRIPES).map(stripe).collect(), now: AtomicU32::new(0), old }
    }

    /// The time, as far as it matters here.
    pub fn set_time(&self, now: Timestamp) {
        if self.old.is_some() {
            self.now.store((now.as_nanos() / 1_000_000) as u32, Ordering::Relaxed);
        }
    }

    fn stripe(&self, place: u32) -> MutexGuard<'_, Stripe> {
        self.stripes[place as usize % STRIPES].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A get or head of the key at a place is about to be sent.
    pub fn read(&self, place: u32) -> Sent {
        let stripe = self.stripe(place);
        let at = place as usize / STRIPES;
        let is_old = self
            .old
            .is_some_and(|old| self.now.load(Ordering::Relaxed).wrapping_sub(stripe.set_at[at]) >= old);
        Sent { key: stripe.key(place), oldest: stripe.keys[at].oldest, is_old }
    }

    /// A new key takes the place of the one that is there, and nothing is known of it.
    pub fn replace(&self, place: u32) -> Sent {
        let mut stripe = self.stripe(place);
        let at = place as usize / STRIPES;
        stripe.generations[at] = stripe.generations[at].wrapping_add(1);
        stripe.keys[at] = KeyState::default();
        Sent { key: stripe.key(place), oldest: 0, is_old: false }
    }

    /// The server is empty, as if every key had just been deleted. Writes whose end is not known may still be carried out.
    pub fn empty(&self) {
        for stripe in &self.stripes {
            let mut stripe = stripe.lock().unwrap_or_else(PoisonError::into_inner);
            for state in &mut stripe.keys {
                if state.writes & FROZEN == 0 && state.newest < EDITION_MOST - STEP {
                    state.newest = ((state.newest & !DELETE) + STEP) | DELETE;
                    (state.oldest, state.writes) = (state.newest, 0);
                }
                state.writes = state.writes & !REFILLING | EMPTIED;
            }
        }
    }

    /// A write of the key at a place is about to be sent; its edition.
    pub fn write(&self, place: u32, deletes: bool) -> (PlacedKey, u32) {
        let mut stripe = self.stripe(place);
        let key = stripe.key(place);
        if let Some(set_at) = stripe.set_at.get_mut(place as usize / STRIPES).filter(|_| !deletes) {
            *set_at = self.now.load(Ordering::Relaxed);
        }
        let state = &mut stripe.keys[place as usize / STRIPES];
        state.writes &= !EMPTIED;
        if state.newest >= EDITION_MOST - STEP {
            // Numbers are used up: from now on its last edition stands for all.
            state.writes |= FROZEN;
            return (key, state.newest & !DELETE | u32::from(deletes));
        }
        state.newest = ((state.newest & !DELETE) + STEP) | u32::from(deletes);
        if state.writes & FROZEN == 0 {
            if state.writes & OUTSTANDING == 0 {
                let refilling = state.writes & REFILLING;
                (state.group, state.writes) = (0, refilling | if deletes { FIRST_DELETES } else { 0 });
            }
            match (state.writes & OUTSTANDING, state.group) {
                // No more can be counted.
                (OUTSTANDING, _) | (_, u16::MAX) => state.writes |= FROZEN,
                _ => (state.writes, state.group) = (state.writes + 1, state.group + 1),
            }
        }
        (key, state.newest)
    }

    pub fn settle(&self, key: PlacedKey, end: WriteEnd) {
        let mut stripe = self.stripe(key.place);
        let is_replaced = stripe.key(key.place) != key;
        let state = &mut stripe.keys[key.place as usize / STRIPES];
        if is_replaced || state.writes & FROZEN != 0 {
            return;
        }
        match end {
            WriteEnd::Done => {}
            WriteEnd::Refused => state.writes |= REFUSED,
            WriteEnd::Unknown => {
                state.writes |= FROZEN;
                return;
            }
        }
        state.writes -= 1;
        if state.writes & (OUTSTANDING | REFUSED) == 0 {
            let first = (state.newest & !DELETE) - STEP * u32::from(state.group - 1);
            state.oldest = first | u32::from(state.writes & FIRST_DELETES != 0);
        }
    }

    /// A key that was missed will be set.
    pub fn begin_refill(&self, key: PlacedKey) {
        self.mark(key, |writes| writes | REFILLING);
    }

    /// That is over. Of several refills of a key the first to end counts.
    pub fn end_refill(&self, key: PlacedKey) {
        self.mark(key, |writes| writes & !REFILLING);
    }

    fn mark(&self, key: PlacedKey, change: impl Fn(u16) -> u16) {
        let mut stripe = self.stripe(key.place);
        if stripe.key(key.place) == key {
            let state = &mut stripe.keys[key.place as usize / STRIPES];
            state.writes = change(state.writes);
        }
    }

    /// Whether the key is still at its place.
    pub fn is_current(&self, key: PlacedKey) -> bool {
        self.stripe(key.place).key(key.place) == key
    }

    /// Whether a value that arrived for a get is right.
    pub fn judge(&self, sent: &Sent, number: u64, arrived: Arrived) -> Result<(), Wrong> {
        let own = Origin::new(number, 0).number;
        match arrived {
            Arrived::Whole(origin, _) if origin.number == own => self.judge_edition(sent, origin.edition),
            Arrived::Mixed(origin) if origin.number == own => Err(Wrong::Torn),
            Arrived::Whole(..) | Arrived::Mixed(_) | Arrived::Unknown => Err(Wrong::Foreign),
            Arrived::Short(name, length) => self.judge_short(sent, own, &name[..length]),
        }
    }

    fn judge_edition(&self, sent: &Sent, edition: u32) -> Result<(), Wrong> {
        // Nothing is settled: the value may have been there before.
        if sent.oldest == 0 {
            return Ok(());
        }
        if edition < sent.oldest {
            return Err(older_than(sent.oldest));
        }
        let is_sent = self.newest(sent).is_none_or(|newest| edition <= newest);
        if is_sent && edition & DELETE == 0 { Ok(()) } else { Err(Wrong::Foreign) }
    }

    /// Compares the beginning of a name with those of all editions that are right. Two values of n letters are the same by
    /// chance once in 64ⁿ pairs, so what is wrong is found with so much less certainty.
    fn judge_short(&self, sent: &Sent, number: u64, name: &[u8]) -> Result<(), Wrong> {
        let newest = self.newest(sent).unwrap_or(u32::MAX);
        if sent.oldest == 0 || newest.saturating_sub(sent.oldest) > STEP * CANDIDATES {
            return Ok(());
        }
        let is_edition = |edition: &u32| Origin::new(number, *edition).name().starts_with(name);
        let sets = |from: u32, to: u32| (from & !DELETE..=to).step_by(STEP as usize);
        // An edition that deletes is no value itself.
        if sets(sent.oldest + DELETE, newest).any(|edition| is_edition(&edition)) {
            return Ok(());
        }
        let far = sent.oldest.saturating_sub(STEP * CANDIDATES).max(STEP);
        match sets(far, sent.oldest).any(|edition| is_edition(&edition)) {
            true => Err(older_than(sent.oldest)),
            false => Err(Wrong::Foreign),
        }
    }

    /// Whether there can be a value.
    pub fn may_exist(&self, sent: &Sent) -> Result<(), Wrong> {
        match self.newest(sent) {
            Some(newest) if newest == sent.oldest && newest & DELETE != 0 => Err(Wrong::Resurrected),
            _ => Ok(()),
        }
    }

    /// The newest edition sent; `None` if the key has been replaced since.
    fn newest(&self, sent: &Sent) -> Option<u32> {
        self.state(sent).map(|state| state.newest)
    }

    fn state(&self, sent: &Sent) -> Option<KeyState> {
        let stripe = self.stripe(sent.key.place);
        let state = stripe.keys[sent.key.place as usize / STRIPES];
        (stripe.key(sent.key.place) == sent.key).then_some(state)
    }

    /// Why there is no value, as far as the load knows: a delete between two sets that overlap it is not seen.
    pub fn cause(&self, sent: &Sent) -> Cause {
        match self.state(sent) {
            None => Cause::Compulsory,
            Some(state) if state.writes & REFILLING != 0 => Cause::UnderWay,
            Some(state) if state.newest == 0 || state.writes & EMPTIED != 0 => Cause::Compulsory,
            Some(state) if state.newest & DELETE != 0 => Cause::Invalidated,
            // Set again since it was deleted, but for want of room not stored.
            Some(state) if state.writes & REFUSED != 0 => Cause::Capacity,
            Some(_) if sent.oldest & DELETE != 0 => Cause::Invalidated,
            Some(_) if sent.is_old => Cause::Expired,
            Some(_) => Cause::Capacity,
        }
    }
}

impl Stripe {
    fn key(&self, place: u32) -> PlacedKey {
        let generation = self.generations.get(place as usize / STRIPES).copied().unwrap_or(0);
        PlacedKey { place, generation }
    }
}

const fn older_than(oldest: u32) -> Wrong {
    if oldest & DELETE != 0 { Wrong::Resurrected } else { Wrong::Stale }
}
