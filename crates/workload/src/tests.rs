//! Workloads: the stream's laws and what checks accept.

use super::*;
use weighbridge_load::codec::Head;
use weighbridge_load::session::Check;
use weighbridge_model::experiment::Experiment;
use weighbridge_model::quantity::Nanoseconds;
use weighbridge_model::record::{ErrorKind, Outcome};

fn load() -> LoadSpec {
    LoadSpec { timeout: Nanoseconds::from_secs(1), warmup: Nanoseconds::ZERO, ..LoadSpec::default() }
}

fn address() -> Address {
    Address { authority: "h:1".into(), base: "/".into(), scheme: UrlScheme::default() }
}

fn bind(spec: &WorkloadSpec) -> Workload {
    Workload::new(spec, &load(), Protocol::Http1Json, &address(), &|_| None).unwrap()
}

fn spec(workload: &str) -> WorkloadSpec {
    let text = format!("[workload]\n{workload}\n[[variant]]\nservice='x'");
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
        let WorkloadSpec::Http { requests, .. } = spec else { panic!("http") };
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
    // Binomial(40000, 1/4): standard deviation 87, so 5 of them on either side.
    let share = first.iter().filter(|kind| **kind == 1).count();
    assert!((9_567..=10_433).contains(&share), "{share} of 40000");
}

#[test]
fn a_named_operation_is_sent_and_takes_no_number_of_the_stream() {
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
    let workload = bind(&WorkloadSpec::Pingpong { sizes: [64, 5, 9].map(Bytes::new).to_vec() });
    let mut sessions = workload.sessions();
    sessions.prepare(1);
    sessions.rewind(1);
    let mut counts = [0; 3];
    (0..3_000).for_each(|_| counts[sessions.open_with(0, OperationId(0)).0 as usize] += 1);
    // Binomial(3000, 1/3): standard deviation 26, so 5 of them on either side.
    assert!(counts.iter().all(|count| (870..=1_130).contains(count)), "{counts:?}");
    let mix = Mix::weighted([1.0, 3.0, 4.0].into_iter()).among(&[0, 2]);
    assert_eq!([0.1, 0.19, 0.21, 0.99].map(|u| mix.pick(u)), [0, 0, 1, 1]);
}

#[test]
fn requests_are_bound_to_the_variants_address() {
    let workload = bind(&WorkloadSpec::Pingpong { sizes: vec![Bytes::new(64), Bytes::new(5)] });
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
        Workload::new(&spec, &load(), Protocol::Http1Json, &address(), environment)
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
