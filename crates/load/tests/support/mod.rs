//! Small servers in threads and a small workload, for the tests of the loop.

// Each test binary uses a part of it.
#![allow(dead_code)]

pub mod http2;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use weighbridge_load::Framing;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::framer::Head;
use weighbridge_load::generator::{Generator, LoopOptions, WindowReport, WindowSpec};
use weighbridge_load::request::{Rendered, Request};
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};
use weighbridge_load::window::{Load, Stop};
use weighbridge_load::{Recording, Settings};
use weighbridge_model::id::{OperationId, VariantId};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{ErrorKind, Outcome, Tallies};

pub const VARIANT: VariantId = VariantId(0);
pub const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A server on its own loopback port; it stops accepting when dropped.
pub struct Server {
    pub address: SocketAddr,
    pub accepted: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Calls `serve` in a thread per connection.
    pub fn start(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        Self::on(listener, serve)
    }

    pub fn on(listener: TcpListener, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let address = listener.local_addr().expect("bound");
        let (stop, accepted) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted, serve) = (Arc::clone(&stop), Arc::clone(&accepted), Arc::new(serve));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                counted.fetch_add(1, Ordering::SeqCst);
                let serve = Arc::clone(&serve);
                std::thread::spawn(move || serve(stream));
            }
        });
        Self { address, accepted, stop, thread: Some(thread) }
    }

    /// Answers every request with the same bytes.
    pub fn answering(reply: &'static [u8]) -> Self {
        Self::start(move |mut stream| while read_head(&mut stream).is_some() && send(&mut stream, reply) {})
    }

    /// Answers one request per connection, then closes it.
    pub fn answering_once(reply: &'static [u8]) -> Self {
        Self::start(move |mut stream| {
            if read_head(&mut stream).is_some() && send(&mut stream, reply) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

pub fn send(stream: &mut TcpStream, bytes: &[u8]) -> bool {
    stream.set_nodelay(true).is_ok() && stream.write_all(bytes).is_ok()
}

/// Reads one request's head, byte by byte so that a pipelined one is left for the next call; `None` at the end.
pub fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).ok()
}

/// Waits until a condition holds.
#[track_caller]
pub fn eventually(holds: impl Fn() -> bool) {
    let held = (0..3_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        holds()
    });
    assert!(held, "it did not come about");
}

/// Waits for the peer to close.
pub fn wait_for_close(stream: &mut TcpStream) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {}
}

/// A workload: sessions of the given requests in order, all expecting one status and one body.
pub struct Fixed {
    requests: Vec<Rendered>,
    expected: Expected,
    /// Per slot: the current step of its session.
    steps: Vec<u32>,
    checks: Vec<FixedCheck>,
}

#[derive(Clone)]
struct Expected {
    status: u16,
    body: Vec<u8>,
    messages: u32,
    trailer: Option<(&'static str, &'static str)>,
}

struct FixedCheck {
    expected: Expected,
    status: u16,
    matched: usize,
    /// Whether some piece of the body was wrong.
    differs: bool,
    messages: u32,
    trailed: bool,
}

impl Fixed {
    pub fn get() -> Self {
        Self::of(&[("GET", 0)])
    }

    /// Sessions of one request per method and body length; request `k` is operation `k`.
    pub fn of(requests: &[(&str, usize)]) -> Self {
        let render = |(operation, (method, body)): (usize, &(&str, usize))| {
            let request = Request {
                method: (*method).into(),
                target: "/hello".into(),
                authority: "localhost".into(),
                body: vec![b'x'; *body],
                ..Request::default()
            };
            Framing::Http1.render(OperationId(operation as u16), &request).expect("renders")
        };
        Self::sending(requests.iter().enumerate().map(render).collect())
    }

    /// Sessions of these requests.
    pub fn sending(requests: Vec<Rendered>) -> Self {
        let expected = Expected { status: 200, body: b"hello".to_vec(), messages: 0, trailer: None };
        Self { requests, expected, steps: Vec::new(), checks: Vec::new() }
    }

    pub fn expecting(mut self, status: u16, body: &[u8]) -> Self {
        self.expected = Expected { status, body: body.to_vec(), ..self.expected };
        self
    }

