//! Workloads: the stream's distribution and what checks accept.

use super::*;
use crate::bind::join;
use crate::checks::{HttpCheck, PongCheck, Reset};
use weighbridge_load::framer::Head;
use weighbridge_load::session::Check;
use weighbridge_model::experiment::{
    CommandCheck, CommandSpec, CommandsSpec, Experiment, HttpSpec, PingpongSpec, Presence, RespSetup,
};
use weighbridge_model::id::OperationId;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{ErrorKind, Outcome};

fn load() -> LoadSpec {
    LoadSpec { timeout: Nanoseconds::from_secs(1), warmup: Nanoseconds::ZERO, ..LoadSpec::default() }
}

fn address() -> Address {
    Address { authority: "h:1".into(), base: "/".into(), scheme: UrlScheme::default() }
}

fn bind(spec: &WorkloadSpec) -> Workload {
    Workload::new(spec, &load(), Protocol::HTTP1_JSON, &address(), &|_| None).unwrap()
}

fn spec(workload: &str) -> WorkloadSpec {
    let text = format!("[workload]\n{workload}\n[[variant]]\nurl='http://h:1/'");
    Experiment::parse("x", &text).unwrap().points.remove(0).workload
}

fn verdict(check: &mut dyn Check, status: u16, pieces: &[&[u8]]) -> Outcome {
    check.head(&Head { status, fields: &[httparse::Header { name: "Server", value: b"s" }] });
    pieces.iter().for_each(|piece| check.data(piece));
    check.done()
}

#[test]
fn a_pong_is_checked_to_its_last_byte_however_it_is_cut() {
    for size in [4u64, 5, 6, 64, 9000] {
        let body: Vec<u8> = [&b"p"[..], &vec![b'o'; size as usize - 3], b"ng"].concat();
        let verdict_of = |body: &[u8], cut: usize| {
            let (a, b) = body.split_at(cut);
            verdict(&mut PongCheck::new(Bytes::new(size)), 200, &[a, b])
        };
        let cuts = (0..=body.len()).step_by(if size > 100 { 97 } else { 1 });
        for cut in cuts {
            assert_eq!(verdict_of(&body, cut), Outcome::Ok, "size {size}, cut {cut}");
            for wrong in [0, 1, body.len() / 2, body.len() - 2, body.len() - 1] {
                let mut body = body.clone();
                body[wrong] ^= 1;
                assert_eq!(
                    verdict_of(&body, cut),
                    Outcome::Error(ErrorKind::Check),
                    "size {size}, byte {wrong}"
                );
            }
        }
        for other in [&body[..body.len() - 1], &[&body[..], b"g"].concat(), b""] {
            let outcome = verdict(&mut PongCheck::new(Bytes::new(size)), 200, &[other]);
            assert_eq!(outcome, Outcome::Error(ErrorKind::Check));
        }
        let outcome = verdict(&mut PongCheck::new(Bytes::new(size)), 500, &[&body]);
        assert_eq!(outcome, Outcome::Error(ErrorKind::Status));
    }
}

#[test]
fn the_users_conditions_are_all_checked() {
    let good = br#"{"a": [1, {"b": "t"}], "n": 2.0}"#;
    for (check, outcome) in [
        ("", Outcome::Ok),
        ("status = 200", Outcome::Ok),
        ("status = 204", Outcome::Error(ErrorKind::Status)),
        ("length = 32", Outcome::Ok),
        ("length = 31", Outcome::Error(ErrorKind::Check)),
        ("headers = { server = 's' }", Outcome::Ok),
        ("headers = { server = 't' }", Outcome::Error(ErrorKind::Check)),
        ("headers = { absent = 't' }", Outcome::Error(ErrorKind::Check)),
        ("json = { '/a/1/b' = 't', '/n' = 2 }", Outcome::Ok),
        ("json = { '/a/1/b' = 'u' }", Outcome::Error(ErrorKind::Check)),
        ("json = { '/z' = 1 }", Outcome::Error(ErrorKind::Check)),
    ] {
        let spec = spec(&format!("name='http'\n[[workload.request]]\ncheck = {{ {check} }}"));
        let WorkloadSpec::Http(HttpSpec { requests, .. }) = spec else { panic!("http") };
        let mut check_object = HttpCheck::new(requests[0].check.clone());
        for _ in 0..2 {
            assert_eq!(verdict(&mut check_object, 200, &[&good[..7], &good[7..]]), outcome, "{check}");
            Reset::reset(&mut check_object);
        }
    }
}

