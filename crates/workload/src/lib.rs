//! Workloads: which operations a session issues, with what payload, and how a reply is checked.
//!
//! A [`Workload`] is one specification bound to one variant's address: requests rendered once, checks prepared, the
//! request stream seeded. It opens no connections and reads no clocks; `load` drives it. It reads only `.proto` files
//! ([`proto`]), and requests descriptors from a server only through its caller ([`reflection`]).

mod bind;
mod cache;
mod canonical;
mod checks;
mod codec;
mod commands;
pub mod direct;
mod expect;
mod grpc;
mod http;
mod json;
mod mping;
mod person;
mod pingpong;
mod scenario;
mod spread;
mod stream;
pub mod trade;

use std::sync::Arc;

use weighbridge_load::Framing;
use weighbridge_load::h2::Http2Settings;
pub use weighbridge_load::h2::Scheme as UrlScheme;
use weighbridge_load::request::{RenderError, Rendered};
use weighbridge_load::session::Sessions;
use weighbridge_load::{memcached, resp, thrift};
use weighbridge_model::each_workload;
use weighbridge_model::experiment::{
    CodecName, Equality, FramingName, LoadSpec, Protocol, TemplateError, ValueError, WorkloadSpec,
};
use weighbridge_model::quantity::Bytes;

pub use bind::DataFile;
use bind::{Bind, Binding};
use cache::{Cache, CacheSessions};
pub use cache::{
    CacheForecast, CacheStream, ExpectedHits, ModelCache, Put, Replay, ReplayParser, StreamedRequest,
};
pub use canonical::{Canonical, Received};
use expect::Expect;
use grpc::PongMessageCheck;
pub use grpc::{GrpcError, proto, reflection};
use json::Pointer;
pub use mping::read_mping;
pub use person::{ExchangesError, PersonExchange, PersonTrial, person_exchanges, person_trial};
pub use scenario::rows::{Rows, RowsError};
pub use scenario::{Conversation, Question};
use scenario::{Scene, Scenes};
use spread::{Spread, SpreadSessions};
use stream::{Mix, Stream};
use trade::{ExpectedState, Passage, PassageSessions, ScriptInProcess, TradeControl};

/// The address of a variant, as its requests name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// `host:port` for the `Host` header.
    pub authority: String,
    /// Path before each request's own, `/` for none; for Redis `/` and the number of the database.
    pub base: String,
    /// Whether it is reached over TLS, which HTTP/2 states in each request.
    pub scheme: UrlScheme,
}

/// Why a workload cannot be bound to a variant.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    #[error("request `{name}`: {source}")]
    Render {
        /// The operation.
        name: String,
        /// What is wrong with it.
        source: RenderError,
    },
    #[error("command `{name}`: {source}")]
    Memcached {
        /// The operation.
        name: String,
        /// What is wrong with it.
        source: memcached::CommandError,
    },
    #[error("command `{name}`: {source}")]
    Resp {
        /// The operation.
        name: String,
        /// What is wrong with it.
        source: resp::CommandError,
    },
    #[error("`password` asks for `env:{variable}`, which is not set; export it and run again")]
    Password {
        /// The missing variable.
        variable: String,
    },
    #[error("workload `{workload}` cannot be carried by protocol `{}`; docs/EXPERIMENT.md lists which protocols each workload has", .protocol.name())]
    Unbound {
        workload: &'static str,
        /// The protocol asked for.
        protocol: Protocol,
    },
    #[error(transparent)]
    Script(#[from] trade::ScriptError),
    #[error(transparent)]
    Grpc(Box<GrpcError>),
    #[error("request `{name}`: {place} asks for `env:{variable}`, which is not set; export it and run again")]
    Environment {
        /// The operation.
        name: String,
        /// The part of it, in words.
        place: String,
        /// The missing variable.
        variable: String,
    },
    #[error("request `{name}`: {place}: {source}")]
    Template {
        /// The operation.
        name: String,
        /// The part of it, in words.
        place: String,
        /// What is wrong.
        source: TemplateError,
    },
    #[error("the workload's data files were not read; run it from an experiment file")]
    NoRows,
    #[error("the workload's trace was not read; run it from an experiment file")]
    NoReplay,
    #[error(transparent)]
    Rows(RowsError),
    #[error("{0}")]
    Columns(String),
    #[error("request `{name}`: {source}")]
    Value {
        /// The operation.
        name: String,
        source: ValueError,
    },
    #[error(
        "request `{name}`: extract `{extract}`: `regex` {why}; see https://docs.rs/regex for what can be written"
    )]
    Regex {
        /// The operation.
        name: String,
        /// The value.
        extract: String,
        /// What is wrong.
        why: String,
    },
}

impl From<GrpcError> for WorkloadError {
    fn from(error: GrpcError) -> Self {
        Self::Grpc(Box::new(error))
    }
}

/// When a server that remembers is emptied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Emptying {
    Never,
    /// Before the first window, after the warm-up.
    Once,
    EachWindow,
}

