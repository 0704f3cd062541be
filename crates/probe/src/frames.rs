//! HTTP/2 frames as bytes (RFC 9113), and header blocks without a table (RFC 7541), valid or not as the case needs.
//!
//! It checks nothing: a frame may deliberately contradict itself.

/// Frame types.
pub mod kind {
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

/// Frame flags.
pub mod flag {
    pub const NONE: u8 = 0;
    pub const ACK: u8 = 1;
    pub const END_STREAM: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
}

/// Settings.
pub mod setting {
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
}

/// What every client sends first.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// `:status: 200`, from the static table.
pub const STATUS_200: &[u8] = &[0x88];

/// Bytes of a frame before its payload.
pub const HEAD: usize = 9;

/// Which stream a frame is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// The stream of the last request.
    Request,
    /// This stream, or 0 for the connection.
    Fixed(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub on: On,
    /// The length stated in its head; by default the payload's.
    pub length: Option<u32>,
    pub payload: Vec<u8>,
}

impl Frame {
    /// A frame on the stream of the last request.
    pub fn new(kind: u8, flags: u8, payload: impl Into<Vec<u8>>) -> Self {
        Self { kind, flags, on: On::Request, length: None, payload: payload.into() }
    }

    /// The same frame on that stream; 0 is the connection.
    pub fn on(self, stream: u32) -> Self {
        Self { on: On::Fixed(stream), ..self }
    }

    /// The same frame with this length in its head.
    pub fn telling(self, length: u32) -> Self {
        Self { length: Some(length), ..self }
    }

    /// SETTINGS with these values.
    pub fn settings(values: &[(u16, u32)]) -> Self {
        let payload =
            values.iter().flat_map(|(name, value)| name.to_be_bytes().into_iter().chain(value.to_be_bytes()));
        Self::new(kind::SETTINGS, flag::NONE, payload.collect::<Vec<u8>>()).on(0)
    }

    /// HEADERS with a whole block of status 200 and these fields, to be followed by data.
    pub fn head(fields: &[(&str, &str)]) -> Self {
        Self::new(kind::HEADERS, flag::END_HEADERS, block(200, fields))
    }

    /// The last DATA of a stream.
    pub fn last(bytes: &[u8]) -> Self {
        Self::new(kind::DATA, flag::END_STREAM, bytes)
    }

    /// DATA, to be followed by more.
    pub fn data(bytes: &[u8]) -> Self {
        Self::new(kind::DATA, flag::NONE, bytes)
    }

    /// WINDOW_UPDATE.
    pub fn window(on: On, increment: u32) -> Self {
        Self { on, ..Self::new(kind::WINDOW_UPDATE, flag::NONE, increment.to_be_bytes()) }
    }

    /// RST_STREAM.
    pub fn reset(code: u32) -> Self {
        Self::new(kind::RST_STREAM, flag::NONE, code.to_be_bytes())
    }

    /// Its bytes, if the last request came on `stream`.
    pub fn encode(&self, stream: u32, out: &mut Vec<u8>) {
        let length = self.length.unwrap_or(self.payload.len() as u32);
        out.extend_from_slice(&length.to_be_bytes()[1..]);
        out.extend_from_slice(&[self.kind, self.flags]);
        let on = match self.on {
            On::Request => stream,
            On::Fixed(fixed) => fixed,
        };
        out.extend_from_slice(&on.to_be_bytes());
        out.extend_from_slice(&self.payload);
    }
}

/// GOAWAY that announces replies up to `last`.
pub fn goaway(last: u32, code: u32) -> Frame {
    Frame::new(kind::GOAWAY, flag::NONE, [last.to_be_bytes(), code.to_be_bytes()].concat()).on(0)
}

/// A header block of a status and fields, all literal and without indexing.
pub fn block(status: u16, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = match status {
        200 => STATUS_200.to_vec(),
        // A literal value with the static table's name 8, `:status`.
        status => [&[0x08, 3][..], status.to_string().as_bytes()].concat(),
    };
    for (name, value) in fields {
        literal(name, value, &mut block);
    }
    block
}

/// A block of fields only, as in trailers.
pub fn trailers(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        literal(name, value, &mut block);
    }
    block
}

/// Appends a literal field without indexing (RFC 7541, section 6.2.2).
pub fn literal(name: &str, value: &str, block: &mut Vec<u8>) {
    block.push(0);
    for text in [name, value] {
        length(text.len(), block);
        block.extend_from_slice(text.as_bytes());
    }
}

/// Appends a string's length, 7 bits and no Huffman code (RFC 7541, section 5.1).
fn length(value: usize, block: &mut Vec<u8>) {
    if value < 127 {
        return block.push(value as u8);
    }
    block.push(127);
    let mut rest = value - 127;
    while rest >= 128 {
        block.push((rest % 128 + 128) as u8);
        rest /= 128;
    }
    block.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(frame: &Frame) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame.encode(5, &mut bytes);
        bytes
    }

    #[test]
    fn frames_are_encoded_as_in_rfc_9113() {
        assert_eq!(bytes(&Frame::last(b"hi")), b"\0\0\x02\x00\x01\0\0\0\x05hi");
        assert_eq!(bytes(&Frame::settings(&[(4, 1)])), b"\0\0\x06\x04\x00\0\0\0\0\0\x04\0\0\0\x01");
        assert_eq!(bytes(&Frame::data(b"x").telling(0x01_02_03).on(7)), b"\x01\x02\x03\0\0\0\0\0\x07x");
        assert_eq!(bytes(&goaway(3, 11))[9..], [0, 0, 0, 3, 0, 0, 0, 11]);
    }

    #[test]
    fn header_blocks_are_encoded_as_in_rfc_7541() {
        assert_eq!(block(200, &[("a", "b")]), b"\x88\0\x01a\x01b");
        assert_eq!(block(404, &[]), b"\x08\x03404");
        // Section 6.2.2 with lengths of section 5.1: 127 and 1337 in a prefix of 7 bits.
        let long = "x".repeat(1337);
        let trailers = trailers(&[("a", &long[..127]), ("a", &long)]);
        assert_eq!(trailers[..5], [0, 1, b'a', 127, 0]);
        assert_eq!(trailers[5 + 127..][..6], [0, 1, b'a', 127, 0b1011_1010, 0b0000_1001]);
    }
}
