//! The open streams of a connection: a slab, with a table from stream id to slab index.
//!
//! The table is open-addressed. Ids rise by two, so streams opened one after another are neighbours in the table and
//! nearly every lookup takes one step. It knows nothing of frames.

use super::flow::{ReceiveWindow, SendWindow};
use super::message::Messages;

/// How much of a reply's body is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// The head did not say.
    Unstated,
    /// This many bytes.
    Left(u64),
}

/// How much of a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Its head has not come.
    Head,
    /// Its body or its trailers are next.
    Body(Length),
}

/// The part of a request's body that is not sent yet. Its memory is kept for the next stream at the same index.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    bytes: Vec<u8>,
    /// How much of it was sent.
    at: usize,
    /// How much of it may be sent before the next reply message comes.
    until: usize,
}

/// Bytes of a body's copy for which an index keeps memory.
const KEPT: usize = 256 * 1024;

/// One open stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub stream: u32,
    /// The loop's id of its request.
    pub id: u64,
    pub stage: Stage,
    /// Shape of the reply.
    pub shape: crate::framer::request::ReplyShape,
    /// The status of its head.
    pub status: u16,
    pub send: SendWindow,
    pub receive: ReceiveWindow,
    pub unsent: Unsent,
    pub messages: Messages,
}

/// A place in the slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SlabIndex(u32);

/// An entry of the table: a stream's id, 0 for none, and its slab index.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    stream: u32,
    slot: u32,
}

/// The open streams.
#[derive(Debug, Default)]
pub(super) struct Streams {
    slab: Vec<Stream>,
    free: Vec<u32>,
    /// At least twice as many entries as the slab, a power of two.
    table: Vec<Bucket>,
}

impl Unsent {
    /// Keeps a copy of `bytes`, of which `until` may be sent.
    pub fn keep(&mut self, bytes: &[u8], until: usize) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        (self.at, self.until) = (0, until);
    }

    /// What may be sent now, apart from flow control.
    pub fn ready(&self) -> &[u8] {
        &self.bytes[self.at..self.until]
    }

    /// Whether everything was sent.
    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Bytes not sent, allowed or not.
    pub fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Notes that `count` of the ready bytes were sent.
    pub fn sent(&mut self, count: usize) {
        self.at += count;
        if self.is_empty() {
            self.clear();
        }
    }

    /// Allows sending the next message; its prefix gives its length.
    pub fn allow_message(&mut self) {
        let rest = &self.bytes[self.until..];
        if let Some([_, length @ ..]) = rest.first_chunk::<5>() {
            let length = u32::from_be_bytes(*length) as usize;
            self.until += rest.len().min(5 + length);
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(KEPT);
        (self.at, self.until) = (0, 0);
    }
}

impl Streams {
    /// Number of open streams.
    pub fn open(&self) -> u32 {
        (self.slab.len() - self.free.len()) as u32
    }

    /// Opens a stream. It must not be open.
    pub fn insert(
        &mut self,
        stream: u32,
        id: u64,
        shape: crate::framer::request::ReplyShape,
        window: u32,
    ) -> SlabIndex {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slab.push(Stream::new());
                self.grow();
                self.slab.len() as u32 - 1
            }
        };
        let place = &mut self.slab[slot as usize];
        (place.stream, place.id, place.shape) = (stream, id, shape);
        (place.stage, place.status) = (Stage::Head, 0);
        (place.send, place.receive) = (SendWindow::new(window), ReceiveWindow::new());
        place.messages = Messages::None;
        self.place(stream, slot);
        SlabIndex(slot)
    }

    /// The slot of an open stream.
    pub fn find(&self, stream: u32) -> Option<SlabIndex> {
        let mask = self.table.len().checked_sub(1)?;
        let mut at = home(stream) & mask;
        loop {
            match self.table[at] {
                Bucket { stream: 0, .. } => return None,
                bucket if bucket.stream == stream => return Some(SlabIndex(bucket.slot)),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The slot of the open stream that carries the request `id`. Searches all of them.
    pub fn find_request(&self, id: u64) -> Option<SlabIndex> {
        self.slots().find(|slot| self.get(*slot).id == id)
    }

    /// The slots of all open streams.
    pub fn slots(&self) -> impl Iterator<Item = SlabIndex> {
        (0..self.places()).filter_map(|place| self.at(place))
    }

    /// Size of the slab, for loops during which streams close.
    pub fn places(&self) -> u32 {
        self.slab.len() as u32
    }

    /// The slot at an index, if a stream is open there.
    pub fn at(&self, place: u32) -> Option<SlabIndex> {
        (self.slab[place as usize].stream != 0).then_some(SlabIndex(place))
    }

    pub fn get(&self, slot: SlabIndex) -> &Stream {
        &self.slab[slot.0 as usize]
    }

    pub fn get_mut(&mut self, slot: SlabIndex) -> &mut Stream {
        &mut self.slab[slot.0 as usize]
    }

    /// Closes a stream.
    pub fn remove(&mut self, slot: SlabIndex) {
        let stream = &mut self.slab[slot.0 as usize];
        stream.unsent.clear();
        let id = std::mem::take(&mut stream.stream);
        self.unplace(id);
        self.free.push(slot.0);
    }

    /// Closes all streams, keeping the memory.
    pub fn clear(&mut self) {
        self.free.clear();
        for (stream, slot) in self.slab.iter_mut().zip(0..) {
            stream.stream = 0;
            stream.unsent.clear();
            self.free.push(slot);
        }
        self.table.fill(Bucket::default());
    }

    /// Keeps the table at most half full.
    fn grow(&mut self) {
        if self.slab.len() * 2 <= self.table.len() {
            return;
        }
        let size = (self.slab.len() * 2).next_power_of_two().max(8);
        self.table = vec![Bucket::default(); size];
        for slot in 0..self.slab.len() {
            if self.slab[slot].stream != 0 {
                self.place(self.slab[slot].stream, slot as u32);
            }
        }
    }

    fn place(&mut self, stream: u32, slot: u32) {
        let mask = self.table.len() - 1;
        let mut at = home(stream) & mask;
        while self.table[at].stream != 0 {
            at = (at + 1) & mask;
        }
        self.table[at] = Bucket { stream, slot };
    }

    /// Empties the entry of a stream and moves back entries that it had displaced.
    fn unplace(&mut self, stream: u32) {
        let mask = self.table.len() - 1;
        let mut hole = home(stream) & mask;
        while self.table[hole].stream != stream {
            hole = (hole + 1) & mask;
        }
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let next = self.table[at];
            if next.stream == 0 {
                break;
            }
            // Distances modulo the table size: an entry may move to the hole if the hole is not before its home.
            let from_home = at.wrapping_sub(home(next.stream)) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                self.table[hole] = next;
                hole = at;
            }
        }
        self.table[hole] = Bucket::default();
    }
}

