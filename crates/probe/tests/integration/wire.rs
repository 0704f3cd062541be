//! Peers that break HTTP/2 and Thrift, or use what they allow to the last: memory is bounded, and others are served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use weighbridge_model::experiment::Protocol;
use weighbridge_probe::{Canned, Options};

use crate::common::Probe;

/// What the process may grow by, whatever peers do.
const ROOM: u64 = 64 << 20;

const LARGE: usize = 4 << 20;

pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

fn probe(protocol: Protocol) -> Probe {
    let mut canned = Canned::over(protocol).expect("spoken");
    canned.add("/large", b"", 200, &[vec![b'x'; LARGE]]);
    canned.add("get", b"\0", 200, &[b"\0".to_vec()]);
    Probe::start(Options { canned: Arc::new(canned), ..Options::new("null".parse().expect("a law")) })
}

fn connect(probe: &Probe) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", probe.port)).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(5))).expect("set");
    stream.set_write_timeout(Some(Duration::from_millis(300))).expect("set");
    stream
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// HEADERS that end their block and, by flags, their stream: `:path` as a literal that is not indexed.
pub fn get(path: &str, stream: u32, ends: u8) -> Vec<u8> {
    let block = [&[0x82, 0x86, 0x04, path.len() as u8], path.as_bytes()].concat();
    frame(1, 4 | ends, stream, &block)
}

/// The memory that this process, in which the probe is a thread, has now.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("read");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("pages") * 4096
}

/// Whether a request on another connection is answered.
fn is_alive(probe: &Probe, protocol: Protocol) -> bool {
    let mut stream = connect(probe);
    let (asked, wanted): (Vec<u8>, &[u8]) = if protocol == Protocol::HTTP2_JSON {
        // Its SETTINGS, our acknowledgement, and the head of a reply with status 404.
        let asked = [PREFACE, &frame(4, 0, 0, b""), &get("/else", 1, 1)].concat();
        (asked, &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 4, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0])
    } else {
        let call = b"\0\0\0\x10\x80\x01\0\x01\0\0\0\x03get\0\0\0\x07\0";
        (call.to_vec(), b"\0\0\0\x10\x80\x01\0\x02\0\0\0\x03get\0\0\0\x07\0")
    };
    stream.write_all(&asked).expect("sent");
    let mut reply = vec![0; wanted.len()];
    stream.read_exact(&mut reply).expect("answered");
    reply == wanted
}

/// Sends pieces without reading anything until the peer ends the connection, takes no more, or has had them all.
fn send(stream: &mut TcpStream, pieces: impl IntoIterator<Item = Vec<u8>>) {
    for piece in pieces {
        if stream.write_all(&piece).is_err() {
            return;
        }
    }
}

/// Whether the connection ends within a second.
fn ends(stream: &mut TcpStream) -> bool {
    let (mut buffer, start) = ([0; 4096], Instant::now());
    stream.set_read_timeout(Some(Duration::from_secs(1))).expect("set");
    while start.elapsed() < Duration::from_secs(2) {
        match stream.read(&mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
    false
}

#[test]
fn no_peer_of_http2_takes_much_memory() {
    let probe = probe(Protocol::HTTP2_JSON);
    assert!(is_alive(&probe, Protocol::HTTP2_JSON));
    let before = resident();
    let opened = [PREFACE, &frame(4, 0, 0, b"")].concat();
    // More than all streams, none of whose requests ends; each then gets bytes without end.
    let streams = || (0..5_000).map(|n| get("/large", 2 * n + 1, 0));
    let endless = || (0..2_000).map(|_| frame(0, 0, 1, &[0; 16_384]));
    // Large replies on all streams at once, none of which is read.
    let large = || (0..1_000).map(|n| get("/large", 2 * n + 1, 1));
    let blocks =
        || [frame(1, 1, 1, &[])].into_iter().chain((0..5_000).map(|_| frame(9, 0, 1, &[0x82; 16_000])));
    let pings = || (0..2_000).map(|_| frame(6, 0, 0, &[7; 8]).repeat(1_000));
    let settings = || (0..2_000).map(|_| frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]).repeat(1_000));
    let resets = || (0..50_000).flat_map(|n| [get("/large", 2 * n + 1, 0), frame(3, 0, 2 * n + 1, &[0; 4])]);
    let windows = || [frame(8, 0, 0, &[0x7f, 0, 0, 0]), frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff])];
    let mut open = Vec::new();
    for _ in 0..4 {
        let floods: [Box<dyn Iterator<Item = Vec<u8>>>; 6] = [
            Box::new(streams().chain(endless())),
            Box::new(windows().into_iter().chain(large())),
            Box::new(blocks()),
            Box::new(pings()),
            Box::new(settings()),
            Box::new(resets()),
        ];
        for flood in floods {
            let mut stream = connect(&probe);
            send(&mut stream, [opened.clone()]);
            send(&mut stream, flood);
            open.push(stream);
        }
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < ROOM, "{} MiB", grown >> 20);
    assert!(is_alive(&probe, Protocol::HTTP2_JSON));
}

