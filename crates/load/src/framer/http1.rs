//! HTTP/1.1 (and 1.0) replies: heads by httparse, bodies by length, by chunks or until the connection closes.
//!
//! It refuses whatever two readers could understand differently: folded header lines, differing `Content-Length`s,
//! bytes that no request asked for. If both `Transfer-Encoding: chunked` and `Content-Length` are given, chunked wins
//! (RFC 9112, section 6.3). Trailers are read and dropped. `101 Switching Protocols` is an error, because the generator
//! never asks for it.

use std::fmt::Write as _;
use std::mem::MaybeUninit;

use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

use super::ordered::{Ordered, ParseStatus, Pending, Queue, line_end, pass_on};
use super::request::{Rendered, ReplyShape, Request, reply_to};
use super::{Event, Head, In, Out, Sink, UNIT_LIMIT};

/// Header fields that fit without allocating; hardly any head has more.
const FIELDS: usize = 128;

/// Most header fields in one head, or in one trailer; more is a protocol error. Memory for them, 256 KiB, is allocated
/// only for a head that needs it.
const FIELDS_LIMIT: usize = 8192;

/// Longest chunk-size line with its extensions; longer is a protocol error.
const CHUNK_LINE_LIMIT: usize = 16 * 1024;

/// An unfinished head up to this length is parsed again with every piece that arrives, so that an error in it is
/// found at the same byte however it was split. A longer head is parsed only when its end may have arrived, so that a
/// peer that sends a long head byte by byte cannot make the parser quadratic.
const EAGER_HEAD: usize = 8 * 1024;

/// Where in a reply the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyState {
    Head,
    Length { left: u64 },
    ChunkSize,
    ChunkData { left: u64 },
    ChunkEnd,
    Trailer,
    UntilClose,
    Broken,
}

/// Whether the peer will answer further requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Persistence {
    KeepAlive,
    Close,
}

/// How a head delimits its body, and whether the connection persists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Delimiting {
    body: ReplyState,
    persistence: Persistence,
}

/// Longest head that is remembered, and most fields in it: covers what servers send to small requests.
const MEMO_BYTES: usize = 1024;
const MEMO_FIELDS: usize = 16;

/// Where a field's name ends among the remembered names, and where its value is in the head.
#[derive(Debug, Clone, Copy)]
struct FieldSpan {
    name_end: u16,
    value: (u16, u16),
}

/// The last head and its meaning. Servers repeat themselves: a reply with a byte-identical head, to a request with the
/// same reply shape, means the same and need not be parsed again.
#[derive(Debug)]
struct Memo {
    bytes: Vec<u8>,
    /// The names of the fields, one after the other.
    names: String,
    fields: Vec<FieldSpan>,
    status: u16,
    reply: ReplyShape,
    delimiting: Delimiting,
}

impl Memo {
    /// The initial state; matches nothing.
    fn empty() -> Self {
        Self {
            bytes: Vec::new(),
            names: String::new(),
            fields: Vec::new(),
            status: 0,
            reply: ReplyShape::Normal,
            delimiting: Delimiting { body: ReplyState::Broken, persistence: Persistence::Close },
        }
    }

    fn matches(&self, rest: &[u8], reply: ReplyShape) -> bool {
        !self.bytes.is_empty() && self.reply == reply && rest.starts_with(&self.bytes)
    }

    /// Remembers `head`, parsed as `response`, reusing memory.
    fn keep(
        &mut self,
        head: &[u8],
        response: &httparse::Response<'_, '_>,
        reply: ReplyShape,
        delimiting: Delimiting,
    ) {
        self.bytes.clear();
        self.names.clear();
        self.fields.clear();
        if head.len() > MEMO_BYTES || response.headers.len() > MEMO_FIELDS {
            return;
        }
        for field in response.headers.iter() {
            // An empty value has no meaningful address; any position will do.
            let at = (field.value.as_ptr() as usize).saturating_sub(head.as_ptr() as usize);
            let at = if field.value.is_empty() { 0 } else { at };
            self.names.push_str(field.name);
            let value = (at as u16, field.value.len() as u16);
            self.fields.push(FieldSpan { name_end: self.names.len() as u16, value });
        }
        self.bytes.extend_from_slice(head);
        self.status = response.code.unwrap_or(0);
        (self.reply, self.delimiting) = (reply, delimiting);
    }