impl Stream {
    fn new() -> Self {
        Self {
            stream: 0,
            id: 0,
            stage: Stage::Head,
            shape: crate::framer::request::ReplyShape::Normal,
            status: 0,
            send: SendWindow::new(0),
            receive: ReceiveWindow::new(),
            unsent: Unsent::default(),
            messages: Messages::None,
        }
    }
}

/// The entry of a stream in an infinite table.
fn home(stream: u32) -> usize {
    (stream >> 1) as usize
}

/// Streams that we gave up and whose frames may still be on their way.
#[derive(Debug, Default)]
pub(super) struct AbandonedStreams {
    recent: [u32; 16],
    next: usize,
    /// The largest that is no longer among the recent ones. Frames of streams up to it are ignored too.
    before: u32,
}

impl AbandonedStreams {
    /// Remembers a stream.
    pub fn add(&mut self, stream: u32) {
        let place = &mut self.recent[self.next];
        self.before = self.before.max(*place);
        *place = stream;
        self.next = (self.next + 1) % self.recent.len();
    }

    /// Whether frames for a stream that is not open are to be ignored.
    pub fn ignores(&self, stream: u32) -> bool {
        stream <= self.before || self.recent.contains(&stream)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::framer::request::ReplyShape;

    proptest! {
        /// Against a map: streams open in the order of their ids and close in any order.
        #[test]
        fn every_open_stream_is_found_and_no_other(closes in prop::collection::vec(0usize..20, 1..300)) {
            let (mut streams, mut known) = (Streams::default(), BTreeMap::new());
            for (step, close) in closes.into_iter().enumerate() {
                let stream = 2 * step as u32 + 1;
                let slot = streams.insert(stream, u64::from(stream) * 7, ReplyShape::Normal, 0);
                known.insert(stream, slot);
                if known.len() > close {
                    let (&stream, &slot) = known.iter().nth(close).expect("that many");
                    streams.remove(slot);
                    known.remove(&stream);
                }
                prop_assert_eq!(streams.open() as usize, known.len());
                for stream in 0..=stream + 2 {
                    prop_assert_eq!(streams.find(stream), known.get(&stream).copied());
                }
                for (stream, slot) in &known {
                    prop_assert_eq!(streams.get(*slot).stream, *stream);
                    prop_assert_eq!(streams.find_request(u64::from(*stream) * 7), Some(*slot));
                }
            }
            streams.clear();
            prop_assert_eq!((streams.open(), streams.slots().count(), streams.find(1)), (0, 0, None));
        }
    }

    #[test]
    fn alternating_messages_are_allowed_one_by_one() {
        let mut unsent = Unsent::default();
        unsent.keep(b"\0\0\0\0\x02ab\0\0\0\0\0\0\0\0\0\x01c", 7);
        assert_eq!(unsent.ready(), b"\0\0\0\0\x02ab");
        unsent.sent(7);
        assert!(unsent.ready().is_empty() && !unsent.is_empty());
        unsent.allow_message();
        assert_eq!(unsent.ready(), b"\0\0\0\0\0");
        unsent.allow_message();
        unsent.allow_message();
        assert_eq!(unsent.ready(), b"\0\0\0\0\0\0\0\0\0\x01c");
        unsent.sent(11);
        assert!(unsent.is_empty());
    }

    #[test]
    fn abandoned_streams_are_remembered() {
        let mut abandoned = AbandonedStreams::default();
        for stream in (11..200).step_by(10) {
            abandoned.add(stream);
        }
        assert!((11..200).step_by(10).all(|stream| abandoned.ignores(stream)));
        assert!(!abandoned.ignores(199) && !abandoned.ignores(185));
    }
}
