//! Small misbehaving servers on loopback, for the duration of a story.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A complete good reply.
pub const GOOD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server that calls a function for each connection, on its own thread.
pub struct Server {
    pub address: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Server {
    /// Listens on a free port. `serve` gets the connection and its number from 0.
    pub fn start(serve: impl Fn(TcpStream, u64) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (over, serve, count) = (Arc::new(AtomicBool::new(false)), Arc::new(serve), AtomicU64::new(0));
        let flag = Arc::clone(&over);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if flag.load(Ordering::SeqCst) {
                    return;
                }
                let (serve, number) = (Arc::clone(&serve), count.fetch_add(1, Ordering::SeqCst));
                if let Ok(stream) = stream {
                    std::thread::spawn(move || serve(stream, number));
                }
            }
        });
        Self { address, over }
    }

    /// Answers every request with the same bytes and keeps the connection.
    pub fn answering(reply: &'static [u8]) -> Self {
        Self::start(move |mut stream, _| {
            while read_head(&mut stream) {
                if stream.write_all(reply).is_err() {
                    return;
                }
            }
        })
    }

    /// Accepts and reads, but never answers.
    pub fn silent() -> Self {
        Self::start(|mut stream, _| while read_head(&mut stream) {})
    }

    /// The same, and a flag that is set once a whole head has come.
    pub fn silent_once_asked() -> (Self, Arc<AtomicBool>) {
        let asked = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&asked);
        let serve = move |mut stream: TcpStream, _| {
            while read_head(&mut stream) {
                flag.store(true, Ordering::SeqCst);
            }
        };
        (Self::start(serve), asked)
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the listener, which then ends.
        let _ = TcpStream::connect_timeout(&self.address, Duration::from_secs(1));
    }
}

/// Reads to the end of a request's head; false if the client has disconnected.
pub fn read_head(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

/// Closes a connection with unread input, so that the client sees a reset.
pub fn reset(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Both);
}

/// The body of the reply to a GET on a new connection.
pub fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("it answers");
    reply.split_once("\r\n\r\n").expect("a head and a body").1.to_owned()
}

/// A port on which nothing listens.
pub fn refusing() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port")
}
