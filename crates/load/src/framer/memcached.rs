//! memcached's text protocol, including meta commands: replies read in place, pipelined.
//!
//! A reply becomes a head, the bytes of its value and an end. Values are those of `VALUE` and `VA`, with a line feed
//! between two of them (in replies to batches with the index of the key instead); the value of a reply without one is its line (`STORED`, `HD`, `17`). The status of the head is
//! 200; 404 if nothing was found (`END` alone, `NOT_FOUND`, `EN`, `NF`); 412 for `NOT_STORED` and `NS`; 409 for
//! `EXISTS` and `EX`; 500 for `ERROR`, `CLIENT_ERROR` and `SERVER_ERROR`, as a trailer if it comes instead of `END`.
//!
//! Only one line of limited length is kept. These are refused: lines that do not answer the command, a value under
//! another key than the requested one, bytes that no request asked for, and commands that are not answered exactly once
//! ([`command`]).

mod request;

use std::collections::VecDeque;

use crate::framer::line::{Line, LineSearch, decimal};
use crate::framer::ordered::{Ordered, ParseStatus, line_end, pass_on};
use crate::framer::request::{Rendered, ReplyShape};
use crate::framer::{ERROR_FIELD, Event, Head, In, Out, Sink};

pub use request::{CommandError, command};

/// Longest line including its end; longer is a protocol error. Keys have at most 250 bytes, and errors are sentences.
pub const LINE_LIMIT: usize = 8 * 1024;

/// A request whose reply is not over.
#[derive(Debug, Clone, Copy)]
struct Pending {
    id: u64,
    reply: ReplyShape,
    /// How many of the kept bytes are its keys, with a blank between two: 0 unless each value must have one of them.
    keys: usize,
}

/// How far the current reply has got.
#[derive(Debug, Clone, Copy, Default)]
struct ReplySoFar {
    /// Whether it has reported a value.
    reported: Reported,
    /// The key after that of the last value: its index, and where it begins in the kept bytes.
    next: u16,
    next_at: usize,
}

/// Where in a reply the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyState {
    Line,
    Data { left: u64 },
    DataEnd,
    Broken,
}

/// Whether the current reply has reported a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reported {
    #[default]
    Nothing,
    Values,
}

/// A value came under a key that was not asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NotAsked;

/// The meaning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// A value of this many bytes follows.
    Value(u64),
    /// All values were reported.
    End,
    /// The reply is this line, with this status.
    Whole(u16),
}

/// The state of one connection, requests pipelined in order.
#[derive(Debug)]
pub struct Memcached {
    pending: VecDeque<Pending>,
    /// The keys of the requests whose values must have them, concatenated.
    keys: VecDeque<u8>,
    state: ReplyState,
    line: LineSearch,
    progress: ReplySoFar,
}

impl Memcached {
    /// The framer of a new connection.
    pub fn new() -> Self {
        Self {
            pending: VecDeque::new(),
            keys: VecDeque::new(),
            state: ReplyState::Line,
            line: LineSearch::default(),
            progress: ReplySoFar::default(),
        }
    }

    fn reply_line(
        &mut self,
        input: &mut In<'_>,
        id: u64,
        reply: ReplyShape,
        sink: &mut Sink<'_>,
    ) -> ParseStatus {
        let (line, length) = match self.line.find(input.rest(), LINE_LIMIT) {
            Line::Whole(line, length) => (line, length),
            Line::Partial => return ParseStatus::Starved,
            Line::Fault => return ParseStatus::Fault,
        };
        let Some(meaning) = meaning(line, reply) else { return ParseStatus::Fault };
        let key = if matches!(meaning, Meaning::Value(_)) { self.key_of(line, reply) } else { Ok(None) };
        let Ok(key) = key else { return ParseStatus::Fault };
        input.consume(length);
        let head = |status| Event::Head(id, Head { status, fields: &[] });
        match (meaning, self.progress.reported) {
            (Meaning::Value(left), reported) => {
                match (reported, key) {
                    (Reported::Nothing, _) => sink(head(200)),
                    (Reported::Values, None) => sink(Event::Data(id, b"\n")),
                    (Reported::Values, Some(_)) => {}
                }
                if let Some(index) = key {
                    sink(Event::Value(id, index));
                }
                self.progress.reported = Reported::Values;
                self.state = if left == 0 { ReplyState::DataEnd } else { ReplyState::Data { left } };
            }
            (Meaning::End, reported) => {
                if reported == Reported::Nothing {
                    sink(head(404));
                }
                self.finish(sink);
            }
            (Meaning::Whole(status), Reported::Nothing) => {
                sink(head(status));
                sink(Event::Data(id, line));
                self.finish(sink);
            }
            // The server failed after it had sent values.
            (Meaning::Whole(status @ 500), Reported::Values) => {
                let text = httparse::Header { name: ERROR_FIELD, value: line };
                sink(Event::Trailers(id, Head { status, fields: &[text] }));
                self.finish(sink);
            }
            (Meaning::Whole(_), Reported::Values) => return ParseStatus::Fault,
        }
        ParseStatus::More
    }

