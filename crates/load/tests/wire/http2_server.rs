//! The generator over HTTP/2 against a server of the `h2` crate: what is sent is what arrives, in both directions.

use crate::support;

use std::sync::atomic::Ordering;

use support::http2::{H2Server, Setup, framing, rendered};
use support::{Fixed, closed, generator_of, millis, run, settings};
use weighbridge_load::Framing;
use weighbridge_load::exchange::{Collected, ExchangeError, Limits, exchange};
use weighbridge_load::h2::Http2Settings;
use weighbridge_load::request::{Call, Rendered, Sending};
use weighbridge_load::window::Stop;
use weighbridge_load::{KeepAlive, Settings};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{ErrorKind, Outcome, Tallies, WindowEnd, WindowFigures};

/// One connection with this many streams at a time.
fn streams(in_flight: u32) -> Settings {
    Settings { in_flight, ..settings(1) }
}

/// A closed window of `count` requests.
fn figures(setup: Setup, settings: Settings, count: u64, sessions: Fixed) -> WindowFigures {
    let server = H2Server::start(setup);
    let mut generator = generator_of(framing(), server.address, settings, sessions);
    let report = run(&mut generator, &closed(Stop::Count(count)));
    assert_eq!(report.trouble, None);
    assert_eq!((report.figures.end, report.figures.requests), (WindowEnd::Complete, count));
    report.figures
}

#[track_caller]
fn assert_good(figures: &WindowFigures) {
    assert_eq!(figures.errors.total(), 0, "{:?}", figures.errors);
    assert_eq!(figures.all.map(|all| all.ok), Some(figures.requests));
}

fn to(target: &str) -> Fixed {
    Fixed::sending(vec![rendered("GET", target, b"")])
}

#[test]
fn thousands_of_requests_on_32_streams_are_all_answered() {
    let figures = figures(Setup::default(), streams(32), 20_000, to("/hello"));
    assert_good(&figures);
    assert_eq!(figures.connects, 1);
}

#[test]
fn several_connections_and_a_connection_for_each_request() {
    let many = Settings { in_flight: 8, ..settings(16) };
    assert_good(&figures(Setup::default(), many, 5_000, to("/hello")));
    let each = Settings { keep_alive: KeepAlive::ONE_PER_REQUEST, ..settings(2) };
    let figures = figures(Setup::default(), each, 20, to("/hello"));
    assert_good(&figures);
    assert!(figures.connects >= 20, "{}", figures.connects);
}

#[test]
fn no_more_streams_are_opened_than_the_server_allows() {
    // The `h2` crate refuses further streams; the first requests are sent before it has said so.
    let server = H2Server::start(Setup { streams: 3, ..Setup::default() });
    let mut generator = generator_of(framing(), server.address, streams(32), to("/hello"));
    let warm = run(&mut generator, &closed(Stop::Count(200))).figures;
    assert!(warm.errors.total() <= 32 && warm.errors.total() == warm.errors.reset, "{:?}", warm.errors);
    let figures = run(&mut generator, &closed(Stop::Count(3_000))).figures;
    assert_good(&figures);
    assert_eq!(server.accepted.load(Ordering::SeqCst), 1);
}

#[test]
fn bodies_larger_than_any_window_pass_both_ways() {
    // 3 MiB against the server's 64 KiB, and against our 1 MiB a stream on the way back.
    let body: Vec<u8> = (0..3u32 << 20).map(|at| (at * 7 + at / 251) as u8).collect();
    let sessions = Fixed::sending(vec![rendered("POST", "/echo", &body)]).expecting(200, &body);
    assert_good(&figures(Setup::default(), streams(4), 24, sessions));
    // 20 MiB in one reply against 16 MiB of the connection.
    let big = to("/big/20971520").expecting(200, &vec![b'b'; 20 << 20]);
    assert_good(&figures(Setup::default(), streams(2), 4, big));
}

#[test]
fn our_small_windows_are_restored_in_time() {
    let framing =
        Framing::Http2(Http2Settings { stream_window: 1000, connection_window: 0, ..Default::default() });
    let server = H2Server::start(Setup::default());
    let sessions = to("/big/300000").expecting(200, &vec![b'b'; 300_000]);
    let mut generator = generator_of(framing, server.address, streams(8), sessions);
    assert_good(&run(&mut generator, &closed(Stop::Count(32))).figures);
}

#[test]
fn tiny_windows_of_the_server_only_slow_a_request_down() {
    // The first eight requests, sent before the server's settings come, must fit the default window: with a smaller
    // one, the `h2` crate never restores a window that is half used.
    let body = vec![b'x'; 8_000];
    let sessions = Fixed::sending(vec![rendered("POST", "/echo", &body)]).expecting(200, &body);
    assert_good(&figures(Setup { window: 100, ..Setup::default() }, streams(8), 32, sessions));
}

#[test]
fn a_server_without_a_dynamic_table_is_respected() {
    assert_good(&figures(Setup { table: Some(0), ..Setup::default() }, streams(4), 1_000, to("/hello")));
}

#[test]
fn interim_heads_long_heads_and_trailers_are_read() {
    assert_good(&figures(Setup::default(), streams(4), 200, to("/interim")));
    assert_good(&figures(Setup::default(), streams(4), 200, to("/long-head/60000")));
    assert_good(&figures(
        Setup::default(),
        streams(4),
        200,
        to("/trailers").streaming(0, ("grpc-status", "0")),
    ));
}

#[test]
fn a_head_request_has_no_body() {
    let sessions = Fixed::sending(vec![rendered("HEAD", "/echo", b"")]).expecting(200, b"");
    assert_good(&figures(Setup::default(), streams(4), 100, sessions));
}