#[test]
fn the_stream_replays_and_keeps_its_shares() {
    let spec = spec(
        "name='http'\n[[workload.request]]\nname='a'\nweight=3\n[[workload.request]]\nname='b'\nweight=1",
    );
    let workload = bind(&spec);
    let draw = |substream: u64, slots: u32| -> Vec<u32> {
        let mut sessions = workload.sessions();
        sessions.prepare(slots);
        sessions.rewind(substream);
        (0..40_000).map(|i| sessions.open(i % slots).0).collect()
    };
    let first = draw(1, 1);
    assert_eq!(first, draw(1, 7), "the same requests whichever slots send them");
    assert_ne!(first, draw(2, 1));
    // Binomial(40000, 1/4): standard deviation 87, so the bounds are 5 of them on either side.
    let share = first.iter().filter(|kind| **kind == 1).count();
    assert!((9_567..=10_433).contains(&share), "{share} of 40000");
}

#[test]
fn a_named_operation_is_sent_without_a_draw_from_the_stream() {
    let requests = ["a", "b", "c"].map(|name| format!("[[workload.request]]\nname='{name}'\n"));
    let mut sessions = bind(&spec(&format!("name='http'\n{}", requests.concat()))).sessions();
    sessions.prepare(2);
    let mut draw = |name: bool| -> Vec<u32> {
        sessions.rewind(7);
        let mut drawn = Vec::new();
        for at in 0..100 {
            if name {
                assert_eq!(sessions.open_with(0, OperationId(at % 3)).0, u32::from(at % 3));
            }
            drawn.push(sessions.open(1).0);
        }
        drawn
    };
    assert_eq!(draw(true), draw(false));
}

#[test]
fn a_named_operation_of_several_kinds_is_drawn_from_them() {
    let workload = bind(&WorkloadSpec::Pingpong(PingpongSpec::new([64, 5, 9].map(Bytes::new).to_vec())));
    let mut sessions = workload.sessions();
    sessions.prepare(1);
    sessions.rewind(1);
    let mut counts = [0; 3];
    (0..3_000).for_each(|_| counts[sessions.open_with(0, OperationId(0)).0 as usize] += 1);
    // Binomial(3000, 1/3): standard deviation 26, so the bounds are 5 of them on either side.
    assert!(counts.iter().all(|count| (870..=1_130).contains(count)), "{counts:?}");
    let mix = Mix::weighted([1.0, 3.0, 4.0].into_iter()).among(&[0, 2]);
    assert_eq!([0.1, 0.19, 0.21, 0.99].map(|u| mix.pick(u)), [0, 0, 1, 1]);
}

#[test]
fn requests_are_bound_to_the_variants_address() {
    let workload = bind(&WorkloadSpec::Pingpong(PingpongSpec::new(vec![Bytes::new(64), Bytes::new(5)])));
    assert_eq!(workload.len(), 2);
    assert!(workload.rendered(1).bytes().starts_with(b"GET /pong/5 HTTP/1.1\r\nHost: h:1\r\n"));
    for (base, path, whole) in
        [("/", "", "/"), ("/a?b", "", "/a?b"), ("/a/", "/b", "/a/b"), ("/", "/b?c", "/b?c")]
    {
        assert_eq!(join(base, path), whole);
    }
}

#[test]
fn values_from_the_environment_are_resolved_or_named() {
    let spec = spec("name='http'\n[[workload.request]]\nheaders = { X = 'env:SECRET' }");
    let bind = |environment: &dyn Fn(&str) -> Option<String>| {
        Workload::new(&spec, &load(), Protocol::HTTP1_JSON, &address(), environment)
    };
    let workload = bind(&|name| (name == "SECRET").then(|| "s3".to_owned())).unwrap();
    assert!(String::from_utf8_lossy(workload.rendered(0).bytes()).contains("X: s3\r\n"));
    let error = bind(&|_| None).unwrap_err().to_string();
    assert!(error.contains("`env:SECRET`") && error.contains("export it"), "{error}");
}

