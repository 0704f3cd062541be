//! Digests that identify the measured programs.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};
use weighbridge_model::hex;
use weighbridge_model::quantity::Nanoseconds;

use crate::clock::utc_now;

/// Files above this many bytes are identified by size and time of change instead of content.
const LARGE: u64 = 256 << 20;

/// A file changed this recently is always read again.
const RECENT: Nanoseconds = Nanoseconds::from_secs(2);

/// Identifies a file's content: any write changes the time of change.
type State = (u64, u64, u64, i64, i64);

/// Variants share programs, and each program is examined before every block.
static KNOWN: LazyLock<Mutex<HashMap<State, [u8; 32]>>> = LazyLock::new(Mutex::default);

pub(crate) fn own_sha256() -> Option<String> {
    digest(Path::new("/proc/self/exe")).map(|digest| hex::encode(&digest))
}

/// SHA-256, hexadecimal, of the files that a command names: its program (searched in `PATH`) and arguments
/// that are files, such as a script. Several files are hashed as their digests in order.
pub(crate) fn program_sha256(argv: &[String], folder: Option<&Path>) -> Option<String> {
    let (program, arguments) = argv.split_first()?;
    let placed = |path: &str| folder.map_or_else(|| PathBuf::from(path), |folder| folder.join(path));
    let path = match program.contains('/') {
        true => placed(program),
        false => std::env::split_paths(&std::env::var_os("PATH")?)
            .map(|folder| folder.join(program))
            .find(|path| path.is_file())?,
    };
    let files = arguments.iter().map(|word| placed(word)).filter(|path| path.is_file());
    let digests: Vec<_> = std::iter::once(path).chain(files).filter_map(|path| digest(&path)).collect();
    let digest = match &digests[..] {
        [] => return None,
        [one] => *one,
        several => several.iter().fold(Sha256::new(), Digest::chain_update).finalize().into(),
    };
    Some(hex::encode(&digest))
}

/// A large file is taken for data rather than a program: only its size and time of change are hashed.
fn digest(path: &Path) -> Option<[u8; 32]> {
    let mut file = File::open(path).ok()?;
    let facts = file.metadata().ok()?;
    if facts.len() > LARGE {
        let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        return Some(Sha256::digest(format!("{} {}", facts.len(), changed.as_nanos())).into());
    }
    let state = state(&facts);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(digest) = known().get(&state) {
        return Some(*digest);
    }
    let mut hasher = Sha256::new();
    io::copy(&mut file, &mut hasher).ok()?;
    let digest = hasher.finalize().into();
    // Times of change are coarse: a file written just now could be written again within the same tick.
    let age = utc_now().unix_ns().saturating_sub(changed_at(&facts));
    if age > RECENT.as_nanos() && file.metadata().is_ok_and(|facts| self::state(&facts) == state) {
        known().insert(state, digest);
    }
    Some(digest)
}

fn changed_at(facts: &Metadata) -> u64 {
    facts.ctime().unsigned_abs() * 1_000_000_000 + facts.ctime_nsec().unsigned_abs()
}

fn state(facts: &Metadata) -> State {
    (facts.dev(), facts.ino(), facts.len(), facts.ctime(), facts.ctime_nsec())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sha256(text: &str) -> Option<[u8; 32]> {
        Some(Sha256::digest(text).into())
    }

    #[test]
    fn a_file_is_told_by_what_is_in_it_now_however_quickly_it_changes() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        for round in 0..200 {
            let text = format!("program {round:03}");
            fs::write(&path, &text).expect("a file");
            assert_eq!(digest(&path), sha256(&text));
        }
        assert_eq!(digest(&folder.path().join("none")), None);
    }

    #[test]
    fn a_program_that_rests_is_read_once_and_again_once_it_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("program");
        fs::write(&path, "first").expect("a file");
        std::thread::sleep((RECENT + Nanoseconds::from_millis(50)).as_duration());
        let known = |path: &Path| {
            let state = state(&fs::metadata(path).expect("it is there"));
            KNOWN.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&state)
        };
        assert!(!known(&path));
        assert_eq!([digest(&path), digest(&path)], [sha256("first"), sha256("first")]);
        assert!(known(&path));
        fs::write(&path, "other").expect("a file");
        assert!(!known(&path), "of the same length");
        assert_eq!(digest(&path), sha256("other"));
    }

    #[test]
    fn a_command_is_told_by_its_program_and_the_files_among_its_arguments() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("run"), "program").expect("a file");
        fs::write(folder.path().join("script"), "text").expect("a file");
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            program_sha256(&words, Some(folder.path()))
        };
        assert_eq!(of(&["./run", "--port", "0"]), sha256("program").map(|digest| hex::encode(&digest)));
        let both = ["program", "text"].map(|text| Sha256::digest(text).to_vec()).concat();
        assert_eq!(of(&["./run", "script"]), Some(hex::encode(&Sha256::digest(both))));
        assert_eq!(of(&["./none"]), None);
        assert_eq!(of(&[]), None);
    }
}
