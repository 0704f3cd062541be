//! The workload `pingpong`: bodies of given sizes, fetched or relayed, over HTTP and gRPC or in the service's own
//! process.

use std::borrow::Cow;
use std::sync::Arc;

use weighbridge_load::request::Request;
use weighbridge_model::experiment::{Equality, PingpongOperation, PingpongSpec, Protocol, SizeSpread, Sizes};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Bytes;

use crate::bind::{Bind, Binding, join, render_error};
use crate::canonical::{Canonical, Received};
use crate::checks::explain::{FailureLog, Noted};
use crate::checks::{PongCheck, Reset};
use crate::expect::Expect;
use crate::grpc::{self, PongMessageCheck};
use crate::mping::{RelayCheck, Told};
use crate::spread::{SizedCheck, SizedReply, Spread};
use crate::stream::Mix;
use crate::{Entry, Workload, WorkloadError};

impl Bind for PingpongSpec {
    fn bind(&self, binding: &Binding<'_>) -> Result<Workload, WorkloadError> {
        let entries = match binding.protocol {
            Protocol::HTTP1_JSON | Protocol::HTTP2_JSON | Protocol::DIRECT => pongs(self, binding)?,
            Protocol::GRPC if self.operation == PingpongOperation::Pong => pong_calls(self, binding)?,
            _ => return Err(binding.unbound("pingpong")),
        };
        let spread = match &self.sizes {
            Sizes::Spread(range) => Some(spread(self, range, binding)?),
            Sizes::List(_) => None,
        };
        let mix = Mix::even(entries.len());
        Ok(Workload { spread, ..binding.plain(entries, mix, Equality::Bytes) })
    }
}

fn pongs(spec: &PingpongSpec, binding: &Binding<'_>) -> Result<Vec<Entry>, WorkloadError> {
    let operation = spec.operation;
    let pong = |size: &Bytes| {
        let request = pong_request(operation, *size, binding);
        let reply = match operation {
            PingpongOperation::Pong | PingpongOperation::Ping => SizedReply::Pong,
            PingpongOperation::Mping => SizedReply::Mping,
        };
        let expect = Arc::new(PongExpect { size: *size, reply });
        binding.entry(OperationId(0), operation.operation(), &request, expect)
    };
    compared(&spec.sizes).iter().map(pong).collect()
}

fn pong_calls(spec: &PingpongSpec, binding: &Binding<'_>) -> Result<Vec<Entry>, WorkloadError> {
    let pong = |size: &Bytes| {
        let authority = &binding.address.authority;
        let rendered = grpc::render_pong(binding.framing, authority, *size, OperationId(0));
        Ok(Entry {
            name: "pong".to_owned(),
            title: format!("weighbridge.pong.v1.Pong/Pong {{size: {}}}", size.get()),
            rendered: rendered.map_err(|source| render_error("pong", source))?,
            expect: Arc::new(PongExpect { size: *size, reply: SizedReply::PongMessage }),
        })
    };
    compared(&spec.sizes).iter().map(pong).collect()
}

/// All sizes of a range with their requests.
fn spread(
    spec: &PingpongSpec,
    range: &SizeSpread,
    binding: &Binding<'_>,
) -> Result<Arc<Spread>, WorkloadError> {
    let operation = OperationId(0);
    let reply = match (binding.protocol, spec.operation) {
        (Protocol::GRPC, _) => SizedReply::PongMessage,
        (_, PingpongOperation::Mping) => SizedReply::Mping,
        (_, PingpongOperation::Pong | PingpongOperation::Ping) => SizedReply::Pong,
    };
    let render = |size: Bytes| match reply {
        SizedReply::PongMessage => {
            grpc::render_pong(binding.framing, &binding.address.authority, size, operation)
        }
        _ => binding.framing.render(operation, &pong_request(spec.operation, size, binding)),
    };
    let spread = Spread::new(*range, reply, render);
    spread.map(Arc::new).map_err(|source| render_error(spec.operation.operation(), source))
}

fn pong_request(operation: PingpongOperation, size: Bytes, binding: &Binding<'_>) -> Request {
    Request {
        method: "GET".to_owned(),
        target: join(&binding.address.base, &format!("/{}/{}", operation.path(), size.get())),
        authority: binding.address.authority.clone(),
        headers: binding.connection_header().into_iter().collect(),
        body: Vec::new(),
    }
}

/// Sizes that are requested and compared before anything is timed.
fn compared(sizes: &Sizes) -> Cow<'_, [Bytes]> {
    match sizes {
        Sizes::List(sizes) => Cow::Borrowed(sizes),
        Sizes::Spread(spread) => Cow::Owned(Spread::compared(spread)),
    }
}

/// The expected reply to a request for a size.
#[derive(Debug)]
struct PongExpect {
    size: Bytes,
    reply: SizedReply,
}

impl Expect for PongExpect {
    fn check(&self, log: &FailureLog) -> Box<dyn Reset + Send> {
        self.reply.check(self.size, log)
    }

    fn size(&self) -> Bytes {
        self.size
    }

    fn is_kept(&self) -> bool {
        matches!(self.reply, SizedReply::Mping)
    }

    /// The check has seen every byte of a pong, so its size is its canonical answer. A relay's measured time differs
    /// from call to call; the length from its peer does not.
    fn amounts_to(&self, received: &Received<'_>) -> Option<Canonical> {
        Some(Canonical::Length(received.status, self.size.get() as usize))
    }
}

impl SizedReply {
    /// The check of a reply of that size.
    pub(crate) fn check(self, size: Bytes, log: &FailureLog) -> Box<dyn SizedCheck + Send> {
        match self {
            Self::Pong => Box::new(Noted::new(PongCheck::new(size), log)),
            Self::PongMessage => Box::new(Noted::new(PongMessageCheck::new(size), log)),
            Self::Mping => Box::new(Noted::new(RelayCheck::new(Told::Length(size)), log)),
        }
    }
}

impl SizedCheck for PongMessageCheck {
    fn begin(&mut self, size: Bytes) {
        self.resize(size);
    }
}

impl SizedCheck for RelayCheck {
    fn begin(&mut self, size: Bytes) {
        self.resize(size);
    }
}
