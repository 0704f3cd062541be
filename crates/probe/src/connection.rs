//! One connection: its buffers, requests that were read and not yet served, output that was rendered and not yet
//! written.
//!
//! Memory is bounded whatever the peer does: input for one head or frame, a little output, and long replies as a count of
//! bytes to write. It serves nothing by itself.

use std::io::{self, IoSlice, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use weighbridge_model::quantity::{Bytes, Timestamp};

use crate::canned::{Canned, Key, UNKNOWN, Wire};
use crate::http2::{self, Http2};
use crate::reply::{self, Route, Start};
use crate::request::{self, Expectation, Persistence, Refusal};
use crate::sys::{self, End};
use crate::thrift;

/// With more rendered output than this, it is written before the next reply is rendered.
const OUTPUT_BATCH: usize = 16 * 1024;
/// Contents up to this are copied after their heads, so that a batch of them is sent in one write.
const COPIED: u64 = 4 * 1024;
/// Output buffers larger than this are freed once they are empty.
const OUTPUT_KEPT: usize = 64 * 1024;
/// How many more reads a peer is allowed on a connection that is being closed before it is cut.
const DISCARDED_READS: usize = 16;

/// A request whose head was read.
#[derive(Debug, Clone, Copy)]
pub struct ParsedRequest {
    pub route: Route,
    pub body: ReplyBody,
    pub persistence: Persistence,
    /// To what the reply belongs: the stream of HTTP/2, the number of a call of Thrift.
    pub id: u32,
}

/// What of a reply follows the output, without having been copied there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tail {
    Pong(u64),
    /// The last so many bytes of a canned reply.
    Canned(u32, u64),
}

/// What comes of one look at the input.
#[derive(Debug, Clone, Copy)]
pub enum ParsedInput {
    Request(ParsedRequest),
    /// Something that needs no reply of its own; there may be more.
    Other,
    /// More must be read, or the last reply closed the connection.
    Nothing,
}

/// Whether the reply carries its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplyBody {
    Sent,
    /// Reply to HEAD: the head of a normal reply, without its body.
    Withheld,
}

/// The buffers of a connection, used again by later ones.
#[derive(Debug)]
pub struct Buffers {
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Buffers {
    pub fn new() -> Self {
        Self { input: vec![0; http2::INPUT], output: Vec::with_capacity(2 * OUTPUT_BATCH) }
    }
}

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    buffers: Buffers,
    /// Unread input is `input[start..end]`.
    start: usize,
    end: usize,
    /// How much of the unread input is known not to contain the end of a head.
    scanned: usize,
    canned: Arc<Canned>,
    /// Its state if HTTP/2 is spoken.
    http2: Option<Box<Http2>>,
    /// Bytes of a request's body still to come.
    skip: u64,
    /// The request whose body comes, with what identifies it so far.
    waiting: Option<(ParsedRequest, Key)>,
    /// How much of the output is written.
    sent: usize,
    tail: Tail,
    ending: Ending,
    /// Requests under the law that came on it.
    pub requests: u64,
    /// How many of them wait or are in service.
    pub under_way: usize,
    pub place: Place,
    /// Whether the peer is known to have ended its side.
    pub peer_end: End,
    /// Whether it is counted among the used connections.
    pub asked: Asked,
    /// Time after the last read that returned data.
    pub read_at: Timestamp,
}

/// Which connection it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    pub slot: usize,
    /// Its number among all that were accepted: slots are used again.
    pub number: u64,
}

/// The result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    Nothing,
    /// The peer sends no more.
    End,
    /// All there was.
    All,
    /// As much as fitted; there may be more.
    Full,
}

/// Whether a request under the law has come on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Nothing,
    Something,
}

/// Whether the connection ends with the reply last rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Open,
    WhenFlushed,
}

/// Whether output is still to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flushed {
    Done,
    /// The socket takes no more for now.
    Blocked,
}

impl Connection {
    pub fn new(stream: TcpStream, buffers: Buffers, canned: Arc<Canned>) -> Self {
        Self {
            http2: (canned.wire() == Wire::Http2).then(Box::<Http2>::default),
            canned,
            stream,
            buffers,
            start: 0,
            end: 0,
            scanned: 0,
            skip: 0,
            waiting: None,
            sent: 0,
            tail: Tail::Pong(0),
            ending: Ending::Open,
            requests: 0,
            under_way: 0,
            place: Place::default(),
            peer_end: End::NotSeen,
            asked: Asked::Nothing,
            read_at: Timestamp::default(),
        }
    }

    pub fn descriptor(&self) -> RawFd {
        self.stream.as_raw_fd()
    }

