//! The values of a session and how they are written into a request.
//!
//! A value may come from anywhere; this module keeps it from changing the meaning of what is around it: in a path,
//! invalid characters are percent-encoded; in a header field, control characters are refused.

use std::io::Write as _;

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use weighbridge_model::experiment::{URL_ESCAPED, ValueForm};

/// Characters that must be encoded in a request target. `%` is allowed: a value may be encoded already.
const TARGET_ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The part of a request in which a value is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The very beginning of the target.
    PathBegin,
    /// Elsewhere in the target.
    Path,
    Field,
    Body,
}

/// The conditions on a value, from the places where it is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fitness {
    /// It is used unchanged in a header field.
    pub field: bool,
    pub path_begins: bool,
}

impl Fitness {
    /// Adds one more place.
    pub fn note(&mut self, place: Place, form: ValueForm) {
        self.field |= place == Place::Field && form == ValueForm::Plain;
        self.path_begins |= place == Place::PathBegin;
    }

    /// Whether a value fits all its places.
    pub fn check(self, value: &[u8]) -> Result<(), &'static str> {
        if self.field && value.iter().any(|b| (*b < 0x20 && *b != b'\t') || *b == 0x7f) {
            return Err("holds a control character and is put into a header field");
        }
        if self.path_begins && !matches!(value.first(), Some(b'/' | b'?')) {
            return Err("does not begin with `/` or `?`, and a path begins with it");
        }
        Ok(())
    }
}

/// Appends a value in its form, encoded for its place.
pub(crate) fn write(value: &[u8], form: ValueForm, place: Place, into: &mut Vec<u8>) {
    match (form, place) {
        (ValueForm::Plain, Place::Field | Place::Body) => into.extend_from_slice(value),
        (ValueForm::Plain, Place::Path | Place::PathBegin) => encode(value, TARGET_ESCAPED, into),
        (ValueForm::Url, _) => encode(value, URL_ESCAPED, into),
        (ValueForm::Json, Place::Field | Place::Body) => escape(value, into),
        (ValueForm::Json, Place::Path | Place::PathBegin) => {
            // Rare, so it may allocate: the value is escaped for JSON and then encoded for the path.
            let mut escaped = Vec::new();
            escape(value, &mut escaped);
            encode(&escaped, TARGET_ESCAPED, into);
        }
    }
}

fn encode(value: &[u8], set: &'static AsciiSet, into: &mut Vec<u8>) {
    percent_encode(value, set).for_each(|piece| into.extend_from_slice(piece.as_bytes()));
}

/// The value as the content of a JSON string; bytes that are not text become replacement characters.
fn escape(value: &[u8], into: &mut Vec<u8>) {
    for chunk in value.utf8_chunks() {
        let begin = into.len();
        // Writing to memory cannot fail, and text can always be written as JSON.
        let _ = serde_json::to_writer(&mut *into, chunk.valid());
        // Without the enclosing quotes.
        into.pop();
        into.remove(begin);
        if !chunk.invalid().is_empty() {
            let _ = write!(into, "\u{fffd}");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(value: &[u8], form: ValueForm, place: Place) -> Vec<u8> {
        let mut out = b"before".to_vec();
        write(value, form, place, &mut out);
        out.split_off(6)
    }

    #[test]
    fn values_are_written_for_their_place() {
        use ValueForm::{Json, Plain, Url};
        for (value, form, place, want) in [
            ("a b/ö?x=1&y=%20", Plain, Place::Path, "a%20b/%C3%B6?x=1&y=%20"),
            ("a b/?&", Url, Place::Path, "a%20b%2F%3F%26"),
            ("a b&c", Url, Place::Body, "a%20b%26c"),
            ("a\"b\n", Json, Place::Body, "a\\\"b\\n"),
            ("a\"b\n", Plain, Place::Body, "a\"b\n"),
            ("a\" b", Json, Place::Path, "a%5C%22%20b"),
            ("", Json, Place::Body, ""),
        ] {
            assert_eq!(written(value.as_bytes(), form, place), want.as_bytes(), "{value} {form:?} {place:?}");
        }
        assert_eq!(written(b"a\xffb", Json, Place::Body), "a\u{fffd}b".as_bytes());
    }

    proptest! {
        #[test]
        fn no_value_changes_what_is_around_it(value in prop::collection::vec(any::<u8>(), 0..40)) {
            for form in [ValueForm::Plain, ValueForm::Json, ValueForm::Url] {
                let target = written(&value, form, Place::Path);
                prop_assert!(target.iter().all(u8::is_ascii_graphic));
                let field = written(&value, form, Place::Field);
                let mut fitness = Fitness::default();
                fitness.note(Place::Field, form);
                if fitness.check(&value).is_ok() {
                    prop_assert!(!field.contains(&b'\r') && !field.contains(&b'\n') && !field.contains(&0));
                }
            }
            let escaped = [b"\"", &written(&value, ValueForm::Json, Place::Body)[..], b"\""].concat();
            let read: String = serde_json::from_slice(&escaped).expect("a JSON string");
            if let Ok(text) = std::str::from_utf8(&value) {
                prop_assert_eq!(read, text);
            }
            let encoded = written(&value, ValueForm::Url, Place::Body);
            prop_assert_eq!(percent_encoding::percent_decode(&encoded).collect::<Vec<u8>>(), value);
        }
    }
}
