//! The cache of the workload `cache`: values by key within a limit, and what is evicted to make room.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use axum::body::Bytes;
use hashlink::LinkedHashMap;

use crate::{number, refusal, variable};

/// Limits that the contract allows, in bytes of values.
const LIMITS: RangeInclusive<usize> = 1..=1_000_000_000_000;
const DEFAULT_LIMIT: usize = 64 << 20;

/// What is evicted to make room.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Policy {
    /// What was stored first.
    Fifo,
    /// What was used least recently.
    Lru,
    /// The largest value; of several, the one stored first.
    Largest,
    /// Nothing: what does not fit is refused.
    None,
}

/// What became of a value that was put.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Put {
    Created,
    Replaced,
    TooLarge,
    Full,
}

/// What a cache holds.
#[derive(Clone, Copy)]
pub struct Size {
    /// Bytes of values.
    pub used: usize,
    pub items: usize,
    pub evictions: u64,
    pub limit: usize,
}

type Key = Arc<[u8]>;

struct Item {
    value: Bytes,
    /// How many were stored before it.
    number: u64,
}

pub struct Cache {
    limit: usize,
    policy: Policy,
    /// In the order in which `fifo` and `lru` evict them.
    items: LinkedHashMap<Key, Item>,
    /// In the order in which `largest` evicts them; empty with other policies.
    largest: BTreeMap<(Reverse<usize>, u64), Key>,
    used: usize,
    evictions: u64,
    /// How many keys were stored, replacements apart.
    stored: u64,
}

impl Cache {
    /// An empty cache as the environment configures it. The error is the line for stderr.
    pub fn read() -> Result<Self, String> {
        let limit = variable("CACHE_LIMIT").map_or(Ok(DEFAULT_LIMIT), |text| {
            let limit = number(&text).filter(|limit| LIMITS.contains(limit));
            let allowed = format!("{} to {} bytes", LIMITS.start(), LIMITS.end());
            limit.ok_or_else(|| refusal("CACHE_LIMIT", &text, &allowed))
        })?;
        let policy = match variable("CACHE_POLICY").as_deref() {
            Some("fifo") => Policy::Fifo,
            None | Some("lru") => Policy::Lru,
            Some("largest") => Policy::Largest,
            Some("none") => Policy::None,
            Some(text) => {
                return Err(refusal("CACHE_POLICY", text, "`fifo`, `lru`, `largest`, `none`"));
            }
        };
        if let Some(text) = variable("CACHE_LOAD_FACTOR") {
            return Err(refusal("CACHE_LOAD_FACTOR", &text, "nothing, since this table's is fixed"));
        }
        Ok(Self::new(limit, policy))
    }

    fn new(limit: usize, policy: Policy) -> Self {
        let (items, largest) = (LinkedHashMap::new(), BTreeMap::new());
        Self { limit, policy, items, largest, used: 0, evictions: 0, stored: 0 }
    }

    pub fn get(&mut self, key: &[u8]) -> Option<Bytes> {
        let item = match self.policy {
            Policy::Lru => self.items.to_back(key).map(|item| &*item),
            _ => self.items.get(key),
        };
        item.map(|item| item.value.clone())
    }

    /// Stores a value. The old value of its key makes room, and the key itself is not evicted.
    pub fn put(&mut self, key: &[u8], value: Bytes) -> Put {
        if value.len() > self.limit {
            return Put::TooLarge;
        }
        let old = self.items.get(key).map(|item| item.value.len());
        while self.used - old.unwrap_or(0) + value.len() > self.limit {
            let Some(other) = self.next_evicted(key) else { return Put::Full };
            self.remove(&other);
            self.evictions += 1;
        }
        if old.is_some() {
            self.replace(key, value);
            Put::Replaced
        } else {
            self.create(key, value);
            Put::Created
        }
    }

    /// Whether the key was there.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let Some(item) = self.items.remove(key) else { return false };
        self.used -= item.value.len();
        self.largest.remove(&rank(&item));
        true
    }

    pub fn size(&self) -> Size {
        Size { used: self.used, items: self.items.len(), evictions: self.evictions, limit: self.limit }
    }

    /// As it was at first.
    pub fn reset(&mut self) {
        *self = Self::new(self.limit, self.policy);
    }

    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The next key to be evicted other than this one.
    fn next_evicted(&self, key: &[u8]) -> Option<Key> {
        let is_other = |other: &&Key| ***other != *key;
        match self.policy {
            Policy::Fifo | Policy::Lru => self.items.keys().find(is_other).cloned(),
            Policy::Largest => self.largest.values().find(is_other).cloned(),
            Policy::None => None,
        }
    }

    fn create(&mut self, key: &[u8], value: Bytes) {
        let key = Key::from(key);
        self.used += value.len();
        let item = Item { value, number: self.stored };
        self.stored += 1;
        if self.policy == Policy::Largest {
            self.largest.insert(rank(&item), Key::clone(&key));
        }
        self.items.insert(key, item);
    }

    /// Gives a key that is there another value. It keeps its place, but that of the least recent use.
    fn replace(&mut self, key: &[u8], value: Bytes) {
        let item = match self.policy {
            Policy::Lru => self.items.to_back(key),
            _ => self.items.get_mut(key),
        };
        let Some(item) = item else { return };
        self.used = self.used - item.value.len() + value.len();
        let before = rank(item);
        item.value = value;
        if let Some(key) = self.largest.remove(&before) {
            self.largest.insert(rank(item), key);
        }
    }
}

/// Its place in the order of `largest`.
fn rank(item: &Item) -> (Reverse<usize>, u64) {
    (Reverse(item.value.len()), item.number)
}
