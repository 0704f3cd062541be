//! Recordings: what is accepted becomes an experiment that asks it, as a session of as many requests as there are or with
//! as much weight at most; what is refused names the file.

use weighbridge_draft::Draft;
use weighbridge_draft::har::{self, Assets, HarError, Selection, TakenAs};

use super::draft::assert_sound;

/// Reads `data` as a recording in both ways, also with the first of its origins where it has several.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for taken_as in [TakenAs::Session, TakenAs::Requests] {
        check_as(text, taken_as);
    }
}

fn check_as(text: &str, taken_as: TakenAs) {
    let wanted = Selection { taken_as, ..Selection::default() };
    let error = match har::parse("r.har", text, &wanted) {
        Ok(draft) => {
            assert!(har::is_har(text.trim_start_matches('\u{feff}')));
            assert_sound(&draft);
            fewer_without_assets(text, sent(&draft), taken_as);
            return;
        }
        Err(error) => error,
    };
    assert!(error.to_string().starts_with("r.har:"), "{error}");
    if let HarError::Origins { origins, .. } = error {
        let first = origins[0].split('`').nth(1).expect("it is named").to_owned();
        match har::parse("r.har", text, &Selection { origin: Some(first.clone()), ..wanted }) {
            Ok(draft) => assert_sound(&draft),
            Err(HarError::TooMany { .. } | HarError::TooLong { .. }) => {}
            Err(error) => panic!("`{first}` was offered: {error}"),
        }
    }
}

/// How many of the recording's requests are sent.
fn sent(draft: &Draft) -> u64 {
    match &draft.session {
        Some(order) => order.len() as u64,
        None => draft.requests.iter().map(|request| request.weight).sum(),
    }
}

/// Leaving something out never brings a request in.
fn fewer_without_assets(text: &str, all: u64, taken_as: TakenAs) {
    let wanted = Selection { assets: Assets::Skipped, taken_as, ..Selection::default() };
    if let Ok(draft) = har::parse("r.har", text, &wanted) {
        assert!(sent(&draft) <= all);
    }
}
