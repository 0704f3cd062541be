//! Command lines of mutilate and memtier: what is accepted becomes a file in TOML with one server, whatever stands in the line;
//! what is refused is refused in one line of words.

use weighbridge_draft::cache_tools::CacheTool;

/// Reads `data` as a command line of both.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for tool in [CacheTool::Mutilate, CacheTool::Memtier] {
        match tool.parse(&[text.to_owned()]) {
            Ok(draft) => {
                let text = draft.to_file();
                let table: toml::Table = text.parse().unwrap_or_else(|error| panic!("{error}: {text}"));
                assert_eq!(table["workload"]["name"].as_str(), Some("cache"));
                assert_eq!(table["variant"].as_array().map(Vec::len), Some(1), "{text}");
                assert!(draft.notes.iter().all(|note| !note.contains('\n')), "{:?}", draft.notes);
            }
            Err(error) => assert!(!error.to_string().trim().is_empty()),
        }
    }
}
