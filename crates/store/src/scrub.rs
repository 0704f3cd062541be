//! Hides known secrets in output, answers and error messages of servers, and in our own messages about them.
//!
//! This module searches for values, where [`crate::redact`] goes by names; in logs it does both. A value is
//! found as it is, and as it is written inside JSON and inside a URL. Values shorter than [`SHORTEST`] are
//! not searched for: they would be found everywhere.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::bytes::{Captures, Regex};
use serde_json::Value;

use crate::redact::redacted;

/// Shortest value that is searched for, in bytes.
pub const SHORTEST: usize = 4;

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
    /// Takes each value as a whole, and each of its words but the first: a server may repeat `Bearer abcd` as
    /// `abcd`.
    pub fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut all = Vec::new();
        for value in values {
            let words = value.split_whitespace().skip(1);
            for secret in std::iter::once(value.trim()).chain(words).filter(|secret| secret.len() >= SHORTEST)
            {
                let hidden = redacted(secret).into_owned();
                all.push(secret.to_owned());
                pairs.extend(spellings(secret).into_iter().map(|spelling| (spelling, hidden.clone())));
            }
        }
        pairs.sort();
        pairs.dedup_by(|a, b| a.0 == b.0);
        let mut builder = AhoCorasick::builder();
        let finder = builder.match_kind(MatchKind::LeftmostLongest);
        let spellings = || pairs.iter().map(|(spelling, _)| spelling);
        Self {
            // Panics rather than leaving secrets unhidden; this cannot fail for text of reasonable length.
            finder: (!pairs.is_empty()).then(|| finder.build(spellings()).expect("fewer than 2³¹ states")),
            longest: spellings().map(String::len).max().unwrap_or(0),
            hidden: pairs.into_iter().map(|(_, hidden)| hidden).collect(),
            values: all,
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
        match &self.finder {
            Some(finder) if finder.is_match(text) => Cow::Owned(finder.replace_all(text, &self.hidden)),
            _ => Cow::Borrowed(text),
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
        let matches = self.finder.iter().flat_map(|finder| finder.find_iter(piece));
        matches.filter(|found| found.start() < ready).map(|found| found.end()).fold(ready, usize::max)
    }

    fn hide_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let known = match &self.finder {
            Some(finder) if finder.is_match(bytes) => {
                Cow::Owned(finder.replace_all_bytes(bytes, &self.hidden))
            }
            _ => Cow::Borrowed(bytes),
        };
        match redact_named(&known) {
            Some(hidden) => Cow::Owned(hidden),
            None => known,
        }
    }
}

/// The spellings of a secret: as it is, inside a JSON string (which may be inside another), inside a URL.
fn spellings(secret: &str) -> Vec<String> {
    let inside = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    // JSON may be quoted in JSON.
    let json = inside(secret);
    let twice = inside(&json);
    let encode = |keep: &[u8]| -> String {
        let byte = |byte: u8| match byte {
            b if b.is_ascii_alphanumeric() || keep.contains(&b) => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        };
        secret.bytes().map(byte).collect()
    };
    // In a component of a URL, and in a path that keeps its punctuation.
    let url = [encode(b"-._~"), encode(b"-._~!$&'()*+,;=:@/?%")];
    let lower = url.clone().map(|url| lower_digits(&url));
    let mut all = vec![secret.to_owned(), json.replace('/', "\\/"), json, twice];
    all.extend(url.into_iter().chain(lower));
    all
}

/// Percent-encoded text with lower-case digits.
fn lower_digits(text: &str) -> String {
    let (mut out, mut left) = (String::with_capacity(text.len()), 0u8);
    for c in text.chars() {
        out.push(if left > 0 { c.to_ascii_lowercase() } else { c });
        left = if c == '%' { 2 } else { left.saturating_sub(1) };
    }
    out
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
        for written in
            ["a \"b\"/ö c", "a \\\"b\\\"/ö c", "a%20%22b%22%2F%C3%B6%20c", "a%20%22b%22/%c3%b6%20c"]
        {
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
