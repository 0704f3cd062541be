//! The generator's account against the server's own: whatever a server does, in every framing, and however a load ends,
//! the counts of METHODOLOGY's table of invariants hold. Nothing depends on time: a slow host makes other requests fail.

mod line;
mod relay;
mod wire;

use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::Duration;

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::framer::Head;
use weighbridge_load::generator::{Generator, LoopOptions, WindowReport, WindowSpec};
use weighbridge_load::pace::Flow;
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};
use weighbridge_load::tls::TlsClient;
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Stop};
use weighbridge_load::{KeepAlive, Recording, Settings, Stack};
use weighbridge_model::experiment::{Arrivals, TlsVersion};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::{ErrorKind, Outcome, Tallies};

use line::{Line, Secrets};
use wire::{Act, Answer, Wire};

const VARIANT: VariantId = VariantId(0);

/// What a server counts by itself.
#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicU64,
    /// Bytes read from and written to clients.
    read: AtomicU64,
    written: AtomicU64,
    /// Whole requests that came.
    requests: AtomicU64,
    /// Good replies begun.
    good: AtomicU64,
    /// Whether it dropped connections without reading them to their end, so that it may have missed something.
    has_missed: AtomicBool,
}

/// Sessions of one request each; status 200 is good.
struct One {
    request: Rendered,
    statuses: Vec<Status>,
}

struct Status(u16);

impl Sessions for One {
    fn prepare(&mut self, slots: u32) {
        self.statuses = (0..slots).map(|_| Status(0)).collect();
    }
    fn rewind(&mut self, _substream: u64) {}
    fn open(&mut self, slot: u32) -> RequestId {
        self.statuses[slot as usize] = Status(0);
        RequestId(0)
    }
    fn next(&mut self, _slot: u32, _reply: &Reply) -> Step {
        Step::End
    }
    fn request(&self, _id: RequestId) -> &Rendered {
        &self.request
    }
    fn check(&mut self, slot: u32) -> &mut dyn Check {
        &mut self.statuses[slot as usize]
    }
}

impl Check for Status {
    fn head(&mut self, head: &Head<'_>) {
        self.0 = head.status;
    }
    fn data(&mut self, _bytes: &[u8]) {}
    fn trailers(&mut self, fields: &Head<'_>) {
        self.0 = self.0.max(fields.status);
    }
    fn done(&mut self) -> Outcome {
        if self.0 == 200 { Outcome::Ok } else { Outcome::Error(ErrorKind::Status) }
    }
}

/// A server with a thread for each connection. It accepts whatever was established before it is finished.
struct Server {
    address: SocketAddr,
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Server {
    /// `serve` is called with each connection and its number.
    fn start(serve: impl Fn(TcpStream, u64, &Arc<Counts>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("bound");
        let (counts, stop) = (Arc::new(Counts::default()), Arc::new(AtomicBool::new(false)));
        let (counted, stopped, serve) = (Arc::clone(&counts), Arc::clone(&stop), Arc::new(serve));
        let thread = std::thread::spawn(move || {
            let mut threads = Vec::new();
            loop {
                // Read before: once it is set no client connects any more, so an empty queue stays empty.
                let is_last = stopped.load(SeqCst);
                match listener.accept() {
                    Ok((stream, _)) => {
                        stream.set_nonblocking(false).expect("a socket");
                        stream.set_nodelay(true).expect("a socket");
                        let number = counted.accepted.fetch_add(1, SeqCst);
                        let (serve, counts) = (Arc::clone(&serve), Arc::clone(&counted));
                        threads.push(std::thread::spawn(move || serve(stream, number, &counts)));
                    }
                    Err(_) if is_last => break,
                    Err(_) => std::thread::sleep(Duration::from_micros(200)),
                }
            }
            threads.into_iter().for_each(|thread| thread.join().expect("a connection's thread"));
        });
        Self { address, counts, stop, thread }
    }

    /// Waits until all connections are over; clients must have closed theirs.
    fn finish(self) -> Arc<Counts> {
        self.stop.store(true, SeqCst);
        self.thread.join().expect("the server");
        self.counts
    }
}

/// How a load ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Count(u64),
    /// After a time, with requests in flight.
    Time,
    /// Open load with a short queue, so that some requests are never sent.
    Overload,
    /// The server falls silent after so many requests, and the generator gives up.
    Silence(u64),
    /// It is stopped once the server has received so many requests.
    Stopped(u64),
}

/// One load on one server.
#[derive(Debug, Clone)]
struct Trial {
    seed: u64,
    wire: Wire,
    connections: u32,
    in_flight: u32,
    keep_alive: KeepAlive,
    timeout: Nanoseconds,
    acts: Vec<Act>,
    end: End,
    /// Over TLS in this version, or without.
    tls: Option<TlsVersion>,
}

/// Servers stall on purpose, and each request of theirs waits so long.
const TIMEOUT: Nanoseconds = Nanoseconds::from_millis(50);
/// No host stands still for so long.
const LONG_TIMEOUT: Nanoseconds = Nanoseconds::from_secs(30);

impl Trial {
    /// One connection to a server that always does the same, without a request that times out.
    fn patient(wire: Wire, act: Act) -> Self {
        Self {
            seed: 1,
            wire,
            connections: 1,
            in_flight: 5,
            keep_alive: KeepAlive::Reuse,
            timeout: LONG_TIMEOUT,
            acts: vec![act],
            end: End::Count(40),
            tls: None,
        }
    }

