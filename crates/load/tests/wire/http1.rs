//! The HTTP/1.1 framer against replies of every shape, whole, cut at every byte, and cut at random.

use proptest::prelude::*;
use weighbridge_load::Framing;
use weighbridge_load::framer::{Event, Framer, In, Out, UNIT_LIMIT};
use weighbridge_load::http1::Http1;
use weighbridge_load::request::{Rendered, Request};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

const RESET: Outcome = Outcome::Error(ErrorKind::Reset);

/// An event as an owned value; the pieces of one reply's data are joined, since their boundaries mean nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Head(u64, u16, Vec<(String, Vec<u8>)>),
    Data(u64, Vec<u8>),
    Done(u64, Outcome),
    Refused(u64),
    Drain,
    Broken(ErrorKind),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Eof,
    Nothing,
}

fn rendered(method: &str) -> Rendered {
    let request = Request {
        method: method.into(),
        target: "/".into(),
        authority: "localhost".into(),
        ..Request::default()
    };
    Framing::Http1.render(OperationId(0), &request).expect("renders")
}

fn note(seen: &mut Vec<Seen>, event: Event<'_>) {
    match event {
        Event::Head(id, head) => {
            let fields = head.fields.iter().map(|f| (f.name.to_owned(), f.value.to_vec())).collect();
            seen.push(Seen::Head(id, head.status, fields));
        }
        Event::Data(id, bytes) => match seen.last_mut() {
            Some(Seen::Data(last, joined)) if *last == id => joined.extend_from_slice(bytes),
            _ => seen.push(Seen::Data(id, bytes.to_vec())),
        },
        Event::Message(..) | Event::Value(..) | Event::Trailers(..) => {
            panic!("HTTP/1.1 reports neither messages, values of keys nor trailers")
        }
        Event::Done(id, outcome) => seen.push(Seen::Done(id, outcome)),
        Event::Refused(id) => seen.push(Seen::Refused(id)),
        Event::Drain => seen.push(Seen::Drain),
        Event::Broken(kind) => seen.push(Seen::Broken(kind)),
    }
}

/// Starts one request per method on one connection, then passes the pieces as reads would.
fn run<'p>(methods: &[&str], pieces: impl Iterator<Item = &'p [u8]>, after: After) -> Vec<Seen> {
    let (mut framer, mut out, mut seen) = (Http1::new(), Out::default(), Vec::new());
    for (id, method) in methods.iter().enumerate() {
        framer.start(id as u64, &rendered(method), &mut out).expect("room");
    }
    let mut rest = Vec::new();
    for piece in pieces {
        rest.extend_from_slice(piece);
        let mut input = In::new(&rest);
        framer.receive(&mut input, &mut out, &mut |event| note(&mut seen, event));
        let consumed = input.consumed();
        rest.drain(..consumed);
        if matches!(seen.last(), Some(Seen::Broken(_))) {
            return seen;
        }
    }
    if after == After::Eof {
        framer.eof(&mut |event| note(&mut seen, event));
    }
    seen
}

fn whole(methods: &[&str], bytes: &[u8], after: After) -> Vec<Seen> {
    run(methods, std::iter::once(bytes), after)
}

/// The one reply's status, body and outcome.
fn reply(bytes: &str) -> (u16, String, Outcome) {
    let seen = whole(&["GET"], bytes.as_bytes(), After::Eof);
    let (mut status, mut body, mut outcome) = (0, Vec::new(), None);
    for event in seen {
        match event {
            Seen::Head(0, head, _) => status = head,
            Seen::Data(0, data) => body = data,
            Seen::Done(0, how) => outcome = Some(how),
            Seen::Drain => {}
            other => panic!("unexpected {other:?}"),
        }
    }
    (status, String::from_utf8(body).expect("text"), outcome.expect("the reply is over"))
}

fn is_protocol_error(bytes: &[u8]) -> bool {
    whole(&["GET"], bytes, After::Nothing).last() == Some(&Seen::Broken(ErrorKind::Protocol))
}

