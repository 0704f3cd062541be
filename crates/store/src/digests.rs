//! `digests.json`: digests of a run's files, by which a later change is found.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use weighbridge_model::hex;

use crate::durable::read_file;
use crate::error::{ReadError, WriteError};
use crate::schema::{parse_versioned, pretty};
use crate::{DIGESTS, RECORD_SCHEMA_VERSION};

/// `digests.json`: of the files of a run folder that no other file has the digest of. It is written before the file that
/// changes, so that a kill between the two leaves a file of which it has the digest too.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Digests {
    schema: u32,
    /// By name, such as `plan.json` and `blocks/000.json`.
    files: BTreeMap<String, FileDigests>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct FileDigests {
    sha256: String,
    /// Of what the last write replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<String>,
}

impl Digests {
    pub(crate) fn new() -> Self {
        Self { schema: RECORD_SCHEMA_VERSION, files: BTreeMap::new() }
    }

    pub(crate) fn read(folder: &Path) -> Result<Self, ReadError> {
        let path = folder.join(DIGESTS);
        parse_versioned(&path, &read_file(&path)?, RECORD_SCHEMA_VERSION)
    }

    /// Takes the digests of what is written next under a name, and of what is there now.
    pub(crate) fn note(&mut self, name: &str, bytes: &[u8], now: Option<&[u8]>) {
        let sha256 = sha256_hex(bytes);
        let replaced = now.map(sha256_hex).filter(|now| *now != sha256);
        self.files.insert(name.to_owned(), FileDigests { sha256, replaced });
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>, WriteError> {
        pretty("the digests", self)
    }

    /// Names of all files, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Whether a file has one of its digests; a file that has none is whatever it is.
    pub(crate) fn fits(&self, name: &str, bytes: &[u8]) -> bool {
        self.files.get(name).is_none_or(|known| {
            let found = sha256_hex(bytes);
            known.sha256 == found || known.replaced.as_ref() == Some(&found)
        })
    }
}

/// SHA-256 in hexadecimal, as `sha256sum` prints it.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes))
}
