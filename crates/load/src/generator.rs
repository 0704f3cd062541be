//! The event loop: one thread, one epoll, the connections of every variant, one window at a time.
//!
//! It reads the clock and waits; the window decides when to send, the pool how, and the recorder keeps what happened.
//! It starts no thread, prints nothing and knows no process.

mod account;
mod interleaved;
mod waiting;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::{Nanoseconds, Timestamp};
use weighbridge_model::record::{
    ErrorCounts, ErrorKind, Handshakes, LoopHealth, RequestRecord, Tallies, WindowEnd, WindowFigures,
};

use crate::dial::Dial;
use crate::failures::Failures;
use crate::live::LiveTimes;
use crate::pool::{Demand, Io, Pool, Settings, Token};
use crate::recorder::{Recorder, Recording};
use crate::session::{Seen, Sessions};
use crate::stack::Stack;
use crate::sys::{self, Wait};
use crate::tls::TlsFailure;
use crate::window::{Load, OpenEnd, Stop, Window};
use account::Account;
use waiting::{Until, Waits};

pub use interleaved::Share;

/// Longest wait, so that a stop request is noticed.
const NAP: Nanoseconds = Nanoseconds::from_millis(50);

/// Time between two reports of progress.
const PROGRESS: Nanoseconds = Nanoseconds::from_millis(100);

/// Events handled before the requests that they made ready are sent. A server that is woken once for several requests
/// answers more of them a second than one that is woken for each, but no request should wait for the end of a long
/// batch.
const EVENT_BATCH: usize = 16;

/// Options of the loop that hold for every variant.
#[derive(Debug, Clone)]
pub struct LoopOptions {
    /// How long before an arrival the loop stops sleeping and spins; it must cover the kernel's wake-up latency.
    pub spin: Nanoseconds,
    /// How the loop waits, above all for replies.
    pub waiting: Waiting,
    /// Setting it ends the running window within about 50 ms; the loop never clears it.
    pub stop: Arc<AtomicBool>,
    /// Counts response times of runs with progress reports, for another thread to read.
    pub times: Option<Arc<LiveTimes>>,
}

impl Default for LoopOptions {
    fn default() -> Self {
        Self {
            spin: Nanoseconds::from_micros(50),
            waiting: Waiting::Asleep,
            stop: Arc::default(),
            times: None,
        }
    }
}

/// How the loop waits. A wake-up takes some microseconds, which count in every measured time, so variants that are
/// compared must be waited for in the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// Always asleep. For comparisons on a core that the client shares: every time contains some wake-up latency, and
    /// more the longer the core slept.
    #[default]
    Asleep,
    /// Awake if replies come within some 20 µs, asleep otherwise: the highest rate, and on a fast server the most
    /// accurate times. For measuring one server alone.
    AwakeIfBrief,
    /// Never asleep, neither for replies nor before arrivals: no time contains wake-up latency, and none makes a
    /// request late. Uses a whole core, which must be the client's alone. For comparisons.
    Awake,
}

impl Waiting {
    /// Its name on the command line and in JSON: `asleep`, `brief` or `awake`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Asleep => "asleep",
            Self::AwakeIfBrief => "brief",
            Self::Awake => "awake",
        }
    }
}

/// One window of load on one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpec {
    /// Which seeded stream of requests and arrivals it reads, from the start.
    pub substream: u64,
    /// When requests are due and when the window ends.
    pub load: Load,
    /// How its requests are recorded while it runs.
    pub recording: Recording,
}

/// Progress of a running window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Time since the window began.
    pub elapsed: Nanoseconds,
    /// Good replies so far.
    pub good: u64,
    /// Failed requests so far.
    pub errors: ErrorCounts,
    /// Requests outstanding.
    pub outstanding: u64,
    /// Connections open.
    pub connections: u32,
}

