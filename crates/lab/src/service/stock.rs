//! Stock servers: programs of others, such as Redis, that know nothing of the contract. Their `service.toml` says how they
//! are started and told the settings of a cache. Here too is what a service of the contract is told.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use weighbridge_model::experiment::{CacheSettings, EvictionPolicy};
use weighbridge_model::quantity::Bytes;

use crate::process::launch::Launch;
use crate::service::error::ServiceError;
use crate::service::manifest::{Kind, Service};

/// The limit of a cache where none is set, as in the contract.
const DEFAULT_LIMIT: Bytes = Bytes::new(64 << 20);
/// The policy where none is set, as in the contract.
const DEFAULT_POLICY: EvictionPolicy = EvictionPolicy::Lru;
/// For an answer that takes no work, and for emptying a full server.
const PATIENCE: Duration = Duration::from_secs(10);
/// The workload to which a cache of the contract belongs.
const WORKLOAD: &str = "cache";

/// The table `[cache]` of a stock server.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireStock {
    /// Bytes that the number in its command stands for.
    unit: String,
    /// The smallest limit that it keeps.
    least: String,
    /// The words of its command for each policy that it has.
    policies: toml::Table,
    /// How many threads it has where nobody says.
    threads: u32,
    flush: String,
    counters: String,
}

/// What a stock server is told of its cache, and how it is asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stock {
    unit: Bytes,
    least: Bytes,
    policies: Vec<(EvictionPolicy, Vec<String>)>,
    threads: u32,
    /// Finds the version in what its probe prints.
    version: String,
    /// The line of its protocol that empties it.
    flush: String,
    /// The line of its protocol that asks for its counters.
    counters: String,
}

/// A key with a value that is not allowed.
pub(super) struct BadKey {
    pub key: String,
    pub value: String,
    pub allowed: &'static str,
}

impl Stock {
    pub(super) fn new(wire: WireStock, version: String) -> Result<Self, BadKey> {
        let bad = |key: &str, value: String, allowed| BadKey { key: key.to_owned(), value, allowed };
        let size = |key, text: String| {
            let size = text.parse().ok().filter(|size: &Bytes| size.get() > 0);
            size.ok_or_else(|| bad(key, text, "a size such as `1 MiB`"))
        };
        if !Regex::new(&version).is_ok_and(|pattern| pattern.captures_len() == 2) {
            return Err(bad("toolchain.version", version, "a regular expression with one group"));
        }
        let mut policies = Vec::new();
        for (name, words) in wire.policies {
            let policy = EvictionPolicy::ALL.into_iter().find(|policy| policy.name() == name);
            match (policy, words.clone().try_into()) {
                (Some(policy), Ok(words)) => policies.push((policy, words)),
                _ => {
                    let key = format!("cache.policies.{name}");
                    let allowed = "`fifo`, `lru`, `largest` or `none`, each with a list of words";
                    return Err(bad(&key, words.to_string(), allowed));
                }
            }
        }
        if !policies.iter().any(|(policy, _)| *policy == DEFAULT_POLICY) {
            return Err(bad("cache.policies", String::new(), "`lru`, and others"));
        }
        let (unit, least) = (size("cache.unit", wire.unit)?, size("cache.least", wire.least)?);
        Ok(Self {
            unit,
            least,
            policies,
            threads: wire.threads,
            version,
            flush: wire.flush,
            counters: wire.counters,
        })
    }

    /// The version in what the probe printed.
    pub(super) fn version_in(&self, printed: &str) -> Option<String> {
        let found = Regex::new(&self.version).ok()?.captures(printed)?;
        Some(found.get(1)?.as_str().to_owned())
    }

    /// The command with these settings; `{host}` and `{port}` are filled in when it is started.
    pub(super) fn command(&self, start: &[String], cache: &CacheSettings) -> Vec<String> {
        let limit = cache.limit.unwrap_or(DEFAULT_LIMIT).get() / self.unit.get();
        let threads = cache.threads.unwrap_or(self.threads);
        let policy = self.words(cache.policy.unwrap_or(DEFAULT_POLICY)).unwrap_or_default();
        let filled = |word: &String| match word.as_str() {
            "{policy}" => policy.to_vec(),
            _ => {
                let word = word.replace("{limit}", &limit.to_string());
                vec![word.replace("{threads}", &threads.to_string())]
            }
        };
        start.iter().flat_map(filled).collect()
    }

    /// Empties the server at this address.
    pub fn empty(&self, address: SocketAddr) -> io::Result<()> {
        let reply = read_line(&mut say(address, &self.flush)?)?;
        match reply.as_str() {
            "OK" | "+OK" => Ok(()),
            other => Err(io::Error::other(format!("`{}` was answered by `{other}`", self.flush))),
        }
    }

