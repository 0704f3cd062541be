//! How a connection begins: a trait that supplies the loop with non-blocking sockets, and its plain implementation,
//! sockets over TCP or in the Unix domain.
//!
//! A dialler begins connecting and returns at once. Waiting, timing and retrying are left to the loop.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::path::PathBuf;

use weighbridge_model::id::VariantId;

use crate::sys;

/// Where a connection goes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// An IP address and a TCP port.
    Tcp(SocketAddr),
    /// The path of a Unix stream socket, at most 107 bytes.
    Unix(PathBuf),
}

impl Endpoint {
    /// The address, if it is a TCP one.
    pub fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// Whether a dialler has another address to offer after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// The next dial goes to an address not tried since the last success.
    TryNext,
    /// Every address failed.
    Exhausted,
}

/// Sockets created elsewhere, in another network namespace; they keep that namespace whichever thread uses them.
pub trait Sockets: Send + fmt::Debug {
    /// A non-blocking socket for TCP over IPv4 that is not connected, with `TCP_NODELAY`.
    ///
    /// Errors: no socket is available; the dial fails with this error.
    fn socket(&mut self) -> io::Result<OwnedFd>;
}

/// Begins connections. The conductor wraps the lab's connector in one; [`SocketDial`] is the plain one.
pub trait Dial: Send {
    /// A non-blocking stream socket whose connect was begun (and may be in progress or complete).
    ///
    /// Errors: the connect could not begin; the loop counts it as a failed connect.
    fn dial(&mut self, variant: VariantId) -> io::Result<OwnedFd>;

    /// The connect that `dial` began on `socket` failed.
    fn failed(&mut self, variant: VariantId, socket: BorrowedFd<'_>) -> AfterFailure {
        let _ = (variant, socket);
        AfterFailure::Exhausted
    }

    /// The connect that `dial` began on `socket` is complete.
    fn succeeded(&mut self, variant: VariantId, socket: BorrowedFd<'_>) {
        let _ = (variant, socket);
    }

    /// The destination of this variant's connections, for messages: `127.0.0.1:8080`.
    fn peer(&self, variant: VariantId) -> String;
}

#[derive(Debug, Default)]
struct VariantAddresses {
    addresses: Vec<Endpoint>,
    /// The address the next dial goes to.
    current: usize,
    /// The address that each connecting socket goes to.
    begun: HashMap<RawFd, usize>,
    /// Addresses that failed since the last success.
    failed: Vec<usize>,
    /// Creates TCP sockets; `None` to create them here.
    sockets: Option<Box<dyn Sockets>>,
}

/// Sockets of this host: per variant a list of TCP or Unix addresses; after a failed connect the next address is tried.
/// `TCP_NODELAY` is set on TCP sockets.
#[derive(Debug, Default)]
pub struct SocketDial {
    peers: Vec<VariantAddresses>,
}

impl SocketDial {
    /// A dialler that knows no address yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the destinations of `variant`, first choice first.
    pub fn set(&mut self, variant: VariantId, addresses: impl IntoIterator<Item: Into<Endpoint>>) {
        let addresses = addresses.into_iter().map(Into::into).collect();
        if self.peers.len() <= variant.index() {
            self.peers.resize_with(variant.index() + 1, VariantAddresses::default);
        }
        self.peers[variant.index()] = VariantAddresses { addresses, ..VariantAddresses::default() };
    }

    /// Lets `sockets` create the sockets of `variant` from now on, until its addresses are set again.
    pub fn make_by(&mut self, variant: VariantId, sockets: Box<dyn Sockets>) {
        if let Some(peer) = self.peers.get_mut(variant.index()) {
            peer.sockets = Some(sockets);
        }
    }

    /// A dialler for one variant.
    pub fn to(variant: VariantId, addresses: impl IntoIterator<Item: Into<Endpoint>>) -> Self {
        let mut dial = Self::new();
        dial.set(variant, addresses);
        dial
    }
}

impl VariantAddresses {
    fn finish(&mut self, socket: RawFd) -> Option<usize> {
        self.begun.remove(&socket)
    }

