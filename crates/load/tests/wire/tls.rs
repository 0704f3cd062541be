//! TLS under load, against a server by rustls: what is counted, and how servers with a bad certificate, version,
//! protocol or close are handled.

use crate::secured;
use crate::support;

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::{Arc, Barrier};

use rcgen::ExtendedKeyUsagePurpose;
use secured::{Authority, BOTH, Clients, Noted, Secured, answer, close_notify, config, read_head, server};
use support::{Fixed, HELLO, Server, VARIANT, closed, millis, run, settings};
use weighbridge_load::Framing;
use weighbridge_load::dial::SocketDial;
use weighbridge_load::exchange::{ExchangeError, Limits, exchange};
use weighbridge_load::generator::{ConnectError, Generator, LoopOptions};
use weighbridge_load::request::Request;
use weighbridge_load::tls::{Resumption, TlsClient, TlsFailure, TlsOptions, Trust};
use weighbridge_load::window::Stop;
use weighbridge_load::{KeepAlive, Settings, Stack};
use weighbridge_model::experiment::TlsVersion;
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::{ErrorCounts, ErrorKind, HandshakeKind, Tallies, WindowEnd};

const ONE_VERSION: [(&[&rustls::SupportedProtocolVersion], TlsVersion); 2] =
    [(&[&rustls::version::TLS12], TlsVersion::V12), (&[&rustls::version::TLS13], TlsVersion::V13)];

fn client(options: &TlsOptions) -> TlsClient {
    TlsClient::new(options).expect("good options")
}

