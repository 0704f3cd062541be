//! Workloads: which operations a session issues, with what payload, and how a reply is checked.
//!
//! A [`Workload`] is one specification bound to one variant's address: requests rendered once, checks prepared, the
//! request stream seeded. It refuses to open connections or to read clocks; `load` drives it. Of files it reads only
//! `.proto` files ([`proto`]), and asks a server for descriptors only through its caller ([`reflection`]).

mod canonical;
mod checks;
mod commands;
pub mod direct;
mod grpc;
mod json;
mod mping;
mod scenario;
mod spread;
mod stream;

use std::borrow::Cow;
use std::sync::Arc;

use weighbridge_load::h2::Http2Settings;
pub use weighbridge_load::h2::Scheme as UrlScheme;
use weighbridge_load::request::{Framing, RenderError, Rendered, Request};
use weighbridge_load::session::Sessions;
use weighbridge_load::{memcached, resp};
use weighbridge_model::experiment::{
    CallSpec, CommandCheck, CommandsSpec, DescriptorSource, Equality, GrpcSpec, HttpSpec, LoadSpec,
    PingpongOperation, PingpongSpec, Protocol, ReplyCheck, RequestSpec, SizeSpread, Sizes, TemplateError,
    ValueError, WorkloadSpec, expand_environment,
};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Bytes;
use weighbridge_model::secret::shown_path;

pub use canonical::{Canonical, Received};
use checks::explain::{FailureLog, Noted};
use checks::{HttpCheck, PongCheck, Reset};
use commands::ValueCheck;
use grpc::{CallExpect, GrpcCheck, PongMessageCheck};
pub use grpc::{GrpcError, proto, reflection};
use json::Pointer;
use mping::MpingCheck;
pub use mping::read_mping;
pub use scenario::rows::{Rows, RowsError};
pub use scenario::{Conversation, Question};
use scenario::{Scene, Scenes};
use spread::{SizedReply, Spread, SpreadSessions};
use stream::{Mix, Stream};

/// Where a variant is reached, as its requests name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// `host:port` for the `Host` header.
    pub authority: String,
    /// Path that comes before each request's own, `/` for none; for Redis `/` and the number of the database.
    pub base: String,
    /// Whether it is reached over TLS, which HTTP/2 says in each request.
    pub scheme: UrlScheme,
}

/// Why a workload cannot be bound to a variant.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A request cannot be rendered.
    #[error("request `{name}`: {source}")]
    Render {
        /// The operation.
        name: String,
        /// What is wrong with it.
        source: RenderError,
    },
    /// memcached would not answer a command once.
    #[error("command `{name}`: {source}")]
    Memcached {
        /// The operation.
        name: String,
        /// What is wrong with it.
        source: memcached::CommandError,
    },
    /// Redis would not answer a command once.
    #[error("command `{name}`: {source}")]
    Resp {
        /// The operation.
        name: String,
        /// What is wrong with it.
        source: resp::CommandError,
    },
    /// The password says `env:NAME` and the environment has no such name.
    #[error("`password` asks for `env:{variable}`, which is not set; export it and run again")]
    Password {
        /// The missing variable.
        variable: String,
    },
    /// The workload's operations have no form in that protocol.
    #[error("workload `{workload}` cannot be carried by protocol `{}`; docs/EXPERIMENT.md lists which protocols each workload has", .protocol.name())]
    Unbound {
        /// The workload.
        workload: &'static str,
        /// The protocol asked for.
        protocol: Protocol,
    },
    /// A call's method or messages are not what the descriptors say.
    #[error(transparent)]
    Grpc(Box<GrpcError>),
    /// A value says `env:NAME` and the environment has no such name.
    #[error("request `{name}`: {place} asks for `env:{variable}`, which is not set; export it and run again")]
    Environment {
        /// The operation.
        name: String,
        /// The part of it, in words.
        place: String,
        /// The missing variable.
        variable: String,
    },
    /// A text has places that name nothing.
    #[error("request `{name}`: {place}: {source}")]
    Template {
        /// The operation.
        name: String,
        /// The part of it, in words.
        place: String,
        /// What is wrong.
        source: TemplateError,
    },
    /// Files of rows are named and were not read.
    #[error("the workload's data files were not read; run it from an experiment file")]
    NoRows,
    /// A file of rows is none, or holds values that do not fit.
    #[error(transparent)]
    Rows(RowsError),
    /// Two columns have the same name.
    #[error("{0}")]
    Columns(String),
    /// A value would be missing.
    #[error("request `{name}`: {source}")]
    Value {
        /// The operation.
        name: String,
        /// Which value.
        source: ValueError,
    },
    /// A regular expression is none.
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

