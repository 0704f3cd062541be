//! The wall clock, for the names of runs and the age of files. The lab's clock measures times.

use weighbridge_store::UtcTime;

/// The wall clock. A time before 1970 counts as 1970.
pub fn utc_now() -> UtcTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    UtcTime::from_unix_ns(since.as_nanos() as u64)
}
