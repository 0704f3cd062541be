//! Thrift's framed transport with the envelope of a call, in the binary and the compact protocol: one reply for each call, in
//! their order, pipelined.
//!
//! A reply becomes a head, the struct of its result and an end. The status of the head is 200, and 500 for an exception of the
//! server itself (`TApplicationException`). A reply whose sequence number is not that of the oldest call, a method's name that
//! is longer than [`NAME_LIMIT`], and a frame that ends within its envelope break the protocol.
//! See <https://github.com/apache/thrift/blob/master/doc/specs/thrift-rpc.md>.

use std::collections::VecDeque;
use std::ops::Range;

use weighbridge_model::id::OperationId;

use crate::framer::ordered::{Ordered, ParseStatus, pass_on};
use crate::framer::request::{Rendered, ReplyShape};
use crate::framer::{Event, Head, In, Out, Sink};

/// Longest name of a method, in bytes.
pub const NAME_LIMIT: usize = 255;

/// The first bytes of a message: version 1, in the binary protocol the strict form.
pub const BINARY_VERSION: [u8; 3] = [0x80, 0x01, 0x00];
pub const COMPACT_ID: u8 = 0x82;
pub const COMPACT_VERSION: u8 = 1;

/// Types of messages.
pub const CALL: u8 = 1;
pub const REPLY: u8 = 2;
pub const EXCEPTION: u8 = 3;

/// Numbers of calls are 0 to 127: one byte in either protocol.
const NUMBERS: u8 = 0x80;

/// How envelopes are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Envelope {
    Binary,
    Compact,
}

/// Renders a call with the struct of its arguments, encoded. The number of the call is written when it is sent.
///
/// # Panics
///
/// Where the name is longer than [`NAME_LIMIT`], or the arguments longer than a frame may be (2 GiB).
pub fn call(envelope: Envelope, operation: OperationId, method: &str, arguments: &[u8]) -> Rendered {
    assert!(method.len() <= NAME_LIMIT, "`{method}` is too long for the name of a method");
    let length = method.len() as u8;
    let mut bytes = vec![0; 4];
    let number = match envelope {
        Envelope::Binary => {
            bytes.extend(BINARY_VERSION);
            bytes.extend([CALL, 0, 0, 0, length]);
            bytes.extend_from_slice(method.as_bytes());
            bytes.extend([0; 4]);
            bytes.len() - 1
        }
        Envelope::Compact => {
            bytes.extend([COMPACT_ID, CALL << 5 | COMPACT_VERSION, 0]);
            let number = bytes.len() - 1;
            // A length in seven bits a byte.
            let (low, high) = (length & 0x7f, length >> 7);
            bytes.extend(if high == 0 { vec![low] } else { vec![low | 0x80, high] });
            bytes.extend_from_slice(method.as_bytes());
            number
        }
    };
    let body = bytes.len();
    bytes.extend_from_slice(arguments);
    let frame = i32::try_from(bytes.len() - 4).expect("a frame has less than 2 GiB");
    bytes[..4].copy_from_slice(&frame.to_be_bytes());
    let body = body..bytes.len();
    Rendered::assembled(operation, ReplyShape::Normal, bytes, number..number + 1, body)
}

#[derive(Debug, Clone, Copy)]
struct Pending {
    id: u64,
    number: u8,
}

/// Where in a reply the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyState {
    /// Before a frame.
    Frame,
    /// In its result.
    Result {
        left: u64,
    },
    Broken,
}

/// The envelope of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    pub kind: u8,
    pub number: u32,
    /// Where the name of the method is.
    pub name: Range<usize>,
    /// Its bytes, without the length of the frame.
    pub length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not the envelope of a message; the peer is at fault")]
pub struct NoEnvelope;

/// The state of one connection, calls pipelined in order.
#[derive(Debug)]
pub struct Thrift {
    envelope: Envelope,
    pending: VecDeque<Pending>,
    state: ReplyState,
    next: u8,
}

impl Thrift {
    /// The framer of a new connection.
    pub fn new(envelope: Envelope) -> Self {
        Self { envelope, pending: VecDeque::new(), state: ReplyState::Frame, next: 0 }
    }

