//! The loop against servers that refuse, misbehave, stall and flood: every request is counted, memory and time are
//! bounded, and the window ends.

use crate::support;

use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::{
    Fixed, HELLO, Server, VARIANT, closed, generator, millis, read_head, run, send, settings, wait_for_close,
};
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{ConnectError, LoopOptions, WindowSpec};
use weighbridge_load::pace::Flow;
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Stop};
use weighbridge_load::{Framing, Generator, Recording, Settings};
use weighbridge_model::experiment::Arrivals;
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::{ErrorKind, Outcome, Tallies, WindowEnd, WindowFigures};

/// An address where nothing listens.
fn unused_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port")
}

/// Settings with which a window without progress is soon aborted.
fn impatient(connections: u32) -> Settings {
    Settings { patience: millis(300), ..settings(connections) }
}

/// Settings with which requests also time out soon, for tests of timeouts only: in other tests a busy host must not
/// cause timeouts.
fn hasty(connections: u32) -> Settings {
    Settings { timeout: millis(100), ..impatient(connections) }
}

/// All requests ended as `kind`.
#[track_caller]
fn assert_all(figures: &WindowFigures, kind: ErrorKind) {
    assert_eq!(figures.errors.get(kind), figures.requests, "{:?}", figures.errors);
    assert_eq!(figures.errors.total(), figures.requests, "{:?}", figures.errors);
}

/// A closed window of `count` requests against `serve`.
fn figures(
    count: u64,
    settings: Settings,
    serve: impl Fn(TcpStream) + Send + Sync + 'static,
) -> WindowFigures {
    let server = Server::start(serve);
    let mut generator = generator(server.address, settings, Fixed::get());
    let report = run(&mut generator, &closed(Stop::Count(count)));
    assert_eq!(report.trouble, None);
    assert_eq!((report.figures.end, report.figures.requests), (WindowEnd::Complete, count));
    report.figures
}

#[test]
fn connecting_to_a_closed_port_names_the_address_and_the_reason() {
    let address = unused_address();
    let mut generator = generator(address, impatient(4), Fixed::get());
    let error = generator.connect(VARIANT).expect_err("refused");
    let text = error.to_string();
    assert!(text.contains(&format!("`{address}`")) && text.contains("refused"), "{text}");
    assert!(matches!(error, ConnectError::Failed { wanted: 4, open: 0, .. }));
}

#[test]
fn a_refused_connect_is_one_failed_request() {
    let mut generator = generator(unused_address(), impatient(4), Fixed::get());
    let mut tallies = Tallies::default();
    let report = generator.run(VARIANT, &closed(Stop::Count(40)), &mut tallies, None, None).expect("runs");
    assert_eq!((report.figures.end, report.figures.requests), (WindowEnd::Complete, 40));
    assert_all(&report.figures, ErrorKind::Connect);
    assert_eq!(report.figures.connects, 0);
    let tally = tallies.get(OperationId(0), Outcome::Error(ErrorKind::Connect)).expect("tallied");
    assert_eq!(tally.service.len(), 40);
    assert_eq!(tallies.lag.len(), 0, "nothing was sent");
}

#[test]
fn a_large_window_against_a_closed_port_is_aborted_with_the_reason() {
    let address = unused_address();
    let mut generator = generator(address, impatient(4), Fixed::get());
    let report = run(&mut generator, &closed(Stop::Count(10_000_000)));
    assert_eq!(report.figures.end, WindowEnd::Aborted);
    assert!(report.figures.requests < 100_000, "retries are bounded: {}", report.figures.requests);
    assert_all(&report.figures, ErrorKind::Connect);
    let trouble = report.trouble.expect("a reason").to_string();
    assert!(trouble.contains(&format!("`{address}`")) && trouble.contains("refused"), "{trouble}");
}

#[test]
fn a_load_by_time_against_a_closed_port_ends_on_time() {
    let mut generator = generator(unused_address(), impatient(2), Fixed::get());
    let report = run(&mut generator, &closed(Stop::Time(millis(400))));
    assert_eq!((report.figures.end, report.trouble), (WindowEnd::Complete, None));
    assert_all(&report.figures, ErrorKind::Connect);
}

