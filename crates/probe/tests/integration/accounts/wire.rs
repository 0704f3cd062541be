//! What servers of each framing read and write. They are written by hand, not with the generator's framers.

use std::io::{Read, Write};
use std::sync::atomic::Ordering::SeqCst;

use weighbridge_load::Framing;
use weighbridge_load::h2::{Http2Settings, Scheme};
use weighbridge_load::request::{Call, Rendered, Request};
use weighbridge_load::{memcached, resp, thrift};
use weighbridge_model::id::OperationId;

use super::Counts;
use super::line::Line;

const PREFACE: usize = 24;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Http1,
    Http2,
    Grpc,
    Memcached,
    Resp,
    ThriftBinary,
    ThriftCompact,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Good,
    /// An error of the protocol's own.
    Bad,
}

/// What a server does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    Answer(Answer),
    /// Answers twice.
    Twice,
    /// Answers this request and none after it on the connection.
    Last,
    /// Answers neither this one nor any other on the connection.
    Silent,
    /// Sends the first half of a reply and closes.
    Cut,
    /// Closes without an answer.
    Close,
    /// Drops the connection, whatever is unread.
    Drop,
    Garbage,
    /// Answers, and says that the connection ends with it; where the protocol cannot say that, it just answers.
    Announce,
    /// Says that the connection ends with an earlier reply; where the protocol cannot say that, it closes.
    Refuse,
    /// HTTP/2: resets the stream. Others close.
    ResetStream,
}

impl Act {
    pub const ALL: [Self; 12] = [
        Self::Answer(Answer::Good),
        Self::Answer(Answer::Bad),
        Self::Twice,
        Self::Last,
        Self::Silent,
        Self::Cut,
        Self::Close,
        Self::Drop,
        Self::Garbage,
        Self::Announce,
        Self::Refuse,
        Self::ResetStream,
    ];
}

impl Wire {
    pub const ALL: [Self; 7] = [
        Self::Http1,
        Self::Http2,
        Self::Grpc,
        Self::Memcached,
        Self::Resp,
        Self::ThriftBinary,
        Self::ThriftCompact,
    ];

    pub fn framing(self) -> Framing {
        match self {
            Self::Http1 => Framing::Http1,
            Self::Http2 | Self::Grpc => {
                Framing::Http2(Http2Settings { scheme: Scheme::Http, ..Http2Settings::default() })
            }
            Self::Memcached => Framing::Memcached,
            Self::Resp => Framing::Resp,
            Self::ThriftBinary => Framing::Thrift(thrift::Envelope::Binary),
            Self::ThriftCompact => Framing::Thrift(thrift::Envelope::Compact),
        }
    }

    pub fn request(self) -> Rendered {
        let get = Request {
            method: "GET".into(),
            target: "/hello".into(),
            authority: "localhost".into(),
            ..Request::default()
        };
        let words: [&[u8]; 2] = [b"get", b"a"];
        let operation = OperationId(0);
        match self {
            Self::Http1 | Self::Http2 => self.framing().render(operation, &get).expect("renders"),
            Self::Grpc => {
                let messages = [b"hello".to_vec()];
                let call =
                    Call { path: "/a.B/C", authority: "localhost", messages: &messages, ..Call::default() };
                self.framing().render_call(&call).expect("renders")
            }
            Self::Memcached => memcached::command(operation, &words, None).expect("renders"),
            Self::Resp => resp::command(operation, &words, None).expect("renders"),
            Self::ThriftBinary => thrift::call(thrift::Envelope::Binary, operation, "get", &[0]),
            Self::ThriftCompact => thrift::call(thrift::Envelope::Compact, operation, "get", &[0]),
        }
    }

    /// Whether replies come in the order of requests, all of which are the same bytes but for their number.
    pub fn is_ordered(self) -> bool {
        !matches!(self, Self::Http2 | Self::Grpc)
    }

    /// Whether it can say that a connection ends.
    pub fn announces(self) -> bool {
        matches!(self, Self::Http1 | Self::Http2 | Self::Grpc)
    }

    /// Serves a connection until the client leaves, whose requests are `length` bytes long each; `next` is asked about
    /// each request.
    pub fn serve(self, line: Line, length: usize, counts: &Counts, next: &mut dyn FnMut() -> Act) {
        let mut talk = Talk { line, counts, is_silent: false };
        let mut split = Split::new(self, length);
        if !self.is_ordered() {
            talk.send(&frame(4, 0, 0, &[]));
        }
        let mut buffer = [0; 16 * 1024];
        loop {
            // A reset after all was read is an end too.
            let Ok(count @ 1..) = talk.line.read(&mut buffer) else { return };
            split.add(&buffer[..count]);
            while let Some(request) = split.take() {
                let act = next();
                if act == Act::Drop {
                    counts.has_missed.store(true, SeqCst);
                    return;
                }
                if !talk.is_silent {
                    self.act(act, &request, &mut talk);
                }
            }
        }
    }

