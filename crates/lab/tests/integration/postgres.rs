//! A server of PostgreSQL as a role: its backends leave its session, and are frozen, accounted for and ended with it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weighbridge_lab::host::procfs::{Pid, ProcessIdentity, ProcessStat};
use weighbridge_lab::process::Running;
use weighbridge_lab::process::freeze::FreezeMethod;
use weighbridge_lab::process::launch::Lab;
use weighbridge_lab::service::postgres::{DatabaseFolder, Postgres, Template};
use weighbridge_model::experiment::{DatabaseVia, Durability, PostgresSettings};
use weighbridge_model::quantity::Nanoseconds;

use crate::process::eventually;
use crate::skips;

const GRACE: Nanoseconds = Nanoseconds::from_secs(60);

/// A lab with a database that its servers begin with.
struct Bench {
    // Before the lab and the folder of its logs.
    template: Template,
    lab: Lab,
    logs: tempfile::TempDir,
    _turn: MutexGuard<'static, ()>,
}

/// One bench at a time: segments of shared memory are counted for the whole host.
static TURN: Mutex<()> = Mutex::new(());

/// A running server and its files.
struct Server {
    running: Running,
    folder: DatabaseFolder,
}

impl Bench {
    /// `None`, said on stderr, where PostgreSQL is not installed.
    fn new(method: FreezeMethod) -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let postgres = match Postgres::find() {
            Ok(postgres) => postgres,
            Err(error) => {
                skips::skipped_layers(&error.to_string());
                return None;
            }
        };
        let logs = tempfile::tempdir().expect("a folder");
        let lab = Lab::with_method(&logs.path().display().to_string(), None, None, method);
        let template = Template::make(&lab, &postgres, &logs.path().join("initdb"), &|| false);
        Some(Self { template: template.expect("a database"), lab, logs, _turn: turn })
    }

    fn start(&self, via: DatabaseVia, durability: Durability) -> Server {
        let name = format!("{}-{}", via.name(), durability.name());
        let folder = self.template.copy(&self.lab, &name, PostgresSettings { via, durability });
        let folder = folder.expect("there is room");
        let log = self.logs.path().join(&name);
        let running = self.lab.launch(&folder.launch(name, log.clone(), log));
        Server { running: running.expect("it starts"), folder }
    }

    /// Folders of this lab that are there.
    fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir("/var/tmp").expect("a folder").flatten();
        let ours = format!("{}-database-", self.lab.prefix());
        let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&ours));
        ours.map(|entry| entry.path()).collect()
    }
}

/// A connection that has been let in.
struct Connection<S>(S);

impl<S: Read + Write> Connection<S> {
    fn open(mut stream: S) -> Self {
        let words = b"user\0trade\0database\0postgres\0\0";
        let mut message = (words.len() as u32 + 8).to_be_bytes().to_vec();
        message.extend(196_608_u32.to_be_bytes());
        message.extend(words);
        stream.write_all(&message).expect("it reads");
        let mut connection = Self(stream);
        connection.until_ready();
        connection
    }

    fn begin(&mut self, query: &str) {
        let mut message = b"Q".to_vec();
        message.extend((query.len() as u32 + 5).to_be_bytes());
        message.extend(query.as_bytes());
        message.push(0);
        self.0.write_all(&message).expect("it reads");
    }

    /// The first column of the last row.
    fn ask(&mut self, query: &str) -> String {
        self.begin(query);
        self.until_ready()
    }

    fn until_ready(&mut self) -> String {
        let mut last = String::new();
        loop {
            let mut head = [0; 5];
            self.0.read_exact(&mut head).expect("it answers");
            let length = u32::from_be_bytes(head[1..].try_into().expect("four bytes"));
            let mut body = vec![0; length as usize - 4];
            self.0.read_exact(&mut body).expect("it answers");
            match head[0] {
                b'Z' => return last,
                b'E' => panic!("{}", String::from_utf8_lossy(&body)),
                // Number of columns, length of the first, its text.
                b'D' => last = String::from_utf8_lossy(&body[6..]).into_owned(),
                _ => {}
            }
        }
    }
}

/// `host` and `port` of libpq's words.
fn place(server: &Server) -> (String, u16) {
    let words = server.folder.variable(server.running.port());
    let word = |name: &str| {
        let words = words.strip_prefix("postgres:").expect("its kind").split(' ');
        words
            .filter_map(|word| word.split_once('='))
            .find(|(own, _)| *own == name)
            .expect("a word")
            .1
            .to_owned()
    };
    (word("host"), word("port").parse().expect("a number"))
}

fn socket(server: &Server) -> PathBuf {
    let (folder, port) = place(server);
    Path::new(&folder).join(format!(".s.PGSQL.{port}"))
}

fn over_socket(server: &Server) -> Connection<UnixStream> {
    Connection::open(UnixStream::connect(socket(server)).expect("a socket"))
}

