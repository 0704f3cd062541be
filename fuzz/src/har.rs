//! Recordings: what is accepted becomes an experiment that asks it, with as much weight as there are requests at most;
//! what is refused names the file.

use weighbridge_draft::har::{self, Assets, HarError, Wanted};

use super::draft::assert_sound;

/// Reads `data` as a recording, also with the first of its origins where it has several.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let wanted = Wanted::default();
    let error = match har::parse("r.har", text, &wanted) {
        Ok(draft) => {
            assert!(har::is_har(text.trim_start_matches('\u{feff}')));
            assert_sound(&draft);
            fewer_without_assets(text, draft.requests.iter().map(|request| request.weight).sum());
            return;
        }
        Err(error) => error,
    };
    assert!(error.to_string().starts_with("r.har:"), "{error}");
    if let HarError::Origins { origins, .. } = error {
        let first = origins[0].split('`').nth(1).expect("it is named").to_owned();
        match har::parse("r.har", text, &Wanted { origin: Some(first.clone()), ..wanted }) {
            Ok(draft) => assert_sound(&draft),
            Err(HarError::TooMany { .. }) => {}
            Err(error) => panic!("`{first}` was offered: {error}"),
        }
    }
}

/// Leaving something out never brings a request in.
fn fewer_without_assets(text: &str, all: u64) {
    let wanted = Wanted { assets: Assets::Skipped, ..Wanted::default() };
    if let Ok(draft) = har::parse("r.har", text, &wanted) {
        assert!(draft.requests.iter().map(|request| request.weight).sum::<u64>() <= all);
    }
}
