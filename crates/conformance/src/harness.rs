//! What the rows work with: the service to start, the instance that many rows share, and the time limits.
//!
//! A row that fails may leave the shared instance in any state, so the next row gets a new one.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::resume_unwind;
use std::thread;
use std::time::{Duration, Instant};

use weighbridge_model::experiment::Protocol;

use super::Subject;
use super::client::{ClientError, Connection};
use super::limits::{self, Limits, START, STOP};
use super::outcome::{Shortfall, Verdict, differs, quoted};
use super::peer::{Manner, Peer};
use super::reply::{Expected, RawRequest, Reply, ask};
use super::running::{Ended, Patience, Running, start};

/// An instance of the service that has printed `ready`. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Service {
    running: Running,
    address: SocketAddr,
    limits: Limits,
}

/// A relay and its peer.
#[derive(Debug)]
pub(super) struct RelayAndPeer {
    pub(super) service: Service,
    pub(super) peer: Peer,
}

/// An instance with files of a workload, which rows share.
#[derive(Debug)]
struct ServiceWithData {
    /// What its files are.
    data: &'static str,
    protocol: Protocol,
    service: Service,
}

/// A process that was told to end.
#[derive(Debug)]
pub(super) struct Stopping {
    running: Running,
    address: SocketAddr,
    /// What told it.
    cause: &'static str,
    signalled: Instant,
}

/// The state of a verification between its rows.
#[derive(Debug)]
pub(super) struct Harness<'a> {
    pub(super) subject: &'a Subject,
    limits: Limits,
    shared: Option<Service>,
    relay: Option<RelayAndPeer>,
    /// Instances that rows share, one for each of these files and protocol.
    with_data: Vec<ServiceWithData>,
    unstartable: Option<String>,
    notes: Vec<String>,
}

impl<'a> Harness<'a> {
    /// A harness without running instances.
    pub(super) fn new(subject: &'a Subject) -> Self {
        Self {
            subject,
            limits: Limits::for_row(),
            shared: None,
            relay: None,
            with_data: Vec::new(),
            unstartable: None,
            notes: Vec::new(),
        }
    }

    /// Begins a row; its time starts now.
    pub(super) fn begin_row(&mut self) {
        let limits = Limits::for_row();
        self.limits = limits;
        for instance in self.instances() {
            instance.limits = limits;
        }
    }

    /// Ends a row. What it left behind must not affect the next one; if the service died, the row fails.
    pub(super) fn end_row(&mut self, verdict: Verdict) -> Verdict {
        // A process that dies closes its connections a moment before it has ended.
        let patience = if verdict.is_err() { limits::DEATH } else { Duration::ZERO };
        let death = self.instances().find_map(|instance| instance.running.death(patience));
        if death.is_some() || verdict.is_err() {
            self.shared = None;
            self.relay = None;
            self.with_data.clear();
        }
        match (death, verdict) {
            (Some(death), Err(Shortfall::Failed(text))) => {
                Err(Shortfall::Failed(format!("{text}; the service ended: {death}")))
            }
            (Some(death), _) => Err(differs("afterwards", "a service that keeps running", death)),
            (None, verdict) => verdict,
        }
    }

    /// The instances that run between rows.
    fn instances(&mut self) -> impl Iterator<Item = &mut Service> {
        let relay = self.relay.iter_mut().map(|relay| &mut relay.service);
        let with_data = self.with_data.iter_mut().map(|one| &mut one.service);
        self.shared.iter_mut().chain(relay).chain(with_data)
    }

    /// Why the service cannot be started, if that was tried and failed.
    pub(super) fn unstartable(&self) -> Option<&str> {
        self.unstartable.as_deref()
    }

    /// Says something beside the row's result.
    pub(super) fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// What the row said beside its result.
    pub(super) fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// The limits of the row.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Runs the service as a process that should end by itself.
    pub(super) fn run(
        &self,
        arguments: &[&str],
        environment: &[(&str, &str)],
        patience: Patience,
    ) -> Result<Result<Ended, String>, Shortfall> {
        let running = start(self.subject, arguments, environment)?;
        Ok(running.end(self.limits.within(START), patience))
    }

