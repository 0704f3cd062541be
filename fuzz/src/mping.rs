//! What a relay says of its own request: what is read holds exactly the four numbers, and reads back the same.

use weighbridge_workload::read_mping;

/// Reads `data` as the body of a reply to `/mping/{n}`.
pub fn check(data: &[u8]) {
    let Some(told) = read_mping(data) else { return };
    let value: serde_json::Value = serde_json::from_slice(data).expect("what is read is JSON");
    // A key that stands twice is refused, so that an object has as many keys as there are fields.
    assert_eq!(value.as_object().map(serde_json::Map::len), Some(4), "{value}");
    let written = serde_json::json!({
        "duration_ns": told.duration.as_nanos(),
        "length": told.length.get(),
        "code": told.status,
        "retries": told.retries,
    });
    assert_eq!(value, written);
    assert_eq!(read_mping(written.to_string().as_bytes()), Some(told));
}