    /// Reports the remembered head for request `id`.
    fn report(&self, id: u64, sink: &mut Sink<'_>) {
        let mut fields = [httparse::EMPTY_HEADER; MEMO_FIELDS];
        let mut begin = 0;
        for (field, place) in fields.iter_mut().zip(&self.fields) {
            let (end, at) = (usize::from(place.name_end), usize::from(place.value.0));
            field.name = &self.names[begin..end];
            field.value = &self.bytes[at..at + usize::from(place.value.1)];
            begin = end;
        }
        sink(Event::Head(id, Head { status: self.status, fields: &fields[..self.fields.len()] }));
    }
}

/// The state of one HTTP/1.1 connection, requests pipelined in order.
#[derive(Debug)]
pub struct Http1 {
    pending: Queue,
    state: ReplyState,
    persistence: Persistence,
    /// Length of the unfinished head or trailer when it was last parsed.
    seen: usize,
    memo: Memo,
}

impl Http1 {
    /// The framer of a new connection.
    pub fn new() -> Self {
        Self {
            pending: Queue::new(),
            state: ReplyState::Head,
            persistence: Persistence::KeepAlive,
            seen: 0,
            memo: Memo::empty(),
        }
    }

    /// Ends the oldest reply.
    fn finish(&mut self, sink: &mut Sink<'_>) {
        self.state = ReplyState::Head;
        self.answered(sink);
        self.refuse_others(sink);
    }

    /// If the peer has announced that it closes after the last reply, it handles none of the other requests (RFC 9112,
    /// section 9.6).
    fn refuse_others(&mut self, sink: &mut Sink<'_>) {
        if self.persistence == Persistence::Close {
            while let Some(id) = self.pop() {
                sink(Event::Refused(id));
            }
        }
    }

    /// Whether to parse an unfinished head again with `rest`.
    fn worth_parsing(&self, rest: &[u8]) -> bool {
        if self.seen <= EAGER_HEAD {
            return true;
        }
        let tail = &rest[self.seen.saturating_sub(3).min(rest.len())..];
        tail.windows(2).any(|two| two == b"\n\n") || tail.windows(3).any(|three| three == b"\n\r\n")
    }

    /// Notes an unfinished head or trailer; one that is too long is a fault.
    fn unfinished(&mut self, length: usize) -> ParseStatus {
        self.seen = length;
        if length >= UNIT_LIMIT { ParseStatus::Fault } else { ParseStatus::Starved }
    }

    fn head(&mut self, input: &mut In<'_>, id: u64, reply: ReplyShape, sink: &mut Sink<'_>) -> ParseStatus {
        let rest = input.rest();
        if self.memo.matches(rest, reply) {
            input.consume(self.memo.bytes.len());
            self.memo.report(id, sink);
            return self.begin_body(self.memo.delimiting, sink);
        }
        if !self.worth_parsing(rest) {
            return self.unfinished(rest.len());
        }
        let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
        let mut more_fields = Vec::new();
        let mut response = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let mut parsed = config.parse_response_with_uninit_headers(&mut response, rest, &mut fields);
        if parsed == Err(httparse::Error::TooManyHeaders) {
            more_fields.resize_with(FIELDS_LIMIT, MaybeUninit::uninit);
            parsed = config.parse_response_with_uninit_headers(&mut response, rest, &mut more_fields);
        }
        let length = match parsed {
            Ok(httparse::Status::Complete(length)) if length <= UNIT_LIMIT => length,
            Ok(httparse::Status::Partial) => return self.unfinished(rest.len()),
            Ok(httparse::Status::Complete(_)) | Err(_) => return ParseStatus::Fault,
        };
        input.consume(length);
        let (status, version) = (response.code.unwrap_or(0), response.version.unwrap_or(0));
        match status {
            101 | 0..=99 => return ParseStatus::Fault,
            102..=199 | 100 => {
                self.seen = 0;
                return ParseStatus::More;
            }
            _ => {}
        }
        let Some(delimiting) = delimiting(status, version, response.headers, reply) else {
            return ParseStatus::Fault;
        };
        self.memo.keep(&rest[..length], &response, reply, delimiting);
        sink(Event::Head(id, Head { status, fields: response.headers }));
        self.begin_body(delimiting, sink)
    }

