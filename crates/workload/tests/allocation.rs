//! Sessions that take values from replies and put them into requests allocate nothing in the steady state: a window of
//! ten thousand requests takes as many allocations as one of a thousand.

#[path = "support/servers.rs"]
mod servers;
#[path = "support/shop.rs"]
#[allow(dead_code)] // used by other tests
mod shop;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;
use std::sync::Arc;

use shop::Shop;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{Generator, LoopOptions, WindowReport, WindowSpec};
use weighbridge_load::window::{Load, Stop};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::experiment::{Experiment, HttpSpec, LoadSpec, Protocol, WorkloadSpec};
use weighbridge_model::id::VariantId;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::counts::Count;
use weighbridge_model::record::{RequestRecord, Tallies};
use weighbridge_workload::{Address, Given, Rows, UrlScheme, Workload};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting per thread.
struct Counting;

fn count() {
    // A thread that is being torn down has no counter any more, and none is needed.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller upholds `alloc`'s contract.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds `dealloc`'s contract.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller upholds `realloc`'s contract.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A generator's client of a workload.
struct Client {
    generator: Generator,
    tallies: Tallies,
}

impl Client {
    /// Connected twice.
    fn new(workload: &Workload, server: SocketAddr, in_flight: u32) -> Self {
        let dial = Box::new(SocketDial::to(VariantId(0), [server]));
        let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
        let timeout = Nanoseconds::from_secs(30);
        let settings = Settings { connections: 2, in_flight, timeout, ..Settings::default() };
        generator.attach(VariantId(0), settings, workload.framing(), workload.sessions());
        generator.connect(VariantId(0)).expect("connects");
        Self { generator, tallies: Tallies::default() }
    }

    /// How many allocations so many requests take, of which none fails.
    fn window(&mut self, count: u64, samples: Option<&mut Vec<RequestRecord>>) -> (u64, WindowReport) {
        let load = Load::Closed(Stop::Count(count));
        let spec = WindowSpec { substream: 1, load, recording: Recording::Exact };
        let before = ALLOCATIONS.get();
        let report = self.generator.run(VariantId(0), &spec, &mut self.tallies, samples, None).expect("runs");
        let after = ALLOCATIONS.get();
        assert_eq!(report.figures.errors.total(), 0, "{:?}", report.failures);
        (after - before, report)
    }
}

const SHOP: &str = r#"
[[variant]]
url = "h:1"
[workload]
name = "http"
[[workload.data]]
file = "users.csv"
order = "shuffled"
[[workload.request]]
name = "login"
method = "POST"
path = "/login"
body = '{"user": "${user:json}", "password": "${password:json}"}'
extract.token = { json = "/token" }
extract.sid = { header = "Set-Cookie", regex = "sid=([^;]+)" }
extract.raw = { regex = '"token": ?"([^"]+)"' }
[[workload.request]]
name = "item"
path = "/items/${item:url}"
headers = { Authorization = "Bearer ${token}", Cookie = "sid=${sid}", X-Raw = "${raw}" }
[[workload.session]]
requests = ["login", "item", "item"]
"#;

#[test]
fn sessions_that_take_values_allocate_nothing_in_the_steady_state() {
    let customers: Vec<(String, String)> =
        (0..50).map(|n| (format!("user{n:03}"), format!("{n:02}"))).collect();
    let rows: String = customers.iter().map(|(user, item)| format!("{user},pw,{item}\n")).collect();
    let spec = Experiment::parse("x", SHOP).expect("an experiment").points[0].workload.clone();
    let WorkloadSpec::Http(HttpSpec { scenario, .. }) = &spec else { panic!("http") };
    let rows =
        Rows::parse(&scenario.data[0], format!("user,password,item\n{rows}").as_bytes()).expect("rows");
    let rows = [Arc::new(rows)];
    for protocol in [Protocol::HTTP1_JSON, Protocol::HTTP2_JSON] {
        let known: Vec<(&str, &str, &str)> =
            customers.iter().map(|(user, item)| (user.as_str(), "pw", item.as_str())).collect();
        let shop = Shop::new(&known);
        let server = if protocol == Protocol::HTTP1_JSON { shop.open() } else { shop.open_http2() };
        let address =
            Address { authority: server.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() };
        let workload = Workload::with_rows(
            &spec,
            &LoadSpec::default(),
            protocol,
            &address,
            Given { environment: &|_| None, rows: &rows, replay: None, script: None },
        )
        .expect("binds");
        let mut client = Client::new(&workload, server, 1);
        let mut window = |count| client.window(count, None).0;
        window(6_000);
        let short = window(600);
        let long = window(6_000);
        // The list of figures per operation; buffers may still grow once for a read that ended inside a reply.
        assert!(long <= short + 2, "{protocol:?}: {short} of 600, {long} of 6,000");
    }
}

/// A window that keeps single requests over a hundred sizes; memory for the samples is allocated before.
#[test]
fn sizes_over_a_range_and_their_samples_allocate_nothing_in_the_steady_state() {
    let text = "[[variant]]\nurl = 'h:1'\n[workload]\nname = 'pingpong'\n\
                sizes = { min = 4, max = '20 kB', number = 100 }\n";
    let spec = Experiment::parse("x", text).expect("an experiment").points[0].workload.clone();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| drop(std::thread::spawn(|| pong(stream))))
    });
    let address =
        Address { authority: server.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() };
    let workload =
        Workload::new(&spec, &LoadSpec::default(), Protocol::HTTP1_JSON, &address, &|_| None).expect("binds");
    let mut client = Client::new(&workload, server, 1);
    let mut samples = Vec::with_capacity(10_000);
    let mut window = |count: u64| {
        samples.clear();
        let (allocations, report) = client.window(count, Some(&mut samples));
        assert_eq!((samples.len() as u64, report.seen.len() as u64), (count, count));
        for (sample, seen) in samples.iter().zip(&report.seen) {
            assert_eq!((seen.status, seen.length), (Some(200), seen.size), "{sample:?}");
        }
        allocations
    };
    window(3_000);
    let (short, long) = (window(300), window(3_000));
    // The list of figures, and what was seen; buffers may still grow once for a read that ended inside a reply.
    assert!(long <= short + 2, "{short} of 300, {long} of 3,000");
}

