//! What a workload `cache` asks for in the long run, and what share of its gets a cache of some size should answer.
//!
//! Che's approximation (Che, Tung and Wang, 2002; Fricker, Robert and Roberts, 2012): an item leaves a cache a fixed time
//! T after it was last used (LRU) or stored (FIFO; Martina, Garetto and Leonardi, 2014), and T is such that the cache holds
//! on average what it may. Values differ in length, so it is their bytes that are added up.
//!
//! Requests for a key come at random, at rates in units of one request of the load: it is *used* at rate r (gets, heads
//! and sets), *stored* at rate a (sets, and gets if misses are refilled) and *removed* at rate d (deletes). The key is by
//! turns in the cache and out of it. It is out for 1/a on average. It is in for D:
//!
//! - LRU: a gap between uses is cut by T and by a delete; its mean is A = (1 − e^−(r+d)T) / (r + d). A share r A of the gaps
//!   ends with a use, so D = A / (1 − r A).
//! - FIFO: the time is cut by T and by a delete; D = (1 − e^−dT) / d, and T without deletes.
//!
//! The key is there in a share D / (D + 1/a) of the time, and a get finds it with that probability. With r = a and d = 0
//! this is 1 − e^−rT for LRU and rT / (1 + rT) for FIFO, as in the papers. A key that a fresh one replaces is never asked
//! for again, and takes room for the rest of its T.

use std::ops::Range;
use std::sync::Arc;

use weighbridge_model::experiment::{CacheOperation, CacheSpec, CacheStart, EvictionPolicy, Popularity};
use weighbridge_model::quantity::{Bytes, Ratio};

use super::draw::{Ranks, Scatter, key_length, value_length};
use super::model_cache::ModelCache;
use super::replay::Replay;

/// Keys whose lengths are added up one by one; beyond, the mean of so many stands for all.
const EXACT_KEYS: u32 = 1 << 20;
/// The most popular keys stand alone; of those behind them, neighbours whose ranks differ by less than 1/1024 are taken
/// together.
const LONE_KEYS: u32 = 4096;
const NEIGHBOURS: u32 = 1024;
/// Requests of a trace that are tried.
const SIMULATED_MOST: usize = 2_000_000;
/// Halvings of the interval in which T is sought.
const HALVINGS: u32 = 100;

/// What the keys of a workload are asked, and how long they are.
#[derive(Debug, Clone)]
pub struct CacheForecast {
    groups: Vec<KeyGroup>,
    keys: u64,
    key_bytes: f64,
    value_bytes: f64,
    /// Rate of gets, those for keys that cannot be there included.
    all_gets: f64,
    /// Rate at which one key gives its place to a fresh one.
    replaced: f64,
    refills: bool,
    is_filled: bool,
    /// Requests that are tried one after another, in place of all rates.
    replay: Option<Arc<Replay>>,
}

/// Keys that are asked for alike.
#[derive(Debug, Clone, Copy)]
struct KeyGroup {
    keys: f64,
    /// Bytes of their values together.
    bytes: f64,
    /// Rates of one key.
    gets: f64,
    others: f64,
    sets: f64,
    deletes: f64,
}

/// What a cache should hold of a workload, and find.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedHits {
    /// Of all gets.
    pub hit_rate: Ratio,
    /// Keys that it holds and that are still asked for.
    pub held: u64,
    /// Whether all keys have room.
    pub is_all: bool,
    /// How many requests of a trace it was found with, one after another; `None` where a formula gives it.
    pub simulated: Option<u64>,
}

