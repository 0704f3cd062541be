//! The workload `cache`: values under keys, asked for by their popularity. Its keys, read and written.

mod laws;
mod replay;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use toml::Table;

use super::{Spec, WorkloadSpec, refuse_peers};
use crate::experiment::cache::EvictionPolicy;
use crate::experiment::node::{Read, Reader};
use crate::experiment::{Protocol, Think, Variant};
use crate::id::OperationId;
use crate::quantity::{Nanoseconds, Ratio};

pub use laws::{FbTail, KEY_MOST, LengthLaw, PopularShare, Popularity, VALUE_MOST, WeightedLength};
pub use replay::{REPLAY_MOST, ReplayFormat, ReplaySets, ReplaySpec};

/// 30 days; memcached takes more for a date.
const TTL_MOST: u32 = 30 * 24 * 3600;
/// The most keys: 12 bytes are kept for each.
const KEYS_MOST: u64 = 100_000_000;
/// Most keys of one get.
const BATCH_MOST: u64 = 1000;

/// Values under keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CacheSpec {
    pub keys: u32,
    pub mix: CacheMix,
    /// Law of the lengths of keys; each key has always the same.
    pub key: LengthLaw,
    /// Law of the lengths of values; each key has always the same.
    pub value: LengthLaw,
    /// Of all operations but deletes.
    pub popularity: Popularity,
    pub delete_popularity: Popularity,
    /// Share of deletes for keys that are never stored.
    pub delete_absent: Ratio,
    /// Share of gets for a key that was never used before.
    pub fresh: Ratio,
    /// Share of gets and heads for keys that are never stored.
    pub absent: Ratio,
    /// How long after a miss its key is set, as if a backend had been asked; `None` if it is not.
    pub refill: Option<Think>,
    /// Seconds after which a value that was set runs out; `None` if it does not.
    #[serde(default)]
    pub ttl: Option<u32>,
    /// Keys that one get asks for.
    #[serde(default = "one")]
    pub batch: u16,
    pub start: CacheStart,
    /// Requests come from this file, in its order; `keys` and `mix` are then what it holds, and no law is drawn from.
    #[serde(default)]
    pub trace: Option<ReplaySpec>,
    /// The run's seed, from which the order of popularity and the lengths follow.
    pub seed: u64,
    /// Whether the variant's cache evicts nothing, so that it may refuse a value that does not fit.
    #[serde(skip)]
    pub may_be_full: bool,
}

/// Weights of the operations; at least one is above zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CacheMix {
    pub get: f64,
    pub set: f64,
    pub delete: f64,
    pub head: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheOperation {
    Get,
    Set,
    Delete,
    /// Whether there is a value.
    Head,
}

/// What a cache holds when the load begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheStart {
    /// Every key is set once, the most popular last, before the warm-up; all later requests follow.
    #[default]
    Warm,
    /// Nothing in each window: it is emptied before.
    Empty,
    /// Nothing in the first window of a block: it is emptied once, after the warm-up.
    Cold,
}

impl CacheStart {
    const ALL: [Self; 3] = [Self::Warm, Self::Empty, Self::Cold];

    const fn name(self) -> &'static str {
        match self {
            Self::Warm => "warm",
            Self::Empty => "empty",
            Self::Cold => "cold",
        }
    }
}

impl CacheOperation {
    pub const ALL: [Self; 4] = [Self::Get, Self::Set, Self::Delete, Self::Head];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
            Self::Delete => "delete",
            Self::Head => "head",
        }
    }
}

impl CacheMix {
    pub const fn weight(&self, operation: CacheOperation) -> f64 {
        match operation {
            CacheOperation::Get => self.get,
            CacheOperation::Set => self.set,
            CacheOperation::Delete => self.delete,
            CacheOperation::Head => self.head,
        }
    }
}