/// Keys and values of many lengths, against memcached and Redis themselves, which are right in every reply.
#[test]
fn caches_are_asked_and_checked_without_allocating_in_the_steady_state() {
    let (memcached, redis) = (servers::memcached(), servers::redis(&[]));
    for (protocol, server) in [(Protocol::MEMCACHED, memcached.address), (Protocol::RESP, redis.address)] {
        let text = "[[variant]]\nurl = 'redis://h'\n[workload]\nname = 'cache'\nkeys = 500\nkey = 'fb_key'\n\
                    value = 'list:300=9,9000=1'\nmix = { get = 5, set = 3, delete = 1, head = 1 }\n\
                    fresh = 0.01\nabsent = 0.01\n";
        let spec = Experiment::parse("x", text).expect("an experiment").points[0].workload.clone();
        let address =
            Address { authority: server.to_string(), base: "/".to_owned(), scheme: UrlScheme::default() };
        let workload =
            Workload::new(&spec, &LoadSpec::default(), protocol, &address, &|_| None).expect("binds");
        let mut client = Client::new(&workload, server, 4);
        let mut window = |count| {
            let (allocations, report) = client.window(count, None);
            (allocations, report.figures.counts.expect("a cache counts"))
        };
        window(workload.fill());
        assert_eq!(workload.fill(), 0);
        window(6_000);
        let ((short, _), (long, counts)) = (window(600), window(6_000));
        assert!(long <= short + 2, "{protocol:?}: {short} of 600, {long} of 6,000");
        let [hits, compulsory, invalidated, capacity] =
            [Count::Hits, Count::CompulsoryMisses, Count::InvalidatedMisses, Count::CapacityMisses]
                .map(|count| counts.get(count));
        assert!(hits > 1_000 && compulsory > 0 && invalidated > 0, "{counts:?}");
        // Nothing is dropped; where a delete and a set overlap, the cause is not known.
        assert!(capacity * 50 < invalidated, "{counts:?}");
    }
}

/// Answers `GET /pong/{n}` on one connection until it ends.
fn pong(mut stream: std::net::TcpStream) {
    use std::io::{BufRead, BufReader, Write};
    let mut lines = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
    while let Some(Ok(line)) = lines.next() {
        let size =
            line.strip_prefix("GET /pong/").and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
        let Some(size) = size else { continue };
        let body = [&b"p"[..], &vec![b'o'; size - 3], b"ng"].concat();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n");
        if stream.write_all(&[head.as_bytes(), &body].concat()).is_err() {
            return;
        }
    }
}
