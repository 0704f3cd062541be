//! A minimal HTTP/1 client. It sends given bytes and reads one head or body at a time, strictly, with a
//! deadline on everything.
//!
//! It checks only whether a head is valid; other modules check whether a reply is right. It follows no
//! redirects, decodes no body, and repairs no errors.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::limits::{Limits, STREAM_END, WATCH, left};
use super::outcome::quoted;
use super::sys;

/// No service sends a longer head.
const LONGEST_HEAD: usize = 64 << 10;

/// No refusal is longer.
const LONGEST_REST: usize = 1 << 20;

/// What came over a connection instead of the right reply; messages use it after "came".
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("a refused connection")]
    Refused,
    #[error("the end of the stream after {got} bytes of the {part}")]
    Ended {
        /// What was being read.
        part: MessagePart,
        /// Bytes received so far.
        got: usize,
    },
    #[error("a reset connection after {got} bytes of the {part}")]
    Reset {
        /// What was being read.
        part: MessagePart,
        /// Bytes received so far.
        got: usize,
    },
    #[error("{got} bytes of the {part} and nothing more within {waited:.1?}")]
    Late {
        /// What was being read.
        part: MessagePart,
        /// Bytes received so far.
        got: usize,
        /// How long we waited.
        waited: Duration,
    },
    /// The received bytes are not a head of HTTP/1.
    #[error("a head with {fault}: {head}")]
    Malformed {
        /// What is wrong with it.
        fault: &'static str,
        /// Its beginning, quoted.
        head: String,
    },
    #[error("a broken connection ({0})")]
    Broken(io::Error),
}

impl ClientError {
    /// Whether the service closed the connection without sending anything.
    pub(super) fn is_silent_close(&self) -> bool {
        matches!(self, Self::Ended { got: 0, .. } | Self::Reset { got: 0, .. })
    }

    /// Whether the service closed or reset the connection, at any point.
    pub(super) fn is_end(&self) -> bool {
        matches!(self, Self::Ended { .. } | Self::Reset { .. })
    }
}

/// What was being read or written when the error occurred.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessagePart {
    Request,
    Head,
    Body,
}

impl fmt::Display for MessagePart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Request => "request",
            Self::Head => "head",
            Self::Body => "body",
        })
    }
}

/// What an idle connection does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Quiet {
    /// It stays open and silent.
    Open,
    /// The other side closed or broke it.
    Closed,
    /// Unrequested bytes arrived; the first of them.
    Noisy(Vec<u8>),
}

/// The head of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// Names in lower case, values without surrounding blanks, in order of arrival.
    headers: Vec<(String, String)>,
}

impl Head {
    /// Parses a head without the empty line that ends it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ClientError> {
        let malformed = |fault| ClientError::Malformed { fault, head: quoted(bytes) };
        let whole = [bytes, b"\r\n\r\n"].concat();
        let mut fields = vec![httparse::EMPTY_HEADER; bytes.split(|byte| *byte == b'\n').count()];
        let mut reply = httparse::Response::new(&mut fields);
        let parsed = reply.parse(&whole);
        // httparse skips empty lines before the status line, and accepts bare line feeds.
        let (first, rest) = bytes.split_at(bytes.windows(2).position(is_line_end).unwrap_or(bytes.len()));
        let is_status_line = first.starts_with(b"HTTP/1.")
            && !first.contains(&b'\n')
            && !matches!(parsed, Err(httparse::Error::Version | httparse::Error::Status));
        let status = reply.code.filter(|_| is_status_line).ok_or_else(|| malformed("a wrong status line"))?;
        let is_whole = parsed == Ok(httparse::Status::Complete(whole.len()));
        let is_bare = |pair: &[u8]| pair[1] == b'\n' && !is_line_end(pair);
        if !is_whole || rest.windows(2).any(is_bare) {
            return Err(malformed("a wrong header line"));
        }
        let header = |field: &httparse::Header<'_>| (field.name.to_ascii_lowercase(), latin1(field.value));
        Ok(Self { status, headers: reply.headers.iter().map(header).collect() })
    }

    /// The head of a reply that was parsed by another library.
    pub(super) fn from_response<B>(reply: &http::Response<B>) -> Self {
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            (name.as_str().to_owned(), latin1(value.as_bytes()))
        };
        Self { status: reply.status().as_u16(), headers: reply.headers().iter().map(header).collect() }
    }

    /// The values of all headers called `name`, in lower case.
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The value of the header `name`, if there is exactly one.
    pub(super) fn only<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let mut values = self.values(name);
        values.next().filter(|_| values.next().is_none())
    }

    /// All headers except `Date`, which changes with time, in alphabetical order.
    pub(super) fn lasting_headers(&self) -> Vec<(String, String)> {
        let mut headers: Vec<_> = self.headers.iter().filter(|(name, _)| name != "date").cloned().collect();
        headers.sort();
        headers
    }
}