impl CacheForecast {
    pub(super) fn new(spec: &CacheSpec, refills: bool) -> Self {
        // In units of lookups: a get is one of each of its keys.
        let weight = |operation| match operation {
            CacheOperation::Get => spec.mix.get * f64::from(spec.batch),
            _ => spec.mix.weight(operation),
        };
        let total: f64 = CacheOperation::ALL.into_iter().map(weight).sum();
        let share = |operation, of: f64| weight(operation) / total * of;
        let (absent, fresh) = (spec.absent.get(), spec.fresh.get());
        let gets = share(CacheOperation::Get, (1.0 - absent - fresh).max(0.0));
        let heads = share(CacheOperation::Head, 1.0 - absent);
        let sets = share(CacheOperation::Set, 1.0);
        let deletes = share(CacheOperation::Delete, 1.0 - spec.delete_absent.get());
        let used = shares(&spec.popularity, spec.keys);
        let deleted = shares(&spec.delete_popularity, spec.keys);
        let lengths = KeyLengths::new(spec);
        let groups = groups(spec.keys).zip(used.into_iter().zip(deleted)).map(|(ranks, (used, deleted))| {
            let keys = f64::from(ranks.end - ranks.start);
            KeyGroup {
                keys,
                bytes: lengths.values(&ranks),
                gets: gets * used / keys,
                others: heads * used / keys,
                sets: sets * used / keys,
                deletes: deletes * deleted / keys,
            }
        });
        Self {
            groups: groups.collect(),
            keys: spec.keys.into(),
            key_bytes: lengths.mean_key * f64::from(spec.keys),
            value_bytes: lengths.values(&(0..spec.keys)),
            all_gets: share(CacheOperation::Get, 1.0),
            replaced: share(CacheOperation::Get, fresh) / f64::from(spec.keys),
            refills,
            is_filled: spec.start == CacheStart::Warm,
            replay: None,
        }
    }

    /// Of the requests of a trace.
    pub(super) fn of_trace(spec: &CacheSpec, replay: &Arc<Replay>) -> Self {
        let keys = 0..replay.keys();
        let (names, values) =
            (keys.clone().map(|key| replay.name_length(key)), keys.map(|key| replay.value_length(key)));
        Self {
            groups: Vec::new(),
            keys: replay.keys().into(),
            key_bytes: names.map(f64::from).sum(),
            value_bytes: values.map(f64::from).sum(),
            all_gets: replay.count(CacheOperation::Get) as f64,
            replaced: 0.0,
            refills: spec.refill.is_some(),
            is_filled: spec.start == CacheStart::Warm,
            replay: Some(Arc::clone(replay)),
        }
    }

    /// The number of keys.
    pub const fn keys(&self) -> u64 {
        self.keys
    }

    /// Bytes of the names of all keys.
    pub fn key_bytes(&self) -> Bytes {
        Bytes::new(self.key_bytes.round() as u64)
    }

    /// Bytes of the values of all keys: the working set.
    pub fn value_bytes(&self) -> Bytes {
        Bytes::new(self.value_bytes.round() as u64)
    }

    /// What a cache that holds `limit` bytes of values should find in the long run; `None` where there is no formula for
    /// its policy, or no get.
    pub fn expect(&self, policy: EvictionPolicy, limit: Bytes) -> Option<ExpectedHits> {
        if let Some(replay) = &self.replay {
            return self.simulate(replay, policy, limit);
        }
        if !matches!(policy, EvictionPolicy::Lru | EvictionPolicy::Fifo) || self.all_gets == 0.0 {
            return None;
        }
        let limit = limit.get() as f64;
        if self.groups.iter().all(|group| self.rates(group).stored == 0.0) {
            return self.expect_filled(limit);
        }
        let bytes_at =
            |time: f64| self.groups.iter().map(|group| self.held(group, policy, time).bytes).sum::<f64>();
        // A time in which the rarest key is asked for many times. Fresh keys fill every cache in the end.
        let slowest = self.groups.iter().map(|group| self.rates(group).used).filter(|rate| *rate > 0.0);
        let longest = 1e6 / slowest.fold(1.0, f64::min);
        let is_all = bytes_at(longest) <= limit;
        let time = if is_all { longest } else { halved(longest, |time| bytes_at(time) <= limit) };
        let (mut hits, mut held) = (0.0, 0.0);
        for group in &self.groups {
            let there = self.held(group, policy, time).share;
            hits += there * group.gets * group.keys;
            held += there * group.keys;
        }
        let hit_rate = Ratio::new((hits / self.all_gets).clamp(0.0, 1.0));
        Some(ExpectedHits { hit_rate, held: held.round() as u64, is_all, simulated: None })
    }

