//! The counters that a Java virtual machine shares: what is found lies within the bytes, and is gone where they are cut.

use weighbridge_lab::process::jvm::counters::Places;

/// Reads `data` as a file of counters.
pub fn check(data: &[u8]) {
    let Some(places) = Places::find(data) else { return };
    for at in std::iter::once(places.count).chain(places.times) {
        assert!(usize::try_from(at).is_ok_and(|at| at + 8 <= data.len()), "{places:?} in {} B", data.len());
    }
    // A file that is cut before a counter has none.
    let last = places.times[0].max(places.times[1]).max(places.count) as usize;
    assert_ne!(Places::find(&data[..last + 7]), Some(places), "{places:?}");
}
