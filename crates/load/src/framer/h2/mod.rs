//! HTTP/2 with prior knowledge (RFC 9113) as a client, and gRPC's messages on top of it.
//!
//! Frames are parsed in place and bodies are passed on as they arrive. Per stream it keeps the progress of the reply,
//! the windows, and the part of the request that the windows hold back. It never allows pushes, ignores priorities, and
//! treats as an error everything that RFC 9113 does: an error of a single reply resets its stream and the others
//! continue; an error of the connection, or a peer that would exceed a memory limit, breaks the connection. There is no
//! upgrade from HTTP/1.1, and what it sends uses no dynamic table.
//!
//! One job per file: `frame` and `settings` define layouts, [`hpack`] header blocks, `flow` windows, `streams` the open
//! streams, `message` gRPC's message boundaries, `render` requests, and `receive` and `send` the framer.

mod flow;
mod frame;
pub mod hpack;
pub(crate) mod message;
mod receive;
pub(crate) mod render;
mod send;
mod settings;
mod streams;

use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{ErrorKind, Outcome};

use crate::framer::request::Rendered;
use crate::framer::{Cancel, Event, Framer, Full, In, Out, Sink};
use flow::{INITIAL, ReceiveWindow, SendWindow};
use frame::{Code, FrameHead, LARGEST, flag};
use receive::{Block, Data, ParseStatus};
use settings::PeerSettings;
use streams::{AbandonedStreams, SlabIndex, Streams};

pub use message::MESSAGE_LIMIT;
pub use settings::{Http2Settings, Scheme};

/// Size of the dynamic table that we allow a peer: the protocol's default.
const TABLE_SIZE: usize = 4096;

/// How long to wait for a peer that allows no stream while none is open.
const NO_STREAM_LIMIT: Nanoseconds = Nanoseconds::from_secs(1);

/// What the connection can still be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Everything; our preface is not sent yet.
    Fresh,
    /// Everything.
    Running,
    /// Outstanding requests only.
    Draining,
    /// Nothing.
    Over,
}

/// The state of one HTTP/2 connection.
#[derive(Debug)]
pub struct Http2 {
    ours: Http2Settings,
    peer: PeerSettings,
    phase: Phase,
    streams: Streams,
    abandoned: AbandonedStreams,
    /// The id of the next stream; above [`LARGEST`] if no id is left.
    next: u32,
    send: SendWindow,
    receive: ReceiveWindow,
    hpack: hpack::Decoder,
    /// The dynamic table of what we send.
    indexer: hpack::Indexer,
    /// The DATA frame whose payload is being passed on.
    data: Option<Data>,
    /// The header block that is not complete.
    block: Option<Block>,
    /// Streams with a body that a window holds back.
    held_back: u32,
    /// Acknowledgements in the output since it was last empty.
    acknowledgements: u32,
    /// Since when the peer has allowed no stream.
    no_stream_since: Option<Timestamp>,
}

impl Http2 {
    /// The framer of a new connection.
    pub fn new(settings: Http2Settings) -> Self {
        Self {
            ours: settings,
            peer: PeerSettings::new(),
            phase: Phase::Fresh,
            streams: Streams::default(),
            abandoned: AbandonedStreams::default(),
            next: 1,
            send: SendWindow::new(INITIAL),
            receive: ReceiveWindow::new(),
            hpack: hpack::Decoder::new(TABLE_SIZE),
            indexer: hpack::Indexer::default(),
            data: None,
            block: None,
            held_back: 0,
            acknowledgements: 0,
            no_stream_since: None,
        }
    }

    /// Writes the preface unless that was done: it must precede all other output.
    fn send_preface(&mut self, out: &mut Out) {
        if self.phase == Phase::Fresh {
            self.phase = Phase::Running;
            frame::preface(out, &self.ours.frame(), self.ours.connection_limit() - INITIAL);
        }
    }

    /// Number of requests for which stream ids are left.
    fn ids_left(&self) -> u32 {
        if self.next > LARGEST { 0 } else { (LARGEST - self.next) / 2 + 1 }
    }

    /// Reports once that the peer answers no further request.
    fn drain(&mut self, sink: &mut Sink<'_>) {
        if self.phase == Phase::Running {
            self.phase = Phase::Draining;
            sink(Event::Drain);
        }
    }

    /// Resets a stream before its reply is over. The caller reports the request's end, unless it was cancelled.
    fn give_up(&mut self, slot: SlabIndex, code: Code, out: &mut Out) {
        let stream = self.streams.get(slot).stream;
        frame::reset_stream(out, stream, code);
        self.abandoned.add(stream);
        self.close(slot);
    }

    /// Removes a stream.
    fn close(&mut self, slot: SlabIndex) {
        if !self.streams.get(slot).unsent.is_empty() {
            self.held_back -= 1;
        }
        self.streams.remove(slot);
    }