    /// What a cache finds of a trace that is asked of it once, one request after another: a refill is there for the next.
    fn simulate(&self, replay: &Replay, policy: EvictionPolicy, limit: Bytes) -> Option<ExpectedHits> {
        let mut cache = ModelCache::new(policy, limit.get());
        let length = |key| u64::from(replay.value_length(key));
        for key in (0..if self.is_filled { replay.keys() } else { 0 }).rev() {
            cache.put(key, length(key), ());
        }
        let (mut gets, mut hits) = (0u64, 0u64);
        let tried = &replay.requests()[..replay.requests().len().min(SIMULATED_MOST)];
        for request in tried {
            match request.operation {
                CacheOperation::Get => {
                    let is_hit = cache.get(&request.key).is_some();
                    (gets, hits) = (gets + 1, hits + u64::from(is_hit));
                    if !is_hit && self.refills {
                        cache.put(request.key, length(request.key), ());
                    }
                }
                CacheOperation::Set => {
                    cache.put(request.key, length(request.key), ());
                }
                CacheOperation::Delete => {
                    cache.delete(&request.key);
                }
                CacheOperation::Head => {
                    cache.get(&request.key);
                }
            }
        }
        (gets > 0).then(|| ExpectedHits {
            hit_rate: Ratio::new(hits as f64 / gets as f64),
            held: cache.len() as u64,
            is_all: self.value_bytes <= limit.get() as f64,
            simulated: Some(tried.len() as u64),
        })
    }

    /// What a cache finds that is filled once, the most popular key last, and where nothing is stored afterwards.
    fn expect_filled(&self, limit: f64) -> Option<ExpectedHits> {
        if !self.is_filled || self.groups.iter().any(|group| self.rates(group).removed > 0.0) {
            return None;
        }
        let (mut bytes, mut hits, mut held) = (0.0, 0.0, 0.0);
        for group in &self.groups {
            let part = ((limit - bytes) / group.bytes).clamp(0.0, 1.0);
            (bytes, held) = (bytes + group.bytes, held + part * group.keys);
            hits += part * group.gets * group.keys;
        }
        let hit_rate = Ratio::new((hits / self.all_gets).min(1.0));
        Some(ExpectedHits { hit_rate, held: held.round() as u64, is_all: bytes <= limit, simulated: None })
    }

    /// How one key of a group fares. A fresh key takes the place of one that is there: with refills it is stored at once,
    /// without them it is not there.
    fn rates(&self, group: &KeyGroup) -> KeyRates {
        let KeyGroup { gets, others, sets, deletes, .. } = *group;
        let (used, stored) = (gets + others + sets, if self.refills { gets + sets } else { sets });
        match self.refills {
            true => KeyRates { used: used + self.replaced, stored: stored + self.replaced, removed: deletes },
            false => KeyRates { used, stored, removed: deletes + self.replaced },
        }
    }

    /// What a cache whose items leave after `time` holds of a group.
    fn held(&self, group: &KeyGroup, policy: EvictionPolicy, time: f64) -> Held {
        let rates = self.rates(group);
        let is_lru = policy == EvictionPolicy::Lru;
        let ended = if is_lru { rates.used + rates.removed } else { rates.removed };
        let cut = cut_mean(ended, time);
        let stay = if is_lru { cut / (1.0 - rates.used * cut).max(f64::MIN_POSITIVE) } else { cut };
        let share = match rates.stored * stay {
            stays if stays.is_finite() => stays / (1.0 + stays),
            _ => 1.0,
        };
        // A key that a fresh one replaces has an age of at most T, and stays for what is left of it.
        let left = if self.replaced > 0.0 { time - mean_age(ended, time) } else { 0.0 };
        Held { share, bytes: group.bytes * share * (1.0 + self.replaced * left) }
    }
}