#[test]
fn replies_of_two_variants_are_compared_by_the_asked_equality() {
    let one = Received { status: 200, headers: &[], body: br#"{"a":1,"b":2}"#, messages: &[] };
    let two = Received { status: 200, headers: &[], body: br#"{"b": 2, "a": 1}"#, messages: &[] };
    for (equal, same) in [("status", true), ("length", false), ("json", true), ("bytes", false)] {
        let workload = bind(&spec(&format!("name='http'\nequal='{equal}'")));
        assert_eq!(workload.canonical(0, &one) == workload.canonical(0, &two), same, "{equal}");
    }
    let workload = bind(&spec("name='http'"));
    let error =
        workload.canonical(0, &Received { status: 503, headers: &[], body: b"", messages: &[] }).unwrap_err();
    assert!(error.contains("status 503"), "{error}");
}

/// A reply with this body.
fn replied<'a>(
    status: u16,
    headers: &'a [(String, String)],
    body: &'a [u8],
    messages: &'a [usize],
) -> Received<'a> {
    Received { status, headers, body, messages }
}

/// Method defect 10: answers were compared by digests of formatted text, which change with the order of keys, blanks
/// and the language's number format, or not at all.
#[test]
fn defect_10_answers_are_compared_by_meaning_and_not_by_format() {
    let one = r#"{"owner":{"name":"Å","age":41},"shares":[1,2.5,null],"open":true}"#;
    let written_otherwise = [
        "{ \"open\" : true,\n  \"shares\" : [ 1, 2.5, null ],\n  \"owner\" : { \"age\" : 41, \"name\" : \"Å\" } }\r\n",
        r#"{"owner":{"age":41,"name":"\u00c5"},"open":true,"shares":[1,2.50,null]}"#,
    ];
    let another_answer = [
        r#"{"owner":{"name":"Å","age":42},"shares":[1,2.5,null],"open":true}"#,
        r#"{"owner":{"name":"Å","age":41},"shares":[2.5,1,null],"open":true}"#,
        r#"{"owner":{"name":"Å","age":41},"shares":[1,2.5],"open":true}"#,
        r#"{"owner":{"name":"Å","age":"41"},"shares":[1,2.5,null],"open":true}"#,
        r#"{"owner":{"name":"Å","age":41},"shares":[1,2.5,null],"open":true,"more":0}"#,
        r#"{"owner":{"name":"Å","age":41},"shares":[1,2.5,null]}"#,
    ];
    let said = |equal: &str, body: &str| {
        let workload = bind(&spec(&format!("name='http'\nequal='{equal}'")));
        workload.canonical(0, &replied(200, &[], body.as_bytes(), &[])).expect("a good reply")
    };
    for other in written_otherwise {
        assert_eq!(said("json", one), said("json", other), "{other}");
        assert_ne!(said("bytes", one), said("bytes", other), "{other}");
    }
    for other in another_answer {
        assert_ne!(said("json", one), said("json", other), "{other}");
    }
    let broken = bind(&spec("name='http'\nequal='json'")).canonical(0, &replied(200, &[], b"{", &[]));
    assert!(broken.is_err_and(|why| why.contains("not JSON")), "what is no answer equals nothing");
}

/// Status, fields, body, and where its messages end.
type Reply = (u16, Vec<(String, String)>, Vec<u8>, Vec<usize>);

/// A check by its name, a reply that it accepts, and replies each of which breaks one of its conditions.
struct Mutants<'a> {
    of: &'a str,
    workload: Workload,
    good: Reply,
    broken: Vec<(&'a str, Reply)>,
}

impl Mutants<'_> {
    fn accepts(&self, (status, headers, body, messages): &Reply) -> bool {
        self.workload.canonical(0, &replied(*status, headers, body, messages)).is_ok()
    }
}

fn fields(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The workloads' checks. The match has no wildcard, so that a new workload needs mutants for its checks.
fn mutants(workload: &WorkloadSpec) -> Vec<Mutants<'static>> {
    match workload {
        WorkloadSpec::Pingpong(_) => {
            [pong_mutants(), mping_mutants(), pong_message_mutants()].into_iter().flatten().collect()
        }
        WorkloadSpec::Http(_) => http_mutants(),
        WorkloadSpec::Commands(_) => command_mutants(),
        // `defect_15_every_condition_on_a_call_is_broken_by_some_reply` has its mutants, beside the descriptors.
        WorkloadSpec::Grpc(_) => Vec::new(),
        WorkloadSpec::Person(_) => person_mutants(),
        WorkloadSpec::PersonClient(_) => person_client_mutants(),
        WorkloadSpec::Cache(_) => cache_mutants(),
        // Those of dependent calls are beside the passages.
        WorkloadSpec::Trade(_) => trade_mutants(),
    }
}