#[test]
fn goaway_in_the_middle_loses_nothing_that_the_server_took() {
    let setup = Setup { goaway_after: Some(100), ..Setup::default() };
    let figures = figures(setup, streams(16), 2_000, to("/hello"));
    // Streams above the last one it accepted are sent again, and each connection serves its hundred.
    assert_good(&figures);
    assert!(figures.connects >= 10, "{}", figures.connects);
    assert!(figures.resent <= figures.connects * 16, "{figures:?}");
}

#[test]
fn a_refused_stream_is_a_reset_and_the_connection_goes_on() {
    let refused = figures(Setup::default(), streams(8), 200, to("/refuse"));
    assert_eq!((refused.errors.reset, refused.errors.total()), (200, 200));
    assert_eq!(refused.connects, 1);
}

#[test]
fn a_reply_before_the_request_is_whole_is_a_reply() {
    let body = vec![b'x'; 200_000];
    let sessions = Fixed::sending(vec![rendered("POST", "/early", &body)]);
    let figures = figures(Setup::default(), streams(4), 100, sessions);
    assert_good(&figures);
    assert_eq!(figures.connects, 1);
}

#[test]
fn a_request_that_is_not_answered_times_out_alone() {
    let hasty = Settings { timeout: millis(100), ..streams(2) };
    let server = H2Server::start(Setup::default());
    let mut generator = generator_of(framing(), server.address, hasty, to("/silent"));
    let figures = run(&mut generator, &closed(Stop::Count(6))).figures;
    assert_eq!((figures.errors.timeout, figures.errors.total()), (6, 6));
    // The connection goes on.
    support::eventually(|| server.accepted.load(Ordering::SeqCst) == 1);
}

/// A call of `messages` messages of `length` bytes each.
fn call(path: &str, messages: usize, length: usize, sending: Sending) -> Rendered {
    let messages: Vec<Vec<u8>> = (0..messages).map(|at| vec![b'a' + at as u8; length]).collect();
    let call = Call {
        path,
        authority: "localhost",
        messages: &messages,
        sending,
        message_operation: Some(OperationId(1)),
        ..Call::default()
    };
    framing().render_call(&call).expect("renders")
}

/// The reply to such a call: each message `copies` times.
fn copied(messages: usize, length: usize, copies: usize) -> Vec<u8> {
    (0..messages).flat_map(|at| vec![b'a' + at as u8; length * copies]).collect()
}

#[test]
fn calls_of_every_kind_are_answered_and_their_messages_timed() {
    for (messages, length, copies, sending) in [
        (1, 64, 1, Sending::Together),         // unary
        (1, 64, 20, Sending::Together),        // server streaming
        (20, 64, 1, Sending::Together),        // client streaming, echoed
        (10, 100, 1, Sending::Alternating),    // ping-pong
        (3, 100_000, 1, Sending::Alternating), // ping-pong, larger than the windows
        (4, 0, 1, Sending::Alternating),       // empty messages
    ] {
        let what = format!("{messages} x {length} x {copies} {sending:?}");
        let server = H2Server::start(Setup::default());
        let replies = (messages * copies) as u32;
        let sessions = Fixed::sending(vec![call(&format!("/call/{copies}"), messages, length, sending)])
            .expecting(200, &copied(messages, length, copies))
            .streaming(replies, ("grpc-status", "0"));
        let mut generator = generator_of(framing(), server.address, streams(8), sessions);
        let mut tallies = Tallies::default();
        let report = generator.run(support::VARIANT, &closed(Stop::Count(200)), &mut tallies, None, None);
        let figures = report.expect("runs").figures;
        assert_good(&figures);
        let [calls, timed] = figures.operations[..] else { panic!("{what}: calls and messages") };
        assert_eq!((calls.operation, calls.ok), (OperationId(0), 200), "{what}");
        assert_eq!((timed.operation, timed.ok), (OperationId(1), 200 * u64::from(replies)), "{what}");
        let times = tallies.messages_of(OperationId(1), Outcome::Ok).expect("tallied");
        assert_eq!((times.len(), tallies.ok().0.len()), (timed.ok, 200), "{what}");
        // Message times are gaps within their calls: their sum is no longer than the calls.
        assert!(timed.service_sum <= calls.service_sum, "{what}");
    }
}

const LIMITS: Limits = Limits { timeout: Nanoseconds::from_secs(10), body: Bytes::new(8 << 20), stop: None };

fn ask(server: &H2Server, request: &Rendered) -> Result<Collected, ExchangeError> {
    exchange(&[server.address], framing(), request, LIMITS)
}

#[test]
fn a_single_exchange_speaks_http2_too() {
    let server = H2Server::start(Setup::default());
    let reply = ask(&server, &rendered("GET", "/hello", b"")).expect("a reply");
    assert_eq!((reply.status, reply.body.as_slice()), (200, b"hello".as_slice()));
    assert_eq!(reply.header("X-Path"), Some("/hello"));
    let body = vec![7; 3 << 20];
    assert_eq!(ask(&server, &rendered("POST", "/echo", &body)).expect("a reply").body, body);
    let trailed = ask(&server, &rendered("GET", "/trailers", b"")).expect("a reply");
    assert_eq!(trailed.header("grpc-status"), Some("0"));
    let answered = ask(&server, &call("/call/2", 3, 10, Sending::Alternating)).expect("a reply");
    assert_eq!(answered.body, copied(3, 10, 2));
    let refused = ask(&server, &rendered("GET", "/refuse", b"")).expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Reset);
}