/// What was measured, and why the window was aborted, if it was.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowReport {
    pub figures: WindowFigures,
    /// Set if the loop itself aborted the window (`figures.end` is then `Aborted`).
    pub trouble: Option<Trouble>,
    /// Requests that were in flight when the window was stopped from outside, or for another variant's trouble; they are
    /// errors of kind `reset`, and not the server's.
    pub given_up: u64,
    /// What peers said about failed replies.
    pub failures: Failures,
    /// What was seen of each request in `samples`, if samples were asked for and the workload records it.
    pub seen: Vec<Seen>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{peer}` gave no reply for {silence}: {failures} requests in a row failed, the last as `{}`{}; check that the service is up", .last.name(), detail_text(.detail.as_deref()))]
pub struct Trouble {
    /// Where the requests went.
    pub peer: String,
    /// Time since the last whole reply, or since the window's start.
    pub silence: Nanoseconds,
    /// Requests that failed in that time.
    pub failures: u64,
    /// How the last one failed.
    pub last: ErrorKind,
    /// The system's error of the last failed connect, if one failed.
    pub detail: Option<String>,
}

fn detail_text(detail: Option<&str>) -> String {
    detail.map(|detail| format!(" ({detail})")).unwrap_or_default()
}

/// The result of opening connections.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectReport {
    /// Connections that were missing and are open now.
    pub opened: u32,
    /// Time until the last of them was open.
    pub took: Nanoseconds,
    /// Their TLS handshakes.
    pub handshakes: Handshakes,
}

/// Connections could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("variant {} is not attached; attach it before connecting", .0.0)]
    NotAttached(VariantId),
    #[error(
        "no connection to `{peer}`: {source} ({open} of {wanted} connections are open); {}", advice(.source)
    )]
    Failed {
        /// Address of the peer.
        peer: String,
        /// Connections that are open.
        open: u32,
        /// Connections that should be.
        wanted: u32,
        /// Error of the last connect.
        source: io::Error,
    },
    #[error("no TLS session with `{peer}`: {source} ({open} of {wanted} connections are open)")]
    Tls {
        /// Address of the peer.
        peer: String,
        /// Connections that are open.
        open: u32,
        /// Connections that should be.
        wanted: u32,
        /// Why the last handshake failed.
        source: TlsFailure,
    },
    #[error("connecting to `{0}` was stopped")]
    Stopped(String),
    #[error("waiting for connections failed: {0}")]
    Loop(io::Error),
}

/// What to do about a failed connect.
fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => {
            "raise the limit of open files (`ulimit -n`), or use fewer connections"
        }
        Some(libc::EADDRNOTAVAIL) => {
            "no local port is free: connections closed within the last minute may hold them, so wait, or use fewer"
        }
        _ => "check that the service listens there",
    }
}

/// The window could not run at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("variant {} is not attached; attach it before running a window", .0.0)]
    NotAttached(VariantId),
    #[error("waiting for replies failed: {0}")]
    Loop(io::Error),
}

/// The load generator: connections of every attached variant in one event loop, driven by the calling thread.
pub struct Generator {
    io: Io,
    pools: Vec<Option<Box<Pool>>>,
    recorder: Recorder,
    /// For interleaved windows, one recorder per variant.
    recorders: Vec<Recorder>,
    options: LoopOptions,
}

/// State of one run of the loop.
struct LoopState<'a, 'p> {
    window: Window,
    account: Account<'a>,
    progress: Option<&'p mut (dyn FnMut(Progress) + 'p)>,
    waits: Waits,
    progress_at: Timestamp,
}

impl Generator {
    /// A generator that opens its connections through `dial`.
    pub fn new(dial: Box<dyn Dial>, options: LoopOptions) -> io::Result<Self> {
        let (io, recorder) = (Io::new(dial)?, Recorder::new());
        Ok(Self { io, pools: Vec::new(), recorder, recorders: Vec::new(), options })
    }

    /// The clock of every time stamp.
    pub fn clock() -> Timestamp {
        sys::clock()
    }

    /// How long a reply is really held back if [`Settings::hold_back`](crate::Settings) asks for `time`: the median of
    /// many tries on the calling thread's core. It exceeds `time` by part of a clock reading.
    pub fn really_held(time: Nanoseconds) -> Nanoseconds {
        const TRIES: usize = 1_001;
        let mut held: Vec<Nanoseconds> = (0..TRIES)
            .map(|_| {
                let read = sys::clock();
                crate::connection::after(time).since(read)
            })
            .collect();
        held.sort_unstable();
        // Without holding back, the clock is read once after the read; that reading must not count.
        let mut plain: Vec<Nanoseconds> =
            (0..TRIES).map(|_| sys::clock()).map(|read| sys::clock().since(read)).collect();
        plain.sort_unstable();
        held[TRIES / 2].saturating_sub(plain[TRIES / 2])
    }

    /// Registers a variant. Opens nothing yet. A variant registered under that number before is detached.
    pub fn attach(
        &mut self,
        variant: VariantId,
        settings: Settings,
        stack: impl Into<Stack>,
        sessions: Box<dyn Sessions>,
    ) {
        if self.pools.len() <= variant.index() {
            self.pools.resize_with(variant.index() + 1, || None);
        }
        self.pools[variant.index()] = Some(Box::new(Pool::new(variant, settings, &stack.into(), sessions)));
    }

    /// All connections that were opened for the variant since it was attached, whether or not a TLS handshake followed.
    pub fn connects(&self, variant: VariantId) -> u64 {
        let pool = self.pools.get(variant.index()).and_then(Option::as_deref);
        pool.map_or(0, Pool::all_connects)
    }

    /// Closes the variant's connections and forgets it.
    pub fn detach(&mut self, variant: VariantId) {
        if let Some(pool) = self.pools.get_mut(variant.index()) {
            *pool = None;
        }
    }

    /// Opens all missing connections of a variant and waits until they are open.
    ///
    /// Errors: [`ConnectError`] as soon as one connection failed on every address; connections already opened stay
    /// open.
    pub fn connect(&mut self, variant: VariantId) -> Result<ConnectReport, ConnectError> {
        let start = sys::clock();
        catch_up(&mut self.pools, &mut self.io).map_err(ConnectError::Loop)?;
        let pool = pool_of(&mut self.pools, variant).ok_or(ConnectError::NotAttached(variant))?;
        pool.connect_failure = None;
        pool.handshakes.clear();
        let (wanted, before) = (pool.settings.connections, pool.open_count());
        pool.open_missing(&mut self.io, start);
        loop {
            let now = sys::clock();
            let peer = || self.io.dial.peer(variant);
            let pool = pool_of(&mut self.pools, variant).ok_or(ConnectError::NotAttached(variant))?;
            let open = pool.open_count();
            if let Some(source) = pool.connect_failure.take() {
                let peer = peer();
                return Err(match source.downcast::<TlsFailure>() {
                    Ok(source) => ConnectError::Tls { peer, open, wanted, source },
                    Err(source) => ConnectError::Failed { peer, open, wanted, source },
                });
            }
            if open == wanted {
                let handshakes = pool.handshakes.clone();
                return Ok(ConnectReport { opened: wanted - before, took: now.since(start), handshakes });
            }
            if self.options.stop.load(Ordering::Relaxed) {
                return Err(ConnectError::Stopped(peer()));
            }
            pool.open_missing(&mut self.io, now);
            let wait = pool.housekeeping_at.since(now).min(NAP);
            let found = self.io.epoll.wait(Wait::AtMost(wait)).map_err(ConnectError::Loop)?;
            for at in 0..found {
                dispatch(&mut self.pools, &mut self.io, at);
            }
            if let Some(pool) = pool_of(&mut self.pools, variant) {
                pool.housekeeping(&mut self.io, sys::clock());
            }
        }
    }

    /// Runs one window on one variant, on the calling thread, and returns when nothing is outstanding.
    ///
    /// Missing connections are opened when needed; call [`connect`](Self::connect) first so that this takes no time
    /// from a window. Every request's record is appended to `samples` if given; `progress` is called about ten times a
    /// second.
    ///
    /// Errors: [`RunError`] if nothing could be run; failed requests are counted in the figures instead.
    pub fn run(
        &mut self,
        variant: VariantId,
        spec: &WindowSpec,
        tallies: &mut Tallies,
        samples: Option<&mut Vec<RequestRecord>>,
        progress: Option<&mut dyn FnMut(Progress)>,
    ) -> Result<WindowReport, RunError> {
        let Self { io, pools, recorder, options, .. } = self;
        sys::sharpen_timers();
        let cpu = sys::thread_cpu();
        catch_up(pools, io).map_err(RunError::Loop)?;
        recorder.begin(spec.recording, expected(&spec.load));
        let pool = pool_of(pools, variant).ok_or(RunError::NotAttached(variant))?;
        // Preparing every socket takes time that must not count in the window.
        pool.begin_window(io, &spec.load, spec.substream, sys::clock());
        let start = sys::clock();
        pool.free_all(start);
        let mut account = Account::new(recorder, samples, start);
        account.times = progress.as_ref().and(options.times.as_deref());
        let mut run = LoopState::new(spec, start, account, progress);
        let (end, trouble) = run.run_loop(pools, io, variant, options).map_err(RunError::Loop)?;
        let over = sys::clock();
        let pool = pool_of(pools, variant).ok_or(RunError::NotAttached(variant))?;
        let health = LoopHealth {
            wall: over.since(start),
            busy: over.since(start).saturating_sub(run.waits.waited),
            cpu: sys::thread_cpu().saturating_sub(cpu),
            ..LoopHealth::default()
        };
        let given_up = run.account.given_up;
        let figures = run.account.figures(pool, &run.window, end, health, tallies);
        Ok(WindowReport {
            figures,
            trouble,
            given_up,
            failures: pool.take_failures(),
            seen: pool.take_seen(),
        })
    }
}

fn pool_of(pools: &mut [Option<Box<Pool>>], variant: VariantId) -> Option<&mut Pool> {
    pools.get_mut(variant.index()).and_then(Option::as_deref_mut)
}

/// Passes an event of the last wait to its pool.
fn dispatch(pools: &mut [Option<Box<Pool>>], io: &mut Io, at: usize) {
    let readiness = io.epoll.event(at);
    let token = Token::unpack(readiness.token);
    if let Some(pool) = pool_of(pools, VariantId(token.variant)) {
        pool.event(io, token, readiness);
        pool.flush(io);
    }
}

/// Handles what happened to the connections while no loop ran: connections that a server closed while idle are opened
/// again instead of failing a request.
fn catch_up(pools: &mut [Option<Box<Pool>>], io: &mut Io) -> io::Result<()> {
    // Edge-triggered events come once each, so the loop ends; the bound protects from a peer that floods.
    for _ in 0..100 {
        let found = io.epoll.wait(Wait::Not)?;
        for at in 0..found {
            dispatch(pools, io, at);
        }
        if found == 0 {
            break;
        }
    }
    Ok(())
}

/// Estimates how many requests a window will have.
fn expected(load: &Load) -> u64 {
    let arriving = |rate: f64, end: &OpenEnd| match end {
        OpenEnd::Drain { stop: Stop::Count(count), .. } => *count,
        OpenEnd::Sessions { requests, .. } => *requests,
        OpenEnd::BusyCycles(time) | OpenEnd::Drain { stop: Stop::Time(time), .. } => {
            (rate * time.as_secs_f64() * 1.5) as u64
        }
    };
    match load {
        Load::Closed(stop) | Load::Thinking { stop, .. } => match stop {
            Stop::Count(count) => *count,
            Stop::Time(_) => 0,
        },
        Load::Open { flow, end, .. } => arriving(flow.mean(), end),
        Load::PartlyOpen { flow, end, length, .. } => arriving(flow.mean() * length.mean(), end),
    }
}

impl<'a, 'p> LoopState<'a, 'p> {
    fn new(
        spec: &WindowSpec,
        start: Timestamp,
        account: Account<'a>,
        progress: Option<&'p mut (dyn FnMut(Progress) + 'p)>,
    ) -> Self {
        Self {
            window: Window::new(&spec.load, spec.substream, start),
            account,
            progress,
            waits: Waits::new(start),
            progress_at: start + PROGRESS,
        }
    }

    /// Runs the loop until the window is over.
    fn run_loop(
        &mut self,
        pools: &mut [Option<Box<Pool>>],
        io: &mut Io,
        variant: VariantId,
        options: &LoopOptions,
    ) -> io::Result<(WindowEnd, Option<Trouble>)> {
        loop {
            let now = sys::clock();
            let before = self.window.requests();
            let Some(pool) = pool_of(pools, variant) else { return Ok((WindowEnd::Aborted, None)) };
            pool.housekeeping(io, now);
            pool.read_again(io);
            self.advance(pool, io, now);
            if let Some(end) = self.window.end(now) {
                if end == WindowEnd::Saturated {
                    pool.abandon(ErrorKind::Timeout, now);
                    self.settle(pool);
                }
                if end != WindowEnd::Complete || !pool.finish_follow_ups(now) {
                    return Ok((end, None));
                }
            }
            if self.window.outstanding() == 0 && pool.has_ended() {
                return Ok((WindowEnd::Complete, None));
            }
            let trouble = match self.window.ends_by_replies() {
                true => self.account.trouble(pool, io, now),
                false => None,
            };
            if trouble.is_some() || options.stop.load(Ordering::Relaxed) {
                self.window.abort(now);
                self.account.give_up(pool, trouble.is_some(), now);
                self.settle(pool);
                return Ok((WindowEnd::Aborted, trouble));
            }
            self.report(pool, now);
            // If nothing was sent since, the last clock reading is recent enough.
            let now = if self.window.requests() == before { now } else { sys::clock() };
            let due = self.window.wake(now, pool.slots(), pool.think.next_due());
            let until = Until {
                due: [due, pool.follow_ups.wake(now, pool.slots())].into_iter().flatten().min(),
                housekeeping: pool.housekeeping_at,
                unread: pool.has_unread(),
            };
            let found = self.waits.wait(io, options, now, until)?;
            self.events(pools, io, variant, found);
        }
    }

    /// Handles the events of one wait. Only one of them, each in turn, is timed for the loop's delay, so that the clock
    /// is read once more per wait and not per event.
    fn events(&mut self, pools: &mut [Option<Box<Pool>>], io: &mut Io, variant: VariantId, found: usize) {
        if found == 0 {
            return;
        }
        let timed = self.waits.timed(found);
        for at in 0..found {
            if at == timed {
                self.account.recorder.loop_delay(self.waits.delay(at), found as u32);
            }
            let token = Token::unpack(io.epoll.event(at).token);
            if token.variant != variant.0 {
                dispatch(pools, io, at);
            } else if let Some(pool) = pool_of(pools, variant) {
                let readiness = io.epoll.event(at);
                pool.event(io, token, readiness);
                let done = self.settle(pool);
                if (at + 1) % EVENT_BATCH == 0 {
                    self.advance(pool, io, done.unwrap_or(self.waits.returned));
                }
            }
        }
    }

    /// Takes over finished requests and starts those that are due. `now` may be slightly old: nothing is sent too early
    /// then.
    fn advance(&mut self, pool: &mut Pool, io: &mut Io, now: Timestamp) {
        self.settle(pool);
        pool.fill(&mut self.window, now);
        if !self.window.issuing(now) && pool.follow_ups.is_empty() {
            // A connection lost from here on is opened again when a window needs it.
            pool.demand = Demand::Idle;
        }
        pool.flush(io);
        self.settle(pool);
    }

    /// Records the requests that ended. Returns when the last of them ended.
    fn settle(&mut self, pool: &mut Pool) -> Option<Timestamp> {
        let Self { window, account, .. } = self;
        let last = account.settle(pool, |_| window.completed());
        window.sessions_ended(std::mem::take(&mut pool.ended_sessions));
        last
    }

    fn report(&mut self, pool: &Pool, now: Timestamp) {
        if now < self.progress_at {
            return;
        }
        self.progress_at = now + PROGRESS;
        if let Some(progress) = &mut self.progress {
            progress(Progress {
                elapsed: now.since(self.window.start()),
                good: self.account.recorder.good(),
                errors: self.account.recorder.errors(),
                outstanding: self.window.outstanding(),
                connections: pool.open_count(),
            });
        }
    }
}
