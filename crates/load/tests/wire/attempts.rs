//! Replies that ask for the same request once more: each attempt has a time, the request those of all of them together.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{Fixed, HELLO, Server, VARIANT, read_head, send, settings};
use weighbridge_load::dial::SocketDial;
use weighbridge_load::framer::Head;
use weighbridge_load::generator::{Generator, LoopOptions, WindowSpec};
use weighbridge_load::request::Rendered;
use weighbridge_load::session::{Check, Reply, RequestId, Sessions, Step};
use weighbridge_load::window::{Load, Stop};
use weighbridge_load::{Framing, Recording};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{ErrorKind, Outcome, RequestRecord, Tallies, WindowEnd, WindowFigures};

const AGAIN: OperationId = OperationId(7);
const MOST: u32 = 5;
/// How long the server takes to say that the request should be made again.
const TAKES: Nanoseconds = Nanoseconds::from_millis(3);

const BUSY: &[u8] = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n";
const BUSY_AND_CLOSED: &[u8] = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Requests that are made at most five times where the status is 503.
struct Asking {
    requests: Fixed,
    checks: Vec<Asked>,
}

#[derive(Default)]
struct Asked {
    status: u16,
    attempts: u32,
}

impl Check for Asked {
    fn head(&mut self, head: &Head<'_>) {
        self.status = head.status;
    }
    fn data(&mut self, _bytes: &[u8]) {}
    fn done(&mut self) -> Outcome {
        if self.status == 200 { Outcome::Ok } else { Outcome::Error(ErrorKind::Status) }
    }
    fn asks_again(&mut self) -> Option<OperationId> {
        self.attempts += 1;
        (self.status == 503 && self.attempts < MOST).then_some(AGAIN)
    }
}

impl Sessions for Asking {
    fn prepare(&mut self, slots: u32) {
        self.requests.prepare(slots);
        self.checks = (0..slots).map(|_| Asked::default()).collect();
    }
    fn rewind(&mut self, substream: u64) {
        self.requests.rewind(substream);
    }
    fn open(&mut self, slot: u32) -> RequestId {
        self.checks[slot as usize] = Asked::default();
        self.requests.open(slot)
    }
    fn next(&mut self, _slot: u32, _reply: &Reply) -> Step {
        Step::End
    }
    fn request(&self, id: RequestId) -> &Rendered {
        self.requests.request(id)
    }
    fn check(&mut self, slot: u32) -> &mut dyn Check {
        &mut self.checks[slot as usize]
    }
}

/// Answers attempts with `busy` where `is_busy` says so of their number, which counts from 1.
fn server(busy: &'static [u8], is_busy: fn(u64) -> bool) -> Server {
    let attempts = Arc::new(AtomicU64::new(0));
    Server::start(move |mut stream: TcpStream| {
        while read_head(&mut stream).is_some() {
            let is_busy = is_busy(attempts.fetch_add(1, Ordering::Relaxed) + 1);
            if is_busy {
                std::thread::sleep(Duration::from_nanos(TAKES.as_nanos()));
            }
            if !send(&mut stream, if is_busy { busy } else { HELLO }) || is_busy && busy == BUSY_AND_CLOSED {
                return;
            }
        }
    })
}

fn window(server: &Server, connections: u32, requests: u64) -> (WindowFigures, Vec<RequestRecord>) {
    let sessions = Asking { requests: Fixed::get(), checks: Vec::new() };
    let dial = Box::new(SocketDial::to(VARIANT, vec![server.address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    generator.attach(VARIANT, settings(connections), Framing::Http1, Box::new(sessions));
    generator.connect(VARIANT).expect("connects");
    let load = Load::Closed(Stop::Count(requests));
    let spec = WindowSpec { substream: 1, load, recording: Recording::Exact };
    let mut samples = Vec::new();
    let report = generator.run(VARIANT, &spec, &mut Tallies::default(), Some(&mut samples), None);
    (report.expect("runs").figures, samples)
}

#[test]
fn every_fifth_attempt_is_made_again_and_its_time_is_in_the_response_but_not_in_the_service() {
    for busy in [BUSY, BUSY_AND_CLOSED] {
        let (figures, samples) = window(&server(busy, |attempt| attempt % 5 == 0), 1, 100);
        assert_eq!((figures.end, figures.requests, figures.errors.total()), (WindowEnd::Complete, 100, 0));
        let [requests, again] = &figures.operations[..] else { panic!("two operations: {figures:?}") };
        // Four good ones come before each that is made again; none comes after the last.
        assert_eq!((requests.ok, again.operation, again.ok), (100, AGAIN, 24));
        assert_eq!(figures.all.map(|all| all.ok), Some(100), "attempts are in no total");
        let took = |sample: &RequestRecord| sample.sent.since(sample.due);
        let made_again: Vec<_> = samples.iter().skip(4).step_by(4).map(took).collect();
        assert_eq!(made_again.len(), 24);
        assert!(made_again.iter().all(|time| *time >= TAKES), "the first attempt is in the response alone");
        let before: Nanoseconds = samples.iter().map(took).sum();
        assert!(again.response_sum >= TAKES * 24 && before >= again.response_sum, "{before} {again:?}");
    }
}

#[test]
fn five_attempts_in_a_row_fail_the_request() {
    let (figures, samples) = window(&server(BUSY, |_| true), 2, 10);
    assert_eq!((figures.requests, figures.errors.status, figures.errors.total()), (10, 10, 10));
    assert_eq!(
        figures.operations.iter().map(|one| (one.operation, one.ok)).collect::<Vec<_>>(),
        [(AGAIN, 40)]
    );
    for sample in samples {
        assert!(sample.done.since(sample.due) >= TAKES * 5, "each attempt is in the response");
    }
}

#[test]
fn any_number_of_connections_makes_each_attempt_once() {
    let (figures, _) = window(&server(BUSY, |attempt| attempt % 7 == 0), 16, 700);
    assert_eq!((figures.requests, figures.errors.total()), (700, 0));
    let again = figures.operations.iter().find(|one| one.operation == AGAIN).expect("attempts");
    // Attempts are numbered in the order in which they came, so how many are busy follows from how many there were.
    assert_eq!(again.ok, (700 + again.ok) / 7);
}
