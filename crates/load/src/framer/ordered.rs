//! Replies in the order of requests, as HTTP/1.1, memcached and Redis send them: the part that these framers share.
//!
//! A protocol parses its next bytes ([`Ordered::step`]) and keeps its queue of unanswered requests. This module makes
//! it a [`Framer`]: the loop over received bytes, the handling of faults, and what the end of a connection means for
//! requests without a reply. It knows no protocol's bytes, and calls nothing through a pointer.

use std::collections::VecDeque;

use weighbridge_model::quantity::Timestamp;
use weighbridge_model::record::{ErrorKind, Outcome};

use crate::framer::request::{Rendered, ReplyShape};
use crate::framer::{Cancel, Event, Framer, Full, In, Out, Sink};

/// Result of one parsing step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseStatus {
    /// Something was consumed; call again.
    More,
    /// The rest is incomplete.
    Starved,
    /// The bytes break the protocol.
    Fault,
}

/// A request whose reply is not over.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    /// Its id in events.
    pub id: u64,
    /// The shape of its reply.
    pub reply: ReplyShape,
}

/// The requests without a whole reply, the oldest first.
pub type Queue = VecDeque<Pending>;

/// A protocol in which replies come in the order of requests and none can be cancelled.
pub trait Ordered {
    /// Appends a request to the queue, and writes what must precede its bytes to `out`.
    fn begin(&mut self, id: u64, request: &Rendered, out: &mut Out);

    /// Writes the request that was appended to the queue last.
    fn send(&mut self, request: &Rendered, out: &mut Out) {
        out.push(request.bytes());
    }

    /// Removes the oldest request from the queue.
    fn pop(&mut self) -> Option<u64>;

    /// One parsing step: consumes the next piece of a reply and reports it.
    fn step(&mut self, input: &mut In<'_>, sink: &mut Sink<'_>) -> ParseStatus;

    /// Ends the current reply, if the end of the connection is its proper end.
    fn end(&mut self, sink: &mut Sink<'_>) {
        let _ = sink;
    }

    /// Whether another request may be sent.
    fn takes_more(&self) -> bool {
        !self.is_broken()
    }

    /// Whether the connection is no longer read.
    fn is_broken(&self) -> bool;

    /// Stops reading the connection and empties the queue.
    fn break_off(&mut self);

    /// Becomes the framer of a new connection, keeping its memory.
    fn renew(&mut self);

    /// Ends the oldest reply as whole.
    fn answered(&mut self, sink: &mut Sink<'_>) {
        if let Some(id) = self.pop() {
            sink(Event::Done(id, Outcome::Ok));
        }
    }

    /// Fails every request of the queue: no reply will come.
    fn cut_short(&mut self, sink: &mut Sink<'_>) {
        while let Some(id) = self.pop() {
            sink(Event::Done(id, Outcome::Error(ErrorKind::Reset)));
        }
    }
}

impl<O: Ordered> Framer for O {
    fn start(&mut self, id: u64, request: &Rendered, out: &mut Out) -> Result<(), Full> {
        if !self.takes_more() {
            return Err(Full);
        }
        self.begin(id, request, out);
        self.send(request, out);
        Ok(())
    }

    fn receive(&mut self, input: &mut In<'_>, _out: &mut Out, sink: &mut Sink<'_>) {
        if self.is_broken() {
            return;
        }
        loop {
            match self.step(input, sink) {
                ParseStatus::More => {}
                ParseStatus::Starved => return,
                ParseStatus::Fault => {
                    self.break_off();
                    sink(Event::Broken(ErrorKind::Protocol));
                    return;
                }
            }
        }
    }

    fn eof(&mut self, sink: &mut Sink<'_>) {
        self.end(sink);
        self.cut_short(sink);
        self.break_off();
    }

    /// No request can be cancelled (for HTTP: RFC 9112, section 9.3.2).
    fn cancel(&mut self, _id: u64, _out: &mut Out) -> Cancel {
        Cancel::Connection
    }

    fn tick(&mut self, _now: Timestamp, _out: &mut Out, _sink: &mut Sink<'_>) -> Option<Timestamp> {
        None
    }

    fn room(&self) -> u32 {
        if self.takes_more() { u32::MAX } else { 0 }
    }

    fn reset(&mut self) {
        self.renew();
    }
}

/// Consumes at most `most` of the received bytes, passes them to `report`, and returns how many they were.
pub fn pass_on(input: &mut In<'_>, most: u64, report: impl FnOnce(&[u8])) -> u64 {
    let rest = input.rest();
    let count = usize::try_from(most).unwrap_or(usize::MAX).min(rest.len());
    input.consume(count);
    report(&rest[..count]);
    count as u64
}

/// Consumes the CR LF that must come next.
pub fn line_end(input: &mut In<'_>) -> ParseStatus {
    match input.rest() {
        [b'\r', b'\n', ..] => {
            input.consume(2);
            ParseStatus::More
        }
        [] | [b'\r'] => ParseStatus::Starved,
        _ => ParseStatus::Fault,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_most_the_wanted_bytes_are_passed_on() {
        let mut input = In::new(b"abcdef");
        let mut passed = Vec::new();
        assert_eq!(pass_on(&mut input, 4, |bytes| passed.extend_from_slice(bytes)), 4);
        assert_eq!(pass_on(&mut input, u64::MAX, |bytes| passed.extend_from_slice(bytes)), 2);
        assert_eq!((passed.as_slice(), input.rest()), (&b"abcdef"[..], &b""[..]));
    }

    #[test]
    fn a_line_end_is_two_bytes_and_nothing_else() {
        let look = |bytes: &'static [u8]| {
            let mut input = In::new(bytes);
            (line_end(&mut input), input.consumed())
        };
        assert_eq!(look(b"\r\nx"), (ParseStatus::More, 2));
        assert_eq!((look(b""), look(b"\r")), ((ParseStatus::Starved, 0), (ParseStatus::Starved, 0)));
        assert_eq!((look(b"\n"), look(b"\rx")), ((ParseStatus::Fault, 0), (ParseStatus::Fault, 0)));
    }
}
