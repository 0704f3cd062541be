//! The right reply by the letter of the contract: status, exact `Content-Type` and `Content-Length`, no
//! `Transfer-Encoding`, the body byte for byte and nothing after it.
//!
//! It sends one request at a time over a given connection and reports what came instead of the right reply.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::client::{ClientError, Connection, Head, Quiet};
use super::outcome::{Shortfall, Verdict, differs, quoted};

/// No error reply is longer.
const LONGEST_PROBLEM: usize = 64 << 10;

/// The status whose reply HTTP gives no `Content-Length`.
const NO_CONTENT: u16 = 204;

/// A request, to be sent in one write.
#[derive(Debug, Clone)]
pub(super) struct RawRequest {
    method: &'static str,
    path: String,
    version: &'static str,
    /// Header lines after `Host`, each with its CR LF.
    headers: String,
    body: Vec<u8>,
}

impl RawRequest {
    /// `GET path`, HTTP/1.1.
    pub(super) fn get(path: impl Into<String>) -> Self {
        let (path, body) = (path.into(), Vec::new());
        Self { method: "GET", path, version: "HTTP/1.1", headers: String::new(), body }
    }

    /// `GET /pong/{n}`.
    pub(super) fn pong(n: usize) -> Self {
        Self::get(format!("/pong/{n}"))
    }

    pub(super) fn head(path: impl Into<String>) -> Self {
        Self { method: "HEAD", ..Self::get(path) }
    }

    /// Another method without a body.
    pub(super) fn empty(method: &'static str, path: impl Into<String>) -> Self {
        Self { method, ..Self::get(path) }.with("Content-Length: 0")
    }

    /// `POST path` with a body of `length` bytes.
    pub(super) fn post(path: impl Into<String>, length: usize) -> Self {
        Self::with_body("POST", path, vec![b'x'; length])
    }

    /// `PUT path` with this body.
    pub(super) fn put(path: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::with_body("PUT", path, body.into())
    }

    fn with_body(method: &'static str, path: impl Into<String>, body: Vec<u8>) -> Self {
        let header = format!("Content-Length: {}", body.len());
        Self { method, body, ..Self::get(path) }.with(&header)
    }

    /// Adds a header line.
    pub(super) fn with(mut self, header: &str) -> Self {
        self.headers.push_str(header);
        self.headers.push_str("\r\n");
        self
    }

    /// Changes the version to HTTP/1.0.
    pub(super) fn in_http10(self) -> Self {
        Self { version: "HTTP/1.0", ..self }
    }

    pub(super) fn method(&self) -> &'static str {
        self.method
    }

    /// Path and query.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// The bytes sent.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let Self { method, path, version, headers, body } = self;
        let head = format!("{method} {path} {version}\r\nHost: localhost\r\n{headers}\r\n");
        [head.as_bytes(), body].concat()
    }
}

impl fmt::Display for RawRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: String = self.path.chars().take(40).collect();
        let more = if path.len() < self.path.len() { "…" } else { "" };
        write!(f, "`{} {path}{more}`", self.method)?;
        match self.body.len() {
            0 => Ok(()),
            length => write!(f, " with a body of {length} bytes"),
        }
    }
}

/// The reply that the contract demands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expected {
    /// 200 with a body of that many bytes; at least 4.
    Pong(usize),
    /// 200 with this text.
    Version(String),
    /// 200 with a relay's report of its peer's reply.
    Measured {
        /// Bytes of the peer's body.
        length: usize,
        /// Status of the peer's reply.
        code: u16,
        /// How often the relay may have repeated its request.
        retries: RangeInclusive<usize>,
    },
    /// 200 with a relay's report of a call.
    Called,
    /// 200 with this object in JSON.
    Object(Value),
    /// 200 with these bytes as `application/octet-stream`.
    Bytes(Vec<u8>),
    /// This status without a body.
    Done(u16),
    /// This status, and a body that names the error.
    Problem(u16),
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pong(n) => write!(f, "pong({n})"),
            Self::Version(text) => write!(f, "status 200 with `{text}`"),
            Self::Measured { length, code, retries } => {
                write!(f, "mping with length {length}, code {code} and retries {}", counts(retries))
            }
            Self::Called => f.write_str("status 200 with `duration_ns`, `calls` and `digest`"),
            Self::Object(object) => write!(f, "status 200 with `{object}`"),
            Self::Bytes(bytes) => write!(f, "status 200 with the bytes {}", quoted(bytes)),
            Self::Done(status) => write!(f, "status {status} without a body"),
            Self::Problem(status) => write!(f, "error({status})"),
        }
    }
}

