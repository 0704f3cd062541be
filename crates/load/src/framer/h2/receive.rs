//! The receiving half: frames in, events out.
//!
//! Frames are parsed whole, except DATA, whose payload is passed on as it arrives. A frame that breaks the connection
//! is a [`Fault`]; a reply in error ends only its stream.

use weighbridge_model::record::{ErrorKind, Outcome};

use super::Http2;
use super::frame::{self, Code, FRAME_LIMIT, Fault, FrameHead, HEAD, LARGEST, flag, kind, number};
use super::hpack::Soundness;
use super::message::{MessagePiece, Messages};
use super::settings::Known;
use super::streams::{Length, SlabIndex, Stage};
use crate::framer::http1::{decimal, list};
use crate::framer::request::ReplyShape;
use crate::framer::{Event, Head, In, Out, Sink, UNIT_LIMIT};

/// Most acknowledgements that may wait to be written; more mean a peer that does not read, which ends the connection.
const MAX_ACKNOWLEDGEMENTS: u32 = 1000;

/// Most CONTINUATION frames of one header block.
const MAX_CONTINUATIONS: u32 = 1000;

const PROTOCOL: Outcome = Outcome::Error(ErrorKind::Protocol);
const RESET: Outcome = Outcome::Error(ErrorKind::Reset);

/// Result of one parsing step.
pub(super) enum ParseStatus {
    /// Something was consumed; call again.
    More,
    /// The rest is incomplete.
    Starved,
}

/// A DATA frame that has not arrived completely.
#[derive(Debug, Clone, Copy)]
pub(super) struct Data {
    head: FrameHead,
    /// Bytes of the body.
    left: usize,
    /// Bytes of padding after them.
    padding: usize,
}

/// A header block that has not arrived completely.
#[derive(Debug)]
pub(super) struct Block {
    head: FrameHead,
    bytes: Vec<u8>,
    frames: u32,
}

/// Why a reply is in error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Malformed;

impl Http2 {
    /// Consumes the next frame, or the next piece of a DATA frame.
    pub(super) fn step(
        &mut self,
        input: &mut In<'_>,
        out: &mut Out,
        sink: &mut Sink<'_>,
    ) -> Result<ParseStatus, Fault> {
        if let Some(data) = self.data {
            return self.pass_on(data, input, out, sink);
        }
        let rest = input.rest();
        let Some(head) = FrameHead::read(rest) else { return Ok(ParseStatus::Starved) };
        self.check_order(head)?;
        if head.kind == kind::DATA {
            return self.begin_data(head, input, out, sink);
        }
        let Some(payload) = rest.get(HEAD..HEAD + head.length) else { return Ok(ParseStatus::Starved) };
        input.consume(HEAD + head.length);
        match head.kind {
            kind::HEADERS => self.headers(head, payload, out, sink)?,
            kind::CONTINUATION => self.continuation(head, payload, out, sink)?,
            kind::RST_STREAM => self.reset_by_peer(head, payload, sink)?,
            kind::SETTINGS => self.settings(head, payload, out)?,
            kind::PING => self.ping(head, payload, out)?,
            kind::GOAWAY => self.go_away(head, payload, sink)?,
            kind::WINDOW_UPDATE => self.window_update(head, payload, out, sink)?,
            kind::PRIORITY if head.stream == 0 || payload.len() != 5 => return Err(Fault),
            kind::PUSH_PROMISE => return Err(Fault),
            _ => {}
        }
        Ok(ParseStatus::More)
    }

    /// Checks a frame by its head alone.
    fn check_order(&self, head: FrameHead) -> Result<(), Fault> {
        let continues = self.block.as_ref().map(|block| block.head.stream);
        let in_place = match continues {
            Some(stream) => head.kind == kind::CONTINUATION && head.stream == stream,
            None => head.kind != kind::CONTINUATION,
        };
        let first = self.peer.known == Known::NotYet;
        let greeting = head.kind == kind::SETTINGS && !head.has(flag::ACK);
        if head.length > FRAME_LIMIT || !in_place || (first && !greeting) { Err(Fault) } else { Ok(()) }
    }

    /// The open stream that a frame is for; `None` if the stream is over and the frame can be ignored.
    fn stream_of(&self, head: FrameHead) -> Result<Option<SlabIndex>, Fault> {
        match self.streams.find(head.stream) {
            Some(slot) => Ok(Some(slot)),
            // The connection itself, a server's stream, or one that was never opened.
            None if head.stream.is_multiple_of(2) || head.stream >= self.next => Err(Fault),
            None => Ok(None),
        }
    }

