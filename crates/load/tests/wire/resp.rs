//! The framer for Redis against replies of every type, whole and cut, and against another implementation.

use crate::events;

use events::{After, Seen, assert_same_however_cut, reply, run};
use proptest::prelude::*;
use redis_protocol::resp3::decode::complete::decode;
use redis_protocol::resp3::types::OwnedFrame;
use weighbridge_load::framer::{Cancel, Framer, In, Out, UNIT_LIMIT};
use weighbridge_load::request::Rendered;
use weighbridge_load::resp::{DEPTH, Handshake, Resp, Version, command};
use weighbridge_model::id::OperationId;
use weighbridge_model::record::{ErrorKind, Outcome};

const RESET: Outcome = Outcome::Error(ErrorKind::Reset);

fn ping() -> Rendered {
    command(OperationId(0), &["PING"], None).expect("renders")
}

fn pings(count: usize) -> Vec<Rendered> {
    vec![ping(); count]
}

fn greeting(handshake: &Handshake) -> Rendered {
    command(OperationId(0), &["PING"], handshake.opening()).expect("renders")
}

fn seen(requests: usize, bytes: &[u8]) -> Vec<Seen> {
    run(&mut Resp::new(), &pings(requests), std::iter::once(bytes), After::Nothing)
}

fn one(bytes: &str) -> Option<(u16, String, Option<u16>)> {
    reply(&seen(1, bytes.as_bytes()), 0)
}

fn is_broken(bytes: &[u8]) -> bool {
    seen(1, bytes).last() == Some(&Seen::Broken(ErrorKind::Protocol))
}

#[test]
fn every_type_has_its_status_and_value() {
    for (bytes, status, value) in [
        ("+OK\r\n", 200, "OK"),
        ("+\r\n", 200, ""),
        (":-42\r\n", 200, "-42"),
        (":9223372036854775807\r\n", 200, "9223372036854775807"),
        ("$5\r\nhello\r\n", 200, "hello"),
        ("$0\r\n\r\n", 200, ""),
        ("$7\r\na\r\nb\r\nc\r\n", 200, "a\r\nb\r\nc"),
        ("$-1\r\n", 404, ""),
        ("*-1\r\n", 404, ""),
        ("_\r\n", 404, ""),
        ("-WRONGTYPE no list\r\n", 500, "WRONGTYPE no list"),
        ("!10\r\nERR a\r\nb c\r\n", 500, "ERR a\r\nb c"),
        ("#t\r\n", 200, "t"),
        (",3.25\r\n", 200, "3.25"),
        (",-inf\r\n", 200, "-inf"),
        (",nan\r\n", 200, "nan"),
        (",1.5e-7\r\n", 200, "1.5e-7"),
        (
            "(-3492890328409238509324850943850943825024385\r\n",
            200,
            "-3492890328409238509324850943850943825024385",
        ),
        ("=8\r\ntxt:some\r\n", 200, "some"),
        ("=4\r\nmkd:\r\n", 200, ""),
        ("*0\r\n", 200, ""),
        ("*2\r\n$1\r\na\r\n:2\r\n", 200, "a\n2"),
        ("*3\r\n$1\r\na\r\n$-1\r\n+b\r\n", 200, "a\n\nb"),
        ("*2\r\n*2\r\n+a\r\n+b\r\n*0\r\n", 200, "a\nb"),
        ("%2\r\n+k\r\n:1\r\n+l\r\n*1\r\n+x\r\n", 200, "k\n1\nl\nx"),
        ("~2\r\n+a\r\n+b\r\n", 200, "a\nb"),
        ("|1\r\n+ttl\r\n:9\r\n+OK\r\n", 200, "OK"),
        ("|0\r\n+OK\r\n", 200, "OK"),
        ("|1\r\n+a\r\n*1\r\n-x\r\n*2\r\n|1\r\n+b\r\n+c\r\n:1\r\n:2\r\n", 200, "1\n2"),
        ("$?\r\n;4\r\nHell\r\n;1\r\no\r\n;0\r\n", 200, "Hello"),
        ("$?\r\n;0\r\n", 200, ""),
        ("*?\r\n:1\r\n*?\r\n+x\r\n.\r\n.\r\n", 200, "1\nx"),
        ("%?\r\n+k\r\n*1\r\n:1\r\n+l\r\n%1\r\n+m\r\n+n\r\n.\r\n", 200, "k\n1\nl\nm\nn"),
        ("~?\r\n.\r\n", 200, ""),
    ] {
        assert_eq!(one(bytes), Some((status, value.to_owned(), None)), "{bytes:?}");
        assert_same_however_cut(&|| Box::new(Resp::new()), &pings(1), bytes.as_bytes(), After::Eof, &[]);
    }
}

