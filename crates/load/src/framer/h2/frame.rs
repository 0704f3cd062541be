//! Frames (RFC 9113, sections 4 and 6): their heads read and written, and the few whole frames a client sends.
//!
//! It knows layouts and limits of single frames, not whether a frame may come now.

use crate::framer::Out;

/// What a client sends first (RFC 9113, section 3.4); its SETTINGS frame follows.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Bytes of a frame's head.
pub(super) const HEAD: usize = 9;

/// Longest payload that either side accepts by default, in bytes. We never change it.
pub(super) const FRAME_LIMIT: usize = 16 * 1024;

/// The largest window and stream id.
pub(super) const LARGEST: u32 = (1 << 31) - 1;

/// Kinds of frames.
pub(super) mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub(super) mod flag {
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

/// Identifiers of settings.
pub(super) mod setting {
    pub const HEADER_TABLE_SIZE: u16 = 1;
    pub const ENABLE_PUSH: u16 = 2;
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
    pub const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// Why a stream is reset, as reported to the peer (RFC 9113, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    /// The reply is over and the rest of the request is not needed.
    NoError = 0,
    /// The reply breaks the protocol.
    Protocol = 1,
    /// The peer sent more than its window, or made ours larger than a window can be.
    FlowControl = 3,
    /// The request was cancelled.
    Cancel = 8,
}

/// The peer broke the protocol in a way that ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHead {
    /// Bytes of payload.
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    /// The stream, 0 for the connection.
    pub stream: u32,
}

impl FrameHead {
    /// The head at the beginning of `bytes`; `None` if it is incomplete.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let [a, b, c, kind, flags, s, t, u, v] = *bytes.first_chunk::<HEAD>()?;
        Some(Self {
            length: usize::from(a) << 16 | usize::from(b) << 8 | usize::from(c),
            kind,
            flags,
            stream: u32::from_be_bytes([s & 0x7f, t, u, v]),
        })
    }

    /// Appends the head.
    pub fn write(self, out: &mut Out) {
        let [_, a, b, c] = (self.length as u32).to_be_bytes();
        let [s, t, u, v] = self.stream.to_be_bytes();
        out.push(&[a, b, c, self.kind, self.flags, s, t, u, v]);
    }

    /// Whether a flag is set.
    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Four bytes as a big-endian number.
pub(super) fn number(bytes: &[u8]) -> Result<u32, Fault> {
    bytes.try_into().map(u32::from_be_bytes).map_err(|_| Fault)
}

/// A payload without its padding length and padding.
pub(super) fn without_padding(head: FrameHead, payload: &[u8]) -> Result<&[u8], Fault> {
    if !head.has(flag::PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) = payload.split_first().ok_or(Fault)?;
    let length = rest.len().checked_sub(usize::from(padding)).ok_or(Fault)?;
    Ok(&rest[..length])
}

/// The header block in the payload of a HEADERS frame.
pub(super) fn block_of(head: FrameHead, payload: &[u8]) -> Result<&[u8], Fault> {
    let block = without_padding(head, payload)?;
    if head.has(flag::PRIORITY) { block.get(5..).ok_or(Fault) } else { Ok(block) }
}

/// Appends the preface: the fixed bytes, our settings, and a larger window for the connection.
pub(super) fn preface(out: &mut Out, settings: &[(u16, u32)], window_increment: u32) {
    out.push(PREFACE);
    FrameHead { length: settings.len() * 6, kind: kind::SETTINGS, flags: 0, stream: 0 }.write(out);
    for (identifier, value) in settings {
        out.push(&identifier.to_be_bytes());
        out.push(&value.to_be_bytes());
    }
    if window_increment > 0 {
        window_update(out, 0, window_increment);
    }
}

/// Appends a WINDOW_UPDATE for a stream, or for the connection (0).
pub(super) fn window_update(out: &mut Out, stream: u32, increment: u32) {
    FrameHead { length: 4, kind: kind::WINDOW_UPDATE, flags: 0, stream }.write(out);
    out.push(&increment.to_be_bytes());
}

/// Appends a RST_STREAM.
pub(super) fn reset_stream(out: &mut Out, stream: u32, code: Code) {
    FrameHead { length: 4, kind: kind::RST_STREAM, flags: 0, stream }.write(out);
    out.push(&(code as u32).to_be_bytes());
}

/// Appends the acknowledgement of a SETTINGS or PING frame.
pub(super) fn acknowledge(out: &mut Out, kind: u8, payload: &[u8]) {
    FrameHead { length: payload.len(), kind, flags: flag::ACK, stream: 0 }.write(out);
    out.push(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_comes_back_without_the_reserved_bit() {
        let head = FrameHead { length: 0x01_0203, kind: kind::DATA, flags: 9, stream: LARGEST };
        let mut out = Out::default();
        head.write(&mut out);
        assert_eq!(out.pending(), [1, 2, 3, 0, 9, 0x7f, 0xff, 0xff, 0xff]);
        let mut bytes = out.pending().to_vec();
        bytes[5] |= 0x80;
        assert_eq!(FrameHead::read(&bytes), Some(head));
        assert_eq!(FrameHead::read(&bytes[..8]), None);
    }

    #[test]
    fn padding_and_priority_are_taken_off_and_must_fit() {
        let head = |flags| FrameHead { length: 0, kind: kind::HEADERS, flags, stream: 1 };
        let both = head(flag::PADDED | flag::PRIORITY);
        assert_eq!(block_of(both, &[2, 0, 0, 0, 0, 9, 7, 8, 0, 0]), Ok(&[7, 8][..]));
        assert_eq!(block_of(both, &[2, 0, 0, 0, 0, 9, 0]), Err(Fault), "no room for the priority");
        assert_eq!(block_of(head(flag::PADDED), &[3, 1, 2]), Err(Fault), "more padding than payload");
        assert_eq!(block_of(head(flag::PADDED), &[2, 1, 2]), Ok(&[][..]));
        assert_eq!(block_of(head(flag::PADDED), &[]), Err(Fault));
    }
}
