//! A cache as the contract of services describes it, one request after another: which keys it holds, exactly. It is what
//! the services are compared with, and what an expected hit rate is simulated with.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use weighbridge_model::experiment::EvictionPolicy;

/// Keys with their values, of which only `limit` bytes are held.
#[derive(Debug)]
pub struct ModelCache<K, V> {
    policy: EvictionPolicy,
    /// Bytes of values, as [`used`](Self::used).
    limit: u64,
    used: u64,
    items: HashMap<K, HeldValue<V>>,
    /// The keys in the order in which they are evicted.
    order: BTreeMap<EvictionRank, K>,
    /// What was stored or used last has the highest.
    turn: u64,
    evictions: u64,
}

/// The lowest is evicted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EvictionRank {
    /// For `largest`: how much shorter than any value it is.
    shortness: u64,
    turn: u64,
}

#[derive(Debug)]
struct HeldValue<V> {
    value: V,
    length: u64,
    rank: EvictionRank,
}

/// What becomes of a value that is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    Created,
    Replaced,
    /// It is longer than the limit; nothing has changed.
    TooLarge,
    /// Nothing may be evicted to make room; nothing has changed.
    Full,
}

impl<K: Clone + Eq + Hash, V> ModelCache<K, V> {
    /// An empty one that holds `limit` bytes of values.
    pub fn new(policy: EvictionPolicy, limit: u64) -> Self {
        let (items, order) = (HashMap::new(), BTreeMap::new());
        Self { policy, limit, used: 0, items, order, turn: 0, evictions: 0 }
    }