    /// The same for frames that are valid only on an open stream, or on one that we cancelled.
    fn open_stream_of(&self, head: FrameHead) -> Result<Option<SlabIndex>, Fault> {
        match self.stream_of(head)? {
            None if !self.abandoned.ignores(head.stream) => Err(Fault),
            slot => Ok(slot),
        }
    }

    fn begin_data(
        &mut self,
        head: FrameHead,
        input: &mut In<'_>,
        out: &mut Out,
        sink: &mut Sink<'_>,
    ) -> Result<ParseStatus, Fault> {
        let rest = &input.rest()[HEAD..];
        let (field, padding) = match (head.has(flag::PADDED), rest.first()) {
            (false, _) => (0, 0),
            (true, _) if head.length == 0 => return Err(Fault),
            (true, None) => return Ok(ParseStatus::Starved),
            (true, Some(padding)) => (1, usize::from(*padding)),
        };
        let left = (head.length - field).checked_sub(padding).ok_or(Fault)?;
        input.consume(HEAD + field);
        let slot = self.open_stream_of(head)?;
        self.account(head, slot, out);
        self.data = Some(Data { head, left, padding });
        if let Some(slot) = slot
            && self.announce_data(slot, left).is_err()
        {
            self.fail(slot, Code::Protocol, out, sink);
        }
        Ok(ParseStatus::More)
    }

    /// Counts a DATA frame against the windows and sends the updates that are due.
    fn account(&mut self, head: FrameHead, slot: Option<SlabIndex>, out: &mut Out) {
        if let Some(increment) = self.receive.receive(head.length, self.ours.connection_limit()) {
            frame::window_update(out, 0, increment);
        }
        // A stream that ends needs no update.
        if let Some(slot) = slot.filter(|_| !head.ends_stream())
            && let Some(increment) =
                self.streams.get_mut(slot).receive.receive(head.length, self.ours.stream_window)
        {
            frame::window_update(out, head.stream, increment);
        }
    }

    /// Checks `length` bytes of body against the length in the head.
    fn announce_data(&mut self, slot: SlabIndex, length: usize) -> Result<(), Malformed> {
        match &mut self.streams.get_mut(slot).stage {
            Stage::Head => Err(Malformed),
            Stage::Body(Length::Unstated) => Ok(()),
            Stage::Body(Length::Left(left)) => {
                *left = left.checked_sub(length as u64).ok_or(Malformed)?;
                Ok(())
            }
        }
    }

    /// Passes on the part of a DATA frame's payload that has arrived.
    fn pass_on(
        &mut self,
        mut data: Data,
        input: &mut In<'_>,
        out: &mut Out,
        sink: &mut Sink<'_>,
    ) -> Result<ParseStatus, Fault> {
        let rest = input.rest();
        let count = rest.len().min(data.left);
        let padding = (rest.len() - count).min(data.padding);
        input.consume(count + padding);
        data.left -= count;
        data.padding -= padding;
        let whole = data.left == 0 && data.padding == 0;
        self.data = (!whole).then_some(data);
        // The stream may have been cancelled since the frame began.
        if let Some(slot) = self.streams.find(data.head.stream) {
            if count > 0 && self.body(slot, &rest[..count], out, sink).is_err() {
                self.fail(slot, Code::Protocol, out, sink);
            } else if whole && data.head.ends_stream() {
                self.finish(slot, out, sink);
            }
        }
        Ok(if whole { ParseStatus::More } else { ParseStatus::Starved })
    }

    /// Reports a piece of a body; if it ends messages, the next messages of an alternating call are sent.
    fn body(
        &mut self,
        slot: SlabIndex,
        bytes: &[u8],
        out: &mut Out,
        sink: &mut Sink<'_>,
    ) -> Result<(), Malformed> {
        let stream = self.streams.get_mut(slot);
        let id = stream.id;
        if stream.messages == Messages::None {
            sink(Event::Data(id, bytes));
            return Ok(());
        }
        let mut ended = 0;
        let unsent = &mut stream.unsent;
        let advanced = stream.messages.advance(bytes, |piece| match piece {
            MessagePiece::Data(data) => sink(Event::Data(id, data)),
            MessagePiece::End => {
                ended += 1;
                unsent.allow_message();
                sink(Event::Message(id, 1));
            }
        });
        if ended > 0 {
            self.send_more(slot, out);
        }
        advanced.map_err(|_| Malformed)
    }