    fn open(&mut self, input: &mut In<'_>, sink: &mut Sink<'_>) -> ParseStatus {
        let Some((head, rest)) = input.rest().split_first_chunk::<4>() else { return ParseStatus::Starved };
        let Ok(frame) = usize::try_from(i32::from_be_bytes(*head)) else { return ParseStatus::Fault };
        let within = &rest[..rest.len().min(frame)];
        let opened = match opened(self.envelope, within) {
            Ok(Some(opened)) => opened,
            // What is missing could only come behind the frame.
            Ok(None) if within.len() == frame => return ParseStatus::Fault,
            Ok(None) => return ParseStatus::Starved,
            Err(NoEnvelope) => return ParseStatus::Fault,
        };
        let Some(pending) = self.pending.front() else { return ParseStatus::Fault };
        if opened.number != u32::from(pending.number) {
            return ParseStatus::Fault;
        }
        let status = match opened.kind {
            REPLY => 200,
            EXCEPTION => 500,
            _ => return ParseStatus::Fault,
        };
        input.consume(4 + opened.length);
        sink(Event::Head(pending.id, Head { status, fields: &[] }));
        self.state = ReplyState::Result { left: (frame - opened.length) as u64 };
        ParseStatus::More
    }
}

/// The envelope at the start of these bytes; `None` if it is not whole yet.
pub fn opened(envelope: Envelope, bytes: &[u8]) -> Result<Option<Opened>, NoEnvelope> {
    match envelope {
        Envelope::Binary => opened_binary(bytes),
        Envelope::Compact => opened_compact(bytes),
    }
}

fn opened_binary(bytes: &[u8]) -> Result<Option<Opened>, NoEnvelope> {
    let Some((head, rest)) = bytes.split_first_chunk::<8>() else { return Ok(None) };
    let [v1, v2, v3, kind, length @ ..] = *head;
    let name = u32::from_be_bytes(length) as usize;
    if [v1, v2, v3] != BINARY_VERSION || name > NAME_LIMIT {
        return Err(NoEnvelope);
    }
    let number = rest.get(name..).and_then(|rest| rest.first_chunk::<4>());
    Ok(number.map(|number| Opened {
        kind,
        number: u32::from_be_bytes(*number),
        name: 8..8 + name,
        length: 12 + name,
    }))
}

fn opened_compact(bytes: &[u8]) -> Result<Option<Opened>, NoEnvelope> {
    let Some((&[id, kind], rest)) = bytes.split_first_chunk::<2>() else { return Ok(None) };
    if id != COMPACT_ID || kind & 0x1f != COMPACT_VERSION {
        return Err(NoEnvelope);
    }
    let Some((number, used)) = varint(rest)? else { return Ok(None) };
    let Some((name, length)) = varint(&rest[used..])? else { return Ok(None) };
    if name as usize > NAME_LIMIT {
        return Err(NoEnvelope);
    }
    let start = 2 + used + length;
    let whole = start + name as usize;
    Ok((bytes.len() >= whole).then_some(Opened {
        kind: kind >> 5,
        number,
        name: start..whole,
        length: whole,
    }))
}

/// A number of at most 32 bits and its bytes; `None` if it is not whole yet.
fn varint(bytes: &[u8]) -> Result<Option<(u32, usize)>, NoEnvelope> {
    let mut value = 0u64;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok(Some((u32::try_from(value).map_err(|_| NoEnvelope)?, index + 1)));
        }
    }
    if bytes.len() < 5 { Ok(None) } else { Err(NoEnvelope) }
}

impl Ordered for Thrift {
    fn begin(&mut self, id: u64, _request: &Rendered, _out: &mut Out) {
        self.pending.push_back(Pending { id, number: self.next });
        self.next = (self.next + 1) % NUMBERS;
    }

    /// The call with its number.
    fn send(&mut self, request: &Rendered, out: &mut Out) {
        let number = self.pending.back().map_or(0, |pending| pending.number);
        let (bytes, at) = (request.bytes(), request.key_start());
        out.push(&bytes[..at]);
        out.push(&[number]);
        out.push(&bytes[at + 1..]);
    }

    fn pop(&mut self) -> Option<u64> {
        self.pending.pop_front().map(|pending| pending.id)
    }

