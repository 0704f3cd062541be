//! The Redis protocol (RESP), versions 2 and 3: replies of every type, pipelined, read in place.
//!
//! A reply becomes a head, the bytes of its value and an end. The status of the head is 200, 404 for a null, and 500
//! for an error, whose text is then the value. The value of a number, truth value or simple string is its text; the
//! value of a verbatim string leaves out its format. The value of an aggregate is the values of its innermost elements
//! with a line feed between each two, as `redis-cli --raw` prints them; if one of them is an error (`EXEC`), status 500
//! follows as a trailer. In replies to batches the index of its key stands before each value, in place of a line feed.
//! Attributes and push messages are read and ignored.
//!
//! Only one line of limited length and a count for each open aggregate are kept, so a hostile peer costs no more memory
//! than that, whatever lengths it announces. These are refused: values of a type that never answers the command, bytes
//! that no request asked for, nesting deeper than [`DEPTH`], and commands after which replies no longer match requests
//! ([`command`]).

mod request;

use crate::framer::line::{Line, LineSearch, decimal};
use crate::framer::ordered::{Ordered, ParseStatus, Pending, Queue, line_end, pass_on};
use crate::framer::request::{Rendered, ReplyShape};
use crate::framer::{ERROR_FIELD, Event, Head, In, Out, Sink, UNIT_LIMIT};

pub use request::{CommandError, Handshake, Login, Opening, Version, command};

/// Deepest nesting of aggregates; deeper is a protocol error.
pub const DEPTH: usize = 32;

/// Longest line that holds a length, a 64-bit number or nothing; longer is a protocol error.
const NUMBER_LINE: usize = 64;

/// Bytes kept of an error's text, if the server refuses the opening or an element is an error.
const REFUSAL: usize = 256;

/// What the current value belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueOwner {
    /// The commands sent before the first request.
    Opening,
    /// The oldest request.
    Reply(u64),
    /// The oldest request, which fails because the server refused the opening.
    Refused(u64),
    /// Nothing: a push message.
    Push,
}

/// Where in a value the next byte belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueState {
    /// At its type.
    Value,
    /// At the four bytes before a verbatim string's text.
    Format {
        left: u64,
    },
    /// In the bytes of a string.
    Text {
        left: u64,
    },
    /// At the line end after a string.
    TextEnd,
    /// At the length of a chunk of a streamed string.
    ChunkSize,
    /// In the bytes of a chunk.
    Chunk {
        left: u64,
    },
    /// At the line end after a chunk.
    ChunkEnd,
    Broken,
}

/// How an open aggregate ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AggregateEnd {
    /// After this many more values, at least one.
    Values(u64),
    /// At a full stop.
    Streamed,
    /// At a full stop where a key is expected.
    StreamedKey,
    /// Not before another value.
    StreamedValue,
}

/// What an open aggregate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AggregateKind {
    Value,
    /// Metadata of the value after it; not reported.
    Attribute,
    /// A message that no request asked for; not reported.
    Push,
}

#[derive(Debug, Clone, Copy)]
struct OpenAggregate {
    left: AggregateEnd,
    kind: AggregateKind,
}

/// The kind of a leaf, a value that is not an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaf {
    Value,
    Null,
    Error,
}

/// The length that follows a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Of(u64),
    /// -1: version 2's null.
    Null,
    /// `?`: the content comes in an unknown number of pieces.
    Streamed,
}

/// Whether the opening was sent on this connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Greeting {
    Unsaid,
    Said,
}

/// Whether an innermost value was reported already, so that the next needs a line feed before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reported {
    Nothing,
    Some,
}

/// The state of one connection, requests pipelined in order.
#[derive(Debug)]
pub struct Resp {
    pending: Queue,
    greeting: Greeting,
    /// Replies to the opening that are still missing.
    opening_left: u32,
    /// The error that answered the opening; empty if none.
    refusal: Vec<u8>,
    state: ValueState,
    line: LineSearch,
    aggregates: Vec<OpenAggregate>,
    /// Open aggregates that are not reported.
    hidden: u32,
    /// `None` between replies.
    owner: Option<ValueOwner>,
    /// The current leaf.
    leaf: Leaf,
    reported: Reported,
    /// Errors among the innermost values of the current reply.
    inner_errors: u32,
    /// The text of the first of them.
    inner_error: Vec<u8>,
}