#[test]
fn a_large_reply_waits_for_the_windows_and_is_then_whole() {
    let probe = probe(Protocol::HTTP2_JSON);
    let mut stream = connect(&probe);
    // A window of 10 bytes for streams, which is widened by and by, then at once.
    let settings = frame(4, 0, 0, &[0, 4, 0, 0, 0, 10]);
    send(&mut stream, [PREFACE.to_vec(), settings, get("/large", 1, 1)]);
    let (mut body, mut is_over) = (0, false);
    while !is_over {
        let mut head = [0; 9];
        stream.read_exact(&mut head).expect("a frame");
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        stream.read_exact(&mut payload).expect("whole");
        if head[3] != 0 {
            continue;
        }
        assert!(body > 10 || payload.len() <= 10, "the window is heeded");
        assert!(payload.iter().all(|byte| *byte == b'x'));
        body += payload.len();
        is_over = head[4] & 1 == 1;
        let more = if body < 40 { 10_u32 } else { LARGE as u32 };
        let widened = [0, 1].map(|number| frame(8, 0, number, &more.to_be_bytes()));
        if body <= 40 {
            send(&mut stream, widened);
        }
    }
    assert_eq!(body, LARGE);
}

#[test]
fn what_breaks_http2_ends_the_connection_with_a_word() {
    let probe = probe(Protocol::HTTP2_JSON);
    for (what, bytes) in [
        ("HTTP/1.1", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec()),
        ("a frame that is too long", b"\x01\x00\x00\0\0\0\0\0\x01".to_vec()),
        ("DATA on no stream", frame(0, 0, 0, b"x")),
        ("DATA on a stream that is not open", frame(0, 0, 5, b"x")),
        ("an even stream", get("/large", 2, 1)),
        ("a block that is not HPACK", frame(1, 5, 1, &[0xff, 0xff, 0xff, 0xff, 0xff])),
        ("an interrupted block", [frame(1, 1, 1, &[0x82]), frame(6, 0, 0, &[0; 8])].concat()),
        ("a continuation of nothing", frame(9, 4, 1, &[0x82])),
        ("SETTINGS of five bytes", frame(4, 0, 0, &[0; 5])),
        ("a window beyond the largest", frame(4, 0, 0, &[0, 4, 0x80, 0, 0, 0])),
        ("a window widened by nothing", frame(8, 0, 0, &[0; 4])),
        ("a window widened too far", frame(8, 0, 0, &[0x7f, 0xff, 0xff, 0xff])),
        ("more padding than bytes", [get("/large", 1, 0), frame(0, 8, 1, &[9, 0])].concat()),
        ("DATA behind the end", [get("/large", 1, 1), frame(0, 0, 1, b"x")].concat()),
        ("a promise", frame(5, 4, 1, &[0; 8])),
        ("a short PING", frame(6, 0, 0, &[0; 7])),
    ] {
        let mut stream = connect(&probe);
        let preface = if what == "HTTP/1.1" { b"" } else { PREFACE };
        stream.write_all(&[preface, &bytes].concat()).expect("sent");
        let mut seen = Vec::new();
        let _ = stream.read_to_end(&mut seen);
        // GOAWAY on stream 0 with PROTOCOL_ERROR.
        let goaway = seen.windows(9).any(|head| head == [0, 0, 8, 7, 0, 0, 0, 0, 0]);
        assert!(goaway && seen.ends_with(&[0, 0, 0, 1]), "{what}: {seen:02x?}");
    }
    assert!(is_alive(&probe, Protocol::HTTP2_JSON));
}