#[test]
fn open_load_against_a_closed_port_fails_request_by_request() {
    let mut generator = generator(unused_address(), impatient(4), Fixed::get());
    let load = Load::Open {
        flow: Flow::steady(PerSecond::new(200.0).expect("a rate"), Arrivals::Constant),
        queue: QUEUE,
        end: OpenEnd::Drain { stop: Stop::Count(60), limit: Nanoseconds::from_secs(60) },
    };
    let report = run(&mut generator, &WindowSpec { substream: 1, load, recording: Recording::Exact });
    assert_eq!((report.figures.offered, report.figures.requests), (60, 60));
    assert_all(&report.figures, ErrorKind::Connect);
}

#[test]
fn a_connection_lost_before_the_reply_is_a_reset() {
    let unread = figures(30, settings(2), |stream| {
        // Closing with the request unread makes the kernel send a reset.
        std::thread::sleep(Duration::from_millis(5));
        drop(stream);
    });
    assert_all(&unread, ErrorKind::Reset);
    let read = figures(30, settings(2), |mut stream| drop(read_head(&mut stream)));
    assert_all(&read, ErrorKind::Reset);
    let half = figures(30, settings(2), |mut stream| {
        if read_head(&mut stream).is_some() {
            send(&mut stream, &HELLO[..HELLO.len() - 2]);
        }
    });
    assert_all(&half, ErrorKind::Reset);
}

#[test]
fn a_server_that_never_answers_times_out() {
    let server = Server::start(|mut stream| wait_for_close(&mut stream));
    let mut generator = generator(server.address, hasty(2), Fixed::get());
    let mut samples = Vec::new();
    let figures = generator
        .run(VARIANT, &closed(Stop::Count(4)), &mut Tallies::default(), Some(&mut samples), None)
        .expect("runs")
        .figures;
    assert_all(&figures, ErrorKind::Timeout);
    assert!(samples.iter().all(|sample| sample.done.since(sample.sent) >= millis(100)));
    support::eventually(|| server.accepted.load(Ordering::SeqCst) == 4);
}

#[test]
fn a_window_that_only_times_out_is_aborted() {
    let server = Server::start(|mut stream| wait_for_close(&mut stream));
    let mut generator = generator(server.address, hasty(2), Fixed::get());
    let report = run(&mut generator, &closed(Stop::Count(1_000_000)));
    assert_eq!(report.figures.end, WindowEnd::Aborted);
    assert_eq!(report.trouble.expect("a reason").last, ErrorKind::Timeout);
}

#[test]
fn half_a_body_and_then_nothing_times_out() {
    let figures = figures(4, hasty(2), |mut stream| {
        if read_head(&mut stream).is_some() {
            send(&mut stream, &HELLO[..HELLO.len() - 2]);
            wait_for_close(&mut stream);
        }
    });
    assert_all(&figures, ErrorKind::Timeout);
}

#[test]
fn an_endless_head_is_a_protocol_error() {
    let figures = figures(6, settings(2), |mut stream| {
        if read_head(&mut stream).is_some() && send(&mut stream, b"HTTP/1.1 200 OK\r\n") {
            let line = "X: 0123456789abcdef\r\n".repeat(50);
            while stream.write_all(line.as_bytes()).is_ok() {}
        }
    });
    assert_all(&figures, ErrorKind::Protocol);
}

#[test]
fn an_endless_body_is_ended_by_the_timeout() {
    let figures = figures(4, hasty(2), |mut stream| {
        if read_head(&mut stream).is_some() && send(&mut stream, b"HTTP/1.1 200 OK\r\n\r\n") {
            let flood = vec![b'x'; 1 << 20];
            while stream.write_all(&flood).is_ok() {}
        }
    });
    assert_all(&figures, ErrorKind::Timeout);
}

#[test]
fn another_protocol_is_named_as_such() {
    let figures = figures(10, settings(2), |mut stream| {
        send(&mut stream, b"SSH-2.0-OpenSSH_9.2p1\r\n");
        wait_for_close(&mut stream);
    });
    assert_eq!(figures.errors.protocol, figures.requests, "{:?}", figures.errors);
}

