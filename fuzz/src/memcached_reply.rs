//! memcached's replies as the generator reads them. The events are the same however the bytes are cut; every request
//! ends once, no more than one line is kept back, and no more is told than was sent.
//!
//! The first three bytes choose the requests (two bits for each of three; before them a batch or not; end of the connection
//! or not) and the lengths of the pieces; the rest is what the peer sends.

use weighbridge_load::keyed::KeyedDialect;
use weighbridge_load::memcached::{Memcached, command};
use weighbridge_load::request::Rendered;
use weighbridge_model::id::OperationId;

use super::commands::{Seen, batch, read_however_cut, told};

/// Bit of the first byte; the six lowest choose three requests.
const EOF: u8 = 64;
const BATCH: u8 = 128;

/// Reads all but the first three bytes of `data` as replies.
pub fn check(data: &[u8]) {
    let [flags, one, other, bytes @ ..] = data else { return };
    let request = |bits: u8| {
        let words: &[&str] = match bits & 3 {
            0 => return None,
            1 => &["get", "k"],
            2 => &["set", "k", "0", "0", "v"],
            _ => &["mg", "k", "v"],
        };
        Some(command(OperationId(0), words, None).expect("a plain command"))
    };
    let batch = (flags & BATCH != 0).then(|| batch(&KeyedDialect::Memcached));
    let others = [0, 2, 4].into_iter().filter_map(|shift| request(flags >> shift));
    let requests: Vec<Rendered> = batch.into_iter().chain(others).collect();
    let ends = flags & EOF != 0;
    let seen = read_however_cut(Memcached::new, &requests, bytes, ([*one, *other], ends));
    assert!(told(&seen) <= bytes.len(), "more is told than was sent");
    for event in &seen {
        match event {
            Seen::Head(_, status) => assert!(matches!(status, 200 | 404 | 409 | 412 | 500), "{seen:?}"),
            Seen::Late(_, status) => assert_eq!(*status, 500, "{seen:?}"),
            _ => {}
        }
    }
}
