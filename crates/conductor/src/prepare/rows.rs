//! The user's data files: read once, before anything is started, and identified by their hash.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use weighbridge_model::experiment::DataSpec;
use weighbridge_model::hex;
use weighbridge_workload::{Rows, RowsError};

/// In bytes.
const LARGEST: u64 = 256 << 20;

#[derive(Debug, thiserror::Error)]
pub enum RowsFileError {
    #[error("data file `{}`: {source}; name a CSV file, relative to the experiment's folder", file.display())]
    Unreadable { file: PathBuf, source: std::io::Error },
    #[error("data file `{}` has {bytes} bytes; at most {LARGEST} are read, cut it", file.display())]
    Large { file: PathBuf, bytes: u64 },
    #[error("data file `{}` is another file: its SHA-256 is {found}, the experiment names {wanted}; bring the file back, or remove `sha256`", file.display())]
    Changed { file: PathBuf, wanted: String, found: String },
    #[error("data file {0}")]
    Rows(#[from] RowsError),
}

/// Reads all files, relative to `folder`, and writes their hashes into `data`.
pub(crate) fn read(data: &mut [DataSpec], folder: Option<&Path>) -> Result<Vec<Arc<Rows>>, RowsFileError> {
    let mut all = Vec::new();
    for spec in data {
        let file = folder.unwrap_or(Path::new("")).join(&spec.file);
        let unreadable = |source| RowsFileError::Unreadable { file: file.clone(), source };
        let bytes = std::fs::metadata(&file).map_err(unreadable)?.len();
        if bytes > LARGEST {
            return Err(RowsFileError::Large { file, bytes });
        }
        let text = std::fs::read(&file).map_err(unreadable)?;
        let found = hex::encode(&Sha256::digest(&text));
        if let Some(wanted) = spec.sha256.clone().filter(|wanted| *wanted != found) {
            return Err(RowsFileError::Changed { file, wanted, found });
        }
        all.push(Arc::new(Rows::parse(spec, &text)?));
        spec.sha256 = Some(found);
    }
    Ok(all)
}
