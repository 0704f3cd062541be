//! The peer of a relay, played by verify: a server of HTTP/1.1 on loopback that keeps the law of `pong`, or
//! breaks off, refuses, waits, closes or hangs up as the row sets.
//!
//! It reads only heads without a body, answers in order, and records requests and connections. It checks
//! nothing; the rows do. Dropping it closes all its connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::sys;

/// No relay sends a longer head.
const LONGEST_HEAD: usize = 64 << 10;

/// How the peer answers requests from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// `pong(n)`, the connection kept.
    Lawful,
    /// `pong(n)` after this time.
    After(Duration),
    /// This status with a body of `REFUSAL`.
    Refusing(u16),
    /// `pong(n)`, then the end of the connection.
    Closing(Notice),
    /// Half of the body, then the end of the connection.
    BreakingOff(Framing),
    /// Half of a head, then the end of the connection.
    HalfAHead,
    /// The end of the connection instead of a reply, that many times; then `pong(n)`.
    HangingUp(usize, Ending),
    /// `pong(n)` in chunks.
    Chunked,
}

/// How the end of a body is marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// By `Content-Length`.
    Length,
    /// By an empty chunk.
    Chunks,
}

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// By the end of the stream.
    Close,
    Reset,
}

/// Whether the end of a connection is announced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Notice {
    /// `Connection: close` in the head.
    Given,
    /// It is not announced.
    None,
}

/// The body of a refusal, ten bytes.
pub(super) const REFUSAL: &[u8] = b"frobnicate";

/// What the peer does, and what it has seen since it was last set.
#[derive(Debug)]
struct PeerState {
    manner: Manner,
    asked: Vec<String>,
    accepted: usize,
}

/// A running peer. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Peer {
    address: SocketAddr,
    state: Arc<Mutex<PeerState>>,
    /// Dropped to end the serving thread.
    stop: Option<oneshot::Sender<()>>,
}

/// A reserved port of loopback on which nothing listens yet, so that connecting is refused.
#[derive(Debug)]
pub(super) struct Absent {
    runtime: tokio::runtime::Runtime,
    socket: TcpSocket,
    address: SocketAddr,
}

impl Absent {
    /// Reserves a free port.
    ///
    /// Errors: the host has none, or no descriptors left.
    pub(super) fn new() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = socket.local_addr()?;
        Ok(Self { runtime, socket, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Listens and answers, by the law at first.
    pub(super) fn listen(self) -> io::Result<Peer> {
        let Self { runtime, socket, address } = self;
        let listener = runtime.block_on(async { socket.listen(1024) })?;
        let state = PeerState { manner: Manner::Lawful, asked: Vec::new(), accepted: 0 };
        let state = Arc::new(Mutex::new(state));
        let (stop, stopped) = oneshot::channel::<()>();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            runtime.spawn(accept(listener, shared));
            // A message to stop and a dropped owner both end all spawned tasks.
            let _ = runtime.block_on(stopped);
        });
        Ok(Peer { address, state, stop: Some(stop) })
    }
}

impl Peer {
    /// A peer on a free port of loopback.
    ///
    /// Errors: the host has none, or no descriptors left.
    pub(super) fn start() -> io::Result<Self> {
        Absent::new()?.listen()
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers in this manner from now on, and forgets what it saw before.
    pub(super) fn behave(&self, manner: Manner) {
        *lock(&self.state) = PeerState { manner, asked: Vec::new(), accepted: 0 };
    }

    /// The methods and paths requested, such as `GET /pong/5`, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        lock(&self.state).asked.clone()
    }

    /// The number of connections that it accepted.
    pub(super) fn accepted(&self) -> usize {
        lock(&self.state).accepted
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

/// The state is consistent even if a thread panicked while holding it, since each change is one assignment.
fn lock(state: &Mutex<PeerState>) -> MutexGuard<'_, PeerState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<Mutex<PeerState>>) {
    // An error of one connection does not affect the others.
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        lock(&state).accepted += 1;
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            // The peer ignores a relay that disconnects; the row checks what the relay answers.
            let _ = serve(stream, &state).await;
        });
    }
}

/// Answers the requests of one connection until either side closes it.
async fn serve(mut stream: TcpStream, state: &Mutex<PeerState>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut unread = Vec::new();
    while let Some(head) = read_head(&mut stream, &mut unread).await? {
        let (line, manner, count) = {
            let line = head.lines().next().unwrap_or_default();
            let line = line.strip_suffix(" HTTP/1.1").unwrap_or(line).to_owned();
            let mut state = lock(state);
            state.asked.push(line.clone());
            (line, state.manner, state.asked.len())
        };
        match manner {
            Manner::After(wait) => sleep(wait).await,
            Manner::HangingUp(times, ending) if count <= times => return hang_up(&stream, ending),
            _ => {}
        }
        let size = line.strip_prefix("GET /pong/").and_then(|digits| digits.parse().ok());
        let size = size.filter(|size: &usize| (4..=100_000_000).contains(size));
        stream.write_all(&reply(size, manner)).await?;
        if matches!(manner, Manner::Closing(_) | Manner::BreakingOff(_) | Manner::HalfAHead) {
            stream.shutdown().await?;
            break;
        }
    }
    Ok(())
}

/// Ends a connection, which its owner then drops.
fn hang_up(stream: &TcpStream, ending: Ending) -> io::Result<()> {
    match ending {
        Ending::Close => Ok(()),
        Ending::Reset => sys::reset_on_close(stream),
    }
}