    /// Starts an instance with `PORT=0` and waits until it is ready.
    pub(super) fn start(&mut self) -> Result<Service, Shortfall> {
        let started = self.start_with(&[]);
        if let Err(Shortfall::Failed(why)) = &started {
            self.unstartable = Some(why.clone());
        }
        started
    }

    /// Starts an instance with `environment` over `PORT=0` and waits until it is ready.
    pub(super) fn start_with(&self, environment: &[(&str, &str)]) -> Result<Service, Shortfall> {
        let mut running = start(self.subject, &[], environment)?;
        let port = running.ready(self.limits.within(START))?;
        let host = environment.iter().find(|(name, value)| *name == "HOST" && !value.is_empty());
        let host = host.and_then(|(_, value)| value.parse().ok());
        let address = SocketAddr::new(host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST)), port);
        Ok(Service { running, address, limits: self.limits })
    }

    /// Starts a relay with this peer and waits until it is ready.
    pub(super) fn start_relay(&self, peer: SocketAddr) -> Result<Service, Shortfall> {
        self.start_with(&[("WORKLOAD", "ping"), ("PEER", &peer.to_string())])
    }

    /// The instance that rows share; starts it if there is none.
    pub(super) fn shared(&mut self) -> Result<&mut Service, Shortfall> {
        if self.shared.is_none() {
            let started = self.start()?;
            self.shared = Some(started);
        }
        // The line above has set it.
        self.shared.as_mut().ok_or_else(|| Shortfall::Skipped("there is no service".to_owned()))
    }

    /// The relay that rows share, started if there is none. Its peer answers in this manner and has forgotten
    /// earlier requests.
    pub(super) fn relay(&mut self, manner: Manner) -> Result<&RelayAndPeer, Shortfall> {
        let relay = match self.relay.take() {
            Some(relay) => relay,
            None => RelayAndPeer::start(self)?,
        };
        relay.peer.behave(manner);
        Ok(self.relay.insert(relay))
    }

    /// The instance with these files over this protocol that rows share; `start` starts one.
    pub(super) fn with_data(
        &mut self,
        data: &'static str,
        protocol: Protocol,
        start: impl FnOnce(&Self) -> Result<Service, Shortfall>,
    ) -> Result<&Service, Shortfall> {
        let is_it = |one: &ServiceWithData| one.data == data && one.protocol == protocol;
        let at = match self.with_data.iter().position(is_it) {
            Some(at) => at,
            None => {
                let service = start(self)?;
                self.with_data.push(ServiceWithData { data, protocol, service });
                self.with_data.len() - 1
            }
        };
        Ok(&self.with_data[at].service)
    }

    /// Ends the instances with files.
    pub(super) fn end_those_with_data(&mut self) {
        self.with_data.clear();
    }

    /// A new connection to the shared instance.
    pub(super) fn connect(&mut self) -> Result<Connection, Shortfall> {
        self.shared()?.connect()
    }

    /// Sends one request over a new connection to the shared instance; checks the reply and that the
    /// connection stays open.
    pub(super) fn ask(&mut self, request: &RawRequest, expected: &Expected) -> Result<Reply, Shortfall> {
        ask(&mut self.connect()?, request, expected)
    }

    /// Row P2 on a new connection to the shared instance.
    pub(super) fn answers(&mut self) -> Verdict {
        self.shared()?.answers()
    }
}

impl Service {
    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens a new connection.
    pub(super) fn connect(&self) -> Result<Connection, Shortfall> {
        self.try_connect().map_err(|error| {
            differs(format_args!("connecting to {}", self.address), "an accepted connection", error)
        })
    }

    /// Opens a new connection; the caller decides what a failure means.
    pub(super) fn try_connect(&self) -> Result<Connection, ClientError> {
        Connection::open(self.address, self.limits)
    }

