//! Replies over gRPC: a pong's message is judged the same whole and in pieces, and accepted only where it is one
//! field that holds that body.
//!
//! Input: a byte that says how large the pong is (4 to 67) and one that says where the message is cut, then the message.

use weighbridge_load::framer::Head;
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
    assert_eq!(whole == Outcome::Ok, is_right(message, size), "{message:?}");
}

/// The other way round: the body taken off the end, the tag off the beginning, and what is left must be the length in
/// at most five bytes, the shortest or not.
fn is_right(message: &[u8], size: usize) -> bool {
    let body = [&b"p"[..], &vec![b'o'; size - 3], b"ng"].concat();
    let Some([0x0a, length @ .., last]) = message.strip_suffix(&body[..]) else { return false };
    let continued = length.iter().all(|byte| byte & 0x80 != 0) && last & 0x80 == 0;
    let digits = length.iter().chain([last]).rev();
    let value = digits.fold(0u64, |value, byte| value << 7 | u64::from(byte & 0x7f));
    continued && length.len() < 5 && value == size as u64
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