    /// The value of a key, which is then the one used last.
    pub fn get<Q>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let item = self.items.get_mut(key)?;
        if self.policy == EvictionPolicy::Lru {
            let key = self.order.remove(&item.rank).expect("each item has a place");
            self.turn += 1;
            item.rank.turn = self.turn;
            self.order.insert(item.rank, key);
        }
        Some(&item.value)
    }

    /// Puts a value of so many bytes, and evicts others as long as there is no room for it.
    pub fn put(&mut self, key: K, length: u64, value: V) -> Put {
        if length > self.limit {
            return Put::TooLarge;
        }
        let old = self.items.get(&key).map(|item| (item.length, item.rank));
        let others = self.used - old.map_or(0, |(length, _)| length);
        if self.policy == EvictionPolicy::None && others + length > self.limit {
            return Put::Full;
        }
        self.make_room(old.map(|(_, rank)| rank), self.limit - length + (self.used - others));
        if let Some((old, rank)) = old {
            self.used -= old;
            self.order.remove(&rank);
        }
        // What is replaced keeps its turn, unless being stored is being used.
        let turn = match old {
            Some((_, rank)) if self.policy != EvictionPolicy::Lru => rank.turn,
            _ => {
                self.turn += 1;
                self.turn
            }
        };
        let shortness = if self.policy == EvictionPolicy::Largest { u64::MAX - length } else { 0 };
        let rank = EvictionRank { shortness, turn };
        self.used += length;
        self.order.insert(rank, key.clone());
        self.items.insert(key, HeldValue { value, length, rank });
        if old.is_some() { Put::Replaced } else { Put::Created }
    }

    /// Evicts, but not the item of rank `kept`, until at most `most` bytes are held.
    fn make_room(&mut self, kept: Option<EvictionRank>, most: u64) {
        while self.used > most {
            let next = self.order.keys().find(|rank| Some(**rank) != kept).copied();
            let key = next.and_then(|rank| self.order.remove(&rank)).expect("the kept one alone fits");
            self.used -= self.items.remove(&key).expect("each place has an item").length;
            self.evictions += 1;
        }
    }

    /// Whether the key was there.
    pub fn delete<Q>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let Some(item) = self.items.remove(key) else { return false };
        self.used -= item.length;
        self.order.remove(&item.rank);
        true
    }

    /// Bytes of the values that it holds.
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// Keys that it holds.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Keys evicted so far.
    pub const fn evictions(&self) -> u64 {
        self.evictions
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// The keys that are there after `a`, `b`, `c` of 3, 4, 3 bytes, a get of `a`, `a` replaced by 4 bytes, and `d` of 3.
    fn left(policy: EvictionPolicy) -> String {
        let mut model = ModelCache::new(policy, 11);
        for (key, length) in [("a", 3), ("b", 4), ("c", 3)] {
            assert_eq!(model.put(key, length, length), Put::Created);
        }
        assert_eq!(model.get("a"), Some(&3));
        assert_eq!(model.put("a", 4, 4), Put::Replaced);
        let full = policy == EvictionPolicy::None;
        assert_eq!(model.put("d", 3, 3), if full { Put::Full } else { Put::Created });
        assert_eq!(model.put("e", 12, 12), Put::TooLarge);
        let mut keys: Vec<_> = model.items.keys().copied().collect();
        keys.sort_unstable();
        keys.concat()
    }

    #[test]
    fn each_policy_evicts_another_key() {
        assert_eq!(left(EvictionPolicy::Fifo), "bcd");
        assert_eq!(left(EvictionPolicy::Lru), "acd");
        // `a` and `b` have 4 bytes each, and `a` was stored first.
        assert_eq!(left(EvictionPolicy::Largest), "bcd");
        assert_eq!(left(EvictionPolicy::None), "abc");
    }

    /// The oracle: a list of items in the order in which they were stored or last used, and no other state.
    struct PlainList {
        policy: EvictionPolicy,
        limit: u64,
        items: Vec<(u32, u64)>,
    }

    impl PlainList {
        fn find(&self, key: u32) -> Option<usize> {
            self.items.iter().position(|item| item.0 == key)
        }

        fn used(&mut self, at: usize) {
            if self.policy == EvictionPolicy::Lru {
                let item = self.items.remove(at);
                self.items.push(item);
            }
        }

        fn get(&mut self, key: u32) -> bool {
            let found = self.find(key);
            found.into_iter().for_each(|at| self.used(at));
            found.is_some()
        }

        fn next_evicted(&self, key: u32) -> Option<usize> {
            let mut others = (0..self.items.len()).filter(|at| self.items[*at].0 != key);
            match self.policy {
                EvictionPolicy::None => None,
                EvictionPolicy::Fifo | EvictionPolicy::Lru => others.next(),
                // The first of those that are equally large.
                EvictionPolicy::Largest => others.rev().max_by_key(|at| self.items[*at].1),
            }
        }

        fn put(&mut self, key: u32, length: u64) -> Put {
            if length > self.limit {
                return Put::TooLarge;
            }
            let others = |items: &[(u32, u64)]| {
                items.iter().filter(|item| item.0 != key).map(|item| item.1).sum::<u64>()
            };
            while others(&self.items) + length > self.limit {
                let Some(at) = self.next_evicted(key) else { return Put::Full };
                self.items.remove(at);
            }
            match self.find(key) {
                Some(at) => {
                    self.items[at].1 = length;
                    self.used(at);
                    Put::Replaced
                }
                None => {
                    self.items.push((key, length));
                    Put::Created
                }
            }
        }
    }

    #[test]
    fn every_reply_is_that_of_a_plain_list() {
        for policy in EvictionPolicy::ALL {
            let mut random = ChaCha8Rng::seed_from_u64(policy as u64);
            let mut list = PlainList { policy, limit: 1000, items: Vec::new() };
            let mut model = ModelCache::new(policy, 1000);
            for _ in 0..50_000 {
                let key = random.random_range(0..60);
                match random.random_range(0..10) {
                    0..5 => assert_eq!(model.get(&key).is_some(), list.get(key)),
                    5 => {
                        let at = list.find(key);
                        at.into_iter().for_each(|at| {
                            list.items.remove(at);
                        });
                        assert_eq!(model.delete(&key), at.is_some());
                    }
                    _ => {
                        let length = random.random_range(0..=1001) / random.random_range(1..10);
                        assert_eq!(model.put(key, length, ()), list.put(key, length));
                    }
                }
                let used: u64 = list.items.iter().map(|item| item.1).sum();
                assert_eq!((model.used(), model.len()), (used, list.items.len()));
                assert_eq!(model.is_empty(), list.items.is_empty());
            }
            assert!(model.evictions() > 1000 || policy == EvictionPolicy::None, "{policy:?}");
        }
    }
}
