//! Requests as the workload states them, and rendered once as the bytes of one framing.
//!
//! Rendering refuses anything that would change the meaning of the bytes around it: line breaks in a target or a field,
//! a length that differs from the body's. It happens before anything is timed; the loop only copies the result.

use std::ops::Range;
use std::sync::Arc;

use weighbridge_model::id::OperationId;

use super::h2::message;
use super::resp::Opening;

/// One request, independent of the framing that carries it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The method, `GET` and so on.
    pub method: String,
    /// The target in origin form: path and query, beginning with `/` (or `*`).
    pub target: String,
    /// Host, and port unless it is the default.
    pub authority: String,
    /// Header fields in order, without those the framing writes itself (`Host`, `Content-Length`). A `Host` field
    /// given here replaces the authority.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
}

/// What the reply to a request looks like on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyShape {
    /// A head and whatever body the head announces.
    Normal,
    /// Only a head, whatever it announces (HEAD).
    NoBody,
    /// memcached: at most one value, under the request's key, then `END`.
    Value,
    /// memcached: any number of values, then `END`.
    Values,
    /// Of so many keys the values, in the order of the keys; nothing (memcached) or a null (Redis) for those that have
    /// none.
    Batch(u16),
    /// memcached: one line.
    Line,
    /// memcached: one line, followed by a value if the line says so.
    Meta,
    /// Redis: a string, a null or an error.
    Text,
    /// Redis: a number or an error.
    Number,
    /// Redis: an aggregate, a null or an error.
    Aggregate,
}

/// When the messages of a call are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sending {
    /// All at once, then the end of the request: unary calls, streams of a client, streams of a server.
    #[default]
    Together,
    /// The first at once, each other one after a message of the reply, the end of the request with the last: ping-pong
    /// on a bidirectional stream.
    Alternating,
}

/// A gRPC call: a request and a reply of messages, each preceded by its length.
#[derive(Debug, Clone, Copy, Default)]
pub struct Call<'a> {
    /// `/package.Service/Method`.
    pub path: &'a str,
    /// Host, and port unless it is the default.
    pub authority: &'a str,
    /// Header fields in addition to those of every call (`te: trailers` and, unless given, `content-type:
    /// application/grpc`). Values of names that end in `-bin` must be in base64.
    pub metadata: &'a [(String, String)],
    /// The request's messages, encoded, without the prefixes, each shorter than 4 GiB.
    pub messages: &'a [Vec<u8>],
    /// When they are sent.
    pub sending: Sending,
    /// The operation of the call as a whole.
    pub operation: OperationId,
    /// The operation under which the time of each reply message is recorded, if any: the time since the message before,
    /// or since the call was sent.
    pub message_operation: Option<OperationId>,
}

/// The place of a request in a session with a time of its own: from when its first request is due until its last reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionPlace {
    /// The operation under which that time is recorded.
    pub operation: OperationId,
    pub is_first: bool,
    pub is_last: bool,
}

/// A request rendered for one framing. Its body and its key, if it has one, can be patched in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    operation: OperationId,
    reply: ReplyShape,
    bytes: Vec<u8>,
    key: Range<usize>,
    body: Range<usize>,
    opening: Option<Arc<Opening>>,
    /// The messages of a call; `None` for a plain request.
    messages: Option<Box<Messages>>,
    session: Option<SessionPlace>,
}

/// The messages in the body of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Messages {
    /// Where each message ends in the body; its prefix begins where the one before ends.
    ends: Box<[usize]>,
    sending: Sending,
    operation: Option<OperationId>,
}

