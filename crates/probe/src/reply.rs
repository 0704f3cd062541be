//! The reply to a request, and its bytes; the crate's documentation has the table.
//!
//! All methods are treated alike, except that a reply to HEAD has no body. Nothing is written here, and replies under
//! the law are rendered without allocation.

use std::io::IoSlice;
use std::ops::RangeInclusive;

use weighbridge_model::quantity::Bytes;

use crate::canned::Canned;
use crate::request::{Persistence, Refusal, decimal};

/// The sizes that `GET /pong/{n}` answers, in bytes: at least the length of the word `pong`, and at most a limit.
pub const PONG_SIZES: RangeInclusive<u64> = 4..=1 << 30;

/// The body of any other path.
pub const OK_BODY: &[u8] = b"ok\n";

/// The meaning of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// A pong of this many bytes.
    Pong(Bytes),
    /// A pong of invalid size.
    WrongPong,
    /// `GET /version`.
    Version,
    /// `GET /probe/summary`.
    Summary,
    /// `GET /probe/record`.
    Record,
    /// The canned reply at this place.
    Canned(u32),
    /// Anything else.
    Ok,
}

impl Route {
    /// The route of a path, its query included.
    pub fn of(target: &[u8]) -> Self {
        let path = path(target);
        if let Some(size) = path.strip_prefix(b"/pong/") {
            return match decimal(size) {
                Some(size) if PONG_SIZES.contains(&size) => Self::Pong(Bytes::new(size)),
                _ => Self::WrongPong,
            };
        }
        match path {
            b"/version" => Self::Version,
            b"/probe/summary" => Self::Summary,
            b"/probe/record" => Self::Record,
            _ => Self::Ok,
        }
    }

    /// The size of the body if the law applies to this route, else `None`.
    pub fn size_under_law(self, canned: &Canned) -> Option<Bytes> {
        match self {
            Self::Pong(size) => Some(size),
            Self::Canned(place) => Some(Bytes::new(canned.reply(place).content.len() as u64)),
            Self::Ok => Some(Bytes::new(OK_BODY.len() as u64)),
            Self::WrongPong | Self::Version | Self::Summary | Self::Record => None,
        }
    }
}

/// A target without its query.
pub fn path(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|&byte| byte == b'?').unwrap_or(target.len());
    &target[..end]
}

/// Status line and type of a reply, up to the value of its `Content-Length`.
#[derive(Debug, Clone, Copy)]
pub struct Start(&'static [u8]);

macro_rules! start {
    ($status:literal, $content:literal) => {
        Start(
            concat!("HTTP/1.1 ", $status, "\r\nContent-Type: ", $content, "\r\nContent-Length: ").as_bytes(),
        )
    };
}

impl Start {
    /// 200, plain text.
    pub const TEXT: Self = start!("200 OK", "text/plain");
    /// 200, JSON.
    pub const JSON: Self = start!("200 OK", "application/json");
    /// 200, CSV.
    pub const CSV: Self = start!("200 OK", "text/csv");
    /// 400, JSON.
    pub const BAD_REQUEST: Self = start!("400 Bad Request", "application/json");

    /// The start of the reply to an invalid request.
    pub const fn of_refusal(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Malformed => Self::BAD_REQUEST,
            Refusal::HeadTooLong => start!("431 Request Header Fields Too Large", "application/json"),
            Refusal::TransferCoding => start!("501 Not Implemented", "application/json"),
            Refusal::Version => start!("505 HTTP Version Not Supported", "application/json"),
        }
    }
}

/// The interim reply that asks for a body.
pub const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Appends a reply's head.
pub fn push_head(output: &mut Vec<u8>, start: Start, length: u64, persistence: Persistence) {
    output.extend_from_slice(start.0);
    push_decimal(output, length);
    push_head_end(output, persistence);
}

/// Appends what follows the `Content-Length` of a reply's head.
pub fn push_head_end(output: &mut Vec<u8>, persistence: Persistence) {
    output.extend_from_slice(match persistence {
        Persistence::Keep => b"\r\n\r\n".as_slice(),
        Persistence::KeepAnnounced => b"\r\nConnection: keep-alive\r\n\r\n",
        Persistence::Close => b"\r\nConnection: close\r\n\r\n",
    });
}

