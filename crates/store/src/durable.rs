//! Writing that survives a kill: every file and folder appears complete under its name, or not at all.
//!
//! The order is always: write under a temporary name, fsync, rename, fsync the parent. Nothing is overwritten
//! in place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::{NextStep, ReadError, WriteError};

/// End of every temporary name. With a leading dot it marks what a killed writer left.
const TEMPORARY: &str = ".partial";

/// Writes files durably. Its errors say what to do next.
#[derive(Debug, Clone)]
pub(crate) struct Durable {
    next: NextStep,
}

impl Durable {
    pub(crate) fn new(next: NextStep) -> Self {
        Self { next }
    }

    /// Writes `bytes` to `path`, replacing an existing file in one step.
    pub(crate) fn write_file(&self, path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
        let temporary = temporary_name(path);
        let written = write_synced(&temporary, bytes)
            .and_then(|()| fs::rename(&temporary, path))
            .and_then(|()| sync_folder(parent(path)));
        written.map_err(|error| {
            let _ = fs::remove_file(&temporary); // frees the space; the first error is the one to report
            self.error(path, error)
        })
    }

    /// Creates the folder `path` with `files` in one step. `path` must not exist.
    pub(crate) fn write_folder(&self, path: &Path, files: &[(&str, Vec<u8>)]) -> Result<(), WriteError> {
        let temporary = temporary_name(path);
        let fill = || -> io::Result<()> {
            fs::create_dir(&temporary)?;
            for (name, bytes) in files {
                write_synced(&temporary.join(name), bytes)?;
            }
            sync_folder(&temporary)?;
            fs::rename(&temporary, path)?;
            sync_folder(parent(path))
        };
        fill().map_err(|error| {
            let _ = fs::remove_dir_all(&temporary); // frees the space; the first error is the one to report
            self.error(path, error)
        })
    }

    /// Creates the folder `path` with its parents, if missing.
    pub(crate) fn make_folder(&self, path: &Path) -> Result<(), WriteError> {
        fs::create_dir_all(path)
            .and_then(|()| sync_folder(parent(path)))
            .map_err(|error| self.error(path, error))
    }

    /// Removes the folder `path`; it is never visible half empty under its name.
    pub(crate) fn remove_folder(&self, path: &Path) -> Result<(), WriteError> {
        let temporary = temporary_name(path);
        fs::rename(path, &temporary)
            .and_then(|()| sync_folder(parent(path)))
            .and_then(|()| fs::remove_dir_all(&temporary))
            .map_err(|error| self.error(path, error))
    }

    /// Removes temporary files and folders of killed writers from `folder`.
    pub(crate) fn remove_temporary(&self, folder: &Path) -> Result<(), WriteError> {
        for (name, path) in entries(folder)? {
            if name.starts_with('.') && name.ends_with(TEMPORARY) {
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.map_err(|error| self.error(&path, error))?;
            }
        }
        Ok(())
    }

    pub(crate) fn error(&self, path: &Path, source: io::Error) -> WriteError {
        let (path, next) = (path.to_owned(), self.next.clone());
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => WriteError::DiskFull { path, next },
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                WriteError::Denied { path, source, next }
            }
            _ => WriteError::Io { path, source, next },
        }
    }
}

/// Opens a file to read it. A folder may come from somebody else: opening a pipe would wait for a writer, reading a device
/// might never end, and a link may lead anywhere.
///
/// Errors: also if it is anything but a regular file.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    open_regular_as(path, OpenOptions::new().read(true))
}

/// As [`open_regular`], in another way, also to write it: a link would have something else overwritten.
pub(crate) fn open_regular_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = options.custom_flags(flags.bits() as i32).open(path);
    let file = file.map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::LOOP.raw_os_error() => no_link(),
        // What a pipe without a reader and a socket answer.
        Some(code) if code == Errno::NXIO.raw_os_error() => not_regular(),
        _ => error,
    })?;
    if !file.metadata()?.is_file() {
        return Err(not_regular());
    }
    Ok(file)
}