/// One kind of request with its check.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    /// The request in one line: more than the operation's name if an operation has several kinds.
    title: String,
    rendered: Rendered,
    expect: Arc<dyn Expect>,
}

/// Looks up an environment variable by its name.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What a specification does not contain itself.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// Looks up environment variables.
    pub environment: Variables<'a>,
    /// The rows of the workload's data files, in their order.
    pub rows: &'a [Arc<Rows>],
    /// The requests of the workload's trace, if it has one.
    pub replay: Option<&'a Arc<Replay>>,
    /// The workload's script, if it is in files.
    pub script: Option<&'a Arc<trade::TradeScript>>,
}

/// The files that services read of a workload, in the folder that the contract's variable `DATA` names; none where they
/// need nothing but requests.
pub fn service_data(spec: &WorkloadSpec, script: Option<&Arc<trade::TradeScript>>) -> Vec<DataFile> {
    let given = Given { environment: &|_| None, rows: &[], replay: None, script };
    each_workload!(spec, spec => spec.service_data(given))
}

/// The actions of a passage of its script; `None` where it has none. `script` is as in [`service_data`].
pub fn passage_actions(
    spec: &WorkloadSpec,
    script: Option<&Arc<trade::TradeScript>>,
) -> Option<trade::ActionCounts> {
    match spec {
        WorkloadSpec::Trade(spec) => trade::actions(spec, script),
        _ => None,
    }
}

/// What a cache should hold of a workload, and find; `None` if it asks for nothing that is cached, or its trace was not read.
pub fn cache_forecast(spec: &WorkloadSpec, replay: Option<&Arc<Replay>>) -> Option<CacheForecast> {
    each_workload!(spec, spec => cache::forecast(spec, replay))
}

/// The requests of a workload for other programs: those that fill a cache, then those of a substream; `None` if they name
/// no keys, or their trace was not read.
pub fn cache_stream(
    spec: &WorkloadSpec,
    substream: u64,
    replay: Option<&Arc<Replay>>,
) -> Option<CacheStream> {
    each_workload!(spec, spec => cache::streamed(spec, substream, replay))
}

/// A specification bound to one variant.
#[derive(Debug, Clone)]
pub struct Workload {
    framing: Framing,
    entries: Vec<Entry>,
    mix: Mix,
    equality: Equality,
    /// Parts of JSON answers that may differ.
    ignored: Vec<Pointer>,
    /// Sessions with values; `None` if every request is independent and rendered once.
    scene: Option<Arc<Scene>>,
    /// Sizes over a range, of which `entries` has only those that are compared; `None` if sizes are a list.
    spread: Option<Arc<Spread>>,
    /// Keys and values, of which `entries` has only what is asked before timing; `None` for other workloads.
    cache: Option<Arc<Cache>>,
    /// A script, of which `entries` has only what is asked before timing; `None` for other workloads.
    trade: Option<Arc<Passage>>,
    /// The same for a service that plays it in its own process.
    in_process: Option<Arc<ScriptInProcess>>,
}

impl Workload {
    /// Binds `spec` to a variant. `environment` resolves `env:NAME`.
    pub fn new(
        spec: &WorkloadSpec,
        load: &LoadSpec,
        protocol: Protocol,
        address: &Address,
        environment: Variables<'_>,
    ) -> Result<Self, WorkloadError> {
        Self::with_rows(
            spec,
            load,
            protocol,
            address,
            Given { environment, rows: &[], replay: None, script: None },
        )
    }

    /// The same with everything that a specification does not contain.
    pub fn with_rows(
        spec: &WorkloadSpec,
        load: &LoadSpec,
        protocol: Protocol,
        address: &Address,
        given: Given<'_>,
    ) -> Result<Self, WorkloadError> {
        let framing = match framing(protocol, address.scheme) {
            Framing::Http2(settings) => {
                Framing::Http2(Http2Settings { header_table: load.header_table, ..settings })
            }
            other => other,
        };
        let binding = Binding { framing, protocol, load, address, given };
        each_workload!(spec, spec => spec.bind(&binding))
    }

    /// How its requests are framed on a connection.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Number of kinds of request (one per size, one per `[[request]]`).
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Only where a service plays a script in its own process: another checked specification has a request.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The name of the operation of a kind of request.
    pub fn name(&self, kind: usize) -> &str {
        &self.entries[kind].name
    }

    /// A kind of request in one line: `GET /pong/64`, `package.Service/Method`.
    pub fn title(&self, kind: usize) -> &str {
        &self.entries[kind].title
    }

    /// A rendered kind of request; if it has values, with the first rows and with none from replies.
    pub fn rendered(&self, kind: usize) -> &Rendered {
        &self.entries[kind].rendered
    }

    /// The canonical answer of a whole reply to a kind of request, or why the reply is wrong.
    pub fn canonical(&self, kind: usize, received: &Received<'_>) -> Result<Canonical, String> {
        self.canonical_of(&self.entries[kind], received, &|text: &str| text.to_owned())
    }