impl Default for CacheSpec {
    fn default() -> Self {
        Self {
            keys: 10_000,
            mix: CacheMix { get: 30.0, set: 1.0, delete: 0.0, head: 0.0 },
            key: LengthLaw::Fixed(16),
            value: LengthLaw::Fixed(100),
            popularity: Popularity::Zipf(0.99),
            delete_popularity: Popularity::Uniform,
            delete_absent: Ratio::new(0.0),
            fresh: Ratio::new(0.0),
            absent: Ratio::new(0.0),
            refill: None,
            ttl: None,
            batch: 1,
            start: CacheStart::Warm,
            trace: None,
            seed: 1,
            may_be_full: false,
        }
    }
}

impl CacheSpec {
    /// Pool ETC at Facebook (Atikoglu et al., SIGMETRICS 2012). 18.6 % of its gets miss, of these 70 % for keys never
    /// stored and 8 % for deleted ones, so that nearly all of its many deletes name keys that are not there.
    fn etc() -> Self {
        Self {
            keys: 1_000_000,
            mix: CacheMix { get: 67.0, set: 3.0, delete: 30.0, head: 0.0 },
            key: LengthLaw::FB_KEY,
            value: LengthLaw::FbValue(FbTail::Shifted),
            popularity: Popularity::etc(),
            delete_absent: Ratio::new(0.97),
            fresh: Ratio::new(0.13),
            refill: Some(Think::Constant { time: Nanoseconds::from_millis(1) }),
            ..Self::default()
        }
    }

    /// The operations that the mix has, in the order of their [`OperationId`]. After them come the kinds of gets, hits
    /// before misses, and with refills these and lookups.
    pub fn mixed(&self) -> Vec<CacheOperation> {
        CacheOperation::ALL.into_iter().filter(|operation| self.mix.weight(*operation) > 0.0).collect()
    }

    /// Letters of the shortest key: one that says whether it is ever stored, and a number. Fresh keys have numbers
    /// beyond those of the keys.
    pub fn shortest_key(&self) -> u32 {
        if self.fresh.get() > 0.0 { 12 } else { (self.keys - 1).checked_ilog10().unwrap_or(0) + 2 }
    }

    /// Errors: key and reason.
    fn check_batch(&self) -> Result<(), (&'static str, String)> {
        let without = match (self.batch > 1, &self.refill, &self.trace) {
            (true, Some(_), _) => {
                "is not filled again by misses; write `refill = false`, or leave `batch` out"
            }
            (true, _, Some(_)) => {
                "is not what a trace holds, whose gets have one key each; leave `batch` or `trace` out"
            }
            _ => return Ok(()),
        };
        Err(("batch", format!("a cache whose gets ask for several keys {without}")))
    }

    /// Errors: key and reason.
    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.mixed().is_empty() {
            return Err(("mix", "needs an operation with a weight above zero".to_owned()));
        }
        self.check_batch()?;
        self.check_replay()?;
        if self.trace.is_some() {
            return Ok(());
        }
        let shortest = self.shortest_key();
        if let Some(length) =
            self.key.given().into_iter().find(|length| !(shortest..=KEY_MOST).contains(length))
        {
            let fresh = if self.fresh.get() > 0.0 { " and fresh ones" } else { "" };
            let most = KEY_MOST;
            return Err((
                "key",
                format!(
                    "keys of {length} B are not possible here: {} keys{fresh} need {shortest} to {most} B",
                    self.keys
                ),
            ));
        }
        if let Some(length) = self.value.given().into_iter().find(|length| *length > VALUE_MOST) {
            return Err((
                "value",
                format!("values of {length} B are too long; at most {VALUE_MOST} B are allowed"),
            ));
        }
        self.popularity.check(self.keys).map_err(|why| ("popularity", why))?;
        self.delete_popularity.check(self.keys).map_err(|why| ("delete_popularity", why))?;
        if self.fresh.get() + self.absent.get() > 1.0 {
            return Err(("absent", "together with `fresh` it must be at most 100 % of the gets".to_owned()));
        }
        Ok(())
    }
}

impl Spec for CacheSpec {
    const NAME: &'static str = "cache";

