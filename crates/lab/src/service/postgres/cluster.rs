//! The database's files: made once a run, copied for each trial.
//!
//! They lie below one folder that every user can reach, since the server may run as another user than `weigh`, and
//! whose path is short, since a socket's is limited.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::lchown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use regex::Regex;
use weighbridge_model::experiment::PostgresSettings;
use weighbridge_model::quantity::Nanoseconds;

use super::programs::Account;
use super::{Postgres, PostgresError, settings};
use crate::host::sys;
use crate::process::Wrapping;
use crate::process::command::{CommandOutcome, run_tracked};
use crate::process::launch::{Lab, Launch, LinePattern, Ready};
use crate::process::logs::{LINES_QUOTED, last_lines};
use crate::service::state::StateFolder;

/// For files that are too large for memory: where `fsync` reaches a disk, as `/tmp` often does not.
const PARENT: &str = "/var/tmp";
/// Begins the names of folders that hold a database.
const NAME: &str = "database";
/// The folder of the database's files, beside its socket.
const DATA: &str = "data";
/// What a server prints once it accepts connections; its messages are in English.
static READY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("database system is ready to accept connections").expect("it is constant"));
/// Recovery is never needed, so a server is up within a second; a loaded machine gets more.
const READY_PATIENCE: Nanoseconds = Nanoseconds::from_secs(60);

/// A database as `initdb` makes it, which is removed when this is dropped.
#[derive(Debug)]
pub struct Template {
    postgres: Postgres,
    folder: StateFolder,
}

/// The database of one trial. Drop it only when its server has ended: that removes it.
#[derive(Debug)]
pub struct DatabaseFolder {
    folder: StateFolder,
    asked: PostgresSettings,
    command: Vec<String>,
}

impl Template {
    /// Runs `initdb`, whose output goes to `log`.
    pub fn make(
        lab: &Lab,
        postgres: &Postgres,
        log: &Path,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, PostgresError> {
        let folder = make_folder(lab, "template", postgres.account())?;
        let words = postgres.command("initdb");
        let failed = |source| PostgresError::Execute { program: PathBuf::from(&words[0]), source };
        let unwritten = |source| PostgresError::Write { path: log.to_owned(), source };
        let output = fs::File::create(log).map_err(unwritten)?;
        let both = output.try_clone().map_err(unwritten)?;
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("-D").arg(folder.path().join(DATA));
        command.args(["-A", "trust", "-U", settings::USER, "-E", "UTF8", "--locale=C", "--no-sync"]);
        command.current_dir(folder.path()).env("LC_ALL", "C").stdin(Stdio::null());
        command.stdout(both).stderr(output);
        match run_tracked(lab.tracker(), command, is_cancelled).map_err(failed)? {
            CommandOutcome::Cancelled => Err(PostgresError::Interrupted),
            CommandOutcome::Ended(status) if status.success() => {
                Ok(Self { postgres: postgres.clone(), folder })
            }
            CommandOutcome::Ended(status) => Err(PostgresError::Initdb {
                status: status.to_string(),
                said: last_lines(log, LINES_QUOTED),
                log: log.to_owned(),
            }),
        }
    }

    /// A database of its own for one trial; `name` distinguishes those of one lab.
    pub fn copy(
        &self,
        lab: &Lab,
        name: &str,
        asked: PostgresSettings,
    ) -> Result<DatabaseFolder, PostgresError> {
        let account = self.postgres.account();
        let folder = make_folder(lab, name, account)?;
        let data = folder.path().join(DATA);
        let copied = copy_folder(&self.folder.path().join(DATA), &data, account)
            .and_then(|()| fs::write(data.join("pg_hba.conf"), settings::access(asked)));
        copied.map_err(|source| PostgresError::Write { path: data, source })?;
        Ok(DatabaseFolder { folder, asked, command: self.postgres.command("postgres") })
    }

    pub fn version(&self) -> &str {
        self.postgres.version()
    }
}

impl DatabaseFolder {
    /// How its server is started.
    pub fn launch(&self, name: String, stdout: PathBuf, stderr: PathBuf) -> Launch {
        let folder = self.folder.path();
        let mut command = self.command.clone();
        command.extend(["-D".to_owned(), folder.join(DATA).display().to_string()]);
        command.extend(settings::arguments(self.asked, folder));
        Launch {
            name,
            command,
            environment: vec![("LC_ALL".to_owned(), "C".to_owned())],
            folder: Some(folder.to_owned()),
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            cores: None,
            stdout,
            stderr,
            ready: Ready::Log(LinePattern::new(READY.clone())),
            ready_timeout: READY_PATIENCE,
            wrapping: Wrapping::None,
        }
    }