    /// Marks the connection as unusable.
    fn end(&mut self) {
        self.phase = Phase::Over;
        self.streams.clear();
        self.held_back = 0;
        (self.data, self.block) = (None, None);
    }

    fn broken(&mut self, sink: &mut Sink<'_>) {
        self.end();
        sink(Event::Broken(ErrorKind::Protocol));
    }
}

impl Framer for Http2 {
    fn start(&mut self, id: u64, request: &Rendered, out: &mut Out) -> Result<(), Full> {
        if self.room() == 0 {
            return Err(Full);
        }
        self.send_preface(out);
        self.send_request(id, request, out);
        Ok(())
    }

    fn receive(&mut self, input: &mut In<'_>, out: &mut Out, sink: &mut Sink<'_>) {
        if self.phase == Phase::Over {
            return;
        }
        self.send_preface(out);
        if out.is_empty() {
            self.acknowledgements = 0;
        }
        loop {
            match self.step(input, out, sink) {
                Ok(ParseStatus::More) => {}
                Ok(ParseStatus::Starved) => break,
                Err(frame::Fault) => return self.broken(sink),
            }
        }
        if self.ids_left() == 0 {
            self.drain(sink);
        }
    }

    fn eof(&mut self, sink: &mut Sink<'_>) {
        for slot in self.streams.slots() {
            sink(Event::Done(self.streams.get(slot).id, Outcome::Error(ErrorKind::Reset)));
        }
        self.end();
    }

    fn cancel(&mut self, id: u64, out: &mut Out) -> Cancel {
        if let Some(slot) = self.streams.find_request(id) {
            self.give_up(slot, Code::Cancel, out);
        }
        Cancel::Request
    }

    /// A peer may stop all streams for a moment; after `NO_STREAM_LIMIT` the connection counts as broken, because otherwise
    /// its requests would wait forever.
    fn tick(&mut self, now: Timestamp, _out: &mut Out, sink: &mut Sink<'_>) -> Option<Timestamp> {
        if self.peer.streams > 0 || self.streams.open() > 0 || self.phase != Phase::Running {
            self.no_stream_since = None;
            return None;
        }
        let since = *self.no_stream_since.get_or_insert(now);
        if now.since(since) >= NO_STREAM_LIMIT {
            self.broken(sink);
            return None;
        }
        Some(since + NO_STREAM_LIMIT)
    }

    fn room(&self) -> u32 {
        match self.phase {
            Phase::Fresh | Phase::Running => {
                self.peer.streams.saturating_sub(self.streams.open()).min(self.ids_left())
            }
            Phase::Draining | Phase::Over => 0,
        }
    }

    fn reset(&mut self) {
        self.end();
        self.phase = Phase::Fresh;
        self.peer = PeerSettings::new();
        self.abandoned = AbandonedStreams::default();
        self.next = 1;
        self.send = SendWindow::new(INITIAL);
        self.receive = ReceiveWindow::new();
        self.hpack.reset();
        self.indexer.reset();
        self.acknowledgements = 0;
        self.no_stream_since = None;
    }
}

impl FrameHead {
    /// Whether the frame is the last of its stream.
    fn ends_stream(self) -> bool {
        self.has(flag::END_STREAM)
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::id::OperationId;

    use super::*;
    use crate::framer::Framing;
    use crate::framer::request::Request;

    /// The ids suffice for a billion requests; then the connection is replaced.
    #[test]
    fn a_connection_whose_ids_are_used_up_is_drained() {
        let framing = Framing::Http2(Http2Settings::default());
        let (method, target, authority) = ("GET".into(), "/".into(), "localhost".into());
        let request = Request { method, target, authority, ..Request::default() };
        let request = framing.render(OperationId(0), &request).expect("renders");
        let (mut framer, mut out, mut seen) =
            (Http2::new(Http2Settings::default()), Out::default(), Vec::new());
        framer.next = LARGEST - 2;
        assert_eq!(framer.room(), 2);
        framer.start(7, &request, &mut out).expect("room");
        framer.start(8, &request, &mut out).expect("the last id");
        assert_eq!((framer.room(), framer.start(9, &request, &mut out)), (0, Err(Full)));
        // SETTINGS, then a head that ends the last stream.
        let frames = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 0x7f, 0xff, 0xff, 0xff, 0x88];
        framer.receive(&mut In::new(&frames), &mut out, &mut |event| match event {
            Event::Head(id, _) => seen.push(("head", id)),
            Event::Done(id, Outcome::Ok) => seen.push(("done", id)),
            Event::Drain => seen.push(("drain", 0)),
            other => panic!("{other:?}"),
        });
        assert_eq!(seen, [("head", 8), ("done", 8), ("drain", 0)]);
        assert_eq!(framer.streams.open(), 1, "what is outstanding may still be answered");
    }
}
