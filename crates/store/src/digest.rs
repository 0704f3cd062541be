//! One digest that identifies a whole record, for citations. It can be computed with public tools.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};
use weighbridge_model::hex;

use crate::digests::sha256_hex;
use crate::durable::read_file;
use crate::error::ReadError;
use crate::folder::{RunFolder, marker_name};
use crate::{ENVIRONMENT, EXPERIMENT, IMPORTED, PLAN, RUN};

impl RunFolder {
    /// The SHA-256, in hexadecimal, of the output of `sha256sum` for the files of the record, by name:
    /// `run.json`, `experiment.toml`, `environment.json`, `plan.json`, the blocks (each has the hashes of its
    /// trials), and imported rows. Derived files and the event log are excluded.
    pub fn digest(&self) -> Result<String, ReadError> {
        let mut names: BTreeSet<String> =
            [RUN, EXPERIMENT, ENVIRONMENT, PLAN].into_iter().map(str::to_owned).collect();
        names.extend(self.markers()?.into_iter().map(|(_, marker)| marker_name(marker.block)));
        names.extend(self.environment()?.imported.map(|_| IMPORTED.to_owned()));
        let mut whole = Sha256::new();
        for name in names {
            let hash = sha256_hex(&read_file(&self.path().join(&name))?);
            whole.update(format!("{hash}  {name}\n"));
        }
        Ok(hex::encode(&whole.finalize()))
    }
}
