//! One writer per run folder, by an advisory lock (`flock`) on the file `lock`. The kernel releases it when
//! the process ends for any reason. Readers need no lock, since every file appears complete.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::durable::{Durable, open_regular_as};
use crate::error::WriteError;

/// Name of the lock's file. It is never removed: otherwise two writers could each lock a file of that name.
pub(crate) const LOCK: &str = "lock";

/// The lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    /// Takes the lock of a run folder; the error names the process that holds it.
    pub(crate) fn take(folder: &Path, durable: &Durable) -> Result<Self, WriteError> {
        let path = folder.join(LOCK);
        let failed = |error| durable.error(&path, error);
        let mut options = OpenOptions::new();
        let mut file = open_regular_as(&path, options.read(true).write(true).create(true).truncate(false))
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(WriteError::Locked { folder: folder.to_owned(), pid: owner(&mut file) });
            }
            Err(error) => return Err(failed(error.into())),
        }
        let note = |file: &mut File| {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", std::process::id())
        };
        note(&mut file).map_err(failed)?;
        Ok(Self { file })
    }
}

impl Drop for Lock {
    /// Closing the file is not enough: a child that was just forked shares the lock until it executes its
    /// program.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// The process id in the file; `None` before the owner has written it.
fn owner(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::NextStep;

    #[test]
    fn a_second_writer_learns_who_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let durable = Durable::new(NextStep::StartAgain);
        let held = Lock::take(folder.path(), &durable).unwrap();
        let error = Lock::take(folder.path(), &durable).unwrap_err().to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        assert!(error.contains(folder.path().to_str().unwrap()), "{error}");
        drop(held);
        Lock::take(folder.path(), &durable).unwrap();
    }

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_a_dropped_lock() {
        let folder = tempfile::tempdir().unwrap();
        let durable = Durable::new(NextStep::StartAgain);
        let held = Lock::take(folder.path(), &durable).unwrap();
        let _inherited = held.file.try_clone().unwrap();
        drop(held);
        Lock::take(folder.path(), &durable).unwrap();
    }

    #[test]
    fn a_stale_note_does_not_hold_anyone_up() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(LOCK), "4194304999\n").unwrap();
        Lock::take(folder.path(), &Durable::new(NextStep::StartAgain)).unwrap();
        let noted = std::fs::read_to_string(folder.path().join(LOCK)).unwrap();
        assert_eq!(noted, format!("{}\n", std::process::id()));
    }
}