/// One kind of request with its check.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    /// What is asked, in a line: more than the operation's name where an operation has several kinds.
    title: String,
    rendered: Rendered,
    expect: Expect,
}

/// What a good reply to one request is.
#[derive(Debug, Clone)]
enum Expect {
    Pong(Bytes),
    /// What a relay says of its peer's pong of that size.
    Mping(Bytes),
    PongMessage(Bytes),
    Http(ReplyCheck),
    Command(CommandCheck),
    Grpc(Arc<CallExpect>),
}

/// What a variable of the environment holds, by its name.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What a specification does not hold itself.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    /// What variables of the environment hold.
    pub environment: Variables<'a>,
    /// The rows of the workload's data files, in their order.
    pub rows: &'a [Arc<Rows>],
    /// Sizes that a block asks for besides those of a range.
    pub extra: &'a [Bytes],
}

/// A specification bound to one variant.
#[derive(Debug, Clone)]
pub struct Workload {
    framing: Framing,
    entries: Vec<Entry>,
    mix: Mix,
    equality: Equality,
    /// Where JSON answers may differ.
    ignored: Vec<Pointer>,
    /// Sessions with values; `None` where every request stands for itself and is rendered once.
    scene: Option<Arc<Scene>>,
    /// Sizes over a range, of which `entries` are only those that are compared; `None` where sizes are a list.
    spread: Option<Arc<Spread>>,
}

impl Workload {
    /// Binds `spec` to a variant. `environment` answers what `env:NAME` stands for.
    ///
    /// # Errors
    /// [`WorkloadError`] where a request cannot be rendered, an `env:` value is not set, the workload has no form in
    /// that protocol, or a call is not what the descriptors say.
    pub fn new(
        spec: &WorkloadSpec,
        load: &LoadSpec,
        protocol: Protocol,
        address: &Address,
        environment: Variables<'_>,
    ) -> Result<Self, WorkloadError> {
        Self::with_rows(spec, load, protocol, address, Given { environment, rows: &[], extra: &[] })
    }