    fn note_failure(&mut self, address: usize) -> AfterFailure {
        if !self.failed.contains(&address) {
            self.failed.push(address);
        }
        // Only a failure of the current address moves on; a second failure of the previous one does not.
        if address == self.current {
            self.current = (self.current + 1) % self.addresses.len();
        }
        if self.failed.len() < self.addresses.len() { AfterFailure::TryNext } else { AfterFailure::Exhausted }
    }
}

impl Dial for SocketDial {
    fn dial(&mut self, variant: VariantId) -> io::Result<OwnedFd> {
        let unknown =
            || io::Error::new(io::ErrorKind::AddrNotAvailable, "no address is set for this variant");
        let peer = self.peers.get_mut(variant.index()).ok_or_else(unknown)?;
        loop {
            let begun = match peer.addresses.get(peer.current).ok_or_else(unknown)? {
                Endpoint::Tcp(address) => match &mut peer.sockets {
                    Some(sockets) => {
                        sockets.socket().and_then(|socket| sys::begin_connect_on(socket, *address))
                    }
                    None => sys::begin_connect(*address),
                },
                Endpoint::Unix(path) => sys::connect_unix(path),
            };
            match begun {
                Ok(socket) => {
                    // Replaces the entry of an earlier socket with the same number.
                    peer.begun.insert(socket.as_raw_fd(), peer.current);
                    return Ok(socket);
                }
                // Some addresses fail at once (no route to an IPv6 address, for instance).
                Err(error) => {
                    if peer.note_failure(peer.current) == AfterFailure::Exhausted {
                        return Err(error);
                    }
                }
            }
        }
    }

    fn failed(&mut self, variant: VariantId, socket: BorrowedFd<'_>) -> AfterFailure {
        let Some(peer) = self.peers.get_mut(variant.index()) else { return AfterFailure::Exhausted };
        match peer.finish(socket.as_raw_fd()) {
            Some(address) => peer.note_failure(address),
            None => AfterFailure::Exhausted,
        }
    }

    fn succeeded(&mut self, variant: VariantId, socket: BorrowedFd<'_>) {
        let Some(peer) = self.peers.get_mut(variant.index()) else { return };
        if let Some(address) = peer.finish(socket.as_raw_fd()) {
            peer.current = address;
            peer.failed.clear();
        }
    }

    fn peer(&self, variant: VariantId) -> String {
        let Some(peer) = self.peers.get(variant.index()) else { return String::from("no address") };
        let addresses: Vec<String> = peer.addresses.iter().map(Endpoint::to_string).collect();
        addresses.join(", ")
    }
}

/// Why a host has no address.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    #[error("`{host}` cannot be resolved ({source}); check the name, or give an address")]
    Lookup {
        /// The host as given.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    #[error("`{0}` has no address; check the name, or give an address")]
    Nothing(String),
}

/// All addresses of `host`, in the resolver's order. An IPv6 address may be in brackets.
pub fn resolve(host: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let found = (bare, port)
        .to_socket_addrs()
        .map_err(|source| ResolveError::Lookup { host: host.to_owned(), source })?;
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    if addresses.is_empty() { Err(ResolveError::Nothing(host.to_owned())) } else { Ok(addresses) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_failure_moves_on_once_however_many_sockets_report_it() {
        let mut peer = VariantAddresses {
            addresses: vec![address("127.0.0.1:1").into(), address("127.0.0.1:2").into()],
            begun: HashMap::from([(10, 0), (11, 0)]),
            ..VariantAddresses::default()
        };
        let first = peer.finish(10).expect("begun");
        assert_eq!((peer.note_failure(first), peer.current), (AfterFailure::TryNext, 1));
        let second = peer.finish(11).expect("begun");
        assert_eq!((peer.note_failure(second), peer.current), (AfterFailure::TryNext, 1));
        assert_eq!((peer.note_failure(1), peer.current), (AfterFailure::Exhausted, 0));
    }

    #[test]
    fn literal_addresses_resolve_to_themselves() {
        assert_eq!(resolve("127.0.0.1", 80).expect("resolves"), [address("127.0.0.1:80")]);
        assert_eq!(resolve("[::1]", 80).expect("resolves"), [address("[::1]:80")]);
    }

    #[test]
    fn an_unknown_host_is_named() {
        let error = resolve("no such host", 80).expect_err("unknown").to_string();
        assert!(error.contains("`no such host`"), "{error}");
    }
}
