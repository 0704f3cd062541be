//! The loop against small well-behaved servers.

use crate::support;

use std::net::{Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use support::{Fixed, HELLO, Server, VARIANT, closed, generator, millis, read_head, run, send, settings};
use weighbridge_load::Framing;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::generator::{LoopOptions, WindowSpec};
use weighbridge_load::pace::Flow;
use weighbridge_load::window::{Load, OpenEnd, QUEUE, Stop};
use weighbridge_load::{Generator, KeepAlive, Recording, Settings};
use weighbridge_model::experiment::Arrivals;
use weighbridge_model::id::{OperationId, VariantId};
use weighbridge_model::quantity::{Nanoseconds, PerSecond};
use weighbridge_model::record::{ErrorCounts, ErrorKind, Outcome, RequestRecord, Tallies, WindowEnd};

fn open(rate: f64, arrivals: Arrivals, end: OpenEnd) -> WindowSpec {
    let rate = PerSecond::new(rate).expect("a rate");
    WindowSpec {
        substream: 3,
        load: Load::Open { flow: Flow::steady(rate, arrivals), queue: QUEUE, end },
        recording: Recording::Exact,
    }
}

fn drain(stop: Stop) -> OpenEnd {
    OpenEnd::Drain { stop, limit: Nanoseconds::from_secs(10) }
}

#[test]
fn a_closed_window_issues_exactly_its_count_and_every_byte_is_accounted_for() {
    let server = Server::answering(HELLO);
    let sessions = Fixed::get();
    let request_length = sessions.request_length();
    let mut generator = generator(server.address, settings(4), sessions);
    let report = generator.connect(VARIANT).expect("connects");
    assert_eq!(report.opened, 4);
    let (mut tallies, mut samples) = (Tallies::default(), Vec::new());
    let window = closed(Stop::Count(1_000));
    let report = generator.run(VARIANT, &window, &mut tallies, Some(&mut samples), None).expect("runs");
    let figures = report.figures;
    assert_eq!((figures.end, figures.requests, figures.offered), (WindowEnd::Complete, 1_000, 1_000));
    assert_eq!((figures.errors, figures.connects, figures.not_sent), (ErrorCounts::default(), 0, 0));
    assert_eq!(figures.traffic.sent.get(), 1_000 * request_length);
    assert_eq!(figures.traffic.received.get(), 1_000 * HELLO.len() as u64);
    assert_eq!(samples.len(), 1_000);
    for RequestRecord { due, sent, done, outcome, .. } in &samples {
        assert!(due <= sent && sent < done && *outcome == Outcome::Ok);
    }
    let first = samples.iter().map(|sample| sample.sent).min();
    let last = samples.iter().map(|sample| sample.done).max();
    assert_eq!((Some(figures.started), Some(figures.ended)), (first, last));
    let (response, service) = tallies.ok();
    assert_eq!((response.len(), service.len(), tallies.lag.len()), (1_000, 1_000, 1_000));
    let all = figures.all.expect("good replies");
    let mut times: Vec<_> = samples.iter().map(|sample| sample.done.since(sample.due)).collect();
    times.sort_unstable();
    assert_eq!((all.response_p50, all.response_p90, all.response_max), (times[499], times[899], times[999]));
    assert_eq!(all.response_sum, times.into_iter().sum());
    assert!(figures.health.wall > Nanoseconds::ZERO && figures.health.busy <= figures.health.wall);
}

#[test]
fn in_closed_load_a_request_is_due_when_its_connection_became_free() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(1), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let mut samples = Vec::new();
    let window = closed(Stop::Count(100));
    generator.run(VARIANT, &window, &mut Tallies::default(), Some(&mut samples), None).expect("runs");
    for two in samples.windows(2) {
        assert_eq!(two[1].due, two[0].done);
    }
}

#[test]
fn sessions_run_through_their_operations_in_order() {
    let server = Server::answering(HELLO);
    let sessions = Fixed::of(&[("GET", 0), ("OPTIONS", 0), ("TRACE", 0)]);
    let mut generator = generator(server.address, settings(1), sessions);
    let mut samples = Vec::new();
    let window = closed(Stop::Count(7));
    let report =
        generator.run(VARIANT, &window, &mut Tallies::default(), Some(&mut samples), None).expect("runs");
    let operations: Vec<u16> = samples.iter().map(|sample| sample.operation.0).collect();
    assert_eq!(operations, [0, 1, 2, 0, 1, 2, 0], "a new window opens a new session");
    let counts: Vec<_> = report.figures.operations.iter().map(|o| (o.operation.0, o.ok)).collect();
    assert_eq!(counts, [(0, 3), (1, 2), (2, 2)]);
    assert_eq!(report.figures.all.map(|all| all.ok), Some(7));
}