    /// Reads once into the free part of the buffer.
    pub fn receive(&mut self) -> io::Result<Received> {
        self.buffers.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let room = &mut self.buffers.input[self.end..];
        loop {
            return match self.stream.read(room) {
                Ok(0) => Ok(Received::End),
                Ok(count) => {
                    let received = if count == room.len() { Received::Full } else { Received::All };
                    self.end += count;
                    Ok(received)
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Received::Nothing),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
        }
    }

    /// Looks for the next whole request, its body included.
    pub fn next_request(&mut self) -> Result<ParsedInput, Refusal> {
        if let Some(http2) = &mut self.http2 {
            let unread = &self.buffers.input[self.start..self.end];
            let step = http2.step(unread, &mut self.buffers.output, &self.canned);
            let Some((used, asked)) = step.map_err(|http2::Fault| Refusal::Malformed)? else {
                return Ok(ParsedInput::Nothing);
            };
            self.start += used;
            return Ok(match asked.filter(|_| !self.is_ending()) {
                Some(asked) => ParsedInput::Request(ParsedRequest::canned(asked.place, asked.stream)),
                None => ParsedInput::Other,
            });
        }
        if self.is_ending() || self.waiting.is_none() && !self.begin_request()? {
            return Ok(ParsedInput::Nothing);
        }
        let count = self.skip.min((self.end - self.start) as u64);
        let piece = &self.buffers.input[self.start..self.start + count as usize];
        if let Some((_, key)) = self.waiting.as_mut().filter(|_| !self.canned.is_empty()) {
            key.add(piece);
        }
        self.start += count as usize;
        self.skip -= count;
        let whole = if self.skip == 0 { self.waiting.take() } else { None };
        Ok(whole.map_or(ParsedInput::Nothing, |(request, key)| {
            let route = self.canned.find(key).map_or(request.route, Route::Canned);
            ParsedInput::Request(ParsedRequest { route, ..request })
        }))
    }

    /// Takes the head of a request; `false` if it is not whole.
    fn begin_request(&mut self) -> Result<bool, Refusal> {
        let unread = &self.buffers.input[self.start..self.end];
        if let Wire::Thrift(envelope) = self.canned.wire() {
            let Some(call) = thrift::parse(envelope, unread)? else { return Ok(false) };
            self.waiting = Some((ParsedRequest::canned(UNKNOWN, call.number), call.key));
            self.skip = call.arguments;
            self.start += call.length;
            return Ok(true);
        }
        let Some(head) = request::parse(unread, self.scanned.saturating_sub(3))? else {
            self.scanned = unread.len();
            return Ok(false);
        };
        let body = if head.method == b"HEAD" { ReplyBody::Withheld } else { ReplyBody::Sent };
        let route = Route::of(head.target);
        let request = ParsedRequest { route, body, persistence: head.persistence, id: 0 };
        let asks = head.expectation == Expectation::Continue && head.body > 0;
        // Nothing is looked up where no reply is canned.
        let target = if self.canned.is_empty() { b"" } else { reply::path(head.target) };
        self.waiting = Some((request, Key::of(target)));
        self.skip = head.body;
        self.start += head.length;
        self.scanned = 0;
        if asks && self.start == self.end {
            self.buffers.output.extend_from_slice(reply::CONTINUE);
        }
        Ok(true)
    }

    /// Renders a canned reply, or as much of it as may be sent.
    pub fn push_canned(&mut self, place: u32, request: ParsedRequest) {
        let ends = request.persistence == Persistence::Close;
        self.output_for(request.persistence);
        let output = &mut self.buffers.output;
        if let Some(http2) = &mut self.http2 {
            http2.reply(request.id, place, &self.canned, output);
            if ends {
                http2.end(output);
            }
            return;
        }
        let reply = self.canned.reply(place);
        match self.canned.wire() {
            Wire::Thrift(envelope) => thrift::push_head(output, envelope, request.id, place, reply),
            Wire::Http1 | Wire::Http2 => {
                output.extend_from_slice(&reply.head);
                reply::push_head_end(output, request.persistence);
            }
        }
        match (request.body, reply.content.len() as u64) {
            (ReplyBody::Withheld, _) => {}
            (ReplyBody::Sent, ..=COPIED) => output.extend_from_slice(&reply.content),
            (ReplyBody::Sent, length) => self.tail = Tail::Canned(place, length),
        }
    }

    /// Renders what is to be said of input that is no request, which ends the connection.
    pub fn push_refusal(&mut self, refusal: Refusal) {
        self.start = self.end;
        match &mut self.http2 {
            Some(http2) => {
                http2.break_off(&mut self.buffers.output);
                self.ending = Ending::WhenFlushed;
            }
            None if self.canned.wire() == Wire::Http1 => {
                let message = reply::error_json(&refusal);
                let start = Start::of_refusal(refusal);
                self.push_reply(start, message.as_bytes(), ReplyBody::Sent, Persistence::Close);
            }
            None => self.ending = Ending::WhenFlushed,
        }
    }

    /// Renders the head of a pong and what follows it.
    pub fn push_pong(&mut self, size: Bytes, body: ReplyBody, persistence: Persistence) {
        let output = self.output_for(persistence);
        reply::push_head(output, Start::TEXT, size.get(), persistence);
        if body == ReplyBody::Withheld {
            return;
        }
        output.push(b'p');
        let rest = size.get() - 1;
        if rest <= COPIED {
            output.extend_from_slice(reply::pong_piece(rest));
        } else {
            self.tail = Tail::Pong(rest);
        }
    }

    /// Renders any other reply.
    pub fn push_reply(&mut self, start: Start, content: &[u8], body: ReplyBody, persistence: Persistence) {
        let output = self.output_for(persistence);
        reply::push_head(output, start, content.len() as u64, persistence);
        if body == ReplyBody::Sent {
            output.extend_from_slice(content);
        }
    }

    /// The output buffer for a reply; notes whether the connection ends with it.
    fn output_for(&mut self, persistence: Persistence) -> &mut Vec<u8> {
        if persistence == Persistence::Close {
            self.ending = Ending::WhenFlushed;
        }
        &mut self.buffers.output
    }

    /// Whether a reply announced that the connection ends with it.
    pub fn is_ending(&self) -> bool {
        self.ending == Ending::WhenFlushed
    }

    /// Whether everything is written and the connection ends with it.
    pub fn is_over(&self) -> bool {
        self.is_ending()
            && self.under_way == 0
            && self.is_flushed()
            && self.http2.as_ref().is_none_or(|http2| http2.has_replied())
    }

    /// Whether as many requests are under way as replies can be told apart, or kept in order.
    pub fn is_occupied(&self) -> bool {
        self.under_way >= if self.http2.is_some() { http2::STREAM_LIMIT } else { 1 }
    }

    /// Whether the output should be written before more is rendered.
    pub fn is_batch_full(&self) -> bool {
        self.tail.left() > 0 || self.buffers.output.len() >= OUTPUT_BATCH
    }

    /// Whether there is no partial request and no partial reply.
    pub fn is_idle(&self) -> bool {
        self.has_read_everything()
            && self.under_way == 0
            && self.waiting.is_none()
            && self.is_flushed()
            && self.http2.as_ref().is_none_or(|http2| http2.is_idle())
    }

    /// Whether no input is left after the request last taken.
    pub fn has_read_everything(&self) -> bool {
        self.start == self.end
    }

    fn is_flushed(&self) -> bool {
        self.sent == self.buffers.output.len() && self.tail.left() == 0
    }

    /// Writes as much of the output as the socket and the peer's windows take.
    pub fn flush(&mut self) -> io::Result<Flushed> {
        loop {
            if self.write()? == Flushed::Blocked {
                return Ok(Flushed::Blocked);
            }
            if let Some(http2) = &mut self.http2 {
                http2.push_replies(&self.canned, &mut self.buffers.output);
            }
            if self.buffers.output.is_empty() {
                return Ok(Flushed::Done);
            }
        }
    }

    /// Writes as much of the output as the socket takes.
    fn write(&mut self) -> io::Result<Flushed> {
        while !self.is_flushed() {
            let unsent = self.buffers.output.len() - self.sent;
            let mut slices = [IoSlice::new(&[]); 9];
            slices[0] = IoSlice::new(&self.buffers.output[self.sent..]);
            let count = 1 + self.tail.slices(&self.canned, &mut slices[1..]);
            match sys::send(self.stream.as_raw_fd(), &slices[..count]) {
                Ok(written) => {
                    self.sent += written.min(unsent);
                    self.tail.shorten(written.saturating_sub(unsent) as u64);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Flushed::Blocked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.buffers.output.clear();
        self.buffers.output.shrink_to(OUTPUT_KEPT);
        self.sent = 0;
        Ok(Flushed::Done)
    }

    /// Ends the connection so that the last reply arrives: closing a socket with unread input makes the kernel reset
    /// the connection, which may destroy replies that the peer has not read.
    pub fn close(mut self) -> Buffers {
        // Errors mean that the peer has left, so nothing is left to close.
        let _ = self.stream.shutdown(Shutdown::Write);
        for _ in 0..DISCARDED_READS {
            match self.stream.read(&mut self.buffers.input) {
                Ok(count) if count > 0 => {}
                _ => break,
            }
        }
        self.buffers.output.clear();
        self.buffers.output.shrink_to(OUTPUT_KEPT);
        self.buffers
    }
}

impl ParsedRequest {
    const fn canned(place: u32, id: u32) -> Self {
        Self { route: Route::Canned(place), body: ReplyBody::Sent, persistence: Persistence::Keep, id }
    }
}

impl Tail {
    const fn left(self) -> u64 {
        match self {
            Self::Pong(left) | Self::Canned(_, left) => left,
        }
    }

    fn shorten(&mut self, written: u64) {
        let (Self::Pong(left) | Self::Canned(_, left)) = self;
        *left -= written;
    }

    /// Fills `slices` with the next pieces and returns how many there are.
    fn slices<'a>(self, canned: &'a Canned, slices: &mut [IoSlice<'a>]) -> usize {
        match self {
            Self::Pong(left) => reply::pong_slices(left, slices),
            Self::Canned(_, 0) => 0,
            Self::Canned(place, left) => {
                let content = &canned.reply(place).content;
                slices[0] = IoSlice::new(&content[content.len() - left as usize..]);
                1
            }
        }
    }
}
