//! The server over real sockets: which requests are answered and with which headers, valid paths, events, slow and many
//! clients, and shutdown.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use weighbridge_view::{
    Answer, ClientLimits, Download, Feed, Message, Policy, RequestTarget, Server, Site, Update,
};

/// Answers with the path it was asked for; `events` counts to three.
struct Echo;

struct Counter(AtomicU32);

impl Feed for Counter {
    fn next(&mut self) -> Update {
        let count = self.0.fetch_add(1, Ordering::Relaxed);
        let message = Message { event: "count", data: count.to_string() };
        match count {
            0..3 => Update::Message(message),
            _ => Update::Last(message),
        }
    }
}

impl Site for Echo {
    fn answer(&self, target: &RequestTarget) -> Answer {
        let policy = Policy::allowing(&["p{}"], &[]);
        match target.segments[0].as_str() {
            "events" => Answer::Follow(Box::new(Counter(AtomicU32::new(0)))),
            "file" => Answer::Download(Download {
                name: "a\"b\r\nX-Forged: 1".into(),
                media_type: "text/csv; charset=utf-8",
                bytes: b"a,b\r\n".to_vec(),
            }),
            "away" => Answer::Redirect("//evil.example/".into()),
            "there" => Answer::Redirect("/here/".into()),
            "panic" => panic!("a page that cannot be made"),
            "missing" => Answer::Missing { html: "no".into(), policy },
            _ => Answer::Page { html: format!("asked for {}", target.segments.join("|")), policy },
        }
    }
}

/// A server that stops when the test ends.
struct Running {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    fn start(limits: ClientLimits) -> Self {
        let server = Server::listen(0).unwrap();
        let address = server.address();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            server.run(Arc::new(Echo), limits, || stopped.load(Ordering::SeqCst)).unwrap();
        });
        Self { address, stop, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        // Makes a test fail that would otherwise hang.
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a request unchanged and reads until the server closes.
    fn raw(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        String::from_utf8(reply).unwrap()
    }

    fn ask(&self, method: &str, path: &str, headers: &str) -> String {
        let port = self.address.port();
        self.raw(&format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}Connection: close\r\n\r\n"
        ))
    }

    fn get(&self, path: &str) -> String {
        self.ask("GET", path, "")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(ended, Some(Ok(()))));
    }
}

fn status(reply: &str) -> u16 {
    reply.split(' ').nth(1).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{reply:?}"))
}

/// Limits that no client of these tests meets, however slow the host is.
fn patient() -> ClientLimits {
    ClientLimits { head: Duration::from_secs(60), ..ClientLimits::default() }
}

#[test]
fn only_requests_from_this_host_and_origin_are_answered() {
    let server = Running::start(patient());
    let port = server.address.port();
    let with_host = |host: &str| server.raw(&format!("GET / HTTP/1.1\r\n{host}Connection: close\r\n\r\n"));
    for host in ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"] {
        assert_eq!(status(&with_host(&format!("Host: {host}:{port}\r\n"))), 200, "{host}");
    }
    for (host, expected) in [
        (format!("Host: evil.example:{port}\r\n"), 421),
        ("Host: 127.0.0.1\r\n".to_owned(), 421),
        (format!("Host: 127.0.0.1:{}\r\n", port ^ 1), 421),
        (format!("Host: localhost.evil.example:{port}\r\n"), 421),
        (String::new(), 400),
        (format!("Host: 127.0.0.1:{port}\r\nHost: evil.example\r\n"), 400),
    ] {
        let reply = with_host(&host);
        assert_eq!(status(&reply), expected, "{host:?}: {reply}");
        assert!(!reply.contains("asked for"), "{reply}");
    }
    let absolute =
        format!("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(status(&server.raw(&absolute)), 421);
    for (origin, expected) in [
        (format!("http://127.0.0.1:{port}"), 200),
        (format!("http://localhost:{port}"), 200),
        ("http://evil.example".to_owned(), 403),
        (format!("https://127.0.0.1:{port}"), 403),
        ("null".to_owned(), 403),
        (format!("http://127.0.0.1:{}", port ^ 1), 403),
    ] {
        let reply = server.ask("GET", "/", &format!("Origin: {origin}\r\n"));
        assert_eq!(status(&reply), expected, "{origin}");
    }
}

#[test]
fn nothing_but_reading_is_allowed() {
    let server = Running::start(patient());
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"] {
        let reply = server.ask(method, "/", "Content-Length: 0\r\n");
        assert_eq!(status(&reply), 405, "{method}");
        assert!(reply.contains("allow: GET, HEAD\r\n"), "{reply}");
    }
    let (head, get) = (server.ask("HEAD", "/a", ""), server.get("/a"));
    let length =
        |reply: &str| reply.lines().find(|line| line.starts_with("content-length")).map(str::to_owned);
    assert!(head.ends_with("\r\n\r\n") && get.ends_with("asked for a"));
    assert_eq!(length(&head), length(&get));
    assert_eq!(status(&server.ask("HEAD", "/events", "")), 200);
}

