//! The sans-I/O contract of every protocol: bytes in, events out, bytes to write.
//!
//! A framer owns the protocol's state of one connection and nothing else. It refuses to own a socket, a clock, a
//! buffer of bodies or a timeout; the loop owns those. Bodies are handed on as slices of the input and never kept,
//! so a hostile peer costs no more memory than one unfinished head.

pub mod h2;
pub mod http1;
mod line;
pub mod memcached;
mod ordered;
pub mod request;
pub mod resp;

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

/// Longest head, chunk line or other unit that must be whole before it can be read; longer is a protocol error.
pub const UNIT_LIMIT: usize = 256 * 1024;

/// Under which name [`Event::Trailers`] has the text of an error, in framings without fields.
pub const ERROR_FIELD: &str = "error";

/// Bytes waiting to be written to one connection. Grows to the largest batch ever written and is then reused.
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

    /// Appends what `write` puts at the start of room for `most` bytes; it returns how many bytes that is.
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

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.written = 0;
    }
}

/// A view of the bytes a connection has received and the framer has not yet consumed.
#[derive(Debug)]
pub struct In<'a> {
    bytes: &'a [u8],
    consumed: usize,
}

impl<'a> In<'a> {
    /// A view of `bytes`, nothing of it consumed.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, consumed: 0 }
    }

    /// The unconsumed bytes.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.consumed..]
    }

    /// Marks the next `count` bytes as dealt with (at most all that are left).
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
    /// The status, in HTTP's numbers; framings without one say 200.
    pub status: u16,
    /// The header fields in order of arrival; empty for framings without any.
    pub fields: &'a [httparse::Header<'a>],
}

impl<'a> Head<'a> {
    /// The value of the first field of that name, letter case ignored.
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
    /// That many whole messages inside a reply (streaming protocols). Their bytes were reported as data before,
    /// without whatever delimits messages on the wire; no piece of data is of two messages.
    Message(u64, u32),
    /// The fields behind a reply's body (HTTP/2 trailers; the status is that of the head), or a status that the reply
    /// only then turned out to have (an error behind the first value: memcached, Redis; its text is the field
    /// [`ERROR_FIELD`]). At most once, after all data. Not reported where nothing can depend on them.
    Trailers(u64, Head<'a>),
    /// The reply is over. `Ok` means whole by the protocol's rules; whether it is right is the check's business.
    Done(u64, Outcome),
    /// The peer will close after the outstanding replies: start nothing more here.
    Drain,
    /// The connection cannot be used any more; whatever is outstanding on it failed this way.
    Broken(ErrorKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the connection takes no further request now; wait for a reply")]
pub struct Full;

/// What it takes to give up one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// The request is forgotten and reported no more; the connection and all other requests go on.
    Request,
    /// The protocol cannot take a request back: the connection must be closed.
    Connection,
}

/// Where a framer delivers its events.
pub type Sink<'s> = dyn FnMut(Event<'_>) + 's;

/// The protocol's state of one connection.
///
/// The loop calls `start` for each request, writes what `Out` holds, and hands whatever it reads to `receive`, which
/// may write too (acknowledgements). Bytes left unconsumed are handed in again, with more behind them. After
/// [`Event::Broken`] the loop closes the connection and calls `reset` before it opens another.
pub trait Framer {
    /// Begins a request: appends its bytes to `out` (or keeps them until the peer allows them). `id` comes back in
    /// every event of its reply and may be used again after its [`Event::Done`].
    ///
    /// Errors: [`Full`] where [`room`](Framer::room) is 0; nothing was written then.
    fn start(&mut self, id: u64, request: &Rendered, out: &mut Out) -> Result<(), Full>;

    /// Takes received bytes, consumes what it can and reports what they mean.
    fn receive(&mut self, input: &mut In<'_>, out: &mut Out, sink: &mut Sink<'_>);

    /// The peer closed its side. Ends every outstanding request, with `Ok` where the end of the connection is the
    /// proper end of the reply.
    fn eof(&mut self, sink: &mut Sink<'_>);

    /// Gives up the request `id`, whose reply took too long. Where it answers [`Cancel::Request`], what it wrote tells
    /// the peer, and no event names this start of `id` again.
    fn cancel(&mut self, id: u64, out: &mut Out) -> Cancel;

    /// Gives the protocol a chance to act on time (keep-alive probes). Returns when it wants to be called next.
    fn tick(&mut self, now: Timestamp, out: &mut Out, sink: &mut Sink<'_>) -> Option<Timestamp>;

    /// How many more requests may be started now. The loop's own `in_flight` limit comes on top.
    fn room(&self) -> u32;

    /// Becomes the framer of a new connection, keeping its memory.
    fn reset(&mut self);
}

/// How requests and replies are laid out on a connection.
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
}

impl Framing {
    /// Renders a request once, to be sent many times.
    ///
    /// Errors: [`RenderError`] where a part would not stay what it is on the wire, line breaks above all.
    pub fn render(&self, operation: OperationId, request: &Request) -> Result<Rendered, RenderError> {
        check(request)?;
        match self {
            Self::Http1 => Ok(http1::render(operation, request)),
            Self::Http2(settings) => {
                let head = h2::render::request_block(settings.scheme, request);
                Ok(Rendered::of(operation, reply_to(request), head, &request.body))
            }
            Self::Memcached | Self::Resp => Err(RenderError::NotCarried(self.name())),
        }
    }

    /// Renders a gRPC call once, to be sent many times.
    ///
    /// Errors: [`RenderError`] where the framing carries none, or a part would not stay what it is on the wire.
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
        }
    }

    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2(_) => "HTTP/2",
            Self::Memcached => "memcached",
            Self::Resp => "RESP",
        }
    }

    /// Its name in ALPN; `None` where it has none.
    pub(crate) const fn alpn(&self) -> Option<&'static str> {
        match self {
            Self::Http1 => Some("http/1.1"),
            Self::Http2(_) => Some("h2"),
            Self::Memcached | Self::Resp => None,
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
}

/// Calls one method of whichever framer it is.
macro_rules! each {
    ($any:expr, $framer:ident => $call:expr) => {
        match $any {
            AnyFramer::Http1($framer) => $call,
            AnyFramer::Http2($framer) => $call,
            AnyFramer::Memcached($framer) => $call,
            AnyFramer::Resp($framer) => $call,
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
