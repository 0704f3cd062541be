//! What a reply amounts to, so that answers of different variants can be compared before anything is timed.

use std::fmt;

use httparse::Header;
use serde_json::Value;
use sha2::{Digest, Sha256};
use weighbridge_load::codec::Head;
use weighbridge_load::session::Check;
use weighbridge_model::experiment::Equality;
use weighbridge_model::record::{ErrorKind, Outcome};

/// A whole reply.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// Its status.
    pub status: u16,
    /// Its header fields, name and value.
    pub headers: &'a [(String, String)],
    /// Its body.
    pub body: &'a [u8],
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
    check: &mut dyn Check,
    received: &Received<'_>,
) -> Result<Canonical, String> {
    let Received { status, headers, body } = *received;
    let fields: Vec<_> =
        headers.iter().map(|(name, value)| Header { name, value: value.as_bytes() }).collect();
    check.head(&Head { status, fields: &fields });
    check.data(body);
    match check.done() {
        Outcome::Ok => {}
        Outcome::Error(ErrorKind::Status) if body.is_empty() => {
            return Err(format!("it answered status {status}"));
        }
        Outcome::Error(ErrorKind::Status) => {
            return Err(format!("it answered status {status}: {}", excerpt(body)));
        }
        Outcome::Error(_) => {
            return Err(format!("the reply is not what the workload expects: {}", excerpt(body)));
        }
    }
    Ok(match equality {
        Equality::Status => Canonical::Status(status),
        Equality::Length => Canonical::Length(status, body.len()),
        Equality::Json => {
            let value = serde_json::from_slice(body)
                .map_err(|e| format!("the body is not JSON ({e}): {}", excerpt(body)))?;
            Canonical::Json(status, value)
        }
        Equality::Bytes => Canonical::Bytes(status, body.len(), Sha256::digest(body).into()),
    })
}

/// Length and beginning of a body, for a message.
fn excerpt(body: &[u8]) -> String {
    let start = String::from_utf8_lossy(&body[..body.len().min(40)]);
    let start: String = start.chars().map(|c| if c.is_control() { '.' } else { c }).collect();
    format!("{} bytes, beginning `{start}`", body.len())
}