impl Expected {
    fn status(&self) -> u16 {
        match self {
            Self::Pong(_) | Self::Version(_) | Self::Measured { .. } | Self::Called => 200,
            Self::Object(_) | Self::Bytes(_) => 200,
            Self::Done(status) | Self::Problem(status) => *status,
        }
    }

    /// `None` where there is no body.
    fn content_type(&self) -> Option<&'static str> {
        match self {
            Self::Pong(_) | Self::Version(_) => Some("text/plain"),
            Self::Measured { .. } | Self::Called | Self::Object(_) | Self::Problem(_) => {
                Some("application/json")
            }
            Self::Bytes(_) => Some("application/octet-stream"),
            Self::Done(_) => None,
        }
    }

    /// The length of the body, if it is known in advance.
    pub(super) fn length(&self) -> Option<usize> {
        match self {
            Self::Pong(n) => Some(*n),
            Self::Version(text) => Some(text.len()),
            Self::Bytes(bytes) => Some(bytes.len()),
            Self::Done(_) => Some(0),
            Self::Measured { .. } | Self::Called | Self::Object(_) | Self::Problem(_) => None,
        }
    }

    /// Checks the head of the reply to `request` and returns the length of its body.
    pub(super) fn check_reply(&self, request: &RawRequest, head: &Head) -> Result<usize, String> {
        match (request.method, self) {
            // Row P14 does not check the length in an error's head, since there is no body to compare it
            // with.
            ("HEAD", Self::Problem(status)) => {
                if head.status != *status {
                    return Err(format!("status {}", head.status));
                }
                check_header(head, "content-type", self.content_type()).map(|()| 0)
            }
            ("HEAD", _) => self.check_head(head).map(|_| 0),
            _ => self.check_head(head),
        }
    }

    /// Checks a head and returns the length of its body.
    fn check_head(&self, head: &Head) -> Result<usize, String> {
        if head.status != self.status() {
            return Err(format!("status {}", head.status));
        }
        check_header(head, "content-type", self.content_type())?;
        if head.values("transfer-encoding").next().is_some() {
            return Err("a head with `Transfer-Encoding`".to_owned());
        }
        if *self == Self::Done(NO_CONTENT) {
            return check_header(head, "content-length", None).map(|()| 0);
        }
        if let Some(length) = self.length() {
            check_header(head, "content-length", Some(&length.to_string()))?;
            return Ok(length);
        }
        let length = head.only("content-length").ok_or("a head without exactly one `Content-Length`")?;
        let digits = length.bytes().all(|byte| byte.is_ascii_digit());
        let length = length.parse().ok().filter(|length| digits && *length <= LONGEST_PROBLEM);
        length.ok_or_else(|| "a head whose `Content-Length` is no number up to 64 KiB".to_owned())
    }

    /// Checks a whole body.
    pub(super) fn check_body(&self, body: &[u8]) -> Result<(), String> {
        match self {
            Self::Pong(n) => check_pong(body, *n),
            Self::Version(text) if body == text.as_bytes() => Ok(()),
            Self::Version(_) => Err(format!("the body {}", quoted(body))),
            Self::Measured { length, code, retries } => check_measured(body, *length, *code, retries),
            Self::Called => check_called(body),
            Self::Object(object) => check_object(body, object),
            Self::Bytes(bytes) if body == bytes => Ok(()),
            Self::Bytes(_) => Err(format!("the bytes {}", quoted(body))),
            Self::Done(_) => Ok(()),
            Self::Problem(_) => check_problem(body),
        }
    }
}

fn check_header(head: &Head, name: &str, expected: Option<&str>) -> Result<(), String> {
    let values: Vec<_> = head.values(name).collect();
    if values == Vec::from_iter(expected) {
        return Ok(());
    }
    let shown = |values: &[&str]| match values {
        [] => "nothing".to_owned(),
        values => values.iter().map(|value| quoted(value.as_bytes())).collect::<Vec<_>>().join(" and "),
    };
    let expected = expected.map_or("nothing".to_owned(), |expected| format!("`{expected}`"));
    Err(format!("{} as `{name}` instead of {expected}", shown(&values)))
}

/// Checks for an object of the same value, however it is written.
fn check_object(body: &[u8], expected: &Value) -> Result<(), String> {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) if value == *expected => Ok(()),
        _ => Err(format!("the body {}", quoted(body))),
    }
}

