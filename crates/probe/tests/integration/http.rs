//! What the probe answers: bodies, methods, connections, refusals. Each test starts its own probe.

use weighbridge_model::quantity::Nanoseconds;
use weighbridge_probe::request::HEAD_LIMIT;
use weighbridge_probe::{KeepAlive, Options};

use crate::common::{Probe, pong};

#[test]
fn a_pong_has_exactly_the_bytes_asked_for() {
    let probe = Probe::obeying("null");
    let mut client = probe.client();
    for n in [4, 5, 6, 64, 4096, 4097, 4098, 65535, 65536, 65537, 65538, 10_000_000] {
        client.get(&format!("/pong/{n}"));
        let reply = client.reply();
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("content-type"), Some("text/plain"));
        assert!(reply.body == pong(n), "n = {n}: {} bytes", reply.body.len());
    }
    assert_eq!(pong(5), b"poong");
}

#[test]
fn a_pong_of_invalid_size_is_an_error_and_the_connection_stays_open() {
    let probe = Probe::obeying("null");
    let mut client = probe.client();
    for n in ["3", "0", "", "x", "-4", "4.0", "1073741825", "99999999999999999999"] {
        client.get(&format!("/pong/{n}"));
        let reply = client.reply();
        assert_eq!((reply.status, reply.header("content-type")), (400, Some("application/json")), "{n}");
        let json: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert!(json["error"].as_str().unwrap().contains("from 4 to 1073741824"));
    }
    client.get("/pong/4");
    assert_eq!(client.reply().text(), "pong");
}

#[test]
fn other_paths_and_methods_are_answered_ok() {
    let probe = Probe::obeying("null");
    let mut client = probe.client();
    for line in ["GET /", "GET /person/1?x=/pong/9", "DELETE /a", "OPTIONS *", "GET http://probe/"] {
        client.send(format!("{line} HTTP/1.1\r\nHost: probe\r\n\r\n"));
        let reply = client.reply();
        assert_eq!((reply.status, reply.text()), (200, "ok\n"), "{line}");
    }
}

