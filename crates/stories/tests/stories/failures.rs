//! Stories of what failures say: a server's own words beside their count, harmless however hostile it is.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::World;
use crate::support::server::Server;

/// Reads one request that ends so.
fn request(stream: &mut TcpStream, end: &[u8]) -> Option<Vec<u8>> {
    let (mut request, mut byte) = (Vec::new(), [0]);
    while !request.ends_with(end) {
        stream.read_exact(&mut byte).ok()?;
        request.push(byte[0]);
    }
    Some(request)
}

/// Answers the nth request, which ends so, with what is made of n and the request.
fn server(end: &'static [u8], reply: impl Fn(u64, &[u8]) -> Vec<u8> + Send + Sync + 'static) -> Server {
    Server::start(move |mut stream, _| {
        let _ = stream.set_nodelay(true);
        for n in 0.. {
            let Some(request) = request(&mut stream, end) else { return };
            if stream.write_all(&reply(n, &request)).is_err() {
                return;
            }
        }
    })
}

fn load(url: &str, more: &[&str]) -> Value {
    let arguments = [&["load", url, "-n", "60", "--format", "json"], more].concat();
    World::idle().weigh(&arguments).end().json()
}

#[test]
fn every_protocol_tells_what_its_server_said() {
    let redis = server(b"k\r\n", |n, _| match n % 3 {
        0 => b"-WRONGTYPE Operation against a key holding the wrong kind of value\r\n".to_vec(),
        1 => b"-ERR busy\r\n".to_vec(),
        _ => b"$1\r\nv\r\n".to_vec(),
    });
    let figures = load(&format!("redis://{}", redis.address), &["-X", "GET k"]);
    let wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
    let told = json!([{ "text": wrong, "count": 20 }, { "text": "ERR busy", "count": 20 }]);
    assert_eq!((&figures["failures"], &figures["failures_unlisted"]), (&told, &json!(0)), "{figures}");
    assert_eq!(figures["errors_by_kind"]["status"], 40, "{figures}");

    let cached = server(b"\r\n", |n, _| match n % 3 {
        0 => b"SERVER_ERROR out of memory storing object\r\n".to_vec(),
        1 => b"CLIENT_ERROR bad command line format\r\n".to_vec(),
        _ => b"VALUE k 0 1\r\nv\r\nSERVER_ERROR late\r\n".to_vec(),
    });
    let figures = load(&format!("memcached://{}", cached.address), &["-X", "get k"]);
    let said: Vec<&Value> =
        figures["failures"].as_array().expect("a list").iter().map(|f| &f["text"]).collect();
    for text in ["SERVER_ERROR out of memory storing object", "CLIENT_ERROR bad command line format"] {
        assert!(said.contains(&&json!(text)), "`{text}`: {figures}");
    }
    assert_eq!((said.len(), said.contains(&&json!("SERVER_ERROR late"))), (3, true), "{figures}");

    let web = server(b"\r\n\r\n", |n, _| {
        let status = if n % 2 == 0 { "503 Nothing here" } else { "200 OK" };
        format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").into_bytes()
    });
    let figures = load(&web.url(), &[]);
    assert_eq!(figures["failures"], json!([{ "text": "503 Service Unavailable", "count": 30 }]), "{figures}");
    let good = load(&Server::answering(crate::support::server::GOOD).url(), &[]);
    assert_eq!((&good["failures"], &good["failures_unlisted"]), (&json!([]), &json!(0)), "{good}");
}

#[test]
fn a_hostile_server_gets_no_memory_and_no_terminal() {
    let hostile = server(b"k\r\n", |n, _| {
        let noise = "\u{1b}]0;mine\u{7}\u{1b}[2J\u{202e}".repeat(10_000);
        [b"-", format!("{n} {noise}").as_bytes(), b"\xff\xfe\r\n"].concat()
    });
    let url = format!("redis://{}", hostile.address);
    let figures = load(&url, &["-X", "GET k"]);
    let failures = figures["failures"].as_array().expect("a list");
    assert_eq!((failures.len(), &figures["failures_unlisted"]), (5, &json!(55)), "{figures}");
    for failure in failures {
        let text = failure["text"].as_str().expect("a text");
        assert!(text.len() <= 120 && !text.contains(['\u{202e}', '\u{1b}']), "{text:?}");
        assert!(!text.chars().any(char::is_control), "{text:?}");
    }
    for format in ["text", "csv", "markdown"] {
        let world = World::idle();
        let ended = world.weigh(&["load", &url, "-n", "60", "-X", "GET k", "--format", format]).end();
        let wild = |c: char| c == '\u{202e}' || (c.is_control() && c != '\n' && c != '\r');
        assert!(ended.stdout.contains("0;mine") && !ended.stdout.contains(wild), "{ended}");
        assert!(!ended.stderr.contains(wild), "{ended}");
    }
}

#[test]
fn secrets_that_a_server_repeats_are_hidden() {
    let redis = server(b"\r\n", |_, request| {
        // A command's parts, each on two lines: answered at the end of the last.
        match request {
            b"sw0rdfish\r\n" => b"+OK\r\n".to_vec(),
            b"k\r\n" => b"-ERR sw0rdfish is no password, nor is token=abcdef\r\n".to_vec(),
            _ => Vec::new(),
        }
    });
    let url = format!("redis://{}", redis.address);
    let world = World::idle();
    for password in ["sw0rdfish", "env:WEIGH_STORY_PASSWORD"] {
        let arguments = ["load", &url, "-n", "20", "-X", "GET k", "--password", password];
        let ended = world.weigh(&arguments).env("WEIGH_STORY_PASSWORD", "sw0rdfish").end();
        let all = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!all.contains("sw0rdfish") && !all.contains("abcdef"), "{ended}");
        assert!(all.contains("20 × ERR <redacted sha256:"), "{ended}");
    }
}
