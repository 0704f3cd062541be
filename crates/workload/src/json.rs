//! One value in a JSON text (RFC 8259) by its pointer (RFC 6901), found in place, without parsing the rest into values
//! and without allocating.
//!
//! The whole text is validated as strictly as a full parser does, so that a parser would find the same value. It keeps
//! nothing, and refuses texts nested deeper than [`DEPTH`].

/// Deepest nesting.
pub const DEPTH: u32 = 127;

/// A JSON pointer, split into tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    text: String,
    tokens: Vec<Token>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    key: String,
    /// As an index of a list, if it is one: digits without a leading zero.
    index: Option<usize>,
}

impl Pointer {
    /// Parses a pointer; the empty one means the whole text.
    pub fn new(text: &str) -> Self {
        let token = |token: &str| {
            let key = token.replace("~1", "/").replace("~0", "~");
            let digits = !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit());
            let plain = digits && (key == "0" || !key.starts_with('0'));
            Token { index: key.parse().ok().filter(|_| plain), key }
        };
        Self { text: text.to_owned(), tokens: text.split('/').skip(1).map(token).collect() }
    }

    /// The pointer as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not JSON")]
pub struct NotJson;

/// The value at `pointer` as it is written in `json`; `None` if there is none. Of duplicate keys the last counts.
pub fn find<'j>(json: &'j [u8], pointer: &Pointer) -> Result<Option<&'j [u8]>, NotJson> {
    std::str::from_utf8(json).map_err(|_| NotJson)?;
    let mut scan = Scan { json, at: 0 };
    scan.blank();
    let found = scan.seek(&pointer.tokens, 0)?;
    scan.blank();
    if scan.at == json.len() { Ok(found) } else { Err(NotJson) }
}

/// Appends the content of a [found](find) value: the characters of a string, the text of everything else.
pub fn append(found: &[u8], into: &mut Vec<u8>) {
    match found {
        [b'"', inside @ .., b'"'] => unescape(inside, &mut |bytes| into.extend_from_slice(bytes)),
        other => into.extend_from_slice(other),
    }
}

struct Scan<'j> {
    json: &'j [u8],
    at: usize,
}

impl<'j> Scan<'j> {
    fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, text: &[u8]) -> Result<(), NotJson> {
        if !self.json[self.at..].starts_with(text) {
            return Err(NotJson);
        }
        self.at += text.len();
        Ok(())
    }

    /// Skips a value and returns its part at `path`.
    fn seek(&mut self, path: &[Token], depth: u32) -> Result<Option<&'j [u8]>, NotJson> {
        let begin = self.at;
        let inside = match self.peek().ok_or(NotJson)? {
            b'{' => self.object(path, depth)?,
            b'[' => self.list(path, depth)?,
            b'"' => self.string().map(|_| None)?,
            b't' => self.expect(b"true").map(|()| None)?,
            b'f' => self.expect(b"false").map(|()| None)?,
            b'n' => self.expect(b"null").map(|()| None)?,
            _ => self.number().map(|()| None)?,
        };
        Ok(if path.is_empty() { Some(&self.json[begin..self.at]) } else { inside })
    }

    fn object(&mut self, path: &[Token], depth: u32) -> Result<Option<&'j [u8]>, NotJson> {
        let depth = deeper(depth)?;
        let mut found = None;
        self.at += 1;
        self.blank();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(None);
        }
        loop {
            let key = self.string()?;
            self.blank();
            self.expect(b":")?;
            self.blank();
            match path.split_first().filter(|(token, _)| equals_key(key, &token.key)) {
                Some((_, rest)) => found = self.seek(rest, depth)?,
                // An empty path means the enclosing value, not its parts.
                None => drop(self.seek(&NOWHERE, depth)?),
            }
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(found);
                }
                _ => return Err(NotJson),
            }
            self.blank();
        }
    }

    fn list(&mut self, path: &[Token], depth: u32) -> Result<Option<&'j [u8]>, NotJson> {
        let depth = deeper(depth)?;
        let mut found = None;
        self.at += 1;
        self.blank();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(None);
        }
        for index in 0.. {
            match path.split_first().filter(|(token, _)| token.index == Some(index)) {
                Some((_, rest)) => found = self.seek(rest, depth)?,
                None => drop(self.seek(&NOWHERE, depth)?),
            }
            self.blank();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                _ => return Err(NotJson),
            }
            self.blank();
        }
        Ok(found)
    }

    /// Skips a string and returns the bytes between its quotes.
    fn string(&mut self) -> Result<&'j [u8], NotJson> {
        self.expect(b"\"")?;
        let begin = self.at;
        loop {
            match self.peek().ok_or(NotJson)? {
                b'"' => {
                    self.at += 1;
                    return Ok(&self.json[begin..self.at - 1]);
                }
                b'\\' => self.escape()?,
                0..0x20 => return Err(NotJson),
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), NotJson> {
        match self.json.get(self.at + 1).ok_or(NotJson)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' => {
                let (_, length) = character(&self.json[self.at..]).ok_or(NotJson)?;
                self.at += length;
            }
            _ => return Err(NotJson),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), NotJson> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<(), NotJson> {
        let begin = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > begin { Ok(()) } else { Err(NotJson) }
    }
}

/// A path that matches no key and no index.
static NOWHERE: [Token; 1] = [Token { key: String::new(), index: None }];

fn deeper(depth: u32) -> Result<u32, NotJson> {
    if depth < DEPTH { Ok(depth + 1) } else { Err(NotJson) }
}

