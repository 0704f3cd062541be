//! The sans-I/O contract of every protocol: bytes in, events out, bytes to write.
//!
//! A framer owns the protocol's state of one connection and nothing else: the loop owns socket, clock, body buffers and
//! timeouts. Bodies are passed on as slices of the input and never kept, so a hostile peer costs no more memory than
//! one unfinished head.

pub mod h2;
pub mod http1;
mod line;
pub mod memcached;
mod ordered;
pub mod request;
pub mod resp;
pub mod thrift;

use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::{ErrorKind, Outcome};

use h2::{Http2, Http2Settings};
use http1::Http1;
use memcached::Memcached;
use request::{
    Call, RenderError, Rendered, Request, check, check_authority, check_field, check_target, reply_to,
};
use resp::Resp;
use thrift::Thrift;

/// Longest head, chunk line or other unit that must be whole before it is parsed; longer is a protocol error.
pub const UNIT_LIMIT: usize = 256 * 1024;

/// Name of the field in [`Event::Trailers`] with the text of an error, for framings without fields.
pub const ERROR_FIELD: &str = "error";

/// Bytes waiting to be written to one connection. Grows to the largest batch and is then reused.
#[derive(Debug, Default)]
pub struct Out {
    bytes: Vec<u8>,
    written: usize,
}

impl Out {
    /// Appends bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends what `write` puts at the start of a buffer of `most` bytes; `write` returns how many bytes that is.
    pub fn push_with(&mut self, most: usize, write: impl FnOnce(&mut [u8]) -> usize) {
        let start = self.bytes.len();
        self.bytes.resize(start + most, 0);
        let count = write(&mut self.bytes[start..]).min(most);
        self.bytes.truncate(start + count);
    }

    /// What is still to be written.
    pub fn pending(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    /// Whether nothing is left to write.
    pub fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Notes that the first `count` pending bytes were written.
    pub fn wrote(&mut self, count: usize) {
        self.written = (self.written + count).min(self.bytes.len());
        if self.is_empty() {
            self.clear();
        }
    }

    /// Drops all bytes, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.written = 0;
    }
}

/// A view of the received bytes of a connection that the framer has not consumed.
#[derive(Debug)]
pub struct In<'a> {
    bytes: &'a [u8],
    consumed: usize,
}

impl<'a> In<'a> {
    /// A view of `bytes`, none of them consumed.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, consumed: 0 }
    }

    /// The unconsumed bytes.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.consumed..]
    }

    /// Consumes the next `count` bytes (at most all that are left).
    pub fn consume(&mut self, count: usize) {
        self.consumed = (self.consumed + count).min(self.bytes.len());
    }

    /// How many bytes were consumed since the view was made.
    pub fn consumed(&self) -> usize {
        self.consumed
    }
}

/// The head of a reply: its status and header fields, borrowed from the input.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// The status, as HTTP numbers it; framings without one report 200.
    pub status: u16,
    /// The header fields in order of arrival; empty for framings without any.
    pub fields: &'a [httparse::Header<'a>],
}

impl<'a> Head<'a> {
    /// The value of the first field with that name, ignoring case.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
    }

    /// Whether the status is 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