#[test]
fn bodies_end_where_their_head_says() {
    for (bytes, status, body) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
        ("HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"),
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", 404, ""),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
            200,
            "hello",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n0;x\r\n\r\n",
            200,
            "hello",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n0\r\nT: 1\r\nU: 2\r\n\r\n",
            200,
            "0123456789",
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nz\r\n0\r\n\r\n", 200, "z"),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end", 200, "until the end"),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, "until the end"),
        ("HTTP/1.0 200 OK\r\n\r\nold", 200, "old"),
        ("HTTP/1.1 204 No Content\r\n\r\n", 204, ""),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", 304, ""),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!",
            200,
            "!",
        ),
    ] {
        assert_eq!(reply(bytes), (status, body.to_owned(), Outcome::Ok), "{bytes}");
    }
}

#[test]
fn chunked_wins_over_a_length() {
    let bytes =
        "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    assert_eq!(reply(bytes), (200, "a".to_owned(), Outcome::Ok));
}

#[test]
fn a_reply_cut_short_is_a_reset() {
    for bytes in [
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n",
    ] {
        assert_eq!(reply(bytes).2, RESET, "{bytes}");
    }
}

#[test]
fn protocol_violations_are_protocol_errors() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for bytes in [
        "SSH-2.0-OpenSSH_9.2\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nX: a\r\n folded\r\nContent-Length: 0\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nBad Name: 1\r\n\r\n".to_owned(),
        "HTTP/1.1 101 Switching Protocols\r\n\r\n".to_owned(),
        "HTTP/1.1 999999 What\r\n\r\n".to_owned(),
        "HTTP/1.1 000 What\r\n\r\n".to_owned(),
        format!("{chunked}x\r\n"),
        format!("{chunked}-1\r\n"),
        format!("{chunked}2\r\nabc\r\n"),
        format!("{chunked}ffffffffffffffffff\r\n"),
        format!("{chunked}0\r\nBad Name: 1\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: 1\r\n".repeat(8193)),
        format!("{chunked}0\r\n{}\r\n", "X: 1\r\n".repeat(8193)),
    ] {
        assert!(is_protocol_error(bytes.as_bytes()), "{bytes}");
    }
}

#[test]
fn thousands_of_fields_are_read() {
    for count in [127, 128, 129, 1000, 8191] {
        let fields = "X: 1\r\n".repeat(count);
        let head = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nok");
        assert_eq!(reply(&head), (200, "ok".to_owned(), Outcome::Ok), "{count} fields in a head");
        let trailer =
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n{fields}\r\n");
        assert_eq!(reply(&trailer), (200, "ok".to_owned(), Outcome::Ok), "{count} fields in a trailer");
    }
}

#[test]
fn endless_heads_chunk_lines_and_trailers_are_cut_off() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (start, filler) in [
        ("HTTP/1.1 200 OK\r\n".to_owned(), "X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("HTTP/1.1 200 OK\r\nX: ".to_owned(), "a"),
        (String::new(), "\r\n"),
        (format!("{chunked}1;"), "x"),
        (format!("{chunked}0\r\nX: "), "a"),
    ] {
        let endless = start.clone() + &filler.repeat(2 * UNIT_LIMIT / filler.len());
        let pieces = endless.as_bytes().chunks(1000);
        let seen = run(&["GET"], pieces, After::Nothing);
        assert_eq!(seen.last(), Some(&Seen::Broken(ErrorKind::Protocol)), "{start}{filler}…");
    }
}

#[test]
fn a_long_head_is_found_whole_wherever_it_is_cut() {
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 2\r\n\r\nok", "a".repeat(50_000));
    let expected = whole(&["GET"], long.as_bytes(), After::Nothing);
    assert_eq!(expected.last(), Some(&Seen::Done(0, Outcome::Ok)));
    let near_the_end = long.len() - 40..long.len();
    for cut in near_the_end.chain([1, 8_191, 8_192, 8_193, 20_000]) {
        let (a, b) = long.as_bytes().split_at(cut);
        assert_eq!(run(&["GET"], [a, b].into_iter(), After::Nothing), expected, "cut at {cut}");
    }
    // Byte by byte after the length up to which heads are parsed eagerly.
    let (a, b) = long.as_bytes().split_at(49_000);
    assert_eq!(run(&["GET"], std::iter::once(a).chain(b.chunks(1)), After::Nothing), expected);
}