    /// The same with all that a specification does not hold.
    ///
    /// # Errors
    /// Also where rows, values or expressions cannot be used.
    pub fn with_rows(
        spec: &WorkloadSpec,
        load: &LoadSpec,
        protocol: Protocol,
        address: &Address,
        Given { environment, rows, extra }: Given<'_>,
    ) -> Result<Self, WorkloadError> {
        let unbound = || WorkloadError::Unbound { workload: spec.name(), protocol };
        let framing = framing(protocol, address.scheme);
        let binding = Binding { framing, load, address, environment };
        let (mut ignored, mut scene, mut spread) = (Vec::new(), None, None);
        let (entries, mix, equality) = match (spec, protocol) {
            (WorkloadSpec::Pingpong(pong), Protocol::Http1Json | Protocol::Http2Json | Protocol::Direct) => {
                spread = binding.spread(pong, spec.spread(), extra, protocol)?;
                let entries = binding.pongs(pong)?;
                let mix = Mix::even(entries.len());
                (entries, mix, Equality::Bytes)
            }
            (WorkloadSpec::Pingpong(pong), Protocol::Grpc) if pong.operation == PingpongOperation::Pong => {
                spread = binding.spread(pong, spec.spread(), extra, protocol)?;
                let entries = binding.pong_calls(&compared(&pong.sizes))?;
                let mix = Mix::even(entries.len());
                (entries, mix, Equality::Bytes)
            }
            (
                WorkloadSpec::Http(HttpSpec { requests, equal, scenario }),
                Protocol::Http1Json | Protocol::Http2Json,
            ) => {
                let mix = Mix::weighted(requests.iter().map(|request| request.weight));
                ignored = scenario.ignore.iter().map(|pointer| Pointer::new(pointer)).collect();
                if scenario::is_needed(requests, scenario) {
                    scene = Some(Arc::new(Scene::bind(requests, scenario, rows, &binding)?));
                }
                (binding.requests(requests, scene.as_deref())?, mix, *equal)
            }
            (
                WorkloadSpec::Commands(CommandsSpec { commands, equal, setup }),
                Protocol::Memcached | Protocol::Resp,
            ) => {
                let entries = commands::entries(commands, setup, framing, address, environment)?;
                (entries, Mix::weighted(commands.iter().map(|command| command.weight)), *equal)
            }
            (WorkloadSpec::Grpc(GrpcSpec { source, calls, equal }), Protocol::Grpc) => {
                let mix = Mix::weighted(calls.iter().map(|call| call.weight));
                (binding.calls(source, calls)?, mix, *equal)
            }
            _ => return Err(unbound()),
        };
        Ok(Self { framing, entries, mix, equality, ignored, scene, spread })
    }

    /// How its bytes are laid out on a connection.
    pub fn framing(&self) -> Framing {
        self.framing
    }

    /// Kinds of request it issues (one per size, one per `[[request]]`).
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Never: a checked specification has a request.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The name of the operation of a kind of request.
    pub fn name(&self, kind: usize) -> &str {
        &self.entries[kind].name
    }

    /// What a kind of request asks, in a line: `GET /pong/64`, `package.Service/Method`.
    pub fn title(&self, kind: usize) -> &str {
        &self.entries[kind].title
    }

    /// A kind of request as it goes on the wire; where it has values, with the first rows and nothing taken from replies.
    pub fn rendered(&self, kind: usize) -> &Rendered {
        &self.entries[kind].rendered
    }

    /// What a whole reply to a kind of request amounts to, for comparison between variants; or why it is wrong.
    pub fn canonical(&self, kind: usize, received: &Received<'_>) -> Result<Canonical, String> {
        self.canonical_of(&self.entries[kind], received, &|text: &str| text.to_owned())
    }

    fn canonical_of(
        &self,
        entry: &Entry,
        received: &Received<'_>,
        hide: &dyn Fn(&str) -> String,
    ) -> Result<Canonical, String> {
        canonical::canonical(self.equality, &self.ignored, &entry.expect, received, hide)
    }

    /// Its sessions, for the generator.
    pub fn sessions(&self) -> Box<dyn Sessions> {
        if let Some(scene) = &self.scene {
            return Box::new(Scenes::new(Arc::clone(scene)));
        }
        if let Some(spread) = &self.spread {
            return Box::new(SpreadSessions::new(Arc::clone(spread)));
        }
        let checks = self.entries.iter().map(|entry| entry.expect.clone()).collect();
        let rendered = self.entries.iter().map(|entry| entry.rendered.clone()).collect();
        Box::new(Stream::new(rendered, checks, self.mix.clone()))
    }
}

impl Expect {
    /// The size asked for; 0 of what has none.
    fn size(&self) -> Bytes {
        match self {
            Self::Pong(size) | Self::Mping(size) | Self::PongMessage(size) => *size,
            Self::Http(_) | Self::Command(_) | Self::Grpc(_) => Bytes::new(0),
        }
    }

    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send> {
        match self {
            Self::Pong(size) => Box::new(Noted::new(PongCheck::new(*size), log)),
            Self::Mping(size) => Box::new(Noted::new(MpingCheck::new(*size), log)),
            Self::PongMessage(size) => Box::new(Noted::new(PongMessageCheck::new(*size), log)),
            Self::Http(check) => Box::new(Noted::new(HttpCheck::new(check.clone()), log)),
            Self::Command(check) => Box::new(Noted::new(ValueCheck::new(check.clone()), log)),
            Self::Grpc(expect) => Box::new(Noted::new(GrpcCheck::new(Arc::clone(expect)), log)),
        }
    }
}

