//! Folders of the workload's files for services: the contract's variable `DATA`. They are written once,
//! before the first block, and stay beside the logs.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use weighbridge_model::experiment::Variant;
use weighbridge_workload::DataFile;

const VARIABLE: &str = "DATA";

/// Beside the logs.
const FOLDER: &str = "data";

/// One for each base that variants have.
#[derive(Debug, Default)]
pub(crate) struct DataFolders(BTreeMap<Option<u32>, DataFolder>);

impl DataFolders {
    /// Writes the files of each base beside these logs; the error names the folder.
    pub fn write(
        logs: &Path,
        bases: impl IntoIterator<Item = (Option<u32>, Vec<DataFile>)>,
    ) -> Result<Self, (PathBuf, io::Error)> {
        let mut folders = BTreeMap::new();
        for (base, files) in bases {
            let name = base.map_or_else(|| FOLDER.to_owned(), |sessions| format!("{FOLDER}-{sessions}"));
            let folder = logs.join(name);
            let written = DataFolder::write(&folder, &files).map_err(|error| (folder, error))?;
            folders.extend(written.map(|written| (base, written)));
        }
        Ok(Self(folders))
    }

    /// What a variant's service is told; of a relay, its peer.
    pub fn variable(&self, variant: &Variant) -> Option<(String, String)> {
        self.0.get(&variant.base).map(DataFolder::variable)
    }
}

#[derive(Debug)]
struct DataFolder(PathBuf);

impl DataFolder {
    /// Writes the files, read-only; no folder where there are none. A resumed run writes them again.
    fn write(folder: &Path, files: &[DataFile]) -> io::Result<Option<Self>> {
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

    fn variable(&self) -> (String, String) {
        (VARIABLE.to_owned(), self.0.display().to_string())
    }
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::Experiment;

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

    #[test]
    fn each_base_has_a_folder_of_its_own() {
        let logs = tempfile::tempdir().expect("a folder");
        let bases = [(None, people("[]")), (Some(256), people("{}"))];
        let folders = DataFolders::write(logs.path(), bases).expect("there is room");
        let text = "[workload]\nname = 'trade'\n[matrix]\nservice = ['rust-trade']\nbase = [256, 512]\n";
        let mut variant = Experiment::parse("x.toml", text).expect("an experiment").variants.remove(0);
        let read = |variant: &Variant| {
            let (_, folder) = folders.variable(variant)?;
            Some(fs::read_to_string(Path::new(&folder).join("people.json")).expect("a file"))
        };
        assert_eq!(read(&variant).as_deref(), Some("{}"));
        variant.base = None;
        assert_eq!(read(&variant).as_deref(), Some("[]"));
        variant.base = Some(512);
        assert_eq!(read(&variant), None);
    }
}
