//! Laws of probes: what is accepted is written so that it reads back as the same law.

use weighbridge_probe::law::{Distribution, Law};

/// Reads `data` as a law and as a bare distribution.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(law) = text.parse::<Law>() {
        let written = law.to_string();
        assert_eq!(written.parse::<Law>().as_ref(), Ok(&law), "{text:?} is written {written:?}");
        assert_eq!(written.parse::<Law>().expect("just read").to_string(), written, "writing is not stable");
    }
    if let Ok(distribution) = text.parse::<Distribution>() {
        let written = distribution.to_string();
        assert_eq!(
            written.parse::<Distribution>().as_ref(),
            Ok(&distribution),
            "{text:?} is written {written:?}"
        );
        assert!(text.parse::<Law>().is_ok(), "{text:?} is a distribution and no law");
    }
}
