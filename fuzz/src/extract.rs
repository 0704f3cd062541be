//! One value out of a JSON text by its pointer, as replies are read under load: whatever is found, another parser of the whole
//! text finds there too.
//!
//! The first line is the pointer, the rest the text.

use serde_json::Value;
use weighbridge_workload::fuzzing::{NotJson, Pointer, append, find};

/// Seeks in all but the first line of `data`.
pub fn check(data: &[u8]) {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return };
    let Ok(pointer) = std::str::from_utf8(&data[..end]) else { return };
    if !pointer.is_empty() && !pointer.starts_with('/') {
        return;
    }
    let json = &data[end + 1..];
    let theirs = serde_json::from_slice::<Value>(json);
    match (find(json, &Pointer::new(pointer)), theirs) {
        (Ok(found), Ok(theirs)) => {
            let ours = found.map(|text| serde_json::from_slice::<Value>(text).expect("a value"));
            assert_eq!(ours.as_ref(), theirs.pointer(pointer), "at {pointer:?}");
            if let (Some(found), Some(Value::String(text))) = (found, ours) {
                let mut said = Vec::new();
                append(found, &mut said);
                assert_eq!(said, text.as_bytes());
            }
        }
        (Err(NotJson), Err(_)) => {}
        // A number that is no double is JSON all the same.
        (Ok(_), Err(error)) => assert!(error.to_string().contains("out of range"), "{error}"),
        (Err(NotJson), Ok(_)) => panic!("refused what another parser reads"),
    }
}