#[test]
fn every_answer_forbids_what_the_page_does_not_contain() {
    let server = Running::start(patient());
    for path in ["/", "/missing", "/file", "/events", "/there", "/panic", "/%2e%2e"] {
        let reply = server.get(path);
        for header in [
            "content-security-policy: default-src 'none'",
            "frame-ancestors 'none'",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cache-control: no-store",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(reply.contains(header), "{path}: {reply}");
        }
        assert!(!reply.to_lowercase().contains("access-control"), "{path}");
    }
    assert_eq!(status(&server.get("/missing")), 404);
    assert_eq!(status(&server.get("/panic")), 500);
    assert_eq!(status(&server.get("/")), 200, "a page that panics does not affect other pages");
}

#[test]
fn a_path_is_plain_names_and_cannot_add_headers() {
    let server = Running::start(patient());
    for path in [
        "/../etc/passwd",
        "/run/%2e%2e/x",
        "/a%2f..%2fb",
        "/a%5c..%5cb",
        "/a%00b",
        "/%0d%0aX-Forged:1",
        "/%ff",
    ] {
        assert_eq!(status(&server.get(path)), 400, "{path}");
    }
    let reply = server.get("/file");
    assert!(reply.contains("content-disposition: attachment; filename=\"a_b__X-Forged__1\"\r\n"), "{reply}");
    assert!(server.get("/there").contains("location: /here/\r\n"));
    assert!(!server.get("/away").contains("location:"), "no redirect leads to another host");
    assert_eq!(status(&server.get(&format!("/{}", "a".repeat(5_000)))), 414);
    let huge = format!("X-Long: {}\r\n", "a".repeat(40_000));
    let port = server.address.port();
    let mut stream = server.connect();
    let _ = stream.write_all(format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{huge}\r\n").as_bytes());
    let mut reply = Vec::new();
    let _ = stream.read_to_end(&mut reply); // the rest of the head may cause a reset
    assert!(!String::from_utf8_lossy(&reply).contains("asked for"));
}

#[test]
fn events_come_as_they_happen_and_end_with_the_last() {
    let server = Running::start(ClientLimits { feed: Duration::from_millis(1), ..patient() });
    let reply = server.get("/events");
    assert!(reply.contains("content-type: text/event-stream\r\n"), "{reply}");
    let data: Vec<&str> = reply.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(data, ["0", "1", "2", "3"]);
}

#[test]
fn silent_clients_are_cut_and_block_no_other() {
    let limits = ClientLimits { clients: 4, head: Duration::from_millis(300), ..ClientLimits::default() };
    let server = Running::start(limits);
    let mut silent: Vec<TcpStream> = (0..3).map(|_| server.connect()).collect();
    for stream in &mut silent {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    }
    // One place is left and the silent connections time out, so many more than four requests are answered.
    for _ in 0..8 {
        assert_eq!(status(&server.get("/")), 200);
    }
    for stream in &mut silent {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest); // the connection must end; how does not matter
    }
    let crowd: Vec<TcpStream> = (0..12).map(|_| server.connect()).collect();
    assert_eq!(status(&server.get("/")), 200, "many silent clients time out too");
    drop(crowd);
}

#[test]
fn clients_that_drip_their_heads_do_not_keep_others_out() {
    let server = Arc::new(Running::start(ClientLimits::default()));
    let over = Arc::new(AtomicBool::new(false));
    // Three hundred that send a byte now and then, and come again when they are cut.
    let drippers: Vec<_> = (0..300)
        .map(|_| {
            let (address, over) = (server.address, Arc::clone(&over));
            std::thread::Builder::new()
                .stack_size(64 * 1024)
                .spawn(move || {
                    while !over.load(Ordering::SeqCst) {
                        let Ok(mut stream) = TcpStream::connect(address) else { continue };
                        let head = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
                            .iter()
                            .chain([b'x'].iter().cycle());
                        for byte in head {
                            if over.load(Ordering::SeqCst) || stream.write_all(&[*byte]).is_err() {
                                break;
                            }
                            std::thread::sleep(Duration::from_millis(50));
                        }
                    }
                })
                .unwrap()
        })
        .collect();
    let port = server.address.port();
    let answered = || {
        let mut stream = server.connect();
        let mut reply = String::new();
        let asked = write!(stream, "GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        asked.is_ok() && stream.read_to_string(&mut reply).is_ok() && reply.starts_with("HTTP/1.1 200")
    };
    // A browser tries again too; the limit is only there so that a test that fails ends.
    let answers = (0..2_000).filter(|_| answered()).take(20).count();
    over.store(true, Ordering::SeqCst);
    drippers.into_iter().for_each(|dripper| dripper.join().unwrap());
    assert_eq!(answers, 20);
}

#[test]
fn a_connection_ends_at_its_age_even_with_events_left() {
    let limits = ClientLimits {
        feed: Duration::from_secs(3600),
        age: Duration::from_millis(100),
        grace: Duration::from_millis(100),
        ..ClientLimits::default()
    };
    let server = Running::start(limits);
    let reply =
        server.raw(&format!("GET /events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", server.address.port()));
    assert!(reply.contains("data: 0"), "{reply}");
    assert!(!reply.contains("data: 1"));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = Server::listen(0).unwrap();
    let error = Server::listen(taken.address().port()).unwrap_err().to_string();
    assert!(error.contains("choose another port"), "{error}");
    assert!(taken.address().ip().is_loopback());
}