    fn canonical_of(
        &self,
        entry: &Entry,
        received: &Received<'_>,
        hide: &dyn Fn(&str) -> String,
    ) -> Result<Canonical, String> {
        expect::canonical(self.equality, &self.ignored, &*entry.expect, received, hide)
    }

    /// How many requests its sessions make before all others, so that the server holds what the load expects.
    pub fn fill(&self) -> u64 {
        self.cache.as_ref().map_or(0, |cache| cache.fill())
    }

    /// The requests of a whole passage of its script, each from a server as it was at first; `None` where windows are as long
    /// as they should be.
    pub fn passage(&self) -> Option<u64> {
        let over_protocol = self.trade.as_ref().map(|passage| passage.len());
        over_protocol.or(self.in_process.as_ref().map(|script| script.requests()))
    }

    /// When its server is emptied, beside the start of each block.
    pub fn emptying(&self) -> Emptying {
        match &self.cache {
            Some(cache) => cache.emptying(),
            None if self.passage().is_some() => Emptying::EachWindow,
            None => Emptying::Never,
        }
    }

    /// The request that empties its server, or makes it what it was at first; `None` where nothing is remembered, or a service
    /// is asked in its own process.
    pub fn emptying_request(&self) -> Option<&Rendered> {
        let cache = self.cache.as_ref().and_then(|cache| cache.emptying_request());
        cache.or(self.trade.as_ref().map(|passage| &passage.control().reset))
    }

    /// Reads the answer to [`emptying_request`](Self::emptying_request), with nothing outstanding. If it is good, values from
    /// before are wrong from now on; the error says why it is not.
    pub fn emptied(&self, received: &Received<'_>) -> Result<(), String> {
        if let Some(cache) = &self.cache {
            if !(200..300).contains(&received.status) {
                return Err(format!("status {}", received.status));
            }
            cache.emptied();
        }
        if let Some(passage) = &self.trade {
            passage.control().check_reset(received)?;
            passage.restored();
        }
        Ok(())
    }

    /// Control calls of a brokerage; `None` for other workloads, and in a service's own process.
    pub fn trade_control(&self) -> Option<&TradeControl> {
        self.trade.as_ref().map(|passage| passage.control())
    }

    /// What the database of a brokerage should hold after a whole passage; `None` for other workloads.
    pub fn expected_state(&self) -> Option<&ExpectedState> {
        let over_protocol = self.trade.as_ref().map(|passage| passage.expected_state());
        over_protocol.or(self.in_process.as_ref().map(|script| script.expected_state()))
    }

    /// The script that a service plays in its own process; `None` for other workloads, and over a protocol.
    pub fn script_in_process(&self) -> Option<&Arc<ScriptInProcess>> {
        self.in_process.as_ref()
    }

    /// Its sessions, for the generator.
    pub fn sessions(&self) -> Box<dyn Sessions> {
        if let Some(scene) = &self.scene {
            return Box::new(Scenes::new(Arc::clone(scene)));
        }
        if let Some(spread) = &self.spread {
            return Box::new(SpreadSessions::new(Arc::clone(spread)));
        }
        if let Some(cache) = &self.cache {
            return Box::new(CacheSessions::new(Arc::clone(cache)));
        }
        if let Some(passage) = &self.trade {
            return Box::new(PassageSessions::new(Arc::clone(passage)));
        }
        let checks = self.entries.iter().map(|entry| entry.expect.clone()).collect();
        let rendered = self.entries.iter().map(|entry| entry.rendered.clone()).collect();
        Box::new(Stream::new(rendered, checks, self.mix.clone()))
    }
}

/// The framing of a protocol.
fn framing(protocol: Protocol, scheme: UrlScheme) -> Framing {
    match protocol.framing() {
        // Without a protocol nothing is framed: the requests only describe what is asked, and are never sent.
        FramingName::Http1 | FramingName::Soap | FramingName::Direct => Framing::Http1,
        FramingName::Http2 | FramingName::Grpc => {
            Framing::Http2(Http2Settings { scheme, ..Http2Settings::default() })
        }
        FramingName::Memcached => Framing::Memcached,
        FramingName::Resp => Framing::Resp,
        FramingName::Thrift => Framing::Thrift(match protocol.codec() {
            Some(CodecName::Compact) => thrift::Envelope::Compact,
            _ => thrift::Envelope::Binary,
        }),
    }
}

/// The check of a pong's message without a workload, for fuzzing.
#[doc(hidden)]
pub fn pong_message_check(size: Bytes) -> impl weighbridge_load::session::Check {
    PongMessageCheck::new(size)
}

/// Readers of foreign bytes as they are used under load; for fuzzing.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::json::{NotJson, Pointer, append, find};
    pub use crate::person::reads_back;
}

#[cfg(test)]
mod tests;