fn no_link() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "it is a link, and none is followed")
}

fn not_regular() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "it is no regular file")
}

/// Whether anything has this name, be it a link to nowhere.
pub(crate) fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Refuses a link where there should be a folder of a run.
pub(crate) fn refuse_link(path: &Path) -> Result<(), ReadError> {
    match path.symlink_metadata() {
        Ok(facts) if facts.is_symlink() => Err(ReadError::Io { path: path.to_owned(), source: no_link() }),
        _ => Ok(()),
    }
}

pub(crate) fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, ReadError> {
    read_regular(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => ReadError::Missing { path: path.to_owned() },
        _ => ReadError::Io { path: path.to_owned(), source },
    })
}

/// Names (those in UTF-8, as ours are) and paths in a folder, sorted by name; empty if there is no folder.
pub(crate) fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>, ReadError> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(iterator) => iterator.collect::<io::Result<Vec<_>>>(),
    };
    let listed = listed.map_err(|source| ReadError::Io { path: folder.to_owned(), source })?;
    let mut named: Vec<_> = listed
        .into_iter()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    named.sort();
    Ok(named)
}

/// Makes the entries of a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// A temporary name beside `path`. The process id keeps two writers of derived files apart.
fn temporary_name(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}{TEMPORARY}", std::process::id()))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errno(code: Errno) -> WriteError {
        let durable = Durable::new(NextStep::Resume("runs/a".into()));
        durable.error(Path::new("runs/a/plan.json"), io::Error::from_raw_os_error(code.raw_os_error()))
    }

    #[test]
    fn a_full_disk_names_the_path_and_the_way_on() {
        for code in [Errno::NOSPC, Errno::DQUOT] {
            assert_eq!(
                errno(code).to_string(),
                "no space left to write `runs/a/plan.json`; free space and continue with \
                 `weigh run --resume runs/a`"
            );
        }
    }

    #[test]
    fn a_forbidden_write_is_told_from_other_failures() {
        for code in [Errno::ACCESS, Errno::PERM, Errno::ROFS] {
            assert!(matches!(errno(code), WriteError::Denied { .. }), "{code}");
        }
        assert!(matches!(errno(Errno::IO), WriteError::Io { .. }));
    }

    #[test]
    fn only_regular_files_are_read_and_nothing_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "x").unwrap();
        assert_eq!(read_file(&at("file")).unwrap(), b"x");
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
            .unwrap();
        fs::create_dir(at("folder")).unwrap();
        for (path, said) in [
            (at("link"), "it is a link, and none is followed"),
            (at("pipe"), "it is no regular file"),
            (at("folder"), "it is no regular file"),
            ("/dev/zero".into(), "it is no regular file"),
        ] {
            let error = read_file(&path).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains(path.to_str().unwrap()), "{error}");
        }
        assert!(matches!(read_file(&at("none")), Err(ReadError::Missing { .. })));
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let taken = folder.path().join("taken");
        fs::create_dir(&taken).unwrap();
        fs::write(taken.join("file"), "x").unwrap();
        let durable = Durable::new(NextStep::Repeat);
        assert!(durable.write_file(&taken, b"y").is_err());
        assert!(durable.write_folder(&taken, &[("a", vec![1])]).is_err());
        let names: Vec<_> = entries(folder.path()).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["taken"]);
        assert_eq!(fs::read(taken.join("file")).unwrap(), b"x");
    }

    #[test]
    fn debris_goes_and_everything_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".003.17.partial")).unwrap();
        fs::write(folder.path().join(".003.17.partial/windows.csv"), "x").unwrap();
        fs::write(folder.path().join(".plan.json.17.partial"), "x").unwrap();
        for kept in ["plan.json", ".hidden", "notes.partial"] {
            fs::write(folder.path().join(kept), "x").unwrap();
        }
        Durable::new(NextStep::Repeat).remove_temporary(folder.path()).unwrap();
        let names: Vec<_> = entries(folder.path()).unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, [".hidden", "notes.partial", "plan.json"]);
    }
}