#[test]
fn head_requests_have_no_body_whatever_the_head_says() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let seen = whole(&["HEAD", "GET"], bytes, After::Nothing);
    let ends: Vec<_> = seen.iter().filter(|event| !matches!(event, Seen::Head(..))).cloned().collect();
    assert_eq!(ends, [Seen::Done(0, Outcome::Ok), Seen::Data(1, b"ok".to_vec()), Seen::Done(1, Outcome::Ok)]);
}

#[test]
fn pipelined_replies_go_to_their_requests_in_order() {
    let one = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    let seen = whole(&["GET"; 3], format!("{one}a{one}b{one}c").as_bytes(), After::Nothing);
    let data: Vec<_> = seen
        .iter()
        .filter_map(|event| match event {
            Seen::Data(id, data) => Some((*id, data[0])),
            _ => None,
        })
        .collect();
    assert_eq!(data, [(0, b'a'), (1, b'b'), (2, b'c')]);
}

#[test]
fn an_announced_close_refuses_the_rest_of_the_pipeline() {
    let bytes = b"HTTP/1.1 200 OK\r\nConnection: keep-alive, Close\r\nContent-Length: 1\r\n\r\na";
    let seen = whole(&["GET"; 3], bytes, After::Nothing);
    assert_eq!(
        seen[1..],
        [
            Seen::Drain,
            Seen::Data(0, b"a".to_vec()),
            Seen::Done(0, Outcome::Ok),
            Seen::Refused(1),
            Seen::Refused(2)
        ]
    );
    // The reply that announced it may be cut off itself.
    let seen = whole(&["GET"; 3], &bytes[..bytes.len() - 1], After::Eof);
    assert_eq!(seen[1..], [Seen::Drain, Seen::Done(0, RESET), Seen::Refused(1), Seen::Refused(2)]);
}

#[test]
fn http_1_0_keeps_alive_only_when_it_says_so() {
    let drains = |head: &str| {
        let bytes = format!("{head}Content-Length: 0\r\n\r\n");
        whole(&["GET"], bytes.as_bytes(), After::Nothing).contains(&Seen::Drain)
    };
    assert!(drains("HTTP/1.0 200 OK\r\n"));
    assert!(!drains("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n"));
    assert!(!drains("HTTP/1.1 200 OK\r\n"));
    assert!(drains("HTTP/1.1 200 OK\r\nConnection: close\r\n"));
}

#[test]
fn bytes_that_nobody_asked_for_break_the_connection() {
    assert_eq!(whole(&[], b"x", After::Nothing), [Seen::Broken(ErrorKind::Protocol)]);
    let extra = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab";
    let seen = whole(&["GET"], extra, After::Nothing);
    assert_eq!(seen[2..], [Seen::Done(0, Outcome::Ok), Seen::Broken(ErrorKind::Protocol)]);
}

#[test]
fn a_connection_that_drains_takes_no_more() {
    let (mut framer, mut out) = (Http1::new(), Out::default());
    let get = rendered("GET");
    framer.start(0, &get, &mut out).expect("room");
    let bytes = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    framer.receive(&mut In::new(bytes), &mut out, &mut |_| {});
    assert_eq!(framer.room(), 0);
    assert!(framer.start(1, &get, &mut out).is_err());
    framer.reset();
    assert!(framer.start(1, &get, &mut out).is_ok());
}

