//! One request on a connection of its own, with a blocking wait: shows whether a service is ready and what it answers.
//!
//! The same framers read the reply as under load. It keeps the body, up to a limit, and measures only roughly.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Bytes, Nanoseconds, Timestamp};
use weighbridge_model::record::{ErrorKind, Outcome};

use crate::dial::{AfterFailure, Dial, Endpoint, SocketDial};
use crate::framer::request::Rendered;
use crate::framer::{AnyFramer, Event, Framer, In, Out};
use crate::stack::Stack;
use crate::sys::{self, Interest};
use crate::tls::{TlsFailure, TlsSession};

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collected {
    pub status: u16,
    /// The header fields in order; bytes that are not UTF-8 are replaced.
    pub headers: Vec<(String, String)>,
    /// The body, transfer coding removed.
    pub body: Vec<u8>,
    /// Where in the body each message ends (streaming protocols).
    pub messages: Vec<usize>,
    /// From the start of the connect to the end of the reply.
    pub took: Nanoseconds,
}

impl Collected {
    /// The value of the first field with that name, ignoring case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }
}

/// Why there is no whole reply.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error("no connection to `{peer}`: {source}; check that the service listens there")]
    Connect {
        /// Address of the peer.
        peer: String,
        /// Error of the connect.
        source: io::Error,
    },
    #[error("no TLS session with `{peer}`: {source}")]
    Tls {
        /// Address of the peer.
        peer: String,
        /// What went wrong.
        source: TlsFailure,
    },
    #[error("`{peer}` closed the connection before its reply was whole; look at the service's own log")]
    Reset {
        /// Address of the peer.
        peer: String,
    },
    #[error("`{peer}` gave no whole reply within {limit}; allow more time or look at the service's own log")]
    Timeout {
        /// Address of the peer.
        peer: String,
        /// The time allowed.
        limit: Nanoseconds,
    },
    #[error(
        "`{peer}` answered with bytes that are no reply of this protocol; check the port and the protocol"
    )]
    Protocol {
        /// Address of the peer.
        peer: String,
    },
    #[error("asking `{peer}` was stopped")]
    Stopped {
        /// Address of the peer.
        peer: String,
    },
    #[error("the reply of `{peer}` is longer than {limit}; allow more or ask for less")]
    TooLong {
        /// Address of the peer.
        peer: String,
        limit: Bytes,
    },
}

impl ExchangeError {
    /// The kind under which requests under load count this error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Connect { .. } => ErrorKind::Connect,
            Self::Tls { .. } => ErrorKind::Tls,
            Self::Reset { .. } | Self::Stopped { .. } => ErrorKind::Reset,
            Self::Timeout { .. } => ErrorKind::Timeout,
            Self::Protocol { .. } => ErrorKind::Protocol,
            Self::TooLong { .. } => ErrorKind::Check,
        }
    }
}

/// Limits of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Limits<'a> {
    /// Time for everything, the connect included.
    pub timeout: Nanoseconds,
    /// Longest body.
    pub body: Bytes,
    /// Ends the exchange within about 50 ms once set.
    pub stop: Option<&'a AtomicBool>,
}

impl Limits<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

/// Size of one read.
const BUFFER: usize = 128 * 1024;

/// Longest wait, so that the stop flag is noticed.
const NAP: Nanoseconds = Nanoseconds::from_millis(50);

/// Sends one request to the first of `addresses` that accepts and waits for the whole reply.
///
/// Errors: [`ExchangeError`] if there is none; a reply with an error status is a reply.
pub fn exchange<Address: Into<Endpoint> + Clone>(
    addresses: &[Address],
    stack: impl Into<Stack>,
    request: &Rendered,
    limits: Limits<'_>,
) -> Result<Collected, ExchangeError> {
    let variant = VariantId(0);
    exchange_with(&mut SocketDial::to(variant, addresses.iter().cloned()), variant, stack, request, limits)
}

/// Like [`exchange`], over a connection opened by `dial`.
pub fn exchange_with(
    dial: &mut dyn Dial,
    variant: VariantId,
    stack: impl Into<Stack>,
    request: &Rendered,
    limits: Limits<'_>,
) -> Result<Collected, ExchangeError> {
    let start = sys::clock();
    let deadline = start + limits.timeout;
    let socket = connect(dial, variant, deadline, limits).map_err(|source| {
        let peer = dial.peer(variant);
        match limits.is_stopped() {
            true => ExchangeError::Stopped { peer },
            false => ExchangeError::Connect { peer, source },
        }
    })?;
    let stack = stack.into();
    let tls = stack.tls.as_ref().map(|tls| TlsSession::new(tls.for_pool(&stack.framing, 1)));
    let mut exchange = Exchange {
        peer: dial.peer(variant),
        socket,
        framer: stack.framing.framer(),
        out: Out::default(),
        tls,
        rest: Vec::new(),
        reply: Collected::default(),
        limits,
        deadline,
    };
    exchange.handshake()?;
    exchange.send(request)?;
    exchange.receive()?;
    let mut reply = exchange.reply;
    reply.took = sys::clock().since(start);
    Ok(reply)
}