    /// Opens `count` connections and calls `act` on all of them at once.
    ///
    /// Errors: a connection is refused; otherwise the first failure, with the number of failures.
    pub(super) fn at_once(&self, count: usize, act: impl Fn(usize, Connection) -> Verdict + Sync) -> Verdict {
        let connections = (0..count).map(|_| self.connect()).collect::<Result<Vec<_>, _>>()?;
        let act = &act;
        let failures: Vec<_> = thread::scope(|scope| {
            let spawn = |(index, connection)| scope.spawn(move || act(index, connection));
            let crowd: Vec<_> = connections.into_iter().enumerate().map(spawn).collect();
            let verdicts =
                crowd.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
            verdicts.filter_map(Result::err).collect()
        });
        let failed = failures.len();
        let first = failures.into_iter().next();
        first.map_or(Ok(()), |first| {
            Err(first.behind(format_args!(" (the first of {failed} of {count} connections)")))
        })
    }

    /// Row P2: a new connection gets pong(5).
    pub(super) fn answers(&self) -> Verdict {
        ask(&mut self.connect()?, &RawRequest::pong(5), &Expected::Pong(5)).map(drop)
    }

    /// Kills it and returns what it wrote to stdout after the `ready` line.
    pub(super) fn kill(self) -> Vec<u8> {
        self.running.kill()
    }

    /// Sends SIGTERM.
    pub(super) fn terminate(self) -> Result<Stopping, Shortfall> {
        let signalled = self.running.terminate()?;
        Ok(Stopping { running: self.running, address: self.address, cause: "SIGTERM", signalled })
    }

    /// A service that a request has just told to end.
    pub(super) fn told_to_end(self, cause: &'static str) -> Stopping {
        Stopping { running: self.running, address: self.address, cause, signalled: Instant::now() }
    }
}

impl RelayAndPeer {
    /// A relay with its own peer.
    pub(super) fn start(harness: &Harness) -> Result<Self, Shortfall> {
        let peer = Peer::start().map_err(no_peer)?;
        let service = harness.start_relay(peer.address())?;
        Ok(Self { service, peer })
    }

    /// Checks that the peer was asked exactly for these sizes, in this order.
    pub(super) fn was_asked(&self, what: &str, sizes: &[usize]) -> Verdict {
        let asked = self.peer.asked();
        let expected: Vec<_> = sizes.iter().map(|size| format!("GET /pong/{size}")).collect();
        if asked == expected {
            return Ok(());
        }
        let list = |lines: &[String]| {
            let lines: Vec<_> = lines.iter().map(|line| quoted(line.as_bytes())).collect();
            if lines.is_empty() { "nothing".to_owned() } else { lines.join(", ") }
        };
        Err(differs(format_args!("{what}, at the peer"), list(&expected), list(&asked)))
    }
}

/// The row is skipped, since this host cannot run a peer.
pub(super) fn no_peer(error: impl fmt::Display) -> Shortfall {
    Shortfall::Skipped(format!("this host gives no peer: {error}"))
}

impl Stopping {
    /// Where it listened.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// When the signal was sent.
    pub(super) fn signalled(&self) -> Instant {
        self.signalled
    }

    /// Waits for exit code 0 within 5 s of the signal; output on stderr about misbehaving clients is allowed.
    pub(super) fn exit_code(self) -> Verdict {
        let wrong = |came: &dyn fmt::Display| Err(differs(self.cause, "exit code 0 within 5 s", came));
        match self.running.end(self.signalled + STOP, Patience::UntilDeadline) {
            Err(came) => wrong(&came),
            Ok(ended) if ended.code() != Some(0) => wrong(&ended),
            Ok(_) => Ok(()),
        }
    }

    /// Waits for exit code 0 within 5 s of the signal and checks that there was no output.
    pub(super) fn end(self) -> Verdict {
        let expected = "exit code 0 within 5 s, nothing on stdout behind `ready <port>`, nothing on stderr";
        let wrong = |came: &dyn fmt::Display| Err(differs(self.cause, expected, came));
        match self.running.end(self.signalled + STOP, Patience::UntilDeadline) {
            Err(came) => wrong(&came),
            Ok(ended) if ended.code() != Some(0) || !ended.stdout.is_empty() || !ended.stderr.is_empty() => {
                wrong(&ended)
            }
            Ok(_) => Ok(()),
        }
    }
}