impl Rendered {
    /// A gRPC call: its head, followed by its messages.
    pub(super) fn of_call(call: &Call<'_>, head: Vec<u8>) -> Result<Self, RenderError> {
        let (mut body, mut ends) = (Vec::new(), Vec::with_capacity(call.messages.len()));
        for (index, text) in call.messages.iter().enumerate() {
            if u32::try_from(text.len()).is_err() {
                let (path, length) = (call.path.to_owned(), text.len());
                return Err(RenderError::MessageLength { path, index, length });
            }
            message::append(text, &mut body);
            ends.push(body.len());
        }
        let (sending, operation) = (call.sending, call.message_operation);
        let messages = Messages { ends: ends.into_boxed_slice(), sending, operation };
        let plain = Self::with_body(call.operation, ReplyShape::Normal, head, &body);
        Ok(Self { messages: Some(Box::new(messages)), ..plain })
    }

    /// A plain request: a head followed by the body.
    pub(super) fn with_body(
        operation: OperationId,
        reply: ReplyShape,
        mut head: Vec<u8>,
        body: &[u8],
    ) -> Self {
        let body_at = head.len();
        head.extend_from_slice(body);
        let body = body_at..head.len();
        Self::assembled(operation, reply, head, 0..0, body)
    }

    /// A request from its bytes and the ranges of its key and its body.
    pub(crate) fn assembled(
        operation: OperationId,
        reply: ReplyShape,
        bytes: Vec<u8>,
        key: Range<usize>,
        body: Range<usize>,
    ) -> Self {
        Self { operation, reply, bytes, key, body, opening: None, messages: None, session: None }
    }

    /// An empty request, to be [filled](Self::refill).
    pub(crate) fn empty() -> Self {
        Self::assembled(OperationId(0), ReplyShape::Normal, Vec::new(), 0..0, 0..0)
    }

    /// Becomes a plain request with the head that `head` appends and with `body`, reusing memory.
    pub(crate) fn refill(
        &mut self,
        operation: OperationId,
        reply: ReplyShape,
        body: &[u8],
        head: impl FnOnce(&mut Vec<u8>),
    ) {
        self.bytes.clear();
        head(&mut self.bytes);
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(body);
        (self.operation, self.reply, self.body) = (operation, reply, begin..self.bytes.len());
    }

    /// Becomes a plain request with the bytes that `compose` appends, reusing memory; `compose` returns where its key and
    /// its body are.
    pub(crate) fn recompose(
        &mut self,
        operation: OperationId,
        reply: ReplyShape,
        compose: impl FnOnce(&mut Vec<u8>) -> (Range<usize>, Range<usize>),
    ) {
        self.bytes.clear();
        (self.operation, self.reply) = (operation, reply);
        (self.key, self.body) = compose(&mut self.bytes);
    }

    /// The same request, for connections that begin with `opening`.
    pub(crate) fn with_opening(self, opening: Option<Arc<Opening>>) -> Self {
        Self { opening, ..self }
    }

    /// Bytes of its body, or of its messages without what frames them.
    pub fn payload(&self) -> u64 {
        let frames = self.messages.as_ref().map_or(0, |messages| messages.ends.len() * message::PREFIX);
        (self.body.len() - frames) as u64
    }

    /// The same request at a place of a session, or in none.
    pub fn in_session(self, session: Option<SessionPlace>) -> Self {
        Self { session, ..self }
    }

    /// Its place in a session with a time of its own.
    pub fn session(&self) -> Option<SessionPlace> {
        self.session
    }

    /// What its connection must send before the first request (Redis); `None` for most.
    pub fn opening(&self) -> Option<&Opening> {
        self.opening.as_deref()
    }

    /// The operation it belongs to.
    pub fn operation(&self) -> OperationId {
        self.operation
    }

    /// The shape of its reply.
    pub fn reply(&self) -> ReplyShape {
        self.reply
    }

    /// All bytes on the wire. In HTTP/2: the header block, then the body, without the frames around them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes before the body.
    pub fn head(&self) -> &[u8] {
        &self.bytes[..self.body.start]
    }

