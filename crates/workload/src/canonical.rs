//! Canonical answers, so that replies of different variants can be compared before anything is timed.

use std::fmt;

use serde_json::Value;
use weighbridge_model::experiment::GrpcStatus;
use weighbridge_model::hex;
use weighbridge_model::secret::is_unprintable;

/// A whole reply.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    pub status: u16,
    /// Its header fields, name and value, followed by trailers.
    pub headers: &'a [(String, String)],
    /// Its body; over gRPC its messages, one after another.
    pub body: &'a [u8],
    /// Over gRPC: where in the body each message ends.
    pub messages: &'a [usize],
}

#[cfg(test)]
impl Received<'static> {
    /// Without a body.
    pub(crate) const GOOD: Self = Self { status: 200, headers: &[], body: &[], messages: &[] };
}

/// What must be equal between variants. Two replies agree when their canonical values are equal.
#[derive(Debug, Clone, PartialEq)]
pub enum Canonical {
    /// Only the status.
    Status(u16),
    /// Status and body length.
    Length(u16, usize),
    /// Status and JSON value; the order of keys in objects does not matter.
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
                let start = hex::encode(&digest[..4]);
                write!(f, "status {status}, {length} bytes, SHA-256 {start}…")
            }
        }
    }
}

impl Canonical {
    /// Where two answers differ, and the value of each there. `hide` makes a text safe to show.
    pub fn difference(&self, other: &Self, hide: &dyn Fn(&str) -> String) -> (String, String, String) {
        if let (Self::Json(one, a), Self::Json(two, b)) = (self, other)
            && one == two
        {
            let mut pointer = String::new();
            let (a, b) = first_difference(Some(a), Some(b), &mut pointer);
            let shown = |value: Option<&Value>| match value {
                Some(value) => format!("`{}`", cut(&plain(&hide(&value.to_string())))),
                None => "nothing".to_owned(),
            };
            let place =
                if pointer.is_empty() { String::new() } else { format!(" at `{}`", plain(&hide(&pointer))) };
            return (place, shown(a), shown(b));
        }
        let shown = |answer: &Self| match answer {
            Self::Json(status, value) => {
                format!("status {status}, JSON `{}`", cut(&plain(&hide(&value.to_string()))))
            }
            other => other.to_string(),
        };
        (String::new(), shown(self), shown(other))
    }
}

/// The values at the first position where two JSON values differ; its pointer is appended.
fn first_difference<'a>(
    a: Option<&'a Value>,
    b: Option<&'a Value>,
    pointer: &mut String,
) -> (Option<&'a Value>, Option<&'a Value>) {
    let keys: Vec<String> = match (a, b) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => a.keys().chain(b.keys()).cloned().collect(),
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            (0..a.len().max(b.len())).map(|at| at.to_string()).collect()
        }
        _ => return (a, b),
    };
    let inside = |value: Option<&'a Value>, key: &str| match value? {
        Value::Object(map) => map.get(key),
        Value::Array(list) => list.get(key.parse::<usize>().ok()?),
        _ => None,
    };
    for key in keys {
        let (a, b) = (inside(a, &key), inside(b, &key));
        if a != b {
            pointer.push('/');
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            return first_difference(a, b, pointer);
        }
    }
    (a, b)
}

/// Removes from a value what may differ; `*` matches every key and every index.
pub(crate) fn forget(value: &mut Value, tokens: &[&str]) {
    let Some((first, rest)) = tokens.split_first() else { return };
    let key = first.replace("~1", "/").replace("~0", "~");
    match value {
        Value::Object(map) if rest.is_empty() && key == "*" => map.clear(),
        Value::Object(map) if rest.is_empty() => drop(map.remove(&key)),
        Value::Object(map) if key == "*" => map.values_mut().for_each(|inner| forget(inner, rest)),
        Value::Object(map) => {
            if let Some(inner) = map.get_mut(&key) {
                forget(inner, rest);
            }
        }
        Value::Array(list) => {
            let place = key.parse::<usize>().ok();
            for (_, inner) in list.iter_mut().enumerate().filter(|(at, _)| key == "*" || place == Some(*at)) {
                // An element is kept; otherwise all after it would be compared with the wrong ones.
                if rest.is_empty() { *inner = Value::Null } else { forget(inner, rest) }
            }
        }
        _ => {}
    }
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    text.chars().take(80).collect()
}

/// The text without control characters for terminals.
fn plain(text: &str) -> String {
    text.chars().map(|c| if is_unprintable(c) { '.' } else { c }).collect()
}

/// The text of a `grpc-message`, in which bytes outside printable ASCII are percent-encoded; at most 200 characters.
pub(crate) fn message_text(encoded: &str) -> String {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded =
            digits.filter(|_| *first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = &behind[if decoded.is_some() { 2 } else { 0 }..];
    }
    let text = String::from_utf8_lossy(&bytes);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect()
}

/// The status of a reply in words, for gRPC with its message if it has one.
pub(crate) fn wrong_status(received: &Received<'_>, hide: &dyn Fn(&str) -> String) -> String {
    let field =
        |name: &str| received.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
    let Some(number) = field("grpc-status") else {
        let status = format!("it answered status {}", received.status);
        let said = if received.body.is_empty() {
            String::new()
        } else {
            format!(": {}", excerpt(received.body, hide))
        };
        return status + &said;
    };
    let name = GrpcStatus::parse(number).map_or_else(|_| number.to_owned(), |status| status.to_string());
    let message = message_text(field("grpc-message").unwrap_or("no message"));
    format!("it answered gRPC status {}: {}", plain(&hide(&name)), plain(&hide(&message)))
}

/// How many bytes of a body its excerpt may use.
const LOOKED_AT: usize = 64 * 1024;

/// Length and beginning of a body, for a message.
pub(crate) fn excerpt(body: &[u8], hide: &dyn Fn(&str) -> String) -> String {
    // Hidden before it is cut, because the beginning of a secret would not be recognised.
    let start = hide(&String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT)]));
    let start: String = plain(&start).chars().take(40).collect();
    format!("{} bytes, beginning `{start}`", body.len())
}
