//! The framer for memcached against replies of every shape, whole and cut.
//!
//! Its oracle is the server itself: `servers.rs`.

use crate::events;

use events::{After, Seen, assert_same_however_cut, reply, run};
use proptest::prelude::*;
use weighbridge_load::framer::{Cancel, Framer, Out};
use weighbridge_load::memcached::{LINE_LIMIT, Memcached, command};
use weighbridge_load::request::Rendered;
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

const GET: &str = "get a";
const GETS: &str = "get a b";
const SET: &str = "set a 0 0 x";
const MG: &str = "mg a v";

fn rendered(text: &str) -> Rendered {
    let words: Vec<&str> = text.split(' ').collect();
    command(OperationId(0), &words, None).expect("renders")
}

fn requests(texts: &[&str]) -> Vec<Rendered> {
    texts.iter().map(|text| rendered(text)).collect()
}

fn seen(texts: &[&str], bytes: &[u8]) -> Vec<Seen> {
    run(&mut Memcached::new(), &requests(texts), std::iter::once(bytes), After::Nothing)
}

fn check_cuts(texts: &[&str], bytes: &[u8], after: After, cuts: &[usize]) {
    assert_same_however_cut(&|| Box::new(Memcached::new()), &requests(texts), bytes, after, cuts);
}

#[test]
fn every_shape_has_its_status_and_value() {
    for (request, bytes, status, value) in [
        (GET, "VALUE a 0 5\r\nhello\r\nEND\r\n", 200, "hello"),
        (GET, "VALUE a 0 0\r\n\r\nEND\r\n", 200, ""),
        (GET, "VALUE a 4294967295 7 18446744073709551615\r\nEND\r\n.\n\r\nEND\r\n", 200, "END\r\n.\n"),
        (GETS, "VALUE a 0 1\r\nx\r\nVALUE b 0 2\r\nyz\r\nEND\r\n", 200, "x\nyz"),
        (GETS, "VALUE a 0 0\r\n\r\nVALUE b 0 2\r\nyz\r\nEND\r\n", 200, "\nyz"),
        (GET, "END\r\n", 404, ""),
        (GET, "ERROR\r\n", 500, "ERROR"),
        (GET, "CLIENT_ERROR bad key\r\n", 500, "CLIENT_ERROR bad key"),
        (SET, "STORED\r\n", 200, "STORED"),
        (SET, "NOT_STORED\r\n", 412, "NOT_STORED"),
        (SET, "EXISTS\r\n", 409, "EXISTS"),
        (SET, "NOT_FOUND\r\n", 404, "NOT_FOUND"),
        (SET, "SERVER_ERROR out of memory\r\n", 500, "SERVER_ERROR out of memory"),
        ("delete a", "DELETED\r\n", 200, "DELETED"),
        ("touch a 1", "TOUCHED\r\n", 200, "TOUCHED"),
        ("incr a 1", "18446744073709551615\r\n", 200, "18446744073709551615"),
        ("version", "VERSION 1.6.18\r\n", 200, "VERSION 1.6.18"),
        ("flush_all", "OK\r\n", 200, "OK"),
        (MG, "VA 5 f0 t-1\r\nhello\r\n", 200, "hello"),
        (MG, "VA 0\r\n\r\n", 200, ""),
        (MG, "HD t30\r\n", 200, "HD t30"),
        (MG, "EN\r\n", 404, "EN"),
        ("ms a x", "HD\r\n", 200, "HD"),
        ("ms a x", "NS\r\n", 412, "NS"),
        ("ms a x", "EX c1\r\n", 409, "EX c1"),
        ("md a", "NF\r\n", 404, "NF"),
        ("ma a v", "VA 1\r\n7\r\n", 200, "7"),
        ("mn", "MN\r\n", 200, "MN"),
        ("me a", "ME a exp=-1 la=2\r\n", 200, "ME a exp=-1 la=2"),
    ] {
        let whole = reply(&seen(&[request], bytes.as_bytes()), 0);
        assert_eq!(whole, Some((status, value.to_owned(), None)), "{bytes:?}");
        check_cuts(&[request], bytes.as_bytes(), After::Eof, &[]);
    }
}

