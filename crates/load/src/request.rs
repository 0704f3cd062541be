//! Requests as the workload states them, and rendered once as the bytes of one framing.
//!
//! Rendering refuses whatever would change the meaning of the bytes around it: line breaks in a target or a field,
//! a length that is not the body's. It happens before anything is timed; the loop only copies the result.

use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

use weighbridge_model::record::OperationId;

use crate::codec::AnyCodec;
use crate::http1::Http1;
use crate::memcached::Memcached;
use crate::resp::{Opening, Resp};

/// One request, independent of the framing that carries it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The method, `GET` and so on.
    pub method: String,
    /// The target in origin form: path and query, beginning with `/` (or `*`).
    pub target: String,
    /// Host and, where not the default, port.
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
    /// A head alone, whatever it announces (HEAD).
    NoBody,
    /// memcached: any number of values, then `END`.
    Values,
    /// memcached: one line.
    Line,
    /// memcached: one line, with a value behind it where it says so.
    Meta,
}

/// A request rendered for one framing. Its body, and its key where it has one, may be patched in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rendered {
    operation: OperationId,
    reply: ReplyShape,
    bytes: Box<[u8]>,
    key: Range<usize>,
    body: Range<usize>,
    opening: Option<Arc<Opening>>,
}

impl Rendered {
    /// A request from its bytes and the places of its key and its body within them.
    pub(crate) fn assembled(
        operation: OperationId,
        reply: ReplyShape,
        bytes: Vec<u8>,
        (key, body): (Range<usize>, Range<usize>),
    ) -> Self {
        Self { operation, reply, bytes: bytes.into_boxed_slice(), key, body, opening: None }
    }

    /// The same, to be sent only on connections that were told `opening` before.
    pub(crate) fn with_opening(self, opening: Option<Arc<Opening>>) -> Self {
        Self { opening, ..self }
    }

    /// What its connection must have been told before the first request (Redis); nothing for most.
    pub fn opening(&self) -> Option<&Opening> {
        self.opening.as_deref()
    }

    /// The operation it belongs to.
    pub fn operation(&self) -> OperationId {
        self.operation
    }

    /// What its reply looks like.
    pub fn reply(&self) -> ReplyShape {
        self.reply
    }

    /// Everything that goes on the wire.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The body within [`bytes`](Self::bytes).
    pub fn body(&self) -> &[u8] {
        &self.bytes[self.body.clone()]
    }

    /// The body, to be patched in place; its length stays.
    pub fn body_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.body.clone()]
    }

    /// The (first) key of a command within [`bytes`](Self::bytes); empty for other requests.
    pub fn key(&self) -> &[u8] {
        &self.bytes[self.key.clone()]
    }

    /// The key, to be patched in place; its length stays.
    pub fn key_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.key.clone()]
    }
}

/// How requests and replies are laid out on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// HTTP/1.1.
    Http1,
    /// memcached's text protocol. Its requests are rendered by [`crate::memcached::command`].
    Memcached,
    /// Redis' protocol. Its requests are rendered by [`crate::resp::command`].
    Resp,
}

/// A request that cannot be rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The method is empty or holds something other than the characters of a token.
    #[error("`{0}` is not a method; use letters such as `GET` or `POST`")]
    Method(String),
    /// The target is not in origin form or holds a space, a control character or a byte beyond ASCII.
    #[error(
        "`{0}` is not a request target; begin it with `/` and percent-encode spaces and control characters"
    )]
    Target(String),
    /// The authority is empty or holds a character no host or port has.
    #[error("`{0}` is not a host; give a name or address and, if need be, `:port`")]
    Authority(String),
    /// A header name is not a token.
    #[error("`{0}` is not a header name; use letters, digits and hyphens")]
    HeaderName(String),
    /// A header value holds a line break or another control character.
    #[error("the value of header `{0}` holds a control character; remove it")]
    HeaderValue(String),
    /// A `Content-Length` header that differs from the body's length, or is not a number.
    #[error(
        "header `Content-Length: {given}` does not match the body of {actual} bytes; leave the header out"
    )]
    Length {
        /// The header's value.
        given: String,
        /// The body's length in bytes.
        actual: usize,
    },
    /// A `Transfer-Encoding` header; the framing alone decides how a body is sent.
    #[error("header `Transfer-Encoding` cannot be set; bodies are sent with their length")]
    TransferEncoding,
    /// The framing carries commands, not requests with a method and a target.
    #[error("`{0:?}` carries commands and no requests with a method; use the workload `commands`")]
    NotCarried(Framing),
}