    fn read(reader: &Reader<'_>) -> Read<Self> {
        let replayed = replay::read(reader)?;
        let preset = reader.choice("preset", &[("etc", ())])?;
        let standard = if preset.is_some() { Self::etc() } else { Self::default() };
        let keys = reader.integer("keys", 1, KEYS_MOST)?;
        let words = CacheStart::ALL.map(|start| (start.name(), start));
        let (trace, found) = replayed.unzip();
        let standard = Self { mix: found.unwrap_or(standard.mix), ..standard };
        let spec = Self {
            keys: keys.map_or(standard.keys, |keys| keys as u32),
            mix: reader.table("mix")?.map_or(Ok(standard.mix), mix)?,
            key: law(reader, "key")?.unwrap_or(standard.key),
            value: law(reader, "value")?.unwrap_or(standard.value),
            popularity: law(reader, "popularity")?.unwrap_or(standard.popularity),
            delete_popularity: law(reader, "delete_popularity")?.unwrap_or(standard.delete_popularity),
            delete_absent: share(reader, "delete_absent")?.unwrap_or(standard.delete_absent),
            fresh: share(reader, "fresh")?.unwrap_or(standard.fresh),
            absent: share(reader, "absent")?.unwrap_or(standard.absent),
            refill: refill(reader)?.unwrap_or(standard.refill),
            ttl: ttl(reader)?,
            batch: reader.integer("batch", 1, BATCH_MOST)?.map_or(1, |keys| keys as u16),
            start: reader.choice("start", &words)?.unwrap_or_default(),
            trace,
            seed: standard.seed,
            may_be_full: false,
        };
        spec.check().map_err(|(key, why)| {
            let line = reader.node(key).map_or(reader.line(), |node| node.line);
            reader.error(line, format!("`{}`: {why}", reader.full_key(key)))
        })?;
        Ok(spec)
    }

    fn write(&self, table: &mut Table) {
        let mut mix = Table::new();
        for operation in self.mixed() {
            mix.insert(operation.name().into(), self.mix.weight(operation).into());
        }
        let refill = self.refill.map_or(toml::Value::from(false), |delay| delay.to_string().into());
        table.insert("refill".into(), refill);
        table.insert("start".into(), self.start.name().into());
        if let Some(seconds) = self.ttl {
            table.insert("ttl".into(), format!("{seconds} s").into());
        }
        if self.batch > 1 {
            table.insert("batch".into(), i64::from(self.batch).into());
        }
        if let Some(trace) = &self.trace {
            table.insert("trace".into(), replay::write(trace).into());
            if trace.sha256.is_none() {
                return;
            }
        }
        table.insert("keys".into(), i64::from(self.keys).into());
        table.insert("mix".into(), mix.into());
        if self.trace.is_some() {
            return;
        }
        for (key, text) in [
            ("key", self.key.to_string()),
            ("value", self.value.to_string()),
            ("popularity", self.popularity.to_string()),
            ("delete_popularity", self.delete_popularity.to_string()),
        ] {
            table.insert(key.into(), text.into());
        }
        for (key, share) in
            [("delete_absent", self.delete_absent), ("fresh", self.fresh), ("absent", self.absent)]
        {
            table.insert(key.into(), share.get().into());
        }
    }

    /// The operations of the mix, then the kinds of gets, whose times are recorded apart too.
    fn operations(&self) -> Vec<String> {
        let mut names: Vec<&str> = self.mixed().into_iter().map(CacheOperation::name).collect();
        if self.mix.get > 0.0 {
            names.extend(["get hit", "get miss"]);
            names.extend(self.refill.into_iter().flat_map(|_| ["refill", "lookup"]));
        }
        names.into_iter().map(str::to_owned).collect()
    }

    fn first_operations(&self) -> Vec<(OperationId, String)> {
        (0..).map(OperationId).zip(self.operations()).take(self.mixed().len()).collect()
    }

    fn words(&self) -> String {
        let names: Vec<&str> = self.mixed().into_iter().map(CacheOperation::name).collect();
        let operations = names.join(", ");
        if let Some(trace) = &self.trace {
            return format!("cache {operations} of {}", trace.file);
        }
        let batch = if self.batch > 1 { format!(", {} a get", self.batch) } else { String::new() };
        format!("cache {operations} of {} keys{batch}, {}, values {}", self.keys, self.popularity, self.value)
    }