#[test]
fn an_error_after_a_value_is_reported_after_it() {
    let bytes = b"VALUE a 0 1\r\nx\r\nSERVER_ERROR out of memory\r\nEND\r\n";
    let both = seen(&[GET, GET], bytes);
    assert_eq!(reply(&both, 0), Some((200, "x".to_owned(), Some(500))));
    assert_eq!(reply(&both, 1), Some((404, String::new(), None)));
    check_cuts(&[GET, GET], bytes, After::Eof, &[]);
}

#[test]
fn a_value_under_another_key_breaks_the_connection() {
    for bytes in [
        "VALUE b 0 1\r\nx\r\nEND\r\n",
        "VALUE aa 0 1\r\nx\r\nEND\r\n",
        "VALUE a 0 1\r\nx\r\nVALUE a 0 1\r\nx\r\nEND\r\n",
    ] {
        let all = seen(&[GET], bytes.as_bytes());
        assert_eq!(all.last(), Some(&Seen::Broken(ErrorKind::Protocol)), "{bytes:?}");
    }
    // Keys are matched per request in a pipeline.
    let all = seen(&["get a", "get bc"], b"VALUE a 0 1\r\nx\r\nEND\r\nVALUE bc 0 1\r\ny\r\nEND\r\n");
    assert_eq!(reply(&all, 1), Some((200, "y".to_owned(), None)));
}

#[test]
fn replies_come_in_the_order_of_requests() {
    let all = seen(&[SET, GET, MG, GET], b"STORED\r\nVALUE a 0 1\r\nx\r\nEND\r\nHD\r\nEND\r\n");
    let statuses: Vec<_> = (0..4).map(|id| reply(&all, id).expect("whole").0).collect();
    assert_eq!(statuses, [200, 200, 200, 404]);
}

#[test]
fn invalid_answers_break_the_connection() {
    for (request, bytes) in [
        (GET, "STORED\r\n"),
        (GET, "HD\r\n"),
        (GET, "VALUE a 0\r\n"),
        (GET, "VALUE a 0 -1\r\n"),
        (GET, "VALUE a x 1\r\n"),
        (GET, "VALUE a 0 18446744073709551616\r\n"),
        (GET, "VALUE a 0 1 2 3\r\n"),
        (GET, "VALUE  0 1\r\n"),
        (GET, "VALUE\r\n"),
        (GET, "VALUE a 0 1\r\nxy\r\n"),
        (GET, "VALUE a 0 1\r\nx\ry"),
        (GET, "VALUE a 0 1\r\nx\r\nSTORED\r\n"),
        (GET, "END \r\n"),
        (GET, "END\n"),
        (GET, "\r\n"),
        (GET, "HTTP/1.1 400 Bad Request\r\n"),
        (SET, "END\r\n"),
        (SET, "VALUE a 0 1\r\nx\r\n"),
        (SET, "STORED now\r\n"),
        (SET, "18446744073709551616\r\n"),
        (SET, "-1\r\n"),
        (MG, "STORED\r\n"),
        (MG, "VA\r\n"),
        (MG, "VA x\r\n"),
        (MG, "VA -1\r\n"),
        (MG, "VA 1\r\nxy\r\n"),
    ] {
        let broken = seen(&[request], bytes.as_bytes());
        assert_eq!(broken.last(), Some(&Seen::Broken(ErrorKind::Protocol)), "{bytes:?}");
        check_cuts(&[request], bytes.as_bytes(), After::Eof, &[]);
    }
    let unasked = seen(&[GET], b"END\r\nEND\r\n");
    assert_eq!(unasked.last(), Some(&Seen::Broken(ErrorKind::Protocol)), "bytes that nobody asked for");
}

#[test]
fn lengths_and_lines_cost_bounded_memory() {
    // `run` checks how much is kept.
    let filler = vec![b'x'; 64 * 1024];
    for (request, head) in [(GET, "VALUE a 0 18446744073709551615\r\n"), (MG, "VA 18446744073709551615\r\n")]
    {
        let pieces = std::iter::once(head.as_bytes()).chain(std::iter::repeat_n(&filler[..], 32));
        let seen = run(&mut Memcached::new(), &requests(&[request]), pieces, After::Nothing);
        let Some(Seen::Data(0, data)) = seen.last() else { panic!("no data") };
        assert_eq!(data.len(), 32 * filler.len());
    }
    for request in [GET, SET, MG] {
        let pieces = std::iter::repeat_n(&filler[..100], LINE_LIMIT / 100 + 1);
        let seen = run(&mut Memcached::new(), &requests(&[request]), pieces, After::Nothing);
        assert_eq!(seen, [Seen::Broken(ErrorKind::Protocol)]);
    }
}