#[test]
fn what_breaks_thrift_ends_the_connection_and_long_calls_take_no_memory() {
    let probe = probe(Protocol::THRIFT_BINARY);
    assert!(is_alive(&probe, Protocol::THRIFT_BINARY));
    let before = resident();
    let reply = b"\0\0\0\x10\x80\x01\0\x02\0\0\0\x03get\0\0\0\0\0";
    for (what, bytes) in [
        ("a negative length", b"\xff\xff\xff\xff".to_vec()),
        ("a frame shorter than its envelope", b"\0\0\0\x05\x80\x01\0\x01\0\0\0\x03get\0\0\0\0\0".to_vec()),
        ("the old form", b"\0\0\0\x10\0\0\0\x03get\x01\0\0\0\0\0\0\0\0\0".to_vec()),
        ("a reply", reply.to_vec()),
        (
            "a name without end",
            [&b"\x7f\xff\xff\xff\x80\x01\0\x01\x7f\xff\xff\xff"[..], &[b'a'; 300]].concat(),
        ),
    ] {
        let mut stream = connect(&probe);
        stream.write_all(&bytes).expect("sent");
        assert!(ends(&mut stream), "{what}");
    }
    // The longest call that can be: arguments without end, of which nothing is kept.
    let mut stream = connect(&probe);
    send(&mut stream, [b"\x7f\xff\xff\xff\x80\x01\0\x01\0\0\0\x03get\0\0\0\0".to_vec()]);
    send(&mut stream, (0..2_000).map(|_| vec![0; 64 << 10]));
    // A method that nobody knows: an exception, and the connection goes on.
    let mut other = connect(&probe);
    other.write_all(b"\0\0\0\x10\x80\x01\0\x01\0\0\0\x03put\0\0\0\x09\0").expect("sent");
    let mut exception = [0; 17];
    other.read_exact(&mut exception).expect("a reply");
    assert_eq!(exception, *b"\0\0\0\x0d\x80\x01\0\x03\0\0\0\0\0\0\0\x09\0");
    let grown = resident().saturating_sub(before);
    assert!(grown < ROOM, "{} MiB", grown >> 20);
    assert!(is_alive(&probe, Protocol::THRIFT_BINARY));
}

#[test]
fn random_bytes_do_no_harm() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for protocol in [Protocol::HTTP2_JSON, Protocol::THRIFT_BINARY] {
        let probe = probe(protocol);
        for round in 0..300 {
            let mut stream = connect(&probe);
            let length = random.random_range(0..2_000);
            let mut bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
            if round % 2 == 0 {
                // Frames of all kinds with short payloads, so that more of them is read.
                let frames = (0..40).flat_map(|_| {
                    let payload: Vec<u8> = (0..random.random_range(0..12)).map(|_| random.random()).collect();
                    frame(random.random_range(0..10), random.random(), random.random_range(0..4), &payload)
                });
                bytes = [PREFACE.to_vec(), frames.collect()].concat();
            }
            let _ = stream.write_all(&bytes);
        }
        assert!(is_alive(&probe, protocol), "{}", protocol.name());
    }
}
