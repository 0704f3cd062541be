//! The kernel's time stamps: the legs of a request sum up to its service time, each delay is in the right leg, and
//! without stamps the reason is reported.

use crate::secured as tls;
use crate::support;

use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use support::http2::{H2Server, Setup, framing, rendered};
use support::*;
use weighbridge_load::Framing;
use weighbridge_load::dial::{Endpoint, SocketDial};
use weighbridge_load::generator::{Generator, LoopOptions, Progress, WindowSpec};
use weighbridge_load::window::Stop;
use weighbridge_load::{KeepAlive, Settings, Stack, Stamps};
use weighbridge_model::legs::{KernelStamps, Leg, StampFigures};
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{Tallies, WindowFigures};

fn stamped(connections: u32) -> Settings {
    Settings { stamps: Stamps::Kernel, ..settings(connections) }
}

fn taken(figures: &WindowFigures) -> StampFigures {
    match &figures.stamps {
        Some(KernelStamps::Taken(stamps)) => *stamps,
        other => panic!("no stamps: {other:?}"),
    }
}

fn refused(figures: &WindowFigures) -> &str {
    match &figures.stamps {
        Some(KernelStamps::Unavailable(reason)) => reason,
        other => panic!("stamps: {other:?}"),
    }
}

/// Opens connections, sends until the kernel stamps received packets (it begins some time after it was asked), and runs
/// a window of this many requests.
fn window(generator: &mut Generator, requests: u64) -> (WindowFigures, Tallies) {
    generator.connect(VARIANT).expect("connects");
    for _ in 0..100 {
        let figures = run(generator, &closed(Stop::Count(50))).figures;
        if matches!(&figures.stamps, Some(KernelStamps::Taken(stamps)) if stamps.unmatched == 0) {
            break;
        }
    }
    let mut tallies = Tallies::default();
    let spec = closed(Stop::Count(requests));
    let report = generator.run(VARIANT, &spec, &mut tallies, None, None).expect("runs");
    assert_eq!((report.figures.errors.total(), report.trouble), (0, None));
    (report.figures, tallies)
}

/// Every request has its legs, and together they are the sum of service times to the nanosecond.
#[track_caller]
fn assert_whole(figures: &WindowFigures, tallies: &Tallies, requests: u64) {
    let stamps = taken(figures);
    assert_eq!((stamps.requests, stamps.unmatched), (requests, 0), "{stamps:?}");
    let sum: Nanoseconds = stamps.legs.iter().map(|leg| leg.sum).sum();
    assert_eq!(sum, figures.all.expect("good replies").service_sum);
    for leg in Leg::ALL {
        assert_eq!(tallies.legs.get(leg).map(|times| times.len()), Some(requests));
    }
    assert!(stamps.legs.iter().all(|leg| leg.p50 <= leg.p90 && leg.p90 <= leg.p99), "{stamps:?}");
}

#[test]
fn legs_of_plain_requests_are_the_whole_service_time() {
    let server = Server::answering(HELLO);
    for connections in [1, 4] {
        let mut generator = generator(server.address, stamped(connections), Fixed::get());
        let (figures, tallies) = window(&mut generator, 2_000);
        assert_whole(&figures, &tallies, 2_000);
        let outside = taken(&figures).legs[Leg::Outside as usize];
        assert!(taken(&figures).round_trip.is_some_and(|least| least <= outside.sum), "{figures:?}");
    }
}

#[test]
fn large_requests_and_replies_have_legs() {
    let body = vec![b'y'; 1 << 20];
    let reply = [b"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n", &body[..]].concat();
    let server = Server::start(move |mut stream| {
        while read_head(&mut stream).is_some() {
            let mut sent = vec![0; 300_000];
            if std::io::Read::read_exact(&mut stream, &mut sent).is_err() || !send(&mut stream, &reply) {
                return;
            }
        }
    });
    let sessions = Fixed::of(&[("POST", 300_000)]).expecting(200, &body);
    let mut generator = generator(server.address, stamped(2), sessions);
    let (figures, tallies) = window(&mut generator, 50);
    assert_whole(&figures, &tallies, 50);
}

#[test]
fn legs_are_the_same_for_every_protocol() {
    let authority = tls::Authority::new();
    let config = tls::config(&authority.server(), tls::BOTH, &tls::Clients::Anyone);
    let secured = tls::server(config, |stream| tls::answer(stream, HELLO));
    let mut generator =
        Generator::new(Box::new(SocketDial::to(VARIANT, vec![secured.address])), LoopOptions::default())
            .expect("a generator");
    let stack = Stack { framing: Framing::Http1, tls: Some(authority.tls()) };
    generator.attach(VARIANT, stamped(2), stack, Box::new(Fixed::get()));
    let (figures, tallies) = window(&mut generator, 300);
    assert_whole(&figures, &tallies, 300);

    let server = H2Server::start(Setup::default());
    let sessions = Fixed::sending(vec![rendered("GET", "/hello", b"")]);
    let mut generator = generator_of(framing(), server.address, stamped(2), sessions);
    let (figures, tallies) = window(&mut generator, 300);
    assert_whole(&figures, &tallies, 300);
}