impl Resp {
    /// The framer of a new connection.
    pub fn new() -> Self {
        Self {
            pending: Queue::new(),
            greeting: Greeting::Unsaid,
            opening_left: 0,
            refusal: Vec::new(),
            state: ValueState::Value,
            line: LineSearch::default(),
            aggregates: Vec::new(),
            hidden: 0,
            owner: None,
            leaf: Leaf::Value,
            reported: Reported::Nothing,
            inner_errors: 0,
            inner_error: Vec::new(),
        }
    }

    /// Reads a value from its type on.
    fn value(&mut self, first: u8, input: &mut In<'_>, sink: &mut Sink<'_>) -> ParseStatus {
        // An attribute belongs to the value after it, a push message to no request.
        if self.aggregates.is_empty() && self.owner.is_none() && !matches!(first, b'|' | b'>') {
            self.owner = self.next_owner();
            let wanted = self.pending.front().map_or(ReplyShape::Normal, |pending| pending.reply);
            let is_reply = matches!(self.owner, Some(ValueOwner::Reply(_)));
            if self.owner.is_none() || (is_reply && !is_answer(first, wanted)) {
                return ParseStatus::Fault;
            }
        }
        let limit = if matches!(first, b'+' | b'-' | b'(' | b',') { UNIT_LIMIT } else { NUMBER_LINE };
        if !b"+-:$*_#,(!=%~|>.".contains(&first) {
            return ParseStatus::Fault;
        }
        let (text, length) = match self.line.find(input.rest(), limit) {
            Line::Whole(line, length) => (&line[1..], length),
            Line::Partial => return ParseStatus::Starved,
            Line::Fault => return ParseStatus::Fault,
        };
        input.consume(length);
        let understood = match first {
            b'+' => self.line_leaf(Leaf::Value, text, sink),
            b'-' => self.line_leaf(Leaf::Error, text, sink),
            b'_' => text.is_empty().then(|| self.line_leaf(Leaf::Null, text, sink)).flatten(),
            b':' | b'(' | b',' | b'#' => {
                is_literal(first, text).then(|| self.line_leaf(Leaf::Value, text, sink)).flatten()
            }
            b'$' | b'!' | b'=' => self.string(first, text, sink),
            b'.' => text.is_empty().then(|| self.end_of_stream(sink)).flatten(),
            _ => self.aggregate(first, text, sink),
        };
        if understood.is_some() { ParseStatus::More } else { ParseStatus::Fault }
    }

    /// What the next value answers.
    fn next_owner(&self) -> Option<ValueOwner> {
        if self.opening_left > 0 {
            return Some(ValueOwner::Opening);
        }
        let id = self.pending.front()?.id;
        Some(if self.refusal.is_empty() { ValueOwner::Reply(id) } else { ValueOwner::Refused(id) })
    }

    /// A leaf that fits on its line.
    fn line_leaf(&mut self, leaf: Leaf, text: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        self.begin_leaf(leaf, sink);
        self.report(text, sink);
        self.complete(sink);
        Some(())
    }

    /// The line before a string.
    fn string(&mut self, first: u8, text: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        match (first, length(text)?) {
            (b'$', Length::Null) => return self.line_leaf(Leaf::Null, b"", sink),
            (b'$', Length::Streamed) => {
                self.begin_leaf(Leaf::Value, sink);
                self.state = ValueState::ChunkSize;
            }
            (b'=', Length::Of(left)) => {
                self.begin_leaf(Leaf::Value, sink);
                self.state = ValueState::Format { left: left.checked_sub(4)? };
            }
            (_, Length::Of(left)) => {
                self.begin_leaf(if first == b'!' { Leaf::Error } else { Leaf::Value }, sink);
                self.state = if left == 0 { ValueState::TextEnd } else { ValueState::Text { left } };
            }
            _ => return None,
        }
        Some(())
    }

