//! PostgreSQL as a part of a variant: where its programs are, the database that is made once a run, and the server of
//! one trial with a copy of it.
//!
//! The server is private: it has a folder of its own, is reached through a socket in that folder or a port of the
//! loopback address, and runs without privileges. It refuses to be root, so root starts it as another user.

mod cluster;
mod programs;
mod settings;

use std::io;
use std::path::PathBuf;

use crate::process::logs::excerpt;
use crate::service::state::StateError;

pub use cluster::{DatabaseFolder, Template};
pub use programs::Postgres;

pub(crate) use cluster::forget_shared_memory;

#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    #[error(
        "PostgreSQL {OLDEST} or later was looked for in {looked} and not found{found}; install `postgresql` (`apt install postgresql`, `dnf install postgresql-server`)",
        found = beside(.older)
    )]
    NotFound {
        /// Where it was looked for.
        looked: String,
        /// What was found and cannot be used.
        older: Vec<String>,
    },
    #[error(
        "PostgreSQL refuses to run as root, and `setpriv`, which starts it as another user, was not found in `PATH`; install `util-linux`, or run `weigh` as another user"
    )]
    NoOtherUser,
    #[error("could not execute `{program}`: {source}; check that it may be executed", program = program.display())]
    Execute { program: PathBuf, source: io::Error },
    #[error("`initdb` of PostgreSQL ended with {status}{}; its output is in `{}`", excerpt(said), log.display())]
    Initdb { status: String, said: Vec<String>, log: PathBuf },
    #[error("making the database of PostgreSQL was interrupted")]
    Interrupted,
    #[error("could not write `{}` for a database: {source}; see that there is room", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Folder(#[from] StateError),
}

/// The oldest version that services need.
const OLDEST: u32 = 15;

fn beside(found: &[String]) -> String {
    if found.is_empty() { String::new() } else { format!(", only {}", found.join(", ")) }
}
