//! Workloads: which operations a session issues, with what payload, and how a reply is checked.
//!
//! A [`Workload`] is one specification bound to one variant's address: requests rendered once, checks prepared, the
//! request stream seeded. It refuses to open connections or to read clocks; `load` drives it.

mod canonical;
mod checks;
mod stream;

use weighbridge_load::request::{Framing, RenderError, Rendered, Request};
use weighbridge_load::session::Sessions;
use weighbridge_model::experiment::{Equality, LoadSpec, Protocol, ReplyCheck, RequestSpec, WorkloadSpec};
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::OperationId;

pub use canonical::{Canonical, Received};
use checks::{HttpCheck, PongCheck, Reset};
use stream::{Mix, Stream};

/// Where a variant is reached, as its requests name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// `host:port` for the `Host` header.
    pub authority: String,
    /// Path that comes before each request's own; `/` for none.
    pub base: String,
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
    /// The workload's operations have no form in that protocol.
    #[error("workload `{workload}` cannot be carried by protocol `{}`; docs/EXPERIMENT.md lists which protocols each workload has", .protocol.name())]
    Unbound {
        /// The workload.
        workload: &'static str,
        /// The protocol asked for.
        protocol: Protocol,
    },
    /// A value says `env:NAME` and the environment has no such name.
    #[error(
        "request `{name}`: header `{header}` asks for `env:{variable}`, which is not set; export it and run again"
    )]
    Environment {
        /// The operation.
        name: String,
        /// The header.
        header: String,
        /// The missing variable.
        variable: String,
    },
}

/// One kind of request with its check.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    rendered: Rendered,
    expect: Expect,
}

/// What a good reply to one request is.
#[derive(Debug, Clone)]
enum Expect {
    Pong(Bytes),
    Http(ReplyCheck),
}

/// A specification bound to one variant.
#[derive(Debug, Clone)]
pub struct Workload {
    framing: Framing,
    entries: Vec<Entry>,
    mix: Mix,
    equality: Equality,
}

impl Workload {
    /// Binds `spec` to a variant. `environment` answers what `env:NAME` stands for.
    ///
    /// # Errors
    /// [`WorkloadError`] where a request cannot be rendered or an `env:` value is not set.
    pub fn new(
        spec: &WorkloadSpec,
        load: &LoadSpec,
        protocol: Protocol,
        address: &Address,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, WorkloadError> {
        let framing = match protocol {
            Protocol::Http1Json => Framing::Http1,
            Protocol::Http2Json | Protocol::Grpc | Protocol::Memcached | Protocol::Resp => {
                return Err(WorkloadError::Unbound { workload: spec.name(), protocol });
            }
        };
        let mut entries = Vec::new();
        let (mix, equality) = match spec {
            WorkloadSpec::Pingpong { sizes } => {
                for size in sizes {
                    let request = pong_request(*size, address, load);
                    entries.push(entry(framing, OperationId(0), "pong", &request, Expect::Pong(*size))?);
                }
                (Mix::even(sizes.len()), Equality::Bytes)
            }
            WorkloadSpec::Http { requests, equal } => {
                for (index, spec) in requests.iter().enumerate() {
                    let request = http_request(spec, address, load, environment)?;
                    let expect = Expect::Http(spec.check.clone());
                    entries.push(entry(framing, OperationId(index as u16), &spec.name, &request, expect)?);
                }
                (Mix::weighted(requests.iter().map(|request| request.weight)), *equal)
            }
        };
        Ok(Self { framing, entries, mix, equality })
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

    /// A kind of request as it goes on the wire.
    pub fn rendered(&self, kind: usize) -> &Rendered {
        &self.entries[kind].rendered
    }

    /// What a whole reply to a kind of request amounts to, for comparison between variants; or why it is wrong.
    pub fn canonical(&self, kind: usize, received: &Received<'_>) -> Result<Canonical, String> {
        let mut check = self.entries[kind].expect.check();
        canonical::canonical(self.equality, check.as_mut(), received)
    }

    /// Its sessions, for the generator.
    pub fn sessions(&self) -> Box<dyn Sessions> {
        let checks = self.entries.iter().map(|entry| entry.expect.clone()).collect();
        let rendered = self.entries.iter().map(|entry| entry.rendered.clone()).collect();
        Box::new(Stream::new(rendered, checks, self.mix.clone()))
    }
}

impl Expect {
    fn check(&self) -> Box<dyn Reset + Send> {
        match self {
            Self::Pong(size) => Box::new(PongCheck::new(*size)),
            Self::Http(check) => Box::new(HttpCheck::new(check.clone())),
        }
    }
}

fn entry(
    framing: Framing,
    operation: OperationId,
    name: &str,
    request: &Request,
    expect: Expect,
) -> Result<Entry, WorkloadError> {
    let rendered = framing
        .render(operation, request)
        .map_err(|source| WorkloadError::Render { name: name.to_owned(), source })?;
    Ok(Entry { name: name.to_owned(), rendered, expect })
}

fn connection_header(load: &LoadSpec) -> Option<(String, String)> {
    (!load.keep_alive()).then(|| ("Connection".to_owned(), "close".to_owned()))
}

fn pong_request(size: Bytes, address: &Address, load: &LoadSpec) -> Request {
    Request {
        method: "GET".to_owned(),
        target: join(&address.base, &format!("/pong/{}", size.get())),
        authority: address.authority.clone(),
        headers: connection_header(load).into_iter().collect(),
        body: Vec::new(),
    }
}

fn http_request(
    spec: &RequestSpec,
    address: &Address,
    load: &LoadSpec,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Request, WorkloadError> {
    let mut headers = Vec::new();
    for (header, value) in &spec.headers {
        let value = match value.strip_prefix("env:") {
            None => value.clone(),
            Some(variable) => environment(variable).ok_or_else(|| WorkloadError::Environment {
                name: spec.name.clone(),
                header: header.clone(),
                variable: variable.to_owned(),
            })?,
        };
        headers.push((header.clone(), value));
    }
    headers.extend(connection_header(load));
    Ok(Request {
        method: spec.method.clone(),
        target: join(&address.base, &spec.path),
        authority: address.authority.clone(),
        headers,
        body: spec.body.clone(),
    })
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