    /// The format before a verbatim string's text, `txt:`.
    fn format(&mut self, left: u64, input: &mut In<'_>) -> ParseStatus {
        match input.rest() {
            [_, _, _, b':', ..] => {
                input.consume(4);
                self.state = if left == 0 { ValueState::TextEnd } else { ValueState::Text { left } };
                ParseStatus::More
            }
            rest if rest.len() < 4 => ParseStatus::Starved,
            _ => ParseStatus::Fault,
        }
    }

    fn chunk_size(&mut self, first: u8, input: &mut In<'_>, sink: &mut Sink<'_>) -> ParseStatus {
        if first != b';' {
            return ParseStatus::Fault;
        }
        let (text, length) = match self.line.find(input.rest(), NUMBER_LINE) {
            Line::Whole(line, length) => (&line[1..], length),
            Line::Partial => return ParseStatus::Starved,
            Line::Fault => return ParseStatus::Fault,
        };
        input.consume(length);
        match decimal(text) {
            None => return ParseStatus::Fault,
            Some(0) => self.complete(sink),
            Some(left) => self.state = ValueState::Chunk { left },
        }
        ParseStatus::More
    }

    /// How many keys the request asks for whose reply is being read, if it is a batch.
    fn batch(&self) -> Option<u16> {
        match (self.owner, self.pending.front()?.reply) {
            (Some(ValueOwner::Reply(_)), ReplyShape::Batch(keys)) => Some(keys),
            _ => None,
        }
    }

    /// The line before the elements of an aggregate.
    fn aggregate(&mut self, first: u8, text: &[u8], sink: &mut Sink<'_>) -> Option<()> {
        let kind = match first {
            b'|' => AggregateKind::Attribute,
            // Push messages come between replies, never inside one.
            b'>' if self.aggregates.is_empty() && self.owner.is_none() => AggregateKind::Push,
            b'>' => return None,
            _ => AggregateKind::Value,
        };
        let pairs = matches!(first, b'%' | b'|');
        let left = match length(text)? {
            Length::Of(count) if pairs => AggregateEnd::Values(count.checked_mul(2)?),
            Length::Of(count) => AggregateEnd::Values(count),
            Length::Null if first == b'*' && self.batch().is_none() => {
                return self.line_leaf(Leaf::Null, b"", sink);
            }
            Length::Streamed if kind == AggregateKind::Value && pairs => AggregateEnd::StreamedKey,
            Length::Streamed if kind == AggregateKind::Value => AggregateEnd::Streamed,
            Length::Null | Length::Streamed => return None,
        };
        // One value for each key, none of them an aggregate.
        if let (Some(keys), AggregateKind::Value) = (self.batch(), kind)
            && (!self.aggregates.is_empty() || left != AggregateEnd::Values(keys.into()))
        {
            return None;
        }
        match kind {
            AggregateKind::Value if self.aggregates.is_empty() => self.head(200, sink),
            AggregateKind::Push => self.owner = Some(ValueOwner::Push),
            AggregateKind::Value | AggregateKind::Attribute => {}
        }
        if left != AggregateEnd::Values(0) {
            if self.aggregates.len() == DEPTH {
                return None;
            }
            self.hidden += u32::from(kind != AggregateKind::Value);
            self.aggregates.push(OpenAggregate { left, kind });
        } else if kind != AggregateKind::Attribute {
            self.complete(sink);
        }
        Some(())
    }

    /// The full stop after the last element of a streamed aggregate.
    fn end_of_stream(&mut self, sink: &mut Sink<'_>) -> Option<()> {
        let aggregate = self.aggregates.last()?;
        if !matches!(aggregate.left, AggregateEnd::Streamed | AggregateEnd::StreamedKey) {
            return None;
        }
        self.aggregates.pop();
        self.complete(sink);
        Some(())
    }

    /// Reports the head of the current value, if it belongs to a request.
    fn head(&self, status: u16, sink: &mut Sink<'_>) {
        if let Some(ValueOwner::Reply(id)) = self.owner {
            sink(Event::Head(id, Head { status, fields: &[] }));
        }
    }

