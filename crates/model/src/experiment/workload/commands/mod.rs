//! The workload `commands`: commands of memcached and Redis, in a file and on a command line.
//!
//! Here are words, values and checks. The framing knows whether a command exists and how it is encoded.

mod file;

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::experiment::Equality;
use crate::quantity::Bytes;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandsSpec {
    /// At least one.
    pub commands: Vec<CommandSpec>,
    /// What must agree between variants before timing; never JSON.
    pub equal: Equality,
    pub setup: RespSetup,
}

/// Longest default name of an operation, in characters.
const NAME_LENGTH: usize = 60;

/// A command, which is one operation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandSpec {
    pub name: String,
    /// The command's name and its arguments; at least the name.
    pub arguments: Vec<Vec<u8>>,
    /// For Redis the last argument, for memcached the data.
    pub value: Option<ValueSpec>,
    /// Share of the mix, above zero.
    pub weight: f64,
    pub check: CommandCheck,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueSpec {
    Given(Vec<u8>),
    /// This many bytes, at most 512 MiB: letters that depend on the command's position in the file.
    Size(Bytes),
}

/// Conditions for a good reply to a command. An error reply is never good.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandCheck {
    pub value: Option<Vec<u8>>,
    /// A value of exactly this length.
    pub length: Option<Bytes>,
    pub presence: Presence,
}

/// Whether a reply must contain a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It may.
    #[default]
    Either,
    Hit,
    Miss,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RespSetup {
    pub version: RespVersion,
    /// The user; needs a password.
    pub username: Option<String>,
    /// The password; a value `env:NAME` is read from the environment when the run starts.
    pub password: Option<String>,
    /// The database; connections begin with 0.
    pub database: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RespVersion {
    /// RESP2, which every server speaks.
    #[default]
    #[serde(rename = "2")]
    Two,
    /// RESP3, from Redis 6 on.
    #[serde(rename = "3")]
    Three,
}

impl CommandSpec {
    /// Parses a command by [`split_words`] and names it after itself.
    pub fn parse(text: &str) -> Result<Self, String> {
        let arguments = split_words(text)?;
        if arguments.first().is_none_or(Vec::is_empty) {
            return Err("names no command".to_owned());
        }
        Ok(Self {
            name: short_name(&arguments),
            arguments,
            value: None,
            weight: 1.0,
            check: CommandCheck::default(),
        })
    }

    /// The command as text that [`parse`](Self::parse) reads.
    pub fn text(&self) -> String {
        text_of(&self.arguments)
    }
}

/// Splits words as `redis-cli` does. Blanks separate words. In double quotes `\n`, `\r`, `\t`, `\a`, `\b` and
/// `\xNN` are bytes, and any other letter after a backslash is itself. In single quotes only `\'` is special.
pub fn split_words(text: &str) -> Result<Vec<Vec<u8>>, String> {
    let (mut words, mut rest) = (Vec::new(), text.as_bytes().trim_ascii_start());
    while !rest.is_empty() {
        let mut word = Vec::new();
        while let Some((&byte, after)) = rest.split_first() {
            rest = match byte {
                b'"' | b'\'' => quoted(byte, after, &mut word).ok_or_else(|| {
                    format!("`{text}` ends inside quotes, or a quote is not followed by a blank")
                })?,
                byte if byte.is_ascii_whitespace() => break,
                byte => {
                    word.push(byte);
                    after
                }
            };
        }
        words.push(word);
        rest = rest.trim_ascii_start();
    }
    Ok(words)
}

/// Appends the text up to the closing `quote` to `word` and returns the rest.
fn quoted<'a>(quote: u8, mut rest: &'a [u8], word: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        let (byte, after) = rest.split_first()?;
        rest = after;
        match (quote, *byte) {
            (quote, byte) if byte == quote => {
                let parted = rest.first().is_none_or(u8::is_ascii_whitespace);
                return parted.then_some(rest);
            }
            (b'"', b'\\') => {
                let hexadecimal = rest.strip_prefix(b"x").and_then(|digits| digits.first_chunk::<2>());
                let number = hexadecimal.and_then(|digits| {
                    let plain = digits.iter().all(u8::is_ascii_hexdigit);
                    u8::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| plain)?, 16).ok()
                });
                if let Some(number) = number {
                    word.push(number);
                    rest = &rest[3..];
                } else {
                    let (escaped, after) = rest.split_first()?;
                    rest = after;
                    word.push(match escaped {
                        b'n' => b'\n',
                        b'r' => b'\r',
                        b't' => b'\t',
                        b'a' => 7,
                        b'b' => 8,
                        other => *other,
                    });
                }
            }
            (b'\'', b'\\') if rest.first() == Some(&b'\'') => {
                word.push(b'\'');
                rest = &rest[1..];
            }
            (_, byte) => word.push(byte),
        }
    }
}

/// The text that [`split_words`] splits into these words.
fn text_of(words: &[Vec<u8>]) -> String {
    let words: Vec<_> = words.iter().map(|word| word_text(word)).collect();
    words.join(" ")
}

fn word_text(word: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !b"\"'".contains(byte);
    if !word.is_empty() && word.iter().all(is_plain) {
        return String::from_utf8_lossy(word).into_owned();
    }
    let mut text = String::from("\"");
    for byte in word {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            // Writing to a string cannot fail.
            _ => drop(write!(text, "\\x{byte:02x}")),
        }
    }
    text.push('"');
    text
}

fn short_name(words: &[Vec<u8>]) -> String {
    let text = text_of(words);
    match text.char_indices().nth(NAME_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let words = split_words(text).expect("words");
        words.into_iter().map(|word| String::from_utf8(word).expect("text")).collect()
    }

    #[test]
    fn words_are_split_as_redis_cli_splits_them() {
        assert_eq!(words(" GET  key:1 "), ["GET", "key:1"]);
        assert_eq!(words(r#"SET k "a b""#), ["SET", "k", "a b"]);
        assert_eq!(words(r#"SET k """#), ["SET", "k", ""]);
        assert_eq!(words(r#"SET k "a\nb\t\x41\"\\\q\xzz""#), ["SET", "k", "a\nb\tA\"\\qxzz"]);
        assert_eq!(words(r"SET k 'a\n\'b'"), ["SET", "k", r"a\n'b"]);
        assert_eq!(words(r"SET k a\n"), ["SET", "k", r"a\n"]);
        assert_eq!(words(r#"SET k"a b""#), ["SET", "ka b"]);
        assert_eq!(split_words("\"\\xff\\x00\"").expect("bytes"), [vec![0xff, 0]]);
        assert!(words("  ").is_empty());
        for wrong in [r#"SET k "a"#, r#"SET k "a\"#, "SET k 'a", r#"SET k "a"b"#, "'a'\"b\""] {
            assert!(split_words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_byte_survives_being_written_and_read() {
        let every: Vec<u8> = (0..=255).collect();
        let arguments = vec![b"SET".to_vec(), every, Vec::new(), b"it's".to_vec(), b"a\\b".to_vec()];
        let text = text_of(&arguments);
        assert_eq!(split_words(&text).expect("words"), arguments, "{text}");
    }

    #[test]
    fn a_long_command_has_a_short_name() {
        let spec = CommandSpec::parse(&format!("SET k {}", "v".repeat(100))).expect("a command");
        assert_eq!(spec.name.chars().count(), NAME_LENGTH + 1);
        assert_eq!(CommandSpec::parse("GET k").expect("a command").name, "GET k");
        assert!(CommandSpec::parse("  ").is_err());
    }
}
