//! Listens on loopback, one port per case, and runs the case's script on each connection in a thread.
//!
//! It sleeps in epoll; when it must stop, it shuts every connection down and waits for the threads to end.

use std::collections::HashMap;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustls::ServerConfig;
use weighbridge_model::quantity::Nanoseconds;

use super::Case;
use super::certificates::Authority;
use super::peer;
use super::script::Certificate;
use crate::options::LoopbackHost;
use crate::server::ServeError;
use crate::stop::Stop;
use crate::sys::{self, Epoll, Events, Trigger, Wait};

/// Most connections at once, over all cases; further ones wait to be accepted.
const CONNECTION_LIMIT: usize = 1024;

/// How long it waits at that limit before it checks again.
const FULL_NAP: Nanoseconds = Nanoseconds::from_millis(10);

/// Stack size of a connection's thread: a TLS handshake needs most.
const STACK: usize = 512 * 1024;

const STOP: u64 = u64::MAX;

/// What to serve, and where.
pub struct Hostile {
    /// The address, loopback.
    pub host: LoopbackHost,
    /// The first case's port; the others have the following ones. 0 picks free ones.
    pub port: u16,
    pub cases: Vec<&'static Case>,
    /// Who signs the certificates of TLS cases.
    pub authority: Authority,
}

/// A case and where it listens.
struct CaseListener {
    case: &'static Case,
    listener: TcpListener,
}

/// State shared by the threads.
struct Shared {
    authority: Authority,
    handshakes: Mutex<HashMap<Certificate, Arc<ServerConfig>>>,
    connections: Mutex<OpenConnections>,
    closed: Condvar,
}

/// The open connections.
#[derive(Default)]
struct OpenConnections {
    by_number: HashMap<u64, Arc<TcpStream>>,
    next: u64,
}

/// Serves every case until `stop`. `ready` is called once per case, with its port, when all ports accept connections.
pub fn serve(
    hostile: Hostile,
    stop: &Stop,
    mut ready: impl FnMut(&'static Case, u16),
) -> Result<(), ServeError> {
    let Hostile { host, port, cases, authority } = hostile;
    let epoll = Epoll::new().map_err(ServeError::EventLoop)?;
    let mut listeners = Vec::new();
    for (case, offset) in cases.into_iter().zip(0..) {
        let port = if port == 0 { 0 } else { port.saturating_add(offset) };
        let case_listener = CaseListener { case, listener: listen(SocketAddr::new(host.address(), port))? };
        let descriptor = case_listener.listener.as_raw_fd();
        epoll.add(descriptor, Trigger::ReadableLevel, u64::from(offset)).map_err(ServeError::EventLoop)?;
        listeners.push(case_listener);
    }
    for descriptor in stop.descriptors() {
        epoll.add(descriptor, Trigger::ReadableLevel, STOP).map_err(ServeError::EventLoop)?;
    }
    for case_listener in &listeners {
        ready(case_listener.case, case_listener.listener.local_addr().map_err(ServeError::EventLoop)?.port());
    }
    let shared = Arc::new(Shared {
        authority,
        handshakes: Mutex::default(),
        connections: Mutex::default(),
        closed: Condvar::new(),
    });
    let served = accept_until_stop(&epoll, &listeners, &shared);
    shared.close_all();
    served.map_err(ServeError::EventLoop)
}

fn listen(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let bound = TcpListener::bind(address).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    bound.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::PortInUse { port: address.port() },
        _ => ServeError::Listen { address, source },
    })
}

/// Accepts connections until a stop is requested.
fn accept_until_stop(epoll: &Epoll, listeners: &[CaseListener], shared: &Arc<Shared>) -> io::Result<()> {
    let mut events = Events::new();
    loop {
        let found = epoll.wait(&mut events, Wait::Forever)?;
        for at in 0..found {
            let token = events.get(at).token;
            if token == STOP {
                return Ok(());
            }
            while shared.is_full() {
                // Only a stop is looked for; the listeners would wake this at once.
                shared.wait_for_room();
                if stopped(epoll)? {
                    return Ok(());
                }
            }
            accept(&listeners[token as usize], shared)?;
        }
    }
}

/// Whether a stop is among the ready descriptors.
fn stopped(epoll: &Epoll) -> io::Result<bool> {
    let mut events = Events::new();
    let found = epoll.wait(&mut events, Wait::Poll)?;
    Ok((0..found).any(|at| events.get(at).token == STOP))
}

/// Accepts one connection and starts its thread.
fn accept(case_listener: &CaseListener, shared: &Arc<Shared>) -> io::Result<()> {
    let socket = match case_listener.listener.accept() {
        Ok((socket, _)) => socket,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock || sys::is_of_one_connection(&error) => {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let socket = Arc::new(socket);
    let number = shared.register(&socket);
    let (case, own) = (case_listener.case, Arc::clone(shared));
    let thread = std::thread::Builder::new().name(case.name.to_owned()).stack_size(STACK);
    let begun = thread.spawn(move || {
        let handshakes = |certificate| own.handshake(certificate);
        // An error here means that the client left.
        let _ = peer::play(&(case.script)(), case.protocol, &socket, &handshakes);
        own.unregister(number, socket);
    });
    if begun.is_err() {
        shared.connections().by_number.remove(&number);
    }
    begun.map(drop)
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, OpenConnections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_full(&self) -> bool {
        self.connections().by_number.len() >= CONNECTION_LIMIT
    }

    fn wait_for_room(&self) {
        drop(self.closed.wait_timeout(self.connections(), FULL_NAP.as_duration()));
    }

    fn register(&self, socket: &Arc<TcpStream>) -> u64 {
        let mut connections = self.connections();
        let number = connections.next;
        connections.next += 1;
        connections.by_number.insert(number, Arc::clone(socket));
        number
    }

    /// Closes a connection: the list's reference to the socket goes first, so that dropping `socket` closes it.
    fn unregister(&self, number: u64, socket: Arc<TcpStream>) {
        let mut connections = self.connections();
        connections.by_number.remove(&number);
        drop(socket);
        drop(connections);
        self.closed.notify_all();
    }

    /// Shuts every connection down, which wakes its thread from any wait, and waits until all have ended.
    fn close_all(&self) {
        let mut connections = self.connections();
        for socket in connections.by_number.values() {
            let _ = socket.shutdown(Shutdown::Both);
        }
        while !connections.by_number.is_empty() {
            connections = self.closed.wait(connections).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The TLS settings for a certificate, created when first needed.
    fn handshake(&self, certificate: Certificate) -> io::Result<Arc<ServerConfig>> {
        let mut made = self.handshakes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = made.get(&certificate) {
            return Ok(Arc::clone(config));
        }
        let config = self.authority.server(certificate).map_err(io::Error::other)?;
        made.insert(certificate, Arc::clone(&config));
        Ok(config)
    }
}
