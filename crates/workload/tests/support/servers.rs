//! Redis, Valkey and memcached on free ports and Unix sockets, for tests. They end when their value is dropped.

// Each test binary uses a part of it.
#![allow(dead_code)]

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to listen on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often another port is tried if another process took the first.
const ATTEMPTS: u32 = 20;

/// A running server.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    pub socket: PathBuf,
    // Removed after the server has ended.
    _folder: tempfile::TempDir,
}

/// Redis, listening on TCP and on a Unix socket; `more` are further options.
pub fn redis(more: &[&str]) -> Server {
    resp_server("redis-server", more)
}

/// Valkey, the same way.
pub fn valkey(more: &[&str]) -> Server {
    resp_server("valkey-server", more)
}

fn resp_server(program: &str, more: &[&str]) -> Server {
    start(program, true, &|port, socket| {
        let port = port.to_string();
        let mut options = vec!["--port", &port, "--bind", "127.0.0.1", "--save", "", "--unixsocket", socket];
        options.extend(more);
        options.into_iter().map(str::to_owned).collect()
    })
}

/// memcached on TCP; it listens on one kind of socket only.
pub fn memcached() -> Server {
    start("memcached", false, &|port, _| {
        ["-u", "root", "-l", "127.0.0.1", "-U", "0", "-I", "4m", "-p", &port.to_string()]
            .map(str::to_owned)
            .to_vec()
    })
}

/// memcached on a Unix socket.
pub fn memcached_on_unix() -> Server {
    start("memcached", true, &|_, socket| ["-u", "root", "-s", socket].map(str::to_owned).to_vec())
}

fn start(program: &str, unix: bool, options: &dyn Fn(u16, &str) -> Vec<String>) -> Server {
    for _ in 0..ATTEMPTS {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("socket");
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let address = free.expect("a free port");
        let child = Command::new(program)
            .args(options(address.port(), socket.to_str().expect("a plain path")))
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("`{program}`: {error}; scripts/setup installs it"));
        let mut server = Server { child, address, socket, _folder: folder };
        if server.is_up(unix, !unix || program != "memcached") {
            return server;
        }
    }
    panic!("`{program}` does not start");
}

impl Server {
    /// Waits until it accepts; `false` if it ended instead.
    fn is_up(&mut self, unix: bool, tcp: bool) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if self.child.try_wait().expect("a child").is_some() {
                return false;
            }
            let unix_is_up = !unix || UnixStream::connect(&self.socket).is_ok();
            if unix_is_up && (!tcp || TcpStream::connect(self.address).is_ok()) {
                // If another server had the port, this one would have ended.
                std::thread::sleep(Duration::from_millis(20));
                return self.child.try_wait().expect("a child").is_none();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the server does not listen within {PATIENCE:?}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