#[test]
fn an_error_inside_an_aggregate_is_reported_after_it() {
    let exec = "*3\r\n+OK\r\n-ERR not an integer\r\n:1\r\n";
    assert_eq!(one(exec), Some((200, "OK\nERR not an integer\n1".to_owned(), Some(500))));
    assert_eq!(one("*1\r\n!3\r\nERR\r\n"), Some((200, "ERR".to_owned(), Some(500))));
    let next = seen(2, b"*1\r\n-E\r\n+OK\r\n");
    assert_eq!(reply(&next, 1), Some((200, "OK".to_owned(), None)), "it is forgotten with its reply");
}

#[test]
fn push_messages_are_skipped_only_between_replies() {
    let push = ">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n";
    let bytes = format!("{push}+A\r\n{push}{push}+B\r\n{push}>0\r\n|1\r\n+a\r\n+b\r\n{push}");
    let both = seen(2, bytes.as_bytes());
    assert_eq!(reply(&both, 0), Some((200, "A".to_owned(), None)));
    assert_eq!(reply(&both, 1), Some((200, "B".to_owned(), None)));
    assert_eq!(both.len(), 6, "{both:?}");
    assert_same_however_cut(&|| Box::new(Resp::new()), &pings(2), bytes.as_bytes(), After::Eof, &[]);
    assert!(is_broken(format!("*1\r\n{push}").as_bytes()));
}

#[test]
fn replies_come_in_the_order_of_requests() {
    let all = seen(3, b"+A\r\n$-1\r\n-E\r\n");
    let statuses: Vec<_> = (0..3).map(|id| reply(&all, id).expect("whole").0).collect();
    assert_eq!(statuses, [200, 404, 500]);
}

#[test]
fn invalid_replies_break_the_connection() {
    for bytes in [
        "HTTP/1.1 400 Bad Request\r\n",
        "STORED\r\n",
        "\r\n",
        "+OK\n",
        "+O\rK\r\n",
        ":\r\n",
        ":1a\r\n",
        ":9223372036854775808\r\n",
        "$\r\n",
        "$-2\r\n",
        "$+1\r\n",
        "$1\r\nab\r\n",
        "$1\r\na\rb",
        "*-2\r\n",
        "*a\r\n",
        "%-1\r\n",
        "~-1\r\n",
        "%9223372036854775807\r\n1",
        "%18446744073709551615\r\n",
        "_x\r\n",
        "#x\r\n",
        ",x\r\n",
        ",\r\n",
        "(1.5\r\n",
        "(\r\n",
        "=3\r\ntxt\r\n",
        "=5\r\ntxtxx\r\n",
        "!-1\r\n",
        "!?\r\n",
        "|-1\r\n",
        "|?\r\n",
        ">?\r\n",
        ".\r\n",
        "*1\r\n.\r\n",
        "%?\r\n+k\r\n.\r\n",
        ";1\r\na\r\n",
        "$?\r\n+a\r\n",
        "$?\r\n;-1\r\n",
        "$?\r\n;1\r\nab",
        "*1\r\nx",
    ] {
        assert!(is_broken(bytes.as_bytes()), "{bytes:?}");
        assert_same_however_cut(&|| Box::new(Resp::new()), &pings(1), bytes.as_bytes(), After::Eof, &[]);
    }
    let unasked = seen(1, b"+OK\r\n+OK\r\n");
    assert_eq!(unasked.last(), Some(&Seen::Broken(ErrorKind::Protocol)), "bytes that nobody asked for");
    assert_eq!(seen(0, b"+"), [Seen::Broken(ErrorKind::Protocol)]);
}