/// What a framer found in the bytes. The number is the id given to [`Framer::start`].
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The head of a reply; interim (1xx) heads are not reported.
    Head(u64, Head<'a>),
    /// A piece of a reply's body, transfer coding removed.
    Data(u64, &'a [u8]),
    /// This many whole messages inside a reply (streaming protocols). Their bytes were reported as data before, without
    /// the delimiters; no piece of data contains bytes of two messages.
    Message(u64, u32),
    /// In a reply to a request for several keys ([`ReplyShape::Batch`](request::ReplyShape::Batch)): what follows is the
    /// value of the key at this index. Indices rise; keys that have no value are left out.
    Value(u64, u16),
    /// The fields after a reply's body (HTTP/2 trailers; the status is that of the head), or a late status (an error
    /// after the first value: memcached, Redis; its text is the field [`ERROR_FIELD`]). At most once, after all data.
    /// Not reported if nothing can depend on them.
    Trailers(u64, Head<'a>),
    /// The reply is over. `Ok` means whole by the protocol's rules; the check decides whether it is right.
    Done(u64, Outcome),
    /// The peer has announced that it does not answer this request and has not begun to: it may be sent again on another
    /// connection. Follows [`Event::Drain`]; no event names this start of the id again.
    Refused(u64),
    /// The peer will close after the outstanding replies: start no more requests.
    Drain,
    /// The connection cannot be used any more; its outstanding requests failed with this kind.
    Broken(ErrorKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection takes no further request now; wait for a reply")]
pub struct Full;

/// What it takes to cancel one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// The request is cancelled and reported no more; the connection and all other requests continue.
    Request,
    /// The protocol cannot cancel a request: the connection must be closed.
    Connection,
}

/// Where a framer delivers its events.
pub type Sink<'s> = dyn FnMut(Event<'_>) + 's;

/// The protocol's state of one connection.
///
/// The loop calls `start` for each request, writes what `Out` holds, and hands whatever it reads to `receive`, which
/// may write too (acknowledgements). Unconsumed bytes are passed again, followed by more. After
/// [`Event::Broken`] the loop closes the connection and calls `reset` before it opens another.
pub trait Framer {
    /// Begins a request: appends its bytes to `out` (or keeps them until the peer allows them). `id` comes back in
    /// every event of its reply and may be used again after its [`Event::Done`].
    ///
    /// Errors: [`Full`] if [`room`](Framer::room) is 0; then nothing was written.
    fn start(&mut self, id: u64, request: &Rendered, out: &mut Out) -> Result<(), Full>;

    /// Parses received bytes: consumes what it can and reports what they mean.
    fn receive(&mut self, input: &mut In<'_>, out: &mut Out, sink: &mut Sink<'_>);

    /// The peer closed its side. Ends every outstanding request, with `Ok` if the end of the connection is the proper
    /// end of the reply.
    fn eof(&mut self, sink: &mut Sink<'_>);

    /// Cancels the request `id`, whose reply took too long. If it returns [`Cancel::Request`], it wrote a notice to the
    /// peer, and no event names this start of `id` again.
    fn cancel(&mut self, id: u64, out: &mut Out) -> Cancel;

    /// Lets the protocol act on time (keep-alive probes). Returns when it must be called next.
    fn tick(&mut self, now: Timestamp, out: &mut Out, sink: &mut Sink<'_>) -> Option<Timestamp>;

    /// How many more requests may be started now. The loop also applies its own `in_flight` limit.
    fn room(&self) -> u32;

    /// Becomes the framer of a new connection, keeping its memory.
    fn reset(&mut self);
}

/// How requests and replies are delimited on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2, gRPC calls included.
    Http2(Http2Settings),
    /// memcached's text protocol. Its requests are rendered by [`crate::framer::memcached::command`].
    Memcached,
    /// Redis' protocol. Its requests are rendered by [`crate::framer::resp::command`].
    Resp,
    /// Thrift's framed transport. Its calls are rendered by [`crate::framer::thrift::call`].
    Thrift(thrift::Envelope),
}

impl Framing {
    /// Renders a request once, to be sent many times.
    ///
    /// Errors: [`RenderError`] if a part is invalid on the wire, such as a line break.
    pub fn render(&self, operation: OperationId, request: &Request) -> Result<Rendered, RenderError> {
        check(request)?;
        match self {
            Self::Http1 => Ok(http1::render(operation, request)),
            Self::Http2(settings) => {
                let head = h2::render::request_block(settings.scheme, request);
                Ok(Rendered::with_body(operation, reply_to(request), head, &request.body))
            }
            Self::Memcached | Self::Resp | Self::Thrift(_) => Err(RenderError::NotCarried(self.name())),
        }
    }

    /// Renders a gRPC call once, to be sent many times.
    ///
    /// Errors: [`RenderError`] if the framing has no calls, or a part is invalid on the wire.
    pub fn render_call(&self, call: &Call<'_>) -> Result<Rendered, RenderError> {
        let Self::Http2(settings) = self else { return Err(RenderError::NoCalls(call.path.to_owned())) };
        check_target(call.path)?;
        check_authority(call.authority)?;
        call.metadata.iter().try_for_each(|(name, value)| check_field(name, value))?;
        Rendered::of_call(call, h2::render::call_block(settings.scheme, call))
    }

    /// A framer for one connection of this framing.
    pub fn framer(&self) -> AnyFramer {
        match self {
            Self::Http1 => AnyFramer::Http1(Http1::new()),
            Self::Http2(settings) => AnyFramer::Http2(Box::new(Http2::new(*settings))),
            Self::Memcached => AnyFramer::Memcached(Memcached::new()),
            Self::Resp => AnyFramer::Resp(Resp::new()),
            Self::Thrift(envelope) => AnyFramer::Thrift(Thrift::new(*envelope)),
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2(_) => "HTTP/2",
            Self::Memcached => "memcached",
            Self::Resp => "RESP",
            Self::Thrift(_) => "Thrift",
        }
    }

    /// Its name in ALPN, if it has one.
    pub(crate) const fn alpn(&self) -> Option<&'static str> {
        match self {
            Self::Http1 => Some("http/1.1"),
            Self::Http2(_) => Some("h2"),
            Self::Memcached | Self::Resp | Self::Thrift(_) => None,
        }
    }
}

/// The framer of any framing, dispatched by `match` so that the loop calls nothing through a pointer.
#[derive(Debug)]
pub enum AnyFramer {
    /// HTTP/1.1 and 1.0.
    Http1(Http1),
    /// HTTP/2; boxed, because its state is several times as large as the others'.
    Http2(Box<Http2>),
    /// memcached's text protocol.
    Memcached(Memcached),
    /// Redis' protocol.
    Resp(Resp),
    /// Thrift's framed transport.
    Thrift(Thrift),
}

/// Calls a method of the framer inside.
macro_rules! each {
    ($any:expr, $framer:ident => $call:expr) => {
        match $any {
            AnyFramer::Http1($framer) => $call,
            AnyFramer::Http2($framer) => $call,
            AnyFramer::Memcached($framer) => $call,
            AnyFramer::Resp($framer) => $call,
            AnyFramer::Thrift($framer) => $call,
        }
    };
}

impl Framer for AnyFramer {
    fn start(&mut self, id: u64, request: &Rendered, out: &mut Out) -> Result<(), Full> {
        each!(self, framer => framer.start(id, request, out))
    }

    fn receive(&mut self, input: &mut In<'_>, out: &mut Out, sink: &mut Sink<'_>) {
        each!(self, framer => framer.receive(input, out, sink));
    }

    fn eof(&mut self, sink: &mut Sink<'_>) {
        each!(self, framer => framer.eof(sink));
    }

    fn cancel(&mut self, id: u64, out: &mut Out) -> Cancel {
        each!(self, framer => framer.cancel(id, out))
    }

    fn tick(&mut self, now: Timestamp, out: &mut Out, sink: &mut Sink<'_>) -> Option<Timestamp> {
        each!(self, framer => framer.tick(now, out, sink))
    }

    fn room(&self) -> u32 {
        each!(self, framer => framer.room())
    }

    fn reset(&mut self) {
        each!(self, framer => framer.reset());
    }
}