    fn begin_leaf(&mut self, leaf: Leaf, sink: &mut Sink<'_>) {
        self.leaf = leaf;
        if self.aggregates.is_empty() {
            if leaf == Leaf::Error && self.owner == Some(ValueOwner::Opening) && !self.refusal.is_empty() {
                self.refusal.extend_from_slice(b"; ");
            }
            let status = match leaf {
                Leaf::Value => 200,
                Leaf::Null => 404,
                Leaf::Error => 500,
            };
            self.head(status, sink);
            return;
        }
        if self.hidden > 0 {
            return;
        }
        self.inner_errors += u32::from(leaf == Leaf::Error);
        if let (Some(keys), Some(ValueOwner::Reply(id))) = (self.batch(), self.owner) {
            let left = match self.aggregates.last() {
                Some(OpenAggregate { left: AggregateEnd::Values(left), .. }) => *left,
                _ => 0,
            };
            if leaf == Leaf::Value {
                sink(Event::Value(id, keys.saturating_sub(left as u16)));
            }
            return;
        }
        if let (Reported::Some, Some(ValueOwner::Reply(id))) = (self.reported, self.owner) {
            sink(Event::Data(id, b"\n"));
        }
        self.reported = Reported::Some;
    }

    /// Reports bytes of the current leaf to its owner.
    fn report(&mut self, bytes: &[u8], sink: &mut Sink<'_>) {
        if bytes.is_empty() || self.hidden > 0 {
            return;
        }
        match self.owner {
            Some(ValueOwner::Reply(id)) => {
                if self.leaf == Leaf::Error && self.inner_errors == 1 {
                    keep(&mut self.inner_error, bytes);
                }
                sink(Event::Data(id, bytes));
            }
            Some(ValueOwner::Opening) if self.leaf == Leaf::Error && self.aggregates.is_empty() => {
                keep(&mut self.refusal, bytes);
            }
            _ => {}
        }
    }

    /// Ends a value, and every aggregate whose last element it is.
    fn complete(&mut self, sink: &mut Sink<'_>) {
        self.state = ValueState::Value;
        while let Some(aggregate) = self.aggregates.last_mut() {
            match &mut aggregate.left {
                AggregateEnd::Values(1) => {}
                AggregateEnd::Values(left) => {
                    *left -= 1;
                    return;
                }
                AggregateEnd::Streamed => return,
                AggregateEnd::StreamedKey => {
                    aggregate.left = AggregateEnd::StreamedValue;
                    return;
                }
                AggregateEnd::StreamedValue => {
                    aggregate.left = AggregateEnd::StreamedKey;
                    return;
                }
            }
            let kind = aggregate.kind;
            self.aggregates.pop();
            self.hidden -= u32::from(kind != AggregateKind::Value);
            if kind == AggregateKind::Attribute {
                // The value that the attribute belongs to is still to come.
                return;
            }
        }
        self.finish(sink);
    }

    /// Ends a whole reply or push message.
    fn finish(&mut self, sink: &mut Sink<'_>) {
        match self.owner.take() {
            Some(ValueOwner::Opening) => {
                self.opening_left -= 1;
                // An error without a text is a refusal too.
                let refused = self.leaf == Leaf::Error && self.reported == Reported::Nothing;
                if refused && self.refusal.is_empty() {
                    self.refusal.extend_from_slice(b"ERR");
                }
            }
            Some(ValueOwner::Reply(id)) => {
                if self.inner_errors > 0 {
                    let text = httparse::Header { name: ERROR_FIELD, value: &self.inner_error };
                    sink(Event::Trailers(id, Head { status: 500, fields: &[text] }));
                }
                self.answered(sink);
            }
            Some(ValueOwner::Refused(id)) => {
                sink(Event::Head(id, Head { status: 500, fields: &[] }));
                sink(Event::Data(id, &self.refusal));
                self.answered(sink);
            }
            Some(ValueOwner::Push) | None => {}
        }
        self.reported = Reported::Nothing;
        self.inner_errors = 0;
        self.inner_error.clear();
    }
}