/// How a protocol's bytes are laid out.
fn framing(protocol: Protocol, scheme: UrlScheme) -> Framing {
    match protocol {
        // Without a protocol nothing is framed: its requests stand for what is asked, and are never sent.
        Protocol::Http1Json | Protocol::Direct => Framing::Http1,
        Protocol::Http2Json | Protocol::Grpc => {
            Framing::Http2(Http2Settings { scheme, ..Http2Settings::default() })
        }
        Protocol::Memcached => Framing::Memcached,
        Protocol::Resp => Framing::Resp,
    }
}

/// What requests of every workload are bound to.
struct Binding<'a> {
    framing: Framing,
    load: &'a LoadSpec,
    address: &'a Address,
    environment: Variables<'a>,
}

impl Binding<'_> {
    fn pongs(&self, spec: &PingpongSpec) -> Result<Vec<Entry>, WorkloadError> {
        let operation = spec.operation;
        let pong = |size: &Bytes| {
            let request = self.pong_request(operation, *size);
            let expect = match operation {
                PingpongOperation::Pong | PingpongOperation::Ping => Expect::Pong(*size),
                PingpongOperation::Mping => Expect::Mping(*size),
            };
            self.entry(OperationId(0), operation.operation(), &request, expect)
        };
        compared(&spec.sizes).iter().map(pong).collect()
    }

    /// All sizes of a range with their requests, where sizes are spread over one.
    fn spread(
        &self,
        spec: &PingpongSpec,
        range: Option<&SizeSpread>,
        extra: &[Bytes],
        protocol: Protocol,
    ) -> Result<Option<Arc<Spread>>, WorkloadError> {
        let Some(range) = range else { return Ok(None) };
        let operation = OperationId(0);
        let reply = match (protocol, spec.operation) {
            (Protocol::Grpc, _) => SizedReply::PongMessage,
            (_, PingpongOperation::Mping) => SizedReply::Mping,
            (_, PingpongOperation::Pong | PingpongOperation::Ping) => SizedReply::Pong,
        };
        let render = |size: Bytes| match reply {
            SizedReply::PongMessage => {
                grpc::render_pong(self.framing, &self.address.authority, size, operation)
            }
            _ => self.framing.render(operation, &self.pong_request(spec.operation, size)),
        };
        let spread = Spread::new(*range, extra, reply, render);
        spread
            .map(|spread| Some(Arc::new(spread)))
            .map_err(|source| render_error(spec.operation.operation(), source))
    }

    fn pong_calls(&self, sizes: &[Bytes]) -> Result<Vec<Entry>, WorkloadError> {
        let pong = |size: &Bytes| {
            let rendered = grpc::render_pong(self.framing, &self.address.authority, *size, OperationId(0));
            Ok(Entry {
                name: "pong".to_owned(),
                title: format!("weighbridge.pong.v1.Pong/Pong {{size: {}}}", size.get()),
                rendered: rendered.map_err(|source| render_error("pong", source))?,
                expect: Expect::PongMessage(*size),
            })
        };
        sizes.iter().map(pong).collect()
    }

    fn requests(&self, requests: &[RequestSpec], scene: Option<&Scene>) -> Result<Vec<Entry>, WorkloadError> {
        let bind = |(index, spec): (usize, &RequestSpec)| {
            let expect = Expect::Http(spec.check.clone());
            // What values it has is nobody's business who reads the title.
            let title = format!("{} {}", spec.method, shown_path(&join(&self.address.base, &spec.path)));
            let rendered = match scene {
                Some(scene) => scene.sample(index),
                None => {
                    let request = scenario::plain_request(spec, self)?;
                    let rendered = self.framing.render(OperationId(index as u16), &request);
                    rendered.map_err(|source| render_error(&spec.name, source))?
                }
            };
            Ok(Entry { name: spec.name.clone(), title, rendered, expect })
        };
        requests.iter().enumerate().map(bind).collect()
    }

    fn calls(&self, source: &DescriptorSource, calls: &[CallSpec]) -> Result<Vec<Entry>, WorkloadError> {
        let methods = grpc::Methods::read(source)?;
        let mut operation = 0;
        let mut entries = Vec::with_capacity(calls.len());
        for call in calls {
            let bound = grpc::bind(call, &methods)?;
            let metadata = self.values(&call.name, &call.metadata)?;
            let authority = self.address.authority.as_str();
            let rendered =
                grpc::render(self.framing, call, &bound, OperationId(operation), authority, metadata);
            entries.push(Entry {
                name: call.name.clone(),
                title: call.method.clone(),
                rendered: rendered.map_err(|source| render_error(&call.name, source))?,
                expect: Expect::Grpc(bound.expect),
            });
            operation += 1 + u16::from(call.message_operation().is_some());
        }
        Ok(entries)
    }

    fn entry(
        &self,
        operation: OperationId,
        name: &str,
        request: &Request,
        expect: Expect,
    ) -> Result<Entry, WorkloadError> {
        let rendered =
            self.framing.render(operation, request).map_err(|source| render_error(name, source))?;
        let title = format!("{} {}", request.method, request.target);
        Ok(Entry { name: name.to_owned(), title, rendered, expect })
    }

    /// HTTP/1.1 tells the server that a connection serves only one request; HTTP/2 has no such field.
    fn connection_header(&self) -> Option<(String, String)> {
        let told = !self.load.keep_alive() && self.framing == Framing::Http1;
        told.then(|| ("Connection".to_owned(), "close".to_owned()))
    }

    fn pong_request(&self, operation: PingpongOperation, size: Bytes) -> Request {
        Request {
            method: "GET".to_owned(),
            target: join(&self.address.base, &format!("/{}/{}", operation.path(), size.get())),
            authority: self.address.authority.clone(),
            headers: self.connection_header().into_iter().collect(),
            body: Vec::new(),
        }
    }

    /// Header fields with what they say of the environment put in.
    fn values(&self, name: &str, pairs: &[(String, String)]) -> Result<Vec<(String, String)>, WorkloadError> {
        let resolve = |(header, value): &(String, String)| {
            let value = expand_environment(value, self.environment).map_err(|variable| {
                let (name, place) = (name.to_owned(), format!("header `{header}`"));
                WorkloadError::Environment { name, place, variable }
            })?;
            Ok((header.clone(), value))
        };
        pairs.iter().map(resolve).collect()
    }
}

/// Sizes that are asked for and compared before anything is timed.
fn compared(sizes: &Sizes) -> Cow<'_, [Bytes]> {
    match sizes {
        Sizes::List(sizes) => Cow::Borrowed(sizes),
        Sizes::Spread(spread) => Cow::Owned(Spread::compared(spread)),
    }
}

fn render_error(name: &str, source: RenderError) -> WorkloadError {
    WorkloadError::Render { name: name.to_owned(), source }
}

/// The check of a pong's message, apart from any workload: for fuzzing.
#[doc(hidden)]
pub fn pong_message_check(size: Bytes) -> impl weighbridge_load::session::Check {
    PongMessageCheck::new(size)
}

/// Where `pointer` leads in a JSON text, as replies are read under load: for fuzzing.
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::json::{NotJson, Pointer, append, find};
}

/// The base with the request's own path after it: `/a/` and `/b` make `/a/b`, `/a` and nothing make `/a`.
fn join(base: &str, path: &str) -> String {
    match path.strip_prefix('/') {
        Some(_) => format!("{}{path}", base.trim_end_matches('/')),
        None => format!("{base}{path}"),
    }
}

#[cfg(test)]
mod tests;