fn push_decimal(output: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0_u8; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    output.extend_from_slice(&digits[first..]);
}

/// `{"error":"…"}` and a line end. Messages contain neither quotes nor backslashes.
pub fn error_json(message: &impl std::fmt::Display) -> String {
    format!("{{\"error\":\"{message}\"}}\n")
}

/// The message for a pong of invalid size.
pub fn wrong_pong_message() -> String {
    let (low, high) = (PONG_SIZES.start(), PONG_SIZES.end());
    format!("`n` of `/pong/n` must be a whole number from {low} to {high}")
}

const TAIL_LENGTH: usize = 64 * 1024;

/// `oo…ong`: every pong except its `p` consists of the end of this and its repeated `o`s.
static TAIL: [u8; TAIL_LENGTH] = {
    let mut tail = [b'o'; TAIL_LENGTH];
    tail[TAIL_LENGTH - 2] = b'n';
    tail[TAIL_LENGTH - 1] = b'g';
    tail
};

/// The next piece of a pong of which the last `rest` bytes are missing; empty if there is none.
pub fn pong_piece(rest: u64) -> &'static [u8] {
    match usize::try_from(rest) {
        Ok(rest) if rest <= TAIL_LENGTH => &TAIL[TAIL_LENGTH - rest..],
        // At least one `o` is left for the last piece.
        _ => &TAIL[..TAIL_LENGTH - 2],
    }
}

/// Fills `slices` with the next pieces of a pong and returns how many there are.
pub fn pong_slices<'a>(mut rest: u64, slices: &mut [IoSlice<'a>]) -> usize {
    let mut count = 0;
    for slice in slices {
        let piece = pong_piece(rest);
        if piece.is_empty() {
            break;
        }
        *slice = IoSlice::new(piece);
        rest -= piece.len() as u64;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_their_routes() {
        for (path, route) in [
            ("/pong/4", Route::Pong(Bytes::new(4))),
            ("/pong/1073741824?x=/pong/5", Route::Pong(Bytes::new(1 << 30))),
            ("/pong/3", Route::WrongPong),
            ("/pong/1073741825", Route::WrongPong),
            ("/pong/", Route::WrongPong),
            ("/pong/5x", Route::WrongPong),
            ("/pong/-5", Route::WrongPong),
            ("/pong/99999999999999999999999", Route::WrongPong),
            ("/version", Route::Version),
            ("/probe/summary", Route::Summary),
            ("/probe/record", Route::Record),
            ("/", Route::Ok),
            ("/pong", Route::Ok),
            ("*", Route::Ok),
        ] {
            assert_eq!(Route::of(path.as_bytes()), route, "{path}");
        }
    }

    #[test]
    fn the_pieces_of_a_pong_make_the_whole() {
        let tail = TAIL_LENGTH as u64;
        let word = [vec![b'o'; 1_100_000], b"ng".to_vec()].concat();
        for rest in
            [0, 1, 2, 3, 4, 100, tail - 1, tail, tail + 1, tail + 2, 2 * tail - 2, 2 * tail, 1_000_003]
        {
            let (mut left, mut whole) = (rest, Vec::new());
            while left > 0 {
                let mut slices = [IoSlice::new(&[]); 3];
                let count = pong_slices(left, &mut slices);
                for slice in &slices[..count] {
                    whole.extend_from_slice(slice);
                    left -= slice.len() as u64;
                }
            }
            let expected = &word[word.len() - rest as usize..];
            assert!(whole == expected, "rest {rest}: {} bytes", whole.len());
        }
    }

    #[test]
    fn a_head_announces_length_and_persistence() {
        for (length, persistence, expected) in [
            (0, Persistence::Keep, "Content-Length: 0\r\n\r\n"),
            (10, Persistence::KeepAnnounced, "Content-Length: 10\r\nConnection: keep-alive\r\n\r\n"),
            (
                u64::MAX,
                Persistence::Close,
                "Content-Length: 18446744073709551615\r\nConnection: close\r\n\r\n",
            ),
        ] {
            let mut output = Vec::new();
            push_head(&mut output, Start::TEXT, length, persistence);
            let text = String::from_utf8(output).unwrap();
            assert_eq!(text, format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n{expected}"));
        }
    }
}