    fn random(wire: Wire, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let ends = [End::Count(40), End::Time, End::Overload, End::Silence(25), End::Stopped(25)];
        let acts = match random.random_range(0..3) {
            // Honest.
            0 => vec![Act::Answer(Answer::Good)],
            // Ends connections, and says so before.
            1 => [vec![Act::Answer(Answer::Good); 5], vec![Act::Announce; 2]].concat(),
            // Now this, now that.
            _ => {
                let (good, others) = (random.random_range(0..20), random.random_range(1..6));
                let others = (0..others).map(|_| *Act::ALL.choose(&mut random).expect("some"));
                vec![Act::Answer(Answer::Good); good].into_iter().chain(others).collect()
            }
        };
        let every = random.random_bool(0.2).then(|| KeepAlive::Every(NonZeroU32::new(7).expect("7")));
        Self {
            seed,
            wire,
            connections: random.random_range(1..5),
            in_flight: random.random_range(1..6),
            keep_alive: every.unwrap_or_default(),
            timeout: TIMEOUT,
            acts,
            end: *ends.choose(&mut random).expect("some"),
            tls: None,
        }
    }

    fn settings(&self) -> Settings {
        let millis = Nanoseconds::from_millis;
        Settings {
            connections: self.connections,
            in_flight: self.in_flight,
            timeout: self.timeout,
            patience: millis(100),
            keep_alive: self.keep_alive,
            ..Settings::default()
        }
    }

    fn load(&self) -> Load {
        let rate = PerSecond::new(5_000.0).expect("a rate");
        let limit = Nanoseconds::from_millis(20);
        match self.end {
            End::Count(count) => Load::Closed(Stop::Count(count)),
            End::Time => Load::Closed(Stop::Time(Nanoseconds::from_millis(15))),
            End::Overload => Load::Open {
                flow: Flow::steady(rate, Arrivals::Poisson),
                queue: 3,
                end: OpenEnd::Drain { stop: Stop::Time(limit), limit },
            },
            End::Silence(_) | End::Stopped(_) if self.seed.is_multiple_of(2) => Load::Open {
                flow: Flow::steady(rate, Arrivals::Poisson),
                queue: QUEUE,
                end: OpenEnd::BusyCycles(Nanoseconds::from_secs(20)),
            },
            End::Silence(_) | End::Stopped(_) => Load::Closed(Stop::Count(1_000_000)),
        }
    }

    fn server(&self, stop: Arc<AtomicBool>, secrets: Option<Arc<Secrets>>) -> Server {
        let (trial, length) = (self.clone(), self.wire.request().bytes().len());
        Server::start(move |stream, number, counts| {
            let mut random = ChaCha8Rng::seed_from_u64(trial.seed ^ number << 32);
            let mut next = || {
                let before = counts.requests.fetch_add(1, SeqCst);
                match trial.end {
                    End::Silence(after) if before >= after => return Act::Silent,
                    End::Stopped(after) if before >= after => stop.store(true, SeqCst),
                    _ => {}
                }
                *trial.acts.choose(&mut random).expect("some")
            };
            let line = Line::new(stream, counts, secrets.as_deref());
            trial.wire.serve(line, length, counts, &mut next);
        })
    }

