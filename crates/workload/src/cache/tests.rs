//! Samplers against their laws, and the check of values against a model server under random concurrent schedules.

use std::collections::{BTreeMap, HashMap, VecDeque};

use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_load::framer::Head;
use weighbridge_load::session::{FollowUp, Reply, RequestId, Sessions, Step};
use weighbridge_model::experiment::{
    CacheMix, CacheStart, Experiment, LengthLaw, LoadSpec, Popularity, ReplayFormat, ReplaySets, ReplaySpec,
    Think,
};
use weighbridge_model::quantity::{Nanoseconds, Ratio, Timestamp};
use weighbridge_model::record::counts::{Count, Counts};
use weighbridge_model::record::{ErrorKind, Outcome};

use super::draw::{Ranks, Scatter, extreme, length, mixed, pareto, unit};
use super::reply::JsonReply;
use super::*;
use crate::{Address, Given, Received, UrlScheme};

const MILLION: u64 = 1_000_000;

fn random(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

fn law(text: &str) -> LengthLaw {
    text.parse().expect("a law")
}

const SEEDS: std::ops::RangeInclusive<u64> = 1..=20;

/// The distance of Kolmogorov and Smirnov between a million draws and a distribution, times √n.
fn distance(draw: impl Fn(f64) -> f64, below: impl Fn(f64) -> f64, seed: u64) -> f64 {
    let mut random = random(seed);
    let mut draws: Vec<f64> = (0..MILLION).map(|_| draw(unit(random.next_u64()))).collect();
    draws.sort_unstable_by(f64::total_cmp);
    let n = draws.len() as f64;
    let distance = |(at, x): (usize, &f64)| {
        let expected = below(*x);
        (expected - at as f64 / n).abs().max(((at + 1) as f64 / n - expected).abs())
    };
    draws.iter().enumerate().map(distance).fold(0.0, f64::max) * n.sqrt()
}

/// Fails if a million draws with each of 20 seeds are not of the distribution: if one is farther from it than one in 10⁶
/// is by chance (2.69 / √n), or if they are farther on average. √n times the distance has a mean of 0.8687 and a deviation
/// of 0.2603, and the mean of 20 is within four of its deviations.
#[track_caller]
fn follows(words: &str, draw: impl Fn(f64) -> f64, below: impl Fn(f64) -> f64) {
    let distances: Vec<f64> = SEEDS.map(|seed| distance(&draw, &below, seed)).collect();
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    assert!(distances.iter().all(|distance| *distance < 2.69), "{words}: {distances:?}");
    assert!((mean - 0.8687).abs() < 4.0 * 0.2603 / 20f64.sqrt(), "{words}: mean {mean} of {distances:?}");
}

/// The χ² statistic of counts.
fn chi_square(seen: &[u64], shares: &[f64]) -> f64 {
    let n = seen.iter().sum::<u64>() as f64;
    let total: f64 = shares.iter().sum();
    seen.iter()
        .zip(shares)
        .map(|(seen, share)| {
            let expected = n * share / total;
            (*seen as f64 - expected).powi(2) / expected
        })
        .sum()
}

/// What χ² of these degrees of freedom exceeds with the probability of `deviations` of the normal law (Wilson and
/// Hilferty).
fn chi_square_bound(freedom: f64, deviations: f64) -> f64 {
    let width = 2.0 / (9.0 * freedom);
    freedom * (1.0 - width + deviations * width.sqrt()).powi(3)
}

/// Fails if counts of a million draws with each of 20 seeds are not in these shares: one of them by what happens once in
/// 10⁶, or all together by what happens once in 10⁴.
#[track_caller]
fn counts_follow(words: &str, shares: &[f64], counts: impl Fn(u64) -> Vec<u64>) {
    let statistics: Vec<f64> = SEEDS.map(|seed| chi_square(&counts(seed), shares)).collect();
    let freedom = (shares.len() - 1) as f64;
    let bound = chi_square_bound(freedom, 4.75);
    assert!(statistics.iter().all(|statistic| *statistic < bound), "{words}: {statistics:?}, most {bound}");
    let (sum, all) = (statistics.iter().sum::<f64>(), freedom * statistics.len() as f64);
    let [least, most] = [-3.72, 3.72].map(|deviations| chi_square_bound(all, deviations));
    assert!((least..most).contains(&sum), "{words}: {sum} in all, {least} to {most}");
}

#[test]
fn extreme_values_and_pareto_tails_follow_their_laws() {
    for (scale, shape) in [(8.20449, 0.078688), (3.0, -0.2), (2.0, 0.0)] {
        let below = |x: f64| match shape {
            0.0 => (-(-x / scale).exp()).exp(),
            k => (-(1.0 + k * x / scale).max(0.0).powf(-1.0 / k)).exp(),
        };
        follows(&format!("extreme values of shape {shape}"), |u| extreme(u, scale, shape), below);
    }
    for (scale, shape) in [(214.476, 0.348238), (16.0292, 0.154971), (3.0, 0.0)] {
        let below = |x: f64| match shape {
            0.0 => 1.0 - (-x / scale).exp(),
            k => 1.0 - (1.0 + k * x / scale).powf(-1.0 / k),
        };
        follows(&format!("Pareto tail of shape {shape}"), |u| pareto(u, scale, shape), below);
    }
}

#[test]
fn small_values_have_the_shares_of_etc() {
    let shares = [
        0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837, 0.00837,
        0.08989, 0.00092, 0.00326, 0.01980, 0.55845,
    ];
    for reading in ["fb_value", "fb_value:conditional"] {
        let law = law(reading);
        counts_follow(reading, &shares, |seed| {
            let mut seen = vec![0; 16];
            let numbers = seed * MILLION..(seed + 1) * MILLION;
            numbers.for_each(|number| seen[length(&law, number, 0, 1 << 20).min(15) as usize] += 1);
            seen
        });
    }
}

/// Means and quantiles that were computed apart from this code (docs/EXPERIMENT names their source).
#[test]
fn lengths_of_etc_have_their_known_means_and_quantiles() {
    let check = |text: &str, mean: f64, tolerance: f64, quantiles: &[(f64, f64)]| {
        let law = law(text);
        let mut lengths: Vec<u32> = (0..MILLION).map(|number| length(&law, number, 0, 1_000_000)).collect();
        lengths.sort_unstable();
        let found = lengths.iter().map(|length| f64::from(*length)).sum::<f64>() / MILLION as f64;
        assert!((found - mean).abs() < tolerance, "{text}: mean {found}");
        for (share, wanted) in quantiles {
            let found = f64::from(lengths[(share * MILLION as f64) as usize]);
            assert!((found - wanted).abs() <= 1.0 + wanted * 0.02, "{text}: {share} at {found}");
        }
    };
    check("fb_key", 36.2, 0.1, &[(0.01, 19.0), (0.5, 33.9), (0.9, 51.0), (0.99, 76.3)]);
    check("fb_value", 194.4, 2.5, &[(0.5, 39.0), (0.9, 520.0), (0.99, 1900.0)]);
    check("fb_value:conditional", 198.9, 2.5, &[]);
    check("fb_value:gpd", 329.1, 3.0, &[]);
    check("normal:30,8", 30.0, 0.05, &[(0.5, 30.0), (0.8413, 38.0), (0.1587, 22.0)]);
    check("exponential:0.01", 100.0, 0.5, &[(0.5, 69.3), (0.9, 230.3)]);
    check("uniform:7,16", 11.5, 0.02, &[(0.05, 7.0), (0.95, 16.0)]);
    check("pareto:15,10,0", 25.0, 0.1, &[(0.5, 21.9)]);
    check("list:10=3,20=1", 12.5, 0.03, &[(0.7, 10.0), (0.8, 20.0)]);
}

fn ranks_seen(law: &Popularity, keys: u32, seed: u64) -> Vec<u64> {
    let (ranks, mut random) = (Ranks::new(law, keys), random(seed));
    let mut seen = vec![0; keys as usize];
    (0..MILLION).for_each(|_| seen[ranks.draw(&mut random) as usize] += 1);
    seen
}

#[test]
fn ranks_follow_their_law() {
    for exponent in [0.0, 0.99, 1.0, 1.2] {
        let shares: Vec<f64> = (1..=1000).map(|rank| f64::from(rank).powf(-exponent)).collect();
        let law = Popularity::Zipf(exponent);
        counts_follow(&law.to_string(), &shares, |seed| ranks_seen(&law, 1000, seed));
    }
    let etc = |rank: u32| match rank {
        0..10 => 0.55 / 10.0,
        10..500 => 0.44 / 490.0,
        _ => 0.01 / 500.0,
    };
    let shares: Vec<f64> = (0..1000).map(etc).collect();
    counts_follow("piecewise", &shares, |seed| ranks_seen(&Popularity::etc(), 1000, seed));
    counts_follow("uniform", &[1.0; 1000], |seed| ranks_seen(&Popularity::Uniform, 1000, seed));
    // Few keys, and exponents at which nearly all requests are for the first.
    for keys in [1, 2, 3] {
        assert!(ranks_seen(&Popularity::Zipf(0.99), keys, 1).iter().all(|seen| *seen > 0));
        assert!(ranks_seen(&Popularity::Zipf(20.0), keys, 1)[0] > 999_000);
    }
}

#[test]
fn ranks_are_scattered_over_all_keys() {
    for limit in [1, 2, 3, 100, 4097, 65_536] {
        let scatter = Scatter::new(limit, 7);
        let mut places: Vec<u32> = (0..limit).map(|rank| scatter.place(rank)).collect();
        let other = Scatter::new(limit, 8);
        assert!(limit < 100 || (0..limit).any(|rank| other.place(rank) != places[rank as usize]));
        assert!(limit < 100 || !places.is_sorted());
        places.sort_unstable();
        assert_eq!(places, (0..limit).collect::<Vec<u32>>(), "limit {limit}");
    }
    // The hottest of many keys are spread evenly.
    let scatter = Scatter::new(1_000_000, 1);
    let mut seen = [0; 10];
    (0..100_000).for_each(|rank| seen[scatter.place(rank) as usize / 100_000] += 1);
    assert!(chi_square(&seen, &[1.0; 10]) < chi_square_bound(9.0, 3.09), "{seen:?}");
}

#[test]
fn objects_are_read_however_they_are_cut() {
    for (text, value) in [
        (r#"{"key":"k1","value":"abc"}"#, Some("abc")),
        (r#" { "value" : "abc" , "key" : "k1" } "#, Some("abc")),
        (r#"{"key":"k1","value":"","size":"3","keys":"x"}"#, Some("")),
        (r#"{"key":"k2","value":"abc"}"#, None),
        (r#"{"key":"k","value":"abc"}"#, None),
        (r#"{"key":"k11","value":"abc"}"#, None),
        (r#"{"key":"k1","value":"abc""#, None),
        (r#"{"key":"k1","value":"abc"}}"#, None),
        (r#"{"key":"k1","value":"a\nc"}"#, None),
        (r#"{"key":"k1","value":null}"#, None),
        (r#"{"key":"k1"}"#, None),
        (r#"{"value":"abc"}"#, None),
        (r#"{"key":"k1","value":"abc","value":"abc"}"#, None),
        (r#"{"key":"k1","values":"abc"}"#, None),
        ("", None),
        ("{}", None),
        ("[]", None),
    ] {
        for size in 1..=text.len().max(1) {
            let (mut json, mut found) = (JsonReply::NOTHING, Vec::new());
            text.as_bytes().chunks(size).for_each(|piece| {
                json.piece(piece, b"k1", |bytes| found.extend_from_slice(bytes));
            });
            let found = json.is_whole().then(|| String::from_utf8(found).expect("text"));
            assert_eq!(found.as_deref(), value, "{text} in pieces of {size}");
        }
    }
}

fn spec(keys: u32, get: f64, set: f64, delete: f64) -> CacheSpec {
    CacheSpec {
        keys,
        mix: CacheMix { get, set, delete, head: 0.0 },
        start: CacheStart::Cold,
        ..CacheSpec::default()
    }
}

fn workload(spec: &CacheSpec, protocol: Protocol) -> Workload {
    let address = Address { authority: "h:1".to_owned(), base: "/".to_owned(), scheme: UrlScheme::Http };
    let spec = spec.clone().into();
    Workload::new(&spec, &LoadSpec::default(), protocol, &address, &|_| None).expect("bound")
}

/// How a server lies about a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    Stale,
    Undeleted,
    Swapped,
    Cut,
    Mixed,
}

/// A request on its way.
enum Flight {
    Free,
    Sent(RequestId),
    Answered(RequestId, u16, Vec<ReplyPart>),
}

/// Text, or a value with the index of its key in a batch.
struct ReplyPart {
    index: Option<u16>,
    bytes: Vec<u8>,
}

/// A server of memcached's commands that keeps every value ever stored.
struct ModelServer {
    random: ChaCha8Rng,
    held: HashMap<Vec<u8>, Vec<u8>>,
    before: HashMap<Vec<u8>, Vec<u8>>,
    lie: Option<Lie>,
    /// Requests that failed and are carried out later.
    late: Vec<Vec<u8>>,
    lies: u64,
    /// Most values that it holds; it evicts nothing.
    room: usize,
    /// Whether it drops the value that a refused one should have replaced, as memcached does.
    drops_replaced: bool,
}

impl ModelServer {
    fn new(seed: u64, lie: Option<Lie>) -> Self {
        let (held, before) = (HashMap::new(), HashMap::new());
        Self {
            random: random(seed),
            held,
            before,
            lie,
            late: Vec::new(),
            lies: 0,
            room: usize::MAX,
            drops_replaced: false,
        }
    }

    /// The status and the parts of a reply.
    fn reply(&mut self, request: &[u8]) -> (u16, Vec<ReplyPart>) {
        let line = String::from_utf8_lossy(request).into_owned();
        let keys: Vec<&str> = line.trim_end().split(' ').skip(1).collect();
        if !line.starts_with("get ") || keys.len() == 1 {
            let (status, bytes) = self.answer(request);
            return (status, vec![ReplyPart { index: None, bytes }]);
        }
        let mut found = Vec::new();
        for (index, key) in (0..).zip(keys) {
            if let Some(bytes) = self.value_of(key.as_bytes()) {
                found.push(ReplyPart { index: Some(index), bytes });
            }
        }
        (if found.is_empty() { 404 } else { 200 }, found)
    }

    fn answer(&mut self, request: &[u8]) -> (u16, Vec<u8>) {
        let end = request.iter().position(|byte| *byte == b'\r').expect("a line");
        let line = String::from_utf8(request[..end].to_vec()).expect("text");
        let words: Vec<&str> = line.split(' ').collect();
        let key = words[1].as_bytes().to_vec();
        match words[0] {
            "set" => {
                let value = request[end + 2..request.len() - 2].to_vec();
                assert_eq!(value.len().to_string(), words[4]);
                if self.held.len() >= self.room {
                    if self.drops_replaced {
                        self.held.remove(&key);
                    }
                    return (500, b"SERVER_ERROR out of memory storing object".to_vec());
                }
                if let Some(old) = self.held.insert(key.clone(), value) {
                    self.before.insert(key, old);
                }
                (200, b"STORED".to_vec())
            }
            "delete" => match self.held.remove(&key) {
                Some(old) => {
                    self.before.insert(key, old);
                    (200, b"DELETED".to_vec())
                }
                None => (404, b"NOT_FOUND".to_vec()),
            },
            "mg" => (if self.held.contains_key(&key) { 200 } else { 404 }, b"HD".to_vec()),
            _ => match self.value_of(&key) {
                Some(value) => (200, value),
                None => (404, Vec::new()),
            },
        }
    }

    fn value_of(&mut self, key: &[u8]) -> Option<Vec<u8>> {
        let held = self.held.get(key).cloned();
        if self.lie.is_none() || self.random.random_range(0..100) > 0 {
            return held;
        }
        let told = match (self.lie?, &held) {
            (Lie::Stale, Some(_)) | (Lie::Undeleted, None) => self.before.get(key).cloned(),
            (Lie::Swapped, Some(_)) => {
                self.held.iter().find(|(other, _)| *other != key).map(|(_, v)| v.clone())
            }
            (Lie::Cut, Some(held)) => Some(held[..held.len() - 1].to_vec()),
            (Lie::Mixed, Some(held)) => {
                let old = self.before.get(key)?;
                Some([&held[..held.len() / 2], &old[held.len() / 2..]].concat())
            }
            _ => None,
        };
        self.lies += u64::from(told.is_some());
        told.or(held)
    }
}

/// Runs so many steps of a random schedule over 64 slots. Returns how many replies were wrong, by their words, and what was
/// counted.
fn schedule(
    workload: &Workload,
    server: &mut ModelServer,
    steps: u64,
    faults: bool,
) -> (HashMap<String, u64>, Counts) {
    let mut sessions = workload.sessions();
    sessions.prepare(64);
    sessions.rewind(5);
    let mut flights: Vec<Flight> = (0..64).map(|_| Flight::Free).collect();
    for _ in 0..steps {
        let slot = server.random.random_range(0..64u32);
        let flight = &mut flights[slot as usize];
        *flight = match std::mem::replace(flight, Flight::Free) {
            Flight::Free => Flight::Sent(sessions.open(slot)),
            Flight::Sent(id) => {
                let request = sessions.request(id).bytes().to_vec();
                // It fails; whether it is carried out, and when, nobody is told.
                if faults && server.random.random_range(0..2000) == 0 {
                    server.late.push(request);
                    let outcome = Outcome::Error(ErrorKind::Timeout);
                    sessions.next(slot, &Reply { request: id, outcome });
                    Flight::Free
                } else {
                    let (status, parts) = server.reply(&request);
                    Flight::Answered(id, status, parts)
                }
            }
            Flight::Answered(id, status, parts) => {
                let check = sessions.check(slot);
                check.head(&Head { status, fields: &[] });
                for ReplyPart { index, bytes } in parts {
                    if let Some(index) = index {
                        check.value(index);
                    }
                    let cut = server.random.random_range(0..=bytes.len());
                    check.data(&bytes[..cut]);
                    check.data(&bytes[cut..]);
                }
                let outcome = check.done();
                sessions.next(slot, &Reply { request: id, outcome });
                Flight::Free
            }
        };
        if faults && server.random.random_range(0..100) == 0 {
            // A key is dropped, and a late write carried out.
            if let Some(key) = server.held.keys().next().cloned() {
                server.held.remove(&key);
            }
            if let Some(late) = server.late.pop() {
                server.answer(&late);
            }
        }
    }
    let texts = sessions.take_failures();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let wrong = texts.texts().iter().map(|failure| (text(&failure.text), failure.count)).collect();
    let counts = sessions.take_counts().expect("a cache counts");
    assert_eq!(sessions.take_counts(), Some(Counts::default()));
    (wrong, counts)
}

#[test]
fn an_honest_server_is_never_accused() {
    for (seed, keys, value, steps) in
        [(1, 5, "fixed:40", 2 * MILLION), (2, 200, "fb_value", MILLION), (3, 20, "uniform:0,10", MILLION)]
    {
        let spec = CacheSpec {
            value: law(value),
            fresh: Ratio::new(0.001),
            absent: Ratio::new(0.01),
            delete_absent: Ratio::new(0.1),
            mix: CacheMix { head: 5.0, ..spec(keys, 60.0, 25.0, 10.0).mix },
            ..spec(keys, 60.0, 25.0, 10.0)
        };
        let mut server = ModelServer::new(seed, None);
        let workload = workload(&spec, Protocol::MEMCACHED);
        let (wrong, counts) = schedule(&workload, &mut server, steps, true);
        assert!(wrong.is_empty(), "values of {value}: {wrong:?}");
        let [hits, misses] = [Count::Hits, Count::InvalidatedMisses].map(|count| counts.get(count));
        assert!(hits > steps / 20 && misses > 0 && counts.get(Count::CompulsoryMisses) > 0, "{counts:?}");
        let [asked, hit] = [Count::AskedBytes, Count::HitBytes].map(|count| counts.get(count));
        assert!(hit > 0 && hit < asked, "{counts:?}");
    }
}

#[test]
fn every_kind_of_lie_is_caught_by_its_name() {
    for (lie, name) in [
        (Lie::Stale, "stale"),
        (Lie::Undeleted, "resurrected"),
        (Lie::Swapped, "foreign"),
        (Lie::Cut, "torn"),
        (Lie::Mixed, "torn"),
    ] {
        let mut server = ModelServer::new(9, Some(lie));
        let workload = workload(&spec(500, 60.0, 25.0, 15.0), Protocol::MEMCACHED);
        let (wrong, _) = schedule(&workload, &mut server, MILLION / 2, false);
        let caught: u64 = wrong.values().sum();
        // Where a set and a delete overlap, either may be the oldest that is held.
        let named: u64 =
            wrong.iter().filter(|(words, _)| words.starts_with(name)).map(|(_, count)| count).sum();
        let is_old = |words: &String| ["stale", "resurrected"].iter().any(|name| words.starts_with(name));
        assert!(named * 10 > caught * 9, "{lie:?}: {wrong:?}");
        assert!(named == caught || wrong.keys().all(is_old), "{lie:?}: {wrong:?}");
        // An older value is right as long as the write after it overlaps with the get, which is so for hot keys.
        let least = if matches!(lie, Lie::Swapped | Lie::Cut) { server.lies } else { server.lies / 2 };
        assert!(
            server.lies > 100 && caught >= least.saturating_sub(64),
            "{lie:?}: {caught} of {}",
            server.lies
        );
    }
}

#[test]
fn values_of_a_batch_are_checked_one_by_one() {
    let batched = |absent, fresh| CacheSpec {
        batch: 7,
        absent: Ratio::new(absent),
        fresh: Ratio::new(fresh),
        value: law("uniform:12,40"),
        ..spec(300, 60.0, 30.0, 10.0)
    };
    let workload = |spec: &CacheSpec| workload(spec, Protocol::MEMCACHED);
    let mut server = ModelServer::new(4, None);
    let (wrong, counts) = schedule(&workload(&batched(0.02, 0.01)), &mut server, MILLION, true);
    assert!(wrong.is_empty(), "{wrong:?}");
    // Three steps a request, of which 60 % are gets of seven keys.
    let lookups = counts.lookups() as f64;
    let expected = MILLION as f64 / 3.0 * 0.6 * 7.0;
    assert!((lookups / expected - 1.0).abs() < 0.02, "{lookups} lookups, {expected} expected");
    assert!(counts.get(Count::CompulsoryMisses) as f64 > 0.02 * lookups, "{counts:?}");
    assert!(counts.get(Count::InvalidatedMisses) > 1000 && counts.get(Count::Hits) > 1000, "{counts:?}");

    for lie in [Lie::Stale, Lie::Undeleted, Lie::Swapped, Lie::Cut, Lie::Mixed] {
        let mut server = ModelServer::new(9, Some(lie));
        let (wrong, _) = schedule(&workload(&batched(0.0, 0.0)), &mut server, MILLION / 4, false);
        let caught: u64 = wrong.values().sum();
        // Several lies in one reply are one wrong reply.
        assert!(server.lies > 100 && caught * 3 > server.lies, "{lie:?}: {caught} of {}", server.lies);
        assert!(caught <= server.lies, "{lie:?}: {caught} of {}", server.lies);
    }
}

#[test]
fn a_trace_is_sent_in_its_order_and_its_values_are_checked() {
    let operations = ["get", "get", "get", "set", "set", "delete"];
    let request = |at: u64| (operations[mixed(at) as usize % 6], mixed(at + 7) % 40);
    let row = |at| {
        let (operation, key) = request(at);
        format!("{},q{key},12,{},0,{operation},0\n", at / 100, 30 + key)
    };
    let (file, format, sets) = ("t.csv".to_owned(), ReplayFormat::Twitter, ReplaySets::Send);
    let trace = ReplaySpec { file, format, from: 0, limit: 3000, sets, sha256: None };
    let mut parser = ReplayParser::new(&trace);
    for at in 0..3000 {
        parser.line(row(at).as_bytes()).expect("a row");
    }
    let replay = Arc::new(parser.finish().expect("a trace"));
    let mut spec = CacheSpec { start: CacheStart::Cold, trace: Some(trace), ..CacheSpec::default() };
    spec.set_found(replay.keys(), |operation| replay.count(operation), String::new());
    let address = Address { authority: "h:1".to_owned(), base: "/".to_owned(), scheme: UrlScheme::Http };
    let (load, spec) = (LoadSpec::default(), spec.into());
    let bound = |replay| {
        let given = Given { environment: &|_| None, rows: &[], replay, script: None };
        Workload::with_rows(&spec, &load, Protocol::MEMCACHED, &address, given)
    };
    assert!(matches!(bound(None), Err(WorkloadError::NoReplay)));

    let workload = bound(Some(&replay)).expect("bound");
    let mut sessions = workload.sessions();
    sessions.prepare(3);
    let mut numbers = HashMap::new();
    for at in 0..4000u32 {
        // Windows follow one another through it, and it begins again.
        if at % 700 == 0 {
            sessions.rewind(at.into());
        }
        let (operation, key) = request(u64::from(at) % 3000);
        let next = numbers.len();
        let number = *numbers.entry(key).or_insert(next);
        let id = sessions.open(at % 3);
        let bytes = sessions.request(id).bytes();
        let line =
            String::from_utf8_lossy(&bytes[..bytes.iter().position(|byte| *byte == b'\r').expect("a line")]);
        let value = if operation == "set" { format!(" 0 0 {}", 30 + key) } else { String::new() };
        assert_eq!(line, format!("{operation} k{number:011}{value}"), "request {at}");
    }
    for lie in
        [None, Some(Lie::Stale), Some(Lie::Undeleted), Some(Lie::Swapped), Some(Lie::Cut), Some(Lie::Mixed)]
    {
        let workload = bound(Some(&replay)).expect("bound");
        let (wrong, counts) = schedule(&workload, &mut ModelServer::new(3, lie), 200_000, false);
        assert_eq!(wrong.is_empty(), lie.is_none(), "{lie:?}: {wrong:?}");
        assert!(counts.get(Count::Hits) > 1000, "{counts:?}");
    }
}

#[test]
fn what_has_no_room_is_refused_without_an_error_where_nothing_is_evicted() {
    let spec = |may_be_full| CacheSpec { may_be_full, ..spec(500, 60.0, 25.0, 15.0) };
    for drops_replaced in [false, true] {
        let server = |lie| ModelServer { room: 100, drops_replaced, ..ModelServer::new(7, lie) };
        let (wrong, counts) =
            schedule(&workload(&spec(true), Protocol::MEMCACHED), &mut server(None), MILLION, false);
        assert!(wrong.is_empty(), "{wrong:?}");
        assert!(counts.get(Count::CapacityMisses) > counts.lookups() / 10, "{counts:?}");
        let evicts = workload(&spec(false), Protocol::MEMCACHED);
        let (wrong, _) = schedule(&evicts, &mut server(None), MILLION / 10, false);
        let told: Vec<_> = wrong.keys().collect();
        assert_eq!(told, ["SERVER_ERROR out of memory storing object"]);
        // A refusal is no reason to believe an older value later on.
        let mut lying = server(Some(Lie::Stale));
        let (wrong, _) =
            schedule(&workload(&spec(true), Protocol::MEMCACHED), &mut lying, MILLION / 2, false);
        assert!(
            lying.lies > 100 && wrong.values().sum::<u64>() > lying.lies / 3,
            "{wrong:?} of {}",
            lying.lies
        );
    }
}

#[test]
fn after_emptying_no_value_from_before_is_right_and_misses_are_compulsory() {
    let spec = spec(100, 1.0, 1.0, 0.0);
    let workload = workload(&spec, Protocol::MEMCACHED);
    let mut server = ModelServer::new(3, None);
    let (wrong, _) = schedule(&workload, &mut server, 100_000, false);
    assert!(wrong.is_empty(), "{wrong:?}");
    let before = server.held.clone();
    server.held.clear();
    workload.emptied(&Received::GOOD).expect("a good reply");
    let (wrong, counts) = schedule(&workload, &mut server, 2_000, false);
    assert!(wrong.is_empty(), "{wrong:?}");
    let [compulsory, capacity] =
        [Count::CompulsoryMisses, Count::CapacityMisses].map(|count| counts.get(count));
    assert!(compulsory > 20 && compulsory > 5 * capacity, "{counts:?}");
    // It says that it was emptied, and was not.
    server.held = before;
    workload.emptied(&Received::GOOD).expect("a good reply");
    let (wrong, _) = schedule(&workload, &mut server, 2_000, false);
    assert!(wrong.keys().all(|words| words.starts_with("resurrected")) && !wrong.is_empty(), "{wrong:?}");
}

#[test]
fn a_value_whose_time_to_live_may_be_over_expired() {
    use super::editions::{Cause, Editions, WriteEnd};
    let at = |seconds: u64| Timestamp::from_nanos(seconds * 1_000_000_000);
    let editions = Editions::new(3, false, Some(10));
    editions.set_time(at(100));
    let (key, _) = editions.write(1, false);
    editions.settle(key, WriteEnd::Done);
    let cause = |seconds| {
        editions.set_time(at(seconds));
        editions.cause(&editions.read(1))
    };
    // memcached's clock may be a second ahead.
    assert_eq!(
        [cause(100), cause(108), cause(109), cause(200)],
        [Cause::Capacity, Cause::Capacity, Cause::Expired, Cause::Expired]
    );
    // What counts is when the get was sent, and when it was set last.
    editions.set_time(at(108));
    let sent = editions.read(1);
    editions.set_time(at(150));
    assert_eq!(editions.cause(&sent), Cause::Capacity);
    let (key, _) = editions.write(1, false);
    editions.settle(key, WriteEnd::Done);
    assert_eq!([cause(155), cause(160)], [Cause::Capacity, Cause::Expired]);
    let (key, _) = editions.write(1, true);
    editions.settle(key, WriteEnd::Done);
    assert_eq!([cause(161), cause(190)], [Cause::Invalidated; 2]);
    assert_eq!(editions.cause(&editions.read(2)), Cause::Compulsory);
}

#[test]
fn times_to_live_are_sent_with_each_set() {
    let spec = CacheSpec { ttl: Some(60), ..spec(2, 1.0, 1.0, 0.0) };
    let lines = |protocol| {
        let requests = first_requests(&spec, protocol, 1, 20);
        requests.into_iter().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect::<Vec<_>>()
    };
    let sets: Vec<_> =
        lines(Protocol::MEMCACHED).into_iter().filter(|line| line.starts_with("set ")).collect();
    assert!(!sets.is_empty() && sets.iter().all(|line| line.contains(" 0 60 100\r\n")), "{sets:?}");
    let sets: Vec<_> = lines(Protocol::RESP).into_iter().filter(|line| line.contains("SET")).collect();
    assert!(
        !sets.is_empty() && sets.iter().all(|line| line.ends_with("\r\n$2\r\nEX\r\n$2\r\n60\r\n")),
        "{sets:?}"
    );
}

#[test]
fn short_values_are_compared_with_those_that_were_sent() {
    let mut server = ModelServer::new(4, Some(Lie::Swapped));
    let spec = CacheSpec { value: law("6"), ..spec(500, 60.0, 25.0, 15.0) };
    let (wrong, _) = schedule(&workload(&spec, Protocol::MEMCACHED), &mut server, MILLION / 2, false);
    assert!(wrong.values().sum::<u64>() > server.lies / 2, "{wrong:?} of {}", server.lies);
}

fn first_requests(spec: &CacheSpec, protocol: Protocol, substream: u64, count: u32) -> Vec<Vec<u8>> {
    let workload = workload(spec, protocol);
    let mut sessions = workload.sessions();
    sessions.prepare(4);
    sessions.rewind(substream);
    let one = |at: u32| {
        let id = sessions.open(at % 4);
        sessions.request(id).bytes().to_vec()
    };
    (0..count).map(one).collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let spec = CacheSpec { fresh: Ratio::new(0.1), ..spec(1000, 6.0, 3.0, 1.0) };
    for protocol in [Protocol::MEMCACHED, Protocol::RESP, Protocol::HTTP1_JSON, Protocol::HTTP2_JSON] {
        let first = first_requests(&spec, protocol, 1, 5000);
        assert_eq!(first, first_requests(&spec, protocol, 1, 5000));
        assert_ne!(first, first_requests(&spec, protocol, 2, 5000));
        assert_ne!(first, first_requests(&CacheSpec { seed: 2, ..spec.clone() }, protocol, 1, 5000));
    }
}

#[test]
fn a_warm_cache_is_filled_first_with_the_most_popular_key_last() {
    let spec =
        CacheSpec { start: CacheStart::Warm, popularity: Popularity::Zipf(3.0), ..spec(50, 1.0, 0.0, 0.0) };
    assert_eq!(
        (workload(&spec, Protocol::RESP).fill(), workload(&spec, Protocol::HTTP1_JSON).fill()),
        (50, 50)
    );
    let requests = first_requests(&spec, Protocol::HTTP1_JSON, 3, 1000);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let key = |request: &Vec<u8>| text(request).split(' ').nth(1).expect("a target").to_owned();
    let mut filled: Vec<String> = requests[..50].iter().map(key).collect();
    assert!(requests[..50].iter().all(|request| text(request).starts_with("PUT /key/k")));
    assert!(requests[50..].iter().all(|request| text(request).starts_with("GET /key/k")));
    let hottest = filled.last().expect("keys").clone();
    let asked = requests[50..].iter().filter(|request| key(request) == hottest).count();
    assert!(asked > 700, "{asked} of 950 for the most popular key");
    filled.sort_unstable();
    filled.dedup();
    assert_eq!(filled.len(), 50);
    assert!(filled.iter().all(|key| key.len() == "/key/".len() + 16));
}

#[test]
fn shares_of_absent_and_fresh_keys_are_exact_misses() {
    let spec = CacheSpec {
        start: CacheStart::Warm,
        absent: Ratio::new(0.2),
        fresh: Ratio::new(0.1),
        ..spec(10_000, 1.0, 0.0, 0.0)
    };
    let workload = workload(&spec, Protocol::MEMCACHED);
    let (wrong, counts) = schedule(&workload, &mut ModelServer::new(1, None), 3 * 30_000, false);
    assert!(wrong.is_empty(), "{wrong:?}");
    let [hits, compulsory] = [Count::Hits, Count::CompulsoryMisses].map(|count| counts.get(count));
    let gets = counts.lookups();
    assert_eq!(gets, hits + compulsory, "{counts:?}");
    // Of the other gets a part is for keys that fresh ones have replaced and nobody has set since.
    let share = compulsory as f64 / gets as f64;
    assert!(gets > 19_000 && (0.29..0.45).contains(&share), "{counts:?}");
}

/// A miss leads to a set of its key by any slot, after as long as the backend takes for that get. Until then the key's
/// misses have that cause.
#[test]
fn a_missed_key_is_set_later_by_any_slot() {
    let refill = Some(Think::Uniform { low: Nanoseconds::from_millis(1), high: Nanoseconds::from_millis(3) });
    let spec = CacheSpec { refill, absent: Ratio::new(0.2), ..spec(3, 1.0, 0.0, 0.0) };
    let mut server = ModelServer::new(1, None);
    let workload = workload(&spec, Protocol::MEMCACHED);
    let mut sessions = workload.sessions();
    assert!(sessions.has_follow_ups());
    sessions.prepare(2);
    sessions.rewind(7);
    let (mut later, mut delays) = (Vec::new(), Vec::new());
    let mut answer = |sessions: &mut Box<dyn Sessions>, slot: u32, request: RequestId| {
        let (status, body) = server.answer(sessions.request(request).bytes());
        let check = sessions.check(slot);
        check.head(&Head { status, fields: &[] });
        check.data(&body);
        let outcome = check.done();
        let time = check.longer_time();
        assert_eq!(outcome, Outcome::Ok);
        (sessions.next(slot, &Reply { request, outcome }), time)
    };
    for _ in 0..200 {
        let request = sessions.open(0);
        let (step, time) = answer(&mut sessions, 0, request);
        if let Step::Later(one) = step {
            assert_eq!(one.operation.0, 3, "get, get hit, get miss, refill");
            assert_eq!(time.map(|time| (time.operation.0, time.by)), Some((4, one.delay)));
            delays.push(one.delay);
            later.push(one.follow_up);
        }
    }
    // Three keys and no set: all gets miss, those for absent keys for good.
    let counts = sessions.take_counts().expect("a cache counts");
    let [compulsory, under_way] =
        [Count::CompulsoryMisses, Count::UnderWayMisses].map(|count| counts.get(count));
    assert_eq!((compulsory + under_way, counts.get(Count::Hits)), (200, 0));
    assert_eq!(under_way, delays.len() as u64 - 3, "the first miss of each key has another cause");
    assert!((20..70).contains(&(200 - delays.len())), "a fifth of the gets is for absent keys");
    assert!(delays.iter().all(|delay| (1_000_000..=3_000_000).contains(&delay.as_nanos())), "{delays:?}");
    for follow_up in later {
        let request = sessions.open_follow_up(1, follow_up);
        let (step, time) = answer(&mut sessions, 1, request);
        assert_eq!((step, time), (Step::End, None));
    }
    for _ in 0..50 {
        let request = sessions.open(0);
        let (_, time) = answer(&mut sessions, 0, request);
        assert!(time.is_none_or(|time| time.by == Nanoseconds::ZERO), "what is found is not waited for");
    }
    let counts = sessions.take_counts().expect("a cache counts");
    assert_eq!(counts.get(Count::Refills), delays.len() as u64);
    assert_eq!(counts.lookups(), 50);
    assert_eq!(counts.get(Count::Hits) + counts.get(Count::CompulsoryMisses), 50, "{counts:?}");
}

/// A server of memcached's commands with so many bytes for values, which drops what was used least recently.
struct LimitedServer {
    limit: usize,
    used: usize,
    time: u64,
    held: HashMap<Vec<u8>, (u64, Vec<u8>)>,
    by_use: BTreeMap<u64, Vec<u8>>,
}

impl LimitedServer {
    fn remove(&mut self, key: &[u8]) -> bool {
        let Some((used_at, value)) = self.held.remove(key) else { return false };
        self.by_use.remove(&used_at);
        self.used -= value.len();
        true
    }

    fn put(&mut self, key: Vec<u8>, value: Vec<u8>) {
        self.time += 1;
        self.used += value.len();
        self.by_use.insert(self.time, key.clone());
        self.held.insert(key, (self.time, value));
        while self.used > self.limit {
            let (_, oldest) = self.by_use.first_key_value().expect("something is held");
            let oldest = oldest.clone();
            self.remove(&oldest);
        }
    }

    fn answer(&mut self, request: &[u8]) -> (u16, Vec<u8>) {
        let end = request.iter().position(|byte| *byte == b'\r').expect("a line");
        let mut words = request[..end].split(|byte| *byte == b' ');
        let (command, key) = (words.next().expect("a command"), words.next().expect("a key").to_vec());
        match command {
            b"set" => {
                self.remove(&key);
                self.put(key, request[end + 2..request.len() - 2].to_vec());
                (200, b"STORED".to_vec())
            }
            b"delete" if self.remove(&key) => (200, b"DELETED".to_vec()),
            b"delete" => (404, b"NOT_FOUND".to_vec()),
            _ => match self.held.get(&key).map(|(_, value)| value.clone()) {
                Some(value) => {
                    self.remove(&key);
                    self.put(key, value.clone());
                    (200, value)
                }
                None => (404, Vec::new()),
            },
        }
    }
}

/// Carries requests out one after another on one slot, and each refill so many requests after its miss.
fn one_after_another(sessions: &mut dyn Sessions, server: &mut LimitedServer, requests: u64, delay: u64) {
    let mut later: VecDeque<(u64, FollowUp)> = VecDeque::new();
    for now in 0..requests {
        let request = match later.front().copied().filter(|(due, _)| *due <= now) {
            Some((_, follow_up)) => {
                later.pop_front();
                sessions.open_follow_up(0, follow_up)
            }
            None => sessions.open(0),
        };
        let (status, body) = server.answer(sessions.request(request).bytes());
        let check = sessions.check(0);
        check.head(&Head { status, fields: &[] });
        check.data(&body);
        let outcome = check.done();
        assert_eq!(outcome, Outcome::Ok);
        if let Step::Later(one) = sessions.next(0, &Reply { request, outcome }) {
            later.push_back((now + delay, one.follow_up));
        }
    }
}

/// 81.4 % of the gets of the pool hit; of the misses 70 % are compulsory, 22 % for want of room and 8 % after a delete. The
/// limit is seven tenths of what the values of all keys take.
#[test]
fn etc_at_a_stated_limit_has_the_hit_rate_and_about_the_causes_of_the_paper() {
    let text = "[[variant]]\nurl = 'redis://h'\n[workload]\nname = 'cache'\npreset = 'etc'\nkeys = 20000\n";
    let spec = Experiment::parse("x", text).expect("an experiment").points[0].workload.clone();
    let address = Address { authority: "h:1".to_owned(), base: "/".to_owned(), scheme: UrlScheme::Http };
    let workload = Workload::new(&spec, &LoadSpec::default(), Protocol::MEMCACHED, &address, &|_| None);
    let mut sessions = workload.expect("bound").sessions();
    sessions.prepare(1);
    sessions.rewind(1);
    let (held, by_use) = (HashMap::new(), BTreeMap::new());
    let mut server = LimitedServer { limit: 2_750_000, used: 0, time: 0, held, by_use };
    one_after_another(&mut *sessions, &mut server, 400_000, 10);
    sessions.take_counts();
    one_after_another(&mut *sessions, &mut server, 400_000, 10);
    let counts = sessions.take_counts().expect("a cache counts");
    let hits = counts.get(Count::Hits) as f64 / counts.lookups() as f64;
    assert!((hits - 0.814).abs() < 0.02, "{hits}: {counts:?}");
    let misses = (counts.lookups() - counts.get(Count::Hits)) as f64;
    for (count, share) in [
        (Count::CompulsoryMisses, 0.70),
        (Count::CapacityMisses, 0.22),
        (Count::InvalidatedMisses, 0.08),
        (Count::UnderWayMisses, 0.0),
    ] {
        let found = counts.get(count) as f64 / misses;
        assert!((found - share).abs() < 0.06, "{}: {found}, not {share}", count.name());
    }
}

/// Before timing, the right answers amount to the same over every protocol, and wrong ones are refused.
#[test]
fn answers_before_timing_agree_between_protocols() {
    let spec = spec(100, 1.0, 1.0, 1.0);
    let value = {
        let workload = workload(&spec, Protocol::MEMCACHED);
        workload.rendered(0).body().to_vec()
    };
    let key = {
        let workload = workload(&spec, Protocol::MEMCACHED);
        String::from_utf8(workload.rendered(0).key().to_vec()).expect("text")
    };
    let object = format!(r#"{{"key":"{key}","value":"{}"}}"#, String::from_utf8_lossy(&value));
    let rest: [(u16, &[u8]); 5] =
        [(201, b""), (200, object.as_bytes()), (200, b""), (404, b""), (404, b"{\"error\":\"none\"}")];
    let memcached: [(u16, &[u8]); 5] =
        [(200, b"STORED"), (200, &value), (200, b"DELETED"), (404, b"NOT_FOUND"), (404, b"")];
    let resp: [(u16, &[u8]); 5] = [(200, b"OK"), (200, &value), (200, b"1"), (200, b"0"), (404, b"")];
    let answers = |protocol: Protocol, replies: &[(u16, &[u8]); 5]| {
        let workload = workload(&spec, protocol);
        assert_eq!((workload.len(), workload.conversations()), (5, 5));
        let received =
            |at: usize| Received { status: replies[at].0, headers: &[], body: replies[at].1, messages: &[] };
        (0..5).map(|at| workload.canonical(at, &received(at))).collect::<Vec<_>>()
    };
    let over_rest = answers(Protocol::HTTP1_JSON, &rest);
    assert!(over_rest.iter().all(Result::is_ok), "{over_rest:?}");
    assert_eq!(over_rest, answers(Protocol::MEMCACHED, &memcached));
    assert_eq!(over_rest, answers(Protocol::RESP, &resp));
    for (at, wrong) in [
        (1, (200, &b"other"[..])),
        (1, (404, b"")),
        (3, (200, b"DELETED")),
        (4, (200, &value)),
        (0, (500, b"")),
    ] {
        let mut replies = memcached;
        replies[at] = wrong;
        assert!(answers(Protocol::MEMCACHED, &replies)[at].is_err(), "{at}");
    }
}