    fn leads_to_more(&self) -> bool {
        self.refill.is_some()
    }

    fn is_stateful(&self) -> bool {
        true
    }

    fn ages(&self) -> bool {
        self.ttl.is_some()
    }

    fn for_variant(&self, variant: &Variant) -> Option<WorkloadSpec> {
        let policy = variant.cache?.policy?;
        (policy == EvictionPolicy::None).then(|| Self { may_be_full: true, ..self.clone() }.into())
    }

    fn offered_as(&self, _variant: &Variant) -> Option<&'static str> {
        Some(Self::NAME)
    }

    fn set_seed(&mut self, seed: u64) {
        self.seed = seed;
    }

    fn replaying(&mut self) -> Option<&mut CacheSpec> {
        self.trace.is_some().then_some(self)
    }

    fn check_variants(&self, variants: &[Variant]) -> Result<(), String> {
        refuse_peers(variants, Self::NAME)?;
        let carries = |protocol: Protocol| {
            protocol.is_rest() || matches!(protocol, Protocol::MEMCACHED | Protocol::RESP)
        };
        let lacking = match (self.ttl.is_some(), self.batch > 1) {
            (true, _) => Some(("times to live", "ttl")),
            (false, true) => Some(("gets of several keys", "batch")),
            (false, false) => None,
        };
        let rest = variants.iter().find(|variant| variant.protocol.is_rest());
        if let (Some(variant), Some((what, key))) = (rest, lacking) {
            return Err(format!(
                "variant `{}`: `{}` has no {what}; leave `workload.{key}` out, or use `protocol = \"memcached\"` or `\"resp\"`",
                variant.name,
                variant.protocol.name()
            ));
        }
        match variants.iter().find(|variant| !carries(variant.protocol)) {
            None => Ok(()),
            Some(variant) => Err(format!(
                "variant `{}`: `{}` cannot carry the workload `cache`; allowed: `protocol = \"http1-json\"`, `\"http2-json\"`, `\"memcached\"`, `\"resp\"`",
                variant.name,
                variant.protocol.name()
            )),
        }
    }
}

/// Runs of before have gets of one key.
const fn one() -> u16 {
    1
}

fn mix(reader: Reader<'_>) -> Read<CacheMix> {
    let weight = |key: &'static str| {
        let weight = reader.value(key, |node| match node.show().parse::<f64>() {
            Ok(weight) if weight >= 0.0 && weight.is_finite() => Ok(weight),
            _ => Err(format!("`{}` must be a number from 0 on", node.show())),
        })?;
        Ok(weight.unwrap_or(0.0))
    };
    let mix = CacheMix {
        get: weight("get")?,
        set: weight("set")?,
        delete: weight("delete")?,
        head: weight("head")?,
    };
    reader.finish()?;
    Ok(mix)
}

/// Whole seconds, as memcached counts them.
fn ttl(reader: &Reader<'_>) -> Read<Option<u32>> {
    reader.value("ttl", |node| {
        let time = node.show().parse::<Nanoseconds>().map_err(|error| error.to_string())?;
        let (seconds, rest) = (time.as_nanos() / 1_000_000_000, time.as_nanos() % 1_000_000_000);
        match u32::try_from(seconds) {
            Ok(seconds @ 1..=TTL_MOST) if rest == 0 => Ok(seconds),
            _ => Err(format!("`{}` must be whole seconds from 1 s to 30 days", node.show())),
        }
    })
}

/// `false`, or how long the backend takes.
fn refill(reader: &Reader<'_>) -> Read<Option<Option<Think>>> {
    reader.value("refill", |node| match node.show().as_str() {
        "false" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            let laws = "`1 ms`, `exponential:mean=1ms`, `uniform:low=1ms,high=3ms`, or `false` for none";
            format!("`{text}` does not say how long after a miss the key is set; write {laws}")
        }),
    })
}