    /// Continues with the body after a whole head.
    fn begin_body(&mut self, delimiting: Delimiting, sink: &mut Sink<'_>) -> ParseStatus {
        self.seen = 0;
        self.state = delimiting.body;
        self.persistence = delimiting.persistence;
        if self.persistence == Persistence::Close {
            sink(Event::Drain);
        }
        if self.state == (ReplyState::Length { left: 0 }) {
            self.finish(sink);
        }
        ParseStatus::More
    }

    fn chunk_size(&mut self, input: &mut In<'_>) -> ParseStatus {
        let rest = input.rest();
        match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete((length, size))) if length <= CHUNK_LINE_LIMIT => {
                input.consume(length);
                self.state =
                    if size == 0 { ReplyState::Trailer } else { ReplyState::ChunkData { left: size } };
                ParseStatus::More
            }
            Ok(httparse::Status::Partial) if rest.len() < CHUNK_LINE_LIMIT => ParseStatus::Starved,
            _ => ParseStatus::Fault,
        }
    }

    fn chunk_end(&mut self, input: &mut In<'_>) -> ParseStatus {
        let progress = line_end(input);
        if progress == ParseStatus::More {
            self.state = ReplyState::ChunkSize;
        }
        progress
    }

    fn trailer(&mut self, input: &mut In<'_>, sink: &mut Sink<'_>) -> ParseStatus {
        let rest = input.rest();
        if rest.starts_with(b"\r\n") {
            input.consume(2);
            self.finish(sink);
            return ParseStatus::More;
        }
        if !self.worth_parsing(rest) {
            return self.unfinished(rest.len());
        }
        let (mut fields, mut more_fields) = ([httparse::EMPTY_HEADER; FIELDS], Vec::new());
        let mut parsed = httparse::parse_headers(rest, &mut fields);
        if parsed == Err(httparse::Error::TooManyHeaders) {
            more_fields.resize(FIELDS_LIMIT, httparse::EMPTY_HEADER);
            parsed = httparse::parse_headers(rest, &mut more_fields);
        }
        match parsed {
            Ok(httparse::Status::Complete((length, _))) if length <= UNIT_LIMIT => {
                self.seen = 0;
                input.consume(length);
                self.finish(sink);
                ParseStatus::More
            }
            Ok(httparse::Status::Partial) => self.unfinished(rest.len()),
            _ => ParseStatus::Fault,
        }
    }
}

impl Default for Http1 {
    fn default() -> Self {
        Self::new()
    }
}

impl Ordered for Http1 {
    fn begin(&mut self, id: u64, request: &Rendered, _out: &mut Out) {
        self.pending.push_back(Pending { id, reply: request.reply() });
    }

    fn pop(&mut self) -> Option<u64> {
        self.pending.pop_front().map(|pending| pending.id)
    }

    fn step(&mut self, input: &mut In<'_>, sink: &mut Sink<'_>) -> ParseStatus {
        if input.rest().is_empty() {
            return ParseStatus::Starved;
        }
        let Some(&Pending { id, reply }) = self.pending.front() else { return ParseStatus::Fault };
        match self.state {
            ReplyState::Head => self.head(input, id, reply, sink),
            ReplyState::Length { left } => {
                let left = left - pass_on(input, left, |bytes| sink(Event::Data(id, bytes)));
                self.state = ReplyState::Length { left };
                if left == 0 {
                    self.finish(sink);
                }
                ParseStatus::More
            }
            ReplyState::ChunkSize => self.chunk_size(input),
            ReplyState::ChunkData { left } => {
                let left = left - pass_on(input, left, |bytes| sink(Event::Data(id, bytes)));
                self.state = if left == 0 { ReplyState::ChunkEnd } else { ReplyState::ChunkData { left } };
                ParseStatus::More
            }
            ReplyState::ChunkEnd => self.chunk_end(input),
            ReplyState::Trailer => self.trailer(input, sink),
            ReplyState::UntilClose => {
                pass_on(input, u64::MAX, |bytes| sink(Event::Data(id, bytes)));
                ParseStatus::More
            }
            ReplyState::Broken => ParseStatus::Fault,
        }
    }