    fn step(&mut self, input: &mut In<'_>, sink: &mut Sink<'_>) -> ParseStatus {
        match self.state {
            ReplyState::Frame if input.rest().is_empty() => ParseStatus::Starved,
            ReplyState::Frame => self.open(input, sink),
            ReplyState::Result { left: 0 } => {
                self.state = ReplyState::Frame;
                self.answered(sink);
                ParseStatus::More
            }
            ReplyState::Result { .. } if input.rest().is_empty() => ParseStatus::Starved,
            ReplyState::Result { left } => {
                let Some(pending) = self.pending.front() else { return ParseStatus::Fault };
                let passed = pass_on(input, left, |bytes| sink(Event::Data(pending.id, bytes)));
                self.state = ReplyState::Result { left: left - passed };
                ParseStatus::More
            }
            ReplyState::Broken => ParseStatus::Fault,
        }
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
        (self.state, self.next) = (ReplyState::Frame, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framer::Framer;
    use weighbridge_model::record::{ErrorKind, Outcome};

    const ENVELOPES: [Envelope; 2] = [Envelope::Binary, Envelope::Compact];

    /// A reply as the specification draws it.
    fn reply(envelope: Envelope, kind: u8, number: u8, result: &[u8]) -> Vec<u8> {
        let mut message = match envelope {
            Envelope::Binary => [&[0x80, 1, 0, kind, 0, 0, 0, 3][..], b"get", &[0, 0, 0, number]].concat(),
            Envelope::Compact => [&[0x82, kind << 5 | 1, number, 3][..], b"get"].concat(),
        };
        message.extend_from_slice(result);
        [&(message.len() as u32).to_be_bytes()[..], &message].concat()
    }

    /// What a framer with two calls outstanding reports of these bytes, fed in pieces of `step`.
    fn events(envelope: Envelope, bytes: &[u8], step: usize) -> Vec<String> {
        let mut framer = Thrift::new(envelope);
        let (mut out, mut seen, mut fed) = (Out::default(), Vec::new(), Vec::new());
        for id in [7, 8] {
            framer.start(id, &call(envelope, OperationId(0), "get", b"\0"), &mut out).expect("room");
        }
        for piece in bytes.chunks(step) {
            fed.extend_from_slice(piece);
            let mut input = In::new(&fed);
            framer.receive(&mut input, &mut out, &mut |event| match event {
                Event::Head(id, head) => seen.push(format!("{id} {}", head.status)),
                Event::Data(id, bytes) => {
                    match seen.last_mut().filter(|last| last.starts_with(&format!("{id}:"))) {
                        Some(last) => last.push_str(&String::from_utf8_lossy(bytes)),
                        None => seen.push(format!("{id}:{}", String::from_utf8_lossy(bytes))),
                    }
                }
                Event::Done(id, Outcome::Ok) => seen.push(format!("{id} done")),
                Event::Broken(ErrorKind::Protocol) => seen.push("broken".to_owned()),
                other => panic!("{other:?}"),
            });
            let consumed = input.consumed();
            fed.drain(..consumed);
        }
        seen
    }

    #[test]
    fn a_call_is_the_bytes_of_the_specification() {
        let bytes = |envelope| call(envelope, OperationId(0), "getPerson", b"\0").bytes().to_vec();
        assert_eq!(bytes(Envelope::Binary), b"\0\0\0\x16\x80\x01\0\x01\0\0\0\x09getPerson\0\0\0\0\0");
        assert_eq!(bytes(Envelope::Compact), b"\0\0\0\x0e\x82\x21\0\x09getPerson\0");
    }

    #[test]
    fn calls_are_numbered() {
        let mut framer = Thrift::new(Envelope::Compact);
        let mut out = Out::default();
        for id in 0..130 {
            framer.start(id, &call(Envelope::Compact, OperationId(0), "a", b""), &mut out).expect("room");
        }
        let numbers: Vec<u8> = out.pending().chunks(9).map(|call| call[6]).collect();
        assert_eq!((numbers[0], numbers[1], numbers[127], numbers[128]), (0, 1, 127, 0));
    }

    #[test]
    fn replies_are_read_however_they_are_cut() {
        for envelope in ENVELOPES {
            let bytes = [reply(envelope, REPLY, 0, b"one"), reply(envelope, EXCEPTION, 1, b"")].concat();
            for step in 1..=bytes.len() {
                let expected = ["7 200", "7:one", "7 done", "8 500", "8 done"];
                assert_eq!(events(envelope, &bytes, step), expected, "{envelope:?} {step}");
            }
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_found() {
        for envelope in ENVELOPES {
            let good = reply(envelope, REPLY, 0, b"one");
            let negative = [&[0xff, 0xff, 0xff, 0xff], &good[4..]].concat();
            let short = [&[0, 0, 0, 5], &good[4..]].concat();
            let mut version = good.clone();
            version[4] ^= 1;
            let third =
                [reply(envelope, REPLY, 0, b""), reply(envelope, REPLY, 1, b""), good.clone()].concat();
            for (what, bytes) in [
                ("a negative length", negative),
                ("a frame that ends in its envelope", short),
                ("another version", version),
                ("another number", reply(envelope, REPLY, 1, b"one")),
                ("a call", reply(envelope, CALL, 0, b"one")),
                ("a reply that nobody asked for", third),
            ] {
                for step in [1, bytes.len()] {
                    let seen = events(envelope, &bytes, step);
                    assert_eq!(
                        seen.last().map(String::as_str),
                        Some("broken"),
                        "{envelope:?}: {what}: {seen:?}"
                    );
                }
            }
        }
    }
}
