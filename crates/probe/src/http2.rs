//! HTTP/2 with prior knowledge (RFC 9113) as a server: how requests are cut out of frames, and replies into them.
//!
//! Of a request only the digest of its path and body is kept, of a reply how far it is sent, so a stream takes a few
//! bytes whatever its size. Windows hold replies back; those of requests are widened as their bytes come. What the
//! protocol forbids ends the connection.

use weighbridge_load::h2::hpack::{Decoder, Soundness};

use crate::canned::{Canned, Key, UNKNOWN};
use crate::frames::{Frame, HEAD, PREFACE, flag, goaway, kind, setting};

/// Longest payload of a frame in either direction, the protocol's default.
const FRAME_LIMIT: usize = 16 * 1024;

/// Bytes of input within which every frame fits.
pub const INPUT: usize = HEAD + FRAME_LIMIT;

/// Most streams at once.
pub const STREAM_LIMIT: usize = 1024;

/// Longest header block.
const BLOCK_LIMIT: usize = 64 * 1024;

/// Size of the dynamic table that clients have, the protocol's default.
const TABLE_SIZE: usize = 4096;

/// Windows at the beginning, and the largest.
const INITIAL: i64 = 65_535;
const LARGEST: i64 = (1 << 31) - 1;

/// Windows are widened by so much at a time.
const CREDIT: u32 = 32 * 1024;

/// Frames are rendered until so many bytes wait to be written.
const OUTPUT_LIMIT: usize = 32 * 1024;

const PRIORITY_FLAG: u8 = 0x20;
const PROTOCOL_ERROR: u32 = 1;
const REFUSED_STREAM: u32 = 7;

/// The peer breaks the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault;

/// The state of a connection.
#[derive(Debug)]
pub struct Http2 {
    is_greeted: bool,
    hpack: Decoder,
    block: Option<HeaderBlock>,
    /// Those that are open, by their number.
    streams: Vec<Stream>,
    /// How many of them wait for their reply to be sent.
    replying: usize,
    /// The newest stream, and the newest that was answered.
    last: u32,
    answered: u32,
    window: i64,
    /// Windows of new streams.
    initial: i64,
    /// Bytes of bodies that no window was widened by yet.
    received: u32,
}

/// A header block that is not whole.
#[derive(Debug)]
struct HeaderBlock {
    stream: u32,
    ends_stream: bool,
    bytes: Vec<u8>,
}

#[derive(Debug)]
struct Stream {
    number: u32,
    key: Key,
    received: u32,
    window: i64,
    phase: StreamPhase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamPhase {
    /// Its request comes.
    Request,
    /// Its request is served.
    Served,
    /// The reply at this place is to be sent from here on, its head being sent or not.
    Reply { place: u32, is_headed: bool, sent: usize },
}

/// A request that came whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AskedStream {
    pub stream: u32,
    pub place: u32,
}

/// The head of a frame and what follows it.
struct ReceivedFrame<'a> {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &'a [u8],
}

impl Default for Http2 {
    /// The state of a new connection.
    fn default() -> Self {
        Self {
            is_greeted: false,
            hpack: Decoder::new(TABLE_SIZE),
            block: None,
            streams: Vec::new(),
            replying: 0,
            last: 0,
            answered: 0,
            window: INITIAL,
            initial: INITIAL,
            received: 0,
        }
    }
}

impl Http2 {
    /// Takes one frame, and says of how many bytes; `None` if it is not whole yet. Answers to it are appended to the output.
    pub fn step(
        &mut self,
        input: &[u8],
        output: &mut Vec<u8>,
        canned: &Canned,
    ) -> Result<Option<(usize, Option<AskedStream>)>, Fault> {
        if !self.is_greeted {
            return self.greet(input, output);
        }
        let Some((head, rest)) = input.split_first_chunk::<9>() else { return Ok(None) };
        let [l1, l2, l3, kind, flags, stream @ ..] = *head;
        let length = u32::from_be_bytes([0, l1, l2, l3]) as usize;
        if length > FRAME_LIMIT {
            return Err(Fault);
        }
        let Some(payload) = rest.get(..length) else { return Ok(None) };
        let stream = u32::from_be_bytes(stream) & LARGEST as u32;
        let ended = self.frame(ReceivedFrame { kind, flags, stream, payload }, output)?;
        let asked =
            ended.map(|(stream, key)| AskedStream { stream, place: canned.find(key).unwrap_or(UNKNOWN) });
        Ok(Some((HEAD + length, asked)))
    }

