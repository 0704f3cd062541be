//! In the steady state the loop allocates nothing: a window of ten thousand requests takes as many allocations as one
//! of a hundred, and those are a few at its very end.

mod support;
#[path = "support/tls.rs"]
#[allow(dead_code)] // used by other tests
mod tls;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Read;

use support::http2::{H2Server, Setup, framing, rendered};
use support::{Fixed, HELLO, Server, VARIANT, closed, generator, generator_of, send, settings};
use weighbridge_load::Framing;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::framer::Head;
use weighbridge_load::generator::{LoopOptions, Share, WindowSpec};
use weighbridge_load::pace::{Flow, Source};
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};
use weighbridge_load::window::{Load, OpenEnd, Stop};
use weighbridge_load::{Generator, Recording, Settings, Stack, Stamps, memcached, resp};
use weighbridge_model::experiment::{Arrivals, Profile, SessionLength, Think};
use weighbridge_model::id::{OperationId, VariantId};
use weighbridge_model::legs::Leg;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::{ErrorKind, Outcome, Tallies};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, counting per thread.
struct Counting;

fn count(size: usize) {
    // A thread that is being torn down has no counter any more, and none is needed.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
    hold(size as i64);
}

/// Bytes that the thread allocated and has not freed.
fn hold(change: i64) {
    let _ = HELD.try_with(|held| held.set(held.get() + change));
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller upholds `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(-(layout.size() as i64));
        // SAFETY: the caller upholds `dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        hold(-(layout.size() as i64));
        // SAFETY: the caller upholds `realloc`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations on this thread while the window ran.
fn allocations(generator: &mut Generator, spec: &WindowSpec, tallies: &mut Tallies) -> u64 {
    let before = ALLOCATIONS.get();
    let report = generator.run(VARIANT, spec, tallies, None, None).expect("runs");
    let after = ALLOCATIONS.get();
    assert_eq!(report.figures.errors.total(), 0);
    assert!(report.figures.requests >= 100);
    after - before
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    let kept = std::hint::black_box(vec![1u8; 100]);
    assert_eq!(ALLOCATIONS.get() - before, 1, "{}", kept.len());
}

#[test]
fn a_closed_window_allocates_only_its_figures() {
    let server = Server::answering(HELLO);
    let settings = Settings { in_flight: 2, ..settings(4) };
    let mut generator = generator(server.address, settings, Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let mut tallies = Tallies::default();
    for recording in [Recording::Exact, Recording::Batched] {
        let spec = |count| WindowSpec { recording, ..closed(Stop::Count(count)) };
        allocations(&mut generator, &spec(10_000), &mut tallies);
        let short = allocations(&mut generator, &spec(100), &mut tallies);
        let long = allocations(&mut generator, &spec(10_000), &mut tallies);
        assert_eq!(short, long, "{recording:?}");
        if recording == Recording::Exact {
            assert_eq!(long, 1, "the list of figures per operation");
        }
    }
}

#[test]
fn the_kernels_stamps_allocate_nothing_while_a_window_runs() {
    let server = Server::answering(HELLO);
    let settings = Settings { stamps: Stamps::Kernel, ..settings(4) };
    let mut generator = generator(server.address, settings, Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let mut tallies = Tallies::default();
    for recording in [Recording::Exact, Recording::Batched] {
        let spec = |count| WindowSpec { recording, ..closed(Stop::Count(count)) };
        allocations(&mut generator, &spec(10_000), &mut tallies);
        let short = allocations(&mut generator, &spec(100), &mut tallies);
        let long = allocations(&mut generator, &spec(10_000), &mut tallies);
        assert_eq!(short, long, "{recording:?}");
    }
    assert!(tallies.legs.get(Leg::Outside).is_some_and(|times| times.len() > 20_000));
}

#[test]
fn http2_allocates_no_more_with_requests_than_without() {
    let server = H2Server::start(Setup::default());
    // A body larger than the server's first window, so that some are held back.
    let body = vec![b'x'; 70_000];
    let plain = (32, Fixed::sending(vec![rendered("GET", "/hello", b"")]));
    let echoed = (4, Fixed::sending(vec![rendered("POST", "/echo", &body)]).expecting(200, &body));
    for (in_flight, sessions) in [plain, echoed] {
        let settings = Settings { in_flight, ..settings(2) };
        let mut generator = generator_of(framing(), server.address, settings, sessions);
        generator.connect(VARIANT).expect("connects");
        let mut tallies = Tallies::default();
        let spec = |count| closed(Stop::Count(count));
        // Buffers for unread and unsent bytes reach their size in a few rounds.
        for _ in 0..3 {
            allocations(&mut generator, &spec(2_000), &mut tallies);
        }
        let short = allocations(&mut generator, &spec(100), &mut tallies);
        let long = allocations(&mut generator, &spec(2_000), &mut tallies);
        // The list of figures, and rarely a buffer that grows once more because a frame was cut elsewhere.
        assert!(short < 5 && long < 5, "{short} for 100 requests, {long} for 2,000");
    }
}

#[test]
fn an_open_window_allocates_only_its_schedule_and_figures() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let mut tallies = Tallies::default();
    let spec = |count| WindowSpec {
        substream: 1,
        load: Load::Open {
            flow: Flow::steady(PerSecond::new(5_000.0).expect("a rate"), Arrivals::Poisson),
            queue: 1_000,
            end: OpenEnd::Drain { stop: Stop::Count(count), limit: Nanoseconds::from_secs(10) },
        },
        recording: Recording::Exact,
    };
    allocations(&mut generator, &spec(5_000), &mut tallies);
    let short = allocations(&mut generator, &spec(100), &mut tallies);
    let long = allocations(&mut generator, &spec(5_000), &mut tallies);
    assert_eq!(short, long);
    assert!(long <= 4, "queue, schedule, its random stream, figures: {long}");
}

/// An interleaved window allocates its plan, its reports and each variant's figures, and nothing for its requests.
#[test]
fn an_interleaved_window_allocates_no_more_with_requests_than_without() {
    let servers = [Server::answering(HELLO), Server::answering(HELLO), Server::answering(HELLO)];
    let variants = [VariantId(0), VariantId(1), VariantId(2)];
    let mut dial = SocketDial::default();
    for (variant, server) in variants.into_iter().zip(&servers) {
        dial.set(variant, [server.address]);
    }
    let mut generator = Generator::new(Box::new(dial), LoopOptions::default()).expect("a generator");
    for variant in variants {
        generator.attach(variant, settings(4), Framing::Http1, Box::new(Fixed::get()));
        generator.connect(variant).expect("connects");
    }
    let flow = Flow::steady(PerSecond::new(5_000.0).expect("a rate"), Arrivals::Poisson);
    let end = |count| OpenEnd::Drain { stop: Stop::Count(count), limit: Nanoseconds::from_secs(10) };
    let think = Think::Constant { time: Nanoseconds::from_micros(50) };
    let closed = |count| Load::Closed(Stop::Count(count));
    let thinking = |count| Load::Thinking { stop: Stop::Count(count), think };
    let open = |count| Load::Open { flow: flow.clone(), queue: 1_000, end: end(count) };
    let loads: [&dyn Fn(u64) -> Load; 3] = [&closed, &thinking, &open];
    let mut tallies: [Tallies; 3] = Default::default();
    for load in loads {
        let mut count = |rounds: u64| {
            let spec = WindowSpec { substream: 1, load: load(rounds), recording: Recording::Exact };
            let share = |(variant, tallies)| Share { variant, tallies, samples: None };
            let mut shares: Vec<_> = variants.into_iter().zip(&mut tallies).map(share).collect();
            let before = ALLOCATIONS.get();
            let reports = generator.run_interleaved(&mut shares, &spec).expect("runs");
            let after = ALLOCATIONS.get();
            assert!(reports.iter().all(|report| report.figures.requests == rounds));
            assert!(reports.iter().all(|report| report.figures.errors.total() == 0));
            after - before
        };
        count(1_000);
        let (short, long) = (count(100), count(1_000));
        assert_eq!(short, long);
        assert!(long <= 40, "plan, reports and figures of three variants: {long}");
    }
}

/// A generator over TLS against a server that answers everything with `HELLO`.
fn secured(connections: u32) -> (Generator, Server) {
    let authority = tls::Authority::new();
    let config = tls::config(&authority.server(), tls::BOTH, &tls::Clients::Anyone);
    let server = tls::server(config, |stream| tls::answer(stream, HELLO));
    let dial = Box::new(SocketDial::to(VARIANT, vec![server.address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    let stack = Stack { framing: Framing::Http1, tls: Some(authority.tls()) };
    generator.attach(VARIANT, settings(connections), stack, Box::new(Fixed::get()));
    (generator, server)
}

/// rustls allocates each record's ciphertext and plaintext anew, and frees both at once. Our code adds nothing, and
/// nothing is kept.
#[test]
fn over_tls_a_request_allocates_only_the_two_records_of_rustls() {
    let (mut generator, _server) = secured(2);
    generator.connect(VARIANT).expect("connects");
    let mut tallies = Tallies::default();
    allocations(&mut generator, &closed(Stop::Count(1_000)), &mut tallies);
    let before = HELD.get();
    let short = allocations(&mut generator, &closed(Stop::Count(100)), &mut tallies);
    let long = allocations(&mut generator, &closed(Stop::Count(1_100)), &mut tallies);
    assert!(long - short <= 2 * 1_000, "{short} and {long} allocations");
    assert_eq!(HELD.get(), before, "bytes held after a window");
}

#[test]
fn thinking_and_sessions_allocate_nothing_while_they_run() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let think = Think::Exponential { mean: Nanoseconds::from_micros(200) };
    let profile: Profile = "burst:100/s..4000/s for 10ms every 20ms".parse().expect("a profile");
    let thinking = |count| Load::Thinking { stop: Stop::Count(count), think };
    let sessions = |count| Load::PartlyOpen {
        flow: Flow::new(Source::Law {
            profile: profile.clone(),
            arrivals: Arrivals::Jitter(Arrivals::JITTER),
        }),
        queue: 1_000,
        end: OpenEnd::Drain { stop: Stop::Count(count), limit: Nanoseconds::from_secs(10) },
        length: SessionLength::Geometric { mean: 3.0 },
        think,
    };
    let loads: [&dyn Fn(u64) -> Load; 2] = [&thinking, &sessions];
    for load in loads {
        let mut tallies = Tallies::default();
        let spec = |count| WindowSpec { substream: 1, load: load(count), recording: Recording::Exact };
        allocations(&mut generator, &spec(4_000), &mut tallies);
        let short = allocations(&mut generator, &spec(100), &mut tallies);
        let long = allocations(&mut generator, &spec(4_000), &mut tallies);
        assert_eq!(short, long);
        assert!(long <= 8, "queue, schedule, profile, its random stream, figures: {long}");
    }
}

/// Sessions of one command each, alternating; a reply is good unless it is an error.
struct Commands {
    requests: Vec<Rendered>,
    opened: u32,
    checks: Vec<Status>,
}

struct Status(u16);

impl Commands {
    fn of(requests: Vec<Rendered>) -> Box<Self> {
        Box::new(Self { requests, opened: 0, checks: Vec::new() })
    }
}

impl Sessions for Commands {
    fn prepare(&mut self, slots: u32) {
        self.checks = (0..slots).map(|_| Status(0)).collect();
    }
    fn rewind(&mut self, _substream: u64) {}
    fn open(&mut self, _slot: u32) -> RequestId {
        self.opened = self.opened.wrapping_add(1);
        RequestId(self.opened % self.requests.len() as u32)
    }
    fn next(&mut self, _slot: u32, _reply: &Reply) -> Step {
        Step::End
    }
    fn request(&self, id: RequestId) -> &Rendered {
        &self.requests[id.0 as usize]
    }
    fn check(&mut self, slot: u32) -> &mut dyn Check {
        &mut self.checks[slot as usize]
    }
}

impl Check for Status {
    fn head(&mut self, head: &Head<'_>) {
        self.0 = head.status;
    }
    fn data(&mut self, _bytes: &[u8]) {}
    fn done(&mut self) -> Outcome {
        if self.0 < 500 { Outcome::Ok } else { Outcome::Error(ErrorKind::Status) }
    }
}

/// Answers each command with the same bytes; `mark` begins a command.
fn answering_each(mark: &'static [u8], reply: &'static [u8]) -> Server {
    Server::start(move |mut stream| {
        let (mut buffer, mut kept) = (vec![0; 64 * 1024], Vec::new());
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            kept.extend_from_slice(&buffer[..count]);
            let found = kept.windows(mark.len()).filter(|part| *part == mark).count();
            // The end may contain the first part of a mark.
            kept.drain(..kept.len().saturating_sub(mark.len() - 1));
            if !send(&mut stream, &reply.repeat(found)) {
                return;
            }
        }
    })
}

#[test]
fn commands_allocate_no_more_than_requests() {
    let resp = |words: &[&str]| resp::command(OperationId(0), words, None).expect("renders");
    let text = |words: &[&str]| memcached::command(OperationId(0), words, None).expect("renders");
    let nested = b"*3\r\n%1\r\n+k\r\n|1\r\n+a\r\n+b\r\n:1\r\n$5\r\nhello\r\n*1\r\n_\r\n";
    for (framing, mark, reply, request) in [
        (Framing::Resp, &b"GET"[..], &nested[..], resp(&["XGET", "k"])),
        (Framing::Memcached, b"get ", b"VALUE k 0 5\r\nhello\r\nEND\r\n", text(&["get", "k"])),
        (Framing::Memcached, b"mg ", b"VA 5\r\nhello\r\n", text(&["mg", "k", "v"])),
    ] {
        let server = answering_each(mark, reply);
        let dial = Box::new(SocketDial::to(VARIANT, [server.address]));
        let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
        let settings = Settings { in_flight: 16, ..settings(2) };
        generator.attach(VARIANT, settings, framing, Commands::of(vec![request]));
        generator.connect(VARIANT).expect("connects");
        let mut tallies = Tallies::default();
        let spec = |count| closed(Stop::Count(count));
        // Buffers grow to the largest read that ends inside a reply.
        for _ in 0..3 {
            allocations(&mut generator, &spec(10_000), &mut tallies);
        }
        let short = allocations(&mut generator, &spec(100), &mut tallies);
        let long = allocations(&mut generator, &spec(10_000), &mut tallies);
        assert!(long <= short + 2, "{framing:?}: {short} of 100, {long} of 10,000");
    }
}