/// Segments of System V shared memory of the whole host.
fn segments() -> usize {
    fs::read_to_string("/proc/sysvipc/shm").expect("the kernel tells").lines().count()
}

#[test]
fn a_server_and_all_its_backends_are_one_role_with_or_without_control_groups() {
    for method in [FreezeMethod::Cgroup, FreezeMethod::Stop] {
        let Some(bench) = Bench::new(method) else { return };
        let mut server = bench.start(DatabaseVia::Unix, Durability::On);
        let mut busy = over_socket(&server);
        busy.begin("SELECT count(*) FROM generate_series(1, 1000000000000)");
        let running = &mut server.running;
        let leader = running.pid();
        let fled = |pid: &Pid| ProcessStat::read(*pid).is_some_and(|stat| stat.session != leader);
        let everyone: Vec<_> = running.members().into_iter().filter_map(ProcessIdentity::read).collect();
        let apart = everyone.iter().filter(|process| fled(&process.pid)).count();
        assert!(apart >= 5, "a backend and the server's own helpers: {apart}");
        let before = running.cpu_time().time;
        let step = Nanoseconds::from_millis(50);
        eventually("CPU time of its backend", || running.cpu_time().time > before + step);
        running.freeze().expect("it can be frozen");
        let mut frozen = running.cpu_time();
        eventually("a standstill", || {
            std::thread::sleep(Duration::from_millis(5));
            let now = running.cpu_time();
            std::mem::replace(&mut frozen, now) == now
        });
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(running.cpu_time(), frozen, "{method}: longer than its helpers sleep");
        running.thaw().expect("it can be thawed");
        eventually("CPU time after the thaw", || running.cpu_time().time > frozen.time + step);
        let Server { running, folder } = server;
        running.interrupt(GRACE);
        assert!(everyone.iter().all(|process| !process.is_alive()), "{method}");
        assert_eq!(bench.folders().len(), 2, "the template's and the server's");
        drop(folder);
        let Bench { template, lab, .. } = bench;
        drop(template);
        assert_eq!(lab.close().expect("nothing to close"), []);
    }
}

#[test]
fn a_server_is_reached_as_was_asked_for_and_keeps_the_promise_that_was_asked_for() {
    let Some(bench) = Bench::new(FreezeMethod::Cgroup) else { return };
    let show = "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings \
        WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'autovacuum', 'checkpoint_timeout')";
    let mode = "SELECT current_setting('data_directory_mode')";
    let unix = bench.start(DatabaseVia::Unix, Durability::On);
    let mut connection = over_socket(&unix);
    let told = "autovacuum=off checkpoint_timeout=86400 fsync=on full_page_writes=on synchronous_commit=on";
    assert_eq!(connection.ask(show), told);
    assert_eq!(connection.ask(mode), "0700");
    assert_eq!(connection.ask("SELECT inet_server_port() IS NULL"), "t");
    TcpStream::connect(("127.0.0.1", unix.running.port())).expect_err("it does not listen");
    let private = fs::metadata(place(&unix).0).expect("a folder");
    assert_eq!(private.permissions().mode() & 0o777, 0o700);
    let tcp = bench.start(DatabaseVia::Tcp, Durability::Off);
    let (host, port) = place(&tcp);
    assert_eq!(host, "127.0.0.1");
    let mut connection = Connection::open(TcpStream::connect((host, port)).expect("it listens"));
    let told =
        "autovacuum=off checkpoint_timeout=86400 fsync=off full_page_writes=off synchronous_commit=off";
    assert_eq!(connection.ask(show), told);
    let sockets = bench.folders().into_iter().flat_map(|folder| fs::read_dir(folder).expect("it is there"));
    let sockets = sockets.flatten().filter(|entry| entry.file_type().expect("a type").is_socket());
    assert_eq!(sockets.count(), 1, "that of the other server");
    assert_eq!(tcp.folder.settings()["fsync"], "off");
    // Who stops a server leaves nothing, though it has clients.
    for Server { running, folder } in [unix, tcp] {
        running.interrupt(GRACE);
        drop(folder);
    }
    assert_eq!(bench.folders().len(), 1, "the template");
}

#[test]
fn of_a_server_that_is_killed_nothing_is_left_either() {
    for method in [FreezeMethod::Cgroup, FreezeMethod::Stop] {
        let Some(bench) = Bench::new(method) else { return };
        let before = segments();
        let server = bench.start(DatabaseVia::Unix, Durability::On);
        let _busy = over_socket(&server);
        assert_eq!(segments(), before + 1, "by which it finds out whether it runs");
        let Server { running, folder } = server;
        drop(running);
        assert_eq!(segments(), before + 1);
        drop(folder);
        assert_eq!(segments(), before, "{method}");
        assert_eq!(bench.folders().len(), 1, "the template");
    }
}