/// A reply with only a status and a body.
fn plain(status: u16, body: &[u8]) -> Reply {
    (status, Vec::new(), body.to_vec(), Vec::new())
}

fn pong_mutants() -> Vec<Mutants<'static>> {
    vec![Mutants {
        of: "a pong",
        workload: bind(&spec("name='pingpong'\nsize='5 B'")),
        good: plain(200, b"poong"),
        broken: vec![
            ("its status", plain(500, b"poong")),
            ("its first byte", plain(200, b"qoong")),
            ("a byte in the middle", plain(200, b"po0ng")),
            ("its last byte", plain(200, b"poonq")),
            ("a byte less", plain(200, b"pong")),
            ("a byte more", plain(200, b"pooong")),
            ("nothing", plain(200, b"")),
        ],
    }]
}

fn mping_mutants() -> Vec<Mutants<'static>> {
    let reply_of = |text: &str| plain(200, text.as_bytes());
    vec![Mutants {
        of: "what a relay says",
        workload: bind(&spec("name='pingpong'\noperation='mping'\nsize='5 B'")),
        good: reply_of(r#"{"duration_ns": 7, "length": 5, "code": 200, "retries": 1}"#),
        broken: vec![
            ("its status", plain(500, br#"{"duration_ns": 7, "length": 5, "code": 200, "retries": 1}"#)),
            ("the peer's status", reply_of(r#"{"duration_ns": 7, "length": 5, "code": 500, "retries": 1}"#)),
            ("the length", reply_of(r#"{"duration_ns": 7, "length": 4, "code": 200, "retries": 1}"#)),
            ("a key", reply_of(r#"{"duration_ns": 7, "length": 5, "code": 200}"#)),
            ("a key more", reply_of(r#"{"duration_ns": 7, "length": 5, "code": 200, "retries": 1, "x": 1}"#)),
            ("its form", reply_of("7 5 200 1")),
        ],
    }]
}

fn pong_message_mutants() -> Vec<Mutants<'static>> {
    let reply_of = |status: &str| fields(&[("content-type", "application/grpc"), ("grpc-status", status)]);
    let whole = |status: &str, body: &[u8]| (200, reply_of(status), body.to_vec(), vec![body.len()]);
    let pingpong = spec("name='pingpong'\nsize='4 B'");
    vec![Mutants {
        of: "a pong over gRPC",
        workload: Workload::new(&pingpong, &load(), Protocol::GRPC, &address(), &|_| None).expect("binds"),
        good: whole("0", b"\x0a\x04pong"),
        broken: vec![
            ("its status", whole("13", b"\x0a\x04pong")),
            ("its tag", whole("0", b"\x12\x04pong")),
            ("its length", whole("0", b"\x0a\x03pong")),
            ("a byte of its body", whole("0", b"\x0a\x04pung")),
            ("no message", (200, reply_of("0"), Vec::new(), Vec::new())),
            ("two messages", (200, reply_of("0"), b"\x0a\x04pong\x0a\x04pong".to_vec(), vec![6, 12])),
        ],
    }]
}

/// The quote of the first stock, over HTTP and over gRPC.
fn trade_mutants() -> Vec<Mutants<'static>> {
    let of = spec("name='trade'\nsessions=1\nstocks=1");
    let rest = bind(&of);
    let stock = rest.trade.as_ref().expect("a passage").stocks()[0].clone();
    let price = stock.price.get();
    let quote = serde_json::json!({
        "symbol": stock.symbol, "company": stock.company, "price": price, "open": price, "low": price,
        "high": price, "change": 0, "volume": stock.volume(),
    });
    let reply = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut quote = quote.clone();
        change(&mut quote);
        plain(200, quote.to_string().as_bytes())
    };
    let grpc = Workload::new(&of, &load(), Protocol::GRPC, &address(), &|_| None).expect("binds");
    let message = trade::quote_message(&quote);
    let status = |status: &str| fields(&[("content-type", "application/grpc"), ("grpc-status", status)]);
    let twice = [&message[..], &message[..]].concat();
    vec![
        Mutants {
            of: "a quote",
            workload: rest,
            good: reply(&|_| {}),
            broken: vec![
                ("its status", plain(500, quote.to_string().as_bytes())),
                ("the price", reply(&|quote| quote["price"] = (price + 1).into())),
                ("its symbol", reply(&|quote| quote["symbol"] = "&amp;".into())),
                ("a type", reply(&|quote| quote["volume"] = "1".into())),
                ("a field more", reply(&|quote| quote["id"] = 1.into())),
                ("its form", plain(200, b"{")),
            ],
        },
        Mutants {
            of: "a quote over gRPC",
            workload: grpc,
            good: (200, status("0"), message.clone(), vec![message.len()]),
            broken: vec![
                ("its status", (200, status("5"), message.clone(), vec![message.len()])),
                ("no message", (200, status("0"), Vec::new(), Vec::new())),
                ("two messages", (200, status("0"), twice.clone(), vec![message.len(), twice.len()])),
            ],
        },
    ]
}

fn person_mutants() -> Vec<Mutants<'static>> {
    let file: serde_json::Value =
        serde_json::from_str(include_str!("../../../services/person/people.json")).expect("JSON");
    let reply = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut person = file["persons"][1].clone();
        change(&mut person);
        plain(200, person.to_string().as_bytes())
    };
    let list = |persons: &[usize], count: usize| {
        let persons: Vec<_> = persons.iter().map(|index| file["persons"][*index].clone()).collect();
        plain(200, serde_json::json!({ "persons": persons, "count": count }).to_string().as_bytes())
    };
    let created = |id: &str| {
        let mut person = file["create"].clone();
        person["id"] = id.into();
        plain(200, person.to_string().as_bytes())
    };
    vec![
        Mutants {
            of: "a person that is created",
            workload: bind(&spec("name='person'\noperation='createPerson'")),
            good: created("5"),
            broken: vec![("another id", created("6")), ("one of the file", reply(&|_| {}))],
        },
        Mutants {
            of: "all persons",
            workload: bind(&spec("name='person'\noperation='listPersons'")),
            good: list(&[0, 1, 2, 3], 4),
            broken: vec![
                ("its order", list(&[1, 0, 2, 3], 4)),
                ("a person less", list(&[0, 1, 2], 3)),
                ("the count", list(&[0, 1, 2, 3], 3)),
                ("one alone", reply(&|_| {})),
            ],
        },
        Mutants {
            of: "nobody",
            workload: bind(&spec("name='person'\noperation='getMissing'")),
            good: plain(404, b"{}"),
            broken: vec![("somebody", reply(&|_| {})), ("an error", plain(500, b"{}"))],
        },
    ]
}

fn person_client_mutants() -> Vec<Mutants<'static>> {
    let good = r#"{"duration_ns": 7, "calls": 1, "digest": "cc063a70c1f917ae"}"#;
    let changed = |from, to| plain(200, good.replace(from, to).as_bytes());
    vec![Mutants {
        of: "what a relay's client read",
        workload: bind(&spec("name='person-client'")),
        good: plain(200, good.as_bytes()),
        broken: vec![
            ("its status", plain(502, good.as_bytes())),
            ("the digest of another reply", changed("cc063a70c1f917ae", "0eae2a7e7c4dbb90")),
            ("two calls", changed("1,", "2,")),
            ("a key", changed("\"duration_ns\": 7, ", "")),
            ("a key more", changed("}", ", \"code\": 200}")),
        ],
    }]
}

/// Only of what is asked first; the tests of `cache` have those of values.
fn cache_mutants() -> Vec<Mutants<'static>> {
    vec![Mutants {
        of: "a set",
        workload: bind(&spec("name='cache'")),
        good: plain(201, b""),
        broken: vec![("its status", plain(404, b"")), ("an error", plain(507, b"full"))],
    }]
}

fn http_mutants() -> Vec<Mutants<'static>> {
    let http =
        |check: &str| bind(&spec(&format!("name='http'\n[[workload.request]]\ncheck = {{ {check} }}")));
    let json = br#"{"a":{"b":[1,"x"]}}"#;
    let typed = |value: &str| (200, fields(&[("content-type", value)]), b"x".to_vec(), Vec::new());
    vec![
        Mutants {
            of: "what every request asks",
            workload: http(""),
            good: plain(204, b""),
            broken: vec![("a redirection", plain(302, b"")), ("an error", plain(500, b""))],
        },
        Mutants {
            of: "`status`",
            workload: http("status = 201"),
            good: plain(201, b""),
            broken: vec![("another success", plain(200, b"")), ("an error", plain(404, b""))],
        },
        Mutants {
            of: "`length`",
            workload: http("length = 3"),
            good: plain(200, b"abc"),
            broken: vec![("a byte less", plain(200, b"ab")), ("a byte more", plain(200, b"abcd"))],
        },
        Mutants {
            of: "`headers`",
            workload: http("headers = { content-type = 'text/plain' }"),
            good: typed("text/plain"),
            broken: vec![("another value", typed("text/html")), ("no such field", plain(200, b"x"))],
        },
        Mutants {
            of: "`json`",
            workload: http("json = { '/a/b/1' = 'x' }"),
            good: plain(200, json),
            broken: vec![
                ("another value", plain(200, br#"{"a":{"b":[1,"y"]}}"#)),
                ("another place", plain(200, br#"{"a":{"b":["x",1]}}"#)),
                ("another type", plain(200, br#"{"a":{"b":[1,["x"]]}}"#)),
                ("half of it", plain(200, &json[..9])),
            ],
        },
    ]
}

fn command_mutants() -> Vec<Mutants<'static>> {
    let command = |check: CommandCheck| {
        let command = CommandSpec { check, ..CommandSpec::parse("GET key").expect("a command") };
        let spec = WorkloadSpec::Commands(CommandsSpec {
            commands: vec![command],
            equal: Equality::Status,
            setup: RespSetup::default(),
        });
        Workload::new(&spec, &load(), Protocol::RESP, &address(), &|_| None).expect("binds")
    };
    vec![
        Mutants {
            of: "what every command asks",
            workload: command(CommandCheck::default()),
            good: plain(404, b""),
            broken: vec![("an error", plain(500, b"ERR"))],
        },
        Mutants {
            of: "`value`",
            workload: command(CommandCheck { value: Some(b"abc".to_vec()), ..CommandCheck::default() }),
            good: plain(200, b"abc"),
            broken: vec![
                ("another byte", plain(200, b"abd")),
                ("a byte less", plain(200, b"ab")),
                ("a byte more", plain(200, b"abcc")),
                ("a miss", plain(404, b"")),
            ],
        },
        Mutants {
            of: "`length`",
            workload: command(CommandCheck { length: Some(Bytes::new(3)), ..CommandCheck::default() }),
            good: plain(200, b"xyz"),
            broken: vec![("a byte less", plain(200, b"xy")), ("a miss", plain(404, b""))],
        },
        Mutants {
            of: "a hit",
            workload: command(CommandCheck { presence: Presence::Hit, ..CommandCheck::default() }),
            good: plain(200, b"x"),
            broken: vec![("a miss", plain(404, b""))],
        },
        Mutants {
            of: "a miss",
            workload: command(CommandCheck { presence: Presence::Miss, ..CommandCheck::default() }),
            good: plain(404, b""),
            broken: vec![("a hit", plain(200, b"x"))],
        },
    ]
}

/// Method defect 15: conditions that no reply could break.
#[test]
fn defect_15_every_condition_of_a_check_is_broken_by_some_reply() {
    let workloads = [
        spec("name='pingpong'"),
        spec("name='http'"),
        spec("name='person'"),
        spec("name='person-client'"),
        WorkloadSpec::Commands(CommandsSpec {
            commands: vec![CommandSpec::parse("GET a").expect("a command")],
            equal: Equality::Status,
            setup: RespSetup::default(),
        }),
    ];
    for check in workloads.iter().flat_map(mutants) {
        assert!(check.accepts(&check.good), "{}: its own good reply", check.of);
        assert!(!check.broken.is_empty(), "{}: nothing breaks it", check.of);
        for (what, reply) in &check.broken {
            assert!(!check.accepts(reply), "{}: {what} goes unnoticed", check.of);
        }
    }
}

/// Method defect 15: a condition that can never fail is refused before anything is measured.
#[test]
fn defect_15_a_condition_that_could_never_fail_is_refused() {
    for empty in ["json = {}", "headers = {}", "status = 200, json = {}"] {
        let text = format!(
            "[workload]\nname='http'\n[[workload.request]]\ncheck = {{ {empty} }}\n[[variant]]\nservice='x'"
        );
        let error = Experiment::parse("x", &text).expect_err(empty).to_string();
        assert!(error.contains("is empty and would check nothing"), "{error}");
    }
}