    /// The value of the contract's variable `DATABASE`.
    pub fn variable(&self, port: u16) -> String {
        format!("postgres:{}", settings::words(self.asked, self.folder.path(), port))
    }

    /// The settings that are not PostgreSQL's defaults.
    pub fn settings(&self) -> BTreeMap<String, String> {
        settings::settings(self.asked)
    }
}

/// An empty folder for a server that may run as another user.
fn make_folder(lab: &Lab, name: &str, account: Option<Account>) -> Result<StateFolder, PostgresError> {
    let folder = StateFolder::make(lab, Path::new(PARENT), &format!("{NAME}-{name}"))?;
    give(folder.path(), account)
        .map_err(|source| PostgresError::Write { path: folder.path().to_owned(), source })?;
    Ok(folder)
}

fn give(path: &Path, account: Option<Account>) -> io::Result<()> {
    match account {
        Some(Account { user, group }) => lchown(path, Some(user), Some(group)),
        None => Ok(()),
    }
}

/// Copies a folder with modes, for another user where one is given. Where the file system can, files share their
/// blocks until one is written to.
fn copy_folder(from: &Path, to: &Path, account: Option<Account>) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    give(to, account)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy_folder(&from, &to, account)?;
        } else {
            fs::copy(&from, &to)?;
            give(&to, account)?;
        }
    }
    Ok(())
}

/// Removes what a server that was killed leaves outside of its folder: a small segment of System V shared memory,
/// which its file of locks names. Does nothing for other folders.
pub(crate) fn forget_shared_memory(folder: &Path) {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if !name.contains(&format!("-{NAME}-")) {
        return;
    }
    let text = fs::read_to_string(folder.join(DATA).join("postmaster.pid")).unwrap_or_default();
    if let Some((key, id)) = segment(&text) {
        sys::remove_unused_segment(key, id);
    }
}

/// Key and id in the seventh line of `postmaster.pid`.
fn segment(text: &str) -> Option<(i32, i32)> {
    let mut numbers = text.lines().nth(6)?.split_whitespace();
    // The key is written as an unsigned number.
    let key = numbers.next()?.parse::<u64>().ok()? as u32 as i32;
    Some((key, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_copy_has_the_files_and_their_modes() {
        let root = tempfile::tempdir().expect("a folder");
        let (from, to) = (root.path().join("from"), root.path().join("to"));
        fs::create_dir_all(from.join("base/1")).expect("folders");
        fs::write(from.join("base/1/2619"), "rows").expect("a file");
        for (path, mode) in [("base/1/2619", 0o600), ("base", 0o700), ("", 0o700)] {
            let only_ours = fs::Permissions::from_mode(mode);
            fs::set_permissions(from.join(path), only_ours).expect("it is ours");
        }
        copy_folder(&from, &to, None).expect("there is room");
        assert_eq!(fs::read_to_string(to.join("base/1/2619")).expect("a file"), "rows");
        for (path, mode) in [("base/1/2619", 0o600), ("base", 0o700), ("", 0o700)] {
            let facts = fs::metadata(to.join(path)).expect("it is there");
            assert_eq!(facts.permissions().mode() & 0o777, mode, "{path}");
        }
    }

    #[test]
    fn the_segment_of_a_server_is_read_from_its_file_of_locks() {
        let file =
            "4711\n/var/tmp/d/data\n1764271442\n5432\n/var/tmp/d\n\n  4294967295        12\nready   \n";
        assert_eq!(segment(file), Some((-1, 12)));
        assert_eq!(segment("4711\n/var/tmp/d/data\n"), None);
    }
}