    /// The body within [`bytes`](Self::bytes).
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.body.clone()]
    }

    /// The body, to be patched in place at its length.
    pub fn body_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.body.clone()]
    }

    /// The (first) key of a command within [`bytes`](Self::bytes); empty for other requests.
    pub fn key(&self) -> &[u8] {
        &self.bytes[self.key.clone()]
    }

    /// Where in [`bytes`](Self::bytes) the key begins.
    pub(crate) fn key_start(&self) -> usize {
        self.key.start
    }

    /// The key, to be patched in place at its length.
    pub fn key_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.key.clone()]
    }

    /// Whether it is a call, whose reply consists of messages.
    pub fn is_call(&self) -> bool {
        self.messages.is_some()
    }

    /// How much of the body is sent at once: all of it, or the first message.
    pub(crate) fn sent_at_once(&self) -> usize {
        match self.messages.as_deref() {
            Some(Messages { ends, sending: Sending::Alternating, .. }) => ends.first().copied().unwrap_or(0),
            Some(_) | None => self.body.len(),
        }
    }

    /// The operation under which the time of each reply message is recorded.
    pub fn message_operation(&self) -> Option<OperationId> {
        self.messages.as_ref().and_then(|messages| messages.operation)
    }
}

/// Why a request cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    #[error("`{0}` is not a method; use letters such as `GET` or `POST`")]
    Method(String),
    #[error(
        "`{0}` is not a request target; begin it with `/` and percent-encode spaces and control characters"
    )]
    Target(String),
    #[error("`{0}` is not a host; give a name or address and, if need be, `:port`")]
    Authority(String),
    #[error("`{0}` is not a header name; use letters, digits and hyphens")]
    HeaderName(String),
    #[error("the value of header `{0}` holds a control character; remove it")]
    HeaderValue(String),
    #[error(
        "header `Content-Length: {given}` does not match the body of {actual} bytes; leave the header out"
    )]
    Length {
        /// The header's value.
        given: String,
        /// The body's length in bytes.
        actual: usize,
    },
    #[error("header `Transfer-Encoding` cannot be set; bodies are sent with their length")]
    TransferEncoding,
    #[error("`{0}` is a gRPC call, which HTTP/1.1 does not carry; use protocol `grpc`")]
    NoCalls(String),
    #[error("message {index} of `{path}` has {length} bytes; a gRPC message has fewer than 4 GiB")]
    MessageLength {
        /// The call's path.
        path: String,
        /// The message's place, from 0.
        index: usize,
        /// Its length in bytes.
        length: usize,
    },
    #[error("`{0}` carries commands and no requests with a method; use the workload `commands`")]
    NotCarried(&'static str),
}

/// Whether `text` is a token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

pub(crate) fn check(request: &Request) -> Result<(), RenderError> {
    if !is_token(&request.method) {
        return Err(RenderError::Method(request.method.clone()));
    }
    check_target(&request.target)?;
    check_authority(&request.authority)?;
    request.headers.iter().try_for_each(|(name, value)| check_header(name, value, request.body.len()))
}

pub(crate) fn check_target(target: &str) -> Result<(), RenderError> {
    let origin = target.starts_with('/') || target == "*";
    match origin && target.bytes().all(|b| b.is_ascii_graphic()) {
        true => Ok(()),
        false => Err(RenderError::Target(target.to_owned())),
    }
}

pub(crate) fn check_authority(authority: &str) -> Result<(), RenderError> {
    let foreign = |b: u8| !b.is_ascii_graphic() || b"/?#@\\".contains(&b);
    match authority.is_empty() || authority.bytes().any(foreign) {
        true => Err(RenderError::Authority(authority.to_owned())),
        false => Ok(()),
    }
}

pub(crate) fn check_field(name: &str, value: &str) -> Result<(), RenderError> {
    if !is_token(name) {
        return Err(RenderError::HeaderName(name.to_owned()));
    }
    if value.bytes().any(|b| (b < 0x20 && b != b'\t') || b == 0x7f) {
        return Err(RenderError::HeaderValue(name.to_owned()));
    }
    Ok(())
}

