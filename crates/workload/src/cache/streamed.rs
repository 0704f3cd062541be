//! The requests of a workload `cache` one after another, for other programs: nothing is sent and nothing answers.

use std::sync::Arc;

use weighbridge_load::keyed::KeyedDialect;
use weighbridge_load::session::Sessions;
use weighbridge_model::experiment::{CacheOperation, CacheSpec};

use super::replay::Replay;
use super::reply::Carrier;
use super::requests::Requests;
use super::sessions::{AskedKey, Cache, CacheSessions};

/// Requests in the order in which one connection sends them, without an end.
pub struct CacheStream {
    sessions: CacheSessions,
    /// Keys of the current request, and how many of them have been told.
    keys: usize,
    told: usize,
    /// Requests that fill the cache and are still to come.
    fill: u64,
    fills: bool,
    ttl: u32,
}

/// A request for one key; a get of several is as many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamedRequest {
    pub operation: CacheOperation,
    /// Its name.
    pub key: String,
    /// Bytes of the key's value, stored or not.
    pub value_length: usize,
    /// Seconds until a value that it sets runs out; 0 for never, and of all other requests.
    pub ttl: u32,
    /// Whether it only fills the cache before the load.
    pub fills: bool,
}

impl CacheStream {
    /// Those that fill the cache, then those of a substream.
    pub(super) fn new(spec: &CacheSpec, substream: u64, replay: Option<Arc<Replay>>) -> Self {
        let requests = Requests::Keyed { dialect: KeyedDialect::Memcached, ttl: 0 };
        let cache = Arc::new(Cache::new(spec, Carrier::Commands, requests).replaying(replay));
        let fill = cache.fill();
        let mut sessions = CacheSessions::new(cache);
        sessions.prepare(1);
        sessions.rewind(substream);
        Self { sessions, keys: 0, told: 0, fill, fills: false, ttl: spec.ttl.unwrap_or(0) }
    }
}

impl Iterator for CacheStream {
    type Item = StreamedRequest;

    fn next(&mut self) -> Option<StreamedRequest> {
        if self.told == self.keys {
            self.sessions.open(0);
            self.fills = self.fill > 0;
            self.fill = self.fill.saturating_sub(1);
            (self.keys, self.told) = (self.sessions.asked(0).1.len(), 0);
        }
        let (operation, asked) = self.sessions.asked(0);
        let AskedKey { name, length, .. } = &asked[self.told];
        self.told += 1;
        let key = String::from_utf8_lossy(name).into_owned();
        let ttl = if operation == CacheOperation::Set { self.ttl } else { 0 };
        Some(StreamedRequest { operation, key, value_length: *length, ttl, fills: self.fills })
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::{CacheMix, Popularity};
    use weighbridge_model::quantity::Ratio;

    use super::*;

    #[test]
    fn a_stream_is_what_a_connection_sends() {
        let spec = CacheSpec {
            keys: 100,
            mix: CacheMix { get: 6.0, set: 2.0, delete: 1.0, head: 1.0 },
            popularity: Popularity::Zipf(1.0),
            fresh: Ratio::new(0.1),
            value: "uniform:1,500".parse().expect("a law"),
            ..CacheSpec::default()
        };
        let streamed: Vec<_> = CacheStream::new(&spec, 7, None).take(5000).collect();
        assert!(streamed[..100].iter().all(|one| one.fills && one.operation == CacheOperation::Set));
        assert!(streamed[100..].iter().all(|one| !one.fills));
        // The oracle: the lines of memcached's protocol.
        let requests = Requests::Keyed { dialect: KeyedDialect::Memcached, ttl: 0 };
        let mut sessions = CacheSessions::new(Arc::new(Cache::new(&spec, Carrier::Commands, requests)));
        sessions.prepare(3);
        sessions.rewind(7);
        for (at, one) in (0..).zip(&streamed) {
            let id = sessions.open(at % 3);
            let bytes = sessions.request(id).bytes();
            let end = bytes.iter().position(|byte| *byte == b'\r').expect("a line");
            let StreamedRequest { key, value_length, .. } = one;
            let line = match one.operation {
                CacheOperation::Get => format!("get {key}"),
                CacheOperation::Set => format!("set {key} 0 0 {value_length}"),
                CacheOperation::Delete => format!("delete {key}"),
                CacheOperation::Head => format!("mg {key}"),
            };
            assert_eq!(String::from_utf8_lossy(&bytes[..end]), line);
        }
        // A get of several keys is told key by key.
        let batched =
            CacheSpec { batch: 3, keys: 10, mix: CacheMix { get: 1.0, ..spec.mix }, ..spec.clone() };
        let batched: Vec<_> = CacheStream::new(&batched, 7, None).skip(10).take(3000).collect();
        let runs =
            batched.chunk_by(|a, b| (a.operation, b.operation) == (CacheOperation::Get, CacheOperation::Get));
        for run in runs.filter(|run| run[0].operation == CacheOperation::Get) {
            let is_last = run.last() == batched.last();
            assert!(run.len() % 3 == 0 || is_last, "{} keys", run.len());
        }
        assert_ne!(streamed, CacheStream::new(&spec, 8, None).take(5000).collect::<Vec<_>>());
    }
}