#[test]
fn a_value_of_a_type_with_which_a_command_is_never_answered_breaks_the_connection() {
    for (words, right, wrong) in [
        (
            &["GET", "k"][..],
            &["$1\r\nx\r\n", "$-1\r\n", "_\r\n", "+QUEUED\r\n", "-ERR no\r\n"][..],
            &[":5\r\n", "*0\r\n"][..],
        ),
        (
            &["incr", "k"],
            &[":5\r\n", "+QUEUED\r\n", "-ERR no\r\n"],
            &["$1\r\n5\r\n", "*1\r\n:5\r\n", "_\r\n"],
        ),
        (&["LRANGE", "k", "0", "9"], &["*0\r\n", "*1\r\n$1\r\nx\r\n"], &[":5\r\n", "$1\r\nx\r\n"]),
        (&["EVAL", "return 1", "0"], &[":5\r\n", "*0\r\n", "$-1\r\n"], &[]),
    ] {
        let request = || vec![command(OperationId(0), words, None).expect("renders")];
        let seen = |bytes: &str| {
            run(&mut Resp::new(), &request(), std::iter::once(bytes.as_bytes()), After::Nothing)
        };
        for bytes in right {
            assert!(reply(&seen(bytes), 0).is_some(), "{words:?}: {bytes:?}");
        }
        for bytes in wrong {
            assert_eq!(seen(bytes).last(), Some(&Seen::Broken(ErrorKind::Protocol)), "{words:?}: {bytes:?}");
        }
    }
}

#[test]
fn nesting_has_a_bound_and_counts_cost_nothing() {
    let nested = |depth: usize| format!("{}:1\r\n", "*1\r\n".repeat(depth));
    assert_eq!(one(&nested(DEPTH)), Some((200, "1".to_owned(), None)));
    assert!(is_broken(nested(DEPTH + 1).as_bytes()));
    assert!(is_broken("|1\r\n".repeat(10_000).as_bytes()));
    // A length or a count alone makes the framer keep nothing; `run` checks how much is kept.
    let endless = vec![b'x'; 64 * 1024];
    for head in ["$9223372036854775807\r\n", "=9223372036854775807\r\ntxt:", "!9223372036854775807\r\n"] {
        let pieces = std::iter::once(head.as_bytes()).chain(std::iter::repeat_n(&endless[..], 32));
        let seen = run(&mut Resp::new(), &pings(1), pieces, After::Nothing);
        let Some(Seen::Data(0, data)) = seen.last() else { panic!("no data") };
        assert_eq!(data.len(), 32 * endless.len());
    }
    let ones = ":1\r\n".repeat(1024);
    for head in
        ["*1000000000\r\n", "*9223372036854775807\r\n", "%1000000000\r\n", "*?\r\n", ">1000000000\r\n"]
    {
        let pieces = std::iter::once(head.as_bytes()).chain(std::iter::repeat_n(ones.as_bytes(), 64));
        let seen = run(&mut Resp::new(), &pings(1), pieces, After::Eof);
        assert_eq!(seen.last(), Some(&Seen::Done(0, RESET)), "{head}");
    }
}

#[test]
fn an_endless_line_is_given_up() {
    for (head, limit) in [("+", UNIT_LIMIT), ("-", UNIT_LIMIT), ("(1", UNIT_LIMIT), ("$", 64), ("*1", 64)] {
        let filler = vec![b'1'; 1024];
        let pieces =
            std::iter::once(head.as_bytes()).chain(std::iter::repeat_n(&filler[..], limit / 1024 + 1));
        let seen = run(&mut Resp::new(), &pings(1), pieces, After::Nothing);
        assert_eq!(seen, [Seen::Broken(ErrorKind::Protocol)], "{head}");
    }
}