#[test]
fn bad_statuses_and_bad_bodies_have_their_own_error_kinds() {
    let refusing = Server::answering(b"HTTP/1.1 503 No\r\nContent-Length: 5\r\n\r\nhello");
    let wrong = Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellO");
    for (server, kind) in [(refusing, ErrorKind::Status), (wrong, ErrorKind::Check)] {
        let mut generator = generator(server.address, settings(2), Fixed::get());
        let mut tallies = Tallies::default();
        let report =
            generator.run(VARIANT, &closed(Stop::Count(20)), &mut tallies, None, None).expect("runs");
        assert_eq!(report.figures.errors.get(kind), 20);
        assert_eq!((report.figures.errors.total(), report.figures.all), (20, None));
        let tally = tallies.get(OperationId(0), Outcome::Error(kind)).expect("tallied");
        assert_eq!(tally.response.len(), 20);
    }
}

#[test]
fn every_shape_of_a_good_reply_is_good() {
    let chunked =
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\nT: 1\r\n\r\n";
    let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    for (reply, sessions) in [
        (chunked.as_slice(), Fixed::get()),
        (interim.as_slice(), Fixed::get()),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", Fixed::of(&[("HEAD", 0)]).expecting(200, b"")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", Fixed::get().expecting(204, b"")),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", Fixed::get().expecting(304, b"")),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", Fixed::get()),
    ] {
        let server = Server::answering(reply);
        let mut generator = generator(server.address, settings(2), sessions);
        let figures = run(&mut generator, &closed(Stop::Count(40))).figures;
        assert_eq!(figures.all.map(|all| all.ok), Some(40), "{:?}", String::from_utf8_lossy(reply));
        assert_eq!(server.accepted.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn a_server_that_closes_after_each_reply_needs_a_connection_per_request() {
    for reply in [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello".as_slice(),
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    ] {
        let server = Server::answering_once(reply);
        let mut generator = generator(server.address, settings(2), Fixed::get());
        let figures = run(&mut generator, &closed(Stop::Count(50))).figures;
        assert_eq!((figures.all.map(|all| all.ok), figures.errors.total()), (Some(50), 0));
        assert!((50..=52).contains(&figures.connects), "{} connects", figures.connects);
    }
}

#[test]
fn without_keep_alive_every_request_has_its_own_connection() {
    let server = Server::answering(HELLO);
    let settings = Settings { keep_alive: KeepAlive::ONE_PER_REQUEST, ..settings(2) };
    let mut generator = generator(server.address, settings, Fixed::get());
    let figures = run(&mut generator, &closed(Stop::Count(50))).figures;
    assert_eq!((figures.all.map(|all| all.ok), figures.errors.total()), (Some(50), 0));
    assert!((50..=52).contains(&figures.connects), "{} connects", figures.connects);
    assert_eq!(figures.traffic.received.get(), 50 * HELLO.len() as u64);
}

#[test]
fn pipelined_requests_are_all_answered() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, Settings { in_flight: 8, ..settings(2) }, Fixed::get());
    let figures = run(&mut generator, &closed(Stop::Count(1_000))).figures;
    assert_eq!((figures.all.map(|all| all.ok), figures.errors.total()), (Some(1_000), 0));
}

#[test]
fn large_bodies_go_through_a_socket_that_blocks() {
    const BODY: usize = 8 << 20;
    let server = Server::start(|mut stream| {
        while read_head(&mut stream).is_some() {
            let mut left = BODY;
            let mut buffer = vec![0; 1 << 16];
            while left > 0 {
                let most = left.min(buffer.len());
                match std::io::Read::read(&mut stream, &mut buffer[..most]) {
                    Ok(count) if count > 0 => left -= count,
                    _ => return,
                }
            }
            send(&mut stream, HELLO);
        }
    });
    let mut generator = generator(server.address, settings(2), Fixed::of(&[("POST", BODY)]));
    let figures = run(&mut generator, &closed(Stop::Count(6))).figures;
    assert_eq!((figures.all.map(|all| all.ok), figures.errors.total()), (Some(6), 0));
}