#[test]
fn the_end_of_the_connection_ends_what_is_outstanding_and_a_reset_forgets_it() {
    let reset = Outcome::Error(ErrorKind::Reset);
    let mut framer = Memcached::new();
    let cut =
        run(&mut framer, &requests(&[GET, SET]), std::iter::once(&b"VALUE a 0 5\r\nhe"[..]), After::Eof);
    assert_eq!(
        cut,
        [Seen::Head(0, 200), Seen::Data(0, b"he".to_vec()), Seen::Done(0, reset), Seen::Done(1, reset)]
    );
    for left in [&b"VALUE a 0 5\r\nhe"[..], b"VALUE a 0 1\r\nx\r\n", b"VAL", b"nonsense\r\n"] {
        framer.reset();
        run(&mut framer, &requests(&[GET]), std::iter::once(left), After::Nothing);
        framer.reset();
        let fresh = run(&mut framer, &requests(&[GET]), std::iter::once(&b"END\r\n"[..]), After::Nothing);
        assert_eq!(reply(&fresh, 0), Some((404, String::new(), None)), "{left:?}");
    }
    assert_eq!(framer.cancel(0, &mut Out::default()), Cancel::Connection);
}

/// A request with a matching reply, and the expected status and value.
fn any_exchange() -> impl Strategy<Value = (&'static str, Vec<u8>, u16, Vec<u8>)> {
    let data = || proptest::collection::vec(any::<u8>(), 0..30);
    let values = proptest::collection::vec(data(), 0..4).prop_map(|values| {
        let mut bytes = Vec::new();
        for value in &values {
            bytes.extend(format!("VALUE key 0 {}\r\n", value.len()).into_bytes());
            bytes.extend(value);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"END\r\n");
        let status = if values.is_empty() { 404 } else { 200 };
        (GETS, bytes, status, values.join(&b'\n'))
    });
    let meta = data().prop_map(|data| {
        let bytes =
            [format!("VA {} f1\r\n", data.len()).into_bytes(), data.clone(), b"\r\n".to_vec()].concat();
        (MG, bytes, 200, data)
    });
    let line = prop_oneof![
        Just((SET, "STORED", 200)),
        Just((SET, "NOT_STORED", 412)),
        Just((SET, "17", 200)),
        Just((SET, "SERVER_ERROR x y", 500)),
        Just((MG, "HD", 200)),
        Just((MG, "EN", 404)),
        Just((GET, "CLIENT_ERROR x", 500)),
    ];
    let line = line.prop_map(|(request, line, status)| {
        (request, format!("{line}\r\n").into_bytes(), status, line.as_bytes().to_vec())
    });
    prop_oneof![values, meta, line]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn pipelined_replies_are_separated(exchanges in proptest::collection::vec(any_exchange(), 1..6)) {
        let texts: Vec<_> = exchanges.iter().map(|(request, ..)| *request).collect();
        let bytes: Vec<u8> = exchanges.iter().flat_map(|(_, bytes, ..)| bytes.clone()).collect();
        let all = seen(&texts, &bytes);
        for (id, (_, _, status, value)) in (0..).zip(&exchanges) {
            let value = String::from_utf8_lossy(value).into_owned();
            prop_assert_eq!(reply(&all, id), Some((*status, value, None)));
        }
    }

    #[test]
    fn cutting_anywhere_changes_nothing(
        exchanges in proptest::collection::vec(any_exchange(), 1..5),
        noise in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cuts in proptest::collection::vec(any::<usize>(), 0..6),
        eof in any::<bool>(),
    ) {
        let texts: Vec<_> = exchanges.iter().map(|(request, ..)| *request).collect();
        let mut bytes: Vec<u8> = exchanges.iter().flat_map(|(_, bytes, ..)| bytes.clone()).collect();
        for (at, byte) in noise {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check_cuts(&texts, &bytes, if eof { After::Eof } else { After::Nothing }, &cuts);
    }
}
