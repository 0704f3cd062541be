//! Paths of the web view: segments are plain names however they were encoded, and what was decoded once is written and
//! read back the same.

use weighbridge_view::RequestTarget;

/// Reads `data` as the target of a request.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Some(target) = RequestTarget::parse(text) else { return };
    assert!(!target.segments.is_empty());
    for segment in &target.segments {
        assert!(![".", ".."].contains(&segment.as_str()), "{text:?}");
        assert!(!segment.contains(['/', '\\']) && !segment.chars().any(char::is_control), "{text:?}");
        // Joined to a folder it stays in it.
        let joined = std::path::Path::new("/runs").join(segment);
        assert!(segment.is_empty() || joined.parent() == Some(std::path::Path::new("/runs")), "{text:?}");
    }
    let path: String = target.segments.iter().map(|segment| format!("/{}", encoded(segment))).collect();
    let pairs: Vec<String> =
        target.query.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    let again = format!("{path}?{}", pairs.join("&"));
    // Encoding makes it longer, which is refused beyond a bound.
    assert!(
        again.len() > 4_000 || RequestTarget::parse(&again).as_ref() == Some(&target),
        "{text:?}: {again:?}"
    );
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}