/// The text of the next head; `None` at the end of the stream.
async fn read_head(stream: &mut TcpStream, unread: &mut Vec<u8>) -> io::Result<Option<String>> {
    loop {
        if let Some(end) = unread.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let rest = unread.split_off(end + 4);
            let head = std::mem::replace(unread, rest);
            return Ok(Some(String::from_utf8_lossy(&head).into_owned()));
        }
        if unread.len() > LONGEST_HEAD || stream.read_buf(unread).await? == 0 {
            return Ok(None);
        }
    }
}

/// The bytes of a reply; `None` as size is a request that the law refuses.
fn reply(size: Option<usize>, manner: Manner) -> Vec<u8> {
    let (status, body) = match (manner, size) {
        (Manner::Refusing(status), _) => (status, REFUSAL.to_vec()),
        (_, None) => (400, REFUSAL.to_vec()),
        (_, Some(size)) => (200, pong(size)),
    };
    let head = format!("HTTP/1.1 {status} Scripted\r\nContent-Type: text/plain\r\n");
    let length = format!("Content-Length: {}\r\n", body.len());
    match manner {
        Manner::Chunked => [chunks(head, &body).as_slice(), b"0\r\n\r\n"].concat(),
        Manner::HalfAHead => head[..head.len() / 2].into(),
        Manner::Closing(Notice::Given) => whole(head + &length + "Connection: close\r\n", &body),
        Manner::BreakingOff(Framing::Length) => whole(head + &length, &body[..body.len() / 2]),
        Manner::BreakingOff(Framing::Chunks) => chunks(head, &body[..body.len() / 2]),
        _ => whole(head + &length, &body),
    }
}

/// The law of the body.
fn pong(size: usize) -> Vec<u8> {
    let mut body = vec![b'o'; size];
    body[0] = b'p';
    body[size - 2..].copy_from_slice(b"ng");
    body
}

fn whole(head: String, body: &[u8]) -> Vec<u8> {
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// A chunked body without the last chunk.
fn chunks(head: String, body: &[u8]) -> Vec<u8> {
    let mut bytes = whole(head + "Transfer-Encoding: chunked\r\n", &[]);
    for chunk in body.chunks(300) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::TcpStream as Stream;

    use super::*;

    fn ask(peer: &Peer, path: &str) -> String {
        let mut stream = Stream::connect(peer.address()).expect("it listens");
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).expect("it reads");
        stream.shutdown(std::net::Shutdown::Write).expect("it is open");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("text");
        text
    }

    #[test]
    fn it_keeps_the_law_and_remembers_what_it_was_asked() {
        let peer = Peer::start().expect("a peer");
        assert!(ask(&peer, "/pong/5").ends_with("Content-Length: 5\r\n\r\npoong"));
        assert!(ask(&peer, "/pong/3").starts_with("HTTP/1.1 400 "));
        assert_eq!(peer.asked(), ["GET /pong/5", "GET /pong/3"]);
        assert_eq!(peer.accepted(), 2);
        peer.behave(Manner::Refusing(500));
        assert_eq!((peer.asked().len(), peer.accepted()), (0, 0));
        assert!(ask(&peer, "/pong/5").starts_with("HTTP/1.1 500 "));
    }

    #[test]
    fn it_closes_breaks_off_and_chunks() {
        let peer = Peer::start().expect("a peer");
        peer.behave(Manner::Closing(Notice::Given));
        assert!(ask(&peer, "/pong/4").ends_with("Connection: close\r\n\r\npong"));
        peer.behave(Manner::BreakingOff(Framing::Length));
        assert!(ask(&peer, "/pong/6").ends_with("Content-Length: 6\r\n\r\npoo"));
        peer.behave(Manner::BreakingOff(Framing::Chunks));
        assert!(ask(&peer, "/pong/8").ends_with("chunked\r\n\r\n4\r\npooo\r\n"));
        peer.behave(Manner::HalfAHead);
        assert_eq!(ask(&peer, "/pong/8"), "HTTP/1.1 200 Scripted\r\nC");
        peer.behave(Manner::Chunked);
        let text = ask(&peer, "/pong/301");
        assert!(
            text.contains("chunked\r\n\r\n12c\r\npoo") && text.ends_with("\r\n1\r\ng\r\n0\r\n\r\n"),
            "{text}"
        );
    }

    #[test]
    fn it_hangs_up_as_often_as_set() {
        let peer = Peer::start().expect("a peer");
        peer.behave(Manner::HangingUp(2, Ending::Close));
        assert_eq!((ask(&peer, "/pong/4"), ask(&peer, "/pong/5")), (String::new(), String::new()));
        assert!(ask(&peer, "/pong/6").ends_with("pooong"));
        peer.behave(Manner::HangingUp(1, Ending::Reset));
        let mut stream = Stream::connect(peer.address()).expect("it listens");
        stream.write_all(b"GET /pong/4 HTTP/1.1\r\n\r\n").expect("it reads");
        let error = stream.read(&mut [0]).expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert!(ask(&peer, "/pong/6").ends_with("pooong"));
        assert_eq!(peer.asked(), ["GET /pong/4", "GET /pong/6"]);
    }

    #[test]
    fn a_port_is_reserved_before_anything_listens_there() {
        let absent = Absent::new().expect("a port");
        let address = absent.address();
        let error = Stream::connect(address).expect_err("nobody listens");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        let peer = absent.listen().expect("it is ours");
        assert_eq!(peer.address(), address);
        assert!(ask(&peer, "/pong/4").ends_with("pong"));
    }
}
