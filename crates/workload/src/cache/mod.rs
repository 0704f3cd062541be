//! The workload `cache`: values under keys over HTTP and the protocols of memcached and Redis, drawn by laws, and checked
//! against the writes that were sent.

mod answers;
pub(crate) mod draw;
mod editions;
mod forecast;
mod model_cache;
mod replay;
mod reply;
mod requests;
mod sessions;
mod streamed;
mod value;

use std::any::Any;
use std::sync::Arc;

use weighbridge_load::keyed::KeyedDialect;
use weighbridge_load::resp::Handshake;
use weighbridge_model::experiment::{CacheSpec, Equality, Protocol};
use weighbridge_model::id::OperationId;

use crate::bind::{Bind, Binding};
use crate::stream::Mix;
use crate::{Workload, WorkloadError};
pub use forecast::{CacheForecast, ExpectedHits};
pub use model_cache::{ModelCache, Put};
pub use replay::{Replay, ReplayParser};
use reply::Carrier;
use requests::Requests;
pub(crate) use sessions::{Cache, CacheSessions};
pub use streamed::{CacheStream, StreamedRequest};

impl Bind for CacheSpec {
    fn bind(&self, binding: &Binding<'_>) -> Result<Workload, WorkloadError> {
        let operations = self.mixed();
        let id =
            |operation| OperationId(operations.iter().position(|one| *one == operation).unwrap_or(0) as u16);
        let keyed = |dialect| Requests::Keyed { dialect, ttl: self.ttl.unwrap_or(0) };
        let (carrier, requests) = match binding.protocol {
            Protocol::MEMCACHED => (Carrier::Commands, keyed(KeyedDialect::Memcached)),
            Protocol::RESP => {
                let database = binding.address.base.trim_start_matches('/').parse().unwrap_or(0);
                let opening = Handshake { database, ..Handshake::default() }.opening();
                (Carrier::Commands, keyed(KeyedDialect::Resp(opening)))
            }
            protocol if protocol.is_rest() => (Carrier::Rest, Requests::rest(binding, id)?),
            _ => return Err(binding.unbound("cache")),
        };
        let entries = answers::entries(self, carrier, &requests);
        let emptying = requests.emptying(binding)?;
        let mix = Mix::even(entries.len());
        let plain = binding.plain(entries, mix, Equality::Status);
        if self.trace.is_some() && binding.given.replay.is_none() {
            return Err(WorkloadError::NoReplay);
        }
        let replay = binding.given.replay.cloned();
        let cache = Cache::new(self, carrier, requests).emptied_by(emptying).replaying(replay);
        Ok(Workload { cache: Some(Arc::new(cache)), ..plain })
    }
}

/// What a cache should hold of a specification of a workload, and find; `None` if it is not this one's, or its trace was
/// not read.
pub(crate) fn forecast(spec: &dyn Any, replay: Option<&Arc<Replay>>) -> Option<CacheForecast> {
    let spec: &CacheSpec = spec.downcast_ref()?;
    match (&spec.trace, replay) {
        (None, _) => Some(CacheForecast::new(spec, spec.refill.is_some())),
        (Some(_), replay) => Some(CacheForecast::of_trace(spec, replay?)),
    }
}

/// The requests of a substream of a specification of a workload; `None` if it is not this one's, or its trace was not read.
pub(crate) fn streamed(spec: &dyn Any, substream: u64, replay: Option<&Arc<Replay>>) -> Option<CacheStream> {
    let spec: &CacheSpec = spec.downcast_ref()?;
    let is_read = spec.trace.is_none() || replay.is_some();
    is_read.then(|| CacheStream::new(spec, substream, replay.cloned()))
}

#[cfg(test)]
mod tests;