#[test]
fn the_end_of_the_connection_ends_what_is_outstanding() {
    let cut = run(&mut Resp::new(), &pings(3), std::iter::once(&b"+A\r\n$5\r\nhe"[..]), After::Eof);
    assert_eq!(
        cut,
        [
            Seen::Head(0, 200),
            Seen::Data(0, b"A".to_vec()),
            Seen::Done(0, Outcome::Ok),
            Seen::Head(1, 200),
            Seen::Data(1, b"he".to_vec()),
            Seen::Done(1, RESET),
            Seen::Done(2, RESET),
        ]
    );
}

#[test]
fn a_reset_framer_is_a_fresh_one() {
    let handshake = Handshake { version: Version::Three, ..Handshake::default() };
    let mut framer = Resp::new();
    for left in [&b"%1\r\n+a\r\n*2\r\n$5\r\nhe"[..], b"-NOPERM\r\n*1\r\n|1\r\n", b"x", b"$?\r\n;4\r\nab"] {
        run(&mut framer, &[greeting(&handshake)], std::iter::once(left), After::Nothing);
        framer.reset();
        let fresh = run(&mut framer, &pings(1), std::iter::once(&b"+OK\r\n"[..]), After::Nothing);
        assert_eq!(reply(&fresh, 0), Some((200, "OK".to_owned(), None)), "{left:?}");
        framer.reset();
    }
    assert_eq!(framer.cancel(0, &mut Out::default()), Cancel::Connection);
}

#[test]
fn a_handshake_is_sent_with_the_first_request_and_its_replies_are_not_reported() {
    let handshake = Handshake { version: Version::Three, login: None, database: 2 };
    let (mut framer, mut out) = (Resp::new(), Out::default());
    for id in 0..2 {
        framer.start(id, &greeting(&handshake), &mut out).expect("room");
    }
    let sent = String::from_utf8(out.pending().to_vec()).expect("text");
    let words: Vec<_> = sent.split("\r\n").filter(|line| !line.starts_with(['*', '$'])).collect();
    assert_eq!(words.join(" ").trim(), "HELLO 3 SELECT 2 PING PING");
    let requests = vec![greeting(&handshake); 2];
    let hello = "%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n";
    let bytes = format!("{hello}+OK\r\n+A\r\n+B\r\n");
    let seen = run(&mut Resp::new(), &requests, std::iter::once(bytes.as_bytes()), After::Nothing);
    assert_eq!(seen.len(), 6, "{seen:?}");
    assert_eq!(reply(&seen, 1), Some((200, "B".to_owned(), None)));
    assert_same_however_cut(&|| Box::new(Resp::new()), &requests, bytes.as_bytes(), After::Eof, &[]);
}

#[test]
fn a_refused_handshake_answers_every_request() {
    let handshake = Handshake { version: Version::Three, login: None, database: 2 };
    let requests = vec![greeting(&handshake); 2];
    // Redis answers the requests too, but not as they were meant.
    for (bytes, text) in [
        ("-NOPROTO sorry\r\n+OK\r\n+A\r\n*1\r\n-B\r\n", "NOPROTO sorry"),
        ("%0\r\n-ERR DB index\r\n+A\r\n$3\r\nabc\r\n", "ERR DB index"),
        ("-A\r\n!1\r\nB\r\n+A\r\n_\r\n", "A; B"),
        ("-\r\n+OK\r\n+A\r\n+B\r\n", "ERR"),
    ] {
        let seen = run(&mut Resp::new(), &requests, std::iter::once(bytes.as_bytes()), After::Nothing);
        for id in 0..2 {
            assert_eq!(reply(&seen, id), Some((500, text.to_owned(), None)), "{bytes:?}");
        }
        assert_same_however_cut(&|| Box::new(Resp::new()), &requests, bytes.as_bytes(), After::Eof, &[]);
    }
    let long = format!("-{}\r\n+OK\r\n+A\r\n+B\r\n", "x".repeat(100_000));
    let seen = run(&mut Resp::new(), &requests, std::iter::once(long.as_bytes()), After::Nothing);
    assert!(reply(&seen, 0).expect("whole").1.len() < 1000, "little of a long text is kept");
}