    /// Ends a reply whose last byte has arrived.
    fn finish(&mut self, slot: SlabIndex, out: &mut Out, sink: &mut Sink<'_>) {
        let stream = self.streams.get(slot);
        let whole = matches!(stream.stage, Stage::Body(Length::Unstated | Length::Left(0)));
        if !whole || !stream.messages.is_whole() {
            return self.fail(slot, Code::Protocol, out, sink);
        }
        let id = stream.id;
        if stream.unsent.is_empty() {
            self.close(slot);
        } else {
            // The server has answered and needs no more of the request (RFC 9113, section 8.1).
            self.give_up(slot, Code::NoError, out);
        }
        sink(Event::Done(id, Outcome::Ok));
    }

    /// Ends a reply that is in error.
    fn fail(&mut self, slot: SlabIndex, code: Code, out: &mut Out, sink: &mut Sink<'_>) {
        let id = self.streams.get(slot).id;
        self.give_up(slot, code, out);
        sink(Event::Done(id, PROTOCOL));
    }

    fn headers(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Out,
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        let fragment = frame::block_of(head, payload)?;
        if head.has(flag::END_HEADERS) {
            return self.whole_block(head, fragment, out, sink);
        }
        self.block = Some(Block { head, bytes: fragment.to_vec(), frames: 0 });
        Ok(())
    }

    fn continuation(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Out,
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        let mut block = self.block.take().ok_or(Fault)?;
        block.frames += 1;
        if block.bytes.len() + payload.len() > UNIT_LIMIT || block.frames > MAX_CONTINUATIONS {
            return Err(Fault);
        }
        block.bytes.extend_from_slice(payload);
        if head.has(flag::END_HEADERS) {
            return self.whole_block(block.head, &block.bytes, out, sink);
        }
        self.block = Some(block);
        Ok(())
    }

    /// Handles a whole header block: an interim head, a head, or trailers.
    fn whole_block(
        &mut self,
        head: FrameHead,
        block: &[u8],
        out: &mut Out,
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        // The table must see every block, whatever its stream.
        let soundness = self.hpack.decode(block).map_err(|_| Fault)?;
        let Some(slot) = self.open_stream_of(head)? else { return Ok(()) };
        let taken = match soundness {
            Soundness::Sound => self.message_head(slot, head, sink),
            Soundness::Malformed => Err(Malformed),
        };
        match taken {
            Err(Malformed) => self.fail(slot, Code::Protocol, out, sink),
            Ok(()) if head.ends_stream() => self.finish(slot, out, sink),
            Ok(()) => {}
        }
        Ok(())
    }

    /// Reports the decoded fields as the head of a reply or as its trailers.
    fn message_head(
        &mut self,
        slot: SlabIndex,
        head: FrameHead,
        sink: &mut Sink<'_>,
    ) -> Result<(), Malformed> {
        let Self { hpack, streams, .. } = self;
        let stream = streams.get_mut(slot);
        hpack.with_fields(|fields| match stream.stage {
            Stage::Head => {
                let (status, fields) = status_of(fields).ok_or(Malformed)?;
                if status < 200 {
                    // Interim head; HTTP/2 has no protocol switching (RFC 9113, section 8.6).
                    return if head.ends_stream() || status == 101 { Err(Malformed) } else { Ok(()) };
                }
                stream.stage = Stage::Body(length_of(status, stream.shape, fields)?);
                stream.status = status;
                if stream.messages != Messages::None && !is_grpc(status, fields) {
                    stream.messages = Messages::None;
                }
                sink(Event::Head(stream.id, Head { status, fields }));
                Ok(())
            }
            Stage::Body(_) => {
                if !head.ends_stream() || fields.iter().any(|field| field.name.starts_with(':')) {
                    return Err(Malformed);
                }
                if !fields.is_empty() {
                    sink(Event::Trailers(stream.id, Head { status: stream.status, fields }));
                }
                Ok(())
            }
        })
    }

    fn reset_by_peer(&mut self, head: FrameHead, payload: &[u8], sink: &mut Sink<'_>) -> Result<(), Fault> {
        number(payload)?;
        if let Some(slot) = self.stream_of(head)? {
            let id = self.streams.get(slot).id;
            self.abandoned.add(head.stream);
            self.close(slot);
            sink(Event::Done(id, RESET));
        }
        Ok(())
    }