/// Checks the law of the body: byte 0 is `p`, the last two are `ng`, all between are `o`.
fn check_pong(body: &[u8], n: usize) -> Result<(), String> {
    let law = |index: usize| match index {
        0 => b'p',
        _ if index + 2 == n => b'n',
        _ if index + 1 == n => b'g',
        _ => b'o',
    };
    match body.iter().enumerate().find(|(index, byte)| **byte != law(*index)) {
        Some((index, byte)) => {
            Err(format!("{} instead of `{}` as byte {index}", quoted(&[*byte]), char::from(law(index))))
        }
        None if body.len() == n => Ok(()),
        None => Err(format!("{} bytes", body.len())),
    }
}

/// Checks for an object whose only key is `error`, with a non-empty text.
fn check_problem(body: &[u8]) -> Result<(), String> {
    let wrong = || format!("the body {} instead of {{\"error\": \"<text>\"}}", quoted(body));
    let Ok(Value::Object(object)) = serde_json::from_slice(body) else { return Err(wrong()) };
    let said = object.get("error").and_then(Value::as_str).filter(|text| !text.is_empty());
    if said.is_some() && object.len() == 1 { Ok(()) } else { Err(wrong()) }
}

/// A range of counts, as text.
fn counts(range: &RangeInclusive<usize>) -> String {
    let (least, most) = (range.start(), range.end());
    if least == most { most.to_string() } else { format!("from {least} to {most}") }
}

/// Checks for an object with exactly the four keys of `mping`, each a whole number. The duration is not
/// checked here.
fn check_measured(
    body: &[u8],
    length: usize,
    code: u16,
    retries: &RangeInclusive<usize>,
) -> Result<(), String> {
    let rest = format!("\"length\": {length}, \"code\": {code}, \"retries\": {}", counts(retries));
    let wrong = || format!("the body {} instead of {{\"duration_ns\": <number>, {rest}}}", quoted(body));
    let Ok(Value::Object(object)) = serde_json::from_slice(body) else { return Err(wrong()) };
    let number = |key: &str| usize::try_from(object.get(key)?.as_u64()?).ok();
    let is_right = number("duration_ns").is_some()
        && number("length") == Some(length)
        && number("code") == Some(code.into())
        && number("retries").is_some_and(|number| retries.contains(&number));
    if is_right && object.len() == 4 { Ok(()) } else { Err(wrong()) }
}

/// Checks for an object with exactly the three keys of a call. The digest is compared elsewhere.
fn check_called(body: &[u8]) -> Result<(), String> {
    let right = "{\"duration_ns\": <number>, \"calls\": 1, \"digest\": \"<16 digits>\"}";
    let wrong = || format!("the body {} instead of {right}", quoted(body));
    let Ok(Value::Object(object)) = serde_json::from_slice(body) else { return Err(wrong()) };
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let digest = object.get("digest").and_then(Value::as_str).unwrap_or_default();
    let is_right = object.get("duration_ns").is_some_and(Value::is_u64)
        && object.get("calls").and_then(Value::as_u64) == Some(1)
        && digest.len() == 16
        && digest.bytes().all(is_digit);
    if is_right && object.len() == 3 { Ok(()) } else { Err(wrong()) }
}

/// A reply that was right.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) head: Head,
    pub(super) body: Vec<u8>,
}

impl Reply {
    /// Checks that `Allow` names these methods and nothing else.
    pub(super) fn allows(&self, request: &RawRequest, methods: &[&str]) -> Verdict {
        let values = self.head.values("allow").flat_map(|value| value.split(','));
        let allowed: BTreeSet<_> = values.map(str::trim).collect();
        if allowed == methods.iter().copied().collect() {
            return Ok(());
        }
        let expected = format!("`Allow` with {}", methods.join(" and "));
        Err(differs(request, expected, format_args!("{allowed:?}")))
    }
}

/// Sends a request, reads the right reply and checks that the connection stays open and silent.
pub(super) fn ask(
    connection: &mut Connection,
    request: &RawRequest,
    expected: &Expected,
) -> Result<Reply, Shortfall> {
    let reply = exchange(connection, request, expected)?;
    check_open(connection, request, &reply)?;
    Ok(reply)
}

/// Sends a request and reads the right reply, without checking what follows it.
pub(super) fn exchange(
    connection: &mut Connection,
    request: &RawRequest,
    expected: &Expected,
) -> Result<Reply, Shortfall> {
    connection.send(&request.bytes()).map_err(|error| differs(request, expected, error))?;
    receive(connection, request, expected)
}

