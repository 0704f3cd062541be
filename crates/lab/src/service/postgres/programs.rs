//! Finds PostgreSQL's programs, and the user as whom they run.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{OLDEST, PostgresError};
use crate::host::sys;

/// Where distributions put the programs of each version, most of which are not in `PATH`.
const DEBIAN: &str = "/usr/lib/postgresql";
const RED_HAT: &str = "/usr";

/// An installed PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Postgres {
    /// The folder of its programs.
    folder: PathBuf,
    version: String,
    account: Option<Account>,
}

/// User and group in whose place root starts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    pub user: u32,
    pub group: u32,
}

impl Postgres {
    /// The newest one of this host.
    ///
    /// Errors: there is none that services can use, or none that this user can start.
    pub fn find() -> Result<Self, PostgresError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let (folder, version) = newest(&path, Path::new(DEBIAN), Path::new(RED_HAT))?;
        let account = (sys::own_user() == 0).then(account);
        let has_setpriv = || std::env::split_paths(&path).any(|folder| folder.join("setpriv").is_file());
        if account.is_some() && !has_setpriv() {
            return Err(PostgresError::NoOtherUser);
        }
        Ok(Self { folder, version, account })
    }

    /// Its own word: `15.13 (Debian 15.13-0+deb12u1)`.
    pub fn version(&self) -> &str {
        &self.version
    }

    pub(super) const fn account(&self) -> Option<Account> {
        self.account
    }

    /// One of its programs as a command, as the user who may run it.
    pub(super) fn command(&self, program: &str) -> Vec<String> {
        let program = self.folder.join(program).display().to_string();
        let Some(Account { user, group }) = self.account else { return vec![program] };
        let (user, group) = (format!("--reuid={user}"), format!("--regid={group}"));
        vec!["setpriv".to_owned(), user, group, "--clear-groups".to_owned(), "--".to_owned(), program]
    }
}

/// Folder and version of the newest one.
fn newest(path: &OsStr, debian: &Path, red_hat: &Path) -> Result<(PathBuf, String), PostgresError> {
    let below = |folder: &Path, prefix: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
        named.map(|entry| entry.path().join("bin")).collect()
    };
    let folders = std::env::split_paths(path).chain(below(debian, "")).chain(below(red_hat, "pgsql-"));
    let has = |folder: &Path, program: &str| folder.join(program).is_file();
    let whole = folders.filter(|folder| has(folder, "initdb") && has(folder, "postgres"));
    let found = whole.filter_map(|folder| Some((version_of(&folder)?, folder)));
    // Of equal versions the first, which is that of `PATH`.
    let mut found: Vec<_> = found.map(|(version, folder)| (numbers(&version), version, folder)).collect();
    found.sort_by(|(a, ..), (b, ..)| b.cmp(a));
    match found.first() {
        Some((numbers, version, folder)) if numbers.first().is_some_and(|major| *major >= OLDEST) => {
            Ok((folder.clone(), version.clone()))
        }
        _ => Err(PostgresError::NotFound {
            looked: format!("`PATH`, `{}/*/bin` and `{}/pgsql-*/bin`", debian.display(), red_hat.display()),
            older: found.into_iter().map(|(_, version, _)| version).collect(),
        }),
    }
}

fn version_of(folder: &Path) -> Option<String> {
    let output = Command::new(folder.join("postgres")).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.trim().strip_prefix("postgres (PostgreSQL) ")?;
    (!version.is_empty()).then(|| version.to_owned())
}

/// `15.13 (Debian …)` as 15 and 13; `16beta1` as 16.
fn numbers(version: &str) -> Vec<u32> {
    let own = version.split(' ').next().unwrap_or_default();
    let digits = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>();
    own.split('.').map_while(|part| digits(part).parse().ok()).collect()
}

/// That of the distribution's server, else one who owns nothing.
fn account() -> Account {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2);
        Some(Account { user: numbers.next()?.parse().ok()?, group: numbers.next()?.parse().ok()? })
    };
    let nobody = Account { user: 65_534, group: 65_534 };
    named("postgres").or_else(|| named("nobody")).unwrap_or(nobody)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder with programs that say this version.
    fn install(folder: &Path, version: &str) {
        fs::create_dir_all(folder).expect("a folder");
        for program in ["initdb", "postgres"] {
            let file = folder.join(program);
            fs::write(&file, format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")).expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
    }

    #[test]
    fn the_newest_version_is_found_wherever_it_lies() {
        let root = tempfile::tempdir().expect("a folder");
        let (path, debian, red_hat) =
            (root.path().join("bin"), root.path().join("debian"), root.path().join("usr"));
        let find = || newest(path.as_os_str(), &debian, &red_hat);
        let error = find().expect_err("nothing is there").to_string();
        assert!(error.starts_with("PostgreSQL 15 or later was looked for in `PATH`, `/"), "{error}");
        assert!(
            error.ends_with(
                "not found; install `postgresql` (`apt install postgresql`, `dnf install postgresql-server`)"
            ),
            "{error}"
        );
        install(&debian.join("9.6/bin"), "9.6.24");
        install(&path, "14.9");
        let error = find().expect_err("both are too old").to_string();
        assert!(error.contains("not found, only 14.9, 9.6.24; install"), "{error}");
        install(&debian.join("15/bin"), "15.13 (Debian 15.13-0+deb12u1)");
        assert_eq!(
            find().expect("one"),
            (debian.join("15/bin"), "15.13 (Debian 15.13-0+deb12u1)".to_owned())
        );
        install(&red_hat.join("pgsql-17/bin"), "17.2");
        assert_eq!(find().expect("a newer one").0, red_hat.join("pgsql-17/bin"));
        install(&path, "17.2");
        assert_eq!(find().expect("as new").0, path, "of equal ones that of `PATH`");
        install(&debian.join("18/bin"), "18beta1");
        assert_eq!(find().expect("the newest").1, "18beta1");
        fs::remove_file(debian.join("18/bin/initdb")).expect("it is there");
        assert_eq!(find().expect("what is whole").0, path);
    }
}