#[test]
fn connections_closed_while_idle_fail_no_request() {
    let served = Arc::new(Mutex::new(Vec::new()));
    let accepted = Arc::clone(&served);
    let server = Server::start(move |mut stream| {
        accepted.lock().expect("no panic").push(stream.try_clone().expect("a descriptor"));
        while read_head(&mut stream).is_some() && send(&mut stream, HELLO) {}
    });
    let close_all = || {
        // The kernel may have connected a client whose thread has not begun.
        while served.lock().expect("no panic").len() < 3 {
            std::thread::yield_now();
        }
        for stream in served.lock().expect("no panic").drain(..) {
            stream.shutdown(Shutdown::Both).expect("it was open");
        }
    };
    let mut generator = generator(server.address, settings(3), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    for _ in 0..2 {
        let figures = run(&mut generator, &closed(Stop::Count(3))).figures;
        assert_eq!((figures.all.map(|all| all.ok), figures.errors.total()), (Some(3), 0));
        close_all();
    }
    assert_eq!(generator.connect(VARIANT).expect("connects").opened, 3);
}

#[test]
fn ipv6_works_where_the_host_has_it() {
    let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        use std::io::Write;
        writeln!(std::io::stderr(), "SKIPPED: this host has no ::1").expect("stderr");
        return;
    };
    let server = Server::on(
        listener,
        |mut stream| while read_head(&mut stream).is_some() && send(&mut stream, HELLO) {},
    );
    let mut generator = generator(server.address, settings(2), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    assert_eq!(run(&mut generator, &closed(Stop::Count(10))).figures.all.map(|all| all.ok), Some(10));
}

#[test]
fn the_next_address_is_tried_when_one_refuses() {
    let server = Server::answering(HELLO);
    let gone = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let dial = Box::new(SocketDial::to(VARIANT, vec![gone, server.address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    generator.attach(VARIANT, settings(4), Framing::Http1, Box::new(Fixed::get()));
    assert_eq!(generator.connect(VARIANT).expect("connects").opened, 4);
    assert_eq!(run(&mut generator, &closed(Stop::Count(10))).figures.errors.total(), 0);
}

#[test]
fn variants_share_one_loop_and_do_not_disturb_each_other() {
    let servers = [Server::answering(HELLO), Server::answering(HELLO)];
    let mut dial = SocketDial::new();
    for (at, server) in servers.iter().enumerate() {
        dial.set(VariantId(at as u16), vec![server.address]);
    }
    let mut generator = Generator::new(Box::new(dial), LoopOptions::default()).expect("a generator");
    for at in 0..2 {
        generator.attach(VariantId(at), settings(2), Framing::Http1, Box::new(Fixed::get()));
        generator.connect(VariantId(at)).expect("connects");
    }
    for round in 0..20 {
        let variant = VariantId(round % 2);
        let figures = generator
            .run(variant, &closed(Stop::Count(50)), &mut Tallies::default(), None, None)
            .expect("runs")
            .figures;
        assert_eq!((figures.all.map(|all| all.ok), figures.connects), (Some(50), 0));
    }
    generator.detach(VariantId(0));
    assert!(
        generator.run(VariantId(0), &closed(Stop::Count(1)), &mut Tallies::default(), None, None).is_err()
    );
    assert!(generator.connect(VariantId(7)).is_err());
    for server in &servers {
        assert_eq!(server.accepted.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn a_closed_window_by_time_issues_for_that_time() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(2), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let mut samples = Vec::new();
    let window = closed(Stop::Time(millis(100)));
    let report =
        generator.run(VARIANT, &window, &mut Tallies::default(), Some(&mut samples), None).expect("runs");
    let figures = report.figures;
    assert_eq!((figures.end, figures.errors.total()), (WindowEnd::Complete, 0));
    assert_eq!(figures.requests, samples.len() as u64);
    let first = samples.iter().map(|sample| sample.due).min().expect("some");
    assert!(samples.iter().all(|sample| sample.due.since(first) < millis(100)));
    assert!(figures.ended.since(first) >= millis(90), "issued to the end");
}

#[test]
fn open_load_sends_nothing_before_it_is_due_and_loses_nothing() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let (mut samples, mut tallies) = (Vec::new(), Tallies::default());
        let spec = open(2_000.0, arrivals, drain(Stop::Count(400)));
        let figures =
            generator.run(VARIANT, &spec, &mut tallies, Some(&mut samples), None).expect("runs").figures;
        assert_eq!((figures.end, figures.offered, figures.requests), (WindowEnd::Complete, 400, 400));
        assert_eq!((figures.not_sent, figures.errors.total()), (0, 0));
        samples.sort_by_key(|sample| sample.due);
        assert!(samples.iter().all(|sample| sample.due <= sample.sent));
        if arrivals == Arrivals::Constant {
            let gaps = samples.windows(2).map(|two| two[1].due.since(two[0].due).as_nanos());
            assert!(gaps.into_iter().all(|gap| gap == 500_000), "every 500 µs");
        }
        assert_eq!(tallies.lag.len(), 400);
    }
}

#[test]
fn open_load_replays_its_schedule_from_the_substream() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let mut gaps = || {
        let mut samples = Vec::new();
        let spec = open(5_000.0, Arrivals::Poisson, drain(Stop::Count(200)));
        generator.run(VARIANT, &spec, &mut Tallies::default(), Some(&mut samples), None).expect("runs");
        samples.sort_by_key(|sample| sample.due);
        samples.windows(2).map(|two| two[1].due.since(two[0].due).as_nanos()).collect::<Vec<_>>()
    };
    let close = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 1;
    assert!(gaps().iter().zip(&gaps()).all(close), "the same gaps, to rounding");
}

#[test]
fn a_window_of_busy_cycles_ends_empty_after_its_nominal_length() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    for _ in 0..5 {
        let start = Generator::clock();
        let spec = open(3_000.0, Arrivals::Poisson, OpenEnd::BusyCycles(millis(20)));
        let figures = run(&mut generator, &spec).figures;
        let took = Generator::clock().since(start);
        assert_eq!(figures.end, WindowEnd::Complete);
        assert_eq!((figures.offered, figures.not_sent), (figures.requests, 0));
        assert_eq!(figures.all.map_or(0, |all| all.ok), figures.requests);
        assert!(took >= millis(20));
    }
}

#[test]
fn a_stall_of_a_second_shows_in_response_times_not_in_service_times() {
    // One server thread per connection, all stopped for a second at the same moment, like a pause of the process.
    let start = std::time::Instant::now();
    let server = Server::start(move |mut stream: TcpStream| {
        while read_head(&mut stream).is_some() {
            let now = start.elapsed();
            let stall = Duration::from_millis(500)..Duration::from_millis(1_500);
            if stall.contains(&now) {
                std::thread::sleep(stall.end - now);
            }
            if !send(&mut stream, HELLO) {
                return;
            }
        }
    });
    let mut generator = generator(server.address, settings(4), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let spec = open(1_000.0, Arrivals::Constant, drain(Stop::Time(millis(4_000))));
    let mut tallies = Tallies::default();
    let figures = generator.run(VARIANT, &spec, &mut tallies, None, None).expect("runs").figures;
    assert_eq!((figures.end, figures.offered, figures.requests), (WindowEnd::Complete, 4_000, 4_000));
    let (response, service) = tallies.ok();
    // About a thousand requests were due during the stall, evenly over it.
    let slow = response.len() - response.count_between(0, 99_999_999);
    assert!(slow >= 850, "{slow} responses above 100 ms");
    assert!(response.value_at_quantile(0.99) > 500_000_000);
    assert!(service.value_at_quantile(0.5) < 50_000_000, "the median request itself was quick");
    let lag_p99 = figures.health.lag_p99;
    assert!(lag_p99 < millis(100), "waiting for a slot is the server's doing, not lag: {lag_p99}");
}

#[test]
fn batches_and_kept_entries_agree_on_counts() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(4), Fixed::get());
    let spec = WindowSpec { recording: Recording::Batched, ..closed(Stop::Count(3_000)) };
    let mut tallies = Tallies::default();
    let mut reports = 0;
    let mut progress = |progress: weighbridge_load::generator::Progress| {
        assert!(progress.good <= 3_000 && progress.errors.total() == 0);
        reports += 1;
    };
    let report = generator.run(VARIANT, &spec, &mut tallies, None, Some(&mut progress)).expect("runs");
    assert_eq!(report.figures.all.map(|all| all.ok), Some(3_000));
    assert_eq!(tallies.ok().0.len(), 3_000);
}

#[test]
fn progress_is_reported_while_a_load_runs() {
    let server = Server::answering(HELLO);
    let mut generator = generator(server.address, settings(2), Fixed::get());
    let mut seen = Vec::new();
    let window = closed(Stop::Time(millis(500)));
    generator
        .run(VARIANT, &window, &mut Tallies::default(), None, Some(&mut |progress| seen.push(progress)))
        .expect("runs");
    assert!(!seen.is_empty());
    assert!(seen.windows(2).all(|two| two[0].elapsed < two[1].elapsed && two[0].good <= two[1].good));
    assert!(seen.iter().all(|progress| progress.connections == 2));
}