    fn act(self, act: Act, request: &Received, talk: &mut Talk<'_>) {
        let good = self.reply(request, Answer::Good);
        match act {
            Act::Answer(Answer::Good) => talk.good(&good),
            Act::Answer(Answer::Bad) => talk.send(&self.reply(request, Answer::Bad)),
            Act::Twice => {
                talk.good(&good);
                talk.good(&good);
            }
            Act::Last => {
                talk.good(&good);
                talk.is_silent = true;
            }
            Act::Silent | Act::Drop => talk.is_silent = true,
            Act::Cut => {
                talk.good(&good[..good.len() / 2]);
                talk.end();
            }
            Act::Close => talk.end(),
            Act::Garbage => talk.send(b"\x00\xff\x00\xff garbage \r\n\r\n\x00\xff\xff\xff\xff\xff"),
            Act::Announce => self.announce(request, &good, talk),
            Act::Refuse if !self.is_ordered() => {
                talk.send(&go_away(request.stream.saturating_sub(2)));
                talk.is_silent = true;
            }
            Act::ResetStream if !self.is_ordered() => talk.send(&frame(3, 0, request.stream, &[0, 0, 0, 8])),
            Act::Refuse | Act::ResetStream => talk.end(),
        }
    }

    fn announce(self, request: &Received, good: &[u8], talk: &mut Talk<'_>) {
        match self {
            Self::Http1 => {
                talk.good(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
                talk.end();
            }
            Self::Http2 | Self::Grpc => {
                talk.send(&go_away(request.stream));
                talk.good(good);
                talk.is_silent = true;
            }
            Self::Memcached | Self::Resp | Self::ThriftBinary | Self::ThriftCompact => talk.good(good),
        }
    }

    fn reply(self, request: &Received, answer: Answer) -> Vec<u8> {
        let is_good = answer == Answer::Good;
        match self {
            Self::Http1 if is_good => b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".to_vec(),
            Self::Http1 => b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n".to_vec(),
            Self::Http2 if is_good => {
                [frame(1, 4, request.stream, &[0x88]), frame(0, 1, request.stream, b"hello")].concat()
            }
            Self::Http2 | Self::Grpc if !is_good => frame(1, 5, request.stream, &[0x8e]),
            Self::Http2 | Self::Grpc => {
                let head = [&[0x88, 0x0f, 0x10, 16], &b"application/grpc"[..]].concat();
                let trailers = [&[0x00, 11], &b"grpc-status"[..], &[1, b'0']].concat();
                [
                    frame(1, 4, request.stream, &head),
                    frame(0, 0, request.stream, b"\0\0\0\0\x05hello"),
                    frame(1, 5, request.stream, &trailers),
                ]
                .concat()
            }
            Self::Memcached if is_good => b"VALUE a 0 5\r\nhello\r\nEND\r\n".to_vec(),
            Self::Memcached => b"SERVER_ERROR no\r\n".to_vec(),
            Self::Resp if is_good => b"$5\r\nhello\r\n".to_vec(),
            Self::Resp => b"-ERR no\r\n".to_vec(),
            Self::ThriftBinary => {
                let mut reply = request.bytes.clone();
                reply[7] = if is_good { thrift::REPLY } else { thrift::EXCEPTION };
                reply
            }
            Self::ThriftCompact => {
                let mut reply = request.bytes.clone();
                let kind = if is_good { thrift::REPLY } else { thrift::EXCEPTION };
                reply[5] = kind << 5 | thrift::COMPACT_VERSION;
                reply
            }
        }
    }
}

/// The writing side of a connection.
struct Talk<'a> {
    line: Line,
    counts: &'a Counts,
    /// Whether it writes no more.
    is_silent: bool,
}

impl Talk<'_> {
    fn send(&mut self, bytes: &[u8]) {
        let _ = self.line.write_all(bytes).and_then(|()| self.line.flush());
    }

    fn good(&mut self, bytes: &[u8]) {
        self.counts.good.fetch_add(1, SeqCst);
        self.send(bytes);
    }

    fn end(&mut self) {
        self.line.end();
        self.is_silent = true;
    }
}

/// A request that came.
pub struct Received {
    /// All of it, where there are no streams.
    bytes: Vec<u8>,
    stream: u32,
}

/// Splits what a client sends into requests.
pub struct Split {
    wire: Wire,
    length: usize,
    bytes: Vec<u8>,
    is_fresh: bool,
}

impl Split {
    pub fn new(wire: Wire, length: usize) -> Self {
        Self { wire, length, bytes: Vec::new(), is_fresh: true }
    }

    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn take(&mut self) -> Option<Received> {
        if self.wire.is_ordered() {
            let is_whole = self.bytes.len() >= self.length;
            return is_whole
                .then(|| Received { bytes: self.bytes.drain(..self.length).collect(), stream: 0 });
        }
        if self.is_fresh {
            if self.bytes.len() < PREFACE {
                return None;
            }
            self.bytes.drain(..PREFACE);
            self.is_fresh = false;
        }
        loop {
            let &[a, b, c, kind, _, w, x, y, z, ..] = self.bytes.as_slice() else { return None };
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            if self.bytes.len() < 9 + length {
                return None;
            }
            self.bytes.drain(..9 + length);
            if kind == 1 {
                return Some(Received { bytes: Vec::new(), stream: u32::from_be_bytes([w, x, y, z]) });
            }
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Says that no stream after `last` is handled.
fn go_away(last: u32) -> Vec<u8> {
    frame(7, 0, 0, &[&last.to_be_bytes()[..], &[0; 4]].concat())
}