    /// The index of the key that a `VALUE` line names, in replies to batches. Of keys that were asked for each may come
    /// once, in their order.
    ///
    /// Errors: it names another key.
    fn key_of(&mut self, line: &[u8], reply: ReplyShape) -> Result<Option<u16>, NotAsked> {
        if !matches!(reply, ReplyShape::Value | ReplyShape::Batch(_)) {
            return Ok(None);
        }
        let named = line.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        let end = self.pending.front().map_or(0, |pending| pending.keys);
        let ReplySoFar { next, next_at, .. } = &mut self.progress;
        while *next_at < end {
            let rest = self.keys.range(*next_at..end);
            let length = rest.clone().position(|byte| *byte == b' ').unwrap_or(rest.len());
            let is_named = length == named.len() && rest.take(length).eq(named);
            let index = *next;
            (*next, *next_at) = (index + 1, *next_at + length + 1);
            if is_named {
                return Ok(matches!(reply, ReplyShape::Batch(_)).then_some(index));
            }
        }
        Err(NotAsked)
    }

    /// Ends the oldest reply.
    fn finish(&mut self, sink: &mut Sink<'_>) {
        self.progress = ReplySoFar::default();
        self.answered(sink);
    }
}

impl Default for Memcached {
    fn default() -> Self {
        Self::new()
    }
}

impl Ordered for Memcached {
    fn begin(&mut self, id: u64, request: &Rendered, _out: &mut Out) {
        let reply = request.reply();
        let keys =
            if matches!(reply, ReplyShape::Value | ReplyShape::Batch(_)) { request.key() } else { &[] };
        self.keys.extend(keys);
        self.pending.push_back(Pending { id, reply, keys: keys.len() });
    }

    fn pop(&mut self) -> Option<u64> {
        let pending = self.pending.pop_front()?;
        self.keys.drain(..pending.keys);
        Some(pending.id)
    }

    fn step(&mut self, input: &mut In<'_>, sink: &mut Sink<'_>) -> ParseStatus {
        if input.rest().is_empty() {
            return ParseStatus::Starved;
        }
        let Some(&Pending { id, reply, .. }) = self.pending.front() else { return ParseStatus::Fault };
        match self.state {
            ReplyState::Line => self.reply_line(input, id, reply, sink),
            ReplyState::Data { left } => {
                let left = left - pass_on(input, left, |bytes| sink(Event::Data(id, bytes)));
                self.state = if left == 0 { ReplyState::DataEnd } else { ReplyState::Data { left } };
                ParseStatus::More
            }
            ReplyState::DataEnd => {
                let progress = line_end(input);
                if progress == ParseStatus::More {
                    self.state = ReplyState::Line;
                    if reply == ReplyShape::Meta {
                        self.finish(sink);
                    }
                }
                progress
            }
            ReplyState::Broken => ParseStatus::Fault,
        }
    }

    fn is_broken(&self) -> bool {
        self.state == ReplyState::Broken
    }

    fn break_off(&mut self) {
        self.pending.clear();
        self.keys.clear();
        self.state = ReplyState::Broken;
    }

    fn renew(&mut self) {
        self.pending.clear();
        self.keys.clear();
        self.state = ReplyState::Line;
        self.line.reset();
        self.progress = ReplySoFar::default();
    }
}

/// What a line means in a reply of that shape; `None` if it is invalid.
fn meaning(line: &[u8], reply: ReplyShape) -> Option<Meaning> {
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    let bare = || rest.is_empty();
    let status = match (reply, word) {
        (_, b"ERROR") => 500,
        (_, b"CLIENT_ERROR" | b"SERVER_ERROR") => 500,
        (ReplyShape::Value | ReplyShape::Values | ReplyShape::Batch(_), b"END") => {
            return bare().then_some(Meaning::End);
        }
        (ReplyShape::Value | ReplyShape::Values | ReplyShape::Batch(_), b"VALUE") => {
            return value_size(rest).map(Meaning::Value);
        }
        (ReplyShape::Line, b"STORED" | b"DELETED" | b"TOUCHED" | b"OK") if bare() => 200,
        (ReplyShape::Line, b"VERSION") => 200,
        (ReplyShape::Line, b"NOT_FOUND") if bare() => 404,
        (ReplyShape::Line, b"NOT_STORED") if bare() => 412,
        (ReplyShape::Line, b"EXISTS") if bare() => 409,
        (ReplyShape::Line, number) if bare() && decimal(number).is_some() => 200,
        (ReplyShape::Meta, b"VA") => return meta_size(rest).map(Meaning::Value),
        (ReplyShape::Meta, b"HD" | b"MN" | b"ME") => 200,
        (ReplyShape::Meta, b"EN" | b"NF") => 404,
        (ReplyShape::Meta, b"NS") => 412,
        (ReplyShape::Meta, b"EX") => 409,
        _ => return None,
    };
    Some(Meaning::Whole(status))
}

/// The size in ` <key> <flags> <bytes> [<cas unique>]`.
fn value_size(rest: &[u8]) -> Option<u64> {
    let mut words = rest.strip_prefix(b" ")?.split(|byte| *byte == b' ');
    let (key, flags, size) = (words.next()?, words.next()?, words.next()?);
    let cas_is_right = words.next().is_none_or(|cas| decimal(cas).is_some());
    let right = !key.is_empty() && decimal(flags).is_some() && cas_is_right && words.next().is_none();
    decimal(size).filter(|_| right)
}

/// The size in ` <size> <flags>*`.
fn meta_size(rest: &[u8]) -> Option<u64> {
    decimal(rest.strip_prefix(b" ")?.split(|byte| *byte == b' ').next()?)
}
