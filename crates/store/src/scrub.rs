//! Hides known secrets in output, answers and error messages of servers, and in our own messages about them.
//!
//! This module searches for values, where [`crate::redact`] goes by names; in logs it does both. A value is
//! found as it is, with any of its characters escaped as in URLs, JSON, HTML or form data, in hexadecimal
//! digits and in base64, wherever it stands in what is encoded. Values shorter than [`SHORTEST`] are not
//! searched for, nor are encoded ones of fewer than [`SHORTEST_ENCODED`] letters: they would be found
//! everywhere.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use regex::bytes::{Captures, Regex};
use serde_json::Value;

use crate::decode::{Decoded, LONGEST_ESCAPE};
use crate::redact::redacted;

/// Shortest value that is searched for, in bytes.
pub const SHORTEST: usize = 4;

/// Fewest letters of a value in base64 that are searched for.
pub const SHORTEST_ENCODED: usize = 6;

/// Longest part of a line that is searched at once.
const PIECE: u64 = 1 << 20;

/// The secrets of an experiment.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    finder: Option<AhoCorasick>,
    hidden: Vec<String>,
    longest: usize,
    values: Vec<String>,
}

impl Secrets {
    /// Takes each value as a whole, and the parts that a server may repeat alone: `abcd` of `Bearer abcd`,
    /// values of cookies, what is encoded in the value of `Basic`.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let values: Vec<String> = values.into_iter().flat_map(|value| parts_of(&value)).collect();
        let mut pairs: Vec<(Vec<u8>, String)> = Vec::new();
        for value in &values {
            let hidden = redacted(value).into_owned();
            pairs.extend(spellings(value).into_iter().map(|spelling| (spelling, hidden.clone())));
        }
        pairs.sort();
        pairs.dedup_by(|a, b| a.0 == b.0);
        let mut builder = AhoCorasick::builder();
        let finder = builder.match_kind(MatchKind::LeftmostLongest);
        let spellings = || pairs.iter().map(|(spelling, _)| spelling);
        Self {
            // Panics rather than leaving secrets unhidden; this cannot fail for text of reasonable length.
            finder: (!pairs.is_empty()).then(|| finder.build(spellings()).expect("fewer than 2³¹ states")),
            longest: LONGEST_ESCAPE * spellings().map(Vec::len).max().unwrap_or(0),
            hidden: pairs.into_iter().map(|(_, hidden)| hidden).collect(),
            values,
        }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    /// The values that are searched for.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// Replaces secrets in the text.
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.hide_values(text.as_bytes()) {
            Cow::Owned(hidden) => Cow::Owned(String::from_utf8_lossy(&hidden).into_owned()),
            Cow::Borrowed(_) => Cow::Borrowed(text),
        }
    }

    /// Hides secrets in every text of a JSON value, but not in keys.
    pub fn hide_json(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(hidden) = self.hide(text) {
                    *text = hidden;
                }
            }
            Value::Array(list) => list.iter_mut().for_each(|inner| self.hide_json(inner)),
            Value::Object(map) => map.values_mut().for_each(|inner| self.hide_json(inner)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Hides secrets in a log: known values and, line by line, values after names of secrets. Nothing may
    /// write to it any more. Without known secrets it is not changed.
    ///
    /// Errors: it cannot be read or rewritten. It is unchanged then, and must not be kept.
    pub fn hide_file(&self, path: &Path) -> io::Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let original = File::open(path)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".hidden");
        let new = folder.join(name);
        let changed = self.copy(original, File::create(&new)?);
        match changed {
            Ok(true) => fs::rename(&new, path),
            other => {
                // There was nothing to hide, or the copy failed.
                let _ = fs::remove_file(&new);
                other.map(drop)
            }
        }
    }

    /// Appends `from` to `to`, with secrets hidden as in [`hide_file`](Self::hide_file).
    ///
    /// Errors: reading or writing failed. What was appended until then contains no secrets.
    pub fn append_hidden(&self, from: impl Read, to: impl Write) -> io::Result<()> {
        self.copy(from, to).map(drop)
    }

    /// Copies with secrets hidden; returns whether there were any.
    fn copy(&self, from: impl Read, to: impl Write) -> io::Result<bool> {
        let (mut from, mut to) = (BufReader::new(from), BufWriter::new(to));
        let (mut piece, mut changed) = (Vec::new(), false);
        loop {
            let read = (&mut from).take(PIECE).read_until(b'\n', &mut piece)?;
            let whole = read == 0 || piece.ends_with(b"\n");
            let ready = if whole { piece.len() } else { self.complete_length(&piece) };
            let hidden = self.hide_bytes(&piece[..ready]);
            changed |= matches!(hidden, Cow::Owned(_));
            to.write_all(&hidden)?;
            piece.drain(..ready);
            if read == 0 {
                to.flush()?;
                return Ok(changed);
            }
        }
    }

    /// How much of an incomplete line can be processed: all but what may be the beginning of a secret.
    fn complete_length(&self, piece: &[u8]) -> usize {
        let ready = piece.len().saturating_sub(self.longest);
        let found = self.find(piece);
        found
            .iter()
            .filter(|found| found.place.start < ready)
            .map(|found| found.place.end)
            .fold(ready, usize::max)
    }

    fn hide_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let known = self.hide_values(bytes);
        match redact_named(&known) {
            Some(hidden) => Cow::Owned(hidden),
            None => known,
        }
    }

    fn hide_values<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let found = self.find(bytes);
        if found.is_empty() {
            return Cow::Borrowed(bytes);
        }
        let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
        for Found { place, spelling } in found {
            out.extend_from_slice(&bytes[at..place.start]);
            out.extend_from_slice(self.hidden[spelling].as_bytes());
            at = place.end;
        }
        out.extend_from_slice(&bytes[at..]);
        Cow::Owned(out)
    }

    /// Secrets as they are and with escapes resolved, by place and apart. Both are needed: what stands before
    /// a secret may look like the beginning of an escape.
    fn find(&self, bytes: &[u8]) -> Vec<Found> {
        let Some(finder) = &self.finder else { return Vec::new() };
        let found = |one: aho_corasick::Match, place| Found { place, spelling: one.pattern().as_usize() };
        let mut all: Vec<Found> = finder.find_iter(bytes).map(|one| found(one, one.range())).collect();
        let decoded = Decoded::new(bytes);
        if *decoded.bytes != *bytes {
            let again = finder.find_iter(&*decoded.bytes);
            all.extend(again.map(|one| found(one, decoded.original(one.range()))));
            all.sort_by_key(|one| (one.place.start, std::cmp::Reverse(one.place.end)));
        }
        let mut apart: Vec<Found> = Vec::with_capacity(all.len());
        for one in all {
            match apart.last_mut() {
                Some(last) if one.place.start < last.place.end => {
                    last.place.end = last.place.end.max(one.place.end)
                }
                _ => apart.push(one),
            }
        }
        apart
    }
}

