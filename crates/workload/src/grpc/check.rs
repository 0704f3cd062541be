//! Checks of replies over gRPC: statuses from trailers, counts of messages, and their contents.
//!
//! A status other than the expected one is an error of kind `status`. A reply that is not gRPC, or ends without a
//! status, breaks the protocol: kind `protocol`. Every other failed condition is of kind `check`.

use std::borrow::Cow;
use std::sync::Arc;

use prost_reflect::{DynamicMessage, MessageDescriptor, SerializeOptions};
use serde_json::Value;
use weighbridge_load::framer::Head;
use weighbridge_load::session::Check;
use weighbridge_model::experiment::{CallCheck, CallKind, GrpcStatus, Side};
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::{ErrorKind, Outcome};

use crate::canonical::message_text;
use crate::checks::explain::{Explain, Words, status_line};
use crate::checks::{Body, Reset, SeenReply, same_json};

/// Most bytes of messages kept for a JSON check; a longer reply fails it.
const KEPT: usize = 16 << 20;

/// What every reply has, whatever its messages contain.
#[derive(Debug, Clone, Default)]
pub(crate) struct Envelope {
    http_status: u16,
    content_type: ContentType,
    status: Option<Result<u8, Unreadable>>,
    messages: u64,
    /// The server's message for a status other than OK, percent-encoded.
    words: Words,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ContentType {
    #[default]
    Foreign,
    Grpc,
}

/// A `grpc-status` that is not a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unreadable;

impl Envelope {
    pub fn reset(&mut self) {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        *self = Self { words, ..Self::default() };
    }

    pub fn head(&mut self, head: &Head<'_>) {
        self.http_status = head.status;
        // `application/grpc`, `application/grpc+proto`, with or without parameters.
        if head.field("content-type").is_some_and(|value| value.starts_with(b"application/grpc")) {
            self.content_type = ContentType::Grpc;
        }
        self.trailers(head);
    }

    /// The status comes after the messages, or in the head of a reply without any.
    pub fn trailers(&mut self, fields: &Head<'_>) {
        if let Some(value) = fields.field("grpc-status") {
            let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
            self.status = Some(number.ok_or(Unreadable));
            if number != Some(GrpcStatus::OK.number()) {
                self.words.push(fields.field("grpc-message").unwrap_or_default());
            }
        }
    }

    /// Whether it is a gRPC reply with the expected status.
    pub fn judge(&self, want: GrpcStatus) -> Result<(), ErrorKind> {
        match (self.http_status, self.content_type, self.status) {
            (200, ContentType::Grpc, Some(Ok(status))) if status == want.number() => Ok(()),
            (200, ContentType::Grpc, Some(Ok(_))) => Err(ErrorKind::Status),
            (200, _, _) => Err(ErrorKind::Protocol),
            _ => Err(ErrorKind::Status),
        }
    }

    /// The unexpected status, with the server's message.
    pub fn explain(&self, want: GrpcStatus) -> Option<Cow<'_, [u8]>> {
        let text = match (self.http_status, self.content_type, self.status) {
            (200, ContentType::Grpc, Some(Ok(status))) if status != want.number() => {
                let name = GrpcStatus::from_number(u64::from(status));
                let name = name.map_or_else(|| status.to_string(), |status| status.to_string());
                match message_text(&String::from_utf8_lossy(self.words.bytes())) {
                    message if message.is_empty() => name,
                    message => format!("{name}: {message}"),
                }
            }
            (200, ..) => return None,
            (status, ..) => format!("HTTP {}", status_line(status)),
        };
        Some(text.into_bytes().into())
    }
}

fn outcome(result: Result<(), ErrorKind>) -> Outcome {
    result.map_or_else(Outcome::Error, |()| Outcome::Ok)
}

/// One `PongReply` (`bytes body = 1`) with the expected body, read as it arrives: nothing is kept.
#[derive(Debug, Clone)]
pub(crate) struct PongMessageCheck {
    envelope: Envelope,
    state: MessageState,
    body: Body,
}

/// Where in the message the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MessageState {
    /// Before the tag.
    Tag,
    /// In the length, of which `value` is read and the next byte counts from bit `shift`.
    Length { value: u64, shift: u32 },
    /// In the body or after it.
    Body,
    /// The message cannot be a `PongReply` of this size.
    Wrong,
}

/// Field 1, length-delimited.
const BODY_TAG: u8 = 0x0a;

impl PongMessageCheck {
    pub fn new(size: Bytes) -> Self {
        Self { envelope: Envelope::default(), state: MessageState::Tag, body: Body::new(size) }
    }

    /// Resets the check for another size.
    pub fn resize(&mut self, size: Bytes) {
        self.body = Body::new(size);
        self.reset();
    }

    /// The HTTP status, once the head has come.
    pub fn status(&self) -> Option<u16> {
        (self.envelope.http_status != 0).then_some(self.envelope.http_status)
    }

    /// How many bytes of the body have come.
    pub fn length(&self) -> Bytes {
        self.body.length()
    }

    fn byte(&mut self, byte: u8) {
        self.state = match self.state {
            MessageState::Tag if byte == BODY_TAG => MessageState::Length { value: 0, shift: 0 },
            MessageState::Length { value, shift } if shift < 35 => {
                let value = value | u64::from(byte & 0x7f) << shift;
                match byte & 0x80 {
                    0 if value == self.body.size() => MessageState::Body,
                    0 => MessageState::Wrong,
                    _ => MessageState::Length { value, shift: shift + 7 },
                }
            }
            _ => MessageState::Wrong,
        };
    }
}