impl Default for Resp {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a value of that type can answer a request for that shape. A simple string always can: a transaction answers
/// each of its commands with one.
fn is_answer(first: u8, wanted: ReplyShape) -> bool {
    match (wanted, first) {
        (_, b'-' | b'!' | b'+') => true,
        (ReplyShape::Text, _) => matches!(first, b'$' | b'=' | b'_'),
        (ReplyShape::Number, _) => matches!(first, b':' | b'('),
        (ReplyShape::Batch(_), _) => first == b'*',
        (ReplyShape::Aggregate, _) => matches!(first, b'*' | b'%' | b'~' | b'_'),
        _ => true,
    }
}

impl Ordered for Resp {
    fn begin(&mut self, id: u64, request: &Rendered, out: &mut Out) {
        if self.greeting == Greeting::Unsaid {
            self.greeting = Greeting::Said;
            if let Some(opening) = request.opening() {
                out.push(opening.bytes());
                self.opening_left = opening.replies();
            }
        }
        self.pending.push_back(Pending { id, reply: request.reply() });
    }

    fn pop(&mut self) -> Option<u64> {
        self.pending.pop_front().map(|pending| pending.id)
    }

    fn step(&mut self, input: &mut In<'_>, sink: &mut Sink<'_>) -> ParseStatus {
        let Some(&first) = input.rest().first() else { return ParseStatus::Starved };
        match self.state {
            ValueState::Value => self.value(first, input, sink),
            ValueState::Format { left } => self.format(left, input),
            ValueState::Text { left } => {
                let left = left - pass_on(input, left, |bytes| self.report(bytes, sink));
                self.state = if left == 0 { ValueState::TextEnd } else { ValueState::Text { left } };
                ParseStatus::More
            }
            ValueState::Chunk { left } => {
                let left = left - pass_on(input, left, |bytes| self.report(bytes, sink));
                self.state = if left == 0 { ValueState::ChunkEnd } else { ValueState::Chunk { left } };
                ParseStatus::More
            }
            ValueState::TextEnd => {
                let progress = line_end(input);
                if progress == ParseStatus::More {
                    self.complete(sink);
                }
                progress
            }
            ValueState::ChunkEnd => {
                let progress = line_end(input);
                if progress == ParseStatus::More {
                    self.state = ValueState::ChunkSize;
                }
                progress
            }
            ValueState::ChunkSize => self.chunk_size(first, input, sink),
            ValueState::Broken => ParseStatus::Fault,
        }
    }

    fn is_broken(&self) -> bool {
        self.state == ValueState::Broken
    }

    fn break_off(&mut self) {
        self.pending.clear();
        self.state = ValueState::Broken;
    }

    fn renew(&mut self) {
        self.pending.clear();
        self.greeting = Greeting::Unsaid;
        self.opening_left = 0;
        self.refusal.clear();
        self.state = ValueState::Value;
        self.line.reset();
        self.aggregates.clear();
        self.hidden = 0;
        self.owner = None;
        self.reported = Reported::Nothing;
        self.inner_errors = 0;
        self.inner_error.clear();
    }
}

/// Appends to an error's text as much as its limit allows.
fn keep(text: &mut Vec<u8>, bytes: &[u8]) {
    let room = REFUSAL.saturating_sub(text.len());
    text.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// The length after a type; `None` if it is invalid.
fn length(text: &[u8]) -> Option<Length> {
    match text {
        b"-1" => Some(Length::Null),
        b"?" => Some(Length::Streamed),
        digits => decimal(digits).filter(|count| *count <= i64::MAX as u64).map(Length::Of),
    }
}

/// Whether `text` is a valid literal of the type `first`.
fn is_literal(first: u8, text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let text_of = || std::str::from_utf8(text).ok();
    match first {
        b'#' => matches!(text, b"t" | b"f"),
        b':' => text_of().is_some_and(|text| text.parse::<i64>().is_ok()),
        b'(' => !unsigned.is_empty() && unsigned.iter().all(u8::is_ascii_digit),
        _ => text_of().is_some_and(|text| text.parse::<f64>().is_ok()),
    }
}