struct Found {
    place: Range<usize>,
    spelling: usize,
}

/// A secret and its parts that are secrets by themselves.
fn parts_of(value: &str) -> Vec<String> {
    let value = value.trim();
    let words = value.split_whitespace().skip(1);
    let cookies = value.split(';').filter_map(|pair| pair.split_once('=')).map(|(_, value)| value.trim());
    let mut parts: Vec<String> =
        std::iter::once(value).chain(words).chain(cookies).map(str::to_owned).collect();
    // `user:password`, which servers that check it decode.
    if let Some(login) = value.strip_prefix("Basic ").and_then(|text| STANDARD.decode(text.trim()).ok())
        && let Ok(login) = String::from_utf8(login)
    {
        parts.extend(login.split_once(':').map(|(_, password)| password.to_owned()));
        parts.push(login);
    }
    parts.retain(|part| part.len() >= SHORTEST);
    parts.sort();
    parts.dedup();
    parts
}

/// What is searched for: the secret as it is and with its own escapes resolved, hexadecimal digits, and base64.
fn spellings(secret: &str) -> Vec<Vec<u8>> {
    let digits = |digits: &[u8; 16]| -> Vec<u8> {
        secret
            .bytes()
            .flat_map(|byte| [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]])
            .collect()
    };
    let mut all = vec![secret.as_bytes().to_vec(), digits(b"0123456789abcdef"), digits(b"0123456789ABCDEF")];
    for before in 0..3 {
        for encoded in in_base64(secret, before) {
            all.push(encoded.into_bytes());
        }
    }
    let decoded: Vec<Vec<u8>> = all.iter().map(|one| Decoded::new(one).bytes.into_owned()).collect();
    all.extend(decoded);
    all.sort();
    all.dedup();
    all
}

/// The letters that a secret alone decides in base64, in both alphabets, where so many bytes stand before it
/// in its group of three.
fn in_base64(secret: &str, before: usize) -> Vec<String> {
    let bytes = [&[0; 3][..before], secret.as_bytes()].concat();
    // Six bits a letter: the first ones hold bits of what stands before, the last one may hold some of what follows.
    let letters = (8 * before).div_ceil(6)..8 * bytes.len() / 6;
    let encoded = [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)];
    let whole = encoded.map(|text| text[letters.start.min(letters.end)..letters.end].to_owned());
    whole.into_iter().filter(|text| text.len() >= SHORTEST_ENCODED).collect()
}

