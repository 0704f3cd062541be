//! HTTP/2 frames written and read by hand, for the rows about what no library would send.
//!
//! It keeps no state and decodes no head.

use super::client::Connection;

pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const ACK: u8 = 0x1;
pub(super) const END_STREAM: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITY: u8 = 0x20;

/// Head of `GET /pong/5` in HPACK without its dynamic table: two indexed fields, two literals with indexed
/// names (RFC 7541, 6.1 and 6.2.2).
pub(super) const HEAD_OF_PONG: &[u8] = b"\x82\x86\x04\x07/pong/5\x01\x09localhost";

/// A frame as in RFC 9113, 4.1.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A received frame.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

/// Reads the next frame.
pub(super) fn read_frame(connection: &mut Connection) -> Result<Frame, String> {
    let deadline = connection.limits().for_reply(0);
    let head = connection.body(9, deadline).map_err(|error| error.to_string())?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]) & (u32::MAX >> 1);
    let payload = connection.body(length, deadline).map_err(|error| error.to_string())?;
    Ok(Frame { kind: head[3], flags: head[4], stream, payload })
}

/// Whether these frames include a GOAWAY.
pub(super) fn went_away(mut bytes: &[u8]) -> bool {
    while let [a, b, c, kind, rest @ ..] = bytes {
        if *kind == GOAWAY {
            return true;
        }
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        bytes = rest.get(5 + length..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_has_the_layout_of_the_standard() {
        // RFC 9113, 4.1: length in three bytes, type, flags, stream in four, payload.
        assert_eq!(frame(PING, ACK, 0, b"weighing"), b"\0\0\x08\x06\x01\0\0\0\0weighing");
        assert_eq!(frame(DATA, END_STREAM, 0x0102_0304, &[]), [0, 0, 0, 0, 1, 1, 2, 3, 4]);
    }

    #[test]
    fn goaway_is_found_behind_whole_frames_only() {
        let settings = frame(SETTINGS, 0, 0, &[GOAWAY; 12]);
        let goaway = frame(GOAWAY, 0, 0, &[0; 8]);
        assert!(went_away(&[settings.clone(), goaway].concat()));
        assert!(!went_away(&settings));
        assert!(!went_away(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    }
}