fn is_line_end(pair: &[u8]) -> bool {
    pair == b"\r\n"
}

/// Text as HTTP defines it: each byte is a character, so nothing is lost.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// A connection to the service.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    limits: Limits,
    /// What was received and not yet read.
    unread: Vec<u8>,
}

impl Connection {
    /// Connects, with `TCP_NODELAY`.
    pub(super) fn open(address: SocketAddr, limits: Limits) -> Result<Self, ClientError> {
        let begin = Instant::now();
        let stream = TcpStream::connect_timeout(&address, left(limits.for_reply(0))).map_err(|error| {
            match error.kind() {
                ErrorKind::ConnectionRefused => ClientError::Refused,
                ErrorKind::TimedOut => {
                    ClientError::Late { part: MessagePart::Request, got: 0, waited: begin.elapsed() }
                }
                _ => ClientError::Broken(error),
            }
        })?;
        // If nothing listens on a port of the ephemeral range, the system may choose that port for our end
        // and connect the socket to itself.
        if stream.local_addr().ok() == Some(address) {
            return Err(ClientError::Refused);
        }
        stream.set_nodelay(true).map_err(ClientError::Broken)?;
        Ok(Self { stream, limits, unread: Vec::new() })
    }

    /// Sends bytes unchanged, in one write if the system accepts them all.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        let begin = Instant::now();
        let patience = left(self.limits.for_reply(0));
        self.stream.set_write_timeout(Some(patience)).map_err(ClientError::Broken)?;
        self.stream.write_all(bytes).map_err(|error| trouble(error, MessagePart::Request, 0, begin))
    }

    /// Reads the head of the next reply.
    pub(super) fn head(&mut self, deadline: Instant) -> Result<Head, ClientError> {
        let begin = Instant::now();
        let mut searched = 0;
        loop {
            let end = self.unread[searched..].windows(4).position(|bytes| bytes == b"\r\n\r\n");
            if let Some(end) = end.map(|end| end + searched) {
                let rest = self.unread.split_off(end + 4);
                let head = std::mem::replace(&mut self.unread, rest);
                return Head::parse(&head[..end]);
            }
            searched = self.unread.len().saturating_sub(3);
            if self.unread.len() > LONGEST_HEAD {
                let head = quoted(&self.unread);
                return Err(ClientError::Malformed { fault: "no end within 64 KiB", head });
            }
            self.fill(MessagePart::Head, deadline, begin)?;
        }
    }

    /// Reads the next `length` bytes.
    pub(super) fn body(&mut self, length: usize, deadline: Instant) -> Result<Vec<u8>, ClientError> {
        let begin = Instant::now();
        while self.unread.len() < length {
            self.fill(MessagePart::Body, deadline, begin)?;
        }
        let rest = self.unread.split_off(length);
        Ok(std::mem::replace(&mut self.unread, rest))
    }

    /// Waits until at least `length` bytes have arrived, and leaves them to be read.
    pub(super) fn receive_at_least(&mut self, length: usize) -> Result<(), ClientError> {
        let (begin, deadline) = (Instant::now(), self.limits.for_reply(length));
        while self.unread.len() < length {
            self.fill(MessagePart::Head, deadline, begin)?;
        }
        Ok(())
    }

    /// Waits until `deadline` for the end of the stream with nothing before it.
    pub(super) fn end(&mut self, deadline: Instant) -> Result<(), String> {
        let begin = Instant::now();
        if self.unread.is_empty() {
            match self.fill(MessagePart::Head, deadline, begin) {
                Err(ClientError::Ended { .. }) => return Ok(()),
                Err(ClientError::Late { waited, .. }) => {
                    return Err(format!("a stream that is open after {waited:.1?}"));
                }
                Err(error) => return Err(error.to_string()),
                Ok(()) => {}
            }
        }
        Err(format!("{} and more", quoted(&self.unread)))
    }

    /// Everything received until the end of the stream or `deadline`, and whether the stream ended.
    pub(super) fn rest(&mut self, deadline: Instant) -> Result<(Vec<u8>, Quiet), ClientError> {
        let begin = Instant::now();
        let end = loop {
            match self.fill(MessagePart::Body, deadline, begin) {
                Ok(()) if self.unread.len() > LONGEST_REST => break Quiet::Open,
                Ok(()) => {}
                Err(ClientError::Ended { .. } | ClientError::Reset { .. }) => break Quiet::Closed,
                Err(ClientError::Late { .. }) => break Quiet::Open,
                Err(error) => return Err(error),
            }
        };
        Ok((std::mem::take(&mut self.unread), end))
    }

    /// Waits for the end of the stream after a last reply.
    pub(super) fn end_behind_reply(&mut self) -> Result<(), String> {
        self.end(self.limits.within(STREAM_END))
    }

    /// Watches the connection briefly.
    pub(super) fn watch(&mut self) -> Quiet {
        if self.unread.is_empty() {
            let begin = Instant::now();
            match self.fill(MessagePart::Head, begin + WATCH, begin) {
                Ok(()) => {}
                Err(ClientError::Late { .. }) => return Quiet::Open,
                Err(_) => return Quiet::Closed,
            }
        }
        Quiet::Noisy(self.unread.clone())
    }

    /// Resets the connection.
    pub(super) fn reset(self) -> Result<(), ClientError> {
        sys::reset_on_close(&self.stream).map_err(ClientError::Broken)
    }

    /// The limits of the row that uses this connection.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Receives some bytes.
    fn fill(&mut self, part: MessagePart, deadline: Instant, begin: Instant) -> Result<(), ClientError> {
        let got = self.unread.len();
        let mut chunk = [0; 64 << 10];
        loop {
            // Bytes that arrive slowly must not extend the deadline.
            if Instant::now() >= deadline {
                return Err(ClientError::Late { part, got, waited: begin.elapsed() });
            }
            self.stream.set_read_timeout(Some(left(deadline))).map_err(ClientError::Broken)?;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(ClientError::Ended { part, got }),
                Ok(length) => {
                    self.unread.extend_from_slice(&chunk[..length]);
                    return Ok(());
                }
                // A process that is stopped and continued gets this without a handler of its own.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(trouble(error, part, got, begin)),
            }
        }
    }
}

