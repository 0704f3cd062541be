//! Command lines of curl: what is accepted becomes an experiment that asks it; what is refused is refused in words.

use weighbridge_draft::curl;

use super::draft::assert_sound;

/// Reads `data` as a command line. Every file that it names holds the same.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match curl::parse_line(text, &mut |_| Ok(b"a file\r\n".to_vec())) {
        Ok(draft) => {
            assert_eq!(draft.requests.len(), 1);
            assert_sound(&draft);
        }
        Err(error) => assert!(!error.to_string().trim().is_empty()),
    }
}