    fn greet(
        &mut self,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<Option<(usize, Option<AskedStream>)>, Fault> {
        let seen = input.len().min(PREFACE.len());
        if input[..seen] != PREFACE[..seen] {
            return Err(Fault);
        }
        if seen < PREFACE.len() {
            return Ok(None);
        }
        self.is_greeted = true;
        Frame::settings(&[(setting::MAX_CONCURRENT_STREAMS, STREAM_LIMIT as u32)]).encode(0, output);
        Ok(Some((seen, None)))
    }

    /// The stream whose request it ends, with what is asked.
    fn frame(&mut self, frame: ReceivedFrame<'_>, output: &mut Vec<u8>) -> Result<Option<(u32, Key)>, Fault> {
        let ReceivedFrame { kind, flags, stream, payload } = frame;
        let continues =
            self.block.as_ref().is_some_and(|block| kind == kind::CONTINUATION && block.stream == stream);
        if self.block.is_some() != continues {
            return Err(Fault);
        }
        let is_of_stream = matches!(
            kind,
            kind::DATA | kind::HEADERS | kind::PRIORITY | kind::RST_STREAM | kind::CONTINUATION
        );
        let is_of_connection = matches!(kind, kind::SETTINGS | kind::PING | kind::GOAWAY);
        if is_of_stream && stream == 0 || is_of_connection && stream != 0 {
            return Err(Fault);
        }
        match kind {
            kind::DATA => return self.data(&frame, output),
            kind::HEADERS => return self.headers(&frame, output),
            kind::CONTINUATION => return self.extend_block(payload, flags, output),
            kind::RST_STREAM if payload.len() == 4 && stream <= self.last => {
                self.close(stream);
            }
            kind::SETTINGS => self.settings(flags, payload, output)?,
            kind::PING if payload.len() == 8 && flags & flag::ACK == 0 => {
                Frame::new(kind::PING, flag::ACK, payload).on(0).encode(0, output);
            }
            kind::PING if payload.len() == 8 => {}
            kind::WINDOW_UPDATE => self.widen(stream, payload)?,
            kind::PRIORITY if payload.len() == 5 => {}
            kind::GOAWAY if payload.len() >= 8 => {}
            kind::PUSH_PROMISE | kind::RST_STREAM | kind::PING | kind::PRIORITY | kind::GOAWAY => {
                return Err(Fault);
            }
            // Kinds that came later are ignored.
            _ => {}
        }
        Ok(None)
    }

    fn data(&mut self, frame: &ReceivedFrame<'_>, output: &mut Vec<u8>) -> Result<Option<(u32, Key)>, Fault> {
        let length = frame.payload.len() as u32;
        self.received += length;
        widen_at(&mut self.received, 0, output);
        let body = unpadded(frame)?;
        let Some(at) = self.find(frame.stream) else {
            // Of a stream that was reset, more may be under way.
            return if frame.stream <= self.last { Ok(None) } else { Err(Fault) };
        };
        let stream = &mut self.streams[at];
        if stream.phase != StreamPhase::Request {
            return Err(Fault);
        }
        stream.key.add(body);
        if frame.flags & flag::END_STREAM != 0 {
            return Ok(Some(stream.ended()));
        }
        stream.received += length;
        widen_at(&mut stream.received, frame.stream, output);
        Ok(None)
    }

    fn headers(
        &mut self,
        frame: &ReceivedFrame<'_>,
        output: &mut Vec<u8>,
    ) -> Result<Option<(u32, Key)>, Fault> {
        let mut block = unpadded(frame)?;
        if frame.flags & PRIORITY_FLAG != 0 {
            block = block.get(5..).ok_or(Fault)?;
        }
        if frame.stream.is_multiple_of(2) {
            return Err(Fault);
        }
        let ends_stream = frame.flags & flag::END_STREAM != 0;
        if frame.flags & flag::END_HEADERS != 0 {
            return self.whole_block(frame.stream, ends_stream, block, output);
        }
        self.block = Some(HeaderBlock { stream: frame.stream, ends_stream, bytes: block.to_vec() });
        Ok(None)
    }

    fn extend_block(
        &mut self,
        payload: &[u8],
        flags: u8,
        output: &mut Vec<u8>,
    ) -> Result<Option<(u32, Key)>, Fault> {
        let mut block = self.block.take().ok_or(Fault)?;
        block.bytes.extend_from_slice(payload);
        if block.bytes.len() > BLOCK_LIMIT {
            return Err(Fault);
        }
        if flags & flag::END_HEADERS != 0 {
            return self.whole_block(block.stream, block.ends_stream, &block.bytes, output);
        }
        self.block = Some(block);
        Ok(None)
    }

    /// Opens a stream, or ends one with trailers.
    fn whole_block(
        &mut self,
        number: u32,
        ends_stream: bool,
        block: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<Option<(u32, Key)>, Fault> {
        // Read in any case: the table must stay in step.
        let soundness = self.hpack.decode(block).map_err(|_| Fault)?;
        if number <= self.last {
            let stream = self.find(number).map(|at| &mut self.streams[at]);
            return match stream {
                Some(stream) if ends_stream && stream.phase == StreamPhase::Request => {
                    Ok(Some(stream.ended()))
                }
                Some(_) => Err(Fault),
                None => Ok(None),
            };
        }
        self.last = number;
        let path = self.hpack.with_fields(|fields| {
            let path = fields.iter().find(|field| field.name == ":path")?;
            let end = path.value.iter().position(|byte| *byte == b'?').unwrap_or(path.value.len());
            Some(Key::of(&path.value[..end]))
        });
        let (Some(key), Soundness::Sound) = (path, soundness) else {
            reset(number, PROTOCOL_ERROR, output);
            return Ok(None);
        };
        if self.streams.len() == STREAM_LIMIT {
            reset(number, REFUSED_STREAM, output);
            return Ok(None);
        }
        let mut stream =
            Stream { number, key, received: 0, window: self.initial, phase: StreamPhase::Request };
        let ended = ends_stream.then(|| stream.ended());
        self.streams.push(stream);
        Ok(ended)
    }

    fn settings(&mut self, flags: u8, payload: &[u8], output: &mut Vec<u8>) -> Result<(), Fault> {
        if flags & flag::ACK != 0 {
            return if payload.is_empty() { Ok(()) } else { Err(Fault) };
        }
        let (values, []) = payload.as_chunks::<6>() else { return Err(Fault) };
        for [n1, n2, value @ ..] in values {
            if u16::from_be_bytes([*n1, *n2]) == setting::INITIAL_WINDOW_SIZE {
                let initial = i64::from(u32::from_be_bytes(*value));
                let change = initial - self.initial;
                self.initial = initial;
                self.streams.iter_mut().for_each(|stream| stream.window += change);
                if initial > LARGEST || self.streams.iter().any(|stream| stream.window > LARGEST) {
                    return Err(Fault);
                }
            }
        }
        Frame::new(kind::SETTINGS, flag::ACK, []).on(0).encode(0, output);
        Ok(())
    }

    fn widen(&mut self, number: u32, payload: &[u8]) -> Result<(), Fault> {
        let more = i64::from(u32::from_be_bytes(payload.try_into().map_err(|_| Fault)?)) & LARGEST;
        let window = match self.find(number) {
            _ if number == 0 => &mut self.window,
            Some(at) => &mut self.streams[at].window,
            None if number <= self.last => return Ok(()),
            None => return Err(Fault),
        };
        *window += more;
        if more == 0 || *window > LARGEST { Err(Fault) } else { Ok(()) }
    }

    fn find(&self, number: u32) -> Option<usize> {
        self.streams.binary_search_by_key(&number, |stream| stream.number).ok()
    }

    fn close(&mut self, number: u32) {
        if let Some(at) = self.find(number) {
            let closed = self.streams.remove(at);
            self.replying -= usize::from(matches!(closed.phase, StreamPhase::Reply { .. }));
        }
    }

    /// Answers a request, unless its stream was reset meanwhile.
    pub fn reply(&mut self, number: u32, place: u32, canned: &Canned, output: &mut Vec<u8>) {
        if let Some(at) = self.find(number) {
            self.streams[at].phase = StreamPhase::Reply { place, is_headed: false, sent: 0 };
            self.replying += 1;
            self.answered = self.answered.max(number);
            self.push_replies(canned, output);
        }
    }

    /// Appends as much of replies as windows and the room in the output allow.
    pub fn push_replies(&mut self, canned: &Canned, output: &mut Vec<u8>) {
        if self.replying == 0 {
            return;
        }
        for stream in &mut self.streams {
            stream.push_reply(&mut self.window, canned, output);
        }
        let before = self.streams.len();
        self.streams.retain(|stream| !stream.is_over(canned));
        self.replying -= before - self.streams.len();
    }

    /// Whether no reply waits to be sent.
    pub fn has_replied(&self) -> bool {
        self.replying == 0
    }

    /// Whether no stream and no frame is begun.
    pub fn is_idle(&self) -> bool {
        self.streams.is_empty() && self.block.is_none()
    }

    /// Says that no further stream is served.
    pub fn end(&mut self, output: &mut Vec<u8>) {
        goaway(self.answered, 0).encode(0, output);
    }

    /// Says what is wrong, and forgets all streams.
    pub fn break_off(&mut self, output: &mut Vec<u8>) {
        goaway(self.answered, PROTOCOL_ERROR).encode(0, output);
        self.streams.clear();
        (self.replying, self.block) = (0, None);
    }
}

impl Stream {
    /// Ends its request.
    fn ended(&mut self) -> (u32, Key) {
        self.phase = StreamPhase::Served;
        (self.number, self.key)
    }

    fn push_reply(&mut self, window: &mut i64, canned: &Canned, output: &mut Vec<u8>) {
        let StreamPhase::Reply { place, is_headed, sent } = &mut self.phase else { return };
        let reply = canned.reply(*place);
        let flags = |ends: bool| if ends { flag::END_STREAM } else { flag::NONE };
        let has_trailers = !reply.trailers.is_empty();
        if !*is_headed && output.len() < OUTPUT_LIMIT {
            let ends = reply.content.is_empty() && !has_trailers;
            push_head(
                output,
                reply.head.len(),
                [kind::HEADERS, flag::END_HEADERS | flags(ends)],
                self.number,
            );
            output.extend_from_slice(&reply.head);
            *is_headed = true;
        }
        while *is_headed && *sent < reply.content.len() && output.len() < OUTPUT_LIMIT {
            let allowed = (*window).min(self.window).clamp(0, FRAME_LIMIT as i64) as usize;
            let count = allowed.min(reply.content.len() - *sent);
            if count == 0 {
                return;
            }
            let piece = &reply.content[*sent..*sent + count];
            *sent += count;
            let ends = *sent == reply.content.len() && !has_trailers;
            push_head(output, count, [kind::DATA, flags(ends)], self.number);
            output.extend_from_slice(piece);
            *window -= count as i64;
            self.window -= count as i64;
        }
        if *is_headed && *sent == reply.content.len() && has_trailers {
            let flags = flag::END_HEADERS | flag::END_STREAM;
            push_head(output, reply.trailers.len(), [kind::HEADERS, flags], self.number);
            output.extend_from_slice(&reply.trailers);
        }
    }

    /// Whether all of its reply was rendered.
    fn is_over(&self, canned: &Canned) -> bool {
        let StreamPhase::Reply { place, is_headed, sent } = self.phase else { return false };
        is_headed && sent == canned.reply(place).content.len()
    }
}

/// Appends the head of a frame of this kind and these flags.
fn push_head(output: &mut Vec<u8>, length: usize, [kind, flags]: [u8; 2], stream: u32) {
    output.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
    output.extend_from_slice(&[kind, flags]);
    output.extend_from_slice(&stream.to_be_bytes());
}

fn reset(stream: u32, code: u32, output: &mut Vec<u8>) {
    Frame::reset(code).on(stream).encode(0, output);
}

/// Widens a window by what was received, once that is worth a frame.
fn widen_at(received: &mut u32, stream: u32, output: &mut Vec<u8>) {
    if *received >= CREDIT {
        push_head(output, 4, [kind::WINDOW_UPDATE, flag::NONE], stream);
        output.extend_from_slice(&received.to_be_bytes());
        *received = 0;
    }
}

/// The payload without its padding.
fn unpadded<'a>(frame: &ReceivedFrame<'a>) -> Result<&'a [u8], Fault> {
    if frame.flags & flag::PADDED == 0 {
        return Ok(frame.payload);
    }
    let (&padding, rest) = frame.payload.split_first().ok_or(Fault)?;
    let length = rest.len().checked_sub(padding.into()).ok_or(Fault)?;
    Ok(&rest[..length])
}