impl Framing {
    /// Renders a request once, to be sent many times.
    ///
    /// # Errors
    /// [`RenderError`] where a part would not stay what it is on the wire, line breaks above all.
    pub fn render(&self, operation: OperationId, request: &Request) -> Result<Rendered, RenderError> {
        check(request)?;
        match self {
            Self::Http1 => Ok(render_http1(operation, request)),
            Self::Memcached | Self::Resp => Err(RenderError::NotCarried(*self)),
        }
    }

    /// A codec for one connection of this framing.
    pub fn codec(&self) -> AnyCodec {
        match self {
            Self::Http1 => AnyCodec::Http1(Http1::new()),
            Self::Memcached => AnyCodec::Memcached(Memcached::new()),
            Self::Resp => AnyCodec::Resp(Resp::new()),
        }
    }
}

/// Whether `text` is a token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

fn check(request: &Request) -> Result<(), RenderError> {
    if !is_token(&request.method) {
        return Err(RenderError::Method(request.method.clone()));
    }
    let target = &request.target;
    if !(target.starts_with('/') || target == "*") || !target.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(RenderError::Target(target.clone()));
    }
    let authority = &request.authority;
    let foreign = |b: u8| !b.is_ascii_graphic() || b"/?#@\\".contains(&b);
    if authority.is_empty() || authority.bytes().any(foreign) {
        return Err(RenderError::Authority(authority.clone()));
    }
    request.headers.iter().try_for_each(|(name, value)| check_header(name, value, request.body.len()))
}

fn check_header(name: &str, value: &str, body: usize) -> Result<(), RenderError> {
    if !is_token(name) {
        return Err(RenderError::HeaderName(name.to_owned()));
    }
    if value.bytes().any(|b| (b < 0x20 && b != b'\t') || b == 0x7f) {
        return Err(RenderError::HeaderValue(name.to_owned()));
    }
    if name.eq_ignore_ascii_case("content-length") && value.trim().parse() != Ok(body) {
        return Err(RenderError::Length { given: value.to_owned(), actual: body });
    }
    if name.eq_ignore_ascii_case("transfer-encoding") {
        return Err(RenderError::TransferEncoding);
    }
    Ok(())
}

fn render_http1(operation: OperationId, request: &Request) -> Rendered {
    let has = |wanted: &str| request.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
    // Writing to a string cannot go wrong.
    if !has("host") {
        let _ = write!(head, "Host: {}\r\n", request.authority);
    }
    for (name, value) in &request.headers {
        let _ = write!(head, "{name}: {}\r\n", value.trim());
    }
    // Methods that mean a body announce an empty one too (RFC 9110, section 8.6).
    let expects_body = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
    if (expects_body || !request.body.is_empty()) && !has("content-length") {
        let _ = write!(head, "Content-Length: {}\r\n", request.body.len());
    }
    head.push_str("\r\n");
    let body_at = head.len();
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&request.body);
    let reply = if request.method == "HEAD" { ReplyShape::NoBody } else { ReplyShape::Normal };
    let body = body_at..bytes.len();
    Rendered::assembled(operation, reply, bytes, (0..0, body))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn whatever_would_break_out_of_its_place_is_refused() {
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
