//! What a server or a program wrote, in which known secrets are hidden: whatever stands around them, and however it is escaped,
//! none is left in it as it is, and text without any is kept.

use std::sync::LazyLock;

use weighbridge_store::scrub::Secrets;

const SECRETS: [&str; 3] = ["Bearer ab+/c=xx", "Basic dXNlcjpzd29yZGZpc2g=", "swordfish"];

static KNOWN: LazyLock<Secrets> = LazyLock::new(|| Secrets::new(SECRETS.map(str::to_owned)));

/// Hides secrets in `data`, as in a log.
pub fn check(data: &[u8]) {
    let mut hidden = Vec::new();
    KNOWN.append_hidden(data, &mut hidden).expect("in memory");
    let is_in = |text: &[u8], part: &str| text.windows(part.len()).any(|window| window == part.as_bytes());
    for secret in KNOWN.values() {
        assert!(!is_in(&hidden, secret), "{secret}: {}", String::from_utf8_lossy(&hidden));
    }
    if let Ok(text) = std::str::from_utf8(data) {
        let around = format!("{text}swordfish{text}");
        assert!(!is_in(KNOWN.hide(&around).as_bytes(), "swordfish"), "{around:?}");
    }
}