    /// Expects this many messages in each reply, and this field after them.
    pub fn streaming(mut self, messages: u32, trailer: (&'static str, &'static str)) -> Self {
        self.expected = Expected { messages, trailer: Some(trailer), ..self.expected };
        self
    }

    pub fn request_length(&self) -> u64 {
        self.requests[0].bytes().len() as u64
    }

    fn reset(&mut self, slot: u32, step: u32) -> RequestId {
        self.steps[slot as usize] = step;
        let check = &mut self.checks[slot as usize];
        (check.status, check.matched, check.differs) = (0, 0, false);
        (check.messages, check.trailed) = (0, false);
        RequestId(step)
    }
}

impl Sessions for Fixed {
    fn prepare(&mut self, slots: u32) {
        self.steps = vec![0; slots as usize];
        let check = || FixedCheck {
            expected: self.expected.clone(),
            status: 0,
            matched: 0,
            differs: false,
            messages: 0,
            trailed: false,
        };
        self.checks = (0..slots).map(|_| check()).collect();
    }
    fn rewind(&mut self, _substream: u64) {}
    fn open(&mut self, slot: u32) -> RequestId {
        self.reset(slot, 0)
    }
    /// A session that begins with this operation.
    fn open_with(&mut self, slot: u32, operation: OperationId) -> RequestId {
        self.reset(slot, operation.0.into())
    }
    fn next(&mut self, slot: u32, reply: &Reply) -> Step {
        assert_eq!(reply.request, RequestId(self.steps[slot as usize]), "the reply of the last request");
        let step = self.steps[slot as usize] + 1;
        if (step as usize) < self.requests.len() { Step::Send(self.reset(slot, step)) } else { Step::End }
    }
    fn request(&self, id: RequestId) -> &Rendered {
        &self.requests[id.0 as usize]
    }
    fn check(&mut self, slot: u32) -> &mut dyn Check {
        &mut self.checks[slot as usize]
    }
}

impl Check for FixedCheck {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
    }
    fn data(&mut self, bytes: &[u8]) {
        let rest = &self.expected.body[self.matched.min(self.expected.body.len())..];
        self.differs |= !rest.starts_with(bytes);
        self.matched += bytes.len();
    }
    fn messages(&mut self, count: u32) {
        self.messages += count;
    }
    fn trailers(&mut self, fields: &Head<'_>) {
        let expected = self.expected.trailer;
        self.trailed = expected.is_some_and(|(name, value)| fields.field(name) == Some(value.as_bytes()));
    }
    fn done(&mut self) -> Outcome {
        let expected = &self.expected;
        if self.status != expected.status {
            Outcome::Error(ErrorKind::Status)
        } else if self.differs
            || self.matched != expected.body.len()
            || self.messages != expected.messages
            || self.trailed != expected.trailer.is_some()
        {
            Outcome::Error(ErrorKind::Check)
        } else {
            Outcome::Ok
        }
    }
}

/// Settings whose limits only a peer that hangs exceeds, however slow the host is.
pub fn settings(connections: u32) -> Settings {
    let minute = Nanoseconds::from_secs(60);
    Settings {
        connections,
        timeout: minute,
        connect_timeout: minute,
        patience: minute,
        ..Settings::default()
    }
}

pub fn millis(n: u64) -> Nanoseconds {
    Nanoseconds::from_millis(n)
}

pub fn closed(stop: Stop) -> WindowSpec {
    WindowSpec { substream: 1, load: Load::Closed(stop), recording: Recording::Exact }
}

/// A generator with one variant and no open connections.
pub fn generator(address: SocketAddr, settings: Settings, sessions: Fixed) -> Generator {
    generator_of(Framing::Http1, address, settings, sessions)
}

/// The same with any framing.
pub fn generator_of(framing: Framing, address: SocketAddr, settings: Settings, sessions: Fixed) -> Generator {
    let dial = Box::new(SocketDial::to(VARIANT, vec![address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    generator.attach(VARIANT, settings, framing, Box::new(sessions));
    generator
}

pub fn run(generator: &mut Generator, spec: &WindowSpec) -> WindowReport {
    generator.run(VARIANT, spec, &mut Tallies::default(), None, None).expect("the window runs")
}
