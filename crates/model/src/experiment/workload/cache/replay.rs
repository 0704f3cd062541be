//! A trace whose requests the workload `cache` sends: its keys, read and written. The file itself is read elsewhere.

use serde::{Deserialize, Serialize};
use toml::Table;

use super::{CacheMix, CacheOperation, CacheSpec, mix};
use crate::experiment::node::{Read, Reader};

/// The most requests of a trace: 12 bytes are kept for each.
pub const REPLAY_MOST: u64 = 20_000_000;

/// Keys of the workload that a trace has in their place.
const IN_THE_TRACE: [&str; 9] = [
    "preset",
    "key",
    "value",
    "popularity",
    "delete_popularity",
    "delete_absent",
    "fresh",
    "absent",
    "resize",
];

/// A file of requests, one after another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaySpec {
    /// Relative to the experiment's folder; `.gz` and `.zst` are unpacked.
    pub file: String,
    pub format: ReplayFormat,
    /// Requests at the file's beginning that are passed over.
    pub from: u64,
    /// The most requests that are read behind them.
    pub limit: u64,
    pub sets: ReplaySets,
    /// SHA-256 of the file, once read.
    pub sha256: Option<String>,
}

/// How the rows of a trace are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplayFormat {
    /// Seven columns without a header, as Twitter published them: time in whole seconds, key, bytes of the key, bytes of
    /// the value, client, operation, time to live in seconds.
    Twitter,
    /// Columns by a header, as Meta published them for CacheLib: `key`, `op`, `size`, and optionally `op_time`,
    /// `op_count`, `key_size`, `ttl`.
    Meta,
}

/// What becomes of the sets of a trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplaySets {
    #[default]
    Send,
    /// They are left out: those that refill misses are made by the load.
    Ignore,
}

impl ReplayFormat {
    const ALL: [(&str, Self); 2] = [("twitter", Self::Twitter), ("meta", Self::Meta)];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Twitter => "twitter",
            Self::Meta => "meta",
        }
    }
}

impl ReplaySets {
    const ALL: [(&str, Self); 2] = [("send", Self::Send), ("ignore", Self::Ignore)];

    const fn name(self) -> &'static str {
        match self {
            Self::Send => "send",
            Self::Ignore => "ignore",
        }
    }
}

/// The operations of a trace before it is read.
pub(super) const ANY_MIX: CacheMix = CacheMix { get: 1.0, set: 1.0, delete: 1.0, head: 0.0 };

/// The table `workload.trace`; `None` if there is none. `mix` and `keys` beside it are what an earlier run found in it.
pub(super) fn read(reader: &Reader<'_>) -> Read<Option<(ReplaySpec, CacheMix)>> {
    let Some(table) = reader.table("trace")? else { return Ok(None) };
    for key in IN_THE_TRACE {
        if let Some(node) = reader.node(key) {
            let message = format!(
                "`{}` stands beside `trace`, which has keys and sizes of its own; leave it out",
                reader.full_key(key)
            );
            return Err(reader.error(node.line, message));
        }
    }
    let Some(file) = table.text("file")? else {
        let message =
            "`workload.trace.file` is missing; name a file of requests, relative to the experiment's folder";
        return Err(table.error(table.line(), message));
    };
    let Some(format) = table.choice("format", &ReplayFormat::ALL)? else {
        let message = "`workload.trace.format` is missing; allowed: `twitter`, `meta`";
        return Err(table.error(table.line(), message));
    };
    let spec = ReplaySpec {
        file,
        format,
        from: table.integer("from", 0, i64::MAX as u64)?.unwrap_or(0),
        limit: table.integer("limit", 1, REPLAY_MOST)?.unwrap_or(REPLAY_MOST),
        sets: table.choice("sets", &ReplaySets::ALL)?.unwrap_or_default(),
        sha256: table.text("sha256")?,
    };
    table.finish()?;
    let found = reader.table("mix")?;
    for key in ["mix", "keys"] {
        if let Some(node) = reader.node(key).filter(|_| spec.sha256.is_none()) {
            let message = format!("`{}` follows from `trace`; leave it out", reader.full_key(key));
            return Err(reader.error(node.line, message));
        }
    }
    let mix = found.map_or(Ok(ANY_MIX), mix)?;
    Ok(Some((spec, mix)))
}

pub(super) fn write(spec: &ReplaySpec) -> Table {
    let mut table = Table::new();
    table.insert("file".into(), spec.file.clone().into());
    table.insert("format".into(), spec.format.name().into());
    table.insert("from".into(), (spec.from as i64).into());
    table.insert("limit".into(), (spec.limit as i64).into());
    table.insert("sets".into(), spec.sets.name().into());
    if let Some(hash) = &spec.sha256 {
        table.insert("sha256".into(), hash.clone().into());
    }
    table
}

impl CacheSpec {
    /// Errors: in words, why the trace does not go with the rest.
    pub(super) fn check_replay(&self) -> Result<(), (&'static str, String)> {
        match &self.trace {
            Some(trace) if self.refill.is_some() && trace.sets == ReplaySets::Send => Err((
                "refill",
                "the trace has sets, those after its own misses among them; write `sets = \"ignore\"` in `trace`, or leave `refill` out"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// What was found in the trace: the number of its keys, and how often each operation occurs.
    pub fn set_found(&mut self, keys: u32, count: impl Fn(CacheOperation) -> u64, sha256: String) {
        self.keys = keys;
        let [get, set, delete, head] = CacheOperation::ALL.map(|operation| count(operation) as f64);
        self.mix = CacheMix { get, set, delete, head };
        if let Some(trace) = &mut self.trace {
            trace.sha256 = Some(sha256);
        }
    }
}