#[test]
fn connections_that_are_opened_anew_are_stamped_anew() {
    let server = Server::answering(HELLO);
    let churn = KeepAlive::Every(std::num::NonZeroU32::new(3).expect("three"));
    let mut generator = generator(server.address, Settings { keep_alive: churn, ..stamped(2) }, Fixed::get());
    let (figures, tallies) = window(&mut generator, 300);
    assert_whole(&figures, &tallies, 300);
    assert!(figures.connects >= 98, "{}", figures.connects);
}

#[test]
fn the_time_that_a_server_takes_is_outside() {
    const BUSY: Duration = Duration::from_millis(1);
    let server = Server::start(|mut stream| {
        while read_head(&mut stream).is_some() {
            let since = Instant::now();
            while since.elapsed() < BUSY {
                std::hint::spin_loop();
            }
            if !send(&mut stream, HELLO) {
                return;
            }
        }
    });
    let mut generator = generator(server.address, stamped(1), Fixed::get());
    let (figures, tallies) = window(&mut generator, 200);
    assert_whole(&figures, &tallies, 200);
    let [send, outside, receive] = taken(&figures).legs;
    // Each request's own legs follow from the order of events; histograms keep three digits.
    let least = tallies.legs.get(Leg::Outside).expect("legs").min();
    assert!(least as f64 >= BUSY.as_nanos() as f64 * 0.999, "{least}");
    assert!(send.p50 < outside.p50 && receive.p50 < outside.p50, "{figures:?}");
}

#[test]
fn the_time_that_a_reply_waits_for_a_late_client_is_client_receive() {
    const LATE: Duration = Duration::from_millis(200);
    let answered = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&answered);
    let server = Server::start(move |mut stream| {
        while read_head(&mut stream).is_some() && send(&mut stream, HELLO) {
            counted.fetch_add(1, Ordering::SeqCst);
        }
    });
    let mut generator = generator(server.address, stamped(1), Fixed::get());
    window(&mut generator, 50);
    let before = answered.load(Ordering::SeqCst);
    // Once, the loop pauses while the reply to its only request waits in the socket.
    let mut late = 0;
    let mut pause = |progress: Progress| {
        if late == 0 && progress.outstanding == 1 {
            late = 1;
            while answered.load(Ordering::SeqCst) < before + progress.good + 1 {
                std::thread::yield_now();
            }
            std::thread::sleep(LATE);
        }
    };
    let spec = WindowSpec { ..closed(Stop::Time(millis(400))) };
    let mut tallies = Tallies::default();
    let report = generator.run(VARIANT, &spec, &mut tallies, None, Some(&mut pause)).expect("runs");
    assert_eq!(late, 1, "the loop was paused");
    let longest = Leg::ALL.map(|leg| tallies.legs.get(leg).expect("legs").max());
    let [send, outside, receive] = longest;
    assert!(receive as u128 > LATE.as_nanos() / 2, "{longest:?}");
    assert!(receive > outside && receive > send, "{longest:?}");
    let stamps = taken(&report.figures);
    assert_whole(&report.figures, &tallies, stamps.requests);
}

#[test]
fn without_stamps_the_reason_is_reported() {
    let server = Server::answering(HELLO);
    let mut plain = generator(server.address, settings(1), Fixed::get());
    plain.connect(VARIANT).expect("connects");
    assert_eq!(run(&mut plain, &closed(Stop::Count(10))).figures.stamps, None, "not asked for");

    let several = Settings { in_flight: 8, ..stamped(1) };
    let mut generator = generator(server.address, several, Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let figures = run(&mut generator, &closed(Stop::Count(10))).figures;
    assert!(refused(&figures).contains("8 requests in flight"), "{figures:?}");
    assert_eq!(figures.errors.total(), 0);
}

#[test]
fn unix_sockets_work_without_stamps() {
    let path = std::env::temp_dir().join(format!("weighbridge-stamps-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).expect("binds");
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("accepted");
        let mut request = [0; 4096];
        while std::io::Read::read(&mut stream, &mut request).is_ok_and(|count| count > 0) {
            if std::io::Write::write_all(&mut stream, HELLO).is_err() {
                return;
            }
        }
    });
    let dial = Box::new(SocketDial::to(VARIANT, [Endpoint::Unix(path.clone())]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    generator.attach(VARIANT, stamped(1), Framing::Http1, Box::new(Fixed::get()));
    generator.connect(VARIANT).expect("connects");
    let figures = run(&mut generator, &closed(Stop::Count(100))).figures;
    assert_eq!((figures.errors.total(), refused(&figures)), (0, "only TCP sockets are stamped"));
    std::fs::remove_file(path).expect("removed");
}

#[test]
fn ends_of_connections_are_noticed_with_stamps_on() {
    // One server closes after each reply, and announces it; the other answers nothing.
    let last = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    let once = Server::answering_once(last);
    let mut generator = generator(once.address, stamped(2), Fixed::get());
    let (figures, _) = window(&mut generator, 100);
    assert!(figures.connects >= 98, "{}", figures.connects);

    let mute = Server::start(|mut stream| {
        read_head(&mut stream);
    });
    let mut generator = self::generator(mute.address, stamped(2), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    let figures = run(&mut generator, &closed(Stop::Count(20))).figures;
    assert_eq!((figures.errors.reset, figures.errors.total()), (20, 20));
    assert_eq!(
        taken(&figures),
        StampFigures { legs: Default::default(), requests: 0, unmatched: 0, ..taken(&figures) }
    );
}
