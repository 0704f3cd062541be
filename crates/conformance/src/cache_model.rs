//! A plain cache, as the contract describes it: slow, and in the order of its items alone.

/// The policies of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    Fifo,
    Lru,
    Largest,
    None,
}

impl Policy {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Lru => "lru",
            Self::Largest => "largest",
            Self::None => "none",
        }
    }
}

#[derive(Debug)]
struct Item {
    key: String,
    value: String,
}

#[derive(Debug)]
pub(super) struct Model {
    policy: Policy,
    limit: usize,
    /// In the order in which they were stored, or last used.
    items: Vec<Item>,
    evictions: u64,
}

impl Model {
    pub(super) const fn new(policy: Policy, limit: usize) -> Self {
        Self { policy, limit, items: Vec::new(), evictions: 0 }
    }

    pub(super) fn get(&mut self, key: &str) -> Option<String> {
        let at = self.items.iter().position(|item| item.key == key)?;
        let value = self.items[at].value.clone();
        self.used(at);
        Some(value)
    }

    /// The status of the reply.
    pub(super) fn put(&mut self, key: &str, value: String) -> u16 {
        if value.len() > self.limit {
            return 413;
        }
        loop {
            let others = self.items.iter().filter(|item| item.key != key).map(|item| item.value.len());
            if others.sum::<usize>() + value.len() <= self.limit {
                break;
            }
            let Some(at) = self.next_evicted(key) else { return 507 };
            self.items.remove(at);
            self.evictions += 1;
        }
        match self.items.iter().position(|item| item.key == key) {
            Some(at) => {
                self.items[at].value = value;
                self.used(at);
                200
            }
            None => {
                self.items.push(Item { key: key.to_owned(), value });
                201
            }
        }
    }

    /// Whether the key was there.
    pub(super) fn delete(&mut self, key: &str) -> bool {
        let before = self.items.len();
        self.items.retain(|item| item.key != key);
        self.items.len() < before
    }

    /// The object of `/memsize`.
    pub(super) fn size(&self) -> serde_json::Value {
        let used: usize = self.items.iter().map(|item| item.value.len()).sum();
        let (items, evictions, limit) = (self.items.len(), self.evictions, self.limit);
        serde_json::json!({ "memused": used, "items": items, "evictions": evictions, "limit": limit })
    }

    fn used(&mut self, at: usize) {
        if self.policy == Policy::Lru {
            let item = self.items.remove(at);
            self.items.push(item);
        }
    }

    fn next_evicted(&self, key: &str) -> Option<usize> {
        let mut others = (0..self.items.len()).filter(|at| self.items[*at].key != key);
        match self.policy {
            Policy::None => None,
            Policy::Fifo | Policy::Lru => others.next(),
            // The first of those that are equally large.
            Policy::Largest => others.rev().max_by_key(|at| self.items[*at].value.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys that are there after `a`, `b`, `c` of 3, 4, 3 bytes, a get of `a`, `a` replaced by 4 bytes, and `d` of 3.
    fn left(policy: Policy) -> String {
        let mut model = Model::new(policy, 11);
        for (key, length) in [("a", 3), ("b", 4), ("c", 3)] {
            assert_eq!(model.put(key, "x".repeat(length)), 201);
        }
        assert_eq!(model.get("a").as_deref(), Some("xxx"));
        assert_eq!(model.put("a", "yyyy".to_owned()), 200);
        let status = model.put("d", "zzz".to_owned());
        assert_eq!(status, if policy == Policy::None { 507 } else { 201 });
        let mut keys: Vec<_> = model.items.iter().map(|item| item.key.as_str()).collect();
        keys.sort_unstable();
        keys.concat()
    }

    #[test]
    fn each_policy_evicts_another_key() {
        assert_eq!(left(Policy::Fifo), "bcd");
        assert_eq!(left(Policy::Lru), "acd");
        // `a` and `b` have 4 bytes each, and `a` was stored first.
        assert_eq!(left(Policy::Largest), "bcd");
        assert_eq!(left(Policy::None), "abc");
    }
}
