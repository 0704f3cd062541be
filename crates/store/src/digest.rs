//! One digest of a whole record, by which it is told from any other: what a citation names. Public tools make the same.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use weighbridge_model::hex;

use crate::durable::{entries, read_file};
use crate::error::ReadError;
use crate::folder::RunFolder;
use crate::{BLOCKS, ENVIRONMENT, EXPERIMENT, PLAN, RUN};

/// Rows of another program, in the folder of an imported run.
const IMPORTED: &str = "imported.csv";

impl RunFolder {
    /// SHA-256, hexadecimal, of the lines that `sha256sum` prints of the files that fix the record, by name: `run.json`,
    /// `experiment.toml`, `environment.json`, `plan.json`, the blocks (each of which holds the hashes of its trials), and
    /// what was imported. What is made of these, and the log of events, is no part of it.
    pub fn digest(&self) -> Result<String, ReadError> {
        let mut names: BTreeSet<String> =
            [RUN, EXPERIMENT, ENVIRONMENT, PLAN].into_iter().map(str::to_owned).collect();
        let blocks = self.path().join(BLOCKS);
        if blocks.is_dir() {
            let files = entries(&blocks)?.into_iter().map(|(name, _)| name);
            names.extend(files.filter(|name| name.ends_with(".json")).map(|name| format!("{BLOCKS}/{name}")));
        }
        names.extend(self.path().join(IMPORTED).exists().then(|| IMPORTED.to_owned()));
        let mut whole = Sha256::new();
        for name in names {
            let hash = hex::encode(&Sha256::digest(read_file(&self.path().join(&name))?));
            whole.update(format!("{hash}  {name}\n"));
        }
        Ok(hex::encode(&whole.finalize()))
    }
}
