//! One connection: its buffers, requests that were read and not yet served, output that was rendered and not yet
//! written.
//!
//! Memory is bounded whatever the peer does: input for one head, a little output, and pongs of any size as a count of
//! bytes to write. It serves nothing by itself.

use std::io::{self, IoSlice, Read};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsRawFd, RawFd};

use weighbridge_model::quantity::{Bytes, Timestamp};

use crate::reply::{self, Route, Start};
use crate::request::{self, Expectation, HEAD_LIMIT, Persistence, Refusal};
use crate::sys;

/// With more rendered output than this, it is written before the next reply is rendered.
const OUTPUT_BATCH: usize = 16 * 1024;
/// Pongs up to this are copied after their heads, so that a batch of them is sent in one write.
const COPIED_PONG: u64 = 4 * 1024;
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
        Self { input: vec![0; HEAD_LIMIT], output: Vec::with_capacity(2 * OUTPUT_BATCH) }
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
    /// Bytes of a request's body still to be dropped.
    skip: u64,
    /// The request whose body is being dropped.
    waiting: Option<ParsedRequest>,
    /// How much of the output is written.
    sent: usize,
    /// How much of a pong follows the output.
    pong_rest: u64,
    ending: Ending,
    /// Requests under the law that came on it.
    pub requests: u64,
    /// Whether it is counted among the used connections.
    pub asked: Asked,
    /// Time after the last read that returned data.
    pub read_at: Timestamp,
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
    pub fn new(stream: TcpStream, buffers: Buffers) -> Self {
        Self {
            stream,
            buffers,
            start: 0,
            end: 0,
            scanned: 0,
            skip: 0,
            waiting: None,
            sent: 0,
            pong_rest: 0,
            ending: Ending::Open,
            requests: 0,
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

    /// The next whole request, its body included; `None` if more must be read, or if the last reply closed the
    /// connection.
    pub fn next_request(&mut self) -> Result<Option<ParsedRequest>, Refusal> {
        if self.is_ending() {
            return Ok(None);
        }
        if self.waiting.is_none() {
            let unread = &self.buffers.input[self.start..self.end];
            let Some(head) = request::parse(unread, self.scanned.saturating_sub(3))? else {
                self.scanned = unread.len();
                return Ok(None);
            };
            let body = if head.method == b"HEAD" { ReplyBody::Withheld } else { ReplyBody::Sent };
            let request =
                ParsedRequest { route: Route::of(head.target), body, persistence: head.persistence };
            let asks = head.expectation == Expectation::Continue && head.body > 0;
            self.waiting = Some(request);
            self.skip = head.body;
            self.start += head.length;
            self.scanned = 0;
            if asks && self.start == self.end {
                self.buffers.output.extend_from_slice(reply::CONTINUE);
            }
        }
        let dropped = self.skip.min((self.end - self.start) as u64);
        self.start += dropped as usize;
        self.skip -= dropped;
        Ok(if self.skip == 0 { self.waiting.take() } else { None })
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
        if rest <= COPIED_PONG {
            output.extend_from_slice(reply::pong_piece(rest));
        } else {
            self.pong_rest = rest;
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

    /// Whether the output should be written before more is rendered.
    pub fn is_batch_full(&self) -> bool {
        self.pong_rest > 0 || self.buffers.output.len() >= OUTPUT_BATCH
    }

    /// Whether there is no partial request and no partial reply.
    pub fn is_idle(&self) -> bool {
        self.has_read_everything() && self.waiting.is_none() && self.is_flushed()
    }

    /// Whether no input is left after the request last taken.
    pub fn has_read_everything(&self) -> bool {
        self.start == self.end
    }

    fn is_flushed(&self) -> bool {
        self.sent == self.buffers.output.len() && self.pong_rest == 0
    }

    /// Writes as much of the output as the socket takes.
    pub fn flush(&mut self) -> io::Result<Flushed> {
        while !self.is_flushed() {
            let unsent = self.buffers.output.len() - self.sent;
            let mut slices = [IoSlice::new(&[]); 9];
            slices[0] = IoSlice::new(&self.buffers.output[self.sent..]);
            let count = 1 + reply::pong_slices(self.pong_rest, &mut slices[1..]);
            match sys::send(self.stream.as_raw_fd(), &slices[..count]) {
                Ok(written) => {
                    self.sent += written.min(unsent);
                    self.pong_rest -= written.saturating_sub(unsent) as u64;
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