    /// What the server at this address counts, by the names that it has for that.
    pub fn counters(&self, address: SocketAddr) -> io::Result<BTreeMap<String, u64>> {
        let mut replies = say(address, &self.counters)?;
        let first = read_line(&mut replies)?;
        let mut lines = vec![first.clone()];
        if let Some(length) = first.strip_prefix('$') {
            // RESP tells the length of a text before it.
            let length = length.parse().map_err(|_| io::Error::other(format!("no length in `{first}`")))?;
            let mut text = vec![0; length];
            io::Read::read_exact(&mut replies, &mut text)?;
            lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
        } else {
            // memcached ends a list by a line of its own.
            while lines.last().is_some_and(|line| line.starts_with("STAT ")) {
                lines.push(read_line(&mut replies)?);
            }
        }
        let counter = |line: &String| {
            let (name, value) = line.strip_prefix("STAT ").unwrap_or(line).split_once([':', ' '])?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        Ok(lines.iter().filter_map(counter).collect())
    }

    fn words(&self, policy: EvictionPolicy) -> Option<&[String]> {
        self.policies.iter().find(|(known, _)| *known == policy).map(|(_, words)| words.as_slice())
    }

    /// The setting that it cannot keep, and why.
    fn refused(&self, cache: &CacheSettings) -> Option<[String; 2]> {
        if let Some(limit) = cache.limit.filter(|limit| *limit < self.least) {
            return Some([
                format!("limit = {limit}"),
                format!("it keeps to limits of {} and more", self.least),
            ]);
        }
        if let Some(limit) = cache.limit.filter(|limit| !limit.get().is_multiple_of(self.unit.get())) {
            return Some([format!("limit = {limit}"), format!("its limits are multiples of {}", self.unit)]);
        }
        if let Some(policy) = cache.policy.filter(|policy| self.words(*policy).is_none()) {
            let known: Vec<_> =
                self.policies.iter().map(|(known, _)| format!("`{}`", known.name())).collect();
            return Some([format!("policy = {}", policy.name()), format!("it has {}", known.join(", "))]);
        }
        cache
            .load_factor
            .map(|factor| [format!("load_factor = {factor}"), "that of its table cannot be set".to_owned()])
    }
}

/// Sends a line over a connection of its own; both protocols take lines.
fn say(address: SocketAddr, line: &str) -> io::Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{line}\r\n").as_bytes())?;
    Ok(BufReader::new(stream))
}

fn read_line(replies: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = String::new();
    replies.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}

impl Service {
    /// Whether a program of others, outside of the contract.
    pub fn is_stock(&self) -> bool {
        self.stock().is_some()
    }

    pub fn stock(&self) -> Option<&Stock> {
        match self.kind() {
            Kind::Stock(stock) => Some(stock),
            Kind::Contract { .. } => None,
        }
    }

    /// Whether it can be configured like this while it carries out this workload.
    pub fn takes_cache(&self, cache: &CacheSettings, workload: Option<&str>) -> Result<(), ServiceError> {
        let refused = match self.kind() {
            Kind::Stock(stock) => stock.refused(cache),
            Kind::Contract { .. } if workload != Some(WORKLOAD) => {
                return Err(ServiceError::NoCache { service: self.name().to_owned() });
            }
            Kind::Contract { load_factor } => cache
                .threads
                .map(|threads| {
                    let why = "it has as many as its run-time likes; limit it by `cores`";
                    [format!("threads = {threads}"), why.to_owned()]
                })
                .or_else(|| {
                    let factor = cache.load_factor.filter(|_| !load_factor)?;
                    Some([format!("load_factor = {factor}"), "that of its table cannot be set".to_owned()])
                }),
        };
        let service = || self.name().to_owned();
        refused.map_or(Ok(()), |[setting, why]| {
            Err(ServiceError::NoCacheSetting { service: service(), setting, why })
        })
    }

