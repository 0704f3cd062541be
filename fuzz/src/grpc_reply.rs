//! Replies over gRPC: a pong's message is judged the same whole and in pieces, and accepted only where it is the one
//! right encoding.
//!
//! Input: a byte that says how large the pong is (4 to 67) and one that says where the message is cut, then the message.

use weighbridge_load::codec::Head;
use weighbridge_load::session::Check;
use weighbridge_model::quantity::Bytes;
use weighbridge_model::record::Outcome;

/// Panics where the check depends on the pieces, or accepts what is not that pong.
pub fn check(input: &[u8]) {
    let [size, cut, message @ ..] = input else { return };
    let size = 4 + usize::from(size % 64);
    let cut = usize::from(*cut).min(message.len());
    let whole = judge(size, &[message]);
    let (before, behind) = message.split_at(cut);
    assert_eq!(judge(size, &[before, behind]), whole, "cut at {cut}");
    let bytes: Vec<&[u8]> = message.chunks(1).collect();
    assert_eq!(judge(size, &bytes), whole, "byte by byte");
    assert_eq!(whole == Outcome::Ok, message == right(size), "{message:?}");
}

/// The message by hand: field 1, its length in one byte, the body.
fn right(size: usize) -> Vec<u8> {
    [&[0x0a, size as u8], &b"p"[..], &vec![b'o'; size - 3], b"ng"].concat()
}

fn judge(size: usize, pieces: &[&[u8]]) -> Outcome {
    let field = |name, value| httparse::Header { name, value };
    let mut check = weighbridge_workload::pong_message_check(Bytes::new(size as u64));
    check.head(&Head { status: 200, fields: &[field("content-type", b"application/grpc")] });
    pieces.iter().for_each(|piece| check.data(piece));
    check.messages(1);
    check.trailers(&Head { status: 200, fields: &[field("grpc-status", b"0")] });
    check.done()
}
