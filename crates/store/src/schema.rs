//! JSON files that carry the version of their format. The version is looked at before anything else, so that a file
//! of another version is told from a damaged one.

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

/// Reads any JSON value.
pub(crate) fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, ReadError> {
    serde_json::from_slice(bytes).map_err(|error| Problem::of_json(&error).at(path))
}

/// JSON for people and programs: indented, ending in a line feed. `what` names the value in the error.
pub(crate) fn pretty(what: &str, value: &impl Serialize) -> Result<Vec<u8>, WriteError> {
    let mut json = serde_json::to_vec_pretty(value)
        .map_err(|error| WriteError::NotStorable { what: what.to_owned(), problem: error.to_string() })?;
    json.push(b'\n');
    Ok(json)
}

/// Refuses a value that JSON cannot hold: a number that is not finite becomes `null`, which no reader takes for one.
pub(crate) fn check_readable<T: DeserializeOwned>(what: &str, json: &[u8]) -> Result<(), WriteError> {
    serde_json::from_slice::<T>(json).map(drop).map_err(|error| WriteError::NotStorable {
        what: what.to_owned(),
        problem: format!("it would not be read back: {error}"),
    })
}

#[cfg(test)]
mod tests {
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