    fn settings(&mut self, head: FrameHead, payload: &[u8], out: &mut Out) -> Result<(), Fault> {
        if head.stream != 0 {
            return Err(Fault);
        }
        if head.has(flag::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(Fault) };
        }
        let change = self.peer.apply(payload)?;
        if change != 0 {
            for place in 0..self.streams.places() {
                if let Some(slot) = self.streams.at(place) {
                    self.streams.get_mut(slot).send.change(change)?;
                }
            }
        }
        self.acknowledge(kind::SETTINGS, &[], out)?;
        if change > 0 {
            self.send_more_of_all(out);
        }
        Ok(())
    }

    fn ping(&mut self, head: FrameHead, payload: &[u8], out: &mut Out) -> Result<(), Fault> {
        if head.stream != 0 || payload.len() != 8 {
            return Err(Fault);
        }
        if head.has(flag::ACK) { Ok(()) } else { self.acknowledge(kind::PING, payload, out) }
    }

    fn acknowledge(&mut self, kind: u8, payload: &[u8], out: &mut Out) -> Result<(), Fault> {
        self.acknowledgements += 1;
        if self.acknowledgements > MAX_ACKNOWLEDGEMENTS {
            return Err(Fault);
        }
        frame::acknowledge(out, kind, payload);
        Ok(())
    }

    fn go_away(&mut self, head: FrameHead, payload: &[u8], sink: &mut Sink<'_>) -> Result<(), Fault> {
        let Some((last, _)) = payload.split_first_chunk::<4>().filter(|(_, rest)| rest.len() >= 4) else {
            return Err(Fault);
        };
        if head.stream != 0 {
            return Err(Fault);
        }
        let last = u32::from_be_bytes(*last) & LARGEST;
        self.drain(sink);
        for place in 0..self.streams.places() {
            let Some(slot) = self.streams.at(place) else { continue };
            let stream = self.streams.get(slot);
            if stream.stream > last {
                let (id, stream, is_begun) = (stream.id, stream.stream, stream.stage != Stage::Head);
                self.abandoned.add(stream);
                self.close(slot);
                // A peer that had begun its reply contradicts itself: it did handle the request.
                sink(if is_begun { Event::Done(id, RESET) } else { Event::Refused(id) });
            }
        }
        Ok(())
    }

    fn window_update(
        &mut self,
        head: FrameHead,
        payload: &[u8],
        out: &mut Out,
        sink: &mut Sink<'_>,
    ) -> Result<(), Fault> {
        let increment = i64::from(number(payload)? & LARGEST);
        if head.stream == 0 {
            if increment == 0 {
                return Err(Fault);
            }
            self.send.change(increment)?;
            self.send_more_of_all(out);
            return Ok(());
        }
        let Some(slot) = self.stream_of(head)? else { return Ok(()) };
        if increment == 0 {
            self.fail(slot, Code::Protocol, out, sink);
        } else if self.streams.get_mut(slot).send.change(increment).is_err() {
            self.fail(slot, Code::FlowControl, out, sink);
        } else {
            self.send_more(slot, out);
        }
        Ok(())
    }
}

/// Whether a field concerns the connection, which makes a reply malformed (RFC 9113, section 8.2.2).
fn is_of_connection(name: &str) -> bool {
    matches!(name, "connection" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade")
}

/// The status of a reply and the fields after it; `None` unless the status comes first, exactly once, with no other
/// pseudo-field and no field that HTTP/2 forbids.
fn status_of<'h, 'b>(fields: &'h [httparse::Header<'b>]) -> Option<(u16, &'h [httparse::Header<'b>])> {
    let (first, fields) = fields.split_first()?;
    let &[a, b, c] = first.value else { return None };
    let digits = [a, b, c].iter().all(u8::is_ascii_digit);
    let pseudo = fields.iter().any(|field| field.name.starts_with(':') || is_of_connection(field.name));
    let status = u16::from(a) * 100 + u16::from(b) * 10 + u16::from(c);
    let status = status.wrapping_sub(u16::from(b'0') * 111);
    (first.name == ":status" && digits && !pseudo && status >= 100).then_some((status, fields))
}

/// How long a reply's body is; zero if such a reply may not have one, whatever its head announces.
fn length_of(status: u16, shape: ReplyShape, fields: &[httparse::Header<'_>]) -> Result<Length, Malformed> {
    let mut length = None;
    for field in fields.iter().filter(|field| field.name == "content-length") {
        for item in list(field.value) {
            let value = decimal(item).ok_or(Malformed)?;
            if length.is_some_and(|earlier| earlier != value) {
                return Err(Malformed);
            }
            length = Some(value);
        }
        length.ok_or(Malformed)?;
    }
    match length {
        _ if shape == ReplyShape::NoBody || status == 204 || status == 304 => Ok(Length::Left(0)),
        Some(length) => Ok(Length::Left(length)),
        None => Ok(Length::Unstated),
    }
}

/// Whether a reply to a call consists of messages.
fn is_grpc(status: u16, fields: &[httparse::Header<'_>]) -> bool {
    let grpc = |value: &[u8]| value.len() >= 16 && value[..16].eq_ignore_ascii_case(b"application/grpc");
    status == 200 && fields.iter().any(|field| field.name == "content-type" && grpc(field.value))
}
