//! What the packet relay does to frames, as text: what is accepted is written so that it reads back as the same.

use weighbridge_lab::layers::frames::Impairment;

/// Reads `data` as a way.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(impairment) = text.parse::<Impairment>() else { return };
    let written = impairment.to_string();
    assert_eq!(written.parse::<Impairment>(), Ok(impairment), "{text:?} is written {written:?}");
    let (delay, loss) = (impairment.delay(), impairment.loss().get());
    assert!(delay.jitter() <= delay.time(), "{text:?} lets frames leave before they came");
    assert!((0.0..=1.0).contains(&loss), "{text:?} loses a share of {loss}");
}
