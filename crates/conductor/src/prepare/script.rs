//! The files of a brokerage's script: read before anything is started, and identified by their hash.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use weighbridge_model::experiment::TradeSpec;
use weighbridge_model::hex;
use weighbridge_workload::trade::TradeScript;
use weighbridge_workload::trade::dacapo::{self, ScriptFileError, ScriptFiles};

/// Of one file, in bytes: DaCapo's largest has 2.3 MB.
const LARGEST: u64 = 256 << 20;

#[derive(Debug, thiserror::Error)]
pub enum ScriptFolderError {
    #[error("script `{}`: {source}; `script` names a folder with `stocks.txt`, `users.txt` and `workload.txt`, relative to the experiment's", file.display())]
    Unreadable { file: PathBuf, source: std::io::Error },
    #[error("script `{}` has {bytes} bytes; at most {LARGEST} are read, cut it", file.display())]
    Large { file: PathBuf, bytes: u64 },
    #[error("script `{}` is another one: its SHA-256 is {found}, the experiment names {wanted}; bring the files back, or remove `sha256`", folder.display())]
    Changed { folder: PathBuf, wanted: String, found: String },
    #[error("script `{}`: {source}", folder.display())]
    Damaged { folder: PathBuf, source: ScriptFileError },
}

/// Reads the script of a specification, relative to `folder`, and writes its hash into it; `None` if it names none.
pub(crate) fn read(
    spec: &mut TradeSpec,
    folder: Option<&Path>,
) -> Result<Option<Arc<TradeScript>>, ScriptFolderError> {
    let Some(files) = &mut spec.script else { return Ok(None) };
    let folder = folder.unwrap_or(Path::new("")).join(&files.folder);
    let [stocks, users, workload] =
        [dacapo::STOCKS, dacapo::USERS, dacapo::WORKLOAD].map(|name| read_file(&folder.join(name)));
    let (stocks, users, workload) = (stocks?, users?, workload?);
    let mut hash = Sha256::new();
    [&stocks, &users, &workload].into_iter().for_each(|bytes| hash.update(bytes));
    let found = hex::encode(&hash.finalize());
    if let Some(wanted) = files.sha256.clone().filter(|wanted| *wanted != found) {
        return Err(ScriptFolderError::Changed { folder, wanted, found });
    }
    let read = ScriptFiles { stocks: &stocks, users: &users, workload: &workload };
    let script = dacapo::read(&read, Some(spec.sessions));
    let script = script.map_err(|source| ScriptFolderError::Damaged { folder: folder.clone(), source })?;
    files.sha256 = Some(found);
    Ok(Some(Arc::new(script)))
}

fn read_file(file: &Path) -> Result<Vec<u8>, ScriptFolderError> {
    let unreadable = |source| ScriptFolderError::Unreadable { file: file.to_owned(), source };
    let bytes = std::fs::metadata(file).map_err(unreadable)?.len();
    if bytes > LARGEST {
        return Err(ScriptFolderError::Large { file: file.to_owned(), bytes });
    }
    std::fs::read(file).map_err(unreadable)
}

#[cfg(test)]
mod tests {
    use weighbridge_model::experiment::{Experiment, WorkloadSpec};
    use weighbridge_workload::service_data;

    use super::*;

    fn spec(more: &str) -> TradeSpec {
        let text = format!(
            "[workload]\nname = 'trade'\n{more}\n[[variant]]\nservice = 'rust-trade'\nprotocol = 'direct'\n"
        );
        let mut experiment = Experiment::parse("x.toml", &text).expect("an experiment");
        match experiment.points.remove(0).workload {
            WorkloadSpec::Trade(spec) => spec,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_was_written_is_read_and_known_by_its_hash() {
        let folder = tempfile::tempdir().expect("a folder");
        let here = folder.path().join("script");
        std::fs::create_dir(&here).expect("a folder");
        let made = service_data(&WorkloadSpec::Trade(spec("sessions = 9")), None);
        made.iter().for_each(|file| std::fs::write(here.join(&file.name), &file.contents).expect("a file"));
        let read = |more: &str| {
            let mut spec = spec(&format!("script = 'script'\n{more}"));
            let script = read(&mut spec, Some(folder.path())).map_err(|error| error.to_string());
            script.map(|script| (script.expect("it names one"), spec))
        };
        let (script, known) = read("sessions = 9").expect("a script");
        assert_eq!(script.sessions.len(), 9);
        assert_eq!(service_data(&WorkloadSpec::Trade(known.clone()), Some(&script)), made);
        let hash = known.script.and_then(|files| files.sha256).expect("a hash");
        read(&format!("sessions = 9\nsha256 = '{hash}'")).expect("the same");
        assert_eq!(read("sessions = 4").expect("its beginning").0.sessions, script.sessions[..4]);
        for (more, expected) in [
            ("sessions = 10", "the file has 9 sessions"),
            ("sessions = 9\nsha256 = 'ab'", "is another one: its SHA-256 is"),
        ] {
            let error = read(more).expect_err(more);
            assert!(error.contains(expected), "{error}");
        }
        std::fs::write(here.join("users.txt"), "nonsense\n").expect("a file");
        assert!(read("sessions = 9").expect_err("damaged").contains("users.txt:1"));
        std::fs::remove_file(here.join("users.txt")).expect("it is there");
        assert!(read("sessions = 9").expect_err("gone").contains("names a folder with `stocks.txt`"));
    }
}