    /// Starts it with these settings.
    pub fn set_cache(&self, cache: &CacheSettings, launch: &mut Launch) {
        match self.kind() {
            Kind::Stock(stock) => launch.command = self.resolve(&stock.command(self.start(), cache)),
            Kind::Contract { .. } => {
                let variables = [
                    ("CACHE_LIMIT", cache.limit.map(|limit| limit.get().to_string())),
                    ("CACHE_POLICY", cache.policy.map(|policy| policy.name().to_owned())),
                    ("CACHE_LOAD_FACTOR", cache.load_factor.map(|factor| factor.to_string())),
                ];
                let set = variables.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
                launch.environment.extend(set);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const STOCK: &str = r#"
kind = "stock"
name = "memcached"
language = "C"
freeze = "safe"

[workloads]
cache = ["memcached"]

[toolchain]
probe = ["echo", "memcached", "1.6.18"]
remedy = "install it"
version = 'memcached (\S+)'

[start]
command = ["memcached", "-l", "{host}", "-p", "{port}", "-m", "{limit}", "{policy}", "-t", "{threads}"]

[cache]
unit = "1 MiB"
least = "64 MiB"
policies = { lru = [], none = ["-M"] }
threads = 4
flush = "flush_all"
counters = "stats"
"#;

    fn parse(text: &str) -> Result<Service, String> {
        Service::parse(Path::new("/tmp/memcached"), text).map_err(|error| error.to_string())
    }

    fn contract(more: &str) -> Service {
        let text = format!(
            "name = 'cpp'\nlanguage = 'C++'\nfreeze = 'safe'\n{more}\n[workloads]\ncache = ['http1-json']\n\
             [toolchain]\nprobe = ['true']\nremedy = 'none'\n[build]\ncommand = ['true']\n[start]\ncommand = ['./run']\n"
        );
        Service::parse(Path::new("/tmp/cpp"), &text).expect("a right file")
    }

    fn launch(service: &Service) -> Launch {
        service.launch("cache", "memcached", Path::new("o"), Path::new("e"))
    }

    #[test]
    fn settings_are_words_of_the_command() {
        let service = parse(STOCK).expect("a right file");
        let start = ["memcached", "-l", "{host}", "-p", "{port}", "-m"];
        let mut launch = launch(&service);
        assert_eq!(launch.command, [&start[..], &["64", "-t", "4"]].concat());
        let cache = CacheSettings {
            limit: Some(Bytes::new(100 << 20)),
            policy: Some(EvictionPolicy::None),
            threads: Some(1),
            ..CacheSettings::default()
        };
        service.takes_cache(&cache, None).expect("it can");
        service.set_cache(&cache, &mut launch);
        assert_eq!(launch.command, [&start[..], &["100", "-M", "-t", "1"]].concat());
        let version = service.stock().and_then(|stock| stock.version_in("memcached 1.6.18\n"));
        assert_eq!(version.as_deref(), Some("1.6.18"));
        assert!(service.is_built());
    }

    #[test]
    fn what_a_server_lacks_is_said() {
        let stock = parse(STOCK).expect("a right file");
        let none = CacheSettings::default();
        let limit = |bytes| CacheSettings { limit: Some(Bytes::new(bytes)), ..none };
        let policy = CacheSettings { policy: Some(EvictionPolicy::Fifo), ..none };
        let factor = CacheSettings { load_factor: Some(0.5), ..none };
        let threads = CacheSettings { threads: Some(2), ..none };
        let (plain, cpp) = (contract(""), contract("load_factor = true"));
        for (service, cache, part) in [
            (&stock, limit(1 << 20), "it keeps to limits of 64 MiB and more"),
            (&stock, limit((64 << 20) + 1), "its limits are multiples of 1 MiB"),
            (&stock, policy, "cannot have `cache.policy = fifo`: it has `lru`, `none`"),
            (&stock, factor, "`cache.load_factor = 0.5`: that of its table cannot be set"),
            (&plain, factor, "`cache.load_factor = 0.5`: that of its table cannot be set"),
            (&cpp, threads, "limit it by `cores`"),
        ] {
            let error = service.takes_cache(&cache, Some("cache")).expect_err(part).to_string();
            assert!(error.contains(part), "{error}");
        }
        cpp.takes_cache(&factor, Some("cache")).expect("it can");
        let error = cpp.takes_cache(&limit(1), Some("pingpong")).expect_err("another workload").to_string();
        assert!(error.contains("but with the workload `cache`"), "{error}");
    }

    #[test]
    fn a_service_is_told_by_variables() {
        let service = contract("load_factor = true");
        let mut launch = launch(&service);
        let cache = CacheSettings {
            limit: Some(Bytes::new(1000)),
            policy: Some(EvictionPolicy::Largest),
            load_factor: Some(0.75),
            threads: None,
        };
        service.set_cache(&cache, &mut launch);
        let last = |name: &str| {
            let set = launch.environment.iter().rev().find(|(key, _)| key == name);
            set.map(|(_, value)| value.as_str())
        };
        let names = ["CACHE_LIMIT", "CACHE_POLICY", "CACHE_LOAD_FACTOR"];
        assert_eq!(names.map(last), [Some("1000"), Some("largest"), Some("0.75")]);
    }

    #[test]
    fn a_wrong_file_is_told_with_what_is_allowed() {
        for (from, to, part) in [
            ("kind = \"stock\"\n", "", "`kind` is `contract`, allowed is with `[build]`"),
            ("freeze", "tls = true\nfreeze", "`kind` is `stock`, allowed is with `[cache]`"),
            ("memcached (\\S+)", "memcached", "`toolchain.version` is `memcached`"),
            ("lru = [], ", "", "`cache.policies` is ``, allowed is `lru`"),
            ("none = [", "random = [", "`cache.policies.random` is `[\"-M\"]`"),
            ("\"1 MiB\"", "\"0\"", "`cache.unit` is `0`"),
            ("flush =", "flash =", "unknown field `flash`"),
        ] {
            let text = STOCK.replace(from, to);
            assert_ne!(text, STOCK, "{from}");
            let error = parse(&text).expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }
}