    fn end(&mut self, sink: &mut Sink<'_>) {
        if self.state == ReplyState::UntilClose {
            return self.finish(sink);
        }
        // The reply that announced the end was cut off; the requests behind it were refused all the same.
        if self.persistence == Persistence::Close
            && let Some(id) = self.pop()
        {
            sink(Event::Done(id, Outcome::Error(ErrorKind::Reset)));
            self.refuse_others(sink);
        }
    }

    fn takes_more(&self) -> bool {
        !self.is_broken() && self.persistence == Persistence::KeepAlive
    }

    fn is_broken(&self) -> bool {
        self.state == ReplyState::Broken
    }

    fn break_off(&mut self) {
        self.pending.clear();
        self.state = ReplyState::Broken;
    }

    fn renew(&mut self) {
        self.pending.clear();
        self.state = ReplyState::Head;
        self.persistence = Persistence::KeepAlive;
        self.seen = 0;
    }
}

/// How the reply's body is delimited (RFC 9112, section 6.3); `None` where its head contradicts itself.
fn delimiting(
    status: u16,
    version: u8,
    fields: &[httparse::Header<'_>],
    reply: ReplyShape,
) -> Option<Delimiting> {
    let mut length: Option<u64> = None;
    let mut coding = None;
    let (mut close, mut keep) = (false, false);
    for field in fields {
        if field.name.eq_ignore_ascii_case("content-length") {
            for item in list(field.value) {
                let value = decimal(item)?;
                if length.is_some_and(|earlier| earlier != value) {
                    return None;
                }
                length = Some(value);
            }
            length?;
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            // The last coding decides; fields with one name form one list.
            coding = list(field.value).last().or(coding);
        } else if field.name.eq_ignore_ascii_case("connection") {
            close |= list(field.value).any(|item| item.eq_ignore_ascii_case(b"close"));
            keep |= list(field.value).any(|item| item.eq_ignore_ascii_case(b"keep-alive"));
        }
    }
    let body = if reply == ReplyShape::NoBody || status == 204 || status == 304 {
        ReplyState::Length { left: 0 }
    } else if let Some(coding) = coding {
        if coding.eq_ignore_ascii_case(b"chunked") { ReplyState::ChunkSize } else { ReplyState::UntilClose }
    } else if let Some(left) = length {
        ReplyState::Length { left }
    } else {
        ReplyState::UntilClose
    };
    let ends = close || body == ReplyState::UntilClose || (version == 0 && !keep);
    let persistence = if ends { Persistence::Close } else { Persistence::KeepAlive };
    Some(Delimiting { body, persistence })
}

/// The items of a comma-separated list, white space trimmed, empty ones left out.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|item| !item.is_empty())
}

/// A number of digits only; `None` for anything else or more than fits.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// A request's bytes.
pub(crate) fn render(operation: OperationId, request: &Request) -> Rendered {
    let has = |wanted: &str| request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    // Writing to a string cannot fail.
    if !has("host") {
        let _ = write!(head, "Host: {}\r\n", request.authority);
    }
    for (name, value) in &request.headers {
        let _ = write!(head, "{name}: {}\r\n", value.trim());
    }
    // Methods that normally have a body announce an empty one too (RFC 9110, section 8.6).
    let expects_body = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    if (expects_body || !request.body.is_empty()) && !has("content-length") {
        let _ = write!(head, "Content-Length: {}\r\n", request.body.len());
    }
    head.push_str("\r\n");
    Rendered::with_body(operation, reply_to(request), head.into_bytes(), &request.body)
}
