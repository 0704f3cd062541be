//! The sending half: requests as frames, and bodies as far as the windows allow.

use weighbridge_model::experiment::HeaderTable;

use super::flow::SendWindow;
use super::frame::{FrameHead, flag, kind};
use super::message::Messages;
use super::settings::TableSizeUpdate;
use super::streams::SlabIndex;
use super::{Http2, TABLE_SIZE};
use crate::framer::Out;
use crate::framer::request::Rendered;

/// Bytes of a header block that say "the dynamic table has size zero" (RFC 7541, section 6.3).
const NO_TABLE: u8 = 0x20;

impl Http2 {
    /// Opens a stream for a request and sends as much of it as is allowed. There must be room.
    pub(super) fn send_request(&mut self, id: u64, request: &Rendered, out: &mut Out) {
        let stream = self.next;
        self.next += 2;
        let slot = self.streams.insert(stream, id, request.reply(), self.peer.window);
        if request.is_call() {
            self.streams.get_mut(slot).messages = Messages::START;
        }
        let body = request.body();
        self.send_head(stream, request.head(), body.is_empty(), out);
        if body.is_empty() {
            return;
        }
        let at_once = request.sent_at_once();
        let place = self.streams.get_mut(slot);
        let mut sender =
            Sender { stream, frame: self.peer.frame, connection: &mut self.send, window: &mut place.send };
        let sent = sender.send(&body[..at_once], body.len(), out);
        if sent < body.len() {
            place.unsent.keep(&body[sent..], at_once - sent);
            self.held_back += 1;
        }
    }

    /// Sends a request's header block, with the dynamic table where both sides allow it.
    fn send_head(&mut self, stream: u32, head: &[u8], ends: bool, out: &mut Out) {
        let (update, block): (&[u8], &[u8]) = match self.peer.table {
            TableSizeUpdate::Due => (&[NO_TABLE], head),
            TableSizeUpdate::Unsaid if self.ours.header_table == HeaderTable::Used => {
                (&[], self.indexer.index(head, TABLE_SIZE))
            }
            TableSizeUpdate::Unsaid | TableSizeUpdate::Zero => (&[], head),
        };
        send_block(HeaderBlock { stream, update, block, ends, frame: self.peer.frame }, out);
        if !update.is_empty() {
            self.peer.table = TableSizeUpdate::Zero;
        }
    }

    /// Sends as much of a stream's body as the windows now allow.
    pub(super) fn send_more(&mut self, slot: SlabIndex, out: &mut Out) {
        let place = self.streams.get_mut(slot);
        let unsent = &mut place.unsent;
        if unsent.is_empty() {
            return;
        }
        let stream = place.stream;
        let mut sender =
            Sender { stream, frame: self.peer.frame, connection: &mut self.send, window: &mut place.send };
        let sent = sender.send(unsent.ready(), unsent.left(), out);
        unsent.sent(sent);
        if unsent.is_empty() {
            self.held_back -= 1;
        }
    }

    /// The same for every stream, the lowest index first.
    pub(super) fn send_more_of_all(&mut self, out: &mut Out) {
        for place in 0..self.streams.places() {
            if self.held_back == 0 || self.send.available() == 0 {
                return;
            }
            if let Some(slot) = self.streams.at(place) {
                self.send_more(slot, out);
            }
        }
    }
}

/// A header block to be sent.
struct HeaderBlock<'a> {
    stream: u32,
    /// What it says about the table before its fields.
    update: &'a [u8],
    block: &'a [u8],
    /// Whether nothing follows it on its stream.
    ends: bool,
    /// The peer's longest frame.
    frame: usize,
}

/// Sends it; what exceeds a frame goes into CONTINUATION frames.
fn send_block(head: HeaderBlock<'_>, out: &mut Out) {
    let HeaderBlock { stream, update, block, ends, frame } = head;
    let stream_flag = if ends { flag::END_STREAM } else { 0 };
    let (first, mut rest) = block.split_at(block.len().min(frame - update.len()));
    let last = if rest.is_empty() { flag::END_HEADERS } else { 0 };
    let length = update.len() + first.len();
    FrameHead { length, kind: kind::HEADERS, flags: stream_flag | last, stream }.write(out);
    out.push(update);
    out.push(first);
    while !rest.is_empty() {
        let (next, behind) = rest.split_at(rest.len().min(frame));
        let flags = if behind.is_empty() { flag::END_HEADERS } else { 0 };
        FrameHead { length: next.len(), kind: kind::CONTINUATION, flags, stream }.write(out);
        out.push(next);
        rest = behind;
    }
}

/// The stream to which bytes of a body are sent, and the limits.
struct Sender<'a> {
    stream: u32,
    frame: usize,
    connection: &'a mut SendWindow,
    window: &'a mut SendWindow,
}

impl Sender<'_> {
    /// Sends as much of `bytes` as the windows allow, of a body with `left` unsent bytes. Returns how much.
    fn send(&mut self, bytes: &[u8], left: usize, out: &mut Out) -> usize {
        let allowed = self.connection.available().min(self.window.available());
        let count = bytes.len().min(allowed);
        let mut sent = 0;
        for piece in bytes[..count].chunks(self.frame) {
            sent += piece.len();
            let flags = if sent == left { flag::END_STREAM } else { 0 };
            FrameHead { length: piece.len(), kind: kind::DATA, flags, stream: self.stream }.write(out);
            out.push(piece);
        }
        self.connection.take(count);
        self.window.take(count);
        count
    }
}