/// Tries connects until one succeeds or no address is left.
fn connect(
    dial: &mut dyn Dial,
    variant: VariantId,
    deadline: Timestamp,
    limits: Limits<'_>,
) -> io::Result<OwnedFd> {
    loop {
        let socket = dial.dial(variant)?;
        let result = match wait(&socket, Interest::Write, deadline, limits)? {
            Waited::Ready => sys::connect_result(socket.as_fd()),
            Waited::Stopped => return Err(io::ErrorKind::Interrupted.into()),
            Waited::TooLong => Err(io::Error::new(io::ErrorKind::TimedOut, "the connect timed out")),
        };
        match result {
            Ok(()) => {
                dial.succeeded(variant, socket.as_fd());
                return Ok(socket);
            }
            Err(error) => {
                if dial.failed(variant, socket.as_fd()) == AfterFailure::Exhausted {
                    return Err(error);
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waited {
    Ready,
    TooLong,
    Stopped,
}

fn wait(socket: &OwnedFd, interest: Interest, deadline: Timestamp, limits: Limits<'_>) -> io::Result<Waited> {
    loop {
        let left = deadline.since(sys::clock());
        if left == Nanoseconds::ZERO {
            return Ok(Waited::TooLong);
        }
        if limits.is_stopped() {
            return Ok(Waited::Stopped);
        }
        if sys::wait_for(socket.as_fd(), interest, left.min(NAP))? {
            return Ok(Waited::Ready);
        }
    }
}

/// State of one exchange.
struct Exchange<'a> {
    peer: String,
    socket: OwnedFd,
    framer: AnyFramer,
    out: Out,
    tls: Option<TlsSession>,
    /// Received plaintext that the framer has not consumed.
    rest: Vec<u8>,
    reply: Collected,
    limits: Limits<'a>,
    deadline: Timestamp,
}

/// The result of one read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filled {
    Nothing,
    Some,
    End,
}

/// How far the reply is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReplyProgress {
    Incomplete,
    Whole,
    Failed(ErrorKind),
    TooLong,
}

impl Exchange<'_> {
    /// Reads until the TLS handshake is over, if there is TLS. Bytes after it are left to [`receive`](Self::receive),
    /// because a server that speaks first gets no answer before the request.
    fn handshake(&mut self) -> Result<(), ExchangeError> {
        let Some(tls) = &mut self.tls else { return Ok(()) };
        if let Err(source) = tls.begin() {
            return Err(ExchangeError::Tls { peer: self.peer.clone(), source });
        }
        let mut buffer = vec![0; BUFFER];
        loop {
            self.flush()?;
            if self.tls.as_ref().is_none_or(|tls| tls.established().is_some()) {
                return Ok(());
            }
            match self.fill(&mut buffer)? {
                Filled::Nothing => self.wait(Interest::Read)?,
                Filled::Some => {}
                Filled::End => return Err(self.tls_failed(TlsFailure::Closed)),
            }
            self.check_limits()?;
        }
    }

    fn tls_failed(&self, source: TlsFailure) -> ExchangeError {
        ExchangeError::Tls { peer: self.peer.clone(), source }
    }

    fn send(&mut self, request: &Rendered) -> Result<(), ExchangeError> {
        if self.framer.start(0, request, &mut self.out).is_err() {
            return Err(ExchangeError::Protocol { peer: self.peer.clone() });
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), ExchangeError> {
        if let Some(tls) = &mut self.tls
            && !self.out.is_empty()
        {
            let sealed = tls.seal(self.out.pending());
            self.out.clear();
            sealed.map_err(|source| ExchangeError::Tls { peer: self.peer.clone(), source })?;
        }
        loop {
            let wire = self.tls.as_mut().map_or(&mut self.out, |tls| &mut tls.wire);
            if wire.is_empty() {
                return Ok(());
            }
            match sys::send(self.socket.as_fd(), wire.pending()) {
                Ok(count) => wire.wrote(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait(Interest::Write)?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // The peer may have answered before it closed; reading will show.
                Err(_) => wire.clear(),
            }
        }
    }

    /// Reads once and appends the bytes, decrypted, to those that the framer left in `rest`.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<Filled, ExchangeError> {
        let held = self.tls.as_ref().map_or(0, TlsSession::held);
        let count = match sys::receive(self.socket.as_fd(), &mut buffer[held..]) {
            Ok(0) => return Ok(Filled::End),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Filled::Nothing),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Filled::Some),
            Err(_) if self.tls.as_ref().is_some_and(|tls| tls.established().is_none()) => {
                return Err(self.tls_failed(TlsFailure::Closed));
            }
            Err(_) => return Err(ExchangeError::Reset { peer: self.peer.clone() }),
        };
        let arrived = &mut buffer[..held + count];
        let Self { tls: Some(tls), rest, .. } = self else {
            self.rest.extend_from_slice(arrived);
            return Ok(Filled::Some);
        };
        match tls.receive(arrived, &mut |plain| rest.extend_from_slice(plain)) {
            Ok(()) => Ok(Filled::Some),
            Err(source) => {
                // The alert tells the server why.
                let _ = self.flush();
                Err(self.tls_failed(source))
            }
        }
    }

    fn receive(&mut self) -> Result<(), ExchangeError> {
        let mut buffer = vec![0; BUFFER];
        loop {
            let filled = self.fill(&mut buffer)?;
            if filled == Filled::Nothing {
                self.wait(Interest::Read)?;
                continue;
            }
            let rest = std::mem::take(&mut self.rest);
            let mut input = In::new(&rest);
            let mut state = self.collect(|framer, out, sink| framer.receive(&mut input, out, sink));
            self.rest.extend_from_slice(input.rest());
            // Over TLS the end of the connection ends a reply only after the server's close alert.
            let close_alert = self.tls.as_ref().map(TlsSession::is_closed_by_peer);
            let over = close_alert == Some(true) || (filled == Filled::End && close_alert.is_none());
            if over && state == ReplyProgress::Incomplete {
                state = self.collect(|framer, _, sink| framer.eof(sink));
            }
            if (over || filled == Filled::End) && state == ReplyProgress::Incomplete {
                state = ReplyProgress::Failed(ErrorKind::Reset);
            }
            let peer = || self.peer.clone();
            match state {
                ReplyProgress::Incomplete => {}
                ReplyProgress::Whole => return Ok(()),
                ReplyProgress::TooLong => {
                    return Err(ExchangeError::TooLong { peer: peer(), limit: self.limits.body });
                }
                ReplyProgress::Failed(ErrorKind::Reset) => return Err(ExchangeError::Reset { peer: peer() }),
                ReplyProgress::Failed(_) => return Err(ExchangeError::Protocol { peer: peer() }),
            }
            self.check_limits()?;
            self.flush()?;
        }
    }

    /// Fails if the time is up or a stop was requested.
    fn check_limits(&self) -> Result<(), ExchangeError> {
        if sys::clock() >= self.deadline {
            return Err(self.too_late());
        }
        if self.limits.is_stopped() {
            return Err(ExchangeError::Stopped { peer: self.peer.clone() });
        }
        Ok(())
    }

    /// Calls the framer and keeps what it reports.
    fn collect(
        &mut self,
        act: impl FnOnce(&mut AnyFramer, &mut Out, &mut crate::framer::Sink<'_>),
    ) -> ReplyProgress {
        let Self { framer, out, reply, limits, .. } = self;
        let mut state = ReplyProgress::Incomplete;
        act(framer, out, &mut |event| match event {
            Event::Head(_, head) | Event::Trailers(_, head) => {
                reply.status = head.status;
                let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                reply.headers.extend(head.fields.iter().map(|f| (f.name.to_owned(), text(f.value))));
            }
            Event::Data(_, bytes) if state == ReplyProgress::Incomplete => {
                if reply.body.len() as u64 + bytes.len() as u64 > limits.body.get() {
                    state = ReplyProgress::TooLong;
                } else {
                    reply.body.extend_from_slice(bytes);
                }
            }
            Event::Done(_, Outcome::Ok) if state == ReplyProgress::Incomplete => state = ReplyProgress::Whole,
            Event::Done(_, Outcome::Error(kind)) | Event::Broken(kind)
                if state == ReplyProgress::Incomplete =>
            {
                state = ReplyProgress::Failed(kind);
            }
            Event::Message(_, count) if state == ReplyProgress::Incomplete => {
                reply.messages.extend((0..count).map(|_| reply.body.len()));
            }
            // It has one connection, and does not try again.
            Event::Refused(_) if state == ReplyProgress::Incomplete => {
                state = ReplyProgress::Failed(ErrorKind::Reset);
            }
            Event::Data(..)
            | Event::Done(..)
            | Event::Broken(_)
            | Event::Message(..)
            | Event::Value(..)
            | Event::Refused(_)
            | Event::Drain => {}
        });
        state
    }

    fn wait(&self, interest: Interest) -> Result<(), ExchangeError> {
        match wait(&self.socket, interest, self.deadline, self.limits) {
            Ok(Waited::Ready) => Ok(()),
            Ok(Waited::Stopped) => Err(ExchangeError::Stopped { peer: self.peer.clone() }),
            Ok(Waited::TooLong) => Err(self.too_late()),
            Err(_) => Err(ExchangeError::Reset { peer: self.peer.clone() }),
        }
    }

    fn too_late(&self) -> ExchangeError {
        ExchangeError::Timeout { peer: self.peer.clone(), limit: self.limits.timeout }
    }
}