/// Parts of a name that make its value a secret, as in [`crate::redact::is_secret`].
const NAME: &str = r#"[\w.-]*(?:authorization|cookie|pass-?_?word|passwd|pass-?_?phrase|secret|token|credential|api[-_]?key|private[-_]?key|access[-_]?key)[\w.-]*"#;

/// `"token": "abc"`, `Authorization: Bearer abc`, `token=abc`, `token:abc`.
static NAMED: LazyLock<Regex> = LazyLock::new(|| {
    let quoted = format!(r#"(?P<a>"{NAME}"\s*:\s*")(?P<x>(?:[^"\\]|\\.)*)"#);
    let line = r#"(?P<b>\b(?:proxy-)?authorization\s*:\s*|\b(?:set-)?cookie\s*:\s*|\b\w+-(?:api-key|token|secret)\s*:\s*)(?P<y>[^\r\n"']+)"#;
    let assigned = format!(r#"(?P<c>\b{NAME}[=:]["']?)(?P<z>[^\s,;&"'}}\])]+)"#);
    Regex::new(&format!("(?i-u){quoted}|{line}|{assigned}")).expect("a regular expression")
});

/// The text with values after names of secrets redacted; `None` if there are none. Redacted values and
/// placeholders (`${…}`) are kept.
pub fn redact_named(text: &[u8]) -> Option<Vec<u8>> {
    let mut changed = false;
    let hidden = NAMED.replace_all(text, |found: &Captures<'_>| {
        let (before, value) = parts(found);
        let kept = value.starts_with(b"<redacted") || value.starts_with(b"${") || contains(value, b"${");
        let trimmed = value.trim_ascii_end();
        if kept || trimmed.is_empty() {
            return found[0].to_vec();
        }
        changed = true;
        let hidden = redacted(&String::from_utf8_lossy(trimmed)).into_owned().into_bytes();
        [before, &hidden, &value[trimmed.len()..]].concat()
    });
    let hidden = hidden.into_owned();
    changed.then_some(hidden)
}

/// The values after names of secrets.
pub fn named_values(text: &str) -> Vec<String> {
    let values = NAMED.captures_iter(text.as_bytes()).map(|found| parts(&found).1.to_vec());
    let values = values.map(|value| String::from_utf8_lossy(&value).trim().to_owned());
    values.filter(|value| !value.contains("${") && !value.starts_with("<redacted")).collect()
}

fn parts<'a>(found: &'a Captures<'_>) -> (&'a [u8], &'a [u8]) {
    let group =
        |names: [&str; 3]| names.iter().find_map(|name| found.name(name)).map_or(&b""[..], |m| m.as_bytes());
    (group(["a", "b", "c"]), group(["x", "y", "z"]))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // First 8 digits of `printf swordfish | sha256sum`.
    const SWORDFISH: &str = "<redacted sha256:b9f195c5>";

    fn secrets(values: &[&str]) -> Secrets {
        Secrets::new(values.iter().map(|value| (*value).to_owned()))
    }

    #[test]
    fn a_secret_is_hidden_however_it_is_written() {
        let all = secrets(&["Bearer swordfish", "a \"b\"/ö c", "xyz"]);
        assert_eq!(all.hide("it said swordfish, xyz"), format!("it said {SWORDFISH}, xyz"));
        for written in [
            "a \"b\"/ö c",
            "a \\\"b\\\"/ö c",
            "a \\\\\\\"b\\\\\\\"\\\\/\\u00f6 c",
            "a%20%22b%22%2F%C3%B6%20c",
            "a%20%22b%22/%c3%b6%20c",
            "a+%22b%22%2F%C3%B6+c",
            "%61 &quot;b&#34;&#x2f;&#246; c",
            "a%2520%2522b%2522/%25C3%25B6%2520c",
        ] {
            let shown = all.hide(written).into_owned();
            assert!(shown.starts_with("<redacted") && shown.len() == SWORDFISH.len(), "{written}: {shown}");
        }
        let mut value = serde_json::json!({ "swordfish": ["a swordfish", 1, { "x": "swordfish" }] });
        all.hide_json(&mut value);
        let hidden = format!("a {SWORDFISH}");
        assert_eq!(value, serde_json::json!({ "swordfish": [hidden, 1, { "x": SWORDFISH }] }));
        assert!(secrets(&["abc", ""]).is_empty());
    }

    #[test]
    fn a_header_is_hidden_as_a_path_in_base64_and_part_by_part() {
        // Go's `url.PathEscape` keeps `+` and `=`.
        let bearer = secrets(&["Bearer ab+/c=xx"]);
        for written in [
            "Bearer%20ab+%2Fc=xx",
            "Bearer+ab%2B%2Fc%3Dxx",
            "for ab+/c=xx,",
            "QmVhcmVyIGFiKy9jPXh4",
            "61622b2f633d7878",
            "61622B2F633D7878",
        ] {
            let shown = bearer.hide(written).into_owned();
            assert!(shown.contains("<redacted") && !shown.contains("xx"), "{written}: {shown}");
        }
        // `printf 'user:swordfish' | base64`
        let basic = secrets(&["Basic dXNlcjpzd29yZGZpc2g="]);
        for written in
            ["dXNlcjpzd29yZGZpc2g=", "user:swordfish", "password swordfish", "dXNlcjpzd29yZGZpc2g%3D"]
        {
            let shown = basic.hide(written).into_owned();
            assert!(
                shown.contains("<redacted") && !shown.contains("fish") && !shown.contains("3b3J"),
                "{written}: {shown}"
            );
        }
        let cookie = secrets(&["session=swordfish; theme=dark"]);
        assert_eq!(cookie.hide("sid swordfish"), format!("sid {SWORDFISH}"));
    }

    #[test]
    fn what_looks_like_an_escape_before_a_secret_does_not_hide_it_from_us() {
        let all = secrets(&["nabcd", "41xyz"]);
        for written in ["C:\\nabcd", "100 %41xyz", "&#3;nabcd"] {
            let shown = all.hide(written).into_owned();
            assert!(shown.contains("<redacted"), "{written}: {shown}");
        }
    }

    #[test]
    fn names_give_secrets_away() {
        let h = |text: &str| redact_named(text.as_bytes()).map(|text| String::from_utf8(text).expect("text"));
        for (text, shown) in [
            ("password=swordfish, x", "password=@, x"),
            ("db_password:swordfish;", "db_password:@;"),
            ("{\"token\": \"swordfish\", \"n\": 1}", "{\"token\": \"@\", \"n\": 1}"),
            ("GET /?api_key=swordfish&x=1 HTTP/1.1", "GET /?api_key=@&x=1 HTTP/1.1"),
            ("Authorization: swordfish\r\n", "Authorization: @\r\n"),
            ("--client-secret='swordfish' -v", "--client-secret='@' -v"),
            ("X-Api-Key: swordfish", "X-Api-Key: @"),
        ] {
            assert_eq!(h(text), Some(shown.replace('@', SWORDFISH)), "{text}");
            assert_eq!(named_values(text), ["swordfish"], "{text}");
            assert_eq!(h(&shown.replace('@', SWORDFISH)), None, "{text}");
        }
        assert!(h("Cookie: a=b; c=d\nnext").expect("hidden").ends_with(">\nnext"));
        for text in [
            "the token: expired",
            "a cookie",
            "{\"token\": \"${token}\"}",
            "key=value",
            "Authorization: Bearer ${t}",
        ] {
            assert_eq!(h(text), None, "{text}");
        }
    }

    #[test]
    fn a_log_is_written_anew_without_secrets() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.log");
        let all = secrets(&["swordfish"]);
        fs::write(&path, b"ready 80\n\xff swordfish\nAuthorization: Basic abc\nlast swordfish")
            .expect("a log");
        all.hide_file(&path).expect("written anew");
        let text = fs::read(&path).expect("a log");
        let text = String::from_utf8_lossy(&text);
        assert!(
            text.starts_with(&format!("ready 80\n\u{fffd} {SWORDFISH}\nAuthorization: <redacted")),
            "{text}"
        );
        assert!(text.ends_with(&format!("\nlast {SWORDFISH}")) && !text.contains("abc"), "{text}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        assert!(all.hide_file(&folder.path().join("none")).is_err());
    }

    proptest! {
        #[test]
        fn a_secret_inside_other_bytes_is_hidden_in_base64(
            before in prop::collection::vec(any::<u8>(), 0..9),
            after in prop::collection::vec(any::<u8>(), 0..9),
        ) {
            let encoded = STANDARD.encode([&before[..], b"swordfish", &after].concat());
            let shown = secrets(&["swordfish"]).hide(&encoded).into_owned();
            prop_assert!(shown.contains(SWORDFISH), "{}", shown);
        }

        #[test]
        fn no_secret_survives_a_copy_wherever_it_stands(
            before in prop::collection::vec(prop::sample::select(vec!["swordfish", "swordfis", "x", "\n", " "]), 0..40),
            filler in prop::sample::select(vec![0usize, 1, (PIECE as usize) - 5, PIECE as usize]),
        ) {
            let text = format!("{}{}swordfish{}", "y".repeat(filler), before.concat(), before.concat());
            let mut copy = Vec::new();
            prop_assert!(secrets(&["swordfish"]).copy(text.as_bytes(), &mut copy).expect("in memory"));
            let copy = String::from_utf8(copy).expect("text");
            prop_assert!(!copy.contains("swordfish"));
            prop_assert_eq!(copy.replace(SWORDFISH, "swordfish"), text);
        }
    }
}
