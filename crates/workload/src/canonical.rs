//! What a reply amounts to, so that answers of different variants can be compared before anything is timed.

use std::fmt;

use httparse::Header;
use serde_json::Value;
use sha2::{Digest, Sha256};
use weighbridge_load::codec::Head;
use weighbridge_model::experiment::{Equality, GrpcStatus};
use weighbridge_model::record::{ErrorKind, Outcome};

use crate::Expect;
use crate::explain::FailureLog;
use crate::grpc::message_text;

/// A whole reply.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// Its status.
    pub status: u16,
    /// Its header fields, name and value; trailers behind them.
    pub headers: &'a [(String, String)],
    /// Its body; over gRPC its messages, one after another.
    pub body: &'a [u8],
    /// Over gRPC: where in the body each message ends.
    pub messages: &'a [usize],
}

/// What must be equal between variants. Two replies agree when their canonical values are equal.
#[derive(Debug, Clone, PartialEq)]
pub enum Canonical {
    /// The status alone.
    Status(u16),
    /// Status and body length.
    Length(u16, usize),
    /// Status and JSON value; objects without regard to the order of keys.
    Json(u16, Value),
    /// Status, body length and SHA-256 of the body.
    Bytes(u16, usize, [u8; 32]),
}

impl fmt::Display for Canonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {status}"),
            Self::Length(status, length) => write!(f, "status {status}, {length} bytes"),
            Self::Json(status, value) => {
                let text: String = value.to_string().chars().take(80).collect();
                write!(f, "status {status}, JSON `{text}`")
            }
            Self::Bytes(status, length, digest) => {
                write!(
                    f,
                    "status {status}, {length} bytes, SHA-256 {:02x}{:02x}{:02x}{:02x}…",
                    digest[0], digest[1], digest[2], digest[3]
                )
            }
        }
    }
}

pub(crate) fn canonical(
    equality: Equality,
    expect: &Expect,
    received: &Received<'_>,
) -> Result<Canonical, String> {
    judge(expect, received)?;
    let body = content(expect, received);
    // Over gRPC the status that says something is gRPC's.
    let status = match expect {
        Expect::Grpc(call) => u16::from(call.status().number()),
        Expect::Pong(_) | Expect::PongMessage(_) | Expect::Http(_) | Expect::Command(_) => received.status,
    };
    Ok(match (equality, expect) {
        (Equality::Status, _) => Canonical::Status(status),
        (Equality::Length, _) => Canonical::Length(status, body.len()),
        (Equality::Json, Expect::Grpc(call)) => Canonical::Json(status, call.json(body, received.messages)?),
        (Equality::Json, _) => {
            let value = serde_json::from_slice(body)
                .map_err(|e| format!("the body is not JSON ({e}): {}", excerpt(body)))?;
            Canonical::Json(status, value)
        }
        (Equality::Bytes, _) => Canonical::Bytes(status, body.len(), Sha256::digest(body).into()),
    })
}

/// What carries the answer: of a pong over gRPC its `body`, so that it equals the same pong over HTTP.
fn content<'a>(expect: &Expect, received: &Received<'a>) -> &'a [u8] {
    match expect {
        // The check has seen that the message is tag, length and so many bytes, and nothing more.
        Expect::PongMessage(size) => &received.body[received.body.len() - size.get() as usize..],
        Expect::Pong(_) | Expect::Http(_) | Expect::Command(_) | Expect::Grpc(_) => received.body,
    }
}

/// Runs the check over a whole reply; says why it does not hold.
fn judge(expect: &Expect, received: &Received<'_>) -> Result<(), String> {
    let Received { status, headers, body, messages } = *received;
    let fields: Vec<_> =
        headers.iter().map(|(name, value)| Header { name, value: value.as_bytes() }).collect();
    let mut check = expect.check(&FailureLog::default());
    check.head(&Head { status, fields: &fields });
    let mut start = 0;
    for end in messages {
        check.data(&body[start..*end]);
        check.messages(1);
        start = *end;
    }
    check.data(&body[start..]);
    match check.done() {
        Outcome::Ok => Ok(()),
        Outcome::Error(ErrorKind::Status) => Err(wrong_status(received)),
        Outcome::Error(ErrorKind::Protocol) => {
            Err("the reply is not of gRPC: its `content-type` or its `grpc-status` is missing".to_owned())
        }
        Outcome::Error(_) => Err(format!("the reply is not what the workload expects: {}", excerpt(body))),
    }
}

/// The status of a reply in words, gRPC's with its message where it has one.
fn wrong_status(received: &Received<'_>) -> String {
    let field =
        |name: &str| received.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    let Some(number) = field("grpc-status") else {
        let status = format!("it answered status {}", received.status);
        let said =
            if received.body.is_empty() { String::new() } else { format!(": {}", excerpt(received.body)) };
        return status + &said;
    };
    let name = GrpcStatus::parse(number).map_or_else(|_| number.to_owned(), |status| status.to_string());
    let message = message_text(field("grpc-message").unwrap_or("no message"));
    format!("it answered gRPC status {name}: {message}")
}

/// Length and beginning of a body, for a message.
fn excerpt(body: &[u8]) -> String {
    let start = String::from_utf8_lossy(&body[..body.len().min(40)]);
    let start: String = start.chars().map(|c| if c.is_control() { '.' } else { c }).collect();
    format!("{} bytes, beginning `{start}`", body.len())
}