/// One reply of some shape, with the method that asks for it.
fn any_reply() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let body = proptest::collection::vec(any::<u8>(), 0..40);
    let sized = body.clone().prop_map(|body| {
        let head = format!("HTTP/1.1 200 OK\r\nA: b\r\nContent-Length: {}\r\n\r\n", body.len());
        ("GET", [head.into_bytes(), body].concat())
    });
    let chunked = proptest::collection::vec(body, 0..4).prop_map(|chunks| {
        let mut bytes = b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in chunks.iter().filter(|chunk| !chunk.is_empty()) {
            bytes.extend(format!("{:x};e=1\r\n", chunk.len()).into_bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\nTrailer: 1\r\n\r\n");
        ("GET", bytes)
    });
    prop_oneof![
        4 => sized,
        4 => chunked,
        1 => Just(("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n".to_vec())),
        1 => Just(("GET", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n".to_vec())),
        1 => Just(("GET", b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx".to_vec())),
        1 => Just(("GET", b"HTTP/1.1 200 OK\r\n\r\nrest".to_vec())),
        1 => Just(("GET", b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n".to_vec())),
        1 => proptest::collection::vec(any::<u8>(), 1..30).prop_map(|bytes| ("GET", bytes)),
    ]
}

/// The same event of request `id`.
fn renumbered(seen: Seen, id: u64) -> Seen {
    match seen {
        Seen::Head(_, status, fields) => Seen::Head(id, status, fields),
        Seen::Data(_, bytes) => Seen::Data(id, bytes),
        Seen::Done(_, outcome) => Seen::Done(id, outcome),
        other => other,
    }
}

#[test]
fn a_head_is_remembered_only_for_requests_of_its_shape() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    let seen = whole(&["HEAD", "GET", "HEAD"], format!("{head}{head}ok{head}").as_bytes(), After::Nothing);
    let data = seen.iter().filter(|seen| matches!(seen, Seen::Data(..))).count();
    let done = seen.iter().filter(|seen| matches!(seen, Seen::Done(_, Outcome::Ok))).count();
    assert_eq!((data, done), (1, 3), "{seen:?}");
    // One byte differs: another head.
    let other = head.replace('2', "3");
    let seen = whole(&["GET", "GET"], format!("{head}ok{other}yes").as_bytes(), After::Nothing);
    assert!(seen.contains(&Seen::Data(1, b"yes".to_vec())), "{seen:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn cutting_anywhere_changes_nothing(
        replies in proptest::collection::vec(any_reply(), 1..5),
        eof in any::<bool>(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let methods: Vec<&str> = replies.iter().map(|(method, _)| *method).collect();
        let bytes: Vec<u8> = replies.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        let after = if eof { After::Eof } else { After::Nothing };
        let expected = whole(&methods, &bytes, after);
        // Byte by byte.
        prop_assert_eq!(&run(&methods, bytes.chunks(1), after), &expected);
        // In two, at every byte.
        for cut in 0..=bytes.len() {
            let (a, b) = bytes.split_at(cut);
            prop_assert_eq!(&run(&methods, [a, b].into_iter(), after), &expected, "cut at {}", cut);
        }
        // In random pieces.
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces = at.windows(2).map(|two| &bytes[two[0]..two[1]]);
        prop_assert_eq!(&run(&methods, pieces, after), &expected);
    }

    #[test]
    fn a_repeated_head_means_the_same(
        first in any_reply(),
        second in any_reply(),
        order in proptest::collection::vec(any::<bool>(), 2..6),
    ) {
        // What each reply means to a new framer, one after the other until one ends the connection.
        let mut expected = Vec::new();
        let (mut methods, mut bytes) = (Vec::new(), Vec::new());
        for (id, one) in order.iter().enumerate() {
            let (method, reply) = if *one { &first } else { &second };
            methods.push(*method);
            bytes.extend_from_slice(reply);
            let alone = whole(&[*method], reply, After::Nothing);
            let ends = alone.iter().any(|seen| matches!(seen, Seen::Drain | Seen::Broken(_)))
                || !alone.iter().any(|seen| matches!(seen, Seen::Done(..)));
            if ends {
                break;
            }
            expected.extend(alone.into_iter().map(|seen| renumbered(seen, id as u64)));
        }
        let seen = whole(&methods, &bytes, After::Nothing);
        prop_assert_eq!(&seen[..expected.len().min(seen.len())], &expected[..]);
    }

    #[test]
    fn every_request_ends_exactly_once(
        replies in proptest::collection::vec(any_reply(), 1..5),
        cut in any::<prop::sample::Index>(),
    ) {
        let methods: Vec<&str> = replies.iter().map(|(method, _)| *method).collect();
        let mut bytes: Vec<u8> = replies.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        bytes.truncate(cut.index(bytes.len() + 1));
        let seen = whole(&methods, &bytes, After::Eof);
        let mut done: Vec<u64> = seen
            .iter()
            .filter_map(|event| match event {
                Seen::Done(id, _) | Seen::Refused(id) => Some(*id),
                _ => None,
            })
            .collect();
        let broken = matches!(seen.last(), Some(Seen::Broken(_)));
        let ids: Vec<u64> = (0..methods.len() as u64).collect();
        done.sort_unstable();
        // After a break the loop ends the remaining requests.
        prop_assert_eq!(&ids[..done.len()], &done[..]);
        prop_assert!(broken || done.len() == ids.len());
    }
}