#[test]
fn the_version_names_the_law() {
    let version = env!("CARGO_PKG_VERSION");
    for law in ["null", "exponential:mean=200us,seed=7", "periodic-stall:every=2s,length=100ms"] {
        assert_eq!(Probe::obeying(law).get("/version").text(), format!("probe {law} {version}\n"));
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    for law in ["null", "constant:time=1us"] {
        let probe = Probe::obeying(law);
        let mut client = probe.client();
        let sizes: Vec<usize> = (0..300).map(|i| [4, 100, 5000, 70_000][i % 4] + i).collect();
        let requests: String =
            sizes.iter().map(|n| format!("GET /pong/{n} HTTP/1.1\r\nHost: probe\r\n\r\n")).collect();
        client.send(requests);
        for n in sizes {
            assert!(client.reply().body == pong(n), "{law}: n = {n}");
        }
    }
}

#[test]
fn a_head_may_come_in_pieces() {
    let probe = Probe::obeying("null");
    let mut client = probe.client();
    let request = b"GET /pong/7 HTTP/1.1\r\nHost: probe\r\nConnection: keep-alive\r\n\r\n";
    for byte in request {
        client.send([*byte]);
    }
    assert_eq!(client.reply().text(), "poooong");
    for cut in [1, 21, request.len() - 3, request.len() - 1] {
        client.send(&request[..cut]);
        // Another reply in between shows that the probe does not wait for the rest.
        assert_eq!(probe.get("/").status, 200);
        client.send(&request[cut..]);
        assert_eq!(client.reply().text(), "poooong");
    }
}

#[test]
fn head_has_the_length_without_the_body() {
    let probe = Probe::obeying("null");
    let mut client = probe.client();
    for (path, length) in [("/pong/10000000", "10000000"), ("/pong/4", "4"), ("/", "3")] {
        client.send(format!("HEAD {path} HTTP/1.1\r\nHost: probe\r\n\r\n"));
        assert_eq!(client.head().header("content-length"), Some(length));
    }
    client.get("/pong/5");
    assert_eq!(client.reply().text(), "poong");
}

#[test]
fn request_bodies_are_dropped() {
    let probe = Probe::obeying("null");
    let mut client = probe.client();
    let body = "GET /pong/9 HTTP/1.1\r\n\r\n".repeat(50_000);
    client.send(format!("POST /pong/6 HTTP/1.1\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
    assert_eq!(client.reply().text(), "pooong");
    client.send("PUT /pong/4 HTTP/1.1\r\nContent-Length: 2\r\n\r\nabGET /pong/5 HTTP/1.1\r\n\r\n");
    assert_eq!(client.reply().text(), "pong");
    assert_eq!(client.reply().text(), "poong");
}

#[test]
fn a_client_that_waits_gets_100_continue() {
    let probe = Probe::obeying("null");
    let mut client = probe.client();
    client.send("PUT /pong/4 HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head().status, 100);
    client.send("ab");
    assert_eq!(client.reply().text(), "pong");
}

#[test]
fn connections_close_when_the_client_says_so() {
    let probe = Probe::obeying("null");
    for (request, announced) in [
        ("GET /pong/100000 HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n", "close"),
        ("GET /pong/4 HTTP/1.1\r\nConnection: close\r\n\r\n", "close"),
        ("GET /pong/4 HTTP/1.0\r\n\r\n", "close"),
    ] {
        let mut client = probe.client();
        client.send(request);
        let reply = client.reply();
        assert_eq!((reply.status, reply.header("connection")), (200, Some(announced)));
        assert!(client.is_closed(), "{request:?}");
    }
    let mut old = probe.client();
    for _ in 0..2 {
        old.send("GET /pong/4 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert_eq!(old.reply().header("connection"), Some("keep-alive"));
    }
}

#[test]
fn a_half_closed_client_still_gets_its_replies() {
    for law in ["null", "constant:time=10us"] {
        let probe = Probe::obeying(law);
        let mut client = probe.client();
        client.send("GET /pong/3000000 HTTP/1.1\r\n\r\nGET /pong/5 HTTP/1.1\r\n\r\n");
        client.stream().shutdown(std::net::Shutdown::Write).unwrap();
        assert!(client.reply().body == pong(3_000_000));
        assert_eq!(client.reply().text(), "poong");
        assert!(client.is_closed());
    }
}

#[test]
fn invalid_requests_are_refused_and_the_connection_closed() {
    let probe = Probe::obeying("null");
    // Exactly the limit of a head, without its end: more bytes could meet a closed socket.
    let too_long = format!("{:x<HEAD_LIMIT$}", "GET / HTTP/1.1\r\nA: ");
    for (request, status) in [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nno colon\r\n\r\nGET / HTTP/1.1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 501),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505),
        (too_long.as_str(), 431),
    ] {
        let mut client = probe.client();
        client.send("GET /pong/4 HTTP/1.1\r\n\r\n");
        client.send(request);
        assert_eq!(client.reply().text(), "pong");
        let reply = client.reply();
        assert_eq!((reply.status, reply.header("connection")), (status, Some("close")));
        let json: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert!(json["error"].as_str().unwrap().starts_with("the request"));
        assert!(client.is_closed());
    }
}

#[test]
fn a_slow_reader_does_not_delay_others() {
    let probe = Probe::obeying("null");
    let mut slow = probe.client();
    // More than any socket buffer takes, followed by a request.
    slow.send("GET /pong/50000000 HTTP/1.1\r\n\r\nGET /pong/6 HTTP/1.1\r\n\r\n");
    for _ in 0..100 {
        assert_eq!(probe.get("/pong/4").text(), "pong");
    }
    assert!(slow.reply().body == pong(50_000_000));
    assert_eq!(slow.reply().text(), "pooong");
}

#[test]
fn many_connections_come_and_go() {
    let probe = Probe::obeying("null");
    for round in 0..5 {
        let mut clients: Vec<_> = (0..100).map(|_| probe.client()).collect();
        for (i, client) in clients.iter_mut().enumerate() {
            client.get(&format!("/pong/{}", 4 + i + round));
        }
        for (i, client) in clients.iter_mut().enumerate() {
            assert!(client.reply().body == pong(4 + i + round));
        }
    }
}

#[test]
fn a_connection_ends_after_its_requests_and_says_so() {
    let requests = std::num::NonZeroU64::new(3);
    let keep_alive = KeepAlive { requests, ..KeepAlive::default() };
    let probe = Probe::start(Options { keep_alive, ..Options::new("null".parse().unwrap()) });
    for _ in 0..2 {
        let mut client = probe.client();
        for last in [false, false, true] {
            client.get("/pong/5");
            let reply = client.reply();
            assert_eq!(reply.header("connection") == Some("close"), last);
        }
        assert!(client.is_closed());
    }
}

#[test]
fn an_idle_connection_is_closed_silently_and_others_stay_open() {
    let keep_alive = KeepAlive { idle: Some(Nanoseconds::from_millis(200)), ..KeepAlive::default() };
    let probe = Probe::start(Options { keep_alive, ..Options::new("null".parse().unwrap()) });
    let mut idle = probe.client();
    idle.get("/pong/5");
    assert_eq!(idle.reply().header("connection"), None);
    assert!(idle.is_closed(), "it waits for the end, which comes");
    let mut next = probe.client();
    next.get("/pong/5");
    assert_eq!(next.reply().text(), "poong");
}