/// A law as text, or a length as a number.
fn law<T: FromStr<Err: fmt::Display>>(reader: &Reader<'_>, key: &'static str) -> Read<Option<T>> {
    reader.quantity(key)
}

/// A share from 0 % to 100 %.
fn share(reader: &Reader<'_>, key: &'static str) -> Read<Option<Ratio>> {
    reader.value(key, |node| match node.show().parse::<Ratio>() {
        Ok(share) if share.get() <= 1.0 => Ok(share),
        Ok(share) => Err(format!("`{share}` must be a share from 0 % to 100 %")),
        Err(error) => Err(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    fn experiment(workload: &str) -> Result<Experiment, String> {
        let text =
            format!("[workload]\nname = 'cache'\n{workload}\n[[variant]]\nurl = 'redis://localhost'\n");
        Experiment::parse("x.toml", &text).map_err(|error| error.to_string())
    }

    fn spec(workload: &str) -> CacheSpec {
        let experiment = experiment(workload).unwrap_or_else(|error| panic!("{error}"));
        let again = Experiment::parse("x.toml", &experiment.to_toml()).expect("what was written");
        assert_eq!(again, experiment, "{}", experiment.to_toml());
        match &experiment.points[0].workload {
            WorkloadSpec::Cache(spec) => spec.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_key_is_read_and_written_back() {
        assert_eq!(spec(""), CacheSpec::default());
        assert_eq!(spec("preset = 'etc'"), CacheSpec::etc());
        let all = spec(
            "preset = 'etc'\nkeys = 5000\nmix = { get = 2, head = 1.5 }\nkey = 20\nvalue = 'list:1=2,3=4'\n\
             popularity = 'zipf:1.2'\ndelete_popularity = 'hotspot:20%=80%'\ndelete_absent = '50 %'\n\
             fresh = 0\nabsent = '1 %'\nrefill = 'exponential:mean=2ms'\nstart = 'cold'",
        );
        assert_eq!(spec("batch = 16").batch, 16);
        assert_eq!(all.mixed(), [CacheOperation::Get, CacheOperation::Head]);
        assert_eq!(all.operations(), ["get", "head", "get hit", "get miss", "refill", "lookup"]);
        assert_eq!(all.first_operations().len(), 2);
        assert_eq!((all.key, all.keys, all.start), (LengthLaw::Fixed(20), 5000, CacheStart::Cold));
        assert_eq!((all.fresh.get(), all.absent.get(), all.delete_absent.get()), (0.0, 0.01, 0.5));
    }

    #[test]
    fn a_trace_is_stored_with_what_was_found_in_it() {
        let text = "trace = { file = 't.csv', format = 'meta', from = 5, limit = 9, sets = 'ignore' }\nrefill = '1 ms'\nstart = 'cold'";
        let mut experiment = experiment(text).expect("an experiment");
        let found = experiment.points[0].workload.replaying().expect("a trace");
        assert_eq!(found.mixed().len(), 3, "before it is read it may have any");
        found.set_found(77, |operation| u64::from(operation == CacheOperation::Get) * 9, "ab".repeat(32));
        assert_eq!((found.keys, found.mixed()), (77, vec![CacheOperation::Get]));
        let again = Experiment::parse("x.toml", &experiment.to_toml()).expect("what was written");
        assert_eq!(again.points, experiment.points);
    }

    #[test]
    fn values_that_run_out_are_measured_one_after_another() {
        use crate::pairing::PairingChoice;
        let one = experiment("ttl = '10 s'").expect("an experiment");
        assert_eq!(one.plan.pairing, PairingChoice::Sequential);
        assert_eq!(Experiment::parse("x.toml", &one.to_toml()).expect("what was written"), one);
        for (rest, part) in [
            ("[plan]\npairing = 'windows'", "use `sequential`, or leave `pairing` out"),
            ("[plan]\npairing = 'requests'", "use `sequential`, or leave `pairing` out"),
            ("[capacity]\nobjective = 'p99 < 1 ms'", "leave `ttl` or `[capacity]` out"),
        ] {
            let error = experiment(&format!("ttl = '10 s'\n{rest}")).expect_err(rest);
            assert!(error.contains(part) && !error.contains('\n'), "{rest}: {error}");
        }
        let text = "[workload]\nname = 'cache'\nttl = '1 s'\n[[variant]]\nservice = 'rust'\n";
        let error = Experiment::parse("x.toml", text).expect_err("no times to live").to_string();
        assert!(error.contains("`http1-json` has no times to live; leave `workload.ttl` out"), "{error}");
    }

    #[test]
    fn errors_say_what_is_allowed() {
        for (workload, part) in [
            ("preset = 'usr'", "allowed: `etc`"),
            ("keys = 0", "from 1 to 100000000"),
            ("mix = {}", "`workload.mix`: needs an operation"),
            ("mix = { get = -1 }", "number from 0 on"),
            ("mix = { gets = 1 }", "did you mean `get`?"),
            ("key = 'fixed'", "is not a law of lengths"),
            ("key = 5\nkeys = 100_000", "100000 keys need 6 to 250 B"),
            ("key = 11\nfresh = 0.1", "10000 keys and fresh ones need 12 to 250 B"),
            ("key = 'list:16=1,300=1'", "keys of 300 B are not possible"),
            ("value = 2_000_000", "at most 1000000 B"),
            ("popularity = 'zipf:x'", "from 0 to 20"),
            ("popularity = 'etc'\nkeys = 3", "give more `keys`"),
            ("fresh = '130 %'", "from 0 % to 100 %"),
            ("fresh = 0.6\nabsent = 0.6", "at most 100 % of the gets"),
            ("refill = true", "`true` does not say how long after a miss the key is set; write `1 ms`"),
            ("refill = '1 ms'\n[load]\nthink = '1 ms'", "leave `think` out"),
            ("start = 'hot'", "allowed: `warm`, `empty`, `cold`"),
            ("trace = {}", "`workload.trace.file` is missing; name a file of requests"),
            ("trace = { file = 't.csv' }", "`workload.trace.format` is missing; allowed: `twitter`, `meta`"),
            ("trace = { file = 't.csv', format = 'csv' }", "allowed: `twitter`, `meta`"),
            ("trace = { file = 't.csv', format = 'meta', limit = 0 }", "from 1 to 20000000"),
            ("trace = { file = 't.csv', format = 'meta', rows = 5 }", "unknown key `rows`"),
            (
                "popularity = 'uniform'\ntrace = { file = 't.csv', format = 'meta' }",
                "`workload.popularity` stands beside `trace`, which has keys and sizes of its own",
            ),
            ("keys = 5\ntrace = { file = 't.csv', format = 'meta' }", "`workload.keys` follows from `trace`"),
            (
                "refill = '1 ms'\ntrace = { file = 't.csv', format = 'meta' }",
                "write `sets = \"ignore\"` in `trace`, or leave `refill` out",
            ),
            ("batch = 0", "must be"),
            ("batch = 1001", "must be"),
            ("batch = 2\nrefill = '1 ms'", "write `refill = false`, or leave `batch` out"),
            ("batch = 2\ntrace = { file = 't.csv', format = 'meta' }", "leave `batch` or `trace` out"),
            ("ttl = '1500 ms'", "must be whole seconds from 1 s to 30 days"),
            ("ttl = '0 s'", "must be whole seconds from 1 s to 30 days"),
            ("ttl = '3000000 s'", "must be whole seconds from 1 s to 30 days"),
        ] {
            let error = experiment(workload).expect_err(workload);
            assert!(error.contains(part) && !error.contains('\n'), "{workload}: {error}");
        }
        let text = "[workload]\nname = 'cache'\n[[variant]]\nservice = 'go'\nprotocol = 'grpc'\n";
        let error = Experiment::parse("x.toml", text).expect_err("no commands").to_string();
        assert!(error.contains("cannot carry the workload `cache`; allowed: `protocol ="), "{error}");
    }
}