// --- Against another implementation ------------------------------------------------------------------------------

/// Status, value and late status according to the other implementation.
fn expected(frame: &OwnedFrame) -> (u16, String, Option<u16>) {
    if let Some((status, value)) = leaf(frame) {
        return (status, value, None);
    }
    let (mut leaves, mut late) = (Vec::new(), None);
    collect(frame, &mut leaves, &mut late);
    (200, leaves.join("\n"), late)
}

fn leaf(frame: &OwnedFrame) -> Option<(u16, String)> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(match frame {
        OwnedFrame::BlobString { data, .. }
        | OwnedFrame::SimpleString { data, .. }
        | OwnedFrame::BigNumber { data, .. }
        | OwnedFrame::VerbatimString { data, .. } => (200, text(data)),
        OwnedFrame::BlobError { data, .. } => (500, text(data)),
        OwnedFrame::SimpleError { data, .. } => (500, data.clone()),
        OwnedFrame::Boolean { data, .. } => (200, if *data { "t" } else { "f" }.to_owned()),
        OwnedFrame::Null => (404, String::new()),
        OwnedFrame::Number { data, .. } => (200, data.to_string()),
        OwnedFrame::Double { data, .. } => (200, data.to_string()),
        _ => return None,
    })
}

fn collect(frame: &OwnedFrame, leaves: &mut Vec<String>, late: &mut Option<u16>) {
    match frame {
        OwnedFrame::Array { data, .. } => data.iter().for_each(|inner| collect(inner, leaves, late)),
        OwnedFrame::Set { data, .. } => {
            let mut data: Vec<_> = data.iter().collect();
            data.sort_by_key(|element| number(element));
            data.into_iter().for_each(|inner| collect(inner, leaves, late));
        }
        OwnedFrame::Map { data, .. } => {
            let mut data: Vec<_> = data.iter().collect();
            data.sort_by_key(|(key, _)| number(key));
            for (key, value) in data {
                collect(key, leaves, late);
                collect(value, leaves, late);
            }
        }
        inner => {
            let (status, value) = leaf(inner).expect("a leaf");
            if status == 500 {
                *late = Some(500);
            }
            leaves.push(value);
        }
    }
}

/// The number at the original position of a key or element: the other implementation loses their order.
fn number(frame: &OwnedFrame) -> i64 {
    if let OwnedFrame::Number { data, .. } = frame { *data } else { panic!("a number, not {frame:?}") }
}

/// The bytes of a leaf.
fn any_leaf() -> impl Strategy<Value = Vec<u8>> {
    let blob = |mark: char| {
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(move |data| {
            let data: Vec<u8> = data.into_iter().map(|byte| byte & 0x7f).collect();
            [format!("{mark}{}\r\n", data.len()).into_bytes(), data, b"\r\n".to_vec()].concat()
        })
    };
    let line = |mark: char| "[ -~]{0,20}".prop_map(move |text| format!("{mark}{text}\r\n").into_bytes());
    prop_oneof![
        4 => blob('$'),
        1 => blob('!'),
        2 => line('+'),
        1 => line('-'),
        2 => any::<i64>().prop_map(|n| format!(":{n}\r\n").into_bytes()),
        1 => any::<bool>().prop_map(|b| format!("#{}\r\n", if b { 't' } else { 'f' }).into_bytes()),
        1 => Just(b"_\r\n".to_vec()),
        1 => "-?[1-9][0-9]{0,40}".prop_map(|n| format!("({n}\r\n").into_bytes()),
        1 => (-1000i32..1000).prop_map(|n| format!(",{}\r\n", f64::from(n) / 8.0).into_bytes()),
        1 => "[ -~]{0,20}".prop_map(|text| format!("={}\r\ntxt:{text}\r\n", text.len() + 4).into_bytes()),
    ]
}