/// Rates of one key, in units of a request of the load.
#[derive(Debug, Clone, Copy)]
struct KeyRates {
    used: f64,
    stored: f64,
    removed: f64,
}

#[derive(Debug, Clone, Copy)]
struct Held {
    /// Share of the time in which a key is there.
    share: f64,
    bytes: f64,
}

/// The mean of an exponential time of this rate, cut at `most`: (1 − e^(−rate · most)) / rate.
fn cut_mean(rate: f64, most: f64) -> f64 {
    if rate * most < 1e-9 { most } else { -(-rate * most).exp_m1() / rate }
}

/// The mean of an exponential time of this rate, given that it is below `most`.
fn mean_age(rate: f64, most: f64) -> f64 {
    let x = rate * most;
    // Near zero all times are alike.
    if x < 1e-6 { most / 2.0 } else { 1.0 / rate - most / x.exp_m1() }
}

/// The largest time up to `most` at which `fits` holds, which it does up to some time.
fn halved(most: f64, fits: impl Fn(f64) -> bool) -> f64 {
    // Times span many orders of magnitude, so it is their logarithm that is halved.
    let (mut low, mut high) = (-30.0, most.ln());
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if fits(middle.exp()) { low = middle } else { high = middle }
    }
    low.exp()
}

/// Ranks that are taken together.
fn groups(keys: u32) -> impl Iterator<Item = Range<u32>> {
    let mut next = 0;
    std::iter::from_fn(move || {
        let from = next;
        let size = if from < LONE_KEYS { 1 } else { from / NEIGHBOURS };
        next = from.saturating_add(size).min(keys);
        (from < keys).then_some(from..next)
    })
}

