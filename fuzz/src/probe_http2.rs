//! HTTP/2 as a probe reads it: the same requests and answers however the bytes arrive, never a frame that waits for more than
//! the input can hold, and no more output than the input warrants.

use weighbridge_model::experiment::Protocol;
use weighbridge_probe::Canned;
use weighbridge_probe::http2::{Fault, Http2, INPUT};

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What is rendered beside answers to frames: a batch of replies.
const REPLIES: usize = 64 * 1024;

/// Reads `data` as what follows a client's preface, whole and as it grows.
pub fn check(data: &[u8]) {
    let mut canned = Canned::over(Protocol::HTTP2_JSON).expect("spoken");
    canned.add("/person", b"", 200, &[vec![b'x'; 100_000]]);
    let bytes = [PREFACE, data].concat();
    let whole = read(&bytes, bytes.len(), &canned);
    assert!(whole.2.len() <= REPLIES + 2 * bytes.len(), "{} bytes out", whole.2.len());
    assert_eq!(read(&bytes, 1, &canned), whole, "what is read depends on how it arrives");
    // The first bytes may be anything else as well.
    let _ = read(data, data.len(), &canned);
}

/// The streams of requests, whether all was allowed, and what is answered, where so many bytes come at a time.
fn read(bytes: &[u8], step: usize, canned: &Canned) -> (Vec<u32>, Result<(), Fault>, Vec<u8>) {
    let (mut http2, mut output, mut streams) = (Http2::default(), Vec::new(), Vec::new());
    let (mut start, mut end) = (0, 0);
    while end < bytes.len() {
        end = bytes.len().min(end + step);
        loop {
            match http2.step(&bytes[start..end], &mut output, canned) {
                Ok(Some((used, asked))) => {
                    start += used;
                    if let Some(asked) = asked {
                        streams.push(asked.stream);
                        http2.reply(asked.stream, asked.place, canned, &mut output);
                    }
                }
                Ok(None) => break,
                Err(fault) => {
                    http2.break_off(&mut output);
                    return (streams, Err(fault), output);
                }
            }
        }
        assert!(end - start < INPUT, "a frame that never fits");
    }
    (streams, Ok(()), output)
}