fn equals_key(inside: &[u8], key: &str) -> bool {
    if !inside.contains(&b'\\') {
        return inside == key.as_bytes();
    }
    let (mut rest, mut same) = (key.as_bytes(), true);
    unescape(inside, &mut |bytes| match rest.strip_prefix(bytes) {
        Some(after) => rest = after,
        None => same = false,
    });
    same && rest.is_empty()
}

/// Passes on the characters of a string's content, which was validated before.
fn unescape(inside: &[u8], sink: &mut dyn FnMut(&[u8])) {
    let mut rest = inside;
    while let Some(at) = rest.iter().position(|b| *b == b'\\') {
        sink(&rest[..at]);
        let (plain, length): (&[u8], _) = match rest.get(at + 1) {
            Some(b'b') => (b"\x08", 2),
            Some(b'f') => (b"\x0c", 2),
            Some(b'n') => (b"\n", 2),
            Some(b'r') => (b"\r", 2),
            Some(b't') => (b"\t", 2),
            Some(b'u') => {
                let Some((character, length)) = character(&rest[at..]) else { return };
                sink(character.encode_utf8(&mut [0; 4]).as_bytes());
                (b"", length)
            }
            Some(_) => (&rest[at + 1..at + 2], 2),
            None => return,
        };
        sink(plain);
        rest = &rest[at + length..];
    }
    sink(rest);
}

/// The character for one or two `\uXXXX` at the beginning of `text`, and their length.
fn character(text: &[u8]) -> Option<(char, usize)> {
    let first = unit(text)?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some((char::from_u32(first)?, 6));
    }
    let second = unit(text.get(6..)?).filter(|unit| (0xdc00..0xe000).contains(unit))?;
    Some((char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?, 12))
}

fn unit(text: &[u8]) -> Option<u32> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |sum, digit| Some(sum << 4 | char::from(*digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// The oracle: what serde_json finds in the text.
    fn agrees(json: &[u8], pointer: &str) {
        let found = find(json, &Pointer::new(pointer));
        let theirs = serde_json::from_slice::<Value>(json);
        let shown = String::from_utf8_lossy(json);
        match (found, theirs) {
            (Ok(found), Ok(theirs)) => {
                let ours = found.map(|text| serde_json::from_slice::<Value>(text).expect("a value"));
                assert_eq!(ours.as_ref(), theirs.pointer(pointer), "{shown} at {pointer}");
                if let (Some(found), Some(Value::String(theirs))) = (found, ours) {
                    let mut said = Vec::new();
                    append(found, &mut said);
                    assert_eq!(said, theirs.as_bytes(), "{shown} at {pointer}");
                }
            }
            (Err(NotJson), Err(_)) => {}
            // A number too large for a double is still JSON.
            (Ok(_), Err(error)) => assert!(error.to_string().contains("out of range"), "{shown}: {error}"),
            (Err(NotJson), Ok(_)) => panic!("refused: {shown}"),
        }
    }

    #[test]
    fn values_are_found_where_another_parser_finds_them() {
        let texts = [
            r#"{"a": {"b": [1, {"c": "x\"\u00e9\ud83d\ude00\n"}, []]}, "d": null, "": 0}"#,
            r#"{"a": 1, "a": {"b": 2}}"#,
            r#"{"a": {"b": 2}, "a": 1}"#,
            r#"{"\u0061": {"b": true}, "a/b": 3, "m~n": -0.5e+3}"#,
            "[[1, 2], [3, 4]]",
            " \n\t\"text\" ",
            "-0",
            "1e5",
            "",
            "[1,]",
            "{\"a\":1,}",
            "01",
            "1.",
            "+1",
            "nul",
            "[1 2]",
            "{\"a\" 1}",
            "{a: 1}",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"\\udc00\"",
            "\"a\u{1}\"",
            "\"a",
            "[1] 2",
            "1e999",
            "tru e",
        ];
        let pointers = [
            "", "/", "/a", "/a/b", "/a/b/1/c", "/a/b/2", "/a/b/3", "/a/b/01", "/a/b/-", "/0/1", "/1/0", "/d",
            "/a~1b", "/m~0n",
        ];
        for text in texts {
            pointers.iter().for_each(|pointer| agrees(text.as_bytes(), pointer));
        }
        agrees(b"\"\xff\"", "");
        for depth in [1, 126, 127, 128, 200] {
            agrees(format!("{}1{}", "[".repeat(depth), "]".repeat(depth)).as_bytes(), "/0");
        }
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "\\PC{0,6}|[\"\\\\/\n\t\u{1}]{1,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab/~0\"]{0,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_value_is_found_as_another_parser_finds_it(
            value in value(),
            pretty in any::<bool>(),
            path in prop::collection::vec("[ab/~0-2\"]{0,2}", 0..4),
            cut in any::<prop::sample::Index>(),
        ) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.expect("JSON");
            let pointer: String =
                path.iter().map(|token| format!("/{}", token.replace('~', "~0").replace('/', "~1"))).collect();
            agrees(text.as_bytes(), &pointer);
            agrees(&text.as_bytes()[..cut.index(text.len() + 1)], &pointer);
        }

        #[test]
        fn any_bytes_are_judged_as_another_parser_judges_them(
            text in "[\\[\\]{}:,\"\\\\a0.e-u tfn]{0,12}",
            pointer in "(/[a0]){0,2}",
        ) {
            agrees(text.as_bytes(), &pointer);
        }
    }
}