/// Reads the right reply to a request that was sent before.
pub(super) fn receive(
    connection: &mut Connection,
    request: &RawRequest,
    expected: &Expected,
) -> Result<Reply, Shortfall> {
    read(connection, request, expected).map_err(|came| differs(request, expected, came))
}

fn read(connection: &mut Connection, request: &RawRequest, expected: &Expected) -> Result<Reply, String> {
    let text = |error: ClientError| error.to_string();
    let limits = connection.limits();
    let head = connection.head(limits.for_reply(expected.length().unwrap_or(0))).map_err(text)?;
    let length = expected.check_reply(request, &head)?;
    let body = connection.body(length, limits.for_reply(length)).map_err(text)?;
    if request.method != "HEAD" {
        expected.check_body(&body)?;
    }
    Ok(Reply { head, body })
}

/// Checks that a connection is kept open after the reply to `request`, with nothing after it.
pub(super) fn check_open(connection: &mut Connection, request: &RawRequest, reply: &Reply) -> Verdict {
    let expected = "a connection that stays open with nothing behind the reply";
    let announced = reply.head.values("connection").any(|value| value.eq_ignore_ascii_case("close"));
    if announced {
        return Err(differs(request, expected, "`Connection: close`"));
    }
    match connection.watch() {
        Quiet::Open => Ok(()),
        Quiet::Closed => Err(differs(request, expected, "its end")),
        Quiet::Noisy(bytes) => Err(differs(request, expected, format_args!("{} behind it", quoted(&bytes)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Head {
        Head::parse(text.replace('\n', "\r\n").as_bytes()).expect("a head")
    }

    #[test]
    fn the_law_of_pong_is_judged_byte_for_byte() {
        for (n, body) in [(4, "pong"), (5, "poong"), (6, "pooong")] {
            assert_eq!(check_pong(body.as_bytes(), n), Ok(()));
        }
        for (n, body, came) in [
            (4, "Pong", "`P` instead of `p` as byte 0"),
            (5, "poOng", "`O` instead of `o` as byte 2"),
            (6, "poooog", "`o` instead of `n` as byte 4"),
            (5, "poon", "4 bytes"),
        ] {
            assert_eq!(check_pong(body.as_bytes(), n), Err(came.to_owned()));
        }
    }

    #[test]
    fn an_error_body_has_one_key_and_a_text() {
        assert_eq!(check_problem(br#"{"error": "no"}"#), Ok(()));
        for body in [r#"{"error":""}"#, r#"{"error":1}"#, r#"{"error":"a","b":1}"#, "{}", "[]", "no", ""] {
            assert!(check_problem(body.as_bytes()).is_err(), "{body}");
        }
    }

    #[test]
    fn a_measured_call_has_four_whole_numbers() {
        let right = r#"{"duration_ns": 1, "length": 10, "code": 404, "retries": 0}"#;
        assert_eq!(check_measured(right.as_bytes(), 10, 404, &(0..=0)), Ok(()));
        let repeated = right.replace("retries\": 0", "retries\": 2");
        assert_eq!(check_measured(repeated.as_bytes(), 10, 404, &(1..=3)), Ok(()));
        for (wrong, by) in [
            ("1,", "1.0,"),
            ("1,", "-1,"),
            ("1,", "\"1\","),
            ("10", "11"),
            ("404", "200"),
            ("retries\": 0", "retries\": 1"),
            ("}", ", \"more\": 0}"),
            ("\"code\": 404, ", ""),
        ] {
            let text = right.replace(wrong, by);
            assert_ne!(text, right);
            assert!(check_measured(text.as_bytes(), 10, 404, &(0..=0)).is_err(), "{text}");
        }
    }

    #[test]
    fn a_head_is_right_to_the_letter_or_wrong() {
        let pong = Expected::Pong(5);
        let right = "HTTP/1.1 200 OK\nContent-Type: text/plain\ncontent-length: 5";
        assert_eq!(pong.check_head(&head(right)), Ok(5));
        for (wrong, by) in [
            ("200 OK", "201 Created"),
            ("text/plain", "text/plain; charset=utf-8"),
            ("length: 5", "length: 05"),
            ("length: 5", "length: 5\ncontent-length: 5"),
            ("\ncontent-length: 5", ""),
            ("OK", "OK\nTransfer-Encoding: chunked"),
        ] {
            let text = right.replace(wrong, by);
            assert_ne!(text, right);
            assert!(pong.check_head(&head(&text)).is_err(), "{text}");
        }
    }
}
