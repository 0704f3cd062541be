//! Settings of a variant's cache: the key `cache`, read and written. What a server cannot do is its service's to say.

use serde::{Deserialize, Serialize};
use toml::Table;

use super::node::{ExperimentError, Reader};
use super::{Target, Variant};
use crate::quantity::Bytes;

/// Settings of a cache; what is `None` is as the server has it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CacheSettings {
    /// Bytes that it may hold.
    pub limit: Option<Bytes>,
    pub policy: Option<EvictionPolicy>,
    /// Mean number of items in a bucket of its table.
    pub load_factor: Option<f64>,
    pub threads: Option<u32>,
}

/// What is evicted to make room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvictionPolicy {
    /// What was stored first.
    Fifo,
    /// What was used least recently.
    Lru,
    /// The largest value.
    Largest,
    /// Nothing.
    None,
}

impl EvictionPolicy {
    pub const ALL: [Self; 4] = [Self::Fifo, Self::Lru, Self::Largest, Self::None];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Lru => "lru",
            Self::Largest => "largest",
            Self::None => "none",
        }
    }
}

/// As the contract of services has it.
const LIMIT_MOST: Bytes = Bytes::new(1_000_000_000_000);
const LOAD_FACTORS: std::ops::RangeInclusive<f64> = 0.1..=10.0;
/// More than any machine has cores.
const THREADS_MOST: u64 = 4_096;

/// Reads `cache = { limit = "64 MiB", policy = "lru", load_factor = 0.75, threads = 4 }`.
pub(super) fn read(reader: &Reader<'_>) -> Result<Option<CacheSettings>, ExperimentError> {
    let Some(table) = reader.table("cache")? else { return Ok(None) };
    let limit = table.value("limit", |node| {
        let limit: Bytes = node.show().parse().map_err(|error| format!("{error}"))?;
        match (Bytes::new(1)..=LIMIT_MOST).contains(&limit) {
            true => Ok(limit),
            false => Err(format!("`{}` must be from 1 B to {LIMIT_MOST}", node.show())),
        }
    })?;
    let policy = table.choice("policy", &EvictionPolicy::ALL.map(|policy| (policy.name(), policy)))?;
    let load_factor = table.value("load_factor", |node| {
        let factor = node.show().parse().ok().filter(|factor| LOAD_FACTORS.contains(factor));
        let (least, most) = (LOAD_FACTORS.start(), LOAD_FACTORS.end());
        factor.ok_or_else(|| format!("`{}` must be a number from {least} to {most}", node.show()))
    })?;
    let threads = table.integer("threads", 1, THREADS_MOST)?.map(|threads| threads as u32);
    let line = table.line();
    table.finish()?;
    let settings = CacheSettings { limit, policy, load_factor, threads };
    if settings == CacheSettings::default() {
        let message =
            "`variant.cache` is empty; set `limit`, `policy`, `load_factor` or `threads`, or leave it out";
        return Err(reader.error(line, message));
    }
    Ok(Some(settings))
}

/// Errors: in words, why the variant has no cache of ours to set.
pub(super) fn check(variant: &Variant) -> Result<(), String> {
    if variant.cache.is_none() || matches!(variant.target, Target::Service { .. }) {
        return Ok(());
    }
    Err("`cache` belongs to `service`: a server of your own is configured by its `command`, or by whoever runs it"
        .to_owned())
}

pub(super) fn write(settings: &CacheSettings) -> Table {
    let entries: [(&str, Option<toml::Value>); 4] = [
        ("limit", settings.limit.map(|limit| format!("{} B", limit.get()).into())),
        ("policy", settings.policy.map(|policy| policy.name().into())),
        ("load_factor", settings.load_factor.map(Into::into)),
        ("threads", settings.threads.map(|threads| i64::from(threads).into())),
    ];
    entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::read_back;
    use super::*;

    fn parse(variant: &str) -> Result<Option<CacheSettings>, String> {
        let text = format!("[workload]\nname = 'http'\n[[variant]]\n{variant}\n");
        Ok(read_back(&text)?.variants[0].cache)
    }

    #[test]
    fn settings_are_read_and_written() {
        let all = "service = 'cpp'\ncache = { limit = '64 MiB', policy = 'largest', load_factor = 0.75, threads = 4 }";
        let settings = CacheSettings {
            limit: Some(Bytes::new(64 << 20)),
            policy: Some(EvictionPolicy::Largest),
            load_factor: Some(0.75),
            threads: Some(4),
        };
        assert_eq!(parse(all), Ok(Some(settings)));
        let one = CacheSettings { load_factor: Some(1.0), ..CacheSettings::default() };
        assert_eq!(parse("service = 'cpp'\ncache.load_factor = 1"), Ok(Some(one)));
        assert_eq!(parse("service = 'cpp'"), Ok(None));
    }

    #[test]
    fn a_wrong_setting_is_told_with_what_is_allowed() {
        for (variant, part) in [
            ("service = 'cpp'\ncache = {}", "`variant.cache` is empty; set `limit`"),
            ("service = 'cpp'\ncache = 'lru'", "`variant.cache` must be a table"),
            ("service = 'cpp'\ncache.limit = 0", "`variant.cache.limit`: `0` must be from 1 B to"),
            ("service = 'cpp'\ncache.limit = '64 MO'", "a size such as"),
            ("service = 'cpp'\ncache.policy = 'LRU'", "allowed: `fifo`, `lru`, `largest`, `none`"),
            ("service = 'cpp'\ncache.load_factor = 0", "must be a number from 0.1 to 10"),
            ("service = 'cpp'\ncache.threads = 0", "from 1 to 4096"),
            ("service = 'cpp'\ncache.size = 1", "unknown key `size` in `[variant.cache]`"),
            ("url = 'h'\ncache.limit = 1", "`cache` belongs to `service`"),
            ("command = 's'\ncache.limit = 1", "`cache` belongs to `service`"),
        ] {
            let error = parse(variant).expect_err(variant);
            assert!(error.contains(part), "{variant}: {error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
