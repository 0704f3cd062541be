//! Heap memory of an open, used connection, by protocol: a limit for each, and the figures of `docs/PERFORMANCE.md`,
//! printed by
//! `cargo test --release -p weighbridge-load --test memory -- --nocapture`.
//!
//! All bytes of the generator's thread are counted: the connection's own, those of its framer, buffers and lanes, and
//! those of the lists and checks that grow with it. Kernel memory for sockets is not counted.

mod support;
#[path = "support/tls.rs"]
#[allow(dead_code)] // other stories' parts
mod tls;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use support::http2::{H2Server, Setup, framing, rendered};
use support::{Fixed, HELLO, Server, VARIANT, closed, generator, generator_of, settings};
use weighbridge_load::Framing;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::LoopOptions;
use weighbridge_load::window::Stop;
use weighbridge_load::{Generator, Settings, Stack};
use weighbridge_model::record::Tallies;

thread_local! {
    static HELD: Cell<i64> = const { Cell::new(0) };
}

/// The system's allocator, counting what a thread allocated and has not freed.
struct Counting;

fn hold(change: i64) {
    // A thread that is being torn down has no counter any more, and none is needed.
    let _ = HELD.try_with(|held| held.set(held.get() + change));
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        hold(layout.size() as i64);
        // SAFETY: the caller upholds `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(-(layout.size() as i64));
        // SAFETY: the caller upholds `dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Few and many connections: both include the shared memory, so the difference is the connections' own.
const FEW: u32 = 64;
const MANY: u32 = 192;

/// Requests on each connection's lane before its memory is counted, in separate windows, so that buffers have grown to
/// what the replies need.
const USES: u64 = 20;

/// Bytes of the heap for each connection, open, used and idle again. `open` creates a generator with this many
/// connections, and whatever must live as long as they do.
#[allow(clippy::print_stdout)]
fn bytes_of_each<Server>(name: &str, in_flight: u32, open: impl Fn(u32) -> (Generator, Server)) -> i64 {
    let held = |connections: u32| {
        let before = HELD.get();
        let (mut generator, server) = open(connections);
        // Memory of the server on this thread (its address, its handle) is in both, too.
        let report = generator.connect(VARIANT).expect("connects");
        assert_eq!(report.opened, connections);
        let slots = u64::from(connections) * u64::from(in_flight);
        let mut tallies = Tallies::default();
        for _ in 0..USES {
            let window = closed(Stop::Count(slots));
            let report = generator.run(VARIANT, &window, &mut tallies, None, None).expect("runs");
            assert_eq!((report.figures.requests, report.figures.errors.total()), (slots, 0), "{name}");
            // No connection was lost and reopened.
            assert_eq!(report.figures.connects, 0, "{name}");
        }
        // Memory reserved for a window's requests grows with the window, not with its connections.
        let most = closed(Stop::Count(u64::from(MANY) * u64::from(in_flight)));
        generator.run(VARIANT, &most, &mut tallies, None, None).expect("runs");
        let held = HELD.get() - before;
        drop((generator, server));
        held
    };
    let few = held(FEW);
    let each = (held(MANY) - few) / i64::from(MANY - FEW);
    println!("{name}: {each} bytes for each connection");
    each
}

/// Replies to plain requests with these bytes.
fn plain(reply: &'static [u8]) -> impl Fn(u32) -> (Generator, Server) {
    move |connections| {
        let server = Server::answering(reply);
        (generator(server.address, settings(connections), Fixed::get()), server)
    }
}

/// A head as long as any that is remembered, with as many fields.
const LONG_HEAD: &[u8] = {
    const FIELD: &str = "X-Field-Of-Some-Length: and a value that is about as long as values are\r\n";
    const REST: &str = "Content-Length: 5\r\n\r\nhello";
    const START: &str = "HTTP/1.1 200 OK\r\n";
    const FIELDS: usize = 12;
    const LENGTH: usize = START.len() + FIELDS * FIELD.len() + REST.len();
    const fn put(bytes: &mut [u8; LENGTH], from: usize, text: &str) -> usize {
        let mut at = 0;
        while at < text.len() {
            bytes[from + at] = text.as_bytes()[at];
            at += 1;
        }
        from + at
    }
    const fn whole() -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        let mut at = put(&mut bytes, 0, START);
        let mut field = 0;
        while field < FIELDS {
            at = put(&mut bytes, at, FIELD);
            field += 1;
        }
        put(&mut bytes, at, REST);
        bytes
    }
    &whole()
};

#[test]
fn the_counter_counts_what_is_held() {
    let before = HELD.get();
    let kept = std::hint::black_box(vec![1u8; 100]);
    assert_eq!(HELD.get() - before, 100, "{}", kept.len());
    drop(kept);
    assert_eq!(HELD.get(), before);
}

#[test]
fn a_plain_http1_connection_holds_at_most_four_kibibytes() {
    let short = bytes_of_each("HTTP/1.1, short head", 1, plain(HELLO));
    assert!((1..=4 * 1024).contains(&short), "{short} bytes");
    let long = bytes_of_each("HTTP/1.1, head of 950 bytes", 1, plain(LONG_HEAD));
    assert!((short..=4 * 1024).contains(&long), "{long} bytes");
}

#[test]
fn a_connection_over_tls_holds_a_bounded_amount() {
    for (name, versions, limit) in [
        ("HTTP/1.1 over TLS 1.3", &[&rustls::version::TLS13][..], 20 * 1024),
        ("HTTP/1.1 over TLS 1.2", &[&rustls::version::TLS12], 20 * 1024),
    ] {
        let each = bytes_of_each(name, 1, |connections| {
            let authority = tls::Authority::new();
            let config = tls::config(&authority.server(), versions, &tls::Clients::Anyone);
            let server = tls::server(config, |stream| tls::answer(stream, HELLO));
            let dial = Box::new(SocketDial::to(VARIANT, vec![server.address]));
            let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
            let stack = Stack { framing: Framing::Http1, tls: Some(authority.tls()) };
            generator.attach(VARIANT, settings(connections), stack, Box::new(Fixed::get()));
            (generator, server)
        });
        assert!((1..=limit).contains(&each), "{each} bytes");
    }
}

#[test]
fn an_http2_connection_holds_a_bounded_amount() {
    for (name, streams, limit) in [("HTTP/2, 1 stream", 1, 4 * 1024), ("HTTP/2, 32 streams", 32, 28 * 1024)] {
        let each = bytes_of_each(name, streams, |connections| {
            let server = H2Server::start(Setup::default());
            let settings = Settings { in_flight: streams, ..settings(connections) };
            let sessions = Fixed::sending(vec![rendered("GET", "/hello", b"")]);
            (generator_of(framing(), server.address, settings, sessions), server)
        });
        assert!((1..=limit).contains(&each), "{each} bytes");
    }
}