fn trouble(error: io::Error, part: MessagePart, got: usize, begin: Instant) -> ClientError {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => ClientError::Reset { part, got },
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            ClientError::Late { part, got, waited: begin.elapsed() }
        }
        _ => ClientError::Broken(error),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A connection to a server whose end `serve` handles.
    fn against(serve: impl FnOnce(TcpStream) + Send + 'static) -> Connection {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || serve(listener.accept().expect("a connection").0));
        Connection::open(address, Limits::for_row()).expect("it listens")
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(50)
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_head_is_read_by_the_letter() {
        let head = Head::parse(b"HTTP/1.1 200 OK\r\nA-b:  x \r\na-B: y\r\nDate: now").expect("a head");
        assert_eq!(head.status, 200);
        assert_eq!(head.values("a-b").collect::<Vec<_>>(), ["x", "y"]);
        assert_eq!((head.only("a-b"), head.only("date"), head.only("absent")), (None, Some("now"), None));
        assert_eq!(head.lasting_headers().len(), 2);
        for wrong in [
            "",
            "HTTP/2 200 OK",
            "HTTP/1.1 20 OK",
            "HTTP/1.1 +20 OK",
            "HTTP/1.1 2000",
            "HTTP/1.1 200 OK\nA: b",
            "HTTP/1.1 200 OK\r\nA : b",
            "HTTP/1.1 200 OK\r\nA: b\r\n folded",
            "HTTP/1.1 200 OK\r\nA: b\nC: d",
            "HTTP/1.1 200 OK\r\n: b",
            "HTTP/1.1 200 OK\r\nno colon",
            "HTTP/1.1 200 OK\r\nA: b\0",
            "\r\nHTTP/1.1 200 OK",
            "\nHTTP/1.1 200 OK",
            "HTTP/1.1 200 OK\rA: b",
        ] {
            assert!(Head::parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn slow_bytes_do_not_extend_the_deadline() {
        let mut silent = against(|stream| {
            thread::sleep(Duration::from_secs(600));
            drop(stream);
        });
        assert!(matches!(silent.head(soon()), Err(ClientError::Late { got: 0, .. })));
        let mut trickle = against(|mut stream| {
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        });
        assert!(matches!(trickle.head(soon()), Err(ClientError::Late { part: MessagePart::Head, .. })));
    }

    #[test]
    fn an_endless_head_is_given_up() {
        let mut endless = against(|mut stream| while stream.write_all(&[b'x'; 4096]).is_ok() {});
        let error = endless.head(later()).expect_err("no head");
        assert!(matches!(error, ClientError::Malformed { fault: "no end within 64 KiB", .. }), "{error}");
    }

    #[test]
    fn an_early_end_reports_what_was_received() {
        let mut short = against(|mut stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\npoon").expect("it is read");
        });
        assert_eq!(short.head(later()).expect("a head").status, 200);
        let error = short.body(5, later()).expect_err("four bytes");
        assert_eq!(error.to_string(), "the end of the stream after 4 bytes of the body");
        assert!(!error.is_silent_close());
    }

    /// Linux then ends a read that has a timeout with EINTR, though no handler is installed.
    #[test]
    fn being_stopped_and_continued_is_no_byte_and_no_end() {
        let mut open = against(|stream| {
            thread::sleep(Duration::from_secs(600));
            drop(stream);
        });
        let script = format!("kill -STOP {0}; sleep 0.05; kill -CONT {0}", std::process::id());
        let mut stopping = std::process::Command::new("sh").args(["-c", &script]).spawn().expect("a shell");
        while stopping.try_wait().expect("its state").is_none() {
            assert_eq!(open.watch(), Quiet::Open);
        }
        assert!(stopping.wait().expect("its end").success());
    }

    #[test]
    fn the_end_of_a_stream_is_distinguished_from_bytes_and_silence() {
        let mut closed = against(drop);
        assert_eq!(closed.end(later()), Ok(()));
        let mut noisy = against(|mut stream| {
            stream.write_all(b"extra").expect("it is read");
            thread::sleep(Duration::from_secs(600));
        });
        assert_eq!(noisy.end(later()), Err("`extra` and more".to_owned()));
        assert_eq!(noisy.watch(), Quiet::Noisy(b"extra".to_vec()));
        let mut open = against(|stream| {
            thread::sleep(Duration::from_secs(600));
            drop(stream);
        });
        assert_eq!(open.watch(), Quiet::Open);
        assert!(open.end(soon()).is_err());
    }

    #[test]
    fn a_port_without_listener_is_a_refusal() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        // A connected socket's port is in use, yet nothing listens on it.
        let client = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
        let refused = Connection::open(client.local_addr().expect("an address"), Limits::for_row());
        assert!(matches!(refused, Err(ClientError::Refused)), "{refused:?}");
    }
}
