//! Text with the escapes of URLs, JSON, HTML and form data resolved, and where each byte of it came from.
//!
//! A server may write a value back in any of these, or in one inside another. Values are compared in this form, so that
//! none of the ways to escape a character has to be known in advance.

use std::borrow::Cow;
use std::ops::Range;

/// How many escapes inside one another are resolved: JSON inside JSON inside a URL.
const NESTED: usize = 3;

/// Most bytes that one byte of a value may take as it is written: `\\\\u0041` and `&#x000041;` are the longest in use.
pub(crate) const LONGEST_ESCAPE: usize = 12;

/// Longest name or number between `&` and `;`.
const ENTITY: usize = 10;

/// Decoded bytes, with the places in the original that they stand for.
#[derive(Debug)]
pub(crate) struct Decoded<'a> {
    pub bytes: Cow<'a, [u8]>,
    /// Where each byte starts in the original, and where the original ends; nothing if no byte has moved.
    starts: Option<Vec<u32>>,
}

impl<'a> Decoded<'a> {
    /// `text` is shorter than 4 GiB.
    pub fn new(text: &'a [u8]) -> Self {
        let mut bytes = Cow::Borrowed(text);
        let mut starts: Option<Vec<u32>> = None;
        for _ in 0..NESTED {
            if !bytes.iter().any(|byte| matches!(byte, b'%' | b'\\' | b'&')) {
                break;
            }
            let (mut out, mut from) = (Vec::with_capacity(bytes.len()), Vec::with_capacity(bytes.len() + 1));
            let mut at = 0;
            while at < bytes.len() {
                let start = starts.as_ref().map_or(at as u32, |starts| starts[at]);
                let escape =
                    escape(&bytes[at..]).unwrap_or(Escape { length: 1, byte: Char::Byte(bytes[at]) });
                escape.byte.push(&mut out);
                from.resize(out.len(), start);
                at += escape.length;
            }
            from.push(text.len() as u32);
            let is_same = out.len() == bytes.len();
            (bytes, starts) = (Cow::Owned(out), Some(from));
            if is_same {
                break;
            }
        }
        // `+` is a space in form data.
        if bytes.contains(&b'+') {
            bytes.to_mut().iter_mut().filter(|byte| **byte == b'+').for_each(|byte| *byte = b' ');
        }
        Self { bytes, starts }
    }

    /// The bytes of the original that stand for these.
    pub fn original(&self, range: Range<usize>) -> Range<usize> {
        match &self.starts {
            Some(starts) => starts[range.start] as usize..starts[range.end] as usize,
            None => range,
        }
    }
}

struct Escape {
    /// Bytes that it takes.
    length: usize,
    byte: Char,
}

/// What an escape stands for: a byte of a character, or a whole one.
enum Char {
    Byte(u8),
    Whole(char),
}

impl Char {
    fn push(self, out: &mut Vec<u8>) {
        match self {
            Self::Byte(byte) => out.push(byte),
            Self::Whole(char) => out.extend(char.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
}

/// The escape at the start of a text, if there is one.
fn escape(text: &[u8]) -> Option<Escape> {
    match text {
        [b'%', digits @ ..] => {
            Some(Escape { length: 3, byte: Char::Byte(hexadecimal(digits.get(..2)?)? as u8) })
        }
        [b'\\', b'u', digits @ ..] => unicode(digits),
        [b'\\', after, ..] => {
            let byte = match after {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'"' | b'\'' | b'\\' | b'/' => *after,
                _ => return None,
            };
            Some(Escape { length: 2, byte: Char::Byte(byte) })
        }
        [b'&', after @ ..] => entity(after),
        _ => None,
    }
}

/// What follows `\u`: four digits, and for characters beyond them four more.
fn unicode(digits: &[u8]) -> Option<Escape> {
    let first = hexadecimal(digits.get(..4)?)?;
    if let Some(char) = char::from_u32(first) {
        return Some(Escape { length: 6, byte: Char::Whole(char) });
    }
    let [b'\\', b'u', second @ ..] = digits.get(4..10)? else { return None };
    let pair = char::decode_utf16([first as u16, hexadecimal(second)? as u16]).next()?.ok()?;
    Some(Escape { length: 12, byte: Char::Whole(pair) })
}

/// What follows `&`.
fn entity(after: &[u8]) -> Option<Escape> {
    let end = after.iter().take(ENTITY).position(|byte| *byte == b';')?;
    let char = match &after[..end] {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hexadecimal(digits)?)?,
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => return None,
    };
    Some(Escape { length: end + 2, byte: Char::Whole(char) })
}

fn hexadecimal(digits: &[u8]) -> Option<u32> {
    let is_digits = digits.iter().all(u8::is_ascii_hexdigit);
    is_digits.then(|| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_escape_is_what_it_stands_for() {
        for (written, decoded) in [
            ("a%2Fb%2fc", "a/b/c"),
            ("a%252Fb", "a/b"),
            ("a+b", "a b"),
            (r#"a\"b\/c\\d\n"#, "a\"b/c\\d\n"),
            (r#"a\\\"b"#, "a\"b"),
            (r"\u0041\u00f6\ud83d\ude00", "Aö😀"),
            ("&amp;&lt;&gt;&quot;&apos;&#39;&#x27;&#246;", "&<>\"'''ö"),
            ("&amp;lt;", "<"),
            (
                "100 % & more; %zz %4 \\x \\ud83d &nothing; &#xd800; &",
                "100 % & more; %zz %4 \\x \\ud83d &nothing; &#xd800; &",
            ),
        ] {
            let found = Decoded::new(written.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found.bytes), decoded, "{written}");
        }
    }

    #[test]
    fn a_part_is_found_where_it_was_written() {
        let text = b"x%20a%2Fb&amp;c y";
        let found = Decoded::new(text);
        assert_eq!(&*found.bytes, b"x a/b&c y");
        assert_eq!(&text[found.original(2..7)], b"a%2Fb&amp;c");
        assert_eq!(found.original(0..9), 0..text.len());
    }

    proptest! {
        #[test]
        fn any_bytes_have_their_places(text in "[%\\\\&u#x;0-9a-f+ö]{0,40}") {
            let found = Decoded::new(text.as_bytes());
            let ends: Vec<usize> = (0..=found.bytes.len()).map(|to| found.original(0..to).end).collect();
            prop_assert!(ends.is_sorted() && ends.last() == Some(&text.len()));
        }
    }
}
