//! Redis' replies as the generator reads them. The events are the same however the bytes are cut; every request ends
//! once, no more than one line is kept back, and no more is told than was sent.
//!
//! The first three bytes choose the requests (how many, with a greeting or not, a batch first or not, end of the connection or not) and the
//! lengths of the pieces; the rest is what the peer sends.

use weighbridge_load::keyed::KeyedDialect;
use weighbridge_load::request::Rendered;
use weighbridge_load::resp::{Handshake, Resp, Version, command};
use weighbridge_model::id::OperationId;

use super::commands::{Seen, batch, read_however_cut, told};

/// Bits of the first byte; the two lowest count the requests.
const GREETED: u8 = 4;
const EOF: u8 = 8;
const BATCH: u8 = 16;

/// Reads all but the first three bytes of `data` as replies.
pub fn check(data: &[u8]) {
    let [flags, one, other, bytes @ ..] = data else { return };
    let greeted = flags & GREETED != 0;
    let handshake = Handshake { version: Version::Three, login: None, database: 1 };
    let opening = if greeted { handshake.opening() } else { None };
    let request = command(OperationId(0), &["GET", "k"], opening.clone()).expect("a plain command");
    let mut requests: Vec<Rendered> = vec![request; usize::from(flags & 3)];
    if flags & BATCH != 0 {
        requests.insert(0, batch(&KeyedDialect::Resp(opening)));
    }
    let seen = read_however_cut(Resp::new, &requests, bytes, ([*one, *other], flags & EOF != 0));
    // A refused greeting answers every request, with little text.
    let repeated = if greeted { 3 * 600 } else { 0 };
    assert!(told(&seen) <= bytes.len() + repeated, "more is told than was sent");
    for event in &seen {
        if let Seen::Head(_, status) | Seen::Late(_, status) = event {
            assert!(matches!(status, 200 | 404 | 500), "{seen:?}");
        }
    }
}
