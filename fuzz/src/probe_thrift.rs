//! Calls of Thrift as a probe reads them: the same however the bytes arrive, and never beyond the frame.

use weighbridge_load::thrift::Envelope;
use weighbridge_probe::thrift::parse;

/// An envelope is refused or whole by then: the length of the frame, and the longest name in its envelope.
const LONGEST: usize = 4 + 12 + 255;

/// Reads all but the first byte of `data`, which chooses the envelope, as a call, whole and as it grows.
pub fn check(data: &[u8]) {
    let [flags, bytes @ ..] = data else { return };
    let envelope = if flags & 1 == 0 { Envelope::Binary } else { Envelope::Compact };
    let whole = parse(envelope, bytes);
    match whole {
        Ok(Some(call)) => {
            let frame = i32::from_be_bytes(bytes[..4].try_into().expect("four bytes"));
            assert_eq!(call.length as u64 + call.arguments, 4 + frame as u64);
            assert!(call.length <= bytes.len().min(LONGEST), "{call:?}");
        }
        Ok(None) => assert!(bytes.len() < LONGEST, "an envelope without an end is kept for ever"),
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
    let growing = (0..=bytes.len()).map(|end| parse(envelope, &bytes[..end])).find(|call| *call != Ok(None));
    assert_eq!(growing.unwrap_or(Ok(None)), whole, "the call depends on how it arrives");
}