fn generator(address: SocketAddr, settings: Settings, tls: TlsClient, sessions: Fixed) -> Generator {
    let dial = Box::new(SocketDial::to(VARIANT, vec![address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    let stack = Stack { framing: Framing::Http1, tls: Some(tls) };
    generator.attach(VARIANT, settings, stack, Box::new(sessions));
    generator
}

/// The error of the first connect, and the errors of ten requests sent nevertheless.
fn refused(server: &Server, tls: TlsClient) -> (TlsFailure, ErrorCounts) {
    let settings = Settings { timeout: millis(2_000), ..settings(1) };
    let mut generator = generator(server.address, settings, tls, Fixed::get());
    let failure = match generator.connect(VARIANT) {
        Err(ConnectError::Tls { source, open: 0, wanted: 1, .. }) => source,
        other => panic!("{other:?}"),
    };
    (failure, run(&mut generator, &closed(Stop::Count(10))).figures.errors)
}

fn all_tls(count: u64) -> ErrorCounts {
    ErrorCounts { tls: count, ..ErrorCounts::default() }
}

#[test]
fn requests_travel_over_both_versions_and_handshakes_are_counted() {
    let authority = Authority::new();
    for (versions, _) in ONE_VERSION {
        let config = config(&authority.server(), versions, &Clients::Anyone);
        let server = server(config, |stream| answer(stream, HELLO));
        let mut generator = generator(server.address, settings(4), authority.tls(), Fixed::get());
        let connected = generator.connect(VARIANT).expect("connects");
        assert_eq!(connected.opened, 4);
        let count = |kind| connected.handshakes.count(kind);
        assert_eq!(count(HandshakeKind::Full) + count(HandshakeKind::Resumed), 4);
        assert!(count(HandshakeKind::Full) >= 1);
        let mut tallies = Tallies::default();
        let report =
            generator.run(VARIANT, &closed(Stop::Count(200)), &mut tallies, None, None).expect("runs");
        let figures = report.figures;
        assert_eq!((figures.requests, figures.errors.total(), figures.end), (200, 0, WindowEnd::Complete));
        assert_eq!((figures.connects, figures.handshakes, figures.resumed), (0, 0, 0), "none in the window");
        assert_eq!(server.accepted.load(std::sync::atomic::Ordering::SeqCst), 4);
    }
}

#[test]
fn a_connection_per_request_resumes_the_session_unless_disabled() {
    let authority = Authority::new();
    for (versions, _) in ONE_VERSION {
        for resumption in [Resumption::On, Resumption::Off] {
            let config = config(&authority.server(), versions, &Clients::Anyone);
            let server = server(config, |stream| answer(stream, HELLO));
            let tls = client(&TlsOptions { resumption, ..authority.options() });
            let settings = Settings { keep_alive: KeepAlive::ONE_PER_REQUEST, ..settings(1) };
            let mut generator = generator(server.address, settings, tls, Fixed::get());
            let connected = generator.connect(VARIANT).expect("connects");
            assert_eq!(connected.handshakes.count(HandshakeKind::Full), 1);
            let mut tallies = Tallies::default();
            let report =
                generator.run(VARIANT, &closed(Stop::Count(20)), &mut tallies, None, None).expect("runs");
            let figures = report.figures;
            assert_eq!((figures.requests, figures.errors.total()), (20, 0));
            assert!(figures.connects >= 19 && figures.handshakes == figures.connects, "{figures:?}");
            let resumed = if resumption == Resumption::On { figures.handshakes } else { 0 };
            assert_eq!(figures.resumed, resumed, "{versions:?} {resumption:?}");
            let timed = HandshakeKind::ALL.map(|kind| tallies.handshakes.count(kind));
            assert_eq!(timed, [figures.handshakes - resumed, resumed]);
        }
    }
}

#[test]
fn bad_certificates_are_refused_with_the_reason_and_accepted_without_verification() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let usage = || ExtendedKeyUsagePurpose::ServerAuth;
    let cases = [
        (authority.sign(&["127.0.0.1"], 2010, usage()), "it has expired"),
        (authority.sign(&["example.org"], 4000, usage()), "set the server name"),
        (stranger.server(), "its issuer is not trusted"),
        (Authority::own(), "it is an authority's own certificate"),
    ];
    for (certified, why) in cases {
        let config = config(&certified, BOTH, &Clients::Anyone);
        let server = server(config, |stream| answer(stream, HELLO));
        let (failure, errors) = refused(&server, authority.tls());
        assert!(matches!(&failure, TlsFailure::Certificate(text) if text.contains(why)), "{why}: {failure}");
        assert!(failure.to_string().contains("`-k`"), "the way out: {failure}");
        assert_eq!(errors, all_tls(10), "{why}");
        let unverified = client(&TlsOptions { trust: Trust::Anything, ..authority.options() });
        let mut generator = generator(server.address, settings(1), unverified, Fixed::get());
        assert_eq!(run(&mut generator, &closed(Stop::Count(5))).figures.errors.total(), 0, "{why}");
    }
}

#[test]
fn the_server_name_is_sent_and_checked() {
    let authority = Authority::new();
    let certified = authority.sign(&["example.org"], 4000, ExtendedKeyUsagePurpose::ServerAuth);
    let names: Noted<Option<String>> = Arc::default();
    let noted = Arc::clone(&names);
    let server = server(config(&certified, BOTH, &Clients::Anyone), move |stream| {
        while read_head(stream).is_some() && stream.write_all(HELLO).is_ok() {
            noted.lock().expect("no panic").push(stream.conn.server_name().map(str::to_owned));
        }
    });
    let tls = client(&TlsOptions { server_name: "example.org".to_owned(), ..authority.options() });
    let mut generator = generator(server.address, settings(1), tls, Fixed::get());
    assert_eq!(run(&mut generator, &closed(Stop::Count(2))).figures.errors.total(), 0);
    assert_eq!(names.lock().expect("no panic")[0], Some("example.org".to_owned()));
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_it_or_ends_tls() {
    let authority = Authority::new();
    for (versions, _) in ONE_VERSION {
        let config = config(&authority.server(), versions, &Clients::SignedBy(&authority));
        let server = server(config, |stream| answer(stream, HELLO));
        let options = TlsOptions { identity: Some(authority.client()), ..authority.options() };
        let mut known = generator(server.address, settings(2), client(&options), Fixed::get());
        assert_eq!(run(&mut known, &closed(Stop::Count(20))).figures.errors.total(), 0);
        // In TLS 1.3 the refusal comes when the client is already open. The kernel decides whether the alert or the
        // reset after it is read first.
        let mut unknown = generator(server.address, settings(1), authority.tls(), Fixed::get());
        let figures = run(&mut unknown, &closed(Stop::Count(20))).figures;
        assert_eq!(figures.errors.tls + figures.errors.reset, figures.requests, "{:?}", figures.errors);
        assert!(figures.errors.tls > 0, "{:?}", figures.errors);
    }
}

#[test]
fn a_server_without_tls_is_named_as_such() {
    let authority = Authority::new();
    let server = Server::start(|mut stream| {
        use std::io::Read;
        // An HTTP server that cannot make sense of a handshake.
        let mut some = [0; 64];
        if stream.read(&mut some).is_ok() {
            support::send(&mut stream, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
        support::wait_for_close(&mut stream);
    });
    let (failure, errors) = refused(&server, authority.tls());
    assert_eq!((failure, errors), (TlsFailure::PlainText, all_tls(10)));
}

#[test]
fn no_common_version_or_protocol_is_the_servers_alert() {
    let authority = Authority::new();
    for (versions, server_has) in ONE_VERSION {
        let config = config(&authority.server(), versions, &Clients::Anyone);
        let server = server(config, |stream| answer(stream, HELLO));
        let other = if server_has == TlsVersion::V12 { TlsVersion::V13 } else { TlsVersion::V12 };
        let tls = client(&TlsOptions { min: other, max: other, ..authority.options() });
        let (failure, errors) = refused(&server, tls);
        assert!(matches!(&failure, TlsFailure::Alert(name) if name == "ProtocolVersion"), "{failure:?}");
        assert_eq!(errors, all_tls(10));
    }
    let mut config = config(&authority.server(), BOTH, &Clients::Anyone);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = server(config, |stream| answer(stream, HELLO));
    let (failure, _) = refused(&server, authority.tls());
    assert!(matches!(&failure, TlsFailure::Alert(name) if name == "NoApplicationProtocol"), "{failure:?}");
}

#[test]
fn a_server_that_agrees_on_http_1_1_is_asked_by_alpn() {
    let authority = Authority::new();
    let agreed: Noted<Option<Vec<u8>>> = Arc::default();
    let noted = Arc::clone(&agreed);
    let mut config = config(&authority.server(), BOTH, &Clients::Anyone);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let server = server(config, move |stream| {
        // Noted before the answer, because the run ends with the answer.
        while read_head(stream).is_some() {
            noted.lock().expect("no panic").push(stream.conn.alpn_protocol().map(<[u8]>::to_vec));
            if stream.write_all(HELLO).is_err() {
                return;
            }
        }
    });
    let mut generator = generator(server.address, settings(1), authority.tls(), Fixed::get());
    assert_eq!(run(&mut generator, &closed(Stop::Count(1))).figures.errors.total(), 0);
    assert_eq!(agreed.lock().expect("no panic")[0], Some(b"http/1.1".to_vec()));
}

/// Decrypts and relays the bytes to a server without TLS, until either side ends.
fn relay(stream: &mut Secured, to: SocketAddr) {
    use std::io::{ErrorKind::TimedOut, ErrorKind::WouldBlock, Read};
    let Ok(mut plain) = std::net::TcpStream::connect(to) else { return };
    let short = Some(std::time::Duration::from_millis(1));
    for socket in [&plain, &stream.sock] {
        socket.set_read_timeout(short).expect("a socket");
        socket.set_nodelay(true).expect("a socket");
    }
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let nothing = |error: &std::io::Error| matches!(error.kind(), WouldBlock | TimedOut);
        match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) if plain.write_all(&buffer[..count]).is_ok() => {}
            Err(error) if nothing(&error) => {}
            _ => return,
        }
        match plain.read(&mut buffer) {
            Ok(0) => return close_notify(stream),
            Ok(count) if stream.write_all(&buffer[..count]).and_then(|()| stream.flush()).is_ok() => {}
            Err(error) if nothing(&error) => {}
            _ => return,
        }
    }
}

/// The loop over HTTP/2, requests for `/hello`.
fn http2(address: SocketAddr, tls: TlsClient) -> Generator {
    let dial = Box::new(SocketDial::to(VARIANT, vec![address]));
    let mut generator = Generator::new(dial, LoopOptions::default()).expect("a generator");
    let stack = Stack { framing: support::http2::framing(), tls: Some(tls) };
    let sessions = Fixed::sending(vec![support::http2::rendered("GET", "/hello", b"")]);
    generator.attach(VARIANT, Settings { in_flight: 8, ..settings(2) }, stack, Box::new(sessions));
    generator
}

#[test]
fn http_2_is_spoken_where_the_server_agrees_and_only_there() {
    let authority = Authority::new();
    for (versions, _) in ONE_VERSION {
        let behind = support::http2::H2Server::start(support::http2::Setup::default());
        let address = behind.address;
        let mut agreeing = config(&authority.server(), versions, &Clients::Anyone);
        agreeing.alpn_protocols = vec![b"http/1.1".to_vec(), b"h2".to_vec()];
        let server = server(agreeing, move |stream| relay(stream, address));
        let mut generator = http2(server.address, authority.tls());
        let figures = run(&mut generator, &closed(Stop::Count(100))).figures;
        assert_eq!((figures.requests, figures.errors), (100, ErrorCounts::default()), "{versions:?}");
    }
    let server = server(config(&authority.server(), BOTH, &Clients::Anyone), |stream| answer(stream, HELLO));
    let mut generator = http2(server.address, authority.tls());
    match generator.connect(VARIANT) {
        Err(ConnectError::Tls { source: TlsFailure::Protocol("h2"), .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(run(&mut generator, &closed(Stop::Count(4))).figures.errors, all_tls(4));
}

#[test]
fn an_end_without_close_alert_is_a_reset_and_with_it_ends_a_reply_of_unknown_length() {
    const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello";
    let authority = Authority::new();
    for (versions, _) in ONE_VERSION {
        for polite in [true, false] {
            let server = server(config(&authority.server(), versions, &Clients::Anyone), move |stream| {
                if read_head(stream).is_some() && stream.write_all(UNTIL_CLOSE).is_ok() {
                    if polite {
                        close_notify(stream);
                    }
                    let _ = stream.sock.shutdown(std::net::Shutdown::Write);
                    support::wait_for_close(&mut stream.sock);
                }
            });
            let mut generator = generator(server.address, settings(1), authority.tls(), Fixed::get());
            let errors = run(&mut generator, &closed(Stop::Count(5))).figures.errors;
            let expected = ErrorCounts { reset: if polite { 0 } else { 5 }, ..ErrorCounts::default() };
            assert_eq!(errors, expected, "{versions:?}, polite: {polite}");
        }
    }
}

#[test]
fn a_handshake_that_stalls_fails_as_tls_when_its_time_is_over() {
    let authority = Authority::new();
    let server = Server::start(|mut stream| support::wait_for_close(&mut stream));
    let settings = Settings { connect_timeout: millis(50), ..settings(2) };
    let mut generator = generator(server.address, settings, authority.tls(), Fixed::get());
    match generator.connect(VARIANT) {
        Err(ConnectError::Tls { source: TlsFailure::TimedOut, .. }) => {}
        other => panic!("{other:?}"),
    }
    let figures = run(&mut generator, &closed(Stop::Count(4))).figures;
    assert_eq!((figures.errors, figures.requests), (all_tls(4), 4));
}

#[test]
fn a_connection_closed_during_the_handshake_fails_as_tls() {
    let authority = Authority::new();
    let server = Server::start(drop);
    let (failure, errors) = refused(&server, authority.tls());
    assert_eq!((failure, errors), (TlsFailure::Closed, all_tls(10)));
}

#[test]
fn a_broken_record_in_the_middle_of_a_reply_fails_as_tls() {
    let authority = Authority::new();
    let server = server(config(&authority.server(), BOTH, &Clients::Anyone), |stream| {
        if read_head(stream).is_some() && stream.write_all(&HELLO[..20]).is_ok() {
            let _ = stream.flush();
            // A record without encryption: a fatal alert in plain text.
            let _ = stream.sock.write_all(&[21, 3, 3, 0, 2, 2, 40]);
            support::wait_for_close(&mut stream.sock);
        }
    });
    let mut generator = generator(server.address, settings(1), authority.tls(), Fixed::get());
    assert_eq!(run(&mut generator, &closed(Stop::Count(5))).figures.errors, all_tls(5));
}

#[test]
fn a_server_that_refuses_does_not_make_the_loop_spin() {
    let authority = Authority::new();
    let server = Server::start(drop);
    let mut generator = generator(server.address, settings(2), authority.tls(), Fixed::get());
    let figures = run(&mut generator, &closed(Stop::Time(millis(300)))).figures;
    assert_eq!(figures.errors.tls, figures.requests);
    // After five failures a connection waits 10 ms between two attempts.
    assert!(figures.requests <= 2 * (5 + 30), "{}", figures.requests);
}

#[test]
fn bodies_of_many_records_are_read_whole_and_checked() {
    let authority = Authority::new();
    let body: Vec<u8> = (0..1 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).into_bytes();
    reply.extend_from_slice(&body);
    for (versions, _) in ONE_VERSION {
        let reply = reply.clone();
        let server = server(config(&authority.server(), versions, &Clients::Anyone), move |stream| {
            answer(stream, &reply)
        });
        let sessions = Fixed::get().expecting(200, &body);
        let mut generator = generator(server.address, settings(3), authority.tls(), sessions);
        let figures = run(&mut generator, &closed(Stop::Count(20))).figures;
        assert_eq!(figures.errors.total(), 0);
        assert!(figures.traffic.received.get() > 20 << 20);
    }
}

#[test]
fn large_requests_and_several_in_flight_are_sent_whole() {
    let authority = Authority::new();
    let server = server(config(&authority.server(), BOTH, &Clients::Anyone), |stream| {
        use std::io::Read;
        let mut body = vec![0; 300_000];
        while read_head(stream).is_some()
            && stream.read_exact(&mut body).is_ok()
            && body.iter().all(|byte| *byte == b'x')
            && stream.write_all(HELLO).is_ok()
        {}
    });
    let settings = Settings { in_flight: 4, ..settings(2) };
    let sessions = Fixed::of(&[("POST", 300_000)]);
    let mut generator = generator(server.address, settings, authority.tls(), sessions);
    let figures = run(&mut generator, &closed(Stop::Count(40))).figures;
    assert_eq!((figures.requests, figures.errors.total()), (40, 0));
}

/// Passes bytes on one by one.
struct Drip<'a>(&'a mut std::net::TcpStream);

impl Write for Drip<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(&bytes[..bytes.len().min(1)])
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn records_that_come_byte_by_byte_are_put_together() {
    let authority = Authority::new();
    for (versions, _) in ONE_VERSION {
        let server = server(config(&authority.server(), versions, &Clients::Anyone), |stream| {
            let Secured { conn, sock } = stream;
            let mut requests = 0;
            loop {
                while conn.wants_write() {
                    if conn.write_tls(&mut Drip(sock)).is_err() {
                        return;
                    }
                }
                if conn.read_tls(sock).is_ok_and(|count| count == 0) || conn.process_new_packets().is_err() {
                    return;
                }
                let mut request = Vec::new();
                let _ = std::io::Read::read_to_end(&mut conn.reader(), &mut request);
                if request.ends_with(b"\r\n\r\n") {
                    requests += 1;
                    let _ = conn.writer().write_all(HELLO);
                }
                assert!(requests <= 3, "one request at a time");
            }
        });
        let mut generator = generator(server.address, settings(1), authority.tls(), Fixed::get());
        assert_eq!(run(&mut generator, &closed(Stop::Count(3))).figures.errors.total(), 0, "{versions:?}");
    }
}

#[test]
fn new_keys_in_the_middle_of_a_connection_are_taken_up() {
    let authority = Authority::new();
    let server = server(config(&authority.server(), ONE_VERSION[1].0, &Clients::Anyone), |stream| {
        while read_head(stream).is_some() {
            let (first, second) = HELLO.split_at(30);
            let _ = stream.write_all(first);
            stream.conn.refresh_traffic_keys().expect("TLS 1.3");
            if stream.write_all(second).and_then(|()| stream.flush()).is_err() {
                return;
            }
        }
    });
    let mut generator = generator(server.address, settings(2), authority.tls(), Fixed::get());
    let figures = run(&mut generator, &closed(Stop::Count(50))).figures;
    assert_eq!((figures.requests, figures.errors), (50, ErrorCounts::default()));
}

#[test]
fn connections_that_a_server_closed_while_idle_are_opened_again() {
    let authority = Authority::new();
    let turn = Arc::new(Barrier::new(2));
    let servers_turn = Arc::clone(&turn);
    let server = server(config(&authority.server(), BOTH, &Clients::Anyone), move |stream| {
        // Five replies; after the run that they belong to, a proper TLS close.
        for _ in 0..5 {
            if read_head(stream).is_none() || stream.write_all(HELLO).is_err() {
                return;
            }
        }
        servers_turn.wait();
        close_notify(stream);
        servers_turn.wait();
        support::wait_for_close(&mut stream.sock);
    });
    let mut generator = generator(server.address, settings(1), authority.tls(), Fixed::get());
    generator.connect(VARIANT).expect("connects");
    for _ in 0..3 {
        let figures = run(&mut generator, &closed(Stop::Count(5))).figures;
        assert_eq!((figures.requests, figures.errors.total()), (5, 0));
        turn.wait();
        turn.wait();
        assert_eq!(generator.connect(VARIANT).expect("connects").opened, 1);
    }
}

const LIMITS: Limits<'static> =
    Limits { timeout: Nanoseconds::from_secs(10), body: Bytes::new(1 << 21), stop: None };

fn ask(address: SocketAddr, tls: TlsClient) -> Result<Vec<u8>, ExchangeError> {
    let request = Request {
        method: "GET".into(),
        target: "/".into(),
        authority: "localhost".into(),
        ..Request::default()
    };
    let rendered = Framing::Http1.render(OperationId(0), &request).expect("renders");
    let stack = Stack { framing: Framing::Http1, tls: Some(tls) };
    exchange(&[address], stack, &rendered, LIMITS).map(|reply| reply.body)
}

#[test]
fn one_request_outside_the_loop_speaks_tls_too() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    for (versions, _) in ONE_VERSION {
        let server =
            server(config(&authority.server(), versions, &Clients::Anyone), |stream| answer(stream, HELLO));
        assert_eq!(ask(server.address, authority.tls()).expect("a reply"), b"hello");
        let error = ask(server.address, stranger.tls()).expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::Tls);
        assert!(error.to_string().contains("its issuer is not trusted"), "{error}");
    }
    for polite in [true, false] {
        let server = server(config(&authority.server(), BOTH, &Clients::Anyone), move |stream| {
            if read_head(stream).is_some()
                && stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nhello").is_ok()
                && polite
            {
                close_notify(stream);
            }
        });
        let kind = ask(server.address, authority.tls()).map_err(|error| error.kind());
        assert_eq!(kind, if polite { Ok(b"hello".to_vec()) } else { Err(ErrorKind::Reset) });
    }
    let silent = Server::start(drop);
    assert_eq!(ask(silent.address, authority.tls()).expect_err("refused").kind(), ErrorKind::Tls);
}

/// `openssl s_server` until dropped.
struct OpenSsl(std::process::Child);

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Another implementation as oracle, if it is installed: its status page ends with the connection.
#[test]
fn openssl_is_understood_in_both_versions() {
    let authority = Authority::new();
    let folder = std::env::temp_dir().join(format!("weigh-openssl-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let certified = authority.server();
    std::fs::write(folder.join("cert.pem"), &certified.certificate).expect("written");
    std::fs::write(folder.join("key.pem"), &certified.key).expect("written");
    for version in ["-tls1_2", "-tls1_3"] {
        // The port may be taken again after it was found free.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        drop(listener);
        let started = Command::new("openssl")
            .args(["s_server", "-quiet", "-www", version, "-cert", "cert.pem", "-key", "key.pem", "-accept"])
            .arg(address.port().to_string())
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = started else { continue };
        let _server = OpenSsl(child);
        let reply = (0..200).find_map(|_| match ask(address, authority.tls()) {
            Err(ExchangeError::Connect { .. }) => {
                std::thread::sleep(std::time::Duration::from_millis(20));
                None
            }
            other => Some(other),
        });
        let page = reply.expect("it listens within four seconds").expect("a reply");
        let page = String::from_utf8_lossy(&page).into_owned();
        let spoken = if version == "-tls1_2" { "TLSv1.2" } else { "TLSv1.3" };
        assert!(page.contains(spoken), "{page}");
    }
    let _ = std::fs::remove_dir_all(folder);
}
