//! Descriptions of APIs: what is accepted becomes an experiment that asks it, the same each time; what is refused names
//! the file or the server.

use weighbridge_draft::openapi::{self, Selection};

use super::draft::assert_sound;

/// Reads `data` as a description, all of its operations.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let wanted = Selection { methods: vec!["all".to_owned()], url: Some("http://127.0.0.1:8080".to_owned()) };
    match openapi::parse("a.yaml", text, &wanted) {
        Ok(draft) => {
            assert_sound(&draft);
            let again = openapi::parse("a.yaml", text, &wanted).expect("the same");
            assert_eq!(again, draft);
            let own = Selection { url: None, ..wanted };
            if let Ok(draft) = openapi::parse("a.yaml", text, &own) {
                assert_sound(&draft);
            }
        }
        Err(error) => assert!(error.to_string().starts_with("a.yaml:"), "{error}"),
    }
}
