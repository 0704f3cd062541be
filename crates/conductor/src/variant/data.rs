//! The folder of the workload's files for services: the contract's variable `DATA`. It is written once,
//! before the first block, and stays beside the logs.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use weighbridge_workload::DataFile;

const VARIABLE: &str = "DATA";

/// Beside the logs.
pub(crate) const FOLDER: &str = "data";

#[derive(Debug)]
pub(crate) struct DataFolder(PathBuf);

impl DataFolder {
    /// Writes the files, read-only; no folder where there are none. A resumed run writes them again.
    pub fn write(folder: &Path, files: &[DataFile]) -> io::Result<Option<Self>> {
        if files.is_empty() {
            return Ok(None);
        }
        // A service runs in its own folder, where a relative path would lead elsewhere.
        let folder = std::path::absolute(folder)?;
        fs::create_dir_all(&folder)?;
        for DataFile { name, contents } in files {
            let path = folder.join(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o444)
                    .open(&path)?
                    .write_all(contents)?,
            }
        }
        Ok(Some(Self(folder)))
    }

    pub fn variable(&self) -> (String, String) {
        (VARIABLE.to_owned(), self.0.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn people(text: &str) -> Vec<DataFile> {
        vec![DataFile { name: "people.json".to_owned(), contents: text.as_bytes().to_vec() }]
    }

    #[test]
    fn files_of_a_workload_can_only_be_read_and_are_written_anew_by_a_run_that_goes_on() {
        let logs = tempfile::tempdir().expect("a folder");
        let folder = logs.path().join(FOLDER);
        for text in ["{}", "[]"] {
            let data = DataFolder::write(&folder, &people(text)).expect("there is room").expect("files");
            let (name, path) = data.variable();
            assert_eq!((name.as_str(), Path::new(&path)), ("DATA", folder.as_path()));
            let file = folder.join("people.json");
            assert_eq!(fs::read_to_string(&file).expect("a file"), text);
            assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o444);
        }
    }

    #[test]
    fn a_workload_without_files_makes_no_folder() {
        let logs = tempfile::tempdir().expect("a folder");
        let folder = logs.path().join(FOLDER);
        assert!(DataFolder::write(&folder, &[]).expect("nothing to do").is_none());
        assert!(!folder.exists());
    }
}