/// The share of each group in all requests.
fn shares(law: &Popularity, keys: u32) -> Vec<f64> {
    let ranks = Ranks::new(law, keys);
    let weight = |group: Range<u32>| match keys <= EXACT_KEYS {
        true => group.map(|rank| ranks.weight(rank)).sum::<f64>(),
        // Neighbours are so alike that the one in the middle stands for all.
        false => group.len() as f64 * ranks.weight(group.start + (group.end - group.start) / 2),
    };
    let weights: Vec<f64> = groups(keys).map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// Lengths of names and values.
struct KeyLengths {
    /// Bytes of the values of all ranks before each, where there are few enough.
    running: Vec<f64>,
    mean_value: f64,
    mean_key: f64,
}

impl KeyLengths {
    fn new(spec: &CacheSpec) -> Self {
        let counted = spec.keys.min(EXACT_KEYS);
        let scatter = Scatter::new(spec.keys, spec.seed);
        let (mut value, mut key) = (0.0, 0.0);
        let mut running = vec![0.0];
        for rank in 0..counted {
            let number = u64::from(scatter.place(rank));
            value += f64::from(value_length(spec, number));
            key += f64::from(key_length(spec, number));
            running.push(value);
        }
        let counted = f64::from(counted);
        Self { running, mean_value: value / counted, mean_key: key / counted }
    }

    /// Bytes of the values of these ranks.
    fn values(&self, ranks: &Range<u32>) -> f64 {
        match (self.running.get(ranks.start as usize), self.running.get(ranks.end as usize)) {
            (Some(start), Some(end)) => end - start,
            _ => ranks.len() as f64 * self.mean_value,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngCore, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use weighbridge_model::experiment::CacheMix;

    use super::super::draw::{below, unit};
    use super::*;

    fn spec(keys: u32, popularity: &str, value: &str) -> CacheSpec {
        CacheSpec {
            keys,
            popularity: popularity.parse().expect("a law"),
            value: value.parse().expect("a law"),
            mix: CacheMix { get: 1.0, set: 0.0, delete: 0.0, head: 0.0 },
            ..CacheSpec::default()
        }
    }

    /// The share of gets that a model cache answers, measured over the last `counted` of the requests.
    fn simulated(
        spec: &CacheSpec,
        refills: bool,
        policy: EvictionPolicy,
        limit: u64,
        counts: [u32; 2],
    ) -> f64 {
        let mut cache = ModelCache::new(policy, limit);
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let (ranks, deletes) =
            (Ranks::new(&spec.popularity, spec.keys), Ranks::new(&spec.delete_popularity, spec.keys));
        let scatter = Scatter::new(spec.keys, spec.seed);
        let lengths: Vec<u64> = (0..spec.keys).map(|key| value_length(spec, key.into()).into()).collect();
        let mut generations = vec![0u32; spec.keys as usize];
        let weights = CacheOperation::ALL.map(|operation| spec.mix.weight(operation));
        let [left_out, counted] = counts;
        let (mut gets, mut hits) = (0u64, 0u64);
        for at in 0..left_out + counted {
            let mut u = unit(random.next_u64()) * weights.iter().sum::<f64>();
            let drawn = CacheOperation::ALL.into_iter().find(|operation| {
                u -= spec.mix.weight(*operation);
                u < 0.0
            });
            let operation = drawn.unwrap_or(CacheOperation::Get);
            let is_fresh = operation == CacheOperation::Get && unit(random.next_u64()) < spec.fresh.get();
            let law = if operation == CacheOperation::Delete { &deletes } else { &ranks };
            let place =
                scatter.place(if is_fresh { below(&mut random, spec.keys) } else { law.draw(&mut random) });
            generations[place as usize] += u32::from(is_fresh);
            let key = (place, generations[place as usize]);
            let length = lengths[place as usize];
            match operation {
                CacheOperation::Get => {
                    let found = cache.get(&key).is_some();
                    gets += u64::from(at >= left_out);
                    hits += u64::from(at >= left_out && found);
                    if refills && !found {
                        cache.put(key, length, ());
                    }
                }
                CacheOperation::Set => {
                    cache.put(key, length, ());
                }
                CacheOperation::Delete => {
                    cache.delete(&key);
                }
                CacheOperation::Head => {
                    cache.get(&key);
                }
            }
        }
        hits as f64 / gets as f64
    }

    #[track_caller]
    fn agrees(spec: &CacheSpec, refills: bool, policy: EvictionPolicy, limit: u64, counts: [u32; 2]) {
        let expected =
            CacheForecast::new(spec, refills).expect(policy, Bytes::new(limit)).expect("a formula");
        let found = simulated(spec, refills, policy, limit, counts);
        let words = format!("{} {} {policy:?}: {found}, {expected:?}", spec.popularity, spec.value);
        assert!((found - expected.hit_rate.get()).abs() < 0.01, "{words}");
        assert!(!expected.is_all, "{words}");
    }

    const KEYS: u32 = 100_000;

    /// 10⁵ keys, of which 10⁴ have room, each of one byte.
    #[test]
    fn hit_rates_are_within_a_point_of_a_simulated_cache() {
        for popularity in ["zipf:0.8", "zipf:0.99", "zipf:1.2", "uniform"] {
            for policy in [EvictionPolicy::Lru, EvictionPolicy::Fifo] {
                agrees(&spec(KEYS, popularity, "1"), true, policy, 10_000, [200_000, 500_000]);
            }
        }
    }

    #[test]
    fn values_of_many_lengths_fill_their_bytes() {
        for value in ["fb_value", "uniform:1,1000", "list:10=9,5000=1"] {
            for policy in [EvictionPolicy::Lru, EvictionPolicy::Fifo] {
                let spec = spec(KEYS, "zipf:0.99", value);
                let limit = CacheForecast::new(&spec, true).value_bytes().get() / 10;
                agrees(&spec, true, policy, limit, [200_000, 500_000]);
            }
        }
    }

    #[test]
    fn sets_deletes_and_fresh_keys_have_their_part() {
        let mixed = CacheMix { get: 70.0, set: 15.0, delete: 10.0, head: 5.0 };
        let fresh = Ratio::new(0.1);
        for (refills, fresh, policy) in [
            (false, Ratio::new(0.0), EvictionPolicy::Lru),
            (false, Ratio::new(0.0), EvictionPolicy::Fifo),
            (false, fresh, EvictionPolicy::Lru),
            (true, fresh, EvictionPolicy::Lru),
            (true, fresh, EvictionPolicy::Fifo),
        ] {
            let spec = CacheSpec {
                mix: mixed,
                fresh,
                delete_popularity: Popularity::Zipf(0.5),
                ..spec(10_000, "zipf:0.9", "uniform:50,150")
            };
            agrees(&spec, refills, policy, 150_000, [300_000, 500_000]);
        }
    }

    #[test]
    fn what_has_room_for_all_finds_all_that_is_stored() {
        let spec = spec(1000, "zipf:1", "100");
        let forecast = CacheForecast::new(&spec, true);
        assert_eq!(
            (forecast.keys(), forecast.value_bytes(), forecast.key_bytes()),
            (1000, Bytes::new(100_000), Bytes::new(16_000))
        );
        for policy in [EvictionPolicy::Lru, EvictionPolicy::Fifo] {
            let found = forecast.expect(policy, Bytes::new(100_000)).expect("a formula");
            assert!(found.is_all && found.held == 1000 && found.hit_rate.get() > 0.999_999, "{found:?}");
        }
        assert_eq!(forecast.expect(EvictionPolicy::Largest, Bytes::new(1000)), None);
        assert_eq!(forecast.expect(EvictionPolicy::None, Bytes::new(1000)), None);
    }

    /// Filled once and never set again: the most popular keys were filled last and stay.
    #[test]
    fn what_is_only_filled_holds_the_most_popular() {
        let spec = spec(1000, "uniform", "100");
        let found =
            CacheForecast::new(&spec, false).expect(EvictionPolicy::Lru, Bytes::new(25_000)).expect("filled");
        assert!((found.hit_rate.get() - 0.25).abs() < 1e-9 && found.held == 250, "{found:?}");
        let cold = CacheSpec { start: CacheStart::Cold, ..spec };
        assert_eq!(CacheForecast::new(&cold, false).expect(EvictionPolicy::Lru, Bytes::new(25_000)), None);
    }

    /// Groups and means instead of single keys change nothing that is printed.
    #[test]
    fn many_keys_are_forecast_as_few_are() {
        let rates = [1 << 20, 3 << 20].map(|keys| {
            let spec = spec(keys, "etc", "100");
            let limit = Bytes::new(u64::from(keys) * 10);
            let found =
                CacheForecast::new(&spec, true).expect(EvictionPolicy::Lru, limit).expect("a formula");
            found.hit_rate.get()
        });
        assert!((rates[0] - rates[1]).abs() < 0.001, "{rates:?}");
    }

    /// The oracle: as many gets of one key.
    #[test]
    fn a_get_of_several_keys_is_as_many_lookups() {
        let one = |batch, get| CacheSpec {
            batch,
            mix: CacheMix { get, set: 1.0, delete: 0.5, head: 0.25 },
            fresh: Ratio::new(0.02),
            absent: Ratio::new(0.05),
            ..spec(2_000, "zipf:0.9", "fixed:100")
        };
        let expected = |spec| {
            CacheForecast::new(&spec, false)
                .expect(EvictionPolicy::Lru, Bytes::new(40_000))
                .expect("a formula")
        };
        let [batched, single] = [one(8, 1.0), one(1, 8.0)].map(expected);
        assert_eq!(batched, single);
        assert_ne!(expected(one(1, 1.0)), single, "the mix matters");
    }
}
