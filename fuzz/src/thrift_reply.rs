//! Thrift's replies as the generator reads them. The events are the same however the bytes are cut; every call ends once, and
//! no more is told than was sent.
//!
//! The first three bytes choose the envelope, how many calls are outstanding (two bits), the end of the connection, and the
//! lengths of the pieces; the rest is what the peer sends.

use weighbridge_load::request::Rendered;
use weighbridge_load::thrift::{Envelope, Thrift, call};
use weighbridge_model::id::OperationId;

use super::commands::{Seen, read_however_cut, told};

/// Bits of the first byte; the two lowest are how many calls there are.
const COMPACT: u8 = 4;
const EOF: u8 = 64;

/// Reads all but the first three bytes of `data` as replies.
pub fn check(data: &[u8]) {
    let [flags, one, other, bytes @ ..] = data else { return };
    let envelope = if flags & COMPACT == 0 { Envelope::Binary } else { Envelope::Compact };
    let calls: Vec<Rendered> =
        (0..flags & 3).map(|_| call(envelope, OperationId(0), "getPerson", b"\0")).collect();
    let ends = flags & EOF != 0;
    let seen = read_however_cut(|| Thrift::new(envelope), &calls, bytes, ([*one, *other], ends));
    assert!(told(&seen) <= bytes.len(), "more is told than was sent");
    for event in &seen {
        if let Seen::Head(_, status) = event {
            assert!(matches!(status, 200 | 500), "{seen:?}");
        }
    }
}
