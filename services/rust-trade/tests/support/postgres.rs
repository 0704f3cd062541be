//! A server of PostgreSQL with a private socket, as a user without privileges.

use std::env;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

use super::folder_of;

/// How long a server may take until it answers, and whoever waits for a lock until it does.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether somebody waits for a lock.
const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";

pub struct Server {
    folder: TempDir,
    child: Child,
}

impl Server {
    /// None, said on stderr, where PostgreSQL is not installed.
    pub fn start() -> Option<Self> {
        let Some(programs) = programs() else {
            super::skipped("PostgreSQL, since there is no `initdb` (Debian: apt-get install postgresql)");
            return None;
        };
        let folder = TempDir::new().expect("a folder");
        let account = account();
        if let Some((user, group)) = account {
            chown(folder.path(), Some(user), Some(group)).expect("root may");
        }
        let command = |program: &str| {
            let mut command = Command::new(programs.join(program));
            command.arg("-D").arg(folder.path().join("data")).current_dir(folder.path());
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if let Some((user, group)) = account {
                command.gid(group).uid(user);
            }
            command
        };
        let made = command("initdb")
            .args(["-A", "trust", "-U", "trade", "-E", "UTF8", "--locale=C", "--no-sync"])
            .status();
        assert!(made.expect("initdb runs").success(), "initdb ends well");
        let socket = format!("unix_socket_directories={}", folder.path().display());
        let settings = ["listen_addresses=", "autovacuum=off", "fsync=off", "deadlock_timeout=2s"];
        let mut server = command("postgres");
        for setting in settings.into_iter().chain([socket.as_str()]) {
            server.args(["-c", setting]);
        }
        let server = Self { child: server.spawn().expect("postgres starts"), folder };
        server.wait();
        Some(server)
    }

    fn wait(&self) {
        for _ in 0..PATIENCE.as_millis() / 20 {
            let runtime = runtime();
            if runtime.block_on(tokio_postgres::connect(&self.words(), NoTls)).is_ok() {
                return;
            }
            sleep(Duration::from_millis(20));
        }
        panic!("postgres does not answer");
    }

    /// As `DATABASE` has them.
    pub fn words(&self) -> String {
        format!("host={} user=trade dbname=postgres", self.folder.path().display())
    }

    /// A connection in the service's schema.
    pub async fn client(&self) -> Client {
        let words = format!("{} options='-c search_path=trade'", self.words());
        let (client, connection) = tokio_postgres::connect(&words, NoTls).await.expect("it answers");
        tokio::spawn(connection);
        client
    }

    pub fn number(&self, query: &str) -> i64 {
        runtime().block_on(async { self.client().await.query_one(query, &[]).await.expect("a row").get(0) })
    }

    /// Until somebody waits for a lock.
    pub fn wait_for_waiting(&self) {
        for _ in 0..PATIENCE.as_millis() / 5 {
            if self.number(WAITING) > 0 {
                return;
            }
            sleep(Duration::from_millis(5));
        }
        panic!("nobody waits for a lock");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        // A fast shutdown, which waits for no client.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        let _ = self.child.wait();
    }
}

pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a run-time")
}

/// Where PostgreSQL's programs are: links in the path lead to the version's own folder.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let own = versions.map(|version| version.path().join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    folder_of("initdb", own.chain(env::split_paths(&path)))
}

/// User and group for a server that root starts, since it refuses to be root.
fn account() -> Option<(u32, u32)> {
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let users = fs::read_to_string(Path::new("/etc/passwd")).expect("users");
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let mut numbers = line.unwrap_or("nobody:x:65534:65534").split(':').skip(2);
    let mut number = || numbers.next().and_then(|text| text.parse().ok()).expect("a number");
    Some((number(), number()))
}