/// The bytes of a reply. Keys of maps and elements of sets are ascending numbers, because the other implementation
/// merges equal ones.
fn any_reply() -> impl Strategy<Value = Vec<u8>> {
    any_leaf().prop_recursive(4, 24, 5, |inner| {
        let many = proptest::collection::vec(inner, 0..5);
        prop_oneof![
            many.clone().prop_map(|values| {
                [format!("*{}\r\n", values.len()).into_bytes(), values.concat()].concat()
            }),
            many.clone().prop_map(|values| {
                let mut bytes = format!("%{}\r\n", values.len()).into_bytes();
                for (key, value) in values.iter().enumerate() {
                    bytes.extend(format!(":{key}\r\n").into_bytes());
                    bytes.extend(value);
                }
                bytes
            }),
            (0..5u32).prop_map(|count| {
                let elements: String = (0..count).map(|n| format!(":{n}\r\n")).collect();
                format!("~{count}\r\n{elements}").into_bytes()
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn replies_mean_what_another_implementation_says(replies in proptest::collection::vec(any_reply(), 1..5)) {
        let bytes = replies.concat();
        let all = seen(replies.len(), &bytes);
        let mut at = 0;
        for id in 0..replies.len() {
            let (frame, length) = decode(&bytes[at..]).expect("well-formed").expect("whole");
            at += length;
            prop_assert_eq!(reply(&all, id as u64), Some(expected(&frame)));
        }
        prop_assert_eq!(at, bytes.len());
    }

    #[test]
    fn cutting_anywhere_changes_nothing(
        replies in proptest::collection::vec(any_reply(), 1..4),
        requests in 0usize..5,
        noise in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        cuts in proptest::collection::vec(any::<usize>(), 0..6),
        eof in any::<bool>(),
    ) {
        let mut bytes = replies.concat();
        for (at, byte) in noise {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let after = if eof { After::Eof } else { After::Nothing };
        assert_same_however_cut(&|| Box::new(Resp::new()), &pings(requests), &bytes, after, &cuts);
    }

    #[test]
    fn commands_are_read_back_by_another_implementation(
        words in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 1..20),
    ) {
        prop_assume!(!words[0].is_empty());
        let Ok(rendered) = command(OperationId(0), &words, None) else { return Ok(()) };
        let (frame, length) = decode(rendered.bytes()).expect("well-formed").expect("whole");
        prop_assert_eq!(length, rendered.bytes().len());
        let OwnedFrame::Array { data, .. } = frame else { panic!("an array") };
        let read: Vec<Vec<u8>> = data.into_iter().map(|word| match word {
            OwnedFrame::BlobString { data, .. } => data,
            other => panic!("a string, not {other:?}"),
        }).collect();
        prop_assert_eq!(read, words.clone());
        prop_assert_eq!(rendered.key(), words.get(1).map_or(&b""[..], |key| key));
        if words.len() >= 3 {
            prop_assert_eq!(rendered.body(), &words[words.len() - 1][..]);
        }
    }

    #[test]
    fn every_request_ends_at_most_once(bytes in proptest::collection::vec(any::<u8>(), 0..60), requests in 0usize..4) {
        let seen = run(&mut Resp::new(), &pings(requests), std::iter::once(&bytes[..]), After::Eof);
        let done: Vec<u64> =
            seen.iter().filter_map(|event| if let Seen::Done(id, _) = event { Some(*id) } else { None }).collect();
        prop_assert!(done.iter().copied().eq(0..done.len() as u64));
        let broken = matches!(seen.last(), Some(Seen::Broken(_)));
        prop_assert!(broken || done.len() == requests);
    }
}

#[test]
fn nothing_is_read_after_a_break() {
    let mut framer = Resp::new();
    run(&mut framer, &pings(1), std::iter::once(&b"x"[..]), After::Nothing);
    let (mut input, mut count) = (In::new(b"+OK\r\n"), 0);
    framer.receive(&mut input, &mut Out::default(), &mut |_| count += 1);
    assert_eq!((input.consumed(), count), (0, 0));
}