    /// Carries it out and holds the two accounts to each other. Returns the report.
    fn check(&self) -> WindowReport {
        let options = LoopOptions::default();
        let secrets = self.tls.map(|version| Arc::new(Secrets::new(self.wire.framing(), version)));
        let server = self.server(Arc::clone(&options.stop), secrets.clone());
        let tls = secrets.map(|secrets| secrets.client.clone());
        let outcome = load(server.address, self, tls, options);
        let counts = server.finish();
        outcome.hold(&counts, &format!("{self:?}"));
        let is_honest = self.acts.iter().all(|act| *act == Act::Answer(Answer::Good));
        if is_honest && self.wire.is_ordered() && matches!(self.end, End::Count(_)) {
            let figures = &outcome.report.figures;
            // Over TLS the generator does not read what follows the last reply, such as tickets.
            if figures.errors.total() == 0 && self.tls.is_none() {
                let traffic = figures.traffic;
                let moved = (traffic.sent.get(), traffic.received.get());
                assert_eq!(moved, (counts.read.load(SeqCst), counts.written.load(SeqCst)), "{self:?}");
            }
        }
        outcome.report
    }
}

/// What the generator says of a load.
struct Account {
    report: WindowReport,
    tallies: Tallies,
    connects: u64,
}

fn load(address: SocketAddr, trial: &Trial, tls: Option<TlsClient>, options: LoopOptions) -> Account {
    let dial = Box::new(SocketDial::to(VARIANT, vec![address]));
    let mut generator = Generator::new(dial, options).expect("a generator");
    let sessions = One { request: trial.wire.request(), statuses: Vec::new() };
    let stack = Stack { framing: trial.wire.framing(), tls };
    generator.attach(VARIANT, trial.settings(), stack, Box::new(sessions));
    // A server that closes at once refuses this already; the window then says so by its errors.
    let _ = generator.connect(VARIANT);
    let spec = WindowSpec { substream: trial.seed, load: trial.load(), recording: Recording::Exact };
    let mut tallies = Tallies::default();
    let report = generator.run(VARIANT, &spec, &mut tallies, None, None).expect("the window runs");
    Account { report, tallies, connects: generator.connects(VARIANT) }
}

impl Account {
    /// The table of invariants.
    #[track_caller]
    fn hold(&self, counts: &Counts, what: &str) {
        let figures = &self.report.figures;
        let what = format!("{what}\n{figures:?}\n{counts:?}");
        let count = |count: &AtomicU64| count.load(SeqCst);
        // Each figure is counted in a place of its own.
        let (good, sent) = (self.tallies.ok().0.len(), self.tallies.lag.len());
        assert_eq!(figures.requests, good + figures.errors.total() + figures.not_sent, "{what}");
        assert_eq!(figures.requests, figures.offered, "{what}");
        assert_eq!(figures.good(), good, "{what}");
        assert!(good <= sent && sent <= figures.begun(), "{what}");
        assert!(self.report.given_up <= figures.errors.reset, "{what}");
        assert!(figures.connects <= self.connects, "{what}");
        // The server's count of the same.
        let (received, accepted) = (count(&counts.requests), count(&counts.accepted));
        let told = (sent + figures.resent, self.connects);
        if counts.has_missed.load(SeqCst) {
            assert!(received <= told.0 && accepted >= told.1, "{what}");
        } else {
            assert_eq!((received, accepted), told, "{what}");
            assert!(figures.traffic.sent.get() <= count(&counts.read), "{what}");
        }
        assert!(good <= count(&counts.good), "{what}");
        assert!(figures.traffic.received.get() <= count(&counts.written), "{what}");
    }
}

/// Trials of each framing.
const TRIALS: u64 = 40;

#[test]
fn every_account_agrees_with_the_servers_own() {
    hold_all([None; 2]);
}

#[test]
fn every_account_agrees_with_the_servers_own_over_tls() {
    hold_all([Some(TlsVersion::V12), Some(TlsVersion::V13)]);
}

/// Trials of every framing, over TLS in the one and the other version, or without.
fn hold_all(tls: [Option<TlsVersion>; 2]) {
    for wire in Wire::ALL {
        let trial = |seed| Trial { tls: tls[seed as usize / 2 % 2], ..Trial::random(wire, seed) };
        let reports: Vec<WindowReport> = (0..TRIALS).map(|seed| trial(seed).check()).collect();
        let any = |is: fn(&WindowReport) -> bool| assert!(reports.iter().any(is), "{wire:?}");
        // The trials are of the kinds that they should be.
        any(|report| report.figures.not_sent > 0);
        any(|report| report.given_up > 0);
        any(|report| report.trouble.is_some());
        any(|report| report.figures.errors.total() > 0);
        assert!(!wire.announces() || reports.iter().any(|report| report.figures.resent > 0), "{wire:?}");
    }
}

/// An honest end is nobody's failure, however often it comes.
#[test]
fn a_server_that_announces_each_end_fails_no_request() {
    for wire in Wire::ALL.into_iter().filter(|wire| wire.announces()) {
        let trial = Trial { connections: 3, end: End::Count(60), ..Trial::patient(wire, Act::Announce) };
        let figures = trial.check().figures;
        assert_eq!((figures.requests, figures.good()), (60, 60), "{wire:?}: {figures:?}");
        assert!(figures.resent > 0, "{wire:?}: {figures:?}");
    }
}

/// One that answers nothing and announces the end for ever gets each request so many times and no more.
#[test]
fn a_server_that_only_announces_the_end_is_not_asked_for_ever() {
    let trial = Trial { end: End::Count(10), ..Trial::patient(Wire::Http2, Act::Refuse) };
    let figures = trial.check().figures;
    assert_eq!((figures.requests, figures.good()), (10, 0), "{figures:?}");
    assert!(figures.resent <= 10 * 5, "{figures:?}");
}

/// Closes its side and reads what the client still sends.
fn end(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
}