impl Reset for PongMessageCheck {
    fn reset(&mut self) {
        self.envelope.reset();
        self.state = MessageState::Tag;
        self.body.reset();
    }

    fn seen(&self) -> SeenReply {
        SeenReply { status: self.status(), length: self.length(), relayed: None }
    }
}

impl Check for PongMessageCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.envelope.head(head);
    }

    fn data(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !matches!(self.state, MessageState::Body | MessageState::Wrong) {
            let Some((first, behind)) = rest.split_first() else { return };
            self.byte(*first);
            rest = behind;
        }
        if self.state == MessageState::Body {
            self.body.piece(rest);
        }
    }

    fn messages(&mut self, count: u32) {
        self.envelope.messages += u64::from(count);
    }

    fn trailers(&mut self, fields: &Head<'_>) {
        self.envelope.trailers(fields);
    }

    fn done(&mut self) -> Outcome {
        outcome(self.envelope.judge(GrpcStatus::OK).and_then(|()| {
            let right =
                self.envelope.messages == 1 && self.state == MessageState::Body && self.body.is_whole();
            if right { Ok(()) } else { Err(ErrorKind::Check) }
        }))
    }
}

impl Explain for PongMessageCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        self.envelope.explain(GrpcStatus::OK)
    }
}

/// What makes a reply to a call good.
#[derive(Debug, Clone)]
pub(crate) struct CallExpect {
    want: CallCheck,
    kind: CallKind,
    output: MessageDescriptor,
}

impl CallExpect {
    pub fn new(want: CallCheck, kind: CallKind, output: MessageDescriptor) -> Self {
        Self { want, kind, output }
    }

    /// The expected status.
    pub fn status(&self) -> GrpcStatus {
        self.want.status
    }

    /// How many messages a good reply has; `None` for any number.
    fn count(&self) -> Option<u64> {
        let one = self.kind.server() == Side::One && self.want.status == GrpcStatus::OK;
        self.want.messages.or(one.then_some(1))
    }

    /// The messages as JSON: the one message, or the list of a stream's. `ends` are the positions in `bytes` where
    /// messages end.
    pub fn json(&self, bytes: &[u8], ends: &[usize]) -> Result<Value, String> {
        let starts = [0].into_iter().chain(ends.iter().copied());
        let messages = starts.zip(ends).map(|(start, end)| self.message(&bytes[start..*end]));
        let mut messages: Vec<Value> = messages.collect::<Result<_, _>>()?;
        match self.kind.server() {
            Side::One => Ok(messages.pop().unwrap_or(Value::Null)),
            Side::Stream => Ok(Value::Array(messages)),
        }
    }

    fn message(&self, bytes: &[u8]) -> Result<Value, String> {
        let message = DynamicMessage::decode(self.output.clone(), bytes)
            .map_err(|e| format!("a message is not a `{}`: {e}", self.output.full_name()))?;
        // 64-bit numbers as numbers, and absent fields left out: the form that people write in a check.
        let options = SerializeOptions::new().stringify_64_bit_integers(false).skip_default_fields(false);
        message
            .serialize_with_options(serde_json::value::Serializer, &options)
            .map_err(|e| format!("a `{}` has no JSON form: {e}", self.output.full_name()))
    }
}

/// The user's conditions. Messages are kept and decoded only for a `json` condition.
#[derive(Debug, Clone)]
pub(crate) struct GrpcCheck {
    expect: Arc<CallExpect>,
    envelope: Envelope,
    /// Bytes seen, kept or not.
    seen: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl GrpcCheck {
    pub fn new(expect: Arc<CallExpect>) -> Self {
        Self { expect, envelope: Envelope::default(), seen: 0, bytes: Vec::new(), ends: Vec::new() }
    }

    fn content(&self) -> Result<(), ErrorKind> {
        let right = self.expect.count().is_none_or(|count| count == self.envelope.messages);
        if right && self.json_is_right() { Ok(()) } else { Err(ErrorKind::Check) }
    }

    fn json_is_right(&self) -> bool {
        let conditions = &self.expect.want.json;
        if conditions.is_empty() {
            return true;
        }
        if self.seen > KEPT as u64 {
            return false;
        }
        let Ok(value) = self.expect.json(&self.bytes, &self.ends) else { return false };
        let holds = |(pointer, want): &(String, Value)| {
            value.pointer(pointer).is_some_and(|got| same_json(got, want))
        };
        conditions.iter().all(holds)
    }
}

impl Reset for GrpcCheck {
    fn reset(&mut self) {
        self.envelope.reset();
        self.seen = 0;
        self.bytes.clear();
        self.ends.clear();
    }
}

impl Check for GrpcCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.envelope.head(head);
    }

    fn data(&mut self, bytes: &[u8]) {
        self.seen += bytes.len() as u64;
        if !self.expect.want.json.is_empty() && self.seen <= KEPT as u64 {
            self.bytes.extend_from_slice(bytes);
        }
    }

    fn messages(&mut self, count: u32) {
        self.envelope.messages += u64::from(count);
        if !self.expect.want.json.is_empty() && self.seen <= KEPT as u64 {
            self.ends.push(self.bytes.len());
        }
    }

    fn trailers(&mut self, fields: &Head<'_>) {
        self.envelope.trailers(fields);
    }

    fn done(&mut self) -> Outcome {
        outcome(self.envelope.judge(self.expect.status()).and_then(|()| self.content()))
    }
}

impl Explain for GrpcCheck {
    fn explain(&self) -> Option<Cow<'_, [u8]>> {
        self.envelope.explain(self.expect.status())
    }
}
