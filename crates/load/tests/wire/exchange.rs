//! Single exchanges: whole replies are collected, and every failure names the peer and the next step.

use crate::support;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};

use support::{HELLO, Server, millis, read_head, send, wait_for_close};
use weighbridge_load::Framing;
use weighbridge_load::exchange::{Collected, ExchangeError, Limits, exchange};
use weighbridge_load::request::{Rendered, Request};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::{Bytes, Nanoseconds};
use weighbridge_model::record::ErrorKind;

const LIMITS: Limits = Limits { timeout: Nanoseconds::from_secs(10), body: Bytes::new(1 << 20), stop: None };

fn get() -> Rendered {
    let request = Request {
        method: "GET".into(),
        target: "/".into(),
        authority: "localhost".into(),
        ..Request::default()
    };
    Framing::Http1.render(OperationId(0), &request).expect("renders")
}

fn ask(address: SocketAddr, limits: Limits<'_>) -> Result<Collected, ExchangeError> {
    exchange(&[address], Framing::Http1, &get(), limits)
}

#[test]
fn a_reply_is_collected_whole() {
    let server = Server::answering(
        b"HTTP/1.1 418 Teapot\r\nX-Kind: Pot\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nsho\r\n2\r\nrt\r\n0\r\n\r\n",
    );
    let reply = ask(server.address, LIMITS).expect("a reply");
    assert_eq!((reply.status, reply.body.as_slice()), (418, b"short".as_slice()));
    assert_eq!(reply.header("x-kind"), Some("Pot"));
    assert!(reply.took > Nanoseconds::ZERO);
    let until_close = Server::answering_once(b"HTTP/1.1 200 OK\r\n\r\nto the end");
    assert_eq!(ask(until_close.address, LIMITS).expect("a reply").body, b"to the end");
}

#[test]
fn a_large_reply_arrives_and_a_larger_one_is_refused() {
    let server = Server::start(|mut stream| {
        if read_head(&mut stream).is_some() {
            let reply =
                [b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n".to_vec(), vec![b'a'; 1_000_000]];
            send(&mut stream, &reply.concat());
        }
    });
    assert_eq!(ask(server.address, LIMITS).expect("a reply").body.len(), 1_000_000);
    let error = ask(server.address, Limits { body: Bytes::new(999_999), ..LIMITS }).expect_err("too long");
    assert!(matches!(error, ExchangeError::TooLong { .. }), "{error}");
}

#[test]
fn failures_have_their_kind_and_name_the_peer() {
    let gone = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let silent = Server::start(|mut stream| wait_for_close(&mut stream));
    let closing = Server::start(|mut stream| drop(read_head(&mut stream)));
    let foreign = Server::answering(b"220 mail ESMTP\r\n");
    let short = Limits { timeout: millis(100), ..LIMITS };
    for (address, limits, kind) in [
        (gone, LIMITS, ErrorKind::Connect),
        (silent.address, short, ErrorKind::Timeout),
        (closing.address, LIMITS, ErrorKind::Reset),
        (foreign.address, LIMITS, ErrorKind::Protocol),
    ] {
        let error = ask(address, limits).expect_err("no reply");
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(&format!("`{address}`")), "{error}");
    }
}

#[test]
fn a_flag_that_is_set_ends_the_wait() {
    let silent = Server::start(|mut stream| wait_for_close(&mut stream));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Without the flag this would wait for ten seconds and end as a timeout.
        let asking = scope.spawn(|| ask(silent.address, Limits { stop: Some(&stop), ..LIMITS }));
        stop.store(true, Ordering::Relaxed);
        let error = asking.join().expect("no panic").expect_err("stopped");
        assert!(matches!(error, ExchangeError::Stopped { .. }), "{error}");
    });
}

#[test]
fn the_first_address_that_accepts_answers() {
    let gone = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let server = Server::answering(HELLO);
    let reply = exchange(&[gone, server.address], Framing::Http1, &get(), LIMITS).expect("a reply");
    assert_eq!(reply.body, b"hello");
}
