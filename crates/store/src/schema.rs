//! JSON files with a format version. The version is checked first, so that another version is not reported as
//! damage.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Problem, ReadError, WriteError};

/// Reads a JSON object whose field `schema` must be `supported`.
pub(crate) fn parse_versioned<T: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
    supported: u32,
) -> Result<T, ReadError> {
    #[derive(Deserialize)]
    struct Versioned {
        schema: u64,
    }
    let Versioned { schema: found } = parse(path, bytes)?;
    if found != u64::from(supported) {
        return Err(ReadError::Schema { path: path.to_owned(), found, supported });
    }
    parse(path, bytes)
}

pub(crate) fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(|error| Problem::from_json(&error).at(path))
}

/// Reads a JSON file that a person may have edited: errors name the field.
pub(crate) fn parse_named<T>(
    path: &Path,
    bytes: &[u8],
    read: impl FnOnce(&[u8]) -> serde_json::Result<T>,
) -> Result<T, ReadError> {
    read(bytes).map_err(|error| {
        let mut problem = Problem::from_json(&error);
        let field = field_at(bytes, error.line(), error.column());
        if !field.is_empty() {
            problem.what = format!("field `{field}`: {}", problem.what);
        }
        problem.at(path)
    })
}

/// The path of keys and indices at a position in JSON, such as `rules.seed` or `first_block.0.batch`; empty
/// at the top level. The text may be truncated or damaged there.
fn field_at(json: &[u8], line: usize, column: usize) -> String {
    /// An open object with its latest key, or an open list with its latest index.
    enum Enclosing {
        Object(Option<String>),
        List(usize),
    }
    let before: usize =
        json.split_inclusive(|byte| *byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    let end = (before + column).min(json.len());
    let (mut open, mut at) = (Vec::new(), 0);
    while at < end {
        match (json[at], open.last_mut()) {
            (b'{', _) => open.push(Enclosing::Object(None)),
            (b'[', _) => open.push(Enclosing::List(0)),
            (b'}' | b']', _) => drop(open.pop()),
            (b',', Some(Enclosing::List(position))) => *position += 1,
            (b',', Some(Enclosing::Object(key))) => *key = None,
            (b'"', context) => {
                let text = at + 1;
                at = text;
                while at < end && json[at] != b'"' {
                    at += if json[at] == b'\\' { 2 } else { 1 };
                }
                if let Some(Enclosing::Object(key @ None)) = context {
                    *key = Some(String::from_utf8_lossy(&json[text..at.min(end)]).into_owned());
                }
            }
            _ => {}
        }
        at += 1;
    }
    let part = |around: Enclosing| match around {
        Enclosing::Object(key) => key,
        Enclosing::List(position) => Some(position.to_string()),
    };
    open.into_iter().filter_map(part).collect::<Vec<_>>().join(".")
}

/// Indented JSON that ends in a line feed. `what` names the value in the error.
pub(crate) fn pretty(what: &str, value: &impl Serialize) -> Result<Vec<u8>, WriteError> {
    let mut json = serde_json::to_vec_pretty(value)
        .map_err(|error| WriteError::NotStorable { what: what.to_owned(), problem: error.to_string() })?;
    json.push(b'\n');
    Ok(json)
}

/// Refuses a value that JSON cannot represent: a number that is not finite becomes `null`, which cannot be
/// read as a number.
pub(crate) fn check_readable<T: DeserializeOwned>(what: &str, json: &[u8]) -> Result<(), WriteError> {
    serde_json::from_slice::<T>(json).map(drop).map_err(|error| WriteError::NotStorable {
        what: what.to_owned(),
        problem: format!("it would not be read back: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    struct Thing {
        schema: u32,
        name: String,
    }

    fn read(text: &str) -> Result<Thing, String> {
        parse_versioned(Path::new("run.json"), text.as_bytes(), 1).map_err(|error| error.to_string())
    }

    #[test]
    fn an_error_names_the_field_that_it_lies_in() {
        let read = |text: &str| {
            let list =
                |bytes: &[u8]| serde_json::from_slice::<BTreeMap<String, BTreeMap<String, Vec<u8>>>>(bytes);
            parse_named(Path::new("plan.json"), text.as_bytes(), list).map_err(|error| error.to_string())
        };
        assert!(read("{}").is_ok());
        for (text, says) in [
            (
                "{\"a\":\n{\"x\":[1], \"b\\\"\":[1,2,\n300]}}",
                "`plan.json` line 3: field `a.b\\\".2`: invalid value: integer `300`",
            ),
            (
                "{\"a\":{\"b\":{\"c\":1}}}",
                "`plan.json` line 1: field `a.b`: invalid type: map, expected a sequence",
            ),
            ("{\"a\":{\"b\":[1", "`plan.json` line 1: field `a.b.0`: EOF while parsing a list"),
            ("[]", "`plan.json` line 1: invalid type: sequence, expected a map"),
            ("", "`plan.json` line 1: EOF"),
        ] {
            let told = read(text).expect_err(text);
            assert!(told.starts_with(says), "{told}");
        }
    }

    #[test]
    fn another_version_is_told_from_damage() {
        assert_eq!(read(r#"{"schema":1,"name":"x"}"#), Ok(Thing { schema: 1, name: "x".into() }));
        let newer = read(r#"{"schema":2,"title":"x"}"#).unwrap_err();
        assert!(newer.starts_with("`run.json` has schema 2, this `weigh` reads schema 1"), "{newer}");
        let damaged = read("{\"schema\":1,\n\"name\":7}").unwrap_err();
        assert!(
            damaged.starts_with("`run.json` line 2: invalid type: integer `7`, expected a string;"),
            "{damaged}"
        );
        let cut = read("{\"schema\":1,\n").unwrap_err();
        assert!(cut.starts_with("`run.json` line 2: EOF"), "{cut}");
    }
}
