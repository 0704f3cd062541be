//! What the packet relay does to frames, as text: what is accepted is written so that it reads back as the same.

use weighbridge_lab::layers::frames::Way;

/// Reads `data` as a way.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(way) = text.parse::<Way>() else { return };
    let written = way.to_string();
    assert_eq!(written.parse::<Way>(), Ok(way), "{text:?} is written {written:?}");
    let (delay, loss) = (way.delay(), way.loss().get());
    assert!(delay.jitter() <= delay.time(), "{text:?} lets frames leave before they came");
    assert!((0.0..=1.0).contains(&loss), "{text:?} loses a share of {loss}");
}