fn check_header(name: &str, value: &str, body: usize) -> Result<(), RenderError> {
    check_field(name, value)?;
    if name.eq_ignore_ascii_case("content-length") && value.trim().parse() != Ok(body) {
        return Err(RenderError::Length { given: value.to_owned(), actual: body });
    }
    if name.eq_ignore_ascii_case("transfer-encoding") {
        return Err(RenderError::TransferEncoding);
    }
    Ok(())
}

/// The shape of the reply to a request.
pub(crate) fn reply_to(request: &Request) -> ReplyShape {
    if request.method == "HEAD" { ReplyShape::NoBody } else { ReplyShape::Normal }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framing;

    fn request() -> Request {
        Request {
            method: "GET".into(),
            target: "/a?b=1".into(),
            authority: "localhost:80".into(),
            ..Request::default()
        }
    }

    fn text(request: &Request) -> String {
        let rendered = Framing::Http1.render(OperationId(3), request).expect("renders");
        String::from_utf8(rendered.bytes().to_vec()).expect("text")
    }

    #[test]
    fn a_get_has_a_host_and_no_length() {
        assert_eq!(text(&request()), "GET /a?b=1 HTTP/1.1\r\nHost: localhost:80\r\n\r\n");
    }

    #[test]
    fn a_body_comes_with_its_length_and_can_be_patched() {
        let post = Request { method: "POST".into(), body: b"hello".to_vec(), ..request() };
        assert!(text(&post).ends_with("Content-Length: 5\r\n\r\nhello"));
        let empty = Request { method: "POST".into(), ..request() };
        assert!(text(&empty).ends_with("Content-Length: 0\r\n\r\n"));
        let mut rendered = Framing::Http1.render(OperationId(0), &post).expect("renders");
        rendered.body_mut().copy_from_slice(b"WORLD");
        assert!(rendered.bytes().ends_with(b"\r\n\r\nWORLD"));
    }

    #[test]
    fn a_given_host_replaces_the_authority() {
        let with = Request { headers: vec![("host".into(), "other".into())], ..request() };
        assert_eq!(text(&with), "GET /a?b=1 HTTP/1.1\r\nhost: other\r\n\r\n");
    }

    #[test]
    fn invalid_parts_are_refused() {
        let refused = |change: &dyn Fn(&mut Request)| {
            let mut changed = request();
            change(&mut changed);
            Framing::Http1.render(OperationId(0), &changed).expect_err("refused")
        };
        let header = |name: &str, value: &str| {
            let pair = (name.to_owned(), value.to_owned());
            refused(&move |r: &mut Request| r.headers.push(pair.clone()))
        };
        assert!(matches!(refused(&|r| r.method = "GE T".into()), RenderError::Method(_)));
        assert!(matches!(refused(&|r| r.target = "/a\r\nX: y".into()), RenderError::Target(_)));
        assert!(matches!(refused(&|r| r.target = "a".into()), RenderError::Target(_)));
        assert!(matches!(refused(&|r| r.authority = "h\r\nX: y".into()), RenderError::Authority(_)));
        assert!(matches!(header("X: y\r\nZ", "1"), RenderError::HeaderName(_)));
        assert!(matches!(header("X", "1\r\nY: 2"), RenderError::HeaderValue(_)));
        assert!(matches!(header("X", "1\nY: 2"), RenderError::HeaderValue(_)));
        assert!(matches!(header("Content-Length", "7"), RenderError::Length { actual: 0, .. }));
        assert!(matches!(header("Transfer-Encoding", "chunked"), RenderError::TransferEncoding));
    }

    #[test]
    fn head_requests_expect_no_body() {
        let head = Request { method: "HEAD".into(), ..request() };
        assert_eq!(
            Framing::Http1.render(OperationId(0), &head).expect("renders").reply(),
            ReplyShape::NoBody
        );
    }
}