#[test]
fn bytes_after_a_reply_are_charged_to_the_next_request() {
    let mut with_extra = HELLO.to_vec();
    with_extra.extend(b"extra");
    let figures =
        figures(
            10,
            settings(2),
            move |mut stream| {
                while read_head(&mut stream).is_some() && send(&mut stream, &with_extra) {}
            },
        );
    let ok = figures.all.map_or(0, |all| all.ok);
    // A good reply, then a protocol error, on each of two connections; the window may end between the two.
    assert_eq!(ok + figures.errors.protocol, 10);
    assert!((5..=6).contains(&ok), "{ok} good replies");
}

#[test]
fn a_slow_window_can_be_stopped() {
    let server = Server::start(|mut stream| wait_for_close(&mut stream));
    let stop = Arc::new(AtomicBool::new(false));
    let options = LoopOptions { stop: Arc::clone(&stop), ..LoopOptions::default() };
    let dial = Box::new(SocketDial::to(VARIANT, vec![server.address]));
    let mut generator = Generator::new(dial, options).expect("a generator");
    generator.attach(VARIANT, settings(2), Framing::Http1, Box::new(Fixed::get()));
    generator.connect(VARIANT).expect("connects");
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::SeqCst);
    });
    let report = run(&mut generator, &closed(Stop::Count(100)));
    stopper.join().expect("stopped");
    assert_eq!((report.figures.end, report.figures.requests), (WindowEnd::Aborted, 2));
    // What was in flight is accounted for, and told apart from what the server did.
    assert_eq!((report.figures.errors.reset, report.figures.errors.total()), (2, 2));
    assert_eq!((report.given_up, report.trouble), (2, None));
}

#[test]
fn a_window_that_cannot_drain_is_saturated_at_its_cap() {
    let server = Server::start(|mut stream| wait_for_close(&mut stream));
    let mut generator = generator(
        server.address,
        Settings { patience: Nanoseconds::from_secs(60), ..settings(2) },
        Fixed::get(),
    );
    let load = Load::Open {
        flow: Flow::steady(PerSecond::new(1_000.0).expect("a rate"), Arrivals::Constant),
        queue: 100,
        end: OpenEnd::BusyCycles(millis(20)),
    };
    let report = run(&mut generator, &WindowSpec { substream: 1, load, recording: Recording::Exact });
    let figures = report.figures;
    assert_eq!((figures.end, figures.begun()), (WindowEnd::Saturated, 2));
    assert_eq!(figures.errors.timeout, 2, "what was outstanding counts as a lower bound");
    assert_eq!(figures.offered, figures.requests);
}

#[test]
fn a_server_that_comes_back_is_found_again() {
    // The first three connections are closed without an answer.
    let closed_so_far = std::sync::atomic::AtomicU64::new(0);
    let server = Server::start(move |mut stream| {
        let refuse = closed_so_far.fetch_add(1, Ordering::SeqCst) < 3;
        while read_head(&mut stream).is_some() && !refuse && send(&mut stream, HELLO) {}
    });
    let mut generator = generator(server.address, settings(1), Fixed::get());
    let figures = run(&mut generator, &closed(Stop::Count(50))).figures;
    assert_eq!((figures.errors.reset, figures.errors.total()), (3, 3));
    assert_eq!(figures.all.map(|all| all.ok), Some(47));
}

#[test]
fn a_server_that_accepts_only_to_close_fails_request_by_request() {
    // Some of these ends are seen before a request could be written, some after: all count the same.
    assert_all(&figures(40, settings(2), drop), ErrorKind::Reset);
    let server = Server::start(drop);
    let mut generator = generator(server.address, impatient(2), Fixed::get());
    let report = run(&mut generator, &closed(Stop::Count(1_000_000)));
    assert_eq!(report.figures.end, WindowEnd::Aborted);
    assert_eq!(report.trouble.map(|trouble| trouble.last), Some(ErrorKind::Reset));
}
