//! Checks of replies, piece by piece: bodies are compared as they arrive and kept only if JSON must be parsed.

pub(crate) mod exemplar;
pub(crate) mod explain;

use std::borrow::Cow;

use serde_json::Value;
use weighbridge_load::framer::Head;
use weighbridge_load::session::Check;
use weighbridge_model::experiment::ReplyCheck;
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::samples::Relayed;
use weighbridge_model::record::{ErrorKind, Outcome};

use explain::{Explain, status_line};

/// Longest body kept for a JSON check; a longer one fails it.
const JSON_LIMIT: usize = 16 << 20;

/// What was seen of one reply.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SeenReply {
    /// Its status, once its head has come.
    pub status: Option<u16>,
    /// Bytes of its body so far.
    pub length: Bytes,
    /// A relay's report, once the reply was checked.
    pub relayed: Option<Relayed>,
}

/// A check that can be used for one reply after another.
pub(crate) trait Reset: Check {
    /// Resets it for the next reply.
    fn reset(&mut self);

    /// What is kept of single requests; empty for checks of workloads that keep none.
    fn seen(&self) -> SeenReply {
        SeenReply::default()
    }
}

/// `p`, `o`…, `ng`, exactly `size` bytes, each of them checked: the body of a pong in every protocol.
#[derive(Debug, Clone)]
pub(crate) struct Body {
    size: u64,
    seen: u64,
    right: bool,
}

impl Body {
    pub fn new(size: Bytes) -> Self {
        Self { size: size.get(), seen: 0, right: true }
    }

    /// Bytes so far.
    pub fn length(&self) -> Bytes {
        Bytes::new(self.seen)
    }

    /// Bytes of a whole body.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Checks the next piece, of any length.
    pub fn piece(&mut self, bytes: &[u8]) {
        let start = self.seen;
        self.seen += bytes.len() as u64;
        self.right = self.right && self.seen <= self.size && is_piece(bytes, start, self.size);
    }

    /// Whether exactly the whole body was seen and every byte was right.
    pub fn is_whole(&self) -> bool {
        self.right && self.seen == self.size
    }

    pub fn reset(&mut self) {
        (self.seen, self.right) = (0, true);
    }
}

/// A pong as the body of an HTTP reply of status 200.
#[derive(Debug, Clone)]
pub(crate) struct PongCheck {
    body: Body,
    status: u16,
}

impl PongCheck {
    pub fn new(size: Bytes) -> Self {
        Self { body: Body::new(size), status: 0 }
    }

    /// The reply's status, once its head has come.
    pub fn status(&self) -> Option<u16> {
        (self.status != 0).then_some(self.status)
    }

    /// Bytes of the body so far.
    pub fn length(&self) -> Bytes {
        self.body.length()
    }
}

impl Reset for PongCheck {
    fn reset(&mut self) {
        self.body.reset();
        self.status = 0;
    }

    fn seen(&self) -> SeenReply {
        SeenReply { status: self.status(), length: self.length(), relayed: None }
    }
}

impl Check for PongCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
    }

    fn data(&mut self, bytes: &[u8]) {
        self.body.piece(bytes);
    }

    fn done(&mut self) -> Outcome {
        match (self.status == 200, self.body.is_whole()) {
            (false, _) => Outcome::Error(ErrorKind::Status),
            (true, false) => Outcome::Error(ErrorKind::Check),
            (true, true) => Outcome::Ok,
        }
    }
}

impl Explain for PongCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        (self.status != 200).then(|| status_line(self.status).into_bytes().into())
    }
}

/// Whether `bytes` are the part at `start` of a pong of `size` bytes; `start + bytes.len() <= size`.
fn is_piece(bytes: &[u8], start: u64, size: u64) -> bool {
    // Compared block by block, at memory speed.
    const MIDDLE: [u8; 4096] = [b'o'; 4096];
    let end = start + bytes.len() as u64;
    let clip = |at: u64| (at.clamp(start, end) - start) as usize;
    let (head, rest) = bytes.split_at(clip(1));
    let (middle, tail) = rest.split_at(clip((size - 2).max(1)) - head.len());
    let tail_start = (start + (head.len() + middle.len()) as u64).saturating_sub(size - 2) as usize;
    (head.is_empty() || head == b"p")
        && middle.chunks(MIDDLE.len()).all(|block| *block == MIDDLE[..block.len()])
        && (tail.is_empty() || b"ng".get(tail_start..tail_start + tail.len()) == Some(tail))
}

/// The user's conditions.
#[derive(Debug, Clone)]
pub(crate) struct HttpCheck {
    want: ReplyCheck,
    status: u16,
    status_right: bool,
    headers_right: bool,
    seen: u64,
    /// Whether the body is kept to be checked as a whole.
    keeps: bool,
    body: Vec<u8>,
}

impl HttpCheck {
    pub fn new(want: ReplyCheck) -> Self {
        Self::keeping(want, false)
    }

    /// The same, but also keeps the body if `wants` is set.
    pub fn keeping(want: ReplyCheck, wants: bool) -> Self {
        let keeps = wants || !want.json.is_empty();
        Self { want, status: 0, status_right: false, headers_right: false, seen: 0, keeps, body: Vec::new() }
    }

    /// The body, if it was kept and is not too long.
    pub fn body(&self) -> Option<&[u8]> {
        (self.seen <= JSON_LIMIT as u64).then_some(&self.body)
    }

    fn json_is_right(&self) -> bool {
        if self.want.json.is_empty() {
            return true;
        }
        let Ok(value) = serde_json::from_slice::<Value>(&self.body) else { return false };
        let holds = |(pointer, want): &(String, Value)| {
            value.pointer(pointer).is_some_and(|got| same_json(got, want))
        };
        self.seen <= JSON_LIMIT as u64 && self.want.json.iter().all(holds)
    }
}

/// Equality in which 1 and 1.0 are the same number.
pub(crate) fn same_json(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_json(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same_json(a, b)))
        }
        _ => a == b,
    }
}

impl Reset for HttpCheck {
    fn reset(&mut self) {
        (self.status_right, self.headers_right, self.seen) = (false, false, 0);
        self.body.clear();
    }
}

impl Check for HttpCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
        self.status_right = self.want.status.map_or(head.is_success(), |status| head.status == status);
        let holds = |(name, value): &(String, String)| head.field(name) == Some(value.as_bytes());
        self.headers_right = self.want.headers.iter().all(holds);
    }

    fn data(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        if self.keeps && self.body.len() + bytes.len() <= JSON_LIMIT {
            self.body.extend_from_slice(bytes);
        }
    }

    fn done(&mut self) -> Outcome {
        if !self.status_right {
            return Outcome::Error(ErrorKind::Status);
        }
        let length_right = self.want.length.is_none_or(|length| length.get() == self.seen);
        match self.headers_right && length_right && self.json_is_right() {
            true => Outcome::Ok,
            false => Outcome::Error(ErrorKind::Check),
        }
    }
}

impl Explain for HttpCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        (!self.status_right).then(|| status_line(self.status).into_bytes().into())
    }
}
